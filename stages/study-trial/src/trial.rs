//! One trial: a fresh network, fresh servers with empty caches, all viewers of one run under one arm.
//!
//! Order of events: the network is built; servers listen; each link is calibrated through the model; viewers that are to have a
//! ticket fetch it while the links pass packets on unshaped; links start at index 0; the first viewer arrives. Nothing of a
//! trial outlives it.

use crate::error::TrialError;
use crate::evidence::{Observed, counters, evidence};
use crate::job::{Arm, Job, Run};
use crate::network::{ORIGIN, bandwidth_delay, client_node, edge_node, edges_in_use, topology};
use crate::record::{EdgeTotals, SessionRecord, TrialRecord};
use crate::roles::{Duty, Served, Serving};
use crate::validity::{Evidence, Role};
use crate::viewer::{Played, Session, play, player};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;
use study_shaper::{
    Calibration, CalibrationOptions, LinkRecord, Rig, RigOptions, ThreadUse, ThreadWatch, Timing, TimingWatch,
    calibrate,
};
use study_stacks::{Client, Credentials, ServerStats, StackChoice, StackSettings, Trust, clock, runtime};
use study_transport::{CongestionControl, SessionState};
use study_units::{Bytes, SimDuration, SimTime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Time between the start of the links and the start of the trial.
const LEAD: SimDuration = SimDuration::from_millis(5);
/// Time for the last packets of tickets and calibration to end before links start at index 0.
const SETTLE: Duration = Duration::from_millis(50);

/// Everything that threads of a trial share.
struct Stage<'a> {
    job: &'a Job,
    run: &'a Run,
    arm: &'a Arm,
    rig: &'a Rig,
    credentials: &'a Credentials,
    settings: StackSettings,
}

/// Runs one trial: what it measured, and what its validity record is made of.
pub(crate) fn run_trial(
    job: &Job,
    run: usize,
    arm: usize,
    position: usize,
) -> Result<(TrialRecord, Evidence), TrialError> {
    let (spec, of) = (&job.arms[arm], run);
    let run = &job.runs[of];
    let topology = topology(job, run)?;
    let rig = Rig::build(&topology, job.backend, &RigOptions::default())?;
    let names: Vec<String> = edges_in_use(run).iter().map(|&edge| edge_node(&job.edges[edge].name)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).chain([ORIGIN]).collect();
    let credentials = Credentials::new(&names, spec.transport.certificate_chain.get())?;
    let settings = settings(job, run, spec)?;
    let stage = Stage { job, run, arm: spec, rig: &rig, credentials: &credentials, settings };
    let (mut record, observed) = std::thread::scope(|scope| stage.perform(scope))?;
    record.arm = arm;
    record.position = position;
    let evidence = evidence(job, of, &rig, &record, observed)?;
    Ok((record, evidence))
}

/// The settings of both ends of the last mile.
fn settings(job: &Job, run: &Run, arm: &Arm) -> Result<StackSettings, TrialError> {
    let stack = stack_of(arm.protocol)?;
    let bytes = bandwidth_delay(job, run);
    let mut settings = if job.as_deployed {
        StackSettings::as_deployed(stack, arm.congestion_control)
    } else {
        StackSettings::equal(stack, arm.congestion_control, Bytes::new(bytes))
    };
    settings.scheduler = arm.scheduler;
    let limit = Duration::from_nanos(arm.session_limit.as_nanos());
    settings.fetch_timeout = limit;
    settings.idle_timeout = settings.idle_timeout.min(limit);
    Ok(settings.with_params(&arm.transport)?)
}

fn stack_of(protocol: study_transport::Protocol) -> Result<StackChoice, TrialError> {
    StackChoice::of(protocol).ok_or_else(|| {
        TrialError::environment(
            format!("no real stack speaks `{}`", protocol.name()),
            Some("use `protocol: h2` or `h3`, or `mode: modeled`".to_owned()),
        )
    })
}

/// A thread of a viewer: it says when it has its ticket, and waits for the start.
struct Waiting<'scope> {
    ready: Receiver<Result<(), TrialError>>,
    go: UnboundedSender<Go>,
    thread: ScopedJoinHandle<'scope, Result<(Played, ThreadUse), TrialError>>,
}

