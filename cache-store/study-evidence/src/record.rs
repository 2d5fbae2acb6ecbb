//! Records: how tests hand what they measured to `cargo xtask validation`.
//!
//! One file per test, a record per line, in the order in which the test made them.

use crate::Row;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The variable that names the folder; without it nothing is written.
pub const FOLDER: &str = "STUDY_EVIDENCE";

/// A test.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Package: `study-transport`.
    pub package: String,
    /// Program of tests: `transport`.
    pub program: String,
    /// Path of the test function: `loss::reno_under_periodic_loss`.
    pub test: String,
}

impl Place {
    /// What [`place!`](crate::place) calls, with a function that is declared where the place is.
    #[must_use]
    pub fn of<F>(package: &str, _here: F) -> Self {
        // `transport::loss::reno::{{closure}}::here`: the compiler's own name of the place, which cannot be out of date.
        let path: Vec<&str> =
            std::any::type_name::<F>().split("::").filter(|part| *part != "here" && *part != "{{closure}}").collect();
        let (program, test) = path.split_first().map_or(("", String::new()), |(p, rest)| (*p, rest.join("::")));
        Self { package: package.to_owned(), program: program.to_owned(), test }
    }
    fn file(&self) -> String {
        format!("{}.{}.{}.jsonl", self.package, self.program, self.test.replace("::", "."))
    }
}

/// A curve of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The test that measured or computed it.
    pub place: Place,
    /// Id of the figure.
    pub figure: String,
    /// Name in the legend.
    pub name: String,
    /// Pairs of x and y.
    pub points: Vec<(f64, f64)>,
}

/// What a test can hand over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// A row of the page.
    Row(Row),
    /// A curve of a figure.
    Curve(Curve),
}

impl Record {
    fn place(&self) -> &Place {
        match self {
            Self::Row(row) => &row.place,
            Self::Curve(curve) => &curve.place,
        }
    }
}

/// Writes a record where [`FOLDER`] says; nothing without it.
///
/// # Panics
/// When the folder cannot be written: evidence that is lost must not look like evidence that was never there.
pub fn record(record: &Record) {
    if let Some(folder) = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty()) {
        write(Path::new(&folder), record)
            .unwrap_or_else(|e| panic!("cannot write evidence to `{}`: {e}", folder.display()));
    }
}

fn write(folder: &Path, record: &Record) -> std::io::Result<()> {
    /// Files that this process has begun: what an earlier run left in them is gone.
    static BEGUN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    std::fs::create_dir_all(folder)?;
    let path = folder.join(record.place().file());
    let mut begun = BEGUN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let first = begun.insert(path.clone());
    let mut options = OpenOptions::new();
    let mut file =
        if first { options.write(true).truncate(true) } else { options.append(true) }.create(true).open(path)?;
    writeln!(file, "{}", serde_json::to_string(record)?)
}

/// Every record of a folder, test by test in the order of their names.
///
/// # Errors
/// The file that cannot be read, and why.
pub fn read(folder: &Path) -> Result<Vec<Record>, String> {
    let problem = |path: &Path, e: &dyn std::fmt::Display| format!("cannot read `{}`: {e}", path.display());
    let entries = std::fs::read_dir(folder).map_err(|e| problem(folder, &e))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "jsonl"));
    paths.sort();
    let mut records = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).map_err(|e| problem(&path, &e))?;
        for line in text.lines() {
            records.push(serde_json::from_str(line).map_err(|e| problem(&path, &e))?);
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_the_function_around_the_macro_even_within_a_closure() {
        let asked = || crate::place!();
        let place = asked();
        assert_eq!((place.package.as_str(), place.program.as_str()), ("study-evidence", "study_evidence"));
        let name = "record::tests::the_place_is_the_function_around_the_macro_even_within_a_closure";
        assert_eq!(place.test, name);
    }

    #[test]
    fn records_come_back_as_they_were_in_their_order_and_replace_those_of_an_earlier_run() {
        let folder = std::env::temp_dir().join(format!("study-evidence-{}", std::process::id()));
        let curve = |name: &str| {
            let points = vec![(0.1 + 0.2, 1e-300), (1.0, -4.5)];
            Record::Curve(Curve { place: crate::place!(), figure: "f".into(), name: name.into(), points })
        };
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(curve("").place().file()), "of an earlier run\n").unwrap();
        write(&folder, &curve("a")).unwrap();
        write(&folder, &curve("b")).unwrap();
        assert_eq!(read(&folder).unwrap(), [curve("a"), curve("b")]);
        std::fs::write(folder.join("z.jsonl"), "no record\n").unwrap();
        assert!(read(&folder).unwrap_err().contains("z.jsonl"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
