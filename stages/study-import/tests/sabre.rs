//! The SABRE importer on the real files and on broken ones.
#![allow(clippy::unwrap_used)]

use study_import::ImportError;
use study_import::sabre::{parse_movie, parse_network};
use study_units::{BitRate, SimDuration};

const BBB: &[u8] = include_bytes!("../../../studies/data/bbb.json");
const TRAM: &[u8] = include_bytes!("../../../studies/data/report_tram_0002.json");

#[test]
fn big_buck_bunny_has_ten_rungs_and_199_segments_with_sizes_in_bits() {
    let movie = parse_movie(BBB).unwrap();
    assert_eq!(movie.segment_ms, 3_000);
    assert_eq!(movie.bitrates_kbit_s, [230, 331, 477, 688, 991, 1_427, 2_056, 2_962, 5_027, 6_000]);
    assert_eq!(movie.sizes_bits.len(), 199);
    assert_eq!(movie.sizes_bits[0][0], 886_360);
    assert_eq!(movie.size_bytes(0, 0), 110_795);
}

#[test]
fn the_rungs_of_big_buck_bunny_average_to_their_bitrates() {
    let movie = parse_movie(BBB).unwrap();
    let mut means = Vec::new();
    for (rung, nominal) in movie.bitrates_kbit_s.iter().enumerate() {
        let sizes: Vec<f64> = movie.sizes_bits.iter().map(|s| s[rung] as f64).collect();
        let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
        let kbit_s = mean / 3_000.0;
        assert!((kbit_s / f64::from(*nominal) - 1.0).abs() < 0.02, "rung {rung}: {kbit_s}");
        let peak = sizes.iter().copied().fold(0.0, f64::max) / mean;
        assert!((1.675..2.305).contains(&peak), "rung {rung}: peak to mean {peak}");
        means.push(kbit_s.round());
    }
    assert_eq!((means[0], means[9]), (226.0, 5_992.0));
}

#[test]
fn four_segments_of_big_buck_bunny_are_smaller_at_a_higher_rung() {
    let movie = parse_movie(BBB).unwrap();
    assert_eq!(movie.sizes_bits.iter().filter(|s| s.windows(2).any(|w| w[1] < w[0])).count(), 4);
}

#[test]
fn the_tram_log_has_slots_of_uneven_length_and_holes() {
    let log = parse_network(TRAM).unwrap();
    assert_eq!(log.slots.len(), 659);
    assert_eq!(log.slots[0].duration, SimDuration::from_millis(196));
    assert_eq!(log.slots[0].rate, BitRate::from_bits_per_second(5_937_000));
    assert_eq!(log.constant_latency(), Some(SimDuration::from_millis(20)));
    let dead = |s: &&study_import::sabre::NetworkSlot| s.rate.bits_per_second() == 0;
    assert_eq!(log.slots.iter().filter(dead).count(), 42);
    assert_eq!((log.mean_rate() / 1e3).round(), 14_062.0);
    let mut run = SimDuration::ZERO;
    let mut longest = SimDuration::ZERO;
    for slot in &log.slots {
        run = if dead(&slot) { run + slot.duration } else { SimDuration::ZERO };
        longest = longest.max(run);
    }
    assert_eq!(longest, SimDuration::from_millis(3_001));
    assert_eq!(log.schedule().len(), 659);
}

