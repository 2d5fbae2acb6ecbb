//! `root-tun`: TUN interfaces as root.

use super::{Backend, Device, Privilege, Row};

pub(super) const ROW: Row = Row {
    backend: Backend::RootTun,
    privilege: Privilege::Root,
    device: Device::Tun,
    remark: "a full TUN queue drops packets before the relay; only the interface's counter shows them",
};
