//! Movies and network logs of the ABR simulator SABRE.
//!
//! A movie is a JSON object: `segment_duration_ms`, `bitrates_kbps` (one per rung, rising) and `segment_sizes_bits` (one list
//! per segment, one size per rung, **in bits**). A network log is a JSON list of objects `duration_ms`, `bandwidth_kbps`,
//! `latency_ms`; slots may be of any length, and a rate of 0 holds everything until the slot is over.
//!
//! Sources: UMass-LIDS/sabre, `example/mmsys18`; Spiteri, Sitaraman, Sparacio, "From theory to practice: improving bitrate
//! adaptation in the DASH reference player", MMSys 2018.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | a size may fall where the bitrate rises | accepted | real encoders do it: 4 segments of `bbb.json` |
//! | a log whose rates are all 0 never ends | [`ImportError::NoCapacity`] | refused |
//! | NaN and negative numbers pass | errors that name the entry | refused |
//! | the log is repeated from its start when it ends | not decided here: [`Network::slots`] are one pass | the link says what comes after |
//! | all segments last `segment_duration_ms` | the same | |

use crate::ImportError;
use serde::Deserialize;
use study_units::{BitRate, SimDuration};

/// A movie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Movie {
    /// Duration of every segment in milliseconds, above 0.
    pub segment_ms: u64,
    /// Nominal bitrate of each rung in kbit/s, rising from above 0.
    pub bitrates_kbit_s: Vec<u32>,
    /// Size in bits of each segment, per rung; above 0, not always rising with the rung.
    pub sizes_bits: Vec<Vec<u64>>,
}

impl Movie {
    /// Size of a segment in whole bytes, rounded up.
    ///
    /// # Panics
    /// When there is no such segment or rung.
    #[must_use]
    pub fn size_bytes(&self, segment: usize, rung: usize) -> u64 {
        self.sizes_bits[segment][rung].div_ceil(8)
    }
}

/// A stretch of time with one rate and one latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkSlot {
    /// How long it lasts, above 0.
    pub duration: SimDuration,
    /// The rate; 0 holds everything.
    pub rate: BitRate,
    /// The latency: the time from a request to the first byte of the answer, beside the transfer.
    pub latency: SimDuration,
}

/// A network log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// The slots, in order; at least one has a rate above 0.
    pub slots: Vec<NetworkSlot>,
}

impl Network {
    /// Durations and rates.
    #[must_use]
    pub fn schedule(&self) -> Vec<(SimDuration, BitRate)> {
        self.slots.iter().map(|s| (s.duration, s.rate)).collect()
    }
    /// The latency, if it is the same in all slots.
    #[must_use]
    pub fn constant_latency(&self) -> Option<SimDuration> {
        let first = self.slots.first()?.latency;
        self.slots.iter().all(|s| s.latency == first).then_some(first)
    }
    /// Mean rate in bit/s, weighted by time.
    #[must_use]
    pub fn mean_rate(&self) -> f64 {
        let weight = |s: &NetworkSlot| u128::from(s.rate.bits_per_second()) * u128::from(s.duration.as_nanos());
        let time: u128 = self.slots.iter().map(|s| u128::from(s.duration.as_nanos())).sum();
        self.slots.iter().map(weight).sum::<u128>() as f64 / time as f64
    }
}

/// The longest duration that is accepted, ms: 10 years.
const LONGEST_MS: f64 = 3.2e11;

