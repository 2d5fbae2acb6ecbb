//! Titles: how long their segments are and how many bytes each has at each rung.
//!
//! Equation: `bytes = bitrate [bit/s] x duration [s] / 8 x factor`, rounded to the nearest byte, at least 1. The factor of a
//! segment is drawn from Normal(1, sd), clamped to [0.5, 1.8], and is the same for all rungs of the segment: a scene that is
//! hard to encode is hard at every rung.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | the Go simulator seeds with (title + 1) x 9973 and rounds segments up | stream `catalog/<title>`; the last segment is as long as what is left | sizes have the same law, not the same values |
//! | real encoders: the peak-to-mean ratio differs between rungs | one factor for all rungs | use a real movie where this matters |
//!
//! Random streams: `catalog/<title>/sizes`, one normal number per segment.

use crate::ladder::Rung;
use std::sync::Arc;
use study_ident::SeedPath;
use study_units::SimDuration;

/// Bounds of a segment's size relative to the nominal one, without unit.
pub const SIZE_FACTOR: std::ops::RangeInclusive<f64> = 0.5..=1.8;

/// Durations of the segments of a title: all of `segment`, the last one what is left of `total`.
#[must_use]
pub fn segment_durations(total: SimDuration, segment: SimDuration) -> Vec<SimDuration> {
    if segment == SimDuration::ZERO {
        return Vec::new();
    }
    let whole = total.as_nanos() / segment.as_nanos();
    let rest = SimDuration::from_nanos(total.as_nanos() % segment.as_nanos());
    let mut durations = vec![segment; whole as usize];
    if rest > SimDuration::ZERO {
        durations.push(rest);
    }
    durations
}

/// Size factors of the segments of a title, without unit; `sd` is the standard deviation before clamping.
#[must_use]
pub fn size_factors(seed: &SeedPath, title: u64, segments: usize, sd: f64) -> Vec<f64> {
    let mut stream = seed.indexed("catalog", title).stream("sizes");
    (0..segments).map(|_| (1.0 + sd * stream.normal()).clamp(*SIZE_FACTOR.start(), *SIZE_FACTOR.end())).collect()
}

/// Bytes of a segment.
#[must_use]
pub fn segment_bytes(bitrate_kbit_s: u32, duration: SimDuration, factor: f64) -> u64 {
    let nominal = f64::from(bitrate_kbit_s) * 125.0 * duration.as_secs_f64();
    ((nominal * factor).round() as u64).max(1)
}

/// Sizes in bytes of all segments of a title with a ladder's rungs, segment by segment, rung by rung.
#[must_use]
pub fn title_sizes(seed: &SeedPath, title: u64, durations: &[SimDuration], rungs: &[Rung], sd: f64) -> Vec<u64> {
    let factors = size_factors(seed, title, durations.len(), sd);
    durations
        .iter()
        .zip(factors)
        .flat_map(|(duration, factor)| rungs.iter().map(move |r| segment_bytes(r.bitrate_kbit_s, *duration, factor)))
        .collect()
}

/// Why segments and rungs make no title.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TitleError {
    /// There is no segment, or no rung.
    Empty,
    /// The number of sizes is not segments x rungs.
    Sizes,
    /// The bitrates are not strictly ascending from above 0.
    Rungs,
    /// A segment lasts no time.
    Duration,
}

impl std::fmt::Display for TitleError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Empty => "a title needs at least one segment and one rung",
            Self::Sizes => "a title needs one size per segment and rung",
            Self::Rungs => "the bitrates of a title must rise strictly from above 0",
            Self::Duration => "a segment must last longer than 0",
        })
    }
}
impl std::error::Error for TitleError {}

/// One title as a player sees it: what its manifest says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Title {
    rungs_kbit_s: Arc<[u32]>,
    durations: Vec<SimDuration>,
    sizes: Vec<u64>,
}

