//! Fingerprints of the source behind each stage kind, so that a contributor never sees a stale result.
//!
//! A build that is not a release mixes them into the keys. They cover the files of the kind's own module, the crates of
//! its row, and the lock file; a release keys on the kind's semantic version alone.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

macro_rules! stage_kinds {
    ($($module:ident :: $kind:ident => $name:ident [$($dependency:literal),* $(,)?];)*) => {
        const ROWS: &[(&str, &str, &[&str])] = &[$((stringify!($module), stringify!($name), &[$($dependency),*])),*];
    };
}
include!("src/registry.rs");

const FLOORS: &[&str] = &["netem", "stages", "reports", "cache-store", "pipeline"];

fn main() {
    println!("cargo:rerun-if-env-changed=STUDY_RELEASE");
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = here.join("../..");
    let mut code = String::new();
    for (module, name, dependencies) in ROWS {
        let mut files = vec![root.join("Cargo.lock"), here.join("src").join(format!("{module}.rs"))];
        files.extend(rust_files(&here.join("src").join(module)));
        for dependency in *dependencies {
            // Another kind's module that this one builds on.
            if !dependency.starts_with("study-") {
                files.push(here.join("src").join(format!("{dependency}.rs")));
                files.extend(rust_files(&here.join("src").join(dependency)));
                continue;
            }
            let folder = FLOORS.iter().map(|floor| root.join(floor).join(dependency)).find(|p| p.is_dir());
            let folder = folder.unwrap_or_else(|| panic!("no crate `{dependency}`, named in src/registry.rs"));
            files.extend(rust_files(&folder.join("src")));
        }
        let digest = fingerprint(&root, &files);
        writeln!(code, "/// Source behind the kind `{module}`.\npub const {name}: &str = \"{digest}\";").expect("text");
    }
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("cargo sets it"));
    std::fs::write(out.join("fingerprint.rs"), code).expect("the build folder can be written");
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn fingerprint(root: &Path, files: &[PathBuf]) -> String {
    let mut hasher = blake3::Hasher::new();
    for file in files {
        println!("cargo:rerun-if-changed={}", file.display());
        let name = file.strip_prefix(root).unwrap_or(file).to_string_lossy().replace('\\', "/");
        let content = std::fs::read(file).unwrap_or_default();
        hasher.update(name.as_bytes()).update(&(content.len() as u64).to_le_bytes()).update(&content);
    }
    hasher.finalize().to_hex()[..24].to_owned()
}
