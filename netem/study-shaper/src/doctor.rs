//! What this machine can emulate, why not the rest, and what helps.

use crate::backend::{Backend, Device};
use crate::child::{Children, Outcome, Probe, choose, probe_all};
use crate::error::{ShaperError, Step, StepError};
use crate::leftovers::Search;
use crate::machine::{Machine, WANTED_RECEIVE_BUFFER};
use crate::selftest::SelfTest;
use serde::{Deserialize, Serialize};

/// A backend on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackendReport {
    /// Which one.
    pub backend: Backend,
    /// What trying it has shown.
    pub outcome: Outcome,
    /// Whether links can be carried with it; `netem` is for comparison with the literature only.
    pub carries_links: bool,
    /// What limits it or helps it here, besides the cure of a failed step.
    pub advice: Vec<String>,
}

/// Everything at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// What there is.
    pub machine: Machine,
    /// All backends, in the order in which they would be chosen.
    pub backends: Vec<BackendReport>,
    /// The one that would be used.
    pub chosen: Option<Backend>,
    /// How good it is; `None` without a backend.
    pub self_test: Option<SelfTest>,
    /// Why there is no self-test although there is a backend.
    pub self_test_error: Option<StepError>,
    /// What a crash left behind.
    pub leftovers: Search,
}

impl Diagnosis {
    /// Looks at everything: a few probes and a self-test of about 5 s. With `clean`, leftovers are removed.
    #[must_use]
    pub fn make(children: &Children, clean: bool) -> Self {
        // First, so that the probes' own children are not among what is looked at.
        let mut leftovers = Search::look();
        if clean {
            leftovers.clean();
        }
        let machine = Machine::look(children);
        let probes = probe_all(children);
        let chosen = choose(&probes).ok();
        let (self_test, self_test_error) = match chosen.map(|backend| SelfTest::run(backend, children)) {
            None => (None, None),
            Some(Ok(test)) => (Some(test), None),
            Some(Err(error)) => (None, Some(error)),
        };
        let backends = probes.into_iter().map(|probe| BackendReport::of(probe, &machine)).collect();
        Self { machine, backends, chosen, self_test, self_test_error, leftovers }
    }

    /// The backend that works.
    ///
    /// # Errors
    /// When there is none, with every reason; or what the self-test stumbled over.
    pub fn usable(&self) -> Result<Backend, ShaperError> {
        if let Some(error) = &self.self_test_error {
            return Err(error.clone().into());
        }
        let probe = |report: &BackendReport| Probe { backend: report.backend, outcome: report.outcome.clone() };
        choose(&self.backends.iter().map(probe).collect::<Vec<_>>())
    }
}

impl BackendReport {
    fn of(probe: Probe, machine: &Machine) -> Self {
        let Probe { backend, outcome } = probe;
        let mut advice = Vec::new();
        match &outcome {
            Outcome::Works => {
                advice.push(backend.row().remark.to_owned());
                advice.extend(receive_buffer(backend, machine));
            }
            Outcome::Fails { error, .. } => advice.extend(seccomp(error, machine)),
        }
        Self { backend, outcome, carries_links: backend.has_relay(), advice }
    }
}

/// Without root, a packet socket holds what the kernel allows, and drops the rest.
fn receive_buffer(backend: Backend, machine: &Machine) -> Option<String> {
    let allowed = machine.rmem_max.filter(|bytes| *bytes < WANTED_RECEIVE_BUFFER)?;
    (backend == Backend::UsernsPacket && backend.row().device == Device::Packet).then(|| {
        format!(
            "a packet socket holds {allowed} B: bursts are dropped before the relay; raise it as root with \
             `sysctl net.core.rmem_max={WANTED_RECEIVE_BUFFER}`"
        )
    })
}

/// A container's filter refuses with the same error as a missing right.
fn seccomp(error: &StepError, machine: &Machine) -> Option<String> {
    let denied = [nix::libc::EPERM, nix::libc::EACCES, nix::libc::ENOSYS].contains(&error.errno);
    let filtered = matches!(error.step, Step::UserNamespace | Step::NetworkNamespace | Step::EnterNamespace);
    (machine.seccomp && denied && filtered).then(|| {
        "a filter on system calls is active here, as in a container: start the container with \
         `--security-opt seccomp=unconfined`, or with `--cap-add SYS_ADMIN --cap-add NET_ADMIN --device /dev/net/tun`"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine {
            kernel: "6.18".to_owned(),
            root: false,
            cores: 2,
            congestion_control: None,
            congestion_controls: Vec::new(),
            allowed_congestion_controls: Vec::new(),
            rmem_max: Some(212_992),
            wmem_max: None,
            fq: None,
            seccomp: true,
            load: None,
        }
    }
    fn report(backend: Backend, outcome: Outcome, machine: &Machine) -> String {
        BackendReport::of(Probe { backend, outcome }, machine).advice.join("\n")
    }
    fn fails(step: Step, errno: i32) -> Outcome {
        Outcome::Fails { error: StepError::new(step, errno, "detail"), cure: None }
    }

    #[test]
    fn small_receive_buffers_matter_to_packet_backends_without_root_only() {
        assert!(report(Backend::UsernsPacket, Outcome::Works, &machine()).contains("net.core.rmem_max=4194304"));
        assert!(!report(Backend::RootPacket, Outcome::Works, &machine()).contains("sysctl net.core"));
        assert!(!report(Backend::UsernsTun, Outcome::Works, &machine()).contains("sysctl net.core"));
        let large = Machine { rmem_max: Some(WANTED_RECEIVE_BUFFER), ..machine() };
        assert!(!report(Backend::UsernsPacket, Outcome::Works, &large).contains("sysctl net.core"));
    }

    #[test]
    fn a_containers_filter_is_named_where_it_may_be_the_reason() {
        let denied = fails(Step::UserNamespace, nix::libc::EPERM);
        assert!(report(Backend::UsernsTun, denied.clone(), &machine()).contains("seccomp=unconfined"));
        let free = Machine { seccomp: false, ..machine() };
        assert_eq!(report(Backend::UsernsTun, denied, &free), "");
        assert_eq!(report(Backend::UsernsTun, fails(Step::TunNode, nix::libc::EACCES), &machine()), "");
    }
}
