//! What would run, and why, without changing anything.

use crate::files::LoadedFiles;
use crate::graph::Dag;
use crate::judge::{Judge, with_paths};
use crate::reasons::differences;
use crate::select::{Selection, resolve};
use crate::{EngineError, FileSource, NodeReport, Reason, RunOptions, State, Why};
use study_spec::Study;
use study_store::{OutputRecord, Store};

/// Every node with its state, the reasons, and how long it took last time. Works without a store, where nothing is cached.
/// Changes nothing.
///
/// # Errors
/// An option names no node, `only` asks for what cannot run alone, or a file cannot be read.
pub fn plan(
    study: &Study,
    store: Option<&Store>,
    files: &dyn FileSource,
    options: &RunOptions,
) -> Result<Vec<NodeReport>, EngineError> {
    let dag = Dag::of(study)?;
    let selection = Selection::new(study, &dag, options)?;
    let files = LoadedFiles::read(study, files, &selection.consulted)?;
    let judge = Judge::new(study, store, &files);
    let (reports, outputs) = walk(&judge, &selection);
    if selection.leaves_out_givers() {
        check_givers(study, &selection, &outputs)?;
    }
    Ok(reports)
}

/// Reports on all nodes, and what the cached ones made.
pub(crate) fn walk(judge: &Judge<'_>, selection: &Selection) -> (Vec<NodeReport>, Vec<Option<Vec<OutputRecord>>>) {
    let forced = Reason::plain("forced");
    let n = judge.study.nodes.len();
    let mut outputs: Vec<Option<Vec<OutputRecord>>> = vec![None; n];
    let mut reports = Vec::with_capacity(n);
    for i in 0..n {
        if !selection.consulted[i] {
            reports.push(judge.blank_report(i, State::Skipped));
            continue;
        }
        let selected = selection.selected[i];
        let mut verdict = judge.judge(i, &outputs, (selected && selection.forced[i]).then_some(&forced));
        outputs[i] = verdict.hit.as_mut().map(|head| std::mem::take(&mut head.outputs));
        reports.push(if !selected {
            judge.blank_report(i, State::Skipped)
        } else {
            let cached = verdict.hit.is_some() || verdict.only_to_assemble();
            let state = if cached { State::Cached } else { State::Execute };
            judge.report(i, state, verdict)
        });
    }
    (reports, outputs)
}

/// Refuses nodes that may run but whose givers may not and are not cached.
pub(crate) fn check_givers(
    study: &Study,
    selection: &Selection,
    outputs: &[Option<Vec<OutputRecord>>],
) -> Result<(), EngineError> {
    for (i, node) in study.nodes.iter().enumerate().filter(|(i, _)| selection.selected[*i]) {
        let givers = node.inputs.values().flatten().map(|binding| binding.node);
        let mut missing: Vec<usize> = givers.filter(|g| !selection.selected[*g] && outputs[*g].is_none()).collect();
        missing.sort_unstable();
        missing.dedup();
        if !missing.is_empty() {
            let inputs = missing.iter().map(|g| study.nodes[*g].id.clone()).collect();
            return Err(EngineError::InputsNotCached { node: study.nodes[i].id.clone(), inputs });
        }
    }
    Ok(())
}

/// The key document of a node, why it is not cached, and what differs from the nearest earlier document.
///
/// # Errors
/// No such node (a stage with several cells needs the id of one), or a file cannot be read.
pub fn why(study: &Study, store: Option<&Store>, files: &dyn FileSource, node: &str) -> Result<Why, EngineError> {
    let [index] = resolve(study, node)?[..] else {
        let cells = study.nodes.iter().filter(|n| n.stage == node).map(|n| n.id.clone()).collect();
        return Err(EngineError::SeveralNodes { given: node.to_owned(), cells });
    };
    let options = RunOptions { until: vec![study.nodes[index].id.clone()], ..RunOptions::default() };
    let dag = Dag::of(study)?;
    let selection = Selection::new(study, &dag, &options)?;
    let files = LoadedFiles::read(study, files, &selection.consulted)?;
    let judge = Judge::new(study, store, &files);
    let (mut reports, outputs) = walk(&judge, &selection);
    let document = judge.document(index, &outputs);
    let planned = &study.nodes[index];
    let nearest = judge
        .documents(&judge.history(planned))
        .map(|past| (differences(&past, &document), past))
        .filter(|(differences, _)| !differences.is_empty())
        // The first of equals is the newest.
        .min_by_key(|(differences, _)| differences.len());
    let (differences, nearest) = nearest.map_or((Vec::new(), None), |(d, past)| (with_paths(planned, d), Some(past)));
    let node = reports.swap_remove(index);
    Ok(Why { reasons: node.reasons.clone(), node, document, nearest, differences })
}
