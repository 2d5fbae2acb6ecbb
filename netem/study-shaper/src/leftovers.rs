//! What a crash may have left behind, and how one would know it for ours.
//!
//! By design there is nothing: namespaces and interfaces live as long as the processes that hold them, and children of a
//! runner end with it. This module looks whether that holds, and takes away only what carries a mark that nobody else gives:
//!
//! | what | mark |
//! |---|---|
//! | process | its environment names a runner (number and start) that is not there any more |
//! | namespace | held by such a process; none has a name |
//! | interface | called `link<n>`, with an address of the relay (`02:53:54:...`), in a network that no other process holds |
//! | folder | `study-shaper-<process>` of the crate's tests among the temporary files, of this user, with nothing foreign in it |

use crate::child::RUNNER;
use crate::error::{At, Step};
use crate::netlink::Netlink;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getuid};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// First bytes of the link-layer address of each inner interface of a packet backend: a locally administered address.
pub(crate) const MAC_PREFIX: [u8; 3] = [0x02, 0x53, 0x54];
/// Beginning of the names of the folders that the crate's tests make.
const FOLDER: &str = "study-shaper-";
/// What those folders hold.
const INSIDE: [&str; 2] = ["rig", "tun"];

/// A process that starts children, told apart from a later one with the same number by its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Runner {
    process: i32,
    /// Ticks from the start of the machine to that of the process.
    started: u64,
}

impl fmt::Display for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.process, self.started)
    }
}

impl Runner {
    /// This process.
    pub(crate) fn current() -> Self {
        let process = nix::unistd::getpid().as_raw();
        Self { process, started: state_and_start(process).map_or(0, |(_, started)| started) }
    }
    fn parse(text: &str) -> Option<Self> {
        let (process, started) = text.split_once('.')?;
        Some(Self { process: process.parse().ok()?, started: started.parse().ok()? })
    }
    /// Whether it is there and works: a dead process that waits for its parent is not.
    fn is_there(self) -> bool {
        state_and_start(self.process).is_some_and(|(state, started)| started == self.started && !"ZX".contains(state))
    }
}

/// The state and the start of a process: fields 3 and 22 of its `stat` (proc_pid_stat(5)).
fn state_and_start(process: i32) -> Option<(char, u64)> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

fn parse_stat(text: &str) -> Option<(char, u64)> {
    // The second field is a name in brackets, which may hold blanks and brackets itself.
    let mut fields = text[text.rfind(')')? + 1..].split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

/// Something that should not be there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Leftover {
    /// A child whose runner has ended, with all that it holds.
    Process {
        /// Its number.
        process: i32,
        /// Its command line.
        command: String,
        /// The number that its runner had.
        runner: i32,
        /// The network namespaces that it holds.
        namespaces: Vec<String>,
    },
    /// An interface of a link in the network of this process.
    Interface {
        /// Its name.
        name: String,
    },
    /// A folder among the temporary files.
    Folder {
        /// Where.
        path: PathBuf,
    },
}

/// What became of a leftover.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Only looked at.
    Found,
    /// Taken away.
    Removed,
    /// Still there, because of this.
    Kept(String),
}

/// A leftover and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// What it is.
    #[serde(flatten)]
    pub leftover: Leftover,
    /// What became of it.
    pub fate: Fate,
}

/// A search for leftovers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Search {
    /// What was found.
    pub found: Vec<Found>,
    /// Where was looked, for what, and among how many.
    pub looked: Vec<String>,
}

impl Search {
    /// Looks, and touches nothing.
    #[must_use]
    pub fn look() -> Self {
        let (processes, seen) = processes();
        let (interfaces, all_interfaces) = interfaces();
        let (folders, all_folders) = folders(&std::env::temp_dir());
        let looked = vec![
            format!("{seen} processes: whether their environment (`{RUNNER}`) names a runner that has ended"),
            "network namespaces: ours have no name; they are held by the processes above or not at all".to_owned(),
            format!("{all_interfaces} interfaces of this network: names `link<n>` with an address of the relay"),
            format!("{all_folders} temporary files in `{}`: `{FOLDER}<process>`", std::env::temp_dir().display()),
        ];
        let found = [processes, interfaces, folders].concat();
        Self { found: found.into_iter().map(|leftover| Found { leftover, fate: Fate::Found }).collect(), looked }
    }

