//! Verdicts on claims.
//!
//! Let the interval be [l, h], the bound B and the tolerance T. For "at least", θ = B - T, and the claim is
//! *reproduced* when l >= θ, *not reproduced* when h < θ, and else *inconclusive*. For "at most", θ = B + T:
//! *reproduced* when h <= θ, *not reproduced* when l > θ. So a verdict needs the whole interval on one side: an estimate that
//! meets the bound inside a wide interval proves nothing. Without an interval, without the row, or with several rows, the
//! claim is inconclusive, with the reason.

use super::claims::{Claim, Expectation};
use super::frame::{Compared, Frames};
use super::plan::Plan;
use study_report::effect::{Effect, EffectKind, Interval};
use study_report::metric::{Estimand, find};
use study_report::number::Style;
use study_report::section::{ClaimRow, Verdict};
use study_table::{Cell, ColumnType, Field, Table, TableBuilder};

/// A claim with its verdict.
pub(super) struct Evaluated<'a> {
    claim: &'a Claim,
    effect: Option<Effect>,
    pub(super) verdict: Verdict,
    reason: String,
}

/// Evaluates a claim.
pub(super) fn evaluate<'a>(claim: &'a Claim, frames: &Frames, plan: &Plan<'_>) -> Evaluated<'a> {
    let inconclusive =
        |effect: Option<Effect>, reason: String| Evaluated { claim, effect, verdict: Verdict::Inconclusive, reason };
    let effect = match the_row(claim, frames) {
        Ok(found) => found.effect.clone(),
        Err(reason) => return inconclusive(None, reason),
    };
    let transport = find(&claim.metric).is_some_and(|m| m.estimand == Estimand::Transport);
    if transport && !plan.decisions(&effect.place.node).equal_in_all_arms() {
        let reason = format!("`{}` decides by itself, so its segment times are no transport effect", claim.of);
        return inconclusive(Some(effect), reason);
    }
    match effect.interval {
        None => {
            let reason = format!("there is no interval ({})", effect.method);
            inconclusive(Some(effect), reason)
        }
        Some(interval) => {
            let verdict = verdict(&claim.expect, claim.tolerance, interval);
            Evaluated { claim, effect: Some(effect), verdict, reason: String::new() }
        }
    }
}

/// The rule.
fn verdict(expect: &Expectation, tolerance: f64, interval: Interval) -> Verdict {
    let (met, missed) = if expect.at_least {
        let threshold = expect.bound - tolerance;
        (interval.low >= threshold, interval.high < threshold)
    } else {
        let threshold = expect.bound + tolerance;
        (interval.high <= threshold, interval.low > threshold)
    };
    match (met, missed) {
        (true, _) => Verdict::Reproduced,
        (_, true) => Verdict::NotReproduced,
        _ => Verdict::Inconclusive,
    }
}

/// The one comparison that the claim is about, or why there is not one.
fn the_row<'f>(claim: &Claim, frames: &'f Frames) -> Result<&'f Compared, String> {
    let default = frames.comparisons.iter().filter(|c| c.default);
    let stage: Vec<&Compared> = default.filter(|c| c.effect.place.stage == claim.of).collect();
    if stage.is_empty() {
        return Err(format!("nothing of the stage `{}` is compared", claim.of));
    }
    let statistic: Vec<&Compared> = stage
        .into_iter()
        .filter(|c| c.effect.metric == claim.metric && c.effect.stat == claim.stat)
        .filter(|c| c.effect.arm_a == claim.arms[0] && c.effect.arm_b == claim.arms[1])
        .collect();
    if statistic.is_empty() {
        let [a, b] = &claim.arms;
        return Err(format!("{} of `{}` is not compared from {a} to {b}", claim.stat, claim.metric));
    }
    let cell: Vec<&Compared> = statistic
        .into_iter()
        .filter(|c| claim.cell.iter().all(|(axis, value)| c.axes.get(axis) == Some(value)))
        .collect();
    match cell[..] {
        [one] if one.effect.kind == claim.expect.effect => Ok(one),
        // A ratio metric that was 0 in a run.
        [_] => Err("its effect was estimated on the other scale".to_owned()),
        [] => Err("no cell has the values of `where`".to_owned()),
        _ => Err(format!("{} cells fit: add the missing axes to `where`", cell.len())),
    }
}

impl Evaluated<'_> {
    /// For the report.
    pub(super) fn row(&self) -> ClaimRow {
        let claim = self.claim;
        let unit = match claim.expect.effect {
            EffectKind::Improvement => "1",
            EffectKind::Difference => find(&claim.metric).map_or("", |m| m.unit),
        };
        let style = Style::fitting(unit, &[claim.expect.bound, claim.tolerance]);
        let words = claim.expect.name().replace('_', " ");
        let tolerance =
            if claim.tolerance > 0.0 { format!(", tolerance {}", style.full(claim.tolerance)) } else { String::new() };
        let found = self.effect.as_ref().map_or_else(
            || "-".to_owned(),
            |e| match e.interval {
                Some(i) => format!("{} ({} {})", e.estimate_text(), i.label(), e.interval_text()),
                None => e.estimate_text(),
            },
        );
        ClaimRow {
            id: claim.id.clone(),
            statement: claim.statement.clone(),
            expected: format!("{words} {}{tolerance}", style.full(claim.expect.bound)),
            found,
            verdict: self.verdict,
            reason: self.reason.clone(),
            shown_in: claim.shown_in.clone().unwrap_or_default(),
        }
    }
}

