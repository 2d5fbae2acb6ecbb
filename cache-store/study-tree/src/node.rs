//! Nodes, spans and the sources they point into.

/// A place in a source: bytes `start..end` of source number `source` in a [`SourceMap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Which source (0 is the study file; each `--set` is one more).
    pub source: u32,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// The texts that spans point into.
#[derive(Debug, Clone, Default)]
pub struct SourceMap {
    sources: Vec<Source>,
}

#[derive(Debug, Clone)]
struct Source {
    name: String,
    text: String,
    /// Where each line begins, so that many places can be looked up in a long text.
    lines: Vec<usize>,
}

impl SourceMap {
    /// Adds a text under the name that messages show; returns its number.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> u32 {
        let text = text.into();
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        self.sources.push(Source { name: name.into(), text, lines });
        (self.sources.len() - 1) as u32
    }
    /// Name and text of a source.
    #[must_use]
    pub fn get(&self, source: u32) -> Option<(&str, &str)> {
        self.sources.get(source as usize).map(|s| (s.name.as_str(), s.text.as_str()))
    }
    /// Line and column of a span's start, both from 1; columns count characters.
    #[must_use]
    pub fn line_column(&self, span: Span) -> (usize, usize) {
        let Some(Source { text, lines, .. }) = self.sources.get(span.source as usize) else { return (1, 1) };
        let mut start = (span.start as usize).min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let line = lines.partition_point(|&begin| begin <= start);
        (line, text[lines[line - 1]..start].chars().count() + 1)
    }
}

/// A scalar as written; what it means is decided by the type that decodes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// The text without quotes.
    pub text: String,
    /// Written in quotes or as a block: never a number, a boolean or null.
    pub quoted: bool,
}

/// The value of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A scalar.
    Scalar(Scalar),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order of the file; keys are unique.
    Map(Vec<Entry>),
}

/// One entry of a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it stands.
    pub span: Span,
}

impl Node {
    /// A plain (unquoted) scalar.
    #[must_use]
    pub fn plain(text: impl Into<String>, span: Span) -> Self {
        Self { value: Value::Scalar(Scalar { text: text.into(), quoted: false }), span }
    }
    /// A mapping.
    #[must_use]
    pub fn map(entries: Vec<Entry>, span: Span) -> Self {
        Self { value: Value::Map(entries), span }
    }
    /// The entries, if it is a mapping.
    #[must_use]
    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }
    /// The items, if it is a sequence.
    #[must_use]
    pub fn items(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }
    /// The text, if it is a scalar.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(scalar) => Some(&scalar.text),
            _ => None,
        }
    }
    /// The value under a key, if it is a mapping that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries()?.iter().find(|e| e.key == key).map(|e| &e.value)
    }
    /// Whether it is an empty value: nothing, `~` or `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(s) if !s.quoted && matches!(s.text.as_str(), "" | "~" | "null"))
    }
    /// What it is, for messages: "a mapping", "a list", "`text`".
    #[must_use]
    pub fn describe(&self) -> String {
        match &self.value {
            Value::Map(_) => "a mapping".to_owned(),
            Value::List(_) => "a list".to_owned(),
            Value::Scalar(_) if self.is_null() => "nothing".to_owned(),
            Value::Scalar(s) => format!("`{}`", s.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_and_columns_count_characters() {
        let mut map = SourceMap::default();
        let source = map.add("x", "a\nä: ü\n\nb");
        let at = |start| map.line_column(Span { source, start, end: start });
        assert_eq!((at(0), at(1), at(2)), ((1, 1), (1, 2), (2, 1)));
        assert_eq!(at(6), (2, 4), "after two-byte letters");
        assert_eq!(at(3), (2, 1), "inside a letter");
        assert_eq!((at(9), at(10), at(99)), ((3, 1), (4, 1), (4, 2)));
        assert_eq!(map.line_column(Span { source: 7, ..Span::default() }), (1, 1));
    }
}
