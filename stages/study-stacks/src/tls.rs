//! TLS configurations of both ends: one provider, one cipher, one key exchange, whatever the protocol on top.

use crate::credentials::{Credentials, Trust};
use crate::error::StackError;
use rustls::client::{
    ClientSessionMemoryCache, ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue,
};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::ServerName;
use rustls::server::ServerSessionMemoryCache;
use rustls::{ClientConfig, NamedGroup, RootCertStore, ServerConfig};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use study_transport::SessionState;
use study_tree::choices;

/// Bytes that rustls counts into the size of a record besides its plaintext: the record's header.
const RECORD_HEADER: usize = 5;
/// Early data that a server takes over TCP, in bytes: a request fits.
const EARLY_DATA: u32 = 16_384;
/// Early data over QUIC is bounded by flow control, and RFC 9001 section 4.6.1 fixes this value.
const EARLY_DATA_QUIC: u32 = u32::MAX;
/// Sessions that a server remembers.
const SESSIONS: usize = 1 << 16;

choices! {
    /// How a handshake went, as the stack says or as its messages show.
    pub enum HandshakeKind {
        /// With the certificate chain.
        Full = "full",
        /// With the certificate chain, after a retry of the client's hello.
        Retried = "retried",
        /// With a ticket.
        Resumed = "resumed",
    }
}

/// What is known of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct HandshakeReport {
    /// How it went; `None` until it is over.
    pub kind: Option<HandshakeKind>,
    /// Whether the server took early data; `None` when none was offered, or not known yet.
    pub early_data: Option<bool>,
    /// Bytes of the certificate chain that this handshake carried; `None` when there was none.
    pub chain_bytes: Option<u64>,
}

impl HandshakeReport {
    /// The session state that this handshake had; `None` until it is over.
    #[must_use]
    pub fn session(&self) -> Option<SessionState> {
        Some(match (self.kind?, self.early_data) {
            (HandshakeKind::Full | HandshakeKind::Retried, _) => SessionState::Cold,
            (HandshakeKind::Resumed, None) => SessionState::Resumed,
            (HandshakeKind::Resumed, Some(true)) => SessionState::ZeroRtt,
            (HandshakeKind::Resumed, Some(false)) => SessionState::ZeroRttRejected,
        })
    }
}

/// What a client remembers of servers: whom it trusts, and the tickets it got.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    pub(crate) trust: Trust,
    pub(crate) tickets: Arc<Tickets>,
}

/// Tickets of earlier sessions, counted.
#[derive(Debug)]
pub(crate) struct Tickets {
    store: ClientSessionMemoryCache,
    received: AtomicU64,
}

impl Tickets {
    pub(crate) fn new() -> Self {
        Self { store: ClientSessionMemoryCache::new(32), received: AtomicU64::new(0) }
    }
    /// Tickets received so far.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, server_name: ServerName<'static>, group: NamedGroup) {
        self.store.set_kx_hint(server_name, group);
    }
    fn kx_hint(&self, server_name: &ServerName<'_>) -> Option<NamedGroup> {
        self.store.kx_hint(server_name)
    }
    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}
    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }
    fn remove_tls12_session(&self, _: &ServerName<'static>) {}
    fn insert_tls13_ticket(&self, server_name: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.received.fetch_add(1, Ordering::Relaxed);
        self.store.insert_tls13_ticket(server_name, value);
    }
    fn take_tls13_ticket(&self, server_name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.store.take_tls13_ticket(server_name)
    }
}

/// ring with AES-128-GCM and X25519 only: both arms have the same cipher and the same key exchange by construction.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        cipher_suites: vec![ring::cipher_suite::TLS13_AES_128_GCM_SHA256],
        kx_groups: vec![ring::kx_group::X25519],
        ..ring::default_provider()
    })
}

/// What differs between the protocols on top of TLS.
pub(crate) struct Above {
    /// ALPN protocol.
    pub(crate) alpn: &'static [u8],
    /// TLS over QUIC.
    pub(crate) quic: bool,
    /// Plaintext bytes of the largest record.
    pub(crate) record: Option<u16>,
}

impl Above {
    fn fragment(&self) -> Option<usize> {
        self.record.map(|plaintext| usize::from(plaintext) + RECORD_HEADER)
    }
}

pub(crate) fn client(memory: &Memory, session: SessionState, above: &Above) -> Result<ClientConfig, StackError> {
    let mut roots = RootCertStore::empty();
    roots.add(memory.trust.authority.clone()).map_err(StackError::credentials)?;
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(StackError::credentials)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![above.alpn.to_vec()];
    config.max_fragment_size = above.fragment();
    config.enable_early_data = session.sends_early();
    config.resumption =
        if session.has_ticket() { Resumption::store(memory.tickets.clone()) } else { Resumption::disabled() };
    Ok(config)
}

pub(crate) fn server(
    credentials: &Credentials,
    session: SessionState,
    above: &Above,
) -> Result<ServerConfig, StackError> {
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(StackError::credentials)?
        .with_no_client_auth()
        .with_single_cert(credentials.chain(), credentials.key())
        .map_err(StackError::credentials)?;
    config.alpn_protocols = vec![above.alpn.to_vec()];
    config.max_fragment_size = above.fragment();
    config.session_storage = ServerSessionMemoryCache::new(SESSIONS);
    config.send_tls13_tickets = if session.has_ticket() { 2 } else { 0 };
    if session.sends_early() {
        config.max_early_data_size = if above.quic { EARLY_DATA_QUIC } else { EARLY_DATA };
        // Early data is answered at once, not after the client's last handshake message.
        config.send_half_rtt_data = true;
    }
    Ok(config)
}
