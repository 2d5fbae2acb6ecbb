//! The server's side of `h2-hyper`.

use super::client::http2_rows;
use super::early::{EarlyServer, ServerIo, Shared, kind};
use super::tap::Tap;
use super::{ALPN, socket};
use crate::counters::{Counters, TcpCounters};
use crate::credentials::Credentials;
use crate::error::StackError;
use crate::readback::{End, Readback};
use crate::server::{Accepting, Listener, Reply, Service, Snapshot};
use crate::settings::StackSettings;
use crate::tls::{self, Above, HandshakeReport};
use bytes::Bytes;
use futures_util::stream::{Stream, unfold};
use http_body_util::StreamBody;
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{ServerConfig, ServerConnection};
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// Pause after an accept that failed, e.g. for want of descriptors.
const PAUSE: Duration = Duration::from_millis(10);

/// Accepts connections until it is aborted, which ends them too.
pub(crate) fn serve(
    listener: Listener,
    credentials: &Credentials,
    accepting: Accepting,
) -> Result<JoinHandle<()>, StackError> {
    let Listener::Tcp(socket) = listener else {
        return Err(StackError::lost("HTTP/2 needs a TCP socket"));
    };
    let settings = &accepting.settings;
    let above = Above { alpn: ALPN, quic: false, record: settings.tls_record };
    let config = Arc::new(tls::server(credentials, settings.session, &above)?);
    let told = |error: std::io::Error| StackError::lost(error);
    socket.set_nonblocking(true).map_err(told)?;
    let listener = TcpListener::from_std(socket).map_err(told)?;
    let accepting = Arc::new(accepting);
    Ok(tokio::spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        connections.spawn(connection(stream, Arc::clone(&config), Arc::clone(&accepting)));
                    }
                    Err(_) => tokio::time::sleep(PAUSE).await,
                },
                Some(_) = connections.join_next() => {}
            }
        }
    }))
}

async fn connection(stream: TcpStream, config: Arc<ServerConfig>, accepting: Arc<Accepting>) {
    let settings = Arc::clone(&accepting.settings);
    let (Ok(peer), Ok(descriptor)) = (stream.peer_addr(), stream.as_fd().try_clone_to_owned()) else { return };
    // Linux hands the listener's choice down; other systems do not.
    let _ = stream.set_nodelay(settings.nodelay);
    let rows = start_rows(&settings, descriptor.as_fd());
    let (tap, report) = (Arc::new(Tap::default()), Shared::default());
    let look = {
        let (settings, tap, report) = (Arc::clone(&settings), Arc::clone(&tap), Arc::clone(&report));
        move || Snapshot {
            handshake: *report.lock().unwrap_or_else(PoisonError::into_inner),
            readbacks: rows.iter().cloned().chain(http2_rows(End::Server, &settings, &tap)).collect(),
            counters: TcpCounters::of(descriptor.as_fd()).ok().map(Counters::Tcp),
        }
    };
    let _open = accepting.connections.open(peer, look);
    let service = Arc::clone(&accepting.service);
    if settings.session.sends_early() {
        let Ok(session) = ServerConnection::new(config) else { return };
        let stream = EarlyServer::new(stream, session, report);
        http2(ServerIo::new(stream, tap), &settings, service).await;
        return;
    }
    let handshake = timeout(settings.connect_timeout, TlsAcceptor::from(config).accept(stream)).await;
    let Ok(Ok(stream)) = handshake else { return };
    *report.lock().unwrap_or_else(PoisonError::into_inner) =
        HandshakeReport { kind: kind(stream.get_ref().1.handshake_kind()), early_data: None, chain_bytes: None };
    http2(ServerIo::new(stream, tap), &settings, service).await;
}

/// What is known before the first byte.
fn start_rows(settings: &StackSettings, descriptor: std::os::fd::BorrowedFd<'_>) -> Vec<Readback> {
    let mut rows = socket::readbacks(End::Server, settings, descriptor);
    if let Some(bytes) = settings.http_send_buffer {
        rows.push(Readback::told(End::Server, "http_send_buffer", bytes).unit("B"));
    }
    if let Some(bytes) = settings.tls_record {
        rows.push(Readback::told(End::Server, "tls_record", bytes).unit("B"));
    }
    rows
}

async fn http2<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    settings: &StackSettings,
    service: Arc<Service>,
) {
    let mut builder = Builder::new(TokioExecutor::new());
    let window = |bytes: Option<u64>| bytes.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
    if let Some(bytes) = window(settings.stream_window) {
        builder.initial_stream_window_size(bytes);
    }
    if let Some(bytes) = window(settings.connection_window) {
        builder.initial_connection_window_size(bytes);
    }
    if let Some(bytes) = settings.http_send_buffer {
        builder.max_send_buf_size(usize::try_from(bytes.min(u64::from(u32::MAX))).unwrap_or_default());
    }
    builder.max_concurrent_streams(settings.streams);
    let answer = service_fn(move |request: http::Request<Incoming>| {
        let service = Arc::clone(&service);
        async move {
            let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
            response(service.respond(&path).await)
        }
    });
    // How a connection ends is the client's to tell; the counters are kept.
    let _ = builder.serve_connection(TokioIo::new(stream), answer).await;
}

type Pieces = Pin<Box<dyn Stream<Item = Result<Frame<Bytes>, StackError>> + Send>>;

fn response(reply: Reply) -> Result<http::Response<StreamBody<Pieces>>, http::Error> {
    let response = reply.head(())?;
    let pieces: Pieces = Box::pin(unfold(reply.body, |mut body| async {
        let piece = body.next().await?;
        Some((piece.map(Frame::data), body))
    }));
    Ok(response.map(|()| StreamBody::new(pieces)))
}
