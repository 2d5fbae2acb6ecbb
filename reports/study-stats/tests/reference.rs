//! Published and scipy reference values. See `testdata/README.md`.

#![allow(clippy::unwrap_used)]

use study_ident::SeedPath;
use study_stats::*;

const A: [f64; 8] = [12.1, 14.3, 9.8, 15.2, 11.0, 13.7, 10.4, 16.9];
const B: [f64; 9] = [10.2, 11.5, 9.1, 12.8, 10.9, 8.7, 13.1, 9.9, 11.2];
const C: [f64; 8] = [1.0, 2.0, 2.0, 3.0, 4.0, 4.0, 4.0, 5.0];
const D: [f64; 9] = [2.0, 3.0, 4.0, 5.0, 5.0, 6.0, 6.0, 7.0, 7.0];

fn data(name: &str) -> &'static [f64] {
    match name {
        "A" => &A,
        "B" => &B,
        "C" => &C,
        "D" => &D,
        other => panic!("no data set {other}"),
    }
}

fn alternative(word: &str) -> Alternative {
    match word {
        "two-sided" => Alternative::TwoSided,
        "greater" => Alternative::Greater,
        "less" => Alternative::Less,
        other => panic!("no alternative {other}"),
    }
}

fn method(word: &str) -> MannWhitneyMethod {
    match word {
        "exact" => MannWhitneyMethod::Exact,
        "continuity" => MannWhitneyMethod::Asymptotic { continuity: true },
        "plain" => MannWhitneyMethod::Asymptotic { continuity: false },
        other => panic!("no method {other}"),
    }
}

/// The bootstrap distribution of the mean of A without Monte-Carlo error: all 8^8 resamples, in ascending order.
fn all_resamples_of_a() -> Replicates {
    let tenths = A.map(|x| (x * 10.0).round() as usize);
    let mut counts = vec![1u64];
    for _ in 0..A.len() {
        let mut next = vec![0; counts.len() + 169];
        for (sum, count) in counts.iter().enumerate() {
            tenths.iter().for_each(|t| next[sum + t] += count);
        }
        counts = next;
    }
    let mean_of = |sum: usize| sum as f64 / 80.0;
    let all = counts.iter().enumerate().flat_map(|(sum, n)| std::iter::repeat_n(mean_of(sum), *n as usize)).collect();
    Replicates::new(mean_of(tenths.iter().sum()), all).unwrap()
}

fn bootstrap_value(replicates: &Replicates, own: &MeanBootstrap, words: &[&str]) -> f64 {
    let interval = match words[0] {
        "standard" => return standard_deviation(&A).unwrap() * 7.0_f64.sqrt() / 8.0,
        "z0" => return replicates.bias_correction().unwrap(),
        "acceleration" => return own.acceleration(),
        "percentile" => replicates.percentile(0.95),
        "basic" => replicates.basic(0.95),
        "bca" => replicates.bca(0.95, own.acceleration()).unwrap(),
        other => panic!("no interval {other}"),
    };
    if words[1] == "low" { interval.low } else { interval.high }
}

#[test]
fn published_values_hold_at_printed_precision() {
    let replicates = all_resamples_of_a();
    let own = MeanBootstrap::new(&A, 100, &mut SeedPath::root(1).stream("a")).unwrap();
    let mut rows = 0;
    for line in include_str!("../testdata/reference.csv").lines().filter(|l| !l.starts_with('#')).skip(1) {
        let (quantity, printed) = line.split_once(',').unwrap();
        let words: Vec<&str> = quantity.split(' ').collect();
        let value = match words[..] {
            ["mann_whitney", x, y, "u"] => {
                mann_whitney(data(x), data(y), Alternative::TwoSided, MannWhitneyMethod::Auto).unwrap().u
            }
            ["mann_whitney", x, y, how, side] => {
                mann_whitney(data(x), data(y), alternative(side), method(how)).unwrap().p_value
            }
            ["cliffs_delta", x, y] => cliffs_delta(data(x), data(y)).unwrap(),
            ["hodges_lehmann", x, y] => hodges_lehmann(data(x), data(y)).unwrap(),
            ["bootstrap", "A", ref rest @ ..] => bootstrap_value(&replicates, &own, rest),
            ["design_effect", size, icc] => nested_design_effect(size.parse().unwrap(), icc.parse().unwrap()),
            _ => panic!("row without a test: {quantity}"),
        };
        let decimals = printed.split_once('.').map_or(0, |(_, digits)| digits.len());
        let half_digit = format!("0.500001e-{decimals}").parse::<f64>().unwrap();
        assert!(
            (value - printed.parse::<f64>().unwrap()).abs() <= half_digit.min(1e-6),
            "{quantity}: {value} {printed}"
        );
        rows += 1;
    }
    assert_eq!(rows, 26);
}

