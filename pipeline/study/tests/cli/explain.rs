//! The feature ladder: contributions sum to the total, and a planted difference is found.

use crate::sandbox::{SMALL, Sandbox};
use std::collections::BTreeMap;

/// The rows of `why.ladder` at one statistic: contribution by mechanism.
fn ladder(arms: &str, keys: &str, metric: &str, stat: &str) -> BTreeMap<String, f64> {
    let sandbox = Sandbox::new();
    let study = SMALL.replace("arms:\n  h2:", &format!("arms:\n{arms}  h2:")).replace(
        "  aggregate:",
        &format!("  why: {{ like: transport, kind: explain, matrix: ~, {keys} }}\n  aggregate:"),
    );
    sandbox.write("small.yaml", study.as_bytes());
    let ran = sandbox.study(&["run", "small.yaml", "--until", "why"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let shown = sandbox.study(&["show", "small.yaml", "why.ladder", "--format", "csv"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    let mut lines = shown.stdout.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| head.iter().position(|h| *h == name).unwrap();
    let (m, s, f, c) = (column("metric"), column("stat"), column("feature"), column("contribution"));
    lines
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|row| row[m] == metric && row[s] == stat)
        .map(|row| (row[f].to_owned(), row[c].parse().unwrap()))
        .collect()
}

fn sum_and_total(ladder: &BTreeMap<String, f64>) -> (f64, f64) {
    let sum = ladder.iter().filter(|(name, _)| *name != "total").map(|(_, x)| x).sum();
    (sum, ladder["total"])
}

#[test]
fn contributions_sum_to_the_total_whether_orders_are_drawn_or_all_taken() {
    for keys in ["orders: 4", "exact_up_to: 7"] {
        for stat in ["p50", "p95"] {
            let ladder = ladder("", keys, "ttlb_ms", stat);
            assert_eq!(ladder.len(), 8, "seven mechanisms and the total: {ladder:?}");
            let (sum, total) = sum_and_total(&ladder);
            assert!((sum - total).abs() < 1e-9, "{sum} against {total}");
            assert!(total.abs() > 1e-6);
        }
    }
}

#[test]
fn a_planted_difference_in_one_mechanism_is_attributed_to_it() {
    let arms = "  heavy: { protocol: h2, congestion_control: cubic, transport: { response_headers: 64 KiB } }\n  \
                other: { protocol: h2, congestion_control: cubic, transport: { response_headers: 64 KiB, rto_floor: 1 s, request: 900 B, \
                certificate_chain: 9 kB, idle_restart: false } }\n";
    // Alone: it is the whole difference.
    let alone = ladder(arms, "arms: [h2, heavy]", "ttlb_ms", "p50");
    assert_eq!(alone.keys().collect::<Vec<_>>(), ["messages", "total"]);
    assert_eq!(alone["messages"], alone["total"]);
    assert!(alone["total"] > 0.05, "more bytes take longer: {alone:?}");
    // Beside mechanisms that differ and do next to nothing to a median.
    let planted = ladder(arms, "arms: [h2, other]", "ttlb_ms", "p50");
    assert_eq!(planted.keys().collect::<Vec<_>>(), ["handshake", "idle_restart", "messages", "timers", "total"]);
    assert!(planted["messages"] >= 0.95 * planted["total"], "{planted:?}");
    assert!(planted["messages"] <= 1.05 * planted["total"], "{planted:?}");
}

#[test]
fn a_ladder_needs_two_arms_that_decide_alike() {
    for (keys, code) in [("arms: [h2]", "out-of-range"), ("player: { decisions: closed_loop }", "out-of-range")] {
        let sandbox = Sandbox::new();
        let stage = format!("  why: {{ like: transport, kind: explain, matrix: ~, {keys} }}\n  aggregate:");
        sandbox.write("small.yaml", SMALL.replace("  aggregate:", &stage).as_bytes());
        let ran = sandbox.study(&["check", "small.yaml"]);
        assert_eq!(ran.code, Some(2), "{keys}: {}", ran.stderr);
        assert!(ran.stderr.contains(code), "{}", ran.stderr);
    }
}

#[test]
fn sessions_that_are_cut_off_are_not_explained() {
    let sandbox = Sandbox::new();
    let stage = "  why: { like: transport, kind: explain, matrix: ~, session_limit: 2 s }\n  aggregate:";
    sandbox.write("small.yaml", SMALL.replace("  aggregate:", stage).as_bytes());
    let ran = sandbox.study(&["run", "small.yaml", "--until", "why"]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(ran.stderr.contains("cut off") && ran.stderr.contains("session_limit"), "{}", ran.stderr);
}
