//! Early data are answered from the first flight alone.
//!
//! A proxy hands the server what a client sends before anything comes back, and nothing after: a server that waits for the
//! client's last handshake message can never answer.

use crate::{NAME, any, credentials, origin, run, serve, settings};
use std::net::SocketAddr;
use std::time::Duration;
use study_stacks::{Client, FetchRecord, ObjectId, StackChoice, StackError, StackSettings};
use study_transport::SessionState;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::time::timeout;

/// A client that has been quiet for so long waits for an answer.
const QUIET: Duration = Duration::from_millis(300);
/// Small enough for what QUIC lets a server send to an address that has not proven itself (three times what came).
const BYTES: u64 = 1_500;

/// Passes one first flight on, then only answers.
async fn one_flight_tcp(listener: TcpListener, server: SocketAddr) {
    let (mut client, _) = listener.accept().await.unwrap();
    let mut flight = Vec::new();
    let mut buffer = [0; 4_096];
    while let Ok(Ok(read @ 1..)) = timeout(QUIET, client.read(&mut buffer)).await {
        flight.extend_from_slice(&buffer[..read]);
    }
    let mut upstream = TcpStream::connect(server).await.unwrap();
    upstream.write_all(&flight).await.unwrap();
    while let Ok(read @ 1..) = upstream.read(&mut buffer).await {
        if client.write_all(&buffer[..read]).await.is_err() {
            break;
        }
    }
}

/// The same for datagrams.
async fn one_flight_udp(socket: UdpSocket, server: SocketAddr) {
    let mut buffer = [0; 2_048];
    let mut flight = Vec::new();
    let (read, client) = socket.recv_from(&mut buffer).await.unwrap();
    flight.push(buffer[..read].to_vec());
    while let Ok(Ok((read, _))) = timeout(QUIET, socket.recv_from(&mut buffer)).await {
        flight.push(buffer[..read].to_vec());
    }
    let upstream = UdpSocket::bind(any()).await.unwrap();
    for datagram in flight {
        upstream.send_to(&datagram, server).await.unwrap();
    }
    while let Ok((read, _)) = upstream.recv_from(&mut buffer).await {
        socket.send_to(&buffer[..read], client).await.unwrap();
    }
}

/// A fetch whose client is heard once; `None` when not even the connection came up.
fn heard_once(stack: StackChoice, state: SessionState) -> Option<FetchRecord> {
    run(async {
        let credentials = credentials();
        let limit = Duration::from_secs(2);
        let set = StackSettings { connect_timeout: limit, fetch_timeout: limit, ..settings(stack).session(state) };
        let server = serve(&set, &credentials, origin());
        let client = Client::new(set, credentials.trust()).unwrap();
        client.prime(server.address(), NAME).await.unwrap();
        let proxy = if stack == StackChoice::H2Hyper {
            let listener = TcpListener::bind(any()).await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(one_flight_tcp(listener, server.address()));
            address
        } else {
            let socket = UdpSocket::bind(any()).await.unwrap();
            let address = socket.local_addr().unwrap();
            tokio::spawn(one_flight_udp(socket, server.address()));
            address
        };
        let connection = match client.connect(proxy, NAME).await {
            Ok(connection) => connection,
            Err(StackError::Timeout { .. }) => return None,
            Err(error) => panic!("{stack:?}: {error}"),
        };
        // The connection's own beginning has left by then; the request must still make the first flight.
        tokio::time::sleep(QUIET / 10).await;
        Some(connection.fetch(&ObjectId { title: 3, segment: 3, rung: 3 }.path(BYTES)).await)
    })
}

#[test]
fn a_request_in_early_data_is_answered_before_the_handshake_is_over() {
    for stack in StackChoice::ALL {
        let record = heard_once(*stack, SessionState::ZeroRtt).unwrap();
        assert!(record.is_complete() && record.verified, "{stack:?}: {record:?}");
    }
}

#[test]
fn a_resumed_session_needs_a_second_flight() {
    for stack in StackChoice::ALL {
        let record = heard_once(*stack, SessionState::Resumed);
        assert!(record.is_none_or(|record| !record.is_complete()), "{stack:?}");
    }
}