/// The frame `claims`.
pub(super) fn frame(evaluated: &[Evaluated<'_>]) -> Table {
    let text = |name: &str, meaning: &str| Field::new(name, ColumnType::Str, "", meaning);
    let number = |name: &str, meaning: &str| Field::new(name, ColumnType::Float, "", meaning);
    let mut builder = TableBuilder::new(vec![
        text("id", "id of the claim"),
        text("statement", "what it says"),
        text("of", "stage that it is about"),
        text("where", "cell of the stage's matrix, as axis=value; null without a matrix"),
        text("metric", "metric"),
        text("stat", "statistic"),
        text("arm_a", "baseline"),
        text("arm_b", "the arm compared with it"),
        text("expected", "kind of bound: improvement or difference, at least or at most"),
        number("bound", "the bound: a share for improvements, else in the metric's unit"),
        number("tolerance", "how far the bound may be missed, in its unit"),
        number("estimate", "what was found, in the unit of the bound"),
        number("ci_low", "lower end of its interval"),
        number("ci_high", "upper end of its interval"),
        text("verdict", "reproduced, not_reproduced or inconclusive"),
        text("reason", "why it is inconclusive although there is an effect to look at; null otherwise"),
        text("shown_in", "figure or table that shows it"),
    ]);
    for row in evaluated {
        let claim = row.claim;
        let cell = claim.cell.iter().map(|(a, v)| format!("{a}={v}")).collect::<Vec<_>>().join(",");
        let optional = |text: &'_ str| text.is_empty();
        let float = |x: Option<f64>| x.map_or(Cell::Null, Cell::Float);
        let interval = row.effect.as_ref().and_then(|e| e.interval);
        builder.row(&[
            Cell::Str(&claim.id),
            Cell::Str(&claim.statement),
            Cell::Str(&claim.of),
            if optional(&cell) { Cell::Null } else { Cell::Str(&cell) },
            Cell::Str(&claim.metric),
            Cell::Str(&claim.stat),
            Cell::Str(&claim.arms[0]),
            Cell::Str(&claim.arms[1]),
            Cell::Str(claim.expect.name()),
            Cell::Float(claim.expect.bound),
            Cell::Float(claim.tolerance),
            float(row.effect.as_ref().and_then(|e| e.estimate)),
            float(interval.map(|i| i.low)),
            float(interval.map(|i| i.high)),
            Cell::Str(row.verdict.name()),
            if optional(&row.reason) { Cell::Null } else { Cell::Str(&row.reason) },
            claim.shown_in.as_deref().map_or(Cell::Null, Cell::Str),
        ]);
    }
    builder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, bound: f64, tolerance: f64, low: f64, high: f64) -> Verdict {
        let (effect, at_least) = match name {
            "at_least" => (EffectKind::Improvement, true),
            _ => (EffectKind::Improvement, false),
        };
        verdict(&Expectation { effect, at_least, bound }, tolerance, Interval { low, high, level: 0.95 })
    }

    #[test]
    fn at_least_needs_the_whole_interval_above_the_bound_less_the_tolerance() {
        assert_eq!(of("at_least", 0.05, 0.0, 0.05, 0.2), Verdict::Reproduced);
        assert_eq!(of("at_least", 0.05, 0.0, 0.049, 0.2), Verdict::Inconclusive);
        assert_eq!(of("at_least", 0.05, 0.02, 0.031, 0.2), Verdict::Reproduced);
        assert_eq!(of("at_least", 0.05, 0.02, 0.01, 0.2), Verdict::Inconclusive);
        assert_eq!(of("at_least", 0.05, 0.02, -0.1, 0.029), Verdict::NotReproduced);
        assert_eq!(of("at_least", 0.05, 0.0, -0.1, 0.05), Verdict::Inconclusive, "the bound itself is not missed");
    }

    #[test]
    fn at_most_is_the_mirror_image() {
        assert_eq!(of("at_most", -0.01, 0.0, -0.05, -0.01), Verdict::Reproduced);
        assert_eq!(of("at_most", -0.01, 0.0, -0.05, -0.005), Verdict::Inconclusive);
        assert_eq!(of("at_most", -0.01, 0.006, -0.05, -0.005), Verdict::Reproduced);
        assert_eq!(of("at_most", -0.01, 0.0, 0.0, 0.3), Verdict::NotReproduced);
    }
}
