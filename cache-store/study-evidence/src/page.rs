//! The page: rows as Markdown. No number in it is typed by hand; the sentences around them hold none.

use crate::{Bound, Place, Row, Topic, Verdict};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The first line: who wrote it.
pub const MARK: &str = "<!-- Written by `cargo xtask validation` from what the tests measured; do not edit. -->";

/// A figure of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// Heading that it stands under.
    pub topic: Topic,
    /// Path from the page.
    pub path: String,
    /// What a reader who cannot see it should know.
    pub alt: String,
    /// What is shown.
    pub caption: String,
}

/// The page of these rows and figures.
///
/// Within a topic, rows stand test by test in the order in which they are given.
#[must_use]
pub fn markdown(rows: &[Row], figures: &[Figure]) -> String {
    let tests: Vec<&Place> = rows.iter().map(|row| &row.place).collect::<BTreeSet<_>>().into_iter().collect();
    let mut page = format!("{MARK}\n\n{}", opening(rows, tests.len()));
    for topic in Topic::ALL {
        let of_topic: Vec<&Row> = rows.iter().filter(|row| row.topic == topic).collect();
        let figures: Vec<&Figure> = figures.iter().filter(|figure| figure.topic == topic).collect();
        if of_topic.is_empty() && figures.is_empty() {
            continue;
        }
        let _ = write!(page, "\n## {}\n", topic.title());
        if let Some(note) = note(topic) {
            let _ = write!(page, "\n{note}\n");
        }
        for figure in figures {
            let _ = write!(page, "\n![{}]({})\n\n*{}*\n", figure.alt, figure.path, figure.caption);
        }
        if !of_topic.is_empty() {
            page.push_str(&table(&of_topic, &tests));
        }
    }
    page.push_str("\n## Tests\n\nA row's last column is its test here; each can be run alone.\n\n");
    for (i, Place { package, program, test }) in tests.iter().enumerate() {
        let _ = writeln!(page, "{}. `cargo test -p {package} --test {program} {test}`", i + 1);
    }
    page
}

fn opening(rows: &[Row], tests: usize) -> String {
    let count = |verdict| rows.iter().filter(|row| row.verdict() == verdict).count();
    let (pass, missed, fail) = (count(Verdict::Pass), count(Verdict::GoalMissed), count(Verdict::Fail));
    let others = match (missed, fail) {
        (0, 0) => "no other verdict".to_owned(),
        (missed, 0) => format!("{missed} within the bound of the test, but not within our goal"),
        (missed, fail) => format!("{missed} not within our goal, **{fail} beyond the bound**"),
    };
    format!(
        "# What the transport models are checked against\n\n\
         Each row is a comparison that a test makes and judges; the test writes the row itself, so the page holds the numbers \
         that were judged ([why so](../adr/0009-evidence-from-the-tests.md)). {} rows of {tests} tests: {pass} pass, {others}. \
         A deviation is relative to the reference, or in the unit of the row where the tolerance is.\n\n\
         How far the models are from real stacks over real links is another question; `mode: emulated` answers it. What the \
         two protocols do differently here is data: `RecoveryRules` in \
         [`config/rules.rs`](../../stages/study-transport/src/config/rules.rs), `WireFormat` and `AckPolicy` in \
         [`config/wire.rs`](../../stages/study-transport/src/config/wire.rs). What each model leaves out is in the divergence \
         table at the head of its file. Tables of the references with their sources lie in the `testdata/` of each crate.\n",
        rows.len()
    )
}

/// What has to be said before the rows of a topic.
const fn note(topic: Topic) -> Option<&'static str> {
    match topic {
        Topic::Windows => Some(
            "Formulas are asymptotes: they allow windows of any fraction of a packet and say nothing of timeouts. A correct sender \
             with whole packets lies up to a sixth beside them, so the sharp comparison is with the discrete reference and with \
             an independent sender under the same list of drops, and the formulas have wide bounds.",
        ),
        Topic::Implementations => Some(
            "quinn's own client and server run in virtual time over our link model. **The grid is in-sample: profile \
             `quinn-0.11` was fitted on it**, so it says how well the profile describes what it was made from. The held-out \
             transfers were drawn and committed before the model ran on them; what the model is worth elsewhere is what they say.",
        ),
        _ => None,
    }
}

fn table(rows: &[&Row], tests: &[&Place]) -> String {
    let mut out = String::from(
        "\n| reference | condition | reference says | ours | deviation | tolerance | verdict | test |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    let mut before = (String::new(), 0);
    for row in rows {
        let test = 1 + tests.iter().position(|place| **place == row.place).unwrap_or(0);
        let mut name = cell(&format!("{} ({})", row.reference, row.source));
        // A name is written once for rows that follow each other.
        if before == (name.clone(), test) {
            name.clear();
        } else {
            before = (name.clone(), test);
        }
        let unit = |value| with_unit(value, &row.unit);
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {} | {} | {} | {} | {test} |",
            cell(&row.condition),
            row.expected.map_or_else(String::new, unit),
            unit(row.ours),
            deviation(row),
            tolerance(row),
            verdict(row),
        );
    }
    out
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn deviation(row: &Row) -> String {
    let Some(expected) = row.expected else { return String::new() };
    let off = row.ours - expected;
    match row.bound {
        Bound::Absolute { .. } => signed(off, &row.unit),
        Bound::ThreeSigma { sigma } if sigma > 0.0 => format!("{} sigma", plus(off / sigma, 1)),
        Bound::ThreeSigma { .. } => signed(off, &row.unit),
        Bound::Relative { .. } | Bound::Between { .. } if expected == 0.0 => signed(off, &row.unit),
        Bound::Relative { .. } | Bound::Between { .. } => format!("{} %", percent(off / expected)),
    }
}

/// A share in per cent with as many decimals as it takes to see that it is not 0.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let digits = if percent.abs() >= 9.95 {
        0
    } else if percent.abs() >= 0.095 {
        1
    } else {
        3
    };
    plus(percent, digits)
}

