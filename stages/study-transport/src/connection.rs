//! One connection in virtual time: a client that asks, a server that answers, and the packets between them.
//!
//! Drive it with [`Connection::request`], [`Connection::advance`] and [`Connection::respond`]. At equal times arrivals at
//! the client come first, then arrivals at the server, then timers; the order is fixed, so a run repeats exactly.
//!
//! Handshakes: TCP + TLS 1.3 takes two round trips before a request leaves, one with early data, none with Fast Open as
//! well; TLS 1.2 takes one more, or as many when resumed (RFC 8446, 5246, 7413). QUIC takes one, none with early data, one
//! more for Retry and for Version Negotiation (RFC 9000, 9001). A cold server flight carries the certificate chain; every packet of it can be
//! lost and is repaired like data. A client with a ticket has a token, so the amplification limit holds only when cold.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | TLS records become readable as a whole | where `tls_record` says so; else bytes are readable as they arrive in order | first byte up to a record earlier over TCP |
//! | a SYN with Fast Open carries data up to one segment, the rest waits for the SYN-ACK | the requests follow the SYN at once | none for one request |
//! | QUIC does not acknowledge early data that it rejects | it does | no needless probe of the client |
//! | three packet number spaces (RFC 9000 section 12.3) | one; packets before their keys are kept unread instead | a handshake's losses are found by later packets only once these can be read |
//! | the server's own data in a handshake waits for Finished | it may send 0.5-RTT data | none: requests come after |
//!
//! Consumes no random numbers itself; the path does.

mod client_side;
mod observe;
mod server_side;
mod transmit;
mod windows;

use crate::SessionState;
use crate::account::{Account, Cause, Milestones, Spent};
use crate::client::{ClientSender, Message};
use crate::config::{ConnectionConfig, Limit, Priority};
use crate::flow::{AutoWindow, Credit};
use crate::lane::Lane;
use crate::pacing::BurstPacer;
use crate::qlog::{Recorder, Recording, Trace};
use crate::receiver::{Delivered, Inbound, Receiver};
use crate::recovery::{MAX_TIMEOUT, Probe, Recovery};
use crate::send_queue::{Availability, Chunk, ChunkStore, HANDSHAKE, SendQueue};
use crate::stats::{ConnectionStats, StreamReport};
use std::collections::VecDeque;
use study_units::{SimDuration, SimTime};

/// Packets that may leave at once after a pause when pacing (RFC 9002 section 7.7: at most an initial window).
const PACING_BURST: u64 = 10;

/// What becomes of a packet that was given to the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It arrives at that instant.
    Arrives(SimTime),
    /// It is lost.
    Lost,
    /// [`Path::resolve`] will tell, in the order of sending of its direction.
    Undecided,
}

impl From<Option<SimTime>> for Fate {
    fn from(arrival: Option<SimTime>) -> Self {
        arrival.map_or(Self::Lost, Self::Arrives)
    }
}

/// A direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heading {
    /// From the server to the client.
    Down,
    /// From the client to the server.
    Up,
}

/// What a packet belongs to; a path may give each its own random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flight {
    /// The handshake.
    Handshake,
    /// A request.
    Request,
    /// Data of a response.
    Response,
    /// An acknowledgement or a probe without content.
    Ack,
}

/// The two directions of the network between client and server.
pub trait Path {
    /// A packet of `ip_bytes` leaves the server at `now`.
    fn send_down(&mut self, now: SimTime, ip_bytes: u32) -> Fate;
    /// A packet of `ip_bytes` leaves the client at `now`.
    fn send_up(&mut self, now: SimTime, ip_bytes: u32) -> Fate;
    /// The same, for paths to which it matters what the packet belongs to.
    #[inline]
    fn send(&mut self, now: SimTime, heading: Heading, ip_bytes: u32, _flight: Flight) -> Fate {
        match heading {
            Heading::Down => self.send_down(now, ip_bytes),
            Heading::Up => self.send_up(now, ip_bytes),
        }
    }
    /// When an undecided packet's fate is known next; `NEVER` for paths that always decide at once.
    #[inline]
    fn next_event(&self) -> SimTime {
        SimTime::NEVER
    }
    /// A fate that is known at `now`: that of the oldest undecided packet of the direction; when it arrives, or `None` for lost.
    #[inline]
    fn resolve(&mut self, _now: SimTime) -> Option<(Heading, Option<SimTime>)> {
        None
    }
}

