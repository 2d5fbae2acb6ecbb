//! Every kind of figure, drawn from fixtures. The pictures are left in the target folder (`tmp/`), to be looked at.

#![allow(clippy::unwrap_used)]

use study_report::figure::chart::{self, Chart, Look, Scaled, Series};
use study_report::figure::distribution::{self, Curve, Distribution};
use study_report::figure::improvement::{self, Improvement, Row};
use study_report::figure::percentiles::{self, Percentiles, PointRange};
use study_report::figure::trace::{self, Sampled, Session, Trace};
use study_report::figure::{Figure, Words};

fn words(id: &str) -> Words {
    Words { id: id.into(), title: "A title".into(), caption: "A caption.".into(), alt: "What is seen.".into() }
}

/// A curve with a floor, a bulk and a long tail, stretched by `factor`.
fn curve(name: &str, factor: f64, points: i32) -> Curve {
    let tail = |p: f64| p / (1.02 - p);
    let quantile = |p: f64| factor * (120.0 + 900.0 * p * p + 40.0 * tail(p) * tail(p));
    let points = (1..=points).map(|i| f64::from(i) / f64::from(points)).map(|p| (quantile(p), p)).collect();
    Curve { name: name.into(), points }
}

fn distribution_of(curves: Vec<Curve>) -> Figure {
    let input =
        Distribution { words: words("segment_time"), what: "segment delivery time".into(), unit: "ms".into(), curves };
    distribution::figure(&input)
}

fn percentiles_of(panels: &[&str], arms: &[&str]) -> Figure {
    let mut points = Vec::new();
    for (i, panel) in panels.iter().enumerate() {
        for (j, arm) in arms.iter().enumerate() {
            for (stat, base) in [("p50", 820.0), ("p95", 3900.0), ("p99", 9100.0)] {
                let value = base * (1.0 - 0.08 * j as f64) * (1.0 + 0.3 * i as f64);
                let interval = Some((value * 0.9, value * 1.12));
                points.push(PointRange {
                    panel: (*panel).into(),
                    arm: (*arm).into(),
                    stat: stat.into(),
                    value,
                    interval,
                });
            }
        }
    }
    let input =
        Percentiles { words: words("percentiles"), what: "segment delivery time".into(), unit: "ms".into(), points };
    percentiles::figure(&input)
}

fn trace_of(arms: &[&str]) -> Figure {
    let session = |arm: &&str, lag: f64| {
        let rates = [400.0, 400.0, 1500.0, 3000.0, 3000.0, 6000.0, 6000.0, 3000.0];
        let sample = |i: usize| Sampled {
            time_s: i as f64 * (3.7 + lag) + 0.4,
            buffer_s: (4.0 * i as f64 - 2.2 * lag * i as f64).rem_euclid(29.0),
            bitrate_kbit_s: rates[(i / 4) % rates.len()],
        };
        Session { arm: (*arm).into(), samples: (0..30).map(sample).collect() }
    };
    let sessions = arms.iter().enumerate().map(|(i, arm)| session(arm, i as f64 * 0.25)).collect();
    trace::figure(&Trace { words: words("trace"), sessions })
}

fn improvement_of(scale: f64) -> Figure {
    let row = |group: &str, name: &str, x: f64, half: f64| Row {
        group: group.into(),
        name: name.into(),
        estimate: x * scale,
        interval: Some((x * scale - half * scale.abs(), x * scale + half * scale.abs())),
        shown: (x - half) * (x + half) > 0.0,
    };
    let rows = vec![
        row("p95 of segment delivery time", "round_robin x 1", 0.012, 0.02),
        row("p95 of segment delivery time", "round_robin x 3", 0.213, 0.024),
        row("p95 of segment delivery time", "sequential x 1", 0.011, 0.02),
        row("p95 of segment delivery time", "sequential x 3", -0.034, 0.019),
        row("Experience", "median startup", 0.352, 0.031),
        row("Experience", "mean bitrate", 0.018, 0.012),
    ];
    improvement::figure(&Improvement {
        words: words("improvement"),
        axis: "improvement of h3 over h2 (%)".into(),
        numbers: "% [95 % CI]".into(),
        rows,
    })
}

