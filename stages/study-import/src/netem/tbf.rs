//! The options of tbf, of htb's classes and of plain queues.
//!
//! Sources: iproute2 `tc/q_tbf.c`, `tc/q_htb.c`, `tc/q_fifo.c`; tc-tbf(8), tc-htb(8). tbf's `latency` L is a `limit` of `rate L + burst`
//! bytes, or what the peak rate allows if that is less; what tc 6.1 prints for its own `tbf` was compared.

use super::cursor::Cursor;
use super::numbers::{rate, size, time};
use super::script::Word;
use study_tree::Span;

/// A token bucket with its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tbf {
    /// Bits per second.
    pub rate: u64,
    /// Bytes.
    pub burst: u64,
    /// Bytes that may wait.
    pub limit: u64,
    /// Bits per second.
    pub peakrate: Option<u64>,
    pub span: Span,
}

/// A class of htb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HtbClass {
    /// Bits per second.
    pub rate: u64,
    /// Bits per second that it may borrow up to.
    pub ceil: Option<u64>,
    /// Bytes.
    pub burst: Option<u64>,
    pub span: Span,
}

/// Room of a plain queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fifo {
    Packets(u64),
    Bytes(u64),
}

fn unknown(what: &str, word: &Word, keys: &[&str], cursor: &mut Cursor<'_, '_>) {
    let help = study_tree::did_you_mean(&word.text, keys)
        .unwrap_or_else(|| format!("the options that can be read are {}", keys.join(", ")));
    cursor.error(
        "import-syntax",
        word.span,
        format!("`{}` is not an option of {what} that can be read", word.text),
        &help,
    );
}

/// A size that may be followed by `/` and a cell size, which changes nothing here.
fn bucket(text: &str) -> Result<u64, super::numbers::NumberError> {
    size(text.split('/').next().unwrap_or(text))
}

pub(crate) fn tbf(name: &Word, cursor: &mut Cursor<'_, '_>) -> Option<Tbf> {
    const KEYS: [&str; 9] = ["rate", "burst", "buffer", "maxburst", "latency", "limit", "peakrate", "mtu", "minburst"];
    let (mut bits, mut burst, mut latency, mut limit, mut peakrate, mut mtu) = (None, None, None, None, None, None);
    let mut good = true;
    while let Some(word) = cursor.next() {
        let read = match word.text.as_str() {
            "rate" => set(&mut bits, cursor.read(word, rate)),
            "burst" | "buffer" | "maxburst" => set(&mut burst, cursor.read(word, bucket)),
            "latency" => set(&mut latency, cursor.read(word, time)),
            "limit" => set(&mut limit, cursor.read(word, size)),
            "peakrate" => set(&mut peakrate, cursor.read(word, rate)),
            "mtu" | "minburst" => set(&mut mtu, cursor.read(word, bucket)),
            _ => {
                unknown("tbf", word, &KEYS, cursor);
                false
            }
        };
        if !read {
            good = false;
            break;
        }
    }
    let mut missing = |what: &str, cure: &str| {
        cursor.error("import-syntax", name.span, format!("tbf needs {what}: tc refuses it without"), cure);
    };
    match (good, bits, burst, limit.filter(|l| *l > 0), latency.filter(|l| *l > 0)) {
        (false, ..) => {}
        (_, None, ..) => missing("a `rate`", "write e.g. `rate 1mbit burst 32kb latency 400ms`"),
        (_, _, None, ..) => missing("a `burst`", "write e.g. `burst 32kb`"),
        (_, _, _, None, None) => missing("a `limit` or a `latency`", "write e.g. `latency 400ms`"),
        (_, _, _, Some(_), Some(_)) => missing("either `limit` or `latency`, not both", "keep one of them"),
        (_, _, _, _, _) if peakrate.is_some() && mtu.is_none() => {
            missing("an `mtu` with its `peakrate`", "write e.g. `mtu 1540`");
        }
        (_, Some(rate), Some(burst), limit, latency) => {
            let held = |bits: u64, latency: u64, extra: u64| (bits as f64 / 8e9 * latency as f64) as u64 + extra;
            let by_latency = latency.map(|latency| {
                let first = held(rate, latency, burst);
                peakrate.map_or(first, |peak| first.min(held(peak, latency, mtu.unwrap_or(0))))
            });
            return Some(Tbf { rate, burst, limit: limit.or(by_latency)?, peakrate, span: name.span });
        }
    }
    None
}

fn set<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    let read = value.is_some();
    *place = value;
    read
}

pub(crate) fn htb_class(name: &Word, cursor: &mut Cursor<'_, '_>) -> Option<HtbClass> {
    const KEYS: [&str; 8] = ["rate", "ceil", "burst", "cburst", "prio", "quantum", "mtu", "mpu"];
    let (mut bits, mut ceil, mut burst) = (None, None, None);
    while let Some(word) = cursor.next() {
        match word.text.as_str() {
            "rate" => bits = Some(cursor.read(word, rate)?),
            "ceil" => ceil = Some(cursor.read(word, rate)?),
            "burst" | "buffer" | "maxburst" => burst = Some(cursor.read(word, bucket)?),
            "cburst" | "cbuffer" | "cmaxburst" => {
                cursor.read(word, bucket)?;
            }
            // They decide between classes, and a link is one class.
            "prio" | "quantum" | "mtu" | "mpu" => {
                cursor.value(word)?;
            }
            _ => {
                unknown("a class of htb", word, &KEYS, cursor);
                return None;
            }
        }
    }
    if bits.is_none() {
        let message = "a class of htb needs a `rate`: tc refuses it without".to_owned();
        cursor.error("import-syntax", name.span, message, "write e.g. `rate 10mbit`");
    }
    Some(HtbClass { rate: bits?, ceil, burst, span: name.span })
}

pub(crate) fn fifo(name: &Word, cursor: &mut Cursor<'_, '_>) -> Option<Fifo> {
    let mut limit = None;
    while let Some(word) = cursor.next() {
        if word.text != "limit" {
            unknown(&name.text, word, &["limit"], cursor);
            return None;
        }
        limit = Some(cursor.read(word, size)?);
    }
    // Without a limit: the device's queue length, 1,000 packets on Ethernet.
    Some(match (name.text.as_str(), limit) {
        ("bfifo", limit) => Fifo::Bytes(limit.unwrap_or(1000 * 1514)),
        (_, limit) => Fifo::Packets(limit.unwrap_or(1000)),
    })
}
