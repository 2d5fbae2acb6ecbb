//! Congestion control: H1, H2, H4, H5, H17.

use super::finding::{Finding, by_arm, compare, distinct, equality, ratio};
use super::{Compare, Evidence, Hop};
use study_stacks::readback::{End, Verdict};
use study_stacks::{Counters, Readback};
use study_transport::CongestionControl;

/// A single flow on a clean link must reach this share of its rate (H2).
const CLEAN_SHARE: f64 = 0.9;
/// First windows of two arms may differ by this share: ten segments of 1,448 bytes and ten datagrams of 1,452 pass.
const WINDOW_RATIO: f64 = 0.97;
/// Whether TCP begins with its first window after a pause.
const IDLE_RESTART: &str = "net.ipv4.tcp_slow_start_after_idle";

/// H1: each end runs the controller that was asked for, as the kernel or the stack says.
pub(super) fn controller(evidence: &Evidence) -> Vec<Finding> {
    let rows = || evidence.rows("congestion_control").map(|(_, row)| row);
    let from = |end| rows().any(|row| row.end == end);
    let expected = distinct(evidence.hops.iter().flat_map(|hop| [&hop.client, &hop.server]).map(controller_name));
    let stale = rows().any(|row| !evidence.hops.iter().any(|hop| controller_name(hop.settings(row.end)) == row.asked));
    let finding = Finding::of(distinct(rows().map(|row| &row.got)), expected, "")
        .unknown(!from(End::Server), "no server said which controller it runs")
        .mismatches(rows());
    vec![finding.fails(stale, "an end was asked for another controller than the study names")]
}

fn controller_name(settings: &study_stacks::StackSettings) -> &'static str {
    settings.congestion_control.name()
}

fn controllers(evidence: &Evidence) -> String {
    distinct(evidence.hops.iter().map(|hop| controller_name(&hop.server)))
}

/// H1 across: the senders of all arms have one controller.
pub(super) fn equal_controllers(arms: &[Evidence]) -> Vec<Finding> {
    vec![equality(arms, controllers, "congestion controllers are")]
}

/// H2: who implements it, and that a clean link can be filled with it.
pub(super) fn implementation(evidence: &Evidence) -> Vec<Finding> {
    let share = evidence.host.clean_share;
    let names = distinct(evidence.hops.iter().map(|hop| if hop.is_quic() { "quic" } else { "tcp" }));
    let measured = share.map_or_else(|| "not measured".to_owned(), |share| format!("{share:.3}"));
    let finding = Finding::of(measured, format!(">= {CLEAN_SHARE}"), "share of a clean link's rate")
        .says(format!(
            "{} of {} over {names}, Linux {}",
            controllers(evidence),
            evidence.host.implementation,
            evidence.host.kernel
        ))
        .unknown(share.is_none(), "no single flow on a clean link was measured");
    vec![finding.fails(share.is_some_and(|share| share < CLEAN_SHARE), "a single flow does not fill a clean link")]
}

/// H2 across: one name may stand for different algorithms.
pub(super) fn one_algorithm(arms: &[Evidence]) -> Vec<Finding> {
    let stacks = |arm: &Evidence| distinct(arm.hops.iter().map(|hop| hop.server.stack.name()));
    let one = arms.windows(2).all(|pair| stacks(&pair[0]) == stacks(&pair[1]));
    let bbr =
        arms.iter().flat_map(|arm| &arm.hops).any(|hop| hop.server.congestion_control == CongestionControl::BbrV1);
    let says = if one {
        "one implementation"
    } else {
        "implementations differ in detail: Linux computes CUBIC by RFC 9438, quinn by RFC 8312"
    };
    let finding =
        Finding::of(by_arm(arms, |arm| format!("{} of {}", controllers(arm), stacks(arm))), "one algorithm", "");
    let text = "quinn's authors mark their BBR as experimental: it is not the kernel's BBR under the same name";
    vec![finding.says(if bbr { "" } else { says }).warns(bbr && !one, text)]
}

/// Whether an arm falls back to its first window after a pause; `None`: not known. quinn-proto 0.11.19 never does: its
/// controllers only stop growing while the application has nothing to send.
fn restarts(evidence: &Evidence) -> Option<bool> {
    let of =
        |hop: &Hop| if hop.is_quic() { Some(false) } else { evidence.sysctl(&hop.far, IDLE_RESTART).map(|v| v != "0") };
    let all: Option<Vec<bool>> = evidence.hops.iter().map(of).collect();
    all.map(|all| all.contains(&true))
}

fn restart_name(evidence: &Evidence) -> &'static str {
    match restarts(evidence) {
        Some(true) => "restarts",
        Some(false) => "keeps its window",
        None => "?",
    }
}

/// H4: what happens to the window in a pause.
pub(super) fn idle_restart(evidence: &Evidence) -> Vec<Finding> {
    let finding = Finding::of(restart_name(evidence), "on record", "");
    vec![finding.unknown(restarts(evidence).is_none(), format!("`{IDLE_RESTART}` was not read"))]
}

/// H4 across: the same in all arms. A warning, since no stack has a switch for both.
pub(super) fn equal_idle_restart(arms: &[Evidence]) -> Vec<Finding> {
    let known: Vec<bool> = arms.iter().filter_map(restarts).collect();
    let differ = known.windows(2).any(|pair| pair[0] != pair[1]);
    let finding = Finding::of(by_arm(arms, |arm| restart_name(arm).to_owned()), "equal", "");
    vec![finding.unknown(known.len() < arms.len(), "not known for each arm").warns(
        differ,
        worded(arms, "only some arms begin anew after a pause, which costs them a few round trips per pause"),
    )]
}

