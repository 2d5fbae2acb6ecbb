//! `study doctor`: what this machine can emulate, why not the rest, and what helps.

use crate::args::DoctorArgs;
use crate::exit::{Exit, Failure};
use crate::load::SCHEMA_VERSION;
use crate::terminal::{Paint, Stream, Terminal, printable, to_stdout};
use serde_json::{Value, json};
use std::fmt::Write;
use study_shaper::leftovers::Found;
use study_shaper::{BackendReport, Children, Diagnosis, Fate, Leftover, Machine, Outcome, Search, SelfTest, Verdict};

pub fn execute(args: &DoctorArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::environment(format!("the path of this program is not known: {error}")))?;
    let children = Children { program, tun_node: args.tun_node.clone() };
    let diagnosis = Diagnosis::make(&children, args.clean);
    if args.json {
        let mut document = json!({ "schema_version": SCHEMA_VERSION });
        if let (Some(to), Ok(Value::Object(from))) = (document.as_object_mut(), serde_json::to_value(&diagnosis)) {
            to.extend(from);
        }
        to_stdout(format!("{document:#}\n").as_bytes())?;
    } else {
        to_stdout(report(&diagnosis, terminal.stdout).as_bytes())?;
    }
    match diagnosis.usable() {
        Ok(_) => Ok(Exit::Ok),
        Err(error) => Err(Failure::environment(printable(&error.to_string()))
            .help("one of the cures above makes `mode: emulated` possible; `mode: modeled` works everywhere")),
    }
}

fn report(diagnosis: &Diagnosis, stream: Stream) -> String {
    let mut text = machine(&diagnosis.machine);
    text.push_str("\nbackends\n");
    for report in &diagnosis.backends {
        backend(&mut text, report, diagnosis, stream);
    }
    if let Some(test) = &diagnosis.self_test {
        self_test(&mut text, test, stream);
    }
    if let Some(error) = &diagnosis.self_test_error {
        let _ = writeln!(text, "\nself-test\n  {} {error}", stream.paint(Paint::Red, "failed"));
    }
    leftovers(&mut text, &diagnosis.leftovers, stream);
    text
}

fn machine(machine: &Machine) -> String {
    let bytes = |bytes: Option<u64>| bytes.map_or_else(|| "unknown".to_owned(), |bytes| format!("{bytes} B"));
    let list = |names: &[String]| if names.is_empty() { "unknown".to_owned() } else { names.join(", ") };
    let rows = [
        ("kernel", format!("Linux {}", machine.kernel)),
        ("user", if machine.root { "root" } else { "not root" }.to_owned()),
        ("cores", machine.cores.to_string()),
        ("load", machine.load.map_or_else(|| "unknown".to_owned(), |load| format!("{load:.2} (last minute)"))),
        ("congestion control", machine.congestion_control.clone().unwrap_or_else(|| "unknown".to_owned())),
        ("  loaded", list(&machine.congestion_controls)),
        ("  without privilege", list(&machine.allowed_congestion_controls)),
        ("net.core.rmem_max", bytes(machine.rmem_max)),
        ("net.core.wmem_max", bytes(machine.wmem_max)),
        (
            "fq",
            machine.fq.as_ref().map_or_else(
                || "there".to_owned(),
                |error| format!("not to be had: {error}; TCP paces by its own timers"),
            ),
        ),
    ];
    let mut text = "machine\n".to_owned();
    for (name, value) in rows {
        let _ = writeln!(text, "  {name:<19} {}", printable(&value));
    }
    if machine.seccomp {
        text.push_str("  a filter on system calls is active (seccomp), as in a container\n");
    }
    text
}

fn backend(text: &mut String, report: &BackendReport, diagnosis: &Diagnosis, stream: Stream) {
    let name = report.backend.name();
    match &report.outcome {
        Outcome::Works => {
            let state = stream.paint(Paint::Green, "works");
            let chosen = match (diagnosis.chosen == Some(report.backend), report.carries_links) {
                (true, _) => " (chosen)",
                (false, false) => " (carries no links of a study yet)",
                (false, true) => "",
            };
            let _ = writeln!(text, "  {name:<13} {state}{chosen}");
        }
        Outcome::Fails { error, cure } => {
            let state = stream.paint(Paint::Red, "fails");
            let _ = writeln!(text, "  {name:<13} {state}  {}", printable(&error.to_string()));
            if let Some(cure) = cure {
                let _ = writeln!(text, "                {} {cure}", stream.paint(Paint::Cyan, "help:"));
            }
        }
    }
    for advice in &report.advice {
        let _ = writeln!(text, "                {advice}");
    }
}

