//! Problems of a study file as people read them.
//!
//! On a terminal miette draws the place with its surroundings; elsewhere the same content comes as plain lines that
//! are easy to search. Both begin with `error[code]: message` and hold `file:line:column`.

use crate::terminal::{Paint, Stream, printable};
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, ThemeStyles};
use serde_json::{Value, json};
use std::fmt;
use std::fmt::Write as _;
use study_tree::{Diagnostic, Severity, SourceMap, Span};

/// Lines longer than this are not drawn whole.
const LONGEST_LINE: usize = 160;

/// Problems drawn at most; of a file with thousands the first tell what is wrong with it.
const MOST_DRAWN: usize = 200;

/// All problems, in order of their place, and how many there are.
pub fn diagnostics(sources: &SourceMap, found: &[&Diagnostic], stream: Stream) -> String {
    let mut text = String::new();
    for diagnostic in found.iter().take(MOST_DRAWN) {
        let drawn = if stream.interactive { drawn(sources, diagnostic, stream) } else { None };
        text.push_str(&drawn.unwrap_or_else(|| plain(sources, diagnostic, stream)));
        text.push('\n');
    }
    if found.len() > MOST_DRAWN {
        let _ = writeln!(text, "... and {} more", found.len() - MOST_DRAWN);
    }
    let count = |severity| found.iter().filter(|d| d.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let plural = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    if errors > 0 {
        let name = sources.get(0).map_or("", |(name, _)| name);
        let _ =
            write!(text, "{}: {} in `{}`", stream.paint(Paint::Red, "error"), plural(errors, "error"), printable(name));
        let _ = if warnings > 0 { writeln!(text, ", {}", plural(warnings, "warning")) } else { writeln!(text) };
    }
    text
}

/// The problems for scripts.
pub fn as_json(sources: &SourceMap, found: &[&Diagnostic]) -> Value {
    let one = |d: &&Diagnostic| {
        let (line, column) = sources.line_column(d.span);
        json!({
            "code": d.code, "severity": severity_word(d.severity), "message": d.message, "help": d.help,
            "file": sources.get(d.span.source).map(|(name, _)| name), "line": line, "column": column,
        })
    };
    Value::Array(found.iter().map(one).collect())
}

const fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

const fn severity_paint(severity: Severity) -> Paint {
    match severity {
        Severity::Error => Paint::Red,
        Severity::Warning => Paint::Yellow,
    }
}

fn place(sources: &SourceMap, span: Span) -> String {
    let (line, column) = sources.line_column(span);
    format!("{}:{line}:{column}", printable(sources.get(span.source).map_or("?", |(name, _)| name)))
}

/// The line that a span begins in, and where in it the span begins and ends, in characters.
fn excerpt(sources: &SourceMap, span: Span) -> Option<(String, usize, usize)> {
    let (_, text) = sources.get(span.source)?;
    let (line, column) = sources.line_column(span);
    let whole: Vec<char> = text.lines().nth(line - 1)?.chars().collect();
    // A long line is cut to a window around the place.
    let from = if whole.len() > LONGEST_LINE { (column - 1).saturating_sub(LONGEST_LINE / 2) } else { 0 };
    let window: String =
        whole.iter().skip(from).take(LONGEST_LINE).map(|c| if c.is_control() { ' ' } else { *c }).collect();
    let spanned =
        text.get(span.start as usize..span.end as usize).map_or(1, |t| t.lines().next().unwrap_or("").chars().count());
    let start = column - 1 - from;
    let room = window.chars().count().saturating_sub(start).max(1);
    Some((window, start, spanned.clamp(1, room)))
}

fn plain(sources: &SourceMap, diagnostic: &Diagnostic, stream: Stream) -> String {
    let head = format!("{}[{}]", severity_word(diagnostic.severity), diagnostic.code);
    let head = stream.paint(severity_paint(diagnostic.severity), &head);
    let mut text = format!("{head}: {}\n  --> {}\n", printable(&diagnostic.message), place(sources, diagnostic.span));
    if let Some((line, start, length)) = excerpt(sources, diagnostic.span) {
        let number = sources.line_column(diagnostic.span).0.to_string();
        let margin = " ".repeat(number.len());
        let marks = stream.paint(severity_paint(diagnostic.severity), &"^".repeat(length));
        let _ =
            write!(text, " {margin} |\n {number} | {}\n {margin} | {}{marks}\n", line.trim_end(), " ".repeat(start));
    }
    for (span, label) in &diagnostic.related {
        let _ = writeln!(text, "  note: {}: {}", place(sources, *span), printable(label));
    }
    if let Some(help) = &diagnostic.help {
        let _ = writeln!(text, "  {} {}", stream.paint(Paint::Cyan, "help:"), printable(help));
    }
    text
}

/// The graphical form; `None` where the text itself would spoil the drawing (very long lines, control characters).
fn drawn(sources: &SourceMap, diagnostic: &Diagnostic, stream: Stream) -> Option<String> {
    let (name, source) = sources.get(diagnostic.span.source)?;
    let tame = |line: &str| line.chars().count() <= LONGEST_LINE && !line.chars().any(|c| c.is_control() && c != '\t');
    let (first, _) = sources.line_column(diagnostic.span);
    let near = |line: usize| line + 3 >= first && line <= first + 3;
    if !source.lines().enumerate().filter(|(i, _)| near(i + 1)).all(|(_, line)| tame(line)) {
        return None;
    }
    let mut theme = GraphicalTheme::unicode_nocolor();
    if stream.color {
        theme.styles = ThemeStyles::ansi();
    }
    theme.characters.error = format!("error[{}]:", diagnostic.code);
    theme.characters.warning = format!("warning[{}]:", diagnostic.code);
    let shown = Shown {
        diagnostic,
        message: printable(&diagnostic.message),
        source: NamedSource::new(printable(name), source.to_owned()),
    };
    let mut text = String::new();
    let handler =
        GraphicalReportHandler::new_themed(theme).with_width(100).with_links(false).without_syntax_highlighting();
    handler.render_report(&mut text, &shown).ok()?;
    for (span, label) in diagnostic.related.iter().filter(|(span, _)| span.source != diagnostic.span.source) {
        let _ = writeln!(text, "  note: {}: {}", place(sources, *span), printable(label));
    }
    Some(text)
}

/// A diagnostic in the shape that miette draws.
#[derive(Debug)]
struct Shown<'d> {
    diagnostic: &'d Diagnostic,
    message: String,
    source: NamedSource<String>,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Shown<'_> {}

impl miette::Diagnostic for Shown<'_> {
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.diagnostic.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.diagnostic.help.as_ref().map(|help| Box::new(printable(help)) as Box<dyn fmt::Display>)
    }
    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        Some(&self.source)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = |span: Span, text: Option<String>| {
            let end = self.source.inner().len();
            let start = (span.start as usize).min(end);
            LabeledSpan::new(text, start, (span.end as usize).clamp(start, end) - start)
        };
        let own = std::iter::once(label(self.diagnostic.span, Some("here".to_owned())));
        let same_source = self.diagnostic.related.iter().filter(|(span, _)| span.source == self.diagnostic.span.source);
        Some(Box::new(own.chain(same_source.map(move |(span, text)| label(*span, Some(printable(text)))))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Stream = Stream { interactive: false, color: false };
    const TERMINAL: Stream = Stream { interactive: true, color: false };

    fn sample() -> (SourceMap, Diagnostic) {
        let mut sources = SourceMap::default();
        let text = "stages:\n  b: { resample: 3 }\n";
        sources.add("x.yaml", text);
        let start = text.find("resample").unwrap() as u32;
        let span = Span { source: 0, start, end: start + 8 };
        (sources, Diagnostic::error("unknown-key", span, "unknown key `resample`").help("did you mean `resamples`?"))
    }

    #[test]
    fn off_a_terminal_a_problem_is_plain_lines() {
        let (sources, diagnostic) = sample();
        let expected = "error[unknown-key]: unknown key `resample`\n  --> x.yaml:2:8\n   |\n 2 |   b: { resample: 3 }\n   |        ^^^^^^^^\n  \
                        help: did you mean `resamples`?\n\nerror: 1 error in `x.yaml`\n";
        assert_eq!(diagnostics(&sources, &[&diagnostic], PLAIN), expected);
    }

    #[test]
    fn on_a_terminal_it_is_drawn_with_the_same_content() {
        let (sources, diagnostic) = sample();
        let text = diagnostics(&sources, &[&diagnostic], TERMINAL);
        for part in ["error[unknown-key]: unknown key `resample`", "x.yaml:2:8", "resample: 3", "help: did you mean"] {
            assert!(text.contains(part), "{part} in:\n{text}");
        }
        assert!(text.contains('─') && !text.contains('\u{1b}'), "{text}");
        let coloured = diagnostics(&sources, &[&diagnostic], Stream { interactive: true, color: true });
        assert!(coloured.contains("\u{1b}["), "{coloured}");
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let mut sources = SourceMap::default();
        let text = format!("{}KEY{}", "a".repeat(5000), "b".repeat(5000));
        sources.add("x.yaml", text);
        let diagnostic = Diagnostic::error("c", Span { source: 0, start: 5000, end: 5003 }, "m");
        for stream in [PLAIN, TERMINAL] {
            let shown = diagnostics(&sources, &[&diagnostic], stream);
            assert!(shown.len() < 600 && shown.contains("aKEYb") && shown.contains("x.yaml:1:5001"), "{shown}");
        }
    }

    #[test]
    fn a_span_past_the_end_is_still_shown() {
        let mut sources = SourceMap::default();
        sources.add("x.yaml", "");
        let diagnostic = Diagnostic::error("empty", Span { source: 0, start: 0, end: 9 }, "m");
        for stream in [PLAIN, TERMINAL] {
            assert!(diagnostics(&sources, &[&diagnostic], stream).contains("x.yaml:1:1"));
        }
    }
}
