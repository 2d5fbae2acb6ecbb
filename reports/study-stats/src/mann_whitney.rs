//! The Mann-Whitney U test.
//!
//! Purpose: parity with the predecessor and small comparisons. It assumes independent observations; sessions that share
//! caches and links are not, so it never carries the answer of a study.
//!
//! Equations: `U = #(x > y) + #(x = y) / 2` over all pairs. Asymptotic: normal with mean `m n / 2` and variance
//! `m n / 12 (N + 1 - sum (t^3 - t) / (N (N - 1)))` over ties of size `t` (Lehmann, Nonparametrics, 1975), continuity 1/2.
//! Exact: the distribution of the rank sum over all `C(N, m)` assignments of the mid-ranks actually seen, by the shift
//! algorithm (Streitberg and Roehmel, 1986); two-sided `P(|U - m n / 2| >= |u - m n / 2|)`.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | scipy `method="exact"` ignores ties | the permutation distribution of the mid-ranks | C, D of the test data: 0.0339 instead of 0.0360 |
//! | Go simulator: asymptotic without tie correction | tie-corrected | smaller p where half of all values tie |
//! | censored values undefined | +infinity: largest rank, tied among themselves | failures count as "worst" |
//!
//! Random streams consumed: none.

use crate::cliffs_delta::doubled_wins;
use crate::{NotEstimable, normal_cdf};

/// What the alternative says about `x`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alternative {
    /// `x` differs from `y`.
    TwoSided,
    /// `x` tends to be larger.
    Greater,
    /// `x` tends to be smaller.
    Less,
}

/// How the p-value is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MannWhitneyMethod {
    /// Exact up to 60 observations together, asymptotic with continuity above.
    Auto,
    /// Exact, ties included, up to 120 observations together; asymptotic with continuity above.
    Exact,
    /// Normal approximation with tie correction.
    Asymptotic {
        /// Whether half a step is taken off the distance from the mean.
        continuity: bool,
    },
}

/// The result of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// U of `x`: pairs in which `x` is larger, ties half.
    pub u: f64,
    /// p-value in (0, 1].
    pub p_value: f64,
    /// The method used: never [`MannWhitneyMethod::Auto`].
    pub method: MannWhitneyMethod,
}

const AUTO_LIMIT: usize = 60;
// C(120, 60) = 9.7e34 and all partial sums fit in 128 bits.
const EXACT_LIMIT: usize = 120;

/// Tests whether `x` and `y` come from one distribution. Censored values are +infinity.
///
/// # Errors
/// When a side is empty or holds NaN, or (asymptotically) all values are equal.
pub fn mann_whitney(
    x: &[f64],
    y: &[f64],
    alternative: Alternative,
    method: MannWhitneyMethod,
) -> Result<MannWhitney, NotEstimable> {
    let (wins, pairs) = doubled_wins(x, y)?;
    let ties = tie_sizes(x, y);
    let total = x.len() + y.len();
    let exact = match method {
        MannWhitneyMethod::Auto => total <= AUTO_LIMIT,
        MannWhitneyMethod::Exact => total <= EXACT_LIMIT,
        MannWhitneyMethod::Asymptotic { .. } => false,
    };
    let (p_value, method) = if exact {
        (exact_p(wins, x.len(), y.len(), &ties, alternative), MannWhitneyMethod::Exact)
    } else {
        let continuity = method != MannWhitneyMethod::Asymptotic { continuity: false };
        let p = asymptotic_p(wins as f64 / 2.0, pairs as f64, total as f64, &ties, alternative, continuity)?;
        (p, MannWhitneyMethod::Asymptotic { continuity })
    };
    Ok(MannWhitney { u: wins as f64 / 2.0, p_value, method })
}

/// Sizes of the groups of equal values of both samples together, from the smallest value up.
fn tie_sizes(x: &[f64], y: &[f64]) -> Vec<u64> {
    let mut all = [x, y].concat();
    all.sort_unstable_by(f64::total_cmp);
    all.chunk_by(|a, b| a == b).map(|group| group.len() as u64).collect()
}

fn asymptotic_p(
    u: f64,
    pairs: f64,
    total: f64,
    ties: &[u64],
    alternative: Alternative,
    continuity: bool,
) -> Result<f64, NotEstimable> {
    let tie_term: f64 = ties.iter().map(|t| *t as f64).map(|t| t * t * t - t).sum();
    let variance = pairs / 12.0 * (total + 1.0 - tie_term / (total * (total - 1.0)));
    if variance <= 0.0 {
        return Err(NotEstimable::AllEqual);
    }
    let centred = u - 0.5 * pairs;
    let distance = match alternative {
        Alternative::TwoSided => centred.abs(),
        Alternative::Greater => centred,
        Alternative::Less => -centred,
    };
    let upper = normal_cdf(-(distance - if continuity { 0.5 } else { 0.0 }) / variance.sqrt());
    Ok(if alternative == Alternative::TwoSided { (2.0 * upper).min(1.0) } else { upper })
}

