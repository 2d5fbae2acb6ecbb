//! The answer in plain words.
//!
//! A sentence says only what its numbers support: better, worse, "no difference could be shown", mixed, or not
//! estimable, each with the interval. Nothing is written for a number that is not there.

use crate::effect::{Effect, EffectKind, Level, Reading};
use crate::metric::{self, Better};

/// The transport effect: one statistic of one metric in the default cell, and over all cells.
#[derive(Debug, Clone, PartialEq)]
pub struct TransportAnswer {
    /// The effect in the default cell.
    pub default: Effect,
    /// The same effect in every cell, the default one too.
    pub cells: Vec<Effect>,
}

/// What the answer is made of.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// From stages with replayed or fixed decisions.
    pub transport: Option<TransportAnswer>,
    /// From closed-loop stages, in the order of the sentences.
    pub experience: Vec<Effect>,
    /// Statistics of single arms, for the table.
    pub levels: Vec<Level>,
    /// Why something that a reader expects is missing, one sentence each.
    pub gaps: Vec<String>,
}

/// Lines of the table, the header too.
const TABLE_LINES: usize = 8;

impl Evidence {
    /// The answer, one sentence per element; never empty.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if let Some(transport) = &self.transport {
            sentences.push(sentence(&transport.default));
            sentences.extend(range_sentence(&transport.cells));
        }
        sentences.extend(self.experience.iter().map(sentence));
        sentences.extend(self.gaps.iter().cloned());
        if sentences.is_empty() {
            sentences.push("This study compares nothing, so there is no answer to give.".to_owned());
        }
        sentences
    }
    /// The text that a run ends with: the sentences, an empty line, and a table of at most eight lines.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = wrap(&self.sentences().join(" "), 100);
        let table = self.table();
        if !table.is_empty() {
            out.push('\n');
            out.push_str(&table);
        }
        out
    }
    /// The table of the text: one line per effect, columns aligned.
    fn table(&self) -> String {
        let effects = self.table_effects();
        let (Some(first), false) = (effects.first(), effects.is_empty()) else { return String::new() };
        let level = first.interval.map_or_else(|| "interval".to_owned(), |i| i.label());
        // Arms head their columns only when all rows compare the same two.
        let one_pair = effects.iter().all(|e| (&e.arm_a, &e.arm_b) == (&first.arm_a, &first.arm_b));
        let heads =
            if one_pair { [&first.arm_a, &first.arm_b].map(String::clone) } else { ["a", "b"].map(String::from) };
        let [a, b] = heads;
        let mut rows = vec![[String::new(), a, b, "effect".to_owned(), level, "p".to_owned()]];
        rows.extend(effects.iter().map(|effect| {
            let arms = if one_pair { String::new() } else { format!(" ({} vs {})", effect.arm_b, effect.arm_a) };
            let cell = effect.place.cell_short();
            let what = metric::describe_short(&effect.metric, &effect.stat);
            let what = if cell.is_empty() || !self.is_transport(effect) { what } else { format!("{what}, {cell}") };
            [what + &arms, self.level(effect, &effect.arm_a), self.level(effect, &effect.arm_b)]
                .into_iter()
                .chain([short(&amount(effect)), short(&bare_interval(effect)), effect.p_text()])
                .collect::<Vec<_>>()
                .try_into()
                .expect("six columns")
        }));
        aligned(&rows)
    }
    fn is_transport(&self, effect: &Effect) -> bool {
        self.transport.as_ref().is_some_and(|t| t.cells.contains(effect) || t.default == *effect)
    }
    /// The default cell first, then the others; when they are too many, the smallest and largest of them.
    fn table_effects(&self) -> Vec<&Effect> {
        let room = TABLE_LINES - 1;
        let mut effects: Vec<&Effect> = Vec::new();
        if let Some(transport) = &self.transport {
            effects.push(&transport.default);
            let others: Vec<&Effect> = transport.cells.iter().filter(|e| **e != transport.default).collect();
            if others.len() + 1 + self.experience.len() <= room {
                effects.extend(others);
            } else if let Some((low, high)) = extremes(&transport.cells) {
                effects.extend([low, high].into_iter().filter(|e| **e != transport.default));
            }
        }
        effects.extend(&self.experience);
        effects.truncate(room);
        effects
    }
    fn level(&self, effect: &Effect, arm: &str) -> String {
        let matches =
            |l: &&Level| l.place == effect.place && l.metric == effect.metric && l.stat == effect.stat && l.arm == arm;
        let found = self.levels.iter().find(matches);
        found.and_then(|l| l.estimate.map(|x| crate::number::quantity(x, &l.unit))).unwrap_or_else(|| "-".to_owned())
    }
}

