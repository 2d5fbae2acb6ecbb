//! Building a rig: namespaces, devices, relay, first packets.

use super::{Link, Node, Rig, RigOptions, Since};
use crate::backend::{Backend, Device};
use crate::counters::CounterFiles;
use crate::error::{At, ShaperError, Step, StepError};
use crate::leftovers::MAC_PREFIX;
use crate::namespace::{Namespace, in_thread};
use crate::netlink::{InterfaceSettings, Netlink};
use crate::port::Port;
use crate::readiness;
use crate::relay::{Relay, Relayed};
use crate::topology::{End, PREFIX, Topology, address};
use crate::{sys, sysctl};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use study_link::Way;

/// ETHTOOL_STXCSUM, _SSG, _STSO, _SGSO, _SGRO: what makes super-packets, in the order in which they depend on each other.
const FEATURES: [u32; 5] = [0x17, 0x19, 0x1f, 0x24, 0x2c];

/// The name of a link's interface in its nodes.
pub(super) fn interface(link: usize) -> String {
    format!("link{link}")
}

/// Whether one relay thread carries that rate.
fn check_rates(topology: &Topology, options: &RigOptions) -> Result<(), ShaperError> {
    let Some(ceiling) = options.rate_ceiling else { return Ok(()) };
    for link in &topology.links {
        for way in Way::ALL {
            let asked = link.params.way(*way).mean_rate();
            if asked.is_none_or(|rate| rate > ceiling) {
                return Err(ShaperError::Rate {
                    link: link.name.clone(),
                    asked: asked.map_or("an unlimited rate".to_owned(), |rate| rate.to_string()),
                    ceiling: ceiling.to_string(),
                });
            }
        }
    }
    Ok(())
}

/// Whether an IPv4 packet of any stack fits.
fn check_mtu(options: &RigOptions) -> Result<(), ShaperError> {
    if (576..=65_535).contains(&options.mtu) {
        return Ok(());
    }
    Err(ShaperError::Topology(format!("the MTU must be 576 to 65,535 bytes, not {}", options.mtu)))
}

/// What is made inside of the namespaces.
struct Parts {
    nodes: Vec<Arc<Node>>,
    ports: Vec<[Port; 2]>,
    /// A socket at each end of each link, for the first packets.
    greeters: Vec<[UdpSocket; 2]>,
}

pub(super) fn rig(topology: &Topology, backend: Backend, options: &RigOptions) -> Result<Rig, ShaperError> {
    topology.check()?;
    check_mtu(options)?;
    check_rates(topology, options)?;
    let device = backend.row().device;
    if let Device::Kernel(_) = device {
        return Err(ShaperError::Backend { backend: backend.name(), reason: "carries no rigs yet".to_owned() });
    }
    let began = Instant::now();
    // One thread that walks from namespace to namespace: every further thread would wait for a processor.
    let parts = in_thread(|| parts(topology, device, options))?;
    let links = relayed(topology, backend, &parts.nodes, parts.ports, options)?;
    for (link, [near, far]) in links.iter().zip(&parts.greeters) {
        readiness::wait(link, near, far, options.ready_within)?;
    }
    Ok(Rig { topology: topology.clone(), backend, links, nodes: parts.nodes, setup: began.elapsed() })
}

fn parts(topology: &Topology, device: Device, options: &RigOptions) -> Result<Parts, StepError> {
    let nodes =
        (0..topology.nodes.len()).map(|_| Ok(Arc::new(node(options)?))).collect::<Result<Vec<_>, StepError>>()?;
    let ports = match device {
        Device::Packet => packet_ports(topology, &nodes, options)?,
        Device::Tun | Device::Kernel(_) => tun_ports(topology, &nodes, options)?,
    };
    let greeter = |node: &Node, link: usize, end: End| {
        node.namespace.enter()?;
        UdpSocket::bind((address(link, end), 0)).at(Step::FirstPacket, "bind")
    };
    let greeters = (0..topology.links.len()).map(|link| {
        let [near, far] = nodes_of(topology, &nodes, link);
        Ok([greeter(near, link, End::Near)?, greeter(far, link, End::Far)?])
    });
    let greeters = greeters.collect::<Result<Vec<_>, StepError>>()?;
    Ok(Parts { nodes, ports, greeters })
}

/// The nodes at the near and the far end of a link.
fn nodes_of<'n>(topology: &Topology, nodes: &'n [Arc<Node>], link: usize) -> [&'n Arc<Node>; 2] {
    let spec = &topology.links[link];
    // The topology was checked: both are there.
    [&spec.near, &spec.far].map(|name| &nodes[topology.nodes.iter().position(|n| n == name).unwrap_or(0)])
}

