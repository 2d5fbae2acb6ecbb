//! What a check found: it begins as a pass, and each thing that is wrong makes it worse and says why.

use super::{Compare, Evidence, Status};
use std::collections::BTreeSet;
use std::fmt::Display;
use study_stacks::Readback;
use study_stacks::readback::Verdict;

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) status: Status,
    pub(super) measured: String,
    pub(super) expected: String,
    pub(super) unit: &'static str,
    pub(super) message: String,
}

impl Finding {
    /// A pass.
    pub(super) fn of(measured: impl Display, expected: impl Display, unit: &'static str) -> Self {
        let (measured, expected) = (measured.to_string(), expected.to_string());
        Self { status: Status::Pass, measured, expected, unit, message: String::new() }
    }
    /// Nothing was measured.
    pub(super) fn missing(expected: impl Display, why: &str) -> Self {
        Self::of("", expected, "").raise(Status::Unknown, why)
    }
    /// A sentence that does not change the status.
    pub(super) fn says(self, text: impl AsRef<str>) -> Self {
        self.raise(Status::Pass, text.as_ref())
    }
    pub(super) fn unknown(self, when: bool, text: impl AsRef<str>) -> Self {
        if when { self.raise(Status::Unknown, text.as_ref()) } else { self }
    }
    pub(super) fn warns(self, when: bool, text: impl AsRef<str>) -> Self {
        if when { self.raise(Status::Warn, text.as_ref()) } else { self }
    }
    pub(super) fn fails(self, when: bool, text: impl AsRef<str>) -> Self {
        if when { self.raise(Status::Fail, text.as_ref()) } else { self }
    }
    /// Arms differ: that fails, unless the study compares them as deployed.
    pub(super) fn unequal(self, compare: Compare, when: bool, text: impl AsRef<str>) -> Self {
        match compare {
            Compare::Equal => self.fails(when, text),
            Compare::AsDeployed => self.warns(when, format!("as deployed: {}", text.as_ref())),
        }
    }
    /// Read-backs that do not agree with what was asked.
    pub(super) fn mismatches<'r>(self, rows: impl Iterator<Item = &'r Readback>) -> Self {
        let wrong: Vec<String> = rows
            .filter(|row| row.verdict == Verdict::Differs)
            .map(|row| {
                let unit = if row.unit.is_empty() { String::new() } else { format!(" {}", row.unit) };
                format!("`{}` of the {} is {}{unit}, not {}", row.setting, row.end.name(), row.got, row.asked)
            })
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        self.fails(!wrong.is_empty(), wrong.join("; "))
    }
    fn raise(mut self, status: Status, text: &str) -> Self {
        self.status = self.status.max(status);
        if !text.is_empty() {
            if !self.message.is_empty() {
                self.message.push_str("; ");
            }
            self.message.push_str(text);
        }
        self
    }
}

/// Each value once, in order, joined; `nothing` for none.
pub(super) fn distinct<T: Display>(values: impl IntoIterator<Item = T>) -> String {
    let values: BTreeSet<String> = values.into_iter().map(|value| value.to_string()).collect();
    if values.is_empty() { "nothing".to_owned() } else { values.into_iter().collect::<Vec<_>>().join(", ") }
}

/// `arm: value` of each arm, joined.
pub(super) fn by_arm(arms: &[Evidence], value: impl Fn(&Evidence) -> String) -> String {
    arms.iter().map(|arm| format!("{}: {}", arm.arm, value(arm))).collect::<Vec<_>>().join("; ")
}

/// Whether all arms have the same.
pub(super) fn same<T: PartialEq>(arms: &[Evidence], value: impl Fn(&Evidence) -> T) -> bool {
    arms.windows(2).all(|pair| value(&pair[0]) == value(&pair[1]))
}

/// Arms that must have the same: the finding that says whether they do.
pub(super) fn equality(arms: &[Evidence], value: impl Fn(&Evidence) -> String, what: &str) -> Finding {
    let equal = same(arms, &value);
    let finding = Finding::of(by_arm(arms, &value), "equal", "");
    let finding = if equal { finding.says(format!("{what} equal")) } else { finding };
    finding.unequal(compare(arms), !equal, format!("{what} not equal"))
}

/// How the block is compared: as its first arm says.
pub(super) fn compare(arms: &[Evidence]) -> Compare {
    arms.first().map_or(Compare::Equal, |arm| arm.asked.compare)
}

/// Smallest over largest of some positive numbers; 1 for fewer than two.
pub(super) fn ratio(values: &[f64]) -> f64 {
    let (least, most) = values.iter().fold((f64::INFINITY, 0.0_f64), |(l, m), v| (l.min(*v), m.max(*v)));
    if most > 0.0 { least / most } else { 1.0 }
}
