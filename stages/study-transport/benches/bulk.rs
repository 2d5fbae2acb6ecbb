//! Packets per second of one bulk flow: 1 % loss, CUBIC, acknowledgements and frames on.
#![allow(clippy::unwrap_used, missing_docs)]

#[allow(dead_code, reason = "the benchmark uses a part of what the tests share")]
#[path = "../tests/transport/support.rs"]
mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use study_ident::SeedPath;
use study_transport::{CongestionControl, ConnectionConfig, Protocol, Scheduler, SessionState};

fn bulk(c: &mut Criterion) {
    let mut group = c.benchmark_group("bulk");
    for protocol in [Protocol::H2, Protocol::H3] {
        let config = ConnectionConfig::new(
            protocol,
            CongestionControl::Cubic,
            Scheduler::RoundRobin,
            SessionState::Cold,
            &support::params(),
        );
        let run = || {
            let mut loss = SeedPath::root(1).stream("loss");
            let path = support::TestPath::new("20 Mbit/s", "30 ms", move |_| loss.happens(0.01));
            support::fetch(&config, path, &[10_000_000; 3]).1.stats().packets_sent
        };
        group.throughput(Throughput::Elements(run()));
        group.bench_function(protocol.name(), |b| b.iter(run));
    }
    group.finish();
}

criterion_group!(benches, bulk);
criterion_main!(benches);
