//! What a connection's own bytes say about its settings: the beginning of HTTP/2 in both directions, and the sizes of TLS
//! records.
//!
//! HTTP/2's windows stand in the SETTINGS frame and the first WINDOW_UPDATE (RFC 9113 sections 6.5 and 6.9); neither hyper
//! nor h2 tells them. A record's length stands in its header, unencrypted (RFC 8446 section 5.2).

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that are kept of each direction: both beginnings are far shorter.
const KEPT: usize = 512;
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Where a window stands when nothing is said (RFC 9113 section 6.9.2).
const DEFAULT_WINDOW: u64 = 65_535;
/// Bytes that TLS 1.3 adds to the plaintext inside a record: the content type and the authentication tag.
pub(crate) const RECORD_EXTRA: u64 = 17;

/// What an end said about itself at the beginning of HTTP/2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Http2Settings {
    pub(crate) stream_window: u64,
    pub(crate) connection_window: u64,
    pub(crate) max_frame: u64,
    pub(crate) max_streams: Option<u64>,
}

impl Http2Settings {
    /// Reads the beginning of a direction; `None` until the SETTINGS frame is whole.
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(PREFACE).unwrap_or(bytes);
        let mut said = None;
        while let Some((frame, after)) = frame(rest) {
            match (frame.kind, said.as_mut()) {
                (4, None) if frame.flags & 1 == 0 => said = Some(Self::of(frame.body)),
                // An acknowledgement of the other end's settings.
                (4, _) => {}
                (8, Some(said)) if frame.stream == 0 => said.connection_window += number(frame.body) & 0x7fff_ffff,
                _ => break,
            }
            rest = after;
        }
        said
    }

    fn of(settings: &[u8]) -> Self {
        let mut said = Self {
            stream_window: DEFAULT_WINDOW,
            connection_window: DEFAULT_WINDOW,
            max_frame: 16_384,
            max_streams: None,
        };
        for entry in settings.chunks_exact(6) {
            let (id, value) = entry.split_at(2);
            match number(id) {
                3 => said.max_streams = Some(number(value)),
                4 => said.stream_window = number(value),
                5 => said.max_frame = number(value),
                _ => {}
            }
        }
        said
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte))
}

/// A frame of HTTP/2 (RFC 9113 section 4.1).
struct Frame<'b> {
    kind: u8,
    flags: u8,
    stream: u64,
    body: &'b [u8],
}

/// The first frame, and what comes after it; `None` when it is not whole.
fn frame(bytes: &[u8]) -> Option<(Frame<'_>, &[u8])> {
    let (header, rest) = bytes.split_at_checked(9)?;
    let (body, after) = rest.split_at_checked(usize::try_from(number(&header[..3])).ok()?)?;
    Some((Frame { kind: header[3], flags: header[4], stream: number(&header[5..]), body }, after))
}

/// The first bytes of both directions of a connection, above TLS.
#[derive(Debug, Default)]
pub(crate) struct Tap {
    sent: Mutex<Vec<u8>>,
    received: Mutex<Vec<u8>>,
}

impl Tap {
    fn keep(slot: &Mutex<Vec<u8>>, bytes: &[u8]) {
        let mut kept = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let room = KEPT.saturating_sub(kept.len());
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
    pub(crate) fn keep_sent(&self, bytes: &[u8]) {
        Self::keep(&self.sent, bytes);
    }
    pub(crate) fn keep_received(&self, bytes: &[u8]) {
        Self::keep(&self.received, bytes);
    }
    /// What this end said.
    pub(crate) fn own(&self) -> Option<Http2Settings> {
        Http2Settings::read(&self.sent.lock().unwrap_or_else(PoisonError::into_inner))
    }
    /// What the other end said.
    pub(crate) fn peer(&self) -> Option<Http2Settings> {
        Http2Settings::read(&self.received.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// TLS records with application data that came.
#[derive(Debug, Default)]
pub(crate) struct Records {
    count: AtomicU64,
    largest: AtomicU64,
}

impl Records {
    /// How many.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
    /// Plaintext bytes of the largest; `None` before the first. Encrypted handshake messages travel in such records too.
    pub(crate) fn largest(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.largest.load(Ordering::Relaxed).saturating_sub(RECORD_EXTRA))
    }
}

/// Finds record headers in a stream of bytes.
#[derive(Debug, Default)]
struct Parser {
    header: [u8; 5],
    have: usize,
    skip: usize,
}

impl Parser {
    fn feed(&mut self, mut bytes: &[u8], records: &Records) {
        while !bytes.is_empty() {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = &bytes[skipped..];
            let taken = (5 - self.have).min(bytes.len());
            if self.skip > 0 || taken == 0 {
                return;
            }
            self.header[self.have..self.have + taken].copy_from_slice(&bytes[..taken]);
            self.have += taken;
            bytes = &bytes[taken..];
            if self.have == 5 {
                self.have = 0;
                self.skip = usize::from(u16::from_be_bytes([self.header[3], self.header[4]]));
                if self.header[0] == 23 {
                    records.count.fetch_add(1, Ordering::Relaxed);
                    records.largest.fetch_max(self.skip as u64, Ordering::Relaxed);
                }
            }
        }
    }
}

/// A byte stream below TLS whose received records are counted.
#[derive(Debug)]
pub(crate) struct RecordTap<S> {
    inner: S,
    parser: Parser,
    records: std::sync::Arc<Records>,
}

impl<S> RecordTap<S> {
    pub(crate) fn new(inner: S, records: std::sync::Arc<Records>) -> Self {
        Self { inner, parser: Parser::default(), records }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for RecordTap<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(cx, buf))?;
        this.parser.feed(&buf.filled()[before..], &this.records);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for RecordTap<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().inner).poll_write(cx, buf)
    }
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(cx)
    }
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
    }
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().inner).poll_write_vectored(cx, bufs)
    }
    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame_of(kind: u8, flags: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags, 0, 0, 0, 0], body].concat()
    }

    #[test]
    fn windows_are_read_from_settings_and_the_updates_before_the_first_request() {
        let settings = frame_of(4, 0, &[0, 4, 0, 2, 0, 0, 0, 3, 0, 0, 0, 100]);
        let update = frame_of(8, 0, &[0, 1, 0, 0]);
        let begun = [PREFACE, &settings, &update].concat();
        let said = Http2Settings::read(&begun).unwrap();
        assert_eq!((said.stream_window, said.connection_window), (131_072, 65_535 + 65_536));
        assert_eq!((said.max_streams, said.max_frame), (Some(100), 16_384));
        let later = [begun.clone(), frame_of(4, 1, &[]), frame_of(1, 5, b"x"), update].concat();
        assert_eq!(
            Http2Settings::read(&later),
            Some(said),
            "an update after the first request is credit, not the window"
        );
        assert_eq!(Http2Settings::read(&begun[..30]), None, "not whole yet");
    }

    #[test]
    fn record_headers_are_found_wherever_reads_cut_them() {
        let stream = [&[22, 3, 3, 0, 2, 9, 9][..], &[23, 3, 3, 0, 20], &[7; 20], &[23, 3, 3, 0, 30], &[7; 30]].concat();
        for cut in 1..stream.len() {
            let (records, mut parser) = (Records::default(), Parser::default());
            stream.chunks(cut).for_each(|piece| parser.feed(piece, &records));
            assert_eq!((records.count(), records.largest()), (2, Some(13)), "{cut}");
        }
    }
}
