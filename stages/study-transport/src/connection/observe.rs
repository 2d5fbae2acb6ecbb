//! What a connection tells its recorder. Everything here is out of the way of connections without one.

use super::*;
use crate::qlog::{Carried, Event, Frame, Metrics, Packet, PacketKind, Parameters, Vantage, ranges};
use crate::recovery::{Change, Journal};

/// RFC 9002 section 6.1.1, and what RACK takes for it before its first reordering (RFC 8985 section 6.2).
const PACKET_THRESHOLD: u64 = 3;
/// RFC 9002 section 6.1.2: 9/8.
const TIME_THRESHOLD_EIGHTHS: u64 = 9;

impl<P: Path> Connection<P> {
    /// Begins the logs, before anything is sent.
    pub(super) fn record(&mut self, recording: &Recording, number: usize) {
        let config = &self.config;
        let mut recorder = Recorder::new(recording, number, self.now, config);
        let parameters = Parameters {
            reordering_threshold: PACKET_THRESHOLD,
            time_threshold_eighths: (!config.rules.rack).then_some(TIME_THRESHOLD_EIGHTHS),
            initial_timeout: config.rules.initial_timeout,
            packet_payload: u64::from(config.wire.payload),
            initial_window: self.recovery.window(),
            congestion_control: config.congestion_control.name(),
        };
        recorder.log(Vantage::Server, self.now, &Event::Parameters(parameters));
        recorder.log(Vantage::Client, self.now, &Event::State("attempted"));
        self.recorder = Some(Box::new(recorder));
        self.recovery.journal = Some(Box::new(Journal::default()));
    }

    fn with_recorder(&mut self, f: impl FnOnce(&mut Self, &mut Recorder)) {
        if let Some(mut recorder) = self.recorder.take() {
            f(self, &mut recorder);
            self.recorder = Some(recorder);
        }
    }

    /// A packet of the server with content leaves.
    #[cold]
    pub(super) fn observe_data_sent(&mut self, number: u64, chunk: u64, bytes: u32) {
        self.with_recorder(|connection, recorder| {
            let Some(content) = connection.chunks.get(chunk) else { return };
            let (payload, handshake) = (content.size, content.is_handshake());
            let frames = content.pieces().iter().map(|piece| {
                let length = u64::from(piece.bytes);
                if piece.stream == HANDSHAKE {
                    return Frame::Crypto { offset: recorder.crypto_offset(chunk, length), length };
                }
                let total = connection.receiver.streams[piece.stream as usize].total;
                Frame::Stream {
                    stream: piece.stream,
                    offset: piece.offset,
                    length,
                    fin: piece.offset + length == total,
                }
            });
            let frames = frames.collect();
            let kind = match (handshake, recorder.tcp || chunk > 0) {
                (false, _) => PacketKind::OneRtt,
                (true, true) => PacketKind::Handshake,
                (true, false) => PacketKind::Initial,
            };
            let carried = Carried { kind, bytes, payload: Some(payload), frames };
            let acked = connection.server_acks(recorder);
            recorder.log(Vantage::Server, connection.now, &Event::Sent(carried.packet(Some(number), &acked, None)));
            recorder.carry_down(number, carried);
        });
    }

    /// What the server has received since it last acknowledged: the client's packet numbers.
    fn server_acks(&self, recorder: &mut Recorder) -> Vec<(u64, u64)> {
        let from = std::mem::replace(&mut recorder.server_acked, self.server_log.len());
        self.client_packets(recorder, from..self.server_log.len())
    }

    /// Packet numbers of a part of the server's log.
    fn client_packets(&self, recorder: &Recorder, part: std::ops::Range<usize>) -> Vec<(u64, u64)> {
        let log = self.server_log.get(part).unwrap_or_default();
        ranges(log.iter().filter_map(|transmission| recorder.transmissions.get(*transmission as usize).copied()))
    }

    /// The type of a packet without content, by how far the handshake is.
    fn bare_kind(&self) -> PacketKind {
        if self.established_at == SimTime::NEVER { PacketKind::Handshake } else { PacketKind::OneRtt }
    }

