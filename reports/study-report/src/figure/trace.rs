//! One session over time: buffer above, bitrate below.

use super::axis::Axis;
use super::canvas::Canvas;
use super::legend::{self, Sample};
use super::panel::{Labels, Panel};
use super::style::{Stroke, WIDTH};
use super::{Figure, Words};
use study_table::{Cell, ColumnType, Field, TableBuilder};

const HEIGHT: f64 = 290.0;

/// The state of the player when a segment arrives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampled {
    /// Seconds since the session began.
    pub time_s: f64,
    /// Seconds of video in the buffer after the segment.
    pub buffer_s: f64,
    /// Bitrate of the segment in kbit/s.
    pub bitrate_kbit_s: f64,
}

/// One arm's session.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// The arm.
    pub arm: String,
    /// In order of time.
    pub samples: Vec<Sampled>,
}

/// What to draw.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Words.
    pub words: Words,
    /// The same viewer in every arm.
    pub sessions: Vec<Session>,
}

/// The figure.
#[must_use]
pub fn figure(input: &Trace) -> Figure {
    let samples = || input.sessions.iter().flat_map(|s| s.samples.iter());
    let time = || Axis::linear(samples().map(|s| s.time_s).chain([0.0]), 5.0);
    let buffer = Axis::linear(samples().map(|s| s.buffer_s).chain([0.0]), 4.0);
    let bitrate = Axis::linear(samples().map(|s| s.bitrate_kbit_s / 1000.0).chain([0.0]), 4.0);

    let mut canvas = Canvas::new(WIDTH, HEIGHT);
    let names: Vec<String> = input.sessions.iter().map(|s| s.arm.clone()).collect();
    let used = legend::draw(&mut canvas, 1.0, &names, Sample::Line);
    let room = HEIGHT - used - 3.0;
    let upper = Labels { y: "buffer (s)".into(), ..Labels::default() };
    let lower = Labels {
        y: "bitrate of the segment (Mbit/s)".into(),
        x: "time since the session began (s)".into(),
        ..Labels::default()
    };
    // Both panels begin at one place, so that one moment lies in one vertical line.
    let indent = buffer.label_width(super::style::TEXT) - bitrate.label_width(super::style::TEXT);
    let area = |top: f64, height: f64, indent: f64| (1.0 + indent.max(0.0), top, WIDTH - 4.0 - indent.max(0.0), height);
    let top = Panel::new(area(used, room * 0.47, -indent), time(), buffer, upper);
    let bottom = Panel::new(area(used + room * 0.47, room * 0.53, indent), time(), bitrate, lower);
    top.draw(&mut canvas);
    bottom.draw(&mut canvas);
    for (i, session) in input.sessions.iter().enumerate() {
        let line = session.samples.iter().map(|s| top.at(s.time_s, s.buffer_s)).collect();
        canvas.line(line, Stroke::series(i));
        canvas.line(steps(&bottom, session), Stroke::series(i));
    }
    input.words.clone().figure(data(input), canvas)
}

/// The bitrate holds until the next segment arrives.
fn steps(panel: &Panel, session: &Session) -> Vec<(f64, f64)> {
    let mut points = Vec::with_capacity(session.samples.len() * 2);
    let mut before: Option<f64> = None;
    for sample in &session.samples {
        let rate = sample.bitrate_kbit_s / 1000.0;
        if let Some(before) = before {
            points.push(panel.at(sample.time_s, before));
        }
        points.push(panel.at(sample.time_s, rate));
        before = Some(rate);
    }
    points
}

fn data(input: &Trace) -> study_table::Table {
    let mut b = TableBuilder::new(vec![
        Field::new("arm", ColumnType::Str, "", "the arm"),
        Field::new("time_s", ColumnType::Float, "s", "since the session began"),
        Field::new("buffer_s", ColumnType::Float, "s", "video in the buffer after the segment"),
        Field::new("bitrate_kbit_s", ColumnType::Float, "kbit/s", "bitrate of the segment"),
    ]);
    for session in &input.sessions {
        for s in &session.samples {
            let numbers = [s.time_s, s.buffer_s, s.bitrate_kbit_s].map(Cell::Float);
            b.row(&[Cell::Str(&session.arm), numbers[0], numbers[1], numbers[2]]);
        }
    }
    b.finish()
}
