//! `study node`: roles in processes of their own, over loopback.

use crate::sandbox::{Ran, Sandbox};
use crate::user::{Stage, is_alive, is_root, within_half_a_minute};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

const STACKS: [&str; 2] = ["h2-hyper", "h3-quinn"];

/// What every role is told: the stack, a controller that any user may ask for, and the shared file.
fn common(stack: &'static str) -> Vec<&'static str> {
    vec!["--stack", stack, "--congestion-control", "newreno", "--credentials", "credentials.json"]
}

/// A server that takes connections; killed when the test forgets it.
struct Node {
    child: Child,
    stdout: BufReader<ChildStdout>,
    address: String,
}

impl Node {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: `{line}`"));
        assert_eq!(ready["event"], "ready", "{ready}");
        Self { child, stdout, address: ready["address"].as_str().unwrap().to_owned() }
    }
    fn server(sandbox: &Sandbox, role: &str, stack: &'static str, more: &[&str]) -> Self {
        let mut arguments = vec!["node", role];
        arguments.extend(common(stack));
        arguments.extend(more);
        Self::start(sandbox.command(&arguments))
    }
    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap().success());
    }
    /// Ends it: its exit code and its last line.
    fn end(mut self, signal: &str) -> (Option<i32>, Value) {
        self.signal(signal);
        let mut text = String::new();
        self.stdout.read_to_string(&mut text).unwrap();
        let code = self.child.wait().unwrap().code();
        (code, serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: `{text}`")))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Runs a client with settings on its stdin.
fn client(sandbox: &Sandbox, stack: &'static str, server: &str, settings: &str) -> Ran {
    let mut arguments = vec!["node", "client", "--connect", server, "--settings", "-"];
    arguments.extend(common(stack));
    fed(sandbox.command(&arguments), settings)
}

fn fed(mut command: Command, settings: &str) -> Ran {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(settings.as_bytes()).unwrap();
    Ran::from(child.wait_with_output().unwrap())
}

/// The lines of one event.
fn events(ran: &Ran, event: &str) -> Vec<Value> {
    let lines = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["event"] == event).collect()
}

#[test]
fn a_chain_of_four_processes_caches_and_tells_what_it_did() {
    for stack in STACKS {
        let sandbox = Sandbox::new();
        let origin = Node::server(&sandbox, "origin", stack, &["--set", "processing=3 ms"]);
        let shield = Node::server(&sandbox, "shield", stack, &["--upstream", &origin.address]);
        // One object of the three fits.
        let small = ["--upstream", &shield.address, "--set", "cache.size=60 kB", "--set", "cache.policy=lru"];
        let edge = Node::server(&sandbox, "edge", stack, &small);
        let paths = r#"{ "paths": ["/object/1/0/0?bytes=50000", "/object/1/1/0?bytes=50000", "/object/1/1/0?bytes=50000",
            "/object/1/0/0?bytes=50000", "/health", "/stats"], "depth": 1 }"#;
        let ran = client(&sandbox, stack, &edge.address, paths);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let fetched = events(&ran, "fetch");
        let caches: Vec<&str> = fetched.iter().take(4).map(|row| row["headers"]["x-cache"].as_str().unwrap()).collect();
        assert_eq!(caches, ["miss", "miss", "hit", "miss"], "the edge holds one object: {ran:?}");
        assert_eq!(fetched[3]["headers"]["x-upstream-cache"], "hit", "the shield holds all: {ran:?}");
        assert!(fetched[..4].iter().all(|row| row["verified"] == true && row["bytes"] == 50_000), "{ran:?}");
        assert_eq!(fetched[4]["text"], "ok");
        let stats: Value = serde_json::from_str(fetched[5]["text"].as_str().unwrap()).unwrap();
        assert_eq!((&stats["hits"], &stats["misses"], &stats["objects"]), (&1.into(), &3.into(), &1.into()));
        let processing = fetched[0]["headers"]["x-server-us"].as_str().unwrap().parse::<u64>().unwrap();
        assert!(processing >= 3_000, "the origin's 3 ms are in it: {processing}");
        let end = &events(&ran, "end")[0];
        assert_eq!(end["handshake"]["kind"], "full", "{end}");
        assert!(end["counters"].is_object() && !end["readbacks"].as_array().unwrap().is_empty(), "{end}");
        for (node, requests, hits) in [(edge, 4, 1), (shield, 3, 1), (origin, 2, 0)] {
            let (code, last) = node.end("-TERM");
            assert_eq!((code, &last["event"]), (Some(0), &"stats".into()), "{last}");
            assert_eq!((&last["stats"]["requests"], &last["stats"]["hits"]), (&requests.into(), &hits.into()));
            assert!(last["connections"][0]["closed_ns"].is_u64() || last["role"] != "edge", "{last}");
        }
        assert_eq!(sandbox.names(), ["credentials.json"]);
    }
}