fn self_test(text: &mut String, test: &SelfTest, stream: Stream) {
    let (paint, word) = match test.verdict {
        Verdict::Quiet => (Paint::Green, "quiet"),
        Verdict::Busy => (Paint::Yellow, "busy"),
    };
    let trips = &test.round_trips;
    let _ = writeln!(text, "\nself-test of {} ({:.1} s)", test.backend.name(), test.seconds);
    let _ = writeln!(
        text,
        "  machine meanwhile   {}: others took {:.0} % of all cores, steal {:.1} %",
        stream.paint(paint, word),
        100.0 * test.meanwhile.others,
        100.0 * test.meanwhile.steal
    );
    for complaint in &test.complaints {
        let _ = writeln!(
            text,
            "                      {} of {}: {:.3} (above {}, {})",
            complaint.kind.name(),
            complaint.subject,
            complaint.measured,
            complaint.warn_above,
            complaint.quality.name()
        );
    }
    let _ = writeln!(text, "  set-up of a link    {:.1} ms", test.setup_ms);
    let _ = writeln!(
        text,
        "  RTT error           p50 {:+.3} ms, p99 {:+.3} ms at {:.2} ms ({} of {} probes)",
        trips.p50_ms, trips.p99_ms, trips.expected_ms, trips.answered, trips.sent
    );
    let late = &test.lateness;
    let _ = writeln!(
        text,
        "  lateness            p50 {:.3} ms, p99 {:.3} ms, max {:.3} ms",
        late.p50_ms, late.p99_ms, late.max_ms
    );
    for rate in &test.rates {
        let measured = rate.measured_mbit_s.map_or_else(|| "nothing".to_owned(), |rate| format!("{rate:.2} Mbit/s"));
        let word = if rate.carried { "" } else { ", not within 1 %" };
        let name = format!("{:.0} Mbit/s", rate.asked_mbit_s);
        let _ = writeln!(
            text,
            "  {name:<19} carried {measured}{word}; relay {:.0} % of a core, lateness p99 {:.3} ms, lost outside the model {}",
            100.0 * rate.relay_cpu,
            rate.lateness.p99_ms,
            rate.foreign_losses
        );
    }
    let highest =
        test.highest_carried_mbit_s.map_or_else(|| "none of these".to_owned(), |rate| format!("{rate:.0} Mbit/s"));
    let _ = writeln!(text, "  highest rate        {highest}");
    let _ = writeln!(text, "  links at once       {} of 10 Mbit/s, by the packet budget", test.links_of_10_mbit_s);
}

fn leftovers(text: &mut String, search: &Search, stream: Stream) {
    text.push_str("\nleftovers\n");
    for found in &search.found {
        let _ = writeln!(text, "  {}", printable(&leftover(found, stream)));
    }
    match (search.found.len(), search.is_clean()) {
        (0, _) => text.push_str("  none\n"),
        (_, true) => text.push_str("  all of them are gone\n"),
        (_, false) => text.push_str("  `study doctor --clean` removes them\n"),
    }
    for looked in &search.looked {
        let _ = writeln!(text, "  {} {}", stream.paint(Paint::Dim, "looked at"), printable(looked));
    }
}

fn leftover(found: &Found, stream: Stream) -> String {
    let what = match &found.leftover {
        Leftover::Process { process, command, runner, namespaces } => format!(
            "process {process} (`{command}`) outlived its runner {runner}; it holds {} network namespaces",
            namespaces.len()
        ),
        Leftover::Interface { name } => format!("interface `{name}`"),
        Leftover::Folder { path } => format!("folder `{}`", path.display()),
    };
    match &found.fate {
        Fate::Found => what,
        Fate::Removed => format!("{what}: {}", stream.paint(Paint::Green, "removed")),
        Fate::Kept(why) => format!("{what}: {}: {why}", stream.paint(Paint::Yellow, "kept")),
    }
}
