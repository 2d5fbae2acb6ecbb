//! A port: where the relay takes packets from a node and gives packets to it.
//!
//! Two kinds with the same answers. A TUN interface hands over IP packets and nothing else. A packet socket on the relay's
//! end of a virtual Ethernet pair hands over IPv4 packets only (the kernel filters by protocol) and puts the Ethernet
//! header before what is sent.

use crate::error::{At, Step, StepError};
use crate::sys;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockType, bind, getsockopt, recv, send, sendto, setsockopt, socket,
    sockopt,
};
use nix::sys::stat::Mode;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Receive buffer that is asked for on a packet socket, bytes.
const PACKET_BUFFER: usize = 64 << 20;

/// An open port. Packets come and go with [`Port::header`] bytes of offload header before them.
#[derive(Debug)]
pub(crate) struct Port {
    fd: OwnedFd,
    kind: Kind,
    header: usize,
    /// Bytes of the receive buffer that the kernel granted (0: not a socket).
    pub(crate) granted_buffer: u64,
}

#[derive(Debug)]
enum Kind {
    Tun,
    Packet(LinkAddr),
    /// With the Ethernet header, because the kernel gives the offload header to such sockets only.
    Frames([u8; sys::MAC]),
}

impl Port {
    /// Makes the TUN interface `name` in the namespace of this thread.
    pub(crate) fn tun(node: &Path, name: &str, offload: bool) -> Result<Self, StepError> {
        let what = node.display().to_string();
        let fd =
            open(node, OFlag::O_RDWR | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC, Mode::empty()).at(Step::TunNode, &what)?;
        sys::attach_tun(&fd, name, offload).at(Step::TunInterface, name)?;
        Ok(Self { fd, kind: Kind::Tun, header: if offload { sys::OFFLOAD_HEADER } else { 0 }, granted_buffer: 0 })
    }
    /// Opens a packet socket on the interface `index` of this thread's namespace, whose peer has the address `mac`.
    pub(crate) fn packet(index: u32, mac: [u8; 6], offload: bool) -> Result<Self, StepError> {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        // Protocol 0: nothing is received before the socket is bound.
        let kind = if offload { SockType::Raw } else { SockType::Datagram };
        let fd = socket(AddressFamily::Packet, kind, flags, None).at(Step::PacketSocket, "socket(AF_PACKET)")?;
        if setsockopt(&fd, sockopt::RcvBufForce, &PACKET_BUFFER).is_err() {
            // Without real root the host's `net.core.rmem_max` is the limit.
            setsockopt(&fd, sockopt::RcvBuf, &PACKET_BUFFER).at(Step::PacketSocket, "receive buffer")?;
        }
        let granted_buffer = getsockopt(&fd, sockopt::RcvBuf).at(Step::PacketSocket, "receive buffer")? as u64;
        if offload {
            sys::ask_offload_header(&fd).at(Step::PacketSocket, "offload header")?;
        }
        let address = sys::link_address(index, mac).ok_or_else(|| StepError::new(Step::PacketSocket, 0, "address"))?;
        bind(fd.as_raw_fd(), &address).at(Step::PacketSocket, "bind")?;
        let (kind, header) = match offload {
            true => (Kind::Frames(mac), sys::OFFLOAD_HEADER + sys::ETHERNET_HEADER),
            false => (Kind::Packet(address), 0),
        };
        Ok(Self { fd, kind, header, granted_buffer })
    }
    /// Bytes before the IP header of each packet.
    pub(crate) const fn header(&self) -> usize {
        self.header
    }
    /// Takes a packet; `None` when there is none.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> Result<Option<usize>, Errno> {
        let got = match self.kind {
            Kind::Tun => nix::unistd::read(&self.fd, buffer),
            Kind::Packet(_) | Kind::Frames(_) => recv(self.fd.as_raw_fd(), buffer, MsgFlags::empty()),
        };
        match got {
            Ok(length) => Ok(Some(length)),
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(None),
            Err(errno) => Err(errno),
        }
    }
    /// Gives a packet to the node.
    pub(crate) fn send(&self, packet: &[u8]) -> Result<(), Errno> {
        match &self.kind {
            Kind::Tun => nix::unistd::write(&self.fd, packet).map(drop),
            Kind::Packet(address) => sendto(self.fd.as_raw_fd(), packet, address, MsgFlags::empty()).map(drop),
            Kind::Frames(mac) => {
                let mut frame = packet.to_vec();
                frame[sys::OFFLOAD_HEADER..][..sys::MAC].copy_from_slice(mac);
                send(self.fd.as_raw_fd(), &frame, MsgFlags::empty()).map(drop)
            }
        }
    }
    /// Packets that the socket had no room for since the last question.
    pub(crate) fn drops(&self) -> u64 {
        match self.kind {
            Kind::Tun => 0,
            Kind::Packet(_) | Kind::Frames(_) => sys::packet_drops(&self.fd),
        }
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
