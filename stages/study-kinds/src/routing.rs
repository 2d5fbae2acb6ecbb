//! The stage kind `routing`: who the viewers of each run are, when they arrive, and which edge serves them over which links.
//!
//! Every run draws its own viewers. Geos are dealt to viewers in turn by their number; viewers are admitted to the edges in
//! the order of their arrival. What a viewer watches is drawn later, by the stage that plays it.
//!
//! Random streams: `run/<r>/arrivals` (one number per viewer, in the order of their numbers),
//! `run/<r>/viewer/<c>/location` (two), `run/<r>/viewer/<c>/routing` (those of the policy). A viewer keeps its geo, place
//! and arrival when more viewers are added.

mod lint;
mod params;

pub use params::{Arrivals, EdgeParams, PoissonArrivals, RoutingParams};

use serde_json::Value;
use std::sync::Arc;
use study_cdn::routing::geo::Geo;
use study_cdn::routing::{Edges, GeoDealer, RoutingPolicy, ViewerSite};
use study_ident::{RandomStream, SeedPath};
use study_import::sabre;
use study_link::{LinkParams, RateSchedule, RateStep};
use study_stage::{Inputs, Outputs, StageCx, StageError, StageKind};
use study_table::{Cell, ColumnType, Field, Table, TableBuilder};
use study_tree::{Cx, Decode, Node};
use study_units::SimTime;

/// See the [module](self).
pub struct Routing;

impl StageKind for Routing {
    type Params = RoutingParams;
    const NAME: &'static str = "routing";
    const SUMMARY: &'static str = "The viewers of each run: where they are, when they arrive, which edge serves them.";
    const VERSION: u32 = 1;
    const INHERITS: &'static [&'static str] = &["runs"];
    // Viewers come for a catalogue, so a study may say which; nothing but its presence matters here.
    const TAKES: &'static [&'static str] = &["titles"];
    const GIVES: &'static [&'static str] = &["clients", "edges"];
    const USES_SEED: bool = true;

    fn decode(&self, node: &Node, cx: &mut Cx<'_>) -> Option<RoutingParams> {
        let params = params::decode(node, cx)?;
        lint::warn(&params, node, cx);
        Some(params)
    }
    fn schema(&self) -> Value {
        params::schema()
    }
    fn source_fingerprint(&self) -> &'static str {
        crate::fingerprint::ROUTING
    }
    fn run(&self, params: &RoutingParams, cx: &StageCx<'_>, _inputs: &Inputs) -> Result<Outputs, StageError> {
        let mut outputs = Outputs::default();
        outputs.frames.insert("clients".to_owned(), clients(params, cx)?);
        outputs.frames.insert("edges".to_owned(), edges(params, cx.files)?);
        Ok(outputs)
    }
}

/// Checks a definition under `links` by itself.
pub fn check_link(node: &Node, cx: &mut Cx<'_>) {
    let _ = LinkParams::decode(node, cx);
}

/// JSON Schema of a definition under `links`.
#[must_use]
pub fn link_schema() -> Value {
    LinkParams::schema()
}

/// A viewer of a run before it is routed.
struct Arrival {
    client: u64,
    geo: Geo,
    at: SimTime,
}

/// The viewers of a run by number.
fn arrivals(params: &RoutingParams, run: &SeedPath) -> Result<Vec<Arrival>, StageError> {
    let geos: Vec<Geo> = params.geos.keys().filter_map(|name| Geo::named(name)).collect();
    let mut dealer = GeoDealer::new(&params.geos.values().copied().collect::<Vec<_>>());
    let mut random = run.stream("arrivals");
    let mut last = SimTime::ZERO;
    (0..params.clients)
        .map(|client| {
            let geo = dealer.deal().and_then(|i| geos.get(i).copied());
            let geo = geo.ok_or_else(|| StageError::failed("`geos` names no place for a viewer"))?;
            last = params.arrivals.next(last, &mut random);
            Ok(Arrival { client, geo, at: last })
        })
        .collect()
}

/// Where a viewer went: edge, and whether it went astray.
type Served = (Arrival, usize, bool);

fn route_run(
    params: &RoutingParams,
    policy: &dyn RoutingPolicy,
    run: u64,
    seed: &SeedPath,
) -> Result<Vec<Served>, StageError> {
    let seed = seed.indexed("run", run);
    let mut waiting = arrivals(params, &seed)?;
    waiting.sort_by_key(|arrival| (arrival.at, arrival.client));
    let mut edges = Edges::new(params.sites());
    let mut served: Vec<Served> = Vec::with_capacity(waiting.len());
    for arrival in waiting {
        let own = seed.indexed("viewer", arrival.client);
        let viewer = ViewerSite { geo: arrival.geo, position: arrival.geo.scattered(&mut own.stream("location")) };
        let route = policy.route(&viewer, &edges, &mut own.stream("routing")).ok_or_else(|| {
            StageError::failed_with_help(
                format!("no edge has room for viewer `{}` of run `{run}`", arrival.client),
                "raise the `capacity` of an edge, or take fewer `clients`",
            )
        })?;
        edges.admit(route.edge);
        served.push((arrival, route.edge, route.misrouted));
    }
    served.sort_by_key(|(arrival, ..)| arrival.client);
    Ok(served)
}

