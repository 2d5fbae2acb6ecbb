//! The model under profile `quinn-0.11` against quinn's state machines, over the same links with the same losses.
#![allow(clippy::unwrap_used)]

mod model;

use model::Scene;
use study_evidence::{Topic, claim, curve};
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

/// One cell: pairs of completion times \[s\], model and quinn, one per seed, and the means of times and packets.
fn cell(make: impl Fn(u64) -> Scene, seeds: u64, credentials: &Credentials) -> (Vec<(f64, f64)>, [f64; 4]) {
    let (mut times, mut sums) = (Vec::new(), [0.0; 4]);
    for seed in 0..seeds {
        let scene = make(seed);
        let (ours, theirs) = (scene.model(credentials.chain_bytes()), second_opinion(&scene, credentials));
        let (a, b) = (ours.completed.as_secs_f64(), theirs.completed.unwrap().as_secs_f64());
        times.push((a, b));
        let add = [a, b, ours.sent as f64, theirs.sent as f64];
        sums.iter_mut().zip(add).for_each(|(sum, x)| *sum += x / seeds as f64);
    }
    (times, sums)
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

/// Completion times \[s\] of each transfer, model and quinn.
fn both_times(scenes: &[Scene], credentials: &Credentials) -> Vec<(f64, f64)> {
    let both = |scene: &Scene| {
        let theirs = second_opinion(scene, credentials).completed.unwrap();
        (scene.model(credentials.chain_bytes()).completed.as_secs_f64(), theirs.as_secs_f64())
    };
    scenes.iter().map(both).collect()
}

fn difference((ours, theirs): &(f64, f64)) -> f64 {
    libm::log(ours / theirs).abs()
}

/// Points of the scatter: quinn's time and the model's over it.
fn ratios(times: &[(f64, f64)]) -> Vec<(f64, f64)> {
    times.iter().map(|(ours, theirs)| (*theirs, ours / theirs)).collect()
}

/// What a quantile of the differences is compared with.
const SOURCE: &str = "quinn-proto 0.11's state machines over the same links with the same losses";

#[test]
fn the_model_agrees_with_quinn_on_transfers_that_nothing_was_fitted_to() {
    let credentials = Credentials::new().unwrap();
    let scenes = held_out();
    let times = both_times(&scenes, &credentials);
    let mut all: Vec<f64> = times.iter().map(difference).collect();
    for (scene, difference) in scenes.iter().zip(&all).filter(|(_, d)| **d > 0.1) {
        println!("{scene:?}: {difference:.3}");
    }
    // The goal on the grid, 5 % for p90, is not reached here; 10 % is what the comparison with real links asks for.
    let claim = |what: &str, n: usize, share: f64| {
        let condition =
            format!("{what}, {n} transfers, 15 to 300 ms, 5 kB to 1.5 MB, CUBIC and NewReno, profile quinn-0.11");
        claim!(Topic::Implementations, "quinn, held-out transfers: |ln(model / quinn)|", SOURCE, condition)
            .ours(100.0 * share, "%")
    };
    for (name, keep) in [("without loss", true), ("with loss", false)] {
        let mut part: Vec<f64> =
            scenes.iter().zip(&all).filter(|(s, _)| (s.loss == 0.0) == keep).map(|(_, d)| *d).collect();
        let (median, p90) = (quantile(&mut part, 0.5), quantile(&mut part, 0.9));
        claim(&format!("median {name}"), part.len(), median).goal(2.0).at_most(2.0);
        claim(&format!("p90 {name}"), part.len(), p90).goal(5.0).at_most(10.0);
    }
    let (median, p90) = (quantile(&mut all, 0.5), quantile(&mut all, 0.9));
    curve!("quinn", "held-out transfers", ratios(&times));
    claim("median of all", all.len(), median).goal(2.0).at_most(2.0);
    claim("p90 of all", all.len(), p90).goal(5.0).at_most(10.0);
}

fn quantile(values: &mut [f64], p: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * p) as usize]
}

#[test]
fn the_model_agrees_with_quinn_on_the_grid() {
    let credentials = Credentials::new().unwrap();
    let (mut all, mut pairs) = (Vec::new(), Vec::new());
    println!("control rtt_ms loss bytes | model s, quinn s, ratio | packets model, quinn | largest |ln ratio|");
    for control in [CongestionControl::Cubic, CongestionControl::NewReno] {
        for rtt in [20, 50, 100, 200] {
            for loss in [0.0, 0.01, 0.03] {
                for bytes in [8_000, 100_000, 2_000_000] {
                    let seeds = if loss == 0.0 { 1 } else { 8 };
                    let (times, [a, b, sent, quinn_sent]) =
                        cell(|seed| scene(rtt, loss, bytes, control, seed), seeds, &credentials);
                    let worst = times.iter().map(difference).fold(0.0, f64::max);
                    println!(
                        "{:8} {rtt:3} {loss:.2} {bytes:8} | {a:8.4} {b:8.4} {:6.3} | {sent:7.1} {quinn_sent:7.1} | {worst:.3}",
                        control.name(),
                        a / b
                    );
                    all.extend(times.iter().map(difference));
                    pairs.extend(times);
                }
            }
        }
    }
    let (median, p90) = (quantile(&mut all, 0.5), quantile(&mut all, 0.9));
    curve!("quinn", "grid (in-sample)", ratios(&pairs));
    for (what, share, most) in [("median", median, 2.0), ("p90", p90, 5.0)] {
        let condition =
            format!("{what} of {} transfers, 20 to 200 ms, loss 0 to 3 %, 8 kB to 2 MB, CUBIC and NewReno", all.len());
        claim!(Topic::Implementations, "quinn, grid (in-sample): |ln(model / quinn)|", SOURCE, condition)
            .ours(100.0 * share, "%")
            .at_most(most);
    }
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
    let condition = "1 % independent loss, 100 ms, 4 MB, 4 seeds; RFC 9438 table 1 says 12";
    claim!(Topic::Implementations, "quinn's CUBIC: packets per round trip", SOURCE, condition)
        .ours(ours, "packets")
        .relative(theirs, 0.05);
    assert!((0.95 * 12.0..=1.35 * 12.0).contains(&theirs), "RFC 9438 says 12, quinn {theirs}");
}