    /// Takes away what was found. Each thing is looked at again before.
    pub fn clean(&mut self) {
        for found in &mut self.found {
            found.fate = found.leftover.remove();
        }
    }

    /// Whether something is (still) there.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.found.iter().all(|found| found.fate == Fate::Removed)
    }
}

impl Leftover {
    fn remove(&self) -> Fate {
        let gone = match self {
            Self::Process { process, .. } => match orphan(*process) {
                Some(now) if now.is_process(*process) => {
                    kill(Pid::from_raw(*process), Signal::SIGKILL).at(Step::Child, "kill")
                }
                _ => Ok(()),
            },
            Self::Interface { name } => match holder_of_this_network() {
                Some(process) => return Fate::Kept(format!("process {process} holds this network")),
                None => Netlink::open().and_then(|netlink| netlink.remove(name)),
            },
            Self::Folder { path } => std::fs::remove_dir_all(path).at(Step::Child, &path.display().to_string()),
        };
        gone.map_or_else(|error| Fate::Kept(error.to_string()), |()| Fate::Removed)
    }
    fn is_process(&self, number: i32) -> bool {
        matches!(self, Self::Process { process, .. } if *process == number)
    }
}

/// Numbers of all processes that can be seen.
fn numbers() -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Marked processes whose runner has ended, and how many processes there are.
fn processes() -> (Vec<Leftover>, usize) {
    let mut seen = 0;
    let found = numbers().inspect(|_| seen += 1).filter_map(orphan).collect();
    (found, seen)
}

/// The process, if it is marked and its runner has ended.
fn orphan(process: i32) -> Option<Leftover> {
    let own = |path: &str| std::fs::read_link(path).ok();
    let path = |name: &str| format!("/proc/{process}/{name}");
    // Numbers of another container's processes mean nothing here.
    if process == nix::unistd::getpid().as_raw() || own(&path("ns/pid")) != own("/proc/self/ns/pid") {
        return None;
    }
    let runner = runner_of(&std::fs::read(path("environ")).ok()?)?;
    let (state, _) = state_and_start(process)?;
    if runner.is_there() || "ZX".contains(state) {
        return None;
    }
    let command = std::fs::read(path("cmdline")).unwrap_or_default();
    let command = String::from_utf8_lossy(&command).trim_end_matches('\0').replace('\0', " ");
    Some(Leftover::Process { process, command, runner: runner.process, namespaces: held(process) })
}

/// The runner that an environment names.
fn runner_of(environment: &[u8]) -> Option<Runner> {
    let mut entries = environment.split(|byte| *byte == 0).filter_map(|entry| std::str::from_utf8(entry).ok());
    entries.find_map(|entry| Runner::parse(entry.strip_prefix(RUNNER)?.strip_prefix('=')?))
}

/// Network namespaces that a process holds by descriptors or has threads in, other than this process's own.
fn held(process: i32) -> Vec<String> {
    let names = |folder: String, below: &str| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| {
                std::fs::read_link(entry.path().join(below)).or_else(|_| std::fs::read_link(entry.path())).ok()
            })
            .collect()
    };
    let here = std::fs::read_link("/proc/self/ns/net").unwrap_or_default();
    let mut all = names(format!("/proc/{process}/fd"), "");
    all.extend(names(format!("/proc/{process}/task"), "ns/net"));
    let mut spaces: Vec<String> = all
        .into_iter()
        .filter(|path| *path != here)
        .filter_map(|path| path.to_str().filter(|text| text.starts_with("net:[")).map(str::to_owned))
        .collect();
    spaces.sort();
    spaces.dedup();
    spaces
}

/// Another process with a descriptor of the network that this one is in: it may be a rig that works.
fn holder_of_this_network() -> Option<i32> {
    let here = std::fs::read_link("/proc/self/ns/net").ok()?;
    let holds = |process: &i32| {
        let descriptors = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        descriptors.filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(|to| to == here)
    };
    numbers().filter(|process| *process != nix::unistd::getpid().as_raw()).find(holds)
}

