//! Slow start, and when to leave it before a loss says so.
//!
//! `standard` (RFC 5681 section 3.1) doubles until ssthresh. `hystart_pp` (RFC 9406) compares the smallest round-trip time of
//! this round with that of the last: a rise of `clamp(last / 8, 4 ms, 16 ms)` begins conservative slow start (growth / 4),
//! which ends slow start after five rounds, or is taken back when the rise was jitter. `hystart` is the older
//! form of Linux: it leaves at once, when the delay has risen by `clamp(min / 8, 4 ms, 16 ms)` over the minimum, or when
//! acknowledgements not more than 2 ms apart have come for half the minimum delay (a train as long as the path).
//! Both look only while ssthresh is unknown.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | RFC 9406: growth per acknowledgement limited to 8 packets when not paced | no limit | only with acknowledgements of more than 8 packets |
//! | Linux takes the train's threshold from pacing too | half the minimum delay | as Linux without pacing |
//!
//! Consumes no random numbers.

use super::Acked;
use study_tree::choices;
use study_units::{SimDuration, SimTime};

choices! {
    /// How slow start ends before the first loss.
    pub enum SlowStartChoice {
        /// Only by loss (RFC 5681).
        Standard = "standard",
        /// HyStart++ (RFC 9406).
        HystartPp = "hystart_pp",
        /// Classic HyStart as in Linux.
        Hystart = "hystart",
    }
}

const MIN_THRESHOLD: SimDuration = SimDuration::from_millis(4);
const MAX_THRESHOLD: SimDuration = SimDuration::from_millis(16);
const SAMPLES: u32 = 8;
const CSS_ROUNDS: u32 = 5;
const CSS_DIVISOR: u64 = 4;
/// Linux: no search below 16 packets, trains of acknowledgements at most 2 ms apart.
const LOW_WINDOW: u64 = 16;
const TRAIN_GAP: SimDuration = SimDuration::from_millis(2);

/// What an acknowledgement does in slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    /// Bytes to add to the window.
    pub bytes: u64,
    /// Slow start is over: ssthresh becomes the window.
    pub exit: bool,
}

/// State of slow start.
#[derive(Debug, Clone)]
pub struct SlowStart {
    choice: SlowStartChoice,
    /// A round ends when this packet is acknowledged.
    round_end: u64,
    round_start: SimTime,
    last_ack: SimTime,
    samples: u32,
    min_now: Option<SimDuration>,
    min_before: Option<SimDuration>,
    /// Conservative slow start: the round-trip time it began with, and rounds in it.
    conservative: Option<(SimDuration, u32)>,
}

impl SlowStart {
    /// At the start of a connection.
    #[must_use]
    pub const fn new(choice: SlowStartChoice) -> Self {
        Self {
            choice,
            round_end: 0,
            round_start: SimTime::ZERO,
            last_ack: SimTime::ZERO,
            samples: 0,
            min_now: None,
            min_before: None,
            conservative: None,
        }
    }

    /// An acknowledgement while the window is below ssthresh; `searching` while ssthresh is unknown.
    pub fn on_ack(&mut self, acked: &Acked<'_>, window_packets: u64, searching: bool) -> Growth {
        let plain = Growth { bytes: acked.bytes, exit: false };
        if !searching {
            return plain;
        }
        match self.choice {
            SlowStartChoice::Standard => plain,
            SlowStartChoice::HystartPp => self.hystart_pp(acked),
            SlowStartChoice::Hystart => Growth { exit: self.hystart(acked, window_packets), ..plain },
        }
    }

    fn next_round(&mut self, acked: &Acked<'_>) -> bool {
        let new = acked.largest >= self.round_end;
        if new {
            self.round_end = acked.next;
            self.round_start = acked.now;
            self.min_before = self.min_now.take();
            self.samples = 0;
        }
        let sample = acked.rtt.latest();
        self.min_now = Some(self.min_now.map_or(sample, |m| m.min(sample)));
        self.samples += 1;
        new
    }

