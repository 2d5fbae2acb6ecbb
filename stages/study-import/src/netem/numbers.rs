//! tc's own numbers: what its units mean, which is not always what they look like.
//!
//! Sources: iproute2 `lib/utils_math.c` (`get_rate64`, `get_size64`), `tc/tc_util.c` (`parse_percent`), `tc/tc_util.c` (`get_time`); sizes
//! and times compared with what tc 6.1 itself prints for `tbf`.
//!
//! | spelling | means |
//! |---|---|
//! | `delay 100` | 100 microseconds |
//! | `loss 0.05` | 0.05 %, not a share |
//! | `rate 1mbps` | 8 Mbit/s: `bps` is bytes |
//! | `limit 1mbit` (a size) | 131,072 B: sizes count in 1,024s, also in bits |
//! | `limit 1k` (packets) | 1,024 packets: it is read as a size |

/// Why a spelling is not a number of tc: what is expected, and one example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberError {
    /// Not a number with a unit of this sort.
    Unreadable(&'static str),
    /// Out of range.
    Range(&'static str),
}

const TIME: &str = "write a time with its unit, e.g. `100ms`";
const RATE: &str = "write a rate with its unit, e.g. `20mbit` (bits) or `2mbps` (bytes)";
const SIZE: &str = "write a size, e.g. `32kb` or `1500`";
const PERCENT: &str = "write a percentage, e.g. `1.5%`";

/// The number at the start and what follows it, without blanks; `None` where there is no number.
fn split(text: &str) -> Option<(f64, &str)> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|c| c.is_ascii_digit()).count();
    let mut end = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    end += digits(end);
    if bytes.get(end) == Some(&b'.') {
        end += 1;
        end += digits(end);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits((end + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    let number: f64 = text[..end].parse().ok()?;
    Some((number, &text[end..]))
}

fn scaled(text: &str, units: &[(&[&str], f64)], cure: &'static str) -> Result<f64, NumberError> {
    let (number, unit) = split(text).ok_or(NumberError::Unreadable(cure))?;
    let known = units.iter().find(|(names, _)| names.iter().any(|name| name.eq_ignore_ascii_case(unit)));
    let (_, factor) = known.ok_or(NumberError::Unreadable(cure))?;
    let value = number * factor;
    // 2^53: whole numbers up to here are exact; far above every network.
    if (0.0..=9_007_199_254_740_992.0).contains(&value) {
        Ok(value)
    } else {
        Err(NumberError::Range("give a number of at least 0 that a network can have"))
    }
}

/// Nanoseconds.
pub(crate) fn time(text: &str) -> Result<u64, NumberError> {
    const UNITS: &[(&[&str], f64)] = &[
        (&["s", "sec", "secs"], 1e9),
        (&["ms", "msec", "msecs"], 1e6),
        (&["us", "usec", "usecs", ""], 1e3),
        (&["ns", "nsec", "nsecs"], 1.0),
    ];
    scaled(text, UNITS, TIME).map(|ns| ns.round() as u64)
}

/// Bits per second, above 0.
pub(crate) fn rate(text: &str) -> Result<u64, NumberError> {
    const KI: f64 = 1024.0;
    const UNITS: &[(&[&str], f64)] = &[
        (&["bit", ""], 1.0),
        (&["kbit"], 1e3),
        (&["mbit"], 1e6),
        (&["gbit"], 1e9),
        (&["tbit"], 1e12),
        (&["kibit"], KI),
        (&["mibit"], KI * KI),
        (&["gibit"], KI * KI * KI),
        (&["tibit"], KI * KI * KI * KI),
        (&["bps"], 8.0),
        (&["kbps"], 8e3),
        (&["mbps"], 8e6),
        (&["gbps"], 8e9),
        (&["tbps"], 8e12),
        (&["kibps"], 8.0 * KI),
        (&["mibps"], 8.0 * KI * KI),
        (&["gibps"], 8.0 * KI * KI * KI),
        (&["tibps"], 8.0 * KI * KI * KI * KI),
    ];
    if text.ends_with('%') {
        return Err(NumberError::Unreadable(
            "a share of the device's speed is not known here: write the rate, e.g. `20mbit`",
        ));
    }
    match scaled(text, UNITS, RATE)? {
        // tc counts whole bytes per second.
        bits if bits >= 8.0 => Ok((bits / 8.0).floor() as u64 * 8),
        _ => Err(NumberError::Range("a rate below 8 bit/s carries nothing: give a rate, or leave it out for none")),
    }
}

/// Bytes; `limit` of netem, which counts packets, is read the same way.
pub(crate) fn size(text: &str) -> Result<u64, NumberError> {
    const UNITS: &[(&[&str], f64)] = &[
        (&["b", ""], 1.0),
        (&["k", "kb"], 1024.0),
        (&["m", "mb"], 1024.0 * 1024.0),
        (&["g", "gb"], 1024.0 * 1024.0 * 1024.0),
        (&["kbit"], 1024.0 / 8.0),
        (&["mbit"], 1024.0 * 1024.0 / 8.0),
        (&["gbit"], 1024.0 * 1024.0 * 1024.0 / 8.0),
    ];
    let bytes = scaled(text, UNITS, SIZE)?;
    if bytes <= f64::from(u32::MAX) {
        Ok(bytes as u64)
    } else {
        Err(NumberError::Range("tc holds sizes in 32 bits: give at most 4294967295"))
    }
}

/// A share, 0 to 1.
pub(crate) fn percent(text: &str) -> Result<f64, NumberError> {
    let number = text.strip_suffix('%').unwrap_or(text);
    match split(number) {
        // Shifting the decimal point instead of dividing, so that 3.6 % has the bits of 0.036.
        Some((value, "")) if (0.0..=100.0).contains(&value) => {
            Ok(format!("{value}e-2").parse().unwrap_or(value / 100.0))
        }
        Some((_, "")) => Err(NumberError::Range("give 0% to 100%")),
        _ => Err(NumberError::Unreadable(PERCENT)),
    }
}

/// A whole number.
pub(crate) fn whole(text: &str) -> Result<i64, NumberError> {
    let cure = "write a whole number";
    let number: i64 = text.parse().map_err(|_| NumberError::Unreadable(cure))?;
    if number.unsigned_abs() <= 1_000_000 { Ok(number) } else { Err(NumberError::Range("give at most 1000000")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_rates_sizes_and_shares_are_read_as_tc_reads_them() {
        let times =
            [("100ms", 100_000_000), ("100", 100_000), ("1.5sec", 1_500_000_000), ("7NS", 7), ("1e2us", 100_000)];
        for (text, ns) in times {
            assert_eq!(time(text), Ok(ns), "{text}");
        }
        for (text, bits) in [
            ("2mbit", 2_000_000),
            ("1mbps", 8_000_000),
            ("1Kibit", 1024),
            ("768kbit", 768_000),
            ("1000000", 1_000_000),
            ("10bit", 8),
        ] {
            assert_eq!(rate(text), Ok(bits), "{text}");
        }
        // `tc -d qdisc show` says 128Kb for the first, 640b for the second.
        for (text, bytes) in [("1mbit", 131_072), ("5kbit", 640), ("32kbit", 4096), ("10k", 10_240), ("1600", 1600)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for (text, share) in [("5%", 0.05), ("0.05", 0.0005), ("3.6%", 0.036), ("100", 1.0), ("1e-1%", 0.001)] {
            assert_eq!(percent(text).map(f64::to_bits), Ok(f64::to_bits(share)), "{text}");
        }
    }

    #[test]
    fn what_tc_would_refuse_is_refused_with_a_cure() {
        for text in ["", "ms", "-5ms", "5m", "1e999ms", "nan", "inf", "0x10ms", "10 ms"] {
            assert!(time(text).is_err(), "{text}");
        }
        for text in ["0", "-1mbit", "1m", "50%", "mbit", "1e300gbit", "7bit"] {
            assert!(rate(text).is_err(), "{text}");
        }
        for text in ["5gb", "-1", "1kib", "5%"] {
            assert!(size(text).is_err(), "{text}");
        }
        for text in ["101%", "-1%", "5%%", "5 %", "%", "nan%", "1e9"] {
            assert!(percent(text).is_err(), "{text}");
        }
        assert!(whole("1.5").is_err() && whole("99999999999999999999").is_err() && whole("-14") == Ok(-14));
    }
}