/// b against a as a signed change: b/a - 1 for improvements of either direction, b - a for differences.
fn change(effect: &Effect, value: f64) -> f64 {
    match (effect.kind, effect.better()) {
        (EffectKind::Improvement, Better::Lower) => -value,
        _ => value,
    }
}

/// Smallest and largest estimate among the cells, in that order.
#[must_use]
pub fn extremes(cells: &[Effect]) -> Option<(&Effect, &Effect)> {
    let known = || cells.iter().filter_map(|e| e.estimate.map(|x| (x, e)));
    let low = known().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let high = known().max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some((low.1, high.1))
}

/// One effect in one sentence.
#[must_use]
pub fn sentence(effect: &Effect) -> String {
    let what = capitalised(&metric::describe(&effect.metric, &effect.stat));
    let (a, b) = (&effect.arm_a, &effect.arm_b);
    let cell = effect.place.cell_text();
    let cell = if cell.is_empty() { String::new() } else { format!(" ({cell})") };
    match effect.reading() {
        Reading::NotEstimable => not_estimable(effect, &format!("{what}{cell}")),
        Reading::Better | Reading::Worse => {
            format!("{what}{cell} is {} with {b} than with {a} ({}).", amount(effect), flipped_interval(effect))
        }
        Reading::NotShown => format!(
            "{what}{cell}: no difference between {a} and {b} could be shown; with {b} it is estimated {} ({}).",
            amount(effect),
            flipped_interval(effect)
        ),
        Reading::Mixed => format!(
            "{what}{cell}: the evidence is mixed; with {b} it is estimated {} than with {a} ({}), but the sign-flip test over {} runs, adjusted for the other statistics, gives p = {}.",
            amount(effect),
            flipped_interval(effect),
            effect.clusters,
            effect.p_text(),
        ),
    }
}

/// One statistic of one arm in one sentence.
#[must_use]
pub fn level_sentence(level: &Level) -> String {
    let what = capitalised(&metric::describe(&level.metric, &level.stat));
    let cell = level.place.cell_text();
    let cell = if cell.is_empty() { String::new() } else { format!(" ({cell})") };
    let mut values: Vec<f64> = level.estimate.into_iter().collect();
    values.extend(level.interval.iter().flat_map(|i| [i.low, i.high]));
    let style = crate::number::Style::fitting(&level.unit, &values);
    let Some(estimate) = level.estimate else { return format!("{what}{cell} with {} is not estimable.", level.arm) };
    let interval = level
        .interval
        .map_or_else(|| "no interval".to_owned(), |i| format!("{} {}", i.label(), style.range(i.low, i.high)));
    format!("{what}{cell} with {} is {} ({interval}).", level.arm, style.full(estimate))
}

fn not_estimable(effect: &Effect, what: &str) -> String {
    let (a, b) = (&effect.arm_a, &effect.arm_b);
    // The method says why, e.g. `not estimable: one run`.
    let reason = effect.method.split("not estimable: ").nth(1).map(|r| r.trim_end_matches(')'));
    let reason = reason.unwrap_or("the method gives none");
    match effect.estimate {
        Some(0.0) if reason.contains("equal") => format!("{what} is the same with {a} and {b} in every run."),
        Some(_) => format!(
            "{what}: no interval can be given ({reason}); with {b} it is estimated {} than with {a}.",
            amount(effect)
        ),
        None => format!("{what}: {b} cannot be compared with {a} ({reason})."),
    }
}

/// `21.3 % shorter`, `1.3 percentage points lower`; the number is positive, the word carries the direction.
fn amount(effect: &Effect) -> String {
    let Some(estimate) = effect.estimate else { return "not estimable".to_owned() };
    let change = change(effect, estimate);
    let size = effect.style().full(change.abs());
    let time = effect.unit_of_metric() == "ms";
    if change == 0.0 {
        return "equal".to_owned();
    }
    match (change < 0.0, time) {
        (true, true) => format!("{size} shorter"),
        (false, true) => format!("{size} longer"),
        (true, false) => format!("{size} lower"),
        (false, false) => format!("{size} higher"),
    }
}

impl Effect {
    fn unit_of_metric(&self) -> &str {
        metric::find(&self.metric).map_or(self.unit.as_str(), |m| m.unit)
    }
}

/// The interval in the direction of the sentence: `95 % CI 18.9 to 23.6 %`.
fn flipped_interval(effect: &Effect) -> String {
    effect.interval.map_or_else(|| "no interval".to_owned(), |i| format!("{} {}", i.label(), bare_interval(effect)))
}

fn bare_interval(effect: &Effect) -> String {
    let (Some(interval), Some(estimate)) = (effect.interval, effect.estimate) else { return "-".to_owned() };
    let sign = if change(effect, estimate) < 0.0 { -1.0 } else { 1.0 };
    let (x, y) = (sign * change(effect, interval.low), sign * change(effect, interval.high));
    effect.style().range(x.min(y), x.max(y))
}

