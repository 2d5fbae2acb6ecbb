//! The binary as a plain user meets it. As root, the user 65534 is played, with a program and a TUN node that it may use.

use crate::sandbox::{Ran, Sandbox};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const NOBODY: u32 = 65_534;

/// A folder that a plain user can read, with the program and a TUN node in it.
pub struct Stage {
    pub sandbox: Sandbox,
    pub program: PathBuf,
    pub tun_node: PathBuf,
}

pub fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

impl Stage {
    pub fn new() -> Self {
        let sandbox = Sandbox::new();
        let mut stage = Self { program: env!("CARGO_BIN_EXE_study").into(), tun_node: "/dev/net/tun".into(), sandbox };
        if is_root() {
            let mode = |path: &Path, mode: u32| {
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
            };
            mode(stage.sandbox.path(), 0o777);
            let program = stage.sandbox.path().join("study");
            // A second name where it can be had: the program is large.
            if std::fs::hard_link(&stage.program, &program).is_err() {
                std::fs::copy(&stage.program, &program).unwrap();
                mode(&program, 0o755);
            }
            stage.program = program;
            if let Some(node) = stage.node("tun", "0666") {
                stage.tun_node = node;
            }
        }
        stage
    }
    /// A TUN node with a mode; `None` where none can be made.
    pub fn node(&self, name: &str, mode: &str) -> Option<PathBuf> {
        let node = self.sandbox.path().join(name);
        let made = Command::new("mknod").args(["-m", mode]).arg(&node).args(["c", "10", "200"]).status();
        made.is_ok_and(|status| status.success()).then_some(node)
    }
    /// The binary as the plain user.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(self.sandbox.path()).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
    pub fn study(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command(arguments).output().unwrap())
    }
    /// `doctor` with this stage's TUN node.
    pub fn doctor(&self, node: &Path, more: &[&str]) -> Ran {
        let mut arguments = vec!["doctor", "--tun-node", node.to_str().unwrap()];
        arguments.extend(more);
        self.study(&arguments)
    }
}

/// Says why a check that needs something of the machine does not run; where it must run, that is a failure.
pub fn skip(why: &str) {
    assert!(std::env::var_os("STUDY_SHAPER_MUST_RUN").is_none(), "must run, but: {why}");
    println!("skipped: {why}");
}

/// State of a process; nothing when it has ended, also while its parent has not asked.
pub fn is_alive(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with(['Z', 'X']))
}

/// Waits until something holds, at most half a minute.
pub fn within_half_a_minute(mut holds: impl FnMut() -> bool) -> bool {
    (0..3_000).any(|_| {
        let now = holds();
        if !now {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        now
    })
}
