//! Coverage of intervals and size of tests, by simulation. Seeds are fixed, so that each share is one number, the same on
//! every machine; the Monte-Carlo error says how far it may lie from the truth.

#![allow(clippy::unwrap_used)]

use study_ident::{RandomStream, SeedPath};
use study_stats::*;

/// Share of the repetitions in which something held, and its standard error.
fn share(repetitions: u32, mut holds: impl FnMut() -> bool) -> (f64, f64) {
    let count = (0..repetitions).filter(|_| holds()).count();
    let share = count as f64 / f64::from(repetitions);
    (share, (share * (1.0 - share) / f64::from(repetitions)).sqrt())
}

fn stream(name: &str) -> RandomStream {
    SeedPath::root(20_260_409).child("coverage").stream(name)
}

fn normals(n: usize, stream: &mut RandomStream) -> Vec<f64> {
    (0..n).map(|_| stream.normal()).collect()
}

/// Mean of exp(0.7 z).
const LOGNORMAL_MEAN: f64 = 1.277_621_313_204_886_6;

fn lognormals(n: usize, stream: &mut RandomStream) -> Vec<f64> {
    (0..n).map(|_| libm::exp(0.7 * stream.normal())).collect()
}

fn bootstrap_t(values: &[f64], stream: &mut RandomStream) -> Interval {
    let (interval, how) = MeanBootstrap::new(values, 999, stream).unwrap().studentised(0.95).unwrap();
    assert_eq!(how, Studentised::BootstrapT);
    interval
}

#[test]
fn bootstrap_t_covers_normal_clusters() {
    // 3,000 repetitions: standard error 0.4 points.
    let mut s = stream("bootstrap-t normal");
    let (covered, error) = share(3_000, || {
        let values = normals(30, &mut s);
        bootstrap_t(&values, &mut s).contains(0.0)
    });
    assert!((0.935..0.965).contains(&covered), "{covered} +- {error}");
}

#[test]
fn bootstrap_t_covers_skewed_clusters_where_percentile_does_not() {
    let mut s = stream("bootstrap-t lognormal");
    let mut percentile = 0;
    let (covered, error) = share(3_000, || {
        let values = lognormals(30, &mut s);
        let boot = MeanBootstrap::new(&values, 999, &mut s).unwrap();
        percentile += u32::from(boot.percentile(0.95).contains(LOGNORMAL_MEAN));
        boot.studentised(0.95).unwrap().0.contains(LOGNORMAL_MEAN)
    });
    assert!((0.92..0.97).contains(&covered), "{covered} +- {error}");
    let percentile = f64::from(percentile) / 3_000.0;
    assert!(percentile < covered - 0.01, "percentile covers {percentile}, bootstrap-t {covered}");
}

#[test]
fn bootstrap_t_holds_at_the_fewest_clusters_it_is_used_for() {
    let mut s = stream("fewest");
    let fewest = MeanBootstrap::FEWEST;
    let (normal, error) = share(3_000, || {
        let values = normals(fewest, &mut s);
        bootstrap_t(&values, &mut s).contains(0.0)
    });
    assert!((0.935..0.965).contains(&normal), "{normal} +- {error}");
    let (skewed, error) = share(3_000, || {
        let values = lognormals(fewest, &mut s);
        bootstrap_t(&values, &mut s).contains(LOGNORMAL_MEAN)
    });
    assert!(skewed > 0.90, "{skewed} +- {error}");
}

#[test]
fn student_t_covers_the_few_clusters_below() {
    let mut s = stream("few");
    let (covered, error) = share(3_000, || {
        let values = normals(4, &mut s);
        MeanBootstrap::new(&values, 99, &mut s).unwrap().studentised(0.95).unwrap().0.contains(0.0)
    });
    assert!((0.935..0.965).contains(&covered), "{covered} +- {error}");
}

#[test]
fn ten_clusters_are_too_few_for_the_percentile_interval() {
    // Published: 90.4 % for normal clusters.
    let mut s = stream("percentile");
    let (covered, error) = share(3_000, || {
        let values = normals(10, &mut s);
        MeanBootstrap::new(&values, 999, &mut s).unwrap().percentile(0.95).contains(0.0)
    });
    assert!((covered - 0.904).abs() < 4.0 * error, "{covered} +- {error}");
}

