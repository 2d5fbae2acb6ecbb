//! The client's receiving side: acknowledgements and delivery to the application.
//!
//! An acknowledgement says "everything up to entry n of my log of received packets". That is what an ACK frame with
//! unlimited ranges says (RFC 9000 section 19.3), and what SACK with timestamps lets a sender infer.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | TCP: three SACK blocks per acknowledgement (RFC 2018 with timestamps) | all | only when many acknowledgements are lost |
//! | TCP sender infers which transmission arrived from timestamps and DSACK | knows it exactly | fewer spurious retransmissions in a row |

use crate::config::{AckPolicy, fires};
use crate::flow::Credit;
use crate::send_queue::{ChunkStore, HANDSHAKE, Piece};
use std::collections::VecDeque;
use study_units::{SimDuration, SimTime};

/// Delivery state of one stream.
#[derive(Debug, Clone, Copy)]
pub struct Inbound {
    pub total: u64,
    pub arrived: u64,
    pub delivered: u64,
    /// When all bytes had arrived, whatever blocked them.
    pub arrived_all: SimTime,
    pub first_byte: SimTime,
    pub completed: SimTime,
}

impl Inbound {
    pub const fn new() -> Self {
        Self {
            total: u64::MAX,
            arrived: 0,
            delivered: 0,
            arrived_all: SimTime::NEVER,
            first_byte: SimTime::NEVER,
            completed: SimTime::NEVER,
        }
    }
}

/// What an arrival made readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivered {
    /// The server's handshake is complete.
    Handshake,
    /// The last byte of a stream.
    Completed(u32),
}

/// Receiving side of the client.
#[derive(Debug)]
pub struct Receiver {
    policy: AckPolicy,
    per_stream: bool,
    /// Received packets in order of arrival, as (number, chunk); the front is `log_base`.
    log: VecDeque<(u64, u64)>,
    log_base: u64,
    largest: Option<u64>,
    unacked: u32,
    /// When an acknowledgement is due, and when the packet with the largest number came.
    pub ack_at: SimTime,
    largest_at: SimTime,
    /// First chunk that has not been delivered in order (TCP).
    next_chunk: u64,
    /// Highest chunk that has arrived, plus one.
    highest_chunk: u64,
    pub handshake: Inbound,
    pub streams: Vec<Inbound>,
    /// Bytes delivered of stream 0 over time, when asked for.
    pub curve: Option<Vec<(SimTime, u64)>>,
    /// Bytes of chunks that have arrived without a gap.
    pub in_order: u64,
    /// Flow control, where something is limited.
    pub credit: Option<Credit>,
    /// One byte stream (TCP): bytes can be read when their TLS record is complete.
    pub records: bool,
    /// What has arrived in order of a record that is not complete.
    open_record: Option<(Piece, u32)>,
}

impl Receiver {
    pub fn new(policy: AckPolicy, per_stream: bool) -> Self {
        Self {
            policy,
            per_stream,
            log: VecDeque::new(),
            log_base: 0,
            largest: None,
            unacked: 0,
            ack_at: SimTime::NEVER,
            largest_at: SimTime::NEVER,
            next_chunk: 0,
            highest_chunk: 0,
            handshake: Inbound::new(),
            streams: Vec::new(),
            curve: None,
            in_order: 0,
            credit: None,
            records: false,
            open_record: None,
        }
    }

    /// End of the log: what an acknowledgement sent now covers.
    pub fn log_end(&self) -> u64 {
        self.log_base + self.log.len() as u64
    }

    /// Next entry of the log below `upto`, taken out.
    #[inline]
    pub fn take_log(&mut self, upto: u64) -> Option<(u64, u64)> {
        if self.log_base >= upto {
            return None;
        }
        self.log_base += 1;
        self.log.pop_front()
    }

