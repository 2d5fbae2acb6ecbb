//! Parameters of `bootstrap`.

use study_tree::{Cx, Decode, Diagnostic, Node, choices, params};
use study_units::Probability;

params! {
    /// Parameters of `bootstrap`.
    pub struct BootstrapParams {
        /// Resamples of the runs per statistic.
        resamples: u32 = 10_000, in 100..=1_000_000;
        /// What is resampled: the independent unit.
        unit: Unit = Unit::Run;
        /// Level of the intervals, between 50 % and 99.9 %.
        level: Level = Level::default();
        /// The arm that others are compared with; the first arm of the study when not given.
        baseline: Option<String> = None;
        /// Kinds of interval, one row each; the first is the default that reports and claims read.
        methods: Methods = Methods::default();
    }
}

choices! {
    /// The independent unit.
    pub enum Unit {
        /// A run: all of its viewers together.
        Run = "run",
    }
}

choices! {
    /// A kind of interval.
    pub enum Method {
        /// Studentised; Student t below 8 runs.
        BootstrapT = "bootstrap-t",
        /// Percentile; too narrow below 50 runs or so.
        Percentile = "percentile",
        /// Percentile reflected at the estimate.
        Basic = "basic",
        /// Bias-corrected and accelerated; too narrow below 50 runs or so.
        Bca = "bca",
        /// Student t.
        T = "t",
    }
}

/// The level of an interval, in 0.5..=0.999.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Level(f64);

impl Default for Level {
    fn default() -> Self {
        Self(0.95)
    }
}

impl Level {
    /// The share, in 0.5..=0.999.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Decode for Level {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let share = Probability::decode(node, cx)?;
        if (0.5..=0.999).contains(&share.get()) {
            return Some(Self(share.get()));
        }
        let message = format!("{} is out of range for the level of an interval", node.describe());
        cx.push(Diagnostic::error("out-of-range", node.span, message).help("give a value from `50 %` to `99.9 %`"));
        None
    }
    fn schema() -> serde_json::Value {
        Probability::schema()
    }
}

/// Kinds of interval in the order of their rows, each once; the first is the default.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Methods(Vec<Method>);

impl Default for Methods {
    fn default() -> Self {
        Self(vec![Method::BootstrapT, Method::Percentile, Method::Bca, Method::T])
    }
}

impl Methods {
    /// In the order of their rows.
    #[must_use]
    pub fn get(&self) -> &[Method] {
        &self.0
    }
}

impl Decode for Methods {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let given = Vec::<Method>::decode(node, cx)?;
        if given.is_empty() {
            cx.push(
                Diagnostic::error("out-of-range", node.span, "no kind of interval is given")
                    .help("give at least one, e.g. `[bootstrap-t]`"),
            );
            return None;
        }
        let mut methods: Vec<Method> = Vec::new();
        for method in given {
            if !methods.contains(&method) {
                methods.push(method);
            }
        }
        Some(Self(methods))
    }
    fn schema() -> serde_json::Value {
        let mut schema = Vec::<Method>::schema();
        schema["minItems"] = 1.into();
        schema
    }
}
