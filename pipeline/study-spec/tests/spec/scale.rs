//! Generated studies: the work grows with the size, which is counted, not timed.

use crate::{good, problems};
use std::fmt::Write;

/// `n` stages in a chain of small fans: each aggregate reads one simulation.
pub fn many_stages(n: usize) -> String {
    let mut text = String::from(
        "study: many\nruns: 1\nstages:\n  c: { kind: catalog, titles: 1, segment: 4 s, duration: 8 s }\n  \
         r: { kind: routing, needs: [c], clients: 1, edges: {} }\n",
    );
    for i in 0..n / 2 {
        write!(text, "  s{i}: {{ kind: simulate, mode: modeled, arms: [], needs: [c, r], clients: {i} }}\n  a{i}: {{ kind: aggregate, needs: [s{i}] }}\n").unwrap();
    }
    text
}

#[test]
fn twenty_thousand_written_stages_become_a_plan() {
    let study = good(&many_stages(20_000));
    assert_eq!(study.nodes.len(), 20_002);
    assert_eq!(study.nodes[20_001].id, "a9999");
}

#[test]
fn ten_thousand_cells_become_a_plan() {
    let clients = (0..100).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    let text = crate::edited(
        crate::STUDY,
        "player.prefetch: [1, 3]",
        &format!("clients: [{clients}], runs: [{}]", (1..=50).map(|i| i.to_string()).collect::<Vec<_>>().join(", ")),
    );
    let study = good(&text);
    assert_eq!(study.nodes.len(), 10_000 + 6);
    assert_eq!(study.nodes.last().unwrap().inputs["segments"].len(), 10_001);
}

#[test]
fn a_chain_of_thousands_of_needs_and_likes_does_not_exhaust_the_stack() {
    let mut text =
        String::from("study: chain\nstages:\n  x0: { kind: catalog, titles: 1, segment: 4 s, duration: 8 s }\n");
    for i in 1..5_000 {
        writeln!(text, "  x{i}: {{ like: x{} }}", i - 1).unwrap();
    }
    assert_eq!(good(&text).nodes.len(), 5_000);
    let mut text = String::from("study: chain\nstages:\n");
    for i in 0..5_000 {
        writeln!(text, "  x{i}: {{ kind: aggregate, needs: [x{}] }}", (i + 1) % 5_000).unwrap();
    }
    let found = problems(&text);
    assert!(found.iter().any(|p| p.starts_with("cycle 3:")), "{:?}", found.len());
}

#[test]
fn thousands_of_problems_are_all_reported() {
    let text = many_stages(4_000).replace("mode: modeled", "mod: modeled");
    assert_eq!(problems(&text).len(), 4_000, "an unknown key and a missing one each");
}
