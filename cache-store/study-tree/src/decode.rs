//! `Decode` and the scalars, lists and maps that everything else is made of.

use crate::{Cx, Diagnostic, Node, Value};
use serde_json::json;
use std::collections::BTreeMap;
use study_units::{BitRate, Bytes, Probability, Quantity, SimDuration};

/// From a node to a typed value, with problems reported at their place.
pub trait Decode: Sized {
    /// Reads the node; `None` means that at least one error was reported.
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self>;
    /// The JSON Schema of what `decode` accepts.
    fn schema() -> serde_json::Value;
}

fn wrong_type<T>(node: &Node, cx: &mut Cx<'_>, expected: &str, help: &str) -> Option<T> {
    cx.push(
        Diagnostic::error("wrong-type", node.span, format!("expected {expected}, found {}", node.describe()))
            .help(help),
    );
    None
}

/// The text of a plain scalar, for numbers and booleans.
fn plain(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Scalar(s) if !s.quoted && !node.is_null() => Some(&s.text),
        _ => None,
    }
}

impl Decode for bool {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        match plain(node) {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => wrong_type(node, cx, "true or false", "write `true` or `false` without quotes"),
        }
    }
    fn schema() -> serde_json::Value {
        json!({ "type": "boolean" })
    }
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl Decode for $ty {
            fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
                // `1_000`, `0x10`, `1e3` and quoted digits are refused: each reads differently elsewhere.
                let text = plain(node).filter(|t| t.bytes().all(|b| b.is_ascii_digit()) && (*t == "0" || !t.starts_with('0')));
                match text.and_then(|t| t.parse().ok()) {
                    Some(value) => Some(value),
                    None => wrong_type(node, cx, "a whole number", "write decimal digits only, e.g. `40`"),
                }
            }
            fn schema() -> serde_json::Value {
                json!({ "type": "integer", "minimum": 0 })
            }
        }
    )*};
}
integers!(u32, u64, usize);

impl Decode for f64 {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let numeric = |t: &&str| t.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
        match plain(node).filter(numeric).and_then(|t| t.parse::<f64>().ok()).filter(|x| x.is_finite()) {
            // `+ 0.0` turns -0.0 into 0.0, so that equal values have equal keys.
            Some(value) => Some(value + 0.0),
            None => wrong_type(node, cx, "a number", "write a finite decimal number, e.g. `1.1`"),
        }
    }
    fn schema() -> serde_json::Value {
        json!({ "type": "number" })
    }
}

impl Decode for String {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        match &node.value {
            Value::Scalar(s) if !node.is_null() => Some(s.text.clone()),
            _ => wrong_type(node, cx, "text", "write a word or a quoted text"),
        }
    }
    fn schema() -> serde_json::Value {
        json!({ "type": "string" })
    }
}

macro_rules! quantities {
    ($($ty:ty),*) => {$(
        impl Decode for $ty {
            fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
                let Some(text) = node.text().filter(|_| !node.is_null()) else {
                    return wrong_type(node, cx, &format!("a {}", <$ty>::NAME), &format!("e.g. `{}`", <$ty>::EXAMPLES[0]));
                };
                match <$ty>::parse_quantity(text) {
                    Ok(value) => Some(value),
                    Err(error) => {
                        cx.push(Diagnostic::error("bad-quantity", node.span, error.to_string()).help(error.help()));
                        None
                    }
                }
            }
            fn schema() -> serde_json::Value {
                json!({ "type": ["string", "number"], "description": <$ty>::NAME, "examples": <$ty>::EXAMPLES })
            }
        }
    )*};
}
quantities!(SimDuration, BitRate, Bytes, Probability);

impl<T: Decode> Decode for Vec<T> {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let Some(items) = node.items() else {
            return wrong_type(node, cx, "a list", "write `[a, b]`, or one `- item` per line");
        };
        // Collect into options first, so that every bad item is reported.
        let decoded: Vec<Option<T>> = items.iter().map(|item| T::decode(item, cx)).collect();
        decoded.into_iter().collect()
    }
    fn schema() -> serde_json::Value {
        json!({ "type": "array", "items": T::schema() })
    }
}

impl<T: Decode> Decode for BTreeMap<String, T> {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let Some(entries) = node.entries() else {
            return wrong_type(node, cx, "a mapping", "write `name: value` lines");
        };
        let decoded: Vec<Option<(String, T)>> =
            entries.iter().map(|e| T::decode(&e.value, cx).map(|v| (e.key.clone(), v))).collect();
        decoded.into_iter().collect()
    }
    fn schema() -> serde_json::Value {
        json!({ "type": "object", "additionalProperties": T::schema() })
    }
}

impl<T: Decode> Decode for Option<T> {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        if node.is_null() { Some(None) } else { T::decode(node, cx).map(Some) }
    }
    fn schema() -> serde_json::Value {
        T::schema()
    }
}

/// The value of a type all of whose keys have defaults.
///
/// # Panics
/// When a key has none: a mistake of the declaration, caught by the first test that uses it.
#[must_use]
pub fn defaults<T: Decode>() -> T {
    let sections = crate::Sections::new();
    let empty = Node::map(Vec::new(), crate::Span::default());
    T::decode(&empty, &mut Cx::new(&sections)).expect("every key has a default")
}

/// Splits a mapping into the entries under `keys` and the rest.
#[must_use]
pub fn split_keys(node: &Node, keys: &[&str]) -> (Node, Node) {
    let entries = node.entries().unwrap_or_default().iter().cloned();
    let (picked, rest) = entries.partition(|e| keys.contains(&e.key.as_str()));
    (Node::map(picked, node.span), Node::map(rest, node.span))
}
