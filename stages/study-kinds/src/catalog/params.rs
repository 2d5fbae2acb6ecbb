//! Parameters of `catalog`.

use serde::Serialize;
use serde_json::{Value, json};
use study_cdn::catalog::segment_durations;
use study_cdn::ladder::Ladder;
use study_cdn::popularity::{Popularity, ZipfExponent};
use study_tree::{Cx, Decode, Diagnostic, FileRef, MapReader, Node};
use study_units::{Probability, SimDuration};

/// Parameters of a node of kind `catalog`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CatalogParams {
    /// Titles, 1 to 1,000,000.
    pub titles: u64,
    /// How often each is watched.
    pub popularity: Popularity,
    /// What they consist of.
    #[serde(flatten)]
    pub content: Content,
}

/// What titles consist of.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Content {
    /// Sizes drawn around the bitrates of a ladder.
    Synthetic(Synthetic),
    /// A real movie.
    Movie {
        /// A SABRE movie file.
        movie: FileRef,
    },
}

/// Sizes drawn around the bitrates of a ladder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Synthetic {
    /// Play time of a segment, whole milliseconds, above 0.
    pub segment: SimDuration,
    /// Play time of a title, whole milliseconds, above 0; the last segment is what is left.
    pub duration: SimDuration,
    /// The rungs.
    pub ladder: Ladder,
    /// Standard deviation of a segment's size relative to its nominal size, in [0, 1].
    pub size_variation: Probability,
}

const MOST_TITLES: u64 = 1_000_000;
/// Most rows of `segment_sizes`: a gigabyte of memory, and more than 1,000 times the largest study so far.
const MOST_ROWS: u64 = 25_000_000;
/// Keys that a real movie answers itself.
const SYNTHETIC_KEYS: [&str; 4] = ["segment", "duration", "ladder", "size_variation"];

/// Reads a node.
pub fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<CatalogParams> {
    let mut map = MapReader::new(node, cx)?;
    let with_movie = node.get("movie").is_some();
    let titles = map.or("titles", || if with_movie { 1 } else { 100 });
    if titles.is_some_and(|n| !(1..=MOST_TITLES).contains(&n)) {
        map.out_of_range("titles", "1 to 1000000");
    }
    let popularity = map.or("popularity", default_popularity);
    let content = if with_movie { decode_movie(node, &mut map) } else { decode_synthetic(&mut map) };
    if !map.finish() {
        return None;
    }
    let params = CatalogParams { titles: titles?, popularity: popularity?, content: content? };
    if let Content::Synthetic(s) = &params.content {
        let segments = segment_durations(s.duration, s.segment).len();
        if let Err(message) = check_rows(params.titles, segments, s.ladder.rungs().len()) {
            let span = node.get("titles").map_or(node.span, |n| n.span);
            cx.push(Diagnostic::error("out-of-range", span, message).help("take fewer titles or longer segments"));
            return None;
        }
    }
    Some(params)
}

fn default_popularity() -> Popularity {
    ZipfExponent::new(1.1).map_or(Popularity::Uniform, Popularity::Zipf)
}

/// Whether the table of sizes fits into memory.
pub fn check_rows(titles: u64, segments: usize, rungs: usize) -> Result<(), String> {
    let rows = u128::from(titles) * segments as u128 * rungs as u128;
    if rows <= u128::from(MOST_ROWS) {
        return Ok(());
    }
    Err(format!("{titles} titles of {segments} segments at {rungs} rungs are {rows} sizes, more than {MOST_ROWS}"))
}

fn decode_movie(node: &Node, map: &mut MapReader<'_, '_, '_>) -> Option<Content> {
    let movie = map.required::<FileRef>("movie");
    map.ignore(&SYNTHETIC_KEYS);
    let mut ok = true;
    for entry in node.entries().unwrap_or_default() {
        if SYNTHETIC_KEYS.contains(&entry.key.as_str()) {
            ok = false;
            map.cx.push(
                Diagnostic::error(
                    "key-conflict",
                    entry.key_span,
                    format!("`{}` has no effect with `movie`", entry.key),
                )
                .help("remove it: the movie's file says it, or remove `movie`"),
            );
        }
    }
    movie.filter(|_| ok).map(|movie| Content::Movie { movie })
}

fn decode_synthetic(map: &mut MapReader<'_, '_, '_>) -> Option<Content> {
    let segment = map.or("segment", || SimDuration::from_secs(4));
    let duration = map.or("duration", || SimDuration::from_secs(60));
    let ladder = map.or("ladder", || Ladder::GoSimulator);
    let size_variation = map.or("size_variation", || Probability::new(0.15).unwrap_or(Probability::ZERO));
    let whole_ms = |d: SimDuration| d > SimDuration::ZERO && d.as_nanos().is_multiple_of(1_000_000);
    if segment.is_some_and(|d| !whole_ms(d)) {
        map.out_of_range("segment", "whole milliseconds above 0");
    }
    if duration.is_some_and(|d| !whole_ms(d) || d > SimDuration::from_secs(86_400)) {
        map.out_of_range("duration", "whole milliseconds above 0, at most 24 h");
    }
    let synthetic =
        Synthetic { segment: segment?, duration: duration?, ladder: ladder?, size_variation: size_variation? };
    Some(Content::Synthetic(synthetic))
}

/// JSON Schema of the parameters.
pub fn schema() -> Value {
    let describe = |mut schema: Value, description: &str, default: Value| {
        schema["description"] = description.into();
        if !default.is_null() {
            schema["default"] = default;
        }
        schema
    };
    json!({ "type": "object", "required": [], "additionalProperties": false, "properties": {
        "titles": describe(u64::schema(), "Titles; with `movie` the default is 1.", json!(100)),
        "popularity": describe(Popularity::schema(), "How often each title is watched.", json!({ "zipf": 1.1 })),
        "segment": describe(SimDuration::schema(), "Play time of a segment; not with `movie`.", json!("4 s")),
        "duration": describe(SimDuration::schema(), "Play time of a title; not with `movie`.", json!("60 s")),
        "ladder": describe(Ladder::schema(), "The rungs; not with `movie`.", json!("go_simulator")),
        "size_variation": describe(Probability::schema(),
            "Standard deviation of a segment's size relative to its nominal size; not with `movie`.", json!("15 %")),
        "movie": describe(FileRef::schema(), "A real movie as a SABRE movie file (sizes in bits).", Value::Null),
    } })
}
