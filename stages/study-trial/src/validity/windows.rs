//! Buffers and flow-control windows: H6, H7, H8.

use super::finding::{Finding, by_arm, compare, distinct, same};
use super::{Evidence, Hop};
use study_stacks::readback::End;
use study_stacks::{Readback, WINDOW_BDPS};

/// Receive buffer of UDP in bandwidth-delay products, at least (H6).
const UDP_BDPS: u64 = 2;
/// A bandwidth-delay product above this share of a window limits the rate (H8).
const FILLED: f64 = 0.8;
/// Kernels write 0, or this and more, for "no limit" of unsent bytes.
const NO_LIMIT: u64 = 1 << 31;

fn number(row: &Readback) -> Option<u64> {
    row.got.parse().ok()
}

/// The smallest value of a setting at an end of a hop's connections.
fn least(hop: &Hop, end: End, setting: &str) -> Option<u64> {
    hop.rows(end, setting).filter_map(number).min()
}

/// H6: the receive buffers of UDP hold a burst, and nothing was dropped for want of room.
pub(super) fn udp_buffers(evidence: &Evidence) -> Vec<Finding> {
    if !evidence.is_quic() {
        return Vec::new();
    }
    let rows = || evidence.rows("udp_receive_buffer");
    let need = |hop: &Hop| hop.bdp().unwrap_or(0).saturating_mul(UDP_BDPS);
    let short = rows().any(|(hop, row)| number(row).is_some_and(|got| got < need(hop)));
    let dropped: u64 = evidence
        .nodes
        .iter()
        .map(|node| node.after.udp_buffer_errors().saturating_sub(node.before.udp_buffer_errors()))
        .sum();
    let expected = evidence.hops.iter().map(need).max().unwrap_or(0);
    let finding = Finding::of(distinct(rows().map(|(_, row)| &row.got)), format!(">= {expected}"), "B")
        .unknown(rows().next().is_none(), "no socket said how large its buffer is")
        .mismatches(rows().map(|(_, row)| row))
        .warns(short, format!("a receive buffer holds less than {UDP_BDPS} bandwidth-delay products"));
    let text = format!("{dropped} datagrams found a full receive buffer; this is loss by the socket, not by the link");
    vec![finding.fails(dropped > 0, text)]
}

/// H7: the kernel's and the stack's send and receive buffers do not cap the rate.
pub(super) fn buffers(evidence: &Evidence) -> Vec<Finding> {
    let names: &[&str] = match evidence.is_quic() {
        true => &["send_window"],
        false => &["tcp_rmem", "tcp_wmem", "tcp_receive_buffer", "tcp_send_buffer"],
    };
    let rows = || names.iter().flat_map(|name| evidence.rows(name));
    let ceilings = || rows().filter(|(_, row)| !row.setting.ends_with("_buffer"));
    let tight = ceilings().find(|(hop, row)| number(row).zip(hop.bdp()).is_some_and(|(got, bdp)| got < bdp));
    let implied =
        ceilings().filter_map(|(hop, row)| Some(8.0 * number(row)? as f64 / hop.params.base_rtt().as_secs_f64()));
    let slowest = implied.min_by(f64::total_cmp).filter(|rate| rate.is_finite());
    let says = slowest.map_or_else(String::new, |rate| format!("the smallest ceiling allows {:.1} Mbit/s", rate / 1e6));
    let lowat = |row: &&Readback| {
        row.end == End::Server && row.asked == "default" && number(row).is_some_and(|got| 0 < got && got < NO_LIMIT)
    };
    let left_low = evidence.rows("notsent_lowat").map(|(_, row)| row).any(|row| lowat(&row));
    let finding =
        Finding::of(distinct(ceilings().map(|(_, row)| format!("{} {}", row.setting, row.got))), ">= 1 BDP", "B")
            .says(says)
            .unknown(ceilings().next().is_none() && evidence.is_equal(), "no ceiling of a buffer was read")
            .mismatches(rows().map(|(_, row)| row))
            .mismatches(evidence.rows("notsent_lowat").map(|(_, row)| row))
            .warns(left_low, "the host limits unsent bytes though the study does not ask for it");
    let text = tight
        .map(|(hop, row)| format!("`{}` holds less than the bandwidth-delay product of `{}`", row.setting, hop.link));
    vec![finding.warns(tight.is_some(), text.unwrap_or_default())]
}

