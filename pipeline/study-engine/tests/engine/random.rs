//! Random studies: what a plan says is what a run does.

use crate::lab::{CALC, Lab, Maker, SEEDED, digests, options};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use study_engine::{NodeReport, State, load_frame, why};
use study_ident::{RandomStream, SeedPath};

/// A study of up to 12 nodes, some of which throw most of what they read away.
pub fn random_study(seed: u64) -> (Maker, RandomStream) {
    let mut random = SeedPath::root(seed).stream("study");
    let mut m = Maker::new();
    for i in 0..1 + random.below(12) as usize {
        let inputs: Vec<usize> = (0..i).filter(|j| random.happens(1.5 / (1.0 + (i - j) as f64))).collect();
        let mut params = m.calc(random.below(50) as i64);
        params.rows = 1 + random.below(6) as i64;
        params.shift = if random.happens(0.3) { 12 } else { 0 };
        let kind: &'static dyn study_stage::Kind = if random.happens(0.2) { &SEEDED } else { &CALC };
        m.add(&format!("s{}[n={i}]", i % 4), kind, params, &inputs);
    }
    (m, random)
}

/// What the plan was sure of happened, and nothing happened that it did not foresee.
fn assert_foreseen(seed: u64, planned: &[NodeReport], ran: &[NodeReport]) {
    for (plan, run) in planned.iter().zip(ran) {
        let foreseen = match (plan.state, plan.certain) {
            (State::Cached, true) => run.state == State::Cached,
            (State::Execute, true) => run.state == State::Executed,
            (State::Execute, false) => matches!(run.state, State::Executed | State::Cached),
            _ => false,
        };
        assert!(foreseen, "seed {seed}: {} was {:?} in the plan and {:?} in the run", run.id, plan.state, run.state);
        if plan.certain {
            assert_eq!(plan.key, run.key, "seed {seed}: {}", run.id);
            assert_eq!(plan.reasons, run.reasons, "seed {seed}: {}", run.id);
        }
        assert_eq!(run.reasons.is_empty(), run.state == State::Cached, "seed {seed}: {} always says why", run.id);
    }
}

#[test]
fn plan_run_and_why_agree_and_reruns_are_minimal_and_right() {
    for seed in 0..40 {
        let (mut m, mut random) = random_study(seed);
        let lab = Lab::new();
        let jobs = options(|o| o.jobs = 1 + random.below(4) as usize);
        let mut last = None;
        for step in 0..4 {
            match step {
                0 => {}
                1 | 2 => {
                    let victim = random.below(m.study.nodes.len() as u64) as usize;
                    let id = m.study.nodes[victim].id.clone();
                    m.change(&id, |p| p.add += 1 + random.below(3) as i64);
                }
                _ => lose_an_object(&lab, &mut random),
            }
            let planned = lab.plan(&m.study);
            for node in &planned {
                let why = why(&m.study, Some(&lab.store), &lab.files, &node.id).unwrap();
                assert_eq!(&why.node, node, "seed {seed} step {step}");
            }
            m.ran();
            let report = lab.run_with(&m.study, &jobs);
            assert_foreseen(seed, &planned, &report.nodes);
            assert_eq!(m.ran().len(), report.count(State::Executed), "seed {seed} step {step}");
            let fresh = Lab::new();
            assert_eq!(digests(&report), digests(&fresh.run(&m.study)), "seed {seed} step {step}: never stale");
            m.ran();
            let again = lab.run(&m.study);
            assert_eq!(m.ran().len(), 0, "seed {seed} step {step}: nothing left to do");
            assert_eq!(digests(&again), digests(&report));
            last = Some(report);
        }
        let last = last.unwrap();
        for output in last.outputs.iter().flatten().flatten() {
            assert_eq!(load_frame(&lab.store, output).unwrap().digest(), output.logical, "seed {seed}");
        }
    }
}

/// Removes, truncates or changes a random object.
fn lose_an_object(lab: &Lab, random: &mut RandomStream) {
    let mut objects: Vec<_> = fs::read_dir(lab.store.dir().join("objects"))
        .unwrap()
        .flat_map(|shard| fs::read_dir(shard.unwrap().path()).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    objects.sort();
    let victim = &objects[random.below(objects.len() as u64) as usize];
    fs::set_permissions(victim, fs::Permissions::from_mode(0o644)).unwrap();
    if random.happens(0.5) {
        fs::remove_file(victim).unwrap();
    } else {
        fs::write(victim, b"short").unwrap();
    }
}
