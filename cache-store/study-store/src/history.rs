//! Which keys a node had, newest first: only for saying what changed since.
//!
//! Nothing here decides what runs. Losing a file, or two processes writing one at once, costs an explanation at most, so
//! these files are not synced.

use crate::publish::Durability;
use crate::{Store, StoreError};
use serde::{Deserialize, Serialize};
use std::fs;
use study_ident::{CanonicalHasher, Digest};

/// Keys kept per node.
const KEPT: usize = 8;

#[derive(Serialize, Deserialize)]
struct History {
    study: String,
    node: String,
    keys: Vec<Digest>,
}

impl Store {
    /// Notes the key that a node of a study has now.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn remember(&self, study: &str, node: &str, key: &Digest) -> Result<(), StoreError> {
        let mut keys = self.history(study, node);
        if keys.first() == Some(key) {
            return Ok(());
        }
        keys.retain(|k| k != key);
        keys.insert(0, *key);
        keys.truncate(KEPT);
        let path = self.layout.node(study, node);
        let text = serde_json::to_string(&History { study: study.to_owned(), node: node.to_owned(), keys })
            .map_err(|e| StoreError::io("write", &path, e.into()))?;
        // What the last whole run saw is no longer what stands here.
        let _ = fs::remove_file(self.layout.last_run(study));
        self.publish(text.as_bytes(), &path, 0o644, Durability::Advisory)
    }

    /// Notes the keys of a whole run. A run that saw the same keys as the one before it writes nothing, and reads one file.
    ///
    /// # Errors
    /// When something cannot be written.
    pub fn remember_run(&self, study: &str, keys: &[(&str, Digest)]) -> Result<(), StoreError> {
        let mut hasher = CanonicalHasher::new("run");
        for (node, key) in keys {
            hasher.text(node);
            hasher.digest(key);
        }
        let fingerprint = hasher.finish().to_string();
        let path = self.layout.last_run(study);
        if fs::read_to_string(&path).is_ok_and(|text| text == fingerprint) {
            return Ok(());
        }
        keys.iter().try_for_each(|(node, key)| self.remember(study, node, key))?;
        self.publish(fingerprint.as_bytes(), &path, 0o644, Durability::Advisory)
    }

    /// The key that a node had last.
    #[must_use]
    pub fn last_key(&self, study: &str, node: &str) -> Option<Digest> {
        self.history(study, node).first().copied()
    }

    /// The keys that a node had, newest first.
    #[must_use]
    pub fn history(&self, study: &str, node: &str) -> Vec<Digest> {
        let read = fs::read(self.layout.node(study, node)).ok();
        let parsed: Option<History> = read.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        parsed.filter(|h| h.study == study && h.node == node).map(|h| h.keys).unwrap_or_default()
    }

    /// The keys in one file of histories.
    pub(crate) fn keys_in(path: &std::path::Path) -> Vec<Digest> {
        let parsed: Option<History> = fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        parsed.map(|h| h.keys).unwrap_or_default()
    }
}
