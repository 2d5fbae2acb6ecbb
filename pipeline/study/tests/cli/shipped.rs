//! The studies of this repository.

use crate::sandbox::{Sandbox, names, repository};

fn studies() -> Vec<String> {
    let folder = repository().join("studies");
    let yaml = names(&folder).into_iter().filter(|name| name.ends_with(".yaml"));
    yaml.map(|name| folder.join(name).to_string_lossy().into_owned()).collect()
}

#[test]
fn every_shipped_study_is_valid_in_full_and_in_its_small_variant() {
    let sandbox = Sandbox::new();
    let studies = studies();
    assert!(!studies.is_empty());
    for study in &studies {
        sandbox.ok(&["check", study]);
        let has_variant = std::fs::read_to_string(study).unwrap().lines().any(|line| line.starts_with("ci:"));
        if has_variant {
            sandbox.ok(&["check", study, "--variant", "ci"]);
        }
        sandbox.ok(&["plan", study]);
    }
    assert!(sandbox.names().is_empty());
}

#[test]
fn studies_in_the_readme_are_valid() {
    let Ok(readme) = std::fs::read_to_string(repository().join("README.md")) else { return };
    let sandbox = Sandbox::new();
    for (i, block) in readme.split("```yaml\n").skip(1).enumerate() {
        let text = block.split("```").next().unwrap();
        // Fragments explain one key; whole studies are checked.
        if text.lines().any(|line| line.starts_with("study:")) {
            let name = format!("readme-{i}.yaml");
            sandbox.write(&name, text.as_bytes());
            sandbox.ok(&["check", &name]);
        }
    }
}

#[test]
fn the_smoke_study_goes_through_every_stage() {
    let sandbox = Sandbox::new();
    let smoke = repository().join("studies/smoke.yaml");
    let ran = sandbox.ok(&["run", smoke.to_str().unwrap(), "--json"]);
    assert_eq!(ran.json()["failed"], 0, "{ran:?}");
    assert!(ran.json()["executed"].as_u64().unwrap() >= 7, "{ran:?}");
}
