//! Every accepted key changes some output. A key that does nothing would be worse than one that is refused.

use crate::sandbox::Sandbox;
use serde_json::Value;
use std::collections::BTreeSet;

/// A world in which everything matters: loss, a small cache, early data, long enough to stall and to be idle.
const WORLD: &str = "\
study: keys
seed: 3
runs: 2
links:
  last_mile: { symmetric: true, rtt: 40 ms, rate: 8 Mbit/s, overhead: 4 B, queue: { drop_tail: 64 KiB },
    jitter: { std_dev: 4 ms, distribution: half_normal, correlation_time: 50 ms, reorder: false },
    loss: { gilbert_elliott: { good_to_bad: 2 %, bad_to_good: 30 %, loss_in_bad: 40 %, loss_in_good: 0.1 %, clock: packet } } }
  origin: { symmetric: true, rtt: 100 ms, rate: 1 Gbit/s }
arms:
  h2: { protocol: h2, congestion_control: cubic }
  h3: { protocol: h3, congestion_control: cubic }
stages:
  catalog: { kind: catalog, titles: 3, popularity: { zipf: 0.8 }, segment: 4 s, duration: 60 s, ladder: go_simulator }
  routing:
    kind: routing
    needs: [catalog]
    clients: 5
    geos: { europe: 1, asia: 1 }
    arrivals: { uniform: 60 s }
    policy: geo_affinity
    edges:
      europe: { geo: europe, client_link: last_mile, origin_link: origin }
      asia: { geo: asia, client_link: last_mile, origin_link: origin }
  experience:
    kind: simulate
    mode: modeled
    needs: [catalog, routing]
    arms: [h2, h3]
    session: { resumed: 50 %, early_data: false }
    player: { abr: throughput, prefetch: 2, decisions: closed_loop }
    cache: { policy: lru, size: 4 MiB, ttl: 1000 s }
";

