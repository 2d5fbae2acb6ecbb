//! Percentiles with intervals: one panel per cell, one colour and marker per arm.

use super::axis::{Axis, time_unit};
use super::canvas::Canvas;
use super::legend::{self, Sample};
use super::panel::{LINE, Labels, Panel};
use super::style::{Paint, Stroke, WIDTH};
use super::{Figure, Words};
use study_table::{Cell, ColumnType, Field, TableBuilder};

/// Height of a row of panels in CSS pixels.
const ROW: f64 = 135.0;

/// One percentile of one arm in one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct PointRange {
    /// Title of its panel, e.g. `round_robin x 3`; empty when there is one panel.
    pub panel: String,
    /// The arm.
    pub arm: String,
    /// The percentile: `p95`.
    pub stat: String,
    /// Value.
    pub value: f64,
    /// Ends of the interval.
    pub interval: Option<(f64, f64)>,
}

/// What to draw.
#[derive(Debug, Clone, PartialEq)]
pub struct Percentiles {
    /// Words.
    pub words: Words,
    /// What is on the vertical axis, without the unit.
    pub what: String,
    /// Unit of the values, as in the frames.
    pub unit: String,
    /// Points; panels, arms and percentiles stand in the order of their first appearance.
    pub points: Vec<PointRange>,
}

/// The figure. All panels share one vertical axis, logarithmic when the values spread over a factor of eight.
#[must_use]
pub fn figure(input: &Percentiles) -> Figure {
    let panels = distinct(input.points.iter().map(|p| &p.panel));
    let arms = distinct(input.points.iter().map(|p| &p.arm));
    let stats = distinct(input.points.iter().map(|p| &p.stat));
    let (y, factor, unit) = vertical_axis(input);

    let columns = if panels.len() > 1 { 2 } else { 1 };
    let rows = panels.len().div_ceil(columns).max(1);
    let row_height = if rows == 1 && columns == 1 { 175.0 } else { ROW };
    let legend_height = if arms.len() > 1 { legend_lines(&arms) * LINE + 2.0 } else { 0.0 };
    let mut canvas = Canvas::new(WIDTH, legend_height + LINE + rows as f64 * row_height + 3.0);
    let used = legend::draw(&mut canvas, 1.0, &arms, Sample::Marker);
    let scale = if matches!(y.scale, super::scale::Scale::Log { .. }) { ", log scale" } else { "" };
    let unit = if unit.is_empty() { String::new() } else { format!(" ({unit}{scale})") };
    let title = format!("{}{unit}", input.what);
    canvas.text(1.0, used + LINE - 3.0, title, super::canvas::Anchor::Start, Paint::Ink);

    let cell_width = (WIDTH - 4.0) / columns as f64;
    for (i, name) in panels.iter().enumerate() {
        let (column, row) = ((i % columns) as f64, (i / columns) as f64);
        let area = (1.0 + column * cell_width, used + LINE + row * row_height, cell_width - 4.0, row_height);
        let labels = Labels { title: name.clone(), ..Labels::default() };
        let panel = Panel::new(area, Axis::categories(&stats), y.clone(), labels);
        panel.draw(&mut canvas);
        for point in input.points.iter().filter(|p| &p.panel == name) {
            draw_point(&mut canvas, &panel, point, factor, (&arms, &stats), input);
        }
    }
    input.words.clone().figure(data(input), canvas)
}

fn vertical_axis(input: &Percentiles) -> (Axis, f64, String) {
    let values = || {
        input.points.iter().flat_map(|p| [p.value].into_iter().chain(p.interval.into_iter().flat_map(|(l, h)| [l, h])))
    };
    let (smallest, largest) = values().fold((f64::INFINITY, 0.0f64), |(l, h), v| (l.min(v), h.max(v)));
    let (factor, unit) = time_unit(&input.unit, largest);
    let scaled = values().map(|v| v * factor);
    let log = smallest > 0.0 && largest / smallest > 8.0;
    let axis = if log { Axis::log(scaled) } else { Axis::linear(scaled.chain([0.0]), 4.0) };
    (axis, factor, unit)
}

fn draw_point(
    canvas: &mut Canvas,
    panel: &Panel,
    point: &PointRange,
    factor: f64,
    (arms, stats): (&[String], &[String]),
    input: &Percentiles,
) {
    let position = |names: &[String], name: &str| names.iter().position(|n| n == name).unwrap_or(0);
    let (arm, stat) = (position(arms, &point.arm), position(stats, &point.stat));
    // Arms stand side by side, at most a quarter of a step apart.
    let step = (0.6 / arms.len() as f64).min(0.25);
    let x = stat as f64 + (arm as f64 - (arms.len() as f64 - 1.0) / 2.0) * step;
    let stroke = Stroke::solid(Paint::Series(arm), 1.2);
    let ends = point.interval.map(|(low, high)| [panel.at(x, low * factor), panel.at(x, high * factor)]);
    if let Some(ends) = ends {
        canvas.line(ends.to_vec(), stroke);
    }
    let style = crate::number::Style::fitting(&input.unit, &[point.value]);
    let note = format!("{}, {}: {}", point.arm, point.stat, style.full(point.value));
    canvas.point(panel.at(x, point.value * factor), arm, arm % 2 == 1, Some(note));
    // On top of the point, which would hide the ends of a narrow interval.
    for (x, y) in ends.iter().flatten() {
        canvas.line(vec![(x - 4.0, *y), (x + 4.0, *y)], stroke);
    }
}

/// Lines that the legend will take, on a sheet that is thrown away.
fn legend_lines(arms: &[String]) -> f64 {
    let mut sheet = Canvas::new(WIDTH, 1.0);
    ((legend::draw(&mut sheet, 0.0, arms, Sample::Marker) - 2.0) / LINE).round()
}

/// Distinct names in the order of their first appearance.
fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    names.fold(Vec::new(), |mut seen, name| {
        if !seen.contains(name) {
            seen.push(name.clone());
        }
        seen
    })
}

fn data(input: &Percentiles) -> study_table::Table {
    let text = |name: &str, meaning: &str| Field::new(name, ColumnType::Str, "", meaning);
    let number = |name: &str, meaning: &str| Field::new(name, ColumnType::Float, &input.unit, meaning);
    let mut b = TableBuilder::new(vec![
        text("cell", "cell of the matrix"),
        text("arm", "the arm"),
        text("stat", "the percentile"),
        number("value", "estimate"),
        number("ci_low", "lower end of the interval"),
        number("ci_high", "upper end of the interval"),
    ]);
    for point in &input.points {
        let (low, high) = point.interval.map_or((Cell::Null, Cell::Null), |(l, h)| (Cell::Float(l), Cell::Float(h)));
        let texts = [&point.panel, &point.arm, &point.stat].map(|t| Cell::Str(t));
        b.row(&[texts[0], texts[1], texts[2], Cell::Float(point.value), low, high]);
    }
    b.finish()
}
