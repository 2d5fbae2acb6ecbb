//! What the server does with packets, handshake messages and requests.

use super::*;
use crate::qlog::Vantage;

/// The server's last flight of a full TLS 1.2 handshake: ChangeCipherSpec (6), Finished under AES-GCM (45); RFC 5246.
const SECOND_FLIGHT: u64 = 51;

impl<P: Path> Connection<P> {
    pub(super) fn on_up(&mut self) {
        let Some((_, packet)) = self.up.pop() else { return };
        if self.recorder.is_some() {
            self.observe_up_arrival(packet);
        }
        self.last_heard = self.now;
        self.peer_window = packet.window;
        let prelude = packet.message.is_some_and(|(slot, _)| slot < self.preludes);
        if let Some(budget) = self.amplification.as_mut().filter(|_| !prelude) {
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
        if self.recorder.is_some() {
            self.observe_changes();
        }
        if let Some((slot, transmission)) = packet.message {
            self.on_message(slot, transmission);
        }
        self.transmit();
    }

    pub(super) fn on_message(&mut self, slot: usize, transmission: u64) {
        if self.server_received.len() <= slot {
            self.server_received.resize(slot + 1, false);
        }
        let hello = self.preludes;
        if self.config.rules.keys_first && slot > hello && !self.server_received[hello] {
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
        if !self.config.rules.per_stream || self.server_next <= hello {
            while self.server_received.get(self.server_next).copied().unwrap_or(false) {
                let message = self.client.message(self.server_next);
                self.server_next += 1;
                self.on_client_message(message);
                if self.config.rules.per_stream && self.server_next > hello {
                    self.deliver_buffered();
                }
            }
        } else {
            self.server_next = self.server_next.max(slot + 1);
            self.on_client_message(self.client.message(slot));
        }
    }

    /// QUIC: the Initial has come, so everything that came before it can be read.
    pub(super) fn deliver_buffered(&mut self) {
        self.server_log.append(&mut self.early);
        for slot in self.server_next..self.server_received.len() {
            if self.server_received[slot] {
                self.on_client_message(self.client.message(slot));
            }
        }
        self.server_next = self.server_received.len().max(self.server_next);
    }

    pub(super) fn on_client_message(&mut self, message: Message) {
        match message {
            // The SYN-ACK is the acknowledgement that the server owes; so are Retry and Version Negotiation.
            Message::Prelude | Message::Rejected => {}
            Message::KeyExchange => {
                self.receiver.handshake.total += SECOND_FLIGHT;
                self.receiver.handshake.completed = SimTime::NEVER;
                self.queue.push_handshake(SECOND_FLIGHT);
            }
            Message::Credit(update) => {
                self.queue.on_credit(self.now, update.stream, update.stream_limit, update.connection_limit);
            }
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
            Message::Request(stream) => {
                self.observe_stream(Vantage::Server, stream, "half_closed_remote");
                self.events.push_back(AppEvent::RequestArrived(StreamId(stream)));
            }
        }
    }
}
