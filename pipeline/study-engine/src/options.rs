//! What a run is asked to do.

/// Options of [`plan`](crate::plan) and [`run`](crate::run()). A node is named by its id, or by its stage for all cells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// Threads, and nodes under way at once; 0 for as many as the machine has cores.
    pub jobs: usize,
    /// Run these although they are cached.
    pub force: Vec<String>,
    /// Run these and all below them although they are cached.
    pub from: Vec<String>,
    /// Run these and nothing else; refused when what they read is not cached.
    pub only: Vec<String>,
    /// Run these and what they need, and nothing else.
    pub until: Vec<String>,
    /// Start nothing more once a node has failed; otherwise everything that does not need it is finished.
    pub fail_fast: bool,
}
