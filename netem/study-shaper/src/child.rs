//! Child processes of the same program: one that tries a backend, one that works inside a user namespace.
//!
//! A user namespace can be made by a process with one thread only, so both are begun by executing the program again with a
//! hidden first argument, and [`early_main`] must be the first call of its `main`.

use crate::backend::{Backend, Device, Privilege};
use crate::error::{At, ShaperError, Step, StepError};
use crate::namespace::Namespace;
use crate::netlink::Netlink;
use crate::rig::{Rig, RigOptions};
use crate::topology::Topology;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getgid, getppid, getuid};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use study_ident::SeedPath;
use study_link::{DirectionParams, LinkParams, Rate};
use study_units::{BitRate, SimDuration};

const PROBE: &str = "__shaper-probe";
const WORKER: &str = "__shaper-worker";
const PLAIN_WORKER: &str = "__shaper-plain-worker";
/// How long a probe may take, seconds.
const PROBE_SECONDS: u64 = 10;

/// What trying a backend has shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Which backend.
    pub backend: Backend,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A packet went there and back.
    Works,
    /// A step failed.
    Fails {
        /// Which one, and what the kernel said.
        error: StepError,
        /// What helps, when something is known to.
        cure: Option<String>,
    },
}

impl Probe {
    fn of(backend: Backend, result: Result<(), StepError>) -> Self {
        let outcome = match result {
            Ok(()) => Outcome::Works,
            Err(error) => Outcome::Fails { cure: error.cure().map(str::to_owned), error },
        };
        Self { backend, outcome }
    }
    /// Whether the backend can be used.
    #[must_use]
    pub fn works(&self) -> bool {
        self.outcome == Outcome::Works
    }
}

/// How to start children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Children {
    /// The program whose `main` begins with [`early_main`]; usually [`std::env::current_exe`].
    pub program: PathBuf,
    /// The TUN device node.
    pub tun_node: PathBuf,
}

/// What `main` goes on with.
#[derive(Debug)]
pub enum Early {
    /// The program as usual, with these arguments (the program's name first).
    Continue(Vec<OsString>),
    /// This child has done its work.
    Exit(ExitCode),
}

/// The first call of `main`, before any thread: does a child's work or enters its user namespace. An ordinary start goes on
/// unchanged.
#[must_use]
pub fn early_main(arguments: impl IntoIterator<Item = OsString>) -> Early {
    let parent = getppid();
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    match arguments.get(1).and_then(|first| first.to_str()) {
        Some(PROBE) => Early::Exit(probe_child_main(&arguments[2..])),
        Some(WORKER) => match enter_user_namespace().and_then(|()| die_with(parent)) {
            Ok(()) => {
                arguments.remove(1);
                Early::Continue(arguments)
            }
            Err(error) => {
                eprintln!("error: {error}");
                if let Some(cure) = error.cure() {
                    eprintln!("help: {cure}");
                }
                Early::Exit(ExitCode::from(3))
            }
        },
        Some(PLAIN_WORKER) => match die_with(parent) {
            Ok(()) => {
                arguments.remove(1);
                Early::Continue(arguments)
            }
            Err(error) => {
                eprintln!("error: {error}");
                Early::Exit(ExitCode::from(3))
            }
        },
        _ => Early::Continue(arguments),
    }
}

/// A command that runs `program` inside a user namespace of its own, as root there. It ends when the **thread** that spawns
/// it ends, so spawn it from one that waits for it.
#[must_use]
pub fn worker_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg(WORKER);
    command
}

/// The same as [`worker_command`] without a namespace: for backends that need root as it is.
#[must_use]
pub fn plain_worker_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg(PLAIN_WORKER);
    command
}

/// Makes this process root of a new user namespace. It must not have threads.
///
/// # Errors
/// When the kernel refuses, or refuses to map the user.
pub fn enter_user_namespace() -> Result<(), StepError> {
    let (uid, gid) = (getuid(), getgid());
    unshare(CloneFlags::CLONE_NEWUSER).at(Step::UserNamespace, "unshare(CLONE_NEWUSER)")?;
    let write = |path: &str, text: String| std::fs::write(path, text).at(Step::IdMap, path);
    write("/proc/self/setgroups", "deny".to_owned())?;
    write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    write("/proc/self/gid_map", format!("0 {gid} 1"))
}

