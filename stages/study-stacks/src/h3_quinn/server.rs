//! The server's side of `h3-quinn`.

use super::{ALPN, config};
use crate::counters::Counters;
use crate::credentials::Credentials;
use crate::error::StackError;
use crate::readback::{End, Readback};
use crate::server::{Accepting, Listener, Service, Snapshot};
use crate::settings::StackSettings;
use crate::tls::{self, Above, HandshakeReport};
use bytes::Bytes;
use h3::error::Code;
use h3::server::RequestResolver;
use quinn::crypto::rustls::QuicServerConfig;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

/// Accepts connections until it is aborted, which ends them too.
pub(crate) fn serve(
    listener: Listener,
    credentials: &Credentials,
    accepting: Accepting,
) -> Result<JoinHandle<()>, StackError> {
    let Listener::Udp(socket) = listener else {
        return Err(StackError::lost("HTTP/3 needs a UDP socket"));
    };
    let settings = &accepting.settings;
    let above = Above { alpn: ALPN, quic: true, record: None };
    let tls = tls::server(credentials, settings.session, &above)?;
    let tls = QuicServerConfig::try_from(tls).map_err(StackError::credentials)?;
    let mut server = quinn::ServerConfig::with_crypto(Arc::new(tls));
    server.transport_config(Arc::new(config::transport(settings)?));
    let (endpoint, descriptor) = config::endpoint(settings, Some(server), socket).map_err(StackError::lost)?;
    let descriptor = Arc::new(descriptor);
    let accepting = Arc::new(accepting);
    Ok(tokio::spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                incoming = endpoint.accept() => match incoming {
                    Some(incoming) => {
                        connections.spawn(connection(incoming, Arc::clone(&descriptor), Arc::clone(&accepting)));
                    }
                    None => return,
                },
                Some(_) = connections.join_next() => {}
            }
        }
    }))
}

async fn connection(incoming: quinn::Incoming, descriptor: Arc<OwnedFd>, accepting: Arc<Accepting>) {
    let settings = Arc::clone(&accepting.settings);
    let peer = incoming.remote_address();
    let Ok(connecting) = incoming.accept() else { return };
    let connection = if settings.session.sends_early() {
        // Requests in early data are answered before the handshake is over.
        let Ok((connection, _)) = connecting.into_0rtt() else { return };
        connection
    } else {
        let Ok(Ok(connection)) = timeout(settings.connect_timeout, connecting).await else { return };
        connection
    };
    let rows = start_rows(&settings, &descriptor, &connection);
    let look = {
        let connection = connection.clone();
        let settings = Arc::clone(&settings);
        move || {
            let stats = connection.stats();
            let size = config::datagram_row(End::Server, &settings, stats.path.current_mtu);
            Snapshot {
                handshake: HandshakeReport::default(),
                readbacks: rows.iter().cloned().chain([size]).collect(),
                counters: Some(Counters::Quic(stats.into())),
            }
        }
    };
    let _open = accepting.connections.open(peer, look);
    http3(connection, &accepting.service).await;
}

/// What is known before the first byte.
fn start_rows(settings: &StackSettings, descriptor: &OwnedFd, connection: &quinn::Connection) -> Vec<Readback> {
    let mut rows = config::socket_rows(End::Server, settings, descriptor.as_fd());
    rows.extend(config::controller_rows(End::Server, settings, connection.congestion_state()));
    let windows = [("stream_window", settings.stream_window), ("connection_window", settings.connection_window)];
    for (setting, asked) in windows {
        rows.extend(asked.map(|bytes| Readback::told(End::Server, setting, bytes).unit("B")));
    }
    if let Some(bytes) = settings.http_send_buffer {
        // What h3 takes from the application goes into quinn's send window at once.
        rows.push(Readback::absent(End::Server, "http_send_buffer", bytes).unit("B"));
    }
    if settings.least_window > 0 {
        rows.push(Readback::told(End::Server, "send_window", settings.least_window).unit("B"));
    }
    rows
}

async fn http3(connection: quinn::Connection, service: &Arc<Service>) {
    let built = h3::server::builder().build::<_, Bytes>(h3_quinn::Connection::new(connection)).await;
    let Ok(mut connection) = built else { return };
    let mut requests = JoinSet::new();
    loop {
        tokio::select! {
            accepted = connection.accept() => match accepted {
                Ok(Some(resolver)) => {
                    requests.spawn(answer(resolver, Arc::clone(service)));
                }
                // How a connection ends is the client's to tell; the counters are kept.
                Ok(None) | Err(_) => return,
            },
            Some(_) = requests.join_next() => {}
        }
    }
}

async fn answer(resolver: RequestResolver<h3_quinn::Connection, Bytes>, service: Arc<Service>) {
    let Ok((request, mut stream)) = resolver.resolve_request().await else { return };
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let mut reply = service.respond(&path).await;
    let Ok(head) = reply.head(()) else {
        stream.stop_stream(Code::H3_INTERNAL_ERROR);
        return;
    };
    if stream.send_response(head).await.is_err() {
        return;
    }
    while let Some(piece) = reply.body.next().await {
        let Ok(bytes) = piece else {
            stream.stop_stream(Code::H3_INTERNAL_ERROR);
            return;
        };
        if stream.send_data(bytes).await.is_err() {
            return;
        }
    }
    // A client that went away is not told.
    let _ = stream.finish().await;
}