/// A request and its response, numbered from 0 in the order of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

/// Something the application must know; it happens at [`Connection::now`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppEvent {
    /// The server has a request: answer with [`Connection::respond`].
    RequestArrived(StreamId),
    /// The client has the whole response.
    Completed(StreamId),
}

#[derive(Debug, Clone, Copy)]
enum Down {
    Data {
        number: u64,
        chunk: u64,
        client_log: usize,
        sent: SimTime,
    },
    /// SYN-ACK, or an acknowledgement without data.
    Bare {
        client_log: usize,
    },
}

#[derive(Debug, Clone, Copy)]
struct Up {
    /// Slot and transmission of a client message; `None` for an acknowledgement without content.
    message: Option<(usize, u64)>,
    log_end: u64,
    held: SimDuration,
    bytes: u32,
    /// Its number among the client's packets.
    number: u32,
    /// The receive window it announces.
    window: u64,
}

#[derive(Debug, Clone, Copy)]
struct StreamMeta {
    requested: SimTime,
    spent: Spent,
    body: u64,
    lost_packets: u32,
    retransmitted: u64,
    priority: Priority,
}

/// A connection between one client and one server.
#[derive(Debug)]
pub struct Connection<P> {
    /// The network.
    pub path: P,
    config: ConnectionConfig,
    now: SimTime,
    down: Lane<Down>,
    up: Lane<Up>,
    undecided_down: VecDeque<Down>,
    undecided_up: VecDeque<Up>,
    chunks: ChunkStore,
    queue: SendQueue,
    recovery: Recovery,
    receiver: Receiver,
    client: ClientSender,
    streams: Vec<StreamMeta>,
    /// Requests that wait for the handshake.
    pending: VecDeque<u32>,
    established_at: SimTime,
    /// Exchanges before the ClientHello, and how many of them have begun.
    preludes: usize,
    preludes_sent: usize,
    hello_sent: bool,
    /// Full TLS 1.2 handshake: the client's second flight is still to come.
    second_flight: bool,
    /// Requests sent as early data that the server throws away.
    thrown_away: Vec<u32>,
    /// Anti-deadlock probe of a QUIC client during the handshake (RFC 9002 section 6.2.2.1).
    client_probe: SimTime,
    /// Transmissions that the server has received, in order.
    server_log: Vec<u64>,
    client_log_seen: usize,
    server_received: Vec<bool>,
    server_next: usize,
    /// The server owes the client an acknowledgement.
    server_owes_ack: bool,
    /// Transmissions that came before the Initial: kept, not acknowledged.
    early: Vec<u64>,
    /// Packets (number, chunk) that came before their keys.
    unread: Vec<(u64, u64, SimTime)>,
    client_probes: u32,
    /// Bytes the server may still send to an unconfirmed address; `None` when confirmed.
    amplification: Option<u64>,
    /// Paced: when the next packet may leave, and the timer that waits for it.
    pace_from: SimTime,
    /// Paced in bursts instead.
    burst_pacer: Option<BurstPacer>,
    pace_timer: SimTime,
    /// Client: the receive window, where it is tuned.
    auto_window: Option<AutoWindow>,
    /// Server: the receive window last announced.
    peer_window: u64,
    /// Since when the server has had data that only a window or buffer held back; `NEVER` when it is not so.
    blocked_since: SimTime,
    /// When either side last heard from the other, or the application last did something.
    last_heard: SimTime,
    gave_up: bool,
    label: Box<str>,
    /// Steps since time last moved on.
    steps_at_once: u32,
    events: VecDeque<AppEvent>,
    again: VecDeque<usize>,
    done: Vec<Delivered>,
    account: Account,
    stats: ConnectionStats,
    /// Writes the logs, where they are wanted.
    recorder: Option<Box<Recorder>>,
}

