//! Links from text for tests: a reader of YAML's flow style that keeps positions.
#![allow(dead_code)]

use study_link::LinkParams;
use study_tree::{Cx, Decode, Entry, Node, Scalar, Sections, Span, Value};

pub struct Outcome {
    pub link: Option<LinkParams>,
    /// Code, the text under the span, and the message, in the order of places.
    pub problems: Vec<(&'static str, String, String)>,
    pub files: Vec<String>,
}

pub fn read(text: &str) -> Outcome {
    let node = Reader { text, at: 0 }.node();
    let sections = Sections::new();
    let mut cx = Cx::new(&sections);
    let link = LinkParams::decode(&node, &mut cx);
    let under = |s: Span| text[s.start as usize..s.end as usize].to_owned();
    let problems = cx.diagnostics.sorted().iter().map(|d| (d.code, under(d.span), d.message.clone())).collect();
    Outcome { link, problems, files: cx.files.into_iter().map(|f| f.path).collect() }
}

pub fn link(text: &str) -> LinkParams {
    let outcome = read(text);
    assert!(outcome.problems.is_empty(), "{text}: {:?}", outcome.problems);
    outcome.link.unwrap()
}

/// Rows of a CSV with `#` comments and one header line, as numbers.
pub fn rows<const N: usize>(csv: &str) -> Vec<[f64; N]> {
    let lines = csv.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).skip(1);
    lines
        .map(|line| {
            let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
            cells.try_into().unwrap()
        })
        .collect()
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }
    fn skip(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }
    fn eat(&mut self, c: char) -> bool {
        self.skip();
        let found = self.rest().starts_with(c);
        self.at += usize::from(found);
        found
    }
    fn span(&self, start: usize) -> Span {
        Span { source: 0, start: start as u32, end: self.at as u32 }
    }
    fn word(&mut self, stops: &[char]) -> (String, Span) {
        self.skip();
        let start = self.at;
        let length = self.rest().find(stops).unwrap_or(self.rest().len());
        let word = self.rest()[..length].trim_end().to_owned();
        self.at += word.len();
        (word, self.span(start))
    }
    fn node(&mut self) -> Node {
        self.skip();
        let start = self.at;
        let value = if self.eat('{') {
            let mut entries = Vec::new();
            while !self.eat('}') {
                let (key, key_span) = self.word(&[':']);
                assert!(self.eat(':'), "{}", self.rest());
                entries.push(Entry { key, key_span, value: self.node() });
                self.eat(',');
            }
            Value::Map(entries)
        } else if self.eat('[') {
            let mut items = Vec::new();
            while !self.eat(']') {
                items.push(self.node());
                self.eat(',');
            }
            Value::List(items)
        } else {
            Value::Scalar(Scalar { text: self.word(&[',', '}', ']']).0, quoted: false })
        };
        Node { value, span: self.span(start) }
    }
}
