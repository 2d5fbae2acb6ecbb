//! YAML text to a tree of spanned values. The only module that names the YAML library.
//!
//! The library's event parser is used, not its deserialiser: events carry the byte range, the quoting and the tag of
//! every scalar, so that nothing has to be recovered afterwards and a duplicate key does not end the reading. What a
//! scalar means is not decided here. Refused: tags, merge keys, directives, several documents, keys that are not text,
//! and anything beyond the limits of [`limits`].

mod build;
mod syntax;
#[cfg(test)]
mod tests;

use build::Builder;
use serde_saphyr::granit_parser::{self, Parser};
use study_tree::{Diagnostic, Diagnostics, Node, Span};

/// What a study file may cost. A generated study of 20,000 stages has about 200,000 nodes.
pub(crate) mod limits {
    /// Largest file, in bytes.
    pub(crate) const BYTES: usize = 16 * 1024 * 1024;
    /// Most nodes, those that aliases repeat included.
    pub(crate) const NODES: usize = 2_000_000;
    /// Most aliases (`*name`).
    pub(crate) const ALIASES: usize = 1_000;
    /// Deepest nesting of lists and mappings.
    pub(crate) const DEPTH: usize = 64;
}

/// The text of a study file, without a byte order mark. A text that is not UTF-8 comes back with replacement
/// characters, for messages, and is reported.
pub(crate) fn text_of(bytes: &[u8], source: u32, diagnostics: &mut Diagnostics) -> String {
    if bytes.len() > limits::BYTES {
        let message = format!("the file has {} bytes, more than {}", bytes.len(), limits::BYTES);
        diagnostics.push(
            Diagnostic::error("yaml-budget", Span { source, start: 0, end: 0 }, message)
                .help("split the study, or generate fewer stages and use `matrix`"),
        );
        return String::new();
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(error) => {
            let at = error.valid_up_to() as u32;
            let message = format!("byte {at} of the file is not UTF-8 text");
            diagnostics.push(
                Diagnostic::error("not-utf8", Span { source, start: at, end: at + 1 }, message)
                    .help("save the file as UTF-8"),
            );
            String::from_utf8_lossy(bytes).into_owned()
        }
    }
}

/// Reads a study file, in which there must be something.
pub(crate) fn parse_file(text: &str, source: u32, diagnostics: &mut Diagnostics) -> Option<Node> {
    let node = parse(text, source, 0, diagnostics);
    if diagnostics.has_errors() || node.as_ref().is_some_and(|node| !node.is_null()) {
        return node;
    }
    let span = Span { source, start: 0, end: text.len().min(1) as u32 };
    diagnostics.push(
        Diagnostic::error("empty-file", span, "there is nothing to read")
            .help("a study begins with `study: name` and `stages:`; see `study schema`"),
    );
    None
}

/// Reads the whole of `text`, which begins at byte `offset` of `source`. `None` when it has no
/// content or cannot be read to its end; a tree may come back with errors, so that its other problems can be reported too.
pub(crate) fn parse(text: &str, source: u32, offset: usize, diagnostics: &mut Diagnostics) -> Option<Node> {
    let place = Place { source, offset };
    if let Some((at, control)) = text.char_indices().find(|(_, c)| c.is_control() && !matches!(c, '\t' | '\n' | '\r')) {
        diagnostics.push(
            Diagnostic::error(
                "control-character",
                place.span(at, at + control.len_utf8()),
                format!("`{}` cannot stand in a study file", control.escape_unicode()),
            )
            .help("remove the character; the file may not be a text file"),
        );
        return None;
    }
    // One more than our own limit, so that our own message wins wherever it can.
    let options = granit_parser::options! {
        disallow_directives: true,
        flow_nesting_limit: limits::DEPTH + 1,
        block_nesting_limit: limits::DEPTH + 1,
        emit_comments: false,
    };
    let mut builder = Builder::new(place, text, diagnostics);
    for event in Parser::new_from_str_with_options(text, options) {
        let step = match event {
            Ok((event, span)) => builder.event(event, span),
            Err(error) => Err(syntax::diagnostic(&error, text, place, builder.open_bracket())),
        };
        if let Err(diagnostic) = step {
            diagnostics.push(*diagnostic);
            return None;
        }
    }
    builder.finish()
}

/// Where the text lies in its source.
#[derive(Debug, Clone, Copy)]
struct Place {
    source: u32,
    offset: usize,
}

impl Place {
    /// The span of bytes `start..end` of the text.
    fn span(self, start: usize, end: usize) -> Span {
        Span { source: self.source, start: (self.offset + start) as u32, end: (self.offset + end.max(start)) as u32 }
    }
}
