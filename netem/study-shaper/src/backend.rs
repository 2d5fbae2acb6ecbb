//! The registry of backends: ways to carry a link on this machine, one file each.
//!
//! A backend is chosen by trying it: [`crate::probe`] builds a link of two nodes in a child process and sends a packet over it.
//! Figures of different backends are never pooled, so the choice is part of every record.

mod netem;
mod root_packet;
mod root_tun;
mod userns_packet;
mod userns_tun;

study_tree::choices! {
    /// A way to carry a link.
    pub enum Backend {
        /// TUN interfaces in a user namespace: no privilege, but the TUN device node must be open to the user.
        UsernsTun = "userns-tun",
        /// Virtual Ethernet pairs and packet sockets in a user namespace: no privilege and no device node.
        UsernsPacket = "userns-packet",
        /// TUN interfaces, as root.
        RootTun = "root-tun",
        /// Virtual Ethernet pairs and packet sockets, as root: receive buffers of any size.
        RootPacket = "root-packet",
        /// The kernel's netem queueing discipline: for comparison with the literature, without losses by index.
        Netem = "netem",
    }
}

/// How a backend gets the right to make namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// A user namespace of its own, entered by a child process before it has threads.
    UserNamespace,
    /// The process is root.
    Root,
    /// Either.
    Any,
}

/// What carries the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Device {
    /// TUN interfaces.
    Tun,
    /// Virtual Ethernet pairs and packet sockets.
    Packet,
    /// A queueing discipline of the kernel with this name; no relay.
    Kernel(&'static str),
}

/// A row of the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Which backend.
    pub backend: Backend,
    /// How it gets its rights.
    pub privilege: Privilege,
    /// What carries the packets.
    pub device: Device,
    /// What a user should know before reading its figures.
    pub remark: &'static str,
}

impl Backend {
    /// Its row of the registry.
    #[must_use]
    pub const fn row(self) -> Row {
        match self {
            Self::UsernsTun => userns_tun::ROW,
            Self::UsernsPacket => userns_packet::ROW,
            Self::RootTun => root_tun::ROW,
            Self::RootPacket => root_packet::ROW,
            Self::Netem => netem::ROW,
        }
    }
    /// Whether [`crate::Rig`] can carry links with it.
    #[must_use]
    pub const fn has_relay(self) -> bool {
        matches!(self.row().device, Device::Tun | Device::Packet)
    }
    /// In which order backends are tried: without privileges first through user namespaces, as root without them.
    #[must_use]
    pub fn order(root: bool) -> Vec<Self> {
        let (mut order, later): (Vec<_>, Vec<_>) =
            Self::ALL.iter().partition(|backend| match backend.row().privilege {
                Privilege::UserNamespace => !root,
                Privilege::Root => root,
                Privilege::Any => false,
            });
        order.extend(later);
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_stands_for_its_own_backend() {
        for backend in Backend::ALL {
            assert_eq!(backend.row().backend, *backend);
            assert!(!backend.row().remark.is_empty());
        }
    }

    #[test]
    fn root_needs_no_user_namespace_and_others_begin_with_one() {
        use Backend::*;
        assert_eq!(Backend::order(false), [UsernsTun, UsernsPacket, RootTun, RootPacket, Netem]);
        assert_eq!(Backend::order(true), [RootTun, RootPacket, UsernsTun, UsernsPacket, Netem]);
    }
}
