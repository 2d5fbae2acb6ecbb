//! Parameters of `explain`: those of `simulate`, and how orders are taken.

use crate::simulate::{self, Mode, SimulateParams};
use serde::Serialize;
use serde_json::Value;
use study_cdn::player::Decisions;
use study_transport::Protocol;
use study_tree::{Cx, Decode, Diagnostic, Node, params, split_keys};

params! {
    /// Keys of `explain` besides those of `simulate`.
    pub struct LadderKeys {
        /// Up to this many mechanisms that differ, all orders count exactly (2^k trials per run); beyond, orders are drawn.
        exact_up_to: u32 = 4, in 0..=12;
        /// Orders drawn per run where not all are taken, rounded up to pairs of an order and its reverse.
        orders: u32 = 8, in 2..=10_000;
    }
}

const OWN_KEYS: &[&str] = &["exact_up_to", "orders"];

/// Parameters of a node of kind `explain`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExplainParams {
    /// How orders are taken.
    #[serde(flatten)]
    pub ladder: LadderKeys,
    /// What is simulated; two arms, from and to.
    #[serde(flatten)]
    pub simulate: SimulateParams,
}

/// Reads a node.
pub(super) fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<ExplainParams> {
    let (own, rest) = split_keys(node, OWN_KEYS);
    let ladder = LadderKeys::decode(&own, cx);
    let simulate = simulate::decode(&rest, cx)?;
    let span = |key: &str| node.get(key).map_or(node.span, |n| n.span);
    let refuse = |cx: &mut Cx<'_>, key: &str, message: &str, help: &str| {
        cx.push(Diagnostic::error("out-of-range", span(key), message).help(help));
        None
    };
    if simulate.arms.len() != 2 {
        return refuse(cx, "arms", "a feature ladder leads from one arm to another", "name exactly two arms");
    }
    if simulate.mode != Mode::Modeled {
        return refuse(
            cx,
            "mode",
            "a feature ladder exchanges mechanisms one by one, which real stacks do not let it",
            "write `mode: modeled`",
        );
    }
    if simulate.arms.iter().any(|arm| arm.protocol == Protocol::H1) {
        return refuse(
            cx,
            "arms",
            "a feature ladder needs one connection per viewer in both arms",
            "use arms of the protocols `h2` and `h3`",
        );
    }
    if simulate.base.player.decisions == Decisions::ClosedLoop {
        return refuse(
            cx,
            "player",
            "with `decisions: closed_loop` the arms ask for different segments, so that times cannot be attributed",
            "write `player: { decisions: { replay: ARM } }` or `{ fixed_rung: 0 }`",
        );
    }
    if !simulate.qlog.is_off() {
        let help = "log the sessions of a `simulate` stage; here write `qlog: { viewers: 0 }`";
        return refuse(cx, "qlog", "a feature ladder keeps no logs of its trials", help);
    }
    Some(ExplainParams { ladder: ladder?, simulate })
}

/// JSON Schema of the stage.
pub(super) fn schema() -> Value {
    let (mut schema, own) = (simulate::schema(), LadderKeys::schema());
    for (key, value) in own["properties"].as_object().into_iter().flatten() {
        schema["properties"][key] = value.clone();
    }
    schema
}