impl<P: Path> Connection<P> {
    /// Opens a connection at `start`: the first packet leaves at once.
    #[must_use]
    pub fn open(config: ConnectionConfig, path: P, start: SimTime) -> Self {
        Self::open_with(config, path, start, None)
    }

    /// Opens a connection at `start` that writes logs; its client's connection number `number`, from 0.
    #[must_use]
    pub fn open_recorded(
        config: ConnectionConfig,
        path: P,
        start: SimTime,
        recording: &Recording,
        number: usize,
    ) -> Self {
        Self::open_with(config, path, start, Some((recording, number)))
    }

    fn open_with(config: ConnectionConfig, path: P, start: SimTime, recording: Option<(&Recording, usize)>) -> Self {
        let controller = config.congestion_control.build(&config);
        let limited =
            config.rules.amplification_limit && config.session == SessionState::Cold && !config.handshake.retry;
        let (auto_window, peer_window) = match config.flow.receive_window {
            Limit::Unlimited => (None, u64::MAX),
            Limit::Size(bytes) => (None, bytes.get()),
            Limit::Auto => {
                let auto = AutoWindow::new(u64::from(config.wire.payload));
                (Some(auto), auto.window)
            }
        };
        let mut receiver = Receiver::new(config.ack, config.rules.per_stream);
        receiver.credit = Credit::new(&config.flow);
        receiver.records = config.wire.tls_record > 0;
        let mut connection = Self {
            path,
            now: start,
            down: Lane::new(),
            up: Lane::new(),
            undecided_down: VecDeque::new(),
            undecided_up: VecDeque::new(),
            chunks: ChunkStore::default(),
            queue: SendQueue::new(&config),
            recovery: Recovery::new(config.rules, config.ack.max_delay, controller, config.wire.payload),
            receiver,
            client: ClientSender::new(config.rules),
            streams: Vec::new(),
            pending: VecDeque::new(),
            established_at: SimTime::NEVER,
            preludes: config.preludes(),
            preludes_sent: 0,
            hello_sent: false,
            second_flight: config.handshake.tls_1_2 && config.session == SessionState::Cold,
            thrown_away: Vec::new(),
            client_probe: SimTime::NEVER,
            server_log: Vec::new(),
            client_log_seen: 0,
            server_received: Vec::new(),
            server_next: 0,
            server_owes_ack: false,
            early: Vec::new(),
            unread: Vec::new(),
            client_probes: 0,
            amplification: limited.then_some(0),
            pace_from: SimTime::ZERO,
            burst_pacer: config.sender.burst_pacing.then(|| BurstPacer::new(u64::from(config.wire.payload), start)),
            pace_timer: SimTime::NEVER,
            auto_window,
            peer_window,
            blocked_since: SimTime::NEVER,
            last_heard: start,
            gave_up: false,
            label: "connection".into(),
            steps_at_once: 0,
            events: VecDeque::new(),
            again: VecDeque::new(),
            done: Vec::new(),
            account: Account::new(start),
            stats: ConnectionStats::default(),
            recorder: None,
            config,
        };
        if let Some((recording, number)) = recording {
            connection.record(recording, number);
        }
        connection.shake_hands();
        connection
    }

    /// Names the connection in messages about it.
    pub fn set_label(&mut self, label: &str) {
        self.label = label.into();
    }

