//! The player: when it asks for which segment, and what the viewer sees.
//!
//! A state machine without clock or network. Its driver asks [`Player::next_request`] what to do now, carries requests out,
//! and reports each completion with [`Player::on_complete`]. The same machine runs in the simulation and in a real client.
//! The driver reports all completions of an instant before it asks what to do in that instant: several segments often
//! complete at once when a gap in a byte stream is filled, and a replay must see them in the same order.
//!
//! Rules, all times in integer nanoseconds:
//!
//! * Segments are asked for in order and played in order. The *buffer* is the play time that is there without gap after the
//!   play head.
//! * Up to `prefetch` requests are in flight; when one completes and there is room, the next leaves. There is room while the
//!   play time asked for and not yet played, with the next segment, is at most `max_buffer` (or when there is none at all).
//! * The rung is chosen when the request leaves, by the buffer less the play time of what is in flight: a segment asked
//!   for behind two others finds a buffer that those have been waited for with. With one request at a time it is the buffer.
//! * Playback starts when the buffer is at least `startup_threshold`. It stalls at the instant the buffer runs dry while
//!   segments remain, and goes on when the next segment is there and the buffer is at least `rebuffer_threshold`. Both
//!   thresholds count as met when nothing more can come: every segment is there, or nothing is in flight and the buffer full.
//! * A segment that arrives at the very instant the buffer runs dry causes no stall.
//! * At the end the buffer is played out: wall time = start-up + played + stalls, exactly.
//!
//! Sources: the player model common to trace-driven studies (Yin et al., SIGCOMM 2015; Spiteri et al., SABRE, MMSys 2018).
//!
//! | reference | here | effect |
//! |---|---|---|
//! | SABRE, Pensieve: one request at a time, whole segments as units of time | several in flight, a decision per segment | prefetch depth is a factor of a study |
//! | SABRE may abandon a download | never | slow segments are waited for |
//! | the Go simulator decides per batch, adds a stall twice to the wall clock, counts a stall of length 0, waits for the whole first batch, never plays the last buffer | as above | its stall and play times are not comparable with these |
//!
//! Random streams: none.

mod playhead;
mod summary;

pub use summary::{SegmentRecord, SessionSummary};

use crate::abr::{Abr, AbrChoice, AbrInput, BbaParams, SAMPLES_KEPT, ThroughputSample};
use crate::catalog::Title;
use playhead::Playhead;
use std::sync::Arc;
use study_units::{SimDuration, SimTime};

study_tree::variants! {
    /// Who decides on rungs and request times.
    pub enum Decisions {
        unit {
            /// The player, from what it experiences.
            ClosedLoop = "closed_loop"
        }
        data {
            /// The closed loop of the named arm: its rungs and request times are the schedule of every arm.
            Replay(String) = "replay",
            /// The player asks when it would, always for this rung (0 is the lowest).
            FixedRung(usize) = "fixed_rung"
        }
    }
}

study_tree::params! {
    /// How a player behaves.
    pub struct PlayerParams {
        /// Chooses rungs in the closed loop.
        abr: AbrChoice = AbrChoice::Bba(BbaParams::DEFAULT);
        /// Most requests in flight.
        prefetch: u32 = 1, in 1..=64;
        /// Buffer at which playback starts.
        startup_threshold: SimDuration = SimDuration::from_secs(2);
        /// Buffer at which playback goes on after a stall; at least the next segment must be there in any case.
        rebuffer_threshold: SimDuration = SimDuration::ZERO;
        /// Most play time asked for and not yet played.
        max_buffer: SimDuration = SimDuration::from_secs(30);
        /// Who decides.
        decisions: Decisions = Decisions::ClosedLoop;
    }
}

/// One request of a schedule to be replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedRequest {
    /// Rung, from 0.
    pub rung: usize,
    /// When it leaves, since the start of the session.
    pub after: SimDuration,
}

/// What the player wants done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Ask for this segment; it counts as in flight from now on.
    Request {
        /// Segment, from 0.
        segment: usize,
        /// Rung, from 0.
        rung: usize,
    },
    /// Nothing before this instant, unless a segment completes.
    WaitUntil(SimTime),
    /// Nothing before a segment completes; something is in flight.
    Blocked,
    /// Every segment has been asked for.
    Done,
}

/// Why a player cannot play.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlayerError {
    /// A rung that the title does not have.
    NoSuchRung {
        /// The rung asked for.
        rung: usize,
        /// How many the title has.
        rungs: usize,
    },
    /// A schedule without requests, or with more than the title has segments.
    Schedule {
        /// Requests of the schedule.
        requests: usize,
        /// Segments of the title.
        segments: usize,
    },
}

impl std::fmt::Display for PlayerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoSuchRung { rung, rungs } => {
                write!(f, "there is no rung `{rung}`: the title has rungs 0 to {}", rungs - 1)
            }
            Self::Schedule { requests, segments } => {
                write!(f, "a schedule of {requests} requests does not fit a title of {segments} segments")
            }
        }
    }
}
impl std::error::Error for PlayerError {}

