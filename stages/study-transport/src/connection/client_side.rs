//! What the client does with packets, keys, requests and acknowledgements.

use super::*;
use crate::config::RECORD_OVERHEAD;
use crate::qlog::Vantage;

/// ClientKeyExchange with a P-256 point (5 + 4 + 66), ChangeCipherSpec (6), Finished under AES-GCM (5 + 8 + 16 + 16); RFC 5246, RFC 8422.
const KEY_EXCHANGE: u32 = 126;
/// Two WINDOW_UPDATE frames (RFC 9113 section 6.9).
const WINDOW_UPDATE: u32 = 26;
/// MAX_DATA and MAX_STREAM_DATA with small stream ids and limits of four bytes (RFC 9000 sections 19.9 and 19.10).
const MAX_DATA: u32 = 11;

impl<P: Path> Connection<P> {
    pub(super) fn on_down(&mut self) {
        let Some((_, packet)) = self.down.pop() else { return };
        if self.recorder.is_some() {
            self.observe_down_arrival(packet);
        }
        let (Down::Data { client_log, .. } | Down::Bare { client_log }) = packet;
        if client_log > self.client_log_seen {
            let fresh = self.server_log[self.client_log_seen..client_log].iter().copied();
            self.client.on_acked(self.now, fresh, &mut self.again);
            self.client_log_seen = client_log;
            self.repeat_messages();
        }
        self.last_heard = self.now;
        if !self.hello_sent && self.client.is_acked(self.preludes_sent - 1) {
            self.shake_hands();
            self.flush_requests();
        }
        if self.established_at == SimTime::NEVER && self.config.rules.amplification_limit {
            self.client_probes = 0;
            self.client_probe = self.now + self.client.timeout();
        }
        if let Down::Data { number, chunk, sent, .. } = packet {
            if self.lacks_keys(chunk) {
                self.unread.push((number, chunk, sent));
                return;
            }
            self.account.on_arrival(self.now.since(sent));
            self.read(number, chunk, sent);
            if self.unread.is_empty() {
                return;
            }
            // What waited for the keys that this packet brought.
            for (number, chunk, sent) in std::mem::take(&mut self.unread) {
                if self.lacks_keys(chunk) {
                    self.unread.push((number, chunk, sent));
                } else {
                    self.read(number, chunk, sent);
                }
            }
        }
    }

    /// Whether a packet cannot be read yet: chunk 0 carries ServerHello, the handshake's end brings the last keys.
    pub(super) fn lacks_keys(&self, chunk: u64) -> bool {
        if !self.config.rules.keys_first || self.established_at != SimTime::NEVER {
            return false;
        }
        if self.is_handshake(chunk) {
            chunk != 0 && self.chunks.get(0).is_some_and(|first| !first.received)
        } else {
            true
        }
    }

    pub(super) fn is_handshake(&self, chunk: u64) -> bool {
        self.chunks.get(chunk).is_some_and(Chunk::is_handshake)
    }

    /// The client's next step before it has sent its ClientHello.
    pub(super) fn shake_hands(&mut self) {
        self.hello_sent = self.preludes_sent == self.preludes;
        if self.hello_sent {
            self.send_message(Message::Hello);
        } else {
            self.preludes_sent += 1;
            self.send_message(Message::Prelude);
        }
    }

    pub(super) fn read(&mut self, number: u64, chunk: u64, sent: SimTime) {
        let ack_now = self.receiver.on_packet(self.now, number, chunk, &mut self.chunks, &mut self.done);
        self.explain(chunk, sent);
        if !self.done.is_empty() {
            self.on_delivered();
        }
        self.tune_window();
        let mut acknowledged = false;
        while let Some(update) = self.receiver.credit.as_mut().and_then(Credit::take_due) {
            // It acknowledges as well.
            self.send_message(Message::Credit(update));
            acknowledged = true;
        }
        if ack_now && !acknowledged {
            self.send_ack();
        }
    }

    /// What the last packet completed.
    fn on_delivered(&mut self) {
        let mut done = std::mem::take(&mut self.done);
        for delivered in done.drain(..) {
            match delivered {
                Delivered::Handshake if std::mem::take(&mut self.second_flight) => {
                    self.send_message(Message::KeyExchange);
                }
                Delivered::Handshake => self.establish(),
                Delivered::Completed(stream) => {
                    self.observe_stream(Vantage::Client, stream, "closed");
                    self.events.push_back(AppEvent::Completed(StreamId(stream)));
                }
            }
        }
        self.done = done;
    }

    /// Accounts for the streams whose last missing bytes a packet that has just arrived brought.
    #[inline]
    fn explain(&mut self, chunk: u64, sent: SimTime) {
        let Some(content) = self.chunks.get(chunk) else { return };
        for piece in content.pieces().iter().filter(|p| p.stream != HANDSHAKE) {
            let (inbound, meta) =
                (&self.receiver.streams[piece.stream as usize], &mut self.streams[piece.stream as usize]);
            if inbound.arrived_all == self.now
                && let Some(way) = meta.spent.under_way()
            {
                let (asked, before) = (meta.requested, piece.offset);
                let parts = self.account.parts(self.now, asked, way, before, &content.first_sent, sent);
                meta.spent = Spent::Known(parts);
            }
        }
    }

