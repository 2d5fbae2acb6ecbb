//! Rigs on this machine: as root, as root of a user namespace, and as a plain user.
//!
//! A test program without the usual harness, because a user namespace must be entered before there are threads. Each backend
//! gets a child of this program that runs the checks of `checks`; as root a plain user is played by the user 65534 with a TUN
//! device node of its own. What a machine forbids is skipped in one line; with `STUDY_SHAPER_MUST_RUN` set a skip is a failure.

mod accuracy;
mod checks;
mod denial;
mod faults;
mod kernel;
mod kill;
mod traffic;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use study_shaper::backend::Privilege;
use study_shaper::{Backend, Children, Early, Outcome, StepError, early_main, probe, worker_command};

/// The user that is played when the tests run as root.
const NOBODY: u32 = 65_534;

/// A failed check says what it found.
pub type Check = Result<(), String>;

/// Where a check runs.
pub struct Place {
    /// What carries the links.
    pub backend: Backend,
    /// A TUN node that may be opened.
    pub tun_node: PathBuf,
}

/// A check by name. Those that do not depend on the backend run once.
pub type Named = (&'static str, fn(&Place) -> Check);

fn main() -> ExitCode {
    let arguments = match early_main(std::env::args_os()) {
        Early::Exit(code) => return code,
        Early::Continue(arguments) => arguments,
    };
    let words: Vec<String> = arguments.iter().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--inside", backend, tun_node, filter @ ..] => inside(backend, tun_node, filter),
        ["--hold", backend, tun_node] => kill::hold(&place(backend, tun_node)),
        ["--run-worker", backend, tun_node] => kill::run_worker(&place(backend, tun_node)),
        ["--list", ..] => ExitCode::SUCCESS,
        filter => everything(filter),
    }
}

fn place(backend: &str, tun_node: &str) -> Place {
    let backend = *Backend::ALL.iter().find(|b| b.name() == backend).expect("a backend");
    Place { backend, tun_node: PathBuf::from(tun_node) }
}

/// Runs the checks of a backend in this process.
fn inside(backend: &str, tun_node: &str, filter: &[&str]) -> ExitCode {
    let place = place(backend, tun_node);
    let all: Vec<Named> = [checks::ALL, accuracy::ALL, faults::ALL, kernel::ALL].concat();
    let wanted = all.into_iter().filter(|(name, _)| matches(name, filter));
    let failed = wanted.filter(|(name, check)| !report(&format!("{backend}: {name}"), || check(&place))).count();
    ExitCode::from(u8::from(failed > 0))
}

fn matches(name: &str, filter: &[&str]) -> bool {
    let words: Vec<_> = filter.iter().filter(|word| !word.starts_with('-')).collect();
    words.is_empty() || words.iter().any(|word| name.contains(**word))
}

fn report(name: &str, check: impl FnOnce() -> Check) -> bool {
    match check() {
        Ok(()) => println!("test {name} ... ok"),
        Err(what) => {
            println!("test {name} ... FAILED\n    {}", what.replace('\n', "\n    "));
            return false;
        }
    }
    true
}

/// A folder that other users can read, with this program and an open TUN node in it.
struct Stage {
    folder: PathBuf,
    program: PathBuf,
    tun_node: PathBuf,
}

impl Stage {
    fn new(root: bool) -> Self {
        let here = std::env::current_exe().expect("the path of this program");
        let node = PathBuf::from("/dev/net/tun");
        if !root {
            return Self { folder: PathBuf::new(), program: here, tun_node: node };
        }
        let folder = std::env::temp_dir().join(format!("study-shaper-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder for the test");
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).expect("its mode");
        let program = folder.join("rig");
        std::fs::copy(here, &program).expect("a copy that others can execute");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("its mode");
        let made = folder.join("tun");
        let made_node = Command::new("mknod").arg("-m").arg("0666").arg(&made).args(["c", "10", "200"]).status();
        let tun_node = if made_node.is_ok_and(|status| status.success()) { made } else { node };
        Self { folder, program, tun_node }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.folder.as_os_str().is_empty() {
            std::fs::remove_dir_all(&self.folder).ok();
        }
    }
}

fn is_root() -> bool {
    nix::unistd::getuid().is_root()
}

/// Becomes the plain user when the tests run as root.
fn as_plain_user(command: &mut Command) -> &mut Command {
    if is_root() { command.uid(NOBODY).gid(NOBODY).current_dir("/") } else { command }
}

fn everything(filter: &[&str]) -> ExitCode {
    let stage = Stage::new(is_root());
    let children = Children { program: stage.program.clone(), tun_node: stage.tun_node.clone() };
    let mut failed = 0;
    let mut carried = 0;
    for backend in Backend::ALL.iter().filter(|b| b.has_relay()) {
        let as_root_only = backend.row().privilege == Privilege::Root;
        if as_root_only && !is_root() {
            println!("skipped: {} needs root", backend.name());
            continue;
        }
        if let Outcome::Fails { error, .. } = probe(*backend, &children).outcome {
            let excused = forbidden(&error) && std::env::var_os("STUDY_SHAPER_MUST_RUN").is_none();
            println!("{}: {}: {error}", if excused { "skipped" } else { "FAILED" }, backend.name());
            failed += u32::from(!excused);
            continue;
        }
        carried += 1;
        failed += u32::from(!run_backend(*backend, &stage, filter));
    }
    for (name, check) in denial::ALL.iter().filter(|(name, _)| matches(name, filter)) {
        failed += u32::from(!report(name, || check(&stage.program, &stage.tun_node)));
    }
    if carried > 0 {
        for (name, check) in kill::ALL.iter().filter(|(name, _)| matches(name, filter)) {
            failed += u32::from(!report(name, || check(&stage.program, &stage.tun_node)));
        }
    }
    drop(stage);
    println!("\n{carried} backends, {failed} failures");
    ExitCode::from(u8::from(failed > 0))
}

/// Whether the machine does not allow or not have it. Anything else that fails is our fault.
fn forbidden(error: &StepError) -> bool {
    use nix::libc::{EACCES, EAFNOSUPPORT, ENODEV, ENOENT, ENOSPC, EOPNOTSUPP, EPERM};
    [EPERM, EACCES, ENOENT, ENODEV, ENOSPC, EOPNOTSUPP, EAFNOSUPPORT].contains(&error.errno)
}

/// Runs a backend's checks in a child: a worker in a user namespace as the plain user, or a root process.
fn run_backend(backend: Backend, stage: &Stage, filter: &[&str]) -> bool {
    let mut command = match backend.row().privilege {
        Privilege::UserNamespace => worker_command(&stage.program),
        _ => Command::new(&stage.program),
    };
    command.arg("--inside").arg(backend.name()).arg(&stage.tun_node).args(filter);
    if backend.row().privilege == Privilege::UserNamespace {
        as_plain_user(&mut command);
    }
    command.status().is_ok_and(|status| status.success())
}

/// Whether a process with that number is there and not a dead one that waits for its parent.
pub fn alive(process: u32) -> bool {
    let state = std::fs::read_to_string(Path::new("/proc").join(process.to_string()).join("stat")).unwrap_or_default();
    state.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with(['Z', 'X']))
}
