//! Figures: SVG, PNG and the data behind them.
//!
//! A figure is a list of shapes in CSS pixels (320 wide: one column of a two-column paper, 3.33 in) made by one of the
//! kinds below. The shapes are drawn twice, by our own SVG writer and by kuva's rasteriser, so both show the same, and
//! another backend would replace two short files. Own layout, because a legend that hides a curve, or a label that
//! leaves the picture, is a defect of the report, and only code that measures its texts can rule it out.
//!
//! Colours are Okabe and Ito's; line style and marker differ as well, so that a grey print can be read. Text is 7.5 pt.
//!
//! | kind | shows |
//! |---|---|
//! | [`distribution`] | cumulative distribution of one metric, one curve per arm |
//! | [`percentiles`] | percentiles with intervals, one panel per cell, one colour per arm |
//! | [`trace`] | buffer and bitrate of one session over time |
//! | [`chart`] | curves and points over two numeric axes |
//! | [`improvement`] | improvements with intervals and the line of no effect |

mod axis;
mod canvas;
mod legend;
mod panel;
mod raster;
mod scale;
mod style;
mod svg;
mod text;

pub mod chart;
pub mod distribution;
pub mod improvement;
pub mod percentiles;
pub mod trace;

pub use svg::escape;

use study_table::Table;

/// A figure that could not be turned into a picture.
#[derive(Debug, thiserror::Error)]
#[error("figure `{id}` cannot be drawn as PNG: {reason}")]
pub struct FigureError {
    /// Id of the figure.
    pub id: String,
    /// The rasteriser's reason.
    pub reason: String,
}

/// A figure with its words and its data.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Id, the file's name without `fig_` and extension: `segment_time`.
    pub id: String,
    /// Short title, for the heading; not drawn, a caption says it.
    pub title: String,
    /// Caption: what is shown, n, the interval and its method.
    pub caption: String,
    /// What a reader who cannot see it should know.
    pub alt: String,
    /// The data behind it, as drawn.
    pub data: Table,
    canvas: canvas::Canvas,
}

impl Figure {
    /// As SVG, with a `viewBox`, a title and a description. Parts in the colour of the text carry classes
    /// (`ink`, `soft`, `grid`, `paper`), so that a page can restyle them for a dark background.
    #[must_use]
    pub fn svg(&self) -> String {
        svg::render(&self.canvas, &self.id, &self.title, &self.alt)
    }
    /// As PNG at four pixels per CSS pixel (384 per inch at single-column width), on white.
    ///
    /// # Errors
    /// [`FigureError`] when the rasteriser refuses.
    pub fn png(&self) -> Result<Vec<u8>, FigureError> {
        raster::render(&self.canvas).map_err(|reason| FigureError { id: self.id.clone(), reason })
    }
    /// What a reader would stumble over: texts that leave the picture or lie on one another. Empty for a good figure.
    #[must_use]
    pub fn defects(&self) -> Vec<String> {
        self.canvas.defects()
    }
    /// The data behind it as CSV.
    #[must_use]
    pub fn csv(&self) -> String {
        self.data.to_csv()
    }
}

/// The words of a figure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Words {
    /// Id of the figure.
    pub id: String,
    /// Short title.
    pub title: String,
    /// Caption.
    pub caption: String,
    /// Text for readers who cannot see it.
    pub alt: String,
}

impl Words {
    fn figure(self, data: Table, canvas: canvas::Canvas) -> Figure {
        Figure { id: self.id, title: self.title, caption: self.caption, alt: self.alt, data, canvas }
    }
}