    /// The time that the connection has reached.
    #[must_use]
    pub const fn now(&self) -> SimTime {
        self.now
    }
    /// When the handshake was complete at the client; `NEVER` before.
    #[must_use]
    pub const fn established_at(&self) -> SimTime {
        self.established_at
    }
    /// Counters.
    #[must_use]
    pub const fn stats(&self) -> &ConnectionStats {
        &self.stats
    }
    /// Whether the connection was given up because nothing came back (`give_up`); nothing happens on it any more.
    #[must_use]
    pub const fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// The client asks, now. The request leaves when the handshake allows it.
    pub fn request(&mut self) -> StreamId {
        self.request_with(Priority::default())
    }

    /// The client asks, now, and says how urgent it is.
    pub fn request_with(&mut self, priority: Priority) -> StreamId {
        self.last_heard = self.now;
        let stream = self.streams.len() as u32;
        self.streams.push(StreamMeta {
            requested: self.now,
            spent: Spent::UnderWay(Milestones::default()),
            body: 0,
            lost_packets: 0,
            retransmitted: 0,
            priority,
        });
        self.receiver.streams.push(Inbound::new());
        self.pending.push_back(stream);
        if !self.gave_up {
            self.flush_requests();
        }
        StreamId(stream)
    }

    /// The server answers, now, with `body` bytes that become available as `availability` says.
    pub fn respond(&mut self, stream: StreamId, body: u64, availability: Availability) {
        if self.gave_up {
            return;
        }
        self.last_heard = self.now;
        if stream.0 == 0 && self.config.sender.control_bytes > 0 {
            self.queue.push_control(self.config.sender.control_bytes);
        }
        let headers = self.config.params.response_headers.get();
        let meta = &mut self.streams[stream.0 as usize];
        meta.body = body;
        if let Some(way) = meta.spent.under_way() {
            way.answered = self.account.totals(self.now);
        }
        let priority = meta.priority;
        self.set_commit();
        let total = self.queue.push(self.now, (stream.0, priority), body, headers, availability);
        self.receiver.streams[stream.0 as usize].total = total;
        self.transmit();
    }

    /// The logs of both sides, ended now; nothing unless the connection was opened to write them, and nothing a second time.
    pub fn take_traces(&mut self) -> Vec<Trace> {
        let (now, gave_up) = (self.now, self.gave_up);
        self.recovery.journal = None;
        self.recorder.take().map_or_else(Vec::new, |recorder| recorder.finish(now, gave_up).into())
    }

    /// Keeps the times at which bytes of the current response arrive, for [`Connection::take_curve`].
    pub fn record_curve(&mut self) {
        self.receiver.curve = Some(Vec::new());
    }
    /// The (time, bytes delivered) points since [`Connection::record_curve`].
    pub fn take_curve(&mut self) -> Vec<(SimTime, u64)> {
        self.receiver.curve.take().unwrap_or_default()
    }

