//! The report of hand-made frames.

mod fixture;

use super::*;
use fixture::{CELLS, Fixture, comparison_row, decode, default_cell, params, with_figures};
use serde_json::json;
use study_table::Table;

fn file(outputs: &Outputs, path: &str) -> String {
    String::from_utf8(outputs.files[path].clone()).unwrap()
}

fn column(table: &Table, name: &str) -> Vec<String> {
    let c = table.schema().position(name).unwrap();
    (0..table.rows()).map(|row| table.cell(row, c).to_string()).collect()
}

fn claim(expect: Value, more: Value) -> Value {
    let mut claim = json!({
        "id": "C1", "statement": "HTTP/3 starts earlier.", "of": "experience", "metric": "startup_ms", "stat": "p50",
        "arms": ["h2", "h3"], "expect": expect, "shown_in": "fig_startup"
    });
    for (key, value) in more.as_object().unwrap() {
        claim[key] = value.clone();
    }
    claim
}

#[test]
fn the_answer_quotes_transport_in_the_default_cell_and_experience_in_closed_loop() {
    let outputs = Fixture::new().run(&params(&default_cell(), &[])).unwrap();
    assert_eq!(
        file(&outputs, "answer.txt"),
        "p95 of segment delivery time (scheduler round_robin, prefetch 3) is 21.3 % shorter with h3 than with\n\
         h2 (95 % CI 19.4 to 23.2 %). Over all 4 cells of scheduler x prefetch the improvement goes from\n\
         -3.4 % (scheduler sequential, prefetch 3) to 21.3 % (scheduler round_robin, prefetch 3): the\n\
         direction depends on the cell. Median startup time is 35.2 % shorter with h3 than with h2 (95 % CI\n\
         32.1 to 38.3 %). Mean stall ratio is 1.3 percentage points lower with h3 than with h2 (95 % CI 0.5\n\
         to 2.1 percentage points).\n\n\
         \x20                                              h2      h3          effect         95 % CI        p\n\
         p95 segment time, round_robin, prefetch 3  3.90 s  3.07 s  21.3 % shorter  19.4 to 23.2 %  < 0.001\n\
         p95 segment time, round_robin, prefetch 1  3.90 s  3.85 s   1.2 % shorter   -0.7 to 3.1 %     0.62\n\
         p95 segment time, sequential, prefetch 1   3.90 s  3.86 s   1.1 % shorter   -0.8 to 3.0 %     0.62\n\
         p95 segment time, sequential, prefetch 3   3.90 s  4.03 s    3.4 % longer    1.5 to 5.3 %  < 0.001\n\
         median startup                             640 ms  415 ms  35.2 % shorter  32.1 to 38.3 %  < 0.001\n\
         mean stall ratio                            4.1 %   2.8 %    1.3 pp lower   0.5 to 2.1 pp  < 0.001\n"
    );
}

#[test]
fn the_report_is_the_reviewed_one() {
    let stage = json!({ "default_cell": { "scheduler": "round_robin", "prefetch": 3 }, "question": "How much does HTTP/3 gain?" });
    let claims = [claim(json!({ "improvement_at_least": "5 %" }), json!({ "tolerance": "2 %" }))];
    let markdown = file(&Fixture::new().run(&params(&stage, &claims)).unwrap(), "report.md");
    let reviewed = include_str!("tests/report.md");
    assert!(markdown == reviewed, "the report changed; look at it and put it into tests/report.md:\n{markdown}");
}

#[test]
fn every_file_is_there_and_equal_input_gives_equal_bytes() {
    let outputs = Fixture::new().run(&params(&with_figures(), &[])).unwrap();
    let names: Vec<&str> = outputs.files.keys().map(String::as_str).collect();
    let figures = ["improvement", "percentiles", "segment_time", "startup", "trace"];
    let expected: Vec<String> = ["answer.txt".to_owned()]
        .into_iter()
        .chain(figures.iter().flat_map(|f| ["csv", "png", "svg"].map(|e| format!("figures/fig_{f}.{e}"))))
        .chain(["report.html", "report.md"].map(str::to_owned))
        .collect();
    assert_eq!(names, expected);
    assert!(!file(&outputs, "report.html").contains("NaN") && !file(&outputs, "report.md").contains("NaN"));
    let again = Fixture::new().run(&params(&with_figures(), &[])).unwrap();
    assert_eq!(outputs.files, again.files);
}

