//! Stage kinds and sections of the shape of the real ones, with nothing behind them.

use serde_json::Value;
use std::collections::BTreeMap;
use study_stage::{Inputs, Kind, Outputs, Registry, Section, StageCx, StageError, StageKind};
use study_tree::{Cx, Decode, Diagnostic, MapReader, Node};
use study_units::{BitRate, Bytes, Probability, SimDuration};

study_tree::params! {
    /// Bursty loss.
    pub struct GilbertElliott {
        /// Into the bad state, per step.
        good_to_bad: Probability;
        /// Out of the bad state, per step.
        bad_to_good: Probability;
        /// Lost in the bad state.
        loss_in_bad: Probability;
        /// What a step is.
        clock: Clock;
    }
}
study_tree::choices! {
    /// What moves the chain.
    pub enum Clock {
        /// Each packet.
        Packet = "packet",
        /// Time.
        Time = "time",
    }
}
study_tree::variants! {
    /// Loss.
    pub enum Loss {
        unit { /// Nothing is lost.
            None = "none" }
        data { /// In bursts.
            GilbertElliott(GilbertElliott) = "gilbert_elliott" }
    }
}
study_tree::params! {
    /// A link.
    pub struct Link {
        /// Both directions alike.
        symmetric: bool = false;
        /// Base round trip.
        rtt: SimDuration;
        /// Rate.
        rate: BitRate;
        /// Loss.
        loss: Loss = Loss::None;
    }
}
study_tree::params! {
    /// What differs between arms.
    pub struct Arm {
        /// h2 or h3.
        protocol: String;
        /// Congestion control.
        congestion_control: String;
    }
}
study_tree::params! {
    /// A statement to be checked.
    pub struct Claim {
        /// Its id.
        id: String;
        /// The stage it is about.
        of: String;
        /// The metric.
        metric: String;
        /// What it says.
        statement: Option<String> = None;
        /// The statistic.
        stat: Option<String> = None;
        /// Baseline and other arm.
        arms: Option<Vec<String>> = None;
        /// The bound.
        expect: Option<BTreeMap<String, String>> = None;
    }
}
study_tree::variants! {
    /// Popularity.
    pub enum Popularity {
        unit { /// All alike.
            Uniform = "uniform" }
        data { /// Zipf's law with this exponent.
            Zipf(f64) = "zipf" }
    }
}
study_tree::params! {
    /// What there is to watch.
    pub struct CatalogParams {
        /// Titles.
        titles: u32 = 100, in 1..=1_000_000;
        /// Popularity.
        popularity: Popularity = Popularity::Uniform;
        /// Length of a segment.
        segment: SimDuration;
        /// Length of a title.
        duration: SimDuration;
        /// Bitrates.
        ladder: String = "go_simulator".to_owned();
    }
}

/// An edge with its links as content.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Edge {
    geo: String,
    client_link: Link,
    origin_link: Link,
}
impl Decode for Edge {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let mut map = MapReader::new(node, cx)?;
        let geo = map.required("geo");
        let client = map.required_node("client_link").cloned();
        let origin = map.required_node("origin_link").cloned();
        let good = map.finish();
        let mut link = |node: Option<Node>| {
            let found = cx.lookup("links", &node?)?;
            Link::decode(found, cx)
        };
        let (client_link, origin_link) = (link(client), link(origin));
        good.then_some(Self { geo: geo?, client_link: client_link?, origin_link: origin_link? })
    }
    fn schema() -> Value {
        serde_json::json!({ "type": "object" })
    }
}

/// The content of an arm behind its name.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ArmOf(String, Arm);
impl Decode for ArmOf {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let found = cx.lookup("arms", node)?;
        Some(Self(node.text()?.to_owned(), Arm::decode(found, cx)?))
    }
    fn schema() -> Value {
        serde_json::json!({ "type": "string" })
    }
}

