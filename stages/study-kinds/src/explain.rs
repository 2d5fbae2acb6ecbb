//! `explain`: which mechanism makes how much of the difference between two arms (the feature ladder).
//!
//! Takes what `simulate` takes and gives the frame `ladder`. In each run the mechanisms in which the arms differ
//! ([`study_transport::features`]) are taken over from the second arm one after the other, in several orders, over the
//! same viewers, requests, cache outcomes and link realisations; each step's change in the logarithm of a run-level statistic
//! of segment times is that mechanism's, averaged over orders (Shapley). Contributions sum to the total exactly, in
//! each run and over runs. Interval: Student t over runs.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | one fixed ladder (each rung on top of the last) | averaged over orders | a mechanism's share does not depend on where it stands |
//! | all orders | all up to `exact_up_to` mechanisms, else `orders` drawn per run and independent between runs | wider intervals, same mean |
//!
//! Random streams: those of `simulate`; `run/<r>/orders`.

mod params;
mod shapley;

pub use params::ExplainParams;

use crate::simulate::{World, rehearse};
use rayon::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use study_ident::SeedPath;
use study_sim::{ArmSpec, Blend, TrialPlan, TrialResult, TrialSpec, run_trial};
use study_stage::{Inputs, Outputs, StageCx, StageError, StageKind};
use study_stats::{quantile, round12, t_interval};
use study_table::{Cell, ColumnType, Field, Table, TableBuilder};
use study_transport::SessionState;
use study_transport::features::{Feature, FeatureSet, differences};
use study_tree::{Cx, Node};
use study_units::SimDuration;

/// The kind.
pub struct Explain;

/// Statistics that are explained: metric, percentile.
const STATISTICS: [(&str, &str, f64); 4] =
    [("ttlb_ms", "p50", 0.5), ("ttlb_ms", "p95", 0.95), ("ttfb_ms", "p50", 0.5), ("ttfb_ms", "p95", 0.95)];
const LEVEL: f64 = 0.95;

impl StageKind for Explain {
    type Params = ExplainParams;
    const NAME: &'static str = "explain";
    const SUMMARY: &'static str = "attributes the difference between two arms to single mechanisms (feature ladder)";
    const VERSION: u32 = 3;
    const INHERITS: &'static [&'static str] = &["runs"];
    const TAKES: &'static [&'static str] = &["titles", "rungs", "segment_sizes", "clients", "edges"];
    const REQUIRES: &'static [&'static str] = Self::TAKES;
    const GIVES: &'static [&'static str] = &["ladder"];
    const USES_SEED: bool = true;

    fn decode(&self, node: &Node, cx: &mut Cx<'_>) -> Option<ExplainParams> {
        params::decode(node, cx)
    }
    fn schema(&self) -> Value {
        params::schema()
    }
    fn source_fingerprint(&self) -> &'static str {
        crate::fingerprint::EXPLAIN
    }

    fn run(&self, params: &ExplainParams, cx: &StageCx<'_>, inputs: &Inputs) -> Result<Outputs, StageError> {
        let world = World::read(&params.simulate, inputs)?;
        let arms = [params.simulate.arms[0].spec(), params.simulate.arms[1].spec()];
        let features = features(&arms);
        let (done, packets) = (AtomicU64::new(0), AtomicU64::new(0));
        let ladders: Vec<Ladder> = (0..params.simulate.runs)
            .into_par_iter()
            .map(|run| {
                let seed = cx.seed.indexed("run", run);
                let plan = rehearse(&params.simulate, cx, &world, run)?;
                let rig = Rig { arms: &arms, features: &features, world: &world, run, seed, plan: plan.as_ref() };
                let ladder = rig.climb(params, cx, &packets)?;
                (cx.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, params.simulate.runs);
                Ok(ladder)
            })
            .collect::<Result<_, StageError>>()?;
        let mut outputs = Outputs::default();
        outputs.frames.insert("ladder".to_owned(), frame(params, &features, &ladders));
        outputs.counters.insert("packets".to_owned(), packets.into_inner());
        Ok(outputs)
    }
}

/// The mechanisms in which the arms' connections differ in any session state.
fn features(arms: &[ArmSpec; 2]) -> Vec<Feature> {
    let states = [SessionState::Cold, SessionState::Resumed, SessionState::ZeroRtt];
    let differ: Vec<Feature> =
        states.iter().flat_map(|state| differences(&arms[0].connection(*state), &arms[1].connection(*state))).collect();
    Feature::ALL.iter().copied().filter(|f| differ.contains(f)).collect()
}

/// Contributions in one run, by statistic and mechanism, in logarithms; the total last.
type Ladder = Vec<Vec<f64>>;

/// One run.
struct Rig<'a> {
    arms: &'a [ArmSpec; 2],
    features: &'a [Feature],
    world: &'a World,
    run: u64,
    seed: SeedPath,
    plan: Option<&'a TrialPlan>,
}

