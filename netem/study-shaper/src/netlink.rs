//! Requests to the kernel's routing netlink in the namespace of the calling thread.

use crate::error::{At, Step, StepError};
use futures_util::TryStreamExt;
use rtnetlink::packet_core::{
    DefaultNla, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::link::{InfoData, InfoVeth, LinkAttribute};
use rtnetlink::packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};
use rtnetlink::{Error, Handle, LinkUnspec, LinkVeth};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, BorrowedFd};
use study_units::BitRate;

/// The netlink of one namespace, with a small runtime for it. Make and use it in one thread that is inside.
#[derive(Debug)]
pub struct Netlink {
    runtime: tokio::runtime::Runtime,
    handle: Handle,
}

/// What an interface of a link is set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceSettings {
    /// Its address.
    pub address: Ipv4Addr,
    /// Bits of the network part, 0 to 32.
    pub prefix: u8,
    /// Largest IP packet, bytes.
    pub mtu: u32,
    /// Length of its queue, packets.
    pub queue_length: u32,
    /// Most segments of one super-packet; 1 switches them off, `None` leaves what is there.
    pub segments: Option<u32>,
    /// Whether it asks for the neighbour's address before it sends. Off, everything goes to whoever is at the other end.
    pub arp: bool,
}

/// A token bucket filter for [`Netlink::add_qdisc`]: a rate, the bucket and the queue in bytes on the wire (an Ethernet
/// interface counts 14 bytes more than IP).
#[must_use]
pub fn token_bucket(rate: BitRate, burst_bytes: u32, limit_bytes: u32) -> Vec<(u16, Vec<u8>)> {
    const PARAMETERS: u16 = 1;
    const RATE64: u16 = 4;
    const BURST: u16 = 6;
    const ETHERNET: u8 = 1;
    let bytes_per_second = rate.bits_per_second() / 8;
    // struct tc_tbf_qopt: the rate (cell_log, linklayer, overhead, cell_align, mpu, rate), the peak rate, limit, buffer, mtu.
    let mut parameters = vec![0, ETHERNET, 0, 0, 0, 0, 0, 0];
    parameters.extend(u32::try_from(bytes_per_second).unwrap_or(u32::MAX).to_ne_bytes());
    parameters.extend([0; 12]);
    for field in [limit_bytes, 0, 0] {
        parameters.extend(field.to_ne_bytes());
    }
    vec![
        (PARAMETERS, parameters),
        (RATE64, bytes_per_second.to_ne_bytes().to_vec()),
        (BURST, burst_bytes.to_ne_bytes().to_vec()),
    ]
}

fn errno(error: &Error) -> i32 {
    match error {
        Error::NetlinkError(message) => message.raw_code().abs(),
        _ => 0,
    }
}

fn refused(step: Step, what: &str, error: &Error) -> StepError {
    StepError::new(step, errno(error), if errno(error) == 0 { format!("{what}: {error}") } else { what.to_owned() })
}

