//! Which line is which, above the panels.

use super::canvas::{Anchor, BASELINE, Canvas};
use super::panel::LINE;
use super::style::{Paint, Stroke, TEXT};
use super::text;

/// Length of a sample of a line.
const SAMPLE: f64 = 22.0;
const GAP: f64 = 12.0;

/// What a sample in the legend looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sample {
    /// A piece of the line.
    Line,
    /// The marker with a piece of its interval.
    Marker,
    /// The marker alone.
    Point,
    /// A piece of the line with the marker on it.
    LineAndPoint,
}

/// Draws the legend from `top` downwards and gives the height it took: none for a single series, whose name the caption
/// has.
pub(crate) fn draw(canvas: &mut Canvas, top: f64, names: &[String], sample: Sample) -> f64 {
    let samples: Vec<(String, Sample)> = names.iter().map(|name| (name.clone(), sample)).collect();
    draw_each(canvas, top, &samples)
}

/// The same, with a sample of its own for each series.
pub(crate) fn draw_each(canvas: &mut Canvas, top: f64, samples: &[(String, Sample)]) -> f64 {
    if samples.len() < 2 {
        return 0.0;
    }
    let room = canvas.width - 2.0;
    let (mut x, mut y) = (1.0, top + LINE / 2.0);
    for (i, (name, sample)) in samples.iter().enumerate() {
        let name = text::fit(name, TEXT, room - SAMPLE - 6.0);
        let width = SAMPLE + 4.0 + text::width(&name, TEXT);
        if x > 1.0 && x + width > room {
            x = 1.0;
            y += LINE;
        }
        match sample {
            Sample::Line => canvas.line(vec![(x, y), (x + SAMPLE, y)], Stroke::series(i)),
            Sample::Marker => {
                canvas.line(vec![(x + 2.0, y), (x + SAMPLE - 2.0, y)], Stroke::solid(Paint::Series(i), 1.2));
                canvas.point((x + SAMPLE / 2.0, y), i, i % 2 == 1, None);
            }
            Sample::Point => canvas.mark((x + SAMPLE / 2.0, y), i, 2.5),
            Sample::LineAndPoint => {
                canvas.line(vec![(x, y), (x + SAMPLE, y)], Stroke::series(i));
                canvas.mark((x + SAMPLE / 2.0, y), i, 2.5);
            }
        }
        canvas.text(x + SAMPLE + 4.0, y + BASELINE, name, Anchor::Start, Paint::Ink);
        x += width + GAP;
    }
    y + LINE / 2.0 - top + 2.0
}
