//! `--set`, `--variant` and `like`.

use crate::{STUDY, edited, good, good_with, params, said, sets, with};
use serde_json::json;
use study_spec::Options;

fn refused(given: &[&str]) -> Vec<String> {
    said(&with(STUDY, &sets(given)))
}

#[test]
fn set_changes_stages_top_level_keys_links_and_claims() {
    let study = good_with(
        STUDY,
        &sets(&[
            "bootstrap.resamples=2000",
            "runs=9",
            "links.last_mile.rtt=80 ms",
            "claims.C1.metric=stalls",
            "seed=3",
        ]),
    );
    assert_eq!(params(&study, "bootstrap")["resamples"], json!(2000));
    assert_eq!(params(&study, "experience")["runs"], json!(9));
    assert_eq!(params(&study, "routing")["edges"]["singapore"]["client_link"]["rtt"], json!("80 ms"));
    assert_eq!(params(&study, "report")["claims"][0]["metric"], json!("stalls"));
    assert_eq!(study.seed, 3);
}

#[test]
fn set_is_as_an_edit_of_the_file_would_be() {
    let by_set = good_with(STUDY, &sets(&["experience.player.impatience=5 %"]));
    let by_hand = good(&edited(STUDY, "decisions: closed_loop", "decisions: closed_loop, impatience: 5 %"));
    assert_eq!(by_set.info, by_hand.info, "stages that are `like` it follow");
    let by_set = good_with(STUDY, &sets(&["transport.player.impatience=5 %"]));
    assert_eq!(params(&by_set, "experience")["player"]["impatience"], json!("0"));
}

#[test]
fn set_replaces_what_a_merge_would_mix() {
    let study = good_with(STUDY, &sets(&["experience.player.decisions={replay: h3}", "links.last_mile.loss=none"]));
    assert_eq!(params(&study, "experience")["player"]["decisions"], json!({ "replay": "h3" }));
    assert_eq!(params(&study, "routing")["edges"]["singapore"]["client_link"]["loss"], json!("none"));
}

#[test]
fn set_can_change_an_axis_and_add_one() {
    let ids = |given: &[&str]| -> Vec<String> {
        let study = good_with(STUDY, &sets(given));
        study.nodes.iter().filter(|n| n.stage == "transport").map(|n| n.id.clone()).collect()
    };
    assert_eq!(
        ids(&["transport.matrix.player.prefetch=[2]", "transport.matrix.scheduler=[sequential]"]),
        ["transport[player.prefetch=2,scheduler=sequential]"]
    );
    assert_eq!(ids(&["stages.transport.matrix.cache.size=[1 GiB, 2 GiB]"]).len(), 8);
    assert_eq!(ids(&["transport.matrix=null"]), ["transport"]);
}

#[test]
fn a_set_that_names_nothing_is_refused_with_a_suggestion() {
    let cases = [
        (
            "bootstrp.resamples=1",
            "bad-set 1:1 `bootstrp` is neither a stage nor a key of the study | did you mean `bootstrap`?",
        ),
        ("run=1", "bad-set 1:1 `run` is neither a stage nor a key of the study | did you mean `runs`?"),
        ("links.last_mil.rtt=1 ms", "bad-set 1:7 `last_mil` is not defined in `links` | did you mean `last_mile`?"),
        ("claims.C2.metric=x", "bad-set 1:8 `C2` is not defined in `claims` | did you mean `C1`?"),
        (
            "stages.nope.x=1",
            "bad-set 1:8 `nope` is not a stage | known are: catalog, routing, experience, transport, aggregate, bootstrap, report",
        ),
        (
            "transport=1",
            "bad-set 1:1 `transport` is a stage, not a parameter | name the parameter too: `transport.PARAMETER=value`",
        ),
        (
            "ci.runs=1",
            "bad-set 1:1 `ci` cannot be set | set the keys themselves; a variant is laid over the study before `--set`",
        ),
        ("runs", "bad-set 1:1 `runs` has no `=` | write `path=value`, e.g. `bootstrap.resamples=2000`"),
        ("runs=", "bad-set 1:1 `runs` is given no value | write `path=value`; an empty text is `path=\"\"`"),
        (
            "a..b=1",
            "bad-set 1:3 a part of the path `a..b` is empty | begin with the name of a stage or a key of the study, e.g. `bootstrap.resamples=2000`",
        ),
        (
            "transport.player.prefetch=2",
            "bad-set 1:27 `player.prefetch` is varied by the matrix of `transport`, so this value would never be used | set the axis: `transport.matrix.player.prefetch=[...]`",
        ),
    ];
    for (given, expected) in cases {
        assert_eq!(refused(&[given]), [expected], "{given}");
    }
}

