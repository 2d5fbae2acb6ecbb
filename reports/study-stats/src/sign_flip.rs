//! The sign-flip test: a paired permutation test over clusters.
//!
//! Purpose: a p-value for "the arms do not differ" from one difference per run. Under the null the two arms of a run may be
//! swapped, which flips the sign of its difference; the p-value is the share of all `2^G` assignments of signs whose
//! `|sum|` is at least the observed one (Fisher 1935, chapter 3; two-sided).
//!
//! Method: exact in all cases up to 40 clusters. To 20 the assignments are walked in Gray-code order. Above, they are split into
//! two halves of at most `2^20` sums, each built in ascending order by merging, and the pairs that reach the observed sum are
//! counted with two pointers (meet in the middle, Horowitz and Sahni 1974). Beyond 40: Monte Carlo.
//!
//! Differences are scaled by a power of two to whole numbers, so that sums do not depend on their order and both exact
//! methods count the same. Sums within 2^-40 of `sum |d|` of the observed one count as equal to it: rounding noise in the
//! differences (0.1 + 0.2 against 0.3) breaks no tie, and the observed assignment always counts.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | scipy `permutation_test` enumerates or samples | exact to 40 clusters | no Monte-Carlo error at 40 runs |
//! | exact comparison of floating-point sums | tolerance 2^-40 | p at most 1e-11 larger, ties kept |
//!
//! Random streams consumed: `sign_flip` below the path that is passed, only beyond 40 clusters: one 64-bit word per 64 signs.

use crate::NotEstimable;
use study_ident::{RandomStream, SeedPath};

/// How the p-value was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignFlipMethod {
    /// All assignments, one by one.
    Enumerated,
    /// All assignments, as pairs of half-sums.
    MeetInTheMiddle,
    /// A sample of the assignments.
    MonteCarlo {
        /// Assignments drawn.
        draws: u32,
    },
}

/// The result of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignFlip {
    /// Two-sided p-value in (0, 1]; 1 when all differences are 0.
    pub p_value: f64,
    /// How it was found.
    pub method: SignFlipMethod,
}

const ENUMERATED_LIMIT: usize = 20;
const EXACT_LIMIT: usize = 40;
const DRAWS: u32 = 100_000;
/// Binary digits that the sum of all magnitudes may have.
const DIGITS: i32 = 61;
/// Sums this close to the observed one are equal to it: 2^-40 of the sum of all magnitudes.
const TOLERANCE: i64 = 1 << (DIGITS - 40);

/// Tests whether the differences are symmetric about 0.
///
/// # Errors
/// With fewer than two differences, or one that is not finite.
pub fn sign_flip(differences: &[f64], seed: &SeedPath) -> Result<SignFlip, NotEstimable> {
    SignFlipper::default().test(differences, seed)
}

/// The test with its memory, for many tests in a row: 24 MiB at 40 clusters, which cost more to get than to fill.
#[derive(Debug, Default)]
pub struct SignFlipper {
    left: Vec<i64>,
    right: Vec<i64>,
    spare: Vec<i64>,
}

impl SignFlipper {
    /// As [`sign_flip`].
    ///
    /// # Errors
    /// As [`sign_flip`].
    pub fn test(&mut self, differences: &[f64], seed: &SeedPath) -> Result<SignFlip, NotEstimable> {
        match differences.len() {
            0 => return Err(NotEstimable::Empty),
            1 => return Err(NotEstimable::OneCluster),
            _ => {}
        }
        let (magnitudes, observed) = scaled(differences)?;
        let threshold = observed - TOLERANCE;
        // All assignments count, however they are counted.
        if threshold <= 0 {
            return Ok(SignFlip { p_value: 1.0, method: SignFlipMethod::Enumerated });
        }
        let all = libm::scalbn(1.0, magnitudes.len() as i32);
        Ok(match magnitudes.len() {
            n if n <= ENUMERATED_LIMIT => {
                let p_value = enumerate(&magnitudes, threshold) as f64 / all;
                SignFlip { p_value, method: SignFlipMethod::Enumerated }
            }
            n if n <= EXACT_LIMIT => {
                let p_value = self.meet_in_the_middle(&magnitudes, threshold) as f64 / all;
                SignFlip { p_value, method: SignFlipMethod::MeetInTheMiddle }
            }
            _ => {
                let reached = sample(&magnitudes, threshold, DRAWS, &mut seed.stream("sign_flip"));
                // The observed assignment is one of the sample, so that p is never 0 and the test never too eager.
                let p_value = f64::from(reached + 1) / f64::from(DRAWS + 1);
                SignFlip { p_value, method: SignFlipMethod::MonteCarlo { draws: DRAWS } }
            }
        })
    }

