//! Which folders are stores.

use super::{fresh, put_action};
use std::fs;
use study_store::{Store, StoreError};

#[test]
fn a_newer_format_is_refused_and_nothing_is_written() {
    let (dir, store) = fresh();
    let root = store.dir().to_owned();
    drop(store);
    fs::write(root.join("VERSION"), "7\n").unwrap();
    let before = super::files_below(dir.path());
    for refused in [Store::open(&root).map(|_| ()), Store::open_existing(&root).map(|_| ())] {
        let error = refused.unwrap_err();
        assert!(matches!(error, StoreError::NewerFormat { found: 7, known: 1, .. }), "{error}");
        assert!(error.to_string().contains("format 7") && error.help().unwrap().contains("--store"));
    }
    assert_eq!(super::files_below(dir.path()), before);
}

#[test]
fn a_folder_of_something_else_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thesis.tex"), "years of work").unwrap();
    let error = Store::open(dir.path()).unwrap_err();
    assert!(error.to_string().contains("`thesis.tex`"), "{error}");
    assert_eq!(super::files_below(dir.path()).len(), 1, "nothing was added");
    let error = Store::open(&dir.path().join("thesis.tex")).unwrap_err();
    assert!(error.to_string().contains("it is a file"), "{error}");
    fs::create_dir(dir.path().join("s")).unwrap();
    fs::write(dir.path().join("s/VERSION"), "one").unwrap();
    assert!(matches!(Store::open(&dir.path().join("s")), Err(StoreError::NotAStore { .. })));
}

#[test]
fn looking_for_a_store_makes_none() {
    let dir = tempfile::tempdir().unwrap();
    let absent = dir.path().join("absent");
    assert!(Store::open_existing(&absent).unwrap().is_none());
    assert!(!absent.exists());
    assert!(Store::open_existing(dir.path()).unwrap().is_none(), "an empty folder is no store");
    // Killed while it was being made: the next one carries on.
    fs::write(dir.path().join("VERSION.4711"), "").unwrap();
    assert!(Store::open_existing(dir.path()).unwrap().is_none());
    Store::open(dir.path()).unwrap();
    assert!(Store::open_existing(dir.path()).unwrap().is_some());
}

#[test]
fn spaces_and_letters_of_any_language_are_fine_in_paths_and_names() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("Übung 3 – 研究/mein store");
    let store = Store::open(&root).unwrap();
    let (key, record) = put_action(&store, "a", b"content");
    store.remember("Studie α / ../β", "transport[x=1,y=größer als]", &key).unwrap();
    drop(store);
    let store = Store::open(&root).unwrap();
    assert_eq!(store.record(&key).unwrap().unwrap(), record);
    assert_eq!(store.last_key("Studie α / ../β", "transport[x=1,y=größer als]"), Some(key));
    assert_eq!(store.last_key("Studie α / ../β", "transport[x=1,y=kleiner als]"), None);
    let outside: Vec<_> = super::files_below(dir.path()).into_iter().filter(|p| !p.starts_with(&root)).collect();
    assert!(outside.is_empty(), "{outside:?}");
}
