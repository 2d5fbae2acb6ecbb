//! Reading the entries of a mapping, each key once, unknown keys refused.

use crate::{Cx, Decode, Diagnostic, Entry, Node, Span, did_you_mean};

/// Reads a mapping key by key. Call [`MapReader::finish`] at the end: it reports the keys nobody asked for.
pub struct MapReader<'n, 'c, 'a> {
    entries: &'n [Entry],
    asked: Vec<&'static str>,
    span: Span,
    failed: bool,
    /// The context that problems go to.
    pub cx: &'c mut Cx<'a>,
}

impl<'n, 'c, 'a> MapReader<'n, 'c, 'a> {
    /// Begins reading; a node that is no mapping is reported as `wrong-type`.
    pub fn new(node: &'n Node, cx: &'c mut Cx<'a>) -> Option<Self> {
        let Some(entries) = node.entries() else {
            cx.push(
                Diagnostic::error("wrong-type", node.span, format!("expected a mapping, found {}", node.describe()))
                    .help("write `key: value` lines, or `{ key: value }`"),
            );
            return None;
        };
        Some(Self { entries, asked: Vec::new(), span: node.span, failed: false, cx })
    }
    /// The node under a key, if given.
    pub fn node(&mut self, key: &'static str) -> Option<&'n Node> {
        self.asked.push(key);
        self.entries.iter().find(|e| e.key == key).map(|e| &e.value)
    }
    /// The node under a key that must be given.
    pub fn required_node(&mut self, key: &'static str) -> Option<&'n Node> {
        let node = self.node(key);
        if node.is_none() {
            self.failed = true;
            self.cx.push(
                Diagnostic::error("missing-key", self.span, format!("`{key}` is missing"))
                    .help(format!("add `{key}: ...`")),
            );
        }
        node
    }
    /// The value under a key that must be given.
    pub fn required<T: Decode>(&mut self, key: &'static str) -> Option<T> {
        let node = self.required_node(key)?;
        self.decode(node)
    }
    /// The value under a key, or `None` when it is not given.
    pub fn optional<T: Decode>(&mut self, key: &'static str) -> Option<T> {
        let node = self.node(key)?;
        self.decode(node)
    }
    /// The value under a key, or a default when it is not given.
    pub fn or<T: Decode>(&mut self, key: &'static str, default: impl FnOnce() -> T) -> Option<T> {
        match self.node(key) {
            Some(node) => self.decode(node),
            None => Some(default()),
        }
    }
    /// Reports that a value is outside its range.
    pub fn out_of_range(&mut self, key: &str, range: &str) {
        self.failed = true;
        let entry = self.entries.iter().find(|e| e.key == key);
        let span = entry.map_or(self.span, |e| e.value.span);
        let found = entry.map_or_else(String::new, |e| e.value.describe());
        self.cx.push(
            Diagnostic::error("out-of-range", span, format!("{found} is out of range for `{key}`"))
                .help(format!("give a value in {range}")),
        );
    }
    /// Marks the keys as known without reading them: someone else reads them.
    pub fn ignore(&mut self, keys: &[&'static str]) {
        self.asked.extend_from_slice(keys);
    }
    /// Reports unknown keys; true when everything decoded.
    pub fn finish(self) -> bool {
        let mut ok = !self.failed;
        for entry in self.entries {
            if !self.asked.contains(&entry.key.as_str()) {
                ok = false;
                let help = did_you_mean(&entry.key, &self.asked)
                    .unwrap_or_else(|| format!("known keys: {}", self.asked.join(", ")));
                self.cx.push(
                    Diagnostic::error("unknown-key", entry.key_span, format!("unknown key `{}`", entry.key)).help(help),
                );
            }
        }
        ok
    }
    fn decode<T: Decode>(&mut self, node: &Node) -> Option<T> {
        let value = T::decode(node, self.cx);
        self.failed |= value.is_none();
        value
    }
}
