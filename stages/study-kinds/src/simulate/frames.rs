//! The frames that a simulation writes, whether its packets are modeled or real.

use super::inputs::World;
use super::params::Arm;
use study_stage::Outputs;
use study_table::{Cell, ColumnType, Field, TableBuilder};
use study_transport::Parts;
use study_units::SimDuration;

/// One session, as far as its mode knows it. Times in microseconds.
pub struct SessionRow<'a> {
    /// Position among the run's viewers.
    pub viewer: usize,
    pub title: usize,
    pub resumption: &'a str,
    pub handshake: Option<u64>,
    pub startup: Option<u64>,
    pub stall_count: u32,
    pub stall: u64,
    pub played: u64,
    pub stall_ratio: f64,
    pub mean_bitrate_kbit_s: Option<f64>,
    pub switches: u32,
    pub segments: usize,
    pub bytes: u64,
    pub packets_sent: Option<u64>,
    pub packets_lost: Option<u64>,
    pub retransmitted_bytes: Option<u64>,
    /// Mean, median and 95th percentile.
    pub rtt: [Option<u64>; 3],
    pub completed: bool,
    /// Transfers that ended, and of these the cache's hits.
    pub arrived: (usize, usize),
}

/// One segment, as far as its mode knows it. Times in microseconds.
pub struct SegmentRow<'a> {
    pub segment: usize,
    pub rung: usize,
    pub bytes: u64,
    pub cache: &'a str,
    pub requested: u64,
    pub ttfb: Option<u64>,
    pub ttlb: Option<u64>,
    pub hol_wait: Option<u64>,
    pub lost_packets: Option<u64>,
    pub retransmitted_bytes: Option<u64>,
    /// When it was asked for, and right after it had come.
    pub buffer: (u64, u64),
    pub stall: u64,
    pub parts: Option<Parts>,
}

/// Totals of a trial, in the order of the columns after the keys.
pub struct TrialRow {
    pub viewers: usize,
    pub origin_fetches: u64,
    pub hits: u64,
    pub misses: u64,
    pub coalesced: u64,
    pub events: u64,
    pub packets: u64,
}

/// Last miles of one edge in one direction.
#[derive(Default)]
pub struct LinkRow {
    pub packets: u64,
    pub lost_random: u64,
    pub lost_queue: u64,
    pub lost_policer: u64,
    pub lost_outage: u64,
    pub repaired: u64,
    pub bytes: u64,
    pub busy_ms: Option<f64>,
    /// Sum of the sessions' lengths.
    pub lifetime_s: f64,
}

/// The key columns of one arm of one run.
#[derive(Clone, Copy)]
pub struct TrialKeys<'a> {
    pub run: u64,
    pub arm: &'a Arm,
}

impl TrialKeys<'_> {
    fn cells(&self) -> [Cell<'_>; 4] {
        let arm = self.arm;
        [int(self.run), Cell::Str(&arm.name), Cell::Str(arm.protocol.name()), Cell::Str(arm.congestion_control.name())]
    }
}

/// Collects rows trial by trial.
pub struct TrialFrames {
    segments: TableBuilder,
    sessions: TableBuilder,
    trials: TableBuilder,
    links: TableBuilder,
    events: u64,
    packets: u64,
}

const fn int(value: u64) -> Cell<'static> {
    Cell::Int(value as i64)
}
const fn ms(micros: u64) -> Cell<'static> {
    Cell::Int((micros / 1_000) as i64)
}
fn maybe(value: Option<u64>) -> Cell<'static> {
    value.map_or(Cell::Null, int)
}

fn fields(rows: &[(&str, ColumnType, &str, &str)]) -> Vec<Field> {
    rows.iter().map(|(name, column, unit, meaning)| Field::new(name, *column, unit, meaning)).collect()
}

/// The columns of `segments`: one for each part of a response's time at the end.
fn segment_fields() -> Vec<Field> {
    let part = |name: &&str| {
        let meaning = format!("of ttlb_us: time spent on {}; all of them sum to it", name.replace('_', " "));
        Field::new(&format!("spent_{name}_us"), ColumnType::Int, "us", &meaning)
    };
    fields(SEGMENTS).into_iter().chain(Parts::NAMES.iter().map(part)).collect()
}

impl TrialFrames {
    pub fn new() -> Self {
        Self {
            segments: TableBuilder::new(segment_fields()),
            sessions: TableBuilder::new(fields(SESSIONS)),
            trials: TableBuilder::new(fields(TRIALS)),
            links: TableBuilder::new(fields(LINKS)),
            events: 0,
            packets: 0,
        }
    }

    /// Adds the totals of a trial.
    pub fn add_trial(&mut self, keys: TrialKeys<'_>, t: &TrialRow) {
        self.events += t.events;
        self.packets += t.packets;
        let totals = [t.viewers as u64, t.origin_fetches, t.hits, t.misses, t.coalesced, t.events, t.packets];
        let row: Vec<Cell<'_>> = keys.cells().into_iter().chain(totals.map(int)).collect();
        self.trials.row(&row);
    }