    /// RFC 9002 section 6.2.2.1: until the handshake is complete the client never stops asking, so that a server at its
    /// limit gets budget; before it has read anything the packet is a padded Initial.
    pub(super) fn send_client_probe(&mut self) {
        let bytes = if self.receiver.log_end() == 0 { self.config.wire.first_client } else { self.config.wire.ack };
        self.put_up(None, bytes);
        self.client_probes += 1;
        self.client_probe = self.now + (self.client.timeout() * (1 << self.client_probes.min(10))).min(MAX_TIMEOUT);
    }

    pub(super) fn establish(&mut self) {
        self.established_at = self.now;
        self.observe_established();
        self.client.establish(self.config.ack.max_delay);
        self.client_probe = SimTime::NEVER;
        // Early data that the server did not take goes first.
        for stream in self.thrown_away.drain(..).rev() {
            self.pending.push_front(stream);
        }
        self.flush_requests();
    }

    pub(super) fn flush_requests(&mut self) {
        let established = self.established_at != SimTime::NEVER;
        let early = self.config.sends_early() && self.hello_sent;
        if !established && !early {
            return;
        }
        let taken = established || self.config.session != SessionState::ZeroRttRejected;
        while let Some(stream) = self.pending.pop_front() {
            if taken {
                if let Some(way) = self.streams[stream as usize].spent.under_way() {
                    way.left = self.now;
                }
                self.send_message(Message::Request(stream));
            } else {
                self.thrown_away.push(stream);
                self.send_message(Message::Rejected);
            }
        }
    }

    pub(super) fn send_message(&mut self, message: Message) {
        let (slot, transmission) = self.client.send(self.now, message);
        if let Message::Request(stream) = message {
            self.observe_stream(Vantage::Client, stream, "open");
        }
        self.send_up(Some((slot, transmission)));
    }

    pub(super) fn repeat_messages(&mut self) {
        while let Some(slot) = self.again.pop_front() {
            let transmission = self.client.repeat(self.now, slot);
            self.send_up(Some((slot, transmission)));
        }
    }

    pub(super) fn send_ack(&mut self) {
        self.send_up(None);
    }

    /// Every client packet also acknowledges.
    pub(super) fn send_up(&mut self, message: Option<(usize, u64)>) {
        let bytes = match message.map(|(slot, _)| self.client.message(slot)) {
            _ if self.config.wire.oracle => 0,
            None => self.config.wire.ack,
            Some(message) => self.message_bytes(message),
        };
        self.put_up(message, bytes);
    }

    /// Bytes of a client packet with this content, IP header included.
    fn message_bytes(&self, message: Message) -> u32 {
        let (wire, tcp) = (&self.config.wire, self.config.rules.transport_handshake);
        let request = self.config.params.request.get() as u32;
        match message {
            Message::Prelude => wire.first_client,
            Message::Hello if !tcp => wire.first_client,
            Message::Hello if self.preludes == 0 => wire.first_client + wire.hello,
            Message::Hello => wire.client_header + wire.hello,
            Message::KeyExchange => wire.client_header + KEY_EXCHANGE,
            Message::Request(0) => wire.client_header + request + wire.preface,
            Message::Request(_) | Message::Rejected => wire.client_header + request,
            Message::Credit(_) if tcp => wire.client_header + WINDOW_UPDATE + RECORD_OVERHEAD,
            Message::Credit(_) => wire.ack + MAX_DATA,
        }
    }

    pub(super) fn put_up(&mut self, message: Option<(usize, u64)>, bytes: u32) {
        let (log_end, held) = self.receiver.ack_sent(self.now);
        let window = self.auto_window.map_or(self.peer_window, |auto| auto.window);
        let number = self.stats.client_packets as u32;
        self.stats.client_packets += 1;
        let flight = match message.map(|(slot, _)| self.client.message(slot)) {
            Some(Message::Request(_) | Message::Rejected) => Flight::Request,
            Some(Message::Prelude | Message::Hello | Message::KeyExchange) => Flight::Handshake,
            Some(Message::Credit(_)) => Flight::Ack,
            None if self.established_at == SimTime::NEVER => Flight::Handshake,
            None => Flight::Ack,
        };
        let packet = Up { message, log_end, held, bytes, number, window };
        if self.recorder.is_some() {
            self.observe_up_sent(packet, flight);
        }
        match self.path.send(self.now, Heading::Up, bytes, flight) {
            Fate::Arrives(at) => self.up.push(at, packet),
            Fate::Lost => {}
            Fate::Undecided => self.undecided_up.push_back(packet),
        }
    }
}