/// Interfaces of ours in this network, and how many there are.
fn interfaces() -> (Vec<Leftover>, usize) {
    let all = nix::ifaddrs::getifaddrs().into_iter().flatten();
    let addresses: Vec<(String, [u8; 6])> =
        all.filter_map(|entry| Some((entry.interface_name, entry.address?.as_link_addr()?.addr()?))).collect();
    let ours = addresses.iter().filter(|(name, mac)| is_ours(name, *mac));
    (ours.map(|(name, _)| Leftover::Interface { name: name.clone() }).collect(), addresses.len())
}

fn is_ours(name: &str, mac: [u8; 6]) -> bool {
    let number = name.strip_prefix("link").unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && mac.starts_with(&MAC_PREFIX)
}

/// Folders of killed tests, and how many temporary files there are.
fn folders(among: &Path) -> (Vec<Leftover>, usize) {
    let entries: Vec<_> = std::fs::read_dir(among).into_iter().flatten().flatten().collect();
    let ours = entries.iter().filter(|entry| {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(FOLDER)?.parse::<i32>().ok());
        process.is_some_and(|process| state_and_start(process).is_none()) && is_our_folder(&entry.path())
    });
    (ours.map(|entry| Leftover::Folder { path: entry.path() }).collect(), entries.len())
}

fn is_our_folder(path: &Path) -> bool {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return false };
    let mut inside = std::fs::read_dir(path).into_iter().flatten().flatten();
    metadata.is_dir()
        && metadata.uid() == getuid().as_raw()
        && inside.all(|entry| entry.file_name().to_str().is_some_and(|name| INSIDE.contains(&name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_there_and_one_with_another_start_is_not() {
        let own = Runner::current();
        assert!(own.is_there() && own.started > 0);
        assert_eq!(Runner::parse(&own.to_string()), Some(own));
        assert!(!Runner { started: own.started + 1, ..own }.is_there());
        assert_eq!(runner_of(format!("A=1\0{RUNNER}={own}\0B=2").as_bytes()), Some(own));
        assert_eq!(runner_of(format!("X{RUNNER}=1.2\0{RUNNER}X=1.2\0{RUNNER}=x").as_bytes()), None);
    }

    #[test]
    fn a_name_with_brackets_and_blanks_does_not_move_the_fields() {
        let rest = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20";
        assert_eq!(parse_stat(&format!("9 (a) b (c)) {rest}")), Some(('S', 777)));
        assert_eq!(parse_stat("9 (a) S 1"), None);
    }

    #[test]
    fn only_interfaces_with_our_name_and_our_address_are_ours() {
        assert!(is_ours("link12", [0x02, 0x53, 0x54, 0, 12, 1]));
        for (name, first) in [("link12", 0x06), ("link", 0x02), ("linkx", 0x02), ("eth0", 0x02)] {
            assert!(!is_ours(name, [first, 0x53, 0x54, 0, 12, 1]), "{name}");
        }
    }

    #[test]
    fn only_folders_of_ended_tests_without_foreign_files_are_ours() {
        let among = std::env::temp_dir().join(format!("leftovers-{}", std::process::id()));
        let make = |name: &str, file: &str| {
            std::fs::create_dir_all(among.join(name)).unwrap();
            std::fs::write(among.join(name).join(file), "").unwrap();
            among.join(name)
        };
        let own = i32::try_from(std::process::id()).unwrap();
        let ours = make("study-shaper-2147483647", "rig");
        make(&format!("study-shaper-{own}"), "rig");
        make("study-shaper-2147483646", "thesis.tex");
        make("study-shaper-notes", "rig");
        let found = folders(&among);
        std::fs::remove_dir_all(&among).unwrap();
        assert_eq!(found, (vec![Leftover::Folder { path: ours }], 4));
    }

    #[test]
    fn what_cannot_be_removed_is_kept_with_the_reason() {
        let missing = Leftover::Folder { path: "/nowhere/study-shaper-1".into() };
        assert!(matches!(missing.remove(), Fate::Kept(why) if why.contains("ENOENT")));
    }
}
