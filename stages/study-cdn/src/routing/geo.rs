//! Places and the estimate of a round trip from geography.
//!
//! Equation: the great-circle distance `d` in km by the haversine formula on a sphere of 6,371 km; light in fibre takes
//! 0.005 ms/km one way; a round trip is twice that, and paths are twice as long as the great circle:
//! `rtt [ms] = d x 0.005 x 2 x 2`. It serves to choose an edge and for nothing else.
//!
//! Sources: Sinnott, "Virtues of the haversine", Sky and Telescope 68(2), 1984; the factors are those of the Go simulator.
//! City coordinates are rounded to 0.1 degree; a region has one point near the middle of its population.
//!
//! Random streams: two uniform numbers per viewer, latitude first.

use study_ident::RandomStream;
use study_tree::{Cx, Decode, Diagnostic, Node, Span, did_you_mean};

/// Radius of the sphere in km.
pub const EARTH_RADIUS_KM: f64 = 6_371.0;
/// Travel time of light in fibre, ms per km, one way.
pub const FIBRE_MS_PER_KM: f64 = 0.005;
/// How much longer paths are than the great circle, without unit.
pub const ROUTING_OVERHEAD: f64 = 2.0;
/// Viewers stand within this many degrees of their geo's centre, in latitude and in longitude.
pub const SCATTER_DEGREES: f64 = 2.0;

/// A point on the sphere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Position {
    /// Degrees north, in [-90, 90].
    pub latitude: f64,
    /// Degrees east, in [-180, 180].
    pub longitude: f64,
}

/// A named place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// The name in study files.
    pub name: &'static str,
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
}

const fn place(name: &'static str, latitude: f64, longitude: f64) -> Place {
    Place { name, latitude, longitude }
}

/// All places, regions first; names are unique.
pub const PLACES: &[Place] = &[
    place("asia", 25.0, 105.0),
    place("europe", 50.0, 10.0),
    place("us-east", 39.0, -77.5),
    place("us-west", 37.5, -122.0),
    place("south-america", -15.0, -55.0),
    place("africa", 5.0, 20.0),
    place("amsterdam", 52.4, 4.9),
    place("bangkok", 13.8, 100.5),
    place("buenos-aires", -34.6, -58.4),
    place("cairo", 30.0, 31.2),
    place("chicago", 41.9, -87.6),
    place("delhi", 28.6, 77.2),
    place("dubai", 25.2, 55.3),
    place("frankfurt", 50.1, 8.7),
    place("hong-kong", 22.3, 114.2),
    place("istanbul", 41.0, 29.0),
    place("jakarta", -6.2, 106.8),
    place("johannesburg", -26.2, 28.0),
    place("lagos", 6.5, 3.4),
    place("london", 51.5, -0.1),
    place("los-angeles", 34.1, -118.2),
    place("madrid", 40.4, -3.7),
    place("manila", 14.6, 121.0),
    place("mexico-city", 19.4, -99.1),
    place("mumbai", 19.1, 72.9),
    place("nairobi", -1.3, 36.8),
    place("new-york", 40.7, -74.0),
    place("paris", 48.9, 2.4),
    place("sao-paulo", -23.6, -46.6),
    place("seoul", 37.6, 127.0),
    place("shanghai", 31.2, 121.5),
    place("singapore", 1.4, 103.8),
    place("stockholm", 59.3, 18.1),
    place("sydney", -33.9, 151.2),
    place("tokyo", 35.7, 139.7),
    place("toronto", 43.7, -79.4),
    place("warsaw", 52.2, 21.0),
];

/// One of [`PLACES`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Geo(&'static Place);

impl Geo {
    /// The place of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        PLACES.iter().find(|p| p.name == name).map(Self)
    }
    /// Reads a name that stands at `span`; an unknown one is reported as `unknown-value`.
    pub fn decode_name(name: &str, span: Span, cx: &mut Cx<'_>) -> Option<Self> {
        let found = Self::named(name);
        if found.is_none() {
            let known: Vec<&str> = PLACES.iter().map(|p| p.name).collect();
            let help = did_you_mean(name, &known).unwrap_or_else(|| format!("known places: {}", known.join(", ")));
            cx.push(Diagnostic::error("unknown-value", span, format!("`{name}` is not a known place")).help(help));
        }
        found
    }
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }
    /// Its centre.
    #[must_use]
    pub const fn centre(self) -> Position {
        Position { latitude: self.0.latitude, longitude: self.0.longitude }
    }
    /// A random point within [`SCATTER_DEGREES`] of the centre, uniform in latitude and in longitude.
    #[must_use]
    pub fn scattered(self, random: &mut RandomStream) -> Position {
        let mut offset = || (2.0 * random.uniform() - 1.0) * SCATTER_DEGREES;
        let latitude = self.0.latitude + offset();
        Position { latitude, longitude: self.0.longitude + offset() }
    }
}