/// A new node; the calling thread is inside afterwards.
fn node(options: &RigOptions) -> Result<Node, StepError> {
    let namespace = Namespace::create_here()?;
    let sysctls = sysctl::apply(&options.sysctls)?;
    Netlink::open()?.loopback_up()?;
    Ok(Node { namespace, sysctls, files: CounterFiles::open()? })
}

fn settings(link: usize, end: End, options: &RigOptions, segments: Option<u32>) -> InterfaceSettings {
    let (mtu, queue_length) = (options.mtu, options.queue_length);
    InterfaceSettings { address: address(link, end), prefix: PREFIX, mtu, queue_length, segments, arp: false }
}

/// Both ports of each link, near and far.
fn tun_ports(topology: &Topology, nodes: &[Arc<Node>], options: &RigOptions) -> Result<Vec<[Port; 2]>, StepError> {
    let port = |node: &Node, link: usize, end: End| {
        node.namespace.enter()?;
        let port = Port::tun(&options.tun_node, &interface(link), options.offload)?;
        Netlink::open()?.configure(&interface(link), &settings(link, end, options, None))?;
        Ok(port)
    };
    let ports = (0..topology.links.len()).map(|link| {
        let [near, far] = nodes_of(topology, nodes, link);
        Ok([port(near, link, End::Near)?, port(far, link, End::Far)?])
    });
    ports.collect()
}

/// The same with pairs of virtual Ethernet interfaces whose other ends are in a namespace of the relay.
fn packet_ports(topology: &Topology, nodes: &[Arc<Node>], options: &RigOptions) -> Result<Vec<[Port; 2]>, StepError> {
    let relay = Namespace::create_here()?;
    let silent: Vec<_> = sysctl::defaults().into_iter().filter(|(name, _)| name.contains("ipv6")).collect();
    sysctl::apply(&silent)?;
    let netlink = Netlink::open()?;
    let ports = (0..topology.links.len()).map(|link| {
        let [near, far] = nodes_of(topology, nodes, link);
        let near = packet_port(&relay, &netlink, link, End::Near, near, options)?;
        Ok([near, packet_port(&relay, &netlink, link, End::Far, far, options)?])
    });
    ports.collect()
}

/// `netlink` is of the relay's namespace.
fn packet_port(
    relay: &Namespace,
    netlink: &Netlink,
    link: usize,
    end: End,
    node: &Node,
    options: &RigOptions,
) -> Result<Port, StepError> {
    let side = match end {
        End::Near => 1,
        End::Far => 2,
    };
    let [high, low] = (link as u16).to_be_bytes();
    // A locally administered address; with ARP off it is the one that the node answers to.
    let [first, second, third] = MAC_PREFIX;
    let mac = [first, second, third, high, low, side];
    let (inner, outer) = (interface(link), format!("r{link}x{side}"));
    netlink.add_veth(&outer, &inner, node.namespace.as_fd(), mac)?;
    let index = netlink.raise(&outer, options.mtu, options.queue_length)?;
    let segments = (!options.offload).then_some(1);
    node.namespace.enter()?;
    if !options.offload {
        features_off(&inner)?;
    }
    Netlink::open()?.configure(&inner, &settings(link, end, options, segments))?;
    relay.enter()?;
    Port::packet(index, mac, options.offload)
}

fn features_off(interface: &str) -> Result<(), StepError> {
    let any = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
        .at(Step::Offload, "socket(AF_INET)")?;
    for feature in FEATURES {
        sys::set_feature(&any, interface, feature, false)
            .at(Step::Offload, &format!("ethtool command {feature:#x} on {interface}"))?;
    }
    Ok(())
}

fn relayed(
    topology: &Topology,
    backend: Backend,
    nodes: &[Arc<Node>],
    ports: Vec<[Port; 2]>,
    options: &RigOptions,
) -> Result<Vec<Link>, StepError> {
    let all: Vec<Arc<Relayed>> = topology
        .links
        .iter()
        .zip(ports)
        .map(|(spec, [near, far])| Arc::new(Relayed::new(spec.clone(), near, far, options.mtu)))
        .collect();
    let mut links = Vec::new();
    for group in all.chunks(options.links_per_thread.max(1)) {
        let relay = Arc::new(Relay::spawn(group.to_vec())?);
        for relayed in group {
            let position = links.len();
            let since = Mutex::new(Since { drops: [0; 2], watch: relay.watch() });
            let ends = nodes_of(topology, nodes, position).map(Arc::clone);
            links.push(Link {
                relayed: Arc::clone(relayed),
                position,
                backend,
                relay: Arc::clone(&relay),
                nodes: ends,
                since,
            });
        }
    }
    Ok(links)
}