    fn hystart_pp(&mut self, acked: &Acked<'_>) -> Growth {
        let new_round = self.next_round(acked);
        let (Some(now), enough) = (self.min_now, self.samples >= SAMPLES) else {
            return Growth { bytes: acked.bytes, exit: false };
        };
        match &mut self.conservative {
            Some((baseline, rounds)) => {
                if enough && now < *baseline {
                    self.conservative = None;
                    return Growth { bytes: acked.bytes, exit: false };
                }
                *rounds += u32::from(new_round);
                Growth { bytes: acked.bytes / CSS_DIVISOR, exit: *rounds >= CSS_ROUNDS }
            }
            None => {
                if let Some(before) = self.min_before.filter(|before| enough && now >= *before + threshold(*before)) {
                    debug_assert!(now > before);
                    self.conservative = Some((now, 0));
                }
                Growth { bytes: acked.bytes, exit: false }
            }
        }
    }

    fn hystart(&mut self, acked: &Acked<'_>, window_packets: u64) -> bool {
        if self.next_round(acked) {
            self.last_ack = acked.now;
        }
        if window_packets < LOW_WINDOW {
            return false;
        }
        let min = acked.rtt.min();
        let in_train = acked.now.since(self.last_ack) <= TRAIN_GAP;
        if in_train {
            self.last_ack = acked.now;
            if acked.now.since(self.round_start) > min.half() {
                return true;
            }
        }
        self.samples >= SAMPLES && self.min_now.is_some_and(|now| now > min + threshold(min))
    }
}

fn threshold(rtt: SimDuration) -> SimDuration {
    SimDuration::from_nanos(rtt.as_nanos() / 8).clamp(MIN_THRESHOLD, MAX_THRESHOLD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RttEstimator;

    /// Feeds rounds of ten acknowledgements with these round-trip times in ms; returns (growth of the last ack, exited round).
    fn rounds(choice: SlowStartChoice, rtts: &[u64]) -> (Vec<u64>, Option<usize>) {
        let mut slow_start = SlowStart::new(choice);
        let mut rtt = RttEstimator::default();
        let (mut grown, mut exited, mut now) = (Vec::new(), None, SimTime::ZERO);
        for (round, ms) in rtts.iter().enumerate() {
            let mut last = 0;
            for i in 0..10 {
                // Acknowledgements 3 ms apart: no train.
                now += SimDuration::from_millis(3);
                rtt.update(SimDuration::from_millis(*ms), SimDuration::ZERO);
                let (largest, next) = (round as u64 * 10 + i, round as u64 * 10 + 10 + i);
                let acked = Acked { now, bytes: 1000, window_limited: true, rtt: &rtt, largest, next };
                let growth = slow_start.on_ack(&acked, 100, true);
                last = growth.bytes;
                if growth.exit && exited.is_none() {
                    exited = Some(round);
                }
            }
            grown.push(last);
        }
        (grown, exited)
    }

    #[test]
    fn hystart_pp_slows_down_when_delay_rises_and_leaves_after_five_rounds() {
        let (grown, exited) = rounds(SlowStartChoice::HystartPp, &[100, 100, 120, 120, 120, 120, 120, 120, 120]);
        assert_eq!(&grown[..2], [1000, 1000]);
        assert_eq!(grown[3], 250, "conservative slow start grows by a quarter");
        assert_eq!(exited, Some(7), "after five rounds of it");
    }

    #[test]
    fn hystart_pp_takes_a_rise_back_when_it_was_jitter() {
        let (grown, exited) = rounds(SlowStartChoice::HystartPp, &[100, 100, 120, 100, 100, 100, 100, 100, 100, 100]);
        assert_eq!((grown[4], exited), (1000, None));
    }

    #[test]
    fn classic_hystart_leaves_at_once_and_standard_never() {
        assert_eq!(rounds(SlowStartChoice::Hystart, &[100, 100, 120]).1, Some(2));
        assert_eq!(rounds(SlowStartChoice::Standard, &[100, 100, 900]).1, None);
    }
}
