//! Small jobs.

use study_cdn::cache::CacheParams;
use study_cdn::player::{Decisions, PlayerParams};
use study_link::LinkParams;
use study_shaper::Backend;
use study_transport::{CongestionControl, Protocol, Scheduler, SessionState, TransportParams};
use study_tree::{Cx, Decode, Node, Sections, Span};
use study_trial::{Arm, Edge, EmulationParams, Job, Pacing, Run, TitleSizes, Viewer};
use study_units::SimDuration;

/// Parameters of a study that says nothing.
pub fn defaults<T: Decode>() -> T {
    let sections = Sections::new();
    T::decode(&Node::map(Vec::new(), Span::default()), &mut Cx::new(&sections)).expect("every key has a default")
}

/// A link by its JSON.
pub fn link(one_way: &str, rate: &str, loss: &str) -> LinkParams {
    let way = study_link::DirectionParams::plain(
        study_units::Quantity::parse_quantity(one_way).expect("a time"),
        study_link::Rate::Constant(study_units::Quantity::parse_quantity(rate).expect("a rate")),
    );
    let mut down = way.clone();
    if !loss.is_empty() {
        down.loss = serde_json::from_str(loss).expect("a loss process");
    }
    LinkParams { down, up: way }
}

/// An arm with nothing but its protocol.
pub fn arm(protocol: Protocol) -> Arm {
    Arm {
        name: protocol.name().to_owned(),
        protocol,
        congestion_control: CongestionControl::Cubic,
        scheduler: Scheduler::RoundRobin,
        origin_protocol: Protocol::H2,
        transport: defaults::<TransportParams>(),
        player: PlayerParams { prefetch: 2, decisions: Decisions::FixedRung(0), ..defaults() },
        cache: defaults::<CacheParams>(),
        session_limit: SimDuration::from_secs(20),
    }
}

/// H2 and H3, `viewers` viewers of one title of four segments, 100 kB each.
pub fn job(backend: Backend, viewers: u64, client_link: LinkParams) -> Job {
    let title =
        TitleSizes { rungs_kbit_s: vec![400], durations: vec![SimDuration::from_secs(2); 4], sizes: vec![100_000; 4] };
    let viewer = |client| Viewer {
        client,
        edge: 0,
        arrival: SimDuration::from_millis(50 * client),
        title: 0,
        session: SessionState::Cold,
        schedule: None,
    };
    Job {
        backend,
        seed: study_ident::SeedPath::root(7),
        emulation: EmulationParams { pacing: Pacing::BackToBack, retries: 0, ..defaults() },
        as_deployed: false,
        arms: vec![arm(Protocol::H2), arm(Protocol::H3)],
        edges: vec![Edge { name: "near".to_owned(), client_link, origin_link: link("5 ms", "100 Mbit/s", "") }],
        titles: [(0, title)].into(),
        runs: vec![Run { run: 0, viewers: (0..viewers).map(viewer).collect() }],
    }
}
