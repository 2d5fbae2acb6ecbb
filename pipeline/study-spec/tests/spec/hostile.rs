//! Texts that are made to hurt.

use crate::{problems, registry::REGISTRY};
use study_spec::{Options, load};

fn codes(text: &[u8]) -> Vec<(String, usize, usize)> {
    let loaded = load(&REGISTRY, "x.yaml", text, &Options::default());
    assert!(loaded.study.is_none());
    let place = |d: &study_tree::Diagnostic| loaded.sources.line_column(d.span);
    loaded.diagnostics.sorted().iter().map(|d| (d.code.to_owned(), place(d).0, place(d).1)).collect()
}

#[test]
fn deep_nesting_is_refused_at_its_place() {
    for (open, close) in [("[", "]"), ("{a: ", "}"), ("- ", ""), ("? ", ""), ("[{a: ", "}]")] {
        let text = format!("study: x\nstages:\n  a:\n    {}1{}\n", open.repeat(100_000), close.repeat(100_000));
        let found = codes(text.as_bytes());
        assert_eq!(found.len(), 1, "{open}");
        assert!(found[0].0 == "yaml-depth" && found[0].1 == 4, "{open} {found:?}");
    }
    let deep = |n: usize| format!("study: x\nstages: {}1{}\n", "[".repeat(n), "]".repeat(n));
    assert!(problems(&deep(63))[0].starts_with("missing-key"), "64 levels are read");
    assert!(problems(&deep(64))[0].starts_with("yaml-depth 2:72 "), "65 are not");
}

#[test]
fn a_bomb_is_refused_at_the_alias_that_goes_too_far() {
    let mut text = String::from("study: x\na0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for i in 1..10 {
        let row = vec![format!("*a{}", i - 1); 9].join(", ");
        text.push_str(&format!("a{i}: &a{i} [{row}]\n"));
    }
    let found = codes(text.as_bytes());
    assert_eq!(found.len(), 1);
    assert!(found[0].0 == "yaml-budget" && (7..=9).contains(&found[0].1), "{found:?}");
}

#[test]
fn nested_anchors_and_many_aliases_are_bounded() {
    let many = format!("study: x\na: &a 1\nb: [{}]\n", vec!["*a"; 1001].join(", "));
    assert_eq!(codes(many.as_bytes()), [("yaml-budget".into(), 3, 5 + 1000 * 4)]);
    let open: String = (0..60).map(|i| format!("&x{i} [")).collect();
    let inner = vec!["1"; 50_000].join(",");
    let nested = format!("study: x\na: {open}{inner}{}\n", "]".repeat(60));
    assert_eq!(codes(nested.as_bytes())[0].0, "yaml-budget", "60 copies of 50,000 values");
    let deep = format!("a: &a {}1{}\nb: {}*a{}\n", "[".repeat(40), "]".repeat(40), "[".repeat(40), "]".repeat(40));
    assert_eq!(codes(deep.as_bytes())[0].0, "yaml-depth", "an alias cannot nest deeper than brackets can");
}

#[test]
fn files_that_are_no_text_are_refused() {
    assert_eq!(codes(b"study: x\ntitle: caf\xe9\n"), [("not-utf8".into(), 2, 11)]);
    assert_eq!(codes(b"\xff\xfes\0t\0"), [("not-utf8".into(), 1, 1)]);
    assert_eq!(codes(b"study: x\nstages\0: 1\n"), [("control-character".into(), 2, 7)]);
    assert_eq!(codes(b"study: \x1b[31mx\n"), [("control-character".into(), 1, 8)]);
    assert_eq!(codes(&vec![b' '; 16 * 1024 * 1024 + 1]), [("yaml-budget".into(), 1, 1)]);
    for empty in ["", "\n\n", "# nothing\n", "---\n", "~\n", "\u{feff}"] {
        assert_eq!(codes(empty.as_bytes()), [("empty-file".into(), 1, 1)], "{empty:?}");
    }
}

#[test]
fn a_byte_order_mark_and_crlf_are_accepted() {
    let text = "\u{feff}study: s\r\nstages:\r\n  c: { kind: catalog, titles: 1, segment: 4 s, durration: 8 s }\r\n";
    assert_eq!(codes(text.as_bytes()), [("missing-key".into(), 3, 6), ("unknown-key".into(), 3, 48)]);
    let text = "\u{feff}stady: s\nstages: {}\n";
    assert!(codes(text.as_bytes()).contains(&("unknown-key".into(), 1, 1)), "the mark is not a column");
}

#[test]
fn no_prefix_of_a_study_and_no_deleted_byte_brings_the_reader_down() {
    let text = crate::STUDY.as_bytes();
    for end in 0..text.len() {
        let _ = load(&REGISTRY, "x", &text[..end], &Options::default());
    }
    for at in (0..text.len()).step_by(3) {
        let mut shorter = text.to_vec();
        shorter.remove(at);
        let loaded = load(&REGISTRY, "x", &shorter, &Options::default());
        assert_eq!(loaded.study.is_none(), loaded.diagnostics.has_errors());
    }
}
