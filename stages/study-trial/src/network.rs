//! The network of a trial: one link for each viewer, one from each edge in use to the origin.
//!
//! Random streams: `viewer/<c>/{down, up}` and `edge/<name>/origin/0/{down, up}` under the run, as in the simulator.

use crate::job::{Job, Run};
use study_ident::SeedPath;
use study_shaper::{LinkSpec, ShaperError, Topology};
use study_units::{BitRate, SimDuration};

/// Name of the origin's node.
pub(crate) const ORIGIN: &str = "origin";

/// Node of a viewer.
pub(crate) fn client_node(client: u64) -> String {
    format!("client-{client}")
}

/// Node of an edge.
pub(crate) fn edge_node(name: &str) -> String {
    format!("edge-{name}")
}

/// Positions of the edges that have viewers in this run.
pub(crate) fn edges_in_use(run: &Run) -> Vec<usize> {
    let mut edges: Vec<usize> = run.viewers.iter().map(|viewer| viewer.edge).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Nodes and links: first the viewers' links in their order, then those of the edges in use.
pub(crate) fn topology(job: &Job, run: &Run) -> Result<Topology, ShaperError> {
    let seed = run.seed(job);
    let edges = edges_in_use(run);
    let mut nodes = vec![ORIGIN.to_owned()];
    nodes.extend(edges.iter().map(|&edge| edge_node(&job.edges[edge].name)));
    nodes.extend(run.viewers.iter().map(|viewer| client_node(viewer.client)));
    let last_miles = run.viewers.iter().map(|viewer| {
        let edge = &job.edges[viewer.edge];
        LinkSpec {
            name: client_node(viewer.client),
            near: client_node(viewer.client),
            far: edge_node(&edge.name),
            params: edge.client_link.clone(),
            seed: seed.indexed("viewer", viewer.client),
        }
    });
    let upstream = edges.iter().map(|&edge| {
        let edge = &job.edges[edge];
        LinkSpec {
            name: edge_node(&edge.name),
            near: edge_node(&edge.name),
            far: ORIGIN.to_owned(),
            params: edge.origin_link.clone(),
            seed: origin_seed(seed, &edge.name),
        }
    });
    let topology = Topology { links: last_miles.chain(upstream).collect(), nodes };
    topology.check()?;
    Ok(topology)
}

/// The first connection of an edge to the origin, in the simulator's names.
fn origin_seed(run: SeedPath, edge: &str) -> SeedPath {
    run.child("edge").child(edge).indexed("origin", 0)
}

/// The largest bandwidth-delay product among the last miles that are in use, bytes: what flow-control windows are made for.
/// It counts the mean rate downwards and the mean round trip.
pub(crate) fn bandwidth_delay(job: &Job, run: &Run) -> u64 {
    let of = |edge: usize| {
        let link = &job.edges[edge].client_link;
        let rate = link.down.mean_rate().unwrap_or(study_shaper::BEST_EFFORT_RATE);
        bytes(rate, link.mean_rtt())
    };
    edges_in_use(run).into_iter().map(of).max().unwrap_or(0)
}

fn bytes(rate: BitRate, time: SimDuration) -> u64 {
    (u128::from(rate.bits_per_second()) * u128::from(time.as_nanos()) / 8_000_000_000) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bandwidth_delay_product_counts_bytes() {
        assert_eq!(bytes(BitRate::from_bits_per_second(20_000_000), SimDuration::from_millis(30)), 75_000);
    }
}