fn die_with(parent: Pid) -> Result<(), StepError> {
    set_pdeathsig(Signal::SIGKILL).at(Step::Child, "PR_SET_PDEATHSIG")?;
    // A parent that died before that call sends no signal; then somebody else is the parent by now.
    if getppid() == parent {
        Ok(())
    } else {
        Err(StepError::new(Step::Child, nix::libc::ESRCH, "the parent has ended"))
    }
}

/// Tries one backend in a child process.
#[must_use]
pub fn probe(backend: Backend, children: &Children) -> Probe {
    Probe::of(backend, try_in_child(backend, children))
}

/// Tries all backends, in the order in which they would be chosen.
#[must_use]
pub fn probe_all(children: &Children) -> Vec<Probe> {
    Backend::order(getuid().is_root()).into_iter().map(|backend| probe(backend, children)).collect()
}

/// The first backend that works and can carry a rig.
///
/// # Errors
/// When there is none: with every backend, its step and its cure.
pub fn choose(probes: &[Probe]) -> Result<Backend, ShaperError> {
    let works = probes.iter().find(|probe| probe.works() && probe.backend.has_relay());
    works.map(|probe| probe.backend).ok_or_else(|| {
        let lines = probes.iter().map(|probe| match &probe.outcome {
            Outcome::Works => format!("`{}` carries no rigs", probe.backend.name()),
            Outcome::Fails { error, cure } => {
                format!(
                    "`{}`: {error}{}",
                    probe.backend.name(),
                    cure.as_ref().map_or(String::new(), |cure| format!("; {cure}"))
                )
            }
        });
        let reason = format!("and no other works on this machine: {}", lines.collect::<Vec<_>>().join(". "));
        ShaperError::Backend { backend: "userns-tun", reason }
    })
}

fn try_in_child(backend: Backend, children: &Children) -> Result<(), StepError> {
    let program = children.program.display().to_string();
    let output = Command::new(&children.program)
        .args([PROBE, backend.name()])
        .arg(&children.tun_node)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .at(Step::Child, &program)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let answer: Result<Option<StepError>, _> = serde_json::from_str(text.trim());
    match answer {
        Ok(None) => Ok(()),
        Ok(Some(error)) => Err(error),
        Err(_) => {
            Err(StepError::new(Step::Child, 0, format!("`{program}` ended with {} and no answer", output.status)))
        }
    }
}

/// The child's side of [`probe`]: tries, prints the answer as JSON, and ends.
fn probe_child_main(arguments: &[OsString]) -> ExitCode {
    // A probe that hangs is ended by the kernel, and says nothing: that is a failure of the step `child`.
    nix::unistd::alarm::set(PROBE_SECONDS as u32);
    let backend = arguments.first().and_then(|name| Backend::ALL.iter().find(|b| name.to_str() == Some(b.name())));
    let (Some(&backend), Some(tun_node)) = (backend, arguments.get(1)) else { return ExitCode::from(2) };
    let error = try_here(backend, Path::new(tun_node)).err();
    match serde_json::to_string(&error) {
        Ok(text) => println!("{text}"),
        Err(_) => return ExitCode::from(4),
    }
    ExitCode::from(if error.is_some() { 3 } else { 0 })
}

fn try_here(backend: Backend, tun_node: &Path) -> Result<(), StepError> {
    let row = backend.row();
    let inside = row.privilege == Privilege::UserNamespace || (row.privilege == Privilege::Any && !getuid().is_root());
    if inside {
        enter_user_namespace()?;
    }
    if let Device::Kernel(kind) = row.device {
        return try_qdisc(kind);
    }
    let way = DirectionParams::plain(SimDuration::ZERO, Rate::Constant(BitRate::from_bits_per_second(100_000_000)));
    let link = LinkParams { down: way.clone(), up: way };
    let options = RigOptions { tun_node: tun_node.to_owned(), ..RigOptions::default() };
    let rig = Topology::chain(&["near", "far"], vec![link], SeedPath::root(0))
        .and_then(|topology| Rig::build(&topology, backend, &options));
    match rig {
        Ok(_) => Ok(()),
        Err(ShaperError::Step(error)) => Err(error),
        Err(other) => Err(StepError::new(Step::Child, 0, other.to_string())),
    }
}

/// A kernel that knows the discipline complains about missing options, one that does not, about its name.
fn try_qdisc(kind: &str) -> Result<(), StepError> {
    Namespace::create()?.run(|| {
        let netlink = Netlink::open()?;
        netlink.loopback_up()?;
        match netlink.add_qdisc("lo", kind, &[]) {
            Err(error) if error.errno == nix::libc::EINVAL => Ok(()),
            other => other,
        }
    })
}
