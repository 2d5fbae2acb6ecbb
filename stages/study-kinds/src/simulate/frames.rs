//! The frames that a simulation writes.

use super::inputs::World;
use super::params::Arm;
use study_sim::{CacheOutcome, SegmentResult, SessionResult, TrialResult};
use study_stage::Outputs;
use study_table::{Cell, ColumnType, Field, TableBuilder};
use study_transport::Parts;
use study_units::{SimDuration, SimTime};

/// The arms of one run.
pub type RunOutcome = Vec<TrialResult>;

/// Collects rows trial by trial.
pub struct TrialFrames {
    segments: TableBuilder,
    sessions: TableBuilder,
    trials: TableBuilder,
    links: TableBuilder,
    events: u64,
    packets: u64,
}

const fn us(duration: SimDuration) -> Cell<'static> {
    Cell::Int(duration.as_micros() as i64)
}
const fn ms(duration: SimDuration) -> Cell<'static> {
    Cell::Int((duration.as_nanos() / 1_000_000) as i64)
}
const fn int(value: u64) -> Cell<'static> {
    Cell::Int(value as i64)
}
fn maybe_us(duration: Option<SimDuration>) -> Cell<'static> {
    duration.map_or(Cell::Null, us)
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

    /// Adds one arm of one run.
    pub fn add(&mut self, run: u64, arm: &Arm, world: &World, trial: &TrialResult) {
        let keys =
            [int(run), Cell::Str(&arm.name), Cell::Str(arm.protocol.name()), Cell::Str(arm.congestion_control.name())];
        for session in &trial.sessions {
            self.add_session(&keys, run, world, session);
        }
        let c = &trial.counters;
        self.events += c.events;
        self.packets += c.packets;
        let totals =
            [trial.sessions.len() as u64, c.origin_fetches, c.hits, c.misses, c.coalesced, c.events, c.packets];
        let row: Vec<Cell<'_>> = keys.iter().copied().chain(totals.map(int)).collect();
        self.trials.row(&row);
        self.add_links(&keys, world, trial);
    }

    fn add_session(&mut self, keys: &[Cell<'_>; 4], run: u64, world: &World, session: &SessionResult) {
        let viewer = world.viewers[run as usize][session.viewer];
        let edge = world.edges[viewer.edge].name.as_str();
        let [_, arm, ..] = keys;
        let name = format!("{run}/{}/{arm}", viewer.client);
        for segment in &session.segments {
            self.add_segment(keys, &name, viewer.client, edge, session.title, world, segment);
        }
        let (s, stats) = (&session.summary, &session.stats);
        let arrived = session.segments.len();
        let hits = session.segments.iter().filter(|x| x.outcome == CacheOutcome::Hit).count();
        let ratio = |n: usize| if arrived == 0 { Cell::Null } else { Cell::Float(n as f64 / arrived as f64) };
        let quantile = |q| stats.rtt.quantile_us(q).map_or(Cell::Null, int);
        self.sessions.row(&[
            keys[0],
            keys[1],
            keys[2],
            keys[3],
            int(viewer.client),
            Cell::Str(&world.geos[run as usize][session.viewer]),
            Cell::Str(edge),
            int(session.title as u64),
            Cell::Str(session.state.name()),
            us(viewer.arrival.since(SimTime::ZERO)),
            maybe_us(session.handshake),
            maybe_us(s.startup),
            int(u64::from(s.stall_count)),
            us(s.stall),
            ms(s.played),
            // A session that never played has no share of stalls; 0 would reward an arm that delivers nothing.
            s.startup.map_or(Cell::Null, |_| Cell::Float(s.stall_ratio())),
            s.mean_bitrate_kbit_s.map_or(Cell::Null, Cell::Float),
            int(u64::from(s.switches)),
            ratio(hits),
            int(s.segments as u64),
            int(s.bytes),
            int(stats.packets_sent),
            int(stats.packets_lost),
            int(stats.retransmitted),
            maybe_us(stats.rtt.mean()),
            quantile(0.5),
            quantile(0.95),
            Cell::Bool(s.completed),
        ]);
    }

    #[allow(clippy::too_many_arguments, reason = "the keys of a row")]
    fn add_segment(
        &mut self,
        keys: &[Cell<'_>; 4],
        session: &str,
        client: u64,
        edge: &str,
        title: usize,
        world: &World,
        s: &SegmentResult,
    ) {
        let t = &s.transport;
        let mut row = vec![
            keys[0],
            keys[1],
            keys[2],
            keys[3],
            int(client),
            Cell::Str(edge),
            Cell::Str(session),
            int(title as u64),
            int(s.segment as u64),
            int(s.rung as u64),
            int(u64::from(world.titles[title].rungs_kbit_s()[s.rung])),
            int(s.bytes),
            Cell::Str(s.outcome.name()),
            us(t.requested.since(SimTime::ZERO)),
            us(t.first_byte.since(t.requested)),
            us(t.completed.since(t.requested)),
            us(t.hol_wait),
            int(u64::from(t.lost_packets)),
            int(t.retransmitted),
            ms(s.buffer.0),
            ms(s.buffer.1),
            us(s.stall),
        ];
        row.extend(t.parts.iter().map(|(_, spent)| us(spent)));
        self.segments.row(&row);
    }

    fn add_links(&mut self, keys: &[Cell<'_>; 4], world: &World, trial: &TrialResult) {
        for (edge, links) in world.edges.iter().zip(&trial.links) {
            for (direction, t) in [("down", links.down), ("up", links.up)] {
                let lost = t.lost();
                let per = |n: f64| if n > 0.0 { Cell::Float(lost as f64 / n) } else { Cell::Null };
                self.links.row(&[
                    keys[0],
                    keys[1],
                    Cell::Str(&edge.name),
                    Cell::Str(direction),
                    int(t.packets),
                    int(t.lost_random),
                    int(t.lost_queue),
                    int(t.lost_policer),
                    int(t.lost_outage),
                    int(t.repaired),
                    int(t.bytes),
                    Cell::Float(t.busy.as_millis_f64()),
                    per(t.packets as f64),
                    per(t.bytes as f64 / 1e6),
                    per(t.lifetime.as_secs_f64()),
                ]);
            }
        }
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
    ("ttlb_us", Int, "us", "from the request to the last byte: segment delivery time"),
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
