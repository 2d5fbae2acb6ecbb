//! All intervals for the mean of one value per cluster, from one pass of resampling.

use super::replicates::draw;
use super::{Interval, Replicates, jackknife_acceleration, tails};
use crate::moments::all_equal;
use crate::{NotEstimable, mean, quantile, standard_deviation, t_interval};
use study_ident::RandomStream;

/// How a studentised interval came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Studentised {
    /// Bootstrap-t.
    BootstrapT,
    /// Student t with G - 1 degrees of freedom: too few clusters for bootstrap-t.
    FewClusters,
    /// Student t with G - 1 degrees of freedom: too many resamples without spread.
    ZeroSpread,
}

/// Resampled means of one value per cluster.
#[derive(Debug, Clone)]
pub struct MeanBootstrap {
    values: Vec<f64>,
    replicates: Replicates,
    standard_error: f64,
    pivots: Vec<f64>,
}

impl MeanBootstrap {
    /// Fewest clusters for bootstrap-t; below, [`Self::studentised`] is Student t.
    pub const FEWEST: usize = 8;

    /// Draws `resamples` resamples of the clusters' values.
    ///
    /// # Errors
    /// Without values, with one, with one that is not finite, or when all are equal.
    pub fn new(values: &[f64], resamples: usize, stream: &mut RandomStream) -> Result<Self, NotEstimable> {
        if values.iter().any(|x| !x.is_finite()) {
            return Err(NotEstimable::NotFinite);
        }
        let estimate = mean(values).ok_or(NotEstimable::Empty)?;
        let spread = standard_deviation(values).ok_or(NotEstimable::OneCluster)?;
        if all_equal(values) {
            return Err(NotEstimable::AllEqual);
        }
        let centred: Vec<f64> = values.iter().map(|x| x - estimate).collect();
        let (shifts, mut pivots) = resample(&centred, spread, resamples, stream);
        pivots.sort_unstable_by(f64::total_cmp);
        let replicates = Replicates::new(estimate, shifts.into_iter().map(|x| estimate + x).collect())?;
        let standard_error = spread / (values.len() as f64).sqrt();
        Ok(Self { values: values.to_vec(), replicates, standard_error, pivots })
    }
    /// The mean of the clusters' values.
    #[must_use]
    pub const fn estimate(&self) -> f64 {
        self.replicates.estimate()
    }
    /// The resampled means.
    #[must_use]
    pub const fn replicates(&self) -> &Replicates {
        &self.replicates
    }
    /// The percentile interval; `level` in (0, 1). Too narrow below 50 clusters or so.
    #[must_use]
    pub fn percentile(&self, level: f64) -> Interval {
        self.replicates.percentile(level)
    }
    /// The basic interval; `level` in (0, 1).
    #[must_use]
    pub fn basic(&self, level: f64) -> Interval {
        self.replicates.basic(level)
    }
    /// The BCa interval; `level` in (0, 1).
    ///
    /// # Errors
    /// When the correction leaves the resampled distribution.
    pub fn bca(&self, level: f64) -> Result<Interval, NotEstimable> {
        self.replicates.bca(level, self.acceleration())
    }
    /// The acceleration that [`Self::bca`] uses.
    #[must_use]
    pub fn acceleration(&self) -> f64 {
        let n = self.values.len() as f64;
        let left_out: Vec<f64> = self.values.iter().map(|x| (n * self.estimate() - x) / (n - 1.0)).collect();
        jackknife_acceleration(&left_out)
    }
    /// The studentised interval; `level` in (0, 1): bootstrap-t, or Student t where that cannot be had.
    ///
    /// # Errors
    /// As [`t_interval`].
    pub fn studentised(&self, level: f64) -> Result<(Interval, Studentised), NotEstimable> {
        let (below, above) = tails(level);
        let fallback = |why| t_interval(&self.values, level).map(|interval| (interval, why));
        if self.values.len() < Self::FEWEST {
            return fallback(Studentised::FewClusters);
        }
        match (quantile(&self.pivots, below), quantile(&self.pivots, above)) {
            (Some(low), Some(high)) if low.is_finite() && high.is_finite() => {
                let limit = |pivot: f64| self.estimate() - pivot * self.standard_error;
                Ok((Interval { low: limit(high), high: limit(low) }, Studentised::BootstrapT))
            }
            _ => fallback(Studentised::ZeroSpread),
        }
    }
}

