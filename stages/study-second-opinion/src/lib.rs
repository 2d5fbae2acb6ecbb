//! A second opinion on the transport model: the state machines of `quinn-proto` in virtual time, over the same links.
//!
//! Purpose: [`fetch`] runs a real QUIC client and server, without sockets, and carries their datagrams through two
//! [`study_link::Direction`]s; the tests compare completion times and packets with the model under profile `quinn-0.11`.
//!
//! Sizes repeat (an Ed25519 chain, fixed seeds for connection ids), contents do not (TLS draws its own keys): what a link
//! sees is equal from run to run.
//!
//! Random streams consumed: those of the links.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod credentials;
mod endpoint;

pub use credentials::Credentials;

use endpoint::{Datagram, Side};
use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{Dir, Event, StreamEvent, TransportConfig, VarInt};
use std::sync::Arc;
use std::time::{Duration, Instant};
use study_link::{Direction, Verdict};
use study_transport::CongestionControl;
use study_units::{SimDuration, SimTime};

/// IPv4 and UDP headers.
const HEADERS: u32 = 28;

/// One object over one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fetch {
    /// `cubic` or `newreno`.
    pub congestion_control: CongestionControl,
    /// Bytes of the request.
    pub request: u64,
    /// Bytes of the response.
    pub response: u64,
    /// UDP payload of a full datagram, 1,200 to 1,472; discovery is off.
    pub datagram: u16,
    /// The transfer is given up after this time.
    pub limit: SimDuration,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// From the first datagram to the end of the handshake at the client.
    pub handshake: SimDuration,
    /// From the first datagram to the first byte of the response.
    pub first_byte: SimDuration,
    /// From the first datagram to the last byte; `None` when the limit came first.
    pub completed: Option<SimDuration>,
    /// Datagrams that the server sent.
    pub sent: u64,
    /// Packets that the server declared lost.
    pub lost: u64,
    /// Datagrams that the client sent.
    pub client_sent: u64,
    /// When the server sent each datagram.
    pub times: Vec<SimDuration>,
    /// Time and congestion window of the server, in bytes, at each change.
    pub windows: Vec<(SimDuration, u64)>,
}

/// Why a fetch could not be run.
#[derive(Debug)]
pub struct Refused(pub String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "quinn refuses: {}", self.0)
    }
}

impl std::error::Error for Refused {}

/// Fetches one object, with quinn's defaults but for what [`Fetch`] says, wide windows and no discovery of larger datagrams.
///
/// # Errors
/// [`Refused`] when quinn does not take the configuration, or the controller is one that this comparison does not have.
pub fn fetch(fetch: &Fetch, credentials: &Credentials, links: (Direction, Direction)) -> Result<Outcome, Refused> {
    let transport = Arc::new(transport(fetch)?);
    let epoch = epoch();
    let mut server = Side::server(credentials, Arc::clone(&transport))?;
    let mut client = Side::client(credentials, transport, epoch)?;
    Run { fetch, epoch, now: SimTime::ZERO, links, down: Vec::new(), up: Vec::new(), outcome: blank() }
        .run(&mut client, &mut server)
}

/// quinn measures from an `Instant`, and there is no other way to make one.
#[expect(clippy::disallowed_methods, reason = "the zero of virtual time; only differences to it are used")]
fn epoch() -> Instant {
    Instant::now()
}

fn transport(fetch: &Fetch) -> Result<TransportConfig, Refused> {
    let factory: Arc<dyn ControllerFactory + Send + Sync> = match fetch.congestion_control {
        CongestionControl::Cubic => Arc::new(CubicConfig::default()),
        CongestionControl::NewReno => Arc::new(NewRenoConfig::default()),
        other => return Err(Refused(format!("no controller `{}` is compared here", other.name()))),
    };
    let mut transport = TransportConfig::default();
    let wide = VarInt::from_u32(1 << 30);
    transport
        .congestion_controller_factory(factory)
        .initial_mtu(fetch.datagram)
        .min_mtu(1_200)
        .mtu_discovery_config(None)
        .stream_receive_window(wide)
        .receive_window(wide)
        .send_window(1 << 32)
        .max_idle_timeout(None)
        .enable_segmentation_offload(false);
    Ok(transport)
}

const fn blank() -> Outcome {
    Outcome {
        handshake: SimDuration::ZERO,
        first_byte: SimDuration::ZERO,
        completed: None,
        sent: 0,
        lost: 0,
        client_sent: 0,
        times: Vec::new(),
        windows: Vec::new(),
    }
}

/// A fetch under way. At equal times arrivals at the client come first, then at the server, then timers, as in the model.
struct Run<'a> {
    fetch: &'a Fetch,
    epoch: Instant,
    now: SimTime,
    links: (Direction, Direction),
    down: Vec<(SimTime, Datagram)>,
    up: Vec<(SimTime, Datagram)>,
    outcome: Outcome,
}

