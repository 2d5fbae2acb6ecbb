//! The validity record of a comparison: is it fair, and did it run as designed?

use super::inputs::World;
use super::params::{Arm, Compare, SimulateParams};
use serde_json::Value;
use study_table::{Cell, ColumnType, Field, Table, TableBuilder};

struct Rows(TableBuilder);

impl Rows {
    fn add(&mut self, check: &str, status: &str, arm: Option<&str>, (measured, expected): (&str, &str), message: &str) {
        let arm = arm.map_or(Cell::Null, Cell::Str);
        self.0.row(&[
            Cell::Str(check),
            Cell::Str(status),
            arm,
            Cell::Str(measured),
            Cell::Str(expected),
            Cell::Str(""),
            Cell::Str(message),
        ]);
    }
    fn extra(&mut self, row: &ExtraRow) {
        let arm = row.arm.as_deref().map_or(Cell::Null, Cell::Str);
        let texts = [&row.measured, &row.expected, &row.unit, &row.message].map(|text| Cell::Str(text));
        self.0.row(&[&[Cell::Str(&row.check), Cell::Str(row.status), arm][..], &texts].concat());
    }
}

/// A row besides those that both modes have.
pub struct ExtraRow {
    pub check: String,
    pub status: &'static str,
    pub arm: Option<String>,
    pub measured: String,
    pub expected: String,
    pub unit: String,
    pub message: String,
}

/// The frame `validity`. `sessions` holds for each arm how many sessions were complete, of how many.
pub fn validity(params: &SimulateParams, world: &World, sessions: &[(usize, usize)], extra: &[ExtraRow]) -> Table {
    let text = |name: &str, meaning: &str| Field::new(name, ColumnType::Str, "", meaning);
    let mut rows = Rows(TableBuilder::new(vec![
        text("check", "name of the check"),
        text("status", "pass, warn or fail"),
        text("arm", "arm it concerns; null when all"),
        text("measured", "what was found"),
        text("expected", "what should be"),
        text("unit", "unit of the two"),
        text("message", "in words"),
    ]));
    equality(params, &mut rows);
    for (arm, (complete, all)) in params.arms.iter().zip(sessions) {
        completion(arm, *complete, *all, &mut rows);
    }
    edges_in_use(world, &mut rows);
    for row in extra {
        rows.extra(row);
    }
    rows.0.finish()
}

/// Everything but the protocol is equal, or it is listed.
fn equality(params: &SimulateParams, rows: &mut Rows) {
    let Some((first, others)) = params.arms.split_first() else { return };
    for other in others {
        let mut differences = Vec::new();
        let document = |arm: &Arm| serde_json::to_value(arm).unwrap_or_default();
        compare("", &document(first), &document(other), &mut differences);
        differences.retain(|(path, ..)| path != "name" && path != "protocol");
        let pair = format!("{} and {}", first.name, other.name);
        if differences.is_empty() {
            rows.add(
                "equal-arms",
                "pass",
                Some(&other.name),
                ("equal", "equal"),
                &format!("{pair} differ in the protocol alone"),
            );
        }
        for (path, a, b) in differences {
            let status = if params.compare == Compare::Equal { "fail" } else { "warn" };
            rows.add("equal-arms", status, Some(&other.name), (&b, &a), &format!("{pair} also differ in `{path}`"));
        }
    }
}

/// Leaves that differ, as (path, first, second).
fn compare(path: &str, a: &Value, b: &Value, out: &mut Vec<(String, String, String)>) {
    let (Value::Object(x), Value::Object(y)) = (a, b) else {
        if a != b {
            let text = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
            out.push((path.to_owned(), text(a), text(b)));
        }
        return;
    };
    let keys: std::collections::BTreeSet<&String> = x.keys().chain(y.keys()).collect();
    for key in keys {
        let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        compare(&below, x.get(key).unwrap_or(&Value::Null), y.get(key).unwrap_or(&Value::Null), out);
    }
}

fn completion(arm: &Arm, complete: usize, all: usize, rows: &mut Rows) {
    let status = if complete == all { "pass" } else { "warn" };
    let message = format!("{complete} of {all} sessions of {} ended before the viewer left", arm.name);
    rows.add("sessions-complete", status, Some(&arm.name), (&complete.to_string(), &all.to_string()), &message);
}

fn edges_in_use(world: &World, rows: &mut Rows) {
    for (position, edge) in world.edges.iter().enumerate() {
        if world.viewers.iter().flatten().all(|v| v.edge != position) {
            rows.add("edge-in-use", "warn", None, ("0", ">= 1"), &format!("the edge `{}` served nobody", edge.name));
        }
    }
}
