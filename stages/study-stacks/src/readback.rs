//! What was asked of a stack beside what it has: one row per setting and end of a connection.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt::Display;
use study_tree::choices;

choices! {
    /// An end of a connection.
    pub enum End {
        /// The one that asks.
        Client = "client",
        /// The one that answers.
        Server = "server",
    }
}

choices! {
    /// Where a read-back comes from.
    pub enum Evidence {
        /// The kernel, asked on the connection's own socket.
        Kernel = "kernel",
        /// The running stack, asked about this connection.
        Stack = "stack",
        /// Bytes of this connection, as they passed.
        Wire = "wire",
        /// Nothing but the configuration that the stack accepted: it does not say what it does.
        Configuration = "configuration",
    }
}

choices! {
    /// Whether asked and got agree.
    pub enum Verdict {
        /// They agree.
        Same = "same",
        /// They do not.
        Differs = "differs",
        /// Nothing was asked for: the value is a record.
        Record = "record",
        /// The stack has no such setting, or has not said yet.
        Unknown = "unknown",
    }
}

/// One setting of one end of one connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readback {
    /// Whose setting.
    pub end: End,
    /// Its name, stable.
    pub setting: Cow<'static, str>,
    /// What was asked for; `default` when the stack was left as it comes.
    pub asked: String,
    /// What it is.
    pub got: String,
    /// Unit of both, empty for names.
    pub unit: Cow<'static, str>,
    /// How it is known.
    pub evidence: Evidence,
    /// Whether they agree.
    pub verdict: Verdict,
}

/// Written for a setting that was left as the stack comes.
const DEFAULT: &str = "default";

impl Readback {
    /// Both must be equal.
    pub(crate) fn equal(end: End, setting: &'static str, asked: impl Display, got: impl Display, by: Evidence) -> Self {
        let (asked, got) = (asked.to_string(), got.to_string());
        let verdict = if asked == got { Verdict::Same } else { Verdict::Differs };
        Self { end, setting: setting.into(), asked, got, unit: "".into(), evidence: by, verdict }
    }
    /// Both must be equal, unless nothing was asked for.
    pub(crate) fn number(end: End, setting: &'static str, asked: Option<u64>, got: u64, by: Evidence) -> Self {
        match asked {
            Some(asked) => Self::equal(end, setting, asked, got, by),
            None => Self::record(end, setting, got, by),
        }
    }
    /// What is there must be enough.
    pub(crate) fn at_least(end: End, setting: &'static str, asked: Option<u64>, got: u64, by: Evidence) -> Self {
        let mut row = Self::number(end, setting, asked, got, by);
        if asked.is_some_and(|asked| got >= asked) {
            row.verdict = Verdict::Same;
        }
        row
    }
    /// Nothing was asked for.
    pub(crate) fn record(end: End, setting: &'static str, got: impl Display, by: Evidence) -> Self {
        let got = got.to_string();
        let (asked, verdict) = (DEFAULT.to_owned(), Verdict::Record);
        Self { end, setting: setting.into(), asked, got, unit: "".into(), evidence: by, verdict }
    }
    /// The stack does not say.
    pub(crate) fn told(end: End, setting: &'static str, asked: impl Display) -> Self {
        let asked = asked.to_string();
        let (evidence, verdict) = (Evidence::Configuration, Verdict::Unknown);
        Self { end, setting: setting.into(), got: asked.clone(), asked, unit: "".into(), evidence, verdict }
    }
    /// The stack has no such setting.
    pub(crate) fn absent(end: End, setting: &'static str, asked: impl Display) -> Self {
        Self { got: "none".to_owned(), ..Self::told(end, setting, asked) }
    }
    /// The same row with a unit.
    pub(crate) fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit.into();
        self
    }
}

/// The rows whose values disagree.
pub fn mismatches(rows: &[Readback]) -> impl Iterator<Item = &Readback> {
    rows.iter().filter(|row| row.verdict == Verdict::Differs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_whether_asked_and_got_agree() {
        let row = |asked, got| Readback::number(End::Server, "window", asked, got, Evidence::Wire).verdict;
        assert_eq!(
            [row(Some(1), 1), row(Some(1), 2), row(None, 2)],
            [Verdict::Same, Verdict::Differs, Verdict::Record]
        );
        let enough = |got| Readback::at_least(End::Server, "buffer", Some(5), got, Evidence::Kernel).verdict;
        assert_eq!([enough(4), enough(5), enough(9)], [Verdict::Differs, Verdict::Same, Verdict::Same]);
        assert_eq!(Readback::told(End::Client, "x", 3).verdict, Verdict::Unknown);
    }

    #[test]
    fn only_rows_that_differ_are_mismatches() {
        let rows = [
            Readback::equal(End::Client, "a", "cubic", "cubic", Evidence::Kernel),
            Readback::equal(End::Client, "b", "cubic", "bbr", Evidence::Kernel),
            Readback::told(End::Client, "c", 3),
        ];
        assert_eq!(mismatches(&rows).map(|row| &*row.setting).collect::<Vec<_>>(), ["b"]);
    }
}
