//! A document of blocks, rendered by [`crate::markdown`] and [`crate::html`].
//!
//! Texts are plain; a pair of backticks marks code, and nothing else is markup, so texts from a study (titles, claims)
//! can be put in as they are.

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span<'a> {
    /// Prose.
    Plain(&'a str),
    /// Between backticks.
    Code(&'a str),
}

/// Splits a text at its pairs of backticks; one without a partner stays a backtick.
#[must_use]
pub fn spans(text: &str) -> Vec<Span<'_>> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`') {
        let Some((code, tail)) = after.split_once('`') else { break };
        if !before.is_empty() {
            out.push(Span::Plain(before));
        }
        out.push(Span::Code(code));
        rest = tail;
    }
    if !rest.is_empty() {
        out.push(Span::Plain(rest));
    }
    out
}

/// Where the texts of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Texts.
    Left,
    /// Numbers.
    Right,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// What is shown.
    pub text: String,
    /// What it is sorted by, when that is not the text: the number itself, whatever unit is shown.
    pub key: Option<f64>,
}

impl Cell {
    /// A number and how it is shown.
    #[must_use]
    pub fn number(text: impl Into<String>, key: Option<f64>) -> Self {
        Self { text: text.into(), key }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), key: None }
    }
}

/// A table. The first column names the rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Head of each column.
    pub columns: Vec<(String, Align)>,
    /// Rows, one cell per column.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows: the heads of its columns, those of numbers with `>` in front.
    #[must_use]
    pub fn new(caption: impl Into<String>, columns: &[&str]) -> Self {
        let column = |head: &&str| match head.strip_prefix('>') {
            Some(head) => (head.to_owned(), Align::Right),
            None => ((*head).to_owned(), Align::Left),
        };
        Self { caption: caption.into(), columns: columns.iter().map(column).collect(), rows: Vec::new() }
    }
}

/// What a note is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Something to know.
    Note,
    /// Something that weakens the result.
    Warning,
}

/// A figure in a document. The picture stands in the page as SVG, and in Markdown as a link to its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Id of the figure.
    pub id: String,
    /// Caption.
    pub caption: String,
    /// Text for readers who cannot see it.
    pub alt: String,
    /// The SVG.
    pub svg: String,
}

impl From<&crate::figure::Figure> for Picture {
    fn from(figure: &crate::figure::Figure) -> Self {
        let (id, caption, alt) = (figure.id.clone(), figure.caption.clone(), figure.alt.clone());
        Self { id, caption, alt, svg: figure.svg() }
    }
}

/// One block.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A heading: level (2 for a section, 3 inside it) and text.
    Heading(u8, String),
    /// A paragraph.
    Paragraph(String),
    /// A list, one point each.
    List(Vec<String>),
    /// A table.
    Table(Table),
    /// A figure.
    Figure(Picture),
    /// Text as it is, with the name of its language (`yaml`, `sh`).
    Code(&'static str, String),
    /// A note that stands out.
    Note(Tone, String),
    /// Blocks that a page folds away under one line.
    Details(String, Vec<Block>),
}

impl Block {
    /// A heading of a section.
    #[must_use]
    pub fn section(text: impl Into<String>) -> Self {
        Self::Heading(2, text.into())
    }
    /// A paragraph.
    #[must_use]
    pub fn paragraph(text: impl Into<String>) -> Self {
        Self::Paragraph(text.into())
    }
}

/// A document.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Document {
    /// Title.
    pub title: String,
    /// Below the title, e.g. the name of the study.
    pub subtitle: String,
    /// Blocks in order.
    pub blocks: Vec<Block>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backticks_mark_code_in_pairs_only() {
        assert_eq!(spans("a `b` c"), [Span::Plain("a "), Span::Code("b"), Span::Plain(" c")]);
        assert_eq!(spans("`x` and ` alone"), [Span::Code("x"), Span::Plain(" and ` alone")]);
        assert_eq!(spans(""), []);
    }
}
