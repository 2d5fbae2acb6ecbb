//! How the server sends: window, pacing, repairs and probes.

use super::*;

impl<P: Path> Connection<P> {
    /// Sends all that window and data allow.
    pub(super) fn transmit(&mut self) {
        let mss = u64::from(self.config.wire.payload);
        self.set_commit();
        if self.config.params.idle_restart && self.queue.has_data() && self.recovery.is_idle(self.now) {
            self.recovery.controller.on_idle_restart(self.now);
        }
        if std::mem::take(&mut self.recovery.fast_retransmit) {
            self.send_lost();
        }
        let sent_before = self.stats.packets_sent;
        let mut nothing_to_send = false;
        // Sending moves neither.
        let (window, paced) = (self.recovery.window(), self.is_paced());
        loop {
            let needed = self.recovery.in_flight + mss + u64::from(self.config.sender.strict_window);
            if needed > window && self.recovery.in_flight > 0 {
                self.recovery.window_limited = true;
                break;
            }
            if self.limited_by_amplification() {
                break;
            }
            if self.held_by_pacing(paced) {
                break;
            }
            if !self.send_lost() && !self.send_new() {
                self.recovery.window_limited = false;
                nothing_to_send = true;
                break;
            }
            if paced {
                self.pace();
            }
        }
        self.account.held_by(self.now, self.cause(nothing_to_send));
        self.note_blocked(nothing_to_send, self.stats.packets_sent > sent_before);
        self.recovery.arm(&self.chunks);
        if self.recorder.is_some() {
            self.observe_state();
        }
    }

    /// What holds the server back from now on.
    #[inline]
    fn cause(&self, nothing_to_send: bool) -> Cause {
        match (nothing_to_send, &self.recovery.controller) {
            (true, _) if self.is_blocked() => Cause::FlowControl,
            (true, _) => Cause::Application,
            _ if self.limited_by_amplification() => Cause::Address,
            (_, controller) if controller.window() < controller.ssthresh() => Cause::SlowStart,
            _ => Cause::Avoidance,
        }
    }

    pub(super) fn is_paced(&self) -> bool {
        self.config.params.pacing || self.recovery.controller.pacing_rate().is_some()
    }

    /// Paced, and the next packet's time has not come: sets the timer.
    pub(super) fn held_by_pacing(&mut self, paced: bool) -> bool {
        self.pace_timer = SimTime::NEVER;
        if !paced {
            return false;
        }
        let has_work = !self.recovery.lost.is_empty() || self.queue.has_data();
        let until = if has_work { self.pace_until() } else { None };
        if let Some(until) = until {
            // Whoever is held by pacing uses the window as far as pacing lets it.
            self.recovery.window_limited = true;
            self.pace_timer = until;
        }
        until.is_some()
    }

    /// When the next packet may leave, if not now.
    fn pace_until(&mut self) -> Option<SimTime> {
        match &mut self.burst_pacer {
            Some(pacer) if self.recovery.rtt.is_known() => {
                pacer.delay(self.now, self.recovery.controller.window(), self.recovery.rtt.smoothed())
            }
            Some(_) => None,
            None => (self.pace_from > self.now).then_some(self.pace_from),
        }
    }

    /// RFC 9002 section 7.7: interval = srtt / window * size / 1.25, with credit for a burst of up to ten packets after a pause.
    pub(super) fn pace(&mut self) {
        let mss = u64::from(self.config.wire.payload);
        if let Some(pacer) = &mut self.burst_pacer {
            pacer.on_sent(mss);
            return;
        }
        if !self.recovery.rtt.is_known() {
            return;
        }
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

    pub(super) fn send_lost(&mut self) -> bool {
        while let Some(chunk) = self.recovery.lost.pop_front() {
            if self.chunks.get(chunk).is_some_and(|c| !c.acked) {
                self.count_loss(chunk);
                self.send_chunk(chunk);
                return true;
            }
        }
        false
    }

    pub(super) fn send_new(&mut self) -> bool {
        let Some(room) = self.room() else { return false };
        let (now, queue, account) = (self.now, &mut self.queue, &mut self.account);
        let number = self.chunks.push_with(|chunk| {
            let some = queue.cut(now, room, chunk);
            if some {
                chunk.first_sent = account.on_first_sent(now, chunk.size);
            }
            some
        });
        if let Some(number) = number {
            self.send_chunk(number);
        }
        number.is_some()
    }

    pub(super) fn count_loss(&mut self, chunk: u64) {
        let Some(content) = self.chunks.get(chunk) else { return };
        self.stats.retransmitted += u64::from(content.size);
        for piece in content.pieces().iter().filter(|p| p.stream != HANDSHAKE) {
            let meta = &mut self.streams[piece.stream as usize];
            meta.lost_packets += 1;
            meta.retransmitted += u64::from(piece.bytes);
        }
    }

    pub(super) fn send_chunk(&mut self, chunk: u64) {
        let Some(content) = self.chunks.get(chunk) else { return };
        let wire = &self.config.wire;
        let bytes = match (wire.oracle, content.is_handshake()) {
            (true, true) => 0,
            (true, false) => wire.header + wire.payload,
            (false, _) => wire.header + content.size,
        };
        let flight = if content.is_handshake() { Flight::Handshake } else { Flight::Response };
        let sent = self.now;
        let number = self.recovery.on_sent(self.now, chunk, content.size);
        if self.recorder.is_some() {
            self.observe_data_sent(number, chunk, bytes);
        }
        self.put_down(bytes, flight, |client_log| Down::Data { number, chunk, client_log, sent });
        self.stats.packets_sent += 1;
    }

    /// A SYN-ACK or an acknowledgement without data.
    pub(super) fn send_bare(&mut self) {
        let bytes = if self.config.wire.oracle { 0 } else { self.config.wire.ack };
        let flight = if self.established_at == SimTime::NEVER { Flight::Handshake } else { Flight::Ack };
        if self.recorder.is_some() {
            self.observe_bare_sent(bytes);
        }
        self.put_down(bytes, flight, |client_log| Down::Bare { client_log });
    }

    /// Every server packet also acknowledges.
    pub(super) fn put_down(&mut self, bytes: u32, flight: Flight, packet: impl FnOnce(usize) -> Down) {
        self.server_owes_ack = false;
        if let Some(budget) = &mut self.amplification {
            *budget = budget.saturating_sub(u64::from(bytes));
        }
        match self.path.send(self.now, Heading::Down, bytes, flight) {
            Fate::Arrives(at) => self.down.push(at, packet(self.server_log.len())),
            Fate::Lost => {}
            Fate::Undecided => self.undecided_down.push_back(packet(self.server_log.len())),
        }
    }

    pub(super) fn limited_by_amplification(&self) -> bool {
        let payload = u64::from(self.config.wire.payload);
        let next = || self.queue.next_handshake().unwrap_or(payload) + u64::from(self.config.wire.header);
        self.amplification.is_some_and(|budget| budget < next())
    }

    pub(super) fn on_recovery_timer(&mut self) {
        if self.limited_by_amplification() {
            // RFC 9002 section 6.2.2.1: nothing may be sent before the client is heard of; its packet arms the timer anew.
            self.recovery.timer = SimTime::NEVER;
            return;
        }
        let probe = self.recovery.on_timer(self.now, &mut self.chunks, &mut self.stats);
        if self.recorder.is_some() {
            self.observe_timer();
        }
        match probe {
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
