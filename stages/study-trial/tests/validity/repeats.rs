//! What makes a block run again, and what many blocks say together.

use crate::clean::block;
use study_shaper::{Quality, SignalKind};
use study_trial::validity::{Finished, Order, Status, across_blocks, tainted};

#[test]
fn a_clean_trial_is_not_run_again() {
    assert!(block().iter().all(|evidence| tainted(evidence).is_empty()));
}

#[test]
fn a_taint_names_its_signal() {
    let mut evidence = block().remove(0);
    let canary = evidence.timing.signals.iter_mut().find(|s| s.kind == SignalKind::Canary).unwrap();
    (canary.measured, canary.quality) = (12.0, Quality::Tainted);
    let steal = evidence.timing.signals.iter_mut().find(|s| s.kind == SignalKind::Steal).unwrap();
    (steal.measured, steal.quality) = (0.02, Quality::Warn);
    evidence.hops[0].calibration.as_mut().unwrap().from_near.added_ms = Some(-9.9);
    evidence.hops[0].record.broken = true;
    let found: Vec<(String, f64)> = tainted(&evidence).into_iter().map(|t| (t.signal, t.limit)).collect();
    let expected = [("canary_p99", 3.0), ("calibration", 1.0014), ("relay_failed", 0.0)];
    assert_eq!(found.len(), expected.len(), "a warning is no taint: {found:?}");
    for ((signal, limit), (name, value)) in found.iter().zip(expected) {
        assert!(signal == name && (limit - value).abs() < 1e-9, "{found:?}");
    }
}

#[test]
fn what_came_out_of_a_trial_never_taints_it() {
    let mut evidence = block().remove(1);
    evidence.transfers.failed = 50;
    evidence.transfers.timed_out = 50;
    let seen = &mut evidence.hops[0].record.down;
    (seen.losses.random, seen.losses.queue, seen.delivered) = (300, 300, 50);
    evidence.threads.iter_mut().for_each(|thread| thread.used.cpu_ms = 1.0);
    assert!(tainted(&evidence).is_empty());
}

fn blocks(count: u64, tainted: [u32; 2], place: impl Fn(u64) -> u32) -> Vec<Finished> {
    let trial = |block: u64, arm: u32| Finished {
        arm: ["h2", "h3"][arm as usize].to_owned(),
        block,
        order: Order { position: (place(block) + arm) % 2, arms: 2, drawn: true, warm_ups: 0 },
        tainted: u32::from(block < u64::from(tainted[arm as usize])),
        runs: 1,
    };
    (0..count).flat_map(|block| (0..2).map(move |arm| (block, arm))).map(|(block, arm)| trial(block, arm)).collect()
}

fn statuses(trials: &[Finished]) -> Vec<(String, Status)> {
    across_blocks(trials).into_iter().map(|row| (row.id, row.status)).collect()
}

#[test]
fn taint_rates_may_differ_by_two_points_and_by_chance() {
    let rows = |tainted| statuses(&blocks(100, tainted, |block| (block % 3 == 0).into()))[0].clone();
    assert_eq!(rows([4, 2]), ("taint-rate".to_owned(), Status::Pass));
    // 7 taints fall 5 to 2 or worse in 45 % of studies, 5 to 0 in 6.25 %, 6 to 0 in 3.1 %, 9 to 1 in 2.1 %.
    assert_eq!(rows([5, 2]), ("taint-rate".to_owned(), Status::Warn));
    assert_eq!(rows([0, 5]), ("taint-rate".to_owned(), Status::Warn));
    assert_eq!(rows([6, 0]), ("taint-rate".to_owned(), Status::Fail));
    assert_eq!(rows([1, 9]), ("taint-rate".to_owned(), Status::Fail));
    assert_eq!(statuses(&[])[0].1, Status::Unknown);
}

#[test]
fn one_order_in_all_blocks_is_no_coincidence() {
    let order = |count, place: fn(u64) -> u32| statuses(&blocks(count, [0, 0], place))[1].clone();
    assert_eq!(order(10, |_| 0), ("H16".to_owned(), Status::Fail));
    assert_eq!(order(9, |_| 0), ("H16".to_owned(), Status::Pass));
    assert_eq!(order(10, |block| (block == 7).into()), ("H16".to_owned(), Status::Pass));
}
