//! Numbers for people: a few significant digits, a unit that suits the size, one number of decimals per interval.

/// Rounds to `digits` significant digits and prints without an exponent; 0 is `0`.
#[must_use]
pub fn significant(x: f64, digits: usize) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    let exponent = decimal_exponent(x, digits);
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    if decimals > 0 || exponent < digits as i32 {
        return tidy(format!("{x:.decimals$}"));
    }
    // More digits before the point than are significant: round there too.
    let factor = libm::exp10(f64::from(exponent - digits as i32 + 1));
    thousands((x / factor).round() * factor)
}

/// The exponent of the first digit after rounding to `digits` digits (999.96 with 4 digits is 1000: 3).
fn decimal_exponent(x: f64, digits: usize) -> i32 {
    let text = format!("{:.*e}", digits.saturating_sub(1), x.abs());
    text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0)
}

/// `-0.0` prints as `0.0`.
fn tidy(text: String) -> String {
    let zero = text.starts_with('-') && text.bytes().all(|b| matches!(b, b'-' | b'0' | b'.'));
    if zero { text[1..].to_owned() } else { text }
}

/// A whole number with separators: `216,000`.
#[must_use]
pub fn count(n: u64) -> String {
    thousands(n as f64)
}

fn thousands(x: f64) -> String {
    let text = format!("{x:.0}");
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |d| ("-", d));
    let mut out = String::from(sign);
    for (i, digit) in digits.chars().enumerate() {
        // Four digits read well without a separator.
        if i > 0 && digits.len() > 4 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// How a value of some unit is shown: a factor, the decimals, and what follows the number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Style {
    factor: f64,
    decimals: usize,
    suffix: &'static str,
}

impl Style {
    /// The style for values of `unit` (`ms`, `us`, `kbit/s`, `1` for shares, `""` for counts), chosen so that all of
    /// `values` are readable in it: about three significant digits of the largest.
    #[must_use]
    pub fn fitting(unit: &str, values: &[f64]) -> Self {
        let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let (factor, suffix) = match unit {
            "us" if largest >= 1e6 => (1e-6, " s"),
            "us" if largest >= 1e3 => (1e-3, " ms"),
            "us" => (1.0, " us"),
            "ms" if largest >= 1e3 => (1e-3, " s"),
            "ms" => (1.0, " ms"),
            "s" => (1.0, " s"),
            "kbit/s" if largest >= 1e3 => (1e-3, " Mbit/s"),
            "kbit/s" => (1.0, " kbit/s"),
            "1" => (100.0, " %"),
            "points" => (100.0, " percentage points"),
            _ => (1.0, ""),
        };
        let decimals = match decimal_exponent(largest * factor, 3) {
            _ if largest == 0.0 => 0,
            // Shares keep one decimal, and none from 100 % on: more says nothing.
            e if matches!(unit, "1" | "points") => (1 - e.min(0)).clamp(1, 3) as usize - usize::from(e > 1),
            e => (2 - e).clamp(0, 4) as usize,
        };
        Self { factor, decimals, suffix }
    }
    /// The number without its unit.
    #[must_use]
    pub fn bare(&self, x: f64) -> String {
        tidy(format!("{:.*}", self.decimals, x * self.factor))
    }
    /// The number with its unit.
    #[must_use]
    pub fn full(&self, x: f64) -> String {
        format!("{}{}", self.bare(x), self.suffix)
    }
    /// Both ends of a range with the unit once: `4.0 to 1.9 %`.
    #[must_use]
    pub fn range(&self, low: f64, high: f64) -> String {
        format!("{} to {}", self.bare(low), self.full(high))
    }
}

/// One value with its unit: `842 ms`, `1.23 s`, `21.3 %`.
#[must_use]
pub fn quantity(x: f64, unit: &str) -> String {
    Style::fitting(unit, &[x]).full(x)
}

/// A p-value: three digits, never 0.
#[must_use]
pub fn p_value(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { significant(p, 2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_significant_digits_without_exponents() {
        for (x, expected) in [
            (0.0, "0"),
            (1.0, "1.00"),
            (123.456, "123"),
            (0.012_345, "0.0123"),
            (-4.567, "-4.57"),
            (999.96, "1000"),
            (123_456.0, "123,000"),
            (1e-5, "0.0000100"),
        ] {
            assert_eq!(significant(x, 3), expected, "{x}");
        }
        assert_eq!(count(216_000), "216,000");
        assert_eq!(count(2000), "2000");
        assert_eq!(count(0), "0");
    }

    #[test]
    fn units_follow_the_size_and_an_interval_has_one_unit() {
        assert_eq!(quantity(842.4, "ms"), "842 ms");
        assert_eq!(quantity(1234.0, "ms"), "1.23 s");
        assert_eq!(quantity(30_512.0, "us"), "30.5 ms");
        assert_eq!(quantity(6000.0, "kbit/s"), "6.00 Mbit/s");
        assert_eq!(quantity(0.2134, "1"), "21.3 %");
        assert_eq!(quantity(0.000_24, "1"), "0.024 %");
        assert_eq!(quantity(1.0, "1"), "100 %");
        assert_eq!(quantity(1.5, ""), "1.50");
        let style = Style::fitting("1", &[-0.012, -0.04, 0.019]);
        assert_eq!(style.full(-0.012), "-1.2 %");
        assert_eq!(style.range(-0.04, 0.019), "-4.0 to 1.9 %");
        let style = Style::fitting("ms", &[900.0, 1100.0]);
        assert_eq!(style.range(900.0, 1100.0), "0.90 to 1.10 s");
        assert_eq!(Style::fitting("1", &[-0.000_001, 0.5]).full(-0.000_001), "0.0 %", "no negative zero");
    }

    #[test]
    fn p_values_are_never_zero() {
        assert_eq!(p_value(0.0), "< 0.001");
        assert_eq!(p_value(0.0312), "0.031");
        assert_eq!(p_value(1.0), "1.0");
    }
}
