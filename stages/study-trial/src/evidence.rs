//! From what a trial saw to its validity record.

use crate::job::{Arm, Job};
use crate::record::TrialRecord;
use crate::trial::Observed;
use crate::validity::Check;
use study_shaper::Rig;

/// The validity record of a trial.
pub(crate) fn checks(_job: &Job, _arm: &Arm, _rig: &Rig, _record: &TrialRecord, _observed: &Observed) -> Vec<Check> {
    Vec::new()
}
