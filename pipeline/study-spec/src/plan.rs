//! The nodes of a study and what flows between them.

use crate::axes;
use crate::cells::Cell;
use crate::frames::Binding;
use crate::needs::Need;
use crate::shape::Shape;
use crate::stage::Stage;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use study_stage::{Kind, Params, StudyInfo};
use study_tree::{FileRequest, Span};

/// A study that can be executed.
#[derive(Clone)]
pub struct Study {
    /// `study:`; safe as the name of a folder.
    pub name: String,
    /// `title:`, or the name.
    pub title: String,
    /// `seed:`, any 64-bit number.
    pub seed: u64,
    /// `full`, or the name of the variant.
    pub variant: String,
    /// The nodes, each after those it needs; otherwise in the order of the file.
    pub nodes: Vec<PlannedNode>,
    /// What a report may say about the study.
    pub info: StudyInfo,
}

/// One stage, or one cell of its matrix.
#[derive(Clone)]
pub struct PlannedNode {
    /// E.g. `transport[player.prefetch=1,scheduler=sequential]`.
    pub id: String,
    /// The stage it belongs to.
    pub stage: String,
    /// Its kind.
    pub kind: &'static dyn Kind,
    /// Its decoded parameters.
    pub params: Arc<dyn Params>,
    /// Its place in the matrix: value text by column; empty without a matrix.
    pub axes: BTreeMap<String, String>,
    /// The parts of each frame it receives, in the order of the plan.
    pub inputs: BTreeMap<String, Vec<InputBinding>>,
    /// The nodes it waits for, by position in the plan, ascending.
    pub needs: Vec<usize>,
    /// The files it asked for, by slot.
    pub files: Vec<FileRequest>,
    /// Where the name of its stage stands.
    pub span: Span,
}

/// One part of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputBinding {
    /// The node that gives it, by position in the plan.
    pub node: usize,
    /// A value for each axis that occurs among the parts of the frame, by column. A node that does not vary the axis
    /// carries its parameter's value, or nothing where it has no such parameter.
    pub axes: BTreeMap<String, Option<String>>,
}

/// What the plan is made of: everything by number of the stage.
pub(crate) struct Parts<'p> {
    pub(crate) stages: &'p [Stage],
    pub(crate) bindings: &'p [Vec<Binding>],
    pub(crate) shapes: &'p [Option<Arc<Shape>>],
    pub(crate) order: &'p [usize],
}

/// Makes the nodes, and their canonical description for [`StudyInfo`].
pub(crate) fn assemble(parts: &Parts<'_>, mut decoded: Vec<Option<Vec<Cell>>>) -> (Vec<PlannedNode>, Value) {
    let mut nodes: Vec<PlannedNode> = Vec::new();
    let mut canonical: Vec<Value> = Vec::new();
    let mut first = vec![0; parts.stages.len()];
    for &stage in parts.order {
        let (Some(shape), Some(kind)) = (&parts.shapes[stage], parts.stages[stage].kind) else { continue };
        let Some(cells) = decoded[stage].take() else { continue };
        first[stage] = nodes.len();
        let mut offers: Vec<Offer> =
            parts.bindings[stage].iter().map(|b| Offer::new(parts, stage, b, &first, &canonical)).collect();
        let last = shape.cells.len() - 1;
        // A stage that is mapped over cells was decoded once, for all of them.
        let shared = cells.first().filter(|_| cells.len() == 1).cloned();
        let mut cells = cells.into_iter();
        for cell in 0..=last {
            let Some(decoded) = cells.next().or_else(|| shared.clone()) else { break };
            let this = &parts.stages[stage];
            let inputs: BTreeMap<_, _> =
                offers.iter_mut().map(|o| (o.frame.clone(), o.parts_of(cell, cell == last))).collect();
            let needs: BTreeSet<usize> = inputs.values().flatten().map(|b: &InputBinding| b.node).collect();
            canonical.push(decoded.canonical);
            nodes.push(PlannedNode {
                id: format!("{}{}", this.name, axes::label(shape, cell)),
                stage: this.name.clone(),
                kind,
                params: decoded.params,
                axes: axes::own(shape, cell),
                inputs,
                needs: needs.into_iter().collect(),
                files: decoded.files,
                span: this.span,
            });
        }
    }
    let described = describe(&nodes, canonical);
    (nodes, described)
}

/// What is offered to one stage under one name.
struct Offer {
    frame: String,
    /// The parts of each stage that gives the frame, by cell, and for a stage mapped over cells which part goes where.
    from: Vec<(Vec<InputBinding>, Option<Vec<usize>>)>,
}

impl Offer {
    fn new(parts: &Parts<'_>, stage: usize, binding: &Binding, first: &[usize], canonical: &[Value]) -> Self {
        let columns = axes::among(&binding.from, parts.shapes);
        let one = |need: &Need| {
            let (giver, shape) = (&parts.stages[need.stage], parts.shapes[need.stage].as_ref());
            let cells = shape.map_or(0, |s| s.cells.len());
            let part = |cell: usize| {
                let node = first[need.stage] + cell;
                let value = |path: &str| axes::value(giver, shape?, cell, &canonical[node], path);
                let axes = columns.iter().map(|(column, axis)| ((*column).to_owned(), value(&axis.path))).collect();
                InputBinding { node, axes }
            };
            ((0..cells).map(part).collect(), mapping(parts, stage, need.stage))
        };
        Self { frame: binding.frame.clone(), from: binding.from.iter().map(one).collect() }
    }

    /// The parts that a cell of the stage receives; the last cell takes them away.
    fn parts_of(&mut self, cell: usize, last: bool) -> Vec<InputBinding> {
        let mut parts: Vec<InputBinding> = Vec::new();
        for (all, mapping) in &mut self.from {
            match mapping {
                None if last => parts.append(all),
                None => parts.extend(all.iter().cloned()),
                Some(mapping) => parts.push(all[mapping[cell]].clone()),
            }
        }
        parts.sort_by_key(|part| part.node);
        parts
    }
}

/// For a stage mapped over cells: which cell of the giver belongs to each of its own. `None` for all cells.
fn mapping(parts: &Parts<'_>, stage: usize, giver: usize) -> Option<Vec<usize>> {
    parts.stages[stage].per_cell?;
    let (own, theirs) = (parts.shapes[stage].as_ref()?, parts.shapes[giver].as_ref()?);
    if theirs.axes.is_empty() {
        return None;
    }
    let known = theirs.by_texts();
    (0..own.cells.len()).map(|cell| known.get(&own.texts(cell)).copied()).collect()
}

fn describe(nodes: &[PlannedNode], canonical: Vec<Value>) -> Value {
    let mut described = Map::new();
    for (node, params) in nodes.iter().zip(canonical) {
        let needs: Vec<&str> = node.needs.iter().map(|&n| nodes[n].id.as_str()).collect();
        described.insert(node.id.clone(), json!({ "kind": node.kind.name(), "needs": needs, "params": params }));
    }
    Value::Object(described)
}
