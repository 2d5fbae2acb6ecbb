//! What is wrong with a study is said all at once, at its place, and nothing else is said.

use crate::{STUDY, edited, problems};

/// The problems after one edit, with `LINE` standing for the line of `mark`.
fn after(from: &str, to: &str, mark: &str) -> Vec<String> {
    let text = edited(STUDY, from, to);
    let line = text.lines().position(|l| l.contains(mark)).unwrap() + 1;
    problems(&text).into_iter().map(|p| p.replace(&format!(" {line}:"), " LINE:")).collect()
}

#[test]
fn typos_in_several_stages_are_reported_together() {
    let text = edited(STUDY, "segment: 4 s", "segmnt: 4 s");
    let text = edited(&text, "resamples: 1000", "resample: 1000");
    let text = edited(&text, "mode: modeled", "mode: modelled");
    let text = edited(&text, "rtt: 80 ms", "rtt: 80 mss");
    let found: Vec<String> = problems(&text).iter().map(|p| p.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(found, ["bad-quantity", "missing-key", "unknown-key", "unknown-value", "unknown-key"]);
}

#[test]
fn a_stage_that_failed_causes_no_further_noise() {
    let found = after("kind: catalog", "kind: catalogue", "catalog:");
    assert_eq!(found, ["unknown-kind LINE:20 `catalogue` is not a kind of stage | did you mean `catalog`?"]);
    let found = after("titles: 20", "titles: twenty", "catalog:");
    assert_eq!(
        found,
        ["wrong-type LINE:37 expected a whole number, found `twenty` | write decimal digits only, e.g. `40`"]
    );
    let found = after("like: experience", "like: experiense", "like:");
    assert_eq!(found, ["unknown-stage LINE:11 there is no stage `experiense` | did you mean `experience`?"]);
}

#[test]
fn needs_must_name_stages_that_give_what_is_read() {
    let found = after("needs: [catalog]", "needs: [catalg]", "[catalg]");
    assert_eq!(found, ["unknown-stage LINE:13 there is no stage `catalg` | did you mean `catalog`?"]);
    let found = after("needs: [catalog]", "needs: catalog", "needs: catalog");
    assert_eq!(found, ["wrong-type LINE:12 expected a list of stages, found `catalog` | write `needs: [catalog]`"]);
    let found = after("needs: [catalog, routing]", "needs: [catalog]", "experience:");
    assert_eq!(
        found,
        [
            "missing-frame LINE:3 `experience` needs a stage that gives the frame `clients` | add `routing` to its `needs`",
            "missing-frame LINE:3 `experience` needs a stage that gives the frame `edges` | add `routing` to its `needs`",
            "missing-frame 26:3 `transport` needs a stage that gives the frame `clients` | add `routing` to its `needs`",
            "missing-frame 26:3 `transport` needs a stage that gives the frame `edges` | add `routing` to its `needs`",
        ]
    );
    let found = after("needs: [catalog]", "needs: [catalog, catalog]", "[catalog, catalog]");
    assert_eq!(found, ["duplicate-need LINE:22 `catalog` is needed twice | remove one of the two"]);
}

#[test]
fn one_frame_from_two_kinds_is_ambiguous_unless_named() {
    let two = "bootstrap: { kind: bootstrap, needs: [aggregate], resamples: 1000 }";
    let with_compare = |report: &str| {
        edited(
            STUDY,
            two,
            &format!(
                "{two}\n  compare: {{ kind: compare, needs: [aggregate] }}\n  report: {{ kind: report, needs: {report} }}"
            ),
        )
    };
    let rest = "segments: [experience, transport], run_metrics: aggregate, summary: bootstrap, comparison: compare";
    assert_eq!(problems(&with_compare(&format!("{{ {rest} }}"))), Vec::<String>::new());
    let found = problems(&with_compare("[bootstrap, compare, experience, transport]"));
    assert_eq!(
        found,
        [
            "ambiguous-frame 34:46 `bootstrap` (bootstrap) and `compare` (compare) both give the frame `comparison` | say whose it is: `needs: { comparison: compare }`, with the other frames named as well"
        ]
    );
    let found = problems(&with_compare("{ summery: bootstrap }"));
    assert_eq!(
        found,
        ["unknown-frame 34:36 a stage of kind `report` reads no frame `summery` | did you mean `summary`?"]
    );
    let found = problems(&with_compare("{ summary: aggregate }"));
    assert_eq!(found, ["unknown-frame 34:45 `aggregate` gives no frame `summary` | it gives: run_metrics"]);
}

#[test]
fn a_cycle_is_printed() {
    let found = after("needs: [catalog]", "needs: [catalog, bootstrap]", "needs: [catalog, bootstrap]");
    assert_eq!(
        found,
        [
            "cycle LINE:22 stages need each other in a circle: `routing -> bootstrap -> aggregate -> experience -> routing` | each stage can only need stages that do not need it, directly or through others"
        ]
    );
    let found = after("needs: [catalog]", "needs: [catalog, routing]", "clients: 10");
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("`routing -> routing`"), "{found:?}");
}

