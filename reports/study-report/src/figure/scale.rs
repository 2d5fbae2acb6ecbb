//! From values to places between 0 and 1.

/// A linear or logarithmic scale from `low` to `high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scale {
    Linear { low: f64, high: f64 },
    Log { low: f64, high: f64 },
}

impl Scale {
    /// Where a value lies: 0 at `low`, 1 at `high`, and never outside, so that nothing is drawn beside the panel.
    pub(crate) fn share(self, value: f64) -> f64 {
        let share = match self {
            Self::Linear { low, high } => (value - low) / (high - low),
            Self::Log { low, .. } if value <= 0.0 || low <= 0.0 => 0.0,
            Self::Log { low, high } => libm::log(value / low) / libm::log(high / low),
        };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// Steps of 1, 2, 2.5 or 5 times a power of ten that cut `low..=high` into about `parts` parts; the first at or below
/// `low`, the last at or above `high`.
pub(crate) fn linear_ticks(low: f64, high: f64, parts: f64) -> Vec<f64> {
    // A single value still gets an axis.
    let high = if high > low { high } else { low + low.abs().max(1.0) };
    let span = high - low;
    let magnitude = libm::exp10(libm::log10(span / parts).floor());
    let wanted = span / parts / magnitude;
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|s| *s >= wanted - 1e-9).unwrap_or(10.0) * magnitude;
    // A hair of tolerance: 0.3 / 0.1 is not 3.
    let first = (low / step + 1e-9).floor() as i64;
    let last = (high / step - 1e-9).ceil() as i64;
    // Rounded to the digits of the step, so that 3 * 0.1 is 0.3.
    (first..=last.max(first + 1)).map(|i| round_to(i as f64 * step, step)).collect()
}

fn round_to(value: f64, step: f64) -> f64 {
    let digits = decimals(step) as i32 + 1;
    let factor = libm::exp10(f64::from(digits));
    (value * factor).round() / factor + 0.0
}

/// Decimals needed to write multiples of `step`.
pub(crate) fn decimals(step: f64) -> usize {
    (0..12)
        .find(|d| {
            let scaled = step * libm::exp10(f64::from(*d as u32));
            (scaled - scaled.round()).abs() < 1e-6 * scaled.abs().max(1.0)
        })
        .unwrap_or(12)
}

/// A logarithmic axis: its ends, its labelled ticks and its ticks without a label.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LogTicks {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) major: Vec<f64>,
    pub(crate) minor: Vec<f64>,
}

/// Ticks of a logarithmic axis that covers `low..=high`.
pub(crate) fn log_ticks(low: f64, high: f64) -> LogTicks {
    let floor = snap(low, false);
    let mut ceiling = snap(high, true);
    if ceiling <= floor * 1.5 {
        ceiling = snap(floor * 2.0, true);
    }
    let within = |v: &f64| *v >= floor * 0.999_999 && *v <= ceiling * 1.000_001;
    let decades = (libm::log10(floor).floor() as i32)..=(libm::log10(ceiling).ceil() as i32);
    let times = |factors: &'static [f64]| -> Vec<f64> {
        let all = decades.clone().flat_map(|e| factors.iter().map(move |f| f * libm::exp10(f64::from(e))));
        all.filter(within).collect()
    };
    // More than two decades: 1-2-5 would crowd.
    let few = libm::log10(ceiling / floor) > 2.05;
    let major = times(if few { &[1.0] } else { &[1.0, 2.0, 5.0] });
    let mut minor = times(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
    minor.retain(|v| !major.iter().any(|m| (m / v - 1.0).abs() < 1e-6));
    LogTicks { low: floor, high: ceiling, major, minor }
}

/// The nearest of 1, 1.5, 2, 3, ... 9 times a power of ten at or below (or above) a value.
fn snap(value: f64, up: bool) -> f64 {
    let magnitude = libm::exp10(libm::log10(value).floor());
    let mantissa = value / magnitude;
    let steps = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
    let chosen = if up {
        steps.into_iter().find(|s| *s >= mantissa * 0.999_999)
    } else {
        steps.into_iter().rev().find(|s| *s <= mantissa * 1.000_001)
    };
    chosen.unwrap_or(1.0) * magnitude
}

/// A tick's label: no exponent, a real minus sign.
pub(crate) fn tick_label(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}").replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_are_round_and_cover_the_range() {
        assert_eq!(linear_ticks(0.0, 30.0, 4.0), [0.0, 10.0, 20.0, 30.0]);
        assert_eq!(linear_ticks(-3.0, 24.0, 5.0), [-10.0, 0.0, 10.0, 20.0, 30.0]);
        assert_eq!(linear_ticks(0.0, 0.3, 3.0), [0.0, 0.1, 0.2, 0.3]);
        assert!(linear_ticks(5.0, 5.0, 4.0).len() >= 3, "a single value still has an axis");
        assert_eq!(linear_ticks(0.0, 0.0, 4.0), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(decimals(2.5), 1);
        assert_eq!(decimals(0.05), 2);
        assert_eq!(tick_label(-2.5, 1), "−2.5");
    }

    #[test]
    fn log_ticks_cover_the_range_and_thin_out_over_many_decades() {
        let narrow = log_ticks(130.0, 4200.0);
        assert_eq!((narrow.low.round(), narrow.high.round()), (100.0, 5000.0));
        let labelled: Vec<f64> = narrow.major.iter().map(|v| v.round()).collect();
        assert_eq!(labelled, [100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0]);
        let wide = log_ticks(1.2, 45_000.0);
        assert_eq!(wide.major.len(), 5, "{wide:?}");
        assert!(wide.minor.iter().any(|v| (v - 20_000.0).abs() < 1e-6));
        let single = log_ticks(100.0, 100.0);
        assert!(single.major.len() >= 2, "{single:?}");
    }

    #[test]
    fn values_outside_a_scale_stay_at_its_edge() {
        let log = Scale::Log { low: 10.0, high: 1000.0 };
        assert!((log.share(100.0) - 0.5).abs() < 1e-12);
        assert_eq!(log.share(0.0), 0.0);
        assert_eq!(log.share(1e9), 1.0);
        assert_eq!(Scale::Linear { low: 1.0, high: 1.0 }.share(1.0), 0.0);
    }
}
