//! Colours, line styles and markers.

/// Width of a figure in CSS pixels: one column of a two-column paper (3.33 in).
pub(crate) const WIDTH: f64 = 320.0;
/// Size of all text in CSS pixels: 7.5 pt.
pub(crate) const TEXT: f64 = 10.0;

/// What a shape is painted with. All but the series colours can be restyled by the page that shows the figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    /// Text and axes.
    Ink,
    /// Reference lines and notes.
    Soft,
    /// Grid lines.
    Grid,
    /// Background.
    Paper,
    /// Colour of series number n.
    Series(usize),
}

/// Okabe and Ito's palette without black (the axes have it) and yellow (too pale for a line); neighbours differ in
/// lightness too.
const SERIES: [(u8, u8, u8); 6] =
    [(0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), (230, 159, 0)];

impl Paint {
    pub(crate) const fn rgb(self) -> (u8, u8, u8) {
        match self {
            Self::Ink => (26, 26, 26),
            Self::Soft => (110, 110, 110),
            Self::Grid => (225, 225, 225),
            Self::Paper => (255, 255, 255),
            Self::Series(i) => SERIES[i % SERIES.len()],
        }
    }
    pub(crate) fn hex(self) -> String {
        let (r, g, b) = self.rgb();
        format!("#{r:02x}{g:02x}{b:02x}")
    }
    /// The class that a page may restyle; series keep their colour everywhere.
    pub(crate) const fn class(self) -> Option<&'static str> {
        match self {
            Self::Ink => Some("ink"),
            Self::Soft => Some("soft"),
            Self::Grid => Some("grid"),
            Self::Paper => Some("paper"),
            Self::Series(_) => None,
        }
    }
}

/// A line: paint, width in CSS pixels, dashes (lengths of strokes and gaps, empty when solid).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stroke {
    pub(crate) paint: Paint,
    pub(crate) width: f64,
    pub(crate) dashes: &'static [f64],
}

impl Stroke {
    pub(crate) const fn solid(paint: Paint, width: f64) -> Self {
        Self { paint, width, dashes: &[] }
    }
    /// The line of series number n: each of the first six has its own dashes.
    pub(crate) const fn series(i: usize) -> Self {
        const DASHES: [&[f64]; 6] = [&[], &[6.0, 3.0], &[1.0, 2.8], &[7.0, 2.8, 1.0, 2.8], &[3.0, 2.5], &[11.0, 3.5]];
        Self { paint: Paint::Series(i), width: 1.5, dashes: DASHES[i % DASHES.len()] }
    }
}

/// The shape of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
}

impl Marker {
    /// The marker of series number n.
    pub(crate) const fn series(i: usize) -> Self {
        const ALL: [Marker; 4] = [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond];
        ALL[i % ALL.len()]
    }
    /// The corners of a marker of radius `r`; none for a circle.
    pub(crate) fn corners(self, x: f64, y: f64, r: f64) -> Vec<(f64, f64)> {
        match self {
            Self::Circle => Vec::new(),
            Self::Square => {
                let h = r * 0.9;
                vec![(x - h, y - h), (x + h, y - h), (x + h, y + h), (x - h, y + h)]
            }
            Self::Triangle => vec![(x, y - r * 1.2), (x + r * 1.1, y + r * 0.8), (x - r * 1.1, y + r * 0.8)],
            Self::Diamond => vec![(x, y - r * 1.3), (x + r * 1.3, y), (x, y + r * 1.3), (x - r * 1.3, y)],
        }
    }
}
