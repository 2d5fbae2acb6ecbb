use super::*;
use crate::catalog::scenes::{diagnostics, links, node, run_seeded, run_with};
use serde_json::json;

fn definitions() -> Value {
    json!({
        "last_mile": { "symmetric": true, "rtt": "30 ms", "rate": "20 Mbit/s" },
        "origin": { "symmetric": true, "rtt": "200 ms", "rate": "1 Gbit/s" },
        "tram": { "down": { "one_way": "10 ms", "rate": { "sabre": { "file": "tram.json" } } },
                  "up": { "one_way": "10 ms", "rate": "5 Mbit/s" } },
    })
}

fn edge(geo: &str) -> Value {
    json!({ "geo": geo, "client_link": "last_mile", "origin_link": "origin" })
}

/// Singapore and Mumbai with `over` laid over.
fn parameters(over: Value) -> Value {
    let mut parameters = json!({
        "runs": 3, "clients": 10, "geos": { "singapore": 1, "mumbai": 1 }, "policy": "geo_affinity",
        "edges": { "sg": edge("singapore"), "mum": edge("mumbai") },
    });
    for (key, value) in over.as_object().unwrap() {
        parameters[key] = value.clone();
    }
    parameters
}

fn run(over: Value) -> Outputs {
    run_with(&Routing, &parameters(over), &definitions(), &[]).unwrap()
}

fn texts(table: &Table, column: &str) -> Vec<String> {
    let column = table.texts(column).unwrap();
    (0..table.rows()).map(|row| column.get(row).unwrap().to_owned()).collect()
}

#[test]
fn every_run_has_its_viewers_sorted_by_number_with_geos_in_turn() {
    let outputs = run(json!({ "arrivals": { "uniform": "120 s" } }));
    let clients = &outputs.frames["clients"];
    let expected: Vec<(i64, i64)> = (0..3).flat_map(|r| (0..10).map(move |c| (r, c))).collect();
    let keys = clients.ints("run").unwrap().iter().copied().zip(clients.ints("client").unwrap().iter().copied());
    assert_eq!(keys.collect::<Vec<_>>(), expected);
    let geos = texts(clients, "geo");
    assert_eq!(geos[..4], ["mumbai", "singapore", "mumbai", "singapore"]);
    let edges = texts(clients, "edge");
    assert!(geos.iter().zip(&edges).all(|(geo, edge)| (geo == "mumbai") == (edge == "mum")));
    let arrivals = clients.ints("arrival_us").unwrap();
    assert!(arrivals.iter().all(|a| (0..120_000_000).contains(a)));
    assert_ne!(arrivals[..10], arrivals[10..20], "every run draws its own");
}

#[test]
fn edges_carry_the_content_of_their_links() {
    let outputs = run(json!({}));
    let edges = &outputs.frames["edges"];
    assert_eq!(texts(edges, "edge"), ["mum", "sg"]);
    assert_eq!(texts(edges, "geo"), ["mumbai", "singapore"]);
    assert!((0..2).all(|row| edges.cell(row, 2) == Cell::Null), "no limit");
    let link: LinkParams = serde_json::from_str(&texts(edges, "client_link")[0]).unwrap();
    let sections = links(&definitions());
    let direct = LinkParams::decode(&sections["links"]["last_mile"], &mut Cx::new(&sections)).unwrap();
    assert_eq!(link, direct);
}

#[test]
fn a_rate_log_is_expanded_into_the_frame_and_asked_for_by_edge_name() {
    let tram = br#"[{"duration_ms": 500, "bandwidth_kbps": 5937, "latency_ms": 20}, {"duration_ms": 500, "bandwidth_kbps": 0, "latency_ms": 20}]"#;
    let on_tram = json!({ "geo": "mumbai", "client_link": "tram", "origin_link": "origin" });
    let over = json!({ "edges": { "z": edge("singapore"), "a": on_tram } });
    let outputs = run_with(&Routing, &parameters(over.clone()), &definitions(), &[tram]).unwrap();
    let link: LinkParams = serde_json::from_str(&texts(&outputs.frames["edges"], "client_link")[0]).unwrap();
    assert!(link.is_resolved());
    let study_link::Rate::Schedule(schedule) = &link.down.rate else { panic!("{:?}", link.down.rate) };
    assert_eq!((schedule.steps().len(), schedule.repeats()), (2, true));
    let error = run_with(&Routing, &parameters(over), &definitions(), &[b"[]"]).unwrap_err();
    assert!(error.to_string().contains("`client_link` of edge `a`"), "{error}");
}

