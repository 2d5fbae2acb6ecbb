//! The model under profile `quinn-0.11` against quinn's state machines, over the same links with the same losses.
#![allow(clippy::unwrap_used)]

mod model;

use model::Scene;
use study_second_opinion::{Credentials, Fetch, fetch};
use study_transport::CongestionControl;
use study_units::SimDuration;

const LIMIT: SimDuration = SimDuration::from_secs(300);

fn scene(rtt_ms: u64, loss: f64, bytes: u64, control: CongestionControl, seed: u64) -> Scene {
    Scene {
        rtt: SimDuration::from_millis(rtt_ms),
        rate: "20 Mbit/s".parse().unwrap(),
        loss,
        burst: 1.0,
        bytes,
        control,
        seed,
    }
}

fn second_opinion(scene: &Scene, credentials: &Credentials) -> study_second_opinion::Outcome {
    let asked = Fetch {
        congestion_control: scene.control,
        request: model::REQUEST,
        response: scene.bytes + model::RESPONSE_HEADERS,
        datagram: 1_452,
        limit: LIMIT,
    };
    fetch(&asked, credentials, scene.links()).unwrap()
}

/// One cell: ln(model / quinn) of the completion times, one per seed.
fn cell(make: impl Fn(u64) -> Scene, seeds: u64, credentials: &Credentials) -> (Vec<f64>, [f64; 4]) {
    let (mut logs, mut sums) = (Vec::new(), [0.0; 4]);
    for seed in 0..seeds {
        let scene = make(seed);
        let (ours, theirs) = (scene.model(credentials.chain_bytes()), second_opinion(&scene, credentials));
        let (a, b) = (ours.completed.as_secs_f64(), theirs.completed.unwrap().as_secs_f64());
        logs.push(libm::log(a / b));
        let add = [a, b, ours.sent as f64, theirs.sent as f64];
        sums.iter_mut().zip(add).for_each(|(sum, x)| *sum += x / seeds as f64);
    }
    (logs, sums)
}

/// The transfers that nothing was fitted to.
fn held_out() -> Vec<Scene> {
    let text = include_str!("../../testdata/held_out.csv");
    text.lines()
        .skip(1)
        .map(|line| {
            let field: Vec<&str> = line.split(',').collect();
            let [rtt, rate, loss, burst, bytes, control, seed] = field.try_into().unwrap();
            Scene {
                rtt: SimDuration::from_millis(rtt.parse().unwrap()),
                rate: rate.parse().unwrap(),
                loss: loss.parse().unwrap(),
                burst: burst.parse().unwrap(),
                bytes: bytes.parse().unwrap(),
                control: if control == "cubic" { CongestionControl::Cubic } else { CongestionControl::NewReno },
                seed: seed.parse().unwrap(),
            }
        })
        .collect()
}

/// |ln(model / quinn)| of each transfer that both ended.
fn differences(scenes: &[Scene], credentials: &Credentials) -> Vec<f64> {
    let difference = |scene: &Scene| {
        let theirs = second_opinion(scene, credentials).completed.unwrap();
        libm::log(scene.model(credentials.chain_bytes()).completed.as_secs_f64() / theirs.as_secs_f64())
    };
    scenes.iter().map(|scene| difference(scene).abs()).collect()
}

#[test]
fn the_model_agrees_with_quinn_on_transfers_that_nothing_was_fitted_to() {
    let credentials = Credentials::new().unwrap();
    let scenes = held_out();
    let mut all = differences(&scenes, &credentials);
    for (scene, difference) in scenes.iter().zip(&all).filter(|(_, d)| **d > 0.1) {
        println!("{scene:?}: {difference:.3}");
    }
    for (name, keep) in [("no loss", true), ("loss", false)] {
        let mut part: Vec<f64> =
            scenes.iter().zip(&all).filter(|(s, _)| (s.loss == 0.0) == keep).map(|(_, d)| *d).collect();
        let (median, p90) = (quantile(&mut part, 0.5), quantile(&mut part, 0.9));
        println!("held out, {name}: median {median:.4}, p90 {p90:.4}, {} transfers", part.len());
    }
    let (median, p90) = (quantile(&mut all, 0.5), quantile(&mut all, 0.9));
    println!("held out: |ln(model / quinn)| median {median:.4}, p90 {p90:.4}, {} transfers", all.len());
    // The goal on the grid, 5 % for p90, is not reached here; this is what the comparison with real links asks for.
    assert!(median <= 0.02, "median {median}");
    assert!(p90 <= 0.10, "p90 {p90}");
}