impl Title {
    /// From bitrates in kbit/s (rising), durations per segment, and sizes in bytes: segment by segment, rung by rung.
    /// Sizes need not rise with the rung; in real movies they sometimes do not.
    ///
    /// # Errors
    /// [`TitleError`] when they do not fit together.
    pub fn new(rungs_kbit_s: Arc<[u32]>, durations: Vec<SimDuration>, sizes: Vec<u64>) -> Result<Self, TitleError> {
        if rungs_kbit_s.is_empty() || durations.is_empty() {
            return Err(TitleError::Empty);
        }
        if rungs_kbit_s[0] == 0 || rungs_kbit_s.windows(2).any(|w| w[0] >= w[1]) {
            return Err(TitleError::Rungs);
        }
        if durations.contains(&SimDuration::ZERO) {
            return Err(TitleError::Duration);
        }
        if sizes.len() != durations.len() * rungs_kbit_s.len() {
            return Err(TitleError::Sizes);
        }
        Ok(Self { rungs_kbit_s, durations, sizes })
    }
    /// Segments.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.durations.len()
    }
    /// Bitrates in kbit/s, rising.
    #[must_use]
    pub fn rungs_kbit_s(&self) -> &[u32] {
        &self.rungs_kbit_s
    }
    /// Duration of a segment.
    ///
    /// # Panics
    /// When there is no such segment.
    #[must_use]
    pub fn duration(&self, segment: usize) -> SimDuration {
        self.durations[segment]
    }
    /// Sizes in bytes of a segment, per rung.
    ///
    /// # Panics
    /// When there is no such segment.
    #[must_use]
    pub fn sizes(&self, segment: usize) -> &[u64] {
        let rungs = self.rungs_kbit_s.len();
        &self.sizes[segment * rungs..(segment + 1) * rungs]
    }
    /// Play time.
    #[must_use]
    pub fn total(&self) -> SimDuration {
        self.durations.iter().fold(SimDuration::ZERO, |sum, d| sum + *d)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder::Ladder;

    #[test]
    fn the_last_segment_is_what_is_left() {
        let seconds = |s| SimDuration::from_secs(s);
        assert_eq!(segment_durations(seconds(120), seconds(4)), vec![seconds(4); 30]);
        assert_eq!(segment_durations(seconds(10), seconds(4)), [seconds(4), seconds(4), seconds(2)]);
        assert_eq!(segment_durations(seconds(3), seconds(4)), [seconds(3)]);
        assert!(segment_durations(seconds(0), seconds(4)).is_empty());
        assert!(segment_durations(seconds(4), seconds(0)).is_empty());
    }

    #[test]
    fn a_segment_has_bitrate_times_seconds_by_eight() {
        assert_eq!(segment_bytes(3_000, SimDuration::from_secs(4), 1.0), 1_500_000);
        assert_eq!(segment_bytes(3_000, SimDuration::from_millis(1_996), 1.2), 898_200);
        assert_eq!(segment_bytes(1, SimDuration::from_nanos(1), 0.5), 1, "no segment is empty");
    }

    #[test]
    fn the_factor_of_a_segment_is_the_same_for_all_rungs() {
        let durations = segment_durations(SimDuration::from_secs(118), SimDuration::from_secs(4));
        let rungs = Ladder::GoSimulator.rungs();
        let sizes = title_sizes(&SeedPath::root(3), 7, &durations, rungs, 0.15);
        for (segment, row) in sizes.chunks(rungs.len()).enumerate() {
            for (size, rung) in row.iter().zip(rungs) {
                // Doubling the bitrate doubles the bytes, up to rounding: the factor is one.
                let scaled = *size as f64 / f64::from(rung.bitrate_kbit_s);
                let lowest = row[0] as f64 / f64::from(rungs[0].bitrate_kbit_s);
                assert!((scaled / lowest - 1.0).abs() < 1e-4, "segment {segment}");
            }
        }
        assert!(sizes[0] != sizes[rungs.len()], "segments differ");
    }

    #[test]
    fn factors_have_their_mean_and_deviation_and_stay_in_bounds() {
        let seed = SeedPath::root(5);
        let factors: Vec<f64> = (0..400).flat_map(|title| size_factors(&seed, title, 30, 0.15)).collect();
        let n = factors.len() as f64;
        let mean = factors.iter().sum::<f64>() / n;
        let sd = (factors.iter().map(|f| (f - mean) * (f - mean)).sum::<f64>() / n).sqrt();
        assert!((mean - 1.0).abs() < 4.0 * 0.15 / n.sqrt(), "{mean}");
        assert!((sd - 0.15).abs() < 0.005, "{sd}");
        let wide = size_factors(&seed, 1, 1_000, 1.0);
        assert!(wide.iter().all(|f| SIZE_FACTOR.contains(f)));
        assert!(wide.contains(&0.5) && wide.contains(&1.8), "clamped on both sides");
        assert_eq!(size_factors(&seed, 1, 3, 0.0), [1.0; 3]);
    }

    #[test]
    fn factors_do_not_depend_on_other_titles_or_on_the_number_of_segments() {
        let seed = SeedPath::root(5);
        assert_eq!(size_factors(&seed, 9, 30, 0.15)[..10], size_factors(&seed, 9, 10, 0.15)[..]);
        assert_ne!(size_factors(&seed, 8, 10, 0.15), size_factors(&seed, 9, 10, 0.15));
    }

    #[test]
    fn what_makes_no_title_is_refused() {
        let second = SimDuration::from_secs(1);
        let make = |rungs: &[u32], durations: &[SimDuration], sizes: &[u64]| {
            Title::new(rungs.into(), durations.to_vec(), sizes.to_vec())
        };
        assert_eq!(make(&[], &[second], &[]), Err(TitleError::Empty));
        assert_eq!(make(&[1], &[], &[]), Err(TitleError::Empty));
        assert_eq!(make(&[2, 2], &[second], &[1, 1]), Err(TitleError::Rungs));
        assert_eq!(make(&[0, 2], &[second], &[1, 1]), Err(TitleError::Rungs));
        assert_eq!(make(&[1], &[SimDuration::ZERO], &[1]), Err(TitleError::Duration));
        assert_eq!(make(&[1], &[second], &[1, 1]), Err(TitleError::Sizes));
        let title = make(&[1, 2], &[second, second], &[10, 9, 30, 40]).unwrap();
        assert_eq!((title.sizes(0), title.sizes(1)), (&[10, 9][..], &[30, 40][..]));
        assert_eq!(title.total(), SimDuration::from_secs(2));
    }
}
