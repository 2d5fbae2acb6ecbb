//! The frames that `bootstrap` writes.

use super::compare::ComparisonRow;
use super::frames::Cell as MatrixCell;
use super::level::LevelRow;
use study_stage::Outputs;
use study_table::{Cell, ColumnType, Field, TableBuilder};

fn text(name: &str, meaning: &str) -> Field {
    Field::new(name, ColumnType::Str, "", meaning)
}
fn whole(name: &str, meaning: &str) -> Field {
    Field::new(name, ColumnType::Int, "1", meaning)
}
fn number(name: &str, unit: &str, meaning: &str) -> Field {
    Field::new(name, ColumnType::Float, unit, meaning)
}

/// Node and axes.
fn place(axes: &[String]) -> Vec<Field> {
    let mut fields = vec![text("node", "node of the study that the row is about")];
    fields.extend(axes.iter().map(|axis| text(axis, "value of the matrix axis")));
    fields
}

/// Metric, statistic and estimand.
fn subject() -> [Field; 3] {
    [
        text("metric", "metric, with its unit in the name where it has one"),
        text("stat", "run-level statistic: a percentile (type 7) or the mean; `session` for all sessions together"),
        text("estimand", "transport, experience, or parity (assumes independent sessions)"),
    ]
}

/// Estimate and interval.
fn estimate() -> [Field; 4] {
    [
        number("estimate", "", "estimate in `unit`; null with the reason in `method`"),
        number("ci_low", "", "lower limit of the interval"),
        number("ci_high", "", "upper limit of the interval"),
        number("ci_level", "1", "level of the interval"),
    ]
}

/// The frames under construction.
pub(super) struct Tables {
    summary: TableBuilder,
    comparison: TableBuilder,
}

impl Tables {
    /// Empty frames with one column per axis.
    pub(super) fn new(axes: &[String]) -> Self {
        let method = || text("method", "how the interval was found; the first row of a statistic is the default");
        let unit = || text("unit", "unit of estimate and limits; 1 for shares and counts");
        let looks = || whole("looks", "how often the data were looked at before the interval");
        let clusters = || whole("n_clusters", "independent units: runs");
        let mut summary = place(axes);
        summary.push(text("arm", "arm of the comparison"));
        summary.extend(subject());
        summary.extend(estimate());
        summary.extend([whole("n", "observations"), clusters(), method(), unit(), looks()]);
        let mut comparison = place(axes);
        comparison.extend(subject());
        comparison.extend([text("arm_a", "baseline"), text("arm_b", "the arm compared with it")]);
        comparison.extend(estimate());
        comparison.extend([
            text("effect", "improvement (1 - b/a, b/a - 1 where more is better), difference (b - a), u, delta or d"),
            number("p_value", "1", "sign-flip test over runs; Mann-Whitney test in its parity row"),
            number("p_adjusted", "1", "p_value adjusted by Holm within node and estimand"),
            whole("n", "observations of both arms"),
            clusters(),
            method(),
            unit(),
            looks(),
            number("variance_ratio", "1", "Var(b - a) / (Var a + Var b) over runs: 0 when pairing removes all noise"),
        ]);
        Self { summary: TableBuilder::new(summary), comparison: TableBuilder::new(comparison) }
    }

    /// Appends the rows of one cell.
    pub(super) fn push(&mut self, cell: &MatrixCell, levels: &[LevelRow], comparisons: &[ComparisonRow]) {
        let mut place = vec![optional(cell.node.as_deref())];
        place.extend(cell.axes.iter().map(|value| optional(value.as_deref())));
        for row in levels {
            let mut cells = place.clone();
            cells.push(Cell::Str(&cell.arms[row.arm]));
            cells.extend([&row.metric, &row.stat].map(|s| Cell::Str(s)));
            cells.push(Cell::Str(row.estimand));
            // A level without an interval belongs to no row.
            let level = row.interval.map(|_| row.level);
            cells.extend([row.estimate, row.interval.map(|i| i.low), row.interval.map(|i| i.high), level].map(float));
            cells.extend([
                Cell::Int(row.n),
                Cell::Int(row.clusters as i64),
                Cell::Str(&row.method),
                Cell::Str(row.unit),
            ]);
            cells.push(Cell::Int(1));
            self.summary.row(&cells);
        }
        for row in comparisons {
            let mut cells = place.clone();
            cells.extend([&row.metric, &row.stat].map(|s| Cell::Str(s)));
            cells.push(Cell::Str(row.estimand));
            cells.extend([&cell.arms[row.arm_a], &cell.arms[row.arm_b]].map(|s| Cell::Str(s)));
            let level = row.level.filter(|_| row.interval.is_some());
            cells.extend([row.estimate, row.interval.map(|i| i.low), row.interval.map(|i| i.high), level].map(float));
            cells.push(Cell::Str(row.effect));
            cells.extend([row.p_value, row.p_adjusted].map(float));
            cells.extend([
                Cell::Int(row.n),
                Cell::Int(row.clusters as i64),
                Cell::Str(&row.method),
                Cell::Str(row.unit),
            ]);
            cells.extend([Cell::Int(1), float(row.variance_ratio)]);
            self.comparison.row(&cells);
        }
    }

    /// The frames.
    pub(super) fn finish(self) -> Outputs {
        let mut outputs = Outputs::default();
        outputs.frames.insert("summary".to_owned(), self.summary.finish());
        outputs.frames.insert("comparison".to_owned(), self.comparison.finish());
        outputs
    }
}

fn float(value: Option<f64>) -> Cell<'static> {
    value.map_or(Cell::Null, Cell::Float)
}

fn optional(value: Option<&str>) -> Cell<'_> {
    value.map_or(Cell::Null, Cell::Str)
}
