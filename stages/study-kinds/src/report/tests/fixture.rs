//! Hand-made frames of a small study: `transport` in four cells with replayed decisions, `experience` in closed loop.

use crate::report::{Report, ReportParams};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use study_ident::SeedPath;
use study_stage::{InputPart, Inputs, Outputs, StageCx, StageError, StageKind, StudyInfo};
use study_table::{Cell, ColumnType, Field, Table, TableBuilder};
use study_tree::{Cx, Entry, Node, Scalar, Sections, Span, Value as Tree};

/// A table from column names (`:i` whole, `:f` number, else text) and rows of JSON values.
pub(super) fn table(columns: &[&str], rows: &[Value]) -> Table {
    let field = |column: &&str| match column.split_once(':') {
        Some((name, "i")) => Field::new(name, ColumnType::Int, "", ""),
        Some((name, _)) => Field::new(name, ColumnType::Float, "", ""),
        None => Field::new(column, ColumnType::Str, "", ""),
    };
    let fields: Vec<Field> = columns.iter().map(field).collect();
    let types: Vec<ColumnType> = fields.iter().map(|f| f.column_type).collect();
    let mut builder = TableBuilder::new(fields);
    for row in rows {
        let cells: Vec<Cell<'_>> = row
            .as_array()
            .unwrap()
            .iter()
            .zip(&types)
            .map(|(value, column)| match (value, column) {
                (Value::Null, _) => Cell::Null,
                (value, ColumnType::Int) => Cell::Int(value.as_i64().unwrap()),
                (value, ColumnType::Float) => Cell::Float(value.as_f64().unwrap()),
                (value, _) => Cell::Str(value.as_str().unwrap()),
            })
            .collect();
        builder.row(&cells);
    }
    builder.finish()
}

/// The four cells: (scheduler, prefetch, node).
pub(super) const CELLS: [(&str, &str, &str); 4] = [
    ("round_robin", "1", "transport[player.prefetch=1,scheduler=round_robin]"),
    ("sequential", "1", "transport[player.prefetch=1,scheduler=sequential]"),
    ("round_robin", "3", "transport[player.prefetch=3,scheduler=round_robin]"),
    ("sequential", "3", "transport[player.prefetch=3,scheduler=sequential]"),
];
/// Improvement of p95 in each of them.
const IMPROVEMENTS: [f64; 4] = [0.012, 0.011, 0.213, -0.034];

/// Frames under construction: rows by frame.
#[derive(Clone)]
pub(super) struct Fixture {
    pub(super) comparison: Vec<Value>,
    pub(super) summary: Vec<Value>,
    pub(super) validity: Vec<Value>,
    pub(super) runs: i64,
    pub(super) nodes: Value,
    pub(super) variant: &'static str,
    /// Frames that are left out.
    pub(super) without: Vec<&'static str>,
}

const COMPARISON: [&str; 22] = [
    "node",
    "scheduler",
    "prefetch",
    "metric",
    "stat",
    "estimand",
    "arm_a",
    "arm_b",
    "estimate:f",
    "ci_low:f",
    "ci_high:f",
    "ci_level:f",
    "effect",
    "p_value:f",
    "p_adjusted:f",
    "n:i",
    "n_clusters:i",
    "method",
    "unit",
    "looks:i",
    "variance_ratio:f",
    "spare",
];
const SUMMARY: [&str; 16] = [
    "node",
    "scheduler",
    "prefetch",
    "arm",
    "metric",
    "stat",
    "estimand",
    "estimate:f",
    "ci_low:f",
    "ci_high:f",
    "ci_level:f",
    "n:i",
    "n_clusters:i",
    "method",
    "unit",
    "looks:i",
];

/// One row of `comparison`, h3 against h2; (low, high) is `None` where there is no interval.
#[allow(clippy::too_many_arguments, reason = "the columns of a row")]
pub(super) fn comparison_row(
    place: (&str, &str, &str),
    (metric, stat, estimand): (&str, &str, &str),
    effect: &str,
    estimate: f64,
    interval: Option<(f64, f64)>,
    p: Option<f64>,
    runs: i64,
    method: &str,
) -> Value {
    let (scheduler, prefetch, node) = place;
    let (low, high) = interval.map_or((Value::Null, Value::Null), |(l, h)| (json!(l), json!(h)));
    json!([
        node,
        scheduler,
        prefetch,
        metric,
        stat,
        estimand,
        "h2",
        "h3",
        estimate,
        low,
        high,
        interval.map(|_| 0.95),
        effect,
        p,
        p.map(|p| (2.0 * p).min(1.0)),
        6000,
        runs,
        method,
        "1",
        1,
        0.21,
        null
    ])
}

