use super::*;
use crate::catalog::scenes::{diagnostics, node, run_seeded, run_with};
use serde_json::json;

fn run(parameters: Value, files: &[&[u8]]) -> Result<Outputs, StageError> {
    run_with(&Catalog, &parameters, &json!({}), files)
}

fn ints(outputs: &Outputs, frame: &str, column: &str) -> Vec<i64> {
    outputs.frames[frame].ints(column).unwrap().to_vec()
}

#[test]
fn a_synthetic_catalogue_has_every_title_segment_and_rung_in_order() {
    let outputs = run(json!({ "titles": 3, "popularity": { "zipf": 0.8 }, "segment": "4 s", "duration": "10 s" }), &[]);
    let outputs = outputs.unwrap();
    assert_eq!(ints(&outputs, "titles", "segments"), [3, 3, 3]);
    let weights: Vec<f64> = outputs.frames["titles"].floats("weight").unwrap().into_iter().flatten().collect();
    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12 && weights[0] > weights[1]);
    assert_eq!(ints(&outputs, "rungs", "bitrate_kbit_s"), [400, 800, 1_500, 3_000, 6_000, 12_000]);
    assert_eq!(ints(&outputs, "rungs", "height")[0], 360);
    let keys: Vec<(i64, i64, i64)> = (0..54)
        .map(|row| ["title", "segment", "rung"].map(|c| ints(&outputs, "segment_sizes", c)[row]))
        .map(|[title, segment, rung]| (title, segment, rung))
        .collect();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    assert_eq!(keys, sorted);
    assert_eq!((keys[0], keys[53]), ((0, 0, 0), (2, 2, 5)));
    let durations = ints(&outputs, "segment_sizes", "duration_ms");
    assert_eq!((durations[0], durations[12], durations[17]), (4_000, 2_000, 2_000), "the last one is short");
}

#[test]
fn sizes_vary_around_the_bitrate_as_asked() {
    let exact = run(json!({ "titles": 2, "size_variation": 0 }), &[]).unwrap();
    assert_eq!(
        ints(&exact, "segment_sizes", "size_bytes")[..6],
        [200_000, 400_000, 750_000, 1_500_000, 3_000_000, 6_000_000]
    );
    let varied = run(json!({ "titles": 2 }), &[]).unwrap();
    let sizes = ints(&varied, "segment_sizes", "size_bytes");
    assert!(sizes.chunks(6).all(|s| (s[1] - 2 * s[0]).abs() <= 1), "one factor for all rungs");
    assert!(sizes[0] != sizes[6] && sizes[..90] != sizes[90..], "segments and titles differ");
}

#[test]
fn titles_do_not_change_when_others_are_added_and_do_with_the_seed() {
    let few = ints(&run(json!({ "titles": 2 }), &[]).unwrap(), "segment_sizes", "size_bytes");
    let many = ints(&run(json!({ "titles": 5 }), &[]).unwrap(), "segment_sizes", "size_bytes");
    assert_eq!(few[..], many[..few.len()]);
    let other = run_seeded(&Catalog, &json!({ "titles": 2 }), &json!({}), &[], 8).unwrap();
    assert_ne!(few, ints(&other, "segment_sizes", "size_bytes"));
}

#[test]
fn a_movie_brings_its_own_rungs_segments_and_sizes() {
    let movie = br#"{"segment_duration_ms": 3000, "bitrates_kbps": [230, 331],
        "segment_sizes_bits": [[886360, 1180512], [382840, 662121]]}"#;
    let outputs = run(json!({ "movie": { "file": "movie.json" } }), &[movie]).unwrap();
    assert_eq!(ints(&outputs, "titles", "title"), [0]);
    assert_eq!(ints(&outputs, "rungs", "bitrate_kbit_s"), [230, 331]);
    assert_eq!(ints(&outputs, "rungs", "width"), [0, 0]);
    assert_eq!(ints(&outputs, "segment_sizes", "size_bytes"), [110_795, 147_564, 47_855, 82_766]);
    assert_eq!(ints(&outputs, "segment_sizes", "duration_ms"), [3_000; 4]);
    let twice =
        run(json!({ "movie": { "file": "movie.json" }, "titles": 2, "popularity": "uniform" }), &[movie]).unwrap();
    assert_eq!(twice.frames["segment_sizes"].rows(), 8);
}

#[test]
fn a_movie_that_cannot_be_read_fails_the_stage_with_its_reason() {
    let error = run(json!({ "movie": { "file": "movie.json" } }), &[b"[]"]).unwrap_err();
    assert!(
        matches!(&error, StageError::Failed { message, help: Some(_) } if message.contains("not a SABRE movie")),
        "{error}"
    );
}

#[test]
fn what_the_parameters_refuse() {
    for (parameters, expected) in [
        (json!({ "titles": 0 }), "out-of-range: `0` is out of range for `titles`"),
        (json!({ "titles": 1_000_001 }), "out-of-range: `1000001` is out of range for `titles`"),
        (json!({ "titles": 900_000, "segment": "1 ms" }), "out-of-range: 900000 titles of 60000 segments"),
        (json!({ "segment": "0 s" }), "out-of-range: `0 s` is out of range for `segment`"),
        (json!({ "segment": "1.5 us" }), "out-of-range: `1.5 us` is out of range for `segment`"),
        (json!({ "duration": "25 h" }), "out-of-range: `25 h` is out of range for `duration`"),
        (json!({ "popularity": { "zipf": -0.5 } }), "out-of-range: `-0.5` is out of range for `zipf`"),
        (json!({ "popularity": { "zipf": 0 } }), "out-of-range: `0` is out of range for `zipf`"),
        (json!({ "popularity": "zipf" }), "wrong-type: `zipf` needs its parameters"),
        (json!({ "ladder": "netflix" }), "unknown-value: `netflix` is not one of"),
        (json!({ "titels": 5 }), "unknown-key: unknown key `titels`"),
        (
            json!({ "movie": { "file": "a" }, "ladder": "go_simulator" }),
            "key-conflict: `ladder` has no effect with `movie`",
        ),
        (json!({ "movie": { "file": "a" }, "segment": "4 s" }), "key-conflict: `segment` has no effect with `movie`"),
    ] {
        let found = diagnostics(&Catalog, &parameters, &json!({}));
        assert!(found.len() == 1 && found[0].starts_with(expected), "{parameters}: {found:?}");
    }
}

#[test]
fn the_canonical_document_has_the_defaults_and_the_keys_of_the_study_file() {
    let canonical = |parameters: Value| {
        let sections = study_tree::Sections::new();
        serde_json::to_value(Catalog.decode(&node(&parameters), &mut Cx::new(&sections)).unwrap()).unwrap()
    };
    let defaults = json!({ "titles": 100, "popularity": { "zipf": 1.1 }, "segment": "4 s", "duration": "60 s",
        "ladder": "go_simulator", "size_variation": "0.15" });
    assert_eq!(canonical(json!({})), defaults);
    assert_eq!(
        canonical(json!({ "duration": "1 min", "size_variation": "15 %" })),
        defaults,
        "spelling does not matter"
    );
    let movie = json!({ "titles": 1, "popularity": { "zipf": 1.1 }, "movie": { "slot": 0 } });
    assert_eq!(canonical(json!({ "movie": "movie.json" })), movie);
    let properties = Catalog.schema()["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert!(defaults.as_object().unwrap().keys().all(|key| properties.contains(key)), "{properties:?}");
}