/// Plain structs whose fields do not implement the macros' needs are read by hand.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct RoutingParams {
    clients: u32,
    geos: BTreeMap<String, u32>,
    arrivals: Option<BTreeMap<String, SimDuration>>,
    policy: String,
    edges: BTreeMap<String, Edge>,
    runs: u32,
}
impl Decode for RoutingParams {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let mut map = MapReader::new(node, cx)?;
        let (clients, edges, runs) = (map.required("clients"), map.required("edges"), map.required("runs"));
        let (geos, arrivals) = (map.or("geos", BTreeMap::new), map.or("arrivals", || None));
        let policy = map.or("policy", String::new);
        map.finish().then_some(())?;
        Some(Self { clients: clients?, geos: geos?, arrivals: arrivals?, policy: policy?, edges: edges?, runs: runs? })
    }
    fn schema() -> Value {
        serde_json::json!({ "type": "object", "properties": {
            "clients": u32::schema(), "edges": { "type": "object" }, "runs": u32::schema() },
            "required": ["clients", "edges", "runs"], "additionalProperties": false })
    }
}

study_tree::choices! {
    /// Modeled or emulated.
    pub enum Mode {
        /// Simulated.
        Modeled = "modeled",
        /// Real stacks.
        Emulated = "emulated",
    }
}
study_tree::choices! {
    /// Order of streams.
    pub enum Scheduler {
        /// In turn.
        RoundRobin = "round_robin",
        /// One after the other.
        Sequential = "sequential",
    }
}
study_tree::variants! {
    /// Who decides the quality.
    pub enum Decisions {
        unit { /// The player.
            ClosedLoop = "closed_loop" }
        data { /// Those of this arm.
            Replay(String) = "replay" }
    }
}
study_tree::params! {
    /// The player.
    pub struct Player {
        /// Chooses the quality.
        abr: String = "bba".to_owned();
        /// Segments in flight.
        prefetch: u32 = 1, in 1..=64;
        /// Decisions.
        decisions: Decisions = Decisions::ClosedLoop;
        /// Share of viewers that leave early.
        impatience: Probability = Probability::ZERO;
    }
}
study_tree::params! {
    /// The cache.
    pub struct Cache {
        /// Policy.
        policy: String = "lru".to_owned();
        /// Size.
        size: Bytes = Bytes::new(1 << 30);
        /// A trace to warm it with.
        prefetch: u32 = 0;
    }
}

/// Parameters of a simulation.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct SimulateParams {
    mode: Mode,
    arms: Vec<ArmOf>,
    scheduler: Scheduler,
    player: Player,
    cache: Cache,
    clients: Option<u32>,
    runs: u32,
    trace: Option<study_tree::FileRef>,
}
impl Decode for SimulateParams {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let mut map = MapReader::new(node, cx)?;
        let empty = || Node::map(Vec::new(), node.span);
        let mode = map.required("mode");
        let arms = map.required("arms");
        let scheduler = map.or("scheduler", || Scheduler::RoundRobin);
        let player: Option<Player> = match map.node("player") {
            Some(node) => Player::decode(node, map.cx),
            None => Player::decode(&empty(), map.cx),
        };
        let cache: Option<Cache> = match map.node("cache") {
            Some(node) => Cache::decode(node, map.cx),
            None => Cache::decode(&empty(), map.cx),
        };
        let clients = map.or("clients", || None);
        let runs: Option<u32> = map.required("runs");
        if runs == Some(0) {
            map.out_of_range("runs", "1..");
        }
        let trace = map.or("trace", || None);
        map.finish().then_some(())?;
        Some(Self {
            mode: mode?,
            arms: arms?,
            scheduler: scheduler?,
            player: player?,
            cache: cache?,
            clients: clients?,
            runs: runs?,
            trace: trace?,
        })
    }
    fn schema() -> Value {
        serde_json::json!({ "type": "object", "properties": {
            "mode": Mode::schema(), "arms": { "type": "array" }, "scheduler": Scheduler::schema(), "player": Player::schema(),
            "cache": Cache::schema(), "clients": u32::schema(), "runs": u32::schema(), "trace": {} },
            "required": ["mode", "arms", "runs"], "additionalProperties": false })
    }
}
study_tree::params! {
    /// Nothing to choose.
    pub struct NoParams {}
}
study_tree::params! {
    /// Resampling.
    pub struct BootstrapParams {
        /// How often.
        resamples: u32 = 10_000, in 100..=1_000_000;
        /// What is resampled.
        unit: String = "run".to_owned();
    }
}