#[test]
fn figures_have_no_overlapping_or_clipped_text() {
    let fixture = Fixture::new();
    let (params, inputs) = (params(&with_figures(), &[]), fixture.inputs());
    let frames = frame::Frames::read(&inputs).unwrap();
    let study = study_stage::StudyInfo {
        name: String::new(),
        title: String::new(),
        seed: 1,
        variant: "full".into(),
        nodes: fixture.nodes.clone(),
    };
    let chosen = evidence::choose(&params, &frames, &plan::Plan::new(&study), &plan::Doubtful::new()).unwrap();
    let figures = figures::all(&params, &inputs, &frames, &chosen, &[]).unwrap();
    assert_eq!(figures.len(), 5);
    for figure in figures {
        assert_eq!(figure.defects(), Vec::<String>::new(), "{}", figure.id);
        assert!(!figure.caption.is_empty() && !figure.alt.is_empty(), "{}", figure.id);
    }
}

#[test]
fn segment_times_of_a_closed_loop_stage_are_not_quoted() {
    let mut fixture = Fixture::new();
    for (_, _, node) in CELLS {
        fixture.nodes[node]["params"]["player"]["decisions"] = json!("closed_loop");
    }
    let outputs = fixture.run(&params(&json!({ "figures": [] }), &[])).unwrap();
    let answer = file(&outputs, "answer.txt");
    assert!(answer.starts_with("Median startup time is 35.2 % shorter"), "{answer}");
    assert!(answer.replace('\n', " ").contains("No stage replays or fixes the player's decisions"), "{answer}");
    assert!(!file(&outputs, "report.md").contains("### Transport"));
    // Fixed rungs are as good as a replay.
    for (_, _, node) in CELLS {
        fixture.nodes[node]["params"]["player"]["decisions"] = json!({ "fixed_rung": 2 });
    }
    let answer = file(&fixture.run(&params(&default_cell(), &[])).unwrap(), "answer.txt");
    assert!(answer.starts_with("p95 of segment delivery time (scheduler round_robin, prefetch 3)"), "{answer}");
}

#[test]
fn experience_of_a_replayed_stage_is_not_quoted() {
    let mut fixture = Fixture::new();
    fixture.nodes["experience"]["params"]["player"]["decisions"] = json!({ "replay": "h2" });
    let answer = file(&fixture.run(&params(&default_cell(), &[])).unwrap(), "answer.txt");
    assert!(!answer.contains("startup time") && !answer.contains("stall ratio"), "{answer}");
    assert!(answer.replace('\n', " ").contains("nothing is said about startup, stalls and quality"), "{answer}");
}

#[test]
fn a_default_cell_that_is_none_is_refused_with_the_cells_there_are() {
    let wrong = params(&json!({ "default_cell": { "prefetch": 7 } }), &[]);
    let StageError::Failed { message, help } = Fixture::new().run(&wrong).unwrap_err() else { panic!() };
    assert_eq!(message, "`default_cell` { prefetch: 7 } is no cell of the stage `transport`");
    assert!(help.unwrap().contains("{ prefetch: 3, scheduler: sequential }"));
    let wrong = params(&json!({ "default_cell": { "depth": 3 } }), &[]);
    let StageError::Failed { message, help } = Fixture::new().run(&wrong).unwrap_err() else { panic!() };
    assert_eq!(message, "`default_cell` names the axis `depth`, which no stage has");
    assert_eq!(help.unwrap(), "axes are: scheduler, prefetch");
}

#[test]
fn missing_frames_leave_a_report_that_says_what_is_missing() {
    let all = ["comparison", "summary", "pooled_metrics", "curves", "traces", "sessions", "links", "validity"];
    let mut fixture = Fixture::new();
    for frame in all {
        fixture.without = vec![frame];
        fixture.run(&params(&default_cell(), &[])).unwrap();
    }
    fixture.without = all.to_vec();
    let outputs = fixture.run(&params(&with_figures(), &[])).unwrap();
    let answer = file(&outputs, "answer.txt");
    assert_eq!(answer, "No stage of this study estimates intervals, so it gives no answer.\n");
    assert!(outputs.files.keys().all(|k| !k.starts_with("figures/")));
    // One arm: levels without comparisons.
    let mut one = Fixture::new();
    one.comparison.clear();
    one.summary.retain(|row| row[3] == "h3");
    let outputs = one.run(&params(&with_figures(), &[])).unwrap();
    let answer = file(&outputs, "answer.txt").replace('\n', " ");
    assert!(answer.starts_with("This study compares no arms. p95 of segment delivery time"), "{answer}");
    assert!(file(&outputs, "report.md").contains("Statistics of single arms"));
    assert!(outputs.files.contains_key("figures/fig_percentiles.png"));
    assert!(!outputs.files.contains_key("figures/fig_improvement.png"));
}

