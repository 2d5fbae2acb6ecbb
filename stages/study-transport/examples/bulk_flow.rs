//! One bulk CUBIC flow with 1 % loss, for counting instructions per data packet.
//!
//! `bulk_flow h2|h3 BYTES` prints the data packets sent. Run it under callgrind with two lengths and divide the
//! difference in instructions by the difference in packets, so that start-up does not count; `docs/performance.md` has
//! the commands and the figures.
#![allow(clippy::unwrap_used, missing_docs)]
#![allow(clippy::disallowed_methods, reason = "a program for measurements takes its arguments from the shell")]

#[allow(dead_code, reason = "the example uses a part of what the tests share")]
#[path = "../tests/transport/support.rs"]
mod support;

use study_ident::SeedPath;
use study_transport::{CongestionControl, ConnectionConfig, Protocol, Scheduler, SessionState};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [protocol, bytes] = arguments.as_slice() else {
        eprintln!("error: give a protocol (`h2` or `h3`) and a number of bytes");
        std::process::exit(2);
    };
    let protocol = if protocol == Protocol::H2.name() { Protocol::H2 } else { Protocol::H3 };
    let config = ConnectionConfig::new(
        protocol,
        CongestionControl::Cubic,
        Scheduler::RoundRobin,
        SessionState::Cold,
        &support::params(),
    );
    let mut loss = SeedPath::root(1).stream("loss");
    let path = support::TestPath::new("20 Mbit/s", "30 ms", move |_| loss.happens(0.01));
    println!("{}", support::fetch(&config, path, &[bytes.parse().unwrap()]).1.stats().packets_sent);
}