impl Rig<'_> {
    fn climb(&self, params: &ExplainParams, cx: &StageCx<'_>, packets: &AtomicU64) -> Result<Ladder, StageError> {
        let k = self.features.len();
        let pairs = params.ladder.orders.div_ceil(2) as usize;
        let orders = (k > params.ladder.exact_up_to as usize).then(|| shapley::orders(k, pairs, self.seed));
        let mut values: BTreeMap<u32, [f64; STATISTICS.len()]> = BTreeMap::new();
        for set in shapley::subsets(k, orders.as_deref()) {
            cx.check_cancelled()?;
            values.insert(set, self.statistics(set, packets)?);
        }
        let all = u32::MAX.checked_shr(32 - k as u32).unwrap_or(0);
        Ok((0..STATISTICS.len())
            .map(|statistic| {
                let value = |set: u32| values[&set][statistic];
                let mut steps = shapley::contributions(k, orders.as_deref(), value);
                steps.push(value(all) - value(0));
                steps
            })
            .collect())
    }

    /// Logarithms of the statistics when the mechanisms in `set` are the second arm's.
    fn statistics(&self, set: u32, packets: &AtomicU64) -> Result<[f64; STATISTICS.len()], StageError> {
        let chosen = self.features.iter().enumerate().filter(|(i, _)| set & (1 << i) != 0);
        let taken = chosen.fold(FeatureSet::NONE, |set, (_, feature)| set.with(*feature));
        let blend = Blend { other: Box::new(self.arms[1].clone()), taken };
        let arm = ArmSpec { blend: Some(blend), ..self.arms[0].clone() };
        let result = run_trial(&TrialSpec {
            seed: self.seed,
            luck: self.seed,
            arm: &arm,
            viewers: &self.world.viewers[self.run as usize],
            edges: &self.world.edges,
            titles: &self.world.titles,
            popularity: &self.world.popularity,
            replay: self.plan,
            keep_plan: false,
            recordings: &[],
        })
        .map_err(|e| StageError::failed(e.to_string()))?;
        packets.fetch_add(result.counters.packets, Ordering::Relaxed);
        // What never came has no time; leaving it out would make the mechanism that lost it look fast.
        let cut_off = result.sessions.iter().filter(|s| !s.summary.completed).count();
        if cut_off > 0 {
            return Err(StageError::failed_with_help(
                format!(
                    "run {}: {cut_off} sessions were cut off with some of the mechanisms, so that times are missing",
                    self.run
                ),
                "give the viewers more time (`session_limit`)",
            ));
        }
        logarithms(&result).ok_or_else(|| {
            StageError::failed_with_help(
                format!("run {} delivered no segment, so that there is no time to explain", self.run),
                "give the viewers more time (`session_limit`) or a link that carries the lowest rung",
            )
        })
    }
}

fn logarithms(result: &TrialResult) -> Option<[f64; STATISTICS.len()]> {
    let segments = || result.sessions.iter().flat_map(|s| &s.segments).map(|s| &s.transport);
    let sorted = |time: fn(&study_transport::StreamReport) -> SimDuration| {
        let mut times: Vec<f64> = segments().map(|report| time(report).as_nanos() as f64).collect();
        times.sort_by(f64::total_cmp);
        times
    };
    let last = sorted(|report| report.completed.since(report.requested));
    let first = sorted(|report| report.first_byte.since(report.requested));
    let mut logarithms = [0.0; STATISTICS.len()];
    for (value, (metric, _, p)) in logarithms.iter_mut().zip(STATISTICS) {
        let times = if metric == "ttlb_ms" { &last } else { &first };
        *value = libm::log(quantile(times, p)?.max(1.0));
    }
    Some(logarithms)
}

fn frame(params: &ExplainParams, features: &[Feature], ladders: &[Ladder]) -> Table {
    let text = |name, meaning| Field::new(name, ColumnType::Str, "", meaning);
    let number = |name, meaning| Field::new(name, ColumnType::Float, "1", meaning);
    let mut table = TableBuilder::new(vec![
        text("metric", "metric, with its unit in the name"),
        text("stat", "run-level percentile (type 7) over the segments of all viewers"),
        text("arm_a", "the arm that the ladder starts from"),
        text("arm_b", "the arm that it leads to"),
        text("feature", "mechanism taken over from arm_b; `total` for all of them"),
        number("contribution", "mean over runs of its share in ln(b / a); shares sum to the total"),
        number("ci_low", "lower limit"),
        number("ci_high", "upper limit"),
        number("ci_level", "level of the interval"),
        Field::new("n_clusters", ColumnType::Int, "1", "runs"),
        text("method", "orders taken and kind of interval"),
    ]);
    let exact = features.len() <= params.ladder.exact_up_to as usize;
    let pairs = params.ladder.orders.div_ceil(2);
    let orders = if exact { "all orders".to_owned() } else { format!("{} orders per run", 2 * pairs) };
    let method = format!("Shapley, {orders}; t over runs");
    let names = features.iter().map(|f| f.name()).chain(["total"]);
    for (statistic, (metric, stat, _)) in STATISTICS.iter().enumerate() {
        for (i, name) in names.clone().enumerate() {
            let values: Vec<f64> = ladders.iter().map(|ladder| ladder[statistic][i]).collect();
            let interval = t_interval(&values, LEVEL).ok();
            let mean = study_stats::mean(&values).unwrap_or_default();
            let float = |x: Option<f64>| x.map_or(Cell::Null, |x| Cell::Float(round12(x)));
            table.row(&[
                Cell::Str(metric),
                Cell::Str(stat),
                Cell::Str(&params.simulate.arms[0].name),
                Cell::Str(&params.simulate.arms[1].name),
                Cell::Str(name),
                float(Some(mean)),
                float(interval.map(|i| i.low)),
                float(interval.map(|i| i.high)),
                float(interval.map(|_| LEVEL)),
                Cell::Int(ladders.len() as i64),
                Cell::Str(&method),
            ]);
        }
    }
    table.finish()
}