/// Percentage points take too much room in a table.
fn short(text: &str) -> String {
    text.replace("percentage points", "pp")
}

/// Over all cells: the smallest and the largest estimate, and whether the direction depends on the cell.
fn range_sentence(cells: &[Effect]) -> Option<String> {
    if cells.len() < 2 {
        return None;
    }
    let (low, high) = extremes(cells)?;
    let (x, y) = (low.estimate?, high.estimate?);
    let axes = low.place.cell.iter().map(|(axis, _)| axis.as_str()).collect::<Vec<_>>().join(" x ");
    let style = crate::number::Style::fitting("1", &[x, y]);
    let mut text = format!(
        "Over all {} cells of {axes} the improvement goes from {} ({}) to {} ({})",
        cells.len(),
        style.full(x),
        low.place.cell_text(),
        style.full(y),
        high.place.cell_text(),
    );
    let readings: Vec<Reading> = cells.iter().map(Effect::reading).collect();
    if readings.contains(&Reading::Better) && readings.contains(&Reading::Worse) {
        text.push_str(": the direction depends on the cell");
    }
    text.push('.');
    Some(text)
}

fn capitalised(text: &str) -> String {
    // `p95 of ...` is a name and stays as it is.
    if text.starts_with('p') && text[1..].starts_with(|c: char| c.is_ascii_digit()) {
        return text.to_owned();
    }
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Breaks a paragraph into lines of at most `width` characters; a per cent sign stays with its number.
fn wrap(text: &str, width: usize) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(last) if word.starts_with('%') => *last += &format!(" {word}"),
            _ => words.push(word.to_owned()),
        }
    }
    let mut out = String::new();
    let mut used = 0;
    for word in words {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            out.push('\n');
            used = 0;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(&word);
        used += length;
    }
    out.push('\n');
    out
}

