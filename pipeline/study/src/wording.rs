//! Durations, sizes, states and reasons in words.

use crate::terminal::Paint;
use study_engine::{Reason, RepetitionCount, State};

/// A duration for people.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.95 => format!("{:.0} ms", s * 1e3),
        s if s < 59.95 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), (s % 60.0).floor()),
        s => format!("{:.0} h {:02.0} min", (s / 3600.0).floor(), (s % 3600.0 / 60.0).floor()),
    }
}

/// A size for people.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// `1 node`, `2 nodes`.
pub fn count(n: usize, word: &str) -> String {
    format!("{n} {word}{}", if n == 1 { "" } else { "s" })
}

/// The word for a state.
pub const fn state(state: State) -> &'static str {
    match state {
        State::Cached => "cached",
        State::Execute => "execute",
        State::Executed => "executed",
        State::Failed => "failed",
        State::Blocked => "blocked",
        State::Skipped => "skipped",
    }
}

/// The colour of a state.
pub const fn state_paint(state: State) -> Paint {
    match state {
        State::Cached => Paint::Green,
        State::Execute => Paint::Yellow,
        State::Executed => Paint::Cyan,
        State::Failed => Paint::Red,
        State::Blocked | State::Skipped => Paint::Dim,
    }
}

/// How many repetitions there are, and how many are to come.
pub fn repetitions(count: &RepetitionCount) -> String {
    told_repetitions(count.on_record, count.asked)
}

fn told_repetitions(on_record: u64, asked: u64) -> String {
    let to_run = match asked.saturating_sub(on_record) {
        0 => "none".to_owned(),
        n => n.to_string(),
    };
    format!("{on_record} of {asked} repetitions on record; {to_run} to run")
}

/// One reason in a line.
pub fn reason(reason: &Reason) -> String {
    let number = |text: &Option<String>| text.as_deref().and_then(|text| text.parse().ok());
    if let (Reason::REPETITIONS, Some(on_record), Some(asked)) = (reason.code, number(&reason.old), number(&reason.new))
    {
        return told_repetitions(on_record, asked);
    }
    // The code says already where in the key document the field stands.
    let bare =
        |field: &str| field.strip_prefix("params.").or(field.strip_prefix("inputs.")).unwrap_or(field).to_owned();
    let field = reason.field.as_deref().map_or_else(String::new, |field| format!(" `{}`", bare(field)));
    let change = match (&reason.old, &reason.new) {
        (Some(old), Some(new)) => format!(": {} -> {}", short(old), short(new)),
        (None, Some(new)) => format!(": {} is new", short(new)),
        (Some(old), None) => format!(": {} is gone", short(old)),
        (None, None) => String::new(),
    };
    format!("{}{field}{change}", reason.code)
}

/// All reasons in a line.
pub fn reasons(reasons: &[Reason]) -> String {
    const SHOWN: usize = 3;
    let mut shown: Vec<String> = reasons.iter().take(SHOWN).map(reason).collect();
    if reasons.len() > SHOWN {
        shown.push(format!("and {} more", reasons.len() - SHOWN));
    }
    shown.join("; ")
}

/// A value that fits into a line: digests are cut to 12 digits, long texts at 60 characters.
fn short(value: &str) -> String {
    let hex = value.trim_matches('"');
    if hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return hex[..12].to_owned();
    }
    if value.chars().count() > 60 { value.chars().take(59).chain(['…']).collect() } else { value.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_are_short() {
        assert_eq!([0.0124, 3.25, 75.0, 7260.0].map(seconds), ["12 ms", "3.2 s", "1 min 15 s", "2 h 01 min"]);
        assert_eq!([12, 2048, 5 << 30].map(bytes), ["12 B", "2.0 KiB", "5.0 GiB"]);
        assert_eq!([count(1, "node"), count(0, "node")], ["1 node", "0 nodes"]);
    }

    #[test]
    fn repetitions_are_counted_and_so_are_those_to_come() {
        let count = |on_record, asked| repetitions(&RepetitionCount { asked, on_record, ran: None });
        assert_eq!(count(20, 40), "20 of 40 repetitions on record; 20 to run");
        assert_eq!(count(40, 40), "40 of 40 repetitions on record; none to run");
        let reason_of =
            Reason { code: Reason::REPETITIONS, field: None, old: Some("3".to_owned()), new: Some("5".to_owned()) };
        assert_eq!(reason(&reason_of), "3 of 5 repetitions on record; 2 to run");
    }

    #[test]
    fn a_reason_names_the_field_and_both_values() {
        let reason_of = |old: Option<&str>, new: Option<&str>| Reason {
            code: "param",
            field: Some("params.resamples".to_owned()),
            old: old.map(str::to_owned),
            new: new.map(str::to_owned),
        };
        assert_eq!(reason(&reason_of(Some("10000"), Some("2000"))), "param `resamples`: 10000 -> 2000");
        assert_eq!(reason(&reason_of(Some(&"a".repeat(64)), None)), "param `resamples`: aaaaaaaaaaaa is gone");
    }
}
