//! What a trial brings to be judged: plain data, nothing worked out.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use study_link::{LinkParams, Way};
use study_shaper::{Backend, Calibration, Counters as NodeCounters, LinkRecord, LinkSpec, ThreadUse, Timing};
use study_stacks::readback::End;
use study_stacks::{Connection, ConnectionRecord, Counters, HandshakeReport, Readback, StackSettings};
use study_transport::Protocol;

study_tree::choices! {
    /// Whether arms must be equal.
    pub enum Compare {
        /// Arms differ in the stack alone; anything else that differs fails.
        Equal = "equal",
        /// Arms are what their makers ship; what differs is told.
        AsDeployed = "as_deployed",
    }
}

study_tree::choices! {
    /// What a thread of a trial does.
    pub enum Role {
        /// Asks.
        Client = "client",
        /// Answers: edge, shield or origin.
        Server = "server",
        /// Carries packets.
        Relay = "relay",
    }
}

/// Everything that the checks of one trial need. One trial is one arm of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Name of the arm.
    pub arm: String,
    /// What the study asked for.
    pub asked: Asked,
    /// When in its block the trial ran.
    pub order: Order,
    /// The machine and the program.
    pub host: Host,
    /// The nodes, one network namespace each.
    pub nodes: Vec<Node>,
    /// The links, and what spoke over each.
    pub hops: Vec<Hop>,
    /// What the threads of the trial did.
    pub threads: Vec<Thread>,
    /// How good the timing was.
    pub timing: Timing,
    /// How many transfers there were.
    pub transfers: Transfers,
}

/// What the study asked for, as far as it is not in the settings of the stacks or the parameters of the links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Whether arms must be equal.
    pub compare: Compare,
    /// Certificate chain in bytes, as made for the trial.
    pub chain_bytes: u64,
    /// MTU of the links in bytes.
    pub mtu: u32,
    /// Kernel settings of each node, as [`study_shaper::RigOptions`] has them.
    pub sysctls: Vec<(String, String)>,
}

/// Where in its block a trial ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Position in the block, from 0.
    pub position: u32,
    /// Trials of the block.
    pub arms: u32,
    /// Whether the order was drawn at random for this block.
    pub drawn: bool,
    /// Trials of this arm that were run before as declared warm-ups.
    pub warm_ups: u32,
}

/// The machine and the program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// What carried the links.
    pub backend: Backend,
    /// Kernel release.
    pub kernel: String,
    /// Processors that the trial could use.
    pub processors: u32,
    /// Blocks that were run at once.
    pub blocks_at_once: u32,
    /// The clock of all instants of the trial.
    pub clock: String,
    /// The program that drove and timed the client, with its version.
    pub driver: String,
    /// The implementation under test, with its version: `quinn 0.11.12, h3 0.0.8`.
    pub implementation: String,
    /// Whether the namespaces were made for this trial.
    pub fresh: bool,
    /// Whether the interfaces were left with segmentation offload.
    pub offload: bool,
    /// Share of the link's rate that a single flow of this arm reached on a clean link, 0 to 1; `None`: not measured.
    pub clean_share: Option<f64>,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Kernel settings, as read back.
    pub sysctls: BTreeMap<String, String>,
    /// Counters when the trial began (after the calibration).
    pub before: NodeCounters,
    /// Counters when it had ended.
    pub after: NodeCounters,
}

/// A link with the connections over it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hop {
    /// Name of the link.
    pub link: String,
    /// The node on the viewer's side: the client of the connections.
    pub near: String,
    /// The node on the origin's side: their server.
    pub far: String,
    /// The link as defined.
    pub params: LinkParams,
    /// Fingerprint of its randomness: equal for equal seeds.
    pub seed: String,
    /// MTU in bytes, of the interfaces.
    pub mtu: u32,
    /// What the link did during the trial.
    pub record: LinkRecord,
    /// What it was measured to do before; `None`: not measured.
    pub calibration: Option<Calibration>,
    /// Settings of the near node's stack.
    pub client: StackSettings,
    /// Settings of the far node's stack.
    pub server: StackSettings,
    /// Connections as the near node saw them.
    pub dialed: Vec<Dialed>,
    /// Connections as the far node saw them.
    pub accepted: Vec<Accepted>,
}

/// A connection as its client saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dialed {
    /// When its first packet was about to be sent, ns of the trial's clock.
    pub started_ns: u64,
    /// How its handshake went.
    pub handshake: HandshakeReport,
    /// Settings beside what they are.
    pub readbacks: Vec<Readback>,
    /// Counters at its end; `None`: could not be read.
    pub counters: Option<Counters>,
}