#[test]
fn a_client_plays_a_title_with_a_player() {
    for stack in STACKS {
        let sandbox = Sandbox::new();
        let origin = Node::server(&sandbox, "origin", stack, &["--set", "bdp=100 kB"]);
        let title = r#"{ "bdp": "100 kB", "title": { "number": 3, "duration": "10 s", "segment": "4 s",
            "rungs": ["200 kbit/s", "400 kbit/s"], "pacing": "back_to_back",
            "player": { "prefetch": 1, "max_buffer": "5 s", "decisions": { "fixed_rung": 1 } } } }"#;
        let ran = client(&sandbox, stack, &origin.address, title);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let rows = events(&ran, "fetch");
        let bytes: Vec<u64> = rows.iter().map(|row| row["bytes"].as_u64().unwrap()).collect();
        assert_eq!(bytes, [200_000, 200_000, 100_000]);
        assert!(rows.iter().all(|row| row["rung"] == 1 && row["verified"] == true), "{ran:?}");
        assert!(rows[0]["path"].as_str().unwrap().starts_with("/object/3/0/1?"), "{ran:?}");
        let session = &events(&ran, "end")[0]["session"];
        assert_eq!((&session["completed"], &session["played_us"]), (&true.into(), &10_000_000.into()), "{session}");
        assert!(session["wall_us"].as_u64().unwrap() >= 10_000_000, "the player's clock, not the machine's: {session}");
    }
}

#[test]
fn what_a_machine_lacks_is_exit_3_with_what_to_do() {
    let sandbox = Sandbox::new();
    let missing = client(&sandbox, "h2-hyper", "127.0.0.1:1", r#"{ "paths": ["/health"] }"#);
    assert!(missing.code == Some(3) && missing.stderr.contains("start a server first"), "{missing:?}");
    for stack in STACKS {
        let origin = Node::server(&sandbox, "origin", stack, &[]);
        let mut arguments = vec!["node", "origin", "--listen", &origin.address];
        arguments.extend(common(stack));
        let taken = sandbox.study(&arguments);
        assert_eq!(taken.code, Some(3), "{taken:?}");
        assert!(taken.stderr.contains(&format!("address `{}` is taken", origin.address)), "{taken:?}");
        assert!(taken.stderr.contains("help: end the program that listens there"), "{taken:?}");
    }
    let control = ["node", "origin", "--stack", "h2-hyper", "--congestion-control", "fixed", "--credentials", "x"];
    let control = sandbox.study(&control);
    assert!(control.code == Some(3) && control.stderr.contains("has no congestion control `fixed`"), "{control:?}");
    std::fs::set_permissions(
        sandbox.path().join("credentials.json"),
        std::os::unix::fs::PermissionsExt::from_mode(0o644),
    )
    .unwrap();
    let open = client(&sandbox, "h2-hyper", "127.0.0.1:1", r#"{ "paths": ["/health"] }"#);
    assert!(open.code == Some(3) && open.stderr.contains("private key"), "{open:?}");
}

#[test]
fn wrong_settings_are_exit_2_all_at_once_and_at_their_place() {
    let sandbox = Sandbox::new();
    let bare = sandbox.study(&["node", "origin", "--credentials", "c"]);
    assert_eq!(bare.code, Some(2), "{bare:?}");
    for key in ["`stack` is missing", "`congestion_control` is missing"] {
        assert!(bare.stderr.contains(key), "{key} in {bare:?}");
    }
    let both = client(&sandbox, "h3-quinn", "127.0.0.1", "{ \"paths\": [\"/health\"], \"depht\": 3 }");
    assert_eq!(both.code, Some(2), "{both:?}");
    for part in ["stdin:1:25", "did you mean `depth`?", "`127.0.0.1` is no address with a port", "--connect:1:1"] {
        assert!(both.stderr.contains(part), "{part} in {both:?}");
    }
    let falling = r#"{ "title": { "duration": "8 s", "segment": "4 s", "rungs": ["2 Mbit/s", "1 Mbit/s"] } }"#;
    let falling = client(&sandbox, "h3-quinn", "127.0.0.1:1", falling);
    assert!(falling.code == Some(2) && falling.stderr.contains("must rise strictly"), "{falling:?}");
    let replay = r#"{ "title": { "duration": "8 s", "segment": "4 s", "rungs": ["1 Mbit/s"],
        "player": { "decisions": { "replay": "h2" } } } }"#;
    let replay = client(&sandbox, "h3-quinn", "127.0.0.1:1", replay);
    assert!(replay.code == Some(2) && replay.stderr.contains("no other arm"), "{replay:?}");
    let nothing = client(&sandbox, "h3-quinn", "127.0.0.1:1", "");
    assert!(nothing.code == Some(2) && nothing.stderr.contains("exactly one of them"), "{nothing:?}");
    assert!(sandbox.names().is_empty(), "nothing was made: {:?}", sandbox.names());
}

