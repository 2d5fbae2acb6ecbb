//! What fails is named, and nothing hangs.

use crate::{NAME, any, credentials, each, origin, run, serve, settings};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use study_cdn::cache::{CacheChoice, CacheParams};
use study_stacks::{
    Client, Credentials, EdgeSettings, Listener, ObjectId, Server, Service, StackChoice, StackError, StackSettings,
};
use study_transport::CongestionControl;
use study_units::Bytes;

/// Larger than what a loopback transfer gets through before its server is gone.
const LARGE: u64 = 1 << 36;

fn impatient(stack: StackChoice) -> StackSettings {
    let limit = Duration::from_millis(700);
    StackSettings { connect_timeout: limit, idle_timeout: limit, ..settings(stack) }
}

/// An origin on its own thread and runtime, that can be ended at once: no goodbye is said by the stack.
struct Doomed {
    address: SocketAddr,
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl Doomed {
    /// It ends when it has sent `bytes`, or when it is told.
    fn start(set: StackSettings, credentials: Credentials, bytes: u64) -> Self {
        let (tell, address) = channel();
        let (end, ended): (Sender<()>, Receiver<()>) = channel();
        let thread = std::thread::spawn(move || {
            let runtime = study_stacks::runtime().unwrap();
            let server = runtime.block_on(async { serve(&set, &credentials, origin()) });
            tell.send(server.address()).unwrap();
            runtime.block_on(async {
                while server.stats().bytes_sent < bytes && ended.try_recv().is_err() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            });
            runtime.shutdown_background();
        });
        Self { address: address.recv().unwrap(), end, thread }
    }
    fn end(self) {
        let _ = self.end.send(());
        self.thread.join().unwrap();
    }
}

#[test]
fn a_server_that_dies_in_the_middle_is_a_row_with_an_error() {
    each(|stack| {
        let credentials = credentials();
        let doomed = Doomed::start(settings(stack), credentials.clone(), 2_000_000);
        run(async {
            let client = Client::new(impatient(stack), credentials.trust()).unwrap();
            let connection = client.connect(doomed.address, NAME).await.unwrap();
            let record = connection.fetch(&ObjectId { title: 0, segment: 0, rung: 0 }.path(LARGE)).await;
            let code = record.error.as_ref().map(StackError::code);
            assert!(matches!(code, Some("lost" | "timeout")), "{stack:?}: {record:?}");
            assert!(record.bytes > 0 && record.last_byte_ns.is_none() && record.first_byte_ns.is_some());
            let next = connection.fetch("/health").await;
            assert!(next.error.is_some(), "and so is each further one");
        });
        doomed.end();
    });
}

#[test]
fn an_edge_passes_on_what_came_before_its_origin_died_and_stores_nothing() {
    each(|stack| {
        let credentials = credentials();
        let doomed = Doomed::start(settings(stack), credentials.clone(), 2_000_000);
        run(async {
            let service = Service::edge(EdgeSettings {
                cache: CacheParams { policy: CacheChoice::Arc, size: Bytes::new(1 << 40), ttl: None },
                upstream: doomed.address,
                upstream_name: NAME.to_owned(),
                upstream_settings: impatient(stack),
                trust: credentials.trust(),
                processing: Duration::ZERO,
            });
            let server = serve(&settings(stack), &credentials, service.unwrap());
            let client = Client::new(settings(stack), credentials.trust()).unwrap();
            let connection = client.connect(server.address(), NAME).await.unwrap();
            let record = connection.fetch(&ObjectId { title: 0, segment: 0, rung: 0 }.path(LARGE)).await;
            assert_eq!(record.status, Some(200), "the headers had gone on: {record:?}");
            assert!(record.bytes > 0 && record.verified, "cut-through: bytes went on before the end was known");
            assert_eq!(record.error.as_ref().map(StackError::code), Some("lost"));
            let stats = server.stats();
            assert_eq!((stats.objects, stats.errors, stats.upstream_fetches), (0, 1, 0));
        });
        doomed.end();
    });
}

#[test]
fn a_server_that_never_answers_is_a_timeout() {
    each(|stack| {
        let (tcp, udp) = (TcpListener::bind(any()).unwrap(), UdpSocket::bind(any()).unwrap());
        let address = if stack == StackChoice::H2Hyper { tcp.local_addr() } else { udp.local_addr() };
        run(async {
            let client = Client::new(impatient(stack), credentials().trust()).unwrap();
            let error = client.connect(address.unwrap(), NAME).await.unwrap_err();
            assert!(matches!(error, StackError::Timeout { .. } | StackError::Connect { .. }), "{stack:?}: {error}");
        });
    });
}

#[test]
fn a_closed_port_and_a_wrong_authority_are_refused() {
    run(async {
        let closed = TcpListener::bind(any()).unwrap().local_addr().unwrap();
        let client = Client::new(impatient(StackChoice::H2Hyper), credentials().trust()).unwrap();
        assert_eq!(client.connect(closed, NAME).await.unwrap_err().code(), "connect");
    });
    each(|stack| {
        run(async {
            let server = serve(&settings(stack), &credentials(), origin());
            let stranger = Client::new(impatient(stack), credentials().trust()).unwrap();
            let error = stranger.connect(server.address(), NAME).await.unwrap_err();
            assert_eq!(error.code(), "connect", "{stack:?}: {error}");
            assert!(error.to_string().to_lowercase().contains("certificate"), "{stack:?}: {error}");
        });
    });
}

#[test]
fn a_taken_port_is_named_with_its_cure() {
    each(|stack| {
        let first = Listener::bind(&settings(stack), any()).unwrap();
        let address = first.address().unwrap();
        let error = Listener::bind(&settings(stack), address).unwrap_err();
        assert_eq!(error, StackError::PortTaken { address });
        assert!(error.is_environment() && error.cure().is_some());
    });
}

#[test]
fn a_controller_that_no_stack_has_stops_before_anything_starts() {
    each(|stack| {
        let set = StackSettings { congestion_control: CongestionControl::Fixed, ..settings(stack) };
        assert_eq!(Listener::bind(&set, any()).unwrap_err().code(), "no_controller");
        assert_eq!(Client::new(set, credentials().trust()).unwrap_err().code(), "no_controller");
    });
}

#[test]
fn a_client_that_goes_away_in_the_middle_leaves_the_server_running() {
    each(|stack| {
        run(async {
            let credentials = credentials();
            let server = serve(&settings(stack), &credentials, origin());
            let path = ObjectId { title: 0, segment: 0, rung: 0 }.path(LARGE);
            let set = StackSettings { fetch_timeout: Duration::from_millis(300), ..settings(stack) };
            let client = Client::new(set, credentials.trust()).unwrap();
            let connection = client.connect(server.address(), NAME).await.unwrap();
            let cut = connection.fetch(&path).await;
            assert_eq!(cut.error.as_ref().map(StackError::code), Some("timeout"), "censored, not missing");
            assert!(cut.bytes > 0 && cut.bytes < LARGE);
            drop(connection);
            let second = client.connect(server.address(), NAME).await.unwrap();
            assert!(second.fetch("/health").await.is_complete());
        });
    });
}

#[test]
fn a_stopped_server_frees_its_port_and_its_clients_are_told_or_time_out() {
    each(|stack| {
        run(async {
            let credentials = credentials();
            let server: Server = serve(&settings(stack), &credentials, origin());
            let address = server.address();
            let client = Client::new(impatient(stack), credentials.trust()).unwrap();
            let connection = client.connect(address, NAME).await.unwrap();
            server.stop().await;
            let record = connection.fetch("/health").await;
            assert!(matches!(record.error.map(|error| error.code()), Some("lost" | "timeout")));
            let mut tries = 0;
            while Listener::bind(&settings(stack), address).is_err() {
                assert!(stack != StackChoice::H2Hyper, "a TCP port is free at once");
                tries += 1;
                assert!(tries < 2_000, "the closing period never ends");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
    });
}