#[test]
fn a_wrong_value_or_key_of_a_set_points_into_the_argument() {
    let loaded = with(STUDY, &sets(&["bootstrap.resamples=many", "bootstrap.resampels=5", "routing.clients=[1"]));
    let found: Vec<(String, String)> = loaded
        .diagnostics
        .sorted()
        .iter()
        .map(|d| {
            let (name, text) = loaded.sources.get(d.span.source).unwrap();
            (name.to_owned(), format!("{} {}", d.code, &text[d.span.start as usize..d.span.end as usize]))
        })
        .collect();
    let of = |name: &str, what: &str| (name.to_owned(), what.to_owned());
    assert_eq!(
        found,
        [
            of("--set bootstrap.resamples=many", "wrong-type many"),
            of("--set bootstrap.resampels=5", "unknown-key resampels"),
            of("--set routing.clients=[1", "yaml-syntax ["),
        ]
    );
    assert!(loaded.study.is_none());
}

#[test]
fn the_variant_is_merged_over_the_study_before_sets() {
    let ci = Options { variant: Some("ci".into()), ..Options::default() };
    let study = good_with(STUDY, &ci);
    assert_eq!((study.variant.as_str(), study.info.variant.as_str()), ("ci", "ci"));
    assert_eq!(params(&study, "experience")["runs"], json!(2));
    assert_eq!(params(&study, "routing")["clients"], json!(5));
    assert_eq!(params(&study, "transport[player.prefetch=1,scheduler=sequential]")["clients"], json!(2));
    assert_eq!(params(&study, "routing")["edges"]["singapore"]["geo"], json!("singapore"), "merged, not replaced");
    let study = good_with(STUDY, &Options { sets: vec!["runs=3".into()], ..ci.clone() });
    assert_eq!(params(&study, "experience")["runs"], json!(3));
    let links = edited(
        STUDY,
        "ci: { runs: 2,",
        "ci: { links: { origin: { rtt: 1 ms } }, stages: { bootstrap: { resamples: 200 } }, runs: 2,",
    );
    let study = good_with(&links, &ci);
    assert_eq!(params(&study, "routing")["edges"]["singapore"]["origin_link"]["rtt"], json!("1 ms"));
    assert_eq!(params(&study, "bootstrap")["resamples"], json!(200));
}

#[test]
fn a_variant_that_is_not_there_is_refused() {
    let other = Options { variant: Some("cy".into()), ..Options::default() };
    assert_eq!(
        said(&with(STUDY, &other)),
        ["unknown-variant 1:1 the study has no variant `cy` | the study has the variant `ci`"]
    );
    let ci = Options { variant: Some("ci".into()), ..Options::default() };
    let without = &STUDY[..STUDY.find("\nci:").unwrap() + 1];
    assert_eq!(
        said(&with(without, &ci)),
        ["unknown-variant 1:1 the study has no variant `ci` | add a block `ci:` to the study"]
    );
}

#[test]
fn the_block_of_a_variant_is_checked_even_when_it_is_not_asked_for() {
    let at = STUDY.lines().count();
    let typo = edited(STUDY, "ci: { runs: 2, routing: { clients: 5 }", "ci: { rans: 2, routing: { clinets: 5 }");
    let found = said(&with(&typo, &Options::default()));
    assert_eq!(
        found,
        [
            format!("unknown-key {at}:7 `rans` is neither a stage nor a key of the study | did you mean `runs`?"),
            format!("unknown-key {at}:27 unknown key `clinets` | did you mean `clients`?"),
        ]
    );
    let name = edited(STUDY, "ci: { runs: 2", "ci: { study: x, runs: 2");
    assert_eq!(said(&with(&name, &Options::default())).len(), 1, "a variant cannot rename the study");
}

#[test]
fn like_follows_chains_and_copies_kind_and_needs() {
    let text =
        edited(STUDY, "\n  aggregate:", "\n  third: { like: transport, matrix: null, clients: 3 }\n  aggregate:");
    let study = good(&edited(&text, "needs: [experience, transport]", "needs: [experience, transport, third]"));
    let third = params(&study, "third");
    assert_eq!((&third["clients"], &third["mode"]), (&json!(3), &json!("modeled")));
    assert_eq!(
        third["player"],
        json!({ "abr": "bba", "prefetch": 3, "decisions": { "replay": "h2" }, "impatience": "0" })
    );
    let node = study.nodes.iter().find(|n| n.id == "third").unwrap();
    assert_eq!(node.needs, [0, 1]);
}

#[test]
fn a_base_may_stand_below() {
    let text = STUDY.replace(
        "  experience:\n    kind: simulate\n",
        "  first: { like: experience, clients: 1 }\n  experience:\n    kind: simulate\n",
    );
    let study = good(&edited(&text, "needs: [experience, transport]", "needs: [experience, transport, first]"));
    assert_eq!(params(&study, "first")["clients"], json!(1));
}