enum Go {
    /// Fetch a ticket if you need one.
    Prime,
    /// The trial starts at this instant of the monotonic clock.
    Start(SimTime),
}

impl<'a> Stage<'a> {
    fn perform<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) -> Result<(TrialRecord, Observed), TrialError> {
        let edges = edges_in_use(self.run);
        let origin = self.serve_origin(scope, &edges)?;
        let serving: Vec<Serving<'_>> =
            edges.iter().map(|&edge| self.serve_edge(scope, edge, origin.address(edge))).collect::<Result<_, _>>()?;
        let calibrations = self.calibrate()?;
        let address = |edge: usize, client: u64| -> Result<SocketAddr, TrialError> {
            let at = edges.iter().position(|&used| used == edge).unwrap_or_default();
            let ip = self.rig.address(&edge_node(&self.job.edges[edge].name), &client_node(client))?;
            Ok(SocketAddr::new(ip.into(), serving[at].port()))
        };
        let mut waiting = Vec::new();
        for viewer in 0..self.run.viewers.len() {
            let of = &self.run.viewers[viewer];
            waiting.push(self.client(scope, viewer, address(of.edge, of.client)?)?);
        }
        self.prime(&waiting)?;
        let before = counters(self.rig)?;
        let (watch, servers, began) = self.start(&waiting, &origin, &serving)?;
        let played: Vec<(Played, ThreadUse)> =
            waiting.into_iter().map(|viewer| join(viewer.thread)).collect::<Result<_, _>>()?;
        let span = clock::now().since(began);
        let links: Vec<LinkRecord> = self.rig.links().iter().map(study_shaper::Link::record).collect();
        let threads = self.threads(&servers, &played);
        let named: Vec<(String, ThreadUse)> = threads.iter().map(|(name, _, used)| (name.clone(), *used)).collect();
        let timing = watch.end(self.rig, &links, &named);
        let after = counters(self.rig)?;
        let served: Vec<Served> = serving.into_iter().map(Serving::end).collect::<Result<_, _>>()?;
        let edges = edges.into_iter().zip(served).collect();
        let origin = origin.end()?;
        let counters = before.into_iter().zip(after.into_values()).map(|((node, b), a)| (node, [b, a])).collect();
        let upstream_settings = self.upstream_settings()?;
        let ended = Ended { played, links, calibrations, timing, span };
        let observed = Observed {
            settings: self.settings.clone(),
            upstream_settings,
            chain_bytes: self.credentials.chain_bytes(),
            dialed: Vec::new(),
            edges,
            origin,
            threads,
            counters,
            began,
        };
        Ok(self.close(ended, observed))
    }

    fn serve_origin<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        edges: &[usize],
    ) -> Result<Origin<'scope>, TrialError> {
        let upstream = self.upstream_settings()?;
        let serving = Duty::Origin.serve(scope, self.rig, ORIGIN, upstream, self.credentials)?;
        let addresses = edges
            .iter()
            .map(|&edge| {
                let ip = self.rig.address(ORIGIN, &edge_node(&self.job.edges[edge].name))?;
                Ok((edge, SocketAddr::new(ip.into(), serving.port())))
            })
            .collect::<Result<_, TrialError>>()?;
        Ok(Origin { serving, addresses })
    }

    fn serve_edge<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        edge: usize,
        upstream: SocketAddr,
    ) -> Result<Serving<'scope>, TrialError> {
        let role = Duty::Edge {
            cache: self.arm.cache.clone(),
            upstream,
            upstream_name: ORIGIN.to_owned(),
            upstream_settings: Box::new(self.upstream_settings()?),
            trust: self.credentials.trust(),
        };
        let settings = self.settings.clone().session(SessionState::ZeroRtt);
        role.serve(scope, self.rig, &edge_node(&self.job.edges[edge].name), settings, self.credentials)
    }

    /// Between edge and origin both arms have the same stack and controller.
    fn upstream_settings(&self) -> Result<StackSettings, TrialError> {
        let stack = stack_of(self.arm.origin_protocol)?;
        let widest = |edge: &crate::job::Edge| {
            let rate = edge.origin_link.down.mean_rate().unwrap_or(study_shaper::BEST_EFFORT_RATE);
            rate.bits_per_second() as f64 / 8.0 * edge.origin_link.mean_rtt().as_secs_f64()
        };
        let bytes = self.job.edges.iter().map(widest).fold(0.0, f64::max);
        Ok(StackSettings::equal(stack, CongestionControl::Cubic, Bytes::new(bytes as u64)))
    }

    /// Opens the links and measures each of them, all at once.
    fn calibrate(&self) -> Result<Vec<Calibration>, TrialError> {
        let options = CalibrationOptions::default();
        std::thread::scope(|scope| {
            let measuring: Vec<_> = self
                .rig
                .links()
                .iter()
                .map(|link| {
                    link.start();
                    scope.spawn(move || calibrate(self.rig, link, &options).map_err(TrialError::from))
                })
                .collect();
            measuring.into_iter().map(join).collect()
        })
    }

    fn client<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        viewer: usize,
        server: SocketAddr,
    ) -> Result<Waiting<'scope>, TrialError> {
        let (says, ready) = channel();
        // The thread goes on with its connections while it waits: a blocked one would send the last packets of its ticket's
        // connection after the start.
        let (go, told) = unbounded_channel();
        let name = client_node(self.run.viewers[viewer].client);
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn_scoped(scope, move || self.view(viewer, server, &says, told))
            .map_err(|error| TrialError::environment(format!("no thread for a viewer: {error}"), None))?;
        Ok(Waiting { ready, go, thread })
    }

    /// The thread of a viewer.
    fn view(
        &self,
        viewer: usize,
        server: SocketAddr,
        says: &Sender<Result<(), TrialError>>,
        mut told: UnboundedReceiver<Go>,
    ) -> Result<(Played, ThreadUse), TrialError> {
        let of = &self.run.viewers[viewer];
        self.rig.enter(&client_node(of.client))?;
        let edge = edge_node(&self.job.edges[of.edge].name);
        let title = self.job.titles.get(&of.title).ok_or_else(|| TrialError::failed("a viewer's title is missing"))?;
        let title = title.title().map_err(|error| TrialError::failed(error.to_string()))?;
        let player = player(self.arm, of, title.clone()).map_err(|error| TrialError::failed(error.to_string()))?;
        let settings = self.settings.clone().session(of.session);
        let trust: Trust = self.credentials.trust();
        let ended = || TrialError::failed("the trial ended before it began");
        runtime()?.block_on(async {
            let client = Rc::new(Client::new(settings, trust)?);
            let Some(Go::Prime) = told.recv().await else { return Err(ended()) };
            let primed = client.prime(server, &edge).await.map_err(TrialError::from);
            // Nobody listens any more when the trial has failed elsewhere.
            let _ = says.send(primed);
            let Some(Go::Start(epoch)) = told.recv().await else { return Err(ended()) };
            let watch = ThreadWatch::current();
            let session = Session {
                arm: self.arm,
                viewer: of,
                title,
                pacing: self.job.emulation.pacing,
                server: (server, &edge),
            };
            let mut played = play(&session, client, player, epoch).await;
            played.record.viewer = viewer;
            Ok((played, watch.used().unwrap_or_default()))
        })
    }

    /// Lets each viewer fetch its ticket over links that do nothing.
    fn prime(&self, waiting: &[Waiting<'_>]) -> Result<(), TrialError> {
        self.rig.links().iter().for_each(study_shaper::Link::pass_through);
        for viewer in waiting {
            // A thread that has ended says why when it is joined.
            let _ = viewer.go.send(Go::Prime);
        }
        for viewer in waiting {
            viewer.ready.recv().unwrap_or(Ok(()))?;
        }
        std::thread::sleep(SETTLE);
        Ok(())
    }

    /// Index 0 of all links, then the first viewer.
    #[allow(clippy::type_complexity, reason = "what the caller ends, and the start of the trial")]
    fn start(
        &self,
        waiting: &[Waiting<'_>],
        origin: &Origin<'_>,
        serving: &[Serving<'_>],
    ) -> Result<(TimingWatch, Vec<(String, ThreadWatch)>, SimTime), TrialError> {
        let watch = TimingWatch::begin(self.rig)?;
        let servers = serving.iter().chain([&origin.serving]).map(Serving::watch).collect();
        let began = clock::now();
        self.rig.links().iter().for_each(study_shaper::Link::start);
        let epoch = clock::now() + LEAD;
        for viewer in waiting {
            let _ = viewer.go.send(Go::Start(epoch));
        }
        Ok((watch, servers, began))
    }

    fn threads(
        &self,
        servers: &[(String, ThreadWatch)],
        played: &[(Played, ThreadUse)],
    ) -> Vec<(String, Role, ThreadUse)> {
        let servers = servers.iter().filter_map(|(name, watch)| Some((name.clone(), Role::Server, watch.used()?)));
        let clients = self.run.viewers.iter().zip(played);
        servers.chain(clients.map(|(viewer, (_, used))| (client_node(viewer.client), Role::Client, *used))).collect()
    }

    fn close(&self, ended: Ended, mut observed: Observed) -> (TrialRecord, Observed) {
        let mut sessions = Vec::new();
        for (played, _) in ended.played {
            sessions.push(self.with_server(played.record, &observed));
            observed.dialed.push(played.dialed);
        }
        let record = TrialRecord {
            arm: 0,
            position: 0,
            backend: self.job.backend,
            setup_ms: self.rig.setup().as_secs_f64() * 1e3,
            span_ms: ended.span.as_millis_f64(),
            sessions,
            links: ended.links,
            calibrations: ended.calibrations,
            timing: ended.timing,
            edges: totals(observed.edges.iter().map(|(_, served)| &served.stats)),
        };
        (record, observed)
    }

    /// Adds what the edge counted on the viewer's connection.
    fn with_server(&self, mut session: SessionRecord, observed: &Observed) -> SessionRecord {
        let client = client_node(self.run.viewers[session.viewer].client);
        let Ok(ip) = self.rig.address(&client, &client) else { return session };
        // The connection that fetched the ticket was accepted before the trial began.
        let mut connections = observed.edges.iter().flat_map(|(_, served)| &served.connections);
        let last = connections.rfind(|c| c.peer.ip() == ip && c.accepted_ns >= observed.began.as_nanos());
        if let Some(counters) = last.and_then(|connection| connection.counters.as_ref()) {
            session.packets_sent = Some(counters.packets_sent());
            session.packets_lost = Some(counters.packets_lost());
            session.retransmitted_bytes = counters.bytes_lost();
            session.rtt_us = Some(counters.rtt_us());
        }
        session
    }
}

/// The origin and its address as each edge sees it.
struct Origin<'scope> {
    serving: Serving<'scope>,
    addresses: Vec<(usize, SocketAddr)>,
}

impl Origin<'_> {
    fn address(&self, edge: usize) -> SocketAddr {
        let found = self.addresses.iter().find(|(of, _)| *of == edge);
        found.map_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)), |(_, address)| *address)
    }
    fn end(self) -> Result<Served, TrialError> {
        self.serving.end()
    }
}

/// A trial whose sessions are over.
struct Ended {
    played: Vec<(Played, ThreadUse)>,
    links: Vec<LinkRecord>,
    calibrations: Vec<Calibration>,
    timing: Timing,
    span: SimDuration,
}

fn totals<'s>(stats: impl Iterator<Item = &'s ServerStats>) -> EdgeTotals {
    let mut totals = EdgeTotals::default();
    for s in stats {
        totals.hits += s.hits;
        totals.misses += s.misses;
        totals.coalesced += s.coalesced;
        totals.origin_fetches += s.upstream_fetches;
    }
    totals
}

pub(crate) fn join<T>(thread: ScopedJoinHandle<'_, Result<T, TrialError>>) -> Result<T, TrialError> {
    thread.join().unwrap_or_else(|_| Err(TrialError::failed("a thread of the trial panicked; see its message above")))
}
