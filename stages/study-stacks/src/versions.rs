//! Versions of the libraries that a build of this crate is made of, from its lock file.

const LOCK: &str = include_str!("../../../Cargo.lock");

/// `name version` of each of the packages, in this order; a package that is not in the build is left out.
pub(crate) fn versions(packages: &[&str]) -> String {
    let version = |package: &&str| {
        let at = LOCK.find(&format!("name = \"{package}\"\nversion = \""))?;
        let rest = LOCK[at..].split('"').nth(3)?;
        Some(format!("{package} {rest}"))
    };
    packages.iter().filter_map(version).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_the_build_have_versions() {
        assert!(versions(&["quinn"]).starts_with("quinn 0."));
        assert_eq!(versions(&["no-such-package"]), "");
    }
}
