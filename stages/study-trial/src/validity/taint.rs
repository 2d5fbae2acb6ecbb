//! Whether a trial is to be run again: signals that say nothing about its outcome.
//!
//! Only what the machine did is looked at, never a time, a rate, a failure or a loss of the model: repeating trials for
//! what came out of them would pull the results towards what was hoped for. A tainted block is run again whole, all arms with
//! the same seeds, up to a limit; then it is kept and marked.

use super::Evidence;
use serde::{Deserialize, Serialize};
use study_shaper::Quality;

/// A signal that taints a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Taint {
    /// What was looked at: a `study_shaper::SignalKind`, `calibration` or `relay_failed`.
    pub signal: String,
    /// Whose: a link and direction, a thread, a node, or the machine.
    pub subject: String,
    /// What was found; the unit is the signal's.
    pub measured: f64,
    /// Above this the trial is tainted.
    pub limit: f64,
}

/// What taints a trial; empty when nothing does.
#[must_use]
pub fn tainted(evidence: &Evidence) -> Vec<Taint> {
    let signals = evidence.timing.signals.iter().filter(|signal| signal.quality == Quality::Tainted);
    let mut found: Vec<Taint> = signals
        .map(|signal| Taint {
            signal: signal.kind.name().to_owned(),
            subject: signal.subject.clone(),
            measured: signal.measured,
            limit: signal.taint_above,
        })
        .collect();
    for hop in &evidence.hops {
        // Measured before the first byte of the trial: it cannot depend on what came out.
        if let Some(calibration) = hop.calibration.as_ref().filter(|calibration| !calibration.rtt_holds()) {
            found.push(Taint {
                signal: "calibration".to_owned(),
                subject: hop.link.clone(),
                measured: calibration.rtt_error_ms(),
                limit: calibration.rtt_tolerance_ms(),
            });
        }
        if hop.record.broken {
            let (signal, subject) = ("relay_failed".to_owned(), hop.link.clone());
            found.push(Taint { signal, subject, measured: 1.0, limit: 0.0 });
        }
    }
    found
}
