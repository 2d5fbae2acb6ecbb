//! Buffer-based adaptation, BBA-0.
//!
//! With buffer `B`, reservoir `r` and cushion `cu` (seconds), lowest and highest bitrate `R_min` and `R_max` (kbit/s), the
//! rate map is `f(B) = R_min + (B - r) / cu x (R_max - R_min)` between `r` and `r + cu`, `R_min` below, `R_max` above. Let
//! `R` be the bitrate of the segment before, `R+` the next higher one and `R-` the next lower one (`R` itself at the ends):
//!
//! * `B <= r`: `R_min`; `B >= r + cu`: `R_max`;
//! * `f(B) >= R+`: the highest bitrate below `f(B)`;
//! * `f(B) <= R-`: the lowest bitrate above `f(B)`;
//! * else `R`: the map must reach the next bitrate before anything changes.
//!
//! Sources: Huang, Johari, McKeown, Trunnell, Watson, "A buffer-based approach to rate adaptation: evidence from a large
//! video streaming service", SIGCOMM 2014, section 4.2, algorithm 1.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | buffer of 240 s, `r` = 90 s, `cu` = 126 s | `r` = 10 s, `cu` = 14 s by default | the proportion of the paper (5 : 7), scaled so that the highest rung is reached at 24 s: a player with a buffer of 30 s and segments of 4 s asks at 26 s at most |
//! | one request in flight | any number; `B` is what can be played now less the play time in flight (see the player) | with one in flight the same; with several the rung does not jump when they arrive together |
//! | no start-up phase (that is BBA-2) | none | sessions begin at `R_min` and wait for the buffer |
//! | the Go simulator steps at 2, 6 and 15 s and stays when the target is one rung away | the rate map | single-rung moves happen |
//!
//! Random streams: none.

use super::{Abr, AbrInput};
use study_units::SimDuration;

study_tree::params! {
    /// Parameters of BBA-0.
    pub struct BbaParams {
        /// Buffer up to which the lowest rung is asked for.
        reservoir: SimDuration = BbaParams::DEFAULT.reservoir;
        /// Buffer above the reservoir over which the rate map rises to the highest rung.
        cushion: SimDuration = BbaParams::DEFAULT.cushion;
    }
}

impl BbaParams {
    /// 10 s and 14 s: see the [module](self).
    pub const DEFAULT: Self = Self { reservoir: SimDuration::from_secs(10), cushion: SimDuration::from_secs(14) };
}

/// See the [module](self).
#[derive(Debug, Clone)]
pub struct Bba {
    params: BbaParams,
}

impl Bba {
    /// At the start of a session.
    #[must_use]
    pub fn new(params: &BbaParams) -> Self {
        Self { params: params.clone() }
    }
    /// The rate map in kbit/s, for a buffer within the cushion.
    fn rate(&self, buffer: SimDuration, rungs: &[u32]) -> f64 {
        let share = (buffer - self.params.reservoir).as_secs_f64() / self.params.cushion.as_secs_f64();
        let (lowest, highest) = (f64::from(rungs[0]), f64::from(rungs[rungs.len() - 1]));
        lowest + share * (highest - lowest)
    }
}

impl Abr for Bba {
    fn choose(&mut self, input: &AbrInput<'_>) -> usize {
        let rungs = input.rungs_kbit_s;
        let top = rungs.len() - 1;
        if input.buffer <= self.params.reservoir {
            return 0;
        }
        if input.buffer >= self.params.reservoir + self.params.cushion {
            return top;
        }
        let last = input.last_rung.unwrap_or(0);
        let bitrate = |rung: usize| f64::from(rungs[rung]);
        let rate = self.rate(input.buffer, rungs);
        if rate >= bitrate((last + 1).min(top)) {
            // Within the cushion the map is above the lowest bitrate, so there is one below it.
            rungs.iter().rposition(|r| f64::from(*r) < rate).unwrap_or(0)
        } else if rate <= bitrate(last.saturating_sub(1)) {
            rungs.iter().position(|r| f64::from(*r) > rate).unwrap_or(top)
        } else {
            last
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abr::scenes::input;

    /// Reservoir and cushion of the numbers below.
    const PARAMS: BbaParams = BbaParams { reservoir: SimDuration::from_secs(5), cushion: SimDuration::from_secs(10) };

    /// With the Go ladder f(B) = 400 + (B - 5 s) x 1,160 kbit/s per second: it reaches 800 at 5.345 s, 1,500 at 5.948 s,
    /// 3,000 at 7.241 s, 6,000 at 9.828 s and 12,000 at 15 s.
    fn choose(buffer_ms: u64, last: usize) -> usize {
        Bba::new(&PARAMS).choose(&input(buffer_ms, Some(last), &[]))
    }

    #[test]
    fn reservoir_and_full_cushion_give_the_ends_whatever_came_before() {
        for last in 0..6 {
            assert_eq!([0, 4_000, 5_000].map(|b| choose(b, last)), [0; 3]);
            assert_eq!([15_000, 18_000, 30_000].map(|b| choose(b, last)), [5; 3]);
        }
    }

    #[test]
    fn the_rung_stays_until_the_map_reaches_the_next_one() {
        assert_eq!([5_001, 5_344].map(|b| choose(b, 0)), [0, 0]);
        assert_eq!(choose(7_242, 2), 3, "3,001 reaches R+ = 3,000: the highest below it");
        assert_eq!([7_240, 7_000, 5_400].map(|b| choose(b, 2)), [2, 2, 2], "between R- and R+ nothing changes");
        assert_eq!(choose(9_827, 3), 3, "5,999");
        assert_eq!(choose(9_829, 3), 4, "6,002");
        assert_eq!(choose(14_999, 4), 4, "R+ = R_max is reached at the end of the cushion only");
    }

    #[test]
    fn a_jump_of_the_buffer_skips_rungs() {
        assert_eq!(choose(9_900, 0), 4, "up to the highest below 6,084");
        assert_eq!(choose(6_000, 5), 3, "down to the lowest above 1,560");
        assert_eq!(choose(5_100, 4), 1, "down to the lowest above 516");
    }

    #[test]
    fn equality_with_a_neighbour_follows_the_paper() {
        // f(8 s) = 400 + 3 x 1,160 = 3,880 with rungs placed exactly there.
        let rungs = [400, 3_880, 12_000];
        let at = |last| {
            let mut scene = input(8_000, Some(last), &[]);
            scene.rungs_kbit_s = &rungs;
            Bba::new(&PARAMS).choose(&scene)
        };
        assert_eq!(at(0), 0, "f = R+: the highest strictly below");
        assert_eq!(at(2), 2, "f = R-: the lowest strictly above");
    }

    #[test]
    fn the_top_rung_is_left_at_the_barrier_of_the_one_below() {
        assert_eq!([14_999, 9_829].map(|b| choose(b, 5)), [5, 5], "R- = 6,000 is reached at 9.828 s");
        assert_eq!(choose(9_827, 5), 4, "5,999: the lowest above it is R- itself");
    }

    #[test]
    fn no_cushion_is_a_step() {
        let mut step = Bba::new(&BbaParams { reservoir: SimDuration::from_secs(8), cushion: SimDuration::ZERO });
        assert_eq!([8_000, 8_001].map(|b| step.choose(&input(b, Some(2), &[]))), [0, 5]);
    }
}
