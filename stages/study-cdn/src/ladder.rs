//! Bitrate ladders by name.

/// One quality of a title.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rung {
    /// Nominal bitrate in kbit/s (1 kbit = 1,000 bit), above 0.
    pub bitrate_kbit_s: u32,
    /// Width of the picture in pixels, 0 when it is not known.
    pub width: u32,
    /// Height of the picture in pixels, 0 when it is not known.
    pub height: u32,
}

const fn rung(bitrate_kbit_s: u32, width: u32, height: u32) -> Rung {
    Rung { bitrate_kbit_s, width, height }
}

/// One row per ladder: documentation, variant, name in study files, where it comes from, rungs from low to high.
macro_rules! ladders {
    ($( $(#[doc = $doc:literal])* $variant:ident = $name:literal, $source:literal, [$($rung:expr),* $(,)?]; )*) => {
        study_tree::choices! {
            /// A built-in ladder.
            pub enum Ladder { $( $(#[doc = $doc])* $variant = $name ),* }
        }
        impl Ladder {
            /// The rungs, from the lowest bitrate to the highest.
            #[must_use]
            pub const fn rungs(self) -> &'static [Rung] {
                match self { $( Self::$variant => const { &[$($rung),*] } ),* }
            }
            /// Where it comes from, one line.
            #[must_use]
            pub const fn source(self) -> &'static str {
                match self { $( Self::$variant => $source ),* }
            }
        }
    };
}

ladders! {
    /// Six rungs from 400 kbit/s (360p) to 12 Mbit/s (2160p), for comparison with the Go simulator.
    GoSimulator = "go_simulator", "the ladder of the Go CDN simulator whose studies are repeated here",
        [rung(400, 640, 360), rung(800, 854, 480), rung(1_500, 1_280, 720),
         rung(3_000, 1_920, 1_080), rung(6_000, 2_560, 1_440), rung(12_000, 3_840, 2_160)];
    /// Ten rungs from 235 to 5,800 kbit/s.
    Netflix2010 = "netflix_2010",
        "the fixed ladder that Netflix used from 2010 until per-title encoding (techblog of 14 December 2015); bitrates only",
        [rung(235, 0, 0), rung(375, 0, 0), rung(560, 0, 0), rung(750, 0, 0), rung(1_050, 0, 0),
         rung(1_750, 0, 0), rung(2_350, 0, 0), rung(3_000, 0, 0), rung(4_300, 0, 0), rung(5_800, 0, 0)];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ladder_ascends_and_names_its_source() {
        for ladder in Ladder::ALL {
            let rungs = ladder.rungs();
            assert!(rungs.len() >= 2 && rungs[0].bitrate_kbit_s > 0, "{}", ladder.name());
            assert!(rungs.windows(2).all(|w| w[0].bitrate_kbit_s < w[1].bitrate_kbit_s), "{}", ladder.name());
            assert!(ladder.source().len() > 20, "{}", ladder.name());
        }
    }

    #[test]
    fn the_go_ladder_has_its_six_rungs() {
        let rates: Vec<u32> = Ladder::GoSimulator.rungs().iter().map(|r| r.bitrate_kbit_s).collect();
        assert_eq!(rates, [400, 800, 1_500, 3_000, 6_000, 12_000]);
        assert_eq!(Ladder::GoSimulator.rungs()[3].height, 1_080);
    }
}
