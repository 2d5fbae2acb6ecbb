//! What was lost, and why: E12, E14, E15, E20.

use super::finding::{Finding, by_arm, compare, distinct, equality, same};
use super::{Evidence, Hop};
use study_link::{DirectionParams, Loss, LossAt, LossClock, Outages, PhaseStreams, Way};
use study_shaper::DirectionRecord;
use study_stacks::Counters;

/// E12: each loss has a label, and none happened outside of the model.
pub(super) fn labelled(evidence: &Evidence) -> Vec<Finding> {
    let [mut random, mut queue, mut policer, mut outage, mut packets, mut foreign] = [0; 6];
    let (mut unasked, mut broken) = (Vec::new(), Vec::new());
    for hop in &evidence.hops {
        for (way, seen) in hop.ways() {
            random += seen.losses.random;
            queue += seen.losses.queue;
            policer += seen.losses.policer;
            outage += seen.losses.outage;
            packets += seen.packets;
            let params = hop.params.way(way);
            if params.loss == Loss::None && params.loss_schedule.is_none() && seen.losses.random > 0 {
                unasked.push(format!("`{}` {} lost packets at random without being asked to", hop.link, way.name()));
            }
        }
        foreign += hop.record.foreign_losses();
        if hop.record.broken {
            broken.push(hop.link.clone());
        }
    }
    let measured =
        format!("random {random}, queue {queue}, policer {policer}, outage {outage}, outside {foreign} of {packets}");
    let text =
        format!("{foreign} packets were lost by interfaces, sockets or refused writes, outside of the link's model");
    let finding = Finding::of(measured, "outside 0", "packets")
        .unknown(packets == 0, "no packet was seen")
        .fails(foreign > 0, text)
        .fails(!unasked.is_empty(), unasked.join("; "));
    vec![finding.fails(!broken.is_empty(), format!("dead since its relay failed: {}", distinct(broken)))]
}

/// E14 across: one kind of link, one kernel, one realisation for all arms.
pub(super) fn one_realisation(arms: &[Evidence]) -> Vec<Finding> {
    let seeds = |arm: &Evidence| arm.hops.iter().map(|hop| hop.seed.clone()).collect::<Vec<_>>();
    let carrier = |arm: &Evidence| format!("{} on {}", arm.host.backend.name(), arm.host.kernel);
    let finding = Finding::of(by_arm(arms, carrier), "equal", "");
    // Figures of different backends or kernels are never pooled, whatever the study says.
    let finding = finding.fails(!same(arms, carrier), "arms ran on different backends or kernels");
    let finding = finding.fails(!same(arms, seeds), "arms had different seeds of their links");
    let alike = arms.windows(2).all(|pair| definitions(&pair[0]).eq(definitions(&pair[1])));
    let finding = finding.fails(!alike, "arms had different links");
    let differs =
        if alike && same(arms, seeds) { arms.windows(2).find_map(|pair| difference(&pair[0], &pair[1])) } else { None };
    let text = differs.clone().map(|link| format!("the losses of `{link}` are not the same packets by index"));
    vec![finding.fails(differs.is_some(), text.unwrap_or_default())]
}

fn definitions(evidence: &Evidence) -> impl Iterator<Item = (&String, &study_link::LinkParams)> {
    evidence.hops.iter().map(|hop| (&hop.link, &hop.params))
}

/// The first link and direction whose losses must agree and do not.
fn difference(a: &Evidence, b: &Evidence) -> Option<String> {
    let pairs = a.hops.iter().zip(&b.hops).flat_map(|(a, b)| {
        let ways = a.ways().into_iter().zip(b.ways());
        ways.map(move |((way, x), (_, y))| (a, way, x, y))
    });
    let mut wrong =
        pairs.filter(|(hop, way, x, y)| by_index(hop.params.way(*way)) && !x.loss_bits.agrees_with(&y.loss_bits));
    wrong.next().map(|(hop, way, ..)| format!("{} {}", hop.link, way.name()))
}