const EXPERIENCE: (&str, &str, &str) = ("round_robin", "3", "experience");

impl Fixture {
    /// The whole study with 40 runs.
    pub(super) fn new() -> Self {
        let mut fixture = Self {
            comparison: Vec::new(),
            summary: Vec::new(),
            validity: vec![
                json!(["equal-arms", "pass", "h3", "equal", "equal", "", "h2 and h3 differ in the protocol alone"]),
                json!(["edge-in-use", "warn", null, "0", ">= 1", "viewers", "the edge `mumbai` served nobody"]),
            ],
            runs: 40,
            nodes: nodes(),
            variant: "full",
            without: Vec::new(),
        };
        for (place, improvement) in CELLS.into_iter().zip(IMPROVEMENTS) {
            for (stat, ms) in [("p50", 820.0), ("p95", 3900.0), ("p99", 9100.0)] {
                fixture.add(place, ("ttlb_ms", stat, "transport"), "improvement", improvement, 0.019, ms);
            }
        }
        for (metric, stat, effect, estimate, half, level) in [
            ("startup_ms", "p50", "improvement", 0.352, 0.031, 640.0),
            ("stall_ratio", "mean", "difference", -0.013, 0.008, 0.041),
            ("bitrate_kbit_s", "mean", "improvement", 0.004, 0.012, 2310.0),
            ("switches", "mean", "difference", 0.31, 0.52, 4.2),
        ] {
            fixture.add(EXPERIENCE, (metric, stat, "experience"), effect, estimate, half, level);
        }
        let parity = |method: &str, estimate: Option<f64>, p: Option<f64>| {
            let mut row =
                comparison_row(EXPERIENCE, ("startup_ms", "session", "parity"), "u", 0.0, None, p, 40, method);
            row[8] = json!(estimate);
            row[14] = Value::Null;
            row
        };
        fixture.comparison.extend([
            parity("mann_whitney", Some(1_201_345.0), Some(1e-9)),
            parity("cliffs_delta", Some(-0.31), None),
            parity("cohens_d", Some(-0.42), None),
        ]);
        fixture
    }
    /// An effect by two methods, and the levels of both arms.
    fn add(
        &mut self,
        place: (&str, &str, &str),
        what: (&str, &str, &str),
        effect: &str,
        estimate: f64,
        half: f64,
        level: f64,
    ) {
        let p = if (estimate - half) * (estimate + half) > 0.0 { 0.0001 } else { 0.31 };
        for (method, width, p) in [("bootstrap-t", half, Some(p)), ("percentile", half * 0.93, None)] {
            let interval = Some((estimate - width, estimate + width));
            self.comparison.push(comparison_row(place, what, effect, estimate, interval, p, self.runs, method));
        }
        let other = if effect == "difference" { level + estimate } else { level * (1.0 - estimate) };
        for (arm, value) in [("h2", level), ("h3", other)] {
            for method in ["bootstrap-t", "pooled"] {
                let (metric, stat, estimand) = what;
                let (scheduler, prefetch, node) = place;
                self.summary.push(json!([
                    node,
                    scheduler,
                    prefetch,
                    arm,
                    metric,
                    stat,
                    estimand,
                    value,
                    value * 0.96,
                    value * 1.05,
                    0.95,
                    6000,
                    self.runs,
                    method,
                    "ms",
                    1
                ]));
            }
        }
    }
    /// The comparison of one statistic, to be changed.
    pub(super) fn comparison_of(&mut self, node: &str, metric: &str, stat: &str) -> &mut Value {
        let same = |r: &&mut Value| r[0] == node && r[3] == metric && r[4] == stat;
        self.comparison.iter_mut().find(same).unwrap()
    }
    /// All inputs.
    pub(super) fn inputs(&self) -> Inputs {
        let mut frames = BTreeMap::new();
        let single = |node: &str, table: Table| vec![part(node, table)];
        frames.insert("comparison".to_owned(), single("bootstrap", table(&COMPARISON, &self.comparison)));
        frames.insert("summary".to_owned(), single("bootstrap", table(&SUMMARY, &self.summary)));
        frames.insert("pooled_metrics".to_owned(), single("aggregate", pooled()));
        frames.insert("curves".to_owned(), single("aggregate", curves()));
        frames.insert("traces".to_owned(), single("aggregate", traces()));
        let nodes = ["experience"].into_iter().chain(CELLS.map(|c| c.2));
        let each = |make: fn(i64) -> Table| nodes.clone().map(|n| part(n, make(self.runs))).collect::<Vec<_>>();
        frames.insert("sessions".to_owned(), each(sessions));
        frames.insert("links".to_owned(), each(links));
        let columns = ["check", "status", "arm", "measured", "expected", "unit", "message"];
        frames.insert("validity".to_owned(), single("experience", table(&columns, &self.validity)));
        frames.retain(|name, _| !self.without.contains(&name.as_str()));
        Inputs { frames }
    }
    /// What the report makes of it.
    pub(super) fn run(&self, params: &ReportParams) -> Result<Outputs, StageError> {
        let study = StudyInfo {
            name: "harsh".to_owned(),
            title: "HTTP/3 against HTTP/2".to_owned(),
            seed: 20_260_409,
            variant: self.variant.to_owned(),
            nodes: self.nodes.clone(),
        };
        let (cancel, progress) = (AtomicBool::new(false), |_, _| {});
        let seed = SeedPath::root(1);
        let cx = StageCx {
            seed,
            study: &study,
            node: "report",
            files: &[],
            cancel: &cancel,
            progress: &progress,
            repetitions: &study_stage::Unrecorded::default(),
        };
        StageKind::run(&Report, params, &cx, &self.inputs())
    }
}

