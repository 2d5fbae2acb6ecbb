//! What a good study becomes.

use crate::{STUDY, edited, good, good_with, params, problems};
use serde_json::json;
use std::collections::BTreeMap;
use study_spec::{InputBinding, Options, Study};

fn ids(study: &Study) -> Vec<&str> {
    study.nodes.iter().map(|n| n.id.as_str()).collect()
}

fn axes_of(study: &Study, id: &str, frame: &str) -> Vec<(String, BTreeMap<String, Option<String>>)> {
    let node = study.nodes.iter().find(|n| n.id == id).unwrap();
    node.inputs[frame].iter().map(|InputBinding { node, axes }| (study.nodes[*node].id.clone(), axes.clone())).collect()
}

fn row(axes: &[(&str, Option<&str>)]) -> BTreeMap<String, Option<String>> {
    axes.iter().map(|(column, value)| ((*column).to_owned(), value.map(str::to_owned))).collect()
}

#[test]
fn a_study_becomes_nodes_in_the_order_of_the_file_with_cells_sorted_by_axis() {
    let study = good(STUDY);
    assert_eq!((study.name.as_str(), study.title.as_str(), study.seed), ("small", "A small study", 7));
    assert_eq!(study.variant, "full");
    assert_eq!(
        ids(&study),
        [
            "catalog",
            "routing",
            "experience",
            "transport[player.prefetch=1,scheduler=round_robin]",
            "transport[player.prefetch=1,scheduler=sequential]",
            "transport[player.prefetch=3,scheduler=round_robin]",
            "transport[player.prefetch=3,scheduler=sequential]",
            "aggregate",
            "bootstrap",
            "report",
        ]
    );
    for (i, node) in study.nodes.iter().enumerate() {
        assert!(node.needs.iter().all(|&n| n < i), "{} comes after its needs", node.id);
    }
    let cell = &study.nodes[4];
    assert_eq!(cell.stage, "transport");
    assert_eq!(cell.axes, BTreeMap::from([("prefetch".into(), "1".into()), ("scheduler".into(), "sequential".into())]));
    assert_eq!(cell.needs, [0, 1]);
}

#[test]
fn a_stage_may_stand_above_those_it_needs() {
    let text = "study: s\nstages:\n  b: { kind: aggregate, needs: [s] }\n  s: { kind: simulate, mode: modeled, runs: 1, arms: [], needs: [c, r] }\n  \
                r: { kind: routing, runs: 1, clients: 1, edges: {}, needs: [c] }\n  c: { kind: catalog, titles: 1, segment: 4 s, duration: 8 s }\n  \
                a: { kind: aggregate, needs: [s] }\n  boot: { kind: bootstrap, needs: [a, b] }\n";
    assert_eq!(ids(&good(text)), ["c", "r", "s", "b", "a", "boot", "report"], "first of the file among those ready");
}

#[test]
fn parameters_are_decoded_with_the_cells_values_and_inherited_keys() {
    let study = good(STUDY);
    let cell = params(&study, "transport[player.prefetch=1,scheduler=sequential]");
    assert_eq!(cell["scheduler"], json!("sequential"));
    assert_eq!(cell["player"]["prefetch"], json!(1));
    assert_eq!(cell["player"]["decisions"], json!({ "replay": "h2" }), "merged over what `like` copied");
    assert_eq!(cell["clients"], json!(4));
    assert_eq!(cell["runs"], json!(4), "taken from the top");
    assert_eq!(params(&study, "experience")["player"]["prefetch"], json!(3));
    assert_eq!(
        params(&study, "routing")["edges"]["singapore"]["client_link"]["rtt"],
        json!("30 ms"),
        "content, not name"
    );
}

#[test]
fn every_part_of_a_frame_has_a_value_for_every_axis_of_its_stages() {
    let study = good(STUDY);
    let parts = axes_of(&study, "aggregate", "segments");
    assert_eq!(parts.len(), 5);
    assert_eq!(
        parts[0],
        ("experience".into(), row(&[("prefetch", Some("3")), ("scheduler", Some("round_robin"))])),
        "prefetch as written, scheduler by default"
    );
    assert_eq!(parts[2].1, row(&[("prefetch", Some("1")), ("scheduler", Some("sequential"))]));
    assert_eq!(axes_of(&study, "bootstrap", "run_metrics"), [("aggregate".into(), row(&[]))]);
    assert_eq!(axes_of(&study, "experience", "clients"), [("routing".into(), row(&[]))]);
    assert!(!study.nodes.iter().find(|n| n.id == "routing").unwrap().inputs.contains_key("rungs"), "not taken");
}

