//! How wide a text is.

/// Advance widths of the printable ASCII characters of DejaVu Sans in thousandths of the size. The rasteriser draws
/// with this font; the SVG names it first and falls back to narrower ones, so nothing measured here can overlap there.
const ASCII: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636,
    636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863,
    748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635,
    615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636,
    337, 636, 838,
];
/// The widest of the letters outside ASCII that are not ideographs.
const OTHER: u16 = 838;
/// Ideographs are as wide as the size.
const WIDE: u16 = 1000;

/// Width of a text in CSS pixels at `size`.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let thousandths: u32 = text.chars().map(|c| u32::from(advance(c))).sum();
    f64::from(thousandths) * size / 1000.0
}

fn advance(c: char) -> u16 {
    match c {
        ' '..='~' => ASCII[c as usize - 32],
        '\u{0}'..='\u{2e7f}' => OTHER,
        _ => WIDE,
    }
}

/// The text cut so that it is at most `room` wide, with an ellipsis.
pub(crate) fn fit(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut kept: Vec<char> = text.chars().collect();
    while !kept.is_empty() {
        kept.pop();
        let shorter: String = kept.iter().chain(&['…']).collect();
        if width(&shorter, size) <= room {
            return shorter;
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_measured_and_cut_to_fit() {
        assert!((width("p95", 10.0) - (6.35 + 6.36 + 6.36)).abs() < 1e-9);
        assert!(width("東京", 10.0) >= 20.0);
        assert_eq!(fit("short", 10.0, 100.0), "short");
        let cut = fit("a very long name of an arm", 10.0, 60.0);
        assert!(cut.ends_with('…') && width(&cut, 10.0) <= 60.0, "{cut}");
    }
}
