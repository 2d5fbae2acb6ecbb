//! The server's responses and how they are cut into packets.
//!
//! A *chunk* is the content of one packet: pieces of one or two responses. It is cut once, when it is first sent, and
//! carried again as it is when it is lost. The [`schedule`] says whose turn it is; a turn is one frame (`frame` bytes).
//!
//! The scheduler decides at the wire, byte by byte, unless bytes are *committed* before: a TLS record is sealed as a
//! whole, and a buffer between HTTP and the wire (`commit` bytes: HTTP's own, or the socket's) holds what was scheduled
//! when there was room. What is committed leaves in that order, whatever becomes more urgent.
//!
//! Flow control of HTTP/2 and QUIC: a response may be `stream_window` bytes ahead of what its reader has taken, all
//! of them together `connection_window`; the client's updates raise both limits.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | QUIC may cut lost data anew (RFC 9000 section 13.3) | the lost packet's content is sent again whole | none in bytes; a frame boundary may lie elsewhere |
//! | a packet may carry pieces of many streams | at most two | only where responses are much smaller than a packet |
//! | HTTP/2 counts the payload of DATA frames against windows (RFC 9113 section 6.9.1) | all bytes of a response | windows 0.2 % smaller |
//! | hyper's 400 kB per stream can still be reordered among streams | `http_send_buffer` is committed | set it to what a stack hands on in order |

mod chunk;
pub mod schedule;

pub use chunk::{Chunk, ChunkStore, HANDSHAKE, Piece};

use crate::config::{ConnectionConfig, Priority, RECORD_OVERHEAD};
use schedule::Schedule;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use study_units::SimTime;

/// When the bytes of a response can be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// All of it at once (a cache hit).
    Full,
    /// As it arrives from elsewhere: (time, bytes that are there from then on), both rising.
    Curve(Vec<(SimTime, u64)>),
}

#[derive(Debug)]
struct Source {
    /// Bytes in total, headers and frame overheads included.
    total: u64,
    sent: u64,
    /// Bytes left in the current frame.
    frame_left: u64,
    curve: Vec<(SimTime, u64)>,
    cursor: usize,
    /// Bytes available now.
    ready: u64,
    /// Flow control: bytes that may be sent.
    limit: u64,
    /// It has data, and waits for its window.
    blocked: bool,
    priority: Priority,
}

/// Bytes of a response that the scheduler has given their place.
#[derive(Debug, Clone, Copy)]
struct Turn {
    stream: u32,
    bytes: u32,
    offset: u64,
}

/// Responses that have data to send, in scheduling order.
#[derive(Debug)]
pub struct SendQueue {
    sources: Vec<Option<Source>>,
    schedule: Schedule,
    /// Responses without data: when the next bytes come, in which order they ran dry, and which they are.
    waiting: BinaryHeap<Reverse<(SimTime, u64, u32)>>,
    ran_dry: u64,
    /// Bytes of a packet without stream data that goes before all responses.
    control: u32,
    handshake_left: u64,
    handshake_started: bool,
    payload: u64,
    frame: u64,
    /// Bytes on the stream of a full frame besides its content.
    overhead: u64,
    /// Bytes on the stream of a full TLS record; 0 without records.
    record: u64,
    /// Scheduled pieces on their way to the wire, and their bytes.
    committed: VecDeque<Turn>,
    committed_bytes: u64,
    /// How many bytes are committed ahead of the wire.
    pub commit: u64,
    stream_window: u64,
    /// Bytes of all streams that may still be scheduled.
    connection_credit: u64,
    connection_limit: u64,
    /// Responses that wait for their stream window.
    blocked_streams: u32,
    /// When the next bytes of a waiting response become available.
    pub wake: SimTime,
}

impl SendQueue {
    pub fn new(config: &ConnectionConfig) -> Self {
        let wire = &config.wire;
        let (frame, record) = (config.params.frame.get(), u64::from(wire.tls_record));
        // One record is part of the frame overhead; shorter records add theirs.
        let more_records = if record == 0 { 0 } else { frame.div_ceil(record) - 1 };
        let connection_window = config.flow.connection_window.unwrap_or(u64::MAX);
        Self {
            sources: Vec::new(),
            schedule: Schedule::new(config.scheduler),
            waiting: BinaryHeap::new(),
            ran_dry: 0,
            control: 0,
            handshake_left: 0,
            handshake_started: false,
            payload: u64::from(wire.payload),
            frame,
            overhead: u64::from(wire.frame_overhead) + more_records * u64::from(RECORD_OVERHEAD),
            record: if record == 0 { 0 } else { record + u64::from(RECORD_OVERHEAD) },
            committed: VecDeque::new(),
            committed_bytes: 0,
            commit: 0,
            stream_window: config.flow.stream_window.unwrap_or(u64::MAX),
            connection_credit: connection_window,
            connection_limit: connection_window,
            blocked_streams: 0,
            wake: SimTime::NEVER,
        }
    }

