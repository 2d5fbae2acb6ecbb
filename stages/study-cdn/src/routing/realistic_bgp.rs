//! The nearest edge with room, but a share of the viewers reaches another one: inter-domain routes follow contracts, not
//! geography.
//!
//! A misrouted viewer is sent to any other edge with room, each as likely; when there is none it stays.
//!
//! Source: the Go simulator's policy of the same name (its share: 15 %). Random streams: one number per viewer decides
//! whether it goes astray, a second one where to; the second is drawn only then, as the last of the stream.

use super::geo::Geo;
use super::latency_based::can_be_nearest;
use super::{Edges, Route, RoutingPolicy, ViewerSite};
use study_ident::RandomStream;
use study_units::Probability;

/// See the [module](self).
#[derive(Debug, Clone, Copy)]
pub struct RealisticBgp {
    misroute: Probability,
}

impl RealisticBgp {
    /// With this share of misrouted viewers.
    #[must_use]
    pub const fn new(misroute: Probability) -> Self {
        Self { misroute }
    }
}

impl RoutingPolicy for RealisticBgp {
    fn route(&self, viewer: &ViewerSite, edges: &Edges, random: &mut RandomStream) -> Option<Route> {
        let nearest = edges.nearest(viewer, |_| true)?;
        if random.happens(self.misroute.get()) {
            let others: Vec<usize> = (0..edges.sites().len()).filter(|e| *e != nearest && edges.has_room(*e)).collect();
            if let Some(edge) = others.get(random.below(others.len() as u64) as usize) {
                return Some(Route { edge: *edge, misrouted: true });
            }
        }
        Some(Route { edge: nearest, misrouted: false })
    }
    fn can_reach(&self, geo: Geo, edge: usize, edges: &Edges) -> bool {
        let astray = self.misroute.get() > 0.0 && edges.sites()[edge].capacity != Some(0);
        astray || can_be_nearest(geo, edge, edges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::scenes::{edges, send};

    #[test]
    fn the_share_goes_astray_to_each_other_edge_alike() {
        let mut scene = edges(&[("tokyo", None), ("paris", None), ("cairo", None)]);
        let routes = send(&RealisticBgp::new(Probability::new(0.15).unwrap()), &mut scene, "tokyo", 8_000);
        let astray = routes.iter().filter(|r| r.unwrap().misrouted).count();
        assert!((astray as f64 - 1_200.0).abs() < 4.5 * 32.0, "{astray}");
        assert_eq!(scene.load()[0] as usize, 8_000 - astray);
        assert!((scene.load()[1] as f64 - 600.0).abs() < 4.5 * 24.0, "{:?}", scene.load());
    }

    #[test]
    fn nobody_goes_astray_without_a_share_or_without_another_edge() {
        let mut one = edges(&[("tokyo", None)]);
        let always = RealisticBgp::new(Probability::ONE);
        assert!(send(&always, &mut one, "tokyo", 5).iter().all(|r| !r.unwrap().misrouted));
        let mut two = edges(&[("tokyo", None), ("paris", None)]);
        assert!(send(&always, &mut two, "tokyo", 5).iter().all(|r| r.unwrap() == Route { edge: 1, misrouted: true }));
        let never = RealisticBgp::new(Probability::ZERO);
        assert!(send(&never, &mut two, "tokyo", 5).iter().all(|r| r.unwrap() == Route { edge: 0, misrouted: false }));
        assert!(!never.can_reach(Geo::named("tokyo").unwrap(), 1, &two));
        assert!(always.can_reach(Geo::named("tokyo").unwrap(), 1, &two));
    }
}
