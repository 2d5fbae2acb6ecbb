//! The stage kind `report`: claims, answer, figures and documents.
//!
//! Purpose: from typed frames to what people read. It computes no statistic of its own: estimates and intervals are those of
//! `comparison` and `summary`; what it adds is which of them may be said, and how.
//!
//! Which numbers carry the answer (methods 2 and 4): a transport effect only from nodes whose decisions are replayed or
//! fixed, an experience effect only from closed-loop nodes, found by `player.decisions` in the study's configuration, never
//! by a stage's name. The transport effect is quoted in the default cell, with the smallest and largest cell beside it.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | Go simulator: canned findings by thresholds | sentences that follow interval and test | a null or mixed result is said to be one |
//! | Go simulator: segment times of adaptive players compared | only where decisions are equal | no sentence rests on post-treatment times |
//!
//! Frames: `claims`. Files: `report.md`, `report.html`, `answer.txt`, `figures/fig_<id>.{svg,png,csv}`.
//! Random streams consumed: none.

mod claims;
mod configuration;
mod evidence;
mod figures;
mod frame;
mod ladder;
mod limits;
mod links;
mod params;
mod plan;
mod verdict;

pub use claims::{Claim, Expectation, check_claim, claim_schema};
pub use params::{FigureChoice, ReportParams};

use serde_json::Value;
use study_report::section::{Findings, document};
use study_report::{html, markdown};
use study_stage::{Inputs, Outputs, StageCx, StageError, StageKind};
use study_tree::{Cx, Node};

/// The kind.
pub struct Report;

impl StageKind for Report {
    type Params = ReportParams;
    const NAME: &'static str = "report";
    const SUMMARY: &'static str = "evaluates the claims and writes the report, its figures and the answer";
    const VERSION: u32 = 4;
    const TAKES: &'static [&'static str] = &[
        "sessions",
        "links",
        "validity",
        "pooled_metrics",
        "curves",
        "traces",
        "summary",
        "comparison",
        "ladder",
        "tail_parts",
    ];
    const GIVES: &'static [&'static str] = &["claims"];
    const SEES_STUDY: bool = true;

    fn decode(&self, node: &Node, cx: &mut Cx<'_>) -> Option<ReportParams> {
        params::decode(node, cx)
    }
    fn schema(&self) -> Value {
        params::schema()
    }
    fn source_fingerprint(&self) -> &'static str {
        crate::fingerprint::REPORT
    }
    fn run(&self, params: &ReportParams, cx: &StageCx<'_>, inputs: &Inputs) -> Result<Outputs, StageError> {
        let frames = frame::Frames::read(inputs)?;
        let plan = plan::Plan::new(cx.study);
        let verdicts: Vec<_> = params.claims.iter().map(|claim| verdict::evaluate(claim, &frames, &plan)).collect();
        let findings = findings(params, cx, inputs, &frames, &plan, &verdicts)?;
        cx.check_cancelled()?;

        let mut outputs = Outputs::default();
        outputs.frames.insert("claims".to_owned(), verdict::frame(&verdicts));
        let document = document(&findings);
        let mut file = |path: String, bytes: Vec<u8>| outputs.files.insert(path, bytes);
        file("report.md".to_owned(), markdown::render(&document).into_bytes());
        file("report.html".to_owned(), html::render(&document).into_bytes());
        file("answer.txt".to_owned(), findings.evidence.text().into_bytes());
        for (done, figure) in findings.figures.iter().enumerate() {
            cx.check_cancelled()?;
            let png = figure.png().map_err(|e| StageError::failed(e.to_string()))?;
            file(format!("figures/fig_{}.svg", figure.id), figure.svg().into_bytes());
            file(format!("figures/fig_{}.png", figure.id), png);
            file(format!("figures/fig_{}.csv", figure.id), figure.csv().into_bytes());
            (cx.progress)(done as u64 + 1, findings.figures.len() as u64);
        }
        Ok(outputs)
    }
}

/// Everything the report is made of.
fn findings(
    params: &ReportParams,
    cx: &StageCx<'_>,
    inputs: &Inputs,
    frames: &frame::Frames,
    plan: &plan::Plan<'_>,
    verdicts: &[verdict::Evaluated<'_>],
) -> Result<Findings, StageError> {
    let study = cx.study;
    let validity = links::validity(inputs)?;
    let doubtful = plan.doubtful(&validity);
    let chosen = evidence::choose(params, frames, plan, &doubtful)?;
    let design = links::design(inputs, plan, &chosen)?;
    let few_runs = chosen.few_runs(&design);
    let ladder = ladder::rows(inputs)?;
    let figures = figures::all(params, inputs, frames, &chosen, &ladder)?;
    let focus = chosen.focus(inputs);
    Ok(Findings {
        name: study.name.clone(),
        title: params.title.clone().unwrap_or_else(|| study.title.clone()),
        variant: study.variant.clone(),
        seed: study.seed,
        question: params.question.clone(),
        limits: limits::list(plan, inputs, &validity),
        few_runs,
        paths: links::paths(inputs, &focus)?,
        losses: links::losses(inputs, &focus)?,
        ladder,
        tail: links::tail(inputs, chosen.transport_node.as_deref())?,
        claims: verdicts.iter().map(verdict::Evaluated::row).collect(),
        command: configuration::command(study),
        configuration: configuration::texts(plan),
        pooled: frames.pooled.clone(),
        levels: frames.levels(),
        methods: chosen.methods,
        parity: chosen.parity,
        transport: chosen.transport,
        experience: chosen.experience,
        evidence: chosen.evidence,
        validity,
        design,
        figures,
    })
}

#[cfg(test)]
mod tests;
