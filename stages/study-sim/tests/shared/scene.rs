//! Links and flows for the tests.

use study_ident::SeedPath;
use study_link::{
    DirectionParams, GilbertElliott, JitterDistribution, JitterParams, LinkCounters, LinkParams, Loss, LossClock,
    Queue, Rate,
};
use study_sim::{FlowLoad, FlowSpec, LinkPath, SharedResult, SharedSpec, run_shared};
use study_transport::{
    AppEvent, Availability, CongestionControl, Connection, ConnectionConfig, Protocol, Scheduler, SessionState,
};
use study_units::{Probability, SimDuration, SimTime};

pub const fn secs(s: u64) -> SimTime {
    SimTime::from_nanos(s * 1_000_000_000)
}
pub const fn ms(ms: u64) -> SimTime {
    SimTime::from_nanos(ms * 1_000_000)
}

/// The queue stands towards the clients; the way back has the same rate and no queue limit.
pub fn link(rate: &str, rtt: &str, queue: Queue) -> LinkParams {
    let one_way = rtt.parse::<SimDuration>().unwrap().half();
    let rate = match rate {
        "unlimited" => Rate::Unlimited,
        rate => Rate::Constant(rate.parse().unwrap()),
    };
    let up = DirectionParams::plain(one_way, rate);
    LinkParams { down: DirectionParams { queue, ..up.clone() }, up }
}

pub fn loss_and_jitter() -> (Loss, Option<JitterParams>) {
    let share = |p| Probability::new(p).unwrap();
    let loss = Loss::GilbertElliott(GilbertElliott {
        good_to_bad: share(0.002),
        bad_to_good: share(0.5),
        loss_in_bad: share(1.0),
        loss_in_good: share(0.0),
        clock: LossClock::Packet,
        slot: None,
        slot_bytes: None,
        phases: None,
    });
    let jitter = JitterParams {
        std_dev: SimDuration::from_millis(2),
        distribution: JitterDistribution::HalfNormal,
        correlation_time: SimDuration::from_millis(50),
        reorder: false,
    };
    (loss, Some(jitter))
}

pub fn bulk(s: u64) -> FlowLoad {
    FlowLoad::Bulk(SimDuration::from_secs(s))
}
pub fn objects(sizes: &[u64]) -> FlowLoad {
    FlowLoad::Objects(sizes.to_vec())
}

pub fn flow(protocol: Protocol, controller: CongestionControl, load: FlowLoad) -> FlowSpec {
    let config =
        ConnectionConfig::new(protocol, controller, Scheduler::Sequential, SessionState::Cold, &study_tree::defaults());
    FlowSpec { config, start: SimTime::ZERO, load, extra_one_way: SimDuration::ZERO }
}

pub fn run(link: &LinkParams, flows: &[FlowSpec], until: SimTime, measured: (SimTime, SimTime)) -> SharedResult {
    run_shared(&SharedSpec { link, seed: SeedPath::root(7), flows, until, measured })
}

/// The same flow on a link of its own: when its objects were complete, and the counters.
pub fn through(link: &LinkParams, spec: &mut FlowSpec) -> (Vec<SimTime>, LinkCounters, LinkCounters) {
    let FlowLoad::Objects(sizes) = &spec.load else { panic!() };
    let mut connection = Connection::open(spec.config.clone(), LinkPath::new(link, SeedPath::root(7)), spec.start);
    let mut completed = Vec::new();
    connection.request();
    while let Some(event) = connection.advance(secs(600)) {
        match event {
            AppEvent::RequestArrived(stream) => {
                connection.respond(stream, sizes[stream.0 as usize], Availability::Full);
            }
            AppEvent::Completed(_) => {
                completed.push(connection.now());
                if completed.len() < sizes.len() {
                    connection.request();
                }
            }
        }
    }
    (completed, connection.path.down.counters(), connection.path.up.counters())
}
