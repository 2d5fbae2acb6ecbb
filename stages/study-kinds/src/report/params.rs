//! Parameters of `report`.

use super::claims::{self, Claim};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use study_tree::{Cx, Decode, Node, choices, params};

choices! {
    /// A figure of the report.
    pub enum FigureChoice {
        /// Cumulative distribution of the segment delivery time.
        SegmentTime = "segment_time",
        /// Percentiles of the segment delivery time with intervals, in every cell.
        Percentiles = "percentiles",
        /// Cumulative distribution of the startup time.
        Startup = "startup",
        /// Buffer and bitrate of one session over time.
        Trace = "trace",
        /// Improvements with intervals.
        Improvement = "improvement",
        /// Contributions of single mechanisms to the difference.
        Ladder = "ladder",
    }
}

params! {
    /// The keys of the stage.
    pub struct ReportKeys {
        /// Title of the report; the study's when not given.
        title: Option<String> = None;
        /// The question that the study answers, in the author's words.
        question: Option<String> = None;
        /// The cell whose transport effect is the answer, as `axis: value`; the first one when not given.
        default_cell: BTreeMap<String, String> = BTreeMap::new();
        /// Figures to draw.
        figures: Vec<FigureChoice> = FigureChoice::ALL.to_vec();
    }
}

/// Parameters of a node of kind `report`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportParams {
    /// Title of the report; the study's when absent.
    pub title: Option<String>,
    /// The question in the author's words.
    pub question: Option<String>,
    /// The cell whose transport effect is the answer; the first one when empty.
    pub default_cell: BTreeMap<String, String>,
    /// Figures to draw, each once.
    pub figures: Vec<FigureChoice>,
    /// The study's claims, by id.
    pub claims: Vec<Claim>,
}

/// Reads a node, and the study's claims.
pub(super) fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<ReportParams> {
    let keys = ReportKeys::decode(node, cx);
    let definitions = cx.section("claims");
    let claims: Vec<Option<Claim>> =
        definitions.into_iter().flat_map(BTreeMap::values).map(|claim| claims::decode(claim, cx)).collect();
    let (ReportKeys { title, question, default_cell, mut figures }, claims) = (keys?, claims);
    // Order and repetition change nothing, so they must not change the key.
    figures.sort_unstable();
    figures.dedup();
    Some(ReportParams { title, question, default_cell, figures, claims: claims.into_iter().collect::<Option<_>>()? })
}

/// JSON Schema of the stage.
pub(super) fn schema() -> Value {
    ReportKeys::schema()
}
