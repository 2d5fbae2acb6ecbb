//! A rig: nodes as network namespaces, links as devices and a relay between them.
//!
//! Nothing has a name outside of the process and nothing is mounted: namespaces are held by descriptors, interfaces by their
//! namespaces. Whatever ends the process ends the rig.

mod build;

use crate::backend::Backend;
use crate::clock;
use crate::counters::{CounterFiles, Counters};
use crate::error::{ShaperError, StepError};
use crate::namespace::Namespace;
use crate::record::LinkRecord;
use crate::relay::{Mode, Relay, Relayed};
use crate::schedstat::ThreadWatch;
use crate::topology::{End, LinkSpec, Topology, address};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use study_link::Way;
use study_units::BitRate;

/// How a rig is built. The defaults are what experiments need.
#[derive(Debug, Clone, PartialEq)]
pub struct RigOptions {
    /// The TUN device node.
    pub tun_node: PathBuf,
    /// MTU of the links, bytes, 576 to 65,535.
    pub mtu: u32,
    /// Length of the interfaces' queues, packets.
    pub queue_length: u32,
    /// Offloads left on: super-packets cross the link whole. For planted faults only; the record shows them as oversized.
    pub offload: bool,
    /// Highest rate of a direction that is accepted; an unlimited rate is above every ceiling.
    pub rate_ceiling: Option<BitRate>,
    /// Links per relay thread, at least 1.
    pub links_per_thread: usize,
    /// Kernel settings of each node.
    pub sysctls: Vec<(String, String)>,
    /// How long a new link may take to answer.
    pub ready_within: Duration,
}

/// Up to this rate a link is accurate on two cores (measured), bit/s.
pub const ACCURATE_RATE: BitRate = BitRate::from_bits_per_second(100_000_000);
/// Up to this rate a link does what it can, bit/s.
pub const BEST_EFFORT_RATE: BitRate = BitRate::from_bits_per_second(400_000_000);

impl Default for RigOptions {
    fn default() -> Self {
        Self {
            tun_node: PathBuf::from("/dev/net/tun"),
            mtu: 1500,
            queue_length: 10_000,
            offload: false,
            rate_ceiling: Some(BEST_EFFORT_RATE),
            links_per_thread: 1,
            sysctls: crate::sysctl::defaults(),
            ready_within: Duration::from_secs(5),
        }
    }
}

/// A node: a machine of its own as far as the network goes.
#[derive(Debug)]
struct Node {
    namespace: Namespace,
    sysctls: BTreeMap<String, String>,
    files: CounterFiles,
}

/// A link of a rig.
#[derive(Debug)]
pub struct Link {
    relayed: Arc<Relayed>,
    position: usize,
    backend: Backend,
    relay: Arc<Relay>,
    nodes: [Arc<Node>; 2],
    since: Mutex<Since>,
}

/// What is counted from the last reset on.
#[derive(Debug)]
struct Since {
    drops: [u64; 2],
    watch: ThreadWatch,
}

/// Nodes and links, ready for packets.
#[derive(Debug)]
pub struct Rig {
    topology: Topology,
    backend: Backend,
    links: Vec<Link>,
    nodes: Vec<Arc<Node>>,
    setup: Duration,
}