#[test]
fn empty_frames_give_a_report_too() {
    let mut fixture = Fixture::new();
    fixture.comparison.clear();
    fixture.summary.clear();
    fixture.validity.clear();
    fixture.runs = 0;
    let outputs = fixture.run(&params(&default_cell(), &[])).unwrap();
    assert!(!file(&outputs, "report.md").contains("NaN"));
}

#[test]
fn few_runs_failed_checks_and_variants_are_warned_of_first() {
    let mut fixture = Fixture::new();
    let report = file(&fixture.run(&params(&default_cell(), &[])).unwrap(), "report.md");
    assert!(!report.contains("fewer than 20") && !report.contains("have failed"), "nothing to warn of");
    fixture.comparison.iter_mut().for_each(|row| row[16] = json!(10));
    fixture.validity.push(json!(["equal-arms", "fail", "h3", "bbr_v1", "cubic", "", "they also differ"]));
    fixture.variant = "ci";
    let report = file(&fixture.run(&params(&default_cell(), &[])).unwrap(), "report.md");
    let answer = report.split("## Design").next().unwrap();
    for warning in ["There are 10 runs only", "1 validity check has failed", "small variant `ci`"] {
        assert!(answer.contains(warning), "{warning}:\n{answer}");
    }
    assert!(report.contains("--variant ci"));
    assert!(
        answer.contains("The arms of `experience` are not compared: the validity check `equal-arms` fails."),
        "{answer}"
    );
    assert!(!answer.contains("startup time is"), "no sentence about a comparison that is not fair: {answer}");
    let record = report.split("## Validity").nth(1).unwrap();
    assert!(record.find("FAIL").unwrap() < record.find("warn |").unwrap(), "failures stand first");
    assert!(report.contains("The validity check `equal-arms` failed at `experience`: they also differ."));
}

#[test]
fn a_single_run_is_not_estimable_and_says_why() {
    let mut fixture = Fixture::new();
    fixture.comparison.retain(|row| row[17] != "percentile");
    for row in &mut fixture.comparison {
        for c in [9, 10, 11, 13, 14] {
            row[c] = Value::Null;
        }
        row[16] = json!(1);
        row[17] = json!("not estimable: one run");
    }
    let outputs =
        fixture.run(&params(&default_cell(), &[claim(json!({ "improvement_at_least": "5 %" }), json!({}))])).unwrap();
    let answer = file(&outputs, "answer.txt").replace('\n', " ");
    assert!(answer.contains("no interval can be given (one run); with h3 it is estimated 21.3 % shorter"), "{answer}");
    assert_eq!(column(&outputs.frames["claims"], "verdict"), ["inconclusive"]);
    assert_eq!(column(&outputs.frames["claims"], "reason"), ["there is no interval (not estimable: one run)"]);
}

#[test]
fn arms_that_are_equal_in_every_run_are_said_to_be_equal() {
    let mut fixture = Fixture::new();
    let row = fixture.comparison_of(CELLS[2].2, "ttlb_ms", "p95");
    *row = comparison_row(
        CELLS[2],
        ("ttlb_ms", "p95", "transport"),
        "improvement",
        0.0,
        None,
        None,
        40,
        "not estimable: all runs equal",
    );
    let answer = file(&fixture.run(&params(&default_cell(), &[])).unwrap(), "answer.txt").replace('\n', " ");
    assert!(
        answer.contains("(scheduler round_robin, prefetch 3) is the same with h2 and h3 in every run."),
        "{answer}"
    );
}

#[test]
fn counts_are_not_shown_as_per_cent() {
    let report = file(&Fixture::new().run(&params(&default_cell(), &[])).unwrap(), "report.md");
    let line = report.lines().find(|l| l.starts_with("| mean switches")).unwrap();
    assert_eq!(line, "| mean switches | 4.20 | 4.51 | 0.310 | -0.210 to 0.830 | 0.62 |");
}

fn verdict_of(fixture: &Fixture, claim: Value) -> (String, String) {
    let outputs = fixture.run(&params(&default_cell(), &[claim])).unwrap();
    let claims = &outputs.frames["claims"];
    (column(claims, "verdict")[0].clone(), column(claims, "reason")[0].clone())
}

