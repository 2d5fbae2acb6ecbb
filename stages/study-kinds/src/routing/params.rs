//! Parameters of `routing`.

use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use study_cdn::routing::geo::Geo;
use study_cdn::routing::{EdgeSite, RoutingChoice};
use study_link::LinkParams;
use study_tree::{Cx, Decode, Diagnostic, Entry, MapReader, Node};
use study_units::{Probability, SimDuration};

study_tree::params! {
    /// A Poisson process that begins with the run.
    pub struct PoissonArrivals {
        /// Mean time between two arrivals.
        mean_gap: SimDuration;
    }
}

study_tree::variants! {
    /// When viewers arrive.
    pub enum Arrivals {
        unit {
            /// All at the start of the run.
            AtOnce = "at_once"
        }
        data {
            /// Each at a time of its own, uniform over this span.
            Uniform(SimDuration) = "uniform",
            /// One after the other with exponential gaps.
            Poisson(PoissonArrivals) = "poisson"
        }
    }
}

/// Parameters of a node of kind `routing`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoutingParams {
    /// Independent runs, 1 to 1,000,000.
    pub runs: u64,
    /// Viewers of each run, 1 to 1,000,000.
    pub clients: u64,
    /// Places of the viewers and their weights, at least 1 each.
    pub geos: BTreeMap<String, u32>,
    /// When viewers arrive.
    pub arrivals: Arrivals,
    /// How an edge is chosen.
    pub policy: RoutingChoice,
    /// Share of viewers that reach another edge; only with `realistic_bgp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misroute_prob: Option<Probability>,
    /// The edges by name.
    pub edges: BTreeMap<String, EdgeParams>,
}

/// One edge. Links are here by content, so that renaming one changes no key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EdgeParams {
    /// Where it stands.
    pub geo: Geo,
    /// Viewers it takes per run, at least 1; no limit when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u64>,
    /// To its viewers.
    pub client_link: LinkParams,
    /// To the origin.
    pub origin_link: LinkParams,
}

impl RoutingParams {
    /// The edges as policies see them, by name.
    #[must_use]
    pub fn sites(&self) -> Vec<EdgeSite> {
        self.edges.values().map(|edge| EdgeSite { geo: edge.geo, capacity: edge.capacity }).collect()
    }
    /// Share of misrouted viewers.
    #[must_use]
    pub fn misroute(&self) -> Probability {
        self.misroute_prob.unwrap_or(Probability::ZERO)
    }
}

const MOST_RUNS: u64 = 1_000_000;
const MOST_CLIENTS: u64 = 1_000_000;
/// Most rows of `clients`.
const MOST_ROWS: u64 = 25_000_000;
const DEFAULT_MISROUTE: f64 = 0.15;

/// Reads a node.
pub fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<RoutingParams> {
    let mut map = MapReader::new(node, cx)?;
    let runs: Option<u64> = map.or("runs", || 1);
    if runs.is_some_and(|n| !(1..=MOST_RUNS).contains(&n)) {
        map.out_of_range("runs", "1 to 1000000");
    }
    let clients: Option<u64> = map.required("clients");
    if clients.is_some_and(|n| !(1..=MOST_CLIENTS).contains(&n)) {
        map.out_of_range("clients", "1 to 1000000");
    }
    let geos = map.required_node("geos").and_then(|n| decode_geos(n, map.cx));
    let arrivals = map.or("arrivals", || Arrivals::AtOnce);
    let policy = map.or("policy", || RoutingChoice::LatencyBased);
    let misroute = decode_misroute(policy, node, &mut map);
    let edges = map.required_node("edges").and_then(|n| decode_edges(n, map.cx));
    if !map.finish() {
        return None;
    }
    let params = RoutingParams {
        runs: runs?,
        clients: clients?,
        geos: geos?,
        arrivals: arrivals?,
        policy: policy?,
        misroute_prob: misroute?,
        edges: edges?,
    };
    (check_rows(&params, node, cx) & check_capacity(&params, node, cx)).then_some(params)
}

fn check_rows(params: &RoutingParams, node: &Node, cx: &mut Cx<'_>) -> bool {
    let rows = params.runs * params.clients;
    if rows > MOST_ROWS {
        let span = node.get("clients").map_or(node.span, |n| n.span);
        let (runs, clients) = (params.runs, params.clients);
        let message = format!("{runs} runs of {clients} viewers are {rows} viewers, more than {MOST_ROWS}");
        cx.push(Diagnostic::error("out-of-range", span, message).help("take fewer runs or fewer viewers"));
    }
    rows <= MOST_ROWS
}

/// Whether all viewers of a run find room.
fn check_capacity(params: &RoutingParams, node: &Node, cx: &mut Cx<'_>) -> bool {
    let room = params.edges.values().try_fold(0_u64, |sum, edge| edge.capacity.map(|c| sum.saturating_add(c)));
    let Some(room) = room.filter(|room| *room < params.clients) else { return true };
    let span = node.get("edges").map_or(node.span, |n| n.span);
    let message = format!("the edges take {room} viewers, and a run has {}", params.clients);
    cx.push(Diagnostic::error("out-of-range", span, message).help("raise a `capacity`, or take fewer `clients`"));
    false
}

