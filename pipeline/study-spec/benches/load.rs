//! How long large studies take from text to plan.
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

#[path = "../tests/spec/registry.rs"]
mod registry;

use criterion::{Criterion, criterion_group, criterion_main};
use std::fmt::Write;
use std::hint::black_box;
use study_spec::{Options, load};

const HEAD: &str = "study: many\nruns: 1\narms: { h2: { protocol: h2, congestion_control: cubic } }\nstages:\n  \
                    c: { kind: catalog, titles: 1, segment: 4 s, duration: 8 s }\n  \
                    r: { kind: routing, needs: [c], clients: 1, edges: {} }\n";

/// `n` stages, half of them simulations and half aggregates.
fn written_out(n: usize) -> String {
    let mut text = String::from(HEAD);
    for i in 0..n / 2 {
        let _ = writeln!(text, "  s{i}: {{ kind: simulate, mode: modeled, arms: [h2], needs: [c, r], clients: {i} }}");
        let _ = writeln!(text, "  a{i}: {{ kind: aggregate, needs: [s{i}] }}");
    }
    text
}

/// One stage of 100 x `n` cells, and one that reads them all.
fn matrix(n: usize) -> String {
    let values = |n: usize| (1..=n).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    format!(
        "{HEAD}  s:\n    kind: simulate\n    mode: modeled\n    arms: [h2]\n    needs: [c, r]\n    matrix: {{ clients: [{}], runs: [{}] }}\n  \
         a: {{ kind: aggregate, needs: [s] }}\n",
        values(100),
        values(n)
    )
}

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("load");
    group.sample_size(10);
    for (name, text) in [("20000 stages", written_out(20_000)), ("10000 cells", matrix(100))] {
        let loads = |text: &str| load(&registry::REGISTRY, "x", text.as_bytes(), &Options::default()).study.is_some();
        assert!(loads(&text), "the study of the benchmark is in order");
        group.bench_function(name, |b| b.iter(|| loads(black_box(&text))));
    }
    group.finish();
}

criterion_group!(load_large, benches);
criterion_main!(load_large);