    /// Queues the server's handshake messages; they go before everything else.
    pub fn push_handshake(&mut self, bytes: u64) {
        self.handshake_left = bytes;
        self.handshake_started = true;
    }

    /// Queues a packet without stream data; it goes before all responses.
    pub const fn push_control(&mut self, bytes: u32) {
        self.control = bytes;
    }

    /// Queues a response and returns its length on the stream, frame overhead included.
    pub fn push(
        &mut self,
        now: SimTime,
        (stream, priority): (u32, Priority),
        body: u64,
        headers: u64,
        availability: Availability,
    ) -> u64 {
        let content = body + headers;
        let total = content + self.overhead_of(content);
        // A response of no bytes at all still has an end that the client must see.
        let total = total.max(1);
        let (curve, ready) = match availability {
            Availability::Full => (Vec::new(), total),
            Availability::Curve(curve) if curve.is_empty() => (curve, total),
            Availability::Curve(curve) => (curve, 0),
        };
        let index = stream as usize;
        if self.sources.len() <= index {
            self.sources.resize_with(index + 1, || None);
        }
        self.sources[index] = Some(Source {
            total,
            sent: 0,
            frame_left: self.frame + self.overhead,
            curve,
            cursor: 0,
            ready,
            limit: self.stream_window,
            blocked: false,
            priority,
        });
        self.settle(now, stream, None);
        self.refresh(now);
        self.fill(now);
        total
    }

    /// Frame headers and record overheads of a response.
    fn overhead_of(&self, content: u64) -> u64 {
        let frames = content.div_ceil(self.frame).max(1);
        if self.record == 0 {
            return self.overhead * frames;
        }
        // The last frame has fewer records than a full one.
        let record = self.record - u64::from(RECORD_OVERHEAD);
        let last = content - (frames - 1) * self.frame;
        let missing = self.frame.div_ceil(record) - last.div_ceil(record).max(1);
        self.overhead * frames - missing * u64::from(RECORD_OVERHEAD)
    }

    /// Puts a response where it belongs: to those with data, or to those that wait (`dry`: since when, in order).
    fn settle(&mut self, now: SimTime, stream: u32, dry: Option<u64>) {
        let Some(source) = self.sources[stream as usize].as_mut() else { return };
        source.refresh(now);
        if source.ready > source.sent {
            self.schedule.insert(stream, source.priority);
        } else if source.next_change() != SimTime::NEVER {
            let order = dry.unwrap_or_else(|| {
                self.ran_dry += 1;
                self.ran_dry
            });
            self.waiting.push(Reverse((source.next_change(), order, stream)));
            self.wake = self.wake.min(source.next_change());
        }
    }

    /// Moves responses whose data has arrived from waiting to active. Called when [`SendQueue::wake`] is due.
    pub fn refresh(&mut self, now: SimTime) {
        while let Some(Reverse((_, order, stream))) = self.waiting.peek().copied().filter(|w| w.0.0 <= now) {
            self.waiting.pop();
            self.settle(now, stream, Some(order));
        }
        self.wake = self.waiting.peek().map_or(SimTime::NEVER, |w| w.0.0);
        self.fill(now);
    }

    /// Whether a chunk could be cut now.
    #[inline]
    pub fn has_data(&self) -> bool {
        self.handshake_started
            || self.control > 0
            || self.committed_bytes > 0
            || (!self.schedule.is_empty() && self.connection_credit > 0)
    }

    /// Whether there is data that only flow control holds back.
    pub fn is_flow_blocked(&self) -> bool {
        !self.has_data() && (self.blocked_streams > 0 || !self.schedule.is_empty())
    }

    /// Stream bytes of the next handshake chunk, if one is due.
    pub fn next_handshake(&self) -> Option<u64> {
        self.handshake_started.then(|| self.handshake_left.min(self.payload))
    }

    /// The client allows more: a stream up to `stream_limit` bytes, all streams up to `connection_limit`.
    pub fn on_credit(&mut self, now: SimTime, stream: u32, stream_limit: u64, connection_limit: u64) {
        if connection_limit > self.connection_limit {
            self.connection_credit += connection_limit - self.connection_limit;
            self.connection_limit = connection_limit;
        }
        if let Some(source) = self.sources.get_mut(stream as usize).and_then(Option::as_mut) {
            source.limit = source.limit.max(stream_limit);
            if source.blocked && source.limit > source.sent {
                source.blocked = false;
                self.blocked_streams -= 1;
                self.schedule.insert(stream, source.priority);
            }
        }
        self.fill(now);
    }

