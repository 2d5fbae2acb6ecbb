//! Child processes of the same program: one that tries a backend, one that works inside a user namespace.
//!
//! A user namespace can be made by a process with one thread only, so both are begun by executing the program again with a
//! hidden first argument, and [`early_main`] must be the first call of its `main`.

use crate::backend::{Backend, Device, Privilege};
use crate::error::{At, ShaperError, Step, StepError};
use crate::leftovers;
use crate::namespace::Namespace;
use crate::netlink::Netlink;
use crate::rig::{Rig, RigOptions};
use crate::selftest::SelfTest;
use crate::topology::Topology;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getgid, getppid, getuid};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use study_ident::SeedPath;
use study_link::{DirectionParams, LinkParams, Rate};
use study_units::{BitRate, SimDuration};

const PROBE: &str = "__shaper-probe";
const QDISC: &str = "__shaper-qdisc";
const SELF_TEST: &str = "__shaper-self-test";
const WORKER: &str = "__shaper-worker";
const PLAIN_WORKER: &str = "__shaper-plain-worker";
/// The variable that every child carries, and what it starts: who began it. `study doctor` finds by it what outlived its runner.
pub(crate) const RUNNER: &str = "STUDY_SHAPER_RUNNER";
/// How long a probe may take, seconds.
const PROBE_SECONDS: u64 = 10;
/// How long a self-test may take, seconds.
const SELF_TEST_SECONDS: u64 = 60;

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
        Some(PROBE) => Early::Exit(probe_child_main(&arguments[2..], parent)),
        Some(QDISC) => Early::Exit(qdisc_child_main(&arguments[2..], parent)),
        Some(SELF_TEST) => Early::Exit(self_test_child_main(&arguments[2..], parent)),
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
    let mut command = child_command(program);
    command.arg(WORKER);
    command
}

/// The same as [`worker_command`] without a namespace: for backends that need root as it is.
#[must_use]
pub fn plain_worker_command(program: &Path) -> Command {
    let mut command = child_command(program);
    command.arg(PLAIN_WORKER);
    command
}

/// A command for a child of ours, marked with who began it.
fn child_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env(RUNNER, leftovers::Runner::current().to_string());
    command
}

/// Ends this process when the process `parent`, which began it, ends. For children that are not workers: whoever starts a role
/// in a process of its own tells it its own number. The kernel looks at the **thread** that spawned it.
///
/// # Errors
/// When the kernel refuses, or the parent is another one: it has ended already.
pub fn end_with_parent(parent: u32) -> Result<(), StepError> {
    die_with(Pid::from_raw(i32::try_from(parent).unwrap_or(0)))
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
    ask_child(children, |command| command.args([PROBE, backend.name()]).arg(&children.tun_node))
}

/// Tries whether the kernel has the queueing discipline `kind`, in a child process.
///
/// # Errors
/// The step that failed.
pub(crate) fn try_qdisc_in_child(kind: &str, children: &Children) -> Result<(), StepError> {
    ask_child(children, |command| command.args([QDISC, kind]))
}

/// Runs the self-test of a backend in a child process; see [`SelfTest::run`].
pub(crate) fn self_test_in_child(backend: Backend, children: &Children) -> Result<SelfTest, StepError> {
    ask_child(children, |command| command.args([SELF_TEST, backend.name()]).arg(&children.tun_node))
}

/// Runs a child to its end and reads its answer: a value, or the step that failed, as JSON.
fn ask_child<T: DeserializeOwned>(
    children: &Children,
    arguments: impl FnOnce(&mut Command) -> &mut Command,
) -> Result<T, StepError> {
    let program = children.program.display().to_string();
    let mut command = child_command(&children.program);
    arguments(&mut command);
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().at(Step::Child, &program)?;
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str::<Result<T, StepError>>(text.trim()).unwrap_or_else(|_| {
        Err(StepError::new(Step::Child, 0, format!("`{program}` ended with {} and no answer", output.status)))
    })
}

/// The child's side of [`ask_child`].
fn answer<T: Serialize>(result: &Result<T, StepError>) -> ExitCode {
    match serde_json::to_string(result) {
        Ok(text) => println!("{text}"),
        Err(_) => return ExitCode::from(4),
    }
    ExitCode::from(if result.is_err() { 3 } else { 0 })
}

/// The child's side of [`probe`]: tries, prints the answer as JSON, and ends.
fn probe_child_main(arguments: &[OsString], parent: Pid) -> ExitCode {
    // A probe that hangs is ended by the kernel, and says nothing: that is a failure of the step `child`.
    nix::unistd::alarm::set(PROBE_SECONDS as u32);
    let Some((backend, tun_node)) = backend_and_node(arguments) else { return ExitCode::from(2) };
    answer(&inside(backend, parent).and_then(|()| try_here(backend, tun_node)))
}

fn qdisc_child_main(arguments: &[OsString], parent: Pid) -> ExitCode {
    nix::unistd::alarm::set(PROBE_SECONDS as u32);
    let Some(kind) = arguments.first().and_then(|kind| kind.to_str()) else { return ExitCode::from(2) };
    answer(&inside(Backend::Netem, parent).and_then(|()| try_qdisc(kind)))
}

fn self_test_child_main(arguments: &[OsString], parent: Pid) -> ExitCode {
    nix::unistd::alarm::set(SELF_TEST_SECONDS as u32);
    let Some((backend, tun_node)) = backend_and_node(arguments) else { return ExitCode::from(2) };
    answer(&inside(backend, parent).and_then(|()| SelfTest::measure(backend, tun_node).map_err(as_step)))
}

fn backend_and_node(arguments: &[OsString]) -> Option<(Backend, &Path)> {
    let name = arguments.first()?.to_str()?;
    let backend = Backend::ALL.iter().find(|backend| backend.name() == name)?;
    Some((*backend, Path::new(arguments.get(1)?)))
}

/// Enters the user namespace that the backend needs and ties this process to its parent.
fn inside(backend: Backend, parent: Pid) -> Result<(), StepError> {
    let privilege = backend.row().privilege;
    if privilege == Privilege::UserNamespace || (privilege == Privilege::Any && !getuid().is_root()) {
        enter_user_namespace()?;
    }
    die_with(parent)
}

fn as_step(error: ShaperError) -> StepError {
    match error {
        ShaperError::Step(error) => error,
        other => StepError::new(Step::Child, 0, other.to_string()),
    }
}

fn try_here(backend: Backend, tun_node: &Path) -> Result<(), StepError> {
    if let Device::Kernel(kind) = backend.row().device {
        return try_qdisc(kind);
    }
    let way = DirectionParams::plain(SimDuration::ZERO, Rate::Constant(BitRate::from_bits_per_second(100_000_000)));
    let link = LinkParams { down: way.clone(), up: way };
    let options = RigOptions { tun_node: tun_node.to_owned(), ..RigOptions::default() };
    let rig = Topology::chain(&["near", "far"], vec![link], SeedPath::root(0))
        .and_then(|topology| Rig::build(&topology, backend, &options));
    rig.map(drop).map_err(as_step)
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