#[test]
fn claims_are_judged_by_the_whole_interval() {
    let fixture = Fixture::new();
    // Startup: 35.2 %, 32.1 to 38.3. Stall ratio: -1.3 pp, -2.1 to -0.5.
    let of = |expect: Value, more: Value| verdict_of(&fixture, claim(expect, more)).0;
    assert_eq!(of(json!({ "improvement_at_least": "32 %" }), json!({})), "reproduced");
    assert_eq!(of(json!({ "improvement_at_least": "33 %" }), json!({})), "inconclusive");
    assert_eq!(of(json!({ "improvement_at_least": "33 %" }), json!({ "tolerance": "1 %" })), "reproduced");
    assert_eq!(of(json!({ "improvement_at_least": 0.39 }), json!({})), "not_reproduced");
    assert_eq!(of(json!({ "improvement_at_most": "30 %" }), json!({})), "not_reproduced");
    let stall = json!({ "metric": "stall_ratio", "stat": "mean" });
    assert_eq!(of(json!({ "difference_at_most": "-0.4 %" }), stall.clone()), "reproduced");
    assert_eq!(of(json!({ "difference_at_most": "-1 %" }), stall.clone()), "inconclusive");
    assert_eq!(of(json!({ "difference_at_least": "0 %" }), stall), "not_reproduced");
}

#[test]
fn claims_that_cannot_be_judged_say_why() {
    let mut fixture = Fixture::new();
    let transport = |more: Value| {
        let mut base = json!({ "of": "transport", "metric": "ttlb_ms", "stat": "p95" });
        more.as_object().unwrap().iter().for_each(|(k, v)| base[k] = v.clone());
        claim(json!({ "improvement_at_least": "5 %" }), base)
    };
    let cell = json!({ "where": { "scheduler": "round_robin", "prefetch": 3 } });
    assert_eq!(verdict_of(&fixture, transport(cell.clone())), ("reproduced".into(), String::new()));
    let reason = |fixture: &Fixture, claim| {
        let (verdict, reason) = verdict_of(fixture, claim);
        assert_eq!(verdict, "inconclusive");
        reason
    };
    assert_eq!(reason(&fixture, transport(json!({}))), "4 cells fit: add the missing axes to `where`");
    assert_eq!(reason(&fixture, transport(json!({ "where": { "prefetch": 9 } }))), "no cell has the values of `where`");
    assert_eq!(
        reason(&fixture, transport(json!({ "of": "transprot" }))),
        "nothing of the stage `transprot` is compared"
    );
    let swapped = transport(json!({ "arms": ["h3", "h2"] }));
    assert_eq!(reason(&fixture, swapped), "p95 of `ttlb_ms` is not compared from h3 to h2");
    fixture.nodes[CELLS[2].2]["params"]["player"]["decisions"] = json!("closed_loop");
    let outputs = fixture.run(&params(&json!({ "figures": [] }), &[transport(cell)])).unwrap();
    let closed = &column(&outputs.frames["claims"], "reason")[0];
    assert_eq!(closed, "`transport` decides by itself, so its segment times are no transport effect");
}

#[test]
fn the_frame_of_claims_has_what_was_claimed_and_what_was_found() {
    let claims = [claim(json!({ "improvement_at_least": "5 %" }), json!({ "tolerance": "2 %" }))];
    let outputs = Fixture::new().run(&params(&default_cell(), &claims)).unwrap();
    let frame = &outputs.frames["claims"];
    let csv = frame.to_csv();
    assert_eq!(
        csv,
        "id,statement,of,where,metric,stat,arm_a,arm_b,expected,bound,tolerance,estimate,ci_low,ci_high,verdict,reason,shown_in\n\
         C1,HTTP/3 starts earlier.,experience,,startup_ms,p50,h2,h3,improvement_at_least,0.05,0.02,0.352,\
         0.32099999999999995,0.383,reproduced,,fig_startup\n"
    );
    let none = Fixture::new().run(&params(&default_cell(), &[])).unwrap();
    assert_eq!(none.frames["claims"].rows(), 0);
}

