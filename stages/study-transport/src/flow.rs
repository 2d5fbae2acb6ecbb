//! The reader's side of flow control: what it allows the sender.
//!
//! *Credit* (HTTP/2, RFC 9113 section 6.9; QUIC, RFC 9000 section 4): limits on the bytes of a stream and of all streams. A
//! limit is raised to `read + window` when a share of the window (half) is read since the last time; the update travels
//! with a packet of the client and is repeated until acknowledged. The application reads at once what is there in order.
//!
//! *Autotuned receive window* (TCP, Linux `tcp_rcv_space_adjust`): once per round trip, with `c` bytes read during it and
//! `s` during the one before, when c > s:
//!
//! ```text
//! window = max(window, w + 2 w (c - s) / s),  w = 2 c + 16 MSS      [bytes], at most 6 MiB
//! ```
//!
//! | reference | here | effect |
//! |---|---|---|
//! | one packet carries updates of several streams | a packet for each | some bytes more where a packet brings bytes of two streams |
//! | an update of a stream raises its own limit and sometimes the connection's (two frames) | always both | some bytes fewer |
//! | Linux counts kernel memory (`truesize`) against 6 MiB | payload | the largest window is up to twice Linux's |
//! | Linux measures a round trip at the receiver | the client's latest sample | none without queues on the way up |
//! | QUIC repeats the newest limit only | each update is repeated until acknowledged | some bytes after a loss |
//!
//! Consumes no random numbers.

use crate::config::FlowRules;
use std::collections::{BTreeMap, VecDeque};
use study_units::{SimDuration, SimTime};

/// Window that Linux begins with: half of `tcp_rmem[1]` = 131,072 (tcp(7)).
pub const FIRST_WINDOW: u64 = 65_536;
/// `tcp_rmem[2]` (tcp(7)).
pub const LARGEST_WINDOW: u64 = 6 << 20;
/// `tcp_wmem[2]` (tcp(7)).
pub const LARGEST_SEND_BUFFER: u64 = 4 << 20;

/// New limits to be told to the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update {
    pub stream: u32,
    pub stream_limit: u64,
    pub connection_limit: u64,
}

/// What has been read and promised of one stream, or of all.
#[derive(Debug, Clone, Copy)]
struct Account {
    window: u64,
    /// The limit is raised when so many bytes of the window are read.
    step: u64,
    read: u64,
    limit: u64,
}

impl Account {
    fn new(window: Option<u64>, step: u64) -> Self {
        let window = window.unwrap_or(u64::MAX);
        Self { window, step: window.div_ceil(step.max(1)), read: 0, limit: window }
    }
    /// Reads; whether the limit is to be raised.
    fn read(&mut self, bytes: u64) -> bool {
        self.read += bytes;
        self.window != u64::MAX && self.window - (self.limit - self.read) >= self.step
    }
    fn raise(&mut self) {
        if self.window != u64::MAX {
            self.limit = self.read + self.window;
        }
    }
}

/// Credit of HTTP/2 or QUIC at the client.
#[derive(Debug)]
pub struct Credit {
    rules: FlowRules,
    connection: Account,
    streams: Vec<Account>,
    /// QUIC: bytes that came after a hole of their stream: (stream, offset) and length.
    ahead: BTreeMap<(u32, u64), u64>,
    /// Updates to be sent, at most one for each stream that a packet brought bytes of.
    due: VecDeque<Update>,
}

impl Credit {
    /// `None` when nothing is limited.
    pub fn new(rules: &FlowRules) -> Option<Self> {
        (rules.stream_window.is_some() || rules.connection_window.is_some()).then(|| Self {
            rules: *rules,
            connection: Account::new(rules.connection_window, rules.credit_step),
            streams: Vec::new(),
            ahead: BTreeMap::new(),
            due: VecDeque::new(),
        })
    }

    /// Bytes of a stream have arrived at `offset`; what they make readable in order is read at once.
    pub fn on_bytes(&mut self, stream: u32, offset: u64, bytes: u64) {
        let index = stream as usize;
        if self.streams.len() <= index {
            self.streams.resize(index + 1, Account::new(self.rules.stream_window, self.rules.credit_step));
        }
        let mut next = self.streams[index].read;
        if offset > next {
            self.ahead.insert((stream, offset), bytes);
            return;
        }
        next += bytes;
        while let Some(more) = self.ahead.remove(&(stream, next)) {
            next += more;
        }
        let read = next - self.streams[index].read;
        let stream_due = self.streams[index].read(read);
        if self.connection.read(read) || stream_due {
            self.streams[index].raise();
            self.connection.raise();
            self.due.push_back(Update {
                stream,
                stream_limit: self.streams[index].limit,
                connection_limit: self.connection.limit,
            });
        }
    }

