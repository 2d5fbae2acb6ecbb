//! What goes wrong between a rig and the kernel: the step that failed, its errno, and what helps.

use nix::errno::Errno;
use serde::{Deserialize, Serialize};

study_tree::choices! {
    /// A step of making a rig. Each is one request to the kernel, so an errno is enough to say what is missing.
    pub enum Step {
        /// Starting the child that probes or works.
        Child = "child",
        /// Making a user namespace.
        UserNamespace = "user-namespace",
        /// Mapping the user to root inside the user namespace.
        IdMap = "id-map",
        /// Making a network namespace.
        NetworkNamespace = "network-namespace",
        /// Entering a network namespace.
        EnterNamespace = "enter-namespace",
        /// Opening a socket for netlink messages.
        Netlink = "netlink",
        /// Writing a kernel setting of a namespace.
        Sysctl = "sysctl",
        /// Opening the TUN device node.
        TunNode = "tun-node",
        /// Making a TUN interface.
        TunInterface = "tun-interface",
        /// Making a pair of virtual Ethernet interfaces.
        VethPair = "veth-pair",
        /// Setting address, MTU, queue length and state of an interface.
        Interface = "interface",
        /// Switching offloads of an interface off.
        Offload = "offload",
        /// Opening a packet socket.
        PacketSocket = "packet-socket",
        /// Adding a queueing discipline.
        Qdisc = "qdisc",
        /// Starting or waking a thread of the relay.
        RelayThread = "relay-thread",
        /// A packet there and back.
        FirstPacket = "first-packet",
    }
}

/// A step that the kernel refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("step `{}` failed: {} ({detail})", step.name(), errno_name(*errno))]
pub struct StepError {
    /// Which step.
    pub step: Step,
    /// The kernel's error number; 0 when it gave none.
    pub errno: i32,
    /// What was asked for.
    pub detail: String,
}

impl StepError {
    /// A refusal with the kernel's error number.
    pub fn new(step: Step, errno: i32, detail: impl Into<String>) -> Self {
        Self { step, errno, detail: detail.into() }
    }
    /// What a user can do about it; `None` when nothing is known to help.
    #[must_use]
    pub fn cure(&self) -> Option<&'static str> {
        let denied = [libc::EPERM, libc::EACCES].contains(&self.errno);
        match (self.step, self.errno) {
            (Step::UserNamespace, libc::ENOSPC) => Some("raise the sysctl `user.max_user_namespaces`"),
            (Step::UserNamespace | Step::IdMap, _) if denied => Some(
                "set the sysctl `kernel.apparmor_restrict_unprivileged_userns` to 0 or give the program an AppArmor profile with `userns,` \
                 (Ubuntu 23.10 and later); set `kernel.unprivileged_userns_clone` to 1 (older Debian); or run as root",
            ),
            (Step::NetworkNamespace, _) if denied => Some("run as root, or use a backend with a user namespace"),
            (Step::NetworkNamespace, libc::ENOSPC) => Some("raise the sysctl `user.max_net_namespaces`"),
            (Step::TunNode, libc::ENOENT | libc::ENODEV | libc::ENXIO) => Some(
                "load the kernel module `tun`, make the node with `mknod /dev/net/tun c 10 200`, or use a packet backend",
            ),
            (Step::TunNode, _) if denied => Some("give the TUN device node the mode 0666, or use a packet backend"),
            (Step::TunInterface, _) if denied => {
                Some("the user namespace gave no capability: an AppArmor profile may forbid it")
            }
            (Step::VethPair, libc::EOPNOTSUPP | libc::ENOENT) => {
                Some("load the kernel module `veth`, or use a TUN backend")
            }
            (Step::PacketSocket, libc::EAFNOSUPPORT) => {
                Some("load the kernel module `af_packet`, or use a TUN backend")
            }
            (Step::Qdisc, libc::ENOENT | libc::EOPNOTSUPP) => {
                Some("load the kernel module of the queueing discipline (`sch_netem`), or use a relay backend")
            }
            _ => None,
        }
    }
}

/// The symbol and the text of an error number.
#[must_use]
pub fn errno_name(errno: i32) -> String {
    if errno == 0 {
        return "no error number".to_owned();
    }
    let known = Errno::from_raw(errno);
    format!("{known:?}: {}", known.desc())
}

/// Adds the step to what the kernel said.
pub(crate) trait At<T> {
    fn at(self, step: Step, detail: &str) -> Result<T, StepError>;
}

impl<T> At<T> for nix::Result<T> {
    fn at(self, step: Step, detail: &str) -> Result<T, StepError> {
        self.map_err(|errno| StepError::new(step, errno as i32, detail))
    }
}

impl<T> At<T> for std::io::Result<T> {
    fn at(self, step: Step, detail: &str) -> Result<T, StepError> {
        self.map_err(|error| StepError::new(step, error.raw_os_error().unwrap_or(0), detail))
    }
}

/// Why there is no rig.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ShaperError {
    /// The kernel refused a step.
    #[error(transparent)]
    Step(#[from] StepError),
    /// A topology that means nothing.
    #[error("the topology is wrong: {0}")]
    Topology(String),
    /// The relay cannot carry the rate with the accuracy that is promised.
    #[error("link `{link}` asks for {asked}; the relay carries up to {ceiling} per direction")]
    Rate {
        /// Name of the link.
        link: String,
        /// What was asked for.
        asked: String,
        /// The ceiling.
        ceiling: String,
    },
    /// The backend cannot be used for a rig.
    #[error("backend `{backend}` {reason}")]
    Backend {
        /// Name of the backend.
        backend: &'static str,
        /// Why not.
        reason: String,
    },
    /// A measurement on the link got too few answers.
    #[error("link `{link}` answered {answered} of {sent} probes")]
    Unanswered {
        /// Name of the link.
        link: String,
        /// Probes sent.
        sent: u32,
        /// Probes answered.
        answered: u32,
    },
}

use nix::libc;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_its_step_its_errno_and_the_cure() {
        let error = StepError::new(Step::TunNode, libc::EACCES, "/dev/net/tun");
        assert_eq!(error.to_string(), "step `tun-node` failed: EACCES: Permission denied (/dev/net/tun)");
        assert!(error.cure().unwrap().contains("0666"));
        let apparmor = StepError::new(Step::IdMap, libc::EPERM, "/proc/self/uid_map");
        assert!(apparmor.cure().unwrap().contains("apparmor_restrict_unprivileged_userns"));
        assert_eq!(StepError::new(Step::FirstPacket, 0, "no answer").cure(), None);
    }
}