#[derive(Deserialize)]
struct RawMovie {
    segment_duration_ms: f64,
    bitrates_kbps: Vec<f64>,
    segment_sizes_bits: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct RawSlot {
    duration_ms: f64,
    bandwidth_kbps: f64,
    latency_ms: f64,
}

/// Reads a movie.
///
/// # Errors
/// [`ImportError`] names what is wrong and where.
pub fn parse_movie(bytes: &[u8]) -> Result<Movie, ImportError> {
    let raw: RawMovie = parse(bytes, "SABRE movie", |_| None)?;
    let segment_ms =
        whole("`segment_duration_ms`", raw.segment_duration_ms, 1.0, LONGEST_MS, "a whole number of ms above 0")?;
    let bitrates_kbit_s = movie_bitrates(&raw.bitrates_kbps)?;
    if raw.segment_sizes_bits.is_empty() {
        return Err(ImportError::Empty { what: "segments in `segment_sizes_bits`" });
    }
    let rungs = bitrates_kbit_s.len();
    let mut sizes_bits = Vec::with_capacity(raw.segment_sizes_bits.len());
    for (segment, sizes) in raw.segment_sizes_bits.iter().enumerate() {
        if sizes.len() != rungs {
            return Err(ImportError::Value {
                place: format!("`segment_sizes_bits`, segment {}", segment + 1),
                found: format!("a list of {} sizes", sizes.len()),
                expected: "one size per bitrate",
            });
        }
        let size = |(rung, bits): (usize, &f64)| {
            let place = format!("`segment_sizes_bits`, segment {}, rung {}", segment + 1, rung + 1);
            whole(&place, *bits, 1.0, 1e15, "a whole number of bits above 0")
        };
        sizes_bits.push(sizes.iter().enumerate().map(size).collect::<Result<_, _>>()?);
    }
    Ok(Movie { segment_ms, bitrates_kbit_s, sizes_bits })
}

fn movie_bitrates(raw: &[f64]) -> Result<Vec<u32>, ImportError> {
    if raw.is_empty() {
        return Err(ImportError::Empty { what: "bitrates in `bitrates_kbps`" });
    }
    let place = |rung: usize| format!("`bitrates_kbps`, rung {}", rung + 1);
    let mut bitrates: Vec<u32> = Vec::with_capacity(raw.len());
    for (rung, kbit_s) in raw.iter().enumerate() {
        let value = whole(&place(rung), *kbit_s, 1.0, 4e9, "a whole number of kbit/s above 0")? as u32;
        if bitrates.last().is_some_and(|last| *last >= value) {
            return Err(ImportError::Value {
                place: place(rung),
                found: format!("`{value}`"),
                expected: "above the bitrate before it",
            });
        }
        bitrates.push(value);
    }
    Ok(bitrates)
}

/// Reads a network log.
///
/// # Errors
/// [`ImportError`] names what is wrong and the entry, counted from 1.
pub fn parse_network(bytes: &[u8]) -> Result<Network, ImportError> {
    let raw: Vec<RawSlot> = parse(bytes, "SABRE network log", |before| {
        // Entries are flat objects, so the entry is the number of braces opened so far.
        Some(before.matches('{').count()).filter(|n| *n > 0)
    })?;
    if raw.is_empty() {
        return Err(ImportError::Empty { what: "entries in the network log" });
    }
    let slots = raw.iter().enumerate().map(|(i, slot)| network_slot(i + 1, slot)).collect::<Result<Vec<_>, _>>()?;
    if slots.iter().all(|s| s.rate.bits_per_second() == 0) {
        return Err(ImportError::NoCapacity { entries: slots.len() });
    }
    Ok(Network { slots })
}

fn network_slot(entry: usize, raw: &RawSlot) -> Result<NetworkSlot, ImportError> {
    let place = |key: &str| format!("entry {entry}, `{key}`");
    let duration = within(&place("duration_ms"), raw.duration_ms, 0.0..=LONGEST_MS, "a duration in ms above 0")?;
    let rate = within(&place("bandwidth_kbps"), raw.bandwidth_kbps, 0.0..=1e12, "a rate in kbit/s of at least 0")?;
    let latency = within(&place("latency_ms"), raw.latency_ms, 0.0..=LONGEST_MS, "a latency in ms of at least 0")?;
    let duration = SimDuration::from_secs_f64(duration / 1e3);
    if duration == SimDuration::ZERO {
        return Err(ImportError::Value {
            place: place("duration_ms"),
            found: format!("`{}`", raw.duration_ms),
            expected: "a duration in ms above 0",
        });
    }
    Ok(NetworkSlot {
        duration,
        rate: BitRate::from_bits_per_second((rate * 1e3).round() as u64),
        latency: SimDuration::from_secs_f64(latency / 1e3),
    })
}

fn within(
    place: &str,
    value: f64,
    range: std::ops::RangeInclusive<f64>,
    expected: &'static str,
) -> Result<f64, ImportError> {
    // A range never contains NaN.
    if range.contains(&value) {
        return Ok(value);
    }
    Err(ImportError::Value { place: place.to_owned(), found: format!("`{value}`"), expected })
}

fn whole(place: &str, value: f64, least: f64, most: f64, expected: &'static str) -> Result<u64, ImportError> {
    let value = within(place, value, least..=most, expected)?;
    if value.fract() == 0.0 {
        return Ok(value as u64);
    }
    Err(ImportError::Value { place: place.to_owned(), found: format!("`{value}`"), expected })
}

/// Parses JSON; `entry_of` finds the entry from the text before an error.
fn parse<T: serde::de::DeserializeOwned>(
    bytes: &[u8],
    format: &'static str,
    entry_of: impl Fn(&str) -> Option<usize>,
) -> Result<T, ImportError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.trim_ascii().is_empty() {
        return Err(ImportError::Empty { what: "content: the file is empty" });
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let before = text_before(bytes, line, column);
        // serde_json repeats the position at the end of its message.
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what).to_owned();
        ImportError::Syntax { format, message, line, column, entry: entry_of(&before) }
    })
}

/// The text up to a position, line and column counted from 1.
fn text_before(bytes: &[u8], line: usize, column: usize) -> String {
    let line_start: usize = bytes.split_inclusive(|b| *b == b'\n').take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    String::from_utf8_lossy(&bytes[..(line_start + column).min(bytes.len())]).into_owned()
}