    /// The next update that is due, once.
    pub fn take_due(&mut self) -> Option<Update> {
        self.due.pop_front()
    }
}

/// TCP's autotuned receive window.
#[derive(Debug, Clone, Copy)]
pub struct AutoWindow {
    /// Bytes that the sender may have beyond what arrived in order.
    pub window: u64,
    mss: u64,
    /// Bytes read during the best round trip so far.
    space: u64,
    round_began: SimTime,
    read_at_begin: u64,
}

impl AutoWindow {
    pub const fn new(mss: u64) -> Self {
        Self { window: FIRST_WINDOW, mss, space: 10 * mss, round_began: SimTime::ZERO, read_at_begin: 0 }
    }

    /// `read` bytes have arrived in order so far; the round trip is `rtt`.
    pub fn on_read(&mut self, now: SimTime, read: u64, rtt: SimDuration) {
        if now.since(self.round_began) < rtt {
            return;
        }
        let copied = read - self.read_at_begin;
        if copied > self.space {
            let base = 2 * copied + 16 * self.mss;
            let grown = u128::from(base) * u128::from(copied - self.space) / u128::from(self.space);
            let window = u128::from(base) + 2 * grown;
            self.window = self.window.max(window.min(u128::from(LARGEST_WINDOW)) as u64);
            self.space = copied;
        }
        (self.round_began, self.read_at_begin) = (now, read);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credit(stream: Option<u64>, connection: Option<u64>) -> Credit {
        let rules = FlowRules { stream_window: stream, connection_window: connection, ..FlowRules::default() };
        Credit::new(&rules).unwrap()
    }

    #[test]
    fn an_update_is_due_when_half_the_window_is_read() {
        let mut credit = credit(Some(1_000), None);
        credit.on_bytes(0, 0, 499);
        assert_eq!(credit.take_due(), None);
        credit.on_bytes(0, 499, 1);
        let update = credit.take_due().unwrap();
        assert_eq!((update.stream, update.stream_limit, update.connection_limit), (0, 1_500, u64::MAX));
        assert_eq!(credit.take_due(), None);
    }

    #[test]
    fn updates_of_two_streams_at_once_are_both_sent() {
        let mut credit = credit(Some(100), None);
        credit.on_bytes(0, 0, 60);
        credit.on_bytes(1, 0, 70);
        let due: Vec<_> = std::iter::from_fn(|| credit.take_due()).map(|u| (u.stream, u.stream_limit)).collect();
        assert_eq!(due, [(0, 160), (1, 170)]);
    }

    #[test]
    fn bytes_behind_a_hole_are_read_when_it_is_filled() {
        let mut credit = credit(None, Some(1_000));
        credit.on_bytes(1, 300, 400);
        credit.on_bytes(1, 700, 100);
        assert_eq!(credit.take_due(), None, "nothing can be read yet");
        credit.on_bytes(1, 0, 300);
        assert_eq!(credit.take_due().unwrap().connection_limit, 1_800);
    }

    #[test]
    fn the_window_follows_what_a_round_trip_brings() {
        let (mut auto, rtt) = (AutoWindow::new(1_448), SimDuration::from_millis(100));
        let at = |round: u64| SimTime::from_nanos(round * 100_000_000);
        // Slow start: 10, 20, 40 packets per round trip.
        for (round, packets, read) in [(1, 10, 10), (2, 20, 30), (3, 40, 70)] {
            auto.on_read(at(round), read * 1_448, rtt);
            assert!(auto.window >= 2 * packets * 1_448, "never the limit of slow start");
        }
        assert_eq!(auto.window, (2 * 40 + 16) * 3 * 1_448, "c = 40, s = 20: w + 2 w");
        auto.on_read(at(4), 100 * 1_448, rtt);
        assert_eq!(auto.window, 288 * 1_448, "less than before changes nothing");
        auto.on_read(at(5), 1 << 40, rtt);
        assert_eq!(auto.window, LARGEST_WINDOW);
    }
}
