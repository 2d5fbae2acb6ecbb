//! The client's side of `h2-hyper`.

use super::early::{ClientIo, Shared};
use super::tap::{RecordTap, Records, Tap};
use super::{ALPN, causes, socket};
use crate::clock;
use crate::counters::{Counters, TcpCounters};
use crate::error::StackError;
use crate::link::{Body, Boxed, Dial, Dialed, Link, Response};
use crate::readback::{End, Evidence, Readback, Verdict};
use crate::settings::StackSettings;
use crate::tls::{self, Above, HandshakeReport, Memory};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpSocket;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

/// Opens connections.
pub(crate) struct Dialer {
    settings: StackSettings,
    connector: TlsConnector,
}

impl Dialer {
    pub(crate) fn new(settings: &StackSettings, memory: &Memory) -> Result<Self, StackError> {
        let above = Above { alpn: ALPN, quic: false, record: settings.tls_record };
        let config = tls::client(memory, settings.session, &above)?;
        let connector = TlsConnector::from(Arc::new(config)).early_data(settings.session.sends_early());
        Ok(Self { settings: settings.clone(), connector })
    }

    async fn open(&self, address: SocketAddr, name: &str) -> Result<Dialed, StackError> {
        let failed = |error: std::io::Error| StackError::connect(address, error);
        let server = ServerName::try_from(name.to_owned()).map_err(|error| StackError::connect(address, error))?;
        let socket = socket::connecting(&self.settings, address)?;
        let stream = TcpSocket::from_std_stream(socket).connect(address).await.map_err(failed)?;
        let transport = clock::now();
        let descriptor = stream.as_fd().try_clone_to_owned().map_err(failed)?;
        let rows = socket::readbacks(End::Client, &self.settings, descriptor.as_fd());
        let records = Arc::new(Records::default());
        let stream =
            self.connector.connect(server, RecordTap::new(stream, Arc::clone(&records))).await.map_err(failed)?;
        let (tap, report) = (Arc::new(Tap::default()), Shared::default());
        let io = ClientIo::new(stream, Arc::clone(&tap), Arc::clone(&report));
        let (sender, connection) = self
            .http2()
            .handshake(TokioIo::new(io))
            .await
            .map_err(|error| StackError::connect(address, causes(&error)))?;
        let driving = tokio::spawn(async {
            // How it ended is told to each request that was under way.
            let _ = connection.await;
        });
        let sender = Mutex::new(Some(sender));
        let settings = self.settings.clone();
        let link = Arc::new(H2Link { settings, sender, driving, descriptor, rows, records, tap, report });
        Ok(Dialed { link, transport: Some(transport) })
    }

    fn http2(&self) -> Builder<TokioExecutor> {
        let window = |bytes: Option<u64>| bytes.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
        let mut builder = Builder::new(TokioExecutor::new());
        // hyper takes `None` as "leave HTTP/2's own", which is not what it comes with.
        if let Some(bytes) = window(self.settings.stream_window) {
            builder.initial_stream_window_size(bytes);
        }
        if let Some(bytes) = window(self.settings.connection_window) {
            builder.initial_connection_window_size(bytes);
        }
        builder
    }
}

impl Dial for Dialer {
    fn dial<'a>(&'a self, address: SocketAddr, name: &'a str) -> Boxed<'a, Result<Dialed, StackError>> {
        Box::pin(self.open(address, name))
    }
}

struct H2Link {
    settings: StackSettings,
    sender: Mutex<Option<SendRequest<Empty<Bytes>>>>,
    driving: JoinHandle<()>,
    descriptor: OwnedFd,
    rows: Vec<Readback>,
    records: Arc<Records>,
    tap: Arc<Tap>,
    report: Shared,
}

impl H2Link {
    fn sender(&self) -> Option<SendRequest<Empty<Bytes>>> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The largest record that came; the server's setting, which only its client sees.
    fn record_row(&self) -> Readback {
        let largest = self.records.largest();
        let Some(asked) = self.settings.tls_record.map(u64::from) else {
            let got = largest.unwrap_or_default();
            return Readback::record(End::Server, "tls_record", got, Evidence::Wire).unit("B");
        };
        let Some(got) = largest else { return Readback::told(End::Server, "tls_record", asked).unit("B") };
        let mut row = Readback::equal(End::Server, "tls_record", asked, got, Evidence::Wire).unit("B");
        if got < asked {
            // A short answer does not fill a record: the limit held, and more is not known.
            row.verdict = Verdict::Unknown;
        }
        row
    }
}

impl Link for H2Link {
    fn request<'a>(&'a self, head: http::Request<()>) -> Boxed<'a, Result<Response, StackError>> {
        Box::pin(async move {
            let mut sender = self.sender().ok_or_else(|| StackError::lost("the connection is closed"))?;
            let lost = |error: hyper::Error| StackError::lost(causes(&error));
            sender.ready().await.map_err(lost)?;
            let response = sender.send_request(head.map(|()| Empty::new())).await.map_err(lost)?;
            let (head, body) = response.into_parts();
            Ok(Response { head, body: Box::new(H2Body(body)) })
        })
    }

    fn handshake(&self) -> HandshakeReport {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn readbacks(&self) -> Vec<Readback> {
        let mut rows = self.rows.clone();
        rows.extend(http2_rows(End::Client, &self.settings, &self.tap));
        if let Some(streams) = self.tap.peer().and_then(|said| said.max_streams) {
            rows.push(Readback::record(End::Server, "max_streams", streams, Evidence::Wire));
        }
        rows.push(self.record_row());
        if let Some(bytes) = self.handshake().chain_bytes {
            rows.push(Readback::record(End::Server, "certificate_chain", bytes, Evidence::Stack).unit("B"));
        }
        rows
    }

    fn counters(&self) -> Option<Counters> {
        TcpCounters::of(self.descriptor.as_fd()).ok().map(Counters::Tcp)
    }

    fn is_closed(&self) -> bool {
        self.driving.is_finished() || self.sender().is_none_or(|sender| sender.is_closed())
    }

    fn close(&self) {
        // Without a sender hyper says goodbye and ends.
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Drop for H2Link {
    fn drop(&mut self) {
        self.driving.abort();
    }
}

/// The windows that an end announced.
pub(super) fn http2_rows(end: End, settings: &StackSettings, tap: &Tap) -> Vec<Readback> {
    let by = Evidence::Wire;
    let Some(said) = tap.own() else { return Vec::new() };
    vec![
        Readback::number(end, "stream_window", settings.stream_window, said.stream_window, by).unit("B"),
        Readback::number(end, "connection_window", settings.connection_window, said.connection_window, by).unit("B"),
        Readback::record(end, "max_frame", said.max_frame, by).unit("B"),
    ]
}

struct H2Body(Incoming);

impl Body for H2Body {
    fn chunk(&mut self) -> Boxed<'_, Result<Option<Bytes>, StackError>> {
        Box::pin(async {
            loop {
                match self.0.frame().await {
                    None => return Ok(None),
                    Some(Err(error)) => return Err(StackError::lost(causes(&error))),
                    Some(Ok(frame)) => {
                        if let Ok(data) = frame.into_data() {
                            return Ok(Some(data));
                        }
                    }
                }
            }
        })
    }
}