    /// A packet of the server without content: what is logged of it by both sides.
    fn bare<'a>(&self, bytes: u32, acked: &'a [(u64, u64)]) -> Packet<'a> {
        let (kind, frames, payload, ack_delay) = (self.bare_kind(), &[][..], None, None);
        Packet { kind, number: None, bytes, payload, frames, acked, ack_delay }
    }

    /// A SYN-ACK or an acknowledgement of the server leaves.
    #[cold]
    pub(super) fn observe_bare_sent(&mut self, bytes: u32) {
        self.with_recorder(|connection, recorder| {
            let acked = connection.server_acks(recorder);
            recorder.log(Vantage::Server, connection.now, &Event::Sent(connection.bare(bytes, &acked)));
        });
    }

    /// A packet of the client leaves.
    #[cold]
    pub(super) fn observe_up_sent(&mut self, packet: Up, flight: Flight) {
        self.with_recorder(|connection, recorder| {
            if packet.message.is_some() {
                recorder.transmissions.push(u64::from(packet.number));
            }
            let message = packet.message.map(|(slot, _)| connection.client.message(slot));
            let carried = Carried {
                kind: connection.client_kind(recorder, message, flight),
                bytes: packet.bytes,
                payload: None,
                frames: connection.client_frames(message, packet.log_end),
            };
            let acked = ranges(connection.receiver.logged(packet.log_end));
            let (number, delay) = (u64::from(packet.number), connection.ack_delay(packet.held));
            let sent = Event::Sent(carried.packet(Some(number), &acked, delay));
            recorder.log(Vantage::Client, connection.now, &sent);
            recorder.carry_up(number, carried);
        });
    }

    /// QUIC says how long it held an acknowledgement.
    fn ack_delay(&self, held: SimDuration) -> Option<SimDuration> {
        self.config.rules.subtract_ack_delay.then_some(held)
    }

    fn client_kind(&self, recorder: &Recorder, message: Option<Message>, flight: Flight) -> PacketKind {
        let established = self.established_at != SimTime::NEVER;
        match message {
            Some(Message::Prelude | Message::Hello) if !recorder.tcp => PacketKind::Initial,
            Some(Message::Request(_) | Message::Rejected) if !established && !recorder.tcp => PacketKind::ZeroRtt,
            Some(Message::Request(_) | Message::Rejected) => PacketKind::OneRtt,
            _ if flight == Flight::Handshake => PacketKind::Handshake,
            _ => self.bare_kind(),
        }
    }

    /// The content of a client's packet.
    fn client_frames(&self, message: Option<Message>, log_end: u64) -> Vec<Frame> {
        let request = self.config.params.request.get();
        match message {
            Some(Message::Request(stream)) => {
                vec![Frame::Stream { stream, offset: 0, length: request, fin: true }]
            }
            // Over QUIC its length is not modeled: it is in the first, padded datagram.
            Some(Message::Hello) if self.config.wire.hello > 0 => {
                vec![Frame::Crypto { offset: 0, length: u64::from(self.config.wire.hello) }]
            }
            Some(Message::Credit(update)) => vec![
                Frame::MaxData { maximum: update.connection_limit },
                Frame::MaxStreamData { stream: update.stream, maximum: update.stream_limit },
            ],
            Some(Message::Prelude | Message::Hello | Message::KeyExchange | Message::Rejected) => Vec::new(),
            // Nothing to say and nothing to acknowledge: it asks for an answer.
            None if log_end == 0 => vec![Frame::Ping],
            None => Vec::new(),
        }
    }

    /// A packet of the server arrives.
    #[cold]
    pub(super) fn observe_down_arrival(&mut self, packet: Down) {
        self.with_recorder(|connection, recorder| {
            let (Down::Data { client_log, .. } | Down::Bare { client_log }) = packet;
            let acked = connection.client_packets(recorder, connection.client_log_seen..client_log);
            let now = connection.now;
            match packet {
                Down::Data { number, .. } => {
                    let Some(carried) = recorder.down.remove(&number) else { return recorder.miss(Vantage::Client) };
                    let received = Event::Received(carried.packet(Some(number), &acked, None));
                    recorder.log(Vantage::Client, now, &received);
                }
                Down::Bare { .. } => {
                    let bytes = if connection.config.wire.oracle { 0 } else { connection.config.wire.ack };
                    recorder.log(Vantage::Client, now, &Event::Received(connection.bare(bytes, &acked)));
                }
            }
        });
    }

    /// A packet of the client arrives; before anything of it is taken in.
    #[cold]
    pub(super) fn observe_up_arrival(&mut self, packet: Up) {
        self.with_recorder(|connection, recorder| {
            let acked = ranges(connection.receiver.logged(packet.log_end));
            let left = connection.receiver.logged(packet.log_end).filter_map(|n| connection.recovery.sent_at(n)).max();
            recorder.newest_acked = recorder.newest_acked.max(left);
            let number = u64::from(packet.number);
            let Some(carried) = recorder.up.remove(&number) else { return recorder.miss(Vantage::Server) };
            let delay = connection.ack_delay(packet.held);
            let received = Event::Received(carried.packet(Some(number), &acked, delay));
            recorder.log(Vantage::Server, connection.now, &received);
        });
    }

    /// What recovery has found.
    #[cold]
    pub(super) fn observe_changes(&mut self) {
        self.with_recorder(|connection, recorder| {
            let Some(journal) = &mut connection.recovery.journal else { return };
            let changes = std::mem::take(&mut journal.changes);
            let now = connection.now;
            for change in &changes {
                if let Change::Lost { number, trigger } = *change {
                    let kind = recorder.kind(number);
                    recorder.log(Vantage::Server, now, &Event::Lost { kind, number, trigger });
                }
            }
            let restored: Vec<u64> =
                changes.iter().filter_map(|c| if let Change::Restored(n) = c { Some(*n) } else { None }).collect();
            let settled: Vec<u64> =
                changes.iter().filter_map(|c| if let Change::Settled(n) = c { Some(*n) } else { None }).collect();
            if !restored.is_empty() {
                recorder.log(Vantage::Server, now, &Event::Restored(&restored));
            }
            if !settled.is_empty() {
                recorder.log(Vantage::Server, now, &Event::Settled(&settled));
            }
            if changes.contains(&Change::PersistentCongestion) {
                recorder.congestion(now, connection.recovery.controller.phase(), true);
            }
        });
    }

    /// The loss timer fired.
    #[cold]
    pub(super) fn observe_timer(&mut self) {
        self.with_recorder(|connection, recorder| recorder.timer_expired(connection.now));
        self.observe_changes();
    }

    /// After a step: metrics, state and timer, as far as they have changed.
    #[cold]
    pub(super) fn observe_state(&mut self) {
        self.with_recorder(|connection, recorder| {
            let (now, recovery) = (connection.now, &connection.recovery);
            let (rtt, controller) = (&recovery.rtt, &recovery.controller);
            let known = |duration: SimDuration| rtt.is_known().then_some(duration);
            recorder.metrics(
                now,
                Metrics {
                    min_rtt: known(rtt.min()),
                    smoothed_rtt: known(rtt.smoothed()),
                    latest_rtt: known(rtt.latest()),
                    rtt_variance: known(SimDuration::from_nanos(rtt.four_variations().as_nanos() / 4)),
                    pto_count: Some(u64::from(recovery.backoff())),
                    congestion_window: Some(controller.window()),
                    bytes_in_flight: Some(recovery.in_flight),
                    ssthresh: Some(controller.ssthresh()).filter(|bytes| *bytes != u64::MAX),
                    packets_in_flight: Some(recovery.packets_in_flight()),
                    pacing_rate: controller.pacing_rate().map(|rate| (rate * 8.0) as u64),
                },
            );
            let phase = if recovery.in_recovery(recorder.newest_acked) { "recovery" } else { controller.phase() };
            recorder.congestion(now, phase, false);
            recorder.timer(now, recovery.timer_kind(), recovery.timer);
        });
    }

    /// The client's handshake is complete.
    pub(super) fn observe_established(&mut self) {
        self.with_recorder(|connection, recorder| {
            recorder.log(Vantage::Client, connection.now, &Event::State("handshake_complete"));
        });
    }

    /// A stream changes its state on one side.
    pub(super) fn observe_stream(&mut self, vantage: Vantage, stream: u32, new: &'static str) {
        self.with_recorder(|connection, recorder| {
            recorder.log(vantage, connection.now, &Event::Stream { stream, new });
        });
    }
}
