//! Axes: a scale with its ticks.

use super::scale::{LogTicks, Scale, decimals, linear_ticks, log_ticks, tick_label};
use super::text;

/// One labelled tick.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    pub(crate) scale: Scale,
    pub(crate) ticks: Vec<Tick>,
    /// Ticks without a label.
    pub(crate) minor: Vec<f64>,
    /// Whether grid lines are drawn at the ticks.
    pub(crate) grid: bool,
}

impl Axis {
    /// A linear axis that covers the values, with about `parts` parts.
    pub(crate) fn linear(values: impl IntoIterator<Item = f64>, parts: f64) -> Self {
        let (low, high) = extent(values);
        let ticks = linear_ticks(low, high, parts);
        let (first, last) = (ticks[0], ticks[ticks.len() - 1]);
        let digits = ticks.windows(2).map(|w| decimals(w[1] - w[0])).max().unwrap_or(0);
        let ticks = ticks.into_iter().map(|value| Tick { value, label: tick_label(value, digits) }).collect();
        Self { scale: Scale::Linear { low: first, high: last }, ticks, minor: Vec::new(), grid: true }
    }
    /// A linear axis that ends a little beyond the values, with ticks inside only.
    pub(crate) fn tight(values: impl IntoIterator<Item = f64>, parts: f64) -> Self {
        let (low, high) = extent(values);
        let pad = if high > low { (high - low) * 0.04 } else { 1.0 };
        let (low, high) = (low - pad, high + pad);
        let mut axis = Self::linear([low, high], parts);
        axis.ticks.retain(|t| t.value >= low && t.value <= high);
        axis.scale = Scale::Linear { low, high };
        axis
    }
    /// A logarithmic axis that covers the positive values.
    pub(crate) fn log(values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = extent(values.into_iter().filter(|v| *v > 0.0));
        let (low, high) = if low > 0.0 { (low, high) } else { (1.0, 10.0) };
        let LogTicks { low, high, major, minor } = log_ticks(low, high);
        let ticks = major.into_iter().map(|value| Tick { value, label: tick_label(value, decimals(value)) }).collect();
        Self { scale: Scale::Log { low, high }, ticks, minor, grid: true }
    }
    /// A linear axis for positions 0, 1, 2, ... with names, half a step of room at both ends, and no grid.
    pub(crate) fn categories(names: &[String]) -> Self {
        let ticks = names.iter().enumerate().map(|(i, name)| Tick { value: i as f64, label: name.clone() }).collect();
        let scale = Scale::Linear { low: -0.5, high: names.len().max(1) as f64 - 0.5 };
        Self { scale, ticks, minor: Vec::new(), grid: false }
    }
    /// Width of the widest label.
    pub(crate) fn label_width(&self, size: f64) -> f64 {
        self.ticks.iter().map(|t| text::width(&t.label, size)).fold(0.0, f64::max)
    }
    /// Drops labels until neighbours on a horizontal axis of `length` pixels are apart; the first tick stays.
    pub(crate) fn thin(&mut self, length: f64, size: f64) {
        let mut end = f64::NEG_INFINITY;
        let scale = self.scale;
        let mut dropped = Vec::new();
        self.ticks.retain(|tick| {
            let half = text::width(&tick.label, size) / 2.0;
            let center = scale.share(tick.value) * length;
            let keep = center - half > end + 6.0;
            if keep {
                end = center + half;
            } else {
                dropped.push(tick.value);
            }
            keep
        });
        self.minor.extend(dropped);
    }
}

/// Smallest and largest of the values; (0, 1) when there are none.
fn extent(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let finite = values.into_iter().filter(|v| v.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if low <= high { (low, high) } else { (0.0, 1.0) }
}

/// Unit and factor for times given in milliseconds: seconds once the longest takes more than two.
pub(crate) fn time_unit(unit: &str, longest: f64) -> (f64, String) {
    match unit {
        "ms" if longest > 2000.0 => (1e-3, "s".to_owned()),
        "kbit/s" if longest > 2000.0 => (1e-3, "Mbit/s".to_owned()),
        "1" => (100.0, "%".to_owned()),
        other => (1.0, other.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_would_touch_are_dropped() {
        let mut axis = Axis::log([1.0, 100.0]);
        let before = axis.ticks.len();
        axis.thin(60.0, 10.0);
        assert!(axis.ticks.len() < before);
        assert_eq!(axis.ticks[0].label, "1");
    }

    #[test]
    fn a_tight_axis_has_its_ticks_inside() {
        let axis = Axis::tight([-5.3, 38.3, 0.0], 3.0);
        let labels: Vec<&str> = axis.ticks.iter().map(|t| t.label.as_str()).collect();
        assert_eq!(labels, ["0", "20", "40"]);
        assert!(axis.ticks.iter().all(|t| (0.0..=1.0).contains(&axis.scale.share(t.value))));
    }

    #[test]
    fn empty_data_still_has_an_axis() {
        assert_eq!(Axis::linear([], 4.0).ticks[0].label, "0.00");
        assert!(!Axis::log([]).ticks.is_empty());
        assert!(!Axis::log([0.0, -1.0]).ticks.is_empty());
    }

    #[test]
    fn units_follow_the_longest_value() {
        assert_eq!(time_unit("ms", 30_000.0), (1e-3, "s".to_owned()));
        assert_eq!(time_unit("ms", 300.0), (1.0, "ms".to_owned()));
        assert_eq!(time_unit("1", 0.3), (100.0, "%".to_owned()));
    }
}