    /// Adds a session.
    pub fn add_session(&mut self, keys: TrialKeys<'_>, world: &World, s: &SessionRow<'_>) {
        let viewer = world.viewers[keys.run as usize][s.viewer];
        let (arrived, hits) = s.arrived;
        let ratio = |n: usize| if arrived == 0 { Cell::Null } else { Cell::Float(n as f64 / arrived as f64) };
        let mut row = keys.cells().to_vec();
        row.extend([
            int(viewer.client),
            Cell::Str(&world.geos[keys.run as usize][s.viewer]),
            Cell::Str(&world.edges[viewer.edge].name),
            int(s.title as u64),
            Cell::Str(s.resumption),
            int(viewer.arrival.since(study_units::SimTime::ZERO).as_micros()),
            maybe(s.handshake),
            maybe(s.startup),
            int(u64::from(s.stall_count)),
            int(s.stall),
            ms(s.played),
            // A session that never played has no share of stalls; 0 would reward an arm that delivers nothing.
            s.startup.map_or(Cell::Null, |_| Cell::Float(s.stall_ratio)),
            s.mean_bitrate_kbit_s.map_or(Cell::Null, Cell::Float),
            int(u64::from(s.switches)),
            ratio(hits),
            int(s.segments as u64),
            int(s.bytes),
            maybe(s.packets_sent),
            maybe(s.packets_lost),
            maybe(s.retransmitted_bytes),
        ]);
        row.extend(s.rtt.map(maybe));
        row.push(Cell::Bool(s.completed));
        self.sessions.row(&row);
    }

    /// Adds a segment of a session.
    pub fn add_segment(&mut self, keys: TrialKeys<'_>, world: &World, session: &SessionRow<'_>, s: &SegmentRow<'_>) {
        let viewer = world.viewers[keys.run as usize][session.viewer];
        let name = format!("{}/{}/{}", keys.run, viewer.client, keys.arm.name);
        let mut row = keys.cells().to_vec();
        row.extend([
            int(viewer.client),
            Cell::Str(&world.edges[viewer.edge].name),
            Cell::Str(&name),
            int(session.title as u64),
            int(s.segment as u64),
            int(s.rung as u64),
            int(u64::from(world.titles[session.title].rungs_kbit_s()[s.rung])),
            int(s.bytes),
            Cell::Str(s.cache),
            int(s.requested),
            maybe(s.ttfb),
            maybe(s.ttlb),
            maybe(s.hol_wait),
            maybe(s.lost_packets),
            maybe(s.retransmitted_bytes),
            ms(s.buffer.0),
            ms(s.buffer.1),
            int(s.stall),
        ]);
        match &s.parts {
            Some(parts) => row.extend(parts.iter().map(|(_, spent): (_, SimDuration)| int(spent.as_micros()))),
            None => row.extend(Parts::NAMES.iter().map(|_| Cell::Null)),
        }
        self.segments.row(&row);
    }

    /// Adds the last miles of an edge.
    pub fn add_link(&mut self, keys: TrialKeys<'_>, edge: &str, direction: &str, t: &LinkRow) {
        let lost = t.lost_random + t.lost_queue + t.lost_policer + t.lost_outage;
        let per = |n: f64| if n > 0.0 { Cell::Float(lost as f64 / n) } else { Cell::Null };
        let [run, arm, ..] = keys.cells();
        self.links.row(&[
            run,
            arm,
            Cell::Str(edge),
            Cell::Str(direction),
            int(t.packets),
            int(t.lost_random),
            int(t.lost_queue),
            int(t.lost_policer),
            int(t.lost_outage),
            int(t.repaired),
            int(t.bytes),
            t.busy_ms.map_or(Cell::Null, Cell::Float),
            per(t.packets as f64),
            per(t.bytes as f64 / 1e6),
            per(t.lifetime_s),
        ]);
    }

    /// The frames and the counters of the work.
    pub fn finish(self) -> Outputs {
        let mut outputs = Outputs::default();
        for (name, builder) in
            [("segments", self.segments), ("sessions", self.sessions), ("trials", self.trials), ("links", self.links)]
        {
            outputs.frames.insert(name.to_owned(), builder.finish());
        }
        outputs.counters.insert("events".to_owned(), self.events);
        outputs.counters.insert("packets".to_owned(), self.packets);
        outputs
    }
}

use ColumnType::{Bool, Float, Int, Str};

