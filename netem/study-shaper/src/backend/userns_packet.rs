//! `userns-packet`: virtual Ethernet pairs and packet sockets inside a user namespace.

use super::{Backend, Device, Privilege, Row};

pub(super) const ROW: Row = Row {
    backend: Backend::UsernsPacket,
    privilege: Privilege::UserNamespace,
    device: Device::Packet,
    remark: "the receive buffer is capped by net.core.rmem_max (about 1,700 full packets at 4 MB, under 100 at 208 kB)",
};
