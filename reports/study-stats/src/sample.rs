//! One sample, sorted once, with everything that is asked of it.

use crate::{CurvePoint, ecdf, mean, quantile};

/// A sorted sample. Censored observations (a session that never started) are +infinity.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sample {
    sorted: Vec<f64>,
}

impl Sample {
    /// Sorts the observations; NaN is treated as censored, so that it can never hide among the small values.
    #[must_use]
    pub fn new(mut observations: Vec<f64>) -> Self {
        observations.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = f64::INFINITY);
        observations.sort_unstable_by(f64::total_cmp);
        Self { sorted: observations }
    }
    /// The sample of several samples together.
    #[must_use]
    pub fn pooled<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        Self::new(parts.into_iter().flat_map(|part| part.sorted.iter().copied()).collect())
    }
    /// Observations, censored ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sorted.len()
    }
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }
    /// The observations in ascending order.
    #[must_use]
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }
    /// Type-7 quantile; `None` without observations and where it leans on a censored one.
    #[must_use]
    pub fn quantile(&self, p: f64) -> Option<f64> {
        quantile(&self.sorted, p).filter(|x| x.is_finite())
    }
    /// Arithmetic mean; `None` without observations and when one is censored.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        if self.sorted.last()?.is_infinite() { None } else { mean(&self.sorted) }
    }
    /// The empirical distribution function with at most `limit` points.
    #[must_use]
    pub fn curve(&self, limit: usize) -> Vec<CurvePoint> {
        ecdf(&self.sorted, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_censored_observation_counts_but_has_no_mean() {
        let sample = Sample::new(vec![3.0, f64::INFINITY, 1.0, 2.0]);
        assert_eq!((sample.len(), sample.mean(), sample.quantile(0.5)), (4, None, Some(2.5)));
        assert_eq!(sample.quantile(0.95), None);
        assert_eq!(Sample::new(vec![f64::NAN, 1.0]).sorted(), [1.0, f64::INFINITY]);
        assert_eq!(Sample::default().mean(), None);
    }

    #[test]
    fn pooling_joins_all_observations() {
        let (a, b) = (Sample::new(vec![4.0, 1.0]), Sample::new(vec![3.0, 2.0]));
        assert_eq!(Sample::pooled([&a, &b]).sorted(), [1.0, 2.0, 3.0, 4.0]);
    }
}