fn quantile(values: &mut [f64], p: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * p) as usize]
}

#[test]
fn the_model_agrees_with_quinn_on_the_grid() {
    let credentials = Credentials::new().unwrap();
    let mut all = Vec::new();
    println!("control rtt_ms loss bytes | model s, quinn s, ratio | packets model, quinn | largest |ln ratio|");
    for control in [CongestionControl::Cubic, CongestionControl::NewReno] {
        for rtt in [20, 50, 100, 200] {
            for loss in [0.0, 0.01, 0.03] {
                for bytes in [8_000, 100_000, 2_000_000] {
                    let seeds = if loss == 0.0 { 1 } else { 8 };
                    let (logs, [a, b, sent, quinn_sent]) =
                        cell(|seed| scene(rtt, loss, bytes, control, seed), seeds, &credentials);
                    let worst = logs.iter().fold(0.0, |w: f64, x| w.max(x.abs()));
                    println!(
                        "{:8} {rtt:3} {loss:.2} {bytes:8} | {a:8.4} {b:8.4} {:6.3} | {sent:7.1} {quinn_sent:7.1} | {worst:.3}",
                        control.name(),
                        a / b
                    );
                    all.extend(logs.iter().map(|x| x.abs()));
                }
            }
        }
    }
    let (median, p90) = (quantile(&mut all, 0.5), quantile(&mut all, 0.9));
    println!("|ln(model / quinn)| per transfer: median {median:.4}, p90 {p90:.4}, {} transfers", all.len());
    assert!(median <= 0.02, "median {median}");
    assert!(p90 <= 0.05, "p90 {p90}");
}

#[test]
fn equal_seeds_give_equal_transfers() {
    let credentials = Credentials::new().unwrap();
    let scene = scene(50, 0.02, 300_000, CongestionControl::Cubic, 3);
    let (a, b) = (second_opinion(&scene, &credentials), second_opinion(&scene, &credentials));
    assert_eq!(a, b);
    assert!(a.lost > 0 && a.completed.is_some());
}

#[test]
fn both_windows_are_those_of_the_table_at_a_loss_of_one_per_cent() {
    // RFC 9438 table 1: 12 packets at 1 % and a round trip of 100 ms; packets per round trip over the second half of 10 MB.
    let credentials = Credentials::new().unwrap();
    let mean = |times: &[SimDuration]| {
        let half = &times[times.len() / 2..];
        let span = half[half.len() - 1].as_secs_f64() - half[0].as_secs_f64();
        half.len() as f64 / span * 0.1
    };
    let (mut ours, mut theirs) = (0.0, 0.0);
    for seed in 0..4 {
        let scene =
            Scene { rate: "10 Gbit/s".parse().unwrap(), ..scene(100, 0.01, 4_000_000, CongestionControl::Cubic, seed) };
        let times: Vec<SimDuration> = scene.model(credentials.chain_bytes()).times;
        ours += mean(&times) / 4.0;
        theirs += mean(&second_opinion(&scene, &credentials).times) / 4.0;
    }
    println!("packets per round trip at 1 %: model {ours:.2}, quinn {theirs:.2}, RFC 9438 12");
    assert!((ours / theirs - 1.0).abs() < 0.05, "{ours} against {theirs}");
    assert!((0.95 * 12.0..=1.35 * 12.0).contains(&theirs), "{theirs}");
}