fn plus(value: f64, digits: usize) -> String {
    let text = format!("{value:+.digits$}");
    // Neither +0.0 nor -0.0.
    if text[1..].chars().all(|c| matches!(c, '0' | '.')) { text[1..].to_owned() } else { text }
}

fn signed(value: f64, unit: &str) -> String {
    let text = with_unit(value, unit);
    if value > 0.0 && text != with_unit(0.0, unit) { format!("+{text}") } else { text }
}

fn tolerance(row: &Row) -> String {
    let unit = |value| with_unit(value, &row.unit);
    let bound = match row.bound {
        Bound::Relative { tolerance } => format!("{} %", number(100.0 * tolerance)),
        Bound::Absolute { tolerance: 0.0 } => "equal".to_owned(),
        Bound::Absolute { tolerance } => unit(tolerance),
        Bound::ThreeSigma { .. } => "3 sigma".to_owned(),
        Bound::Between { low: f64::MIN, high } => format!("at most {}", unit(high)),
        Bound::Between { low, high: f64::MAX } => format!("at least {}", unit(low)),
        Bound::Between { low, high } => format!("{} to {}", number(low), unit(high)),
    };
    match row.goal {
        Some(goal) => format!("goal {}, test bound {}", unit(goal), bound.trim_start_matches("at most ")),
        None => bound,
    }
}

fn verdict(row: &Row) -> &'static str {
    match row.verdict() {
        Verdict::Pass => "pass",
        Verdict::GoalMissed => "**goal missed**",
        Verdict::Fail => "**FAIL**",
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    if unit.is_empty() { number(value) } else { format!("{} {unit}", number(value)) }
}

/// Four significant digits; whole numbers as such.
fn number(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e9 {
        return format!("{:.0}", value + 0.0);
    }
    let decimals = (0..7).find(|d| value.abs() * 10f64.powi(*d) >= 999.5).unwrap_or(7);
    let text = format!("{value:.*}", decimals as usize);
    if text.trim_start_matches('-').chars().all(|c| matches!(c, '0' | '.')) { format!("{value:.1e}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ours: f64, expected: Option<f64>, bound: Bound, goal: Option<f64>) -> Row {
        Row {
            place: Place { package: "study-x".into(), program: "all".into(), test: "a::b".into() },
            topic: Topic::Windows,
            reference: "a | b".into(),
            source: "RFC 1".into(),
            condition: "p = 1 %".into(),
            unit: "packets".into(),
            ours,
            expected,
            bound,
            goal,
        }
    }

    #[test]
    fn a_row_says_what_was_measured_how_far_it_is_off_and_what_follows() {
        let rows = [
            row(11.5, Some(12.0), Bound::Relative { tolerance: 0.15 }, None),
            row(0.058, None, Bound::Between { low: f64::MIN, high: 0.1 }, Some(0.05)),
            row(14.0, Some(12.0), Bound::Relative { tolerance: 0.15 }, None),
            row(12.5, Some(12.0), Bound::ThreeSigma { sigma: 0.25 }, None),
            row(12.0, Some(12.0), Bound::Absolute { tolerance: 0.0 }, None),
        ];
        let page = markdown(&rows, &[]);
        for line in [
            "| a \\| b (RFC 1) | p = 1 % | 12 packets | 11.50 packets | -4.2 % | 15 % | pass | 1 |",
            "|  | p = 1 % |  | 0.05800 packets |  | goal 0.05000 packets, test bound 0.1000 packets | **goal missed** | 1 |",
            "|  | p = 1 % | 12 packets | 14 packets | +17 % | 15 % | **FAIL** | 1 |",
            "|  | p = 1 % | 12 packets | 12.50 packets | +2.0 sigma | 3 sigma | pass | 1 |",
            "|  | p = 1 % | 12 packets | 12 packets | 0 packets | equal | pass | 1 |",
            "1. `cargo test -p study-x --test all a::b`",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
        assert!(page.contains("5 rows of 1 tests: 3 pass, 1 not within our goal, **1 beyond the bound**"), "{page}");
    }

    #[test]
    fn a_figure_stands_under_its_heading() {
        let figure = Figure { topic: Topic::Bbr, path: "f.svg".into(), alt: "x".into(), caption: "y.".into() };
        let page = markdown(&[], &[figure]);
        assert!(page.contains("## BBR\n\n![x](f.svg)\n\n*y.*\n"), "{page}");
        assert!(!page.contains("## Recovery"));
    }

    #[test]
    fn numbers_have_four_digits_and_small_ones_are_not_zero() {
        let texts = [0.0, -0.0, 3.0, 12_345.6, 999.96, 0.98561, -0.5, 1e-5, 3e-12].map(number);
        assert_eq!(texts, ["0", "0", "3", "12346", "1000", "0.9856", "-0.5000", "0.0000100", "3.0e-12"]);
        assert_eq!([0.1234, -0.0012, 0.000_012, 0.0].map(percent), ["+12", "-0.1", "+0.001", "0.000"]);
    }
}
