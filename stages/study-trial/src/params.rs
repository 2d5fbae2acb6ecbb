//! How emulated trials are run: the keys of `mode: { emulated: ... }`.

use study_shaper::Backend;
use study_tree::{choices, params};

choices! {
    /// What carries the links.
    pub enum BackendChoice {
        /// The first backend that works on this machine.
        Auto = "auto",
        /// TUN interfaces in a user namespace.
        UsernsTun = "userns-tun",
        /// Virtual Ethernet pairs and packet sockets in a user namespace.
        UsernsPacket = "userns-packet",
        /// TUN interfaces, as root.
        RootTun = "root-tun",
        /// Virtual Ethernet pairs and packet sockets, as root.
        RootPacket = "root-packet",
    }
}

impl BackendChoice {
    /// The backend, when one is named.
    #[must_use]
    pub fn backend(self) -> Option<Backend> {
        Backend::ALL.iter().copied().find(|backend| backend.name() == self.name())
    }
}

choices! {
    /// What a player does while it waits for room in its buffer.
    pub enum Pacing {
        /// It waits, as a viewer would.
        RealTime = "real_time",
        /// It moves its own clock on when nothing is in flight: no idle times on the wire, so idle restart and losses clocked
        /// by time are not those of a real session.
        BackToBack = "back_to_back",
    }
}

params! {
    /// How emulated trials are run.
    pub struct EmulationParams {
        /// What carries the links.
        backend: BackendChoice = BackendChoice::Auto;
        /// What a player does while it waits for room in its buffer.
        pacing: Pacing = Pacing::RealTime;
        /// How often a block (all arms of a run) is run again when the timing of one of its trials was tainted; the last attempt is kept and marked.
        retries: u32 = 2, in 0..=10;
        /// Blocks at once; 0: as many as the packets of their links leave room for on this machine.
        at_once: u64 = 0, in 0..=64;
        /// Trials of each arm before the first block: they are recorded as such and are in no result.
        warm_ups: u32 = 0, in 0..=10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_backend_with_a_relay_can_be_chosen() {
        for backend in Backend::ALL.iter().filter(|backend| backend.has_relay()) {
            assert!(BackendChoice::ALL.iter().any(|choice| choice.backend() == Some(*backend)), "{backend:?}");
        }
        assert_eq!(BackendChoice::Auto.backend(), None);
    }
}