/// Columns of equal width, the first left-aligned and the others right-aligned.
fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |c: usize| rows.iter().map(|row| row[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (c, text) in row.iter().enumerate() {
            let gap = " ".repeat(widths[c] - text.chars().count());
            let parts = if c == 0 { [text.as_str(), &gap] } else { [gap.as_str(), text.as_str()] };
            if c > 0 {
                line.push_str("  ");
            }
            line.push_str(&parts.concat());
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::tests::improvement;
    use crate::effect::{Interval, Place};

    fn cell(effect: Effect, scheduler: &str, prefetch: &str) -> Effect {
        let cell = vec![("scheduler".to_owned(), scheduler.to_owned()), ("prefetch".to_owned(), prefetch.to_owned())];
        Effect { place: Place { cell, ..effect.place.clone() }, ..effect }
    }

    fn stall() -> Effect {
        Effect {
            place: Place { stage: "experience".into(), node: "experience".into(), cell: Vec::new() },
            metric: "stall_ratio".into(),
            stat: "mean".into(),
            kind: EffectKind::Difference,
            ..improvement(-0.013, -0.021, -0.004)
        }
    }

    #[test]
    fn a_clear_effect_is_told_with_direction_and_interval() {
        assert_eq!(
            sentence(&improvement(0.213, 0.189, 0.236)),
            "p95 of segment delivery time (scheduler round_robin, prefetch 3) is 21.3 % shorter with h3 than with h2 (95 % CI 18.9 to 23.6 %)."
        );
        assert_eq!(
            sentence(&stall()),
            "Mean stall ratio is 1.3 percentage points lower with h3 than with h2 (95 % CI 0.4 to 2.1 percentage points)."
        );
    }

    #[test]
    fn a_worse_effect_is_called_worse() {
        let text = sentence(&improvement(-0.08, -0.11, -0.05));
        assert!(text.contains("is 8.0 % longer with h3 than with h2 (95 % CI 5.0 to 11.0 %)"), "{text}");
        let bitrate =
            Effect { metric: "bitrate_kbit_s".into(), stat: "mean".into(), ..improvement(-0.08, -0.11, -0.05) };
        assert!(sentence(&bitrate).contains("8.0 % lower"), "{}", sentence(&bitrate));
    }

    #[test]
    fn a_null_result_is_said_in_plain_words() {
        assert_eq!(
            sentence(&improvement(-0.012, -0.04, 0.019)),
            "p95 of segment delivery time (scheduler round_robin, prefetch 3): no difference between h2 and h3 could be shown; with h3 it is estimated 1.2 % longer (95 % CI -1.9 to 4.0 %)."
        );
    }

    #[test]
    fn interval_and_test_that_disagree_are_mixed_evidence() {
        let text = sentence(&Effect { p_adjusted: Some(0.5), clusters: 2, ..improvement(0.2, 0.1, 0.3) });
        assert!(text.contains("the evidence is mixed"), "{text}");
        assert!(
            text.ends_with("the sign-flip test over 2 runs, adjusted for the other statistics, gives p = 0.50."),
            "{text}"
        );
    }

    #[test]
    fn one_run_has_no_interval_and_says_so() {
        let without = |estimate, method: &str| Effect {
            estimate,
            interval: None,
            clusters: 1,
            method: method.into(),
            ..improvement(0.2, 0.0, 0.0)
        };
        let text = sentence(&without(Some(0.2), "not estimable: one run"));
        assert!(
            text.ends_with("no interval can be given (one run); with h3 it is estimated 20.0 % shorter than with h2."),
            "{text}"
        );
        let text = sentence(&without(None, "not estimable: censored in 2 of 40 runs"));
        assert!(text.ends_with("h3 cannot be compared with h2 (censored in 2 of 40 runs)."), "{text}");
        let text = sentence(&without(Some(0.0), "bca (not estimable: all runs equal)"));
        assert!(text.ends_with("is the same with h2 and h3 in every run."), "{text}");
    }

    fn evidence(cells: Vec<Effect>) -> Evidence {
        let transport = TransportAnswer { default: cells[0].clone(), cells };
        Evidence { transport: Some(transport), experience: vec![stall()], ..Evidence::default() }
    }

    #[test]
    fn the_range_over_cells_names_its_ends_and_a_change_of_direction() {
        let four = [
            improvement(0.213, 0.189, 0.236),
            cell(improvement(0.02, -0.01, 0.05), "round_robin", "1"),
            cell(improvement(0.10, 0.05, 0.15), "sequential", "3"),
            cell(improvement(-0.03, -0.05, -0.01), "sequential", "1"),
        ];
        let sentences = evidence(four.to_vec()).sentences();
        assert_eq!(
            sentences[1],
            "Over all 4 cells of scheduler x prefetch the improvement goes from -3.0 % (scheduler sequential, prefetch 1) to 21.3 % (scheduler round_robin, prefetch 3): the direction depends on the cell."
        );
        let same_sign = evidence(four[..3].to_vec()).sentences();
        assert!(!same_sign[1].contains("depends"), "{}", same_sign[1]);
        assert_eq!(evidence(four[..1].to_vec()).sentences().len(), 2, "one cell has no range");
    }

    #[test]
    fn the_text_ends_with_a_table_of_at_most_eight_lines() {
        let many: Vec<Effect> =
            (0..12).map(|i| cell(improvement(0.01 * f64::from(i), 0.005, 0.3), "s", &i.to_string())).collect();
        let text = evidence(many).text();
        let table: Vec<&str> = text.split("\n\n").nth(1).unwrap().lines().collect();
        assert!(table.len() <= 8, "{text}");
        assert!(table.iter().any(|l| l.contains("s, prefetch 11")), "the largest cell is in it:\n{text}");
    }

    #[test]
    fn the_table_shows_both_arms_and_the_effect_in_words() {
        let effect = improvement(0.213, 0.189, 0.236);
        let level = |arm: &str, ms| Level {
            place: effect.place.clone(),
            arm: arm.into(),
            metric: "ttlb_ms".into(),
            stat: "p95".into(),
            unit: "ms".into(),
            estimate: Some(ms),
            interval: Some(Interval { low: ms, high: ms, level: 0.95 }),
            n: 1,
            clusters: 40,
        };
        let mut evidence = evidence(vec![effect.clone()]);
        evidence.levels = vec![level("h2", 1500.0), level("h3", 1180.0)];
        let text = evidence.text();
        let table = text.split("\n\n").nth(1).unwrap();
        assert_eq!(
            table,
            "                                               h2      h3          effect         95 % CI        p\n\
             p95 segment time, round_robin, prefetch 3  1.50 s  1.18 s  21.3 % shorter  18.9 to 23.6 %  < 0.001\n\
             mean stall ratio                                -       -    1.3 pp lower   0.4 to 2.1 pp  < 0.001\n"
        );
    }

    #[test]
    fn lines_do_not_begin_with_a_per_cent_sign() {
        assert_eq!(wrap("goes from 12 % to 3 %", 12), "goes from\n12 % to 3 %\n");
    }

    #[test]
    fn nothing_to_compare_is_said_and_gaps_are_told() {
        assert_eq!(Evidence::default().text(), "This study compares nothing, so there is no answer to give.\n");
        let gap = Evidence { gaps: vec!["There is no bootstrap stage.".into()], ..Evidence::default() };
        assert_eq!(gap.sentences(), ["There is no bootstrap stage."]);
    }
}