#[test]
fn a_server_that_is_killed_gives_rows_and_exit_4() {
    for stack in STACKS {
        let sandbox = Sandbox::new();
        let origin = Node::server(&sandbox, "origin", stack, &[]);
        let settings = r#"{ "paths": ["/object/0/0/0?bytes=1000", "/object/0/1/0?bytes=900000000000"], "idle_timeout": "2 s", "depth": 1 }"#;
        let mut arguments = vec!["node", "client", "--connect", &origin.address, "--settings", "-"];
        arguments.extend(common(stack));
        let mut command = sandbox.command(&arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(settings.as_bytes()).unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut said = String::new();
        while !said.contains("\"fetch\"") {
            assert!(stdout.read_line(&mut said).unwrap() > 0, "{said}");
        }
        let server = origin.child.id();
        drop(origin);
        stdout.read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(4), "{said}");
        let ran = Ran { code: Some(4), stdout: said, stderr: String::new() };
        let rows = events(&ran, "fetch");
        assert!(rows.len() == 2 && rows[0]["error"].is_null() && rows[1]["error"]["code"].is_string(), "{rows:?}");
        assert_eq!(events(&ran, "end")[0]["failed"], 1);
        assert!(!is_alive(server));
        assert_eq!(
            sandbox.names(),
            ["credentials.json"],
            "kill -9 leaves the file that was asked for, and nothing else"
        );
    }
}

#[test]
fn a_role_ends_with_the_process_that_it_was_told() {
    let sandbox = Sandbox::new();
    let program = sandbox.command(&[]).get_program().to_owned();
    let script = "\"$0\" node origin --parent $$ \"$@\" & wait";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(program).args(common("h2-hyper")).current_dir(sandbox.path());
    let mut shell = shell.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let role = u32::try_from(ready["process"].as_u64().unwrap()).unwrap();
    assert!(is_alive(role));
    shell.kill().unwrap();
    shell.wait().unwrap();
    assert!(within_half_a_minute(|| !is_alive(role)), "{role} outlived the shell");
    let mut arguments = vec!["node", "origin", "--parent", "1"];
    arguments.extend(common("h2-hyper"));
    let stranger = sandbox.study(&arguments);
    assert!(stranger.code == Some(3) && stranger.stderr.contains("the parent has ended"), "{stranger:?}");
}

#[test]
fn a_plain_user_plays_the_same_roles() {
    let stage = Stage::new();
    for stack in STACKS {
        let mut arguments = vec!["node", "origin"];
        arguments.extend(common(stack));
        let origin = Node::start(stage.command(&arguments));
        let mut arguments = vec!["node", "client", "--connect", &origin.address, "--settings", "-"];
        arguments.extend(common(stack));
        let ran = fed(stage.command(&arguments), r#"{ "paths": ["/object/0/0/0?bytes=70000"] }"#);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(events(&ran, "fetch")[0]["bytes"], 70_000);
        let (code, last) = origin.end("-INT");
        assert_eq!((code, &last["stats"]["requests"]), (Some(130), &1.into()), "{last}");
    }
    if is_root() {
        // A file of another user's.
        let file = stage.sandbox.write("roots.json", b"{}");
        std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let mut arguments = vec!["node", "origin"];
        arguments.extend(common("h2-hyper"));
        arguments[7] = "roots.json";
        let denied = stage.study(&arguments);
        assert!(denied.code == Some(3) && denied.stderr.contains("as one user"), "{denied:?}");
    }
}

#[test]
fn the_command_is_internal_but_has_its_own_help() {
    let sandbox = Sandbox::new();
    assert!(!sandbox.ok(&["--help"]).stdout.contains("  node "));
    assert!(sandbox.ok(&["--help"]).stdout.contains("  doctor "));
    assert!(sandbox.ok(&["node", "--help"]).stdout.contains("Internal"));
}
