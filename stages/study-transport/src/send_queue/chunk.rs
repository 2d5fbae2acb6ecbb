//! The content of packets, and which of it is still under way.

use crate::account::Totals;
use std::collections::VecDeque;

/// The stream index of the server's handshake messages.
pub const HANDSHAKE: u32 = u32::MAX;

/// A piece of one stream in a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Piece {
    /// Index of the stream; [`HANDSHAKE`] for the server's handshake messages.
    pub stream: u32,
    /// Stream bytes.
    pub bytes: u16,
    /// How many of its bytes, from the first, end a TLS record or stand before one's end; without records 0.
    pub sealed: u16,
    /// Position of its first byte in the stream; 0 for handshake messages.
    pub offset: u64,
}

impl Piece {
    /// It begins the stream.
    #[inline]
    pub const fn is_first(&self) -> bool {
        self.offset == 0
    }
}

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
    /// The connection's account when it was first sent.
    pub first_sent: Totals,
}

impl Chunk {
    #[inline]
    pub(super) fn add(&mut self, piece: Piece) {
        self.size += u32::from(piece.bytes);
        self.pieces[self.used as usize] = piece;
        self.used += 1;
    }
    /// Adds a piece that may continue the last one, which then grows.
    pub(super) fn append(&mut self, piece: Piece) {
        match self.pieces[..self.used as usize].last_mut() {
            Some(last) if last.stream == piece.stream && last.offset + u64::from(last.bytes) == piece.offset => {
                if piece.sealed > 0 {
                    last.sealed = last.bytes + piece.sealed;
                }
                last.bytes += piece.bytes;
                self.size += u32::from(piece.bytes);
            }
            _ => self.add(piece),
        }
    }
    /// Whether it carries messages of the server's handshake, which share a packet with nothing else.
    #[inline]
    pub fn is_handshake(&self) -> bool {
        self.used > 0 && self.pieces[0].stream == HANDSHAKE
    }
    /// The pieces in use.
    #[inline]
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces[..self.used as usize]
    }
}

/// Chunks by number; the oldest are dropped once they are acknowledged.
#[derive(Debug, Default)]
pub struct ChunkStore {
    chunks: VecDeque<Chunk>,
    base: u64,
    bytes: u64,
}

impl ChunkStore {
    /// Adds the chunk that `fill` makes of an empty one, in its place, and returns its number; none when there is nothing.
    #[inline]
    pub fn push_with(&mut self, fill: impl FnOnce(&mut Chunk) -> bool) -> Option<u64> {
        self.chunks.push_back(Chunk::default());
        let chunk = self.chunks.back_mut()?;
        if !fill(chunk) {
            self.chunks.pop_back();
            return None;
        }
        self.bytes += u64::from(chunk.size);
        Some(self.end() - 1)
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
    /// Bytes from the oldest unacknowledged chunk on: TCP's SND.NXT - SND.UNA.
    #[inline]
    pub const fn outstanding(&self) -> u64 {
        self.bytes
    }
    /// Drops acknowledged chunks from the front.
    #[inline]
    pub fn prune(&mut self) {
        while let Some(front) = self.chunks.front().filter(|c| c.acked) {
            self.bytes -= u64::from(front.size);
            self.chunks.pop_front();
            self.base += 1;
        }
    }
}
