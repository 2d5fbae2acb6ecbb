//! A random edge, with the free share of its capacity as weight; an edge without a limit has weight 1.
//!
//! Source: the Go simulator's policy of the same name. Random streams: one uniform number per viewer.

use super::geo::Geo;
use super::{Edges, Route, RoutingPolicy, ViewerSite};
use study_ident::RandomStream;

/// See the [module](self).
#[derive(Debug, Clone, Copy)]
pub struct WeightedCapacity;

impl RoutingPolicy for WeightedCapacity {
    fn route(&self, _viewer: &ViewerSite, edges: &Edges, random: &mut RandomStream) -> Option<Route> {
        let total: f64 = (0..edges.sites().len()).map(|e| edges.free_share(e)).sum();
        let mut left = random.uniform() * total;
        let mut chosen = None;
        for edge in (0..edges.sites().len()).filter(|e| edges.has_room(*e)) {
            // Rounding may leave a rest after the last edge: then the last one with room it is.
            chosen = Some(Route { edge, misrouted: false });
            left -= edges.free_share(edge);
            if left < 0.0 {
                break;
            }
        }
        chosen
    }
    fn can_reach(&self, _geo: Geo, edge: usize, edges: &Edges) -> bool {
        edges.sites()[edge].capacity != Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::scenes::{edges, send, stream, viewer};

    #[test]
    fn edges_are_drawn_by_their_free_share() {
        let mut scene = edges(&[("tokyo", Some(100)), ("paris", Some(10)), ("cairo", None)]);
        (0..75).for_each(|_| scene.admit(0)); // free: 0.25, 1, 1
        let mut counts = [0_u32; 3];
        (0..9_000).for_each(|i| {
            counts[WeightedCapacity.route(&viewer("tokyo"), &scene, &mut stream(i)).unwrap().edge] += 1;
        });
        for (count, expected) in counts.iter().zip([1_000.0, 4_000.0, 4_000.0]) {
            assert!((f64::from(*count) - expected).abs() < 4.5 * 50.0, "{counts:?}");
        }
    }

    #[test]
    fn full_edges_are_not_drawn() {
        let mut scene = edges(&[("tokyo", Some(3)), ("paris", Some(4))]);
        let routes = send(&WeightedCapacity, &mut scene, "tokyo", 9);
        assert_eq!(scene.load(), [3, 4]);
        assert_eq!(routes.iter().filter(|r| r.is_none()).count(), 2);
    }
}