fn part(node: &str, table: Table) -> InputPart {
    let stage = node.split('[').next().unwrap_or(node).to_owned();
    InputPart { node: node.to_owned(), stage, axes: BTreeMap::new(), table: Arc::new(table) }
}

/// Canonical parameters as the reader describes them.
fn nodes() -> Value {
    let simulate = |prefetch: u64, scheduler: &str, decisions: Value| {
        let player = json!({ "abr": "bba", "prefetch": prefetch, "decisions": decisions });
        json!({ "kind": "simulate", "needs": ["catalog", "routing"],
                "params": { "mode": "modeled", "runs": 40, "scheduler": scheduler, "player": player } })
    };
    let mut nodes = serde_json::Map::new();
    nodes.insert("experience".to_owned(), simulate(3, "round_robin", json!("closed_loop")));
    for (scheduler, prefetch, node) in CELLS {
        nodes.insert(node.to_owned(), simulate(prefetch.parse().unwrap(), scheduler, json!({ "replay": "h2" })));
    }
    Value::Object(nodes)
}

fn sessions(runs: i64) -> Table {
    let mut rows = Vec::new();
    for run in 0..runs {
        for (arm, protocol, shift) in [("h2", "h2", 0), ("h3", "h3", 2)] {
            for client in 0..2 {
                let edge = if client == 0 { "singapore" } else { "mumbai" };
                let rtt = 33_000 + 9_000 * client - 500 * shift;
                rows.push(json!([run, arm, protocol, "cubic", client, edge, 30, rtt, rtt - 1000, rtt + 9000]));
            }
        }
    }
    let columns = [
        "run:i",
        "arm",
        "protocol",
        "congestion_control",
        "client:i",
        "edge",
        "segments:i",
        "rtt_mean_us:i",
        "rtt_p50_us:i",
        "rtt_p95_us:i",
    ];
    table(&columns, &rows)
}

fn links(runs: i64) -> Table {
    let mut rows = Vec::new();
    for run in 0..runs {
        for (arm, packets) in [("h2", 52_000), ("h3", 55_000)] {
            for (direction, share) in [("down", 1.0), ("up", 0.5)] {
                let packets = (f64::from(packets) * share) as i64;
                rows.push(json!([
                    run,
                    arm,
                    "singapore",
                    direction,
                    packets,
                    packets / 27,
                    12,
                    0,
                    0,
                    packets * 1500,
                    31_000.5
                ]));
            }
        }
    }
    let counts =
        ["packets:i", "lost_random:i", "lost_queue:i", "lost_policer:i", "lost_outage:i", "bytes:i", "busy_ms:f"];
    let columns = [&["run:i", "arm", "edge", "direction"][..], &counts].concat();
    table(&columns, &rows)
}

