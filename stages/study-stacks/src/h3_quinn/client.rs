//! The client's side of `h3-quinn`.

use super::watch::{self, Watch, Watched};
use super::{ALPN, config};
use crate::counters::Counters;
use crate::error::StackError;
use crate::link::{Body, Boxed, Dial, Dialed, Link, Response};
use crate::readback::{End, Evidence, Readback};
use crate::settings::StackSettings;
use crate::tls::{self, Above, HandshakeKind, HandshakeReport, Memory};
use bytes::{Buf, Bytes};
use h3::client::{RequestStream, SendRequest};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{TransportConfig, VarInt};
use rustls::pki_types::CertificateDer;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::task::JoinHandle;

/// Opens connections, each from a UDP socket of its own.
pub(crate) struct Dialer {
    settings: StackSettings,
    tls: Arc<QuicClientConfig>,
    transport: Arc<TransportConfig>,
}

impl Dialer {
    pub(crate) fn new(settings: &StackSettings, memory: &Memory) -> Result<Self, StackError> {
        let above = Above { alpn: ALPN, quic: true, record: None };
        let tls = tls::client(memory, settings.session, &above)?;
        let tls = Arc::new(QuicClientConfig::try_from(tls).map_err(StackError::credentials)?);
        Ok(Self { settings: settings.clone(), tls, transport: Arc::new(config::transport(settings)?) })
    }

    async fn open(&self, address: SocketAddr, name: &str) -> Result<Dialed, StackError> {
        let any: IpAddr = if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = config::socket(&self.settings, SocketAddr::new(any, 0))?;
        let (endpoint, descriptor) =
            config::endpoint(&self.settings, None, socket).map_err(|error| StackError::socket(address, &error))?;
        let watch = Arc::new(Watch::default());
        let watched = Watched { inner: Arc::clone(&self.tls), watch: Arc::clone(&watch) };
        let mut client = quinn::ClientConfig::new(Arc::new(watched));
        client.transport_config(Arc::clone(&self.transport));
        let connecting =
            endpoint.connect_with(client, address, name).map_err(|error| StackError::connect(address, error))?;
        let early = Arc::new(OnceLock::new());
        let connection = match connecting.into_0rtt() {
            Ok((connection, accepted)) => {
                let early = Arc::clone(&early);
                tokio::spawn(async move { early.set(accepted.await) });
                connection
            }
            Err(connecting) => connecting.await.map_err(|error| StackError::connect(address, error))?,
        };
        let (mut driver, sender) = h3::client::builder()
            .build::<_, _, Bytes>(h3_quinn::Connection::new(connection.clone()))
            .await
            .map_err(|error| StackError::connect(address, error))?;
        let driving = tokio::spawn(async move {
            // How it ended is told to each request that was under way.
            let _ = driver.wait_idle().await;
        });
        let mut rows = config::socket_rows(End::Client, &self.settings, descriptor.as_fd());
        rows.extend(config::controller_rows(End::Client, &self.settings, connection.congestion_state()));
        let link = H3Link {
            settings: self.settings.clone(),
            sender: Mutex::new(Some(sender)),
            driving,
            connection,
            _endpoint: endpoint,
            _descriptor: descriptor,
            rows,
            watch,
            early,
        };
        Ok(Dialed { link: Arc::new(link), transport: None })
    }
}

impl Dial for Dialer {
    fn dial<'a>(&'a self, address: SocketAddr, name: &'a str) -> Boxed<'a, Result<Dialed, StackError>> {
        Box::pin(self.open(address, name))
    }
}

type Sender = SendRequest<h3_quinn::OpenStreams, Bytes>;

struct H3Link {
    settings: StackSettings,
    sender: Mutex<Option<Sender>>,
    driving: JoinHandle<()>,
    connection: quinn::Connection,
    /// Lives as long as its connection.
    _endpoint: quinn::Endpoint,
    _descriptor: OwnedFd,
    rows: Vec<Readback>,
    watch: Arc<Watch>,
    /// Whether the server took early data; empty while that is open, or when none was offered.
    early: Arc<OnceLock<bool>>,
}

impl H3Link {
    fn sender(&self) -> Option<Sender> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn window_rows(&self) -> Vec<Readback> {
        let (by, set) = (Evidence::Wire, &self.settings);
        let mut rows = Vec::new();
        let own = [
            ("stream_window", set.stream_window, watch::MAX_STREAM_DATA_LOCAL),
            ("connection_window", set.connection_window, watch::MAX_DATA),
        ];
        for (setting, asked, id) in own {
            if let Some(got) = self.watch.own(id) {
                rows.push(Readback::number(End::Client, setting, asked, got, by).unit("B"));
            }
        }
        if let Some(streams) = self.watch.peer(watch::MAX_STREAMS) {
            rows.push(Readback::record(End::Server, "max_streams", streams, by));
        }
        rows
    }

    fn chain_bytes(&self) -> Option<u64> {
        let identity = self.connection.peer_identity()?;
        let chain = identity.downcast::<Vec<CertificateDer<'static>>>().ok()?;
        Some(chain.iter().map(|certificate| certificate.len() as u64).sum())
    }
}

impl Link for H3Link {
    fn request<'a>(&'a self, head: http::Request<()>) -> Boxed<'a, Result<Response, StackError>> {
        Box::pin(async move {
            let mut sender = self.sender().ok_or_else(|| StackError::lost("the connection is closed"))?;
            let mut stream = sender.send_request(head).await.map_err(StackError::lost)?;
            stream.finish().await.map_err(StackError::lost)?;
            let (head, ()) = stream.recv_response().await.map_err(StackError::lost)?.into_parts();
            Ok(Response { head, body: Box::new(H3Body(stream)) })
        })
    }

    fn handshake(&self) -> HandshakeReport {
        let kind = self.watch.kind();
        let full = matches!(kind, Some(HandshakeKind::Full | HandshakeKind::Retried));
        HandshakeReport {
            kind,
            early_data: self.early.get().copied(),
            chain_bytes: if full { self.chain_bytes() } else { None },
        }
    }

    fn readbacks(&self) -> Vec<Readback> {
        let mut rows = self.rows.clone();
        rows.extend(self.window_rows());
        rows.push(config::datagram_row(End::Client, &self.settings, self.connection.stats().path.current_mtu));
        if let Some(bytes) = self.handshake().chain_bytes {
            rows.push(Readback::record(End::Server, "certificate_chain", bytes, Evidence::Stack).unit("B"));
        }
        rows
    }

    fn counters(&self) -> Option<Counters> {
        Some(Counters::Quic(self.connection.stats().into()))
    }

    fn is_closed(&self) -> bool {
        self.connection.close_reason().is_some() || self.driving.is_finished()
    }

    fn close(&self) {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.connection.close(VarInt::from_u32(0x100), b"");
    }
}

impl Drop for H3Link {
    fn drop(&mut self) {
        self.driving.abort();
    }
}

struct H3Body(RequestStream<h3_quinn::BidiStream<Bytes>, Bytes>);

impl Body for H3Body {
    fn chunk(&mut self) -> Boxed<'_, Result<Option<Bytes>, StackError>> {
        Box::pin(async {
            let data = self.0.recv_data().await.map_err(StackError::lost)?;
            Ok(data.map(|mut data| data.copy_to_bytes(data.remaining())))
        })
    }
}
