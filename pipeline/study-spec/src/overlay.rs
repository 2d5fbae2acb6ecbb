//! Changing a tree in place.

use study_tree::{Entry, Node, Span, Value};

/// One step of a dotted path, with the place it was written at.
pub(crate) type Step = (String, Span);

/// Puts `value` at the path. As when mappings are merged, a scalar or list on the way gives way to a mapping; in a list
/// of items with an `id`, the step is an id.
pub(crate) fn put(node: &mut Node, path: &[Step], value: Node) {
    match path.split_first() {
        None => *node = value,
        Some(((key, key_span), rest)) => put(child_mut(node, key, *key_span), rest, value),
    }
}

/// The value under a key, made when it is not there.
fn child_mut<'n>(node: &'n mut Node, key: &str, key_span: Span) -> &'n mut Node {
    let item = node.items().and_then(|items| items.iter().position(|i| has_id(i, key)));
    if item.is_none() && node.entries().is_none() {
        *node = Node::map(Vec::new(), key_span);
    }
    match &mut node.value {
        Value::List(items) => &mut items[item.unwrap_or_default()],
        Value::Map(entries) => {
            let position = entries.iter().position(|e| e.key == key).unwrap_or_else(|| {
                entries.push(Entry { key: key.to_owned(), key_span, value: Node::map(Vec::new(), key_span) });
                entries.len() - 1
            });
            &mut entries[position].value
        }
        Value::Scalar(_) => unreachable!("it was just made a mapping"),
    }
}

/// Whether an item of a list has that `id`.
pub(crate) fn has_id(item: &Node, id: &str) -> bool {
    item.get("id").and_then(Node::text) == Some(id)
}

/// The entries of a mapping, to be changed.
pub(crate) fn entries_mut(node: &mut Node) -> Option<&mut Vec<Entry>> {
    match &mut node.value {
        Value::Map(entries) => Some(entries),
        _ => None,
    }
}

/// The entry under a key, to be changed.
pub(crate) fn entry_mut<'n>(node: &'n mut Node, key: &str) -> Option<&'n mut Entry> {
    entries_mut(node)?.iter_mut().find(|e| e.key == key)
}

/// The steps of a dotted path that was written as one key.
pub(crate) fn steps(path: &str, span: Span) -> Vec<Step> {
    path.split('.').map(|key| (key.to_owned(), span)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use study_tree::get_path;

    #[test]
    fn put_replaces_makes_and_turns_scalars_into_mappings() {
        let at = Span::default();
        let mut node = Node::map(Vec::new(), at);
        put(&mut node, &steps("a.b", at), Node::plain("1", at));
        put(&mut node, &steps("a.b", at), Node::plain("2", at));
        put(&mut node, &steps("a.b.c", at), Node::plain("3", at));
        assert_eq!(get_path(&node, "a.b.c").and_then(Node::text), Some("3"));
        assert_eq!(node.entries().unwrap().len(), 1);
    }

    #[test]
    fn put_finds_items_by_id() {
        let at = Span::default();
        let item = |id: &str| Node::map(vec![Entry { key: "id".into(), key_span: at, value: Node::plain(id, at) }], at);
        let mut node = Node { value: Value::List(vec![item("C1"), item("C2")]), span: at };
        put(&mut node, &steps("C2.bound", at), Node::plain("7", at));
        assert_eq!(node.items().unwrap()[1].get("bound").and_then(Node::text), Some("7"));
        assert!(node.items().unwrap()[0].get("bound").is_none());
    }
}
