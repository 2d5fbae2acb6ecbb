//! The kernel's settings: H3, H22.

use super::finding::{Finding, by_arm, compare, distinct};
use super::{Evidence, Node};
use std::collections::BTreeSet;

/// What keeps TCP from remembering earlier connections.
const NO_MEMORY: [&str; 2] = ["net.ipv4.tcp_no_metrics_save", "net.ipv4.tcp_no_ssthresh_metrics_save"];
/// Settings that other checks judge: H3, H4 and E20.
const ELSEWHERE: [&str; 4] = [NO_MEMORY[0], NO_MEMORY[1], "net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_ecn"];

/// H3: no connection begins with what an earlier one has learnt.
pub(super) fn no_memory(evidence: &Evidence) -> Vec<Finding> {
    let remembers =
        |node: &&Node| NO_MEMORY.iter().any(|name| node.sysctls.get(*name).is_some_and(|value| value != "1"));
    let unread = |node: &Node| !node.sysctls.contains_key(NO_MEMORY[0]);
    let remembering = distinct(evidence.nodes.iter().filter(remembers).map(|node| &node.name));
    let any = evidence.nodes.iter().any(|node| remembers(&node));
    let thresholds = || evidence.rows("slow_start_threshold").map(|(_, row)| row);
    let namespaces = if evidence.host.fresh { "fresh" } else { "used before" };
    let finding = Finding::of(namespaces, "fresh", "namespaces")
        .says(format!("slow-start thresholds at the start: {}", distinct(thresholds().map(|row| &row.got))))
        .unknown(evidence.nodes.is_empty() || evidence.nodes.iter().any(unread), "settings of a node were not read")
        .fails(!evidence.host.fresh, "the namespaces have had connections before")
        .fails(any, format!("TCP keeps what it learns at: {remembering}"));
    vec![finding.mismatches(thresholds())]
}

fn judged_here(name: &str) -> bool {
    !ELSEWHERE.contains(&name)
}

/// H22: each node has the kernel settings that were asked for.
pub(super) fn settings(evidence: &Evidence) -> Vec<Finding> {
    let asked = || evidence.asked.sysctls.iter().filter(|(name, _)| judged_here(name));
    let mut wrong = BTreeSet::new();
    for node in &evidence.nodes {
        for (name, value) in asked() {
            // A setting that the kernel does not have cannot be read: IPv6 not built in.
            if let Some(got) = node.sysctls.get(name).filter(|got| *got != value) {
                wrong.insert(format!("`{name}` of `{}` is `{got}`, not `{value}`", node.name));
            }
        }
    }
    let unread = evidence.nodes.is_empty() || evidence.nodes.iter().any(|node| node.sysctls.is_empty());
    let dumped = distinct(evidence.nodes.iter().map(|node| node.sysctls.len()));
    let finding = Finding::of(dumped, format!("{} set", asked().count()), "settings read")
        .unknown(unread, "settings of a node were not read");
    vec![finding.fails(!wrong.is_empty(), wrong.into_iter().collect::<Vec<_>>().join("; "))]
}

/// H22 across: nodes of the same name have the same settings in all arms.
pub(super) fn equal_settings(arms: &[Evidence]) -> Vec<Finding> {
    let mut differ = BTreeSet::new();
    for pair in arms.windows(2) {
        for node in &pair[0].nodes {
            let Some(other) = pair[1].nodes.iter().find(|other| other.name == node.name) else {
                differ.insert(format!("`{}` is no node of {}", node.name, pair[1].arm));
                continue;
            };
            let names: BTreeSet<&String> = node.sysctls.keys().chain(other.sysctls.keys()).collect();
            let unequal = names
                .into_iter()
                .filter(|name| judged_here(name) && node.sysctls.get(*name) != other.sysctls.get(*name));
            differ.extend(unequal.map(|name| format!("`{name}` of `{}`", node.name)));
        }
    }
    let count = |arm: &Evidence| arm.nodes.iter().map(|node| node.sysctls.len()).sum::<usize>().to_string();
    let unread = arms.iter().any(|arm| arm.nodes.is_empty() || arm.nodes.iter().any(|node| node.sysctls.is_empty()));
    let finding = Finding::of(by_arm(arms, count), "equal", "settings read").unknown(unread, "not read for each node");
    let text = format!("kernel settings differ: {}", differ.iter().cloned().collect::<Vec<_>>().join(", "));
    vec![finding.unequal(compare(arms), !differ.is_empty(), text)]
}
