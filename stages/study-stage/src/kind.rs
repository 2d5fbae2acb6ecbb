//! Stage kinds as the engine and the study reader see them.

use crate::{Inputs, Outputs, Series, StageCx, StageError};
use serde_json::Value;
use std::any::Any;
use std::sync::Arc;
use study_tree::{Cx, Node};

/// Whether the same key always gives the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Determinism {
    /// Same key, same bytes, on any machine and thread count.
    Exact,
    /// Measured on a real host: a repetition is another sample.
    Sampled,
}

/// Decoded parameters of one node.
pub trait Params: Any + Send + Sync {
    /// The canonical document: defaults filled in, quantities in canonical spelling. It is what the key is made of.
    fn canonical(&self) -> Value;
    /// For the kind that made them.
    fn as_any(&self) -> &dyn Any;
}

impl<P: serde::Serialize + Send + Sync + 'static> Params for P {
    fn canonical(&self) -> Value {
        serde_json::to_value(self).expect("parameters are plain data with text keys")
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A stage kind with its own type of parameters. Everything else takes [`Kind`].
pub trait StageKind: Send + Sync {
    /// The parameters.
    type Params: serde::Serialize + Send + Sync + 'static;
    /// The name in `kind:`.
    const NAME: &'static str;
    /// One sentence for `study kinds`.
    const SUMMARY: &'static str;
    /// Semantic version: raised when the same inputs give other outputs.
    const VERSION: u32;
    /// Keys that a stage takes from the top of the study when it does not give them itself (`runs`).
    const INHERITS: &'static [&'static str] = &[];
    /// Names of the frames it reads; others that its `needs` offer are not passed. `"*"` reads any frame.
    const TAKES: &'static [&'static str] = &[];
    /// Names of the frames that must be there.
    const REQUIRES: &'static [&'static str] = &[];
    /// Names of the frames it writes.
    const GIVES: &'static [&'static str] = &[];
    /// Whether the study's seed is part of its key.
    const USES_SEED: bool = false;
    /// Whether name, title and resolved configuration of the study are part of its key (reports).
    const SEES_STUDY: bool = false;

    /// Reads the parameters from the stage's node (without `kind`, `needs`, `like`, `matrix`, `per_cell`).
    fn decode(&self, node: &Node, cx: &mut Cx<'_>) -> Option<Self::Params>;
    /// JSON Schema of the parameters.
    fn schema(&self) -> Value;
    /// Fingerprint of the source the stage depends on; mixed into the key of builds that are not releases.
    fn source_fingerprint(&self) -> &'static str;
    /// Whether the result is exact.
    fn determinism(&self, _params: &Self::Params) -> Determinism {
        Determinism::Exact
    }
    /// The repetitions of a sampled node that appends; nothing where the node is recorded as a whole. Kinds that give one use
    /// [`StageCx::repetitions`], and have all of them on record when [`run`](Self::run) succeeds.
    fn series(&self, _params: &Self::Params) -> Option<Series> {
        None
    }
    /// Does the work.
    ///
    /// # Errors
    /// [`StageError`] says what, where and what to do; nothing is recorded then.
    fn run(&self, params: &Self::Params, cx: &StageCx<'_>, inputs: &Inputs) -> Result<Outputs, StageError>;
}

/// A stage kind without its type of parameters. Implemented for every [`StageKind`].
#[allow(missing_docs, reason = "each method is documented at StageKind")]
pub trait Kind: Send + Sync {
    fn name(&self) -> &'static str;
    fn summary(&self) -> &'static str;
    fn version(&self) -> u32;
    fn inherits(&self) -> &'static [&'static str];
    fn takes(&self) -> &'static [&'static str];
    fn requires(&self) -> &'static [&'static str];
    fn gives(&self) -> &'static [&'static str];
    fn uses_seed(&self) -> bool;
    fn sees_study(&self) -> bool;
    fn decode(&self, node: &Node, cx: &mut Cx<'_>) -> Option<Arc<dyn Params>>;
    fn schema(&self) -> Value;
    fn source_fingerprint(&self) -> &'static str;
    fn determinism(&self, params: &dyn Params) -> Determinism;
    fn series(&self, params: &dyn Params) -> Option<Series>;
    /// # Errors
    /// As [`StageKind::run`].
    fn run(&self, params: &dyn Params, cx: &StageCx<'_>, inputs: &Inputs) -> Result<Outputs, StageError>;
}

fn own<K: StageKind + ?Sized>(params: &dyn Params) -> &K::Params {
    params.as_any().downcast_ref().expect("parameters go back to the kind that decoded them")
}

impl<K: StageKind> Kind for K {
    fn name(&self) -> &'static str {
        K::NAME
    }
    fn summary(&self) -> &'static str {
        K::SUMMARY
    }
    fn version(&self) -> u32 {
        K::VERSION
    }
    fn inherits(&self) -> &'static [&'static str] {
        K::INHERITS
    }
    fn takes(&self) -> &'static [&'static str] {
        K::TAKES
    }
    fn requires(&self) -> &'static [&'static str] {
        K::REQUIRES
    }
    fn gives(&self) -> &'static [&'static str] {
        K::GIVES
    }
    fn uses_seed(&self) -> bool {
        K::USES_SEED
    }
    fn sees_study(&self) -> bool {
        K::SEES_STUDY
    }
    fn decode(&self, node: &Node, cx: &mut Cx<'_>) -> Option<Arc<dyn Params>> {
        StageKind::decode(self, node, cx).map(|p| Arc::new(p) as Arc<dyn Params>)
    }
    fn schema(&self) -> Value {
        StageKind::schema(self)
    }
    fn source_fingerprint(&self) -> &'static str {
        StageKind::source_fingerprint(self)
    }
    fn determinism(&self, params: &dyn Params) -> Determinism {
        StageKind::determinism(self, own::<K>(params))
    }
    fn series(&self, params: &dyn Params) -> Option<Series> {
        StageKind::series(self, own::<K>(params))
    }
    fn run(&self, params: &dyn Params, cx: &StageCx<'_>, inputs: &Inputs) -> Result<Outputs, StageError> {
        StageKind::run(self, own::<K>(params), cx, inputs)
    }
}

/// A section of named definitions at the top of a study (`links`, `arms`, `claims`), known to the reader by its row.
pub struct Section {
    /// The key in the study file.
    pub name: &'static str,
    /// `true` for a mapping of names, `false` for a list of items with an `id`.
    pub named: bool,
    /// Checks one definition by itself, so that an unused one is not left unchecked.
    pub check: fn(&Node, &mut Cx<'_>),
    /// JSON Schema of one definition.
    pub schema: fn() -> Value,
}

/// All kinds and sections of a build.
pub struct Registry {
    /// Stage kinds, in the order of `study kinds`.
    pub kinds: &'static [&'static dyn Kind],
    /// Sections.
    pub sections: &'static [Section],
}

impl Registry {
    /// The kind of that name.
    #[must_use]
    pub fn kind(&self, name: &str) -> Option<&'static dyn Kind> {
        self.kinds.iter().copied().find(|k| k.name() == name)
    }
}
