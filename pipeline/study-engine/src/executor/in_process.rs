//! Runs a node on a thread of this process.

use super::{Outcome, Work};
use crate::keys::{RepetitionKeys, shares};
use crate::repetitions::Recorder;
use crate::tables::Tables;
use crate::{NodeError, Reason};
use rayon::prelude::*;
use serde_json::Value;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Component, Path};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use study_ident::{Digest, SeedPath};
use study_spec::{PlannedNode, Study};
use study_stage::{Determinism, InputPart, Inputs, Outputs, Repetitions, StageCx, StageError, StudyInfo, Unrecorded};
use study_store::{FileRecord, OutputRecord, Record, Store, StoreError};
use study_table::Table;

/// What running any node takes.
pub(crate) struct Surroundings<'a> {
    pub study: &'a Study,
    pub store: &'a Store,
    pub tables: &'a Tables,
    pub cancel: &'a AtomicBool,
}

/// Loads the inputs, runs the stage, checks and stores what it made, and records it. A panic is a failure of the node.
pub(crate) fn execute(around: &Surroundings<'_>, work: Work, progress: &(dyn Fn(u64, u64) + Sync)) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| attempt(around, work, progress).unwrap_or_else(|outcome| outcome)))
        .unwrap_or_else(|panic| Outcome::Failed(panicked(&*panic)))
}

fn attempt(around: &Surroundings<'_>, work: Work, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<Outcome, Outcome> {
    let begun = Instant::now();
    let node = &around.study.nodes[work.node];
    let inputs = load_inputs(around, node, &work)?;
    let recorder = recorder(around.store, node, &work, &inputs);
    let unrecorded = Unrecorded::default();
    let repetitions: &dyn Repetitions = recorder.as_ref().map_or(&unrecorded, |recorder| recorder);
    let made = run_stage(around, node, &work, (&inputs, repetitions), progress).map_err(|outcome| {
        // Whatever the stage made of it, the store is what failed.
        recorder.as_ref().and_then(Recorder::failure).map_or(outcome, Outcome::StoreFailed)
    })?;
    drop(inputs);
    check(node, &made, recorder.as_ref()).map_err(Outcome::Failed)?;
    let files = store_files(around.store, &work).map_err(Outcome::StoreFailed)?;
    let outputs = store_outputs(around.store, &made).map_err(Outcome::StoreFailed)?;
    let differs = differs_from_record(around.store, node, &work.key, &outputs);
    let counted = recorder.as_ref().map(Recorder::counted);
    let seconds = counted.map_or_else(|| begun.elapsed().as_secs_f64(), |(_, seconds)| seconds);
    let repetitions = counted.map(|(count, _)| count);
    let counters = made.counters;
    let record = Record {
        key_document: work.document,
        kind: node.kind.name().to_owned(),
        outputs: outputs.clone(),
        files,
        seconds,
        counters: counters.clone(),
    };
    around.store.put_record(&work.key, &record).map_err(Outcome::StoreFailed)?;
    // Only for explanations: a failure here must not make a good result look bad.
    let _ = around.store.remember(&around.study.name, &node.id, &work.key);
    for (name, table) in made.frames {
        if let Some(output) = crate::keys::frame_of(&outputs, &name) {
            around.tables.offer(work.node, output, table);
        }
    }
    drop(work.claim);
    Ok(Outcome::Recorded { outputs, seconds, counters, repetitions, differs })
}

fn load_inputs(around: &Surroundings<'_>, node: &PlannedNode, work: &Work) -> Result<Inputs, Outcome> {
    let mut inputs = Inputs::default();
    for (frame, bindings) in &node.inputs {
        let outputs = &work.inputs[frame];
        let parts: Vec<InputPart> = bindings
            .par_iter()
            .zip(outputs)
            .map(|(binding, output)| {
                let giver = &around.study.nodes[binding.node];
                let table = around.tables.get(around.store, binding.node, output);
                Ok(InputPart {
                    node: giver.id.clone(),
                    stage: giver.stage.clone(),
                    axes: binding.axes.clone(),
                    table: table.map_err(|error| lost(binding.node, output, error))?,
                })
            })
            .collect::<Result<_, Outcome>>()?;
        inputs.frames.insert(frame.clone(), parts);
    }
    Ok(inputs)
}

/// The record of the node's repetitions, if it appends them.
fn recorder<'a>(store: &'a Store, node: &PlannedNode, work: &Work, inputs: &Inputs) -> Option<Recorder<'a>> {
    let series = node.kind.series(&*node.params)?;
    let keys = RepetitionKeys::new(&series, &work.document, |frame, column, number| {
        shares(&inputs.parts(frame).get(number)?.table, column, series.repetitions)
    });
    Some(Recorder::open(store, node.kind.name(), keys))
}