    /// Numbers of the entries of the log below `upto`, left in it.
    pub fn logged(&self, upto: u64) -> impl Iterator<Item = u64> + '_ {
        let count = upto.saturating_sub(self.log_base) as usize;
        self.log.iter().take(count).map(|(number, _)| *number)
    }

    /// A packet arrived. Completed streams are pushed to `done`; returns whether an acknowledgement must leave now.
    pub fn on_packet(
        &mut self,
        now: SimTime,
        number: u64,
        chunk: u64,
        chunks: &mut ChunkStore,
        done: &mut Vec<Delivered>,
    ) -> bool {
        self.log.push_back((number, chunk));
        let in_order = self.largest.is_none_or(|l| number == l + 1);
        if self.largest.is_none_or(|l| number > l) {
            (self.largest, self.largest_at) = (Some(number), now);
        }
        let was_hole = self.next_chunk < self.highest_chunk;
        let mut handshake = false;
        if let Some(content) = chunks.get_mut(chunk).filter(|c| !c.received) {
            content.received = true;
            // The pieces alone: the whole content is large.
            let (pieces, used) = (content.pieces, content.used as usize);
            self.highest_chunk = self.highest_chunk.max(chunk + 1);
            for piece in &pieces[..used] {
                handshake |= piece.stream == HANDSHAKE;
                self.arrive(now, *piece);
                if self.per_stream {
                    self.deliver(now, *piece, u32::from(piece.bytes), done);
                }
            }
        }
        self.close_gaps(now, chunks, done);
        // RFC 5681 section 4.2: at once while something is missing, and for what fills the gap.
        let hole = self.policy.immediate_while_hole && (was_hole || self.next_chunk < self.highest_chunk);
        self.schedule_ack(now, in_order && !hole && !handshake)
    }

    /// Moves past everything that has arrived without a gap; one byte stream (TCP) is delivered on the way.
    fn close_gaps(&mut self, now: SimTime, chunks: &ChunkStore, done: &mut Vec<Delivered>) {
        // A chunk that the store no longer knows was acknowledged, so it was delivered.
        self.next_chunk = self.next_chunk.max(chunks.oldest());
        while let Some(content) = chunks.get(self.next_chunk).filter(|c| c.received) {
            self.in_order += u64::from(content.size);
            for piece in content.pieces() {
                if self.per_stream {
                    self.extend_curve(now, piece.stream, u32::from(piece.bytes));
                } else if let Some((first, bytes)) = self.unseal(*piece) {
                    self.extend_curve(now, first.stream, bytes);
                    self.deliver(now, first, bytes, done);
                }
            }
            self.next_chunk += 1;
        }
    }

    fn arrive(&mut self, now: SimTime, piece: Piece) {
        let stream = self.stream(piece.stream);
        stream.arrived += u64::from(piece.bytes);
        if stream.arrived == stream.total {
            stream.arrived_all = now;
        }
    }

    /// What a piece in order makes readable: itself, or the records that end in it, as (its first byte, bytes).
    #[inline]
    fn unseal(&mut self, piece: Piece) -> Option<(Piece, u32)> {
        if !self.records || piece.stream == HANDSHAKE {
            return Some((piece, u32::from(piece.bytes)));
        }
        let (first, before) = self.open_record.take().unwrap_or((piece, 0));
        let (sealed, bytes) = (u32::from(piece.sealed), u32::from(piece.bytes));
        if sealed == 0 {
            self.open_record = Some((first, before + bytes));
            return None;
        }
        if bytes > sealed {
            let rest = Piece { offset: piece.offset + u64::from(sealed), ..piece };
            self.open_record = Some((rest, bytes - sealed));
        }
        Some((first, before + sealed))
    }

    #[inline]
    fn deliver(&mut self, now: SimTime, piece: Piece, bytes: u32, done: &mut Vec<Delivered>) {
        if self.credit.is_some() && piece.stream != HANDSHAKE {
            self.give_credit(piece, bytes);
        }
        let stream = self.stream(piece.stream);
        stream.delivered += u64::from(bytes);
        if piece.is_first() {
            stream.first_byte = now;
        }
        if stream.delivered == stream.total && stream.completed == SimTime::NEVER {
            stream.completed = now;
            done.push(if piece.stream == HANDSHAKE {
                Delivered::Handshake
            } else {
                Delivered::Completed(piece.stream)
            });
        }
    }

    /// Bytes without a gap before them, over time: of one response at a time, so chunk order is stream order.
    #[inline]
    fn extend_curve(&mut self, now: SimTime, stream: u32, bytes: u32) {
        let Some(curve) = &mut self.curve else { return };
        let new = if stream == HANDSHAKE { 0 } else { u64::from(bytes) };
        match curve.last_mut() {
            Some((at, bytes)) if *at == now => *bytes += new,
            last => {
                let before = last.map_or(0, |(_, bytes)| *bytes);
                curve.push((now, before + new));
            }
        }
    }

    #[cold]
    fn give_credit(&mut self, piece: Piece, bytes: u32) {
        if let Some(credit) = &mut self.credit {
            credit.on_bytes(piece.stream, piece.offset, u64::from(bytes));
        }
    }

    fn stream(&mut self, stream: u32) -> &mut Inbound {
        if stream == HANDSHAKE { &mut self.handshake } else { &mut self.streams[stream as usize] }
    }

    fn schedule_ack(&mut self, now: SimTime, may_wait: bool) -> bool {
        self.unacked += 1;
        let quick = self.log_base + self.log.len() as u64 <= u64::from(self.policy.quick);
        if self.unacked >= self.policy.every || !may_wait || quick {
            return true;
        }
        self.ack_at = self.ack_at.min(fires(now + self.policy.max_delay, self.policy.timer_step));
        false
    }

    /// An acknowledgement leaves: end of the log, and how long the largest packet in it has been held (RFC 9000 section 13.2.5).
    pub fn ack_sent(&mut self, now: SimTime) -> (u64, SimDuration) {
        let held = if self.unacked == 0 { SimDuration::ZERO } else { now.since(self.largest_at) };
        self.unacked = 0;
        self.ack_at = SimTime::NEVER;
        (self.log_end(), held)
    }
}
