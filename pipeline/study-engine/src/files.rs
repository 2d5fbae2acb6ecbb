//! What stages ask the machine for: files, and what it is.
//!
//! Each is read once, before anything runs. Its digest enters the keys, the same bytes go to the stage and into the
//! store, so a file that is edited while the study runs cannot spoil a record.

use crate::{EngineError, FileProblem};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use study_ident::Digest;
use study_spec::Study;
use study_stage::Determinism;

/// Where files come from, and what machine this is.
pub trait FileSource: Sync {
    /// Reads a file by its path as written in the study.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;
    /// What tells this machine from others. It is part of the key of measured results, which are never mixed between
    /// machines, and asked for when there are any.
    fn host(&self) -> String {
        String::new()
    }
}

/// A file with its identity.
#[derive(Debug, Clone)]
pub(crate) struct LoadedFile {
    pub digest: Digest,
    pub bytes: Arc<[u8]>,
}

/// The files of each node, by slot.
pub(crate) struct LoadedFiles {
    by_node: Vec<Vec<LoadedFile>>,
    host: Option<String>,
}

impl LoadedFiles {
    /// Reads the files of the nodes that are looked at, and reports all that cannot be read at once.
    pub fn read(study: &Study, source: &dyn FileSource, wanted: &[bool]) -> Result<Self, EngineError> {
        let mut by_path: HashMap<&str, Option<LoadedFile>> = HashMap::new();
        let mut problems = Vec::new();
        let mut by_node = Vec::with_capacity(study.nodes.len());
        for (node, wanted) in study.nodes.iter().zip(wanted) {
            let mut files = Vec::new();
            for request in node.files.iter().filter(|_| *wanted) {
                let file = by_path.entry(&request.path).or_insert_with(|| match source.read(&request.path) {
                    Ok(bytes) => Some(LoadedFile { digest: Digest::of(&bytes), bytes: bytes.into() }),
                    Err(error) => {
                        problems.push(FileProblem {
                            node: node.id.clone(),
                            path: request.path.clone(),
                            span: request.span,
                            message: error.to_string(),
                        });
                        None
                    }
                });
                files.extend(file.clone());
            }
            by_node.push(files);
        }
        let sampled = |node: &study_spec::PlannedNode| node.kind.determinism(&*node.params) == Determinism::Sampled;
        let host = study.nodes.iter().any(sampled).then(|| source.host());
        if problems.is_empty() { Ok(Self { by_node, host }) } else { Err(EngineError::Files(problems)) }
    }

    /// The machine; nothing when no stage measures on it.
    pub fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    pub fn of(&self, node: usize) -> &[LoadedFile] {
        &self.by_node[node]
    }
}