/// Per resample: the mean of the centred values, and that mean over its own standard error.
fn resample(centred: &[f64], spread: f64, resamples: usize, stream: &mut RandomStream) -> (Vec<f64>, Vec<f64>) {
    let n = centred.len() as f64;
    // Below this a resample drew one value only and its variance is rounding.
    let no_spread = 1e-18 * spread * spread * (n - 1.0);
    let mut picks = vec![0u32; centred.len()];
    let mut shifts = Vec::with_capacity(resamples);
    let mut pivots = Vec::with_capacity(resamples);
    for _ in 0..resamples {
        draw(stream, &mut picks);
        let (mut total, mut squares) = (0.0, 0.0);
        for pick in &picks {
            let x = centred[*pick as usize];
            total += x;
            squares += x * x;
        }
        let shift = total / n;
        let deviation = squares - total * shift;
        shifts.push(shift);
        pivots.push(if deviation > no_spread.max(1e-14 * squares) {
            shift / (deviation / (n * (n - 1.0))).sqrt()
        } else {
            f64::INFINITY.copysign(shift)
        });
    }
    (shifts, pivots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use study_ident::SeedPath;

    fn boot(values: &[f64], resamples: usize) -> Result<MeanBootstrap, NotEstimable> {
        MeanBootstrap::new(values, resamples, &mut SeedPath::root(4).stream("mean"))
    }

    #[test]
    fn reasons_come_instead_of_numbers() {
        assert_eq!(boot(&[], 99).err(), Some(NotEstimable::Empty));
        assert_eq!(boot(&[1.0], 99).err(), Some(NotEstimable::OneCluster));
        assert_eq!(boot(&[0.1 + 0.2, 0.3, 0.3], 99).err(), Some(NotEstimable::AllEqual));
        assert_eq!(boot(&[1.0, f64::INFINITY], 99).err(), Some(NotEstimable::NotFinite));
        assert_eq!(boot(&[1.0, f64::NAN], 99).err(), Some(NotEstimable::NotFinite));
    }

    #[test]
    fn few_clusters_and_missing_spread_fall_back_to_student_t() {
        let few = boot(&[1.0, 2.0, 4.0], 999).unwrap();
        let expected = t_interval(&[1.0, 2.0, 4.0], 0.95).unwrap();
        assert_eq!(few.studentised(0.95), Ok((expected, Studentised::FewClusters)));
        // One run differs: a third of the resamples miss it and have no spread.
        let mut values = [0.0; 10];
        values[3] = 1.0;
        let lumpy = boot(&values, 999).unwrap();
        let (interval, how) = lumpy.studentised(0.95).unwrap();
        assert_eq!((interval, how), (t_interval(&values, 0.95).unwrap(), Studentised::ZeroSpread));
    }

    #[test]
    fn intervals_move_and_scale_with_the_data() {
        let values = [0.3, 1.2, -0.7, 2.9, 0.4, 1.1, 0.8, -0.2, 5.0, 0.6];
        let moved: Vec<f64> = values.iter().map(|x| 8.0 + 4.0 * x).collect();
        let (a, b) = (boot(&values, 2_000).unwrap(), boot(&moved, 2_000).unwrap());
        let pairs = [
            (a.percentile(0.9), b.percentile(0.9)),
            (a.basic(0.9), b.basic(0.9)),
            (a.bca(0.9).unwrap(), b.bca(0.9).unwrap()),
            (a.studentised(0.9).unwrap().0, b.studentised(0.9).unwrap().0),
        ];
        for (x, y) in pairs {
            assert!((8.0 + 4.0 * x.low - y.low).abs() < 1e-12 && (8.0 + 4.0 * x.high - y.high).abs() < 1e-12);
        }
        let (studentised, how) = a.studentised(0.9).unwrap();
        assert_eq!(how, Studentised::BootstrapT);
        // Right-skewed data: bootstrap-t reaches further up than down, percentile less so.
        let reach = |i: Interval| (i.high - a.estimate()) / (a.estimate() - i.low);
        assert!(reach(studentised) > reach(a.percentile(0.9)));
    }

    #[test]
    fn pivots_are_studentised_by_the_standard_error_of_their_own_resample() {
        let values = [0.3, 1.2, -0.7, 2.9, 0.4, 1.1, 0.8, -0.2, 5.0];
        let own = boot(&values, 50).unwrap();
        let mut stream = SeedPath::root(4).stream("mean");
        let mut picks = [0; 9];
        let mut expected: Vec<f64> = (0..50)
            .map(|_| {
                draw(&mut stream, &mut picks);
                let drawn = picks.map(|pick| values[pick as usize]);
                3.0 * (mean(&drawn).unwrap() - own.estimate()) / standard_deviation(&drawn).unwrap()
            })
            .collect();
        expected.sort_unstable_by(f64::total_cmp);
        assert!(own.pivots.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9));
        let (interval, _) = own.studentised(0.9).unwrap();
        let upper = own.estimate() - quantile(&expected, 0.05).unwrap() * standard_deviation(&values).unwrap() / 3.0;
        assert!((interval.high - upper).abs() < 1e-9);
    }

    #[test]
    fn the_same_stream_gives_the_same_bits() {
        let values = [0.3, 1.2, -0.7, 2.9, 0.4, 1.1, 0.8, -0.2];
        let (a, b) = (boot(&values, 500).unwrap(), boot(&values, 500).unwrap());
        assert_eq!(a.replicates(), b.replicates());
        assert_eq!(a.studentised(0.95), b.studentised(0.95));
    }
}
