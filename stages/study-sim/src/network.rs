//! A link as the path of a connection.

use study_ident::SeedPath;
use study_link::{Direction, LinkParams, Verdict};
use study_transport::Path;
use study_units::SimTime;

/// Both directions of one link instance.
#[derive(Debug)]
pub struct LinkPath {
    /// Towards the viewer (or the edge).
    pub down: Direction,
    /// From it.
    pub up: Direction,
}

impl LinkPath {
    /// A fresh instance; its randomness is named under `seed`.
    #[must_use]
    pub fn new(params: &LinkParams, seed: SeedPath) -> Self {
        Self {
            down: Direction::new(&params.down, seed.child("down")),
            up: Direction::new(&params.up, seed.child("up")),
        }
    }
}

const fn arrival(verdict: Verdict) -> Option<SimTime> {
    match verdict {
        Verdict::Deliver(at) => Some(at),
        Verdict::LostRandom | Verdict::DroppedQueue => None,
    }
}

impl Path for LinkPath {
    #[inline]
    fn send_down(&mut self, now: SimTime, ip_bytes: u32) -> Option<SimTime> {
        arrival(self.down.send(now, ip_bytes))
    }
    #[inline]
    fn send_up(&mut self, now: SimTime, ip_bytes: u32) -> Option<SimTime> {
        arrival(self.up.send(now, ip_bytes))
    }
}
