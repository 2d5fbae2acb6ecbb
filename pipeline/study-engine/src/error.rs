//! What can go wrong.

use study_stage::StageError;
use study_store::StoreError;
use study_tree::Span;

/// Why nothing was planned or run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// An option names a node that the study does not have.
    #[error("`{given}` is neither a node nor a stage of this study")]
    UnknownNode {
        /// The name as given.
        given: String,
        /// What to do.
        help: String,
    },
    /// One node is asked for, and the stage has several.
    #[error("`{given}` is a stage of {} nodes", cells.len())]
    SeveralNodes {
        /// The name as given.
        given: String,
        /// Ids of the nodes.
        cells: Vec<String>,
    },
    /// `--only` names a node whose inputs are not there.
    #[error("`{node}` cannot run alone: {} not cached", listed(inputs))]
    InputsNotCached {
        /// The node.
        node: String,
        /// Ids of the nodes it reads and that are not cached.
        inputs: Vec<String>,
    },
    /// Files that stages ask for cannot be read.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Files(Vec<FileProblem>),
    /// The plan is not in topological order: a mistake of whoever made it.
    #[error("node `{node}` stands before a node that it needs")]
    Order {
        /// The node.
        node: String,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No threads.
    #[error("cannot start threads: {0}")]
    Threads(String),
}

fn listed(nodes: &[String]) -> String {
    let quoted: Vec<String> = nodes.iter().take(5).map(|n| format!("`{n}`")).collect();
    let more = if nodes.len() > 5 { format!(" and {} more", nodes.len() - 5) } else { String::new() };
    let verb = if nodes.len() == 1 { "is" } else { "are" };
    format!("{}{more} {verb}", quoted.join(", "))
}

impl EngineError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::UnknownNode { help, .. } => Some(help.clone()),
            Self::SeveralNodes { cells, .. } => Some(format!("name one of them, e.g. `{}`", cells.first()?)),
            Self::InputsNotCached { node, .. } => Some(format!("use `--until '{node}'`, which runs what it needs too")),
            Self::Files(_) => Some("paths are relative to the study file".to_owned()),
            Self::Store(error) => error.help(),
            Self::Order { .. } | Self::Threads(_) => None,
        }
    }
}

/// A file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    /// The first node that asks for it.
    pub node: String,
    /// The path as written.
    pub path: String,
    /// Where it is written.
    pub span: Span,
    /// What the system said.
    pub message: String,
}

impl std::fmt::Display for FileProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot read `{}`, which `{}` asks for: {}", self.path, self.node, self.message)
    }
}

/// Why one node gave no result.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct NodeError {
    /// What went wrong: lower case, values in backticks.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Whether this machine lacks something, rather than the study being wrong.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub environment: bool,
}

impl NodeError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, environment: false }
    }
    pub(crate) fn with_help(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: Some(help.into()), environment: false }
    }
}

impl std::fmt::Display for NodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<StageError> for NodeError {
    fn from(error: StageError) -> Self {
        match error {
            StageError::Environment { message, help } => Self { message, help, environment: true },
            StageError::Failed { message, help } => Self { message, help, environment: false },
            StageError::Cancelled => Self::new("interrupted"),
        }
    }
}

impl From<&StoreError> for NodeError {
    fn from(error: &StoreError) -> Self {
        Self { message: error.to_string(), help: error.help(), environment: false }
    }
}
