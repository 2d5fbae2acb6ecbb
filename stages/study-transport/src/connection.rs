//! One connection in virtual time: a client that asks, a server that answers, and the packets between them.
//!
//! Drive it with [`Connection::request`], [`Connection::advance`] and [`Connection::respond`]. At equal times arrivals at
//! the client come first, then arrivals at the server, then timers; the order is fixed, so a run repeats exactly.
//!
//! Handshakes: TCP + TLS 1.3 takes two round trips before a request leaves, one with early data; QUIC takes one, none
//! with early data (RFC 8446, RFC 9001). A cold server flight carries the certificate chain; every packet of it can be
//! lost and is repaired like data. A client with a ticket has a token, so the amplification limit holds only when cold.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | TLS records become readable as a whole | bytes are readable as they arrive in order | first byte up to a record earlier over TCP |
//! | three packet number spaces (RFC 9000 section 12.3) | one; packets before their keys are kept unread instead | a handshake's losses are found by later packets only once these can be read |
//! | flow control, HTTP/2 settings | windows are never the limit | none while windows are at least 4 x BDP |
//! | the server's own data in a handshake waits for Finished | it may send 0.5-RTT data | none: requests come after |
//!
//! Consumes no random numbers itself; the path does.

use crate::SessionState;
use crate::client::{ClientSender, Message};
use crate::config::ConnectionConfig;
use crate::lane::Lane;
use crate::receiver::{Delivered, Inbound, Receiver};
use crate::recovery::{MAX_TIMEOUT, Probe, Recovery};
use crate::send_queue::{Availability, Chunk, ChunkStore, HANDSHAKE, SendQueue};
use crate::stats::{ConnectionStats, StreamReport};
use std::collections::VecDeque;
use study_units::{SimDuration, SimTime};

/// Packets that may leave at once after a pause when pacing (RFC 9002 section 7.7: at most an initial window).
const PACING_BURST: u64 = 10;

/// The two directions of the network between client and server.
pub trait Path {
    /// A packet of `ip_bytes` leaves the server; when it arrives, or `None` when it is lost.
    fn send_down(&mut self, now: SimTime, ip_bytes: u32) -> Option<SimTime>;
    /// A packet of `ip_bytes` leaves the client.
    fn send_up(&mut self, now: SimTime, ip_bytes: u32) -> Option<SimTime>;
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
}

#[derive(Debug, Clone, Copy)]
struct StreamMeta {
    requested: SimTime,
    body: u64,
    lost_packets: u32,
    retransmitted: u64,
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
    chunks: ChunkStore,
    queue: SendQueue,
    recovery: Recovery,
    receiver: Receiver,
    client: ClientSender,
    streams: Vec<StreamMeta>,
    /// Requests that wait for the handshake.
    pending: VecDeque<u32>,
    established_at: SimTime,
    hello_sent: bool,
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
    unread: Vec<(u64, u64)>,
    client_probes: u32,
    /// Bytes the server may still send to an unconfirmed address; `None` when confirmed.
    amplification: Option<u64>,
    /// Paced: when the next packet may leave, and the timer that waits for it.
    pace_from: SimTime,
    pace_timer: SimTime,
    /// Steps since time last moved on.
    steps_at_once: u32,
    events: VecDeque<AppEvent>,
    again: VecDeque<usize>,
    done: Vec<Delivered>,
    stats: ConnectionStats,
}

