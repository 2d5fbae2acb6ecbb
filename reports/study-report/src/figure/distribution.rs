//! Cumulative distributions, one curve per arm.

use super::axis::{Axis, time_unit};
use super::canvas::{Anchor, Canvas};
use super::legend::{self, Sample};
use super::panel::{Labels, Panel};
use super::style::{Paint, Stroke, TEXT, WIDTH};
use super::{Figure, Words};
use study_table::{Cell, ColumnType, Field, TableBuilder};

/// Height of the figure in CSS pixels.
const HEIGHT: f64 = 215.0;

/// One curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Name in the legend: the arm.
    pub name: String,
    /// Pairs of value and share of observations at or below it, both ascending.
    pub points: Vec<(f64, f64)>,
}

/// What to draw.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// Words.
    pub words: Words,
    /// What is on the horizontal axis, without the unit: `segment delivery time`.
    pub what: String,
    /// Unit of the values, as in the frames.
    pub unit: String,
    /// Curves, in the order of the arms.
    pub curves: Vec<Curve>,
}

/// The figure. The horizontal axis is logarithmic when all values are positive and spread over a factor of five.
#[must_use]
pub fn figure(input: &Distribution) -> Figure {
    let values = || input.curves.iter().flat_map(|c| c.points.iter().map(|p| p.0));
    let (smallest, largest) = values().fold((f64::INFINITY, 0.0f64), |(l, h), v| (l.min(v), h.max(v)));
    let (factor, unit) = time_unit(&input.unit, largest);
    let log = smallest > 0.0 && largest / smallest > 5.0;
    let scaled = values().map(|v| v * factor);
    let x = if log { Axis::log(scaled) } else { Axis::linear(scaled.chain([0.0]), 5.0) };
    let y = Axis::linear([0.0, 1.0], 4.0);

    let mut canvas = Canvas::new(WIDTH, HEIGHT);
    let names: Vec<String> = input.curves.iter().map(|c| c.name.clone()).collect();
    let used = legend::draw(&mut canvas, 1.0, &names, Sample::Line);
    let area = (1.0, used, WIDTH - 4.0, HEIGHT - used - 3.0);
    let scale = if log { ", log scale" } else { "" };
    let unit = if unit.is_empty() { String::new() } else { format!(" ({unit}{scale})") };
    let labels = Labels { title: String::new(), x: format!("{}{unit}", input.what), y: "share of observations".into() };
    let panel = Panel::new(area, x, y, labels);
    panel.draw(&mut canvas);
    let (_, y95) = panel.at(0.0, 0.95);
    let guide = Stroke { paint: Paint::Soft, width: 0.7, dashes: &[2.0, 2.0] };
    canvas.line(vec![(panel.left, y95), (panel.right(), y95)], guide);
    canvas.text(panel.left + 4.0, y95 + TEXT, "95 %", Anchor::Start, Paint::Soft);
    for (i, curve) in input.curves.iter().enumerate() {
        canvas.line(steps(&panel, curve, factor), Stroke::series(i));
    }
    input.words.clone().figure(data(input), canvas)
}

/// The curve as a staircase: flat up to the next value, then up.
fn steps(panel: &Panel, curve: &Curve, factor: f64) -> Vec<(f64, f64)> {
    let mut points = Vec::with_capacity(curve.points.len() * 2);
    let mut below = 0.0;
    for (value, share) in &curve.points {
        points.push(panel.at(value * factor, below));
        points.push(panel.at(value * factor, *share));
        below = *share;
    }
    points
}

fn data(input: &Distribution) -> study_table::Table {
    let mut b = TableBuilder::new(vec![
        Field::new("arm", ColumnType::Str, "", "the arm"),
        Field::new("value", ColumnType::Float, &input.unit, "value of the metric"),
        Field::new("cdf", ColumnType::Float, "1", "share of observations at or below the value"),
    ]);
    for curve in &input.curves {
        for (x, share) in &curve.points {
            b.row(&[Cell::Str(&curve.name), Cell::Float(*x), Cell::Float(*share)]);
        }
    }
    b.finish()
}