/// Shares of all assignments of the mid-ranks to `x` that are at least as extreme as the observed one.
fn exact_p(wins: u64, m: usize, n: usize, ties: &[u64], alternative: Alternative) -> f64 {
    // Ranks are doubled so that mid-ranks are whole, and the smaller side is enumerated.
    let (size, wins, alternative) = match alternative {
        _ if m <= n => (m, wins, alternative),
        Alternative::TwoSided => (n, 2 * (m * n) as u64 - wins, alternative),
        Alternative::Greater => (n, 2 * (m * n) as u64 - wins, Alternative::Less),
        Alternative::Less => (n, 2 * (m * n) as u64 - wins, Alternative::Greater),
    };
    let observed = wins as usize + size * (size + 1);
    let centre = size * (m + n + 1);
    let counts = rank_sum_counts(ties, size);
    let (mut extreme, mut all) = (0u128, 0u128);
    for (sum, count) in counts.iter().enumerate() {
        all += count;
        let counted = match alternative {
            Alternative::TwoSided => sum.abs_diff(centre) >= observed.abs_diff(centre),
            Alternative::Greater => sum >= observed,
            Alternative::Less => sum <= observed,
        };
        extreme += if counted { *count } else { 0 };
    }
    extreme as f64 / all as f64
}

/// Number of ways to choose `size` observations, by the sum of their doubled mid-ranks.
fn rank_sum_counts(ties: &[u64], size: usize) -> Vec<u128> {
    let total: u64 = ties.iter().sum();
    let longest = size * 2 * total as usize;
    let mut ways = vec![vec![0u128; longest + 1]; size + 1];
    ways[0][0] = 1;
    let mut below = 0;
    for tie in ties {
        let doubled = (2 * below + tie + 1) as usize;
        below += tie;
        for _ in 0..*tie {
            for chosen in (1..=size).rev() {
                for sum in (doubled..=longest).rev() {
                    let add = ways[chosen - 1][sum - doubled];
                    ways[chosen][sum] += add;
                }
            }
        }
    }
    ways.swap_remove(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every assignment, one by one.
    fn enumerated(x: &[f64], y: &[f64], alternative: Alternative) -> f64 {
        let all = [x, y].concat();
        let u_of = |mask: u32| {
            let (inside, outside): (Vec<_>, Vec<_>) =
                all.iter().enumerate().partition(|(i, _)| mask & (1u32 << *i as u32) != 0);
            let strip = |part: Vec<(usize, &f64)>| part.into_iter().map(|(_, v)| *v).collect::<Vec<f64>>();
            doubled_wins(&strip(inside), &strip(outside)).unwrap().0 as i64
        };
        let observed = u_of((1u32 << x.len()) - 1);
        let centre = (x.len() * y.len()) as i64;
        let (mut extreme, mut total) = (0, 0);
        for mask in (0..1u32 << all.len()).filter(|mask| mask.count_ones() as usize == x.len()) {
            let u = u_of(mask);
            total += 1;
            extreme += i32::from(match alternative {
                Alternative::TwoSided => (u - centre).abs() >= (observed - centre).abs(),
                Alternative::Greater => u >= observed,
                Alternative::Less => u <= observed,
            });
        }
        f64::from(extreme) / f64::from(total)
    }

    #[test]
    fn exact_with_ties_equals_enumeration_of_all_assignments() {
        let cases: [(&[f64], &[f64]); 4] = [
            (&[1.0, 2.0, 2.0, 5.0], &[2.0, 3.0, 3.0, 5.0, 6.0, 6.0]),
            (&[9.0, 1.0, 1.0, 1.0, 4.0, 4.0, 4.0], &[1.0, 0.0, 4.0]),
            (&[1.0, f64::INFINITY, f64::INFINITY], &[2.0, 3.0, f64::INFINITY, 4.0]),
            (&[3.0, 3.0], &[3.0, 3.0, 3.0]),
        ];
        for (x, y) in cases {
            for alternative in [Alternative::TwoSided, Alternative::Greater, Alternative::Less] {
                let result = mann_whitney(x, y, alternative, MannWhitneyMethod::Auto).unwrap();
                assert_eq!(result.method, MannWhitneyMethod::Exact);
                assert!((result.p_value - enumerated(x, y, alternative)).abs() < 1e-15, "{x:?} {y:?} {alternative:?}");
            }
        }
    }

    #[test]
    fn many_observations_switch_to_the_approximation_which_agrees() {
        let x: Vec<f64> = (0..60).map(|i| f64::from((i * 37) % 41)).collect();
        let y: Vec<f64> = (0..60).map(|i| f64::from((i * 29) % 47)).collect();
        let auto = mann_whitney(&x, &y, Alternative::TwoSided, MannWhitneyMethod::Auto).unwrap();
        assert_eq!(auto.method, MannWhitneyMethod::Asymptotic { continuity: true });
        let exact = mann_whitney(&x, &y, Alternative::TwoSided, MannWhitneyMethod::Exact).unwrap();
        assert_eq!(exact.method, MannWhitneyMethod::Exact);
        assert!((auto.p_value - exact.p_value).abs() < 2e-3, "{} {}", auto.p_value, exact.p_value);
        let more = mann_whitney(&[&x[..], &x].concat(), &y, Alternative::TwoSided, MannWhitneyMethod::Exact).unwrap();
        assert_eq!(more.method, MannWhitneyMethod::Asymptotic { continuity: true });
    }

    #[test]
    fn reasons_come_instead_of_numbers() {
        let test = |x: &[f64], y: &[f64]| {
            mann_whitney(x, y, Alternative::TwoSided, MannWhitneyMethod::Asymptotic { continuity: true }).err()
        };
        assert_eq!(test(&[], &[1.0]), Some(NotEstimable::Empty));
        assert_eq!(test(&[f64::NAN], &[1.0]), Some(NotEstimable::NotFinite));
        assert_eq!(test(&[1.0, 1.0], &[1.0]), Some(NotEstimable::AllEqual));
    }
}