/// 20 runs of 50 clients; half of the variance lies between runs.
fn nested(stream: &mut RandomStream) -> Vec<Vec<f64>> {
    (0..20)
        .map(|_| {
            let run = stream.normal();
            (0..50).map(|_| run + stream.normal()).collect()
        })
        .collect()
}

#[test]
fn naive_intervals_fail_on_nested_data_and_run_level_intervals_hold() {
    // Published (400 repetitions): naive 32.8 %, percentile over runs 92.8 %. Here 1,500: standard error 1.2 and 0.7 points.
    let mut s = stream("nested");
    let (mut by_percentile, mut by_bootstrap_t, mut correlation) = (0, 0, Vec::new());
    let (naive, error) = share(1_500, || {
        let runs = nested(&mut s);
        let views: Vec<&[f64]> = runs.iter().map(Vec::as_slice).collect();
        correlation.push(icc(&views).unwrap().icc);
        let means: Vec<f64> = runs.iter().map(|run| mean(run).unwrap()).collect();
        let boot = MeanBootstrap::new(&means, 999, &mut s).unwrap();
        by_percentile += u32::from(boot.percentile(0.95).contains(0.0));
        by_bootstrap_t += u32::from(boot.studentised(0.95).unwrap().0.contains(0.0));
        t_interval(&runs.concat(), 0.95).unwrap().contains(0.0)
    });
    assert!((naive - 0.328).abs() < 4.0 * error, "naive {naive} +- {error}");
    let (by_percentile, by_bootstrap_t) = (f64::from(by_percentile) / 1_500.0, f64::from(by_bootstrap_t) / 1_500.0);
    assert!((by_percentile - 0.928).abs() < 0.02, "percentile over runs {by_percentile}");
    assert!(by_bootstrap_t > 0.935, "bootstrap-t over runs {by_bootstrap_t}");
    let correlation = mean(&correlation).unwrap();
    assert!((correlation - 0.5).abs() < 0.02, "intraclass correlation {correlation}");
}

/// Differences under the null with many ties and zeros.
fn tied_differences(n: usize, stream: &mut RandomStream) -> Vec<f64> {
    (0..n).map(|_| (stream.normal() * 2.0).round() / 10.0).collect()
}

#[test]
fn the_sign_flip_test_keeps_its_level() {
    let seed = SeedPath::root(20_260_409);
    // 4,000 sets: standard error 0.35 points. With ties an exact test may stay below its level, never above.
    for (runs, method) in [(12, SignFlipMethod::Enumerated), (30, SignFlipMethod::MeetInTheMiddle)] {
        let mut s = stream("sign flip");
        let mut flipper = SignFlipper::default();
        let mut methods = Vec::new();
        let (rejected, error) = share(4_000, || {
            let mut data = tied_differences(runs, &mut s);
            data.iter_mut().filter(|d| **d == 0.0).for_each(|d| *d = 0.05_f64.copysign(s.uniform() - 0.5));
            let result = flipper.test(&data, &seed).unwrap();
            // Sums of 0 need no counting.
            methods.extend((result.p_value < 1.0).then_some(result.method));
            result.p_value <= 0.05
        });
        assert!((0.035..=0.055).contains(&rejected), "{runs} runs: {rejected} +- {error}");
        assert!(methods.iter().all(|m| *m == method));
    }
}

#[test]
fn the_sampled_sign_flip_test_keeps_its_level() {
    // 300 sets of 45 runs: standard error 1.3 points.
    let (mut s, seed) = (stream("sampled"), SeedPath::root(20_260_409));
    let (rejected, error) = share(300, || sign_flip(&normals(45, &mut s), &seed).unwrap().p_value <= 0.05);
    assert!((rejected - 0.05).abs() < 3.0 * error, "{rejected} +- {error}");
}

#[test]
fn the_mann_whitney_test_keeps_its_level_with_ties() {
    // 20,000 sets: standard error 0.15 points.
    let mut s = stream("mann-whitney");
    let how = MannWhitneyMethod::Asymptotic { continuity: true };
    let (rejected, error) = share(20_000, || {
        let (x, y) = (tied_differences(30, &mut s), tied_differences(40, &mut s));
        mann_whitney(&x, &y, Alternative::TwoSided, how).unwrap().p_value <= 0.05
    });
    assert!((0.045..=0.055).contains(&rejected), "{rejected} +- {error}");
}
