//! The same fetch in the model.

use serde_json::json;
use study_ident::SeedPath;
use study_link::{Direction, DirectionParams, Verdict};
use study_transport::{
    AppEvent, Availability, CongestionControl, Connection, ConnectionConfig, Fate, Path, Profile, Protocol, Scheduler,
    SessionState, TransportParams,
};
use study_tree::{Cx, Decode, Node, Sections, Span};
use study_units::{BitRate, Bytes, SimDuration, SimTime};

pub const REQUEST: u64 = 400;
pub const RESPONSE_HEADERS: u64 = 200;

/// One object over a symmetric link with a queue that never drops.
#[derive(Debug)]
pub struct Scene {
    pub rtt: SimDuration,
    pub rate: BitRate,
    pub loss: f64,
    /// Mean number of packets lost in a row; 1 for independent losses.
    pub burst: f64,
    pub bytes: u64,
    pub control: CongestionControl,
    pub seed: u64,
}

pub struct Modeled {
    pub completed: SimDuration,
    pub sent: u64,
    pub times: Vec<SimDuration>,
}

struct Links {
    down: Direction,
    up: Direction,
    sent: u64,
    times: Vec<SimDuration>,
}

fn fate(verdict: Verdict) -> Fate {
    if let Verdict::Deliver(at) = verdict { Fate::Arrives(at) } else { Fate::Lost }
}

impl Path for Links {
    fn send_down(&mut self, now: SimTime, ip_bytes: u32) -> Fate {
        self.sent += 1;
        self.times.push(now.since(SimTime::ZERO));
        fate(self.down.send(now, ip_bytes))
    }
    fn send_up(&mut self, now: SimTime, ip_bytes: u32) -> Fate {
        fate(self.up.send(now, ip_bytes))
    }
}

impl Scene {
    /// Both directions, the same for both opinions.
    pub fn links(&self) -> (Direction, Direction) {
        let percent = |share: f64| format!("{} %", 100.0 * share);
        let loss = if self.loss == 0.0 {
            json!("none")
        } else if self.burst > 1.0 {
            // r = 1 / B, p = L / (B (1 - L)): a bad state that loses everything.
            let (leave, enter) = (1.0 / self.burst, self.loss / (self.burst * (1.0 - self.loss)));
            json!({ "gilbert_elliott": {
                "good_to_bad": percent(enter), "bad_to_good": percent(leave), "loss_in_bad": "100 %",
                "loss_in_good": "0 %", "clock": "packet",
            } })
        } else {
            json!({ "bernoulli": { "rate": percent(self.loss), "clock": "packet" } })
        };
        let params: DirectionParams = serde_json::from_value(json!({
            "one_way": self.rtt.half().to_string(), "rate": self.rate.to_string(), "jitter": null, "loss": loss,
            "queue": "unlimited", "overhead": "0 B",
        }))
        .unwrap();
        let direction = |way: &str| Direction::new(&params, SeedPath::root(self.seed).child(way));
        (direction("down"), direction("up"))
    }

    pub fn model(&self, chain: u64) -> Modeled {
        let sections = Sections::new();
        let node = Node::map(Vec::new(), Span::default());
        let mut params = TransportParams::decode(&node, &mut Cx::new(&sections)).unwrap();
        params.pacing = true;
        params.profile = Profile::Quinn011;
        params.certificate_chain = Bytes::new(chain);
        params.idle_restart = false;
        let config =
            ConnectionConfig::new(Protocol::H3, self.control, Scheduler::RoundRobin, SessionState::Cold, &params);
        let (down, up) = self.links();
        let mut connection = Connection::open(config, Links { down, up, sent: 0, times: Vec::new() }, SimTime::ZERO);
        let stream = connection.request();
        loop {
            match connection.advance(SimTime::from_nanos(300_000_000_000)) {
                Some(AppEvent::RequestArrived(_)) => connection.respond(stream, self.bytes, Availability::Full),
                Some(AppEvent::Completed(_)) => break,
                other => panic!("the transfer did not end: {other:?}"),
            }
        }
        let report = connection.report(stream).unwrap();
        Modeled {
            completed: report.completed.since(SimTime::ZERO),
            sent: connection.path.sent,
            times: connection.path.times,
        }
    }
}
