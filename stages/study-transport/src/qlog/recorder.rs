//! The logs of one connection while it runs, and what must be remembered to write them.

use super::event::{Event, Frame, Metrics, Packet, PacketKind, TimerChange, TimerKind, Vantage};
use super::{Recording, Trace, json};
use crate::config::ConnectionConfig;
use std::collections::BTreeMap;
use study_units::{SimDuration, SimTime};

/// Kept free for the last record.
const LAST_RECORD: usize = 192;

/// The log of one side.
#[derive(Debug)]
struct Log {
    vantage: Vantage,
    bytes: Vec<u8>,
    cap: usize,
    /// Since when it is full, and what has come since.
    full: Option<(SimDuration, u64)>,
}

impl Log {
    fn new(vantage: Vantage, recording: &Recording, origin: &json::Origin<'_>) -> Self {
        let mut header = String::new();
        json::header(&mut header, &recording.title, vantage, origin);
        let cap = usize::try_from(recording.cap).unwrap_or(usize::MAX);
        Self { vantage, bytes: header.into_bytes(), cap, full: None }
    }

    fn write(&mut self, at: SimDuration, event: &Event<'_>, line: &mut String) {
        if let Some((_, missing)) = &mut self.full {
            *missing += 1;
            return;
        }
        line.clear();
        json::record(line, at, self.vantage, event);
        if self.bytes.len() + line.len() + LAST_RECORD > self.cap {
            self.full = Some((at, 1));
        } else {
            self.bytes.extend_from_slice(line.as_bytes());
        }
    }

    fn finish(mut self, connection: usize, line: &mut String) -> Trace {
        if let Some((at, missing)) = self.full {
            line.clear();
            json::record(line, at, self.vantage, &Event::Cut { cap: self.cap as u64, missing });
            self.bytes.extend_from_slice(line.as_bytes());
        }
        Trace { connection, vantage: self.vantage, cut: self.full.is_some(), bytes: self.bytes }
    }
}

/// A packet under way, as it will be logged when it arrives.
#[derive(Debug, Clone)]
pub struct Carried {
    pub kind: PacketKind,
    /// With the IP header.
    pub bytes: u32,
    pub payload: Option<u32>,
    pub frames: Vec<Frame>,
}

impl Carried {
    /// As an event, with what it acknowledges.
    pub fn packet<'a>(
        &'a self,
        number: Option<u64>,
        acked: &'a [(u64, u64)],
        ack_delay: Option<SimDuration>,
    ) -> Packet<'a> {
        Packet {
            kind: self.kind,
            number,
            bytes: self.bytes,
            payload: self.payload,
            frames: &self.frames,
            acked,
            ack_delay,
        }
    }
}

/// Numbers as inclusive ranges, rising.
pub fn ranges(numbers: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut all: Vec<u64> = numbers.collect();
    all.sort_unstable();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in all {
        match ranges.last_mut() {
            Some((_, to)) if number <= *to + 1 => *to = number,
            _ => ranges.push((number, number)),
        }
    }
    ranges
}

/// Records a connection.
#[derive(Debug)]
pub struct Recorder {
    start: SimTime,
    pub tcp: bool,
    connection: usize,
    logs: [Log; 2],
    line: String,
    /// Packets under way from the server and from the client, by number.
    pub down: BTreeMap<u64, Carried>,
    pub up: BTreeMap<u64, Carried>,
    /// Types of the server's packets that are not `1RTT`.
    kinds: BTreeMap<u64, PacketKind>,
    /// Where each handshake chunk stands in the server's handshake.
    crypto: BTreeMap<u64, u64>,
    crypto_end: u64,
    /// Packet number of each of the client's transmissions.
    pub transmissions: Vec<u64>,
    /// How much of what it received the server has acknowledged.
    pub server_acked: usize,
    /// When the newest packet left that the server knows to have arrived.
    pub newest_acked: Option<SimTime>,
    metrics: Metrics,
    state: Option<&'static str>,
    timer: Option<TimerKind>,
}

