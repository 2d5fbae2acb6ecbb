//! Whether pairing helped: `Var(a - b) / (Var a + Var b)`.
//!
//! 0: common randomness removes all noise; 1: the arms are as good as independent; 2: they mirror each other. Above 0.95
//! a paired interval only costs degrees of freedom, and the unpaired one is used.
//!
//! Random streams consumed: none.

use crate::{NotEstimable, variance};

/// The ratio, in 0..=2, of values paired by position.
///
/// # Errors
/// When the lengths differ, there are fewer than two pairs, a value is not finite, or neither side varies.
pub fn variance_ratio(a: &[f64], b: &[f64]) -> Result<f64, NotEstimable> {
    if a.len() != b.len() {
        return Err(NotEstimable::Unpaired);
    }
    if a.iter().chain(b).any(|x| !x.is_finite()) {
        return Err(NotEstimable::NotFinite);
    }
    let differences: Vec<f64> = a.iter().zip(b).map(|(x, y)| x - y).collect();
    let few = if a.is_empty() { NotEstimable::Empty } else { NotEstimable::OneCluster };
    let (own_a, own_b) = (variance(a).ok_or(few)?, variance(b).ok_or(few)?);
    if own_a + own_b == 0.0 {
        return Err(NotEstimable::AllEqual);
    }
    Ok((variance(&differences).ok_or(few)? / (own_a + own_b)).min(2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_randomness_independence_and_mirrors() {
        let a = [1.0, 2.0, 3.0, 4.0];
        let shifted: Vec<f64> = a.iter().map(|x| x + 7.0).collect();
        let mirrored: Vec<f64> = a.iter().map(|x| 7.0 - x).collect();
        assert_eq!(variance_ratio(&a, &shifted), Ok(0.0));
        assert_eq!(variance_ratio(&a, &mirrored), Ok(2.0));
        assert_eq!(variance_ratio(&[1.0, -1.0, 1.0, -1.0], &[1.0, 1.0, -1.0, -1.0]), Ok(1.0));
    }

    #[test]
    fn reasons_come_instead_of_numbers() {
        assert_eq!(variance_ratio(&[1.0], &[1.0, 2.0]), Err(NotEstimable::Unpaired));
        assert_eq!(variance_ratio(&[1.0], &[1.0]), Err(NotEstimable::OneCluster));
        assert_eq!(variance_ratio(&[1.0; 3], &[2.0; 3]), Err(NotEstimable::AllEqual));
        assert_eq!(variance_ratio(&[1.0, f64::INFINITY], &[1.0, 2.0]), Err(NotEstimable::NotFinite));
    }
}
