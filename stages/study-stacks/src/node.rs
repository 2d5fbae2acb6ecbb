//! One emulated role as a process of its own, over plain sockets: `study node`.
//!
//! Purpose: client, edge, shield and origin of a trial in separate processes (or on separate machines), each started in the
//! network that it belongs to. What a role says goes to `out` as one JSON object per line, with an `event`:
//!
//! | role | events |
//! |---|---|
//! | `origin`, `shield`, `edge` | `ready` (address, stack, certificate chain) when connections are taken; `stats` at the end |
//! | `client` | `connected`; `fetch` for each transfer, also a failed one; `end` |
//!
//! **Trust between the processes** is one file that all of them are given ([`Credentials::shared`]): the first server makes
//! it, readable by its user only, everybody else reads it. A seed on the command line would do the same and show the key to
//! every user of the machine.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | a server that is told to end finishes what it has begun | it ends at once, and its counters are those of that moment | transfers under way fail at the client, with a row |

mod client;
mod params;
mod play;
mod server;

pub use params::{ClientParams, EdgeParams, EndParams, NodeParams, OriginParams, RoleChoice, TitleParams};
pub use play::{Pacing, play};

use crate::error::StackError;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The name of every server of a study, as in its certificate.
pub const SERVER_NAME: &str = "node.study";
/// How often a role looks whether it should end.
const LOOK: Duration = Duration::from_millis(20);

/// Why a role could not do its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeError {
    /// The stack says so.
    #[error(transparent)]
    Stack(#[from] StackError),
    /// The file of credentials cannot be used.
    #[error("the credentials in `{}` cannot be used: {reason}", path.display())]
    CredentialsFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
        /// What to do.
        cure: String,
    },
    /// Nobody listens to what the role says.
    #[error("cannot write to stdout: {reason}")]
    Output {
        /// What the kernel said.
        reason: String,
    },
}

impl NodeError {
    /// Whether the environment lacks something, in contrast to a connection that failed.
    #[must_use]
    pub const fn is_environment(&self) -> bool {
        match self {
            Self::Stack(error) => error.is_environment(),
            Self::CredentialsFile { .. } | Self::Output { .. } => true,
        }
    }
    /// What to do about it, where something can be done.
    #[must_use]
    pub fn cure(&self) -> Option<String> {
        match self {
            Self::Stack(error) => error.cure(),
            Self::CredentialsFile { cure, .. } => Some(cure.clone()),
            Self::Output { .. } => None,
        }
    }
}

/// How a role ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeEnd {
    /// A server that was told to end, or a client that has everything.
    Well,
    /// A client with so many transfers that failed; each has its row.
    Failed(u64),
    /// A client that was told to end before it was done.
    Stopped,
}

/// Where a role says what it does: one line per call.
pub type Out<'o> = &'o mut dyn FnMut(&Value) -> Result<(), NodeError>;

/// Plays a role until it is done or `stop` is set.
///
/// # Errors
/// [`NodeError`]: what the machine lacks, or a connection that could not be made.
pub fn run(params: &NodeParams, out: Out<'_>, stop: &AtomicBool) -> Result<NodeEnd, NodeError> {
    crate::runtime()?.block_on(async {
        match params {
            NodeParams::Origin(end, role) => server::origin(end, role, out, stop).await,
            NodeParams::Edge(end, role) => server::edge(RoleChoice::Edge, end, role, out, stop).await,
            NodeParams::Shield(end, role) => server::edge(RoleChoice::Shield, end, role, out, stop).await,
            NodeParams::Client(end, role) => client::run(end, role, out, stop).await,
        }
    })
}

/// Ends when the role is told to.
async fn told(stop: &AtomicBool) {
    while !stop.load(Ordering::Acquire) {
        tokio::time::sleep(LOOK).await;
    }
}