/// Names a figure, leaves its pictures for a look, and checks what holds for every figure.
fn check(name: &str, figure: &Figure) {
    let (svg, png) = (figure.svg(), figure.png().unwrap());
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join(format!("{name}.png")), &png).unwrap();
    std::fs::write(folder.join(format!("{name}.svg")), &svg).unwrap();
    assert_eq!(figure.defects(), Vec::<String>::new(), "{name}");
    assert!(svg.contains("viewBox=") && svg.contains("<title") && svg.contains("<desc"), "{name}");
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}");
    assert!(png.starts_with(b"\x89PNG"), "{name}");
    assert_eq!(svg, figure.svg(), "{name}: equal input gives equal bytes");
    assert_eq!(png, figure.png().unwrap(), "{name}: equal input gives equal bytes");
}

#[test]
fn distributions_are_drawn_without_defects() {
    check("distribution", &distribution_of(vec![curve("h2", 1.0, 512), curve("h3", 0.82, 512)]));
    let arms = ["h2_stock", "h2_tuned", "h1x6", "h3_stock", "h3_tuned", "h3_quinn-0.11"];
    let many = arms.iter().enumerate().map(|(i, arm)| curve(arm, 1.0 - 0.1 * i as f64, 60)).collect();
    check("distribution_many", &distribution_of(many));
    check("distribution_few", &distribution_of(vec![curve("h2", 0.002, 3)]));
    check("distribution_flat", &distribution_of(vec![Curve { name: "h2".into(), points: vec![(5.0, 1.0)] }]));
    check(
        "distribution_zero",
        &distribution_of(vec![Curve { name: "h2".into(), points: vec![(0.0, 0.5), (9.0, 1.0)] }]),
    );
    check("distribution_empty", &distribution_of(Vec::new()));
}

#[test]
fn percentiles_are_drawn_without_defects() {
    let cells = ["round_robin x 1", "round_robin x 3", "sequential x 1", "sequential x 3"];
    check("percentiles", &percentiles_of(&cells, &["h2", "h3"]));
    check("percentiles_one", &percentiles_of(&[""], &["h2", "h3", "h1x6"]));
    check("percentiles_five", &percentiles_of(&[&cells[..], &["a cell of a very long name indeed"]].concat(), &["h2"]));
    check("percentiles_empty", &percentiles_of(&[], &[]));
}

#[test]
fn traces_are_drawn_without_defects() {
    check("trace", &trace_of(&["h2", "h3"]));
    check("trace_one", &trace_of(&["h2"]));
    check("trace_empty", &trace_of(&[]));
}

#[test]
fn improvements_are_drawn_without_defects() {
    check("improvement", &improvement_of(1.0));
    check("improvement_small", &improvement_of(0.01));
    check("improvement_large", &improvement_of(-9.0));
    let none = Improvement {
        words: words("improvement"),
        axis: "improvement (%)".into(),
        numbers: String::new(),
        rows: Vec::new(),
    };
    check("improvement_empty", &improvement::figure(&none));
}

fn chart_of(log: bool, names: &[&str], points: usize) -> Figure {
    let series = |(i, name): (usize, &&str)| Series {
        name: (*name).into(),
        look: [Look::Both, Look::Line, Look::Points][i % 3],
        points: (1..=points).map(|k| k as f64 / points as f64).map(|x| (3.0 * x, 40.0 * x * x + i as f64)).collect(),
    };
    let axis = |what: &str| Scaled { what: what.into(), log, zero: true };
    chart::figure(&Chart {
        words: words("chart"),
        x: axis("loss rate (%)"),
        y: axis("rate (Mbit/s)"),
        series: names.iter().enumerate().map(series).collect(),
    })
}

#[test]
fn charts_are_drawn_without_defects() {
    let names = ["NewReno, model", "CUBIC, model", "Mathis et al. 1997", "Padhye et al. 1998", "RFC 9438"];
    check("chart", &chart_of(false, &names, 12));
    check("chart_log", &chart_of(true, &names, 300));
    check("chart_one", &chart_of(false, &names[..1], 1));
    check("chart_empty", &chart_of(true, &[], 0));
    assert!(chart_of(true, &names, 2).svg().contains("loss rate (%, log scale)"));
}

#[test]
fn the_data_behind_a_figure_are_what_is_drawn() {
    let csv = distribution_of(vec![Curve { name: "h2".into(), points: vec![(0.1 + 0.2, 0.5), (9.0, 1.0)] }]).csv();
    assert_eq!(csv, "arm,value,cdf\nh2,0.30000000000000004,0.5\nh2,9.0,1.0\n");
    assert!(improvement_of(1.0).csv().starts_with("group,name,improvement,ci_low,ci_high,shown\n"));
    assert_eq!(trace_of(&["h2"]).csv().lines().count(), 31);
    assert_eq!(percentiles_of(&["a"], &["h2"]).csv().lines().count(), 4);
}
