//! Improvements with intervals and the line of no effect (a forest plot).

use super::axis::Axis;
use super::canvas::{Anchor, BASELINE, Canvas};
use super::panel::LINE;
use super::style::{Paint, Stroke, TEXT, WIDTH};
use super::{Figure, Words, text};
use study_table::{Cell, ColumnType, Field, TableBuilder};

/// Height of a row.
const ROW: f64 = 15.0;
/// Room for the names of the rows at most, the rest is for the picture.
const NAMES: f64 = 130.0;

/// One line of the figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Heading that the row stands under; a new heading opens a block.
    pub group: String,
    /// Name of the row.
    pub name: String,
    /// Improvement as a share; positive is better.
    pub estimate: f64,
    /// Ends of the interval.
    pub interval: Option<(f64, f64)>,
    /// Whether a difference could be shown: filled or hollow.
    pub shown: bool,
}

/// What to draw.
#[derive(Debug, Clone, PartialEq)]
pub struct Improvement {
    /// Words.
    pub words: Words,
    /// Below the axis, e.g. `improvement of h3 over h2 (%)`.
    pub axis: String,
    /// Above the numbers at the right, e.g. `% [95 % CI]`.
    pub numbers: String,
    /// Rows, blocks in order.
    pub rows: Vec<Row>,
}

/// Where things stand in the picture.
struct Layout {
    axis: Axis,
    left: f64,
    right: f64,
    bottom: f64,
}

impl Layout {
    /// Where a share lies.
    fn x(&self, share: f64) -> f64 {
        self.left + self.axis.scale.share(share * 100.0) * (self.right - self.left)
    }
}

/// The figure.
#[must_use]
pub fn figure(input: &Improvement) -> Figure {
    let numbers: Vec<String> = input.rows.iter().map(numbers).collect();
    let layout = layout(input, &numbers);
    let mut canvas = Canvas::new(WIDTH, layout.bottom + 4.0 + 2.0 * LINE);
    draw_axis(&mut canvas, &layout, &input.axis);
    canvas.text(WIDTH - 1.0, TOP + ROW / 2.0 + BASELINE, &input.numbers, Anchor::End, Paint::Soft);
    let mut y = TOP + if headed(input) { -ROW / 2.0 } else { ROW / 2.0 };
    let mut group = None;
    for (row, numbers) in input.rows.iter().zip(numbers) {
        if headed(input) && group != Some(&row.group) {
            y += ROW;
            let room = WIDTH - text::width(&input.numbers, TEXT) - 6.0;
            canvas.text(1.0, y + BASELINE, text::fit(&row.group, TEXT, room), Anchor::Start, Paint::Soft);
        }
        group = Some(&row.group);
        y += ROW;
        draw_row(&mut canvas, &layout, row, numbers, y);
    }
    input.words.clone().figure(data(input), canvas)
}

const TOP: f64 = 3.0;

/// Whether rows stand under headings.
fn headed(input: &Improvement) -> bool {
    input.rows.iter().any(|r| !r.group.is_empty())
}

fn layout(input: &Improvement, numbers: &[String]) -> Layout {
    let ends = |r: &Row| r.interval.into_iter().flat_map(|(l, h)| [l, h]);
    let values = input.rows.iter().flat_map(|r| ends(r).chain([r.estimate]));
    let wide = |texts: &mut dyn Iterator<Item = &String>| texts.map(|t| text::width(t, TEXT)).fold(0.0, f64::max);
    let names = (wide(&mut input.rows.iter().map(|r| &r.name)) + 8.0).min(NAMES);
    let (left, right) = (names + 8.0, WIDTH - wide(&mut numbers.iter().chain([&input.numbers])) - 10.0);
    // As many ticks as have room, so that none need be dropped and 0 is always among them.
    let parts = ((right - left) / 30.0).clamp(2.0, 5.0);
    let mut axis = Axis::tight(values.map(|v| v * 100.0).chain([0.0]), parts);
    axis.thin(right - left, TEXT);
    let blocks = input.rows.windows(2).filter(|w| w[0].group != w[1].group).count() + 1;
    let lines = input.rows.len() + if headed(input) { blocks } else { 1 };
    Layout { axis, left, right, bottom: TOP + lines as f64 * ROW + 2.0 }
}

