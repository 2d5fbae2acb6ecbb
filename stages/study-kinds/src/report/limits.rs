//! What limits the results, generated.

use super::plan::Plan;
use study_report::section::{Check, Status};
use study_stage::Inputs;

/// What the model leaves out, whatever a study sets.
const MODEL: &[&str] = &[
    "Hosts cost nothing: no processor time, encryption, system calls or offloads, so nothing is said about rates at which \
     hosts are the limit.",
    "There is no traffic but the study's own: each viewer has a last mile of its own, and queues hold what its session \
     puts there.",
    "Random loss follows its process whatever the load; loss from congestion is that of a drop-tail queue, without active \
     queue management or ECN.",
    "Packets have one size, paths do not change, and nothing on the way delays, throttles or blocks UDP.",
    "Viewers watch to the end or leave at a limit; they do not seek, and a download that has begun is not abandoned.",
];

/// The limits of a study.
pub(super) fn list(plan: &Plan<'_>, inputs: &Inputs, validity: &[Check]) -> Vec<String> {
    let mut limits = Vec::new();
    let modes: Vec<&str> = inputs.parts("sessions").iter().map(|p| plan.mode(&p.node)).collect();
    if modes.contains(&"modeled") {
        limits.push(
            "Results of `mode: modeled` come from a packet-level simulation; they hold for real stacks as far as the model \
             does."
                .to_owned(),
        );
        limits.extend(MODEL.iter().map(|limit| (*limit).to_owned()));
    }
    for check in validity.iter().filter(|c| c.status != Status::Pass) {
        let outcome = match check.status {
            Status::Fail => "failed",
            Status::Unknown => "has no evidence",
            Status::Warn | Status::Pass => "warns",
        };
        let point = format!("The validity check `{}` {outcome} at `{}`: {}.", check.check, check.node, check.message);
        if !limits.contains(&point) {
            limits.push(point);
        }
    }
    limits
}
