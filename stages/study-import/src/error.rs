//! Why an input cannot be used.

/// Why an input cannot be used; `Display` says what and where, [`ImportError::help`] what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The text is not of the format at all.
    #[error("not a {format}: {message} at line {line}, column {column}{}", entry.map_or_else(String::new, |e| format!(" (in entry {e})")))]
    Syntax {
        /// The format that was expected.
        format: &'static str,
        /// What the parser says.
        message: String,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// The entry it is in, from 1, where the format has entries.
        entry: Option<usize>,
    },
    /// A value that makes no sense.
    #[error("{place}: {found} is not {expected}")]
    Value {
        /// The entry and key, counted from 1.
        place: String,
        /// What stands there.
        found: String,
        /// What should.
        expected: &'static str,
    },
    /// There is nothing in it.
    #[error("no {what}")]
    Empty {
        /// What is missing.
        what: &'static str,
    },
    /// A network over which nothing ever passes.
    #[error("no capacity: the rate is 0 in all {entries} entries")]
    NoCapacity {
        /// Entries of the input.
        entries: usize,
    },
}

impl ImportError {
    /// What to do, one line.
    #[must_use]
    pub const fn help(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "check that the file is of this format and was copied whole",
            Self::Value { .. } => "correct the entry; values are never skipped or clamped silently",
            Self::Empty { .. } => "check that the file was copied whole",
            Self::NoCapacity { .. } => "use a log in which at least one entry has a rate above 0",
        }
    }
}