#[test]
fn a_circle_of_likes_is_printed() {
    let found = after("    kind: simulate\n", "    like: transport\n", "like: transport");
    assert_eq!(
        found,
        [
            "like-cycle LINE:11 stages are like each other in a circle: `experience -> transport -> experience` | write the parameters out in one of them"
        ]
    );
}

#[test]
fn an_axis_must_match_a_parameter_and_have_values() {
    let axis = |to: &str| after("{ scheduler: [round_robin, sequential], player.prefetch: [1, 3] }", to, "matrix:");
    let one = |to: &str| {
        let found = axis(to);
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    };
    assert_eq!(
        one("{ player.prefetsh: [1, 3] }"),
        "matrix-axis LINE:15 the axis `player.prefetsh` matches no parameter of `transport`: unknown key `prefetsh` | did you mean `prefetch`?"
    );
    assert_eq!(
        one("{ scheduler: [round_robin], playr.prefetch: [1, 3] }"),
        "matrix-axis LINE:41 the axis `playr.prefetch` matches no parameter of `transport`: unknown key `playr` | did you mean `player`?"
    );
    assert!(
        one("{ mode.x: [1, 3] }")
            .starts_with("matrix-axis LINE:15 the axis `mode.x` matches no parameter of `transport`: ")
    );
    assert_eq!(
        one("{ scheduler: [] }"),
        "matrix-axis LINE:26 the axis `scheduler` has no values | give at least one value, or remove the axis"
    );
    assert!(
        one("{ scheduler: round_robin }").starts_with("matrix-axis LINE:26 expected a list of values for `scheduler`")
    );
    assert!(one("{}").starts_with("matrix-axis LINE:13 expected a mapping of axes"));
    assert!(one("{ kind: [simulate] }").starts_with("matrix-axis LINE:15 `kind` cannot be an axis"));
    assert!(one("{ player..x: [1] }").starts_with("matrix-axis LINE:15 `player..x` cannot be an axis"));
    assert!(one("{ player.run: [1] }").starts_with("matrix-axis LINE:15 `player.run` cannot be an axis: frames have"));
    assert!(
        one("{ scheduler: [sequential, sequential] }").starts_with("matrix-axis LINE:39 `sequential` is given twice")
    );
    assert!(
        one("{ cache.prefetch: [1, 2], player.prefetch: [1, 2] }")
            .starts_with("matrix-axis LINE:39 the axes `cache.prefetch` and `player.prefetch` would share")
    );
    assert!(
        one("{ player: [{ prefetch: 1 }], player.prefetch: [1, 2] }")
            .starts_with("matrix-axis LINE:42 `player.prefetch` lies inside `player`")
    );
    assert_eq!(
        axis("{ scheduler: [round_robin, sequental, fifo] }"),
        [
            "unknown-value LINE:40 `sequental` is not one of: round_robin, sequential | did you mean `sequential`?",
            "unknown-value LINE:51 `fifo` is not one of: round_robin, sequential | use one of: round_robin, sequential",
        ],
        "each bad value once, however many cells have it"
    );
}

