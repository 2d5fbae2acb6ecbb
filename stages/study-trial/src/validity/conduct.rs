//! How the trial was run: H14, H16, H18, H20, H21.

use super::Evidence;
use super::finding::{Finding, by_arm, compare, distinct, equality, same};
use study_stacks::readback::End;

/// The one clock of a trial.
const CLOCK: &str = "CLOCK_MONOTONIC";

fn driving(evidence: &Evidence) -> String {
    let settings = evidence.hops.iter().map(|hop| {
        let (client, server) = (&hop.client, &hop.server);
        format!(
            "{} connect {:?} transfer {:?} idle {:?} nodelay {}",
            server.scheduler.name(),
            client.connect_timeout,
            client.fetch_timeout,
            client.idle_timeout,
            server.nodelay,
        )
    });
    format!("{}, {}", evidence.host.driver, distinct(settings))
}

/// H14 across: one driver, one order of responses, one set of timeouts.
pub(super) fn one_driver(arms: &[Evidence]) -> Vec<Finding> {
    vec![equality(arms, driving, "driver, scheduler and timeouts are")]
}

/// H16: the arm ran at a place in its block that was drawn at random.
pub(super) fn drawn(evidence: &Evidence) -> Vec<Finding> {
    let order = evidence.order;
    let measured = format!("{} of {}", order.position + 1, order.arms);
    let finding = Finding::of(measured, "drawn at random", "place")
        .says(format!("{} declared warm-ups before", order.warm_ups))
        .fails(order.arms > 1 && !order.drawn, "the order of the arms was not drawn at random");
    vec![finding.fails(order.position >= order.arms, "the place is outside of the block")]
}

/// H16 across: each arm ran once, all after equally many warm-ups.
pub(super) fn interleaved(arms: &[Evidence]) -> Vec<Finding> {
    let mut places: Vec<u32> = arms.iter().map(|arm| arm.order.position).collect();
    places.sort_unstable();
    places.dedup();
    let finding = Finding::of(by_arm(arms, |arm| (arm.order.position + 1).to_string()), "each place once", "place")
        .fails(places.len() < arms.len(), "two arms claim the same place in the block");
    let warm = same(arms, |arm| arm.order.warm_ups);
    vec![finding.unequal(compare(arms), !warm, "arms had different numbers of warm-ups")]
}

/// H18: the server allows as many streams as the client wants to use.
pub(super) fn concurrency(evidence: &Evidence) -> Vec<Finding> {
    let rows = || evidence.rows("max_streams").filter(|(_, row)| row.end == End::Server);
    let tight = rows().any(|(hop, row)| row.got.parse::<u64>().is_ok_and(|most| most < u64::from(hop.client.depth)));
    let wanted = distinct(evidence.hops.iter().map(|hop| hop.client.depth));
    let finding = Finding::of(distinct(rows().map(|(_, row)| &row.got)), format!(">= {wanted}"), "streams")
        .unknown(rows().next().is_none(), "no server said how many streams it allows");
    vec![finding.warns(tight, "the server's limit, not the client's depth, decides how many requests are under way")]
}

/// H18 across: depth and limit are equal.
pub(super) fn equal_concurrency(arms: &[Evidence]) -> Vec<Finding> {
    let of =
        |arm: &Evidence| distinct(arm.hops.iter().map(|hop| format!("{} of {}", hop.client.depth, hop.server.streams)));
    vec![equality(arms, of, "requests under way and streams allowed are")]
}

/// H20: all instants are of one monotonic clock, across namespaces.
pub(super) fn one_clock(evidence: &Evidence) -> Vec<Finding> {
    let clock = &evidence.host.clock;
    let first = |hop: &super::Hop| hop.dialed.iter().map(|c| c.started_ns).min();
    let back = evidence.hops.iter().any(|hop| {
        let accepted = hop.accepted.iter().map(|c| c.accepted_ns).max();
        first(hop).zip(accepted).is_some_and(|(started, accepted)| accepted < started)
    });
    let finding = Finding::of(clock, CLOCK, "").fails(clock != CLOCK, "instants are not of the monotonic clock");
    vec![
        finding
            .fails(back, "a server accepted its last connection before a client began its first: their clocks differ"),
    ]
}

/// H21: failed transfers are rows, and are told.
pub(super) fn failures_recorded(evidence: &Evidence) -> Vec<Finding> {
    let seen = evidence.transfers;
    let complete = seen.recorded.saturating_sub(seen.failed);
    let missing = seen.asked.saturating_sub(seen.recorded);
    let finding = Finding::of(complete, seen.asked, "transfers")
        .says(format!("{} failed, {} of them out of time", seen.failed, seen.timed_out))
        .unknown(seen.asked == 0, "no transfer was asked for")
        .fails(missing > 0, format!("{missing} transfers have no row: whatever is computed leaves them out"))
        .fails(seen.failed > seen.recorded || seen.timed_out > seen.failed, "the counts contradict each other");
    vec![
        finding
            .warns(seen.failed > 0, "times of failed transfers are above the timeout; report the success share first"),
    ]
}
