//! The first edge (by id) with room in the viewer's own geo, else the nearest with room.
//!
//! Source: the Go simulator's policy of the same name. Random streams: none.

use super::geo::Geo;
use super::latency_based::can_be_nearest;
use super::{Edges, Route, RoutingPolicy, ViewerSite};
use study_ident::RandomStream;

/// See the [module](self).
#[derive(Debug, Clone, Copy)]
pub struct GeoAffinity;

impl RoutingPolicy for GeoAffinity {
    fn route(&self, viewer: &ViewerSite, edges: &Edges, _random: &mut RandomStream) -> Option<Route> {
        let own = |edge: &usize| edges.sites()[*edge].geo == viewer.geo && edges.has_room(*edge);
        let own = (0..edges.sites().len()).find(own);
        own.or_else(|| edges.nearest(viewer, |_| true)).map(|edge| Route { edge, misrouted: false })
    }
    fn can_reach(&self, geo: Geo, edge: usize, edges: &Edges) -> bool {
        let own_without_limit =
            (0..edges.sites().len()).find(|e| edges.sites()[*e].geo == geo && edges.sites()[*e].capacity.is_none());
        let own = edges.sites()[edge].geo == geo && edges.sites()[edge].capacity != Some(0);
        match own_without_limit {
            Some(first) => own && edge <= first,
            None => own || can_be_nearest(geo, edge, edges),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::scenes::{edges, send};

    #[test]
    fn the_own_geo_serves_first_and_the_nearest_edge_the_rest() {
        let mut scene = edges(&[("tokyo", None), ("mumbai", Some(1)), ("mumbai", Some(1)), ("singapore", None)]);
        let to: Vec<usize> = send(&GeoAffinity, &mut scene, "mumbai", 3).iter().map(|r| r.unwrap().edge).collect();
        assert_eq!(to, [1, 2, 3]);
        let abroad: Vec<usize> = send(&GeoAffinity, &mut scene, "seoul", 1).iter().map(|r| r.unwrap().edge).collect();
        assert_eq!(abroad, [0], "a geo without an edge");
    }

    #[test]
    fn an_edge_of_another_geo_is_out_of_reach_while_the_own_one_never_fills() {
        let scene = edges(&[("mumbai", None), ("singapore", None)]);
        let reach = |geo: &str| [0, 1].map(|e| GeoAffinity.can_reach(Geo::named(geo).unwrap(), e, &scene));
        assert_eq!(reach("mumbai"), [true, false]);
        assert_eq!(reach("singapore"), [false, true]);
        assert_eq!(reach("jakarta"), [false, true], "by latency");
    }
}