    /// Fills an empty chunk with what is next, at most `room` bytes; whether there was anything.
    pub fn cut(&mut self, now: SimTime, room: u64, chunk: &mut Chunk) -> bool {
        let mut room = self.payload.min(room);
        if self.handshake_started {
            let bytes = self.handshake_left.min(room);
            self.handshake_left -= bytes;
            chunk.add(Piece { stream: HANDSHAKE, bytes: bytes as u16, ..Piece::default() });
            self.handshake_started = self.handshake_left > 0;
            // Handshake and application data travel under different keys: no packet of ours carries both.
            return true;
        }
        if self.control > 0 {
            chunk.size = std::mem::take(&mut self.control);
            return true;
        }
        if self.is_direct() {
            while room > 0 && chunk.used < 2 {
                let Some(Turn { stream, bytes, offset }) = self.take(now, room) else { break };
                room -= u64::from(bytes);
                chunk.add(Piece { stream, bytes: bytes as u16, sealed: 0, offset });
            }
        } else {
            self.cut_committed(now, room, chunk);
        }
        chunk.used > 0
    }

    /// Whether the scheduler decides at the wire.
    #[inline]
    fn is_direct(&self) -> bool {
        self.record == 0 && self.commit == 0 && self.committed_bytes == 0
    }

    /// Cuts a chunk from what is committed, and commits what takes its place.
    fn cut_committed(&mut self, now: SimTime, mut room: u64, chunk: &mut Chunk) {
        while room > 0 {
            if self.committed_bytes == 0 && !self.commit_turn(now) {
                break;
            }
            let Some(front) = self.committed.front_mut() else { break };
            let is_new = chunk.pieces().last().is_none_or(|last| last.stream != front.stream);
            if chunk.used == 2 && is_new {
                break;
            }
            let bytes = room.min(u64::from(front.bytes)) as u32;
            let whole = bytes == front.bytes;
            let sealed = if whole && self.record > 0 { bytes } else { 0 };
            chunk.append(Piece {
                stream: front.stream,
                bytes: bytes as u16,
                sealed: sealed as u16,
                offset: front.offset,
            });
            if whole {
                self.committed.pop_front();
            } else {
                front.bytes -= bytes;
                front.offset += u64::from(bytes);
            }
            self.committed_bytes -= u64::from(bytes);
            room -= u64::from(bytes);
            self.fill(now);
        }
    }

    /// Commits as much as there is room for.
    pub fn fill(&mut self, now: SimTime) {
        while self.committed_bytes < self.commit && self.commit_turn(now) {}
    }

    /// Commits one turn: a record, or what the buffer holds of a frame.
    fn commit_turn(&mut self, now: SimTime) -> bool {
        let free = self.commit.saturating_sub(self.committed_bytes);
        let room = if self.record > 0 { self.record } else { free.max(self.payload) };
        let Some(turn) = self.take(now, room.min(u64::from(u32::MAX))) else { return false };
        self.committed_bytes += u64::from(turn.bytes);
        self.committed.push_back(turn);
        true
    }

    /// Takes up to `room` bytes of the response whose turn it is.
    #[inline(always)]
    fn take(&mut self, now: SimTime, room: u64) -> Option<Turn> {
        loop {
            let stream = self.schedule.front()?;
            let Some(source) = self.sources[stream as usize].as_mut() else {
                self.schedule.pop();
                continue;
            };
            let takes_turns = self.schedule.takes_turns();
            // A record ends with its frame, whoever's turn is next.
            let frame_left = if takes_turns || self.record > 0 { source.frame_left } else { u64::MAX };
            let window = source.limit - source.sent;
            let bytes = room.min(frame_left).min(source.ready - source.sent).min(window).min(self.connection_credit);
            if bytes == 0 {
                if window > 0 {
                    return None;
                }
                source.blocked = true;
                self.blocked_streams += 1;
                self.schedule.pop();
                continue;
            }
            let grant = Turn { stream, bytes: bytes as u32, offset: source.sent };
            source.sent += bytes;
            if self.connection_credit != u64::MAX {
                self.connection_credit -= bytes;
            }
            source.frame_left = source.frame_left.saturating_sub(bytes);
            let turn_over = source.frame_left == 0;
            if turn_over {
                source.frame_left = self.frame + self.overhead;
            }
            if source.sent == source.total {
                self.sources[stream as usize] = None;
                self.schedule.pop();
            } else if source.sent == source.ready {
                self.schedule.pop();
                self.settle(now, stream, None);
            } else if turn_over && takes_turns {
                self.schedule.rotate();
            }
            return Some(grant);
        }
    }
}

impl Source {
    fn refresh(&mut self, now: SimTime) {
        while let Some((at, bytes)) = self.curve.get(self.cursor) {
            if *at > now {
                return;
            }
            self.cursor += 1;
            // The last point stands for the whole response, headers and overheads included.
            self.ready = if self.cursor == self.curve.len() { self.total } else { (*bytes).min(self.total) };
        }
    }
    fn next_change(&self) -> SimTime {
        self.curve.get(self.cursor).map_or(SimTime::NEVER, |(at, _)| *at)
    }
}
