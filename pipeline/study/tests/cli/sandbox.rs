//! A folder of its own for each test, and the binary in it.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A study that goes through all kinds in a moment.
pub const SMALL: &str = "\
study: small
title: A small study
seed: 11
runs: 3
links:
  last_mile: { symmetric: true, rtt: 40 ms, rate: 10 Mbit/s, loss: { bernoulli: { rate: 1 % } } }
  origin: { symmetric: true, rtt: 100 ms, rate: 1 Gbit/s }
arms:
  h2: { protocol: h2, congestion_control: cubic }
  h3: { protocol: h3, congestion_control: cubic }
stages:
  catalog: { kind: catalog, titles: 4, popularity: { zipf: 0.8 }, segment: 4 s, duration: 12 s, ladder: go_simulator }
  routing:
    kind: routing
    needs: [catalog]
    clients: 3
    geos: { europe: 1 }
    arrivals: { uniform: 10 s }
    policy: latency_based
    edges: { europe: { geo: europe, client_link: last_mile, origin_link: origin } }
  experience:
    kind: simulate
    mode: modeled
    needs: [catalog, routing]
    arms: [h2, h3]
    player: { abr: bba, prefetch: 2, decisions: closed_loop }
    cache: { policy: lru, size: 256 MiB }
  transport:
    like: experience
    player: { decisions: { replay: h2 } }
    matrix: { scheduler: [round_robin, sequential] }
  aggregate: { kind: aggregate, needs: [experience, transport] }
  bootstrap: { kind: bootstrap, needs: [aggregate], resamples: 100, unit: run }
  report: { kind: report, needs: [experience, transport, aggregate, bootstrap] }
ci: { runs: 2 }
";

/// Nodes of [`SMALL`]: seven stages, one of them with two cells.
pub const NODES: u64 = 8;

/// A folder that vanishes with the test.
pub struct Sandbox(TempDir);

/// What the binary said.
#[derive(Debug)]
pub struct Ran {
    /// Its exit code; nothing when a signal ended it.
    pub code: Option<i32>,
    /// Data.
    pub stdout: String,
    /// Everything else.
    pub stderr: String,
}

impl Sandbox {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
    /// With [`SMALL`] as `small.yaml`.
    pub fn small() -> Self {
        let sandbox = Self::new();
        sandbox.write("small.yaml", SMALL.as_bytes());
        sandbox
    }
    pub fn path(&self) -> &Path {
        self.0.path()
    }
    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }
    /// The binary in this folder, without what the tester's environment says about colours and stores.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_study"));
        command.args(arguments).current_dir(self.path());
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "STUDY_STORE", "CI"] {
            command.env_remove(name);
        }
        command
    }
    /// Runs it to its end.
    pub fn study(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command(arguments).output().unwrap())
    }
    /// Runs it, and expects that all is well.
    pub fn ok(&self, arguments: &[&str]) -> Ran {
        let ran = self.study(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        ran
    }
    /// Names in this folder.
    pub fn names(&self) -> Vec<String> {
        names(self.path())
    }
}

/// Names in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Ran {
    /// Stdout as one JSON document.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
    /// Stdout as one JSON document: digest of every output by node and name.
    pub fn digests(&self) -> BTreeMap<String, String> {
        let document = self.json();
        let mut digests = BTreeMap::new();
        for node in document["nodes"].as_array().unwrap() {
            for output in node["outputs"].as_array().unwrap() {
                let name = format!("{}.{}", node["id"].as_str().unwrap(), output["name"].as_str().unwrap());
                digests.insert(name, output["digest"].as_str().unwrap().to_owned());
            }
        }
        digests
    }
    /// Ids of the nodes in a state, from the JSON document.
    pub fn nodes_that_are(&self, state: &str) -> Vec<String> {
        let document = self.json();
        let nodes = document["nodes"].as_array().unwrap();
        nodes.iter().filter(|n| n["state"] == state).map(|n| n["id"].as_str().unwrap().to_owned()).collect()
    }
}

/// The repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}