fn draw_row(canvas: &mut Canvas, layout: &Layout, row: &Row, numbers: String, y: f64) {
    let (top, bottom) = (y - ROW / 2.0, y + ROW / 2.0);
    // The lines of the grid leave out the headings, which could not be read on them.
    for tick in &layout.axis.ticks {
        let x = layout.x(tick.value / 100.0);
        canvas.line(vec![(x, top), (x, bottom)], Stroke::solid(Paint::Grid, 0.6));
    }
    let none = layout.x(0.0);
    canvas.line(vec![(none, top), (none, bottom)], Stroke::solid(Paint::Ink, 0.8));
    canvas.text(7.0, y + BASELINE, text::fit(&row.name, TEXT, layout.left - 12.0), Anchor::Start, Paint::Ink);
    canvas.text(WIDTH - 1.0, y + BASELINE, numbers, Anchor::End, Paint::Ink);
    canvas.point((layout.x(row.estimate), y), 0, !row.shown, None);
    if let Some((low, high)) = row.interval {
        let (a, b) = (layout.x(low), layout.x(high));
        let stroke = Stroke::solid(Paint::Series(0), 1.2);
        canvas.line(vec![(a, y), (b, y)], stroke);
        for end in [a, b] {
            canvas.line(vec![(end, y - 3.5), (end, y + 3.5)], stroke);
        }
    }
}

/// `21.3 [18.9, 23.6]`
fn numbers(row: &Row) -> String {
    let (low, high) = row.interval.unwrap_or((row.estimate, row.estimate));
    let style = crate::number::Style::fitting("1", &[row.estimate, low, high]);
    let percent = |x: f64| style.bare(x).replace('-', "−");
    let interval = row.interval.map_or_else(String::new, |(l, h)| format!(" [{}, {}]", percent(l), percent(h)));
    percent(row.estimate) + &interval
}

fn draw_axis(canvas: &mut Canvas, layout: &Layout, label: &str) {
    let (left, right, bottom) = (layout.left, layout.right, layout.bottom);
    for tick in &layout.axis.ticks {
        let x = layout.x(tick.value / 100.0);
        canvas.line(vec![(x, bottom), (x, bottom + 3.0)], Stroke::solid(Paint::Ink, 0.8));
        canvas.text(x, bottom + 3.0 + TEXT, &tick.label, Anchor::Middle, Paint::Ink);
    }
    for value in &layout.axis.minor {
        let x = layout.x(value / 100.0);
        canvas.line(vec![(x, bottom), (x, bottom + 2.0)], Stroke::solid(Paint::Ink, 0.6));
    }
    canvas.line(vec![(left, bottom), (right, bottom)], Stroke::solid(Paint::Ink, 0.8));
    // Below the axis, but never outside the picture.
    let half = text::width(label, TEXT) / 2.0;
    let middle = ((left + right) / 2.0).clamp(half + 1.0, (canvas.width - half - 1.0).max(half + 1.0));
    canvas.text(middle, bottom + 3.0 + TEXT + LINE, label, Anchor::Middle, Paint::Ink);
}

fn data(input: &Improvement) -> study_table::Table {
    let text = |name: &str, meaning: &str| Field::new(name, ColumnType::Str, "", meaning);
    let share = |name: &str, meaning: &str| Field::new(name, ColumnType::Float, "1", meaning);
    let mut b = TableBuilder::new(vec![
        text("group", "block of the figure"),
        text("name", "row of the figure"),
        share("improvement", "estimate; positive is better"),
        share("ci_low", "lower end of the interval"),
        share("ci_high", "upper end of the interval"),
        Field::new("shown", ColumnType::Bool, "", "whether a difference could be shown"),
    ]);
    for row in &input.rows {
        let (low, high) = row.interval.map_or((Cell::Null, Cell::Null), |(l, h)| (Cell::Float(l), Cell::Float(h)));
        b.row(&[
            Cell::Str(&row.group),
            Cell::Str(&row.name),
            Cell::Float(row.estimate),
            low,
            high,
            Cell::Bool(row.shown),
        ]);
    }
    b.finish()
}