impl Netlink {
    /// Opens a netlink socket in the namespace of this thread.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn open() -> Result<Self, StepError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().at(Step::Netlink, "runtime")?;
        let (connection, handle, _) = {
            let _inside = runtime.enter();
            rtnetlink::new_connection().at(Step::Netlink, "socket(AF_NETLINK)")?
        };
        runtime.spawn(connection);
        Ok(Self { runtime, handle })
    }
    /// The index of the interface `name`.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn index(&self, name: &str) -> Result<u32, StepError> {
        let mut answers = self.handle.link().get().match_name(name.to_owned()).execute();
        let answer = self.runtime.block_on(answers.try_next()).map_err(|e| refused(Step::Interface, name, &e))?;
        answer.map(|link| link.header.index).ok_or_else(|| StepError::new(Step::Interface, nix::libc::ENODEV, name))
    }
    /// Switches the loopback interface on.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn loopback_up(&self) -> Result<(), StepError> {
        let message = LinkUnspec::new_with_index(1).up().build();
        self.runtime
            .block_on(self.handle.link().set(message).execute())
            .map_err(|e| refused(Step::Interface, "lo up", &e))
    }
    /// Sets MTU and queue length, gives the address and switches the interface on.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn configure(&self, name: &str, settings: &InterfaceSettings) -> Result<u32, StepError> {
        let index = self.index(name)?;
        let mut message = LinkUnspec::new_with_index(index)
            .mtu(settings.mtu)
            .txqueuelen(settings.queue_length)
            .arp(settings.arp)
            .up();
        if let Some(segments) = settings.segments {
            message = message.append_extra_attribute(LinkAttribute::GsoMaxSegs(segments));
        }
        self.runtime
            .block_on(self.handle.link().set(message.build()).execute())
            .map_err(|e| refused(Step::Interface, &format!("{name}: MTU, queue length, up"), &e))?;
        let address = IpAddr::V4(settings.address);
        self.runtime
            .block_on(self.handle.address().add(index, address, settings.prefix).execute())
            .map_err(|e| refused(Step::Interface, &format!("{name}: address {address}"), &e))?;
        Ok(index)
    }
    /// Makes a pair of virtual Ethernet interfaces: `name` in this namespace and `peer` with the address `mac` in another. Made
    /// there and not moved there, because moving waits for the whole kernel to look away.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn add_veth(&self, name: &str, peer: &str, namespace: BorrowedFd<'_>, mac: [u8; 6]) -> Result<(), StepError> {
        let other = LinkUnspec::new_with_name(peer).address(mac.to_vec()).setns_by_fd(namespace.as_raw_fd()).build();
        let message = LinkVeth::new(name, peer).set_info_data(InfoData::Veth(InfoVeth::Peer(other))).build();
        self.runtime
            .block_on(self.handle.link().add(message).execute())
            .map_err(|e| refused(Step::VethPair, &format!("{name} with {peer}"), &e))
    }
    /// Removes an interface, and its other end with it.
    ///
    /// # Errors
    /// When there is none of that name, or the kernel refuses.
    pub fn remove(&self, name: &str) -> Result<(), StepError> {
        let index = self.index(name)?;
        self.runtime
            .block_on(self.handle.link().del(index).execute())
            .map_err(|e| refused(Step::Interface, &format!("{name}: remove"), &e))
    }
    /// Switches an interface on without an address.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn raise(&self, name: &str, mtu: u32, queue_length: u32) -> Result<u32, StepError> {
        let index = self.index(name)?;
        let message = LinkUnspec::new_with_index(index).mtu(mtu).txqueuelen(queue_length).arp(false).up().build();
        self.runtime
            .block_on(self.handle.link().set(message).execute())
            .map_err(|e| refused(Step::Interface, &format!("{name} up"), &e))?;
        Ok(index)
    }
    /// Puts a queueing discipline at the root of an interface. `options` are its netlink attributes, number and bytes.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn add_qdisc(&self, interface: &str, kind: &str, options: &[(u16, Vec<u8>)]) -> Result<(), StepError> {
        let mut message = TcMessage::with_index(self.index(interface)? as i32);
        message.header.parent = TcHandle::ROOT;
        message.attributes.push(TcAttribute::Kind(kind.to_owned()));
        let options: Vec<_> =
            options.iter().map(|(kind, value)| TcOption::Other(DefaultNla::new(*kind, value.clone()))).collect();
        if !options.is_empty() {
            message.attributes.push(TcAttribute::Options(options));
        }
        let mut request = NetlinkMessage::from(RouteNetlinkMessage::NewQueueDiscipline(message));
        request.header.flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
        let what = format!("`{kind}` on {interface}");
        let mut handle = self.handle.clone();
        self.runtime.block_on(async move {
            let mut answers = handle.request(request).map_err(|e| refused(Step::Qdisc, &what, &e))?;
            while let Some(answer) = futures_util::StreamExt::next(&mut answers).await {
                if let NetlinkPayload::Error(error) = answer.payload
                    && error.raw_code() != 0
                {
                    return Err(StepError::new(Step::Qdisc, error.raw_code().abs(), what));
                }
            }
            Ok(())
        })
    }
}