/// What the servers of an arm keep between application and wire, for the arms that have such settings.
fn sender_settings(evidence: &Evidence) -> String {
    let text = |value: Option<u64>| value.map_or_else(|| "default".to_owned(), |bytes| bytes.to_string());
    distinct(evidence.hops.iter().map(|hop| {
        let set = &hop.server;
        let (lowat, record) = (set.notsent_lowat.map(u64::from), set.tls_record.map(u64::from));
        format!("unsent {}, HTTP {}, record {}", text(lowat), text(set.http_send_buffer), text(record))
    }))
}

/// H7 across: arms over one stack have the same sender settings.
pub(super) fn equal_sender_settings(arms: &[Evidence]) -> Vec<Finding> {
    let tcp: Vec<Evidence> = arms.iter().filter(|arm| !arm.is_quic()).cloned().collect();
    let differ = !same(&tcp, sender_settings);
    let finding =
        Finding::of(by_arm(&tcp, sender_settings), "equal", "").says("what QUIC has no setting for is left out");
    if tcp.len() < 2 {
        Vec::new()
    } else {
        vec![finding.unequal(compare(arms), differ, "arms over TCP have different sender settings")]
    }
}

const WINDOWS: [&str; 2] = ["stream_window", "connection_window"];

/// H8: flow-control windows are as asked for, and hold what the link needs.
pub(super) fn flow_control(evidence: &Evidence) -> Vec<Finding> {
    let rows = || WINDOWS.iter().flat_map(|name| evidence.rows(name));
    let clients = || rows().filter(|(_, row)| row.end == End::Client);
    let needed = |hop: &Hop| hop.bdp().unwrap_or(0);
    let filled = clients().any(|(hop, row)| number(row).is_some_and(|got| needed(hop) as f64 > FILLED * got as f64));
    let small =
        clients().any(|(hop, row)| number(row).is_some_and(|got| got < needed(hop).saturating_mul(WINDOW_BDPS)));
    let most = evidence.hops.iter().map(needed).max().unwrap_or(0);
    let expected = if evidence.is_equal() { most.saturating_mul(WINDOW_BDPS) } else { (most as f64 / FILLED) as u64 };
    let finding = Finding::of(
        distinct(clients().map(|(_, row)| format!("{} {}", row.setting, row.got))),
        format!(">= {expected}"),
        "B",
    )
    .unknown(clients().next().is_none(), "no client said how large its windows are")
    .mismatches(rows().map(|(_, row)| row))
    .warns(
        filled,
        format!("the bandwidth-delay product is above {:.0} % of a window: it limits the rate", 100.0 * FILLED),
    );
    vec![finding.warns(
        small && !filled && evidence.is_equal(),
        format!("a window is below {WINDOW_BDPS} bandwidth-delay products"),
    )]
}

/// H8 across: the windows of all arms are equal.
pub(super) fn equal_windows(arms: &[Evidence]) -> Vec<Finding> {
    let of = |arm: &Evidence| {
        let windows = arm.hops.iter().map(|hop| WINDOWS.map(|name| least(hop, End::Client, name)));
        windows
            .map(|pair| pair.map(|bytes| bytes.map_or_else(|| "?".to_owned(), |b| b.to_string())).join("/"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let known = arms.iter().all(|arm| !of(arm).contains('?'));
    let finding = Finding::of(by_arm(arms, of), "equal", "B").unknown(!known, "not known for each arm");
    vec![finding.unequal(compare(arms), known && !same(arms, of), "flow-control windows differ")]
}
