//! One pair of axes with its frame, and where values lie in it.

use super::axis::{Axis, Tick};
use super::canvas::{Anchor, BASELINE, Canvas};
use super::style::{Paint, Stroke, TEXT};
use super::text;

/// Length of a tick.
const TICK: f64 = 3.0;
/// Height of one line of text with its distance to the next.
pub(crate) const LINE: f64 = 14.0;

/// What is written around a panel; empty texts take no room.
#[derive(Debug, Clone, Default)]
pub(crate) struct Labels {
    /// Above, in the middle.
    pub(crate) title: String,
    /// Below.
    pub(crate) x: String,
    /// Above the vertical axis, horizontally: it can be read without turning the head.
    pub(crate) y: String,
}

/// A panel: its inner box in CSS pixels, and its axes.
#[derive(Debug, Clone)]
pub(crate) struct Panel {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    x: Axis,
    y: Axis,
    labels: Labels,
}

impl Panel {
    /// A panel that fills the box (left, top, width, height) with its axes and labels.
    pub(crate) fn new(area: (f64, f64, f64, f64), mut x: Axis, y: Axis, labels: Labels) -> Self {
        let (mut left, mut top, width, height) = area;
        let (right, bottom) = (left + width, top + height);
        top += [&labels.title, &labels.y].into_iter().filter(|t| !t.is_empty()).count() as f64 * LINE;
        // Half a line for the uppermost tick's label.
        top += TEXT / 2.0;
        left += y.label_width(TEXT) + TICK + 4.0;
        // The last horizontal label may reach beyond the panel, by half its width less the way from its tick to the end.
        let rest = |t: &Tick| (1.0 - x.scale.share(t.value)) * (right - left);
        let overhang = x.ticks.last().map_or(0.0, |t| (text::width(&t.label, TEXT) / 2.0 - rest(t)).max(0.0));
        let inner_width = (right - left - overhang - 1.0).max(10.0);
        let below = TICK + LINE + if labels.x.is_empty() { 0.0 } else { LINE };
        let inner_height = (bottom - top - below).max(10.0);
        x.thin(inner_width, TEXT);
        Self { left, top, width: inner_width, height: inner_height, x, y, labels }
    }
    /// Where a pair of values lies.
    pub(crate) fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (self.left + self.x.scale.share(x) * self.width, self.bottom() - self.y.scale.share(y) * self.height)
    }
    pub(crate) fn bottom(&self) -> f64 {
        self.top + self.height
    }
    pub(crate) fn right(&self) -> f64 {
        self.left + self.width
    }
    /// Grid lines, axes, ticks and labels. Drawn before the data, which lie on top.
    pub(crate) fn draw(&self, canvas: &mut Canvas) {
        self.draw_vertical(canvas);
        self.draw_horizontal(canvas);
        let (left, top, right, bottom) = (self.left, self.top, self.right(), self.bottom());
        canvas.line(vec![(left, top), (left, bottom), (right, bottom)], Stroke::solid(Paint::Ink, 0.8));
        let mut above = top - TEXT / 2.0 - 4.0;
        if !self.labels.y.is_empty() {
            let room = canvas.width - 1.0;
            canvas.text(
                1.0f64.max(left - 30.0),
                above,
                text::fit(&self.labels.y, TEXT, room),
                Anchor::Start,
                Paint::Ink,
            );
            above -= LINE;
        }
        if !self.labels.title.is_empty() {
            let title = text::fit(&self.labels.title, TEXT, self.width + 10.0);
            canvas.text((left + right) / 2.0, above, title, Anchor::Middle, Paint::Ink);
        }
    }
    fn draw_horizontal(&self, canvas: &mut Canvas) {
        let bottom = self.bottom();
        for tick in &self.x.ticks {
            let (x, _) = self.at(tick.value, 0.0);
            if self.x.grid {
                canvas.line(vec![(x, self.top), (x, bottom)], Stroke::solid(Paint::Grid, 0.6));
            }
            canvas.line(vec![(x, bottom), (x, bottom + TICK)], Stroke::solid(Paint::Ink, 0.8));
            canvas.text(x, bottom + TICK + TEXT, &tick.label, Anchor::Middle, Paint::Ink);
        }
        for value in &self.x.minor {
            let (x, _) = self.at(*value, 0.0);
            canvas.line(vec![(x, bottom), (x, bottom + TICK * 0.6)], Stroke::solid(Paint::Ink, 0.6));
        }
        if !self.labels.x.is_empty() {
            let y = bottom + TICK + TEXT + LINE;
            canvas.text((self.left + self.right()) / 2.0, y, &self.labels.x, Anchor::Middle, Paint::Ink);
        }
    }
    fn draw_vertical(&self, canvas: &mut Canvas) {
        for tick in &self.y.ticks {
            let (_, y) = self.at(0.0, tick.value);
            if self.y.grid {
                canvas.line(vec![(self.left, y), (self.right(), y)], Stroke::solid(Paint::Grid, 0.6));
            }
            canvas.line(vec![(self.left - TICK, y), (self.left, y)], Stroke::solid(Paint::Ink, 0.8));
            canvas.text(self.left - TICK - 2.0, y + BASELINE, &tick.label, Anchor::End, Paint::Ink);
        }
        for value in &self.y.minor {
            let (_, y) = self.at(0.0, *value);
            canvas.line(vec![(self.left - TICK * 0.6, y), (self.left, y)], Stroke::solid(Paint::Ink, 0.6));
        }
    }
}