/// Design effect of data made to have exactly that correlation in clusters of that size.
fn nested_design_effect(size: usize, target: f64) -> f64 {
    // Two clusters at +-h with the same inner spread: MSB = 2 m h^2, MSW = s^2; ICC = (MSB - MSW) / (MSB + (m - 1) MSW).
    let inner: Vec<f64> = (0..size).map(|i| i as f64 - 0.5 * (size - 1) as f64).collect();
    let msw = variance(&inner).unwrap();
    let msb = msw * (1.0 + (size - 1) as f64 * target) / (1.0 - target);
    let h = (msb / (2.0 * size as f64)).sqrt();
    let (low, high): (Vec<f64>, Vec<f64>) = inner.iter().map(|x| (x - h, x + h)).unzip();
    let result = icc(&[&low, &high]).unwrap();
    assert!((result.icc - target).abs() < 1e-12);
    assert!((result.effective_n - 2.0 * size as f64 / result.design_effect).abs() < 1e-9);
    result.design_effect
}

#[test]
fn resampling_comes_within_one_lattice_step_of_the_enumerated_intervals() {
    let exact = all_resamples_of_a();
    let own = MeanBootstrap::new(&A, 200_000, &mut SeedPath::root(1).stream("a")).unwrap();
    let pairs = [
        (own.percentile(0.95), exact.percentile(0.95)),
        (own.basic(0.95), exact.basic(0.95)),
        (own.bca(0.95).unwrap(), exact.bca(0.95, own.acceleration()).unwrap()),
    ];
    for (drawn, enumerated) in pairs {
        let off = (drawn.low - enumerated.low).abs().max((drawn.high - enumerated.high).abs());
        assert!(off < 0.0125 * 1.001, "{drawn:?} {enumerated:?}");
    }
    assert!((own.replicates().bias_correction().unwrap() - 0.0112).abs() < 0.01);
    let spread = standard_deviation(own.replicates().sorted()).unwrap();
    assert!((spread / 0.829_109_085_1 - 1.0).abs() < 0.01, "{spread}");
}

/// One data set of `scipy.csv`, as far as it has been read.
#[derive(Default)]
struct Set {
    x: Vec<f64>,
    y: Vec<f64>,
    p: Vec<f64>,
    differences: Vec<f64>,
}

impl Set {
    /// What this crate says about a quantity; nothing for rows of data.
    fn answer(&mut self, quantity: &str, values: &[f64]) -> Option<Vec<f64>> {
        let mut sorted = self.x.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let limits = |i: Interval| vec![i.low, i.high];
        let words: Vec<&str> = quantity.split(' ').collect();
        Some(match words[..] {
            ["x"] => {
                self.x = values.to_vec();
                return None;
            }
            ["y"] => {
                self.y = values.to_vec();
                return None;
            }
            ["p"] => {
                self.p = values.to_vec();
                return None;
            }
            ["differences"] => {
                self.differences = values.to_vec();
                return None;
            }
            ["quantile"] => [0.05, 0.5, 0.95, 0.99].iter().map(|p| quantile(&sorted, *p).unwrap()).collect(),
            ["harrell_davis"] => [0.05, 0.5, 0.95].iter().map(|p| harrell_davis(&sorted, *p).unwrap()).collect(),
            ["asymptotic", side, continuity] => {
                let how = MannWhitneyMethod::Asymptotic { continuity: continuity == "True" };
                let test = mann_whitney(&self.x, &self.y, alternative(side), how).unwrap();
                vec![test.u, test.p_value]
            }
            ["exact", side] => {
                vec![mann_whitney(&self.x, &self.y, alternative(side), MannWhitneyMethod::Exact).unwrap().p_value]
            }
            ["t_interval"] => limits(t_interval(&self.x, 0.95).unwrap()),
            ["welch_interval"] => limits(welch_interval(&self.x, &self.y, 0.95).unwrap()),
            ["benjamini_hochberg"] => benjamini_hochberg(&self.p),
            ["sign_flip"] => vec![sign_flip(&self.differences, &SeedPath::root(1)).unwrap().p_value],
            ["t_quantile"] => vec![values[0], values[1], student_t_quantile(values[0], values[1])],
            ["t_cdf"] => vec![values[0], values[1], student_t_cdf(values[0], values[1])],
            ["normal_quantile"] => vec![values[0], normal_quantile(values[0])],
            ["normal_cdf"] => vec![values[0], normal_cdf(values[0])],
            _ => panic!("row without a test: {quantity}"),
        })
    }
}

#[test]
fn scipy_agrees_on_random_data_within_1e_9() {
    let mut set = Set::default();
    let mut compared = 0;
    for line in include_str!("../testdata/scipy.csv").lines().skip(1) {
        let parts: Vec<&str> = line.splitn(3, ',').collect();
        let values: Vec<f64> = parts[2].split(' ').map(|v| v.parse().unwrap()).collect();
        let Some(own) = set.answer(parts[1], &values) else { continue };
        for (ours, theirs) in own.iter().zip(&values) {
            let tolerance = 1e-9 * theirs.abs().max(1e-3);
            assert!((ours - theirs).abs() <= tolerance, "set {} {}: {ours} {theirs}", parts[0], parts[1]);
        }
        assert_eq!(own.len(), values.len());
        compared += 1;
    }
    assert!(compared > 250, "{compared}");
}
