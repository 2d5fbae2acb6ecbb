//! The frames that `aggregate` writes.

use super::node::{NodeInputs, NodeResult};
use study_stage::Outputs;
use study_table::{Cell, ColumnType, Field, TableBuilder};

fn text(name: &str, meaning: &str) -> Field {
    Field::new(name, ColumnType::Str, "", meaning)
}
fn whole(name: &str, unit: &str, meaning: &str) -> Field {
    Field::new(name, ColumnType::Int, unit, meaning)
}
fn number(name: &str, unit: &str, meaning: &str) -> Field {
    Field::new(name, ColumnType::Float, unit, meaning)
}

/// A table whose rows begin with node, axes and arm.
fn table(axes: &[&str], fields: Vec<Field>) -> TableBuilder {
    let mut all = vec![text("node", "node of the study that the row is about")];
    all.extend(axes.iter().map(|axis| text(axis, "value of the matrix axis")));
    all.push(text("arm", "arm of the comparison"));
    all.extend(fields);
    TableBuilder::new(all)
}

/// The frames under construction.
pub(super) struct Tables {
    axes: Vec<String>,
    run_metrics: TableBuilder,
    session_metrics: TableBuilder,
    pooled_metrics: TableBuilder,
    curves: TableBuilder,
    traces: TableBuilder,
    tail_parts: TableBuilder,
}

impl Tables {
    /// Empty frames with one column per axis.
    pub(super) fn new(axes: &[&str]) -> Self {
        let run = || whole("run", "", "run: the independent unit");
        let client = || whole("client", "", "viewer within the run");
        let metric = || text("metric", "metric, with its unit in the name where it has one");
        let stat = || text("stat", "statistic: a percentile (type 7) or the mean");
        let n = || whole("n", "1", "observations, censored ones included");
        let value = || number("value", "", "value in the metric's unit; null when it leans on a censored observation");
        Self {
            axes: axes.iter().map(|axis| (*axis).to_owned()).collect(),
            run_metrics: table(axes, vec![run(), metric(), stat(), value(), n()]),
            session_metrics: table(axes, vec![run(), client(), metric(), value()]),
            pooled_metrics: table(axes, vec![metric(), stat(), value(), n()]),
            tail_parts: table(
                axes,
                vec![
                    text("part", "what the time was spent on"),
                    number(
                        "mean_ms",
                        "ms",
                        "mean over the runs' segments at or above the run's 95th percentile of ttlb_ms",
                    ),
                    whole("n", "1", "segments in the tails"),
                    whole("n_clusters", "1", "runs"),
                ],
            ),
            curves: table(
                axes,
                vec![
                    metric(),
                    number("x", "", "value of the metric in its unit"),
                    number("cdf", "1", "share of all observations of the arm at or below it"),
                ],
            ),
            traces: table(
                axes,
                vec![
                    run(),
                    client(),
                    whole("segment", "", "segment of the title"),
                    number("time_s", "s", "time of the segment's last byte after the viewer's arrival"),
                    number("buffer_s", "s", "buffer after the segment"),
                    whole("bitrate_kbit_s", "kbit/s", "rung of the segment"),
                ],
            ),
        }
    }

    /// Appends the rows of one node.
    pub(super) fn push(&mut self, node: &NodeInputs<'_>, result: &NodeResult) {
        let axes: Vec<Option<&str>> =
            self.axes.iter().map(|axis| node.axes.get(axis).and_then(Option::as_deref)).collect();
        let row = |arm: usize, rest: &[Cell<'_>], into: &mut TableBuilder| {
            let mut cells = vec![Cell::Str(node.node)];
            cells.extend(axes.iter().map(|value| value.map_or(Cell::Null, Cell::Str)));
            cells.push(Cell::Str(&result.arms[arm]));
            cells.extend_from_slice(rest);
            into.row(&cells);
        };
        for r in &result.runs {
            let run = r.run.map_or(Cell::Null, Cell::Int);
            let rest = [run, Cell::Str(r.metric), Cell::Str(&r.stat), float(r.value), Cell::Int(r.n as i64)];
            row(r.arm, &rest, &mut self.run_metrics);
        }
        for r in &result.pooled {
            let rest = [Cell::Str(r.metric), Cell::Str(&r.stat), float(r.value), Cell::Int(r.n as i64)];
            row(r.arm, &rest, &mut self.pooled_metrics);
        }
        for r in &result.sessions {
            let rest = [Cell::Int(r.run), Cell::Int(r.client), Cell::Str(r.metric), float(r.value)];
            row(r.arm, &rest, &mut self.session_metrics);
        }
        for curve in &result.curves {
            for point in &curve.points {
                let rest = [Cell::Str(curve.metric), Cell::Float(point.x), Cell::Float(point.cdf)];
                row(curve.arm, &rest, &mut self.curves);
            }
        }
        for p in &result.parts {
            let rest = [
                Cell::Str(&p.part),
                Cell::Float(study_stats::round12(p.mean_ms)),
                Cell::Int(p.n as i64),
                Cell::Int(p.runs as i64),
            ];
            row(p.arm, &rest, &mut self.tail_parts);
        }
        for p in &result.trace {
            let bitrate = p.bitrate_kbit_s.map_or(Cell::Null, Cell::Int);
            let keys = [Cell::Int(p.run), Cell::Int(p.client), Cell::Int(p.segment)];
            let rest = [&keys[..], &[Cell::Float(p.time_s), float(p.buffer_s), bitrate]].concat();
            row(p.arm, &rest, &mut self.traces);
        }
    }

    /// The frames.
    pub(super) fn finish(self) -> Outputs {
        let frames = [
            ("run_metrics", self.run_metrics),
            ("session_metrics", self.session_metrics),
            ("pooled_metrics", self.pooled_metrics),
            ("curves", self.curves),
            ("traces", self.traces),
            ("tail_parts", self.tail_parts),
        ];
        let mut outputs = Outputs::default();
        for (name, builder) in frames {
            outputs.frames.insert(name.to_owned(), builder.finish());
        }
        outputs
    }
}

fn float(value: Option<f64>) -> Cell<'static> {
    value.map_or(Cell::Null, Cell::Float)
}
