//! Adjusted p-values over one declared family of tests.
//!
//! Equations, for p-values in ascending order, `i = 1..m`: Holm `max over j <= i of min(1, (m - j + 1) p_j)` (Scand. J.
//! Stat. 6, 1979), family-wise error, any dependence; Benjamini-Hochberg `min over j >= i of min(1, m p_j / j)` (JRSS B
//! 57, 1995), false discovery rate.
//!
//! Random streams consumed: none.

/// Positions in ascending order of p; equal ones keep their order.
fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|i, j| p[*i].total_cmp(&p[*j]));
    order
}

/// Holm's adjusted p-values, in the order given.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p.len()];
    let mut floor = 0.0_f64;
    for (rank, i) in ascending(p).into_iter().enumerate() {
        floor = floor.max((p.len() - rank) as f64 * p[i]).min(1.0);
        adjusted[i] = floor;
    }
    adjusted
}

/// Benjamini and Hochberg's adjusted p-values, in the order given.
#[must_use]
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p.len()];
    let mut ceiling = 1.0_f64;
    for (rank, i) in ascending(p).into_iter().enumerate().rev() {
        ceiling = ceiling.min(p.len() as f64 * p[i] / (rank + 1) as f64);
        adjusted[i] = ceiling;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-12)
    }

    #[test]
    fn holm_steps_down_and_never_decreases() {
        assert!(close(&holm(&[0.01, 0.04, 0.03, 0.005]), &[0.03, 0.06, 0.06, 0.02]));
        assert!(close(&holm(&[0.5, 0.9]), &[1.0, 1.0]));
        assert!(close(&holm(&[0.02]), &[0.02]));
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn benjamini_hochberg_steps_up() {
        assert!(close(&benjamini_hochberg(&[0.01, 0.04, 0.03, 0.005]), &[0.02, 0.04, 0.04, 0.02]));
        assert!(close(&benjamini_hochberg(&[0.9, 0.5]), &[0.9, 0.9]));
    }
}
