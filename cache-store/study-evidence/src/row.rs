//! One row of the page: a measurement, the reference, the bound, and what follows from the three.

use crate::Place;
use serde::{Deserialize, Serialize};

/// Heading that a row stands under; the page has them in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// Round trips before a request can leave.
    Handshakes,
    /// Times and rates without loss.
    NoLoss,
    /// Congestion windows under loss.
    Windows,
    /// BBR, labelled by generation.
    Bbr,
    /// Detection and repair of losses.
    Recovery,
    /// Streams that wait for each other, and what must not differ between the protocols.
    Streams,
    /// Loss processes of the link.
    Losses,
    /// Queues of the link, and flows that share them.
    Queues,
    /// Other implementations: real state machines in virtual time.
    Implementations,
}

impl Topic {
    /// All, in the order of the page.
    pub const ALL: [Self; 9] = [
        Self::Handshakes,
        Self::NoLoss,
        Self::Windows,
        Self::Bbr,
        Self::Recovery,
        Self::Streams,
        Self::Losses,
        Self::Queues,
        Self::Implementations,
    ];
    /// The heading.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Handshakes => "Handshakes",
            Self::NoLoss => "Times and rates without loss",
            Self::Windows => "Congestion windows",
            Self::Bbr => "BBR",
            Self::Recovery => "Recovery",
            Self::Streams => "Streams, and TCP against QUIC",
            Self::Losses => "Loss processes",
            Self::Queues => "Queues and shared bottlenecks",
            Self::Implementations => "Real implementations in virtual time",
        }
    }
}

/// When a claim holds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "bound")]
pub enum Bound {
    /// Off the reference by at most this share of it.
    Relative {
        /// Share, at least 0.
        tolerance: f64,
    },
    /// Off the reference by at most this much, in the row's unit; 0 asks for equality.
    Absolute {
        /// In the row's unit, at least 0.
        tolerance: f64,
    },
    /// Off the reference by less than three standard deviations.
    ThreeSigma {
        /// Standard deviation of the measurement, in the row's unit.
        sigma: f64,
    },
    /// Within these ends, both included; `f64::MIN` and `f64::MAX` where there is none.
    Between {
        /// In the row's unit.
        low: f64,
        /// In the row's unit.
        high: f64,
    },
}

/// What the page says of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Within the bound, and within the goal where there is one.
    Pass,
    /// Within the bound of the test, but not within the goal.
    GoalMissed,
    /// Beyond the bound: the test fails.
    Fail,
}

/// A judged measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The test that measured and judged.
    pub place: Place,
    /// Heading.
    pub topic: Topic,
    /// What is compared with.
    pub reference: String,
    /// Where the reference is published.
    pub source: String,
    /// Under which conditions.
    pub condition: String,
    /// Unit of the numbers.
    pub unit: String,
    /// What our model gives.
    pub ours: f64,
    /// What the reference says, where it is a number.
    pub expected: Option<f64>,
    /// When the claim holds.
    #[serde(flatten)]
    pub bound: Bound,
    /// What we would like at most, where that is less than the bound asks for.
    pub goal: Option<f64>,
}

impl Row {
    /// Whether it holds, and whether the goal is reached.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let off = self.expected.map(|expected| (self.ours - expected).abs());
        let holds = match self.bound {
            Bound::Relative { tolerance } => {
                off.zip(self.expected).is_some_and(|(off, expected)| off <= tolerance * expected.abs())
            }
            Bound::Absolute { tolerance } => off.is_some_and(|off| off <= tolerance),
            // A count that cannot vary must be met exactly.
            Bound::ThreeSigma { sigma } => off.is_some_and(|off| off < 3.0 * sigma || off <= 1e-9),
            Bound::Between { low, high } => (low..=high).contains(&self.ours),
        };
        match (holds, self.goal) {
            (false, _) => Verdict::Fail,
            (true, Some(goal)) if self.ours > goal => Verdict::GoalMissed,
            (true, _) => Verdict::Pass,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(ours: f64, expected: Option<f64>, bound: Bound, goal: Option<f64>) -> Verdict {
        let place = Place { package: "p".into(), program: "x".into(), test: "t".into() };
        let [reference, source, condition, unit] = ["", "", "", ""].map(str::to_owned);
        let topic = Topic::Windows;
        Row { place, topic, reference, source, condition, unit, ours, expected, bound, goal }.verdict()
    }

    #[test]
    fn each_bound_holds_up_to_its_end_and_no_further() {
        let relative = Bound::Relative { tolerance: 0.5 };
        assert_eq!(verdict(15.0, Some(10.0), relative, None), Verdict::Pass);
        assert_eq!(verdict(15.1, Some(10.0), relative, None), Verdict::Fail);
        assert_eq!(verdict(4.9, Some(10.0), relative, None), Verdict::Fail);
        let absolute = Bound::Absolute { tolerance: 0.0 };
        assert_eq!(verdict(3.0, Some(3.0), absolute, None), Verdict::Pass);
        assert_eq!(verdict(3.0 + 1e-12, Some(3.0), absolute, None), Verdict::Fail);
        let sigma = Bound::ThreeSigma { sigma: 1.0 };
        assert_eq!(verdict(12.9, Some(10.0), sigma, None), Verdict::Pass);
        assert_eq!(verdict(13.0, Some(10.0), sigma, None), Verdict::Fail);
        let between = Bound::Between { low: f64::MIN, high: 2.0 };
        assert_eq!(verdict(2.0, None, between, None), Verdict::Pass);
        assert_eq!(verdict(2.1, None, between, None), Verdict::Fail);
    }

    #[test]
    fn what_is_not_a_number_or_has_no_reference_fails() {
        for bound in [Bound::Relative { tolerance: 9.0 }, Bound::Between { low: 0.0, high: 9.0 }] {
            assert_eq!(verdict(f64::NAN, Some(1.0), bound, None), Verdict::Fail);
        }
        assert_eq!(verdict(1.0, None, Bound::Relative { tolerance: 9.0 }, None), Verdict::Fail);
    }

    #[test]
    fn a_goal_that_is_missed_is_no_pass() {
        let bound = Bound::Between { low: 0.0, high: 0.1 };
        assert_eq!(verdict(0.058, None, bound, Some(0.05)), Verdict::GoalMissed);
        assert_eq!(verdict(0.05, None, bound, Some(0.05)), Verdict::Pass);
        assert_eq!(verdict(0.2, None, bound, Some(0.05)), Verdict::Fail);
    }
}
