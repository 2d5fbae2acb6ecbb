//! Files on disk: the study itself, and what it refers to.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use study_engine::FileSource;
use study_tree::{Diagnostic, Span, did_you_mean};

/// No study is larger; a file that is was not meant.
const LARGEST_STUDY: u64 = 16 << 20;

/// Files relative to a study file.
#[derive(Debug, Clone)]
pub struct StudyFolder(PathBuf);

impl StudyFolder {
    /// The folder of a study file.
    pub fn of(study: &Path) -> Self {
        Self(study.parent().map(Path::to_path_buf).unwrap_or_default())
    }
}

impl FileSource for StudyFolder {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        fs::read(self.0.join(path))
    }
    fn host(&self) -> String {
        crate::host::fingerprint()
    }
}

/// The bytes of a study file, or what is wrong with it.
pub fn read_study(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let refuse =
        |message: String, help: &str| Diagnostic::error("unreadable-file", Span::default(), message).help(help);
    let name = path.display();
    let meta = fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let help = neighbour(path)
                .unwrap_or_else(|| "a study is one YAML file; paths are relative to the current folder".to_owned());
            refuse(format!("`{name}` does not exist"), &help)
        }
        _ => refuse(format!("`{name}` cannot be read: {error}"), "check the path and its permissions"),
    })?;
    if meta.is_dir() {
        return Err(refuse(format!("`{name}` is a folder"), "name the YAML file of a study in it"));
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST_STUDY + 1).read_to_end(&mut bytes));
    read.map_err(|error| refuse(format!("`{name}` cannot be read: {error}"), "check the path and its permissions"))?;
    if bytes.len() as u64 > LARGEST_STUDY {
        let help = "a study is a small text; large inputs belong in files that it names with `file:`";
        return Err(refuse(format!("`{name}` is larger than {} MiB", LARGEST_STUDY >> 20), help));
    }
    Ok(bytes)
}

/// A file beside `path` with a similar name.
fn neighbour(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names: Vec<String> =
        fs::read_dir(folder).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    did_you_mean(path.file_name()?.to_str()?, &known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_looked_for_beside_the_study() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("trace.json"), b"{}").unwrap();
        let files = StudyFolder::of(&folder.path().join("x.yaml"));
        assert_eq!(files.read("trace.json").unwrap(), b"{}");
        assert!(files.read("other.json").is_err());
    }

    #[test]
    fn a_misspelt_file_gets_a_suggestion() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("smoke.yaml"), b"study: x").unwrap();
        let refused = read_study(&folder.path().join("smokey.yaml")).unwrap_err();
        assert_eq!(refused.help.as_deref(), Some("did you mean `smoke.yaml`?"));
        assert!(read_study(folder.path()).unwrap_err().message.contains("is a folder"));
    }
}
