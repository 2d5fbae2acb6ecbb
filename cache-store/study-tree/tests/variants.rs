//! Variants that may be written bare.
#![allow(clippy::unwrap_used)]

use study_tree::{Cx, Decode, Entry, Node, Sections, Span};

study_tree::params! {
    /// Parameters with defaults.
    pub struct Window {
        /// Length.
        length: u32 = 5, in 1..=20;
    }
}
study_tree::variants! {
    /// One group of each kind.
    pub enum Method {
        unit { /// Nothing to set.
            Plain = "plain" }
        defaulted { /// May be bare.
            Sliding(Window) = "sliding" }
        data { /// Needs its number.
            Fixed(u32) = "fixed" }
    }
}

fn decode(node: &Node) -> Result<Method, Vec<String>> {
    let sections = Sections::new();
    let mut cx = Cx::new(&sections);
    Method::decode(node, &mut cx).ok_or_else(|| cx.diagnostics.sorted().iter().map(|d| d.message.clone()).collect())
}
fn plain(text: &str) -> Node {
    Node::plain(text, Span::default())
}
fn map(key: &str, value: Node) -> Node {
    Node::map(vec![Entry { key: key.to_owned(), key_span: Span::default(), value }], Span::default())
}

#[test]
fn a_defaulted_variant_may_be_bare_or_carry_parameters() {
    assert_eq!(decode(&plain("plain")), Ok(Method::Plain));
    assert_eq!(decode(&plain("sliding")), Ok(Method::Sliding(Window { length: 5 })));
    assert_eq!(decode(&map("sliding", map("length", plain("7")))), Ok(Method::Sliding(Window { length: 7 })));
    assert_eq!(decode(&map("fixed", plain("2"))), Ok(Method::Fixed(2)));
    let canonical = serde_json::to_value(Method::Sliding(Window { length: 5 })).expect("plain data");
    assert_eq!(canonical, serde_json::json!({ "sliding": { "length": 5 } }), "bare and spelled out have one key");
}

#[test]
fn what_is_not_a_variant_is_refused() {
    assert!(decode(&plain("fixed")).unwrap_err()[0].contains("needs its parameters"));
    assert!(decode(&plain("slidin")).unwrap_err()[0].contains("not one of: plain, sliding, fixed"));
    assert!(decode(&map("sliding", map("width", plain("7")))).unwrap_err()[0].contains("unknown key"));
}
