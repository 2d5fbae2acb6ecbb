//! Which effects may be said, and which of them are the answer.

use super::frame::{Compared, Frames};
use super::params::ReportParams;
use super::plan::{Decisions, Doubtful, Plan};
use std::collections::{BTreeMap, BTreeSet};
use study_report::answer::{Evidence, TransportAnswer, level_sentence};
use study_report::effect::{Effect, Level, Parity, Place};
use study_report::metric::{Estimand, find};
use study_report::section::Design;
use study_stage::{Inputs, StageError};

/// What was chosen.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    pub(super) evidence: Evidence,
    /// Transport effects of nodes whose arms decide alike.
    pub(super) transport: Vec<Effect>,
    /// Experience effects of closed-loop nodes.
    pub(super) experience: Vec<Effect>,
    /// The headline effects by every method.
    pub(super) methods: Vec<Effect>,
    pub(super) parity: Vec<Parity>,
    /// The node of the default cell.
    pub(super) transport_node: Option<String>,
    /// The closed-loop node that is quoted.
    pub(super) experience_node: Option<String>,
}

/// Statistics of the experience that the answer quotes.
const QUOTED: [(&str, &str); 2] = [("startup_ms", "p50"), ("stall_ratio", "mean")];
/// Fewer runs than this earn a warning.
const ENOUGH_RUNS: u64 = 20;

/// Chooses.
pub(super) fn choose(
    params: &ReportParams,
    frames: &Frames,
    plan: &Plan<'_>,
    doubtful: &Doubtful,
) -> Result<Chosen, StageError> {
    let allowed: Vec<&Compared> = frames.comparisons.iter().filter(|c| c.default && allowed(&c.effect, plan)).collect();
    let of = |estimand: Estimand| -> Vec<&Compared> {
        allowed.iter().filter(|c| find(&c.effect.metric).is_some_and(|m| m.estimand == estimand)).copied().collect()
    };
    let (transport, experience) = (of(Estimand::Transport), of(Estimand::Experience));
    let mut chosen = Chosen {
        transport: transport.iter().map(|c| c.effect.clone()).collect(),
        experience: experience.iter().map(|c| c.effect.clone()).collect(),
        parity: frames.parity.iter().filter(|p| allowed_parity(p, plan)).cloned().collect(),
        ..Chosen::default()
    };
    check_axes(&params.default_cell, frames)?;
    // Tables show what was measured; a sentence would be believed.
    let sound = |c: &&Compared| !doubtful.contains_key(&c.effect.place.node);
    let (transport, experience): (Vec<&Compared>, Vec<&Compared>) =
        (transport.into_iter().filter(sound).collect(), experience.into_iter().filter(sound).collect());
    if let Some((answer, node)) = transport_answer(params, &transport)? {
        chosen.transport_node = Some(node);
        chosen.evidence.transport = Some(answer);
    }
    chosen.quote_experience(&params.default_cell, &experience);
    chosen.methods = methods(frames, &chosen.evidence);
    chosen.evidence.levels = frames.levels();
    chosen.evidence.gaps = gaps(frames, plan, &chosen);
    chosen.evidence.gaps.extend(doubtful.iter().map(|(node, checks)| refusal(node, checks)));
    Ok(chosen)
}

/// Whether an effect may be quoted: transport where all arms decide alike, experience where the player decides.
fn allowed(effect: &Effect, plan: &Plan<'_>) -> bool {
    let decisions = plan.decisions(&effect.place.node);
    match find(&effect.metric).map(|m| m.estimand) {
        Some(Estimand::Transport) => decisions.equal_in_all_arms(),
        Some(Estimand::Experience) => decisions == Decisions::ClosedLoop,
        None => false,
    }
}

/// Sessions of a replayed stage are not the viewers' experience.
fn allowed_parity(parity: &Parity, plan: &Plan<'_>) -> bool {
    plan.decisions(&parity.place.node) == Decisions::ClosedLoop
}

fn check_axes(cell: &BTreeMap<String, String>, frames: &Frames) -> Result<(), StageError> {
    // Without a comparison there is no cell to choose from, and that is said elsewhere.
    match cell.keys().find(|axis| !frames.axes.contains(axis)) {
        Some(axis) if !frames.comparisons.is_empty() => Err(StageError::failed_with_help(
            format!("`default_cell` names the axis `{axis}`, which no stage has"),
            format!("axes are: {}", frames.axes.join(", ")),
        )),
        _ => Ok(()),
    }
}

fn matches(compared: &Compared, cell: &BTreeMap<String, String>) -> bool {
    cell.iter().all(|(axis, value)| compared.axes.get(axis) == Some(value))
}

/// p95 of the segment delivery time, or the first statistic there is: default cell, all cells, and the default's node.
fn transport_answer(
    params: &ReportParams,
    transport: &[&Compared],
) -> Result<Option<(TransportAnswer, String)>, StageError> {
    let headline = transport.iter().find(|c| c.effect.metric == "ttlb_ms" && c.effect.stat == "p95");
    let Some(first) = headline.or(transport.first()).map(|c| &c.effect) else { return Ok(None) };
    let cells: Vec<&&Compared> = transport
        .iter()
        .filter(|c| {
            let e = &c.effect;
            e.place.stage == first.place.stage
                && (&e.metric, &e.stat) == (&first.metric, &first.stat)
                && (&e.arm_a, &e.arm_b) == (&first.arm_a, &first.arm_b)
        })
        .collect();
    let Some(default) = cells.iter().find(|c| matches(c, &params.default_cell)) else {
        let asked: Vec<String> = params.default_cell.iter().map(|(a, v)| format!("{a}: {v}")).collect();
        let known: Vec<String> = cells.iter().map(|c| format!("{{ {} }}", axes_text(&c.axes))).collect();
        return Err(StageError::failed_with_help(
            format!("`default_cell` {{ {} }} is no cell of the stage `{}`", asked.join(", "), first.place.stage),
            format!("cells are: {}", known.join(", ")),
        ));
    };
    let node = default.effect.place.node.clone();
    let answer =
        TransportAnswer { default: default.effect.clone(), cells: cells.iter().map(|c| c.effect.clone()).collect() };
    Ok(Some((answer, node)))
}

