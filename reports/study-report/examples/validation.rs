//! The page `docs/models/validation.md` with its figures, from what the tests recorded.
//!
//! `cargo xtask validation` runs it: `validation EVIDENCE OUT [PICTURES]` reads the records of the folder `EVIDENCE` and
//! writes the page and its figures as SVG into the folder `OUT`, and the figures as PNG into the folder `PICTURES`.

use std::path::Path;
use std::process::ExitCode;
use study_evidence::{Bound, Curve, Record, Row, Topic, page};
use study_report::figure::chart::{self, Chart, Look, Scaled, Series};
use study_report::figure::improvement::{self, Improvement};
use study_report::figure::{Figure, Words};

/// A figure made of recorded curves.
struct Plan {
    id: &'static str,
    topic: Topic,
    title: &'static str,
    caption: &'static str,
    x: (&'static str, bool),
    y: (&'static str, bool),
    /// How each curve is drawn, by name; a curve that is not named here is a line.
    marked: &'static [(&'static str, Look)],
}

/// One row per figure; the curves are what tests recorded under its id.
const PLANS: [Plan; 4] = [
    Plan {
        id: "loss_throughput",
        topic: Topic::Windows,
        title: "Throughput against independent loss",
        caption: "Throughput of one long flow against the rate of independent loss; 100 ms, 1,448 B of payload per packet, an \
                  acknowledgement for each packet, mean of eight seeds. Lines are formulas: Mathis with C = 1.22, PFTK with a \
                  timeout of 300 ms, RFC 9438 section 5.1. Beyond 1 % PFTK counts timeouts that SACK and RACK-TLP avoid; no \
                  bound is tested there.",
        x: ("loss rate (%)", true),
        y: ("throughput (Mbit/s)", true),
        marked: &[("NewReno, model", Look::Points), ("CUBIC, model", Look::Points)],
    },
    Plan {
        id: "cubic_window",
        topic: Topic::Windows,
        title: "CUBIC's window after a loss",
        caption: "CUBIC's window after one loss, as packets that leave within a round trip of 200 ms, and the closed form of RFC \
                  9438 section 4.2 from the window before the loss.",
        x: ("time since the epoch began (s)", false),
        y: ("window (packets)", false),
        marked: &[("CUBIC, model", Look::Points)],
    },
    Plan {
        id: "bbr_v1",
        topic: Topic::Bbr,
        title: "BBRv1 against independent loss",
        caption: "BBRv1's share of a link of 10 Mbit/s and 100 ms against the rate of independent loss, and what is asked of it. \
                  It probes with 1.25 times its estimate, so it bears up to 20 % and collapses beyond.",
        x: ("loss rate (%)", false),
        y: ("goodput (share of the link)", false),
        marked: &[("BBRv1, model", Look::Both)],
    },
    Plan {
        id: "quinn",
        topic: Topic::Implementations,
        title: "Completion times, model over quinn",
        caption: "Completion time of the model over that of quinn's state machines, per transfer, over the same links with the same \
                  losses. The profile was fitted on the grid; nothing was fitted to the held-out transfers.",
        x: ("completion time of quinn (s)", true),
        y: ("model / quinn (ratio)", true),
        marked: &[("grid (in-sample)", Look::Points), ("held-out transfers", Look::Points)],
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [evidence, out] => write(Path::new(evidence), Path::new(out), None),
        [evidence, out, pictures] => write(Path::new(evidence), Path::new(out), Some(Path::new(pictures))),
        _ => {
            eprintln!("usage: validation EVIDENCE OUT [PICTURES]");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn write(evidence: &Path, out: &Path, pictures: Option<&Path>) -> Result<(), String> {
    let (mut rows, mut curves) = (Vec::new(), Vec::new());
    for record in study_evidence::read(evidence)? {
        match record {
            Record::Row(row) => rows.push(row),
            Record::Curve(curve) => curves.push(curve),
        }
    }
    let mut shown = Vec::new();
    let mut figures =
        PLANS.iter().map(|plan| Ok((plan.topic, drawn(plan, &curves)?))).collect::<Result<Vec<_>, String>>()?;
    figures.push((Topic::Losses, losses(&rows)));
    if let Some(stray) = curves.iter().find(|curve| PLANS.iter().all(|plan| plan.id != curve.figure)) {
        return Err(format!(
            "`{}` recorded a curve of `{}`, which is no figure of this page",
            stray.place.test, stray.figure
        ));
    }
    let file = |folder: &Path, name: &str, bytes: &[u8]| {
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(folder.join(name), bytes));
        written.map_err(|e| format!("cannot write `{}`: {e}", folder.join(name).display()))
    };
    for (topic, figure) in figures {
        if let Some(defect) = figure.defects().first() {
            return Err(format!("figure `{}`: {defect}", figure.id));
        }
        let path = format!("validation_{}.svg", figure.id);
        file(out, &path, figure.svg().as_bytes())?;
        if let Some(pictures) = pictures {
            file(pictures, &format!("{}.png", figure.id), &figure.png().map_err(|e| e.to_string())?)?;
        }
        shown.push(page::Figure { topic, path, alt: figure.alt, caption: figure.caption });
    }
    file(out, "validation.md", page::markdown(&rows, &shown).as_bytes())
}

fn words(id: &str, title: &str, caption: &str) -> Words {
    // The caption tells those who cannot see the figure what it shows; the table beneath has the numbers.
    Words { id: id.into(), title: title.into(), caption: caption.into(), alt: title.into() }
}

fn drawn(plan: &Plan, curves: &[Curve]) -> Result<Figure, String> {
    let look =
        |name: &str| plan.marked.iter().find(|(marked, _)| *marked == name).map_or(Look::Line, |(_, look)| *look);
    let of_plan = curves.iter().filter(|curve| curve.figure == plan.id);
    let series: Vec<Series> =
        of_plan.map(|c| Series { name: c.name.clone(), look: look(&c.name), points: c.points.clone() }).collect();
    if let Some((missing, _)) = plan.marked.iter().find(|(name, _)| series.iter().all(|s| s.name != *name)) {
        return Err(format!("figure `{}` lacks its curve `{missing}`: no test recorded it", plan.id));
    }
    let scaled = |(what, log): (&str, bool)| Scaled { what: what.into(), log, zero: true };
    let words = words(plan.id, plan.title, plan.caption);
    Ok(chart::figure(&Chart { words, x: scaled(plan.x), y: scaled(plan.y), series }))
}

/// The Gilbert chain's rows as deviations from theory with their three sigma.
fn losses(rows: &[Row]) -> Figure {
    let mut shown = Vec::new();
    for (reference, group) in
        [("Gilbert chain, loss", "loss rate"), ("Gilbert chain, mean burst", "mean burst of losses")]
    {
        for row in rows.iter().filter(|row| row.reference == reference) {
            if let (Some(expected), Bound::ThreeSigma { sigma }) = (row.expected, row.bound) {
                let (off, three) = (row.ours / expected - 1.0, 3.0 * sigma / expected);
                let name = row.condition.rsplit_once(", ").map_or(row.condition.as_str(), |(name, _)| name).to_owned();
                // Filled where theory lies outside of the interval.
                let shown_off = off.abs() > three;
                let interval = Some((off - three, off + three));
                shown.push(improvement::Row { group: group.into(), name, estimate: off, interval, shown: shown_off });
            }
        }
    }
    let caption = "Gilbert's chain: deviation of the measured loss rate and mean burst from theory, with intervals of three standard \
                   deviations; two million packets each. A hollow point's interval holds the theory's value, the line at 0.";
    improvement::figure(&Improvement {
        words: words("gilbert", "Gilbert-Elliott losses against theory", caption),
        axis: "deviation from theory (%)".into(),
        numbers: "% [3 sigma]".into(),
        rows: shown,
    })
}
