//! The figures of the report.

use super::evidence::Chosen;
use super::frame::{Frames, Rows};
use super::params::{FigureChoice, ReportParams};
use study_report::effect::{Effect, EffectKind, Level, Place, Reading};
use study_report::figure::distribution::{self, Curve, Distribution};
use study_report::figure::improvement::{self, Improvement, Row};
use study_report::figure::percentiles::{self, Percentiles, PointRange};
use study_report::figure::trace::{self, Sampled, Session, Trace};
use study_report::figure::{Figure, Words};
use study_report::metric::{describe_short, find};
use study_report::number::{Style, count, quantity};
use study_report::section::LadderRow;
use study_stage::{Inputs, StageError};

/// Cells in one figure at most; more could not be read at single-column width.
const MOST_CELLS: usize = 8;
/// Values in the text for readers who cannot see a figure at most.
const MOST_SPOKEN: usize = 6;

/// Those that were asked for and have data.
pub(super) fn all(
    params: &ReportParams,
    inputs: &Inputs,
    frames: &Frames,
    chosen: &Chosen,
    ladder: &[LadderRow],
) -> Result<Vec<Figure>, StageError> {
    let curves = Rows::read(inputs, "curves")?;
    let traces = Rows::read(inputs, "traces")?;
    let draw = |choice: &FigureChoice| match choice {
        FigureChoice::SegmentTime => {
            distribution_of("segment_time", "ttlb_ms", curves.as_ref()?, frames, chosen.transport_node.as_deref())
        }
        FigureChoice::Startup => {
            distribution_of("startup", "startup_ms", curves.as_ref()?, frames, chosen.experience_node.as_deref())
        }
        FigureChoice::Percentiles => percentiles_of(frames, chosen),
        FigureChoice::Trace => trace_of(traces.as_ref()?, chosen),
        FigureChoice::Improvement => improvement_of(chosen),
        FigureChoice::Ladder => super::ladder::figure(ladder),
    };
    Ok(params.figures.iter().filter_map(draw).collect())
}

/// A place in a caption: `stage transport, scheduler round_robin, prefetch 3`.
fn place_text(place: &Place) -> String {
    let cell = place.cell_text();
    if cell.is_empty() { format!("stage `{}`", place.stage) } else { format!("stage `{}`, {cell}", place.stage) }
}

/// `n` and runs of a statistic: `12,000 observations per arm in 40 runs`.
fn sample_text(frames: &Frames, metric: &str, node: &str) -> String {
    let same = |l: &&Level| l.metric == metric && l.place.node == node;
    let levels = frames.levels();
    let known = levels.iter().find(same).map(|l| (l.n, l.clusters));
    let pooled = frames.pooled.iter().find(|p| p.metric == metric && p.place.node == node).map(|p| p.n);
    match (known, pooled) {
        (Some((n, runs)), _) => format!("{} observations per arm in {}", count(n), runs_text(runs)),
        (None, Some(n)) => format!("{} observations per arm", count(n)),
        _ => "all observations".to_owned(),
    }
}

fn runs_text(runs: u64) -> String {
    if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") }
}

/// The cumulative distribution of one metric at one node (the first that has it, when none is chosen).
fn distribution_of(id: &str, metric: &str, rows: &Rows, frames: &Frames, node: Option<&str>) -> Option<Figure> {
    let of_metric = || (0..rows.len()).filter(|row| rows.text(*row, "metric") == metric);
    let node = node.map(str::to_owned).or_else(|| of_metric().next().map(|row| rows.text(row, "node")))?;
    let mut curves: Vec<Curve> = Vec::new();
    let mut place = None;
    for row in of_metric().filter(|row| rows.text(*row, "node") == node) {
        let arm = rows.text(row, "arm");
        if curves.last().is_none_or(|c| c.name != arm) {
            curves.push(Curve { name: arm, points: Vec::new() });
        }
        // Observations that never came have no place on the axis: the curve ends below 1.
        if let (Some(x), Some(share), Some(curve)) = (rows.float(row, "x"), rows.float(row, "cdf"), curves.last_mut()) {
            curve.points.push((x, share));
        }
        place.get_or_insert_with(|| rows.place(row));
    }
    curves.retain(|c| !c.points.is_empty());
    let (place, known) = (place?, find(metric)?);
    if curves.is_empty() {
        return None;
    }
    let caption = format!(
        "Cumulative distribution of {} ({}), all runs pooled: {}. The dashed line marks 95 %.",
        known.label,
        place_text(&place),
        sample_text(frames, metric, &node)
    );
    let words = Words {
        id: id.to_owned(),
        title: format!("Cumulative distribution of {}", known.label),
        caption,
        alt: distribution_alt(known.label, known.unit, &curves),
    };
    let (what, unit) = (known.label.to_owned(), known.unit.to_owned());
    Some(distribution::figure(&Distribution { words, what, unit, curves }))
}

