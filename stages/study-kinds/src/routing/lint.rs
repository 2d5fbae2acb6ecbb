//! What is legal and probably not meant.

use super::RoutingParams;
use std::collections::BTreeSet;
use study_cdn::routing::geo::Geo;
use study_cdn::routing::{Edges, GeoDealer, RoutingChoice};
use study_tree::{Cx, Diagnostic, Node, Span};

/// Warns about places without viewers or without an edge, and about edges that nobody can reach.
pub(super) fn warn(params: &RoutingParams, node: &Node, cx: &mut Cx<'_>) {
    let place = |section: &str, name: &str| key_span(node, section, name);
    let dealt = dealt_geos(params);
    for geo in params.geos.keys().filter(|geo| !dealt.contains(*geo)) {
        let message =
            format!("no viewer comes from `{geo}`: the {} viewers of a run go to other places", params.clients);
        let help = "take more `clients`, raise its weight, or remove it";
        cx.push(Diagnostic::warning("geo-without-viewers", place("geos", geo), message).help(help));
    }
    for geo in params.geos.keys().filter(|geo| is_unserved(params, geo)) {
        let message = format!("no edge stands in `{geo}`: its viewers go to the nearest edge elsewhere");
        let help = "add an edge there, or say `policy: latency_based`";
        cx.push(Diagnostic::warning("geo-unserved", place("geos", geo), message).help(help));
    }
    let edges = Edges::new(params.sites());
    let policy = params.policy.build(params.misroute());
    let geos: Vec<Geo> = params.geos.keys().filter_map(|name| Geo::named(name)).collect();
    for (position, name) in params.edges.keys().enumerate() {
        if !geos.iter().any(|geo| policy.can_reach(*geo, position, &edges)) {
            let message = format!("no viewer can reach the edge `{name}` with `policy: {}`", params.policy.name());
            let help = "remove it, limit the `capacity` of the edges before it, or choose another policy";
            cx.push(Diagnostic::warning("edge-unreachable", place("edges", name), message).help(help));
        }
    }
}

/// Places that the first run's viewers come from; every run deals alike.
fn dealt_geos(params: &RoutingParams) -> BTreeSet<&String> {
    let names: Vec<&String> = params.geos.keys().collect();
    let weights: Vec<u32> = params.geos.values().copied().collect();
    // After as many viewers as the weights sum to, everyone has had a turn.
    let turns = weights.iter().map(|w| u64::from(*w)).sum::<u64>().min(params.clients);
    let mut dealer = GeoDealer::new(&weights);
    (0..turns).filter_map(|_| dealer.deal()).map(|i| names[i]).collect()
}

/// Only `geo_affinity` looks for an edge in the viewer's own place.
fn is_unserved(params: &RoutingParams, geo: &str) -> bool {
    params.policy == RoutingChoice::GeoAffinity && params.edges.values().all(|edge| edge.geo.name() != geo)
}

fn key_span(node: &Node, section: &str, name: &str) -> Span {
    let entries = node.get(section).and_then(Node::entries).unwrap_or_default();
    entries.iter().find(|e| e.key == name).map_or(node.span, |e| e.key_span)
}
