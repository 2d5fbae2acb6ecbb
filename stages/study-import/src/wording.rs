//! Numbers as people read them.

/// To so many significant digits, without trailing zeros.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { "infinity".to_owned() };
    }
    let text = format!("{value:.*e}", digits.saturating_sub(1));
    let rounded: f64 = text.parse().unwrap_or(value);
    // `Display` of a float is its shortest decimal, never with an exponent.
    format!("{rounded}")
}

/// A share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    let value = significant(100.0 * share, 3);
    if share > 0.0 && share < 1e-9 { "less than 0.0000001 %".to_owned() } else { format!("{value} %") }
}

/// Nanoseconds in milliseconds.
pub(crate) fn milliseconds(ns: u64) -> String {
    significant(ns as f64 / 1e6, 5)
}

/// A rate in the unit that suits it.
pub(crate) fn bits(bits: u64) -> String {
    let (unit, factor) = match bits {
        0..1_000 => ("bit/s", 1.0),
        1_000..1_000_000 => ("kbit/s", 1e3),
        1_000_000..1_000_000_000 => ("Mbit/s", 1e6),
        _ => ("Gbit/s", 1e9),
    };
    format!("{} {unit}", significant(bits as f64 / factor, 4))
}

/// Bytes in the unit that suits them.
pub(crate) fn bytes(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{} kB", significant(bytes as f64 / 1e3, 4)),
        _ => format!("{} MB", significant(bytes as f64 / 1e6, 4)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_asked_digits_and_no_more() {
        assert_eq!(significant(0.017_461_23, 3), "0.0175");
        assert_eq!(significant(1_234_567.0, 3), "1230000");
        assert_eq!(significant(5.0, 3), "5");
        assert_eq!(
            (percent(0.2), percent(0.005_4), percent(1e-12)),
            ("20 %".into(), "0.54 %".into(), "less than 0.0000001 %".into())
        );
        assert_eq!(
            (milliseconds(1_500_000), bits(768_000), bytes(131_072_000)),
            ("1.5".into(), "768 kbit/s".into(), "131.1 MB".into())
        );
    }
}