fn network_error(text: &str) -> String {
    parse_network(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn a_network_that_carries_nothing_is_refused() {
    let text = r#"[{"duration_ms": 5, "bandwidth_kbps": 0, "latency_ms": 1}, {"duration_ms": 7, "bandwidth_kbps": 0, "latency_ms": 1}]"#;
    let error = parse_network(text.as_bytes()).unwrap_err();
    assert_eq!(error, ImportError::NoCapacity { entries: 2 });
    assert!(error.to_string().contains("no capacity") && !error.help().is_empty());
}

#[test]
fn bad_entries_of_a_network_are_named() {
    let with =
        |entry: &str| format!("[\n{{\"duration_ms\": 5, \"bandwidth_kbps\": 9, \"latency_ms\": 1}},\n{entry}\n]");
    for (entry, expected) in [
        (r#"{"duration_ms": -5, "bandwidth_kbps": 9, "latency_ms": 1}"#, "entry 2, `duration_ms`: `-5` is not"),
        (r#"{"duration_ms": 0, "bandwidth_kbps": 9, "latency_ms": 1}"#, "entry 2, `duration_ms`: `0` is not"),
        (r#"{"duration_ms": 5, "bandwidth_kbps": -0.5, "latency_ms": 1}"#, "entry 2, `bandwidth_kbps`: `-0.5` is not"),
        (r#"{"duration_ms": 5, "bandwidth_kbps": 9, "latency_ms": -1}"#, "entry 2, `latency_ms`: `-1` is not"),
        (r#"{"duration_ms": 5, "bandwidth_kbps": NaN, "latency_ms": 1}"#, "line 3, column 38 (in entry 2)"),
        (r#"{"duration_ms": 5, "bandwidth_kbps": Infinity, "latency_ms": 1}"#, "(in entry 2)"),
        (r#"{"duration_ms": 5, "bandwidth_kbps": 1e999, "latency_ms": 1}"#, "(in entry 2)"),
        (r#"{"duration_ms": 5, "latency_ms": 1}"#, "missing field `bandwidth_kbps`"),
        (r#"{"duration_ms": "5", "bandwidth_kbps": 9, "latency_ms": 1}"#, "(in entry 2)"),
    ] {
        let error = network_error(&with(entry));
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn what_is_no_network_log_is_refused() {
    for (text, expected) in [
        ("", "empty"),
        ("  \n", "empty"),
        ("[]", "no entries"),
        ("{}", "not a SABRE network log"),
        ("[1, 2]", "not a SABRE network log"),
        ("12\n24\n", "not a SABRE network log"),
        ("\u{0}\u{1}", "not a SABRE network log"),
    ] {
        let error = network_error(text);
        assert!(error.contains(expected), "{text:?}: {error}");
    }
    assert!(parse_network(b"[\xff\xfe]").is_err(), "not UTF-8");
    let deep = "[".repeat(100_000);
    assert!(parse_network(deep.as_bytes()).is_err(), "deep nesting ends in an error, not in a crash");
}

#[test]
fn fractions_a_byte_order_mark_and_other_keys_are_accepted() {
    let text = "\u{feff}[{\"duration_ms\": 0.5, \"bandwidth_kbps\": 1.5, \"latency_ms\": 0, \"note\": \"x\"}]";
    let log = parse_network(text.as_bytes()).unwrap();
    assert_eq!(log.slots[0].duration, SimDuration::from_micros(500));
    assert_eq!(log.slots[0].rate.bits_per_second(), 1_500);
}

fn movie_error(bitrates: &str, sizes: &str) -> String {
    let text =
        format!(r#"{{"segment_duration_ms": 3000, "bitrates_kbps": {bitrates}, "segment_sizes_bits": {sizes}}}"#);
    parse_movie(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn bad_movies_are_refused_by_segment_and_rung() {
    for (bitrates, sizes, expected) in [
        ("[1, 2]", "[[8, 8], [8]]", "segment 2: a list of 1 sizes is not one size per bitrate"),
        ("[1, 2]", "[[8, 8], [8, 0]]", "segment 2, rung 2: `0` is not"),
        ("[1, 2]", "[[8, -8]]", "segment 1, rung 2: `-8` is not"),
        ("[1, 2]", "[[8, 8.5]]", "segment 1, rung 2: `8.5` is not"),
        ("[2, 1]", "[[8, 8]]", "rung 2: `1` is not above the bitrate before it"),
        ("[0, 1]", "[[8, 8]]", "rung 1: `0` is not"),
        ("[]", "[]", "no bitrates"),
        ("[1]", "[]", "no segments"),
        ("[1]", "[[NaN]]", "not a SABRE movie"),
    ] {
        let error = movie_error(bitrates, sizes);
        assert!(error.contains(expected), "{error}");
    }
    let error = parse_movie(br#"{"bitrates_kbps": [1], "segment_sizes_bits": [[8]]}"#).unwrap_err();
    assert!(error.to_string().contains("missing field `segment_duration_ms`"), "{error}");
}

#[test]
fn bits_are_rounded_up_to_bytes() {
    let text = br#"{"segment_duration_ms": 3000, "bitrates_kbps": [1, 2], "segment_sizes_bits": [[9, 8]]}"#;
    let movie = parse_movie(text).unwrap();
    assert_eq!((movie.size_bytes(0, 0), movie.size_bytes(0, 1)), (2, 1));
}
