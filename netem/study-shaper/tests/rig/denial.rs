//! What a machine forbids is said with its step, its errno and the cure.

use crate::traffic::{equal, holds};
use crate::{Check, as_plain_user, is_root};
use std::path::Path;
use std::process::Command;
use study_shaper::{Backend, Children, Outcome, Probe, Step, StepError, choose, probe};

type Denial = fn(&Path, &Path) -> Check;

pub const ALL: &[(&str, Denial)] = &[
    ("root_backends_are_denied_to_a_plain_user", root_backends_are_denied_to_a_plain_user),
    ("a_closed_device_node_leads_to_the_packet_backend", a_closed_device_node_leads_to_the_packet_backend),
    ("a_missing_device_node_is_named", a_missing_device_node_is_named),
    ("forbidden_user_namespaces_are_named", forbidden_user_namespaces_are_named),
    ("a_program_that_is_not_prepared_is_no_backend", a_program_that_is_not_prepared_is_no_backend),
    ("netem_is_there_or_its_absence_is_said", netem_is_there_or_its_absence_is_said),
    ("without_any_backend_every_reason_is_given", without_any_backend_every_reason_is_given),
];

/// A probe as the plain user: the program is told to be the child of the probe directly.
fn probe_as_user(program: &Path, backend: Backend, tun_node: &Path) -> Result<Option<StepError>, String> {
    let mut command = Command::new(program);
    command.args(["__shaper-probe", backend.name()]).arg(tun_node);
    let output = as_plain_user(&mut command).output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let answer = study_tree::serde_json::from_str::<Result<(), StepError>>(text.trim());
    answer.map(Result::err).map_err(|e| format!("{e}: `{text}` {}", String::from_utf8_lossy(&output.stderr)))
}

fn denied(found: Option<StepError>, step: Step, errno: i32, cure: &str) -> Check {
    let error = found.ok_or("it works")?;
    equal("step and errno", &(error.step, error.errno), &(step, errno))?;
    holds(error.cure().is_some_and(|text| text.contains(cure)), || format!("cure: {:?}", error.cure()))
}

fn root_backends_are_denied_to_a_plain_user(program: &Path, tun_node: &Path) -> Check {
    for backend in [Backend::RootTun, Backend::RootPacket] {
        denied(probe_as_user(program, backend, tun_node)?, Step::NetworkNamespace, nix::libc::EPERM, "root")?;
    }
    Ok(())
}

fn a_closed_device_node_leads_to_the_packet_backend(program: &Path, _: &Path) -> Check {
    // A file that nobody but root may open stands for a node of mode 0600.
    let closed = Path::new("/etc/shadow");
    let tun = probe_as_user(program, Backend::UsernsTun, closed)?;
    if tun.as_ref().is_some_and(|error| error.step < Step::TunNode) {
        println!("skipped: no user namespace here: {}", tun.map(|e| e.to_string()).unwrap_or_default());
        return Ok(());
    }
    let packet = probe_as_user(program, Backend::UsernsPacket, closed)?;
    let outcome = |error: Option<StepError>| error.map_or(Outcome::Works, |error| Outcome::Fails { error, cure: None });
    let probes = [
        Probe { backend: Backend::UsernsTun, outcome: outcome(tun.clone()) },
        Probe { backend: Backend::UsernsPacket, outcome: outcome(packet) },
    ];
    denied(tun, Step::TunNode, nix::libc::EACCES, "0666")?;
    equal("chosen", &choose(&probes).map_err(|e| e.to_string())?, &Backend::UsernsPacket)
}

fn a_missing_device_node_is_named(program: &Path, _: &Path) -> Check {
    let backend = if is_root() { Backend::RootTun } else { Backend::UsernsTun };
    let children = Children { program: program.to_owned(), tun_node: "/nowhere/tun".into() };
    match probe(backend, &children).outcome {
        Outcome::Fails { error, cure } => {
            equal("detail", &error.detail.as_str(), &"/nowhere/tun")?;
            holds(cure.is_some_and(|cure| cure.contains("mknod")), || "no cure".to_owned())?;
            denied(Some(error), Step::TunNode, nix::libc::ENOENT, "mknod")
        }
        Outcome::Works => Err("it works".to_owned()),
    }
}

/// A user namespace in which the number of further ones is set to 0: what a machine without them looks like.
fn forbidden_user_namespaces_are_named(program: &Path, tun_node: &Path) -> Check {
    let script = format!(
        "echo 0 > /proc/sys/user/max_user_namespaces && exec {} __shaper-probe userns-packet {}",
        program.display(),
        tun_node.display()
    );
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", &script]);
    let output = as_plain_user(&mut command).output().map_err(|e| format!("unshare: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let answer: Result<(), StepError> =
        study_tree::serde_json::from_str(text.trim()).map_err(|e| format!("{e}: `{text}`"))?;
    equal("exit code", &output.status.code(), &Some(3))?;
    denied(answer.err(), Step::UserNamespace, nix::libc::ENOSPC, "max_user_namespaces")
}

fn a_program_that_is_not_prepared_is_no_backend(_: &Path, tun_node: &Path) -> Check {
    for program in ["/bin/true", "/nowhere/program"] {
        let children = Children { program: program.into(), tun_node: tun_node.to_owned() };
        match probe(Backend::UsernsPacket, &children).outcome {
            Outcome::Fails { error, .. } => equal("step", &error.step, &Step::Child)?,
            Outcome::Works => return Err(format!("{program} works")),
        }
    }
    Ok(())
}

fn netem_is_there_or_its_absence_is_said(program: &Path, tun_node: &Path) -> Check {
    let children = Children { program: program.to_owned(), tun_node: tun_node.to_owned() };
    match probe(Backend::Netem, &children).outcome {
        Outcome::Works => Ok(()),
        Outcome::Fails { error, .. } if error.step == Step::Qdisc => {
            denied(Some(error), Step::Qdisc, nix::libc::ENOENT, "sch_netem")
        }
        Outcome::Fails { error, .. } => holds(!is_root(), || error.to_string()),
    }
}

fn without_any_backend_every_reason_is_given(_: &Path, _: &Path) -> Check {
    let fails = |backend, step, errno| {
        let error = StepError::new(step, errno, "detail");
        Probe { backend, outcome: Outcome::Fails { cure: error.cure().map(str::to_owned), error } }
    };
    let probes = [
        fails(Backend::UsernsTun, Step::IdMap, nix::libc::EPERM),
        fails(Backend::RootTun, Step::NetworkNamespace, nix::libc::EPERM),
        Probe { backend: Backend::Netem, outcome: Outcome::Works },
    ];
    let text = choose(&probes).err().ok_or("one was chosen")?.to_string();
    for word in ["id-map", "EPERM", "apparmor", "root-tun", "`netem` carries no rigs"] {
        holds(text.contains(word), || format!("no `{word}` in: {text}"))?;
    }
    Ok(())
}
