//! The keys that the study format itself has, and the names that users may choose.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use study_stage::Registry;
use study_tree::{Diagnostic, Entry, Span, did_you_mean};

/// Keys of a stage that are the same for every kind.
pub(crate) const STAGE_KEYS: [&str; 5] = ["kind", "needs", "like", "matrix", "per_cell"];

/// Keys of the top level that are the same in every build.
const FIXED: [&str; 5] = ["study", "title", "seed", "stages", "ci"];

/// The keys of the top level: the fixed ones, the registry's sections, and what kinds take from there.
pub(crate) struct TopKeys {
    all: Vec<&'static str>,
    inherited: BTreeSet<&'static str>,
}

impl TopKeys {
    pub(crate) fn new(registry: &Registry) -> Self {
        let inherited: BTreeSet<&str> = registry.kinds.iter().flat_map(|k| k.inherits()).copied().collect();
        let mut all = vec!["study", "title", "seed"];
        all.extend(&inherited);
        all.extend(registry.sections.iter().map(|s| s.name));
        all.extend(FIXED.iter().skip(3));
        Self { all, inherited }
    }
    /// All of them, in the order of a well-kept file.
    pub(crate) fn all(&self) -> &[&'static str] {
        &self.all
    }
    /// Those that stages take over when they do not give them themselves.
    pub(crate) fn inherited(&self) -> &BTreeSet<&'static str> {
        &self.inherited
    }
    pub(crate) fn contains(&self, key: &str) -> bool {
        self.all.contains(&key)
    }
}

/// The names of the stages and their numbers in the order of the file.
pub(crate) struct StageNames<'s> {
    names: Vec<&'s str>,
    index: HashMap<&'s str, usize>,
    /// How many more names are compared with all others; a generated study may have thousands that are wrong.
    searches: Cell<usize>,
}

/// Names of a study for which the nearest one is looked for.
const MOST_SEARCHES: usize = 50;

impl<'s> StageNames<'s> {
    pub(crate) fn new(stages: &'s [Entry]) -> Self {
        let names: Vec<&str> = stages.iter().map(|e| e.key.as_str()).collect();
        let index = names.iter().enumerate().map(|(i, name)| (*name, i)).collect();
        Self { names, index, searches: Cell::new(MOST_SEARCHES) }
    }
    /// The number of the stage; the diagnostic when there is none.
    pub(crate) fn find(&self, name: &str, span: Span) -> Result<usize, Diagnostic> {
        self.index.get(name).copied().ok_or_else(|| {
            let names = if self.searches.get() > 0 { &self.names[..] } else { &self.names[..self.names.len().min(13)] };
            self.searches.set(self.searches.get().saturating_sub(1));
            let help = suggest(name, names, "the stages are");
            Diagnostic::error("unknown-stage", span, format!("there is no stage `{name}`")).help(help)
        })
    }
}

/// "Did you mean", or else what is known: at most a dozen names, because a generated study may have thousands.
pub(crate) fn suggest(given: &str, known: &[&str], otherwise: &str) -> String {
    let more = if known.len() > 12 { ", ..." } else { "" };
    did_you_mean(given, known)
        .unwrap_or_else(|| format!("{otherwise}: {}{more}", known[..known.len().min(12)].join(", ")))
}

/// The longest name, in characters: names become parts of file names.
const LONGEST_NAME: usize = 64;

/// What is wrong with a name that the user chose; names are parts of file names, of `--set` paths and of node ids.
pub(crate) fn check_name(what: &str, name: &str, span: Span) -> Option<Diagnostic> {
    let safe = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let good = name.chars().all(safe) && !name.starts_with('-') && !name.is_empty() && name.len() <= LONGEST_NAME;
    (!good).then(|| {
        Diagnostic::error("bad-name", span, format!("`{name}` cannot be the name of {what}"))
            .help(format!("use up to {LONGEST_NAME} of the characters a-z A-Z 0-9 _ -, not beginning with -"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_unsafe_in_a_path_are_refused() {
        for good in ["harsh_asia", "2x", "a-b", "_"] {
            assert!(check_name("a study", good, Span::default()).is_none(), "{good}");
        }
        let long = "x".repeat(65);
        for bad in ["", ".", "..", "a/b", "a.b", "-v", "a b", "ä", "a[b]", "a=b", "a\\b", &long] {
            assert!(check_name("a study", bad, Span::default()).is_some(), "{bad}");
        }
    }
}
