//! The JSON documents of `plan`, `run` and `run.json`.

use crate::load::SCHEMA_VERSION;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use study_engine::{NodeReport, State};
use study_spec::{PlannedNode, Study};
use study_store::OutputRecord;

/// The head that all of them share.
pub fn head(study: &Study) -> Map<String, Value> {
    let fields = [
        ("schema_version", json!(SCHEMA_VERSION)),
        ("study", json!(study.name)),
        ("title", json!(study.title)),
        ("variant", json!(study.variant)),
        ("seed", json!(study.seed)),
    ];
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// One node of a plan or run.
pub fn node(report: &NodeReport) -> Value {
    serde_json::to_value(report).expect("a report is plain data")
}

/// What a node made, by logical digest.
pub fn outputs(outputs: &[OutputRecord]) -> Value {
    let one = |o: &OutputRecord| json!({ "name": o.name, "frame": o.frame, "digest": o.logical, "rows": o.rows });
    outputs.iter().map(one).collect()
}

/// How many nodes are in a state.
pub fn count(nodes: &[NodeReport], state: State) -> usize {
    nodes.iter().filter(|node| node.state == state).count()
}

/// `run.json`: where the results come from. It holds what was recorded when each node was made, so that a rerun which
/// executes nothing writes the same bytes.
pub fn description(study: &Study, nodes: &[NodeReport], outputs_of: &[Option<Vec<OutputRecord>>]) -> Value {
    let one = |((report, made), planned): ((&NodeReport, &Option<Vec<OutputRecord>>), &PlannedNode)| {
        json!({
            "id": report.id,
            "kind": report.kind,
            "kind_version": planned.kind.version(),
            "key": report.key,
            "seconds": report.seconds.map(rounded),
            "counters": report.counters,
            "rates": rates(&report.counters, report.seconds.unwrap_or(0.0)),
            "outputs": outputs(made.as_deref().unwrap_or_default()),
        })
    };
    let counting: Vec<&NodeReport> = nodes.iter().filter(|node| !node.counters.is_empty()).collect();
    let mut counters: BTreeMap<String, u64> = BTreeMap::new();
    for (name, n) in counting.iter().flat_map(|node| &node.counters) {
        *counters.entry(name.clone()).or_default() += n;
    }
    let seconds = |nodes: &[&NodeReport]| nodes.iter().filter_map(|node| node.seconds).sum::<f64>();
    let all: Vec<&NodeReport> = nodes.iter().collect();
    let mut document = head(study);
    document.extend([
        ("versions".to_owned(), json!({ "study": env!("CARGO_PKG_VERSION") })),
        ("seconds".to_owned(), json!(rounded(seconds(&all)))),
        ("rates".to_owned(), rates(&counters, seconds(&counting))),
        ("counters".to_owned(), json!(counters)),
        ("nodes".to_owned(), nodes.iter().zip(outputs_of).zip(&study.nodes).map(one).collect()),
    ]);
    Value::Object(document)
}

/// Microseconds are precise enough.
fn rounded(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

/// Counters per second of wall time (`events_per_s`, `packets_per_s`), over the nodes that count.
fn rates(counters: &BTreeMap<String, u64>, seconds: f64) -> Value {
    let rate = |(name, n): (&String, &u64)| {
        (seconds > 0.0).then(|| (format!("{name}_per_s"), json!((*n as f64 / seconds).round())))
    };
    Value::Object(counters.iter().filter_map(rate).collect())
}
