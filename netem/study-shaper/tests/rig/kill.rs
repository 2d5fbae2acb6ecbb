//! A runner that is killed leaves nothing: no process, no namespace, no interface.

use crate::traffic::{equal, holds, options, symmetric, way};
use crate::{Check, NOBODY, Place, alive, as_plain_user, is_root};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use study_ident::SeedPath;
use study_shaper::{Backend, Rig, Topology, worker_command};

type Kill = fn(&Path, &Path) -> Check;

pub const ALL: &[(&str, Kill)] = &[("a_killed_runner_leaves_nothing", a_killed_runner_leaves_nothing)];

/// Builds a rig, says where it is, and holds it until killed.
pub fn hold(place: &Place) -> ExitCode {
    let nodes = ["client", "edge", "origin"];
    let links = vec![symmetric(way(1, 50)); 2];
    let topology = Topology::chain(&nodes, links, SeedPath::root(1)).expect("a chain");
    let rig = Rig::build(&topology, place.backend, &options(place)).expect("a rig");
    let numbers: Vec<String> =
        nodes.iter().map(|node| rig.namespace(node).expect("a node").number().to_string()).collect();
    println!("ready {} {}", std::process::id(), numbers.join(" "));
    std::io::stdout().flush().expect("said");
    loop {
        std::thread::sleep(Duration::from_secs(60));
    }
}

/// The runner: starts a worker and waits for it.
pub fn run_worker(place: &Place) -> ExitCode {
    let program = std::env::current_exe().expect("this program");
    let mut worker = worker_command(&program);
    let status = worker.arg("--hold").arg(place.backend.name()).arg(&place.tun_node).status().expect("a worker");
    ExitCode::from(u8::from(!status.success()))
}

fn a_killed_runner_leaves_nothing(program: &Path, tun_node: &Path) -> Check {
    let interfaces = || {
        std::fs::read_to_string("/proc/net/dev")
            .unwrap_or_default()
            .lines()
            .map(|l| l.split(':').next().unwrap_or("").to_owned())
            .collect::<Vec<_>>()
    };
    let before = interfaces();
    let mut tried = vec![(Backend::UsernsPacket, "--run-worker"), (Backend::UsernsTun, "--run-worker")];
    if is_root() {
        tried.extend([(Backend::RootTun, "--hold"), (Backend::RootPacket, "--hold")]);
    }
    for (backend, mode) in tried {
        let mut command = Command::new(program);
        command.arg(mode).arg(backend.name()).arg(tun_node).stdout(Stdio::piped()).stderr(Stdio::null());
        if mode == "--run-worker" {
            as_plain_user(&mut command);
        }
        let mut runner = command.spawn().map_err(|e| e.to_string())?;
        let mut line = String::new();
        let output = runner.stdout.take().ok_or("no output")?;
        BufReader::new(output).read_line(&mut line).map_err(|e| e.to_string())?;
        let mut words = line.split_whitespace().skip(1);
        let Some(worker) = words.next().and_then(|word| word.parse::<u32>().ok()) else {
            runner.kill().ok();
            runner.wait().ok();
            println!("skipped: {} builds no rig here", backend.name());
            continue;
        };
        let namespaces: Vec<String> = words.map(|number| format!("net:[{number}]")).collect();
        equal("namespaces", &namespaces.len(), &3)?;
        holds(held(&namespaces) > 0, || "the namespaces cannot be seen while they are there".to_owned())?;
        kill(Pid::from_raw(runner.id() as i32), Signal::SIGKILL).map_err(|e| e.to_string())?;
        runner.wait().map_err(|e| e.to_string())?;
        let until = Instant::now() + Duration::from_secs(20);
        while (alive(worker) || held(&namespaces) > 0) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        let outlived = alive(worker);
        if outlived {
            kill(Pid::from_raw(worker as i32), Signal::SIGKILL).ok();
        }
        holds(!outlived, || format!("{}: the worker {worker} outlived its runner (user {NOBODY})", backend.name()))?;
        equal(&format!("{}: namespaces still held", backend.name()), &held(&namespaces), &0)?;
    }
    equal("interfaces of this machine", &interfaces(), &before)
}

/// How many descriptors and threads that can be seen hold one of these namespaces.
fn held(namespaces: &[String]) -> usize {
    let list = |path: &Path| {
        std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let is_one = |path: &Path| {
        std::fs::read_link(path).is_ok_and(|to| namespaces.iter().any(|name| to.as_os_str() == name.as_str()))
    };
    let processes = list(Path::new("/proc"));
    let processes = processes
        .iter()
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().parse::<u32>().is_ok()));
    processes
        .map(|process| {
            let descriptors = list(&process.join("fd")).iter().filter(|fd| is_one(fd)).count();
            let threads = list(&process.join("task")).iter().filter(|task| is_one(&task.join("ns/net"))).count();
            descriptors + threads
        })
        .sum()
}
