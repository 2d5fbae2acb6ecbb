//! Which nodes are asked for.

use crate::graph::Dag;
use crate::{EngineError, RunOptions};
use std::collections::BTreeSet;
use study_spec::Study;
use study_tree::did_you_mean;

/// Per node, what the options say about it.
pub(crate) struct Selection {
    /// It may run.
    pub selected: Vec<bool>,
    /// Its key is needed: it is selected, or something selected depends on it.
    pub consulted: Vec<bool>,
    /// It runs although it is cached.
    pub forced: Vec<bool>,
}

impl Selection {
    pub fn new(study: &Study, dag: &Dag, options: &RunOptions) -> Result<Self, EngineError> {
        let n = study.nodes.len();
        let mut forced = vec![false; n];
        for node in resolve_all(study, &options.force)? {
            forced[node] = true;
        }
        for node in resolve_all(study, &options.from)? {
            dag.mark_below(node, &mut forced);
        }
        let only = resolve_all(study, &options.only)?;
        let until = resolve_all(study, &options.until)?;
        let mut selected = vec![only.is_empty() && until.is_empty(); n];
        only.iter().for_each(|node| selected[*node] = true);
        dag.mark_above(until, &mut selected);
        let mut consulted = selected.clone();
        if !only.is_empty() {
            dag.mark_above((0..n).filter(|i| selected[*i]), &mut consulted);
        }
        Ok(Self { selected, consulted, forced })
    }

    /// Whether something is looked at that may not run (`--only`).
    pub fn leaves_out_givers(&self) -> bool {
        self.selected != self.consulted
    }
}

fn resolve_all(study: &Study, names: &[String]) -> Result<BTreeSet<usize>, EngineError> {
    let mut found = BTreeSet::new();
    for name in names {
        found.extend(resolve(study, name)?);
    }
    Ok(found)
}

/// The node of that id, or all nodes of that stage.
pub(crate) fn resolve(study: &Study, name: &str) -> Result<Vec<usize>, EngineError> {
    let which = |matches: &dyn Fn(&study_spec::PlannedNode) -> bool| -> Vec<usize> {
        study.nodes.iter().enumerate().filter(|(_, node)| matches(node)).map(|(i, _)| i).collect()
    };
    let by_id = which(&|node| node.id == name);
    if !by_id.is_empty() {
        return Ok(by_id);
    }
    let by_stage = which(&|node| node.stage == name);
    if !by_stage.is_empty() {
        return Ok(by_stage);
    }
    let known: BTreeSet<&str> = study.nodes.iter().flat_map(|n| [n.stage.as_str(), n.id.as_str()]).collect();
    let known: Vec<&str> = known.into_iter().collect();
    let help = did_you_mean(name, &known).unwrap_or_else(|| {
        let stages: BTreeSet<&str> = study.nodes.iter().map(|n| n.stage.as_str()).collect();
        let stages: Vec<&str> = stages.into_iter().take(12).collect();
        format!("its stages are {}", stages.join(", "))
    });
    Err(EngineError::UnknownNode { given: name.to_owned(), help })
}
