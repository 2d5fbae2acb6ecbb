//! The statistics of one node.

use super::metrics::{Absent, Metric, SEGMENT_METRICS, SESSION_METRICS, Statistics};
use super::params::{AggregateParams, Percentiles, Tainted};
use super::parts::{self, TailPart};
use super::trace::{self, TracePoint};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use study_stage::{InputPart, Inputs, StageError};
use study_stats::{CurvePoint, Sample};
use study_table::{Column, Table, TableError};

/// Most points of a distribution curve.
const CURVE_POINTS: usize = 512;

/// The frames of one node.
pub(super) struct NodeInputs<'a> {
    pub(super) node: &'a str,
    pub(super) axes: BTreeMap<String, Option<String>>,
    pub(super) segments: Option<Cow<'a, Table>>,
    pub(super) sessions: Option<Cow<'a, Table>>,
}

impl<'a> NodeInputs<'a> {
    /// Brings the frames of every node together, in the order of the plan, without the blocks that are left out.
    pub(super) fn pair(inputs: &'a Inputs, params: &AggregateParams) -> Result<Vec<Self>, StageError> {
        let mut nodes: Vec<Self> = Vec::new();
        let mut slot = |part: &'a InputPart| -> usize {
            let found = nodes.iter().position(|n| n.node == part.node);
            found.unwrap_or_else(|| {
                nodes.push(Self { node: &part.node, axes: part.axes.clone(), segments: None, sessions: None });
                nodes.len() - 1
            })
        };
        let segments: Vec<(usize, &Table)> = inputs.parts("segments").iter().map(|p| (slot(p), &*p.table)).collect();
        let sessions: Vec<(usize, &Table)> = inputs.parts("sessions").iter().map(|p| (slot(p), &*p.table)).collect();
        let timing = |node: &str| inputs.parts("timing").iter().find(|part| part.node == node).map(|part| &*part.table);
        let left_out: Vec<BTreeSet<i64>> = nodes
            .iter()
            .map(|node| match (params.tainted, timing(node.node)) {
                (Tainted::LeaveOut, Some(timing)) => tainted_runs(node.node, timing),
                _ => Ok(BTreeSet::new()),
            })
            .collect::<Result<_, _>>()?;
        for (at, table) in segments {
            nodes[at].segments = Some(without(nodes[at].node, "segments", table, &left_out[at])?);
        }
        for (at, table) in sessions {
            nodes[at].sessions = Some(without(nodes[at].node, "sessions", table, &left_out[at])?);
        }
        Ok(nodes)
    }
}

/// Runs in which the timing of any arm was tainted: whole blocks, so that no arm is selected. None when all are: then there is
/// nothing better, and the validity record has failed.
fn tainted_runs(node: &str, timing: &Table) -> Result<BTreeSet<i64>, StageError> {
    let runs = in_frame(node, "timing", timing.ints("run"))?;
    let quality = in_frame(node, "timing", timing.column("quality"))?;
    let of = |tainted: bool| -> BTreeSet<i64> {
        let rows = runs.iter().enumerate().filter(|(row, _)| !tainted || quality.text(*row) == Some("tainted"));
        rows.map(|(_, run)| *run).collect()
    };
    let (all, tainted) = (of(false), of(true));
    Ok(if tainted == all { BTreeSet::new() } else { tainted })
}

/// A frame without some runs.
fn without<'t>(
    node: &str,
    frame: &str,
    table: &'t Table,
    left_out: &BTreeSet<i64>,
) -> Result<Cow<'t, Table>, StageError> {
    if left_out.is_empty() {
        return Ok(Cow::Borrowed(table));
    }
    let runs = in_frame(node, frame, table.ints("run"))?;
    Ok(Cow::Owned(table.filter(|row| !left_out.contains(&runs[row]))))
}

/// Names the node and the frame that a column is missing from.
pub(super) fn in_frame<T>(node: &str, frame: &str, result: Result<T, TableError>) -> Result<T, StageError> {
    result.map_err(|error| StageError::failed(format!("frame `{frame}` of node `{node}`: {error}")))
}

/// A statistic of one arm, over one run or over all.
pub(super) struct StatRow {
    pub(super) arm: usize,
    /// The run, `None` when pooled.
    pub(super) run: Option<i64>,
    pub(super) metric: &'static str,
    pub(super) stat: String,
    pub(super) value: Option<f64>,
    /// Observations, censored ones included.
    pub(super) n: usize,
}

