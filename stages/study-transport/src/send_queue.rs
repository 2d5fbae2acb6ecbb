//! The server's responses and how they are cut into packets.
//!
//! A *chunk* is the content of one packet: pieces of one or two responses. It is cut once, when it is first sent, and
//! carried again as it is when it is lost. Under `round_robin` each response has its turn for one frame (`frame` bytes),
//! under `sequential` the oldest response that has data goes first.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | QUIC may cut lost data anew (RFC 9000 section 13.3) | the lost packet's content is sent again whole | none in bytes; a frame boundary may lie elsewhere |
//! | a packet may carry pieces of many streams | at most two | only where responses are much smaller than a packet |

use crate::config::{ConnectionConfig, Scheduler};
use std::collections::VecDeque;
use study_units::SimTime;

/// When the bytes of a response can be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// All of it at once (a cache hit).
    Full,
    /// As it arrives from elsewhere: (time, bytes that are there from then on), both rising.
    Curve(Vec<(SimTime, u64)>),
}

/// A piece of one stream in a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Piece {
    /// Index of the stream; [`HANDSHAKE`] for the server's handshake messages.
    pub stream: u32,
    /// Stream bytes.
    pub bytes: u32,
    /// It begins the stream.
    pub first: bool,
}

/// The stream index of the server's handshake messages.
pub const HANDSHAKE: u32 = u32::MAX;

/// The content of one packet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Chunk {
    pub pieces: [Piece; 2],
    pub used: u8,
    /// Arrived at the client, by whichever packet.
    pub received: bool,
    /// Acknowledged by whichever packet.
    pub acked: bool,
    /// Payload bytes with frame overhead.
    pub size: u32,
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
}

/// Responses that have data to send, in scheduling order.
#[derive(Debug)]
pub struct SendQueue {
    sources: Vec<Option<Source>>,
    active: VecDeque<u32>,
    waiting: Vec<u32>,
    handshake_left: u64,
    handshake_started: bool,
    payload: u64,
    frame: u64,
    overhead: u64,
    scheduler: Scheduler,
    /// When the next bytes of a waiting response become available.
    pub wake: SimTime,
}

impl SendQueue {
    pub fn new(config: &ConnectionConfig) -> Self {
        Self {
            sources: Vec::new(),
            active: VecDeque::new(),
            waiting: Vec::new(),
            handshake_left: 0,
            handshake_started: false,
            payload: u64::from(config.wire.payload),
            frame: config.params.frame.get(),
            overhead: u64::from(config.wire.frame_overhead),
            scheduler: config.scheduler,
            wake: SimTime::NEVER,
        }
    }

    /// Queues the server's handshake messages; they go before everything else.
    pub fn push_handshake(&mut self, bytes: u64) {
        self.handshake_left = bytes;
        self.handshake_started = true;
    }

    /// Queues a response and returns its length on the stream, frame overhead included.
    pub fn push(&mut self, now: SimTime, stream: u32, body: u64, headers: u64, availability: Availability) -> u64 {
        let content = body + headers;
        let total = content + self.overhead * content.div_ceil(self.frame).max(1);
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
        self.sources[index] =
            Some(Source { total, sent: 0, frame_left: self.frame + self.overhead, curve, cursor: 0, ready });
        self.waiting.push(stream);
        self.refresh(now);
        total
    }

    /// Moves responses whose data has arrived from waiting to active. Called when [`SendQueue::wake`] is due.
    pub fn refresh(&mut self, now: SimTime) {
        let mut wake = SimTime::NEVER;
        let mut i = 0;
        while i < self.waiting.len() {
            let stream = self.waiting[i];
            let Some(source) = self.sources[stream as usize].as_mut() else {
                self.waiting.swap_remove(i);
                continue;
            };
            source.refresh(now);
            if source.ready > source.sent {
                self.waiting.remove(i);
                match self.scheduler {
                    Scheduler::RoundRobin => self.active.push_back(stream),
                    Scheduler::Sequential => {
                        let position = self.active.partition_point(|other| *other < stream);
                        self.active.insert(position, stream);
                    }
                }
            } else {
                wake = wake.min(source.next_change());
                i += 1;
            }
        }
        self.wake = wake;
    }

