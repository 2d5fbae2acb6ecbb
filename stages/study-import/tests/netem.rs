//! Real command lines: what they are read as, what they really do, and that a study accepts what is printed.
#![allow(clippy::unwrap_used)]

#[path = "../../../netem/study-link/tests/support/mod.rs"]
mod support;

use study_ident::SeedPath;
use study_import::LinkProfile;
use study_import::netem::{Settings, Shaped, import};
use study_import::presets;
use study_link::{Direction, DirectionParams, LinkParams, Loss, Queue, QueueLimit, Rate, Verdict};
use study_tree::{Diagnostics, Severity};
use study_units::{SimDuration, SimTime};

struct Read {
    profiles: Vec<LinkProfile>,
    /// Severity, code, the text under the span, message, help.
    problems: Vec<(Severity, &'static str, String, String, String)>,
}

fn read(text: &str) -> Read {
    read_as(text, Shaped::Down)
}

fn read_as(text: &str, shaped: Shaped) -> Read {
    let mut problems = Diagnostics::default();
    let profiles = import(text, &Settings { shaped, name: None, source: 0 }, &mut problems);
    let problems = problems.sorted().into_iter().map(|d| {
        let under = text.get(d.span.start as usize..d.span.end as usize).unwrap_or("?").to_owned();
        (d.severity, d.code, under, d.message.clone(), d.help.clone().unwrap_or_default())
    });
    let problems = problems.collect();
    Read { profiles, problems }
}

/// The only link of a script.
fn one(text: &str) -> LinkProfile {
    let mut read = read(text);
    assert_eq!(read.profiles.len(), 1, "{text}: {:?}", read.problems);
    accepted(&read.profiles[0]);
    read.profiles.remove(0)
}

fn down(text: &str) -> DirectionParams {
    one(text).link.down
}

/// The printed definition decodes to the link that it was printed from.
fn accepted(profile: &LinkProfile) {
    let yaml = profile.yaml();
    let pairs: Vec<&str> = yaml.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    let outcome = support::read(&format!("{{ {} }}", pairs.join(", ")));
    assert!(outcome.problems.is_empty(), "{yaml}\n{:?}", outcome.problems);
    assert_eq!(outcome.link.unwrap(), profile.link, "{yaml}");
    assert!(
        yaml.lines()
            .all(|line| line.starts_with("  #") || line.starts_with("    ") || line == format!("  {}:", profile.name)),
        "{yaml}"
    );
}

fn refused(text: &str, code: &str, under: &str) -> String {
    let read = read(text);
    assert!(read.profiles.is_empty(), "{text}");
    let found =
        read.problems.iter().find(|p| p.0 == Severity::Error).unwrap_or_else(|| panic!("{text}: nothing refused"));
    assert_eq!((found.1, found.2.as_str()), (code, under), "{text}: {}", found.3);
    assert!(!found.4.is_empty(), "{text}: no cure");
    format!("{}; {}", found.3, found.4)
}

fn says(profile: &LinkProfile, what: &str) {
    let yaml = profile.yaml();
    assert!(yaml.contains(what), "`{what}` is not in\n{yaml}");
}

#[test]
fn the_thesis_benchmark_on_loopback_is_refused() {
    let said = refused("tc qdisc add dev lo root netem delay 50ms 10ms loss 0.1%", "import-loopback", "lo");
    assert!(said.contains("both directions") && said.contains("64 KiB") && said.contains("veth"), "{said}");
    refused("dev lo root netem delay 50ms 10ms loss 0.1%", "import-loopback", "lo");
    // The same line on another device: uniform, and reordering.
    let profile = one("sudo tc qdisc add dev veth0 root netem delay 50ms 10ms loss 0.1%");
    let params = &profile.link.down;
    assert_eq!(params.stationary_loss(), 0.001);
    assert!(
        (params.mean_delay().as_millis_f64() - 50.0).abs() < 5e-3 && params.one_way == SimDuration::from_millis(40)
    );
    says(&profile, "uniform between 40 and 60 ms");
    says(&profile, "of full packets sent at 10 Mbit/s arrive behind a later one");
    says(&profile, "adds 50 ms to each round trip, once");
    says(
        &profile,
        "limit 1000: at most so many packets are delayed at a time, so full packets pass at 240 Mbit/s at most",
    );
}

#[test]
fn the_mobile_profile_of_the_go_simulator_loses_twenty_percent() {
    let script = "# mobile_3g: ~5% bursty loss\ntc qdisc add dev eth0 root netem delay 100ms 20ms distribution normal \\\n  \
                  loss gemodel 5% 20% 80% 5% rate 2mbit\n";
    let read = read(script);
    let stated = read.problems.iter().find(|p| p.1 == "import-stated-loss").unwrap();
    assert!(stated.3.contains("5 %") && stated.3.contains("20 %") && stated.2.contains("~5%"), "{stated:?}");
    let profile = one(script);
    let params = &profile.link.down;
    assert!((params.stationary_loss() - 0.2).abs() < 1e-12);
    says(&profile, "long-run loss 20 %");
    says(&profile, "the bad state holds 5 packets on average");
    says(&profile, "reordering: none");
    assert_eq!(params.one_way, SimDuration::from_millis(40));
    assert!((params.mean_delay().as_millis_f64() - 100.0).abs() < 0.01);
    // 17 packets of 1,514 B are in 100 ms at 2 Mbit/s.
    assert_eq!(params.queue, Queue::DropTail(QueueLimit::Packets(983)));
    assert_eq!(params.overhead.get(), 14);
}

#[test]
fn correlated_losses_are_told_and_kept_at_what_they_are() {
    let cases = [
        ("loss 8% 30%", 0.54),
        ("loss 10% 30%", 1.15),
        ("loss 3% 20%", 0.07),
        ("loss 10% 25%", 1.75),
        ("loss random 10% 25%", 1.75),
        ("loss gemodel 3% 30% 40%", 3.636_363),
        ("loss gemodel 3% 30% 40% 0%", 3.636_363),
        ("loss gemodel 2%", 2.0),
        ("loss state 1%", 1.0),
        ("loss 0.1%", 0.1),
        ("drop 5%", 5.0),
    ];
    for (loss, percent) in cases {
        let profile = one(&format!("tc qdisc add dev eth0 root netem delay 40ms {loss} rate 50mbit"));
        let real = 100.0 * profile.link.down.stationary_loss();
        assert!((real - percent).abs() < 0.006, "{loss}: {real}");
    }
    let read = read("tc qdisc add dev eth0 root netem loss 8% 30%");
    let warning = read.problems.iter().find(|p| p.1 == "import-deviation").unwrap();
    assert!(warning.3.contains("0.54") && warning.4.contains("gemodel"), "{warning:?}");
    says(&read.profiles[0], "same long-run loss and the same mean run");
}

#[test]
fn losses_of_the_link_are_those_that_are_told() {
    for loss in [
        "8% 30%",
        "10% 25%",
        "gemodel 5% 20% 80% 5%",
        "gemodel 3% 30% 40%",
        "state 2% 30% 10% 60% 0.5%",
        "0.5%",
        "gemodel 1% corrupt 2%",
    ] {
        let params = down(&format!("netem loss {loss}"));
        let n = 2_000_000_u64;
        let mut link = Direction::new(&params, SeedPath::root(11));
        let (mut lost, mut runs, mut before, mut batches) = (0_u64, 0_u64, false, [0_u64; 200]);
        for k in 0..n {
            let now = link.send(SimTime::from_nanos(k * 1_000), 1500) == Verdict::LostRandom;
            lost += u64::from(now);
            runs += u64::from(now && !before);
            batches[(k / (n / 200)) as usize] += u64::from(now);
            before = now;
        }
        let mean = lost as f64 / 200.0;
        let variance = batches.iter().map(|b| (*b as f64 - mean) * (*b as f64 - mean)).sum::<f64>() / 199.0;
        let sigma = (variance / 200.0).sqrt() * 200.0 / n as f64;
        let (real, run) = (lost as f64 / n as f64, lost as f64 / runs as f64);
        assert!(
            (real - params.stationary_loss()).abs() < 3.0 * sigma,
            "{loss}: {real} +- {sigma} {}",
            params.stationary_loss()
        );
        // A run's length varies about as much as its mean; the share of the mean within it is what varies less.
        let told = params.loss.mean_loss_run().unwrap();
        assert!((run - told).abs() < 3.0 * told / (runs as f64).sqrt(), "{loss}: {run} {told}");
    }
}

#[test]
fn a_bucket_below_netem_is_read_with_its_queue() {
    let script = "tc qdisc add dev eth0 root handle 1:0 netem delay 150ms 30ms distribution normal loss 10% 25%\n\
                  tc qdisc add dev eth0 parent 1:1 handle 10: tbf rate 768kbit buffer 1600 limit 3000\n";
    let read = read(script);
    assert!(
        read.problems.iter().any(|p| p.1 == "import-deviation" && p.3.contains("below netem")),
        "{:?}",
        read.problems
    );
    let profile = one(script);
    let params = &profile.link.down;
    assert!((100.0 * params.stationary_loss() - 1.75).abs() < 0.006);
    let shaper = params.shaper.as_ref().unwrap();
    assert_eq!((shaper.rate.bits_per_second(), shaper.burst.get()), (768_000, 1600));
    assert_eq!(params.queue, Queue::DropTail(QueueLimit::Bytes(study_units::Bytes::new(3000))));
    says(&profile, "tbf's queue holds 3000 B: 1 full packets of 1514 B (2 if the header did not count)");
    says(&profile, "so small a queue loses packets of its own");
}

#[test]
fn a_queue_of_seconds_is_told() {
    let script =
        "tc qdisc add dev eth0 root handle 1: tbf rate 80mbit buffer 1mbit limit 1000mbit peakrate 81mbit mtu 3000\n";
    let profile = one(script);
    let params = &profile.link.down;
    // tc prints `burst 128Kb ... lat 13.1s` for this line: sizes count in 1,024s.
    assert_eq!(params.shaper.as_ref().unwrap().burst.get(), 131_072);
    assert_eq!(params.queue, Queue::DropTail(QueueLimit::Bytes(study_units::Bytes::new(131_072_000))));
    says(&profile, "waits 13107 ms");
    says(&profile, "bufferbloat");
    assert!(matches!(params.rate, Rate::Constant(rate) if rate.bits_per_second() == 81_000_000));
    // A latency is what the rate, and the peak rate, make of it: tc prints the same for `latency 10ms` and `limit 15290` here.
    let profile = one("tc qdisc add dev eth0 root tbf rate 10mbit burst 100kb latency 10ms peakrate 11mbit mtu 1540");
    assert_eq!(profile.link.down.queue, Queue::DropTail(QueueLimit::Bytes(study_units::Bytes::new(15_290))));
    // With netem below it the limit has no effect.
    let profile = one(&format!("{script}tc qdisc add dev eth0 parent 1:1 netem delay 10ms"));
    says(&profile, "tbf's own `limit` or `latency` has no effect");
    // 67 packets of 1,514 B in 10 ms at 80 Mbit/s.
    assert_eq!(profile.link.down.queue, Queue::DropTail(QueueLimit::Packets(933)));
}

#[test]
fn a_correlation_of_the_delay_is_no_loss() {
    let script = "tc qdisc add dev eth1 root handle 1: htb default 10\n\
                  tc class add dev eth1 parent 1: classid 1:10 htb rate 100mbit\n\
                  tc qdisc add dev eth1 parent 1:10 handle 10: netem delay 50ms 3ms 25%\n";
    let profile = one(script);
    assert_eq!(profile.link.down.loss, Loss::None);
    assert_eq!(profile.link.down.mean_rate().unwrap().bits_per_second(), 100_000_000);
    says(&profile, "correlation of 25 % does nothing");
    says(&profile, "413 packets are in the delay at 100 Mbit/s, which leaves 587 for the queue");
}

#[test]
fn a_limit_below_what_the_delay_holds_caps_the_rate() {
    let profile = one("tc qdisc add dev eth0 root netem delay 100ms rate 100mbit limit 100");
    says(
        &profile,
        "limit 100: at most so many packets are delayed at a time, so full packets pass at 12 Mbit/s at most, whatever the rate of 100 Mbit/s",
    );
    says(&profile, "differs: limit: a policer");
    // Full packets sent at 24 Mbit/s: 12 Mbit/s of them arrive.
    let mut link = Direction::new(&profile.link.down, SeedPath::root(1));
    let n = 40_000_u64;
    let passed =
        (0..n).filter(|k| matches!(link.send(SimTime::from_nanos(k * 500_000), 1500), Verdict::Deliver(_))).count();
    let share = passed as f64 / n as f64;
    assert!((share - 0.5).abs() < 0.5 * 100.0 / n as f64 * 2.0 + 1e-3, "{share}");
}

#[test]
fn overheads_and_cells_are_counted_as_netem_counts_them() {
    let profile = one("tc qdisc add dev eth0 root netem rate 5kbit 20 100 5");
    // 1,514 + 20 B are 16 cells of 105 B: 1,680 B.
    assert_eq!(profile.link.down.overhead.get(), 180);
    says(&profile, "a packet of 40 B takes 105 B there and 220 B here");
    assert_eq!(down("tc qdisc add dev eth0 root netem rate 1mbit -14").overhead.get(), 0);
    assert_eq!(down("tc qdisc add dev tun0 root netem rate 1mbit").overhead.get(), 0);
    // The example of tc-netem(8): 50 B in cells of 48 and 5 are 106 B.
    let atm = one("tc qdisc add dev ppp0 root netem rate 1mbit 0 48 5");
    assert_eq!(atm.link.down.overhead.get(), 32 * 53 - 1500);
}

#[test]
fn what_a_link_cannot_say_is_refused_with_a_cure() {
    for (options, under) in [
        ("duplicate 1%", "duplicate"),
        ("delay 10ms reorder 25% 50% gap 5", "reorder"),
        ("slot 1ms 5ms packets 10", "slot"),
        ("corrupt 1% 20%", "corrupt"),
        ("delay 10ms 2ms distribution pareto", "pareto"),
        ("delay 10ms 2ms distribution paretonormal", "paretonormal"),
        ("loss 10% 99.99%", "loss"),
    ] {
        refused(&format!("tc qdisc add dev eth0 root netem {options}"), "import-unsupported", under);
    }
    refused("tc qdisc add dev eth0 root fq_codel", "import-unsupported", "fq_codel");
    refused("tc qdisc add dev eth0 ingress", "import-unsupported", "ingress");
    refused(
        "tc qdisc add dev eth0 root handle 1: netem delay 1ms\ntc qdisc add dev eth0 parent 1: netem loss 1%",
        "import-unsupported",
        "netem",
    );
    // What does nothing is no reason to refuse.
    assert_eq!(down("netem delay 10ms duplicate 0% reorder 0% corrupt 0%").loss, Loss::None);
    let mapped = one("netem loss 1% ecn corrupt 2% seed 5");
    assert!((mapped.link.down.stationary_loss() - 0.0298).abs() < 1e-12);
    for told in ["differs: corrupt", "differs: ecn", "differs: seed"] {
        says(&mapped, told);
    }
}

#[test]
fn errors_stand_where_they_are_and_say_what_to_do() {
    let tc = |rest: &str| format!("tc qdisc add dev eth0 root {rest}");
    for (rest, code, under) in [
        ("netem delay 10 ms", "import-syntax", "ms"),
        ("netem delay", "import-value", "delay"),
        ("netem delay 10m", "import-value", "10m"),
        ("netem delay -5ms", "import-value", "-5ms"),
        ("netem delay 1e999ms", "import-value", "1e999ms"),
        ("netem loss 101%", "import-value", "101%"),
        ("netem loss often", "import-value", "often"),
        ("netem loss 1% loss 2%", "import-syntax", "loss"),
        ("netem loss state 60% 50% 60%", "import-value", "loss"),
        ("netem rate 0", "import-value", "0"),
        ("netem rate 5%", "import-value", "5%"),
        ("netem rate 1mbit 999999999999", "import-value", "999999999999"),
        ("netem rate 1mbit 1000000", "import-value", "rate"),
        ("netem limit 99999999999999", "import-value", "99999999999999"),
        ("netem delay 10ms distribution normal", "import-syntax", "distribution"),
        ("netem ecn", "import-syntax", "ecn"),
        ("netem gap 5 delay 1ms", "import-syntax", "gap"),
        ("netem dely 5ms", "import-syntax", "dely"),
        ("tbf rate 1mbit burst 32kb", "import-syntax", "tbf"),
        ("tbf burst 32kb latency 5ms", "import-syntax", "tbf"),
        ("tbf rate 1mbit burst 1kb latency 5ms", "import-value", "tbf"),
        ("tbf rate 1mbit burst 5kb limit 100", "import-value", "tbf"),
        ("tbf rate 1mbit burst 5kb latency 5ms colour 3", "import-syntax", "colour"),
        ("netem delay $DELAY", "import-variable", "$DELAY"),
        ("netem delay \"${DELAY:-5}ms\"", "import-variable", "\"${DELAY:-5}ms\""),
        ("", "import-syntax", "root"),
    ] {
        refused(&tc(rest), code, under);
    }
    assert!(refused(&tc("netem dely 5ms"), "import-syntax", "dely").contains("delay"));
    refused("", "import-empty", "");
    refused("# nothing\necho hello\n", "import-empty", "#");
    // All problems at once.
    assert_eq!(read("netem delay x\nnetem loss y\n").problems.iter().filter(|p| p.0 == Severity::Error).count(), 2);
}

#[test]
fn hostile_text_is_refused_and_never_panics() {
    let long = format!("tc qdisc add dev eth0 root netem {}", "delay 1ms ".repeat(20_000));
    assert_eq!(read(&long).profiles.len(), 1, "the last one counts, as in tc");
    let huge = "x".repeat((1 << 20) + 1);
    assert!(read(&huge).problems[0].3.contains("too long"));
    let mut ring = "tc qdisc add dev e parent 1: handle 2: netem delay 1ms\n".to_owned();
    ring += "tc qdisc add dev e parent 2: handle 1: netem delay 1ms\n";
    let _ = read(&ring);
    let pieces = [
        "tc",
        "qdisc",
        "class",
        "add",
        "dev",
        "lo",
        "eth0",
        "root",
        "parent",
        "1:1",
        "handle",
        "netem",
        "tbf",
        "htb",
        "delay",
        "loss",
        "state",
        "gemodel",
        "rate",
        "limit",
        "99999999999999999999",
        "-1",
        "nan",
        "inf",
        "0",
        "1e308",
        "%",
        "5%",
        "100%",
        "0%",
        "1ns",
        "\\",
        "\n",
        "\"",
        "'",
        "$",
        "`",
        "#",
        ";",
        "\0",
        "\u{1F600}",
        "burst",
        "latency",
        "peakrate",
        "mtu",
        "corrupt",
        "\r\n",
        "sudo",
        "ip",
        "netns",
        "exec",
        "docker",
        "-x",
        "1:",
        "classid",
    ];
    let mut stream = SeedPath::root(5).stream("hostile");
    for _ in 0..20_000 {
        let length = 1 + (stream.uniform() * 20.0) as usize;
        let mut text = String::new();
        for _ in 0..length {
            text += pieces[(stream.uniform() * pieces.len() as f64) as usize % pieces.len()];
            if stream.uniform() < 0.8 {
                text.push(' ');
            }
        }
        let read = read(&text);
        read.profiles.iter().for_each(accepted);
        assert!(!read.profiles.is_empty() || read.problems.iter().any(|p| p.0 == Severity::Error), "{text:?}");
    }
}

#[test]
fn scripts_are_read_as_they_are_run() {
    // A later command for the same place counts, `del` begins anew, places are told apart, and what is not tc is told.
    let script = "#!/bin/bash\nset -e\nmodprobe ifb\n\
        sudo tc qdisc del dev eth0 root 2>/dev/null || true\n\
        sudo -n /sbin/tc qdisc add dev eth0 root netem delay 5ms\n\
        tc qdisc change dev eth0 root netem delay 9ms\n\
        ip netns exec ns1 tc qdisc add dev eth0 root netem delay 7ms\n\
        docker exec -it edge tc qdisc add dev eth0 root netem delay 3ms\n";
    let read = read(script);
    let links: Vec<(String, f64)> =
        read.profiles.iter().map(|p| (p.name.clone(), p.link.down.one_way.as_millis_f64())).collect();
    assert_eq!(links, [("eth0".into(), 9.0), ("ns1_eth0".into(), 7.0), ("edge_eth0".into(), 3.0)]);
    let ignored = read.problems.iter().find(|p| p.1 == "import-ignored").unwrap();
    assert!(ignored.3.contains("`set`") && ignored.2 == "set", "{ignored:?}");
    read.profiles.iter().for_each(accepted);
    // Several leaves of one device.
    let classes = "tc qdisc add dev e root handle 1: htb\n\
        tc class add dev e parent 1: classid 1:1 htb rate 10mbit\ntc class add dev e parent 1: classid 1:2 htb rate 2mbit ceil 10mbit\n\
        tc qdisc add dev e parent 1:1 netem delay 20ms\ntc filter add dev e parent 1: u32 match ip dst 10.0.0.1\n";
    let read = self::read(classes);
    let rates: Vec<_> =
        read.profiles.iter().map(|p| (p.name.as_str(), p.link.down.mean_rate().unwrap().bits_per_second())).collect();
    assert_eq!(rates, [("e_1_2", 2_000_000), ("e_1_1", 10_000_000)]);
    assert!(read.problems.iter().any(|p| p.1 == "import-ignored" && p.3.contains("filter")));
}

#[test]
fn a_direction_is_the_one_that_is_asked_for() {
    let text = "netem delay 20ms rate 10mbit";
    let plain = DirectionParams::plain(SimDuration::ZERO, Rate::Unlimited);
    let link = |shaped| {
        let mut read = read_as(text, shaped);
        accepted(&read.profiles[0]);
        read.profiles.remove(0).link
    };
    let (down, up, both) = (link(Shaped::Down), link(Shaped::Up), link(Shaped::Both));
    assert_eq!((&down.up, &up.down, &down.down), (&plain, &plain, &up.up));
    assert_eq!((down.base_rtt(), both.base_rtt()), (SimDuration::from_millis(20), SimDuration::from_millis(40)));
}

#[test]
fn bare_numbers_are_read_as_tc_reads_them_and_told() {
    assert_eq!(down("netem delay 100").one_way, SimDuration::from_micros(100));
    let read = read("netem loss 0.05");
    assert!(
        read.problems.iter().any(|p| p.1 == "import-value" && p.0 == Severity::Warning && p.2 == "0.05"),
        "{:?}",
        read.problems
    );
    assert_eq!(read.profiles[0].link.down.stationary_loss(), 0.0005);
}

#[test]
fn a_jitter_above_the_delay_keeps_the_mean_and_is_told() {
    for text in ["netem delay 10ms 20ms", "netem delay 10ms 5ms distribution normal"] {
        let profile = one(text);
        assert!((profile.link.down.mean_delay().as_millis_f64() - 10.0).abs() < 0.01, "{text}");
        says(&profile, "the jitter exceeds the delay");
    }
    says(&one("netem delay 10s 3s"), "the kernel cuts the jitter at 2147 ms");
}

#[test]
fn every_preset_is_accepted_by_a_study_and_told() {
    let entries = presets::list();
    assert!(entries.len() > 40, "{}", entries.len());
    for entry in entries {
        for profile in presets::find(&entry.name).unwrap() {
            accepted(&profile);
            assert!(!entry.licence.is_empty() && profile.yaml().contains("# really: round trip"), "{}", entry.name);
        }
    }
}

#[test]
fn the_profiles_on_disk_are_the_topologies() {
    let disk = [
        ("asia_deployment", include_str!("../../../netem/profiles/asia_deployment.yaml")),
        ("asia_deployment_as_run", include_str!("../../../netem/profiles/asia_deployment_as_run.yaml")),
        ("harsh_asia", include_str!("../../../netem/profiles/harsh_asia.yaml")),
        ("harsh_asia_as_run", include_str!("../../../netem/profiles/harsh_asia_as_run.yaml")),
    ];
    for (name, text) in disk {
        assert_eq!(
            study_import::profile::yaml(&presets::find(name).unwrap()),
            text,
            "print it anew with `study import preset {name}`"
        );
    }
}

/// For the support of `study-link`'s own tests.
#[test]
fn the_reader_of_links_is_theirs() {
    let link: LinkParams = support::link("{ symmetric: true, one_way: 1 ms, rate: unlimited }");
    assert_eq!(link.base_rtt(), SimDuration::from_millis(2));
}
