//! The inputs, sorted into cells of the matrix.

use super::metrics::{Metric, metric};
use std::collections::BTreeMap;
use study_ident::SeedPath;
use study_stage::{Inputs, StageError};
use study_table::{StrColumn, Table};

/// One run-level statistic of one arm in one run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observed {
    /// `None` where it leans on a censored observation.
    pub(super) value: Option<f64>,
    pub(super) n: i64,
}

/// One statistic of one cell.
pub(super) struct Series {
    pub(super) name: String,
    pub(super) metric: Metric,
    pub(super) stat: String,
    /// By arm (number into the cell's arms), then by run.
    pub(super) by_arm: BTreeMap<usize, BTreeMap<i64, Observed>>,
    /// The same statistic over all runs, by arm.
    pub(super) pooled: BTreeMap<usize, Observed>,
}

impl Series {
    fn new(name: &str, stat: &str) -> Self {
        let (by_arm, pooled) = (BTreeMap::new(), BTreeMap::new());
        Self { name: name.to_owned(), metric: metric(name), stat: stat.to_owned(), by_arm, pooled }
    }
    /// Where its randomness comes from. The node's name is not part of it: renaming a stage changes no number.
    pub(super) fn seed(&self, root: SeedPath, axes: &[String], cell: &Cell) -> SeedPath {
        let mut place: Vec<String> = axes
            .iter()
            .zip(&cell.axes)
            .filter_map(|(axis, value)| value.as_ref().map(|value| format!("{axis}={value}")))
            .collect();
        place.sort_unstable();
        root.child("bootstrap").child(&place.join(",")).child(&self.name).child(&self.stat)
    }
}

/// Session values of one metric.
pub(super) struct Sessions {
    pub(super) name: String,
    /// By arm; censored values are +infinity.
    pub(super) by_arm: BTreeMap<usize, Vec<f64>>,
}

/// One node of the matrix.
pub(super) struct Cell {
    pub(super) node: Option<String>,
    /// Values of the axes, in the order of the frame's columns.
    pub(super) axes: Vec<Option<String>>,
    /// In the order of their first row.
    pub(super) arms: Vec<String>,
    pub(super) series: Vec<Series>,
    pub(super) sessions: Vec<Sessions>,
    /// Runs of any arm.
    pub(super) runs: usize,
}

impl Cell {
    /// The baseline; `None` when this cell does not have it.
    pub(super) fn baseline(&self, wanted: Option<&str>) -> Option<usize> {
        match wanted {
            None => (!self.arms.is_empty()).then_some(0),
            Some(name) => self.arms.iter().position(|arm| arm == name),
        }
    }
    fn arm(&mut self, name: &str) -> usize {
        self.arms.iter().position(|arm| arm == name).unwrap_or_else(|| {
            self.arms.push(name.to_owned());
            self.arms.len() - 1
        })
    }
    fn series(&mut self, name: &str, stat: &str) -> &mut Series {
        let found = self.series.iter().position(|s| s.name == name && s.stat == stat);
        let at = found.unwrap_or_else(|| {
            self.series.push(Series::new(name, stat));
            self.series.len() - 1
        });
        &mut self.series[at]
    }
}

/// All inputs.
pub(super) struct Frames {
    /// Names of the axis columns, in their order.
    pub(super) axes: Vec<String>,
    /// In the order of their first row.
    pub(super) cells: Vec<Cell>,
}

/// Columns of `aggregate`'s frames that are not matrix axes.
const FIXED: [&str; 8] = ["node", "arm", "run", "client", "metric", "stat", "value", "n"];

impl Frames {
    /// Reads the three frames; the last two may be missing.
    pub(super) fn read(inputs: &Inputs) -> Result<Self, StageError> {
        let run_metrics = inputs.stacked("run_metrics")?;
        let names = run_metrics.schema().fields.iter().map(|f| f.name.clone());
        let axes: Vec<String> = names.filter(|name| !FIXED.contains(&name.as_str())).collect();
        let mut frames = Self { axes, cells: Vec::new() };
        frames.read_runs(&run_metrics)?;
        frames.read_pooled(&inputs.stacked("pooled_metrics")?)?;
        frames.read_sessions(&inputs.stacked("session_metrics")?)?;
        Ok(frames)
    }

    /// Refuses a baseline that no cell has.
    pub(super) fn check_baseline(&self, wanted: Option<&str>) -> Result<(), StageError> {
        let Some(name) = wanted else { return Ok(()) };
        if self.cells.is_empty() || self.cells.iter().any(|cell| cell.baseline(wanted).is_some()) {
            return Ok(());
        }
        let mut known: Vec<&str> = self.cells.iter().flat_map(|cell| &cell.arms).map(String::as_str).collect();
        known.sort_unstable();
        known.dedup();
        Err(StageError::failed_with_help(
            format!("the baseline `{name}` is no arm of the metrics"),
            format!("use one of: {}", known.join(", ")),
        ))
    }