#[test]
fn axes_of_two_stages_that_share_a_column_are_refused() {
    let text = edited(
        STUDY,
        "\n  aggregate:",
        "\n  caches: { like: experience, matrix: { cache.prefetch: [0, 1] } }\n  aggregate:",
    );
    let found = problems(&edited(&text, "needs: [experience, transport]", "needs: [transport, caches]"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with(
            "matrix-axis 31:41 the axes `player.prefetch` and `cache.prefetch` would share the column `prefetch`"
        ),
        "{found:?}"
    );
}

#[test]
fn a_matrix_is_bounded() {
    let values = (0..400).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    let text = edited(STUDY, "player.prefetch: [1, 3]", &format!("clients: [{values}], runs: [{values}]"));
    let found = problems(&text);
    assert_eq!(
        found,
        ["matrix-size 30:13 the matrix has 320000 cells, more than 100000 | give fewer values, or fewer axes"]
    );
}

#[test]
fn per_cell_needs_one_set_of_cells() {
    let edit = |to: &str| after("{ kind: aggregate, needs: [experience, transport] }", to, "aggregate:");
    let found = edit("{ kind: aggregate, needs: [experience], per_cell: true }");
    assert_eq!(
        found,
        [
            "per-cell LINE:64 no stage that it reads has a `matrix` | remove `per_cell`, or need a stage that has a matrix"
        ]
    );
    let found = edit("{ kind: aggregate, needs: [transport], per_cell: yes }");
    assert_eq!(
        found,
        ["wrong-type LINE:63 expected true or false, found `yes` | write `true` or `false` without quotes"]
    );
    let found = edit(
        "{ kind: aggregate, needs: [transport, other], per_cell: true }\n  other: { like: transport, matrix: { scheduler: [sequential] } }",
    );
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(
        "per-cell LINE:52 `per_cell` needs one set of cells, but `transport` and `other` have different ones"
    ));
    let found = edit("{ kind: aggregate, needs: [transport], per_cell: true, matrix: { x: [1] } }");
    assert!(
        found.iter().any(|p| p.starts_with("per-cell LINE:63 `per_cell` and `matrix` exclude each other")),
        "{found:?}"
    );
}

#[test]
fn names_must_be_safe() {
    let found = after("study: small", "study: ../small", "study:");
    assert!(found[0].starts_with("bad-name LINE:8 `../small` cannot be the name of a study"), "{found:?}");
    let found = after("  bootstrap: {", "  boot.strap: {", "boot.strap:");
    assert!(found[0].starts_with("bad-name LINE:3 `boot.strap` cannot be the name of a stage"), "{found:?}");
    let found = after("  bootstrap: {", "  links: {", "  links: {");
    assert!(
        found[0].starts_with("bad-name LINE:3 `links` cannot be the name of a stage: it is a key of the study"),
        "{found:?}"
    );
    let found = after("  bootstrap: {", "  report: {", "  report: {");
    assert!(found[0].starts_with("bad-name LINE:3 only a stage of kind `report`"), "{found:?}");
    let found = after("id: C1,", "id: C 1,", "id: C 1");
    assert!(found[0].starts_with("bad-name LINE:11 `C 1` cannot be the name of an item of `claims`"), "{found:?}");
}

#[test]
fn the_top_level_is_checked() {
    assert_eq!(
        problems("stages: {}\n"),
        [
            "missing-key 1:1 `study` is missing | add `study: ...`",
            "missing-key 1:9 there is no stage | write `stages:` with at least one `name: { kind: ... }` below it; see `study kinds`",
        ]
    );
    assert_eq!(problems("study: x\n"), ["missing-key 1:1 `stages` is missing | add `stages: ...`"]);
    assert_eq!(problems("study: x\nstages:\n")[0].split(" |").next().unwrap(), "missing-key 2:1 there is no stage");
    assert_eq!(
        problems("hello\n"),
        ["wrong-type 1:1 expected a mapping, found `hello` | write `key: value` lines, or `{ key: value }`"]
    );
    let found = after("seed: 7", "sead: 7", "sead");
    assert_eq!(found, ["unknown-key LINE:1 unknown key `sead` | did you mean `seed`?"]);
    let found = after("seed: 7", "seed: -7", "seed");
    assert_eq!(found, ["wrong-type LINE:7 expected a whole number, found `-7` | write decimal digits only, e.g. `40`"]);
    let found =
        after("bootstrap: { kind: bootstrap, needs: [aggregate], resamples: 1000 }", "bootstrap: 3\n", "bootstrap: 3");
    assert_eq!(
        found,
        ["wrong-type LINE:14 expected a mapping, found `3` | write `bootstrap: { kind: ... }`; see `study kinds`"]
    );
    let found = after("{ kind: aggregate, ", "{ ", "aggregate:");
    assert!(found[0].starts_with("missing-key LINE:3 the stage `aggregate` has no `kind`"), "{found:?}");
    assert_eq!(found.len(), 1);
}