    /// Assignments whose |sum| reaches the threshold (> 0), as pairs of half-sums.
    fn meet_in_the_middle(&mut self, magnitudes: &[i64], threshold: i64) -> u64 {
        let (left, right) = magnitudes.split_at(magnitudes.len() / 2);
        signed_sums(left, &mut self.left, &mut self.spare);
        signed_sums(right, &mut self.right, &mut self.spare);
        // Sums at or below -threshold mirror those at or above it.
        2 * pairs_reaching(&self.left[..1 << left.len()], &self.right[..1 << right.len()], threshold)
    }
}

/// Magnitudes other than 0 as whole numbers, and the magnitude of the observed sum. A difference of 0 keeps every sum and
/// doubles every count, so that it cancels out of the share.
fn scaled(differences: &[f64]) -> Result<(Vec<i64>, i64), NotEstimable> {
    if differences.iter().any(|d| !d.is_finite()) {
        return Err(NotEstimable::NotFinite);
    }
    let largest = differences.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
    if largest == 0.0 {
        return Ok((Vec::new(), 0));
    }
    // First to at most 1, so that neither huge nor tiny differences overflow; then to the digits of a sum of all.
    let (_, exponent) = libm::frexp(largest);
    let unit = |d: f64| libm::scalbn(d, -exponent);
    let total: f64 = differences.iter().map(|d| unit(d.abs())).sum();
    let (_, digits) = libm::frexp(total);
    let whole: Vec<i64> =
        differences.iter().map(|d| libm::rint(libm::scalbn(unit(*d), DIGITS - digits)) as i64).collect();
    let observed = whole.iter().sum::<i64>().abs();
    Ok((whole.into_iter().map(i64::abs).filter(|d| *d != 0).collect(), observed))
}

/// Assignments whose |sum| reaches the threshold (> 0), one by one: neighbours in Gray code differ by one sign.
fn enumerate(magnitudes: &[i64], threshold: i64) -> u64 {
    // The mirror image of an assignment has the same |sum|: the last sign stays, and each one counts twice.
    let free = magnitudes.len() - 1;
    let mut sum: i64 = magnitudes.iter().sum();
    let mut negative = 0u64;
    let mut reached = u64::from(sum >= threshold);
    for step in 1..1u64 << free {
        let flip = step.trailing_zeros() as usize;
        negative ^= 1 << flip;
        let change = 2 * magnitudes[flip];
        sum += if negative & (1 << flip) != 0 { -change } else { change };
        reached += u64::from(sum.abs() >= threshold);
    }
    2 * reached
}

/// Pairs of an element of each list with a sum of at least `threshold`; both lists ascending and symmetric about 0.
fn pairs_reaching(left: &[i64], right: &[i64], threshold: i64) -> u64 {
    // The right element mirrored: count right <= x - threshold for every x. Chunks of the left list are walked in step, so
    // that the processor works on several at once.
    let length = left.len().div_ceil(CHAINS);
    let mut chains: [Chain<'_>; CHAINS] = std::array::from_fn(|c| {
        let xs = left.get(c * length..).map_or(&[][..], |rest| &rest[..length.min(rest.len())]);
        let partners = xs.first().map_or(0, |x| right.partition_point(|y| *y <= x - threshold));
        Chain { xs, position: 0, partners, pairs: 0 }
    });
    while chains.iter().all(|c| c.position < c.xs.len() && c.partners < right.len()) {
        for chain in &mut chains {
            chain.step(right, threshold);
        }
    }
    for chain in &mut chains {
        while chain.position < chain.xs.len() && chain.partners < right.len() {
            chain.step(right, threshold);
        }
        // All of the right list reaches what is left of the chunk.
        chain.pairs += (chain.xs.len() - chain.position) as u64 * right.len() as u64;
    }
    chains.iter().map(|c| c.pairs).sum()
}

const CHAINS: usize = 4;

/// One walk along a part of the left list and along the right list.
struct Chain<'a> {
    xs: &'a [i64],
    position: usize,
    partners: usize,
    pairs: u64,
}

impl Chain<'_> {
    /// One more partner for the present element, or on to the next element. Without branches: they could not be predicted.
    #[inline(always)]
    fn step(&mut self, right: &[i64], threshold: i64) {
        let more = right[self.partners] <= self.xs[self.position] - threshold;
        self.pairs += if more { 0 } else { self.partners as u64 };
        self.partners += usize::from(more);
        self.position += usize::from(!more);
    }
}