#[derive(Debug)]
enum Decider {
    Abr(Box<dyn Abr>),
    Fixed(usize),
    Replay(Arc<[PlannedRequest]>),
}

/// Whether the next segment may be asked for, as far as the buffer is concerned.
enum Room {
    Now,
    After(SimDuration),
    WhenSomethingCompletes,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Player {
    title: Arc<Title>,
    /// Segments to play: all of the title, or those of the schedule.
    segments: usize,
    start: SimTime,
    prefetch: usize,
    startup_threshold: SimDuration,
    rebuffer_threshold: SimDuration,
    max_buffer: SimDuration,
    decider: Decider,
    head: Playhead,
    /// One per segment asked for.
    records: Vec<SegmentRecord>,
    in_flight: usize,
    /// Segments that arrived without a gap before them.
    contiguous: usize,
    /// Play time of all segments asked for.
    requested: SimDuration,
    last_completion: SimTime,
    samples: [ThroughputSample; SAMPLES_KEPT],
    sample_count: usize,
}

impl Player {
    /// A player that decides by its algorithm, whatever `params.decisions` says; the viewer arrives at `start`.
    #[must_use]
    pub fn closed_loop(params: &PlayerParams, title: Arc<Title>, start: SimTime) -> Self {
        let segments = title.segments();
        Self::new(params, title, segments, start, Decider::Abr(params.abr.build()))
    }
    /// A player that always asks for one rung.
    ///
    /// # Errors
    /// [`PlayerError::NoSuchRung`].
    pub fn fixed_rung(
        params: &PlayerParams,
        title: Arc<Title>,
        start: SimTime,
        rung: usize,
    ) -> Result<Self, PlayerError> {
        let segments = title.segments();
        check_rung(&title, rung)?;
        Ok(Self::new(params, title, segments, start, Decider::Fixed(rung)))
    }
    /// A player whose rungs and request times are given, such as those of [`Player::schedule`]. Buffer and stalls are its
    /// own; neither the prefetch depth nor a full buffer holds a request back. A schedule shorter than the title plays the
    /// segments that it has. Replaying a session over the network that it was recorded on repeats it exactly.
    ///
    /// # Errors
    /// [`PlayerError`] when the schedule does not fit the title.
    pub fn replay(
        params: &PlayerParams,
        title: Arc<Title>,
        start: SimTime,
        schedule: Arc<[PlannedRequest]>,
    ) -> Result<Self, PlayerError> {
        let segments = schedule.len();
        if segments == 0 || segments > title.segments() {
            return Err(PlayerError::Schedule { requests: segments, segments: title.segments() });
        }
        schedule.iter().try_for_each(|request| check_rung(&title, request.rung))?;
        Ok(Self::new(params, title, segments, start, Decider::Replay(schedule)))
    }

    fn new(params: &PlayerParams, title: Arc<Title>, segments: usize, start: SimTime, decider: Decider) -> Self {
        Self {
            segments,
            start,
            prefetch: params.prefetch as usize,
            startup_threshold: params.startup_threshold,
            rebuffer_threshold: params.rebuffer_threshold,
            max_buffer: params.max_buffer,
            decider,
            head: Playhead::new(start),
            records: Vec::with_capacity(segments),
            in_flight: 0,
            contiguous: 0,
            requested: SimDuration::ZERO,
            last_completion: start,
            samples: [ThroughputSample::default(); SAMPLES_KEPT],
            sample_count: 0,
            title,
        }
    }

    /// What to do at `now`. Ask again after each request, completion and waiting time; times never go back.
    pub fn next_request(&mut self, now: SimTime) -> Next {
        self.advance(now);
        let segment = self.records.len();
        if segment == self.segments {
            return Next::Done;
        }
        let planned = match &self.decider {
            Decider::Replay(schedule) => Some(schedule[segment]),
            Decider::Abr(_) | Decider::Fixed(_) => None,
        };
        if let Some(PlannedRequest { rung, after }) = planned {
            let at = self.start + after;
            return if now < at { Next::WaitUntil(at) } else { self.request(now, rung) };
        }
        if self.in_flight >= self.prefetch {
            return Next::Blocked;
        }
        match self.room_for(segment) {
            Room::Now => {
                let rung = self.choose(segment);
                self.request(now, rung)
            }
            Room::After(wait) => Next::WaitUntil(now + wait),
            Room::WhenSomethingCompletes => Next::Blocked,
        }
    }

