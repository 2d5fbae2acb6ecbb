//! Jitter: a delay on top of the base delay that wanders in time.
//!
//! Purpose: variation of the delay that neither reorders packets by accident nor moves the mean by itself.
//!
//! Equations. `x(t)` is a stationary Gaussian process with mean 0, standard deviation 1 and correlation
//! `exp(-lag / tau)` (Ornstein-Uhlenbeck), `tau` being `correlation_time`. It is drawn at multiples of `h = tau / 10`:
//! `x[k+1] = rho x[k] + sqrt(1 - rho^2) z`, `rho = exp(-h / tau)`, `z` standard normal, `x[0]` stationary. Between two
//! points it is their linear interpolation at `f`, divided by the standard deviation of that interpolation,
//! `sqrt(1 - 2 f (1 - f) (1 - rho))`, so that the distribution is the asked one at every instant (the root as a series,
//! relative error below 1e-6). Added to the base delay:
//!
//! - `half_normal`: `sigma |x|`; `std_dev` is sigma, that of the normal number before its sign is dropped. Mean
//!   `sigma sqrt(2 / pi)` = 0.798 sigma, standard deviation 0.603 sigma.
//! - `normal`: `sigma (x + 3)`, 0 where `x < -3`; `std_dev` is sigma. Mean 3 sigma (3.0004 with the cut), so a link whose
//!   delay is `m +- sigma` elsewhere has the base delay `m - 3 sigma` here, and the base stays the smallest delay.
//! - `uniform`: `w Phi(x)` between 0 and `w = sqrt(12) sigma`; `std_dev` is sigma. Mean `sqrt(3) sigma`.
//!
//! The process depends on time alone, is read at the instant when a packet's last bit has left, and so is equal in both
//! arms of a comparison. A packet never arrives before the one ahead of it unless `reorder: true`. Keeping order this
//! way adds a little delay when the jitter falls faster than time passes: on a saturated 20 Mbit/s link with `tau` = 50 ms
//! and sigma = 8 ms the mean rises by 0.08 ms above `base + 0.798 sigma` (a test holds it below 0.15 ms). Independent draws
//! per packet would raise it by 7 ms.
//!
//! Sources: Uhlenbeck and Ornstein, Physical Review 36 (1930); Gillespie, Physical Review E 54 (1996) for the exact update.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | netem: independent draw per packet, both signs, reorders without `rate` | correlated, never negative, order kept | the base delay is the smallest delay; no false loss from reordering |
//! | the Go simulator: one half-normal draw per request | per packet, same distribution | recovery and round-trip estimates see it |
//! | netem `distribution normal`: table cut at about 4 sigma, centred on the delay | cut at 3 sigma below | 0.13 % of time at the base delay |
//! | the process between grid points | interpolation | correlation at lags below `h` is slightly higher |
//!
//! Random streams: one normal of `jitter` per grid point.

use serde_json::json;
use study_ident::{RandomStream, SeedPath};
use study_tree::{Cx, Decode, Diagnostic, Node, did_you_mean};
use study_units::SimDuration;

study_tree::choices! {
    /// Distribution of the added delay.
    pub enum JitterDistribution {
        /// Size of a normal number: mostly small, at times large.
        HalfNormal = "half_normal",
        /// Normal around three standard deviations, cut at zero.
        Normal = "normal",
        /// Equally likely between zero and a largest value.
        Uniform = "uniform",
    }
}

study_tree::params! {
    /// A delay on top of the base delay that wanders in time.
    pub struct JitterParams {
        /// `half_normal`: standard deviation of the normal number before its sign is dropped; `normal`, `uniform`: of the delay.
        std_dev: SimDuration;
        /// Distribution of the added delay.
        distribution: JitterDistribution;
        /// Time after which the jitter's correlation has fallen to 1/e, 1 ms to 1 h.
        correlation_time: SimDuration = SimDuration::from_millis(50);
        /// Whether a packet may overtake the one ahead of it.
        reorder: bool = false;
    }
}

