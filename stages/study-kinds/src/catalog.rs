//! The stage kind `catalog`: which titles there are, how popular, in which qualities, and how many bytes each segment has.
//!
//! Either a synthetic catalogue (a ladder, a segment length, sizes that vary around the bitrate: see
//! [`study_cdn::catalog`]) or a real movie with measured segment sizes; every title of the catalogue is then that movie.
//!
//! Random streams: `catalog/<title>/sizes` of the synthetic catalogue.

mod params;

pub use params::{CatalogParams, Content, Synthetic};

use serde_json::Value;
use study_cdn::catalog::{segment_durations, title_sizes};
use study_cdn::ladder::Rung;
use study_import::sabre::{self, Movie};
use study_stage::{Inputs, Outputs, StageCx, StageError, StageKind};
use study_table::{Cell, ColumnType, Field, Table, TableBuilder};
use study_tree::{Cx, Node};
use study_units::SimDuration;

/// See the [module](self).
pub struct Catalog;

impl StageKind for Catalog {
    type Params = CatalogParams;
    const NAME: &'static str = "catalog";
    const SUMMARY: &'static str = "The titles, their popularity, their rungs and the size of every segment.";
    const VERSION: u32 = 1;
    const GIVES: &'static [&'static str] = &["titles", "rungs", "segment_sizes"];
    const USES_SEED: bool = true;

    fn decode(&self, node: &Node, cx: &mut Cx<'_>) -> Option<CatalogParams> {
        params::decode(node, cx)
    }
    fn schema(&self) -> Value {
        params::schema()
    }
    fn source_fingerprint(&self) -> &'static str {
        crate::fingerprint::CATALOG
    }
    fn run(&self, params: &CatalogParams, cx: &StageCx<'_>, _inputs: &Inputs) -> Result<Outputs, StageError> {
        let content = match &params.content {
            Content::Synthetic(synthetic) => Material::Synthetic {
                rungs: synthetic.ladder.rungs(),
                durations: segment_durations(synthetic.duration, synthetic.segment),
                variation: synthetic.size_variation.get(),
            },
            Content::Movie { movie } => Material::read(cx.files.get(movie.slot).map(AsRef::as_ref))?,
        };
        params::check_rows(params.titles, content.segments(), content.rungs().len()).map_err(StageError::failed)?;
        let mut outputs = Outputs::default();
        outputs.frames.insert("titles".to_owned(), titles(params, content.segments()));
        outputs.frames.insert("rungs".to_owned(), rungs(&content.rungs()));
        outputs.frames.insert("segment_sizes".to_owned(), segment_sizes(params.titles, &content, cx)?);
        Ok(outputs)
    }
}

/// What the titles are made of.
enum Material {
    Synthetic { rungs: &'static [Rung], durations: Vec<SimDuration>, variation: f64 },
    Movie(Movie),
}

impl Material {
    fn read(bytes: Option<&[u8]>) -> Result<Self, StageError> {
        let bytes = bytes.ok_or_else(|| StageError::failed("the stage was not given its `movie`"))?;
        sabre::parse_movie(bytes)
            .map(Self::Movie)
            .map_err(|error| StageError::failed_with_help(format!("`movie` cannot be read: {error}"), error.help()))
    }
    fn segments(&self) -> usize {
        match self {
            Self::Synthetic { durations, .. } => durations.len(),
            Self::Movie(movie) => movie.sizes_bits.len(),
        }
    }
    fn rungs(&self) -> Vec<Rung> {
        match self {
            Self::Synthetic { rungs, .. } => rungs.to_vec(),
            Self::Movie(movie) => movie
                .bitrates_kbit_s
                .iter()
                .map(|bitrate| Rung { bitrate_kbit_s: *bitrate, width: 0, height: 0 })
                .collect(),
        }
    }
    fn duration_ms(&self, segment: usize) -> u64 {
        match self {
            Self::Synthetic { durations, .. } => durations[segment].as_nanos() / 1_000_000,
            Self::Movie(movie) => movie.segment_ms,
        }
    }
    /// Sizes in bytes of a title, segment by segment, rung by rung.
    fn sizes(&self, title: u64, cx: &StageCx<'_>) -> Vec<u64> {
        match self {
            Self::Synthetic { rungs, durations, variation } => {
                title_sizes(&cx.seed, title, durations, rungs, *variation)
            }
            Self::Movie(movie) => {
                let rungs = movie.bitrates_kbit_s.len();
                (0..movie.sizes_bits.len()).flat_map(|s| (0..rungs).map(move |r| movie.size_bytes(s, r))).collect()
            }
        }
    }
}

fn int(value: impl TryInto<i64>) -> Cell<'static> {
    // Counts and bytes of a catalogue are far below 2^63.
    Cell::Int(value.try_into().unwrap_or(i64::MAX))
}

fn titles(params: &CatalogParams, segments: usize) -> Table {
    let mut table = TableBuilder::new(vec![
        Field::new("title", ColumnType::Int, "", "number of the title, from 0; 0 is the most popular"),
        Field::new("weight", ColumnType::Float, "1", "share of the requests that are for this title"),
        Field::new("segments", ColumnType::Int, "", "segments of the title"),
    ]);
    for (title, weight) in params.popularity.weights(params.titles as usize).into_iter().enumerate() {
        table.row(&[int(title), Cell::Float(weight), int(segments)]);
    }
    table.finish()
}

fn rungs(rungs: &[Rung]) -> Table {
    let mut table = TableBuilder::new(vec![
        Field::new("rung", ColumnType::Int, "", "number of the rung, from 0, the lowest"),
        Field::new("bitrate_kbit_s", ColumnType::Int, "kbit/s", "nominal bitrate"),
        Field::new("width", ColumnType::Int, "px", "width of the picture, 0 when not known"),
        Field::new("height", ColumnType::Int, "px", "height of the picture, 0 when not known"),
    ]);
    for (number, rung) in rungs.iter().enumerate() {
        table.row(&[int(number), int(rung.bitrate_kbit_s), int(rung.width), int(rung.height)]);
    }
    table.finish()
}

fn segment_sizes(titles: u64, content: &Material, cx: &StageCx<'_>) -> Result<Table, StageError> {
    let mut table = TableBuilder::new(vec![
        Field::new("title", ColumnType::Int, "", "number of the title"),
        Field::new("segment", ColumnType::Int, "", "number of the segment, from 0"),
        Field::new("rung", ColumnType::Int, "", "number of the rung"),
        Field::new("size_bytes", ColumnType::Int, "bytes", "bytes of the segment at this rung"),
        Field::new("duration_ms", ColumnType::Int, "ms", "play time of the segment"),
    ]);
    let rungs = content.rungs().len();
    for title in 0..titles {
        cx.check_cancelled()?;
        for (i, size) in content.sizes(title, cx).into_iter().enumerate() {
            let segment = i / rungs;
            let duration = content.duration_ms(segment);
            table.row(&[int(title), int(segment), int(i % rungs), int(size), int(duration)]);
        }
    }
    Ok(table.finish())
}

#[cfg(test)]
pub(crate) mod scenes;
#[cfg(test)]
mod tests;
