//! A document that is no study: a text, and values given one by one, as one tree with places for messages.
//!
//! For commands that take settings: the same notation, and problems shown the same way, as in a study. JSON is read too, as
//! it is YAML.

use crate::overlay::{put, steps};
use crate::yaml;
use study_tree::{Cx, Decode, Diagnostic, Diagnostics, Node, Scalar, Sections, SourceMap, Span, Value};

/// A tree of settings on its way to a typed value.
pub struct Document {
    /// The texts that diagnostics point into; the document itself is number 0.
    pub sources: SourceMap,
    /// All problems so far.
    pub diagnostics: Diagnostics,
    root: Node,
}

impl Document {
    /// Reads a text called `name`; one without content is an empty mapping.
    #[must_use]
    pub fn new(name: &str, bytes: &[u8]) -> Self {
        let (mut sources, mut diagnostics) = (SourceMap::default(), Diagnostics::default());
        let text = yaml::text_of(bytes, 0, &mut diagnostics);
        sources.add(name, text.as_str());
        let parsed = if diagnostics.has_errors() { None } else { yaml::parse(&text, 0, 0, &mut diagnostics) };
        let empty = || Node::map(Vec::new(), Span::default());
        let root = parsed.filter(|node| !node.is_null()).unwrap_or_else(empty);
        Self { sources, diagnostics, root }
    }

    /// Lays a text over the value at a dotted path; `label` is how the user wrote it.
    pub fn text(&mut self, label: &str, path: &str, text: &str) {
        let source = self.sources.add(label, text);
        let span = Span { source, start: 0, end: text.len() as u32 };
        let value = Value::Scalar(Scalar { text: text.to_owned(), quoted: true });
        self.put(path, span, Node { value, span });
    }

    /// Lays `path=value` over the tree, as `--set` does with a study.
    pub fn set(&mut self, set: &str) {
        let source = self.sources.add(format!("--set {set}"), set);
        let span = Span { source, start: 0, end: set.len() as u32 };
        match set.split_once('=') {
            Some((path, text)) if !path.trim().is_empty() && !text.trim().is_empty() => {
                if let Some(value) = yaml::parse(text, source, path.len() + 1, &mut self.diagnostics) {
                    self.put(path.trim(), Span { end: path.len() as u32, ..span }, value);
                }
            }
            _ => {
                let problem = Diagnostic::error("bad-set", span, format!("`{set}` sets nothing"));
                self.diagnostics.push(problem.help("write `path=value`, e.g. `cache.size=64 MiB`"));
            }
        }
    }

    fn put(&mut self, path: &str, span: Span, value: Node) {
        put(&mut self.root, &steps(path, span), value);
    }

    /// The typed value; `None` when there are problems.
    pub fn decode<T: Decode>(&mut self) -> Option<T> {
        self.decode_with(T::decode)
    }

    /// The same with a function that decodes.
    pub fn decode_with<T>(&mut self, decode: impl FnOnce(&Node, &mut Cx<'_>) -> Option<T>) -> Option<T> {
        let sections = Sections::new();
        let mut cx = Cx::new(&sections);
        let value = decode(&self.root, &mut cx);
        self.diagnostics.append(cx.diagnostics);
        value.filter(|_| !self.diagnostics.has_errors())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    study_tree::params! {
        /// Settings.
        struct Settings {
            /// How often.
            times: u32 = 1;
            /// Where to.
            place: String;
        }
    }

    fn codes(document: &Document) -> Vec<&'static str> {
        document.diagnostics.sorted().iter().map(|d| d.code).collect()
    }

    #[test]
    fn a_document_in_json_and_values_over_it_make_one_tree() {
        let mut document = Document::new("settings", br#"{ "times": 3, "place": "here" }"#);
        document.text("--place", "place", "a: b");
        document.set("times=4");
        assert_eq!(document.decode(), Some(Settings { times: 4, place: "a: b".to_owned() }));
    }

    #[test]
    fn problems_have_a_place_in_the_text_or_flag_they_came_from() {
        let mut document = Document::new("settings", b"{ \"tims\": 3 }");
        assert_eq!(document.decode::<Settings>(), None);
        assert_eq!(codes(&document), ["missing-key", "unknown-key"]);
        let mut document = Document::new("settings", b"");
        document.set("times");
        document.set("times=x");
        assert_eq!(document.decode::<Settings>(), None);
        assert!(codes(&document).contains(&"bad-set") && codes(&document).contains(&"wrong-type"));
    }
}