impl JitterParams {
    /// Mean of the added delay, before order is kept.
    #[must_use]
    pub fn mean(&self) -> SimDuration {
        let sigma = self.std_dev.as_nanos() as f64;
        let factor = match self.distribution {
            JitterDistribution::HalfNormal => (2.0 / std::f64::consts::PI).sqrt(),
            // 3 Phi(3) + phi(3).
            JitterDistribution::Normal => 3.000_382_154_317_048,
            JitterDistribution::Uniform => 3.0_f64.sqrt(),
        };
        SimDuration::from_nanos((sigma * factor) as u64)
    }
}

/// Reads `none` or a mapping; `Some(None)` is no jitter, which a standard deviation of 0 is as well.
pub(crate) fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Option<JitterParams>> {
    if let Some(text) = node.text() {
        if text == "none" {
            return Some(None);
        }
        let help = did_you_mean(text, &["none"])
            .unwrap_or_else(|| "write `none` or `{ std_dev: 8 ms, distribution: half_normal }`".to_owned());
        let message = format!("{} is not a jitter", node.describe());
        cx.push(Diagnostic::error("unknown-value", node.span, message).help(help));
        return None;
    }
    let params = JitterParams::decode(node, cx)?;
    let (least, most) = (SimDuration::from_millis(1), SimDuration::from_secs(3600));
    if !(least..=most).contains(&params.correlation_time) {
        let span = node.get("correlation_time").map_or(node.span, |n| n.span);
        let message = format!("`{}` is out of range for `correlation_time`", params.correlation_time);
        cx.push(Diagnostic::error("out-of-range", span, message).help("give a value from `1 ms` to `3600 s`"));
        return None;
    }
    Some((params.std_dev != SimDuration::ZERO).then_some(params))
}

pub(crate) fn schema() -> serde_json::Value {
    json!({ "description": "delay on top of the base delay", "default": "none",
        "anyOf": [{ "const": "none" }, JitterParams::schema()] })
}

/// The run-time state of a jitter.
#[derive(Debug, Clone)]
pub(crate) struct JitterProcess {
    distribution: JitterDistribution,
    /// Nanoseconds per unit of the distribution: sigma, or the width of the uniform.
    scale: f64,
    rho: f64,
    innovation: f64,
    step: u64,
    per_step: f64,
    left_at: u64,
    left: f64,
    right: f64,
    stream: RandomStream,
}

