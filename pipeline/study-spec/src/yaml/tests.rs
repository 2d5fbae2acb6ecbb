//! A corpus of texts with what they read as, so that the library can be replaced without surprises.

use super::*;
use study_tree::{SourceMap, Value};

/// A tree on one line: text in quotes was quoted, everything else stands as written.
fn dump(node: &Node) -> String {
    match &node.value {
        Value::Scalar(s) if s.quoted => format!("{:?}", s.text),
        Value::Scalar(s) => s.text.clone(),
        Value::List(items) => format!("[{}]", items.iter().map(dump).collect::<Vec<_>>().join(", ")),
        Value::Map(entries) => {
            let parts: Vec<String> = entries.iter().map(|e| format!("{}: {}", e.key, dump(&e.value))).collect();
            format!("{{{}}}", parts.join(", "))
        }
    }
}

/// The tree, or the problems as `code line:column`.
fn reads_as(text: &str) -> String {
    let mut diagnostics = Diagnostics::default();
    let mut sources = SourceMap::default();
    sources.add("x", text);
    let node = parse_file(text, 0, &mut diagnostics);
    let found: Vec<String> = diagnostics
        .sorted()
        .iter()
        .map(|d| {
            let (line, column) = sources.line_column(d.span);
            format!("{} {line}:{column}", d.code)
        })
        .collect();
    if found.is_empty() { dump(&node.unwrap()) } else { found.join(", ") }
}

fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(reads_as(text), *expected, "{text:?}");
    }
}

#[test]
fn scalars_keep_their_spelling() {
    check(&[
        ("a: 1", "{a: 1}"),
        ("a: 1.0", "{a: 1.0}"),
        ("a: 1e3", "{a: 1e3}"),
        ("a: 1e-5", "{a: 1e-5}"),
        ("a: 1_000", "{a: 1_000}"),
        ("a: 017", "{a: 017}"),
        ("a: 0x1F", "{a: 0x1F}"),
        ("a: 1:30", "{a: 1:30}"),
        ("a: -1", "{a: -1}"),
        ("a: +.5", "{a: +.5}"),
        ("a: .nan", "{a: .nan}"),
        ("a: no", "{a: no}"),
        ("on: NO", "{on: NO}"),
        ("a: true", "{a: true}"),
        ("a: null", "{a: null}"),
        ("a: ~", "{a: ~}"),
        ("a:", "{a: }"),
        ("a: 2024-01-02", "{a: 2024-01-02}"),
        ("a: 50 ms", "{a: 50 ms}"),
        ("a: 3.6 %", "{a: 3.6 %}"),
        ("a: 20 Mbit/s", "{a: 20 Mbit/s}"),
        ("a: 1 x BDP", "{a: 1 x BDP}"),
        ("a: C:\\x", "{a: C:\\x}"),
        ("a: x#y", "{a: x#y}"),
        ("a: x # y", "{a: x}"),
        ("a: http://x/y?z", "{a: http://x/y?z}"),
        ("a: grüße", "{a: grüße}"),
        ("a:   spaced  out  ", "{a: spaced  out}"),
        ("a: two\n  lines", "{a: two lines}"),
    ]);
}

#[test]
fn quoted_and_block_text_is_text() {
    check(&[
        ("a: '1'", "{a: \"1\"}"),
        ("a: \"1\"", "{a: \"1\"}"),
        ("a: ''", "{a: \"\"}"),
        ("a: 'it''s'", "{a: \"it's\"}"),
        ("a: \"x\\ty\\u00e9\"", "{a: \"x\\tyé\"}"),
        ("a: \"~\"", "{a: \"~\"}"),
        ("'a': 1", "{a: 1}"),
        ("\"a b\": 1", "{a b: 1}"),
        ("'<<': 1", "{<<: 1}"),
        ("a: |\n  x\n  y\n", "{a: \"x\\ny\\n\"}"),
        ("a: |-\n  x\n", "{a: \"x\"}"),
        ("a: >\n  x\n  y\n", "{a: \"x y\\n\"}"),
        ("a: \"x\n  y\"", "{a: \"x y\"}"),
    ]);
}

