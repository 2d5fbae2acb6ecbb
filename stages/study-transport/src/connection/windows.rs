//! What limits the server besides congestion control: the client's windows, its own send buffer, and patience.
//!
//! TCP may have `min(receive window, send buffer)` bytes beyond the first unacknowledged one, so that rate is at most
//! window / RTT. New segments are full, or at least half of the largest window (RFC 9293 section 3.8.6.2.1).

use super::*;
use crate::flow::LARGEST_SEND_BUFFER;

impl<P: Path> Connection<P> {
    /// Bytes of the send buffer.
    fn send_buffer(&self) -> u64 {
        match self.config.flow.send_buffer {
            Limit::Unlimited => u64::MAX,
            // Linux doubles what is asked for (socket(7)).
            Limit::Size(bytes) => bytes.get() * 2,
            Limit::Auto => (self.recovery.controller.window() * 2).min(LARGEST_SEND_BUFFER),
        }
    }

    /// Bytes of new data that windows and buffers leave room for; `None` when a segment does not fit.
    #[inline]
    pub(super) fn room(&self) -> Option<u64> {
        let flow = &self.config.flow;
        if flow.receive_window == Limit::Unlimited && flow.send_buffer == Limit::Unlimited {
            return Some(u64::MAX);
        }
        let window = self.peer_window.min(self.send_buffer());
        let room = window.saturating_sub(self.chunks.outstanding());
        let least = u64::from(self.config.wire.payload).min(window.div_ceil(2)).max(1);
        (room >= least).then_some(room)
    }

    /// How far ahead of the wire the HTTP layer commits: its own buffer and the socket's, as far as `notsent_lowat` lets it.
    #[inline]
    pub(super) fn set_commit(&mut self) {
        let flow = &self.config.flow;
        if flow.http_send_buffer == 0 && flow.send_buffer == Limit::Unlimited {
            return;
        }
        let socket = match flow.send_buffer {
            Limit::Unlimited => 0,
            _ => self.send_buffer().saturating_sub(self.chunks.outstanding()),
        };
        let commit = flow.http_send_buffer.saturating_add(socket);
        self.queue.commit = commit.min(flow.notsent_lowat.unwrap_or(u64::MAX));
        self.queue.fill(self.now);
    }

    /// Whether only windows or buffers hold the server back.
    pub(super) fn is_blocked(&self) -> bool {
        self.queue.is_flow_blocked() || (self.queue.has_data() && self.room().is_none())
    }

    /// Counts how often and how long the server was held back by windows or buffers.
    #[inline]
    pub(super) fn note_blocked(&mut self, nothing_to_send: bool, sent: bool) {
        let was_blocked = self.blocked_since != SimTime::NEVER;
        let blocked = nothing_to_send && self.is_blocked();
        self.stats.flow_blocked += u64::from(blocked && (sent || !was_blocked));
        if blocked && !was_blocked {
            self.blocked_since = self.now;
        } else if was_blocked && !blocked {
            self.stats.flow_blocked_time = self.stats.flow_blocked_time + self.now.since(self.blocked_since);
            self.blocked_since = SimTime::NEVER;
        }
    }

    /// Autotuning of the receive window.
    #[inline]
    pub(super) fn tune_window(&mut self) {
        if let Some(auto) = &mut self.auto_window
            && let Some(rtt) = self.client.latest_rtt()
        {
            auto.on_read(self.now, self.receiver.in_order, rtt);
        }
    }

    /// Whether something has been under way for so long without an answer that a real stack gives up.
    pub(super) fn is_hopeless(&self) -> bool {
        self.now.since(self.last_heard) > self.config.params.give_up
    }

    /// Nothing happens on the connection any more.
    pub(super) fn give_up(&mut self) {
        self.gave_up = true;
        self.down = Lane::new();
        self.up = Lane::new();
        (self.recovery.timer, self.receiver.ack_at, self.client.timer) =
            (SimTime::NEVER, SimTime::NEVER, SimTime::NEVER);
        (self.client_probe, self.queue.wake, self.pace_timer) = (SimTime::NEVER, SimTime::NEVER, SimTime::NEVER);
    }
}
