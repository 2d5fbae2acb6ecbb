//! The edge with room and the lowest estimated round trip; the first by id of equals.
//!
//! Source: the Go simulator's policy of the same name. Random streams: none.

use super::geo::{Geo, distance_km};
use super::{Edges, Route, RoutingPolicy, ViewerSite};
use study_ident::RandomStream;

/// See the [module](self).
#[derive(Debug, Clone, Copy)]
pub struct LatencyBased;

/// The farthest that a viewer can stand from the centre of its geo, km (two degrees each way at the equator: 314.5).
const SCATTER_KM: f64 = 315.0;

/// Whether the edge can be the nearest with room for some viewer of the geo.
pub(super) fn can_be_nearest(geo: Geo, edge: usize, edges: &Edges) -> bool {
    let distance = |e: usize| distance_km(geo.centre(), edges.sites()[e].geo.centre());
    let never_full = |e: &usize| edges.sites()[*e].capacity.is_none();
    let others = (0..edges.sites().len()).filter(|e| *e != edge).filter(never_full);
    let mut beats = others.filter(|e| {
        let twin = edges.sites()[*e].geo == edges.sites()[edge].geo;
        if twin { *e < edge } else { distance(*e) + 2.0 * SCATTER_KM < distance(edge) }
    });
    edges.sites()[edge].capacity != Some(0) && beats.next().is_none()
}

impl RoutingPolicy for LatencyBased {
    fn route(&self, viewer: &ViewerSite, edges: &Edges, _random: &mut RandomStream) -> Option<Route> {
        edges.nearest(viewer, |_| true).map(|edge| Route { edge, misrouted: false })
    }
    fn can_reach(&self, geo: Geo, edge: usize, edges: &Edges) -> bool {
        can_be_nearest(geo, edge, edges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::scenes::{edges, send};

    #[test]
    fn the_nearest_edge_serves_until_it_is_full() {
        let mut edges = edges(&[("frankfurt", None), ("singapore", Some(2)), ("tokyo", None)]);
        let routes = send(&LatencyBased, &mut edges, "singapore", 4);
        let to: Vec<usize> = routes.iter().map(|r| r.unwrap().edge).collect();
        assert_eq!(to, [1, 1, 2, 2], "then the next nearest");
        assert!(routes.iter().all(|r| !r.unwrap().misrouted));
        assert_eq!(edges.load(), [0, 2, 2]);
    }

    #[test]
    fn the_first_of_two_edges_in_one_place_serves() {
        let mut edges = edges(&[("tokyo", None), ("tokyo", None)]);
        assert!(send(&LatencyBased, &mut edges, "seoul", 3).iter().all(|r| r.unwrap().edge == 0));
    }

    #[test]
    fn an_edge_behind_one_that_never_fills_is_out_of_reach() {
        let geo = Geo::named("singapore").unwrap();
        let reach = |sites: &[(&str, Option<u64>)]| -> Vec<bool> {
            let edges = edges(sites);
            (0..sites.len()).map(|e| LatencyBased.can_reach(geo, e, &edges)).collect()
        };
        assert_eq!(reach(&[("singapore", None), ("tokyo", None)]), [true, false]);
        assert_eq!(reach(&[("singapore", Some(5)), ("tokyo", None)]), [true, true], "overflow");
        assert_eq!(reach(&[("singapore", None), ("singapore", None)]), [true, false], "twins");
        assert_eq!(reach(&[("tokyo", Some(0)), ("mumbai", None)]), [false, true], "an edge that takes nobody");
    }
}
