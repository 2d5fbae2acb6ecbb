use super::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use study_ident::SeedPath;
use study_stage::{InputPart, StudyInfo};
use study_table::{Cell as TableCell, ColumnType, Field, Table, TableBuilder};
use study_tree::{Entry, Sections, Span};

/// Run-level rows: (node, depth, arm, run, metric, stat, value).
type Row = (&'static str, Option<&'static str>, &'static str, i64, &'static str, &'static str, Option<f64>);

fn run_metrics(rows: &[Row]) -> Table {
    use ColumnType::{Float, Int, Str};
    let columns = [
        ("node", Str),
        ("depth", Str),
        ("arm", Str),
        ("run", Int),
        ("metric", Str),
        ("stat", Str),
        ("value", Float),
        ("n", Int),
    ];
    let mut builder = TableBuilder::new(columns.iter().map(|(name, t)| Field::new(name, *t, "", "")).collect());
    for (node, depth, arm, run, metric, stat, value) in rows {
        builder.row(&[
            TableCell::Str(node),
            depth.map_or(TableCell::Null, TableCell::Str),
            TableCell::Str(arm),
            TableCell::Int(*run),
            TableCell::Str(metric),
            TableCell::Str(stat),
            value.map_or(TableCell::Null, TableCell::Float),
            TableCell::Int(10),
        ]);
    }
    builder.finish()
}

fn inputs(frames: Vec<(&str, Table)>) -> Inputs {
    let mut inputs = Inputs::default();
    for (name, table) in frames {
        let part = InputPart {
            node: "aggregate".to_owned(),
            stage: "aggregate".to_owned(),
            axes: BTreeMap::new(),
            table: Arc::new(table),
        };
        inputs.frames.insert(name.to_owned(), vec![part]);
    }
    inputs
}

fn decode(entries: &[(&str, Node)]) -> (Option<BootstrapParams>, Vec<String>) {
    let span = Span::default();
    let entries = entries
        .iter()
        .map(|(key, value)| Entry { key: (*key).to_owned(), key_span: span, value: value.clone() })
        .collect();
    let (node, sections) = (Node::map(entries, span), Sections::default());
    let mut cx = Cx::new(&sections);
    let params = StageKind::decode(&Bootstrap, &node, &mut cx);
    (params, cx.diagnostics.sorted().iter().map(|d| format!("{}: {}", d.code, d.message)).collect())
}

fn plain(text: &str) -> Node {
    Node::plain(text, Span::default())
}

fn list(items: &[&str]) -> Node {
    Node { value: study_tree::Value::List(items.iter().map(|i| plain(i)).collect()), span: Span::default() }
}

fn params(entries: &[(&str, Node)]) -> BootstrapParams {
    let (params, problems) = decode(entries);
    assert!(problems.is_empty(), "{problems:?}");
    params.unwrap()
}

fn few() -> BootstrapParams {
    params(&[("resamples", plain("999"))])
}

fn run_with(params: &BootstrapParams, seed: u64, inputs: &Inputs) -> Result<Outputs, StageError> {
    let study = StudyInfo {
        name: String::new(),
        title: String::new(),
        seed,
        variant: "full".to_owned(),
        nodes: serde_json::Value::Null,
    };
    let (cancel, progress) = (AtomicBool::new(false), |_, _| {});
    let cx = StageCx {
        seed: SeedPath::root(seed),
        study: &study,
        node: "bootstrap",
        files: &[],
        cancel: &cancel,
        progress: &progress,
        repetitions: &study_stage::Unrecorded::default(),
    };
    StageKind::run(&Bootstrap, params, &cx, inputs)
}

/// One row of an output as column -> text; null is absent.
type Shown = BTreeMap<String, String>;

fn rows(table: &Table, filter: &[(&str, &str)]) -> Vec<Shown> {
    let shown = |row: usize| -> Shown {
        let cells = (0..table.columns().len()).map(|c| (table.schema().fields[c].name.clone(), table.cell(row, c)));
        cells.filter(|(_, cell)| *cell != TableCell::Null).map(|(name, cell)| (name, cell.to_string())).collect()
    };
    let fits = |row: &Shown| filter.iter().all(|(name, value)| row.get(*name).is_some_and(|v| v == value));
    (0..table.rows()).map(shown).filter(fits).collect()
}

fn number(row: &Shown, column: &str) -> f64 {
    row[column].parse().unwrap()
}

/// Paired runs: the second arm is `ratio` times the first, with noise of its own.
fn paired(node: &'static str, metric: &'static str, runs: i64, ratio: f64, own_noise: f64) -> Vec<Row> {
    let mut stream = SeedPath::root(77).child(metric).stream("runs");
    let mut rows = Vec::new();
    for run in 0..runs {
        let common = 100.0 * libm::exp(0.4 * stream.normal());
        for (arm, factor) in [("h2", 1.0), ("h3", ratio)] {
            let value = common * factor * libm::exp(own_noise * stream.normal());
            rows.push((node, None, arm, run, metric, "p50", Some(value)));
        }
    }
    rows
}

#[test]
fn a_ratio_is_an_improvement_with_an_interval_in_order() {
    let outputs =
        run_with(&few(), 1, &inputs(vec![("run_metrics", run_metrics(&paired("e", "startup_ms", 30, 0.8, 0.05)))]))
            .unwrap();
    let found = rows(&outputs.frames["comparison"], &[("metric", "startup_ms")]);
    let methods: Vec<&str> = found.iter().map(|r| r["method"].as_str()).collect();
    assert_eq!(methods, ["bootstrap-t", "percentile", "bca", "t"]);
    for row in &found {
        let (low, estimate, high) = (number(row, "ci_low"), number(row, "estimate"), number(row, "ci_high"));
        assert!(low < estimate && estimate < high && high - low < 0.1, "{row:?}");
        assert!((estimate - 0.2).abs() < 0.05 && low < 0.2 && 0.2 < high, "{row:?}");
        assert_eq!(
            (row["effect"].as_str(), row["unit"].as_str(), row["estimand"].as_str()),
            ("improvement", "1", "experience")
        );
        assert_eq!((row["arm_a"].as_str(), row["arm_b"].as_str()), ("h2", "h3"));
        assert_eq!((row["n"].as_str(), row["n_clusters"].as_str(), row["looks"].as_str()), ("600", "30", "1"));
        assert!(number(row, "variance_ratio") < 0.1);
    }
    // The test belongs to the default row only.
    assert!(number(&found[0], "p_value") < 1e-6);
    assert!(found[1..].iter().all(|row| !row.contains_key("p_value") && !row.contains_key("p_adjusted")));
}

#[test]
fn more_is_better_turns_the_improvement_around() {
    let data = paired("e", "bitrate_kbit_s", 20, 1.25, 0.02);
    let outputs = run_with(&few(), 1, &inputs(vec![("run_metrics", run_metrics(&data))])).unwrap();
    let row = &rows(&outputs.frames["comparison"], &[])[0];
    assert!((number(row, "estimate") - 0.25).abs() < 0.03, "{row:?}");
    assert!(number(row, "ci_low") > 0.15);
}

#[test]
fn metrics_that_may_be_zero_are_compared_as_differences_in_their_unit() {
    let mut data = Vec::new();
    for run in 0..12 {
        data.push(("e", None, "h2", run, "stall_ratio", "mean", Some(0.01 * run as f64)));
        data.push(("e", None, "h3", run, "stall_ratio", "mean", Some(0.004 * run as f64)));
        data.push(("e", None, "h2", run, "hol_wait_ms", "p50", Some(run as f64)));
        data.push(("e", None, "h3", run, "hol_wait_ms", "p50", Some(0.0)));
    }
    let outputs = run_with(&few(), 1, &inputs(vec![("run_metrics", run_metrics(&data))])).unwrap();
    let stalls = &rows(&outputs.frames["comparison"], &[("metric", "stall_ratio")])[0];
    assert_eq!((stalls["effect"].as_str(), stalls["unit"].as_str()), ("difference", "1"));
    assert!((number(stalls, "estimate") + 0.033).abs() < 1e-12, "{stalls:?}");
    assert!(number(stalls, "ci_high") < 0.0);
    let waits = &rows(&outputs.frames["comparison"], &[("metric", "hol_wait_ms")])[0];
    assert_eq!((waits["effect"].as_str(), waits["unit"].as_str()), ("difference", "ms"));
    assert_eq!((waits["estimand"].as_str(), number(waits, "estimate")), ("transport", -5.5));
    // The level of a metric that is 0 in every run is 0, without an interval.
    let level = &rows(&outputs.frames["summary"], &[("metric", "hol_wait_ms"), ("arm", "h3")])[0];
    assert_eq!((level["estimate"].as_str(), level["method"].as_str()), ("0", "not estimable: all runs equal"));
    assert!(!level.contains_key("ci_low") && !level.contains_key("ci_level"));
}

#[test]
fn the_tables_of_metrics_agree() {
    use crate::aggregate::metrics::{Absent, SEGMENT_METRICS, SESSION_METRICS};
    use study_report::metric::{Better, Estimand, find};
    let aggregated: Vec<_> = SEGMENT_METRICS.iter().chain(&SESSION_METRICS).collect();
    let names: Vec<&str> = aggregated.iter().map(|m| m.name).collect();
    assert_eq!(names, metrics::METRICS.map(|m| m.name));
    for (own, aggregated) in metrics::METRICS.iter().zip(aggregated) {
        assert_eq!(own.absent_is_censored, aggregated.absent == Absent::Censored, "{}", own.name);
        let told = find(own.name).unwrap();
        assert_eq!(own.unit, told.unit, "{}", own.name);
        assert_eq!(own.more_is_better, told.better == Better::Higher, "{}", own.name);
        assert_eq!(own.estimand == "transport", told.estimand == Estimand::Transport, "{}", own.name);
    }
}

#[test]
fn the_scale_belongs_to_the_metric_and_not_to_the_luck_of_the_runs() {
    // Positive in every run of this study, but not by nature.
    for metric in ["stall_ratio", "stall_count", "switches", "hit_ratio", "hol_wait_ms"] {
        let outputs =
            run_with(&few(), 1, &inputs(vec![("run_metrics", run_metrics(&paired("e", metric, 10, 0.5, 0.1)))]))
                .unwrap();
        let row = &rows(&outputs.frames["comparison"], &[])[0];
        assert_eq!(row["effect"], "difference", "{metric}");
        assert!(number(row, "estimate") < -20.0, "{metric}");
    }
    for metric in ["ttlb_ms", "ttfb_ms", "startup_ms", "bitrate_kbit_s"] {
        let mut data = paired("e", metric, 10, 0.5, 0.1);
        let outputs = run_with(&few(), 1, &inputs(vec![("run_metrics", run_metrics(&data))])).unwrap();
        assert_eq!(rows(&outputs.frames["comparison"], &[])[0]["effect"], "improvement", "{metric}");
        // A ratio to 0 says nothing: then it is the difference, and the column says so.
        data[0].6 = Some(0.0);
        let outputs = run_with(&few(), 1, &inputs(vec![("run_metrics", run_metrics(&data))])).unwrap();
        assert_eq!(rows(&outputs.frames["comparison"], &[])[0]["effect"], "difference", "{metric}");
    }
}

#[test]
fn levels_are_geometric_means_with_intervals_and_the_pooled_value_beside_them() {
    let data = paired("e", "ttlb_ms", 25, 0.5, 0.05);
    let values: Vec<f64> = data.iter().filter(|r| r.2 == "h2").filter_map(|r| r.6).collect();
    let pooled = {
        let fields = ["node", "depth", "arm", "metric", "stat"].map(|name| Field::new(name, ColumnType::Str, "", ""));
        let numbers = [Field::new("value", ColumnType::Float, "", ""), Field::new("n", ColumnType::Int, "", "")];
        let mut builder = TableBuilder::new([&fields[..], &numbers].concat());
        let texts = ["h2", "ttlb_ms", "p50"].map(TableCell::Str);
        builder.row(
            &[&[TableCell::Str("e"), TableCell::Null][..], &texts, &[TableCell::Float(123.0), TableCell::Int(250)]]
                .concat(),
        );
        builder.finish()
    };
    let outputs =
        run_with(&few(), 1, &inputs(vec![("run_metrics", run_metrics(&data)), ("pooled_metrics", pooled)])).unwrap();
    let summary = rows(&outputs.frames["summary"], &[("arm", "h2")]);
    let methods: Vec<&str> = summary.iter().map(|r| r["method"].as_str()).collect();
    assert_eq!(methods, ["bootstrap-t", "percentile", "bca", "t", "pooled"]);
    let expected = study_stats::geometric_mean(&values).unwrap();
    assert!((number(&summary[0], "estimate") - expected).abs() < 1e-9);
    assert!(number(&summary[0], "ci_low") < expected && expected < number(&summary[0], "ci_high"));
    assert_eq!((summary[0]["unit"].as_str(), summary[0]["estimand"].as_str()), ("ms", "transport"));
    assert_eq!((summary[4]["estimate"].as_str(), summary[4]["n"].as_str()), ("123", "250"));
}

#[test]
fn one_run_gives_an_estimate_and_the_reason_why_there_is_no_interval() {
    let data = paired("e", "startup_ms", 1, 0.5, 0.0);
    let outputs = run_with(&few(), 1, &inputs(vec![("run_metrics", run_metrics(&data))])).unwrap();
    let found = rows(&outputs.frames["comparison"], &[]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["method"], "not estimable: one run");
    assert!((number(&found[0], "estimate") - 0.5).abs() < 1e-12);
    for absent in ["ci_low", "ci_high", "p_value", "p_adjusted", "variance_ratio"] {
        assert!(!found[0].contains_key(absent), "{absent}");
    }
}

#[test]
fn few_runs_use_student_t_and_say_so() {
    let data = paired("e", "startup_ms", 5, 0.5, 0.1);
    let outputs = run_with(&few(), 1, &inputs(vec![("run_metrics", run_metrics(&data))])).unwrap();
    let found = rows(&outputs.frames["comparison"], &[]);
    assert_eq!(found[0]["method"], "t (bootstrap-t needs 8 runs, not 5)");
    assert_eq!(found[0]["ci_low"], found[3]["ci_low"]);
    // 2 of 2^5 assignments: the smallest p-value that 5 runs can give.
    assert_eq!(number(&found[0], "p_value"), 0.0625);
}

#[test]
fn equal_arms_have_no_interval_and_no_evidence() {
    let mut data = paired("e", "hit_ratio", 10, 1.0, 0.0);
    data.iter_mut().for_each(|row| row.6 = Some(0.5 + 0.01 * row.3 as f64));
    let outputs = run_with(&few(), 1, &inputs(vec![("run_metrics", run_metrics(&data))])).unwrap();
    let row = &rows(&outputs.frames["comparison"], &[])[0];
    assert_eq!((row["estimate"].as_str(), row["p_value"].as_str()), ("0", "1"));
    assert_eq!(row["method"], "not estimable: all runs equal");
    assert_eq!(row["variance_ratio"], "0");
}

#[test]
fn a_censored_run_is_not_left_out_silently() {
    let mut data = paired("e", "startup_ms", 10, 0.5, 0.1);
    data[4].6 = None;
    let outputs = run_with(&few(), 1, &inputs(vec![("run_metrics", run_metrics(&data))])).unwrap();
    let row = &rows(&outputs.frames["comparison"], &[])[0];
    assert_eq!(row["method"], "not estimable: censored in 1 of 10 runs");
    assert!(!row.contains_key("estimate"));
    let levels = rows(&outputs.frames["summary"], &[("arm", "h3")]);
    assert_eq!(levels[0]["method"], "bootstrap-t");
}

#[test]
fn pairing_that_does_not_help_gives_way_to_welch() {
    let mut stream = SeedPath::root(5).stream("independent");
    let mut data = Vec::new();
    for run in 0..30 {
        for (arm, factor) in [("h2", 1.0), ("h3", 0.5)] {
            data.push(("e", None, arm, run, "ttlb_ms", "p95", Some(factor * libm::exp(stream.normal()))));
        }
    }
    let outputs = run_with(&few(), 1, &inputs(vec![("run_metrics", run_metrics(&data))])).unwrap();
    let found = rows(&outputs.frames["comparison"], &[]);
    let ratio = number(&found[0], "variance_ratio");
    assert!(ratio > 0.95, "the seed gives independent arms: {ratio}");
    assert_eq!(found[0]["method"], format!("welch-t (unpaired: variance ratio {ratio:.2})"));
    assert_eq!(found[1]["method"], "percentile");
    // It is the interval of the same effect, improvement of h3 over h2.
    let reaches = |row: &Shown| (number(row, "ci_low") + number(row, "ci_high")) / 2.0;
    assert!(number(&found[0], "ci_low") < number(&found[0], "estimate"));
    assert!(number(&found[0], "estimate") < number(&found[0], "ci_high"));
    assert!((reaches(&found[0]) - reaches(&found[3])).abs() < 0.1, "{found:?}");
}

#[test]
fn pairs_are_the_common_runs_and_a_lone_arm_has_no_comparison() {
    let mut data = paired("e", "startup_ms", 12, 0.5, 0.1);
    data.retain(|row| !(row.2 == "h3" && row.3 >= 9));
    data.extend(paired("f", "startup_ms", 12, 0.5, 0.1).into_iter().filter(|row| row.2 == "h2"));
    let outputs = run_with(&few(), 1, &inputs(vec![("run_metrics", run_metrics(&data))])).unwrap();
    let comparison = &outputs.frames["comparison"];
    assert_eq!(rows(comparison, &[("node", "e")])[0]["n_clusters"], "9");
    assert!(rows(comparison, &[("node", "f")]).is_empty());
    assert_eq!(rows(&outputs.frames["summary"], &[("node", "f")]).len(), 4);
    // No run in common at all.
    let mut apart = paired("e", "startup_ms", 4, 0.5, 0.1);
    apart.iter_mut().filter(|row| row.2 == "h3").for_each(|row| row.3 += 100);
    let outputs = run_with(&few(), 1, &inputs(vec![("run_metrics", run_metrics(&apart))])).unwrap();
    assert_eq!(rows(&outputs.frames["comparison"], &[])[0]["method"], "not estimable: no run");
}

#[test]
fn p_values_are_adjusted_within_node_and_estimand() {
    let mut data = Vec::new();
    for (node, metric, ratio) in
        [("e", "startup_ms", 0.95), ("e", "bitrate_kbit_s", 0.97), ("e", "ttlb_ms", 0.96), ("f", "startup_ms", 0.95)]
    {
        data.extend(paired(node, metric, 15, ratio, 0.08));
    }
    let outputs = run_with(&few(), 1, &inputs(vec![("run_metrics", run_metrics(&data))])).unwrap();
    let default = |node, metric| rows(&outputs.frames["comparison"], &[("node", node), ("metric", metric)])[0].clone();
    let (startup, bitrate) = (default("e", "startup_ms"), default("e", "bitrate_kbit_s"));
    let p = [&startup, &bitrate].map(|row| number(row, "p_value"));
    let adjusted = [&startup, &bitrate].map(|row| number(row, "p_adjusted"));
    assert_eq!(adjusted.to_vec(), study_stats::holm(&p));
    assert!(adjusted[0] > p[0] || adjusted[1] > p[1]);
    // Alone in their families.
    for row in [default("e", "ttlb_ms"), default("f", "startup_ms")] {
        assert_eq!(row["p_value"], row["p_adjusted"]);
    }
}

/// Sessions of one metric of the node `e`.
fn session_metrics(values: &[(&'static str, Option<f64>)]) -> Table {
    let fields = [
        ("node", ColumnType::Str),
        ("arm", ColumnType::Str),
        ("metric", ColumnType::Str),
        ("value", ColumnType::Float),
    ];
    let mut builder = TableBuilder::new(fields.map(|(name, t)| Field::new(name, t, "", "")).to_vec());
    for (arm, value) in values {
        let texts = ["e", arm, "startup_ms"].map(TableCell::Str);
        builder.row(&[&texts[..], &[value.map_or(TableCell::Null, TableCell::Float)]].concat());
    }
    builder.finish()
}

#[test]
fn parity_rows_are_labelled_and_carry_no_interval() {
    let data = paired("e", "startup_ms", 9, 0.5, 0.1);
    let mut values: Vec<_> = [10.2, 11.5, 9.1, 12.8, 10.9, 8.7, 13.1, 9.9, 11.2].map(|x| ("h2", Some(x))).to_vec();
    values.extend([12.1, 14.3, 9.8, 15.2, 11.0, 13.7, 10.4, 16.9].map(|x| ("h3", Some(x))));
    let frames = vec![("run_metrics", run_metrics(&data)), ("session_metrics", session_metrics(&values))];
    let outputs = run_with(&few(), 1, &inputs(frames)).unwrap();
    let parity = rows(&outputs.frames["comparison"], &[("estimand", "parity")]);
    let methods: Vec<&str> = parity.iter().map(|r| r["method"].as_str()).collect();
    assert_eq!(methods, ["mann_whitney", "cliffs_delta", "cohens_d"]);
    assert_eq!(parity[0]["estimate"], "54");
    assert!((number(&parity[0], "p_value") - 0.092_719_045_660_2).abs() < 1e-12);
    assert_eq!(parity[1]["estimate"], "0.5");
    assert!((number(&parity[2], "estimate") - 1.030_884_438_796_745).abs() < 1e-12);
    assert!(parity.iter().all(|r| r["stat"] == "session" && r["n"] == "17" && r["n_clusters"] == "9"));
    assert!(parity.iter().all(|r| !r.contains_key("ci_low") && !r.contains_key("p_adjusted")));
    // A session that never started is the slowest to the rank tests and unknown to Cohen's d.
    values.push(("h3", None));
    let frames = vec![("run_metrics", run_metrics(&data)), ("session_metrics", session_metrics(&values))];
    let outputs = run_with(&few(), 1, &inputs(frames)).unwrap();
    let parity = rows(&outputs.frames["comparison"], &[("estimand", "parity")]);
    assert_eq!(parity[0]["estimate"], "63");
    assert_eq!(parity[2]["method"], "cohens_d (not estimable: censored sessions)");
}

#[test]
fn the_baseline_is_the_first_arm_or_the_named_one() {
    let data = paired("e", "startup_ms", 10, 0.5, 0.05);
    let frames = || inputs(vec![("run_metrics", run_metrics(&data))]);
    let named = params(&[("resamples", plain("999")), ("baseline", plain("h3"))]);
    let row = &rows(&run_with(&named, 1, &frames()).unwrap().frames["comparison"], &[])[0];
    assert_eq!((row["arm_a"].as_str(), row["arm_b"].as_str()), ("h3", "h2"));
    assert!(number(row, "estimate") < -0.8);
    let unknown = params(&[("baseline", plain("h1"))]);
    let error = run_with(&unknown, 1, &frames()).unwrap_err();
    assert_eq!(error, StageError::failed_with_help("the baseline `h1` is no arm of the metrics", "use one of: h2, h3"));
}

#[test]
fn every_parameter_changes_the_output() {
    let data = paired("e", "startup_ms", 12, 0.9, 0.1);
    let digests = |entries: &[(&str, Node)]| {
        let outputs = run_with(&params(entries), 1, &inputs(vec![("run_metrics", run_metrics(&data))])).unwrap();
        [outputs.frames["summary"].digest(), outputs.frames["comparison"].digest()]
    };
    let base = digests(&[("resamples", plain("999"))]);
    assert_eq!(base, digests(&[("resamples", plain("999")), ("unit", plain("run")), ("level", plain("95 %"))]));
    for changed in [
        vec![("resamples", plain("998"))],
        vec![("resamples", plain("999")), ("level", plain("90 %"))],
        vec![("resamples", plain("999")), ("methods", list(&["t", "bootstrap-t", "basic"]))],
    ] {
        let other = digests(&changed);
        assert!(base[0] != other[0] && base[1] != other[1], "{changed:?}");
    }
}

#[test]
fn bad_parameters_are_all_reported() {
    let (none, problems) = decode(&[
        ("resamples", plain("10")),
        ("unit", plain("session")),
        ("level", plain("20 %")),
        ("methods", list(&["bootstrap-r"])),
        ("resample", plain("5")),
    ]);
    assert!(none.is_none());
    let codes: Vec<&str> = problems.iter().map(|p| p.split(':').next().unwrap()).collect();
    for code in ["out-of-range", "unknown-value", "unknown-key"] {
        assert!(codes.contains(&code), "{problems:?}");
    }
    assert_eq!(problems.len(), 5, "{problems:?}");
    assert_eq!(decode(&[("methods", list(&[]))]).1, ["out-of-range: no kind of interval is given"]);
}

#[test]
fn numbers_depend_on_axes_and_seed_but_not_on_node_names_threads_or_neighbours() {
    let digest = |data: &[Row], seed, threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let outputs =
            pool.install(|| run_with(&few(), seed, &inputs(vec![("run_metrics", run_metrics(data))]))).unwrap();
        let found = rows(&outputs.frames["comparison"], &[("metric", "startup_ms")]);
        (found[0]["ci_low"].clone(), found[0]["ci_high"].clone())
    };
    let data = paired("e", "startup_ms", 12, 0.9, 0.1);
    let base = digest(&data, 1, 1);
    assert_eq!(base, digest(&data, 1, 3));
    assert_ne!(base, digest(&data, 2, 1));
    let renamed: Vec<Row> = data.iter().map(|r| ("other", r.1, r.2, r.3, r.4, r.5, r.6)).collect();
    assert_eq!(base, digest(&renamed, 1, 1));
    let mut more = paired("e", "ttlb_ms", 12, 0.9, 0.1);
    more.extend(data.iter().copied());
    assert_eq!(base, digest(&more, 1, 1));
    let deeper: Vec<Row> = data.iter().map(|r| (r.0, Some("3"), r.2, r.3, r.4, r.5, r.6)).collect();
    assert_ne!(base, digest(&deeper, 1, 1));
}

#[test]
fn cells_keep_their_axes_in_both_frames() {
    let mut data = Vec::new();
    for (node, depth) in [("t[depth=1]", Some("1")), ("t[depth=3]", Some("3")), ("e", None)] {
        data.extend(paired(node, "ttlb_ms", 9, 0.9, 0.1).into_iter().map(|r| (r.0, depth, r.2, r.3, r.4, r.5, r.6)));
    }
    let outputs = run_with(&few(), 1, &inputs(vec![("run_metrics", run_metrics(&data))])).unwrap();
    for name in ["summary", "comparison"] {
        let table = &outputs.frames[name];
        assert_eq!(table.schema().fields[1].name, "depth");
        assert!(!rows(table, &[("node", "t[depth=3]"), ("depth", "3")]).is_empty());
        assert!(rows(table, &[("node", "e")]).iter().all(|row| !row.contains_key("depth")));
    }
}

#[test]
fn an_interrupted_run_stops() {
    let data = paired("e", "startup_ms", 12, 0.9, 0.1);
    let study = StudyInfo {
        name: String::new(),
        title: String::new(),
        seed: 1,
        variant: "full".to_owned(),
        nodes: serde_json::Value::Null,
    };
    let (cancel, progress) = (AtomicBool::new(true), |_, _| {});
    let cx = StageCx {
        seed: SeedPath::root(1),
        study: &study,
        node: "b",
        files: &[],
        cancel: &cancel,
        progress: &progress,
        repetitions: &study_stage::Unrecorded::default(),
    };
    let result = StageKind::run(&Bootstrap, &few(), &cx, &inputs(vec![("run_metrics", run_metrics(&data))]));
    assert_eq!(result.err(), Some(StageError::Cancelled));
}