impl Rig {
    /// Builds the nodes and links of `topology` and waits until each link has carried a packet both ways. Links are
    /// [closed](Link::stop) afterwards: [`Link::start`] opens them at index 0.
    ///
    /// With a `userns-*` backend the process must be a worker ([`crate::worker_command`]).
    ///
    /// # Errors
    /// A wrong topology, a rate above the ceiling, a backend without a relay, or the step that the kernel refused.
    pub fn build(topology: &Topology, backend: Backend, options: &RigOptions) -> Result<Self, ShaperError> {
        build::rig(topology, backend, options)
    }
    /// The links, in the order of the topology.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }
    /// The link of that name.
    #[must_use]
    pub fn link(&self, name: &str) -> Option<&Link> {
        self.links.iter().find(|link| link.spec().name == name)
    }
    /// What carries the links.
    #[must_use]
    pub const fn backend(&self) -> Backend {
        self.backend
    }
    /// How long it took from the first namespace to the last answered packet.
    #[must_use]
    pub const fn setup(&self) -> Duration {
        self.setup
    }
    /// Names of the nodes.
    #[must_use]
    pub fn nodes(&self) -> &[String] {
        &self.topology.nodes
    }
    /// The namespace of a node: to start processes in it.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn namespace(&self, node: &str) -> Result<&Namespace, ShaperError> {
        Ok(&self.nodes[self.topology.node(node)?].namespace)
    }
    /// Moves the calling thread into a node for good. Sockets made and runtimes built from now on are there.
    ///
    /// # Errors
    /// When there is no such node, or the kernel refuses.
    pub fn enter(&self, node: &str) -> Result<(), ShaperError> {
        Ok(self.namespace(node)?.enter()?)
    }
    /// Runs `work` in a thread of its own inside a node and waits for it.
    ///
    /// # Errors
    /// When there is no such node, the kernel refuses, or `work` says so.
    pub fn run_in<T: Send>(
        &self,
        node: &str,
        work: impl FnOnce() -> Result<T, StepError> + Send,
    ) -> Result<T, ShaperError> {
        Ok(self.namespace(node)?.run(work)?)
    }
    /// The address of a node on a link.
    ///
    /// # Errors
    /// When the link does not end at that node.
    pub fn address(&self, node: &str, link: &str) -> Result<Ipv4Addr, ShaperError> {
        let link = self.link(link).ok_or_else(|| ShaperError::Topology(format!("there is no link `{link}`")))?;
        match node {
            _ if node == link.spec().near => Ok(link.address(End::Near)),
            _ if node == link.spec().far => Ok(link.address(End::Far)),
            _ => Err(ShaperError::Topology(format!("link `{}` does not end at `{node}`", link.spec().name))),
        }
    }
    /// The kernel settings of a node that were set or are worth recording, as read back.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn sysctls(&self, node: &str) -> Result<&BTreeMap<String, String>, ShaperError> {
        Ok(&self.nodes[self.topology.node(node)?].sysctls)
    }
    /// Counters of a node: UDP errors, TCP retransmissions, interface drops.
    ///
    /// # Errors
    /// When there is no such node or the kernel does not show them.
    pub fn counters(&self, node: &str) -> Result<Counters, ShaperError> {
        Ok(self.nodes[self.topology.node(node)?].files.read()?)
    }
}

impl Link {
    /// What it was built from.
    #[must_use]
    pub fn spec(&self) -> &LinkSpec {
        &self.relayed.spec
    }
    /// MTU in bytes.
    #[must_use]
    pub fn mtu(&self) -> u32 {
        self.relayed.mtu
    }
    /// The address of an end.
    #[must_use]
    pub fn address(&self, end: End) -> Ipv4Addr {
        address(self.position, end)
    }
    /// Opens the link: the next packet of each direction has index 0, and the model's time begins now.
    pub fn start(&self) {
        self.restart(Mode::Shaped);
    }
    /// Closes the link: whatever comes vanishes, and what was on the way is forgotten. Take the record before.
    pub fn stop(&self) {
        self.restart(Mode::Closed);
    }
    /// The same as [`Link::start`], for a link that is open: what was on the way is forgotten.
    pub fn reset_indices(&self) {
        self.restart(Mode::Shaped);
    }
    /// Hands packets over at once, without the model and uncounted: for what is to happen before a trial.
    pub fn pass_through(&self) {
        self.restart(Mode::PassThrough);
    }
    fn restart(&self, mode: Mode) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        *since = Since { drops: self.interface_drops(), watch: self.relay.watch() };
        self.relayed.reset(mode);
    }
    /// Packets that the interfaces of both ends have dropped so far.
    fn interface_drops(&self) -> [u64; 2] {
        let name = build::interface(self.position);
        [0, 1].map(|end| self.nodes[end].files.read().map_or(0, |counters| counters.transmit_drops(&name)))
    }
    /// How long the model let each of the first 256 packets of a direction take since its indices were last reset, ns, queue and jitter
    /// included; `None`: it was lost, or its fate was known only later. Packets that carry nothing but IP are counted.
    #[must_use]
    pub fn scheduled(&self, way: Way) -> Vec<Option<u64>> {
        let state = self.relayed.lock();
        match way {
            Way::Down => state.down.delays().to_vec(),
            Way::Up => state.up.delays().to_vec(),
        }
    }
    /// What the link has done since its indices were last reset.
    #[must_use]
    pub fn record(&self) -> LinkRecord {
        let since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let drops = self.interface_drops();
        let relay = since.watch.used().unwrap_or_default();
        let mut state = self.relayed.lock();
        state.socket_drops += self.relayed.near.drops() + self.relayed.far.drops();
        LinkRecord {
            link: self.spec().name.clone(),
            backend: self.backend,
            down: state.down.record(),
            up: state.up.record(),
            span_ms: (clock::now() - state.epoch) as f64 / 1e6,
            near_interface_drops: drops[0].saturating_sub(since.drops[0]),
            far_interface_drops: drops[1].saturating_sub(since.drops[1]),
            socket_drops: state.socket_drops,
            socket_buffer: self.relayed.near.granted_buffer,
            relay,
            broken: state.broken,
        }
    }
}