#[test]
fn definitions_are_checked_used_or_not() {
    let found = after("rtt: 80 ms,", "rtt: 80 ms, tyre: 1,", "tyre");
    assert_eq!(found, ["unknown-key LINE:42 unknown key `tyre` | known keys: symmetric, rtt, rate, loss"]);
    let found = after("\narms:", "\n  unused: { rtt: 1 }\narms:", "unused");
    assert_eq!(found.len(), 2, "{found:?}");
    let found = after("[h2, h3]", "[h2, h4]", "[h2, h4]");
    assert_eq!(found, ["unknown-name LINE:16 `h4` is not defined in `arms` | did you mean `h2`?"]);
    let found = after("of: experience,", "of: experienze,", "experienze");
    assert_eq!(found, ["unknown-name LINE:19 `experienze` is not defined in `stages` | did you mean `experience`?"]);
    let found = after("\nci:", "\n  - { id: C1, of: transport, metric: x }\nci:", "of: transport");
    assert_eq!(found, ["duplicate-id LINE:11 `C1` is given twice | ids are unique: rename one of the two"]);
    let found =
        after("claims:\n  - { id: C1, of: experience, metric: startup_ms }\n", "claims: { C1: {} }\n", "claims:");
    assert!(found[0].starts_with("wrong-type LINE:9 expected a list, found a mapping"), "{found:?}");
}

#[test]
fn what_has_no_effect_is_warned_about() {
    let found = after("\narms:", "\n  spare: { rtt: 1 ms, rate: 1 Mbit/s }\narms:", "spare");
    assert_eq!(
        found,
        ["warning unused-definition LINE:3 `spare` in `links` is not used by any stage | use it, or remove it"]
    );
    let found = after("needs: [aggregate]", "needs: [aggregate, catalog]", "needs: [aggregate, catalog]");
    assert_eq!(
        found,
        ["warning unused-need LINE:52 `bootstrap` reads nothing that `catalog` gives | remove it from `needs`"]
    );
    let found = after(
        "\nclaims:",
        "\n  report: { kind: report, needs: [bootstrap, aggregate, experience] }\nclaims:",
        "report:",
    );
    assert_eq!(found, Vec::<String>::new(), "aggregate reads transport");
    let text = edited(STUDY, "\nclaims:", "\n  report: { kind: report, needs: [bootstrap, aggregate] }\nclaims:");
    let found = problems(&edited(&text, "needs: [experience, transport]", "needs: [experience]"));
    assert_eq!(
        found,
        ["warning unread-stage 26:3 no stage reads `transport` | name it in the `needs` of `report`, or remove it"]
    );
    let text = "study: s\nruns: 3\nstages: { c: { kind: catalog, titles: 1, segment: 4 s, duration: 8 s } }\n";
    assert_eq!(
        problems(text),
        [
            "warning unused-key 2:1 `runs` has no effect: no stage takes it over | remove it, or remove the key from the stages that give their own"
        ]
    );
}

#[test]
fn duplicate_keys_name_both_places_and_hide_nothing_else() {
    let text = edited(STUDY, "  aggregate: {", "  transport: { kind: catalog }\n  aggregate: {");
    let loaded = crate::with(&edited(&text, "resamples: 1000", "resample: 1000"), &study_spec::Options::default());
    let found = loaded.diagnostics.sorted();
    assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), ["duplicate-key", "unknown-key"]);
    assert_eq!(loaded.sources.line_column(found[0].span), (31, 3));
    assert_eq!(loaded.sources.line_column(found[0].related[0].0), (26, 3));
}
