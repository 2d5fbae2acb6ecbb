//! netem's own options, as tc reads them.
//!
//! Sources: iproute2 `tc/q_netem.c`, tc-netem(8). Keywords may be shortened, as in tc; the order in which they are tried is tc's.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | tc takes `gap`, `reorder`, `duplicate`, `slot` | read, and refused unless they do nothing: a link cannot say them | an error with a cure |
//! | tc needs a file for `distribution NAME` | `normal`; `uniform` is the kernel's own; others are refused | an error with a cure |

use super::cursor::Cursor;
use super::numbers::{percent, rate, size, time, whole};
use super::script::Word;
use study_tree::{Diagnostic, Span};

/// How netem loses packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum NetemLoss {
    /// Independent or correlated draws: probability, correlation.
    Random(f64, f64),
    /// p13 p31 p32 p23 p14.
    State([f64; 5]),
    /// p, r, loss in the bad state (1-h), loss in the good state (1-k).
    Gemodel([f64; 4]),
}

/// The options of one netem.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Netem {
    /// Packets that it holds at a time, delayed ones included.
    pub limit: u64,
    /// Nanoseconds, one way.
    pub delay: u64,
    /// Nanoseconds: half the width, or the standard deviation.
    pub jitter: u64,
    pub delay_correlation: f64,
    pub normal: bool,
    pub loss: Option<(NetemLoss, Span)>,
    pub ecn: Option<Span>,
    /// Share of packets with a bit turned.
    pub corrupt: f64,
    /// Bits per second, with what each packet costs besides.
    pub rate: Option<NetemRate>,
    pub seed: Option<Span>,
}

/// netem's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NetemRate {
    pub bits: u64,
    /// Bytes per packet, may be negative.
    pub packet_overhead: i64,
    /// Bytes; 0 is no cells.
    pub cell: i64,
    pub cell_overhead: i64,
    pub span: Span,
}

impl NetemRate {
    /// Bytes that a packet of `bytes` takes.
    pub(crate) fn wire(&self, bytes: i64) -> i64 {
        let bytes = (bytes + self.packet_overhead).max(0);
        if self.cell > 0 { (bytes + self.cell - 1) / self.cell * (self.cell + self.cell_overhead) } else { bytes }
    }
}

/// Keywords in the order in which tc tries them.
const KEYS: [&str; 14] = [
    "limit",
    "latency",
    "delay",
    "loss",
    "drop",
    "ecn",
    "reorder",
    "corrupt",
    "gap",
    "duplicate",
    "distribution",
    "rate",
    "slot",
    "seed",
];

/// The keyword that a word is, or shortens.
pub(crate) fn keyword(word: &str) -> Option<&'static str> {
    let exact = |key: &&&str| !word.is_empty() && key.starts_with(word);
    KEYS.iter().find(exact).copied()
}

/// What was read besides [`Netem`] and decides whether it can be expressed.
#[derive(Default)]
struct Extra {
    reorder: Option<(f64, Span)>,
    gap: Option<Span>,
    distribution: Option<Span>,
}

/// Reads the options; problems are told, and make it `None`.
pub(crate) fn parse(cursor: &mut Cursor<'_, '_>) -> Option<Netem> {
    let mut netem = Netem {
        limit: 1000,
        delay: 0,
        jitter: 0,
        delay_correlation: 0.0,
        normal: false,
        loss: None,
        ecn: None,
        corrupt: 0.0,
        rate: None,
        seed: None,
    };
    let (mut extra, mut good) = (Extra::default(), true);
    while let Some(word) = cursor.next() {
        good &= option(word, &mut netem, &mut extra, cursor).is_some();
    }
    good &= consistent(&netem, &extra, cursor);
    good.then_some(netem)
}

