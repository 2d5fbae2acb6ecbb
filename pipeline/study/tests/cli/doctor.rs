//! `study doctor`: what it says, what it finds, what it leaves alone. Nothing here asserts a time or a rate.

use crate::sandbox::{Ran, Sandbox};
use crate::user::{Stage, is_alive, is_root, skip, within_half_a_minute};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// The mark of the shaper's children.
const MARK: &str = "STUDY_SHAPER_RUNNER";

fn backend<'d>(document: &'d Value, name: &str) -> &'d Value {
    document["backends"].as_array().unwrap().iter().find(|b| b["backend"] == name).unwrap()
}

/// The document, when some backend carries links here; the reasons otherwise.
fn working(ran: &Ran) -> Option<Value> {
    let document = ran.json();
    if ran.code == Some(3) && document["chosen"].is_null() {
        skip(&ran.stderr);
        return None;
    }
    assert_eq!(ran.code, Some(0), "{ran:?}");
    Some(document)
}

/// What every report has.
fn check_report(document: &Value) {
    assert_eq!(document["schema_version"], 1);
    let names: Vec<&str> =
        document["backends"].as_array().unwrap().iter().map(|b| b["backend"].as_str().unwrap()).collect();
    for name in ["userns-tun", "userns-packet", "root-tun", "root-packet", "netem"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(document["machine"]["kernel"], kernel.trim());
    assert!(document["machine"]["cores"].as_u64().unwrap() > 0);
    assert!(document["machine"]["rmem_max"].as_u64().is_some(), "{document}");
    let controls = document["machine"]["congestion_controls"].as_array().unwrap();
    assert!(controls.contains(&document["machine"]["congestion_control"]), "{document}");
    assert!(!document["leftovers"]["looked"].as_array().unwrap().is_empty());
}

fn check_self_test(document: &Value) {
    let test = &document["self_test"];
    assert_eq!(test["backend"], document["chosen"], "{document}");
    let asked: Vec<f64> =
        test["rates"].as_array().unwrap().iter().map(|r| r["asked_mbit_s"].as_f64().unwrap()).collect();
    assert_eq!(asked, [10.0, 50.0, 100.0]);
    let trips = &test["round_trips"];
    assert!(trips["sent"] == 400 && trips["answered"].as_u64().unwrap() > 0, "{trips}");
    // Two times 25 ms, and twice the transmission of a probe of 92 B at 50 Mbit/s.
    assert!((trips["expected_ms"].as_f64().unwrap() - 50.029_44).abs() < 1e-6, "{trips}");
    let cores = document["machine"]["cores"].as_f64().unwrap();
    assert_eq!(test["links_of_10_mbit_s"].as_f64().unwrap(), (cores * 9.6).floor());
    assert!(["quiet", "busy"].contains(&test["verdict"].as_str().unwrap()), "{test}");
    if test["verdict"] == "busy" {
        println!("tainted: {}", test["complaints"]);
    }
}

#[test]
fn doctor_says_what_the_machine_can_do_as_the_user_that_we_are() {
    let ran = Sandbox::new().study(&["doctor", "--json"]);
    check_report(&ran.json());
    let Some(document) = working(&ran) else { return };
    check_self_test(&document);
    if is_root() {
        assert!(document["chosen"].as_str().unwrap().starts_with("root-"), "{document}");
    }
}

#[test]
fn doctor_works_for_a_plain_user_with_a_tun_node() {
    let stage = Stage::new();
    let ran = stage.doctor(&stage.tun_node, &["--json"]);
    check_report(&ran.json());
    let Some(document) = working(&ran) else { return };
    check_self_test(&document);
    for name in ["root-tun", "root-packet"] {
        let fails = &backend(&document, name)["outcome"]["fails"];
        assert_eq!((&fails["error"]["step"], &fails["error"]["errno"]), (&"network-namespace".into(), &1.into()));
        assert!(fails["cure"].as_str().unwrap().contains("run as root"), "{fails}");
    }
    if is_root() {
        assert_eq!(document["chosen"], "userns-tun", "the node of this test is open: {document}");
    }
}

#[test]
fn a_closed_tun_node_is_named_with_its_cure_and_packets_go_another_way() {
    let stage = Stage::new();
    // Without root there is none to make; a file that only root may open stands for it.
    let closed = if is_root() { stage.node("closed", "0600") } else { None };
    let closed = closed.unwrap_or_else(|| "/etc/shadow".into());
    let ran = stage.doctor(&closed, &[]);
    if ran.code == Some(3) && ran.stdout.contains("user-namespace") {
        return skip(&ran.stderr);
    }
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let said = format!("userns-tun    fails  step `tun-node` failed: EACCES: Permission denied ({})", closed.display());
    assert!(ran.stdout.contains(&said), "{said} in {ran:?}");
    assert!(ran.stdout.contains("help: give the TUN device node the mode 0666"), "{ran:?}");
    assert!(ran.stdout.contains("userns-packet works (chosen)"), "{ran:?}");
    assert!(ran.stdout.contains("self-test of userns-packet"), "{ran:?}");
}

/// A user namespace in which no further namespaces are allowed: what a machine looks like that forbids them.
#[test]
fn without_any_backend_the_exit_code_is_3_and_every_reason_is_given() {
    let stage = Stage::new();
    let script =
        "echo 0 > /proc/sys/user/max_user_namespaces && echo 0 > /proc/sys/user/max_net_namespaces && exec \"$@\"";
    let denied = |arguments: &[&str]| {
        let mut command = stage.command(&[]);
        let mut outer = Command::new("unshare");
        outer.args(["--user", "--map-root-user", "sh", "-c", script, "sh"]).arg(command.get_program());
        outer.args(arguments).current_dir(stage.sandbox.path());
        if is_root() {
            std::os::unix::process::CommandExt::uid(&mut outer, 65_534);
            std::os::unix::process::CommandExt::gid(&mut outer, 65_534);
        }
        command = outer;
        Ran::from(command.output().unwrap())
    };
    let ran = denied(&["doctor"]);
    if !ran.stdout.contains("backends") {
        return skip(&format!("no user namespace to forbid them in: {}", ran.stderr));
    }
    assert_eq!(ran.code, Some(3), "{ran:?}");
    for part in [
        "userns-packet fails  step `user-namespace` failed: ENOSPC",
        "help: raise the sysctl `user.max_user_namespaces`",
        "root-packet   fails  step `network-namespace` failed: ENOSPC",
        "help: raise the sysctl `user.max_net_namespaces`",
    ] {
        assert!(ran.stdout.contains(part), "{part} in {ran:?}");
    }
    assert!(!ran.stdout.contains("self-test"), "{ran:?}");
    assert!(ran.stderr.contains("no other works on this machine") && ran.stderr.contains("mode: modeled"), "{ran:?}");
    let json = denied(&["doctor", "--json"]);
    assert_eq!((json.code, &json.json()["chosen"], &json.json()["self_test"]), (Some(3), &Value::Null, &Value::Null));
}

#[test]
fn a_busy_machine_is_said_to_be_busy() {
    let done = AtomicBool::new(false);
    let ran = std::thread::scope(|scope| {
        for _ in 0..2 * std::thread::available_parallelism().unwrap().get() {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let ran = Sandbox::new().study(&["doctor", "--json"]);
        done.store(true, Ordering::Relaxed);
        ran
    });
    let Some(document) = working(&ran) else { return };
    assert_eq!(document["self_test"]["verdict"], "busy", "{document}");
    assert!(document["self_test"]["meanwhile"]["others"].as_f64().unwrap() > 0.25, "{document}");
}

/// A sleeping process that carries a mark.
fn sleeper(mark: Option<&str>) -> Child {
    let mut command = Command::new("sleep");
    command.arg("600").env_remove(MARK).stdin(Stdio::null()).stdout(Stdio::null());
    if let Some(mark) = mark {
        command.env(MARK, mark);
    }
    command.spawn().unwrap()
}

/// Number and start of a process, as the mark has them.
fn mark_of(process: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let start = stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap().to_owned();
    format!("{process}.{start}")
}

#[test]
fn only_what_outlived_its_runner_is_removed_and_only_when_asked() {
    let mut ended = sleeper(None);
    let dead = mark_of(ended.id());
    ended.kill().unwrap();
    ended.wait().unwrap();
    let own = mark_of(std::process::id());
    let later = format!("{}.1", std::process::id());
    let [mut orphan, mut other] = [sleeper(Some(&dead)), sleeper(Some(&later))];
    let mut bystanders = [sleeper(Some(&own)), sleeper(None), sleeper(Some("nonsense"))];
    let found = |document: &Value, process: u32, fate: &str| {
        let all = document["leftovers"]["found"].as_array().unwrap();
        all.iter().any(|f| f["process"] == process && f["fate"] == fate && f["command"] == "sleep 600")
    };
    let sandbox = Sandbox::new();
    let looked = sandbox.study(&["doctor", "--json"]).json();
    assert!([&orphan, &other].iter().all(|child| found(&looked, child.id(), "found")), "{looked}");
    assert!(bystanders.iter().all(|child| !found(&looked, child.id(), "found")), "{looked}");
    assert!([&orphan, &other].iter().all(|child| is_alive(child.id())), "looking changes nothing");
    let cleaned = sandbox.study(&["doctor", "--clean", "--json"]).json();
    assert!([&orphan, &other].iter().all(|child| found(&cleaned, child.id(), "removed")), "{cleaned}");
    let alive: Vec<bool> = bystanders.iter().map(|child| is_alive(child.id())).collect();
    for child in [&mut orphan, &mut other].into_iter().chain(&mut bystanders) {
        // Those that were removed have ended by now; the others are this test's.
        child.kill().ok();
    }
    let ends = [orphan.wait().unwrap(), other.wait().unwrap()];
    bystanders.iter_mut().for_each(|child| drop(child.wait()));
    assert!(ends.iter().all(|end| !end.success()));
    assert_eq!(alive, [true; 3], "nobody else's process was touched");
}

#[test]
fn an_interface_of_ours_is_removed_and_one_that_only_looks_like_it_stays() {
    let tools = ["ip", "unshare"].iter().all(|tool| Command::new(tool).arg("-V").output().is_ok());
    if !is_root() || !tools {
        return println!("skipped: only root can make interfaces here, with `ip`");
    }
    let script = "ip link add link7 address 02:53:54:00:07:01 type veth peer name other7 && \
                  ip link add link8 address 02:53:55:00:08:01 type veth peer name other8 && \
                  \"$0\" doctor --clean --json && ip -o link > after";
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&[]);
    let program = command.get_program().to_owned();
    command = Command::new("unshare");
    command.args(["--net", "sh", "-c", script]).arg(program).current_dir(sandbox.path());
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let document = ran.json();
    let interfaces: Vec<&Value> =
        document["leftovers"]["found"].as_array().unwrap().iter().filter(|f| f["kind"] == "interface").collect();
    assert_eq!(interfaces.len(), 1, "{document}");
    assert_eq!((&interfaces[0]["name"], &interfaces[0]["fate"]), (&"link7".into(), &"removed".into()));
    let after = sandbox.read("after");
    assert!(!after.contains("link7") && after.contains("link8") && after.contains("other8"), "{after}");
}

/// Processes that carry the mark of this runner.
fn children_of(runner: &str) -> Vec<u32> {
    let mark = format!("{MARK}={runner}");
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let marked = |process: &u32| {
        let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes()) && is_alive(*process)
    };
    numbers.filter(marked).collect()
}

#[test]
fn a_doctor_that_is_killed_leaves_nothing() {
    for as_user in [false, true] {
        let stage = Stage::new();
        let sandbox = Sandbox::new();
        let node = stage.tun_node.to_str().unwrap();
        let mut command =
            if as_user { stage.command(&["doctor", "--tun-node", node]) } else { sandbox.command(&["doctor"]) };
        let mut doctor = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mark = mark_of(doctor.id());
        let in_self_test = |process: &u32| {
            let command = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&command).contains("__shaper-self-test")
        };
        let seen = within_half_a_minute(|| {
            children_of(&mark).iter().any(in_self_test) || doctor.try_wait().unwrap().is_some()
        });
        if doctor.try_wait().unwrap().is_some() {
            skip("doctor ended without a self-test");
            continue;
        }
        assert!(seen, "no self-test within half a minute");
        doctor.kill().unwrap();
        doctor.wait().unwrap();
        assert!(within_half_a_minute(|| children_of(&mark).is_empty()), "left: {:?}", children_of(&mark));
        assert!(sandbox.names().is_empty(), "{:?}", sandbox.names());
    }
}
