//! One viewer's session: a player on a connection to an edge.

use crate::edge::{CacheOutcome, Served};
use crate::network::LinkPath;
use crate::trial::SessionPlan;
use std::sync::Arc;
use study_cdn::catalog::Title;
use study_cdn::player::{Next, Player, SessionSummary};
use study_transport::qlog::Trace;
use study_transport::{AppEvent, ConnectionStats, Pool, Priority, SessionState, StreamId, StreamReport};
use study_units::{SimDuration, SimTime};

/// One segment of a session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SegmentResult {
    /// Segment, from 0.
    pub segment: usize,
    /// Rung, from 0.
    pub rung: usize,
    /// Bytes of the segment.
    pub bytes: u64,
    /// Where it came from.
    pub outcome: CacheOutcome,
    /// As the transport saw it.
    pub transport: StreamReport,
    /// Buffer when it was asked for and right after it had come.
    pub buffer: (SimDuration, SimDuration),
    /// The stall that it ended.
    pub stall: SimDuration,
}

/// A session that is over.
#[derive(Debug, Clone)]
pub struct SessionResult {
    /// Position among the viewers of the trial.
    pub viewer: usize,
    /// Title watched.
    pub title: usize,
    /// Session state of the handshake.
    pub state: SessionState,
    /// From arrival to the end of the handshake; `None` when it never ended.
    pub handshake: Option<SimDuration>,
    /// What the viewer experienced.
    pub summary: SessionSummary,
    /// Segments that arrived, by number.
    pub segments: Vec<SegmentResult>,
    /// Counters of the connection.
    pub stats: ConnectionStats,
    /// What happened, for replay; kept where the trial was asked to, because arrival curves are large.
    pub plan: Option<SessionPlan>,
    /// Logs of its connections, where the trial was asked for them.
    pub traces: Vec<Trace>,
}

/// A session at run time.
#[derive(Debug)]
pub struct Session {
    pub viewer: usize,
    pub edge: usize,
    pub title: usize,
    pub state: SessionState,
    pub connection: Pool<LinkPath>,
    player: Player,
    content: Arc<Title>,
    /// Segment and rung of each stream.
    streams: Vec<(usize, usize)>,
    served: Vec<Option<Served>>,
    completed: usize,
    deadline: SimTime,
    keep_plan: bool,
}

impl Session {
    pub fn new(
        (viewer, edge, title): (usize, usize, usize),
        content: Arc<Title>,
        player: Player,
        connection: Pool<LinkPath>,
        state: SessionState,
        limit: SimDuration,
        keep_plan: bool,
    ) -> Self {
        let deadline = connection.now() + limit;
        Self {
            viewer,
            edge,
            title,
            state,
            connection,
            player,
            content,
            streams: Vec::new(),
            served: Vec::new(),
            completed: 0,
            deadline,
            keep_plan,
        }
    }

    /// Plays until the next request reaches the edge; `None` when the session is over. The connection's clock then stands
    /// at that instant.
    pub fn run_to_request(&mut self) -> Option<StreamId> {
        loop {
            let limit = self.ask();
            if self.player.has_everything() {
                return None;
            }
            match self.connection.advance(limit.min(self.deadline)) {
                Some(AppEvent::RequestArrived(stream)) => return Some(stream),
                Some(AppEvent::Completed(stream)) => {
                    self.complete(stream);
                    // A filled hole completes several streams at once: the player is asked after the last of them.
                    while let Some(event) = self.connection.poll() {
                        match event {
                            AppEvent::Completed(stream) => self.complete(stream),
                            AppEvent::RequestArrived(stream) => return Some(stream),
                        }
                    }
                }
                // Nothing will ever happen again, or the viewer has had enough.
                None if limit == SimTime::NEVER || self.connection.now() >= self.deadline => return None,
                None => {}
            }
        }
    }

    fn complete(&mut self, stream: StreamId) {
        let (segment, rung) = self.streams[stream.0 as usize];
        let bytes = self.content.sizes(segment)[rung];
        self.completed += 1;
        self.player.on_complete(self.connection.now(), segment, bytes);
    }

    /// Issues what the player wants now; returns when to ask it again.
    fn ask(&mut self) -> SimTime {
        loop {
            match self.player.next_request(self.connection.now()) {
                Next::Request { segment, rung } => {
                    // What is played first is the most urgent: one step of urgency for each segment under way before it.
                    let ahead = self.streams.len() - self.completed;
                    let urgency = (usize::from(Priority::default().urgency) + ahead).min(7) as u8;
                    self.connection.request_with(Priority { urgency, incremental: false });
                    self.streams.push((segment, rung));
                    self.served.push(None);
                }
                Next::WaitUntil(at) => return at,
                Next::Blocked | Next::Done => return SimTime::NEVER,
            }
        }
    }

    /// Title, segment, rung and bytes that a stream asks for.
    pub fn object(&self, stream: StreamId) -> (usize, usize, usize, u64) {
        let (segment, rung) = self.streams[stream.0 as usize];
        (self.title, segment, rung, self.content.sizes(segment)[rung])
    }

    /// The edge answers a stream.
    pub fn respond(&mut self, stream: StreamId, served: Served) {
        let bytes = self.object(stream).3;
        let availability = served.availability(self.connection.now());
        let curve = served.curve.filter(|_| self.keep_plan);
        self.served[stream.0 as usize] = Some(Served { curve, ..served });
        self.connection.respond(stream, bytes, availability);
    }

    /// Closes the books.
    pub fn finish(mut self) -> SessionResult {
        let now = self.connection.now();
        let summary = self.player.finish(now);
        let start = self.player.start();
        let established = self.connection.established_at();
        let segments = (0..self.streams.len()).filter_map(|i| self.segment(i)).collect();
        let plan = self.keep_plan.then(|| SessionPlan { requests: self.player.schedule(), served: self.served.into() });
        SessionResult {
            viewer: self.viewer,
            title: self.title,
            state: self.state,
            handshake: (established != SimTime::NEVER).then(|| established.since(start)),
            summary,
            segments,
            stats: self.connection.stats(),
            plan,
            traces: self.connection.take_traces(),
        }
    }

    fn segment(&self, stream: usize) -> Option<SegmentResult> {
        let (segment, rung) = self.streams[stream];
        let transport = self.connection.report(StreamId(stream as u32))?;
        let record = self.player.records()[segment];
        Some(SegmentResult {
            segment,
            rung,
            bytes: transport.bytes,
            outcome: self.served[stream].as_ref()?.outcome,
            transport,
            buffer: (record.buffer_before, record.buffer_after),
            stall: record.stall,
        })
    }
}
