//! `netem`: the kernel's own emulator, where its module exists. It is probed so that a machine's report is whole; `Rig` carries no links with it yet.

use super::{Backend, Device, Privilege, Row};

pub(super) const ROW: Row = Row {
    backend: Backend::Netem,
    privilege: Privilege::Any,
    device: Device::Kernel("netem"),
    remark: "jitter reorders, loss has no index; not yet usable for rigs",
};
