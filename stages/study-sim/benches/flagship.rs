//! Packets per second of whole trials in the shape of the flagship.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../tests/trials/scene.rs"]
mod scene;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use study_transport::Protocol;

fn trials(c: &mut Criterion) {
    let scene = scene::Scene::flagship(50);
    let mut group = c.benchmark_group("trial");
    group.sample_size(10);
    for protocol in [Protocol::H2, Protocol::H3] {
        group.throughput(Throughput::Elements(scene.run(0, protocol).counters.packets));
        group.bench_function(protocol.name(), |b| b.iter(|| scene.run(0, protocol).counters.packets));
    }
    group.finish();
}

criterion_group!(benches, trials);
criterion_main!(benches);