    fn read_runs(&mut self, table: &Table) -> Result<(), StageError> {
        let keys = Keys::read(table, &self.axes)?;
        let (runs, stats, counts) = (table.ints("run")?, table.texts("stat")?, table.ints("n")?);
        let values = table.column("value")?;
        let mut last = None;
        for row in 0..table.rows() {
            let cell = self.cell(&keys, row, &mut last);
            let arm = cell.arm(text(keys.arm, row));
            let observed = Observed { value: values.float(row), n: counts[row] };
            let series = cell.series(text(keys.metric, row), text(stats, row));
            series.by_arm.entry(arm).or_default().insert(runs[row], observed);
        }
        for cell in &mut self.cells {
            let mut runs: Vec<i64> =
                cell.series.iter().flat_map(|s| s.by_arm.values()).flat_map(|r| r.keys().copied()).collect();
            runs.sort_unstable();
            runs.dedup();
            cell.runs = runs.len();
        }
        Ok(())
    }

    fn read_pooled(&mut self, table: &Table) -> Result<(), StageError> {
        if table.rows() == 0 {
            return Ok(());
        }
        let keys = Keys::read(table, &self.axes)?;
        let (stats, counts, values) = (table.texts("stat")?, table.ints("n")?, table.column("value")?);
        let mut last = None;
        for (row, n) in counts.iter().enumerate() {
            let cell = self.cell(&keys, row, &mut last);
            let arm = cell.arm(text(keys.arm, row));
            let observed = Observed { value: values.float(row), n: *n };
            cell.series(text(keys.metric, row), text(stats, row)).pooled.insert(arm, observed);
        }
        Ok(())
    }

    fn read_sessions(&mut self, table: &Table) -> Result<(), StageError> {
        if table.rows() == 0 {
            return Ok(());
        }
        let keys = Keys::read(table, &self.axes)?;
        let values = table.column("value")?;
        let mut last = None;
        for row in 0..table.rows() {
            let cell = self.cell(&keys, row, &mut last);
            let arm = cell.arm(text(keys.arm, row));
            let name = text(keys.metric, row);
            let at = cell.sessions.iter().position(|s| s.name == name).unwrap_or_else(|| {
                cell.sessions.push(Sessions { name: name.to_owned(), by_arm: BTreeMap::new() });
                cell.sessions.len() - 1
            });
            let own = cell.sessions[at].by_arm.entry(arm).or_default();
            match (values.float(row), metric(name).absent_is_censored) {
                (Some(value), _) => own.push(value),
                (None, true) => own.push(f64::INFINITY),
                (None, false) => {}
            }
        }
        Ok(())
    }

    /// The cell of a row. Rows of one cell stand together: the last one is tried first.
    fn cell(&mut self, keys: &Keys<'_>, row: usize, last: &mut Option<usize>) -> &mut Cell {
        let is = |cell: &Cell| {
            cell.node.as_deref() == keys.node.and_then(|c| c.get(row))
                && cell
                    .axes
                    .iter()
                    .zip(&keys.axes)
                    .all(|(value, column)| value.as_deref() == column.and_then(|c| c.get(row)))
        };
        let known = last.filter(|at| is(&self.cells[*at])).or_else(|| self.cells.iter().position(is));
        let at = known.unwrap_or_else(|| {
            self.cells.push(Cell {
                node: keys.node.and_then(|c| c.get(row)).map(str::to_owned),
                axes: keys.axes.iter().map(|c| c.and_then(|c| c.get(row)).map(str::to_owned)).collect(),
                arms: Vec::new(),
                series: Vec::new(),
                sessions: Vec::new(),
                runs: 0,
            });
            self.cells.len() - 1
        });
        *last = Some(at);
        &mut self.cells[at]
    }
}

/// The key columns that all frames have.
struct Keys<'a> {
    node: Option<&'a StrColumn>,
    axes: Vec<Option<&'a StrColumn>>,
    arm: &'a StrColumn,
    metric: &'a StrColumn,
}

impl<'a> Keys<'a> {
    fn read(table: &'a Table, axes: &[String]) -> Result<Self, StageError> {
        Ok(Self {
            node: table.texts("node").ok(),
            axes: axes.iter().map(|axis| table.texts(axis).ok()).collect(),
            arm: table.texts("arm")?,
            metric: table.texts("metric")?,
        })
    }
}

/// Text of a key; a missing one is empty.
fn text(column: &StrColumn, row: usize) -> &str {
    column.get(row).unwrap_or("")
}
