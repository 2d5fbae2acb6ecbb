//! Where things are.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use study_ident::Digest;

/// Longest file name that an escaped text may become; file systems allow 255 bytes.
const LONGEST_NAME: usize = 180;

/// The paths of one store.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub root: PathBuf,
}

impl Layout {
    pub fn version(&self) -> PathBuf {
        self.root.join("VERSION")
    }
    pub fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }
    pub fn objects(&self) -> PathBuf {
        self.root.join("objects")
    }
    pub fn object(&self, digest: &Digest) -> PathBuf {
        sharded(&self.objects(), digest, "")
    }
    pub fn actions(&self) -> PathBuf {
        self.root.join("actions")
    }
    pub fn action(&self, key: &Digest) -> PathBuf {
        sharded(&self.actions(), key, ".json")
    }
    pub fn nodes(&self) -> PathBuf {
        self.root.join("nodes")
    }
    pub fn node(&self, study: &str, node: &str) -> PathBuf {
        self.nodes().join(escape(study)).join(format!("{}.json", escape(node)))
    }
    /// Fingerprint of the keys that the last complete run of a study saw. No escaped name begins with a dot.
    pub fn last_run(&self, study: &str) -> PathBuf {
        self.nodes().join(escape(study)).join(".last-run")
    }
    pub fn quarantine(&self) -> PathBuf {
        self.root.join("quarantine")
    }
    pub fn scratch(&self) -> PathBuf {
        self.root.join("tmp")
    }
    pub fn claims(&self) -> PathBuf {
        self.root.join("claims")
    }
    pub fn claim(&self, key: &Digest) -> PathBuf {
        self.claims().join(key.to_string())
    }
}

fn sharded(folder: &Path, digest: &Digest, ending: &str) -> PathBuf {
    let hex = digest.to_string();
    let mut path = PathBuf::with_capacity(folder.as_os_str().len() + hex.len() + ending.len() + 5);
    path.push(folder);
    path.push(&hex[..2]);
    path.push(hex + ending);
    path
}

/// A file name for any text: lower-case letters, digits and a few signs stand for themselves, all other bytes are
/// `%XX`, because some file systems do not tell `A` from `a`. Long texts end in a digest of the whole instead.
pub(crate) fn escape(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'=' | b',' | b'[' | b']' => name.push(char::from(byte)),
            b'.' if i > 0 => name.push('.'),
            _ => {
                let _ = write!(name, "%{byte:02X}");
            }
        }
    }
    if name.is_empty() {
        return "%".to_owned();
    }
    if name.len() > LONGEST_NAME {
        name.truncate(LONGEST_NAME - 33);
        let _ = write!(name, "%-{}", &Digest::of(text.as_bytes()).to_string()[..31]);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn different_ids_have_different_file_names_even_where_case_is_ignored() {
        let long = "x".repeat(300);
        let longer = "x".repeat(301);
        let ids = [
            "transport[player.prefetch=1,scheduler=sequential]",
            "a",
            "A",
            "a b",
            "a%20b",
            "",
            "%",
            ".",
            "..",
            "../x",
            "ü",
            "Ü",
            &long,
            &longer,
        ];
        let names: BTreeSet<String> = ids.iter().map(|id| escape(id).to_lowercase()).collect();
        assert_eq!(names.len(), ids.len(), "{names:?}");
        for name in names {
            assert!(name.len() <= LONGEST_NAME && !name.starts_with('.') && !name.contains('/'), "{name}");
        }
        assert_eq!(escape(ids[0]), ids[0], "ids of nodes stay readable");
    }
}