fn axes_text(axes: &BTreeMap<String, String>) -> String {
    axes.iter().map(|(axis, value)| format!("{axis}: {value}")).collect::<Vec<_>>().join(", ")
}

/// The headline effects again, with all methods of making intervals.
fn methods(frames: &Frames, evidence: &Evidence) -> Vec<Effect> {
    let headline: Vec<&Effect> = evidence.transport.iter().map(|t| &t.default).chain(&evidence.experience).collect();
    let same = |a: &Effect, b: &Effect| {
        let key = |e: &Effect| [&e.place.node, &e.metric, &e.stat, &e.arm_a, &e.arm_b].map(String::clone);
        key(a) == key(b) && a.kind == b.kind
    };
    let all: Vec<Effect> = headline
        .iter()
        .flat_map(|h| frames.comparisons.iter().map(|c| &c.effect).filter(|e| same(e, h)).cloned())
        .collect();
    // One method is no comparison of methods.
    if all.len() > headline.len() { all } else { Vec::new() }
}

/// Why something that a reader expects is missing.
fn gaps(frames: &Frames, plan: &Plan<'_>, chosen: &Chosen) -> Vec<String> {
    let mut gaps = Vec::new();
    if frames.comparisons.is_empty() {
        let levels: Vec<Level> = frames.levels();
        if levels.is_empty() {
            gaps.push("No stage of this study estimates intervals, so it gives no answer.".to_owned());
        } else {
            gaps.push("This study compares no arms.".to_owned());
            let quoted = [("ttlb_ms", "p95"), QUOTED[0], QUOTED[1]];
            let quoted = quoted.iter().filter_map(|(m, s)| levels.iter().find(|l| l.metric == *m && l.stat == *s));
            gaps.extend(quoted.map(level_sentence));
        }
        return gaps;
    }
    let nodes: Vec<&str> = frames.comparisons.iter().map(|c| c.effect.place.node.as_str()).collect();
    let decisions: Vec<Decisions> = nodes.iter().map(|n| plan.decisions(n)).collect();
    if chosen.transport.is_empty() {
        gaps.push(
            "No stage replays or fixes the player's decisions, so segment times are not compared: its arms ask for \
             different segments."
                .to_owned(),
        );
    }
    if chosen.experience.is_empty() && !decisions.contains(&Decisions::ClosedLoop) {
        gaps.push("No stage lets the player decide, so nothing is said about startup, stalls and quality.".to_owned());
    }
    let pairs: BTreeSet<_> = frames.comparisons.iter().map(|c| (&c.effect.arm_a, &c.effect.arm_b)).collect();
    if pairs.len() > 1 {
        gaps.push(format!("{} more comparisons of arms are in the tables.", pairs.len() - 1));
    }
    gaps
}

/// Why nothing is said about a node.
fn refusal(node: &str, checks: &BTreeSet<String>) -> String {
    let listed: Vec<String> = checks.iter().map(|check| format!("`{check}`")).collect();
    let (noun, verb) = if listed.len() == 1 { ("check", "fails") } else { ("checks", "fail") };
    format!("The arms of `{node}` are not compared: the validity {noun} {} {verb}.", listed.join(", "))
}

impl Chosen {
    fn quote_experience(&mut self, cell: &BTreeMap<String, String>, experience: &[&Compared]) {
        // The pair and, in a matrix, the cell of the transport answer; the first ones where there is no such thing.
        let pair = self.evidence.transport.as_ref().map(|t| (t.default.arm_a.clone(), t.default.arm_b.clone()));
        for (metric, stat) in QUOTED {
            let candidates: Vec<&&Compared> = experience
                .iter()
                .filter(|c| c.effect.metric == metric && c.effect.stat == stat)
                .filter(|c| pair.as_ref().is_none_or(|(a, b)| (&c.effect.arm_a, &c.effect.arm_b) == (a, b)))
                .collect();
            let found = candidates.iter().find(|c| matches(c, cell)).or_else(|| candidates.first());
            self.evidence.experience.extend(found.map(|c| c.effect.clone()));
        }
        self.experience_node = self
            .evidence
            .experience
            .first()
            .map(|e| &e.place)
            .or_else(|| experience.first().map(|c| &c.effect.place))
            .map(|place: &Place| place.node.clone());
    }
    /// Nodes whose links and paths are shown: those that the answer quotes, or else all.
    pub(super) fn focus(&self, inputs: &Inputs) -> Vec<String> {
        let quoted: Vec<String> = self.transport_node.iter().chain(&self.experience_node).cloned().collect();
        if quoted.is_empty() { inputs.parts("sessions").iter().map(|p| p.node.clone()).collect() } else { quoted }
    }
    /// Runs, when they are too few for the intervals to keep their level.
    pub(super) fn few_runs(&self, design: &Design) -> Option<u64> {
        let effects = self.transport.iter().chain(&self.experience).map(|e| e.clusters);
        let fewest = effects.min().or_else(|| design.stages.iter().map(|s| s.runs).min())?;
        (fewest < ENOUGH_RUNS).then_some(fewest)
    }
}
