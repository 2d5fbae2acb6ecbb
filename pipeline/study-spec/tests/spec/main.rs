//! The study reader as a whole, over stage kinds that exist for these tests only.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests read the samples in `studies/invalid`")]

mod edits;
mod hostile;
mod invalid;
mod plan;
mod problems;
mod registry;
mod scale;
mod schema;

use study_spec::{Loaded, Options, Study, load};
use study_tree::Severity;

/// A small study with every kind in it.
pub const STUDY: &str = r#"
study: small
title: A small study
seed: 7
runs: 4
links:
  last_mile: { symmetric: true, rtt: 30 ms, rate: 20 Mbit/s, loss: { gilbert_elliott: { good_to_bad: 3 %, bad_to_good: 30 %, loss_in_bad: 40 %, clock: packet } } }
  origin: { symmetric: true, rtt: 80 ms, rate: 100 Mbit/s }
arms:
  h2: { protocol: h2, congestion_control: cubic }
  h3: { protocol: h3, congestion_control: cubic }
stages:
  catalog: { kind: catalog, titles: 20, popularity: { zipf: 1.1 }, segment: 4 s, duration: 40 s, ladder: go_simulator }
  routing:
    kind: routing
    needs: [catalog]
    clients: 10
    edges:
      singapore: { geo: singapore, client_link: last_mile, origin_link: origin }
  experience:
    kind: simulate
    mode: modeled
    needs: [catalog, routing]
    arms: [h2, h3]
    player: { prefetch: 3, decisions: closed_loop }
  transport:
    like: experience
    clients: 4
    player: { decisions: { replay: h2 } }
    matrix: { scheduler: [round_robin, sequential], player.prefetch: [1, 3] }
  aggregate: { kind: aggregate, needs: [experience, transport] }
  bootstrap: { kind: bootstrap, needs: [aggregate], resamples: 1000 }
claims:
  - { id: C1, of: experience, metric: startup_ms }
ci: { runs: 2, routing: { clients: 5 }, transport: { clients: 2 } }
"#;

fn with(text: &str, options: &Options) -> Loaded {
    load(&registry::REGISTRY, "small.yaml", text.as_bytes(), options)
}

/// `code line:column message | help`, errors and warnings, in the order of their places.
fn said(loaded: &Loaded) -> Vec<String> {
    loaded
        .diagnostics
        .sorted()
        .into_iter()
        .map(|d| {
            let (line, column) = loaded.sources.line_column(d.span);
            let severity = if d.severity == Severity::Warning { "warning " } else { "" };
            format!("{severity}{} {line}:{column} {} | {}", d.code, d.message, d.help.as_deref().unwrap_or_default())
        })
        .collect()
}

/// The problems of a text.
fn problems(text: &str) -> Vec<String> {
    said(&with(text, &Options::default()))
}

/// The study, which must have no problems at all.
fn good(text: &str) -> Study {
    good_with(text, &Options::default())
}

fn good_with(text: &str, options: &Options) -> Study {
    let loaded = with(text, options);
    assert_eq!(said(&loaded), Vec::<String>::new(), "{text}");
    loaded.study.unwrap()
}

/// Options with these `--set`.
fn sets(sets: &[&str]) -> Options {
    Options { sets: sets.iter().map(|s| (*s).to_owned()).collect(), ..Options::default() }
}

/// The canonical parameters of a node.
fn params(study: &Study, id: &str) -> serde_json::Value {
    study.nodes.iter().find(|n| n.id == id).unwrap_or_else(|| panic!("no node {id}")).params.canonical()
}

/// The study with one piece of its text replaced, which must be there once.
fn edited(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "`{from}` must occur once");
    text.replace(from, to)
}