/// The words for a difference that the stacks come with.
fn worded(arms: &[Evidence], text: &str) -> String {
    if compare(arms) == Compare::AsDeployed { format!("as deployed: {text}") } else { text.to_owned() }
}

/// A connection that may have had to repeat its handshake: after more than one repeat Linux begins with one packet
/// (`tcp_init_transfer`, after RFC 5681 section 3.1).
fn repeated(row: &Readback, counters: Option<&Counters>) -> bool {
    row.unit == "packets" && row.got == "1" && counters.is_some_and(|counters| counters.packets_lost() > 1)
}

/// The first windows of an arm's servers: row and bytes; those after a repeated handshake are left out.
fn first_windows(evidence: &Evidence) -> Vec<(&Readback, Option<f64>)> {
    let mut found = Vec::new();
    for (rows, counters) in evidence.hops.iter().flat_map(Hop::ends) {
        let of = |setting: &str| rows.iter().find(|row| row.end == End::Server && row.setting == setting);
        let Some(row) = of("initial_window").filter(|row| !repeated(row, counters)) else { continue };
        let size = match &*row.unit {
            "packets" => of("tcp_mss").and_then(|mss| mss.got.parse::<f64>().ok()),
            _ => Some(1.0),
        };
        found.push((row, row.got.parse::<f64>().ok().zip(size).map(|(got, size)| got * size)));
    }
    found
}

/// H5: the first window is the one asked for.
pub(super) fn initial_window(evidence: &Evidence) -> Vec<Finding> {
    let rows = first_windows(evidence);
    let text = |row: &Readback, value: &str| format!("{value} {}", row.unit);
    let finding = Finding::of(
        distinct(rows.iter().map(|(row, _)| text(row, &row.got))),
        distinct(rows.iter().map(|(row, _)| text(row, &row.asked))),
        "",
    );
    let finding = finding.unknown(rows.is_empty(), "no server said how large its first window is");
    vec![finding.mismatches(rows.into_iter().map(|(row, _)| row))]
}

/// The bytes of an arm's first window: the smallest of its servers'.
fn window_bytes(evidence: &Evidence) -> Option<f64> {
    first_windows(evidence).into_iter().filter_map(|(_, bytes)| bytes).min_by(f64::total_cmp)
}

/// H5 across: first windows are equal in packets asked for and in bytes got.
pub(super) fn equal_initial_windows(arms: &[Evidence]) -> Vec<Finding> {
    let asked = |arm: &Evidence| distinct(arm.hops.iter().map(|hop| hop.server.initial_window));
    let bytes: Vec<f64> = arms.iter().filter_map(window_bytes).collect();
    let text = |arm: &Evidence| window_bytes(arm).map_or_else(|| "?".to_owned(), |bytes| format!("{bytes:.0}"));
    let packets_differ = arms.windows(2).any(|pair| asked(&pair[0]) != asked(&pair[1]));
    let differ = packets_differ || ratio(&bytes) < WINDOW_RATIO;
    let finding = Finding::of(by_arm(arms, text), format!("within {:.0} %", 100.0 * (1.0 - WINDOW_RATIO)), "B");
    let finding = finding.unknown(bytes.len() < arms.len(), "not known for each arm");
    vec![finding.unequal(
        compare(arms),
        differ,
        "the first windows differ: one arm needs a round trip less for a small object",
    )]
}

/// How an arm spreads its packets over time.
fn pacing(evidence: &Evidence) -> &'static str {
    let kernel = evidence
        .rows("pacing")
        .any(|(_, row)| row.end == End::Server && row.verdict != Verdict::Differs && row.got != "none");
    let tcp = |hop: &Hop| hop.server.congestion_control == CongestionControl::BbrV1 || kernel;
    match evidence.hops.iter().all(|hop| hop.is_quic() || tcp(hop)) {
        true => "paced",
        false => "bursts",
    }
}

/// H17: how packets are spread over time.
pub(super) fn pacing_mechanism(evidence: &Evidence) -> Vec<Finding> {
    let discipline = distinct(evidence.nodes.iter().filter_map(|node| node.sysctls.get("net.core.default_qdisc")));
    let by = match (evidence.is_quic(), pacing(evidence)) {
        (true, _) => "the stack itself",
        (false, "paced") => "the kernel's timers, without `fq`",
        (false, _) => "nothing: this controller sends its window in bursts",
    };
    let finding = Finding::of(pacing(evidence), "on record", "");
    vec![finding.says(format!("paced by {by}; default queueing discipline: {discipline}"))]
}

/// H17 across: all arms pace or none does. A warning: quinn cannot be told not to.
pub(super) fn equal_pacing(arms: &[Evidence]) -> Vec<Finding> {
    let differ = arms.windows(2).any(|pair| pacing(&pair[0]) != pacing(&pair[1]));
    let finding = Finding::of(by_arm(arms, |arm| pacing(arm).to_owned()), "equal", "");
    vec![finding.warns(
        differ,
        worded(arms, "only some arms pace; at short queues bursts are dropped where paced packets are not"),
    )]
}
