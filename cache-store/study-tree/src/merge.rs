//! Laying one tree over another, and paths into a tree.

use crate::{Entry, Node, Span, Value};

/// `over` laid over `base`: maps are merged deeply, lists and scalars replaced.
#[must_use]
pub fn merge(base: &Node, over: &Node) -> Node {
    let (Value::Map(low), Value::Map(high)) = (&base.value, &over.value) else { return over.clone() };
    let mut entries: Vec<Entry> = low.clone();
    for entry in high {
        match entries.iter_mut().find(|e| e.key == entry.key) {
            Some(existing) => {
                existing.value = merge(&existing.value, &entry.value);
                existing.key_span = entry.key_span;
            }
            None => entries.push(entry.clone()),
        }
    }
    Node { value: Value::Map(entries), span: over.span }
}

/// The node at a dotted path such as `player.prefetch`.
#[must_use]
pub fn get_path<'n>(node: &'n Node, path: &str) -> Option<&'n Node> {
    path.split('.').try_fold(node, |node, key| node.get(key))
}

/// The tree with `value` at a dotted path; mappings on the way are made. `None` when the path runs through a scalar or list.
#[must_use]
pub fn set_path(node: &Node, path: &str, value: Node, key_span: Span) -> Option<Node> {
    let (key, rest) = path.split_once('.').map_or((path, None), |(key, rest)| (key, Some(rest)));
    let entries = node.entries()?;
    let mut entries = entries.to_vec();
    let position = entries.iter().position(|e| e.key == key);
    let new_value = match rest {
        None => value,
        Some(rest) => {
            let empty = Node::map(Vec::new(), key_span);
            let child = position.map_or(&empty, |i| &entries[i].value);
            set_path(child, rest, value, key_span)?
        }
    };
    match position {
        Some(i) => entries[i].value = new_value,
        None => entries.push(Entry { key: key.to_owned(), key_span, value: new_value }),
    }
    Some(Node { value: Value::Map(entries), span: node.span })
}