#[test]
fn structures_are_read_in_both_styles() {
    check(&[
        ("a: [1, 2]", "{a: [1, 2]}"),
        ("a: [1, 2,]", "{a: [1, 2]}"),
        ("a: []", "{a: []}"),
        ("a: {}", "{a: {}}"),
        ("a: { b: 1, c: [2] }", "{a: {b: 1, c: [2]}}"),
        ("a: {b: 1,}", "{a: {b: 1}}"),
        ("a: { b, c: }", "{a: {b: , c: }}"),
        ("a:\n- 1\n- 2\n", "{a: [1, 2]}"),
        ("a:\n  - b: 1\n    c: 2\n  - d\n", "{a: [{b: 1, c: 2}, d]}"),
        ("- 1\n-\n- - 2\n", "[1, , [2]]"),
        ("a:\n  b:\n    c: 1\n  d: 2\n", "{a: {b: {c: 1}, d: 2}}"),
        ("a: [\n  1,\n  2\n]\nb: 3\n", "{a: [1, 2], b: 3}"),
        ("[a: b, c]", "[{a: b}, c]"),
        ("? a\n: b\n", "{a: b}"),
        ("player.prefetch: [1, 3]", "{player.prefetch: [1, 3]}"),
        ("hello", "hello"),
        ("a:b", "a:b"),
    ]);
}

#[test]
fn what_surrounds_the_document_is_accepted_or_refused() {
    check(&[
        ("---\na: 1\n...\n", "{a: 1}"),
        ("# c\n\na: 1 # d\n# e\n", "{a: 1}"),
        ("a: 1\r\nb:\r\n  - 2\r\n", "{a: 1, b: [2]}"),
        ("a: 1\n---\nb: 2\n", "yaml-documents 2:1"),
        ("a: 1\n...\n---\nb: 2\n", "yaml-documents 3:1"),
        ("%YAML 1.2\n---\na: 1\n", "yaml-syntax 1:1"),
        ("%TAG ! tag:x,2000:\n---\na: 1\n", "yaml-syntax 1:1"),
        ("", "empty-file 1:1"),
        ("   \n", "empty-file 1:1"),
        ("null\n", "empty-file 1:1"),
        ("a: \u{7}", "control-character 1:4"),
        ("a: \u{85}", "control-character 1:4"),
        ("a: 1\n\u{feff}b: 2\n", "yaml-syntax 2:1"),
    ]);
}

#[test]
fn features_that_hide_meaning_are_refused() {
    check(&[
        ("a: !!str 5", "yaml-tag 1:4"),
        ("a: !x [1]\n!y b: 2\n", "yaml-tag 1:4, yaml-tag 2:1"),
        ("a: !\n  b: 1\n", "yaml-tag 1:4"),
        ("a: {x: 1}\nb:\n  <<: {y: 2}\n  z: 1\n", "yaml-merge-key 3:3"),
        ("a: 1\nb: 2\na: 3\nb: 4\n", "duplicate-key 3:1, duplicate-key 4:1"),
        ("a: { b: 1, 'b': 2 }", "duplicate-key 1:12"),
        ("? [a]\n: 1\n", "yaml-key 1:3"),
        ("{a: 1}: 2\n", "yaml-key 1:1"),
        (": 1\n", "yaml-key 1:1"),
        ("'': 1\n", "yaml-key 1:1"),
    ]);
    let many: String = (0..40).map(|i| format!("k{i}: {i}\n")).collect();
    check(&[(&format!("{many}k3: 1\nk39: 2\n"), "duplicate-key 41:1, duplicate-key 42:1")]);
}

#[test]
fn aliases_repeat_what_they_name() {
    check(&[
        ("a: &x 1\nb: *x\n", "{a: 1, b: 1}"),
        ("a: &x { c: [1] }\nb: [*x, *x]\n", "{a: {c: [1]}, b: [{c: [1]}, {c: [1]}]}"),
        ("a: &x 1\nb: &x 2\nc: *x\n", "{a: 1, b: 2, c: 2}"),
        ("a: &x b\n*x : 1\n", "{a: b, b: 1}"),
        ("a: *x\n", "yaml-alias 1:4"),
        ("a: &x [*x]\n", "yaml-alias 1:8"),
        ("a: *.txt\n", "yaml-alias 1:4"),
    ]);
}

