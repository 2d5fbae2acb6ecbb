//! The parser's errors in our words.

use super::{Place, build};
use serde_saphyr::granit_parser::{ErrorKind, ScanError};
use study_tree::Diagnostic;

/// The diagnostic for an error of the parser. `bracket` is where the innermost open bracket stands: an error on a later
/// line is most likely that it was not closed.
pub(super) fn diagnostic(error: &ScanError, text: &str, place: Place, bracket: Option<usize>) -> Box<Diagnostic> {
    let marker = error.marker();
    let start = marker.byte_offset().or_else(|| text.char_indices().nth(marker.index()).map(|(at, _)| at));
    let start = start.unwrap_or(text.len()).min(text.len());
    let (code, message, help) = describe(error);
    let start = if code == "yaml-tab" { tab_near(text, start) } else { start };
    // One character, so that there is something to underline; nothing at the end of a line.
    let length = text[start..].chars().next().filter(|c| !matches!(c, '\n' | '\r')).map_or(0, char::len_utf8);
    let span = place.span(start, start + length);
    if *error.kind() == ErrorKind::RecursionLimitExceeded {
        return build::too_deep(span);
    }
    let Some(bracket) = bracket.filter(|_| code == "yaml-syntax") else {
        return Box::new(Diagnostic::error(code, span, message).help(help));
    };
    let opened = place.span(bracket, bracket + 1);
    if !text[bracket..start].contains('\n') {
        return Box::new(Diagnostic::error(code, span, message).help(help).related(opened, "opened here"));
    }
    let message = format!("`{}` is not closed", &text[bracket..=bracket]);
    Box::new(
        Diagnostic::error(code, opened, message)
            .help("close it, and put a comma between the parts")
            .related(span, "noticed here"),
    )
}

/// The parser notices a tab just before or just after it.
fn tab_near(text: &str, at: usize) -> usize {
    let before = text[..at].ends_with('\t').then(|| at - 1);
    before.or_else(|| text[at..].find('\t').map(|offset| at + offset)).unwrap_or(at)
}

fn describe(error: &ScanError) -> (&'static str, String, &'static str) {
    use ErrorKind as K;
    let syntax = |message: &str, help| ("yaml-syntax", message.to_owned(), help);
    match error.kind() {
        K::TabNotAllowed
        | K::TabInBlockIndentation
        | K::TabInIndentation
        | K::TabInPlainScalar
        | K::TabAtBlockScalarStart => {
            ("yaml-tab", "a tab cannot stand here".to_owned(), "indent with spaces; most editors can convert a file")
        }
        K::UnknownAnchor => (
            "yaml-alias",
            "the alias names no anchor above it".to_owned(),
            "quote the text if the `*` belongs to it, or write the value out",
        ),
        K::UnclosedFlowCollection { open } => {
            ("yaml-syntax", format!("`{open}` is not closed"), "close it, and put a comma between the parts")
        }
        K::MismatchedFlowCollectionEnd { open, close } => {
            ("yaml-syntax", format!("`{open}` is closed by `{close}`"), "use the bracket that matches")
        }
        K::ExpectedFlowMappingSeparator => {
            syntax("expected `,` or `}` here", "separate entries with commas and close the `{`")
        }
        K::ExpectedFlowSequenceSeparator => {
            syntax("expected `,` or `]` here", "separate items with commas and close the `[`")
        }
        K::UnclosedQuotedScalar => syntax("the quoted text is not closed", "close the quotes"),
        K::MappingValueNotAllowed => {
            syntax("`key: value` cannot stand here", "check the indentation; quote text that contains `: `")
        }
        K::UnexpectedCharacter { character } => {
            ("yaml-syntax", format!("a value cannot begin with `{character}`"), "put the value in quotes")
        }
        K::DirectiveDisallowed => syntax("directives are not used in study files", "remove the line"),
        K::ExpectedBlockMappingKey | K::InvalidIndentation | K::SimpleKeyExpected => {
            syntax("expected `key: value` here", "check the indentation of this line and the `:` after the key")
        }
        _ => ("yaml-syntax", error.info().replace('`', "'"), "check the indentation and the quotes near this place"),
    }
}
