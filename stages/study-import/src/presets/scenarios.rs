//! Links of published experiments that are more than a rate, a delay and a loss.
//!
//! Sources: the README of each scenario of quic-network-simulator; issue 31 of mp-quic. A delay there is one way; a queue counts packets.
//! What is not here: rebinding of addresses, which is no property of a link.

use crate::profile::LinkProfile;
use study_link::{
    Bernoulli, Capped, DirectionParams, Drops, LinkParams, Loss, LossClock, OutagePeriod, Outages, Queue, QueueLimit,
    Rate,
};
use study_units::{BitRate, Probability, SimDuration};

/// One experiment.
pub(super) struct Scenario {
    pub name: &'static str,
    pub source: &'static str,
    pub licence: &'static str,
    command: &'static str,
    /// One way, in milliseconds.
    delay: u64,
    kind: Kind,
}

/// What is special about it. All have 10 Mbit/s and room for 25 packets.
enum Kind {
    Plain,
    /// Percent, and the longest run.
    Capped(u32, u32),
    /// Percent.
    Independent(u32),
    /// Packets towards the viewer.
    Drops(&'static [u64]),
    /// Seconds on, seconds off, times.
    Outages(u64, u64, u32),
}

const SIMULATOR: &str = "quic-network-simulator, sim/scenarios";
const SIMULATOR_LICENCE: &str = "no licence file seen; numbers only";

const fn interop(name: &'static str, command: &'static str, delay: u64, kind: Kind) -> Scenario {
    Scenario { name, source: SIMULATOR, licence: SIMULATOR_LICENCE, command, delay, kind }
}

const MP_QUIC: &str = "qdeconinck/mp-quic, issue 31";

const fn mp_quic(name: &'static str, command: &'static str, delay: u64) -> Scenario {
    Scenario {
        name,
        source: MP_QUIC,
        licence: "licence not checked; numbers only",
        command,
        delay,
        kind: Kind::Independent(1),
    }
}

pub(super) const ALL: &[Scenario] = &[
    interop(
        "interop_drop_rate",
        "drop-rate --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_server=30 --rate_to_client=30 --burst_to_server=3 \
         --burst_to_client=3",
        15,
        Kind::Capped(30, 3),
    ),
    interop("interop_simple_p2p", "simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25", 15, Kind::Plain),
    interop("interop_long_rtt", "simple-p2p --delay=750ms --bandwidth=10Mbps --queue=25", 750, Kind::Plain),
    interop(
        "interop_droplist",
        "droplist --delay=15ms --bandwidth=10Mbps --queue=25 --drops_to_client=1,3,15",
        15,
        Kind::Drops(&[1, 3, 15]),
    ),
    interop(
        "interop_blackhole",
        "blackhole --delay=15ms --bandwidth=10Mbps --queue=25 --on=10s --off=3s --repeat=2",
        15,
        Kind::Outages(10, 3, 2),
    ),
    mp_quic("mp_quic_31_short", "Mininet bw=10, loss=1, delay=10ms, max_queue_size=25", 10),
    mp_quic("mp_quic_31_long", "Mininet bw=10, loss=1, delay=50ms, max_queue_size=25", 50),
];

/// The link of a scenario.
pub(super) fn find(name: &str) -> Option<LinkProfile> {
    let scenario = ALL.iter().find(|scenario| scenario.name == name)?;
    let rate = BitRate::from_bits_per_second(10_000_000);
    let mut down = DirectionParams::plain(SimDuration::from_millis(scenario.delay), Rate::Constant(rate));
    down.queue = Queue::DropTail(QueueLimit::Packets(25));
    let mut up = down.clone();
    let share = |percent: u32| Probability::new(f64::from(percent) / 100.0).unwrap_or_default();
    let (clock, slot, slot_bytes, phases) = (LossClock::Packet, None, None, None);
    let mut notes = vec!["the delay is one way: a round trip has it twice".to_owned()];
    match scenario.kind {
        Kind::Plain => {}
        Kind::Capped(percent, most_in_a_row) => {
            down.loss = Loss::Capped(Capped { rate: share(percent), most_in_a_row, clock, slot, slot_bytes, phases });
            up.loss = down.loss.clone();
            notes.push(format!(
                "never more than {most_in_a_row} lost in a row, so fewer than the {percent} % that are written"
            ));
        }
        Kind::Independent(percent) => {
            down.loss = Loss::Bernoulli(Bernoulli { rate: share(percent), clock, slot, slot_bytes, phases });
            up.loss = down.loss.clone();
            notes.push(
                "what a sender loses is this and what the queue drops: frame `links` of a run gives both".to_owned(),
            );
        }
        Kind::Drops(packets) => down.loss = Loss::Drops(Drops { packets: packets.to_vec() }),
        Kind::Outages(on, off, times) => {
            let (on, off) = (SimDuration::from_secs(on), SimDuration::from_secs(off));
            down.outages = Outages::Period(OutagePeriod { on, off, repeat: Some(times) });
            up.outages = down.outages.clone();
        }
    }
    Some(LinkProfile {
        name: scenario.name.to_owned(),
        source: vec![format!("{} ({})", scenario.source, scenario.licence), format!("`{}`", scenario.command)],
        link: LinkParams { down, up },
        notes,
        deviations: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_are_capped_lose_less_than_is_written() {
        let profile = find("interop_drop_rate").unwrap();
        assert!((profile.link.down.stationary_loss() - 0.2943).abs() < 5e-5);
        assert!(profile.yaml().contains("long-run loss 29.4 %, runs of 1.39"), "{}", profile.yaml());
    }

    #[test]
    fn small_queues_are_told_against_the_bandwidth_delay_product() {
        for (name, share) in [("interop_long_rtt", "0.02"), ("mp_quic_31_long", "0.3")] {
            let yaml = find(name).unwrap().yaml();
            assert!(yaml.contains(&format!("{share} of the bandwidth-delay product (so small")), "{yaml}");
        }
        assert_eq!(find("interop_long_rtt").unwrap().link.base_rtt(), SimDuration::from_millis(1500));
    }
}