fn pooled() -> Table {
    let columns = ["node", "scheduler", "prefetch", "arm", "metric", "stat", "value:f", "n:i"];
    let rows: Vec<Value> = [("h2", 4100.0), ("h3", 3300.0)]
        .iter()
        .map(|(arm, p95)| json!([CELLS[2].2, "round_robin", "3", arm, "ttlb_ms", "p95", p95, 12_000]))
        .collect();
    table(&columns, &rows)
}

fn curves() -> Table {
    let mut rows = Vec::new();
    for (node, metric, base) in [(CELLS[2].2, "ttlb_ms", 300.0), ("experience", "startup_ms", 250.0)] {
        for (arm, factor) in [("h2", 1.0), ("h3", 0.8)] {
            for i in 1..=100 {
                let share = f64::from(i) / 100.0;
                let x = base * factor * (1.0 + 2.0 * share + 0.1 * share / (1.03 - share));
                rows.push(json!([node, "round_robin", "3", arm, metric, x, share]));
            }
        }
        // A session that never started has no place on the axis.
        rows.push(json!([node, "round_robin", "3", "h3", metric, null, 1.0]));
    }
    table(&["node", "scheduler", "prefetch", "arm", "metric", "x:f", "cdf:f"], &rows)
}

fn traces() -> Table {
    let mut rows = Vec::new();
    for arm in ["h2", "h3"] {
        for segment in 0..30 {
            let time = 3.9 * f64::from(segment) + if arm == "h2" { 0.8 } else { 0.5 };
            let rate = if segment < 4 { 400 } else { 3000 };
            let buffer = (4.0 + f64::from(segment) * 0.7).min(22.0);
            rows.push(json!(["experience", "round_robin", "3", arm, 0, 17, segment, time, buffer, rate]));
        }
    }
    let columns = [
        "node",
        "scheduler",
        "prefetch",
        "arm",
        "run:i",
        "client:i",
        "segment:i",
        "time_s:f",
        "buffer_s:f",
        "bitrate_kbit_s:f",
    ];
    table(&columns, &rows)
}

/// JSON as a tree of the study reader; texts count as quoted unless they are numbers.
pub(super) fn tree(value: &Value) -> Node {
    let span = Span::default();
    match value {
        Value::Object(map) => {
            let entry =
                |(key, value): (&String, &Value)| Entry { key: key.clone(), key_span: span, value: tree(value) };
            Node::map(map.iter().map(entry).collect(), span)
        }
        Value::Array(items) => Node { value: Tree::List(items.iter().map(tree).collect()), span },
        Value::String(text) => Node { value: Tree::Scalar(Scalar { text: text.clone(), quoted: true }), span },
        other => Node::plain(other.to_string(), span),
    }
}

/// Decodes a stage beside claims; problems as `code: message`.
pub(super) fn decode(stage: &Value, claims: &[Value]) -> (Option<ReportParams>, Vec<String>) {
    let mut sections = Sections::new();
    let arm = tree(&json!({ "protocol": "h2", "congestion_control": "cubic" }));
    sections.insert("arms".to_owned(), ["h2", "h3"].map(|name| (name.to_owned(), arm.clone())).into());
    let named = claims.iter().map(|c| (c["id"].as_str().unwrap_or("?").to_owned(), tree(c)));
    sections.insert("claims".to_owned(), named.collect());
    let mut cx = Cx::new(&sections);
    let params = StageKind::decode(&Report, &tree(stage), &mut cx);
    let problems = cx.diagnostics.sorted().iter().map(|d| format!("{}: {}", d.code, d.message)).collect();
    (params, problems)
}

/// Parameters without problems.
pub(super) fn params(stage: &Value, claims: &[Value]) -> ReportParams {
    let (params, problems) = decode(stage, claims);
    assert_eq!(problems, Vec::<String>::new());
    params.unwrap()
}

/// The flagship's default cell; without figures, which take most of the time.
pub(super) fn default_cell() -> Value {
    json!({ "default_cell": { "scheduler": "round_robin", "prefetch": 3 }, "figures": [] })
}

/// The same with all figures.
pub(super) fn with_figures() -> Value {
    json!({ "default_cell": { "scheduler": "round_robin", "prefetch": 3 } })
}