#[test]
fn a_part_without_such_a_parameter_has_no_value() {
    let per_cell = edited(
        STUDY,
        "needs: [experience, transport] }",
        "needs: [transport], per_cell: true }\n  all: { kind: aggregate, needs: [experience] }",
    );
    let study = good(&edited(&per_cell, "needs: [aggregate], resamples", "needs: [aggregate, all], resamples"));
    let parts = axes_of(&study, "bootstrap", "run_metrics");
    assert_eq!(parts.len(), 5);
    assert_eq!(parts[0].1, row(&[("prefetch", Some("1")), ("scheduler", Some("round_robin"))]));
    assert_eq!(parts[4], ("all".into(), row(&[("prefetch", None), ("scheduler", None)])));
}

#[test]
fn per_cell_maps_a_stage_over_the_cells_it_needs() {
    let text = edited(
        STUDY,
        "needs: [experience, transport] }",
        "needs: [transport], per_cell: true }\n  all: { kind: aggregate, needs: [experience] }",
    );
    let text = edited(&text, "needs: [aggregate], resamples", "needs: [aggregate, all], resamples");
    let study = good(&text);
    let id = "aggregate[player.prefetch=3,scheduler=round_robin]";
    let parts = axes_of(&study, id, "segments");
    assert_eq!(parts.len(), 1);
    assert_eq!(parts[0].0, "transport[player.prefetch=3,scheduler=round_robin]");
    assert_eq!(parts[0].1, row(&[("prefetch", Some("3")), ("scheduler", Some("round_robin"))]));
    let node = study.nodes.iter().find(|n| n.id == id).unwrap();
    assert_eq!(node.axes["prefetch"], "3");
    assert_eq!(node.needs.len(), 1);
}

#[test]
fn per_cell_pairs_cells_by_value_and_passes_on_through_a_chain() {
    let text = edited(
        STUDY,
        "needs: [experience, transport] }",
        "needs: [transport, again], per_cell: true }\n  again: { like: transport, matrix: { scheduler: [sequential, round_robin] } }\n  \
         all: { kind: aggregate, needs: [experience] }",
    );
    let text = edited(&text, "needs: [aggregate], resamples", "needs: [aggregate], per_cell: true, resamples");
    let text = edited(&text, "\nclaims:", "\n  boot2: { kind: bootstrap, needs: [all] }\nclaims:");
    let study = good(&text);
    let id = "aggregate[player.prefetch=1,scheduler=sequential]";
    let parts: Vec<String> = axes_of(&study, id, "segments").into_iter().map(|(id, _)| id).collect();
    assert_eq!(
        parts,
        ["transport[player.prefetch=1,scheduler=sequential]", "again[player.prefetch=1,scheduler=sequential]"]
    );
    let id = "bootstrap[player.prefetch=1,scheduler=sequential]";
    assert_eq!(axes_of(&study, id, "run_metrics").len(), 1);
    assert_eq!(axes_of(&study, "report", "summary").len(), 5);
}

#[test]
fn named_frames_come_from_the_named_stages_only() {
    let text = edited(
        STUDY,
        "{ kind: aggregate, needs: [experience, transport] }",
        "{ kind: aggregate, needs: { segments: experience, sessions: [experience, transport] } }",
    );
    let study = good(&text);
    assert_eq!(axes_of(&study, "aggregate", "segments").len(), 1);
    assert_eq!(axes_of(&study, "aggregate", "segments")[0].1, row(&[]), "no axis among these parts");
    assert_eq!(axes_of(&study, "aggregate", "sessions").len(), 5);
}

#[test]
fn a_study_without_a_report_gets_one_that_reads_all_it_can() {
    let study = good(STUDY);
    let report = study.nodes.last().unwrap();
    assert_eq!((report.id.as_str(), report.kind.name()), ("report", "report"));
    let frames: Vec<&str> = report.inputs.keys().map(String::as_str).collect();
    assert_eq!(frames, ["comparison", "run_metrics", "segments", "sessions", "summary"]);
    assert_eq!(params(&study, "report")["claims"][0]["id"], json!("C1"));

    let text = edited(STUDY, "\nclaims:", "\n  mine: { kind: report, needs: [bootstrap] }\nclaims:");
    let text = text.replace("\nci:", "\nci: {}\nunused:");
    let text = &text[..text.find("\nunused:").unwrap()];
    let kinds = |s: &Study| s.nodes.iter().filter(|n| n.kind.name() == "report").count();
    assert_eq!(kinds(&good(text)), 1);
    let written = edited(STUDY, "\nclaims:", "\n  report: { kind: report }\nclaims:");
    assert_eq!(good(&written).info, study.info, "written without `needs`, it is the same as not written");
}

