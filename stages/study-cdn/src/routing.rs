//! Which edge serves a viewer: one contract, one file per policy, one row per policy in [`routing_policies!`].
//!
//! A viewer stands near the centre of its geo, an edge in the centre of its own. What a policy knows of the network is
//! an estimate from geography ([`geo`]); the real path is the link that the study gives the edge. Viewers that an edge
//! serves count as its load until the end of the run, and an edge at its capacity takes no more.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | the Go simulator knows six geos and puts any other name at 0°, 0° | six regions and the cities of [`geo::PLACES`]; an unknown name is an error | no viewer in the Gulf of Guinea by a typing error |
//! | edges in the order of the file | edges in the order of their ids | the order of a mapping changes no result |
//! | load only ever grows | the same, per run | capacity is a number of viewers, not of concurrent ones |
//! | an edge's capacity is always given | no capacity: never full | small studies need not invent one |
//!
//! Random streams: given by the caller, one per viewer; each policy names its draws.

pub mod geo;
mod geo_affinity;
mod latency_based;
mod realistic_bgp;
mod weighted_capacity;

pub use geo_affinity::GeoAffinity;
pub use latency_based::LatencyBased;
pub use realistic_bgp::RealisticBgp;
pub use weighted_capacity::WeightedCapacity;

use geo::{Geo, Position};
use study_ident::RandomStream;
use study_units::Probability;

/// An edge as the policies see it.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeSite {
    /// Where it stands, and the tag that viewers of that geo look for.
    pub geo: Geo,
    /// Viewers it takes per run; no limit when `None`.
    pub capacity: Option<u64>,
}

/// A viewer to be served.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewerSite {
    /// The geo it belongs to.
    pub geo: Geo,
    /// Where it stands.
    pub position: Position,
}

/// The edges and how many viewers each serves already.
#[derive(Debug, Clone)]
pub struct Edges {
    sites: Vec<EdgeSite>,
    load: Vec<u64>,
}

impl Edges {
    /// Edges without viewers.
    #[must_use]
    pub fn new(sites: Vec<EdgeSite>) -> Self {
        let load = vec![0; sites.len()];
        Self { sites, load }
    }
    /// The edges.
    #[must_use]
    pub fn sites(&self) -> &[EdgeSite] {
        &self.sites
    }
    /// Viewers served so far, per edge.
    #[must_use]
    pub fn load(&self) -> &[u64] {
        &self.load
    }
    /// Whether an edge takes another viewer.
    #[must_use]
    pub fn has_room(&self, edge: usize) -> bool {
        self.sites[edge].capacity.is_none_or(|capacity| self.load[edge] < capacity)
    }
    /// Share of an edge's capacity that is free, in [0, 1]; 1 without a limit.
    #[must_use]
    pub fn free_share(&self, edge: usize) -> f64 {
        match self.sites[edge].capacity {
            None => 1.0,
            Some(0) => 0.0,
            Some(capacity) => capacity.saturating_sub(self.load[edge]) as f64 / capacity as f64,
        }
    }
    /// The edge with room and the lowest estimated round trip among those that `eligible` names; the first of equals.
    #[must_use]
    pub fn nearest(&self, viewer: &ViewerSite, eligible: impl Fn(usize) -> bool) -> Option<usize> {
        let estimate = |edge: usize| geo::estimated_rtt_ms(viewer.position, self.sites[edge].geo.centre());
        (0..self.sites.len())
            .filter(|edge| eligible(*edge) && self.has_room(*edge))
            .map(|edge| (estimate(edge), edge))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, edge)| edge)
    }
    /// Counts a viewer.
    pub fn admit(&mut self, edge: usize) {
        self.load[edge] += 1;
    }
}

/// Where a viewer is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Position of the edge.
    pub edge: usize,
    /// Whether routing sent it past the edge it should have reached.
    pub misrouted: bool,
}

/// Chooses an edge with room; `None` when no edge has any.
pub trait RoutingPolicy: std::fmt::Debug + Send {
    /// Where the viewer is sent. Does not count it: that is [`Edges::admit`].
    fn route(&self, viewer: &ViewerSite, edges: &Edges, random: &mut RandomStream) -> Option<Route>;
    /// Whether a viewer anywhere within [`geo::SCATTER_DEGREES`] of the geo's centre could be sent to the edge. May say yes
    /// too often, never no.
    fn can_reach(&self, geo: Geo, edge: usize, edges: &Edges) -> bool;
}