fn distribution_alt(label: &str, unit: &str, curves: &[Curve]) -> String {
    let at = |curve: &Curve, share: f64| curve.points.iter().find(|p| p.1 >= share).map(|p| quantity(p.0, unit));
    let sentences: Vec<String> = curves
        .iter()
        .filter_map(|c| Some(format!("{}: median {}, 95 % within {}", c.name, at(c, 0.5)?, at(c, 0.95)?)))
        .collect();
    format!("Curves of the cumulative distribution of {label}, one per arm. {}.", sentences.join("; "))
}

/// Percentiles of the segment time in every cell.
fn percentiles_of(frames: &Frames, chosen: &Chosen) -> Option<Figure> {
    let is_percentile = |l: &Level| l.metric == "ttlb_ms" && l.stat.starts_with('p');
    let levels: Vec<Level> = frames.levels().into_iter().filter(is_percentile).collect();
    let stage = match &chosen.evidence.transport {
        Some(transport) => transport.default.place.stage.clone(),
        None => levels.first()?.place.stage.clone(),
    };
    let mut shown: Vec<&Level> = levels.iter().filter(|l| l.place.stage == stage && l.estimate.is_some()).collect();
    let mut cells: Vec<&str> = shown.iter().map(|l| l.place.node.as_str()).collect();
    cells.dedup();
    if cells.len() > MOST_CELLS {
        let default = chosen.transport_node.as_deref().unwrap_or(cells[0]).to_owned();
        shown.retain(|l| l.place.node == default);
    }
    let first = *shown.first()?;
    let interval = first.interval.map_or_else(String::new, |i| format!(" with {}s over runs", i.label()));
    let words = Words {
        id: "percentiles".to_owned(),
        title: "Percentiles of segment delivery time".to_owned(),
        caption: format!(
            "Percentiles of segment delivery time{interval} in the cells of `{stage}`: per run (type 7), combined over {} \
             on the log scale.",
            runs_text(first.clusters)
        ),
        alt: percentiles_alt(&shown),
    };
    let points = shown.iter().filter_map(|l| {
        let panel = l.place.cell_short();
        let interval = l.interval.map(|i| (i.low, i.high));
        Some(PointRange { panel, arm: l.arm.clone(), stat: l.stat.clone(), value: l.estimate?, interval })
    });
    let (what, unit) = ("segment delivery time".to_owned(), "ms".to_owned());
    Some(percentiles::figure(&Percentiles { words, what, unit, points: points.collect() }))
}

fn percentiles_alt(levels: &[&Level]) -> String {
    let of = |l: &&Level| {
        let cell = l.place.cell_text();
        let cell = if cell.is_empty() { String::new() } else { format!(" ({cell})") };
        l.estimate.map(|x| format!("{} {}{cell} {}", l.arm, l.stat, quantity(x, &l.unit)))
    };
    let p95: Vec<String> = levels.iter().filter(|l| l.stat == "p95").filter_map(of).collect();
    // A long list is no help to a listener; the tables have it.
    let values = if p95.len() <= MOST_SPOKEN { format!(" {}.", p95.join("; ")) } else { String::new() };
    format!("Points with intervals for each percentile and arm, one panel per cell.{values}")
}

