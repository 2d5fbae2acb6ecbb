//! Figures of the emulated link on this machine, as Markdown: set-up, accuracy, throughput, many links.
//!
//! `cargo run --release -p study-shaper --example figures [backend ...]`; without names every backend that works. Read them with
//! the machine's load beside them: each line says whether its timing was clean.

#![allow(clippy::unwrap_used, reason = "a program for people at a terminal")]

use std::net::UdpSocket;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use study_ident::SeedPath;
use study_link::{DirectionParams, LinkParams, Queue, QueueLimit, Rate};
use study_shaper::backend::Privilege;
use study_shaper::{
    Backend, CalibrationOptions, Children, Early, End, Link, Rig, RigOptions, StepError, Timing, TimingWatch, Topology,
    calibrate, early_main, probe_all, worker_command,
};
use study_units::{BitRate, SimDuration};

fn main() -> ExitCode {
    let arguments = match early_main(std::env::args_os()) {
        Early::Exit(code) => return code,
        Early::Continue(arguments) => arguments,
    };
    let words: Vec<String> = arguments.iter().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    if let [inside, backend] = words.as_slice()
        && inside == "--inside"
    {
        figures(*Backend::ALL.iter().find(|b| b.name() == backend).unwrap());
        return ExitCode::SUCCESS;
    }
    let program = std::env::current_exe().unwrap();
    println!("load {}", std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
    for probe in probe_all(&Children { program: program.clone(), tun_node: "/dev/net/tun".into() }) {
        if !probe.works()
            || !probe.backend.has_relay()
            || !(words.is_empty() || words.iter().any(|w| w == probe.backend.name()))
        {
            println!("{}: {:?}", probe.backend.name(), probe.outcome);
            continue;
        }
        let mut command = match probe.backend.row().privilege {
            Privilege::UserNamespace => worker_command(&program),
            _ => Command::new(&program),
        };
        command.args(["--inside", probe.backend.name()]).status().unwrap();
    }
    ExitCode::SUCCESS
}

fn link(one_way_ms: u64, mbit: u64) -> LinkParams {
    let rate = Rate::Constant(BitRate::from_bits_per_second(mbit * 1_000_000));
    let mut way = DirectionParams::plain(SimDuration::from_millis(one_way_ms), rate);
    way.queue = Queue::DropTail(QueueLimit::Packets(1_000));
    LinkParams { down: way.clone(), up: way }
}

fn pair(backend: Backend, params: LinkParams) -> Rig {
    let topology = Topology::chain(&["client", "origin"], vec![params], SeedPath::root(1)).unwrap();
    let rig = Rig::build(&topology, backend, &RigOptions::default()).unwrap();
    rig.links()[0].start();
    rig
}

fn verdict(timing: &Timing) -> String {
    let worst = timing.complaints();
    let words: Vec<String> =
        worst.iter().take(3).map(|s| format!("{} {} {:.2}", s.kind.name(), s.subject, s.measured)).collect();
    format!("{} {}", timing.quality.name(), words.join(", "))
}

fn figures(backend: Backend) {
    println!("\n## {}\n", backend.name());
    set_up(backend);
    accuracy(backend);
    throughput(backend);
    flood(backend);
    many(backend);
}

fn set_up(backend: Backend) {
    let mut times: Vec<f64> = (0..30).map(|_| pair(backend, link(25, 50)).setup().as_secs_f64() * 1e3).collect();
    times.sort_by(f64::total_cmp);
    println!(
        "set-up of two nodes and a link, 30 times: p50 {:.1} ms, p90 {:.1} ms, max {:.1} ms",
        times[15], times[27], times[29]
    );
    for count in [20, 40] {
        let specs = (0..count).map(|i| (format!("c{i}"), format!("s{i}")));
        let mut topology = Topology::default();
        for (near, far) in specs {
            let name = near.clone();
            let seed = SeedPath::root(1).child(&name);
            topology.nodes.extend([near.clone(), far.clone()]);
            topology.links.push(study_shaper::LinkSpec { name, near, far, params: link(25, 10), seed });
        }
        let rig = Rig::build(&topology, backend, &RigOptions::default()).unwrap();
        println!("set-up of {count} links with two nodes each: {:.1} ms", rig.setup().as_secs_f64() * 1e3);
    }
}

fn accuracy(backend: Backend) {
    println!(
        "\n| RTT | probes | error mean | p50 | p99 | p99.9 | lateness p50 / p99 / p99.9 | timing |\n|---|---|---|---|---|---|---|---|"
    );
    for one_way in [25, 100] {
        let rig = pair(backend, link(one_way, 50));
        let options = CalibrationOptions { probes: 1_000, every: Duration::from_millis(4), burst: 0 };
        let watch = TimingWatch::begin(&rig).unwrap();
        let found = calibrate(&rig, &rig.links()[0], &options).unwrap();
        let record = rig.links()[0].record();
        let timing = watch.end(&rig, std::slice::from_ref(&record), &[]);
        let (e, late) = (found.expected_rtt_ms, record.up.lateness);
        for trips in [found.from_near, found.from_far] {
            let r = trips.rtt;
            println!(
                "| {} ms | {} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} / {:.3} / {:.3} | {} |",
                2 * one_way,
                trips.answered,
                r.mean_ms - e,
                r.p50_ms - e,
                r.p99_ms - e,
                r.p999_ms - e,
                late.p50_ms,
                late.p99_ms,
                late.p999_ms,
                verdict(&timing)
            );
        }
    }
}

fn io(error: std::io::Error) -> StepError {
    StepError::new(study_shaper::Step::FirstPacket, error.raw_os_error().unwrap_or(0), error.to_string())
}

fn socket(rig: &Rig, link: &Link, end: End) -> UdpSocket {
    let node = if end == End::Near { &link.spec().near } else { &link.spec().far };
    rig.run_in(node, || UdpSocket::bind((link.address(end), 0)).map_err(io)).unwrap()
}

/// Sends full packets at `share` of the link's rate for a while, in steps of a millisecond.
fn stream(rig: &Rig, link: &Link, mbit: f64, seconds: f64) -> u64 {
    let (sender, receiver) = (socket(rig, link, End::Far), socket(rig, link, End::Near));
    let target = receiver.local_addr().unwrap();
    receiver.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let arrived = scope.spawn(|| {
            let (mut buffer, mut arrived) = ([0; 2_048], 0);
            while !done.load(Ordering::Relaxed) {
                arrived += u64::from(receiver.recv(&mut buffer).is_ok());
            }
            arrived
        });
        let (began, mut sent, payload) = (Instant::now(), 0_u64, [0; 1_472]);
        while began.elapsed().as_secs_f64() < seconds {
            let due = (began.elapsed().as_secs_f64() * mbit * 1e6 / 12_000.0) as u64;
            while sent < due {
                sender.send_to(&payload, target).ok();
                sent += 1;
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        std::thread::sleep(Duration::from_millis(200));
        done.store(true, Ordering::Relaxed);
        arrived.join().unwrap()
    })
}

fn throughput(backend: Backend) {
    println!(
        "\n| rate | offered packets/s | delivered | relay CPU | packets per CPU second | lateness p50 / p99 / p99.9 | foreign losses | timing |\n|---|---|---|---|---|---|---|---|"
    );
    for mbit in [50, 100, 200, 400] {
        let rig = pair(backend, link(25, mbit));
        let watch = TimingWatch::begin(&rig).unwrap();
        stream(&rig, &rig.links()[0], 0.95 * mbit as f64, 2.0);
        let record = rig.links()[0].record();
        let timing = watch.end(&rig, std::slice::from_ref(&record), &[]);
        let (packets, late) = (record.down.packets as f64, record.down.lateness);
        println!(
            "| {mbit} Mbit/s | {:.0} | {:.1} % | {:.0} % | {:.0} | {:.3} / {:.3} / {:.3} | {} | {} |",
            packets / 2.0,
            100.0 * record.down.delivered as f64 / packets,
            100.0 * record.relay.cpu_share(),
            packets / (record.relay.cpu_ms / 1e3),
            late.p50_ms,
            late.p99_ms,
            late.p999_ms,
            record.foreign_losses(),
            verdict(&timing)
        );
    }
}

/// More than the relay can carry: what it costs when it never sleeps.
fn flood(backend: Backend) {
    let topology = Topology::chain(&["client", "origin"], vec![link(0, 100_000)], SeedPath::root(1)).unwrap();
    let rig = Rig::build(&topology, backend, &RigOptions { rate_ceiling: None, ..RigOptions::default() }).unwrap();
    rig.links()[0].start();
    stream(&rig, &rig.links()[0], 4_000.0, 2.0);
    let record = rig.links()[0].record();
    let per_second = record.down.packets as f64 / (record.relay.cpu_ms / 1e3);
    println!(
        "\nflood: {} packets, {} dropped before the relay, {per_second:.0} packets per CPU second",
        record.down.packets,
        record.foreign_losses()
    );
}

fn many(backend: Backend) {
    println!(
        "\n| links | links per thread | packets/s | lateness p99, worst link | foreign losses | timing |\n|---|---|---|---|---|---|"
    );
    for (count, per_thread) in [(20, 1), (20, 10)] {
        let mut topology = Topology::default();
        for i in 0..count {
            let (near, far) = (format!("c{i}"), format!("s{i}"));
            let seed = SeedPath::root(1).child(&near);
            topology.nodes.extend([near.clone(), far.clone()]);
            topology.links.push(study_shaper::LinkSpec { name: near.clone(), near, far, params: link(25, 10), seed });
        }
        let options = RigOptions { links_per_thread: per_thread, ..RigOptions::default() };
        let rig = Rig::build(&topology, backend, &options).unwrap();
        rig.links().iter().for_each(Link::start);
        let watch = TimingWatch::begin(&rig).unwrap();
        std::thread::scope(|scope| {
            for link in rig.links() {
                let rig = &rig;
                scope.spawn(move || stream(rig, link, 9.5, 2.0));
            }
        });
        let records: Vec<_> = rig.links().iter().map(Link::record).collect();
        let timing = watch.end(&rig, &records, &[]);
        let packets: u64 = records.iter().map(|r| r.down.packets).sum();
        let worst = records.iter().map(|r| r.down.lateness.p99_ms).fold(0.0, f64::max);
        let lost: u64 = records.iter().map(study_shaper::LinkRecord::foreign_losses).sum();
        println!(
            "| {count} x 10 Mbit/s | {per_thread} | {:.0} | {worst:.3} | {lost} | {} |",
            packets as f64 / 2.0,
            verdict(&timing)
        );
    }
}