const SEGMENTS: &[(&str, ColumnType, &str, &str)] = &[
    ("run", Int, "", "independent run, from 0"),
    ("arm", Str, "", "arm of the comparison"),
    ("protocol", Str, "", "h2 or h3"),
    ("congestion_control", Str, "", "congestion controller of the last mile"),
    ("client", Int, "", "viewer, from 0 in each run"),
    ("edge", Str, "", "edge that served the viewer"),
    ("session", Str, "", "run/client/arm"),
    ("title", Int, "", "title watched, 0 is the most popular"),
    ("segment", Int, "", "segment of the title, from 0"),
    ("rung", Int, "", "rung of the ladder, 0 is the lowest"),
    ("rung_kbit_s", Int, "kbit/s", "nominal bitrate of the rung"),
    ("size_bytes", Int, "bytes", "size of the segment"),
    ("cache", Str, "", "hit, miss or coalesced at the edge"),
    ("requested_us", Int, "us", "when the player asked, since the start of the run"),
    ("ttfb_us", Int, "us", "from the request to the first byte of the response"),
    ("ttlb_us", Int, "us", "from the request to the last byte: segment delivery time; null when it never came"),
    (
        "hol_wait_us",
        Int,
        "us",
        "how much earlier the last byte would have been readable had no other stream been in the way",
    ),
    ("lost_packets", Int, "", "packets of this segment that were sent again"),
    ("retransmitted_bytes", Int, "bytes", "bytes of this segment that were sent again"),
    ("buffer_before_ms", Int, "ms", "playback buffer when the player asked"),
    ("buffer_after_ms", Int, "ms", "playback buffer right after the segment had come"),
    ("stall_us", Int, "us", "stall that ended with this segment"),
];

const SESSIONS: &[(&str, ColumnType, &str, &str)] = &[
    ("run", Int, "", "independent run, from 0"),
    ("arm", Str, "", "arm of the comparison"),
    ("protocol", Str, "", "h2 or h3"),
    ("congestion_control", Str, "", "congestion controller of the last mile"),
    ("client", Int, "", "viewer, from 0 in each run"),
    ("geo", Str, "", "where the viewer is"),
    ("edge", Str, "", "edge that served the viewer"),
    ("title", Int, "", "title watched, 0 is the most popular"),
    ("resumption", Str, "", "session state: cold, resumed or 0rtt"),
    ("arrival_us", Int, "us", "when the viewer arrived, since the start of the run"),
    ("handshake_us", Int, "us", "from arrival to the end of the handshake; null when it never ended"),
    ("startup_us", Int, "us", "from arrival to playback; null when it never started"),
    ("stall_count", Int, "", "stalls after playback had started"),
    ("stall_us", Int, "us", "length of all stalls"),
    ("played_ms", Int, "ms", "play time"),
    ("stall_ratio", Float, "1", "stall time / (stall time + play time); null when playback never started"),
    ("mean_bitrate_kbit_s", Float, "kbit/s", "nominal bitrate weighted by play time"),
    ("switches", Int, "", "segments at another rung than the one before"),
    ("hit_ratio", Float, "1", "share of segments that the edge had"),
    ("segments", Int, "", "segments that arrived in order"),
    ("bytes", Int, "bytes", "bytes of these segments"),
    ("packets_sent", Int, "", "packets from the edge, repeated ones included"),
    ("packets_lost", Int, "", "packets that the edge declared lost"),
    ("retransmitted_bytes", Int, "bytes", "bytes sent again"),
    ("rtt_mean_us", Int, "us", "mean round-trip time as the edge measured it, queues and jitter included"),
    ("rtt_p50_us", Int, "us", "median of the same, to 3 %"),
    ("rtt_p95_us", Int, "us", "95th percentile of the same, to 3 %"),
    ("completed", Bool, "", "whether every segment arrived before the viewer left"),
];

const TRIALS: &[(&str, ColumnType, &str, &str)] = &[
    ("run", Int, "", "independent run, from 0"),
    ("arm", Str, "", "arm of the comparison"),
    ("protocol", Str, "", "h2 or h3"),
    ("congestion_control", Str, "", "congestion controller of the last mile"),
    ("viewers", Int, "", "sessions of the trial"),
    ("origin_fetches", Int, "", "objects fetched from the origin"),
    ("cache_hits", Int, "", "requests served from a cache"),
    ("cache_misses", Int, "", "requests that caused a fetch"),
    ("coalesced", Int, "", "requests that joined a fetch under way"),
    ("events", Int, "", "steps of the simulation"),
    ("packets", Int, "", "packets sent in either direction, origin path included"),
];

const LINKS: &[(&str, ColumnType, &str, &str)] = &[
    ("run", Int, "", "independent run, from 0"),
    ("arm", Str, "", "arm of the comparison"),
    ("edge", Str, "", "edge whose last miles are summed"),
    ("direction", Str, "", "down: to the viewers; up: from them"),
    ("packets", Int, "", "packets offered"),
    ("lost_random", Int, "", "packets that the loss process took"),
    ("lost_queue", Int, "", "packets that found no room in the queue, or that its delay control dropped"),
    ("lost_policer", Int, "", "packets that the policer dropped"),
    ("lost_outage", Int, "", "packets that were sent into an outage"),
    ("repaired", Int, "", "packets that the loss process took and the link layer repaired; not lost"),
    ("bytes", Int, "bytes", "bytes offered"),
    ("busy_ms", Float, "ms", "time with a packet on the wire"),
    ("loss_per_packet", Float, "1", "realised loss per packet, under any label"),
    ("loss_per_mbyte", Float, "1/MB", "realised losses per megabyte"),
    ("loss_per_s", Float, "1/s", "realised losses per second of session"),
];