macro_rules! kind {
    ($kind:ident, $name:literal, $params:ty, takes $takes:expr, requires $requires:expr, gives $gives:expr, inherits $inherits:expr) => {
        pub struct $kind;
        impl StageKind for $kind {
            type Params = $params;
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = concat!("a ", $name, " for tests");
            const VERSION: u32 = 1;
            const TAKES: &'static [&'static str] = &$takes;
            const REQUIRES: &'static [&'static str] = &$requires;
            const GIVES: &'static [&'static str] = &$gives;
            const INHERITS: &'static [&'static str] = &$inherits;
            fn decode(&self, node: &Node, cx: &mut Cx<'_>) -> Option<Self::Params> {
                <$params>::decode(node, cx)
            }
            fn schema(&self) -> Value {
                <$params>::schema()
            }
            fn source_fingerprint(&self) -> &'static str {
                ""
            }
            fn run(&self, _: &Self::Params, _: &StageCx<'_>, _: &Inputs) -> Result<Outputs, StageError> {
                Ok(Outputs::default())
            }
        }
    };
}
kind!(Catalog, "catalog", CatalogParams, takes [], requires [], gives ["titles", "rungs", "segment_sizes"], inherits []);
kind!(Routing, "routing", RoutingParams, takes ["titles"], requires ["titles"], gives ["clients", "edges"], inherits ["runs"]);
kind!(Simulate, "simulate", SimulateParams,
    takes ["titles", "rungs", "segment_sizes", "clients", "edges"], requires ["titles", "segment_sizes", "clients", "edges"],
    gives ["segments", "sessions"], inherits ["runs"]);
kind!(Aggregate, "aggregate", NoParams, takes ["segments", "sessions"], requires ["segments"], gives ["run_metrics"], inherits []);
kind!(Bootstrap, "bootstrap", BootstrapParams, takes ["run_metrics"], requires ["run_metrics"], gives ["summary", "comparison"], inherits []);
kind!(Compare, "compare", NoParams, takes ["run_metrics"], requires ["run_metrics"], gives ["comparison"], inherits []);

/// Reports on what it gets; reads the claims.
pub struct Report;
/// Claims by id.
#[derive(serde::Serialize)]
pub struct ReportParams {
    claims: Vec<Claim>,
}
impl StageKind for Report {
    type Params = ReportParams;
    const NAME: &'static str = "report";
    const SUMMARY: &'static str = "a report for tests";
    const VERSION: u32 = 1;
    const TAKES: &'static [&'static str] = &["segments", "sessions", "run_metrics", "summary", "comparison"];
    const REQUIRES: &'static [&'static str] = &["summary"];
    const GIVES: &'static [&'static str] = &["claims"];
    fn decode(&self, node: &Node, cx: &mut Cx<'_>) -> Option<Self::Params> {
        MapReader::new(node, cx)?.finish().then_some(())?;
        let claims = cx.section("claims").into_iter().flatten();
        let claims: Vec<Option<Claim>> = claims.map(|(_, node)| claim(node, cx)).collect();
        Some(ReportParams { claims: claims.into_iter().collect::<Option<_>>()? })
    }
    fn schema(&self) -> Value {
        NoParams::schema()
    }
    fn source_fingerprint(&self) -> &'static str {
        ""
    }
    fn run(&self, _: &Self::Params, _: &StageCx<'_>, _: &Inputs) -> Result<Outputs, StageError> {
        Ok(Outputs::default())
    }
}

/// A claim; the stage it is about is looked up like a definition.
fn claim(node: &Node, cx: &mut Cx<'_>) -> Option<Claim> {
    let claim = Claim::decode(node, cx)?;
    if let Some(of) = node.get("of") {
        cx.lookup("stages", of)?;
    }
    Some(claim)
}

fn check<T: Decode>(node: &Node, cx: &mut Cx<'_>) {
    T::decode(node, cx);
}
fn check_claim(node: &Node, cx: &mut Cx<'_>) {
    claim(node, cx);
    if node.get("metric").and_then(Node::text) == Some("nonsense") {
        cx.push(Diagnostic::error("unknown-metric", node.span, "no such metric"));
    }
}

pub static REGISTRY: Registry = Registry { kinds: KINDS, sections: SECTIONS };
static KINDS: &[&dyn Kind] = &[&Catalog, &Routing, &Simulate, &Aggregate, &Bootstrap, &Compare, &Report];
static SECTIONS: &[Section] = &[
    Section { name: "links", named: true, check: check::<Link>, schema: Link::schema },
    Section { name: "arms", named: true, check: check::<Arm>, schema: Arm::schema },
    Section { name: "claims", named: false, check: check_claim, schema: Claim::schema },
];