#[test]
fn mistakes_are_found_where_they_are() {
    check(&[
        ("a:\n\tb: 1\n", "yaml-tab 2:1"),
        ("a: |\n\tx\n", "yaml-tab 2:1"),
        ("a:\n  b: 1\n\tc: 2\n", "yaml-tab 3:1"),
        ("a: b: c\n", "yaml-syntax 1:5"),
        ("a: 1\n b: 2\n", "yaml-syntax 2:3"),
        ("a:\n  - b\n c: 1\n", "yaml-syntax 3:2"),
        ("  a: 1\nb: 2\n", "yaml-syntax 2:1"),
        ("a: - b\n", "yaml-syntax 1:4"),
        ("a: 1\nb\nc: 2\n", "yaml-syntax 2:1"),
        ("a: [1, 2\nb: 3\n", "yaml-syntax 1:4"),
        ("a:\n  b: [1, { c: 2 ]\n", "yaml-syntax 2:10"),
        ("a: {b: 1\nc: 2\n", "yaml-syntax 1:4"),
        ("a: {b: 1", "yaml-syntax 1:4"),
        ("a: [1, {b: 2\n\n", "yaml-syntax 1:8"),
        ("a: {b: c d: e}\n", "yaml-syntax 1:11"),
        ("a: ]\n", "yaml-syntax 1:4"),
        ("a: \"x\nb: 1\n", "yaml-syntax 1:4"),
        ("a: 'x\n", "yaml-syntax 1:4"),
        ("a: 'x' y\n", "yaml-syntax 1:8"),
        ("a: \"\\q\"\n", "yaml-syntax 1:4"),
        ("a: %x\n", "yaml-syntax 1:4"),
        ("a: @x\n", "yaml-syntax 1:4"),
        ("a: `x`\n", "yaml-syntax 1:4"),
    ]);
}

#[test]
fn spans_are_the_exact_bytes() {
    let text = "ä: 'ö' # c\nlist:\n- [1, {b: two words } ]\n-  'x'\nempty:\nblock:\n  k: v  \n\n\nlast: |\n  t\n";
    let mut diagnostics = Diagnostics::default();
    let root = parse(text, 3, 0, &mut diagnostics).unwrap();
    let of = |span: Span| &text[span.start as usize..span.end as usize];
    let at = |path: &str| {
        let mut node = &root;
        for key in path.split('.') {
            node = match key.parse::<usize>() {
                Ok(i) => &node.items().unwrap()[i],
                Err(_) => node.get(key).unwrap(),
            };
        }
        of(node.span)
    };
    assert_eq!(at("ä"), "'ö'");
    assert_eq!(at("list.0"), "[1, {b: two words } ]");
    assert_eq!(at("list.0.1"), "{b: two words }");
    assert_eq!(at("list.0.1.b"), "two words");
    assert_eq!(at("list.1"), "'x'");
    assert_eq!(at("empty"), "empty", "what is not there is shown by its key");
    assert_eq!(at("block"), "k: v", "without the empty lines after it");
    assert!(at("last").starts_with("t"));
    assert!(root.entries().unwrap().iter().all(|e| of(e.key_span) == e.key && e.key_span.source == 3));
}

#[test]
fn a_part_of_a_source_is_read_at_its_offset() {
    let mut diagnostics = Diagnostics::default();
    let text = "runs=[1, x]";
    let node = parse(&text[5..], 1, 5, &mut diagnostics).unwrap();
    let item = node.items().unwrap()[1].span;
    assert_eq!((item.source, &text[item.start as usize..item.end as usize]), (1, "x"));
    assert!(parse("", 1, 5, &mut diagnostics).is_none());
}

#[test]
fn other_places_of_a_problem_are_named() {
    let mut diagnostics = Diagnostics::default();
    parse("a: [1\nb: 2\na: 3", 0, 0, &mut diagnostics);
    let found = diagnostics.into_items();
    assert_eq!(found[0].message, "`[` is not closed");
    assert_eq!(found[0].related[0].1, "noticed here");
}
