//! A token bucket that lets packets leave in bursts, as quinn paces.
//!
//! Capacity: what the window sends in 2 ms, `window * 2 ms / srtt`, but 10 to 256 packets. Tokens come back at 1.25 windows per
//! round trip. Who finds too few waits until the bucket is full again, so that packets leave in bursts of its size.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | quinn counts datagram bytes | payload bytes, window alike | none in packets |

use study_units::{SimDuration, SimTime};

const BURST_INTERVAL: SimDuration = SimDuration::from_millis(2);
const SMALLEST: u64 = 10;
const LARGEST: u64 = 256;

/// The bucket; bytes of payload.
#[derive(Debug, Clone)]
pub struct BurstPacer {
    mss: u64,
    tokens: u64,
    capacity: u64,
    window: u64,
    refilled: SimTime,
}

impl BurstPacer {
    /// A full bucket.
    pub const fn new(mss: u64, now: SimTime) -> Self {
        Self { mss, tokens: SMALLEST * mss, capacity: SMALLEST * mss, window: 0, refilled: now }
    }
    pub const fn on_sent(&mut self, bytes: u64) {
        self.tokens = self.tokens.saturating_sub(bytes);
    }
    /// When a full packet may leave; nothing when it may leave now.
    pub fn delay(&mut self, now: SimTime, window: u64, srtt: SimDuration) -> Option<SimTime> {
        let rtt = u128::from(srtt.as_nanos().max(1));
        if window != self.window {
            let burst = (u128::from(window) * u128::from(BURST_INTERVAL.as_nanos()) / rtt) as u64;
            self.capacity = burst.clamp(SMALLEST * self.mss, LARGEST * self.mss);
            self.tokens = self.tokens.min(self.capacity);
            self.window = window;
        }
        if self.tokens >= self.mss {
            return None;
        }
        let elapsed = u128::from(now.since(self.refilled).as_nanos());
        let fresh = (u128::from(window) * 5 * elapsed / (4 * rtt)) as u64;
        self.tokens = self.tokens.saturating_add(fresh).min(self.capacity);
        self.refilled = now;
        if self.tokens >= self.mss {
            return None;
        }
        let missing = u128::from(self.capacity - self.tokens);
        let wait = (rtt * missing * 4 / (5 * u128::from(window.max(1)))) as u64;
        Some(now + SimDuration::from_nanos(wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_in_bursts_at_five_quarters_of_the_window_per_round_trip() {
        let (mss, window, srtt) = (1_000, 100_000, SimDuration::from_millis(100));
        let mut pacer = BurstPacer::new(mss, SimTime::ZERO);
        let (mut now, mut bursts, mut burst) = (SimTime::ZERO, Vec::new(), 0);
        while bursts.len() < 20 {
            match pacer.delay(now, window, srtt) {
                None => {
                    pacer.on_sent(mss);
                    burst += 1;
                }
                Some(at) => {
                    bursts.push(burst);
                    (burst, now) = (0, at);
                }
            }
        }
        assert!(bursts.iter().all(|b| *b == 10), "{bursts:?}");
        // 19 refills of 10 packets at 1.25 packets per millisecond.
        assert_eq!(now.as_nanos() / 1_000_000, 160);
    }
}
