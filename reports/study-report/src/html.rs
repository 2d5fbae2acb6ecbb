//! Documents as one HTML file that needs nothing else: figures are inline SVG, style and script are inside.
//!
//! Light and dark follow the reader's system. Tables are sorted by a click on a head (or Enter on it); without scripts
//! they are plain tables. Heads have a scope, figures a title and a description, sections an id.

use crate::document::{Align, Block, Document, Span, Table, Tone, spans};
use std::fmt::Write;

pub use crate::figure::escape;

const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/sort.js");
const INFALLIBLE: &str = "writing to a text cannot fail";

/// The document as a self-contained page.
#[must_use]
pub fn render(document: &Document) -> String {
    let title = escape(&document.title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<header>\n<h1>{}</h1>\n",
        inline(&document.title)
    );
    if !document.subtitle.is_empty() {
        writeln!(out, "<p>{}</p>", inline(&document.subtitle)).expect(INFALLIBLE);
    }
    out.push_str("</header>\n<main>\n");
    let mut ids = Vec::new();
    document.blocks.iter().for_each(|block| render_block(&mut out, block, &mut ids));
    writeln!(out, "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>").expect(INFALLIBLE);
    out
}

fn render_block(out: &mut String, block: &Block, ids: &mut Vec<String>) {
    match block {
        Block::Heading(level, text) => {
            let id = unique_id(text, ids);
            writeln!(out, "<h{level} id=\"{id}\">{}</h{level}>", inline(text)).expect(INFALLIBLE);
        }
        Block::Paragraph(text) => writeln!(out, "<p>{}</p>", inline(text)).expect(INFALLIBLE),
        Block::List(points) => {
            out.push_str("<ul>\n");
            points.iter().for_each(|p| writeln!(out, "<li>{}</li>", inline(p)).expect(INFALLIBLE));
            out.push_str("</ul>\n");
        }
        Block::Table(table) => render_table(out, table),
        Block::Figure(picture) => {
            let (id, caption) = (escape(&picture.id), inline(&picture.caption));
            writeln!(
                out,
                "<figure id=\"fig-{id}\">\n{}<figcaption><code>fig_{id}</code> {caption}</figcaption>\n</figure>",
                picture.svg
            )
            .expect(INFALLIBLE);
        }
        Block::Code(_, text) => {
            writeln!(out, "<pre tabindex=\"0\"><code>{}</code></pre>", escape(text)).expect(INFALLIBLE)
        }
        Block::Note(tone, text) => {
            let (class, name) = match tone {
                Tone::Note => ("note", "Note"),
                Tone::Warning => ("note warning", "Warning"),
            };
            writeln!(out, "<p class=\"{class}\" role=\"note\"><strong>{name}:</strong> {}</p>", inline(text))
                .expect(INFALLIBLE);
        }
        Block::Details(summary, blocks) => {
            writeln!(out, "<details>\n<summary>{}</summary>", inline(summary)).expect(INFALLIBLE);
            blocks.iter().for_each(|inner| render_block(out, inner, ids));
            out.push_str("</details>\n");
        }
    }
}

fn render_table(out: &mut String, table: &Table) {
    out.push_str("<div class=\"table\" tabindex=\"0\"><table>\n");
    if !table.caption.is_empty() {
        writeln!(out, "<caption>{}</caption>", inline(&table.caption)).expect(INFALLIBLE);
    }
    out.push_str("<thead><tr>");
    for (head, align) in &table.columns {
        write!(out, "<th scope=\"col\"{}>{}</th>", class(*align), inline(head)).expect(INFALLIBLE);
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for cells in &table.rows {
        out.push_str("<tr>");
        for (i, (cell, (_, align))) in cells.iter().zip(&table.columns).enumerate() {
            let key = cell.key.map_or_else(String::new, |k| format!(" data-key=\"{k}\""));
            let (open, close) = if i == 0 { ("th scope=\"row\"", "th") } else { ("td", "td") };
            write!(out, "<{open}{}{key}>{}</{close}>", class(*align), inline(&cell.text)).expect(INFALLIBLE);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
}

const fn class(align: Align) -> &'static str {
    match align {
        Align::Left => "",
        Align::Right => " class=\"num\"",
    }
}

fn inline(text: &str) -> String {
    spans(text).into_iter().fold(String::new(), |mut out, span| {
        match span {
            Span::Plain(plain) => out.push_str(&escape(plain)),
            Span::Code(code) => write!(out, "<code>{}</code>", escape(code)).expect(INFALLIBLE),
        }
        out
    })
}

/// An id from a heading, with a number when it is taken.
fn unique_id(text: &str, ids: &mut Vec<String>) -> String {
    let words: String = text.chars().map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { ' ' }).collect();
    let slug = words.split_whitespace().collect::<Vec<_>>().join("-");
    let taken = |id: &String| ids.contains(id);
    let mut id = slug.clone();
    let mut number = 1;
    while taken(&id) {
        number += 1;
        id = format!("{slug}-{number}");
    }
    ids.push(id.clone());
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Cell, Picture};

    fn page() -> String {
        let mut table = Table::new("Two cells", &["cell", ">improvement"]);
        table.rows.push(vec!["a <b>".into(), Cell::number("21.3 %", Some(0.213))]);
        let picture = Picture {
            id: "x".into(),
            caption: "The CDF.".into(),
            alt: "Two curves".into(),
            svg: "<svg></svg>\n".into(),
        };
        render(&Document {
            title: "H3 & H2".into(),
            subtitle: "Study `smoke`".into(),
            blocks: vec![
                Block::section("Answer"),
                Block::section("Answer"),
                Block::Table(table),
                Block::Figure(picture),
                Block::Code("yaml", "a: <1>\n".into()),
                Block::Note(Tone::Warning, "Fewer than 20 runs.".into()),
                Block::Details("More".into(), vec![Block::paragraph("inside")]),
            ],
        })
    }

    #[test]
    fn a_page_is_self_contained_and_accessible() {
        let page = page();
        for part in [
            "<html lang=\"en\">",
            "<title>H3 &amp; H2</title>",
            "<h2 id=\"answer\">",
            "<h2 id=\"answer-2\">",
            "<th scope=\"col\" class=\"num\">improvement</th>",
            "<th scope=\"row\">a &lt;b&gt;</th>",
            "<td class=\"num\" data-key=\"0.213\">21.3 %</td>",
            "<figure id=\"fig-x\">",
            "a: &lt;1&gt;",
            "prefers-color-scheme: dark",
        ] {
            assert!(page.contains(part), "{part} is missing from\n{page}");
        }
        for outside in ["http://", "https://", "@import", "<link", "src="] {
            assert!(!page.contains(outside), "{outside} would need the network:\n{page}");
        }
    }

    #[test]
    fn elements_are_closed_in_order() {
        let page = page();
        let mut open: Vec<&str> = Vec::new();
        // Scripts and styles hold signs that are no tags.
        let (head, tail) = (page.split_once("<style>").unwrap(), page.split_once("</style>").unwrap().1);
        let body = tail.split_once("<script>").unwrap().0;
        let text = [head.0, body].concat();
        for tag in text.split('<').skip(2).filter_map(|t| t.split_once('>')).map(|t| t.0) {
            let name = tag.split([' ', '\n']).next().unwrap();
            match name.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name), "{tag}"),
                None if ["meta", "br"].contains(&name) => {}
                None => open.push(name),
            }
        }
        assert_eq!(open, ["html", "body"], "what the script's part closes");
    }
}
