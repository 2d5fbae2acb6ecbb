//! Curves and points over two numeric axes: what a model gives against what a formula says.

use super::axis::Axis;
use super::canvas::Canvas;
use super::legend::{self, Sample};
use super::panel::{LINE, Labels, Panel};
use super::style::{Stroke, WIDTH};
use super::{Figure, Words};
use study_table::{Cell, ColumnType, Field, TableBuilder};

/// Height of the panel with its axes in CSS pixels.
const PANEL: f64 = 200.0;

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// A line from point to point.
    Line,
    /// A marker at each point.
    Points,
    /// Markers, joined by a line.
    Both,
}

/// One series.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// How it is drawn.
    pub look: Look,
    /// Pairs of x and y; a line joins them in this order.
    pub points: Vec<(f64, f64)>,
}

/// One axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scaled {
    /// What it shows, with the unit: `loss rate (%)`.
    pub what: String,
    /// Whether it is logarithmic; then values must be above 0.
    pub log: bool,
    /// Whether it begins at 0 (linear axes only).
    pub zero: bool,
}

/// What to draw.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Words.
    pub words: Words,
    /// Horizontal axis.
    pub x: Scaled,
    /// Vertical axis.
    pub y: Scaled,
    /// Series; the first lies lowest.
    pub series: Vec<Series>,
}

/// The figure.
#[must_use]
pub fn figure(input: &Chart) -> Figure {
    let points = || input.series.iter().flat_map(|s| s.points.iter());
    let (x, y) = (axis(&input.x, points().map(|p| p.0)), axis(&input.y, points().map(|p| p.1)));
    let samples: Vec<(String, Sample)> = input.series.iter().map(|s| (s.name.clone(), sample(s.look))).collect();
    let used = legend::draw_each(&mut Canvas::new(WIDTH, 1.0), 1.0, &samples);
    let height = used + PANEL + LINE;
    let mut canvas = Canvas::new(WIDTH, height);
    legend::draw_each(&mut canvas, 1.0, &samples);
    let title = |axis: &Scaled| if axis.log { axis.what.replacen(')', ", log scale)", 1) } else { axis.what.clone() };
    let labels = Labels { title: String::new(), x: title(&input.x), y: title(&input.y) };
    let panel = Panel::new((1.0, used, WIDTH - 4.0, height - used - 3.0), x, y, labels);
    panel.draw(&mut canvas);
    for (i, series) in input.series.iter().enumerate() {
        if series.look != Look::Points {
            canvas.line(series.points.iter().map(|(x, y)| panel.at(*x, *y)).collect(), Stroke::series(i));
        }
        if series.look != Look::Line {
            // A crowd of points is drawn smaller, so that it stays a crowd of points.
            let radius = if series.points.len() > 100 { 1.4 } else { 2.5 };
            for (x, y) in &series.points {
                canvas.mark(panel.at(*x, *y), i, radius);
            }
        }
    }
    input.words.clone().figure(data(input), canvas)
}

fn axis(scaled: &Scaled, values: impl Iterator<Item = f64>) -> Axis {
    if scaled.log {
        Axis::log(values)
    } else if scaled.zero {
        Axis::linear(values.chain([0.0]), 5.0)
    } else {
        Axis::linear(values, 5.0)
    }
}

const fn sample(look: Look) -> Sample {
    match look {
        Look::Line => Sample::Line,
        Look::Points => Sample::Point,
        Look::Both => Sample::LineAndPoint,
    }
}

fn data(input: &Chart) -> study_table::Table {
    let mut b = TableBuilder::new(vec![
        Field::new("series", ColumnType::Str, "", "the series"),
        Field::new("x", ColumnType::Float, "", &input.x.what),
        Field::new("y", ColumnType::Float, "", &input.y.what),
    ]);
    for series in &input.series {
        for (x, y) in &series.points {
            b.row(&[Cell::Str(&series.name), Cell::Float(*x), Cell::Float(*y)]);
        }
    }
    b.finish()
}