/// A connection as its server saw it.
pub type Accepted = ConnectionRecord;

/// A thread of the trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    /// Its name.
    pub name: String,
    /// What it does.
    pub role: Role,
    /// What it used.
    pub used: ThreadUse,
}

/// How many transfers there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Transfers {
    /// Asked for.
    pub asked: u64,
    /// Rows on record, failed ones included.
    pub recorded: u64,
    /// Rows with an error.
    pub failed: u64,
    /// Of those: out of time.
    pub timed_out: u64,
}

impl Dialed {
    /// What a connection says now, near its end.
    #[must_use]
    pub fn of(connection: &Connection) -> Self {
        Self {
            started_ns: connection.times().started_ns,
            handshake: connection.handshake(),
            readbacks: connection.readbacks(),
            counters: connection.counters(),
        }
    }
}

impl Hop {
    /// A link and what it did, with no connections yet.
    #[must_use]
    pub fn new(spec: &LinkSpec, mtu: u32, record: LinkRecord, settings: [StackSettings; 2]) -> Self {
        let [client, server] = settings;
        Self {
            link: spec.name.clone(),
            near: spec.near.clone(),
            far: spec.far.clone(),
            params: spec.params.clone(),
            seed: format!("{:016x}", spec.seed.stream("fingerprint").bits()),
            mtu,
            record,
            calibration: None,
            client,
            server,
            dialed: Vec::new(),
            accepted: Vec::new(),
        }
    }
    /// The larger bandwidth-delay product of both directions, bytes; `None` without a rate.
    pub(super) fn bdp(&self) -> Option<u64> {
        self.params.bdp_bytes(Way::Down).max(self.params.bdp_bytes(Way::Up))
    }
    /// Both directions with what they did.
    pub(super) fn ways(&self) -> [(Way, &study_shaper::DirectionRecord); 2] {
        [(Way::Down, &self.record.down), (Way::Up, &self.record.up)]
    }
    /// Whether it carries HTTP over QUIC.
    pub(super) fn is_quic(&self) -> bool {
        self.server.stack.protocol() == Protocol::H3
    }
    /// Read-backs and counters of each end of each connection.
    pub(super) fn ends(&self) -> impl Iterator<Item = (&[Readback], Option<&Counters>)> {
        let dialed = self.dialed.iter().map(|c| (&c.readbacks[..], c.counters.as_ref()));
        dialed.chain(self.accepted.iter().map(|c| (&c.readbacks[..], c.counters.as_ref())))
    }
    /// The rows of a setting at one end of its connections, whoever read them.
    pub(super) fn rows<'e>(&'e self, end: End, setting: &'e str) -> impl Iterator<Item = &'e Readback> {
        self.ends().flat_map(|(rows, _)| rows).filter(move |row| row.end == end && row.setting == setting)
    }
    /// The settings of an end.
    pub(super) const fn settings(&self, end: End) -> &StackSettings {
        match end {
            End::Client => &self.client,
            End::Server => &self.server,
        }
    }
}

impl Evidence {
    /// The rows of a setting, of all connections and both ends, each with its link.
    pub(super) fn rows<'e>(&'e self, setting: &'e str) -> impl Iterator<Item = (&'e Hop, &'e Readback)> {
        self.hops.iter().flat_map(move |hop| {
            let rows = hop.ends().flat_map(|(rows, _)| rows);
            rows.filter(move |row| row.setting == setting).map(move |row| (hop, row))
        })
    }
    /// The counters of all connections and both ends.
    pub(super) fn counters(&self) -> impl Iterator<Item = (&Hop, &Counters)> {
        self.hops.iter().flat_map(|hop| hop.ends().filter_map(move |(_, counters)| Some((hop, counters?))))
    }
    /// Whether the study wants equal arms.
    pub(super) fn is_equal(&self) -> bool {
        self.asked.compare == Compare::Equal
    }
    /// Whether its first link carries HTTP over QUIC.
    pub(super) fn is_quic(&self) -> bool {
        self.hops.first().is_some_and(Hop::is_quic)
    }
    /// A kernel setting of a node; `None` when it was not read.
    pub(super) fn sysctl(&self, node: &str, name: &str) -> Option<&str> {
        let node = self.nodes.iter().find(|n| n.name == node)?;
        node.sysctls.get(name).map(String::as_str)
    }
}
