//! Early data on both ends of a TLS connection over TCP.
//!
//! tokio-rustls's acceptor waits for the client's last handshake message before it gives the connection out, and its
//! stream never reads early data: a request that came with the first flight would be answered one round trip late, or lost.
//! [`EarlyServer`] reads early data as it comes and answers at once. On the client, tokio-rustls's stream holds back every
//! flush until the handshake is over; [`ClientIo`] lets hyper go on writing into the first flight.

use super::tap::{RecordTap, Tap};
use crate::tls::{HandshakeKind, HandshakeReport};
use rustls::ServerConnection;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// A report that is filled in while the connection runs.
pub(crate) type Shared = Arc<Mutex<HandshakeReport>>;

pub(crate) fn kind(kind: Option<rustls::HandshakeKind>) -> Option<HandshakeKind> {
    kind.map(|kind| match kind {
        rustls::HandshakeKind::Full => HandshakeKind::Full,
        rustls::HandshakeKind::FullWithHelloRetryRequest => HandshakeKind::Retried,
        rustls::HandshakeKind::Resumed => HandshakeKind::Resumed,
    })
}

fn put(shared: &Shared, report: HandshakeReport) {
    *shared.lock().unwrap_or_else(PoisonError::into_inner) = report;
}

/// What hyper's client reads from and writes to.
pub(crate) struct ClientIo {
    inner: TlsStream<RecordTap<TcpStream>>,
    tap: Arc<Tap>,
    report: Shared,
    /// Early data was offered.
    offered: bool,
    /// The handshake is under way while data are written.
    early: bool,
    reported: bool,
}

impl ClientIo {
    pub(crate) fn new(inner: TlsStream<RecordTap<TcpStream>>, tap: Arc<Tap>, report: Shared) -> Self {
        let early = inner.get_ref().1.is_handshaking();
        let mut io = Self { inner, tap, report, offered: early, early, reported: false };
        io.note();
        io
    }

    /// Notes how the handshake went, once it is over.
    fn note(&mut self) {
        let session = self.inner.get_ref().1;
        if self.reported || session.is_handshaking() {
            return;
        }
        self.reported = true;
        let kind = kind(session.handshake_kind());
        let carried = kind != Some(HandshakeKind::Resumed);
        let chain = session.peer_certificates().filter(|_| carried);
        let report = HandshakeReport {
            kind,
            early_data: self.offered.then(|| session.is_early_data_accepted()),
            chain_bytes: chain.map(|chain| chain.iter().map(|certificate| certificate.len() as u64).sum()),
        };
        put(&self.report, report);
    }

    /// Drives the handshake; ready when it is over and all that was written has left.
    fn poll_early(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.inner).poll_flush(cx))?;
        self.early = false;
        self.note();
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for ClientIo {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.early {
            ready!(this.poll_early(cx))?;
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(cx, buf))?;
        this.tap.keep_received(&buf.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ClientIo {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.inner).poll_write(cx, buf))?;
        this.tap.keep_sent(&buf[..written]);
        Poll::Ready(Ok(written))
    }
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.early {
            // What was written leaves as far as it can; more may follow before the handshake is over.
            return match this.poll_early(cx) {
                Poll::Pending => Poll::Ready(Ok(())),
                done => done,
            };
        }
        Pin::new(&mut this.inner).poll_flush(cx)
    }
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
    }
}

/// A server's TLS connection that reads early data and answers before the handshake is over.
pub(crate) struct EarlyServer {
    io: TcpStream,
    tls: ServerConnection,
    report: Shared,
    ended: bool,
}

/// A socket as rustls wants it: what would block says so, and the task is woken later.
struct Sync<'a, 'b, 'c> {
    io: &'a mut TcpStream,
    cx: &'b mut Context<'c>,
}

impl Read for Sync<'_, '_, '_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut into = ReadBuf::new(buf);
        match Pin::new(&mut *self.io).poll_read(self.cx, &mut into) {
            Poll::Ready(result) => result.map(|()| into.filled().len()),
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

impl Write for Sync<'_, '_, '_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match Pin::new(&mut *self.io).poll_write(self.cx, buf) {
            Poll::Ready(result) => result,
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn would_block(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

impl EarlyServer {
    pub(crate) fn new(io: TcpStream, tls: ServerConnection, report: Shared) -> Self {
        Self { io, tls, report, ended: false }
    }

    /// Writes TLS records until there are none left, or until the socket is full.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut Sync { io: &mut self.io, cx }) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(_) => {}
                Err(error) if would_block(&error) => return Poll::Pending,
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Plaintext that is there already: early data first, which the client sent first.
    fn read_plain(&mut self, buf: &mut ReadBuf<'_>) -> io::Result<Option<usize>> {
        let space = buf.initialize_unfilled();
        let early = match self.tls.early_data() {
            Some(mut early) => early.read(space)?,
            None => 0,
        };
        if early > 0 {
            buf.advance(early);
            return Ok(Some(early));
        }
        match self.tls.reader().read(buf.initialize_unfilled()) {
            Ok(read) => {
                buf.advance(read);
                Ok(Some(read))
            }
            Err(error) if would_block(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn note(&mut self) {
        if self.tls.handshake_kind().is_none() {
            return;
        }
        let early_data = self.tls.early_data().is_some().then_some(true);
        put(&self.report, HandshakeReport { kind: kind(self.tls.handshake_kind()), early_data, chain_bytes: None });
    }
}

impl AsyncRead for EarlyServer {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if this.read_plain(buf)?.is_some() {
                return Poll::Ready(Ok(()));
            }
            // The handshake's answers leave whether or not the application writes.
            if let Poll::Ready(Err(error)) = this.poll_send(cx) {
                return Poll::Ready(Err(error));
            }
            if this.ended {
                return Poll::Ready(Ok(()));
            }
            match this.tls.read_tls(&mut Sync { io: &mut this.io, cx }) {
                Ok(read) => this.ended = read == 0,
                Err(error) if would_block(&error) => return Poll::Pending,
                Err(error) => return Poll::Ready(Err(error)),
            }
            if let Err(error) = this.tls.process_new_packets() {
                let _ = this.poll_send(cx);
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
            }
            this.note();
        }
    }
}

impl AsyncWrite for EarlyServer {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        loop {
            let written = this.tls.writer().write(buf)?;
            match this.poll_send(cx) {
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                _ if written > 0 || buf.is_empty() => return Poll::Ready(Ok(written)),
                Poll::Ready(Ok(())) => {}
                Poll::Pending => return Poll::Pending,
            }
        }
    }
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_send(cx))?;
        Pin::new(&mut this.io).poll_flush(cx)
    }
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.tls.send_close_notify();
        ready!(this.poll_send(cx))?;
        Pin::new(&mut this.io).poll_shutdown(cx)
    }
}

/// A server's stream above TLS whose beginnings are kept.
pub(crate) struct ServerIo<S> {
    inner: S,
    tap: Arc<Tap>,
}

impl<S> ServerIo<S> {
    pub(crate) const fn new(inner: S, tap: Arc<Tap>) -> Self {
        Self { inner, tap }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ServerIo<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(cx, buf))?;
        this.tap.keep_received(&buf.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ServerIo<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.inner).poll_write(cx, buf))?;
        this.tap.keep_sent(&buf[..written]);
        Poll::Ready(Ok(written))
    }
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(cx)
    }
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
    }
}
