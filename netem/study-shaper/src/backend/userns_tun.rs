//! `userns-tun`: TUN interfaces inside a user namespace.

use super::{Backend, Device, Privilege, Row};

pub(super) const ROW: Row = Row {
    backend: Backend::UsernsTun,
    privilege: Privilege::UserNamespace,
    device: Device::Tun,
    remark: "a full TUN queue drops packets before the relay; only the interface's counter shows them",
};