#[test]
fn arrivals_are_at_once_uniform_or_poisson() {
    let times = |arrivals: Value| {
        let outputs = run(json!({ "runs": 1, "clients": 4_000, "arrivals": arrivals }));
        outputs.frames["clients"].ints("arrival_us").unwrap().to_vec()
    };
    assert!(times(json!("at_once")).iter().all(|t| *t == 0));
    let uniform = times(json!({ "uniform": "120 s" }));
    let mean = uniform.iter().sum::<i64>() as f64 / 4e3;
    // Standard error: 120 s / sqrt(12 x 4,000) = 0.55 s.
    assert!((mean / 1e6 - 60.0).abs() < 2.5, "{mean}");
    let poisson = times(json!({ "poisson": { "mean_gap": "2 s" } }));
    assert!(poisson.windows(2).all(|w| w[0] <= w[1]));
    let gaps: Vec<f64> = poisson.windows(2).map(|w| (w[1] - w[0]) as f64 / 1e6).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / gaps.len() as f64;
    assert!((mean - 2.0).abs() < 0.15 && (variance.sqrt() / mean - 1.0).abs() < 0.1, "{mean} {variance}");
}

#[test]
fn a_viewer_stays_the_same_when_viewers_and_runs_are_added() {
    let small = run(json!({ "clients": 5, "arrivals": { "uniform": "60 s" } }));
    let large = run(json!({ "runs": 4, "clients": 9, "arrivals": { "uniform": "60 s" } }));
    let large = large.frames["clients"].filter(|row| {
        let of = |name: &str| large.frames["clients"].ints(name).unwrap()[row];
        of("client") < 5 && of("run") < 3
    });
    assert_eq!(small.frames["clients"], large);
}

#[test]
fn viewers_take_the_room_of_an_edge_in_the_order_of_their_arrival() {
    let mut limited = edge("singapore");
    limited["capacity"] = json!(3);
    let outputs = run(json!({
        "runs": 1, "geos": { "singapore": 1 }, "arrivals": { "uniform": "60 s" },
        "edges": { "sg": limited, "mum": edge("mumbai") },
    }));
    let clients = &outputs.frames["clients"];
    let mut by_arrival: Vec<(i64, String)> =
        clients.ints("arrival_us").unwrap().iter().copied().zip(texts(clients, "edge")).collect();
    by_arrival.sort();
    let edges: Vec<&str> = by_arrival.iter().map(|(_, edge)| edge.as_str()).collect();
    assert_eq!(edges, [vec!["sg"; 3], vec!["mum"; 7]].concat());
    assert_eq!(outputs.frames["edges"].cell(1, 2), Cell::Int(3));
}

#[test]
fn misrouting_comes_with_its_policy_and_its_share() {
    let share = |over: Value| {
        let outputs = run(over);
        let clients = &outputs.frames["clients"];
        let column = clients.schema().position("misrouted").unwrap();
        (0..clients.rows()).filter(|row| clients.cell(*row, column) == Cell::Bool(true)).count() as f64
            / clients.rows() as f64
    };
    assert_eq!(share(json!({})), 0.0);
    let bgp = json!({ "policy": "realistic_bgp", "clients": 1_000 });
    assert!((share(bgp) - 0.15).abs() < 4.5 * 0.0066);
    assert_eq!(share(json!({ "policy": "realistic_bgp", "misroute_prob": "100 %" })), 1.0);
}

#[test]
fn the_seed_changes_who_arrives_when() {
    let over = json!({ "arrivals": { "uniform": "60 s" } });
    let with = |seed| run_seeded(&Routing, &parameters(over.clone()), &definitions(), &[], seed).unwrap();
    assert_eq!(with(1).frames["clients"], with(1).frames["clients"]);
    assert_ne!(with(1).frames["clients"], with(2).frames["clients"]);
}

