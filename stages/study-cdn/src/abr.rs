//! Which rung is asked for next: one contract, one file per algorithm, one row per algorithm in [`abr_algorithms!`].
//!
//! An algorithm decides per segment, at the moment the request leaves. With several requests in flight it sees the buffer
//! that can be played now, not what is still on its way.
//!
//! Random streams: none.

mod bba;
mod throughput;

pub use bba::{Bba, BbaParams};
pub use throughput::{Throughput, ThroughputParams};

use study_units::SimDuration;

/// How many [`ThroughputSample`]s a player keeps.
pub const SAMPLES_KEPT: usize = 20;

/// What one segment said about the throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThroughputSample {
    /// Bytes of the segment.
    pub bytes: u64,
    /// Time that the segment alone took: since its request, or since the completion before it where that is later. With
    /// several requests in flight, bytes by time is then the rate of all of them together; 0 when two complete at once.
    pub duration: SimDuration,
}

/// What an algorithm may know.
#[derive(Debug, Clone, Copy)]
pub struct AbrInput<'a> {
    /// The segment to decide on, from 0.
    pub segment: usize,
    /// Play time that is downloaded without gap and not yet played.
    pub buffer: SimDuration,
    /// Rung of the segment before, `None` for the first.
    pub last_rung: Option<usize>,
    /// Nominal bitrates in kbit/s, rising.
    pub rungs_kbit_s: &'a [u32],
    /// Sizes of this segment in bytes, per rung.
    pub next_sizes_bytes: &'a [u64],
    /// Play time of this segment.
    pub segment_duration: SimDuration,
    /// The last completed segments, at most [`SAMPLES_KEPT`], the latest last.
    pub samples: &'a [ThroughputSample],
}

/// Chooses a rung per segment.
pub trait Abr: std::fmt::Debug + Send {
    /// Position of the rung, below the number of rungs.
    fn choose(&mut self, input: &AbrInput<'_>) -> usize;
}

/// The registry: documentation, variant with its parameters, name in study files, constructor from the parameters.
macro_rules! abr_algorithms {
    ($( $(#[doc = $doc:literal])* $variant:ident($params:ty) = $name:literal, $new:expr; )*) => {
        study_tree::variants! {
            /// The algorithm that chooses rungs: its name, or `{ name: parameters }`.
            pub enum AbrChoice {
                unit {}
                defaulted { $( $(#[doc = $doc])* $variant($params) = $name ),* }
                data {}
            }
        }
        impl AbrChoice {
            /// Every name in study files.
            pub const NAMES: &'static [&'static str] = &[$( $name ),*];
            /// The algorithm at the start of a session.
            #[must_use]
            pub fn build(&self) -> Box<dyn Abr> {
                match self { $( Self::$variant(params) => Box::new($new(params)) ),* }
            }
        }
    };
}

abr_algorithms! {
    /// By the buffer alone (BBA-0, Huang et al. 2014).
    Bba(BbaParams) = "bba", Bba::new;
    /// By the harmonic mean of the last segments' throughput.
    Throughput(ThroughputParams) = "throughput", Throughput::new;
}

#[cfg(test)]
pub(crate) mod scenes {
    //! Inputs for the tests of the algorithms.
    use super::*;

    pub(crate) const RUNGS: &[u32] = &[400, 800, 1_500, 3_000, 6_000, 12_000];

    pub(crate) fn input(buffer_ms: u64, last_rung: Option<usize>, samples: &[ThroughputSample]) -> AbrInput<'_> {
        AbrInput {
            segment: usize::from(last_rung.is_some()),
            buffer: SimDuration::from_millis(buffer_ms),
            last_rung,
            rungs_kbit_s: RUNGS,
            next_sizes_bytes: &[200_000, 400_000, 750_000, 1_500_000, 3_000_000, 6_000_000],
            segment_duration: SimDuration::from_secs(4),
            samples,
        }
    }
}

#[cfg(test)]
mod conformance {
    //! What holds for every algorithm of the registry.
    use super::*;
    use proptest::prelude::*;
    use study_tree::{Cx, Decode, Node, Sections, Span};

    fn by_name(name: &str) -> Box<dyn Abr> {
        let sections = Sections::new();
        let choice = AbrChoice::decode(&Node::plain(name, Span::default()), &mut Cx::new(&sections)).unwrap();
        assert_eq!(choice.name(), name);
        choice.build()
    }

    #[test]
    fn a_session_starts_at_the_lowest_rung() {
        for name in AbrChoice::NAMES {
            assert_eq!(by_name(name).choose(&scenes::input(0, None, &[])), 0, "{name}");
        }
    }

    proptest! {
        #[test]
        fn the_choice_is_a_rung_and_depends_on_the_input_alone(
            rungs in prop::collection::btree_set(1_u32..50_000, 1..12),
            steps in prop::collection::vec((0_u64..100_000, 0_u64..20_000_000, 0_u64..20_000), 1..40),
        ) {
            let rungs: Vec<u32> = rungs.into_iter().collect();
            for name in AbrChoice::NAMES {
                let mut both = [by_name(name), by_name(name)];
                let mut samples = Vec::new();
                let mut last_rung = None;
                for (segment, (buffer, bytes, ms)) in steps.iter().enumerate() {
                    let sizes = vec![*bytes; rungs.len()];
                    let input = AbrInput {
                        segment,
                        buffer: SimDuration::from_millis(*buffer),
                        last_rung,
                        rungs_kbit_s: &rungs,
                        next_sizes_bytes: &sizes,
                        segment_duration: SimDuration::from_secs(4),
                        samples: &samples,
                    };
                    let [a, b] = both.each_mut().map(|abr| abr.choose(&input));
                    prop_assert!(a == b && a < rungs.len(), "{} {} {}", name, a, b);
                    last_rung = Some(a);
                    samples.push(ThroughputSample { bytes: *bytes, duration: SimDuration::from_millis(*ms) });
                }
            }
        }
    }
}