fn lost(giver: usize, output: &OutputRecord, error: StoreError) -> Outcome {
    let code = match error {
        StoreError::Corrupt { .. } => "corrupt",
        StoreError::Missing { .. } => "missing-blob",
        other => return Outcome::StoreFailed(other),
    };
    Outcome::InputLost { giver, reason: Reason::about(code, format!("outputs.{}", output.name)) }
}

/// Runs the stage. What it has not declared to use, it does not get.
fn run_stage(
    around: &Surroundings<'_>,
    node: &PlannedNode,
    work: &Work,
    (inputs, repetitions): (&Inputs, &dyn Repetitions),
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Outputs, Outcome> {
    let nothing =
        StudyInfo { name: String::new(), title: String::new(), seed: 0, variant: String::new(), nodes: Value::Null };
    let files: Vec<Arc<[u8]>> = work.files.iter().map(|file| Arc::clone(&file.bytes)).collect();
    let cx = StageCx {
        seed: SeedPath::root(if node.kind.uses_seed() { around.study.seed } else { 0 }),
        study: if node.kind.sees_study() { &around.study.info } else { &nothing },
        node: &node.id,
        files: &files,
        cancel: around.cancel,
        progress,
        repetitions,
    };
    match catch_unwind(AssertUnwindSafe(|| node.kind.run(&*node.params, &cx, inputs))) {
        Ok(Ok(outputs)) => Ok(outputs),
        Ok(Err(StageError::Cancelled)) => Err(Outcome::Cancelled),
        Ok(Err(error)) => Err(Outcome::Failed(error.into())),
        Err(panic) => Err(Outcome::Failed(panicked(&*panic))),
    }
}

fn panicked(panic: &(dyn Any + Send)) -> NodeError {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned());
    NodeError::with_help(
        format!("the stage panicked: {text}"),
        "this is a mistake in the program, not in the study: please report it together with the study file",
    )
}

/// All declared frames are there and no others, all repetitions are on record, and files stay inside the results.
fn check(node: &PlannedNode, made: &Outputs, recorder: Option<&Recorder<'_>>) -> Result<(), NodeError> {
    let kind = node.kind.name();
    if let Some(index) = recorder.and_then(Recorder::missing) {
        return Err(NodeError::new(format!("`{kind}` did not carry out repetition {index}")));
    }
    if let Some(missing) = node.kind.gives().iter().find(|name| !made.frames.contains_key(**name)) {
        return Err(NodeError::new(format!("`{kind}` did not make its frame `{missing}`")));
    }
    if let Some(extra) = made.frames.keys().find(|name| !node.kind.gives().contains(&name.as_str())) {
        return Err(NodeError::new(format!("`{kind}` made the frame `{extra}`, which it does not declare")));
    }
    let inside =
        |path: &str| !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    match made.files.keys().find(|path| !inside(path)) {
        Some(path) => Err(NodeError::new(format!("`{kind}` made the file `{path}`, which is not inside the results"))),
        None => Ok(()),
    }
}

/// Files go into the store beside the results, so that a bundle can hold them.
fn store_files(store: &Store, work: &Work) -> Result<Vec<FileRecord>, StoreError> {
    let put = |file: &crate::files::LoadedFile| {
        let object = store.put_object(&file.bytes)?;
        Ok(FileRecord { object, bytes: file.bytes.len() as u64 })
    };
    work.files.iter().map(put).collect()
}

/// Encodes and stores all outputs, several at once: most of the time goes into waiting for the disk.
fn store_outputs(store: &Store, made: &Outputs) -> Result<Vec<OutputRecord>, StoreError> {
    let frame = |(name, table): (&String, &Table)| {
        let bytes = table.encode();
        let object = store.put_object(&bytes)?;
        let (logical, rows) = (table.digest(), Some(table.rows() as u64));
        Ok(OutputRecord { name: name.clone(), frame: true, logical, object, bytes: bytes.len() as u64, rows })
    };
    let file = |(name, bytes): (&String, &Vec<u8>)| {
        let object = store.put_object(bytes)?;
        let bytes = bytes.len() as u64;
        Ok(OutputRecord { name: name.clone(), frame: false, logical: object, object, bytes, rows: None })
    };
    let mut outputs = made.frames.par_iter().map(frame).collect::<Result<Vec<_>, StoreError>>()?;
    outputs.extend(made.files.par_iter().map(file).collect::<Result<Vec<_>, StoreError>>()?);
    Ok(outputs)
}

/// Whether the same key gave something else before.
fn differs_from_record(store: &Store, node: &PlannedNode, key: &Digest, outputs: &[OutputRecord]) -> bool {
    if node.kind.determinism(&*node.params) != Determinism::Exact {
        return false;
    }
    let Ok(Some(before)) = store.record_head(key) else { return false };
    let identity = |outputs: &[OutputRecord]| -> Vec<(String, bool, Digest)> {
        outputs.iter().map(|o| (o.name.clone(), o.frame, o.logical)).collect()
    };
    identity(&before.outputs) != identity(outputs)
}
