//! The client's sending side: handshake messages and requests, one packet each, repeated until acknowledged.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | a client runs the whole of RFC 6298 / RFC 9002 | one timer for the oldest message; a message is sent again at once when a later one is acknowledged | client messages are single packets, seldom more than a few in flight |
//! | QUIC sends up to two probes per timeout | the two oldest messages without an answer (TCP: the oldest) | as the RFC |

use crate::RttEstimator;
use crate::config::RecoveryRules;
use crate::recovery::MAX_TIMEOUT;
use std::collections::VecDeque;
use study_units::{SimDuration, SimTime};

use crate::flow::Update;

/// What a client packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// What must be answered before the handshake proper: TCP's SYN, an Initial that gets Version Negotiation or Retry.
    Prelude,
    /// TLS ClientHello, or QUIC's Initial.
    Hello,
    /// Second flight of a full TLS 1.2 handshake: ClientKeyExchange, ChangeCipherSpec, Finished.
    KeyExchange,
    /// The request of a stream.
    Request(u32),
    /// A request as early data that the server throws away.
    Rejected,
    /// More credit.
    Credit(Update),
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    message: Message,
    /// Its latest transmission.
    transmission: u64,
    acked: bool,
}

/// Messages in flight from the client.
#[derive(Debug)]
pub struct ClientSender {
    slots: Vec<Slot>,
    /// Slots below this one are acknowledged.
    first_open: usize,
    /// Slot and time of each transmission, by its number: an answer tells which one it answers (TCP by its timestamp).
    transmissions: Vec<(usize, SimTime)>,
    /// Transmissions below this one are acknowledged or repeated since.
    oldest: usize,
    backoff: u32,
    rtt: RttEstimator,
    rules: RecoveryRules,
    /// How long the server may hold an acknowledgement: not at all during the handshake (RFC 9002 section 6.2.1).
    ack_delay: SimDuration,
    /// When the oldest unacknowledged message is sent again.
    pub timer: SimTime,
}

impl ClientSender {
    pub fn new(rules: RecoveryRules) -> Self {
        Self {
            slots: Vec::new(),
            first_open: 0,
            transmissions: Vec::new(),
            oldest: 0,
            backoff: 0,
            rtt: RttEstimator::default(),
            rules,
            ack_delay: SimDuration::ZERO,
            timer: SimTime::NEVER,
        }
    }

    /// The handshake is complete: from now on the server may hold its acknowledgements for so long.
    pub fn establish(&mut self, ack_delay: SimDuration) {
        self.ack_delay = ack_delay;
    }

    /// Registers a new message that leaves now; returns its slot and transmission number.
    pub fn send(&mut self, now: SimTime, message: Message) -> (usize, u64) {
        let slot = self.slots.len();
        self.slots.push(Slot { message, transmission: 0, acked: false });
        (slot, self.transmit(now, slot))
    }

    fn transmit(&mut self, now: SimTime, slot: usize) -> u64 {
        let transmission = self.transmissions.len() as u64;
        self.transmissions.push((slot, now));
        self.slots[slot].transmission = transmission;
        self.arm(now);
        transmission
    }

    /// The message in a slot.
    pub fn message(&self, slot: usize) -> Message {
        self.slots[slot].message
    }

    /// The server has received these transmissions. Fills `again` with the slots to be sent again at once.
    pub fn on_acked(&mut self, now: SimTime, transmissions: impl Iterator<Item = u64>, again: &mut VecDeque<usize>) {
        let (mut largest, mut news) = (None, false);
        for transmission in transmissions {
            let slot = &mut self.slots[self.transmissions[transmission as usize].0];
            news |= !std::mem::replace(&mut slot.acked, true);
            largest = largest.max(Some(transmission));
        }
        let Some(transmission) = largest.filter(|_| news) else { return };
        // The newest of the acknowledged transmissions is the sample (RFC 9002 section 5.1; RFC 7323's echo): an older copy of
        // the message may have come long before, its answer lost.
        self.rtt.update(now.since(self.transmissions[transmission as usize].1), SimDuration::ZERO);
        self.backoff = 0;
        while self.slots.get(self.first_open).is_some_and(|s| s.acked) {
            self.first_open += 1;
        }
        // Open messages whose latest transmission left before the one acknowledged, in the order of their slots.
        let from = again.len();
        for older in self.oldest..transmission as usize {
            again.extend(self.open_slot(older));
        }
        again.make_contiguous()[from..].sort_unstable();
        self.arm(now);
    }

    /// The slot whose latest transmission this is, unless it is acknowledged.
    fn open_slot(&self, transmission: usize) -> Option<usize> {
        let (slot, _) = *self.transmissions.get(transmission)?;
        let latest = &self.slots[slot];
        (!latest.acked && latest.transmission == transmission as u64).then_some(slot)
    }

    /// The timer fired: which slots to send again.
    pub fn on_timer(&mut self, now: SimTime, again: &mut VecDeque<usize>) {
        self.backoff += 1;
        let probes = if self.rules.rack { 1 } else { 2 };
        again.extend((self.first_open..self.slots.len()).filter(|i| !self.slots[*i].acked).take(probes));
        self.arm(now);
    }

    /// Sends a slot again; returns the transmission number.
    pub fn repeat(&mut self, now: SimTime, slot: usize) -> u64 {
        self.transmit(now, slot)
    }

    /// The latest round trip, once there is one.
    pub fn latest_rtt(&self) -> Option<SimDuration> {
        self.rtt.is_known().then(|| self.rtt.latest())
    }

    /// Whether the server has the message of a slot.
    pub fn is_acked(&self, slot: usize) -> bool {
        self.slots[slot].acked
    }

    fn arm(&mut self, now: SimTime) {
        while self.oldest < self.transmissions.len() && self.open_slot(self.oldest).is_none() {
            self.oldest += 1;
        }
        self.timer = match self.transmissions.get(self.oldest) {
            None => SimTime::NEVER,
            Some((_, sent)) => {
                let sent = *sent;
                let base = if self.backoff == 0 { sent } else { now };
                base + (self.timeout() * (1 << self.backoff.min(10))).min(MAX_TIMEOUT)
            }
        };
    }

    /// How long to wait for an answer, without backoff.
    pub fn timeout(&self) -> SimDuration {
        if !self.rtt.is_known() {
            return self.rules.initial_timeout;
        }
        let four = self.rtt.four_variations();
        if self.rules.rack {
            self.rtt.smoothed() + four.max(self.rules.rto_floor)
        } else {
            self.rtt.smoothed() + four.max(SimDuration::from_millis(1)) + self.ack_delay
        }
    }
}
