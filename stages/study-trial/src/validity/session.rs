//! Handshakes: H11, H12.

use super::finding::{Finding, by_arm, compare, distinct, equality};
use super::{Dialed, Evidence};
use std::collections::BTreeMap;
use study_stacks::HandshakeKind;

/// What a server may send before it knows the client's address (RFC 9000 section 8.1): three times the client's 1,200 bytes.
const BEFORE_VALIDATION: u64 = 3 * 1_200;
/// Bytes of the server's first flight besides the chain: hello, extensions, signature, finished, and headers.
const BESIDES_CHAIN: u64 = 700;
/// Shares of session states of two arms may differ by this.
const STATE_SHARE: f64 = 0.01;

fn dialed(evidence: &Evidence) -> impl Iterator<Item = &Dialed> {
    evidence.hops.iter().flat_map(|hop| &hop.dialed)
}

fn chains(evidence: &Evidence) -> impl Iterator<Item = u64> {
    let accepted = evidence.hops.iter().flat_map(|hop| &hop.accepted).filter_map(|c| c.handshake.chain_bytes);
    dialed(evidence).filter_map(|c| c.handshake.chain_bytes).chain(accepted)
}

/// H11: handshakes carried the chain that was made for the trial.
pub(super) fn chain(evidence: &Evidence) -> Vec<Finding> {
    let asked = evidence.asked.chain_bytes;
    let full = |c: &Dialed| matches!(c.handshake.kind, Some(HandshakeKind::Full | HandshakeKind::Retried));
    let silent = dialed(evidence).any(|c| full(c) && c.handshake.chain_bytes.is_none());
    let wrong = chains(evidence).any(|bytes| bytes != asked);
    let flight = asked + BESIDES_CHAIN;
    let trips = if evidence.is_quic() && flight > BEFORE_VALIDATION { 2 } else { 1 };
    let finding = Finding::of(distinct(chains(evidence)), asked, "B")
        .says(format!("the server's first flight of about {flight} B takes {trips} round trips"))
        .unknown(silent || dialed(evidence).next().is_none(), "a full handshake does not say how long its chain was");
    vec![finding.fails(wrong, "another chain than the trial's was sent")]
}

/// H11 across: one chain for all arms.
pub(super) fn equal_chains(arms: &[Evidence]) -> Vec<Finding> {
    vec![equality(arms, |arm| arm.asked.chain_bytes.to_string(), "certificate chains are")]
}

/// The session states of an arm's connections as asked for, each with its share.
fn states(evidence: &Evidence) -> BTreeMap<String, f64> {
    let asked: Vec<&String> = evidence.rows("session").map(|(_, row)| &row.asked).collect();
    let mut shares = BTreeMap::new();
    for state in &asked {
        *shares.entry((*state).clone()).or_insert(0.0) += 1.0 / asked.len() as f64;
    }
    shares
}

/// H12: each connection had the session state that was asked for.
pub(super) fn state(evidence: &Evidence) -> Vec<Finding> {
    let rows = || evidence.rows("session").map(|(_, row)| row);
    let open = rows().any(|row| row.verdict == study_stacks::readback::Verdict::Unknown);
    let finding = Finding::of(distinct(rows().map(|row| &row.got)), distinct(rows().map(|row| &row.asked)), "")
        .unknown(rows().next().is_none() || open, "a connection does not say how its handshake went")
        .mismatches(rows());
    vec![finding]
}

/// H12 across: session states are a property of the study, so arms have the same shares of them.
pub(super) fn equal_states(arms: &[Evidence]) -> Vec<Finding> {
    let text = |arm: &Evidence| {
        states(arm)
            .iter()
            .map(|(state, share)| format!("{state} {:.0} %", 100.0 * share))
            .collect::<Vec<_>>()
            .join(" + ")
    };
    let apart = |a: &Evidence, b: &Evidence| {
        let (a, b) = (states(a), states(b));
        let off = |state: &String| (a.get(state).unwrap_or(&0.0) - b.get(state).unwrap_or(&0.0)).abs() > STATE_SHARE;
        a.keys().chain(b.keys()).any(off)
    };
    let differ = arms.windows(2).any(|pair| apart(&pair[0], &pair[1]));
    let unknown = arms.iter().any(|arm| states(arm).is_empty());
    let finding = Finding::of(by_arm(arms, text), "equal", "").unknown(unknown, "not known for each arm");
    vec![finding.unequal(compare(arms), differ, "session states differ")]
}