/// The sums of all assignments of signs, ascending, into the first `2^n` elements of `sums`.
fn signed_sums(magnitudes: &[i64], sums: &mut Vec<i64>, spare: &mut Vec<i64>) {
    let all = 1 << magnitudes.len();
    for list in [&mut *sums, &mut *spare] {
        list.resize(all.max(list.len()), 0);
    }
    sums[0] = 0;
    for (done, d) in magnitudes.iter().enumerate() {
        merge_shifted(&sums[..1 << done], *d, &mut spare[..2 << done]);
        std::mem::swap(sums, spare);
    }
}

/// Into `out`, ascending, every element of the ascending list `sums` minus and plus `d` > 0. `sums` is symmetric about 0, so
/// only the lower half is merged, from both of its ends at once, and the upper half is its mirror image.
fn merge_shifted(sums: &[i64], d: i64, out: &mut [i64]) {
    let half = sums.len();
    let (lower, upper) = out.split_at_mut(half);
    let (front, back) = lower.split_at_mut(half.div_ceil(2));
    // Next candidates from the bottom; `up` never passes `down`.
    let (mut down, mut up) = (0, 0);
    // One past the next candidates from the middle: below it lie exactly the sums - d and + d that are not positive.
    let mut down_end = sums.partition_point(|s| *s < d);
    let mut up_end = half - down_end;
    let mut back = back.iter_mut().rev();
    for slot in front.iter_mut() {
        let (low, high) = (sums[down] - d, sums[up] + d);
        let take_low = low <= high;
        *slot = if take_low { low } else { high };
        down += usize::from(take_low);
        up += usize::from(!take_low);
        if let Some(slot) = back.next() {
            let low = sums[down_end - 1] - d;
            let high = if up_end == 0 { i64::MIN } else { sums[up_end - 1] + d };
            let take_high = high >= low;
            *slot = if take_high { high } else { low };
            up_end -= usize::from(take_high);
            down_end -= usize::from(!take_high);
        }
    }
    for (slot, mirrored) in upper.iter_mut().rev().zip(lower.iter()) {
        *slot = -mirrored;
    }
}

