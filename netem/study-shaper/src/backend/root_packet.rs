//! `root-packet`: virtual Ethernet pairs and packet sockets as root.

use super::{Backend, Device, Privilege, Row};

pub(super) const ROW: Row = Row {
    backend: Backend::RootPacket,
    privilege: Privilege::Root,
    device: Device::Packet,
    remark: "packet sockets with 64 MB of receive buffer",
};
