//! A small world in the shape of the flagship.

use std::sync::Arc;
use study_cdn::catalog::{Title, segment_durations, title_sizes};
use study_cdn::ladder::Ladder;
use study_cdn::popularity::TitleSampler;
use study_ident::SeedPath;
use study_link::LinkParams;
use study_sim::{ArmSpec, EdgeSpec, Resumption, TrialPlan, TrialResult, TrialSpec, Viewer, run_trial};
use study_transport::{CongestionControl, Protocol, Scheduler};
use study_tree::{Cx, Decode, Entry, Node, Sections, Span, defaults};
use study_units::{Probability, SimDuration, SimTime};

pub struct Scene {
    pub seed: SeedPath,
    pub arm: ArmSpec,
    pub viewers: Vec<Viewer>,
    pub edges: Vec<EdgeSpec>,
    pub titles: Vec<Arc<Title>>,
    pub popularity: TitleSampler,
}

/// A symmetric link; `burst` is the chance to enter the bad state per packet (0.03 in the flagship).
pub fn last_mile(rtt: &str, rate: &str, burst: f64) -> LinkParams {
    let plain = |text: &str| Node::plain(text, Span::default());
    let map = |entries: &[(&str, Node)]| {
        let entry = |(key, value): &(&str, Node)| Entry {
            key: (*key).to_owned(),
            key_span: Span::default(),
            value: value.clone(),
        };
        Node::map(entries.iter().map(entry).collect(), Span::default())
    };
    let loss = if burst == 0.0 {
        plain("none")
    } else {
        map(&[(
            "gilbert_elliott",
            map(&[
                ("good_to_bad", plain(&burst.to_string())),
                ("bad_to_good", plain("30 %")),
                ("loss_in_bad", plain("40 %")),
                ("clock", plain("packet")),
            ]),
        )])
    };
    let link = map(&[("symmetric", plain("true")), ("rtt", plain(rtt)), ("rate", plain(rate)), ("loss", loss)]);
    let sections = Sections::new();
    let mut cx = Cx::new(&sections);
    LinkParams::decode(&link, &mut cx).unwrap_or_else(|| panic!("{:?}", cx.diagnostics))
}

impl Scene {
    /// `clients` viewers of one edge who arrive over two minutes.
    pub fn flagship(clients: u64) -> Self {
        let seed = SeedPath::root(20_260_409);
        let rungs = Ladder::GoSimulator.rungs();
        let durations = segment_durations(SimDuration::from_secs(120), SimDuration::from_secs(4));
        let kbit: Arc<[u32]> = rungs.iter().map(|r| r.bitrate_kbit_s).collect();
        let titles: Vec<Arc<Title>> = (0..50)
            .map(|t| {
                let sizes = title_sizes(&seed, t, &durations, rungs, 0.15);
                Arc::new(Title::new(Arc::clone(&kbit), durations.clone(), sizes).unwrap())
            })
            .collect();
        let weights: Vec<f64> = (1..=50).map(|i| 1.0 / f64::from(i)).collect();
        let step = 120_000_000_000 / clients;
        let viewers =
            (0..clients).map(|c| Viewer { client: c, edge: 0, arrival: SimTime::from_nanos(c * step) }).collect();
        let mut player: study_cdn::player::PlayerParams = defaults();
        player.prefetch = 3;
        Self {
            seed,
            arm: ArmSpec {
                protocol: Protocol::H2,
                congestion_control: CongestionControl::Cubic,
                scheduler: Scheduler::RoundRobin,
                origin_protocol: Protocol::H2,
                transport: defaults(),
                resumption: Resumption { resumed: Probability::ZERO, early_data: false },
                player,
                cache: defaults(),
                session_limit: SimDuration::from_secs(1800),
                blend: None,
            },
            viewers,
            edges: vec![EdgeSpec {
                name: "singapore".to_owned(),
                client_link: last_mile("30 ms", "20 Mbit/s", 0.03),
                origin_link: last_mile("200 ms", "1 Gbit/s", 0.0),
            }],
            titles,
            popularity: TitleSampler::new(&weights).unwrap(),
        }
    }
    pub fn run(&self, run: u64, protocol: Protocol) -> TrialResult {
        self.run_with(run, protocol, None)
    }
    pub fn run_with(&self, run: u64, protocol: Protocol, replay: Option<&TrialPlan>) -> TrialResult {
        self.run_under(run, protocol, replay, self.seed.indexed("run", run))
    }
    /// With a realisation of the links of its own.
    pub fn run_under(&self, run: u64, protocol: Protocol, replay: Option<&TrialPlan>, luck: SeedPath) -> TrialResult {
        let mut arm = self.arm.clone();
        arm.protocol = protocol;
        run_trial(&TrialSpec {
            seed: self.seed.indexed("run", run),
            luck,
            arm: &arm,
            viewers: &self.viewers,
            edges: &self.edges,
            titles: &self.titles,
            popularity: &self.popularity,
            replay,
            keep_plan: true,
            recordings: &[],
        })
        .unwrap()
    }
}