impl<P: Path> Connection<P> {
    /// Opens a connection at `start`: the first packet leaves at once.
    #[must_use]
    pub fn open(config: ConnectionConfig, path: P, start: SimTime) -> Self {
        let controller = config.congestion_control.build(config.wire.payload, &config.params);
        let limited = config.rules.amplification_limit && config.session == SessionState::Cold;
        let mut connection = Self {
            path,
            now: start,
            down: Lane::new(),
            up: Lane::new(),
            chunks: ChunkStore::default(),
            queue: SendQueue::new(&config),
            recovery: Recovery::new(config.rules, config.ack.max_delay, controller),
            receiver: Receiver::new(config.ack, config.rules.per_stream),
            client: ClientSender::new(config.rules, config.ack.max_delay),
            streams: Vec::new(),
            pending: VecDeque::new(),
            established_at: SimTime::NEVER,
            hello_sent: false,
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
            pace_timer: SimTime::NEVER,
            steps_at_once: 0,
            events: VecDeque::new(),
            again: VecDeque::new(),
            done: Vec::new(),
            stats: ConnectionStats::default(),
            config,
        };
        let first = if connection.config.rules.transport_handshake { Message::Syn } else { Message::Hello };
        connection.hello_sent = first == Message::Hello;
        connection.send_message(first);
        connection
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

    /// The client asks, now. The request leaves when the handshake allows it.
    pub fn request(&mut self) -> StreamId {
        let stream = self.streams.len() as u32;
        self.streams.push(StreamMeta { requested: self.now, body: 0, lost_packets: 0, retransmitted: 0 });
        self.receiver.streams.push(Inbound::new());
        self.pending.push_back(stream);
        self.flush_requests();
        StreamId(stream)
    }

    /// The server answers, now, with `body` bytes that become available as `availability` says.
    pub fn respond(&mut self, stream: StreamId, body: u64, availability: Availability) {
        let headers = self.config.params.response_headers.get();
        let total = self.queue.push(self.now, stream.0, body, headers, availability);
        self.streams[stream.0 as usize].body = body;
        self.receiver.streams[stream.0 as usize].total = total;
        self.transmit();
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
            if self.server_owes_ack {
                self.send_bare();
            }
            let (down, up) = (self.down.next(), self.up.next());
            let timers = [
                self.recovery.timer,
                self.receiver.ack_at,
                self.client.timer,
                self.client_probe,
                self.queue.wake,
                self.pace_timer,
            ];
            let timer = timers.into_iter().fold(SimTime::NEVER, SimTime::min);
            let next = down.min(up).min(timer);
            if next > limit || next == SimTime::NEVER {
                if limit != SimTime::NEVER {
                    self.now = self.now.max(limit);
                }
                return None;
            }
            self.watch(next, timers);
            // A deadline that was passed while it was not armed is due now; time never goes back.
            self.now = self.now.max(next);
            self.stats.events += 1;
            if down == next {
                self.on_down();
            } else if up == next {
                self.on_up();
            } else {
                self.on_timers(timers);
            }
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
            "the connection makes no progress at {:?}: {} streams, {} bytes in flight, timers {timers:?}",
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
        (inbound.completed != SimTime::NEVER).then(|| StreamReport {
            requested: meta.requested,
            first_byte: inbound.first_byte,
            completed: inbound.completed,
            hol_wait: inbound.completed.since(inbound.arrived_all),
            bytes: meta.body,
            lost_packets: meta.lost_packets,
            retransmitted: meta.retransmitted,
        })
    }

    fn on_timers(&mut self, [loss, ack, client, probe, wake, pace]: [SimTime; 6]) {
        let now = self.now;
        if loss <= now {
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

    // ---- client side ----

    fn on_down(&mut self) {
        let Some((_, packet)) = self.down.pop() else { return };
        let (Down::Data { client_log, .. } | Down::Bare { client_log }) = packet;
        if client_log > self.client_log_seen {
            let fresh = self.server_log[self.client_log_seen..client_log].iter().copied();
            self.client.on_acked(self.now, fresh, &mut self.again);
            self.client_log_seen = client_log;
            self.repeat_messages();
        }
        if !self.hello_sent && self.client.is_acked(0) {
            self.hello_sent = true;
            self.send_message(Message::Hello);
            self.flush_requests();
        }
        if self.established_at == SimTime::NEVER && self.config.rules.amplification_limit {
            self.client_probes = 0;
            self.client_probe = self.now + self.client.timeout();
        }
        if let Down::Data { number, chunk, .. } = packet {
            if self.lacks_keys(chunk) {
                self.unread.push((number, chunk));
                return;
            }
            self.read(number, chunk);
            // What waited for the keys that this packet brought.
            for (number, chunk) in std::mem::take(&mut self.unread) {
                if self.lacks_keys(chunk) {
                    self.unread.push((number, chunk));
                } else {
                    self.read(number, chunk);
                }
            }
        }
    }

    /// Whether a packet cannot be read yet: chunk 0 carries ServerHello, the handshake's end brings the last keys.
    fn lacks_keys(&self, chunk: u64) -> bool {
        if !self.config.rules.keys_first || self.established_at != SimTime::NEVER {
            return false;
        }
        if self.is_handshake(chunk) {
            chunk != 0 && self.chunks.get(0).is_some_and(|first| !first.received)
        } else {
            true
        }
    }

    fn is_handshake(&self, chunk: u64) -> bool {
        self.chunks.get(chunk).is_some_and(Chunk::is_handshake)
    }

    fn read(&mut self, number: u64, chunk: u64) {
        let ack_now = self.receiver.on_packet(self.now, number, chunk, &mut self.chunks, &mut self.done);
        let mut done = std::mem::take(&mut self.done);
        for delivered in done.drain(..) {
            match delivered {
                Delivered::Handshake => self.establish(),
                Delivered::Completed(stream) => self.events.push_back(AppEvent::Completed(StreamId(stream))),
            }
        }
        self.done = done;
        if ack_now {
            self.send_ack();
        }
    }

    /// RFC 9002 section 6.2.2.1: until the handshake is complete the client never stops asking, so that a server at its
    /// limit gets budget; before it has read anything the packet is a padded Initial.
    fn send_client_probe(&mut self) {
        let bytes = if self.receiver.log_end() == 0 { self.config.wire.first_client } else { self.config.wire.ack };
        self.put_up(None, bytes);
        self.client_probes += 1;
        self.client_probe = self.now + (self.client.timeout() * (1 << self.client_probes.min(10))).min(MAX_TIMEOUT);
    }

    fn establish(&mut self) {
        self.established_at = self.now;
        self.client_probe = SimTime::NEVER;
        self.flush_requests();
    }

    fn flush_requests(&mut self) {
        let early = self.config.session == SessionState::ZeroRtt && self.hello_sent;
        if self.established_at == SimTime::NEVER && !early {
            return;
        }
        while let Some(stream) = self.pending.pop_front() {
            self.send_message(Message::Request(stream));
        }
    }

    fn send_message(&mut self, message: Message) {
        let (slot, transmission) = self.client.send(self.now, message);
        self.send_up(Some((slot, transmission)));
    }

    fn repeat_messages(&mut self) {
        while let Some(slot) = self.again.pop_front() {
            let transmission = self.client.repeat(self.now, slot);
            self.send_up(Some((slot, transmission)));
        }
    }

    fn send_ack(&mut self) {
        self.send_up(None);
    }

    /// Every client packet also acknowledges.
    fn send_up(&mut self, message: Option<(usize, u64)>) {
        let wire = &self.config.wire;
        let bytes = match message.map(|(slot, _)| self.client.message(slot)) {
            _ if wire.oracle => 0,
            None => wire.ack,
            Some(Message::Syn) => wire.first_client,
            Some(Message::Hello) if !self.config.rules.transport_handshake => wire.first_client,
            Some(Message::Hello) => wire.client_header + wire.hello,
            Some(Message::Request(_)) => wire.client_header + self.config.params.request.get() as u32,
        };
        self.put_up(message, bytes);
    }

    fn put_up(&mut self, message: Option<(usize, u64)>, bytes: u32) {
        let (log_end, held) = self.receiver.ack_sent(self.now);
        self.stats.client_packets += 1;
        if let Some(at) = self.path.send_up(self.now, bytes) {
            self.up.push(at, Up { message, log_end, held, bytes });
        }
    }

    // ---- server side ----

    fn on_up(&mut self) {
        let Some((_, packet)) = self.up.pop() else { return };
        if let Some(budget) = &mut self.amplification {
            *budget += 3 * u64::from(packet.bytes);
            // Anything but the first flight proves that the client receives what is sent to it.
            if packet.log_end > 0 {
                self.amplification = None;
            }
        }
        self.recovery.on_ack(
            self.now,
            packet.log_end,
            packet.held,
            &mut self.receiver,
            &mut self.chunks,
            &mut self.stats,
        );
        if let Some((slot, transmission)) = packet.message {
            self.on_message(slot, transmission);
        }
        self.transmit();
    }

    fn on_message(&mut self, slot: usize, transmission: u64) {
        if self.server_received.len() <= slot {
            self.server_received.resize(slot + 1, false);
        }
        if self.config.rules.keys_first && slot != 0 && !self.server_received[0] {
            self.server_received[slot] = true;
            self.early.push(transmission);
            return;
        }
        self.server_log.push(transmission);
        self.server_owes_ack = true;
        if self.server_received[slot] {
            return;
        }
        self.server_received[slot] = true;
        // TCP reads its stream in order; QUIC reads nothing before the Initial.
        if !self.config.rules.per_stream || self.server_next == 0 {
            while self.server_received.get(self.server_next).copied().unwrap_or(false) {
                let message = self.client.message(self.server_next);
                self.server_next += 1;
                self.on_client_message(message);
                if self.config.rules.per_stream {
                    self.deliver_buffered();
                }
            }
        } else {
            self.server_next = self.server_next.max(slot + 1);
            self.on_client_message(self.client.message(slot));
        }
    }

    /// QUIC: the Initial has come, so everything that came before it can be read.
    fn deliver_buffered(&mut self) {
        self.server_log.append(&mut self.early);
        for slot in self.server_next..self.server_received.len() {
            if self.server_received[slot] {
                self.on_client_message(self.client.message(slot));
            }
        }
        self.server_next = self.server_received.len().max(1);
    }

    fn on_client_message(&mut self, message: Message) {
        match message {
            // The SYN-ACK is the acknowledgement that the server owes.
            Message::Syn => {}
            Message::Hello => {
                // TCP's third handshake packet gives the server a sample: the client's of its SYN, by symmetry.
                if let Some(rtt) = self.client.latest_rtt().filter(|_| self.config.rules.transport_handshake) {
                    self.recovery.rtt.update(rtt, SimDuration::ZERO);
                }
                let chain = if self.config.session == SessionState::Cold {
                    self.config.params.certificate_chain.get()
                } else {
                    0
                };
                let bytes = chain + u64::from(self.config.wire.server_handshake);
                self.receiver.handshake.total = bytes;
                self.queue.push_handshake(bytes);
            }
            Message::Request(stream) => self.events.push_back(AppEvent::RequestArrived(StreamId(stream))),
        }
    }

    /// Sends all that window and data allow.
    fn transmit(&mut self) {
        let mss = u64::from(self.config.wire.payload);
        if self.config.params.idle_restart && self.queue.has_data() && self.recovery.is_idle(self.now) {
            self.recovery.controller.on_idle_restart(self.now);
        }
        if std::mem::take(&mut self.recovery.fast_retransmit) {
            self.send_lost();
        }
        loop {
            let window = self.recovery.controller.window();
            if self.recovery.in_flight + mss > window && self.recovery.in_flight > 0 {
                self.recovery.window_limited = true;
                break;
            }
            if self.limited_by_amplification() {
                break;
            }
            if self.held_by_pacing() {
                break;
            }
            if !self.send_lost() && !self.send_new() {
                self.recovery.window_limited = false;
                break;
            }
            self.pace();
        }
        self.recovery.arm();
    }

    fn is_paced(&self) -> bool {
        self.config.params.pacing || self.recovery.controller.pacing_rate().is_some()
    }

    /// Paced, and the next packet's time has not come: sets the timer.
    fn held_by_pacing(&mut self) -> bool {
        self.pace_timer = SimTime::NEVER;
        let has_work = !self.recovery.lost.is_empty() || self.queue.has_data();
        let held = self.is_paced() && self.pace_from > self.now && has_work;
        if held {
            // Whoever is held by pacing uses the window as far as pacing lets it.
            self.recovery.window_limited = true;
            self.pace_timer = self.pace_from;
        }
        held
    }

    /// RFC 9002 section 7.7: interval = srtt / window * size / 1.25, with credit for a burst of up to ten packets after a pause.
    fn pace(&mut self) {
        if !self.is_paced() || !self.recovery.rtt.is_known() {
            return;
        }
        let mss = u64::from(self.config.wire.payload);
        let srtt = self.recovery.rtt.smoothed().as_nanos();
        let by_window = (u128::from(srtt) * u128::from(mss) * 4
            / 5
            / u128::from(self.recovery.controller.window().max(mss))) as u64;
        let interval = match self.recovery.controller.pacing_rate() {
            Some(rate) => (mss as f64 / rate * 1e9) as u64,
            None => by_window,
        };
        let earliest = self.now.as_nanos().saturating_sub(interval * (PACING_BURST - 1));
        self.pace_from = SimTime::from_nanos(self.pace_from.as_nanos().max(earliest) + interval);
    }

    fn send_lost(&mut self) -> bool {
        while let Some(chunk) = self.recovery.lost.pop_front() {
            if self.chunks.get(chunk).is_some_and(|c| !c.acked) {
                self.count_loss(chunk);
                self.send_chunk(chunk);
                return true;
            }
        }
        false
    }

    fn send_new(&mut self) -> bool {
        let Some(chunk) = self.queue.next_chunk(self.now) else { return false };
        let number = self.chunks.push(chunk);
        self.send_chunk(number);
        true
    }

    fn count_loss(&mut self, chunk: u64) {
        let Some(content) = self.chunks.get(chunk) else { return };
        self.stats.retransmitted += u64::from(content.size);
        for piece in content.pieces().iter().filter(|p| p.stream != HANDSHAKE) {
            let meta = &mut self.streams[piece.stream as usize];
            meta.lost_packets += 1;
            meta.retransmitted += u64::from(piece.bytes);
        }
    }

    fn send_chunk(&mut self, chunk: u64) {
        let Some(content) = self.chunks.get(chunk) else { return };
        let wire = &self.config.wire;
        let bytes = match (wire.oracle, content.is_handshake()) {
            (true, true) => 0,
            (true, false) => wire.header + wire.payload,
            (false, _) => wire.header + content.size,
        };
        let number = self.recovery.on_sent(self.now, chunk, content.size);
        self.put_down(bytes, |client_log| Down::Data { number, chunk, client_log });
        self.stats.packets_sent += 1;
    }

    /// A SYN-ACK or an acknowledgement without data.
    fn send_bare(&mut self) {
        let bytes = if self.config.wire.oracle { 0 } else { self.config.wire.ack };
        self.put_down(bytes, |client_log| Down::Bare { client_log });
    }

    /// Every server packet also acknowledges.
    fn put_down(&mut self, bytes: u32, packet: impl FnOnce(usize) -> Down) {
        self.server_owes_ack = false;
        if let Some(budget) = &mut self.amplification {
            *budget = budget.saturating_sub(u64::from(bytes));
        }
        if let Some(at) = self.path.send_down(self.now, bytes) {
            self.down.push(at, packet(self.server_log.len()));
        }
    }

    fn limited_by_amplification(&self) -> bool {
        let payload = u64::from(self.config.wire.payload);
        let next = self.queue.next_handshake().unwrap_or(payload) + u64::from(self.config.wire.header);
        self.amplification.is_some_and(|budget| budget < next)
    }

    fn on_recovery_timer(&mut self) {
        if self.limited_by_amplification() {
            // RFC 9002 section 6.2.2.1: nothing may be sent before the client is heard of; its packet arms the timer anew.
            self.recovery.timer = SimTime::NEVER;
            return;
        }
        match self.recovery.on_timer(self.now, &mut self.chunks, &mut self.stats) {
            Probe::None => {}
            Probe::Oldest(packets) => {
                let oldest: Vec<u64> = (self.chunks.oldest()..self.chunks.end())
                    .filter(|c| self.chunks.get(*c).is_some_and(|x| !x.acked))
                    .take(packets as usize)
                    .collect();
                let mut oldest = oldest.into_iter().peekable();
                for _ in 0..packets {
                    if self.limited_by_amplification() {
                        break;
                    }
                    // Without the handshake the client can read nothing new.
                    let handshake = oldest.peek().is_some_and(|chunk| self.is_handshake(*chunk));
                    let sent = self.send_lost() || (!handshake && self.send_new());
                    if !sent && let Some(chunk) = oldest.next() {
                        self.count_loss(chunk);
                        self.send_chunk(chunk);
                    }
                }
            }
            Probe::Newest => {
                if !self.send_new() {
                    let newest = (self.chunks.oldest()..self.chunks.end())
                        .rev()
                        .find(|c| self.chunks.get(*c).is_some_and(|x| !x.acked));
                    if let Some(chunk) = newest {
                        self.count_loss(chunk);
                        self.send_chunk(chunk);
                    }
                }
            }
        }
        self.transmit();
    }
}
