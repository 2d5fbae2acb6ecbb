//! Packets on the wire: E1, E4, H9, H10.

use super::finding::{Finding, by_arm, compare, distinct, equality, ratio};
use super::{Evidence, Hop};
use study_stacks::{Counters, Datagram};

/// IPv4 and TCP headers, and with timestamps (RFC 7323), bytes.
const TCP_HEADERS: u64 = 40;
const TIMESTAMPS: u64 = 12;
/// IPv4 and UDP headers, bytes.
const UDP_HEADERS: u64 = 28;
/// MTU of a studied link, bytes: Ethernet's.
const MTU: u32 = 1_500;
/// Full packets of two arms may differ by this share: TCP's 1,500 bytes and the 1,480 of a QUIC datagram of 1,452 pass.
const SIZE_RATIO: f64 = 0.95;

/// TCP's headers on a hop, from the near node's settings.
fn tcp_headers(evidence: &Evidence, hop: &Hop) -> u64 {
    let off = evidence.sysctl(&hop.near, "net.ipv4.tcp_timestamps") == Some("0");
    if off { TCP_HEADERS } else { TCP_HEADERS + TIMESTAMPS }
}

/// The full packets of an arm as its stacks say, bytes of IP.
fn full_packets(evidence: &Evidence) -> impl Iterator<Item = u64> {
    evidence.counters().map(|(hop, counters)| match counters {
        Counters::Tcp(tcp) => u64::from(tcp.snd_mss) + tcp_headers(evidence, hop),
        Counters::Quic(quic) => u64::from(quic.current_mtu) + UDP_HEADERS,
    })
}

/// E1: never over the loopback interface, and no segment larger than a link of 1,500 bytes carries.
pub(super) fn real_link(evidence: &Evidence) -> Vec<Finding> {
    let loopback = |hop: &&Hop| hop.near == hop.far || hop.accepted.iter().any(|c| c.peer.ip().is_loopback());
    let over_lo = evidence.hops.iter().find(loopback).map(|hop| hop.link.clone());
    let wide = evidence.hops.iter().find(|hop| hop.mtu > MTU);
    let largest = full_packets(evidence).max();
    let most = evidence.hops.iter().map(|hop| u64::from(hop.mtu)).max().unwrap_or(u64::from(MTU));
    let measured = largest.map_or_else(String::new, |bytes| bytes.to_string());
    let finding = Finding::of(measured, format!("<= {most}"), "B")
        .unknown(largest.is_none(), "no connection says how large its packets are")
        .fails(over_lo.is_some(), format!("`{}` is the loopback interface", over_lo.unwrap_or_default()))
        .fails(wide.is_some(), format!("the MTU of `{}` is above {MTU} B", wide.map_or("", |hop| &hop.link)));
    vec![finding.fails(largest.is_some_and(|bytes| bytes > most), "a stack sends packets larger than the MTU")]
}

/// E4: no packet larger than the MTU was seen.
pub(super) fn no_super_packets(evidence: &Evidence) -> Vec<Finding> {
    let seen = evidence.hops.iter().flat_map(|hop| hop.ways().map(|(_, way)| (way.largest_frame, way.oversized)));
    let largest = seen.clone().map(|(largest, _)| largest).max().unwrap_or(0);
    let oversized: u64 = seen.map(|(_, oversized)| oversized).sum();
    let mtu = evidence.asked.mtu;
    let text = format!("{oversized} packets were larger than the MTU: offload was on, and one loss took many segments");
    let finding = Finding::of(largest, format!("<= {mtu}"), "B").unknown(largest == 0, "no packet was seen");
    vec![finding.fails(largest > mtu || oversized > 0, text)]
}

/// H9: the packet size is the one asked for and stayed so.
pub(super) fn datagram_size(evidence: &Evidence) -> Vec<Finding> {
    let rows = || evidence.rows("datagram").map(|(_, row)| row).chain(evidence.rows("tcp_mss").map(|(_, row)| row));
    let (mut fell, mut probes) = (0, 0);
    for (hop, counters) in evidence.counters() {
        let Counters::Quic(quic) = counters else { continue };
        fell += quic.black_holes;
        if matches!(hop.server.datagram, Datagram::Fixed(_)) {
            probes += quic.sent_mtu_probes;
        }
    }
    let expected = match evidence.hops.first().map(|hop| (hop.is_quic(), hop.server.datagram)) {
        Some((true, Datagram::Fixed(size))) => size.to_string(),
        Some((true, Datagram::Discover(size))) => format!("<= {size}"),
        _ => "as the MTU allows".to_owned(),
    };
    let finding = Finding::of(distinct(rows().map(|row| &row.got)), expected, "B")
        .unknown(rows().next().is_none(), "no connection says how large its packets are")
        .mismatches(rows())
        .fails(fell > 0, format!("the size fell back {fell} times"));
    vec![finding.warns(probes > 0, format!("{probes} probes for larger packets were sent though the size is fixed"))]
}

/// H9 across: full packets of all arms have about the same size.
pub(super) fn equal_packets(arms: &[Evidence]) -> Vec<Finding> {
    let largest: Vec<Option<u64>> = arms.iter().map(|arm| full_packets(arm).max()).collect();
    let known: Vec<f64> = largest.iter().flatten().map(|bytes| *bytes as f64).collect();
    let text = |arm: &Evidence| full_packets(arm).max().map_or_else(|| "?".to_owned(), |bytes| bytes.to_string());
    let finding = Finding::of(by_arm(arms, text), format!("within {:.0} %", 100.0 * (1.0 - SIZE_RATIO)), "B");
    let differ = ratio(&known) < SIZE_RATIO;
    vec![finding.unknown(known.len() < arms.len(), "an arm does not say how large its packets are").unequal(
        compare(arms),
        differ,
        "full packets of the arms have different sizes",
    )]
}

/// Whether an arm sends or receives joined packets.
fn offloads(evidence: &Evidence) -> bool {
    evidence.host.offload || evidence.hops.iter().any(|hop| hop.is_quic() && (hop.client.offload || hop.server.offload))
}

fn offload_name(evidence: &Evidence) -> String {
    if offloads(evidence) { "on" } else { "off" }.to_owned()
}

/// H10: offload is what was asked for.
pub(super) fn offload(evidence: &Evidence) -> Vec<Finding> {
    let joined = evidence.counters().any(|(hop, counters)| {
        matches!(counters, Counters::Quic(quic) if quic.udp_sent_calls < quic.udp_sent) && !hop.server.offload
    });
    let finding = Finding::of(offload_name(evidence), "off", "")
        .mismatches(evidence.rows("udp_gro").map(|(_, row)| row))
        .fails(joined, "a stack sent several datagrams with one call though offload is off");
    let on = offloads(evidence) && evidence.is_equal();
    vec![finding.warns(on, "with offload on, losses hit many packets at once")]
}

/// H10 across: all arms with or all without.
pub(super) fn equal_offload(arms: &[Evidence]) -> Vec<Finding> {
    vec![equality(arms, offload_name, "offloads are")]
}
