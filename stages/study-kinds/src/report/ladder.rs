//! The frame `ladder` as rows, and its figure.

use super::frame::Rows;
use study_report::figure::improvement::{self, Improvement, Row};
use study_report::figure::{Figure, Words};
use study_report::metric::describe_short;
use study_report::section::LadderRow;
use study_stage::{Inputs, StageError};

/// The statistic that the figure shows.
const DRAWN: (&str, &str) = ("ttlb_ms", "p95");

pub(super) fn rows(inputs: &Inputs) -> Result<Vec<LadderRow>, StageError> {
    let Some(rows) = Rows::read(inputs, "ladder")? else { return Ok(Vec::new()) };
    let row = |i: usize| {
        Some(LadderRow {
            place: rows.place(i),
            metric: rows.text(i, "metric"),
            stat: rows.text(i, "stat"),
            arm_a: rows.text(i, "arm_a"),
            arm_b: rows.text(i, "arm_b"),
            feature: rows.text(i, "feature"),
            contribution: rows.float(i, "contribution")?,
            interval: rows.interval(i),
            runs: rows.count(i, "n_clusters"),
            method: rows.text(i, "method"),
        })
    };
    Ok((0..rows.len()).filter_map(row).collect())
}

/// Contributions to the difference of the p95 of segment delivery, one line per mechanism.
pub(super) fn figure(ladder: &[LadderRow]) -> Option<Figure> {
    let of_drawn = |r: &&LadderRow| (r.metric.as_str(), r.stat.as_str()) == DRAWN;
    let first = ladder.iter().find(of_drawn)?;
    let drawn: Vec<&LadderRow> = ladder.iter().filter(of_drawn).filter(|r| r.place == first.place).collect();
    let rows: Vec<Row> = drawn.iter().map(|r| line(r)).collect();
    let (a, b) = (&first.arm_a, &first.arm_b);
    let subject = describe_short(DRAWN.0, DRAWN.1);
    let said: Vec<String> = drawn.iter().map(|r| format!("{} {:+.1}", r.name(), -100.0 * r.contribution)).collect();
    let words = Words {
        id: "ladder".to_owned(),
        title: format!("What makes the difference between {a} and {b}"),
        caption: format!(
            "Contributions of single mechanisms to the difference in {subject} between {a} and {b}, with 95 % CIs ({}, {} \
             runs); positive makes {b} faster, all sum to the total.",
            first.method, first.runs
        ),
        alt: format!("Contributions in log points, positive makes {b} faster: {}.", said.join(", ")),
    };
    Some(improvement::figure(&Improvement {
        words,
        axis: format!("makes {b} faster (log points)"),
        numbers: "points [95 % CI]".to_owned(),
        rows,
    }))
}

/// The figure reads to the right as better, so a contribution to the time changes its sign.
fn line(row: &LadderRow) -> Row {
    Row {
        group: String::new(),
        name: row.name(),
        estimate: -row.contribution,
        interval: row.interval.map(|i| (-i.high, -i.low)),
        shown: row.shown(),
    }
}