/// The sampled session at the closed-loop node, or at the first node that has one.
fn trace_of(rows: &Rows, chosen: &Chosen) -> Option<Figure> {
    if rows.len() == 0 {
        return None;
    }
    let wanted = chosen.experience_node.as_deref();
    let known = |node: &&str| (0..rows.len()).any(|row| rows.text(row, "node") == **node);
    let node = wanted.filter(known).map_or_else(|| rows.text(0, "node"), str::to_owned);
    let mut sessions: Vec<Session> = Vec::new();
    let mut first = None;
    for row in (0..rows.len()).filter(|row| rows.text(*row, "node") == node) {
        let arm = rows.text(row, "arm");
        if sessions.last().is_none_or(|s| s.arm != arm) {
            sessions.push(Session { arm, samples: Vec::new() });
        }
        first.get_or_insert(row);
        let values = ["time_s", "buffer_s", "bitrate_kbit_s"].map(|name| rows.float(row, name));
        if let ([Some(time_s), Some(buffer_s), Some(bitrate_kbit_s)], Some(session)) = (values, sessions.last_mut()) {
            session.samples.push(Sampled { time_s, buffer_s, bitrate_kbit_s });
        }
    }
    sessions.retain(|s| !s.samples.is_empty());
    let first = first.filter(|_| !sessions.is_empty())?;
    let [run, client] = ["run", "client"].map(|name| rows.text(first, name));
    let words = Words {
        id: "trace".to_owned(),
        title: "One session over time".to_owned(),
        caption: format!(
            "One session over time (`{node}`, run {run}, viewer {client}, the one with the median startup of the first arm): \
             buffer after each segment, and bitrate of the segments as they arrive. An example, not a result."
        ),
        alt: "Two panels over time, one line per arm: seconds of video in the buffer, and bitrate of the segments."
            .to_owned(),
    };
    Some(trace::figure(&Trace { words, sessions }))
}

/// Improvements of the headline in every cell, and of the experience.
fn improvement_of(chosen: &Chosen) -> Option<Figure> {
    let headline: Vec<&Effect> = chosen.evidence.transport.iter().flat_map(|t| &t.cells).collect();
    let pair = headline.first().copied().or(chosen.experience.first()).map(|e| (e.arm_a.clone(), e.arm_b.clone()))?;
    let experience = chosen.experience.iter().filter(|e| Some(&e.place.node) == chosen.experience_node.as_ref());
    let drawn: Vec<&Effect> = headline
        .into_iter()
        .take(24)
        .chain(experience)
        .filter(|e| e.kind == EffectKind::Improvement && (&e.arm_a, &e.arm_b) == (&pair.0, &pair.1))
        .collect();
    let transport = |e: &Effect| chosen.transport.contains(e);
    let rows: Vec<Row> = drawn.iter().filter_map(|e| row_of(e, transport(e))).collect();
    let first = drawn.iter().find(|e| e.interval.is_some()).or(drawn.first())?;
    if rows.is_empty() {
        return None;
    }
    let level = first.interval.map_or_else(|| "interval".to_owned(), |i| i.label());
    let (a, b) = pair;
    let words = Words {
        id: "improvement".to_owned(),
        title: format!("Improvement of {b} over {a}"),
        caption: format!(
            "Improvement of {b} over {a} with {level}s ({}, {}); positive is better. Filled points: interval and sign-flip \
             test both exclude 0.",
            first.method,
            runs_text(first.clusters)
        ),
        alt: improvement_alt(&rows),
    };
    Some(improvement::figure(&Improvement {
        words,
        axis: format!("improvement of {b} over {a} (%)"),
        numbers: format!("% [{level}]"),
        rows,
    }))
}

fn row_of(effect: &Effect, transport: bool) -> Option<Row> {
    let statistic = describe_short(&effect.metric, &effect.stat);
    let cell = effect.place.cell_short();
    let (group, name) = match (transport, cell.is_empty()) {
        (true, false) => (format!("{statistic} (`{}`)", effect.place.stage), cell),
        (true, true) => (format!("`{}`", effect.place.stage), statistic),
        (false, _) => (format!("`{}`", effect.place.stage), statistic),
    };
    Some(Row {
        // The figure has no code font.
        group: group.replace('`', ""),
        name,
        estimate: effect.estimate?,
        interval: effect.interval.map(|i| (i.low, i.high)),
        shown: matches!(effect.reading(), Reading::Better | Reading::Worse),
    })
}

fn improvement_alt(rows: &[Row]) -> String {
    let of = |r: &Row| {
        let (low, high) = r.interval.unwrap_or((r.estimate, r.estimate));
        let style = Style::fitting("1", &[r.estimate, low, high]);
        let interval = r.interval.map_or_else(String::new, |_| format!(" ({})", style.range(low, high)));
        format!("{}, {}: {}{interval}", r.group, r.name, style.full(r.estimate))
    };
    let values = rows.iter().take(MOST_SPOKEN).map(of).collect::<Vec<_>>().join("; ");
    format!("Points with intervals and the line of no effect. {values}.")
}