impl Run<'_> {
    fn run(mut self, client: &mut Side, server: &mut Side) -> Result<Outcome, Refused> {
        let mut body = vec![0; self.fetch.response as usize];
        body.fill(7);
        let (mut asked, mut request_seen, mut written, mut received) = (None, 0u64, None, 0u64);
        loop {
            self.send(client, server);
            let now = self.instant();
            // The client.
            while let Some(event) = client.poll() {
                if matches!(event, Event::Connected) {
                    self.outcome.handshake = self.elapsed();
                    let streams = client.connection().map(|c| c.streams().open(Dir::Bi));
                    if let Some(id) = streams.flatten() {
                        client.write(id, &vec![1; self.fetch.request as usize], true);
                        asked = Some(id);
                    }
                }
            }
            if let Some(id) = asked {
                let got = client.read(id);
                if got > 0 && received == 0 {
                    self.outcome.first_byte = self.elapsed();
                }
                received += got;
                if received == self.fetch.response {
                    self.outcome.completed = Some(self.elapsed());
                    break;
                }
            }
            // The server.
            while let Some(event) = server.poll() {
                if matches!(event, Event::Stream(StreamEvent::Opened { dir: Dir::Bi }))
                    && let Some(id) = server.connection().and_then(|c| c.streams().accept(Dir::Bi))
                {
                    written = Some((id, 0usize));
                }
            }
            if let Some((id, from)) = &mut written {
                if request_seen < self.fetch.request {
                    request_seen += server.read(*id);
                }
                if request_seen == self.fetch.request && *from < body.len() {
                    *from += server.write(*id, &body[*from..], true);
                }
            }
            self.send(client, server);
            self.watch_window(server);
            if !self.step(client, server, now) {
                break;
            }
        }
        if let Some(connection) = server.connection() {
            self.outcome.lost = connection.stats().path.lost_packets;
        }
        Ok(self.outcome)
    }

    fn elapsed(&self) -> SimDuration {
        self.now.since(SimTime::ZERO)
    }
    fn instant(&self) -> Instant {
        self.epoch + Duration::from_nanos(self.now.as_nanos())
    }
    fn watch_window(&mut self, server: &mut Side) {
        let Some(window) = server.connection().map(|c| c.stats().path.cwnd) else { return };
        if self.outcome.windows.last().is_none_or(|(_, last)| *last != window) {
            self.outcome.windows.push((self.elapsed(), window));
        }
    }

    /// Puts what both want to send on the links.
    fn send(&mut self, client: &mut Side, server: &mut Side) {
        let now = self.instant();
        for datagram in client.transmit(now) {
            self.outcome.client_sent += 1;
            if let Verdict::Deliver(at) = self.links.1.send(self.now, datagram.len() as u32 + HEADERS) {
                insert(&mut self.up, at, datagram);
            }
        }
        for datagram in server.transmit(now) {
            self.outcome.sent += 1;
            self.outcome.times.push(self.elapsed());
            if let Verdict::Deliver(at) = self.links.0.send(self.now, datagram.len() as u32 + HEADERS) {
                insert(&mut self.down, at, datagram);
            }
        }
    }

    /// Moves on to what comes next; whether there is anything within the limit.
    fn step(&mut self, client: &mut Side, server: &mut Side, now: Instant) -> bool {
        let arrival = |lane: &[(SimTime, Datagram)]| lane.first().map_or(SimTime::NEVER, |(at, _)| *at);
        let timer = |side: &mut Side| {
            let due = side.connection().and_then(|c| c.poll_timeout());
            due.map_or(SimTime::NEVER, |due| {
                let since = due.saturating_duration_since(self.epoch).as_nanos() as u64;
                SimTime::from_nanos(since).max(self.now)
            })
        };
        let (down, up) = (arrival(&self.down), arrival(&self.up));
        let (client_timer, server_timer) = (timer(client), timer(server));
        let next = down.min(up).min(client_timer).min(server_timer);
        if next == SimTime::NEVER || next.since(SimTime::ZERO) > self.fetch.limit {
            return false;
        }
        debug_assert!(self.instant() == now, "time moves here only");
        self.now = next;
        let at = self.instant();
        if down == next {
            client.receive(at, self.down.remove(0).1);
        } else if up == next {
            server.receive(at, self.up.remove(0).1);
        } else if client_timer == next {
            client.on_timer(at);
        } else {
            server.on_timer(at);
        }
        true
    }
}

/// In order of arrival, behind what arrives at the same time.
fn insert(lane: &mut Vec<(SimTime, Datagram)>, at: SimTime, datagram: Datagram) {
    let position = lane.partition_point(|(arrival, _)| *arrival <= at);
    lane.insert(position, (at, datagram));
}