/// A metric of one session.
pub(super) struct SessionRow {
    pub(super) arm: usize,
    pub(super) run: i64,
    pub(super) client: i64,
    pub(super) metric: &'static str,
    pub(super) value: Option<f64>,
}

/// A distribution function of one arm.
pub(super) struct Curve {
    pub(super) arm: usize,
    pub(super) metric: &'static str,
    pub(super) points: Vec<CurvePoint>,
}

/// Everything about one node. Arms are numbers into `arms`.
pub(super) struct NodeResult {
    /// In the order of their first row.
    pub(super) arms: Vec<String>,
    pub(super) runs: Vec<StatRow>,
    pub(super) pooled: Vec<StatRow>,
    pub(super) sessions: Vec<SessionRow>,
    pub(super) curves: Vec<Curve>,
    pub(super) trace: Vec<TracePoint>,
    pub(super) parts: Vec<TailPart>,
}

/// The statistics of one node.
pub(super) fn aggregate(node: &NodeInputs<'_>, params: &AggregateParams) -> Result<NodeResult, StageError> {
    let mut arms: Vec<String> = Vec::new();
    // Sessions first: every arm has one, even if nothing was ever delivered to it.
    let sessions = node.sessions.as_deref().map(|t| Rows::read(node.node, "sessions", t, &mut arms)).transpose()?;
    let segments = node.segments.as_deref().map(|t| Rows::read(node.node, "segments", t, &mut arms)).transpose()?;
    let mut result = NodeResult {
        arms,
        runs: Vec::new(),
        pooled: Vec::new(),
        sessions: Vec::new(),
        curves: Vec::new(),
        trace: Vec::new(),
        parts: Vec::new(),
    };
    for (rows, metrics) in [(&segments, &SEGMENT_METRICS[..]), (&sessions, &SESSION_METRICS[..])] {
        let Some(rows) = rows else { continue };
        for metric in metrics {
            result.add_metric(rows, metric, params)?;
        }
    }
    // Stable: within an arm and run the metrics keep their order.
    result.runs.sort_by_key(|row| (row.arm, row.run));
    result.pooled.sort_by_key(|row| row.arm);
    result.curves.sort_by_key(|curve| curve.arm);
    if let Some(sessions) = &sessions {
        result.add_sessions(sessions)?;
    }
    if let Some(segments) = &segments {
        result.parts = parts::tail(segments, result.arms.len())?;
    }
    if let (Some(sessions), Some(segments)) = (&sessions, &segments) {
        result.trace = trace::sample_session(node.node, sessions, segments)?;
    }
    Ok(result)
}

impl NodeResult {
    /// Statistics per run, pooled, and the curve of one metric.
    fn add_metric(&mut self, rows: &Rows<'_>, metric: &Metric, params: &AggregateParams) -> Result<(), StageError> {
        let samples = rows.samples(metric)?;
        // What a mode cannot tell is left out: a row would say that it was looked for.
        if metric.absent == Absent::Nothing && samples.values().all(Sample::is_empty) {
            return Ok(());
        }
        for ((arm, run), sample) in &samples {
            self.runs.extend(statistics(*arm, Some(*run), metric, params, sample));
        }
        for arm in 0..self.arms.len() {
            let own = samples.iter().filter(|((a, _), _)| *a == arm).map(|(_, sample)| sample);
            let pooled = Sample::pooled(own);
            if pooled.is_empty() {
                continue;
            }
            self.pooled.extend(statistics(arm, None, metric, params, &pooled));
            self.curves.push(Curve { arm, metric: metric.name, points: pooled.curve(CURVE_POINTS) });
        }
        Ok(())
    }

    /// One row per session and metric.
    fn add_sessions(&mut self, rows: &Rows<'_>) -> Result<(), StageError> {
        let columns: Vec<&Column> =
            SESSION_METRICS.iter().map(|m| rows.column(m.column)).collect::<Result<_, StageError>>()?;
        let clients = rows.ints("client")?;
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|row| (rows.arms[*row], rows.runs[*row], clients[*row]));
        for row in order {
            for (metric, column) in SESSION_METRICS.iter().zip(&columns) {
                let value = column.float(row).map(|x| x / metric.per_unit);
                let (arm, run, client) = (rows.arms[row], rows.runs[row], clients[row]);
                self.sessions.push(SessionRow { arm, run, client, metric: metric.name, value });
            }
        }
        Ok(())
    }
}

