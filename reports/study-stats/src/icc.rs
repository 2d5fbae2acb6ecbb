//! Intraclass correlation of observations in clusters, and what it costs.
//!
//! Equations, one-way analysis of variance with `G` clusters of sizes `m_g`, `N = sum m_g`: `m0 = (N - sum m_g^2 / N) /
//! (G - 1)`, `ICC = (MSB - MSW) / (MSB + (m0 - 1) MSW)` (Donner, Int. Stat. Rev. 54, 1986); design effect `1 + (m' - 1)
//! ICC`, `m' = sum m_g^2 / N`; effective n `N / design effect`.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | the estimate may be negative | it is reported as it is; the design effect is not allowed below 1 | negative correlation never promises more observations than there are |
//!
//! Random streams consumed: none.

use crate::{NotEstimable, mean, sum};

/// Correlation within clusters and its consequences.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Icc {
    /// Intraclass correlation, at most 1; below 0 when clusters are more alike than chance.
    pub icc: f64,
    /// Factor by which clustering inflates the variance of a mean, at least 1.
    pub design_effect: f64,
    /// Independent observations that would tell as much, at most the number of observations.
    pub effective_n: f64,
}

/// The intraclass correlation of clustered observations.
///
/// # Errors
/// With fewer than two clusters, an empty one, a value that is not finite, no cluster of two, or no spread at all.
pub fn icc(clusters: &[&[f64]]) -> Result<Icc, NotEstimable> {
    if clusters.len() < 2 {
        return Err(if clusters.is_empty() { NotEstimable::Empty } else { NotEstimable::OneCluster });
    }
    if clusters.iter().any(|c| c.is_empty()) {
        return Err(NotEstimable::Empty);
    }
    let all: Vec<f64> = clusters.concat();
    if all.iter().any(|x| !x.is_finite()) {
        return Err(NotEstimable::NotFinite);
    }
    let (n, groups) = (all.len() as f64, clusters.len() as f64);
    if all.len() == clusters.len() {
        return Err(NotEstimable::Degenerate);
    }
    let centre = mean(&all).ok_or(NotEstimable::Empty)?;
    let (mut between, mut within, mut squared_sizes) = (Vec::new(), Vec::new(), 0.0);
    for cluster in clusters {
        let (size, own) = (cluster.len() as f64, mean(cluster).ok_or(NotEstimable::Empty)?);
        between.push(size * (own - centre) * (own - centre));
        within.extend(cluster.iter().map(|x| (x - own) * (x - own)));
        squared_sizes += size * size;
    }
    let (msb, msw) = (sum(&between) / (groups - 1.0), sum(&within) / (n - groups));
    let m0 = (n - squared_sizes / n) / (groups - 1.0);
    let denominator = msb + (m0 - 1.0) * msw;
    if denominator <= 0.0 {
        return Err(NotEstimable::AllEqual);
    }
    let icc = (msb - msw) / denominator;
    let design_effect = (1.0 + (squared_sizes / n - 1.0) * icc).max(1.0);
    Ok(Icc { icc, design_effect, effective_n: n / design_effect })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identical_members_make_a_cluster_one_observation() {
        let (a, b, c) = ([1.0; 10], [2.0; 10], [3.0; 10]);
        let result = icc(&[&a, &b, &c]).unwrap();
        assert_eq!((result.icc, result.design_effect, result.effective_n), (1.0, 10.0, 3.0));
    }

    #[test]
    fn equal_clusters_cost_nothing() {
        let a = [1.0, 2.0, 3.0];
        let result = icc(&[&a, &a, &a]).unwrap();
        assert!(result.icc < 0.0);
        assert_eq!((result.design_effect, result.effective_n), (1.0, 9.0));
    }

    #[test]
    fn reasons_come_instead_of_numbers() {
        let (pair, one) = ([1.0, 2.0], [1.0]);
        assert_eq!(icc(&[&pair]), Err(NotEstimable::OneCluster));
        assert_eq!(icc(&[&pair, &[]]), Err(NotEstimable::Empty));
        assert_eq!(icc(&[&one, &one]), Err(NotEstimable::Degenerate));
        assert_eq!(icc(&[&[1.0, 1.0], &[1.0, 1.0]]), Err(NotEstimable::AllEqual));
        assert_eq!(icc(&[&pair, &[f64::NAN]]), Err(NotEstimable::NotFinite));
    }
}
