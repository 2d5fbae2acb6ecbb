//! What a worker is asked to do: plain data that crosses a pipe as JSON.

use crate::params::EmulationParams;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use study_cdn::cache::CacheParams;
use study_cdn::catalog::{Title, TitleError};
use study_cdn::player::{PlannedRequest, PlayerParams};
use study_ident::SeedPath;
use study_link::LinkParams;
use study_shaper::Backend;
use study_transport::{CongestionControl, Protocol, Scheduler, SessionState, TransportParams};
use study_units::SimDuration;

/// Blocks of trials over one network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// What carries the links.
    pub backend: Backend,
    /// Root of the study's random streams.
    pub seed: SeedPath,
    /// How the trials are run.
    pub emulation: EmulationParams,
    /// Whether unequal settings are what is compared (`compare: as_deployed`).
    pub as_deployed: bool,
    /// The arms, baseline first.
    pub arms: Vec<Arm>,
    /// The edges.
    pub edges: Vec<Edge>,
    /// The titles that viewers watch, by number.
    pub titles: BTreeMap<u32, TitleSizes>,
    /// One block each.
    pub runs: Vec<Run>,
}

/// One arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Its name.
    pub name: String,
    /// Protocol of the last mile.
    pub protocol: Protocol,
    /// Congestion controller of both ends of the last mile.
    pub congestion_control: CongestionControl,
    /// Order of the responses.
    pub scheduler: Scheduler,
    /// Protocol between edge and origin.
    pub origin_protocol: Protocol,
    /// Transport parameters.
    pub transport: TransportParams,
    /// The player.
    pub player: PlayerParams,
    /// The edges' caches.
    pub cache: CacheParams,
    /// A viewer leaves when its session is not over by then.
    pub session_limit: SimDuration,
}

/// One edge with its two links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    /// Its name.
    pub name: String,
    /// The last mile of each of its viewers.
    pub client_link: LinkParams,
    /// To the origin.
    pub origin_link: LinkParams,
}

/// Sizes of a title.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TitleSizes {
    /// Nominal bitrates of the rungs, kbit/s, lowest first.
    pub rungs_kbit_s: Vec<u32>,
    /// Play time of each segment.
    pub durations: Vec<SimDuration>,
    /// Bytes, segment by segment, rung by rung.
    pub sizes: Vec<u64>,
}

impl TitleSizes {
    /// For the player.
    ///
    /// # Errors
    /// When the numbers do not fit each other.
    pub fn title(&self) -> Result<Arc<Title>, TitleError> {
        Title::new(self.rungs_kbit_s.clone().into(), self.durations.clone(), self.sizes.clone()).map(Arc::new)
    }
}

impl From<&Title> for TitleSizes {
    fn from(title: &Title) -> Self {
        let segments = 0..title.segments();
        Self {
            rungs_kbit_s: title.rungs_kbit_s().to_vec(),
            durations: segments.clone().map(|s| title.duration(s)).collect(),
            sizes: segments.flat_map(|s| title.sizes(s).iter().copied()).collect(),
        }
    }
}

/// The viewers of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Number of the run; names its random streams.
    pub run: u64,
    /// Its viewers, by id.
    pub viewers: Vec<Viewer>,
}

impl Run {
    /// Root of the run's random streams: those of the simulator.
    #[must_use]
    pub fn seed(&self, job: &Job) -> SeedPath {
        job.seed.indexed("run", self.run)
    }
}

/// One viewer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Viewer {
    /// Its id.
    pub client: u64,
    /// Position of its edge.
    pub edge: usize,
    /// When it arrives, since the start of the trial.
    pub arrival: SimDuration,
    /// What it watches.
    pub title: u32,
    /// TLS session state that its connection is to have.
    pub session: SessionState,
    /// Rungs and request times to follow; its own decisions when absent.
    pub schedule: Option<Vec<Planned>>,
}

/// One request of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// Rung, from 0.
    pub rung: usize,
    /// When it leaves, since the arrival of the viewer.
    pub after: SimDuration,
}

impl From<&Planned> for PlannedRequest {
    fn from(planned: &Planned) -> Self {
        Self { rung: planned.rung, after: planned.after }
    }
}

impl From<&PlannedRequest> for Planned {
    fn from(planned: &PlannedRequest) -> Self {
        Self { rung: planned.rung, after: planned.after }
    }
}