/// Percentiles and mean of one sample.
fn statistics(
    arm: usize,
    run: Option<i64>,
    metric: &Metric,
    params: &AggregateParams,
    sample: &Sample,
) -> Vec<StatRow> {
    let percentiles = match metric.statistics {
        Statistics::SegmentPercentiles => params.percentiles.get(),
        Statistics::SessionPercentiles => params.session_percentiles.get(),
        Statistics::MeanOnly => &[],
    };
    let row = |stat: String, value| StatRow { arm, run, metric: metric.name, stat, value, n: sample.len() };
    let quantiles = percentiles.iter().map(|p| row(Percentiles::name(*p), sample.quantile(p / 100.0)));
    quantiles.chain([row("mean".to_owned(), sample.mean())]).collect()
}

/// The rows of one frame, with their arm and run.
pub(super) struct Rows<'a> {
    node: &'a str,
    frame: &'a str,
    table: &'a Table,
    /// Number of the arm, by row.
    pub(super) arms: Vec<usize>,
    /// By row.
    pub(super) runs: &'a [i64],
}

impl<'a> Rows<'a> {
    /// Reads arms and runs; new arms are appended to `arms` in the order of their first row.
    fn read(node: &'a str, frame: &'a str, table: &'a Table, arms: &mut Vec<String>) -> Result<Self, StageError> {
        let runs = in_frame(node, frame, table.ints("run"))?;
        let column = in_frame(node, frame, table.texts("arm"))?;
        let mut numbers: Vec<Option<usize>> = vec![None; column.values.len()];
        let mut of_row = Vec::with_capacity(table.rows());
        for code in &column.codes {
            let Some(slot) = numbers.get_mut(*code as usize) else {
                return Err(StageError::failed(format!("frame `{frame}` of node `{node}` has a row without an arm")));
            };
            let name = &column.values[*code as usize];
            of_row.push(*slot.get_or_insert_with(|| {
                arms.iter().position(|a| a == name).unwrap_or_else(|| {
                    arms.push(name.clone());
                    arms.len() - 1
                })
            }));
        }
        Ok(Self { node, frame, table, arms: of_row, runs })
    }
    /// Rows.
    pub(super) fn len(&self) -> usize {
        self.arms.len()
    }
    /// A column.
    pub(super) fn column(&self, name: &str) -> Result<&'a Column, StageError> {
        in_frame(self.node, self.frame, self.table.column(name))
    }
    /// Names of the columns that begin like this, in their order.
    pub(super) fn names(&self, prefix: &str) -> Vec<&'a str> {
        let fields = &self.table.schema().fields;
        fields.iter().map(|field| field.name.as_str()).filter(|name| name.starts_with(prefix)).collect()
    }
    /// A column of whole numbers without nulls.
    pub(super) fn ints(&self, name: &str) -> Result<&'a [i64], StageError> {
        in_frame(self.node, self.frame, self.table.ints(name))
    }
    /// The observations of a metric by arm and run.
    fn samples(&self, metric: &Metric) -> Result<BTreeMap<(usize, i64), Sample>, StageError> {
        let column = self.column(metric.column)?;
        let mut values: Vec<Vec<f64>> = Vec::new();
        let mut groups: BTreeMap<(usize, i64), usize> = BTreeMap::new();
        let mut last = None;
        for row in 0..self.len() {
            let key = (self.arms[row], self.runs[row]);
            // Rows of one arm and run stand together, so that the map is seldom asked.
            let group = match last {
                Some((known, group)) if known == key => group,
                _ => *groups.entry(key).or_insert_with(|| {
                    values.push(Vec::new());
                    values.len() - 1
                }),
            };
            last = Some((key, group));
            match (column.float(row), metric.absent) {
                (Some(x), _) => values[group].push(x / metric.per_unit),
                (None, Absent::Censored) => values[group].push(f64::INFINITY),
                (None, Absent::Nothing) => {}
            }
        }
        Ok(groups.into_iter().map(|(key, group)| (key, Sample::new(std::mem::take(&mut values[group])))).collect())
    }
}