fn int(value: u64) -> Cell<'static> {
    Cell::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

fn clients(params: &RoutingParams, cx: &StageCx<'_>) -> Result<Table, StageError> {
    let mut table = TableBuilder::new(vec![
        Field::new("run", ColumnType::Int, "", "number of the run, from 0"),
        Field::new("client", ColumnType::Int, "", "number of the viewer in its run, from 0"),
        Field::new("geo", ColumnType::Str, "", "place that the viewer belongs to"),
        Field::new("edge", ColumnType::Str, "", "edge that serves the viewer"),
        Field::new("arrival_us", ColumnType::Int, "us", "when the viewer arrives, since the start of the run"),
        Field::new("misrouted", ColumnType::Bool, "", "whether routing sent the viewer past the nearest edge"),
    ]);
    let names: Vec<&String> = params.edges.keys().collect();
    let policy = params.policy.build(params.misroute());
    for run in 0..params.runs {
        cx.check_cancelled()?;
        for (arrival, edge, misrouted) in route_run(params, &*policy, run, &cx.seed)? {
            let (geo, edge) = (Cell::Str(arrival.geo.name()), Cell::Str(names[edge]));
            table.row(&[int(run), int(arrival.client), geo, edge, int(arrival.at.as_micros()), Cell::Bool(misrouted)]);
        }
    }
    Ok(table.finish())
}

fn edges(params: &RoutingParams, files: &[Arc<[u8]>]) -> Result<Table, StageError> {
    let mut table = TableBuilder::new(vec![
        Field::new("edge", ColumnType::Str, "", "name of the edge"),
        Field::new("geo", ColumnType::Str, "", "place where it stands"),
        Field::new("capacity", ColumnType::Int, "", "viewers it takes per run; nothing when there is no limit"),
        Field::new("client_link", ColumnType::Str, "", "link to its viewers, as JSON"),
        Field::new("origin_link", ColumnType::Str, "", "link to the origin, as JSON"),
    ]);
    for (name, edge) in &params.edges {
        let link = |which: &str, link: &LinkParams| resolved(link, files).map_err(|e| failed_link(name, which, &e));
        let (client, origin) = (link("client_link", &edge.client_link)?, link("origin_link", &edge.origin_link)?);
        let capacity = edge.capacity.map_or(Cell::Null, int);
        table.row(&[Cell::Str(name), Cell::Str(edge.geo.name()), capacity, Cell::Str(&client), Cell::Str(&origin)]);
    }
    Ok(table.finish())
}

fn failed_link(edge: &str, which: &str, error: &str) -> StageError {
    StageError::failed_with_help(format!("`{which}` of edge `{edge}`: {error}"), "correct the file that the link names")
}

/// A link without files, as canonical JSON.
fn resolved(link: &LinkParams, files: &[Arc<[u8]>]) -> Result<String, String> {
    let link = link.clone().resolve(files, rate_log).map_err(|e| e.to_string())?;
    // Through a value: its maps are sorted by key.
    let document = serde_json::to_value(&link).map_err(|e| e.to_string())?;
    Ok(document.to_string())
}

/// A SABRE network log as a rate that begins again when it is over, as SABRE does. Its latency is not used: the delay of
/// a link is the link's own.
fn rate_log(bytes: &[u8]) -> Result<RateSchedule, String> {
    let log = sabre::parse_network(bytes).map_err(|e| e.to_string())?;
    let steps = log.schedule().into_iter().map(|(duration, rate)| RateStep { duration, rate });
    RateSchedule::new(steps.collect(), true).map_err(|e| e.to_string())
}

impl Arrivals {
    /// When the next viewer arrives, given when the one before did.
    fn next(&self, last: SimTime, random: &mut RandomStream) -> SimTime {
        let nanos = |span: study_units::SimDuration, share: f64| (span.as_nanos() as f64 * share) as u64;
        match self {
            Self::AtOnce => SimTime::ZERO,
            Self::Uniform(span) => SimTime::from_nanos(nanos(*span, random.uniform())),
            Self::Poisson(poisson) => {
                SimTime::from_nanos(last.as_nanos().saturating_add(nanos(poisson.mean_gap, random.exponential())))
            }
        }
    }
}

#[cfg(test)]
mod tests;
