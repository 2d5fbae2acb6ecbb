//! What decoding needs besides the node itself.

use crate::{Decode, Diagnostic, Diagnostics, MapReader, Node, did_you_mean};
use std::collections::{BTreeMap, BTreeSet};

/// The named definitions at the top of a study (`links`, `arms`, `claims`), by section and name.
pub type Sections = BTreeMap<String, BTreeMap<String, Node>>;

/// A file that a stage asked for while it was decoded. The engine reads it; its digest is an input of the stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRequest {
    /// The path as written, relative to the study file.
    pub path: String,
    /// Where it was written.
    pub span: crate::Span,
}

/// Collects problems and file requests while one stage is decoded, and resolves names of definitions.
pub struct Cx<'a> {
    /// Problems found.
    pub diagnostics: Diagnostics,
    /// Files asked for, in the order of their slots.
    pub files: Vec<FileRequest>,
    /// Definitions that were looked up, as (section, name).
    pub used: BTreeSet<(String, String)>,
    sections: &'a Sections,
}

impl<'a> Cx<'a> {
    /// A context over the study's definitions.
    #[must_use]
    pub fn new(sections: &'a Sections) -> Self {
        Self { diagnostics: Diagnostics::default(), files: Vec::new(), used: BTreeSet::new(), sections }
    }
    /// Reports a problem.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }
    /// The definition that `name` (a scalar node) refers to; an unknown name is reported as `unknown-name`.
    pub fn lookup(&mut self, section: &str, name: &Node) -> Option<&'a Node> {
        let text = String::decode(name, self)?;
        let definitions = self.sections.get(section);
        let found = definitions.and_then(|d| d.get(&text));
        if found.is_some() {
            self.used.insert((section.to_owned(), text));
        } else {
            let known: Vec<&str> = definitions.map(|d| d.keys().map(String::as_str).collect()).unwrap_or_default();
            let help = did_you_mean(&text, &known)
                .unwrap_or_else(|| format!("define it under `{section}:`, or use one of: {}", known.join(", ")));
            self.push(
                Diagnostic::error("unknown-name", name.span, format!("`{text}` is not defined in `{section}`"))
                    .help(help),
            );
        }
        found
    }
    /// All definitions of a section.
    #[must_use]
    pub fn section(&self, section: &str) -> Option<&'a BTreeMap<String, Node>> {
        self.sections.get(section)
    }
}

/// A reference to a file, by slot. The path is not part of the parameters: the content is, as an input of the stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FileRef {
    /// Position among the files that the stage asked for.
    pub slot: usize,
}

impl Decode for FileRef {
    /// Reads `{ file: path }`, or the bare path.
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let (path, span) = if node.entries().is_some() {
            let mut map = MapReader::new(node, cx)?;
            let path = map.required_node("file").cloned();
            map.finish();
            let path = path?;
            (String::decode(&path, cx)?, path.span)
        } else {
            (String::decode(node, cx)?, node.span)
        };
        cx.files.push(FileRequest { path, span });
        Some(Self { slot: cx.files.len() - 1 })
    }
    fn schema() -> serde_json::Value {
        serde_json::json!({
            "description": "a file, relative to the study",
            "anyOf": [
                { "type": "string" },
                { "type": "object", "properties": { "file": { "type": "string" } }, "required": ["file"], "additionalProperties": false }
            ]
        })
    }
}
