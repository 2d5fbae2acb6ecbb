//! placeholder
use serde::{Deserialize, Serialize};
study_tree::choices! {
    /// Status
    pub enum Status { /// Ok
     Pass = "pass", /// unknown
     Unknown = "unknown", /// warn
     Warn = "warn", /// fail
     Fail = "fail" }
}
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Check {
    pub id: String,
    pub arm: Option<String>,
    pub status: Status,
    pub measured: String,
    pub expected: String,
    pub unit: String,
    pub message: String,
}