/// Drawn assignments whose |sum| reaches the threshold. Eight signs at a time: the sums of each eight magnitudes are looked up.
fn sample(magnitudes: &[i64], threshold: i64, draws: u32, stream: &mut RandomStream) -> u32 {
    let signed = |eight: &[i64], signs: usize| -> i64 {
        eight.iter().enumerate().map(|(i, d)| if signs >> i & 1 == 0 { *d } else { -d }).sum()
    };
    let tables: Vec<[i64; 256]> =
        magnitudes.chunks(8).map(|eight| std::array::from_fn(|signs| signed(eight, signs))).collect();
    let mut reached = 0;
    for _ in 0..draws {
        let mut sum = 0;
        for words in tables.chunks(8) {
            let signs = stream.bits().to_le_bytes();
            sum += words.iter().zip(signs).map(|(table, byte)| table[usize::from(byte)]).sum::<i64>();
        }
        reached += u32::from(sum.abs() >= threshold);
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed() -> SeedPath {
        SeedPath::root(11).child("sign flip tests")
    }
    fn normals(n: usize, shift: f64, name: &str) -> Vec<f64> {
        let mut stream = seed().stream(name);
        (0..n).map(|_| stream.normal() + shift).collect()
    }
    fn p(differences: &[f64]) -> f64 {
        sign_flip(differences, &seed()).unwrap().p_value
    }

    #[test]
    fn small_cases_can_be_counted_by_hand() {
        // Of 8 sums +-1+-2+-3, only 6 and -6 reach 6.
        assert_eq!(p(&[1.0, 2.0, 3.0]), 0.25);
        // 0 counts all; 2 is reached by +-6, +-4, +-2 (twice each: 1+2-3 = 0 is not).
        assert_eq!(p(&[3.0, -2.0, -1.0]), 1.0);
        assert_eq!(p(&[3.0, -2.0, 1.0]), 0.75);
        // Differences of 0 say nothing.
        assert_eq!(p(&[1.0, 0.0, 2.0, 3.0, 0.0]), 0.25);
        assert_eq!(p(&[0.0; 12]), 1.0);
        assert_eq!(p(&[0.7; 20]), 2.0 / 1_048_576.0);
    }

    #[test]
    fn enumeration_and_meet_in_the_middle_count_the_same() {
        let mut flipper = SignFlipper::default();
        for (n, shift) in [(2, 0.5), (7, 0.2), (16, 0.0), (16, 0.6), (17, 0.3), (19, -0.4)] {
            let continuous = normals(n, shift, "continuous");
            // Many ties: tenths, which are not exact in binary.
            let tied: Vec<f64> = continuous.iter().map(|x| (x * 10.0).round() / 10.0).collect();
            for data in [continuous, tied] {
                let (magnitudes, observed) = scaled(&data).unwrap();
                let threshold = observed - TOLERANCE;
                assert!(threshold > 0);
                let counted = enumerate(&magnitudes, threshold);
                assert_eq!(counted, flipper.meet_in_the_middle(&magnitudes, threshold), "{n} {shift}");
                assert!(counted >= 2, "the observed assignment and its mirror image count");
            }
        }
    }

    #[test]
    fn half_sums_are_complete_and_ascending() {
        let (mut sums, mut spare) = (Vec::new(), vec![9; 100]);
        signed_sums(&[5, 1, 7, 7, 2], &mut sums, &mut spare);
        let mut plain = vec![0];
        for d in [5, 1, 7, 7, 2] {
            plain = plain.iter().flat_map(|s| [s - d, s + d]).collect();
        }
        plain.sort_unstable();
        assert_eq!(sums[..32], plain);
    }

    #[test]
    fn pairs_are_counted_up_to_and_including_the_threshold() {
        let (left, right) = ([-9, -4, -1, 1, 4, 9], [-6, -3, -3, 0, 0, 3, 3, 6]);
        for threshold in -20..20 {
            let plain = left.iter().flat_map(|x| right.iter().map(move |y| x + y)).filter(|sum| *sum >= threshold);
            assert_eq!(pairs_reaching(&left, &right, threshold), plain.count() as u64, "{threshold}");
        }
    }

    #[test]
    fn rounding_noise_breaks_no_tie() {
        // 0.1 + 0.2 - 0.3 is 5.6e-17 in floating point, not 0.
        assert_eq!(p(&[0.1, 0.2, -0.3]), 1.0);
        // Written in tenths or in whole numbers, the data are the same.
        let whole = [3.0, 1.0, -2.0, 4.0, 1.0, 5.0, -9.0, 2.0, 6.0, 5.0, 3.0, 5.0];
        let tenths = whole.map(|x| x * 0.1);
        assert_eq!(p(&whole), p(&tenths));
        assert_eq!(p(&whole), p(&whole.map(|x| x * 1e-290)));
        assert_eq!(p(&whole), p(&whole.map(|x| x * 1e290)));
    }

    #[test]
    fn forty_runs_are_exact_and_agree_with_a_sample() {
        let data = normals(40, 0.3, "forty");
        let result = sign_flip(&data, &seed()).unwrap();
        assert_eq!(result.method, SignFlipMethod::MeetInTheMiddle);
        // p has 40 binary digits and no more.
        assert_eq!(libm::scalbn(result.p_value, 39).fract(), 0.0);
        let (magnitudes, observed) = scaled(&data).unwrap();
        let reached = sample(&magnitudes, observed - TOLERANCE, 400_000, &mut seed().stream("check"));
        let sampled = f64::from(reached) / 400_000.0;
        // 5 standard errors of a share near the p-value.
        let error = 5.0 * (result.p_value * (1.0 - result.p_value) / 400_000.0).sqrt();
        assert!((sampled - result.p_value).abs() < error, "{sampled} {}", result.p_value);
    }

    #[test]
    fn more_than_forty_runs_are_sampled_and_say_so() {
        let data = normals(60, 0.2, "sixty");
        let result = sign_flip(&data, &seed()).unwrap();
        assert_eq!(result.method, SignFlipMethod::MonteCarlo { draws: DRAWS });
        assert_eq!(sign_flip(&data, &seed()), Ok(result));
        assert_eq!(sign_flip(&[1.0; 60], &seed()).map(|r| r.p_value), Ok(1.0 / f64::from(DRAWS + 1)));
    }

    #[test]
    fn reasons_come_instead_of_numbers() {
        assert_eq!(sign_flip(&[], &seed()), Err(NotEstimable::Empty));
        assert_eq!(sign_flip(&[1.0], &seed()), Err(NotEstimable::OneCluster));
        assert_eq!(sign_flip(&[1.0, f64::NAN], &seed()), Err(NotEstimable::NotFinite));
    }
}
