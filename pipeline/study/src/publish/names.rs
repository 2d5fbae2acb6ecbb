//! File names for nodes.

use std::collections::{BTreeMap, BTreeSet};
use study_ident::Digest;

/// Longest part of a file name that comes from a node's id; file systems allow 255 bytes with the ending.
const LONGEST: usize = 120;

/// A file name for each node's id: readable, safe in a shell and on every file system, and different for different ids.
///
/// `transport[player.prefetch=1,scheduler=sequential]` becomes `transport.player.prefetch-1.scheduler-sequential`.
pub fn of_nodes<'i>(ids: impl Iterator<Item = &'i str>) -> BTreeMap<&'i str, String> {
    let readable: BTreeMap<&str, String> = ids.map(|id| (id, readable(id))).collect();
    let mut seen = BTreeSet::new();
    // Some file systems do not tell `A` from `a`.
    let repeated: BTreeSet<String> =
        readable.values().map(|name| name.to_lowercase()).filter(|name| !seen.insert(name.clone())).collect();
    let distinct = |id: &str, name: String| {
        if repeated.contains(&name.to_lowercase()) {
            format!("{name}-{}", &Digest::of(id.as_bytes()).to_string()[..8])
        } else {
            name
        }
    };
    readable.into_iter().map(|(id, name)| (id, distinct(id, name))).collect()
}

fn readable(id: &str) -> String {
    let mut name = String::with_capacity(id.len());
    for c in id.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == '_' => name.push(c),
            '[' | ',' | '.' => name.push('.'),
            ']' => {}
            _ => name.push('-'),
        }
    }
    let name = name.trim_matches(['.', '-']);
    if name.is_empty() {
        return "node".to_owned();
    }
    if name.len() > LONGEST {
        return format!("{}-{}", &name[..LONGEST], &Digest::of(id.as_bytes()).to_string()[..8]);
    }
    name.to_owned()
}

/// Whether a stage's file may be published under its path: relative, and inside the results.
pub fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && path.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.contains(['\\', ':', '\0']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_keep_readable_names() {
        let ids = ["experience", "transport[player.prefetch=1,scheduler=sequential]", "x[loss=3.6 %]"];
        let names = of_nodes(ids.into_iter());
        assert_eq!(names[ids[0]], "experience");
        assert_eq!(names[ids[1]], "transport.player.prefetch-1.scheduler-sequential");
        assert_eq!(names[ids[2]], "x.loss-3.6");
    }

    #[test]
    fn different_ids_never_share_a_name() {
        let long = "x".repeat(500);
        let longer = format!("{long}x");
        let ids = ["a", "A", "x[a=1]", "x[a/1]", "x.a-1", "..", "", "ü", "ö", &long, &longer];
        let names: BTreeSet<String> = of_nodes(ids.into_iter()).values().map(|name| name.to_lowercase()).collect();
        assert_eq!(names.len(), ids.len(), "{names:?}");
        assert!(names.iter().all(|name| name.len() < 140 && !name.starts_with('.')));
    }

    #[test]
    fn paths_out_of_the_results_are_refused() {
        assert!(is_inside("figures/fig_cdf.svg"));
        for path in ["", "/etc/x", "../x", "a/../../x", "a//b", "a\\b", "c:x"] {
            assert!(!is_inside(path), "{path}");
        }
    }
}
