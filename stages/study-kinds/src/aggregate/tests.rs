use super::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use study_ident::SeedPath;
use study_stage::{InputPart, StudyInfo};
use study_table::{Cell, ColumnType, Field, Table, TableBuilder};
use study_tree::{Entry, Sections, Span, Value as TreeValue};

fn build(columns: &[(&str, ColumnType)], rows: &[Vec<Cell<'_>>]) -> Table {
    let mut builder = TableBuilder::new(columns.iter().map(|(name, t)| Field::new(name, *t, "", "")).collect());
    rows.iter().for_each(|row| builder.row(row));
    builder.finish()
}

/// (run, arm, client, segment, requested_us, ttlb_us).
type SegmentRow = (i64, &'static str, i64, i64, i64, Option<i64>);

/// First byte after half of the time, no waiting, 4 s of buffer.
fn segments(rows: &[SegmentRow]) -> Table {
    use ColumnType::{Int, Str};
    let columns = [
        ("run", Int),
        ("arm", Str),
        ("client", Int),
        ("segment", Int),
        ("rung_kbit_s", Int),
        ("requested_us", Int),
        ("ttfb_us", Int),
        ("ttlb_us", Int),
        ("hol_wait_us", Int),
        ("buffer_after_ms", Int),
    ];
    let cell = |x: Option<i64>| x.map_or(Cell::Null, Cell::Int);
    let row = |(run, arm, client, segment, asked, took): &SegmentRow| {
        let keys = [Cell::Int(*run), Cell::Str(arm), Cell::Int(*client), Cell::Int(*segment), Cell::Int(1200)];
        let times = [Cell::Int(*asked), cell(took.map(|t| t / 2)), cell(*took), Cell::Int(0), Cell::Int(4000)];
        [keys, times].concat()
    };
    build(&columns, &rows.iter().map(row).collect::<Vec<_>>())
}

/// (run, arm, client, startup_us); arrived at 1 s, played without a stall.
fn sessions(rows: &[(i64, &'static str, i64, Option<i64>)]) -> Table {
    use ColumnType::{Float, Int, Str};
    let columns = [
        ("run", Int),
        ("arm", Str),
        ("client", Int),
        ("arrival_us", Int),
        ("startup_us", Int),
        ("stall_count", Int),
        ("stall_ratio", Float),
        ("mean_bitrate_kbit_s", Float),
        ("switches", Int),
        ("hit_ratio", Float),
    ];
    let row = |(run, arm, client, startup): &(i64, &'static str, i64, Option<i64>)| {
        let played = |x: f64| startup.map_or(Cell::Null, |_| Cell::Float(x));
        let keys = [Cell::Int(*run), Cell::Str(arm), Cell::Int(*client), Cell::Int(1_000_000)];
        let startup = startup.map_or(Cell::Null, Cell::Int);
        let rest = [startup, Cell::Int(2), played(0.25), played(1500.0), Cell::Int(*client), Cell::Float(0.5)];
        [&keys[..], &rest].concat()
    };
    build(&columns, &rows.iter().map(row).collect::<Vec<_>>())
}

fn part(node: &str, axis: Option<(&str, Option<&str>)>, table: Table) -> InputPart {
    let axes = axis.map(|(name, value)| (name.to_owned(), value.map(str::to_owned))).into_iter().collect();
    InputPart { node: node.to_owned(), stage: node.to_owned(), axes, table: Arc::new(table) }
}

fn inputs(segments: Vec<InputPart>, sessions: Vec<InputPart>) -> Inputs {
    let mut inputs = Inputs::default();
    inputs.frames.insert("segments".to_owned(), segments);
    inputs.frames.insert("sessions".to_owned(), sessions);
    inputs
}

fn run_with(params: &AggregateParams, inputs: &Inputs) -> Result<Outputs, StageError> {
    let study = StudyInfo {
        name: String::new(),
        title: String::new(),
        seed: 1,
        variant: "full".to_owned(),
        nodes: serde_json::Value::Null,
    };
    let (cancel, progress) = (AtomicBool::new(false), |_, _| {});
    let cx = StageCx {
        seed: SeedPath::root(1),
        study: &study,
        node: "aggregate",
        files: &[],
        cancel: &cancel,
        progress: &progress,
        repetitions: &study_stage::Unrecorded::default(),
    };
    StageKind::run(&Aggregate, params, &cx, inputs)
}

fn defaults() -> AggregateParams {
    decode(vec![]).0.unwrap()
}

fn decode(entries: Vec<(&str, Vec<&str>)>) -> (Option<AggregateParams>, Vec<String>) {
    let span = Span::default();
    let list = |items: Vec<&str>| Node {
        value: TreeValue::List(items.into_iter().map(|item| Node::plain(item, span)).collect()),
        span,
    };
    let entries =
        entries.into_iter().map(|(key, items)| Entry { key: key.to_owned(), key_span: span, value: list(items) });
    let (node, sections) = (Node::map(entries.collect(), span), Sections::default());
    let mut cx = Cx::new(&sections);
    let params = StageKind::decode(&Aggregate, &node, &mut cx);
    let messages = cx.diagnostics.sorted().iter().map(|d| format!("{}: {}", d.code, d.message)).collect();
    (params, messages)
}

/// Rows of a frame as text, columns joined by blanks; null is `-`.
fn lines(table: &Table, columns: &[&str], filter: &[(&str, &str)]) -> Vec<String> {
    let at = |name: &str| table.schema().position(name).unwrap();
    let shown = |row, name: &str| match table.cell(row, at(name)) {
        Cell::Null => "-".to_owned(),
        cell => cell.to_string(),
    };
    (0..table.rows())
        .filter(|row| filter.iter().all(|(name, value)| shown(*row, name) == *value))
        .map(|row| columns.iter().map(|name| shown(row, name)).collect::<Vec<_>>().join(" "))
        .collect()
}

/// Two arms, two runs, three clients; in run 1 a client of h2 never starts.
fn two_runs() -> Inputs {
    let mut segment_rows = Vec::new();
    let mut session_rows = Vec::new();
    for run in 0..2 {
        for (arm, base) in [("h2", 100_000), ("h3", 50_000)] {
            for client in 0..3 {
                let startup = base * (client + 1) * (run + 1);
                let never = run == 1 && arm == "h2" && client == 2;
                session_rows.push((run, arm, client, (!never).then_some(startup)));
                for segment in 0..4 {
                    let took = base + 1_000 * (client * 4 + segment);
                    segment_rows.push((run, arm, client, segment, 1_000_000 + 4_000_000 * segment, Some(took)));
                }
            }
        }
    }
    inputs(
        vec![part("experience", None, segments(&segment_rows))],
        vec![part("experience", None, sessions(&session_rows))],
    )
}

#[test]
fn run_level_statistics_are_type_7_over_the_arm_in_the_run() {
    let outputs = run_with(&defaults(), &two_runs()).unwrap();
    let table = &outputs.frames["run_metrics"];
    // 12 values 100..=111 ms: median 105.5, p95 at position 10.45, p99 at 10.89.
    let ttlb = lines(table, &["stat", "value", "n"], &[("arm", "h2"), ("run", "0"), ("metric", "ttlb_ms")]);
    assert_eq!(ttlb, ["p50 105.5 12", "p95 110.45 12", "p99 110.89 12", "mean 105.5 12"]);
    let hol = lines(table, &["stat", "value"], &[("arm", "h3"), ("run", "1"), ("metric", "hol_wait_ms")]);
    assert_eq!(hol, ["p50 0", "p95 0", "p99 0", "mean 0"]);
    let startup = lines(table, &["stat", "value", "n"], &[("arm", "h3"), ("run", "1"), ("metric", "startup_ms")]);
    assert_eq!(startup, ["p50 200 3", "p95 290 3", "mean 200 3"]);
    let switches = lines(table, &["stat", "value", "n"], &[("arm", "h3"), ("run", "1"), ("metric", "switches")]);
    assert_eq!(switches, ["mean 1 3"]);
    assert_eq!(table.rows(), 2 * 2 * (3 * 4 + 3 + 5));
}

#[test]
fn a_session_that_never_started_counts_and_leaves_no_nan() {
    let outputs = run_with(&defaults(), &two_runs()).unwrap();
    let run = &outputs.frames["run_metrics"];
    let censored = [("arm", "h2"), ("run", "1"), ("metric", "startup_ms")];
    assert_eq!(lines(run, &["stat", "value", "n"], &censored), ["p50 400 3", "p95 - 3", "mean - 3"]);
    // What was not played has no stall ratio; it is not a stall ratio of 0.
    let stalls = [("arm", "h2"), ("run", "1"), ("metric", "stall_ratio")];
    assert_eq!(lines(run, &["stat", "value", "n"], &stalls), ["mean 0.25 2"]);
    let session = [("arm", "h2"), ("run", "1"), ("client", "2"), ("metric", "startup_ms")];
    assert_eq!(lines(&outputs.frames["session_metrics"], &["value"], &session), ["-"]);
    let curve = lines(&outputs.frames["curves"], &["x", "cdf"], &[("arm", "h2"), ("metric", "startup_ms")]);
    assert_eq!(curve.last().map(String::as_str), Some("400 0.8333333333333334"));
}

#[test]
fn pooled_statistics_and_curves_cover_all_runs() {
    let outputs = run_with(&defaults(), &two_runs()).unwrap();
    let pooled = &outputs.frames["pooled_metrics"];
    let startup = lines(pooled, &["stat", "value", "n"], &[("arm", "h3"), ("metric", "startup_ms")]);
    // 50, 100, 100, 150, 200, 300.
    assert_eq!(startup, ["p50 125 6", "p95 275 6", "mean 150 6"]);
    let curve = lines(&outputs.frames["curves"], &["x"], &[("arm", "h3"), ("metric", "startup_ms")]);
    assert_eq!(curve, ["50", "100", "150", "200", "300"]);
    let sessions = &outputs.frames["session_metrics"];
    assert_eq!(sessions.rows(), 2 * 2 * 3 * 6);
    let one = [("arm", "h3"), ("run", "1"), ("client", "2")];
    assert_eq!(
        lines(sessions, &["metric", "value"], &one),
        ["startup_ms 300", "stall_ratio 0.25", "stall_count 2", "bitrate_kbit_s 1500", "switches 2", "hit_ratio 0.5"]
    );
}

#[test]
fn the_trace_is_the_median_startup_client_of_the_first_run_in_every_arm() {
    let outputs = run_with(&defaults(), &two_runs()).unwrap();
    let columns = ["arm", "run", "client", "segment", "time_s", "buffer_s", "bitrate_kbit_s"];
    let trace = lines(&outputs.frames["traces"], &columns, &[]);
    assert_eq!(trace.len(), 8);
    assert_eq!(trace[0], "h2 0 1 0 0.104 4 1200");
    assert_eq!(trace[5], "h3 0 1 1 4.055 4 1200");
}

#[test]
fn only_the_first_arm_chooses_the_traced_client() {
    let startups = [("h2", [10, 20, 30]), ("h3", [100, 5, 6])];
    let mut session_rows = Vec::new();
    let mut segment_rows = Vec::new();
    for (arm, startup) in startups {
        for client in 0..3 {
            session_rows.push((0, arm, client, Some(startup[client as usize])));
            segment_rows.push((0, arm, client, 0, 1_000_000, Some(1_000)));
        }
    }
    let inputs = inputs(vec![part("x", None, segments(&segment_rows))], vec![part("x", None, sessions(&session_rows))]);
    let outputs = run_with(&defaults(), &inputs).unwrap();
    assert_eq!(lines(&outputs.frames["traces"], &["arm", "client"], &[]), ["h2 1", "h3 1"]);
}

#[test]
fn rows_are_in_order_of_arm_run_and_client_whatever_the_order_of_the_input() {
    let (mut session_rows, mut segment_rows) = (Vec::new(), Vec::new());
    for (run, client) in [(1, 1), (0, 1), (1, 0), (0, 0)] {
        for arm in ["h3", "h2"] {
            session_rows.push((run, arm, client, Some(10)));
            segment_rows.push((run, arm, client, 0, 1_000_000, Some(1_000)));
        }
    }
    let inputs = inputs(vec![part("x", None, segments(&segment_rows))], vec![part("x", None, sessions(&session_rows))]);
    let outputs = run_with(&defaults(), &inputs).unwrap();
    let sessions = lines(&outputs.frames["session_metrics"], &["arm", "run", "client"], &[("metric", "switches")]);
    assert_eq!(sessions, ["h3 0 0", "h3 0 1", "h3 1 0", "h3 1 1", "h2 0 0", "h2 0 1", "h2 1 0", "h2 1 1"]);
    let runs = lines(&outputs.frames["run_metrics"], &["arm", "run", "metric"], &[("stat", "mean")]);
    assert_eq!(runs[0], "h3 0 ttlb_ms");
    let keys: Vec<&str> = runs.iter().map(|line| &line[..4]).collect();
    let mut distinct = keys.clone();
    distinct.dedup();
    assert_eq!(distinct, ["h3 0", "h3 1", "h2 0", "h2 1"]);
}

#[test]
fn every_cell_keeps_its_node_and_axis() {
    let rows = |took| [(0, "h2", 0, 0, 1_000_000, Some(took)), (0, "h3", 0, 0, 1_000_000, Some(took / 2))];
    let session = || sessions(&[(0, "h2", 0, Some(5)), (0, "h3", 0, Some(5))]);
    let ids = ["transport[depth=1]", "transport[depth=3]", "experience"];
    let axis = |i: usize| Some(("depth", [Some("1"), Some("3"), None][i]));
    let inputs = inputs(
        (0..3).map(|i| part(ids[i], axis(i), segments(&rows(1_000 * (i as i64 + 1))))).collect(),
        (0..3).map(|i| part(ids[i], axis(i), session())).collect(),
    );
    let outputs = run_with(&defaults(), &inputs).unwrap();
    let means = lines(
        &outputs.frames["run_metrics"],
        &["node", "depth", "arm", "value"],
        &[("metric", "ttlb_ms"), ("stat", "mean")],
    );
    assert_eq!(
        means,
        [
            "transport[depth=1] 1 h2 1",
            "transport[depth=1] 1 h3 0.5",
            "transport[depth=3] 3 h2 2",
            "transport[depth=3] 3 h3 1",
            "experience - h2 3",
            "experience - h3 1.5"
        ]
    );
    for table in outputs.frames.values() {
        let names: Vec<&str> = table.schema().fields.iter().take(3).map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["node", "depth", "arm"]);
    }
}

#[test]
fn segments_that_never_came_are_censored_and_not_traced() {
    let rows = [(0, "h2", 0, 0, 1_000_000, Some(10_000)), (0, "h2", 0, 1, 2_000_000, None)];
    let inputs =
        inputs(vec![part("x", None, segments(&rows))], vec![part("x", None, sessions(&[(0, "h2", 0, Some(5))]))]);
    let outputs = run_with(&defaults(), &inputs).unwrap();
    let ttlb = lines(&outputs.frames["run_metrics"], &["stat", "value", "n"], &[("metric", "ttlb_ms")]);
    assert_eq!(ttlb, ["p50 - 2", "p95 - 2", "p99 - 2", "mean - 2"]);
    assert_eq!(outputs.frames["traces"].rows(), 1);
}

#[test]
fn empty_frames_give_empty_frames_with_their_columns() {
    let inputs = inputs(vec![part("x", None, segments(&[]))], vec![part("x", None, sessions(&[]))]);
    let outputs = run_with(&defaults(), &inputs).unwrap();
    assert_eq!(outputs.frames.len(), 6);
    assert!(outputs.frames.values().all(|table| table.rows() == 0));
    assert!(outputs.frames["run_metrics"].column("value").is_ok());
}

#[test]
fn a_missing_column_is_named_with_its_frame_and_node() {
    let broken = build(&[("run", ColumnType::Int), ("arm", ColumnType::Str)], &[vec![Cell::Int(0), Cell::Str("h2")]]);
    let inputs = inputs(vec![part("imported", None, broken)], vec![part("imported", None, sessions(&[]))]);
    let error = run_with(&defaults(), &inputs).unwrap_err().to_string();
    assert_eq!(error, "frame `segments` of node `imported`: no column `ttlb_us`");
}

#[test]
fn percentiles_are_parameters_that_change_the_output() {
    let (params, problems) = decode(vec![("percentiles", vec!["99.9", "50"]), ("session_percentiles", vec!["75"])]);
    assert!(problems.is_empty());
    let outputs = run_with(&params.unwrap(), &two_runs()).unwrap();
    let stats =
        |metric| lines(&outputs.frames["run_metrics"], &["stat"], &[("arm", "h2"), ("run", "0"), ("metric", metric)]);
    assert_eq!(stats("ttfb_ms"), ["p50", "p99.9", "mean"]);
    assert_eq!(stats("startup_ms"), ["p75", "mean"]);
    // Order and repetition mean nothing, so they are no part of the identity.
    let (again, _) = decode(vec![("percentiles", vec!["50", "99.9", "50"]), ("session_percentiles", vec!["75"])]);
    let canonical = |p: AggregateParams| serde_json::to_value(p).unwrap();
    assert_eq!(
        canonical(again.unwrap()),
        serde_json::json!({ "percentiles": [50.0, 99.9], "session_percentiles": [75.0], "tainted": "leave_out" })
    );
}

#[test]
fn percentiles_out_of_range_are_all_reported() {
    let (params, problems) = decode(vec![("percentiles", vec!["101", "50", "200"]), ("session_percentiles", vec![])]);
    assert!(params.is_none());
    // Both stand at one place here, so that only different messages are kept apart.
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(problems.contains(&"out-of-range: `200` is not a percentile".to_owned()));
    assert!(problems.contains(&"out-of-range: no percentile is given".to_owned()));
}

#[test]
fn any_number_of_threads_gives_the_same_frames() {
    let digests = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let outputs = pool.install(|| run_with(&defaults(), &two_runs())).unwrap();
        outputs.frames.values().map(Table::digest).collect::<Vec<_>>()
    };
    assert_eq!(digests(1), digests(3));
}

#[test]
fn the_tail_of_a_run_is_decomposed_and_its_parts_sum_to_its_mean() {
    let mut columns = vec![("run", ColumnType::Int), ("arm", ColumnType::Str), ("ttlb_us", ColumnType::Int)];
    columns.extend(["ttfb_us", "hol_wait_us", "spent_request_us", "spent_recovery_us"].map(|n| (n, ColumnType::Int)));
    // Two runs of 40: the two slowest of each are its tail, and only they were repaired.
    let rows: Vec<Vec<Cell<'static>>> = (0..80)
        .map(|i: i64| {
            let (run, slow) = (i / 40, i % 40 >= 38);
            let (request, recovery) = (1_000 + i % 40, if slow { 9_000 * (run + 1) } else { 0 });
            let times = [request + recovery, 1, 0, request, recovery].map(Cell::Int);
            [&[Cell::Int(run), Cell::Str("h2")][..], &times].concat()
        })
        .collect();
    let inputs = inputs(vec![part("x", None, build(&columns, &rows))], vec![part("x", None, sessions(&[]))]);
    let outputs = run_with(&defaults(), &inputs).unwrap();
    let parts = lines(&outputs.frames["tail_parts"], &["part", "mean_ms", "n", "n_clusters"], &[]);
    assert_eq!(parts, ["request 1.0385 4 2", "recovery 13.5 4 2"]);
}

/// The timing of both arms of both runs; `tainted` says of which run and arm.
fn timed(tainted: impl Fn(i64, &str) -> bool) -> Inputs {
    let quality = |run, arm| if tainted(run, arm) { "tainted" } else { "clean" };
    let keys = [(0, "h2"), (0, "h3"), (1, "h2"), (1, "h3")];
    let rows = keys.map(|(run, arm)| vec![Cell::Int(run), Cell::Str(arm), Cell::Str(quality(run, arm))]);
    let columns = [("run", ColumnType::Int), ("arm", ColumnType::Str), ("quality", ColumnType::Str)];
    let mut inputs = two_runs();
    inputs.frames.insert("timing".to_owned(), vec![part("experience", None, build(&columns, &rows))]);
    inputs
}

#[test]
fn runs_whose_timing_was_tainted_are_left_out_with_all_their_arms() {
    let of = |params: &AggregateParams, inputs: &Inputs| {
        let outputs = run_with(params, inputs).unwrap();
        let runs = |table| -> BTreeSet<String> { lines(table, &["arm", "run"], &[]).into_iter().collect() };
        (runs(&outputs.frames["run_metrics"]), runs(&outputs.frames["session_metrics"]))
    };
    let set = |texts: &[&str]| -> BTreeSet<String> { texts.iter().map(|t| (*t).to_owned()).collect() };
    let (both, one) = (set(&["h2 0", "h2 1", "h3 0", "h3 1"]), set(&["h2 1", "h3 1"]));
    let first_h2 = |run, arm: &str| run == 0 && arm == "h2";
    assert_eq!(of(&defaults(), &timed(first_h2)), (one.clone(), one));
    assert_eq!(of(&defaults(), &timed(|_, _| false)), (both.clone(), both.clone()));
    // With nothing clean there is nothing better; the validity record fails.
    assert_eq!(of(&defaults(), &timed(|_, _| true)), (both.clone(), both.clone()));
    let keep = AggregateParams { tainted: Tainted::Keep, ..defaults() };
    assert_eq!(of(&keep, &timed(first_h2)), (both.clone(), both));
}
