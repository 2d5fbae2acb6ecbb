//! From what a trial saw to the evidence that its validity record is made of.

use crate::job::Job;
use crate::network::{ORIGIN, client_node, edge_node};
use crate::record::TrialRecord;
use crate::roles::Served;
use crate::schedule::{blocks_at_once, processors};
use crate::validity::{Accepted, Asked, Compare, Dialed, Evidence, Hop, Host, Node, Order, Role, Thread, Transfers};
use std::collections::BTreeMap;
use std::net::IpAddr;
use study_shaper::{Counters, Link, LinkRecord, Rig, RigOptions, ShaperError, ThreadUse};
use study_stacks::StackSettings;
use study_units::SimTime;

/// What a trial was made of.
pub(crate) struct Observed {
    /// Of both ends of the last miles.
    pub settings: StackSettings,
    /// Between edges and origin.
    pub upstream_settings: StackSettings,
    /// Bytes of the chain that was made.
    pub chain_bytes: u64,
    /// By viewer: its connection, as it was near its end.
    pub dialed: Vec<Option<Dialed>>,
    /// Edges in use, by position.
    pub edges: Vec<(usize, Served)>,
    pub origin: Served,
    /// Threads of clients and servers.
    pub threads: Vec<(String, Role, ThreadUse)>,
    /// Counters of each node when the trial began and when it had ended.
    pub counters: BTreeMap<String, [Counters; 2]>,
    /// First instant of the trial.
    pub began: SimTime,
}

/// Counters of all nodes.
pub(crate) fn counters(rig: &Rig) -> Result<BTreeMap<String, Counters>, ShaperError> {
    rig.nodes().iter().map(|node| Ok((node.clone(), rig.counters(node)?))).collect()
}

/// The evidence of one trial.
pub(crate) fn evidence(
    job: &Job,
    run: usize,
    rig: &Rig,
    record: &TrialRecord,
    observed: Observed,
) -> Result<Evidence, ShaperError> {
    let options = RigOptions::default();
    let arm = &job.arms[record.arm];
    let relays = record.links.iter().map(|link| Thread {
        name: format!("relay of {}", link.link),
        role: Role::Relay,
        used: link.relay,
    });
    let ends =
        observed.threads.iter().map(|(name, role, used)| Thread { name: name.clone(), role: *role, used: *used });
    let transfers = record.sessions.iter().flat_map(|session| &session.transfers);
    let failed = transfers.clone().filter_map(|transfer| transfer.error.as_deref());
    Ok(Evidence {
        arm: arm.name.clone(),
        asked: Asked {
            compare: if job.as_deployed { Compare::AsDeployed } else { Compare::Equal },
            chain_bytes: observed.chain_bytes,
            mtu: options.mtu,
            sysctls: options.sysctls.clone(),
        },
        order: order(job, record),
        host: host(job, &options, &observed),
        nodes: nodes(rig, &observed)?,
        threads: ends.chain(relays).collect(),
        timing: record.timing.clone(),
        transfers: Transfers {
            asked: transfers.clone().count() as u64,
            recorded: transfers.count() as u64,
            failed: failed.clone().count() as u64,
            timed_out: failed.filter(|error| error.contains("took longer than")).count() as u64,
        },
        hops: hops(job, run, rig, record, observed)?,
    })
}

/// Where in its block a trial ran.
pub(crate) fn order(job: &Job, record: &TrialRecord) -> Order {
    Order {
        position: record.position as u32,
        arms: job.arms.len() as u32,
        drawn: true,
        warm_ups: job.emulation.warm_ups,
    }
}

fn host(job: &Job, options: &RigOptions, observed: &Observed) -> Host {
    Host {
        backend: job.backend,
        kernel: std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
        processors: processors() as u32,
        blocks_at_once: blocks_at_once(job, processors()) as u32,
        clock: "CLOCK_MONOTONIC".to_owned(),
        driver: concat!("study-trial ", env!("CARGO_PKG_VERSION")).to_owned(),
        implementation: observed.settings.stack.implementation(),
        fresh: true,
        offload: options.offload,
        clean_share: None,
    }
}

fn nodes(rig: &Rig, observed: &Observed) -> Result<Vec<Node>, ShaperError> {
    let node = |(name, [before, after]): (&String, &[Counters; 2])| {
        Ok(Node {
            name: name.clone(),
            sysctls: rig.sysctls(name)?.clone(),
            before: before.clone(),
            after: after.clone(),
        })
    };
    observed.counters.iter().map(node).collect()
}

/// The links in their order: those of the viewers first, then those to the origin.
fn hops(
    job: &Job,
    run: usize,
    rig: &Rig,
    record: &TrialRecord,
    mut observed: Observed,
) -> Result<Vec<Hop>, ShaperError> {
    let viewers = &job.runs[run].viewers;
    let mut hops = Vec::new();
    for (position, (link, done)) in rig.links().iter().zip(&record.links).enumerate() {
        let mut hop = match viewers.get(position) {
            Some(viewer) => {
                let client = client_node(viewer.client);
                let near = IpAddr::from(rig.address(&client, &client)?);
                let served = observed.edges.iter().find(|(edge, _)| *edge == viewer.edge).map(|(_, served)| served);
                let settings = observed.settings.clone();
                let mut hop = new_hop(link, done, [settings.clone().session(viewer.session), settings]);
                hop.dialed = observed.dialed[position].take().into_iter().collect();
                hop.accepted = accepted(served, near, observed.began);
                hop
            }
            None => {
                let edge = &link.spec().near;
                let near = IpAddr::from(rig.address(edge, edge)?);
                let settings = observed.upstream_settings.clone();
                let mut hop = new_hop(link, done, [settings.clone(), settings]);
                hop.accepted = accepted(Some(&observed.origin), near, observed.began);
                let served = observed.edges.iter().find(|(position, _)| edge_node(&job.edges[*position].name) == *edge);
                hop.dialed = served.and_then(|(_, served)| served.upstream.clone()).into_iter().collect();
                hop
            }
        };
        hop.calibration = record.calibrations.get(position).cloned();
        hops.push(hop);
    }
    debug_assert!(job.edges.iter().all(|edge| edge_node(&edge.name) != ORIGIN), "names of edges are prefixed");
    Ok(hops)
}

fn new_hop(link: &Link, record: &LinkRecord, settings: [StackSettings; 2]) -> Hop {
    Hop::new(link.spec(), link.mtu(), record.clone(), settings)
}

/// Connections from an address that were accepted in the trial: those that fetched tickets came before.
fn accepted(served: Option<&Served>, from: IpAddr, began: SimTime) -> Vec<Accepted> {
    let all = served.into_iter().flat_map(|served| &served.connections);
    all.filter(|c| c.peer.ip() == from && c.accepted_ns >= began.as_nanos()).cloned().collect()
}