    /// A segment of `bytes` has arrived whole. One that was never asked for, or arrived before, is ignored.
    pub fn on_complete(&mut self, now: SimTime, segment: usize, bytes: u64) {
        self.advance(now);
        let Some(record) = self.records.get_mut(segment).filter(|r| r.completed.is_none()) else { return };
        record.completed = Some(now);
        record.bytes = bytes;
        let begun = record.requested.max(self.last_completion);
        self.last_completion = now;
        self.in_flight -= 1;
        self.remember(ThroughputSample { bytes, duration: now.since(begun) });
        while self.records.get(self.contiguous).is_some_and(|r| r.completed.is_some()) {
            self.head.append(self.title.duration(self.contiguous));
            self.contiguous += 1;
        }
        let no_more = self.no_more_can_come();
        let stall = self.head.resume(self.startup_threshold, self.rebuffer_threshold, no_more);
        let record = &mut self.records[segment];
        record.stall = stall;
        record.buffer_after = self.head.buffer();
    }

    /// Moves the play head to `now`. The other methods do so themselves.
    pub fn advance(&mut self, now: SimTime) {
        self.head.advance(now, self.contiguous < self.segments);
    }

    /// Ends the session at `now`: what is buffered is played out, a stall under way ends. Segments in flight never count.
    pub fn finish(&mut self, now: SimTime) -> SessionSummary {
        self.advance(now);
        self.head.play_out();
        SessionSummary::new(self.start, &self.head, &self.records[..self.contiguous], self.segments, &self.title)
    }

    /// Whether every segment has arrived; then only [`Player::finish`] is left.
    #[must_use]
    pub const fn has_everything(&self) -> bool {
        self.contiguous == self.segments
    }
    /// Requests in flight.
    #[must_use]
    pub const fn in_flight(&self) -> usize {
        self.in_flight
    }
    /// Play time that is there without gap after the play head, at the last instant told.
    #[must_use]
    pub const fn buffer(&self) -> SimDuration {
        self.head.buffer()
    }
    /// Segments asked for so far, in order.
    #[must_use]
    pub fn records(&self) -> &[SegmentRecord] {
        &self.records
    }
    /// When the viewer arrived.
    #[must_use]
    pub const fn start(&self) -> SimTime {
        self.start
    }
    /// What is being played.
    #[must_use]
    pub const fn title(&self) -> &Arc<Title> {
        &self.title
    }
    /// The requests made so far, for [`Player::replay`].
    #[must_use]
    pub fn schedule(&self) -> Arc<[PlannedRequest]> {
        let planned = |r: &SegmentRecord| PlannedRequest { rung: r.rung, after: r.requested.since(self.start) };
        self.records.iter().map(planned).collect()
    }

    fn request(&mut self, now: SimTime, rung: usize) -> Next {
        let segment = self.records.len();
        self.records.push(SegmentRecord::requested(now, rung, self.head.buffer()));
        self.requested = self.requested + self.title.duration(segment);
        self.in_flight += 1;
        Next::Request { segment, rung }
    }
    fn choose(&mut self, segment: usize) -> usize {
        let title = &self.title;
        // The buffer that is left for this segment: those asked for before it must come out of it first.
        let buffer = self.head.buffer();
        let asked_for = self.requested - self.head.played() - buffer;
        match &mut self.decider {
            Decider::Abr(abr) => {
                let rung = abr.choose(&AbrInput {
                    segment,
                    buffer: buffer - asked_for,
                    last_rung: self.records.last().map(|r| r.rung),
                    rungs_kbit_s: title.rungs_kbit_s(),
                    next_sizes_bytes: title.sizes(segment),
                    segment_duration: title.duration(segment),
                    samples: &self.samples[..self.sample_count],
                });
                rung.min(title.rungs_kbit_s().len() - 1)
            }
            Decider::Fixed(rung) => *rung,
            Decider::Replay(schedule) => schedule[segment].rung,
        }
    }
    fn room_for(&self, segment: usize) -> Room {
        let committed = self.requested - self.head.played();
        let with_next = committed + self.title.duration(segment);
        if with_next <= self.max_buffer || committed == SimDuration::ZERO {
            return Room::Now;
        }
        let excess = with_next - self.max_buffer;
        if self.head.is_playing() && self.in_flight == 0 {
            // A segment longer than the whole buffer waits until everything before it is played.
            Room::After(excess.min(self.head.buffer()))
        } else if self.head.is_playing() && excess <= self.head.buffer() {
            Room::After(excess)
        } else {
            Room::WhenSomethingCompletes
        }
    }
    fn no_more_can_come(&self) -> bool {
        let segment = self.records.len();
        self.has_everything()
            || (self.in_flight == 0 && segment < self.segments && !matches!(self.room_for(segment), Room::Now))
    }
    fn remember(&mut self, sample: ThroughputSample) {
        if self.sample_count == SAMPLES_KEPT {
            self.samples.rotate_left(1);
            self.sample_count -= 1;
        }
        self.samples[self.sample_count] = sample;
        self.sample_count += 1;
    }
}

fn check_rung(title: &Title, rung: usize) -> Result<(), PlayerError> {
    let rungs = title.rungs_kbit_s().len();
    if rung < rungs { Ok(()) } else { Err(PlayerError::NoSuchRung { rung, rungs }) }
}