#[test]
fn what_the_parameters_refuse() {
    let without_links = json!({ "sg": { "geo": "singapore" } });
    for (over, expected) in [
        (json!({ "runs": 0 }), vec!["out-of-range: `0` is out of range for `runs`"]),
        (json!({ "clients": 0 }), vec!["out-of-range: `0` is out of range for `clients`"]),
        (json!({ "runs": 1_000_000, "clients": 26 }), vec!["out-of-range: 1000000 runs of 26 viewers"]),
        (json!({ "geos": {} }), vec!["out-of-range: at least one place is needed"]),
        (json!({ "geos": { "singapur": 1 } }), vec!["unknown-value: `singapur` is not a known place"]),
        (json!({ "geos": { "singapore": 0, "atlantis": 1 } }), vec!["unknown-value", "out-of-range"]),
        (json!({ "geos": ["singapore"] }), vec!["wrong-type: expected a mapping"]),
        (json!({ "edges": {} }), vec!["out-of-range: at least one edge is needed"]),
        (json!({ "edges": without_links }), vec!["missing-key: `client_link`", "missing-key: `origin_link`"]),
        (json!({ "policy": "geo_afinity" }), vec!["unknown-value: `geo_afinity` is not one of"]),
        (
            json!({ "misroute_prob": "5 %" }),
            vec!["key-conflict: `misroute_prob` has no effect with `policy: geo_affinity`"],
        ),
        (json!({ "arrivals": "poisson" }), vec!["wrong-type: `poisson` needs its parameters"]),
        (json!({ "arrivals": { "uniform": 60 } }), vec!["bad-quantity: `60` has no unit"]),
        (json!({ "shield": 1 }), vec!["unknown-key: unknown key `shield`"]),
    ] {
        let found = diagnostics(&Routing, &parameters(over.clone()), &definitions());
        assert_eq!(found.len(), expected.len(), "{over}: {found:?}");
        assert!(found.iter().zip(&expected).all(|(f, e)| f.starts_with(e)), "{over}: {found:?}");
    }
    let mut full = edge("singapore");
    full["capacity"] = json!(9);
    let found = diagnostics(&Routing, &parameters(json!({ "edges": { "sg": full } })), &definitions());
    assert_eq!(found, ["out-of-range: the edges take 9 viewers, and a run has 10"]);
    let found = diagnostics(&Routing, &parameters(json!({})), &json!({ "last_mile": definitions()["last_mile"] }));
    assert_eq!(found, vec!["unknown-name: `origin` is not defined in `links`"; 2], "both edges");
}

#[test]
fn what_is_probably_not_meant_is_a_warning() {
    let warnings = |over: Value| diagnostics(&Routing, &parameters(over), &definitions());
    assert!(warnings(json!({})).is_empty());
    assert_eq!(
        warnings(json!({ "geos": { "singapore": 1, "mumbai": 1, "tokyo": 1 } })),
        ["warning geo-unserved: no edge stands in `tokyo`: its viewers go to the nearest edge elsewhere"]
    );
    assert_eq!(
        warnings(json!({ "geos": { "singapore": 1 } })),
        ["warning edge-unreachable: no viewer can reach the edge `mum` with `policy: geo_affinity`"]
    );
    assert!(warnings(json!({ "geos": { "singapore": 1 }, "policy": "weighted_capacity" })).is_empty());
    assert!(warnings(json!({ "geos": { "singapore": 1 }, "policy": "realistic_bgp" })).is_empty());
    let lonely = warnings(json!({ "clients": 1 }));
    assert!(
        lonely.len() == 1 && lonely[0].starts_with("warning geo-without-viewers: no viewer comes from `singapore`")
    );
}

#[test]
fn renaming_a_link_changes_no_key_and_its_content_does() {
    let canonical = |parameters: &Value, definitions: &Value| {
        let sections = links(definitions);
        serde_json::to_value(Routing.decode(&node(parameters), &mut Cx::new(&sections)).unwrap()).unwrap()
    };
    let original = canonical(&parameters(json!({})), &definitions());
    let mut renamed = parameters(json!({}));
    renamed["edges"]["sg"]["client_link"] = json!("sg_wifi");
    let mut more = definitions();
    more["sg_wifi"] = more["last_mile"].clone();
    assert_eq!(canonical(&renamed, &more), original);
    more["sg_wifi"]["rtt"] = json!("31 ms");
    assert_ne!(canonical(&renamed, &more), original);
    assert_eq!(original["edges"]["sg"]["geo"], "singapore");
    assert_eq!((&original["arrivals"], &original["runs"]), (&json!("at_once"), &json!(3)));
    assert!(original.get("misroute_prob").is_none());
}

#[test]
fn the_order_of_edges_changes_neither_key_nor_files() {
    let on = |link: &str| json!({ "geo": "mumbai", "client_link": link, "origin_link": "origin" });
    let mut more = definitions();
    more["train"] = json!({ "down": { "one_way": "10 ms", "rate": { "sabre": { "file": "train.json" } } },
                            "up": { "one_way": "10 ms", "rate": "5 Mbit/s" } });
    let sections = links(&more);
    let forward = node(&parameters(json!({ "edges": { "a": on("tram"), "b": on("train") } })));
    let edges = forward.get("edges").unwrap();
    let reversed = edges.entries().unwrap().iter().rev().cloned().collect();
    let place = study_tree::Span::default();
    let backward = study_tree::set_path(&forward, "edges", Node::map(reversed, place), place).unwrap();
    let [one, other] = [forward, backward].map(|node| {
        let mut cx = Cx::new(&sections);
        let params = Routing.decode(&node, &mut cx).unwrap();
        (params, cx.files.into_iter().map(|f| f.path).collect::<Vec<_>>())
    });
    assert_eq!(one, other);
    assert_eq!(one.1, ["tram.json", "train.json"]);
}
