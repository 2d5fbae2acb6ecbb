//! What the client does with packets, keys, requests and acknowledgements.

use super::*;

impl<P: Path> Connection<P> {
    pub(super) fn on_down(&mut self) {
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

    pub(super) fn read(&mut self, number: u64, chunk: u64) {
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
    pub(super) fn send_client_probe(&mut self) {
        let bytes = if self.receiver.log_end() == 0 { self.config.wire.first_client } else { self.config.wire.ack };
        self.put_up(None, bytes);
        self.client_probes += 1;
        self.client_probe = self.now + (self.client.timeout() * (1 << self.client_probes.min(10))).min(MAX_TIMEOUT);
    }

    pub(super) fn establish(&mut self) {
        self.established_at = self.now;
        self.client_probe = SimTime::NEVER;
        self.flush_requests();
    }

    pub(super) fn flush_requests(&mut self) {
        let early = self.config.session == SessionState::ZeroRtt && self.hello_sent;
        if self.established_at == SimTime::NEVER && !early {
            return;
        }
        while let Some(stream) = self.pending.pop_front() {
            self.send_message(Message::Request(stream));
        }
    }

    pub(super) fn send_message(&mut self, message: Message) {
        let (slot, transmission) = self.client.send(self.now, message);
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

    pub(super) fn put_up(&mut self, message: Option<(usize, u64)>, bytes: u32) {
        let (log_end, held) = self.receiver.ack_sent(self.now);
        self.stats.client_packets += 1;
        let flight = match message.map(|(slot, _)| self.client.message(slot)) {
            Some(Message::Request(_)) => Flight::Request,
            Some(Message::Syn | Message::Hello) => Flight::Handshake,
            None if self.established_at == SimTime::NEVER => Flight::Handshake,
            None => Flight::Ack,
        };
        let packet = Up { message, log_end, held, bytes };
        match self.path.send(self.now, Heading::Up, bytes, flight) {
            Fate::Arrives(at) => self.up.push(at, packet),
            Fate::Lost => {}
            Fate::Undecided => self.undecided_up.push_back(packet),
        }
    }
}