#[test]
fn bad_claims_are_refused_at_their_place_all_at_once() {
    let bad = |expect: Value, more: Value| decode(&json!({}), &[claim(expect, more)]).1;
    let at_least = || json!({ "improvement_at_least": "5 %" });
    for (expect, more, problem) in [
        (at_least(), json!({ "metric": "startup" }), "unknown-value: `startup` is not a metric"),
        (at_least(), json!({ "stat": "median" }), "unknown-value: `median` is not a statistic"),
        (at_least(), json!({ "stat": "p101" }), "unknown-value: `p101` is not a statistic"),
        (at_least(), json!({ "arms": ["h2"] }), "wrong-type: expected two arms, found a list"),
        (at_least(), json!({ "arms": ["h2", "h2"] }), "out-of-range: the arm `h2` is compared with itself"),
        (at_least(), json!({ "arms": ["h2", "h4"] }), "unknown-name: `h4` is not defined in `arms`"),
        (at_least(), json!({ "tolerance": "-1 %" }), "out-of-range: `-1 %` is out of range for `tolerance`"),
        (at_least(), json!({ "colour": "red" }), "unknown-key: unknown key `colour`"),
        (json!({ "improvement_atleast": "5 %" }), json!({}), "unknown-key: unknown key `improvement_atleast`"),
        (json!({ "improvement_at_least": 5 }), json!({}), "bad-quantity: `5` can be read in two ways"),
        (json!({ "improvement_at_least": "5 ms" }), json!({}), "bad-quantity: `5 ms` is not a share"),
        (json!({ "improvement_at_least": "nan %" }), json!({}), "bad-quantity: `nan %` is not a share"),
        (json!({ "difference_at_least": "5 ms" }), json!({}), "claim-effect: `startup_ms` is compared relatively"),
        (json!({}), json!({}), "wrong-type: expected one bound, found a mapping"),
    ] {
        assert_eq!(bad(expect, more), [problem]);
    }
    let stall = json!({ "metric": "stall_ratio", "stat": "mean" });
    assert_eq!(
        bad(at_least(), stall),
        ["claim-effect: `stall_ratio` may be 0 in a run, so it is compared as a difference"]
    );
    let two = bad(json!({ "improvement_at_least": "x" }), json!({ "stat": "median", "arms": [] }));
    assert_eq!(two.len(), 3, "{two:?}");
}

#[test]
fn amounts_have_the_unit_of_the_metric() {
    let bound = |metric: &str, expect: Value| {
        let more = json!({ "metric": metric, "stat": "mean" });
        params(&json!({}), &[claim(expect, more)]).claims[0].expect.bound
    };
    assert_eq!(bound("startup_ms", json!({ "improvement_at_least": "3.6 %" })).to_bits(), 0.036f64.to_bits());
    assert_eq!(bound("startup_ms", json!({ "improvement_at_most": "-250 %" })), -2.5);
    assert_eq!(bound("hol_wait_ms", json!({ "difference_at_most": "-50 ms" })), -50.0);
    assert_eq!(bound("switches", json!({ "difference_at_most": 1.5 })), 1.5);
    assert_eq!(bound("hit_ratio", json!({ "difference_at_least": "0 %" })).to_bits(), 0.0f64.to_bits());
}

#[test]
fn every_key_is_in_the_canonical_parameters_or_refused() {
    let stage = json!({ "title": "T", "question": "Q", "default_cell": { "prefetch": 3 }, "figures": ["trace", "startup", "trace"] });
    let canonical = serde_json::to_value(params(&stage, &[])).unwrap();
    assert_eq!(canonical["default_cell"], json!({ "prefetch": "3" }));
    assert_eq!(canonical["figures"], json!(["startup", "trace"]));
    assert_eq!((&canonical["title"], &canonical["question"]), (&json!("T"), &json!("Q")));
    assert_eq!(decode(&json!({ "figure": ["trace"] }), &[]).1, ["unknown-key: unknown key `figure`"]);
    let only = Fixture::new().run(&params(&stage, &[])).err();
    assert_eq!(only, None);
    let schema = StageKind::schema(&Report);
    assert!(schema["properties"]["default_cell"].is_object());
    assert_eq!(claim_schema()["required"].as_array().unwrap().len(), 7);
}

#[test]
fn only_the_chosen_figures_are_drawn() {
    let stage = json!({ "figures": ["trace"] });
    let outputs = Fixture::new().run(&params(&stage, &[])).unwrap();
    let figures: Vec<&String> = outputs.files.keys().filter(|k| k.starts_with("figures/")).collect();
    assert_eq!(figures, ["figures/fig_trace.csv", "figures/fig_trace.png", "figures/fig_trace.svg"]);
    assert!(!file(&outputs, "report.md").contains("fig_startup"));
}
