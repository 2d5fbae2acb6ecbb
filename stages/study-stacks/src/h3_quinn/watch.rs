//! A TLS session that is watched: handshake messages and transport parameters, as they pass between quinn and rustls.
//!
//! The kind of a handshake shows in its messages (RFC 8446 section 2): a server that takes a ticket sends no Certificate; a
//! second ServerHello means that the first was a retry request. Windows are transport parameters (RFC 9000 section 18.2).

use crate::tls::HandshakeKind;
use quinn_proto::crypto::{ClientConfig, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, Session};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Types of handshake messages (RFC 8446 section 4).
const SERVER_HELLO: u8 = 2;
const CERTIFICATE: u8 = 11;
const FINISHED: u8 = 20;

/// Transport parameters (RFC 9000 section 18.2).
pub(crate) const MAX_DATA: u64 = 0x04;
pub(crate) const MAX_STREAM_DATA_LOCAL: u64 = 0x05;
pub(crate) const MAX_STREAMS: u64 = 0x08;

/// Finds messages in a stream of handshake bytes.
#[derive(Debug, Default)]
struct Messages {
    header: Vec<u8>,
    skip: usize,
    hellos: u32,
    certificate: bool,
    finished: bool,
}

impl Messages {
    fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = &bytes[skipped..];
            let taken = (4 - self.header.len()).min(bytes.len());
            if self.skip > 0 || taken == 0 {
                return;
            }
            self.header.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if let [kind, a, b, c] = self.header[..] {
                self.skip = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
                self.header.clear();
                self.hellos += u32::from(kind == SERVER_HELLO);
                self.certificate |= kind == CERTIFICATE;
                self.finished |= kind == FINISHED;
            }
        }
    }

    fn kind(&self) -> Option<HandshakeKind> {
        self.finished.then_some(match (self.certificate, self.hellos) {
            (true, 2..) => HandshakeKind::Retried,
            (true, _) => HandshakeKind::Full,
            (false, _) => HandshakeKind::Resumed,
        })
    }
}

/// What has passed.
#[derive(Debug, Default)]
struct Seen {
    messages: Messages,
    own: BTreeMap<u64, u64>,
    peer: BTreeMap<u64, u64>,
}

/// What has passed between quinn and the TLS session of one connection.
#[derive(Debug, Default)]
pub(crate) struct Watch(Mutex<Seen>);

impl Watch {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// How the handshake went; `None` until the server has finished.
    pub(crate) fn kind(&self) -> Option<HandshakeKind> {
        self.seen().messages.kind()
    }
    /// A transport parameter that this end sent.
    pub(crate) fn own(&self, id: u64) -> Option<u64> {
        self.seen().own.get(&id).copied()
    }
    /// A transport parameter that the other end sent.
    pub(crate) fn peer(&self, id: u64) -> Option<u64> {
        self.seen().peer.get(&id).copied()
    }
}

fn variable(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let first = *bytes.first()?;
    let (number, rest) = bytes.split_at_checked(1 << (first >> 6))?;
    let value = number[1..].iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte));
    Some((value, rest))
}

/// The parameters that are numbers, by their encoding (RFC 9000 section 18).
fn numbers(parameters: &TransportParameters) -> BTreeMap<u64, u64> {
    let mut bytes = Vec::new();
    parameters.write(&mut bytes);
    let mut found = BTreeMap::new();
    let mut rest = &bytes[..];
    while let Some((id, value, after)) = parameter(rest) {
        if let Some((number, [])) = variable(value) {
            found.insert(id, number);
        }
        rest = after;
    }
    found
}

fn parameter(bytes: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let (id, rest) = variable(bytes)?;
    let (length, rest) = variable(rest)?;
    let (value, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some((id, value, after))
}

/// A client's TLS configuration whose one session is watched.
pub(crate) struct Watched<C> {
    pub(crate) inner: Arc<C>,
    pub(crate) watch: Arc<Watch>,
}

impl<C: ClientConfig> ClientConfig for Watched<C> {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        self.watch.seen().own = numbers(params);
        let inner = Arc::clone(&self.inner).start_session(version, server_name, params)?;
        Ok(Box::new(WatchedSession { inner, watch: Arc::clone(&self.watch) }))
    }
}

struct WatchedSession {
    inner: Box<dyn Session>,
    watch: Arc<Watch>,
}

impl Session for WatchedSession {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        self.inner.initial_keys(dst_cid, side)
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }
    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }
    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }
    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.watch.seen().messages.feed(buf);
        self.inner.read_handshake(buf)
    }
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let parameters = self.inner.transport_parameters()?;
        if let Some(parameters) = &parameters {
            self.watch.seen().peer = numbers(parameters);
        }
        Ok(parameters)
    }
    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        self.inner.write_handshake(buf)
    }
    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.inner.next_1rtt_keys()
    }
    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(orig_dst_cid, header, payload)
    }
    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, length: u8) -> Vec<u8> {
        [&[kind, 0, 0, length][..], &vec![11; length.into()]].concat()
    }

    fn seen(messages: &[(u8, u8)]) -> Option<HandshakeKind> {
        let stream: Vec<u8> = messages.iter().flat_map(|&(kind, length)| message(kind, length)).collect();
        let whole = {
            let mut parser = Messages::default();
            parser.feed(&stream);
            parser.kind()
        };
        for cut in 1..stream.len() {
            let mut parser = Messages::default();
            stream.chunks(cut).for_each(|piece| parser.feed(piece));
            assert_eq!(parser.kind(), whole, "cut at {cut}");
        }
        whole
    }

    #[test]
    fn the_kind_of_a_handshake_shows_in_its_messages() {
        assert_eq!(seen(&[(2, 90), (8, 30), (11, 200), (15, 70), (20, 32)]), Some(HandshakeKind::Full));
        assert_eq!(seen(&[(2, 90), (8, 30), (20, 32), (4, 60)]), Some(HandshakeKind::Resumed));
        assert_eq!(seen(&[(2, 40), (2, 90), (8, 0), (11, 200), (20, 32)]), Some(HandshakeKind::Retried));
        assert_eq!(seen(&[(2, 90), (8, 30), (11, 200)]), None, "not over yet");
    }

    #[test]
    fn numbers_of_variable_length_are_read() {
        // RFC 9000 appendix A.1.
        let read = |bytes: &[u8]| variable(bytes).map(|(value, rest)| (value, rest.len()));
        assert_eq!(read(&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c]), Some((151_288_809_941_952_652, 0)));
        assert_eq!(read(&[0x9d, 0x7f, 0x3e, 0x7d, 1]), Some((494_878_333, 1)));
        assert_eq!(read(&[0x7b, 0xbd]), Some((15_293, 0)));
        assert_eq!(read(&[0x25]), Some((37, 0)));
        assert_eq!(read(&[0x9d, 0x7f]), None);
        assert_eq!(parameter(&[4, 2, 0x7b, 0xbd, 9]), Some((4, &[0x7b, 0xbd][..], &[9][..])));
    }
}