fn option(word: &Word, netem: &mut Netem, extra: &mut Extra, cursor: &mut Cursor<'_, '_>) -> Option<()> {
    match keyword(&word.text) {
        Some("limit") => netem.limit = cursor.read(word, size)?,
        Some("latency" | "delay") => {
            netem.delay = cursor.read(word, time)?;
            if cursor.number_follows(false) {
                netem.jitter = cursor.read(word, time)?;
                if cursor.number_follows(false) {
                    netem.delay_correlation = cursor.read(word, percent)?;
                }
            }
        }
        Some("loss" | "drop") => {
            let given = netem.loss.is_some();
            let loss = loss(word, cursor)?;
            if given {
                cursor.error("import-syntax", word.span, "`loss` is given twice".to_owned(), "keep one of them");
                return None;
            }
            netem.loss = Some((loss, word.span));
        }
        Some("ecn") => netem.ecn = Some(word.span),
        Some("reorder") => {
            extra.reorder = Some((cursor.read(word, percent)?, word.span));
            second(word, cursor)?;
        }
        Some("corrupt") => {
            netem.corrupt = cursor.read(word, percent)?;
            if second(word, cursor)? > 0.0 && netem.corrupt > 0.0 {
                return unsupported(word, "errors that are correlated", "leave out the correlation", cursor);
            }
        }
        Some("gap") => {
            cursor.read(word, whole)?;
            extra.gap = Some(word.span);
        }
        Some("duplicate") => {
            let share = cursor.read(word, percent)?;
            second(word, cursor)?;
            if share > 0.0 {
                return unsupported(word, "packets that come twice", "leave out `duplicate`", cursor);
            }
        }
        Some("distribution") => {
            extra.distribution = Some(word.span);
            netem.normal = distribution(word, cursor)?;
        }
        Some("rate") => netem.rate = Some(netem_rate(word, cursor)?),
        Some("slot") => {
            while cursor.peek().is_some_and(|w| keyword(&w.text).is_none_or(|key| key == "distribution")) {
                cursor.next();
            }
            return unsupported(word, "packets that are let go in slots", "leave out `slot`", cursor);
        }
        Some("seed") => {
            cursor.value(word)?;
            netem.seed = Some(word.span);
        }
        _ => {
            let help = study_tree::did_you_mean(&word.text, &KEYS)
                .unwrap_or_else(|| format!("netem's options are {}", KEYS.join(", ")));
            cursor.error("import-syntax", word.span, format!("netem has no option `{}`", word.text), &help);
            return None;
        }
    }
    Some(())
}

/// The correlation behind a percentage, if there is one.
fn second(word: &Word, cursor: &mut Cursor<'_, '_>) -> Option<f64> {
    if cursor.number_follows(false) { cursor.read(word, percent) } else { Some(0.0) }
}

fn unsupported<T>(word: &Word, what: &str, cure: &str, cursor: &mut Cursor<'_, '_>) -> Option<T> {
    let message = format!("a link has no {what} (`{}`)", word.text);
    cursor.error("import-unsupported", word.span, message, cure);
    None
}

fn loss(word: &Word, cursor: &mut Cursor<'_, '_>) -> Option<NetemLoss> {
    let model = match cursor.peek() {
        Some(next) if !cursor.number_follows(false) => cursor.next().map_or(next, |w| w),
        _ => return random(word, cursor),
    };
    match model.text.as_str() {
        "random" => random(model, cursor),
        "state" => {
            let mut p = [cursor.read(model, percent)?, 0.0, 0.0, 1.0, 0.0];
            p[1] = 1.0 - p[0];
            for value in &mut p[1..] {
                if !cursor.number_follows(false) {
                    break;
                }
                *value = cursor.read(model, percent)?;
            }
            Some(NetemLoss::State(p))
        }
        "gemodel" => {
            let mut p = [cursor.read(model, percent)?, 0.0, 1.0, 0.0];
            p[1] = 1.0 - p[0];
            for value in &mut p[1..] {
                if !cursor.number_follows(false) {
                    break;
                }
                *value = cursor.read(model, percent)?;
            }
            Some(NetemLoss::Gemodel(p))
        }
        _ => {
            let message = format!("netem has no loss model `{}`", model.text);
            let cure = "write a percentage, or `random`, `state` or `gemodel` with theirs";
            cursor.error("import-value", model.span, message, cure);
            None
        }
    }
}

