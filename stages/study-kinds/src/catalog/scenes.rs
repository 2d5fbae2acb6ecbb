//! Running a kind in a test: parameters as JSON, links by name, files by slot.

use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use study_ident::SeedPath;
use study_stage::{Inputs, Outputs, StageCx, StageError, StageKind, StudyInfo};
use study_tree::{Cx, Entry, Node, Scalar, Sections, Severity, Span};

/// The tree of a JSON document; every node and key has a place of its own.
pub(crate) fn node(document: &Value) -> Node {
    spanned(document, &mut 0)
}

fn spanned(document: &Value, next: &mut u32) -> Node {
    let mut place = || {
        *next += 1;
        Span { source: 0, start: *next, end: *next + 1 }
    };
    let span = place();
    let value = match document {
        Value::Object(map) => {
            let entries = map.iter().map(|(key, value)| {
                *next += 1;
                let key_span = Span { source: 0, start: *next, end: *next + 1 };
                Entry { key: key.clone(), key_span, value: spanned(value, next) }
            });
            study_tree::Value::Map(entries.collect())
        }
        Value::Array(items) => study_tree::Value::List(items.iter().map(|item| spanned(item, next)).collect()),
        Value::String(text) => study_tree::Value::Scalar(Scalar { text: text.clone(), quoted: false }),
        other => study_tree::Value::Scalar(Scalar { text: other.to_string(), quoted: false }),
    };
    Node { value, span }
}

pub(crate) fn links(definitions: &Value) -> Sections {
    let named = definitions.as_object().unwrap().iter().map(|(name, value)| (name.clone(), node(value)));
    Sections::from([("links".to_owned(), named.collect())])
}

/// The problems of a node as `code: message`, in order of their place; warnings begin with `warning `.
pub(crate) fn diagnostics<K: StageKind>(kind: &K, parameters: &Value, definitions: &Value) -> Vec<String> {
    let sections = links(definitions);
    let mut cx = Cx::new(&sections);
    let decoded = kind.decode(&node(parameters), &mut cx);
    assert_eq!(decoded.is_none(), cx.diagnostics.has_errors(), "parameters or an error");
    let describe = |severity| if severity == Severity::Warning { "warning " } else { "" };
    let problems = cx.diagnostics.sorted().into_iter();
    problems.map(|d| format!("{}{}: {}", describe(d.severity), d.code, d.message)).collect()
}

pub(crate) fn run_with<K: StageKind>(
    kind: &K,
    parameters: &Value,
    definitions: &Value,
    files: &[&[u8]],
) -> Result<Outputs, StageError> {
    run_seeded(kind, parameters, definitions, files, 7)
}

pub(crate) fn run_seeded<K: StageKind>(
    kind: &K,
    parameters: &Value,
    definitions: &Value,
    files: &[&[u8]],
    seed: u64,
) -> Result<Outputs, StageError> {
    let sections = links(definitions);
    let mut cx = Cx::new(&sections);
    let params = kind.decode(&node(parameters), &mut cx);
    let params = params.unwrap_or_else(|| panic!("{:?}", cx.diagnostics.sorted()));
    assert_eq!(cx.files.len(), files.len(), "files asked for");
    let study =
        StudyInfo { name: "t".to_owned(), title: "t".to_owned(), seed, variant: "full".to_owned(), nodes: Value::Null };
    let files: Vec<Arc<[u8]>> = files.iter().map(|bytes| Arc::from(*bytes)).collect();
    let context = StageCx {
        seed: SeedPath::root(seed),
        study: &study,
        node: "t",
        files: &files,
        cancel: &AtomicBool::new(false),
        progress: &|_, _| {},
        repetitions: &study_stage::Unrecorded::default(),
    };
    kind.run(&params, &context, &Inputs::default())
}