/// Whether a packet's index alone decides if it is lost: the packet clock, and nothing that keeps packets from the process.
fn by_index(params: &DirectionParams) -> bool {
    params.loss.clock().is_none_or(|clock| clock == LossClock::Packet)
        && params.loss.phases() == PhaseStreams::Joint
        && params.loss_schedule.is_none()
        && params.loss_at == LossAt::Entry
        && matches!(params.outages, Outages::None)
        && params.policer.is_none()
        && params.arq.is_none()
}

/// E15: what each arm met, in every currency: equal processes are not equal exposure.
pub(super) fn exposure(evidence: &Evidence) -> Vec<Finding> {
    let mut findings = Vec::new();
    for way in Way::ALL {
        let seen: Vec<&DirectionRecord> =
            evidence.hops.iter().map(|hop| hop.ways()[usize::from(*way == Way::Up)].1).collect();
        let random: u64 = seen.iter().map(|way| way.losses.random).sum();
        let packets: u64 = seen.iter().map(|way| way.packets).sum();
        let megabytes = seen.iter().map(|way| way.bytes).sum::<u64>() as f64 / 1e6;
        let per_ms: f64 = seen.iter().map(|way| way.realised.per_ms).sum();
        let clock = distinct(evidence.hops.iter().map(|hop| clock_name(hop, *way)));
        let figures = [
            ("1/packet", random as f64 / packets.max(1) as f64),
            ("1/MB", if megabytes > 0.0 { random as f64 / megabytes } else { 0.0 }),
            ("1/ms", per_ms),
        ];
        findings.extend(figures.map(|(unit, figure)| {
            Finding::of(format!("{figure:.6}"), "on record", unit)
                .says(format!("random losses {}, clock: {clock}; {random} of {packets} packets", way.name()))
                .unknown(packets == 0, "no packet was seen")
        }));
    }
    findings
}

fn clock_name(hop: &Hop, way: Way) -> &'static str {
    let params = hop.params.way(way);
    match (&params.loss_schedule, params.loss.clock()) {
        (Some(_), _) => "per step",
        (None, Some(clock)) => clock.name(),
        (None, None) => "none",
    }
}

fn ecn(evidence: &Evidence) -> String {
    let negotiated = evidence.counters().filter_map(|(_, counters)| match counters {
        Counters::Tcp(tcp) => Some(if tcp.ecn { "negotiated" } else { "not negotiated" }),
        Counters::Quic(_) => None,
    });
    distinct(negotiated)
}

/// E20: no packet was marked: the link's queues drop.
pub(super) fn no_marks(evidence: &Evidence) -> Vec<Finding> {
    let marks = evidence.counters().filter_map(|(_, counters)| match counters {
        Counters::Tcp(tcp) => tcp.delivered_ce,
        Counters::Quic(_) => None,
    });
    let marked: u64 = marks.map(u64::from).sum();
    let setting = distinct(evidence.nodes.iter().filter_map(|node| node.sysctls.get("net.ipv4.tcp_ecn")));
    let says = match evidence.is_quic() {
        true => "QUIC counts no marks here; the link makes none".to_owned(),
        false => format!("TCP: {}, `tcp_ecn` {setting}", ecn(evidence)),
    };
    let finding = Finding::of(marked, "0", "marked packets").says(says);
    vec![finding.fails(marked > 0, "packets were marked, which the link does not do: something else is on the path")]
}

/// E20 across: arms over TCP agree on it.
pub(super) fn equal_ecn(arms: &[Evidence]) -> Vec<Finding> {
    let tcp: Vec<Evidence> = arms.iter().filter(|arm| !arm.is_quic()).cloned().collect();
    if tcp.len() < 2 {
        return Vec::new();
    }
    let mut finding = equality(&tcp, ecn, "explicit congestion notification is");
    let setting = |arm: &Evidence| distinct(arm.nodes.iter().filter_map(|node| node.sysctls.get("net.ipv4.tcp_ecn")));
    finding = finding.unequal(compare(arms), !same(&tcp, setting), "`tcp_ecn` is not equal");
    vec![finding]
}
