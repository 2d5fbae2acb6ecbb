//! The few kernel requests that no safe wrapper offers. All `unsafe` of this crate is here.
#![allow(
    unsafe_code,
    reason = "ioctl requests, socket addresses and socket options of the link layer have no safe wrapper"
)]

use nix::libc;
use nix::sys::socket::{LinkAddr, SockaddrLike};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd};

const VNET_HDR_OPTION: libc::c_int = 15;
/// Bytes of the offload header that stands before each packet when offloads are on (`struct virtio_net_hdr`).
pub(crate) const OFFLOAD_HEADER: usize = 10;
/// Bytes of an Ethernet address and of an Ethernet header.
pub(crate) const MAC: usize = 6;
pub(crate) const ETHERNET_HEADER: usize = 14;

nix::ioctl_write_ptr_bad!(
    tun_set_interface,
    nix::request_code_write!(b'T', 202, size_of::<libc::c_int>()),
    libc::ifreq
);
nix::ioctl_write_int_bad!(tun_set_offload, nix::request_code_write!(b'T', 208, size_of::<libc::c_uint>()));
nix::ioctl_readwrite_bad!(ethtool, libc::SIOCETHTOOL, libc::ifreq);

fn request(name: &str) -> libc::ifreq {
    // SAFETY: `ifreq` is plain data; all zeros is a value of it.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    request
}

/// Makes the TUN interface `name` in the network namespace in which `node` was opened.
pub(crate) fn attach_tun(node: &impl AsFd, name: &str, offload: bool) -> nix::Result<()> {
    let mut request = request(name);
    let header = if offload { libc::IFF_VNET_HDR } else { 0 };
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | header) as libc::c_short;
    // SAFETY: the descriptor is open and the request lives through the call.
    unsafe { tun_set_interface(node.as_fd().as_raw_fd(), &request) }?;
    if offload {
        // Checksums, TCP and UDP segmentation: what a stack hands over when nobody asked for packets. The kernel takes the two
        // of UDP together only.
        let wanted = (libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_USO4 | libc::TUN_F_USO6) as libc::c_int;
        // SAFETY: the argument is a number.
        unsafe { tun_set_offload(node.as_fd().as_raw_fd(), wanted) }?;
    }
    Ok(())
}

#[repr(C)]
struct EthtoolValue {
    command: u32,
    value: u32,
}

/// Switches one feature of an interface (an `ETHTOOL_S*` command); `socket` is any socket of the namespace.
pub(crate) fn set_feature(socket: &impl AsFd, interface: &str, command: u32, on: bool) -> nix::Result<()> {
    let mut value = EthtoolValue { command, value: u32::from(on) };
    let mut request = request(interface);
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the kernel reads `ifr_data` as a `struct ethtool_value`, which lives through the call.
    unsafe { ethtool(socket.as_fd().as_raw_fd(), &mut request) }?;
    Ok(())
}

/// A link-layer address: IPv4 packets of the interface `index`, to or from `mac`.
pub(crate) fn link_address(index: u32, mac: [u8; MAC]) -> Option<LinkAddr> {
    // SAFETY: `sockaddr_ll` is plain data; all zeros is a value of it.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_IP as u16).to_be();
    address.sll_ifindex = index.try_into().ok()?;
    address.sll_halen = MAC as u8;
    address.sll_addr[..MAC].copy_from_slice(&mac);
    // SAFETY: the pointer is to a whole `sockaddr_ll` and the length is its length.
    unsafe { LinkAddr::from_raw((&raw const address).cast(), Some(size_of::<libc::sockaddr_ll>() as u32)) }
}

/// Asks for the offload header before each packet of a packet socket.
pub(crate) fn ask_offload_header(socket: &impl AsFd) -> nix::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the value lives through the call and its length is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_PACKET,
            VNET_HDR_OPTION,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as u32,
        )
    };
    nix::errno::Errno::result(result).map(drop)
}

/// Packets that a packet socket had no room for since the last question.
pub(crate) fn packet_drops(socket: &impl AsFd) -> u64 {
    // SAFETY: `tpacket_stats` is plain data; all zeros is a value of it.
    let mut statistics: libc::tpacket_stats = unsafe { zeroed() };
    let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    // SAFETY: the value lives through the call and its length is given.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut statistics).cast(),
            &raw mut length,
        )
    };
    if result == 0 { u64::from(statistics.tp_drops) } else { 0 }
}
