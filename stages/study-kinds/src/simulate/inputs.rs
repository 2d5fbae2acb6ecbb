//! The frames that a simulation reads, as the simulator wants them.

use super::SimulateParams;
use std::collections::BTreeMap;
use std::sync::Arc;
use study_cdn::catalog::Title;
use study_cdn::popularity::TitleSampler;
use study_sim::{EdgeSpec, Viewer};
use study_stage::{Inputs, StageError};
use study_table::Table;
use study_transport::Protocol;
use study_units::{SimDuration, SimTime};

/// Everything that is the same for all arms and runs.
pub struct World {
    /// Viewers by run.
    pub viewers: Vec<Vec<Viewer>>,
    /// Where each viewer comes from, by run.
    pub geos: Vec<Vec<String>>,
    pub edges: Vec<EdgeSpec>,
    pub titles: Vec<Arc<Title>>,
    pub popularity: TitleSampler,
}

impl World {
    pub fn read(params: &SimulateParams, inputs: &Inputs) -> Result<Self, StageError> {
        let edges = read_edges(inputs.single("edges")?)?;
        check_queues(params, &edges)?;
        let (viewers, geos) = read_viewers(params, inputs.single("clients")?, &edges)?;
        let weights: Vec<f64> = inputs.single("titles")?.floats("weight")?.into_iter().flatten().collect();
        let titles = read_titles(inputs.single("rungs")?, inputs.single("segment_sizes")?)?;
        let popularity = TitleSampler::new(&weights)
            .filter(|sampler| sampler.len() == titles.len())
            .ok_or_else(|| StageError::failed("the catalog's weights do not fit its titles"))?;
        Ok(Self { viewers, geos, edges, titles, popularity })
    }
}

/// Several connections share a last mile only where its queue decides on arrival.
fn check_queues(params: &SimulateParams, edges: &[EdgeSpec]) -> Result<(), StageError> {
    let Some(arm) = params.arms.iter().find(|arm| arm.protocol == Protocol::H1) else { return Ok(()) };
    let late = |edge: &&EdgeSpec| {
        let link = &edge.client_link;
        !link.down.queue.decides_at_arrival() || !link.up.queue.decides_at_arrival()
    };
    edges.iter().find(late).map_or(Ok(()), |edge| {
        Err(StageError::failed_with_help(
            format!(
                "the arm `{}` has several connections, and the queue of the link to `{}` decides at departure",
                arm.name, edge.name
            ),
            "give the link a `drop_tail` queue, or leave out the arms of protocol `h1`",
        ))
    })
}

fn read_edges(table: &Table) -> Result<Vec<EdgeSpec>, StageError> {
    let names = table.texts("edge")?;
    let (client, origin) = (table.texts("client_link")?, table.texts("origin_link")?);
    let link = |text: Option<&str>| {
        serde_json::from_str(text.unwrap_or_default())
            .map_err(|e| StageError::failed(format!("a link of the frame `edges`: {e}")))
    };
    (0..table.rows())
        .map(|row| {
            Ok(EdgeSpec {
                name: names.get(row).unwrap_or_default().to_owned(),
                client_link: link(client.get(row))?,
                origin_link: link(origin.get(row))?,
            })
        })
        .collect()
}

type ByRun<T> = Vec<Vec<T>>;

fn read_viewers(
    params: &SimulateParams,
    table: &Table,
    edges: &[EdgeSpec],
) -> Result<(ByRun<Viewer>, ByRun<String>), StageError> {
    let (runs, clients, arrivals) = (table.ints("run")?, table.ints("client")?, table.ints("arrival_us")?);
    let (edge, geo) = (table.texts("edge")?, table.texts("geo")?);
    let positions: BTreeMap<&str, usize> = edges.iter().enumerate().map(|(i, e)| (e.name.as_str(), i)).collect();
    let mut viewers: ByRun<Viewer> = vec![Vec::new(); params.runs as usize];
    let mut geos: ByRun<String> = vec![Vec::new(); params.runs as usize];
    for row in 0..table.rows() {
        let run = runs[row] as usize;
        if run >= viewers.len() || params.clients.is_some_and(|n| clients[row] as u64 >= n) {
            continue;
        }
        let edge = edge.get(row).and_then(|name| positions.get(name).copied());
        let edge = edge.ok_or_else(|| StageError::failed("a viewer of the frame `clients` has no edge in `edges`"))?;
        let arrival = SimTime::from_nanos(arrivals[row] as u64 * 1_000);
        viewers[run].push(Viewer { client: clients[row] as u64, edge, arrival });
        geos[run].push(geo.get(row).unwrap_or_default().to_owned());
    }
    if let Some(run) = viewers.iter().position(Vec::is_empty) {
        return Err(StageError::failed_with_help(
            format!("run {run} has no viewers"),
            "give the routing stage at least as many `runs` as the simulation",
        ));
    }
    Ok((viewers, geos))
}

fn read_titles(rungs: &Table, sizes: &Table) -> Result<Vec<Arc<Title>>, StageError> {
    let bitrates: Arc<[u32]> = rungs.ints("bitrate_kbit_s")?.iter().map(|b| *b as u32).collect();
    let (title, rung) = (sizes.ints("title")?, sizes.ints("rung")?);
    let (bytes, millis) = (sizes.ints("size_bytes")?, sizes.ints("duration_ms")?);
    let mut titles: BTreeMap<i64, (Vec<SimDuration>, Vec<u64>)> = BTreeMap::new();
    for row in 0..sizes.rows() {
        let (durations, all) = titles.entry(title[row]).or_default();
        if rung[row] == 0 {
            durations.push(SimDuration::from_millis(millis[row] as u64));
        }
        all.push(bytes[row] as u64);
    }
    titles
        .into_values()
        .map(|(durations, sizes)| {
            Title::new(Arc::clone(&bitrates), durations, sizes)
                .map(Arc::new)
                .map_err(|e| StageError::failed(format!("the catalog: {e}")))
        })
        .collect()
}