impl serde::Serialize for Geo {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Decode for Geo {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let name = String::decode(node, cx)?;
        Self::decode_name(&name, node.span, cx)
    }
    fn schema() -> serde_json::Value {
        serde_json::json!({ "enum": PLACES.iter().map(|p| p.name).collect::<Vec<_>>() })
    }
}

/// Great-circle distance in km.
#[must_use]
pub fn distance_km(a: Position, b: Position) -> f64 {
    let radians = |degrees: f64| degrees.to_radians();
    let half_sine = |degrees: f64| libm::sin(radians(degrees) / 2.0);
    let (dlat, dlon) = (half_sine(b.latitude - a.latitude), half_sine(b.longitude - a.longitude));
    let h = dlat * dlat + libm::cos(radians(a.latitude)) * libm::cos(radians(b.latitude)) * dlon * dlon;
    // Rounding may lift the root of antipodes above 1.
    2.0 * EARTH_RADIUS_KM * libm::asin(h.sqrt().min(1.0))
}

/// Estimated round trip in ms; see the [module](self).
#[must_use]
pub fn estimated_rtt_ms(a: Position, b: Position) -> f64 {
    distance_km(a, b) * FIBRE_MS_PER_KM * 2.0 * ROUTING_OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(latitude: f64, longitude: f64) -> Position {
        Position { latitude, longitude }
    }

    #[test]
    fn distances_on_the_sphere() {
        let quarter = std::f64::consts::FRAC_PI_2 * EARTH_RADIUS_KM;
        assert!((distance_km(at(0.0, 0.0), at(0.0, 90.0)) - quarter).abs() < 1e-6);
        assert!((distance_km(at(0.0, 0.0), at(90.0, 33.0)) - quarter).abs() < 1e-6);
        assert!((distance_km(at(0.0, -170.0), at(0.0, 170.0)) - quarter * 20.0 / 90.0).abs() < 1e-6, "date line");
        assert!((distance_km(at(30.0, 20.0), at(-30.0, -160.0)) - 2.0 * quarter).abs() < 1e-6, "antipodes");
        assert_eq!(distance_km(at(10.0, 10.0), at(10.0, 10.0)), 0.0);
        // London to New York, about 5,570 km by any atlas.
        let (london, new_york) = (Geo::named("london").unwrap().centre(), Geo::named("new-york").unwrap().centre());
        assert!((distance_km(london, new_york) - 5_570.0).abs() < 15.0);
    }

    #[test]
    fn a_thousand_kilometres_are_estimated_at_twenty_milliseconds() {
        let degrees = 1_000.0 / EARTH_RADIUS_KM * 180.0 / std::f64::consts::PI;
        assert!((estimated_rtt_ms(at(0.0, 0.0), at(0.0, degrees)) - 20.0).abs() < 1e-9);
    }

    #[test]
    fn places_are_distinct_and_on_the_sphere() {
        for (i, a) in PLACES.iter().enumerate() {
            assert!(a.latitude.abs() + SCATTER_DEGREES <= 90.0 && a.longitude.abs() + SCATTER_DEGREES <= 180.0);
            for b in &PLACES[i + 1..] {
                assert!(
                    a.name != b.name && (a.latitude, a.longitude) != (b.latitude, b.longitude),
                    "{} {}",
                    a.name,
                    b.name
                );
            }
        }
        assert_eq!(Geo::named("atlantis"), None);
    }

    #[test]
    fn viewers_are_scattered_evenly_by_two_degrees() {
        let geo = Geo::named("singapore").unwrap();
        let mut random = study_ident::SeedPath::root(1).stream("location");
        let points: Vec<Position> = (0..4_000).map(|_| geo.scattered(&mut random)).collect();
        let north = points.iter().map(|p| p.latitude - 1.4);
        let east = points.iter().map(|p| p.longitude - 103.8);
        for offsets in [north.collect::<Vec<f64>>(), east.collect()] {
            assert!(offsets.iter().all(|o| o.abs() <= SCATTER_DEGREES + 1e-9));
            assert!((offsets.iter().sum::<f64>() / 4_000.0).abs() < 0.08);
            assert!(offsets.iter().any(|o| *o > 1.9) && offsets.iter().any(|o| *o < -1.9));
        }
    }
}
