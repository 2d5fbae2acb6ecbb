//! A histogram of times with a fixed relative error.

use serde::{Deserialize, Serialize};

/// Buckets per factor of two.
const FINE_BITS: u32 = 6;
const FINE: u64 = 1 << FINE_BITS;

/// Counts of nanoseconds in buckets that are exact below 64 ns and at most 1.6 % wide above.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u64,
    max: u64,
}

/// The figures of a histogram that records keep, milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// How many values.
    pub count: u64,
    /// Mean, ms.
    pub mean_ms: f64,
    /// Median, ms.
    pub p50_ms: f64,
    /// 99th percentile, ms.
    pub p99_ms: f64,
    /// 99.9th percentile, ms.
    pub p999_ms: f64,
    /// Largest value, ms.
    pub max_ms: f64,
}

impl Summary {
    /// The exact figures of a few values (ns), which are sorted on the way.
    #[must_use]
    pub fn of(values: &mut [u64]) -> Self {
        values.sort_unstable();
        let ms = |nanos: u64| nanos as f64 / 1e6;
        let (Some(&max), count) = (values.last(), values.len()) else { return Self::default() };
        let at = |q: f64| ms(values[((q * count as f64).ceil() as usize).clamp(1, count) - 1]);
        let mean_ms = ms(values.iter().sum()) / count as f64;
        Self { count: count as u64, mean_ms, p50_ms: at(0.5), p99_ms: at(0.99), p999_ms: at(0.999), max_ms: ms(max) }
    }
}

const fn bucket(nanos: u64) -> usize {
    if nanos < FINE {
        return nanos as usize;
    }
    let shift = nanos.ilog2() - FINE_BITS;
    ((shift as u64 + 1) * FINE + ((nanos >> shift) - FINE)) as usize
}

/// The largest value that falls into a bucket.
const fn upper(bucket: usize) -> u64 {
    let (power, rest) = (bucket as u64 / FINE, bucket as u64 % FINE);
    if power == 0 { rest } else { ((FINE + rest + 1) << (power - 1)) - 1 }
}

impl Histogram {
    /// Counts a value.
    pub fn add(&mut self, nanos: u64) {
        let at = bucket(nanos);
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
        self.count += 1;
        self.sum = self.sum.saturating_add(nanos);
        self.max = self.max.max(nanos);
    }
    /// How many values there are.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }
    /// Largest value in ns.
    #[must_use]
    pub const fn max(&self) -> u64 {
        self.max
    }
    /// The value in ns that a share `q` (0 to 1) of the values does not exceed, at most 1.6 % too large; 0 without values.
    #[must_use]
    pub fn quantile(&self, q: f64) -> u64 {
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (at, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return upper(at).min(self.max);
            }
        }
        0
    }
    /// The figures that records keep.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let ms = |nanos: u64| nanos as f64 / 1e6;
        Summary {
            count: self.count,
            mean_ms: ms(self.sum) / (self.count.max(1)) as f64,
            p50_ms: ms(self.quantile(0.5)),
            p99_ms: ms(self.quantile(0.99)),
            p999_ms: ms(self.quantile(0.999)),
            max_ms: ms(self.max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_the_numbers() {
        for at in 0..3_000 {
            assert_eq!(bucket(upper(at)), at, "the largest of bucket {at}");
            assert_eq!(bucket(upper(at) + 1), at + 1, "the next is in the next");
        }
    }

    #[test]
    fn few_values_have_exact_figures() {
        let summary = Summary::of(&mut [3_000_000, 1_000_000, 2_000_000, 10_000_000]);
        assert_eq!((summary.p50_ms, summary.p99_ms, summary.mean_ms, summary.count), (2.0, 10.0, 4.0, 4));
        assert_eq!(Summary::of(&mut []), Summary::default());
    }

    #[test]
    fn quantiles_are_within_their_error() {
        let mut histogram = Histogram::default();
        (1..=100_000_u64).for_each(|i| histogram.add(i * 1_000));
        for (q, exact) in [(0.5, 50_000_000_u64), (0.99, 99_000_000), (0.999, 99_900_000)] {
            let found = histogram.quantile(q);
            assert!(found >= exact && found as f64 <= exact as f64 * 1.016, "{q}: {found} for {exact}");
        }
        assert_eq!(histogram.quantile(1.0), 100_000_000);
        assert_eq!(Histogram::default().quantile(0.5), 0);
    }
}
