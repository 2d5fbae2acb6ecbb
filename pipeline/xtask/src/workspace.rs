//! Where things are: the root, the members, the files.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// The workspace's root: two floors above this crate.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// `cargo metadata` without dependencies: quick, and needs no network.
pub fn metadata() -> Result<Value, Vec<String>> {
    let text = crate::command::stdout("cargo", &["metadata", "--no-deps", "--offline", "--format-version", "1"])?;
    serde_json::from_str(&text).map_err(|e| vec![format!("`cargo metadata` gave no JSON: {e}")])
}

/// Where cargo builds.
pub fn target_directory() -> Result<PathBuf, Vec<String>> {
    metadata()?["target_directory"]
        .as_str()
        .map(PathBuf::from)
        .ok_or_else(|| vec!["`cargo metadata` names no target folder".to_owned()])
}

/// Every file of the repository that is ours, relative to the root and sorted; build and run-time folders are left out.
pub fn files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(&root(), Path::new(""), &mut found);
    found.sort();
    found
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<PathBuf>) {
    const SKIPPED: [&str; 4] = ["target", ".git", ".study", "results"];
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if SKIPPED.iter().any(|skipped| name == *skipped) {
            continue;
        }
        let path = folder.join(&name);
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(root, &path, found),
            Ok(kind) if kind.is_file() => found.push(path),
            _ => {}
        }
    }
}

/// The shipped studies `studies/*.yaml`, as (name, path relative to the root), sorted.
pub fn studies() -> Vec<(String, String)> {
    files()
        .iter()
        .filter(|path| path.parent() == Some(Path::new("studies")))
        .filter(|path| path.extension().is_some_and(|e| e == "yaml"))
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path.to_str()?.replace('\\', "/"))))
        .collect()
}

/// The shipped studies of these names, or all of them when none is named.
pub fn chosen_studies(names: &[&str]) -> Result<Vec<(String, String)>, Vec<String>> {
    let all = studies();
    let unknown: Vec<String> = names
        .iter()
        .filter(|name| !all.iter().any(|(known, _)| known == *name))
        .map(|name| format!("there is no `studies/{name}.yaml`"))
        .collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    Ok(all.into_iter().filter(|(name, _)| names.is_empty() || names.contains(&name.as_str())).collect())
}

/// Reads a file of the repository.
pub fn read(path: impl AsRef<Path>) -> Result<String, Vec<String>> {
    let path = path.as_ref();
    std::fs::read_to_string(root().join(path)).map_err(|e| vec![format!("cannot read `{}`: {e}", path.display())])
}

/// Writes a file of the repository, with its folders.
pub fn write(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), Vec<String>> {
    let full = root().join(path.as_ref());
    let made = full.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&full, bytes));
    made.map_err(|e| vec![format!("cannot write `{}`: {e}", full.display())])
}
