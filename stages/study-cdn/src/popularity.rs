//! Which title is watched: Zipf's law over a finite catalogue.
//!
//! Equation: title `i` of `n` (from 0) has weight `(i + 1)^-a / sum of (k + 1)^-a over k = 0..n`, without unit, for any
//! exponent `a > 0`. A title is drawn by inverting the cumulative weights with one uniform number.
//!
//! Sources: Breslau et al., "Web caching and Zipf-like distributions", INFOCOM 1999 (exponents of 0.64 to 0.83).
//!
//! | reference | here | effect |
//! |---|---|---|
//! | rejection-inversion samplers need `a > 1` | cumulative weights and a binary search | any positive exponent, one uniform number per draw |
//! | the Go simulator turns an exponent up to 1 into 1.1 | the exponent is used as given | measured catalogues, mostly below 1, can be studied |
//!
//! Random streams: none of its own; the caller gives the uniform number.

use study_tree::{Cx, Decode, Diagnostic, Node};

/// The exponent of Zipf's law: above 0 and finite.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct ZipfExponent(f64);

impl ZipfExponent {
    /// From a number; `None` unless it is finite and above 0.
    #[must_use]
    pub fn new(exponent: f64) -> Option<Self> {
        (exponent.is_finite() && exponent > 0.0).then_some(Self(exponent))
    }
    /// The number.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Decode for ZipfExponent {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let exponent = f64::decode(node, cx)?;
        if exponent == 0.0 {
            cx.push(
                Diagnostic::error("out-of-range", node.span, "`0` is out of range for `zipf`")
                    .help("give an exponent above 0, or write `uniform` for titles that are equally popular"),
            );
            return None;
        }
        let found = Self::new(exponent);
        if found.is_none() {
            cx.push(
                Diagnostic::error("out-of-range", node.span, format!("{} is out of range for `zipf`", node.describe()))
                    .help("give an exponent above 0, e.g. `0.8`"),
            );
        }
        found
    }
    fn schema() -> serde_json::Value {
        serde_json::json!({ "type": "number", "exclusiveMinimum": 0 })
    }
}

study_tree::variants! {
    /// How often each title of a catalogue is watched.
    pub enum Popularity {
        unit {
            /// Every title equally often.
            Uniform = "uniform"
        }
        data {
            /// Zipf's law with this exponent; title 0 is the most popular.
            Zipf(ZipfExponent) = "zipf"
        }
    }
}

impl Popularity {
    /// The weight of each of `titles` titles, in order; they sum to 1.
    #[must_use]
    pub fn weights(&self, titles: usize) -> Vec<f64> {
        let raw: Vec<f64> = match self {
            Self::Uniform => vec![1.0; titles],
            Self::Zipf(exponent) => (0..titles).map(|i| libm::pow((i + 1) as f64, -exponent.get())).collect(),
        };
        let total: f64 = raw.iter().sum();
        raw.into_iter().map(|w| w / total).collect()
    }
}

/// Draws titles by weight.
#[derive(Debug, Clone, PartialEq)]
pub struct TitleSampler {
    /// Sum of the weights up to and including each title, relative to the total; the last is 1.
    cumulative: Vec<f64>,
}

impl TitleSampler {
    /// From weights in any unit; `None` when there is none, one is negative or not finite, or all are 0.
    #[must_use]
    pub fn new(weights: &[f64]) -> Option<Self> {
        if weights.iter().any(|w| !w.is_finite() || *w < 0.0) {
            return None;
        }
        let mut sum = 0.0;
        let mut cumulative: Vec<f64> = Vec::with_capacity(weights.len());
        for weight in weights {
            sum += weight;
            cumulative.push(sum);
        }
        if sum <= 0.0 || !sum.is_finite() {
            return None;
        }
        cumulative.iter_mut().for_each(|c| *c /= sum);
        Some(Self { cumulative })
    }
    /// The title for a uniform number in [0, 1): the first whose cumulative weight is at least `uniform`. A title of
    /// weight 0 is never drawn, save the first for a `uniform` of exactly 0.
    #[must_use]
    pub fn title(&self, uniform: f64) -> usize {
        // The last cumulative weight is exactly 1, so a uniform number below 1 always finds a title.
        self.cumulative.partition_point(|c| *c < uniform).min(self.cumulative.len() - 1)
    }
    /// Titles.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cumulative.len()
    }
    /// Never: a sampler has at least one title.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cumulative.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use study_ident::SeedPath;

    fn zipf(exponent: f64) -> Popularity {
        Popularity::Zipf(ZipfExponent::new(exponent).unwrap())
    }

    #[test]
    fn weights_follow_the_law_for_exponents_below_and_above_one() {
        for exponent in [0.1, 0.8, 1.0, 1.1, 3.0] {
            let weights = zipf(exponent).weights(200);
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            for i in [1_usize, 9, 199] {
                let expected = libm::pow((i + 1) as f64, -exponent);
                assert!((weights[i] / weights[0] - expected).abs() < 1e-14, "{exponent} {i}");
            }
        }
        assert_eq!(Popularity::Uniform.weights(4), [0.25; 4]);
    }

    #[test]
    fn exponents_that_are_not_above_zero_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(ZipfExponent::new(bad), None);
        }
    }

    #[test]
    fn draws_come_as_often_as_their_weight() {
        let weights = zipf(0.8).weights(50);
        let sampler = TitleSampler::new(&weights).unwrap();
        let mut stream = SeedPath::root(1).stream("title");
        let n = 200_000;
        let mut counts = [0_u32; 50];
        (0..n).for_each(|_| counts[sampler.title(stream.uniform())] += 1);
        for (count, weight) in counts.iter().zip(&weights) {
            let sd = (f64::from(n) * weight * (1.0 - weight)).sqrt();
            assert!((f64::from(*count) - f64::from(n) * weight).abs() < 4.5 * sd, "{count} {weight}");
        }
    }

    #[test]
    fn weights_that_are_no_distribution_are_refused() {
        for bad in [&[][..], &[0.0, 0.0], &[1.0, -1.0], &[f64::NAN], &[f64::MAX, f64::MAX]] {
            assert_eq!(TitleSampler::new(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn a_draw_is_always_a_title_of_positive_weight(
            weights in prop::collection::vec(prop_oneof![Just(0.0), 1e-9..10.0_f64], 1..40),
            uniform in 1e-15..1.0_f64,
        ) {
            if let Some(sampler) = TitleSampler::new(&weights) {
                prop_assert!(weights[sampler.title(uniform)] > 0.0);
            }
        }
    }
}