impl Recorder {
    /// A recorder of connection number `connection` of its client, which starts at `start`.
    pub fn new(recording: &Recording, connection: usize, start: SimTime, config: &ConnectionConfig) -> Self {
        let mut id = recording.id;
        id[7] = id[7].wrapping_add(connection as u8);
        let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let (tcp, multiplexed) = (config.rules.transport_handshake, config.multiplexed);
        let origin = json::Origin { id: &id, start, tcp, multiplexed };
        let log = |vantage| Log::new(vantage, recording, &origin);
        let mut recorder = Self {
            start,
            tcp,
            connection,
            logs: [log(Vantage::Server), log(Vantage::Client)],
            line: String::new(),
            down: BTreeMap::new(),
            up: BTreeMap::new(),
            kinds: BTreeMap::new(),
            crypto: BTreeMap::new(),
            crypto_end: 0,
            transmissions: Vec::new(),
            server_acked: 0,
            newest_acked: None,
            metrics: Metrics::default(),
            state: None,
            timer: None,
        };
        for vantage in [Vantage::Server, Vantage::Client] {
            recorder.log(vantage, start, &Event::Started { tcp, id: &id });
        }
        recorder
    }

    /// Adds an event.
    pub fn log(&mut self, vantage: Vantage, now: SimTime, event: &Event<'_>) {
        self.logs[vantage as usize].write(now.since(self.start), event, &mut self.line);
    }

    /// An event that could only be written to a log that is not full.
    pub fn miss(&mut self, vantage: Vantage) {
        if let Some((_, missing)) = &mut self.logs[vantage as usize].full {
            *missing += 1;
        }
    }

    /// A packet of the server leaves, and may arrive.
    pub fn carry_down(&mut self, number: u64, packet: Carried) {
        if packet.kind != PacketKind::OneRtt {
            self.kinds.insert(number, packet.kind);
        }
        if self.logs[Vantage::Client as usize].full.is_none() {
            self.down.insert(number, packet);
        }
    }

    /// A packet of the client leaves, and may arrive.
    pub fn carry_up(&mut self, number: u64, packet: Carried) {
        if self.logs[Vantage::Server as usize].full.is_none() {
            self.up.insert(number, packet);
        }
    }

    /// The type of a packet of the server.
    pub fn kind(&self, number: u64) -> PacketKind {
        self.kinds.get(&number).copied().unwrap_or(PacketKind::OneRtt)
    }

    /// Where a chunk of the server's handshake stands; `length` bytes when it is new.
    pub fn crypto_offset(&mut self, chunk: u64, length: u64) -> u64 {
        *self.crypto.entry(chunk).or_insert_with(|| {
            self.crypto_end += length;
            self.crypto_end - length
        })
    }

    /// The values of now, of which the changed ones are logged.
    pub fn metrics(&mut self, now: SimTime, metrics: Metrics) {
        let changed = metrics.changed_since(&self.metrics);
        if changed != Metrics::default() {
            self.log(Vantage::Server, now, &Event::Metrics(changed));
        }
        self.metrics = metrics;
    }

    /// The state of the congestion controller, logged when it is another.
    pub fn congestion(&mut self, now: SimTime, new: &'static str, persistent: bool) {
        let old = self.state.replace(new);
        if old != Some(new) || persistent {
            self.log(Vantage::Server, now, &Event::Congestion { old, new, persistent });
        }
    }

    /// The loss timer stands at `deadline` and waits for `kind`.
    pub fn timer(&mut self, now: SimTime, kind: TimerKind, deadline: SimTime) {
        let armed = (deadline != SimTime::NEVER).then_some(kind);
        if armed == self.timer {
            return;
        }
        let before = std::mem::replace(&mut self.timer, armed);
        let (kind, change) = match (armed, before) {
            (Some(kind), _) => (kind, TimerChange::Set(deadline.since(now))),
            (None, Some(kind)) => (kind, TimerChange::Cancelled),
            (None, None) => return,
        };
        self.log(Vantage::Server, now, &Event::Timer { kind, change });
    }

    /// The loss timer fired.
    pub fn timer_expired(&mut self, now: SimTime) {
        if let Some(kind) = self.timer.take() {
            self.log(Vantage::Server, now, &Event::Timer { kind, change: TimerChange::Expired });
        }
    }

    /// Closes both logs.
    pub fn finish(mut self, now: SimTime, gave_up: bool) -> [Trace; 2] {
        for vantage in [Vantage::Server, Vantage::Client] {
            self.log(vantage, now, &Event::Closed { gave_up });
        }
        let mut line = self.line;
        self.logs.map(|log| log.finish(self.connection, &mut line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_sorted_and_joined() {
        assert_eq!(ranges([5, 1, 2, 3, 7, 6, 6].into_iter()), [(1, 3), (5, 7)]);
        assert_eq!(ranges(std::iter::empty()), []);
    }
}
