//! A claim on its way to a row: what is compared, what was measured, and the bound that ends it.

use crate::{Bound, Place, Record, Row, Topic, Verdict, record};

/// A claim without its bound. Each of the methods that take one judges, records, and panics when the claim does not hold.
#[derive(Debug, Clone)]
#[must_use = "a claim without a bound judges nothing"]
pub struct Claim {
    row: Row,
}

impl Claim {
    /// What [`claim!`](crate::claim) calls.
    pub fn new(
        place: Place,
        topic: Topic,
        reference: impl Into<String>,
        source: impl Into<String>,
        condition: impl Into<String>,
    ) -> Self {
        let (reference, source, condition) = (reference.into(), source.into(), condition.into());
        let (unit, ours, bound) = (String::new(), f64::NAN, Bound::Absolute { tolerance: 0.0 });
        Self { row: Row { place, topic, reference, source, condition, unit, ours, expected: None, bound, goal: None } }
    }
    /// What was measured, in this unit (empty for a ratio).
    pub fn ours(mut self, ours: f64, unit: &str) -> Self {
        (self.row.ours, self.row.unit) = (ours, unit.to_owned());
        self
    }
    /// What we would like at most; the bound that follows is what the test asks for.
    pub fn goal(mut self, goal: f64) -> Self {
        self.row.goal = Some(goal);
        self
    }
    /// What the reference says where the bound is not a distance from it.
    pub fn expected(mut self, expected: f64) -> Self {
        self.row.expected = Some(expected);
        self
    }
    /// Off `expected` by at most the share `tolerance` of it.
    ///
    /// # Panics
    /// As all methods that follow: when the claim does not hold, or cannot be recorded.
    #[track_caller]
    pub fn relative(self, expected: f64, tolerance: f64) {
        self.expected(expected).judge(Bound::Relative { tolerance });
    }
    /// Off `expected` by at most `tolerance`, in the unit of the measurement.
    #[track_caller]
    pub fn absolute(self, expected: f64, tolerance: f64) {
        self.expected(expected).judge(Bound::Absolute { tolerance });
    }
    /// Off `expected` by less than three times `sigma`, the standard deviation of the measurement.
    #[track_caller]
    pub fn three_sigma(self, expected: f64, sigma: f64) {
        self.expected(expected).judge(Bound::ThreeSigma { sigma });
    }
    /// From `low` to `high`.
    #[track_caller]
    pub fn between(self, low: f64, high: f64) {
        self.judge(Bound::Between { low, high });
    }
    /// At most `most`.
    #[track_caller]
    pub fn at_most(self, most: f64) {
        self.between(f64::MIN, most);
    }
    /// At least `least`.
    #[track_caller]
    pub fn at_least(self, least: f64) {
        self.between(least, f64::MAX);
    }
    #[track_caller]
    fn judge(mut self, bound: Bound) {
        self.row.bound = bound;
        let row = self.row;
        record(&Record::Row(row.clone()));
        let Row { reference, condition, ours, unit, expected, .. } = &row;
        println!("{reference}, {condition}: {ours:.4} {unit}");
        assert!(
            row.verdict() != Verdict::Fail,
            "{reference}, {condition}: {ours} {unit}; the reference is {expected:?}, the bound {bound:?}"
        );
    }
}