    /// Simulates until something happens that the application must know, or until `limit`.
    pub fn advance(&mut self, limit: SimTime) -> Option<AppEvent> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if !self.step(limit) {
                if limit != SimTime::NEVER {
                    self.now = self.now.max(limit);
                }
                return None;
            }
        }
    }

    /// Simulates the next step, unless it comes after `limit`; whether there was one.
    #[inline]
    pub(crate) fn step(&mut self, limit: SimTime) -> bool {
        self.flush();
        let (down, up, path, timers) = (self.down.next(), self.up.next(), self.path.next_event(), self.timers());
        let next = timers.into_iter().fold(down.min(up).min(path), SimTime::min);
        if next > limit || next == SimTime::NEVER {
            return false;
        }
        self.watch(next, timers);
        // A deadline that was passed while it was not armed is due now; time never goes back.
        self.now = self.now.max(next);
        self.stats.events += 1;
        if path == next {
            self.on_path();
        } else if down == next {
            self.on_down();
        } else if up == next {
            self.on_up();
        } else {
            self.on_timers(timers);
        }
        true
    }

    #[inline]
    const fn timers(&self) -> [SimTime; 6] {
        [
            self.recovery.timer,
            self.receiver.ack_at,
            self.client.timer,
            self.client_probe,
            self.queue.wake,
            self.pace_timer,
        ]
    }

    /// Sends what is owed before the next step; whether there was something.
    #[inline]
    pub(crate) fn flush(&mut self) -> bool {
        let owed = self.server_owes_ack;
        if owed {
            self.send_bare();
        }
        owed
    }

    /// When the next step is due; a deadline that has passed is due now, and so is what is owed.
    pub(crate) fn next_step(&self) -> SimTime {
        if self.server_owes_ack {
            return self.now;
        }
        self.timers().into_iter().fold(self.down.next().min(self.up.next()), SimTime::min).max(self.now)
    }

    /// Time has moved on while this connection had nothing to do.
    pub(crate) fn wait_until(&mut self, now: SimTime) {
        self.now = self.now.max(now);
    }

    /// When [`Connection::advance`] has something to do next, the path's events included; `NEVER` when all is quiet.
    #[must_use]
    pub fn next_time(&self) -> SimTime {
        if self.server_owes_ack || !self.events.is_empty() {
            return self.now;
        }
        let lanes = self.down.next().min(self.up.next()).min(self.path.next_event());
        self.timers().into_iter().fold(lanes, SimTime::min).max(self.now)
    }

    /// The path knows what becomes of a packet that was undecided.
    fn on_path(&mut self) {
        match self.path.resolve(self.now) {
            Some((Heading::Down, arrival)) => {
                if let (Some(packet), Some(at)) = (self.undecided_down.pop_front(), arrival) {
                    self.down.push(at, packet);
                }
            }
            Some((Heading::Up, arrival)) => {
                if let (Some(packet), Some(at)) = (self.undecided_up.pop_front(), arrival) {
                    self.up.push(at, packet);
                }
            }
            None => {}
        }
    }

    /// A connection that makes no progress is a mistake of the model: say so instead of running for ever.
    ///
    /// # Panics
    /// After a million steps without a nanosecond of progress.
    #[inline]
    fn watch(&mut self, next: SimTime, timers: [SimTime; 6]) {
        self.steps_at_once = if next > self.now { 0 } else { self.steps_at_once + 1 };
        assert!(
            self.steps_at_once < 1_000_000,
            "{} makes no progress at {:?}: {} streams, {} bytes in flight, timers {timers:?}",
            self.label,
            self.now,
            self.streams.len(),
            self.recovery.in_flight
        );
    }

    /// The next event that has happened already, without simulating further.
    pub fn poll(&mut self) -> Option<AppEvent> {
        self.events.pop_front()
    }

    /// What the client saw of a stream; `None` before it is complete.
    #[must_use]
    pub fn report(&self, stream: StreamId) -> Option<StreamReport> {
        let (meta, inbound) = (self.streams.get(stream.0 as usize)?, self.receiver.streams.get(stream.0 as usize)?);
        if inbound.completed == SimTime::NEVER {
            return None;
        }
        Some(StreamReport {
            requested: meta.requested,
            first_byte: inbound.first_byte,
            completed: inbound.completed,
            hol_wait: inbound.completed.since(inbound.arrived_all),
            parts: meta.spent.parts()?.with_hol(inbound.completed.since(inbound.arrived_all)),
            bytes: meta.body,
            lost_packets: meta.lost_packets,
            retransmitted: meta.retransmitted,
        })
    }

    fn on_timers(&mut self, [loss, ack, client, probe, wake, pace]: [SimTime; 6]) {
        let now = self.now;
        if loss.min(client).min(probe) <= now && self.is_hopeless() {
            self.give_up();
        } else if loss <= now {
            self.on_recovery_timer();
        } else if ack <= now {
            self.send_ack();
        } else if client <= now {
            self.client.on_timer(now, &mut self.again);
            self.repeat_messages();
        } else if probe <= now {
            self.send_client_probe();
        } else if wake <= now {
            self.queue.refresh(now);
            self.transmit();
        } else if pace <= now {
            self.pace_timer = SimTime::NEVER;
            self.transmit();
        }
    }
}
