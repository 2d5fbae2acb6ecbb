//! The list of shapes that a figure is.

use super::style::{Marker, Paint, Stroke, TEXT};

/// Where a text is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// One shape. Coordinates in CSS pixels, y downwards.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    /// Straight lines from point to point.
    Line { points: Vec<(f64, f64)>, stroke: Stroke },
    /// A filled rectangle.
    Rect { x: f64, y: f64, width: f64, height: f64, paint: Paint },
    /// A point; `note` is what a pointer over it shows.
    Point { at: (f64, f64), marker: Marker, radius: f64, paint: Paint, hollow: bool, note: Option<String> },
    /// A text on its baseline.
    Text { at: (f64, f64), text: String, anchor: Anchor, paint: Paint },
}

/// A drawing of a certain size.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Canvas {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) shapes: Vec<Shape>,
}

impl Canvas {
    /// An empty drawing on paper.
    pub(crate) fn new(width: f64, height: f64) -> Self {
        let paper = Shape::Rect { x: 0.0, y: 0.0, width, height, paint: Paint::Paper };
        Self { width, height, shapes: vec![paper] }
    }
    pub(crate) fn line(&mut self, points: Vec<(f64, f64)>, stroke: Stroke) {
        self.shapes.push(Shape::Line { points, stroke });
    }
    pub(crate) fn text(&mut self, x: f64, y: f64, text: impl Into<String>, anchor: Anchor, paint: Paint) {
        self.shapes.push(Shape::Text { at: (x, y), text: text.into(), anchor, paint });
    }
    /// The point of series number n.
    pub(crate) fn point(&mut self, at: (f64, f64), series: usize, hollow: bool, note: Option<String>) {
        self.shapes.push(Shape::Point {
            at,
            marker: Marker::series(series),
            radius: 2.5,
            paint: Paint::Series(series),
            hollow,
            note,
        });
    }
    /// The filled point of series number n, of this radius.
    pub(crate) fn mark(&mut self, at: (f64, f64), series: usize, radius: f64) {
        let (marker, paint) = (Marker::series(series), Paint::Series(series));
        self.shapes.push(Shape::Point { at, marker, radius, paint, hollow: false, note: None });
    }
    /// What a reader would stumble over: texts that leave the picture, or lie on one another.
    pub(crate) fn defects(&self) -> Vec<String> {
        let texts: Vec<(&str, Extent)> = self.shapes.iter().filter_map(extent).collect();
        let mut found = Vec::new();
        for (i, (text, e)) in texts.iter().enumerate() {
            if e.left < 0.0 || e.right > self.width || e.top < 0.0 || e.bottom > self.height {
                found.push(format!("`{text}` leaves the picture"));
            }
            for (other, o) in &texts[i + 1..] {
                if e.left < o.right && o.left < e.right && e.top < o.bottom && o.top < e.bottom {
                    found.push(format!("`{text}` lies on `{other}`"));
                }
            }
        }
        found
    }
}

/// The box of a text in CSS pixels.
struct Extent {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

fn extent(shape: &Shape) -> Option<(&str, Extent)> {
    let Shape::Text { at: (x, y), text, anchor, .. } = shape else { return None };
    let width = super::text::width(text, TEXT);
    let left = match anchor {
        Anchor::Start => *x,
        Anchor::Middle => x - width / 2.0,
        Anchor::End => x - width,
    };
    // Heights of capitals and descenders of DejaVu Sans.
    Some((text, Extent { left, right: left + width, top: y - TEXT * 0.73, bottom: y + TEXT * 0.2 }))
}

/// Distance from the middle of a line of text to its baseline.
pub(crate) const BASELINE: f64 = TEXT * 0.36;
