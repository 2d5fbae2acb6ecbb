//! A link as the path of a connection.

use study_ident::SeedPath;
use study_link::{Channel, LinkParams, Phase, Verdict};
use study_transport::{Fate, Flight, Heading, Path};
use study_units::SimTime;

/// Both directions of one link instance.
#[derive(Debug)]
pub struct LinkPath {
    /// Towards the viewer (or the edge).
    pub down: Channel,
    /// From it.
    pub up: Channel,
    /// Whether a direction may answer later; asked at every event, so it stands by itself.
    deferred: bool,
}

impl LinkPath {
    /// A fresh instance; its randomness is named under `seed`.
    #[must_use]
    pub fn new(params: &LinkParams, seed: SeedPath) -> Self {
        let (down, up) = (Channel::new(&params.down, seed.child("down")), Channel::new(&params.up, seed.child("up")));
        let deferred = matches!(down, Channel::Deferred(_)) || matches!(up, Channel::Deferred(_));
        Self { down, up, deferred }
    }
}

/// When a packet arrives; `None` for lost.
pub const fn arrival(verdict: Verdict) -> Option<SimTime> {
    match verdict {
        Verdict::Deliver(at) => Some(at),
        Verdict::LostRandom | Verdict::DroppedQueue | Verdict::DroppedPolicer | Verdict::LostOutage => None,
    }
}

/// The link's name for what a packet belongs to.
pub const fn phase(flight: Flight) -> Phase {
    match flight {
        Flight::Handshake => Phase::Handshake,
        Flight::Request => Phase::Request,
        Flight::Response => Phase::Response,
        Flight::Ack => Phase::Ack,
    }
}

#[inline]
fn fate(verdict: Option<Verdict>) -> Fate {
    verdict.map_or(Fate::Undecided, |verdict| arrival(verdict).into())
}

impl Path for LinkPath {
    fn send_down(&mut self, now: SimTime, ip_bytes: u32) -> Fate {
        fate(self.down.send_as(now, ip_bytes, Phase::Response))
    }
    fn send_up(&mut self, now: SimTime, ip_bytes: u32) -> Fate {
        fate(self.up.send_as(now, ip_bytes, Phase::Ack))
    }
    #[inline]
    fn send(&mut self, now: SimTime, heading: Heading, ip_bytes: u32, flight: Flight) -> Fate {
        let channel = match heading {
            Heading::Down => &mut self.down,
            Heading::Up => &mut self.up,
        };
        fate(channel.send_as(now, ip_bytes, phase(flight)))
    }
    #[inline]
    fn next_event(&self) -> SimTime {
        if self.deferred { self.down.next_event().min(self.up.next_event()) } else { SimTime::NEVER }
    }
    fn resolve(&mut self, now: SimTime) -> Option<(Heading, Option<SimTime>)> {
        let down = self.down.next_event() <= now;
        let (heading, channel) = if down { (Heading::Down, &mut self.down) } else { (Heading::Up, &mut self.up) };
        channel.pop(now).map(|departure| (heading, arrival(departure.verdict)))
    }
}