/// The registry: documentation, variant, name in study files, constructor from the share of misrouted viewers.
macro_rules! routing_policies {
    ($( $(#[doc = $doc:literal])* $variant:ident = $name:literal, $new:expr; )*) => {
        study_tree::choices! {
            /// How an edge is chosen for a viewer.
            pub enum RoutingChoice { $( $(#[doc = $doc])* $variant = $name ),* }
        }
        impl RoutingChoice {
            /// The policy. `misroute` is the share of viewers that routing sends astray; only `realistic_bgp` looks at it.
            #[must_use]
            pub fn build(self, misroute: Probability) -> Box<dyn RoutingPolicy> {
                let new: fn(Probability) -> Box<dyn RoutingPolicy> = match self { $( Self::$variant => $new ),* };
                new(misroute)
            }
        }
    };
}

routing_policies! {
    /// The edge with room and the lowest estimated round trip.
    LatencyBased = "latency_based", |_| Box::new(LatencyBased);
    /// A random edge, by the share of its capacity that is free.
    WeightedCapacity = "weighted_capacity", |_| Box::new(WeightedCapacity);
    /// The first edge of the viewer's own geo with room, else as `latency_based`.
    GeoAffinity = "geo_affinity", |_| Box::new(GeoAffinity);
    /// As `latency_based`, but a share of the viewers reaches any other edge.
    RealisticBgp = "realistic_bgp", |misroute| Box::new(RealisticBgp::new(misroute));
}

/// Deals viewers to geos in turn by whole-number weights, so that any first `n` viewers are split as evenly as can be.
///
/// Smooth weighted round robin: each turn every geo earns its weight, the richest (the first of equals) is dealt the
/// viewer and pays the sum of all weights.
#[derive(Debug, Clone)]
pub struct GeoDealer {
    weights: Vec<i64>,
    credit: Vec<i64>,
}

impl GeoDealer {
    /// From the weights of the geos, in order; weights of 0 are dealt nobody.
    #[must_use]
    pub fn new(weights: &[u32]) -> Self {
        Self { weights: weights.iter().map(|w| i64::from(*w)).collect(), credit: vec![0; weights.len()] }
    }
    /// The geo of the next viewer; `None` when all weights are 0.
    pub fn deal(&mut self) -> Option<usize> {
        let total: i64 = self.weights.iter().sum();
        if total == 0 {
            return None;
        }
        self.credit.iter_mut().zip(&self.weights).for_each(|(credit, weight)| *credit += weight);
        let richest = (0..self.credit.len())
            .filter(|i| self.weights[*i] > 0)
            .max_by_key(|i| (self.credit[*i], std::cmp::Reverse(*i)))?;
        self.credit[richest] -= total;
        Some(richest)
    }
}

#[cfg(test)]
pub(crate) mod scenes {
    //! Edges and viewers for the tests of the policies.
    use super::*;

    pub(crate) fn edges(sites: &[(&str, Option<u64>)]) -> Edges {
        let site =
            |(name, capacity): &(&str, Option<u64>)| EdgeSite { geo: Geo::named(name).unwrap(), capacity: *capacity };
        Edges::new(sites.iter().map(site).collect())
    }
    pub(crate) fn viewer(name: &str) -> ViewerSite {
        let geo = Geo::named(name).unwrap();
        ViewerSite { geo, position: geo.centre() }
    }
    pub(crate) fn stream(index: u64) -> RandomStream {
        study_ident::SeedPath::root(11).indexed("viewer", index).stream("routing")
    }
    /// Edge indices of `n` viewers of a geo, each admitted.
    pub(crate) fn send(policy: &dyn RoutingPolicy, edges: &mut Edges, geo: &str, n: u64) -> Vec<Option<Route>> {
        (0..n)
            .map(|i| {
                let route = policy.route(&viewer(geo), edges, &mut stream(i));
                route.iter().for_each(|r| edges.admit(r.edge));
                route
            })
            .collect()
    }
}

#[cfg(test)]
mod conformance {
    //! What holds for every policy of the registry.
    use super::*;
    use proptest::prelude::*;
    use study_ident::SeedPath;

    fn geo_strategy() -> impl Strategy<Value = Geo> {
        (0..geo::PLACES.len()).prop_map(|i| Geo::named(geo::PLACES[i].name).unwrap())
    }

    proptest! {
        #[test]
        fn an_edge_with_room_is_found_whenever_there_is_one_and_no_capacity_is_exceeded(
            sites in prop::collection::vec((geo_strategy(), prop::option::of(0_u64..4)), 1..5),
            viewers in prop::collection::vec(geo_strategy(), 1..20),
            misroute in 0.0..1.0_f64,
        ) {
            let sites: Vec<EdgeSite> = sites.into_iter().map(|(geo, capacity)| EdgeSite { geo, capacity }).collect();
            for policy in RoutingChoice::ALL {
                let built = policy.build(Probability::new(misroute).unwrap());
                let mut edges = Edges::new(sites.clone());
                for (i, geo) in viewers.iter().enumerate() {
                    let random = SeedPath::root(2).indexed("viewer", i as u64);
                    let viewer = ViewerSite { geo: *geo, position: geo.scattered(&mut random.stream("location")) };
                    let any_room = (0..sites.len()).any(|e| edges.has_room(e));
                    let route = built.route(&viewer, &edges, &mut random.stream("routing"));
                    prop_assert_eq!(route.is_some(), any_room, "{}", policy.name());
                    if let Some(route) = route {
                        prop_assert!(edges.has_room(route.edge));
                        prop_assert!(built.can_reach(*geo, route.edge, &edges), "{} {:?}", policy.name(), geo);
                        edges.admit(route.edge);
                    }
                }
            }
        }
    }

    #[test]
    fn geos_are_dealt_in_turn_by_weight() {
        let mut even = GeoDealer::new(&[1, 1]);
        assert_eq!((0..5).map(|_| even.deal().unwrap()).collect::<Vec<_>>(), [0, 1, 0, 1, 0]);
        let mut dealer = GeoDealer::new(&[5, 0, 1, 2]);
        let dealt: Vec<usize> = (0..16).map(|_| dealer.deal().unwrap()).collect();
        assert_eq!(dealt[..8], dealt[8..], "the pattern repeats after the sum of the weights");
        assert_eq!([0, 1, 2, 3].map(|g| dealt.iter().filter(|d| **d == g).count()), [10, 0, 2, 4]);
        assert!(dealt.windows(4).all(|w| w.iter().any(|g| *g != 0)), "geos are mixed: {dealt:?}");
        assert_eq!(GeoDealer::new(&[0]).deal(), None);
    }
}