#[test]
fn a_study_with_nothing_to_report_on_has_no_report() {
    let text = "study: s\nstages: { c: { kind: catalog, titles: 1, segment: 4 s, duration: 8 s } }\n";
    assert_eq!(ids(&good(text)), ["c"]);
}

#[test]
fn comments_key_order_and_spelling_of_numbers_do_not_change_parameters() {
    let base = good(&edited(STUDY, "decisions: closed_loop", "decisions: closed_loop, impatience: 1 %"));
    let same = |text: &str| assert_eq!(good(text).info, base.info);
    same(&edited(STUDY, "decisions: closed_loop", "decisions: closed_loop, impatience: 1e-2"));
    same(&edited(STUDY, "decisions: closed_loop", "decisions: closed_loop, impatience: 0.01"));
    same(&edited(
        STUDY,
        "prefetch: 3, decisions: closed_loop",
        "# why\n      impatience: 1.0 %,\n\n\n      decisions: closed_loop, prefetch: 3",
    ));
    let moved = edited(STUDY, "seed: 7\nruns: 4\n", "# seed\n");
    same(&format!(
        "{}\nruns: 4\nseed: 7\n",
        edited(&moved, "decisions: closed_loop", "decisions: closed_loop, impatience: 1 %")
    ));
    same(&edited(STUDY, "decisions: closed_loop", "decisions: closed_loop, impatience: 1 %").replace('\n', "\r\n"));
    let changed = good(&edited(STUDY, "decisions: closed_loop", "decisions: closed_loop, impatience: 2 %"));
    assert_ne!(changed.info, base.info);
    assert_eq!(params(&changed, "routing"), params(&base, "routing"));
}

#[test]
fn renaming_a_link_changes_no_parameters() {
    let renamed = STUDY.replace("last_mile", "the_last_mile");
    assert_eq!(good(&renamed).info, good(STUDY).info);
}

#[test]
fn the_description_of_the_study_has_every_node() {
    let info = good(STUDY).info;
    let cell = &info.nodes["transport[player.prefetch=1,scheduler=sequential]"];
    assert_eq!(cell["kind"], json!("simulate"));
    assert_eq!(cell["needs"], json!(["catalog", "routing"]));
    assert_eq!(cell["params"]["scheduler"], json!("sequential"));
    assert_eq!(info.nodes.as_object().unwrap().len(), 10);
}

#[test]
fn a_seed_from_the_command_line_replaces_the_studys_own() {
    let study = good_with(STUDY, &Options { seed: Some(99), ..Options::default() });
    assert_eq!((study.seed, study.info.seed), (99, 99));
    assert_eq!(good("study: s\nstages: { c: { kind: catalog, titles: 1, segment: 4 s, duration: 8 s } }\n").seed, 1);
}

#[test]
fn files_are_asked_for_by_slot() {
    let text = edited(STUDY, "    mode: modeled", "    mode: modeled\n    trace: { file: data/a.log }");
    let study = good(&text);
    let node = study.nodes.iter().find(|n| n.id == "experience").unwrap();
    assert_eq!(node.files.len(), 1);
    assert_eq!(node.files[0].path, "data/a.log");
    assert_eq!(params(&study, "experience")["trace"], json!({ "slot": 0 }));
}

#[test]
fn values_that_are_mappings_can_be_an_axis() {
    let text =
        edited(STUDY, "scheduler: [round_robin, sequential], ", "player.decisions: [{ replay: h2 }, closed_loop], ");
    let study = good(&text);
    assert!(ids(&study).contains(&"transport[player.decisions={replay: h2},player.prefetch=3]"));
    let first = axes_of(&study, "aggregate", "segments");
    assert_eq!(first[0].1["decisions"].as_deref(), Some("closed_loop"));
}

#[test]
fn a_matrix_can_be_copied_and_taken_away() {
    let text = edited(
        STUDY,
        "\n  aggregate:",
        "\n  again: { like: transport, clients: 3 }\n  once: { like: transport, matrix: null }\n  aggregate:",
    );
    let text = edited(&text, "needs: [experience, transport]", "needs: [experience, transport, again, once]");
    let study = good(&text);
    assert!(ids(&study).contains(&"again[player.prefetch=1,scheduler=sequential]"));
    assert!(ids(&study).contains(&"once"));
    assert_eq!(problems(&text), Vec::<String>::new());
}