fn random(word: &Word, cursor: &mut Cursor<'_, '_>) -> Option<NetemLoss> {
    let bare = cursor.peek();
    let share = cursor.read(word, percent)?;
    if let Some(bare) = bare
        && !bare.text.ends_with('%')
        && (0.0..0.01).contains(&share)
        && share > 0.0
    {
        let message = format!("`{}` without `%` is {} %, not a share of 1", bare.text, 100.0 * share);
        let help = format!("write `{}%` if that is meant", bare.text);
        cursor.problems.push(Diagnostic::warning("import-value", bare.span, message).help(help));
    }
    let correlation = second(word, cursor)?;
    Some(NetemLoss::Random(share, correlation))
}

/// Whether the distribution is the normal one.
fn distribution(word: &Word, cursor: &mut Cursor<'_, '_>) -> Option<bool> {
    let name = cursor.value(word)?;
    match name.text.as_str() {
        "normal" => Some(true),
        // Without a table the kernel draws uniformly; iproute2 has no table of this name, its help notwithstanding.
        "uniform" => Some(false),
        other => {
            let message = format!("the jitter of a link has no distribution `{other}`");
            let cure = "write `distribution normal`, or leave it out for uniform delays; the shipped tables `pareto` and \
                        `paretonormal` have a standard deviation of 0.82 and 0.83 times the jitter and reach from -0.67 and \
                        -1.50 to 4.0 and 3.9 times the jitter";
            cursor.error("import-unsupported", name.span, message, cure);
            None
        }
    }
}

fn netem_rate(word: &Word, cursor: &mut Cursor<'_, '_>) -> Option<NetemRate> {
    let bits = cursor.read(word, rate)?;
    let mut numbers = [0_i64; 3];
    for (i, number) in numbers.iter_mut().enumerate() {
        if cursor.number_follows(i != 1) {
            *number = cursor.read(word, whole)?;
        }
    }
    let [packet_overhead, cell, cell_overhead] = numbers;
    if cell > 0 && cell + cell_overhead <= 0 {
        let message = format!("a cell of {cell} B with {cell_overhead} B more has no size");
        cursor.error("import-value", word.span, message, "give a cell overhead above the negative cell size");
        return None;
    }
    Some(NetemRate { bits, packet_overhead, cell, cell_overhead, span: word.span })
}

/// What tc checks at the end, and what a link cannot say.
fn consistent(netem: &Netem, extra: &Extra, cursor: &mut Cursor<'_, '_>) -> bool {
    let mut complain = |code, span: Span, message: &str, cure: &str| {
        cursor.error(code, span, message.to_owned(), cure);
        false
    };
    if let Some((share, span)) = extra.reorder
        && share > 0.0
    {
        if netem.delay == 0 {
            return complain("import-syntax", span, "`reorder` without `delay` does nothing", "leave it out");
        }
        let message = "a link has no packets that skip the delay (`reorder`)";
        let cure =
            "leave it out; packets that overtake one another because of jitter are `jitter: { ..., reorder: true }`";
        return complain("import-unsupported", span, message, cure);
    }
    if let Some(span) = extra.gap {
        return complain("import-syntax", span, "`gap` without `reorder` is refused by tc", "leave it out");
    }
    if let Some(span) = extra.distribution
        && (netem.jitter == 0 || netem.delay == 0)
    {
        let message = "`distribution` needs a delay and a jitter: tc refuses it without";
        return complain("import-syntax", span, message, "write e.g. `delay 100ms 20ms distribution normal`");
    }
    if let Some(span) = netem.ecn
        && netem.loss.is_none()
    {
        return complain("import-syntax", span, "`ecn` needs a loss: tc refuses it without", "leave it out");
    }
    true
}
