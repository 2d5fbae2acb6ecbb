//! What is wrong, where, and what to do.

use crate::Span;
use std::collections::BTreeMap;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The study runs; `--strict` makes it an error.
    Warning,
    /// The study is refused.
    Error,
}

/// One problem of a study file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code, e.g. `unknown-key`; one page of the reference and one file in `studies/invalid/` each.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What: lower case, values in backticks.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What to do.
    pub help: Option<String>,
    /// Other places that belong to it, with a label each.
    pub related: Vec<(Span, String)>,
}

impl Diagnostic {
    /// An error.
    #[must_use]
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self { code, severity: Severity::Error, message: message.into(), span, help: None, related: Vec::new() }
    }
    /// A warning.
    #[must_use]
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, span, message) }
    }
    /// Adds what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
    /// Adds what to do, if there is something to say.
    #[must_use]
    pub fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = help.or(self.help);
        self
    }
    /// Adds another place.
    #[must_use]
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }
}

/// All problems found so far.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    items: Vec<Diagnostic>,
    /// Positions by code and place, so that finding a repetition does not compare with every problem so far.
    places: BTreeMap<(&'static str, u32, u32), Vec<usize>>,
}

impl Diagnostics {
    /// Adds one; an exact repetition (a stage decoded once per matrix cell) is dropped.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let place = self.places.entry((diagnostic.code, diagnostic.span.source, diagnostic.span.start)).or_default();
        if !place.iter().any(|&i| self.items[i] == diagnostic) {
            place.push(self.items.len());
            self.items.push(diagnostic);
        }
    }
    /// All of them, in the order they were found.
    #[must_use]
    pub fn into_items(self) -> Vec<Diagnostic> {
        self.items
    }
    /// Takes over all of another collection.
    pub fn append(&mut self, other: Self) {
        other.items.into_iter().for_each(|item| self.push(item));
    }
    /// Whether there is an error among them.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.items.iter().any(|d| d.severity == Severity::Error)
    }
    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// All of them, in order of their place.
    #[must_use]
    pub fn sorted(&self) -> Vec<&Diagnostic> {
        let mut items: Vec<_> = self.items.iter().collect();
        items.sort_by_key(|d| (d.span.source, d.span.start, d.span.end));
        items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_dropped_and_different_problems_of_one_place_are_kept() {
        let at = Span { source: 0, start: 4, end: 7 };
        let mut all = Diagnostics::default();
        for _ in 0..3 {
            all.push(Diagnostic::error("a", at, "x"));
            all.push(Diagnostic::error("a", at, "y"));
            all.push(Diagnostic::error("a", at, "x").help("do"));
        }
        all.push(Diagnostic::error("b", Span { start: 2, ..at }, "z"));
        let sorted: Vec<_> = all.sorted().iter().map(|d| d.message.clone()).collect();
        assert_eq!(sorted, ["z", "x", "y", "x"], "by place, then as found");
        assert_eq!(all.into_items().len(), 4);
    }
}
