//! Documents as Markdown (CommonMark with GitHub's tables).

use crate::document::{Align, Block, Document, Span, Table, Tone, spans};
use std::fmt::Write;

/// The document as Markdown. Figures are links to `figures/fig_<id>.svg`.
#[must_use]
pub fn render(document: &Document) -> String {
    let mut out = format!("# {}\n", inline(&document.title));
    if !document.subtitle.is_empty() {
        write!(out, "\n{}\n", inline(&document.subtitle)).expect(INFALLIBLE);
    }
    document.blocks.iter().for_each(|block| render_block(&mut out, block));
    out
}

const INFALLIBLE: &str = "writing to a text cannot fail";

fn render_block(out: &mut String, block: &Block) {
    out.push('\n');
    match block {
        Block::Heading(level, text) => {
            writeln!(out, "{} {}", "#".repeat(usize::from(*level)), inline(text)).expect(INFALLIBLE);
        }
        Block::Paragraph(text) => writeln!(out, "{}", paragraph(text)).expect(INFALLIBLE),
        Block::List(points) => {
            points.iter().for_each(|point| writeln!(out, "- {}", inline(point)).expect(INFALLIBLE));
        }
        Block::Table(table) => render_table(out, table),
        Block::Figure(picture) => {
            let (id, alt, caption) = (&picture.id, inline(&picture.alt), inline(&picture.caption));
            writeln!(out, "![{alt}](figures/fig_{id}.svg)\n\n*Figure `fig_{id}`.* {caption}").expect(INFALLIBLE);
        }
        Block::Code(language, text) => {
            let fence = fence(text);
            writeln!(out, "{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n')).expect(INFALLIBLE);
        }
        Block::Note(tone, text) => {
            let name = match tone {
                Tone::Note => "Note",
                Tone::Warning => "Warning",
            };
            writeln!(out, "> **{name}:** {}", inline(text)).expect(INFALLIBLE);
        }
        Block::Details(summary, blocks) => {
            let summary = crate::html::escape(summary);
            write!(out, "<details>\n<summary>{summary}</summary>\n").expect(INFALLIBLE);
            blocks.iter().for_each(|inner| render_block(out, inner));
            out.push_str("\n</details>\n");
        }
    }
}

fn render_table(out: &mut String, table: &Table) {
    if !table.caption.is_empty() {
        writeln!(out, "*{}*\n", inline(&table.caption).trim()).expect(INFALLIBLE);
    }
    let row = |cells: &mut dyn Iterator<Item = String>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    out.push_str(&row(&mut table.columns.iter().map(|(head, _)| cell(head))));
    let rule = |align: &Align| match align {
        Align::Left => "---".to_owned(),
        Align::Right => "---:".to_owned(),
    };
    out.push_str(&row(&mut table.columns.iter().map(|(_, align)| rule(align))));
    for cells in &table.rows {
        out.push_str(&row(&mut cells.iter().map(|c| cell(&c.text))));
    }
}

/// A cell: the bar would end it.
fn cell(text: &str) -> String {
    inline(text).replace('|', "\\|")
}

/// A paragraph: signs that would make something else of its beginning are escaped.
fn paragraph(text: &str) -> String {
    let text = inline(text);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if text.starts_with(['#', '>', '-', '+', '~', '=']) {
        format!("\\{text}")
    } else if digits > 0 && [". ", ") "].iter().any(|end| text[digits..].starts_with(end)) {
        format!("{}\\{}", &text[..digits], &text[digits..])
    } else {
        text
    }
}

/// Text inside a block, on one line.
fn inline(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    spans(&text).into_iter().fold(String::new(), |mut out, span| {
        match span {
            Span::Code(code) => write!(out, "`{code}`").expect(INFALLIBLE),
            Span::Plain(plain) => escape(&mut out, plain),
        }
        out
    })
}

/// Escapes what Markdown would read as markup, and leaves names such as `round_robin` alone: an underscore inside a
/// word means nothing.
fn escape(out: &mut String, text: &str) {
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let after = rest.peek().copied().unwrap_or(' ');
        let markup = match c {
            '\\' | '`' | '*' | '[' | ']' | '$' | '~' => true,
            '<' => after.is_alphabetic() || matches!(after, '/' | '!' | '?'),
            '_' => !(before.is_alphanumeric() && after.is_alphanumeric()),
            '&' => after.is_alphanumeric() || after == '#',
            _ => false,
        };
        if markup {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
}

/// A fence longer than any run of backticks in the text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Cell, Picture};

    #[test]
    fn texts_of_a_study_cannot_become_markup() {
        assert_eq!(
            inline("a*b* <script> [x](y) `c*` $1 AT&T R&amp;D"),
            "a\\*b\\* \\<script> \\[x\\](y) `c*` \\$1 AT\\&T R\\&amp;D"
        );
        assert_eq!(inline("round_robin _x_ a\nb"), "round_robin \\_x\\_ a b");
        assert_eq!(inline("p < 0.001"), "p < 0.001");
        assert_eq!(paragraph("# no heading"), "\\# no heading");
        assert_eq!(paragraph("1. no list"), "1\\. no list");
        assert_eq!(paragraph("1.5 s is a number"), "1.5 s is a number");
        assert_eq!(cell("a|b"), "a\\|b");
        assert_eq!(fence("a ``` b"), "````");
    }

    #[test]
    fn every_block_has_its_form() {
        let mut table = Table::new("Two cells", &["cell", ">improvement"]);
        table.rows.push(vec!["round_robin x 3".into(), Cell::number("21.3 %", Some(0.213))]);
        let picture = Picture {
            id: "segment_time".into(),
            caption: "The CDF.".into(),
            alt: "Two curves".into(),
            svg: String::new(),
        };
        let document = Document {
            title: "HTTP/3 against HTTP/2".into(),
            subtitle: "Study `smoke`".into(),
            blocks: vec![
                Block::section("Answer"),
                Block::paragraph("It is faster."),
                Block::List(vec!["one".into(), "two".into()]),
                Block::Table(table),
                Block::Figure(picture),
                Block::Code("yaml", "a: 1\n".into()),
                Block::Note(Tone::Warning, "Fewer than 20 runs.".into()),
                Block::Details("More".into(), vec![Block::paragraph("inside")]),
            ],
        };
        assert_eq!(
            render(&document),
            "# HTTP/3 against HTTP/2\n\nStudy `smoke`\n\n## Answer\n\nIt is faster.\n\n- one\n- two\n\n*Two cells*\n\n\
             | cell | improvement |\n| --- | ---: |\n| round_robin x 3 | 21.3 % |\n\n\
             ![Two curves](figures/fig_segment_time.svg)\n\n*Figure `fig_segment_time`.* The CDF.\n\n```yaml\na: 1\n```\n\n\
             > **Warning:** Fewer than 20 runs.\n\n<details>\n<summary>More</summary>\n\ninside\n\n</details>\n"
        );
    }
}