    /// Whether a chunk could be cut now.
    #[inline]
    pub fn has_data(&self) -> bool {
        self.handshake_started || !self.active.is_empty()
    }

    /// Stream bytes of the next handshake chunk, if one is due.
    pub fn next_handshake(&self) -> Option<u64> {
        self.handshake_started.then(|| self.handshake_left.min(self.payload))
    }

    /// Cuts the next chunk.
    pub fn next_chunk(&mut self, now: SimTime) -> Option<Chunk> {
        let mut chunk = Chunk::default();
        let mut room = self.payload;
        if self.handshake_started {
            let bytes = self.handshake_left.min(room);
            self.handshake_left -= bytes;
            chunk.add(HANDSHAKE, bytes, false);
            self.handshake_started = self.handshake_left > 0;
            // Handshake and application data travel under different keys: no packet of ours carries both.
            return Some(chunk);
        }
        while room > 0 && chunk.used < 2 {
            let Some(&stream) = self.active.front() else { break };
            room -= self.take(now, stream, room, &mut chunk);
        }
        (chunk.used > 0).then_some(chunk)
    }

    /// Takes up to `room` bytes of the response in front; returns how many.
    fn take(&mut self, now: SimTime, stream: u32, room: u64, chunk: &mut Chunk) -> u64 {
        let Some(source) = self.sources[stream as usize].as_mut() else {
            self.active.pop_front();
            return 0;
        };
        let turn = if self.scheduler == Scheduler::RoundRobin { source.frame_left } else { u64::MAX };
        let bytes = room.min(turn).min(source.ready - source.sent);
        chunk.add(stream, bytes, source.sent == 0);
        source.sent += bytes;
        source.frame_left = source.frame_left.saturating_sub(bytes);
        let turn_over = source.frame_left == 0;
        if turn_over {
            source.frame_left = self.frame + self.overhead;
        }
        if source.sent == source.total {
            self.sources[stream as usize] = None;
            self.active.pop_front();
        } else if source.sent == source.ready {
            self.active.pop_front();
            self.waiting.push(stream);
            self.refresh(now);
        } else if turn_over && self.scheduler == Scheduler::RoundRobin {
            self.active.rotate_left(1);
        }
        bytes
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

impl Chunk {
    fn add(&mut self, stream: u32, bytes: u64, first: bool) {
        self.pieces[self.used as usize] = Piece { stream, bytes: bytes as u32, first };
        self.used += 1;
        self.size += bytes as u32;
    }
    /// Whether it carries messages of the server's handshake.
    pub fn is_handshake(&self) -> bool {
        self.pieces().iter().any(|p| p.stream == HANDSHAKE)
    }
    /// The pieces in use.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces[..self.used as usize]
    }
}

/// Chunks by number; the oldest are dropped once they are acknowledged.
#[derive(Debug, Default)]
pub struct ChunkStore {
    chunks: VecDeque<Chunk>,
    base: u64,
}

impl ChunkStore {
    /// Adds a chunk, returns its number.
    pub fn push(&mut self, chunk: Chunk) -> u64 {
        self.chunks.push_back(chunk);
        self.base + self.chunks.len() as u64 - 1
    }
    /// A chunk that is still known.
    #[inline]
    pub fn get(&self, number: u64) -> Option<&Chunk> {
        self.chunks.get(number.checked_sub(self.base)? as usize)
    }
    #[inline]
    pub fn get_mut(&mut self, number: u64) -> Option<&mut Chunk> {
        self.chunks.get_mut(number.checked_sub(self.base)? as usize)
    }
    /// Number of the oldest chunk that is not acknowledged.
    #[inline]
    pub const fn oldest(&self) -> u64 {
        self.base
    }
    /// Number that the next chunk gets.
    #[inline]
    pub fn end(&self) -> u64 {
        self.base + self.chunks.len() as u64
    }
    /// Drops acknowledged chunks from the front.
    #[inline]
    pub fn prune(&mut self) {
        while self.chunks.front().is_some_and(|c| c.acked) {
            self.chunks.pop_front();
            self.base += 1;
        }
    }
}