/// What must hold first, the change, and the node whose frames it must change.
const CASES: &[(&[&str], &str, &str)] = &[
    (&[], "seed=4", "experience"),
    (&[], "runs=1", "experience"),
    (&[], "catalog.titles=4", "catalog"),
    (&[], "catalog.popularity.zipf=1.2", "catalog"),
    (&[], "catalog.segment=2 s", "catalog"),
    (&[], "catalog.duration=40 s", "catalog"),
    (&[], "catalog.ladder=netflix_2010", "catalog"),
    (&[], "catalog.size_variation=0.3", "catalog"),
    (&[], "routing.clients=4", "routing"),
    (&[], "routing.geos.asia=2", "routing"),
    (&[], "routing.arrivals={ uniform: 30 s }", "routing"),
    (&[], "routing.policy=weighted_capacity", "routing"),
    (&["routing.policy=realistic_bgp"], "routing.misroute_prob=90 %", "routing"),
    (&[], "routing.edges.asia.geo=tokyo", "routing"),
    (&[], "routing.edges.asia.client_link=origin", "routing"),
    (&[], "routing.edges.asia.origin_link=last_mile", "routing"),
    (&[], "routing.edges.asia.capacity=9", "routing"),
    (&[], "links.last_mile.rtt=41 ms", "experience"),
    (&[], "links.last_mile.rate=7 Mbit/s", "experience"),
    (&[], "links.last_mile.overhead=5 B", "experience"),
    (&[], "links.last_mile.queue={ drop_tail: 16 KiB }", "experience"),
    (&[], "links.last_mile.jitter.std_dev=5 ms", "experience"),
    (&[], "links.last_mile.jitter.distribution=uniform", "experience"),
    (&[], "links.last_mile.jitter.correlation_time=20 ms", "experience"),
    (&[], "links.last_mile.jitter.reorder=true", "experience"),
    (&[], "links.last_mile.loss.gilbert_elliott.good_to_bad=3 %", "experience"),
    (&[], "links.last_mile.loss.gilbert_elliott.bad_to_good=50 %", "experience"),
    (&[], "links.last_mile.loss.gilbert_elliott.loss_in_bad=80 %", "experience"),
    (&[], "links.last_mile.loss.gilbert_elliott.loss_in_good=1 %", "experience"),
    (&[], "links.last_mile.loss.gilbert_elliott.clock=time", "experience"),
    (
        &["links.last_mile.loss.gilbert_elliott.clock=time"],
        "links.last_mile.loss.gilbert_elliott.slot=3 ms",
        "experience",
    ),
    (&[], "arms.h3.protocol=h2", "experience"),
    (&[], "arms.h3.congestion_control=newreno", "experience"),
    (&[], "experience.arms=[h3, h2]", "experience"),
    (&[], "experience.clients=2", "experience"),
    (&["arms.h3.congestion_control=newreno"], "experience.compare=as_deployed", "experience"),
    (&[], "experience.qlog.viewers=1", "experience"),
    (&["experience.qlog.viewers=1"], "experience.qlog.runs=2", "experience"),
    (&["experience.qlog.viewers=1"], "experience.qlog.cap=10 kB", "experience"),
    (&["experience.qlog.viewers=1"], "experience.qlog.total=40 kB", "experience"),
    (&[], "experience.scheduler=sequential", "experience"),
    (&[], "experience.origin_protocol=h3", "experience"),
    (&[], "experience.session_limit=20 s", "experience"),
    (&[], "experience.session.resumed=100 %", "experience"),
    (&[], "experience.session.early_data=true", "experience"),
    (&[], "experience.player.abr=bba", "experience"),
    (&[], "experience.player.prefetch=3", "experience"),
    (&[], "experience.player.startup_threshold=8 s", "experience"),
    // A rung that the link cannot carry, so that it stalls for certain.
    (&["experience.player.decisions={ fixed_rung: 4 }"], "experience.player.rebuffer_threshold=12 s", "experience"),
    (&[], "experience.player.max_buffer=12 s", "experience"),
    (&[], "experience.player.decisions={ replay: h2 }", "experience"),
    (&[], "experience.player.decisions={ fixed_rung: 2 }", "experience"),
    (&[], "experience.cache.policy=arc", "experience"),
    (&[], "experience.cache.size=1 GiB", "experience"),
    (&["experience.cache.size=1 GiB"], "experience.cache.ttl=5 s", "experience"),
    (&[], "experience.transport.initial_window=32", "experience"),
    (&[], "experience.transport.ack_every=1", "experience"),
    (&[], "experience.transport.max_ack_delay=5 ms", "experience"),
    (&[], "experience.transport.frame=2 KiB", "experience"),
    (&[], "experience.transport.certificate_chain=9 kB", "experience"),
    (&[], "experience.transport.slow_start=hystart_pp", "experience"),
    (&[], "experience.transport.slow_start=hystart", "experience"),
    (&[], "experience.transport.pacing=true", "experience"),
    (&[], "experience.transport.idle_restart=false", "experience"),
    (&[], "experience.transport.rto_floor=1 s", "experience"),
    (&[], "experience.transport.request=900 B", "experience"),
    (&[], "experience.transport.response_headers=2 kB", "experience"),
    (&[], "experience.transport.receive_window=32 KiB", "experience"),
    (&[], "experience.transport.send_buffer=16 KiB", "experience"),
    (&["experience.transport.http_send_buffer=400 kB"], "experience.transport.notsent_lowat=4 KiB", "experience"),
    (&[], "experience.transport.http_send_buffer=400 kB", "experience"),
    (&[], "experience.transport.stream_window=32 KiB", "experience"),
    (&[], "experience.transport.connection_window=32 KiB", "experience"),
    (&["experience.session.early_data=true"], "experience.transport.early_data_rejected=100 %", "experience"),
    (&[], "experience.transport.tls=1.2", "experience"),
    (&[], "experience.transport.tls_record=1400 B", "experience"),
    (&[], "experience.transport.fast_open=true", "experience"),
    (&[], "experience.transport.retry=true", "experience"),
    (&[], "experience.transport.version_negotiation=true", "experience"),
    (&[], "experience.transport.datagram=1200 B", "experience"),
    (&[], "experience.transport.framing=full", "experience"),
    (&["arms.h2.protocol=h1"], "experience.transport.h1_connections=1", "experience"),
    (&["links.last_mile.loss={ bernoulli: { rate: 60 % } }"], "experience.transport.give_up=1 s", "experience"),
    (&["experience.arms=[h2]", "arms.h2.protocol=h2"], "experience.transport.profile=linux-6", "experience"),
    (
        &["arms.h2.congestion_control=fixed", "arms.h3.congestion_control=fixed"],
        "experience.transport.fixed_window=10",
        "experience",
    ),
];

