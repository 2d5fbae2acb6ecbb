//! Credentials in a file that the processes of one user share.
//!
//! The file holds the private key, so it is made with mode 0600 and refused when others may read it. It appears whole or not
//! at all: it is written under another name and linked to its own, which fails when another process was faster; then that one's
//! is read. So servers may be started at once.

use super::Credentials;
use crate::node::NodeError;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Permissions of anybody but the owner.
const OTHERS: u32 = 0o077;
/// Largest file that is read, bytes: a chain of the largest size in JSON is smaller.
const MOST: u64 = 1 << 20;

/// Drafts of this process so far: two of its threads must not write the same one.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

fn refused(path: &Path, reason: impl ToString, cure: &str) -> NodeError {
    NodeError::CredentialsFile { path: path.to_owned(), reason: reason.to_string(), cure: cure.to_owned() }
}

impl Credentials {
    /// The credentials in `path`; when there is no such file, fresh ones that are written there for the other processes.
    ///
    /// # Errors
    /// [`NodeError::CredentialsFile`] when the file can be neither read nor made, or others may read it;
    /// [`NodeError::Stack`] when no chain of `chain_bytes` can be made.
    pub fn shared(path: &Path, names: &[&str], chain_bytes: u64) -> Result<Self, NodeError> {
        if !path.exists() {
            let made = Self::new(names, chain_bytes)?;
            made.publish(path)?;
        }
        Self::read(path)
    }

    /// The credentials in `path`.
    ///
    /// # Errors
    /// [`NodeError::CredentialsFile`] when there are none, or others may read them.
    pub fn read(path: &Path) -> Result<Self, NodeError> {
        const MISSING: &str = "start a server first: it makes the file; or name the file that it was given";
        let mut file = File::open(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => refused(path, error, MISSING),
            _ => refused(path, error, "run all roles of a study as one user"),
        })?;
        let metadata = file.metadata().map_err(|error| refused(path, error, MISSING))?;
        if metadata.mode() & OTHERS != 0 {
            let reason = format!("its mode is {:o}, and it holds a private key", metadata.mode() & 0o777);
            return Err(refused(path, reason, "remove it and let a server make it anew, or set its mode to 0600"));
        }
        let mut text = String::new();
        let parsed = Read::by_ref(&mut file).take(MOST).read_to_string(&mut text);
        parsed.map_err(|error| refused(path, error, "remove it and let a server make it anew"))?;
        serde_json::from_str(&text).map_err(|error| refused(path, error, "remove it and let a server make it anew"))
    }

    /// Makes the file, unless it is there by now.
    fn publish(&self, path: &Path) -> Result<(), NodeError> {
        const CURE: &str = "name a file in a folder that you may write to";
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}-{}", std::process::id(), DRAFTS.fetch_add(1, Ordering::Relaxed)));
        let draft: PathBuf = path.with_file_name(name);
        let write = || {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
            file.write_all(serde_json::to_string(self).unwrap_or_default().as_bytes())?;
            match std::fs::hard_link(&draft, path) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
                _ => Ok(()),
            }
        };
        let written = write();
        // Whatever came of it, the other name has served; when it is not there, there is nothing to do.
        let _ = std::fs::remove_file(&draft);
        written.map_err(|error| refused(path, error, CURE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("credentials-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn the_first_makes_the_file_and_all_others_read_the_same() {
        let folder = folder("shared");
        let path = folder.join("c");
        let shared = || Credentials::shared(&path, &["a.study"], 1_000).unwrap();
        let all: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(shared)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let mode = std::fs::metadata(&path).unwrap().mode() & 0o777;
        let names = std::fs::read_dir(&folder).unwrap().count();
        let read = Credentials::read(&path).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(all.iter().all(|one| *one == read));
        assert_eq!((mode, names), (0o600, 1), "nobody else reads the key, and nothing else is left");
    }

    #[test]
    fn a_file_that_others_may_read_is_refused_with_the_cure() {
        let folder = folder("open");
        let path = folder.join("c");
        Credentials::shared(&path, &["a.study"], 0).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let error = Credentials::read(&path).unwrap_err();
        let missing = Credentials::read(&folder.join("d")).unwrap_err();
        let nowhere = Credentials::shared(&folder.join("e/f"), &["a.study"], 0).unwrap_err();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(error.to_string().contains("644") && error.cure().unwrap().contains("0600"), "{error}");
        assert!(missing.cure().unwrap().contains("start a server first"), "{missing}");
        assert!(nowhere.is_environment() && nowhere.cure().unwrap().contains("may write"), "{nowhere}");
    }
}