impl JitterProcess {
    pub(crate) fn new(params: &JitterParams, seed: SeedPath) -> Self {
        let tau = params.correlation_time.as_nanos();
        let step = (tau / 10).max(1);
        let rho = libm::exp(-(step as f64) / tau as f64);
        let sigma = params.std_dev.as_nanos() as f64;
        let mut stream = seed.stream("jitter");
        let mut process = Self {
            distribution: params.distribution,
            scale: match params.distribution {
                JitterDistribution::HalfNormal | JitterDistribution::Normal => sigma,
                JitterDistribution::Uniform => sigma * 12.0_f64.sqrt(),
            },
            rho,
            innovation: (1.0 - rho * rho).sqrt(),
            step,
            per_step: 1.0 / step as f64,
            left_at: 0,
            left: stream.normal(),
            right: 0.0,
            stream,
        };
        process.right = process.next_point(process.left);
        process
    }
    fn next_point(&mut self, x: f64) -> f64 {
        self.rho * x + self.innovation * self.stream.normal()
    }
    /// Nanoseconds to add to the base delay of what leaves at `time`, which never goes back.
    #[inline]
    pub(crate) fn at(&mut self, time: u64) -> u64 {
        let mut since = time - self.left_at;
        while since >= self.step {
            self.left = self.right;
            self.right = self.next_point(self.left);
            self.left_at += self.step;
            since -= self.step;
        }
        let x = self.standard(since as f64 * self.per_step);
        let unit = match self.distribution {
            JitterDistribution::HalfNormal => x.abs(),
            JitterDistribution::Normal => (x + 3.0).max(0.0),
            JitterDistribution::Uniform => 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2),
        };
        (unit * self.scale) as u64
    }
    /// The standard normal process at a share `f` of the way between two points.
    #[inline]
    fn standard(&self, f: f64) -> f64 {
        // (1 - u)^(-1/2) for u <= 0.05, as a series: a division and a root would take longer than all the rest.
        let u = 2.0 * f * (1.0 - f) * (1.0 - self.rho);
        let inverse_sd = 1.0 + u * (0.5 + u * (0.375 + u * (0.3125 + u * 0.273_437_5)));
        (self.left + (self.right - self.left) * f) * inverse_sd
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(distribution: JitterDistribution, seed: u64) -> JitterProcess {
        let params = JitterParams {
            std_dev: SimDuration::from_millis(8),
            distribution,
            correlation_time: SimDuration::from_millis(50),
            reorder: false,
        };
        JitterProcess::new(&params, SeedPath::root(seed))
    }

    /// Mean and standard deviation \[ms\] of samples that are 10 correlation times apart, hence nearly independent.
    fn moments(distribution: JitterDistribution, offset: u64, n: u64) -> (f64, f64) {
        let mut jitter = process(distribution, 5);
        let samples: Vec<f64> = (0..n).map(|k| jitter.at(k * 500_000_000 + offset) as f64 / 1e6).collect();
        let mean = samples.iter().sum::<f64>() / n as f64;
        (mean, (samples.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n as f64).sqrt())
    }

    #[test]
    fn both_distributions_have_their_mean_and_deviation_on_and_between_grid_points() {
        let n = 40_000;
        for offset in [0, 1_250_000, 2_500_000] {
            let (mean, sd) = moments(JitterDistribution::HalfNormal, offset, n);
            let expected = 8.0 * (2.0 / std::f64::consts::PI).sqrt();
            let expected_sd = 8.0 * (1.0 - 2.0 / std::f64::consts::PI).sqrt();
            // 3 sigma: of the mean sd/sqrt(n); of the sd sd*sqrt((kurtosis - 1)/(4 n)), half-normal kurtosis 3.869.
            assert!((mean - expected).abs() < 3.0 * expected_sd / (n as f64).sqrt(), "{offset}: {mean}");
            assert!(
                (sd - expected_sd).abs() < 3.0 * expected_sd * (2.869_f64 / 4.0 / n as f64).sqrt(),
                "{offset}: {sd}"
            );
            let (mean, sd) = moments(JitterDistribution::Uniform, offset, n);
            assert!((mean - 8.0 * 3.0_f64.sqrt()).abs() < 3.0 * 8.0 / (n as f64).sqrt(), "{offset}: {mean}");
            assert!((sd - 8.0).abs() < 3.0 * 8.0 * (0.8_f64 / 4.0 / n as f64).sqrt(), "{offset}: {sd}");
        }
    }

    #[test]
    fn correlation_falls_to_one_over_e_after_the_correlation_time() {
        let mut jitter = process(JitterDistribution::HalfNormal, 9);
        let n = 60_000;
        let mut sum = 0.0;
        for k in 0..n {
            jitter.at(k * 500_000_000);
            let a = jitter.standard(0.0);
            jitter.at(k * 500_000_000 + 50_000_000);
            sum += a * jitter.standard(0.0);
        }
        // Var(product) = 1 + rho^2 for a pair of standard normals.
        let sigma = ((1.0 + libm::exp(-2.0)) / n as f64).sqrt();
        assert!((sum / n as f64 - libm::exp(-1.0)).abs() < 3.0 * sigma, "{}", sum / n as f64);
    }

    #[test]
    fn jitter_is_a_function_of_time_whoever_asks() {
        let (mut dense, mut sparse) =
            (process(JitterDistribution::HalfNormal, 1), process(JitterDistribution::HalfNormal, 1));
        let times: Vec<u64> = (0..50_000).map(|k| k * 777_777).collect();
        let all: Vec<u64> = times.iter().map(|t| dense.at(*t)).collect();
        for k in (0..times.len()).step_by(997) {
            assert_eq!(sparse.at(times[k]), all[k]);
        }
    }

    #[test]
    fn the_series_is_the_root_to_one_millionth() {
        let mut jitter = process(JitterDistribution::HalfNormal, 1);
        (jitter.left, jitter.right) = (1.0, 1.0);
        for k in 0..=100 {
            let f = f64::from(k) / 100.0;
            let root = 1.0 / (1.0 - 2.0 * f * (1.0 - f) * (1.0 - jitter.rho)).sqrt();
            assert!((jitter.standard(f) / root - 1.0).abs() < 1e-6, "{f}");
        }
    }
}