/// The outer `None` means that an error was reported.
fn decode_misroute(
    policy: Option<RoutingChoice>,
    node: &Node,
    map: &mut MapReader<'_, '_, '_>,
) -> Option<Option<Probability>> {
    let given = map.optional::<Probability>("misroute_prob");
    let entry = node.entries().unwrap_or_default().iter().find(|e| e.key == "misroute_prob");
    match (policy?, entry) {
        (RoutingChoice::RealisticBgp, None) => Some(Probability::new(DEFAULT_MISROUTE)),
        (RoutingChoice::RealisticBgp, Some(_)) => given.map(Some),
        (_, None) => Some(None),
        (other, Some(entry)) => {
            let message = format!("`misroute_prob` has no effect with `policy: {}`", other.name());
            map.cx.push(
                Diagnostic::error("key-conflict", entry.key_span, message)
                    .help("remove it, or write `policy: realistic_bgp`"),
            );
            None
        }
    }
}

fn empty<T>(node: &Node, cx: &mut Cx<'_>, what: &str, help: &str) -> Option<T> {
    cx.push(Diagnostic::error("out-of-range", node.span, format!("{what} is needed")).help(help));
    None
}

fn entries<'n>(node: &'n Node, cx: &mut Cx<'_>) -> Option<&'n [Entry]> {
    // For its message: reading no key and not finishing reports only what is no mapping.
    MapReader::new(node, cx)?;
    node.entries()
}

fn decode_geos(node: &Node, cx: &mut Cx<'_>) -> Option<BTreeMap<String, u32>> {
    let entries = entries(node, cx)?;
    if entries.is_empty() {
        return empty(node, cx, "at least one place", "write e.g. `{ singapore: 1, mumbai: 1 }`");
    }
    let decoded: Vec<Option<(String, u32)>> = entries
        .iter()
        .map(|entry| {
            let known = Geo::decode_name(&entry.key, entry.key_span, cx);
            let weight = u32::decode(&entry.value, cx);
            if weight == Some(0) {
                let message = format!("`0` is out of range for the weight of `{}`", entry.key);
                let help = "give a weight of at least 1, or remove the place";
                cx.push(Diagnostic::error("out-of-range", entry.value.span, message).help(help));
            }
            let weight = weight.filter(|w| *w > 0)?;
            known.map(|_| (entry.key.clone(), weight))
        })
        .collect();
    decoded.into_iter().collect()
}

fn decode_edges(node: &Node, cx: &mut Cx<'_>) -> Option<BTreeMap<String, EdgeParams>> {
    let entries = entries(node, cx)?;
    if entries.is_empty() {
        return empty(
            node,
            cx,
            "at least one edge",
            "write e.g. `{ sg: { geo: singapore, client_link: ..., origin_link: ... } }`",
        );
    }
    // By name: files are numbered as they are asked for, and the order of a mapping must change no key.
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by(|a, b| a.key.cmp(&b.key));
    let decoded: Vec<Option<(String, EdgeParams)>> =
        sorted.into_iter().map(|e| decode_edge(&e.value, cx).map(|edge| (e.key.clone(), edge))).collect();
    decoded.into_iter().collect()
}

fn decode_edge(node: &Node, cx: &mut Cx<'_>) -> Option<EdgeParams> {
    let mut map = MapReader::new(node, cx)?;
    let geo = map.required("geo");
    let capacity = map.or::<Option<u64>>("capacity", || None);
    if capacity == Some(Some(0)) {
        map.out_of_range("capacity", "at least 1 viewer");
    }
    let client_link = decode_link("client_link", &mut map);
    let origin_link = decode_link("origin_link", &mut map);
    if !map.finish() {
        return None;
    }
    Some(EdgeParams { geo: geo?, capacity: capacity?, client_link: client_link?, origin_link: origin_link? })
}

fn decode_link(key: &'static str, map: &mut MapReader<'_, '_, '_>) -> Option<LinkParams> {
    let name = map.required_node(key)?;
    let definition = map.cx.lookup("links", name)?;
    LinkParams::decode(definition, map.cx)
}

/// JSON Schema of the parameters.
pub fn schema() -> Value {
    let describe = |mut schema: Value, description: &str| {
        schema["description"] = description.into();
        schema
    };
    let link = |description: &str| json!({ "type": "string", "description": description });
    let places = Geo::schema();
    json!({ "type": "object", "required": ["clients", "geos", "edges"], "additionalProperties": false, "properties": {
        "runs": describe(json!({ "type": "integer", "minimum": 1, "default": 1 }), "Independent runs; the study's `runs` when not given."),
        "clients": describe(json!({ "type": "integer", "minimum": 1 }), "Viewers of each run."),
        "geos": { "type": "object", "propertyNames": places, "minProperties": 1,
            "additionalProperties": { "type": "integer", "minimum": 1 },
            "description": "Places of the viewers and their weights, dealt out in turn." },
        "arrivals": describe(Arrivals::schema(), "When viewers arrive; all at once when not given."),
        "policy": describe(RoutingChoice::schema(), "How an edge is chosen; `latency_based` when not given."),
        "misroute_prob": describe(Probability::schema(), "Share of viewers that reach another edge; only with `realistic_bgp`, default 15 %."),
        "edges": { "type": "object", "minProperties": 1, "description": "The edges by name.",
            "additionalProperties": { "type": "object", "additionalProperties": false,
                "required": ["geo", "client_link", "origin_link"], "properties": {
                    "geo": describe(Geo::schema(), "Where it stands."),
                    "capacity": { "type": "integer", "minimum": 1, "description": "Viewers it takes per run; no limit when not given." },
                    "client_link": link("Name of the link to its viewers."),
                    "origin_link": link("Name of the link to the origin.") } } },
    } })
}