/// Digests of a node's outputs.
fn digests(sandbox: &Sandbox, sets: &[&str], node: &str) -> Value {
    let mut arguments = vec!["run", "keys.yaml", "--json", "--until", node];
    sets.iter().for_each(|set| arguments.extend(["--set", set]));
    let ran = sandbox.study(&arguments);
    // A failed validity check (unequal arms) is exit 1, with results.
    assert!(matches!(ran.code, Some(0 | 1)), "{sets:?}: {ran:?}");
    let nodes = ran.json()["nodes"].as_array().unwrap().clone();
    nodes.into_iter().find(|n| n["id"] == node).unwrap()["outputs"].clone()
}

#[test]
fn every_accepted_key_changes_some_output() {
    let sandbox = Sandbox::new();
    sandbox.write("keys.yaml", WORLD.as_bytes());
    for (first, change, node) in CASES {
        let sets: Vec<&str> = first.iter().chain([change]).copied().collect();
        assert_ne!(
            digests(&sandbox, first, node),
            digests(&sandbox, &sets, node),
            "`{change}` changes nothing in {node}"
        );
    }
}

/// Every leaf of the kind's schema is in the list above, so that a new key cannot be forgotten.
#[test]
fn the_list_of_keys_is_complete_for_the_simulator() {
    let sandbox = Sandbox::new();
    let schema = sandbox.ok(&["schema"]).json();
    let mut found = BTreeSet::new();
    find_simulate(&schema, &mut found);
    assert!(found.len() > 20, "{found:?}");
    let covered = |key: &str| CASES.iter().any(|(_, change, _)| change.starts_with(&format!("experience.{key}")));
    // `runs` comes from the top of the study; there is one mode so far. `explain` has the simulator's keys and two of its own.
    let elsewhere = ["mode", "runs", "exact_up_to", "orders"];
    let missing: Vec<&String> = found.iter().filter(|k| !elsewhere.contains(&k.as_str()) && !covered(k)).collect();
    assert!(missing.is_empty(), "without a case above: {missing:?}");
}

/// Looks for the object schema that has the simulator's keys, and lists its leaves as dotted paths.
fn find_simulate(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(map) => {
            if let Some(properties) = map.get("properties").and_then(Value::as_object)
                && ["scheduler", "origin_protocol", "transport", "arms"].iter().all(|k| properties.contains_key(*k))
            {
                let own = properties
                    .iter()
                    .filter(|(k, _)| !["kind", "needs", "like", "matrix", "per_cell"].contains(&k.as_str()));
                own.for_each(|(key, value)| leaves(key, value, found));
                return;
            }
            map.values().for_each(|value| find_simulate(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| find_simulate(item, found)),
        _ => {}
    }
}

fn leaves(path: &str, schema: &Value, found: &mut BTreeSet<String>) {
    match schema.get("properties").and_then(Value::as_object) {
        Some(properties) => properties.iter().for_each(|(key, value)| leaves(&format!("{path}.{key}"), value, found)),
        None => drop(found.insert(path.to_owned())),
    }
}
