//! `like: STAGE`: that stage's keys with the own ones merged over them.

use crate::keys::StageNames;
use crate::order::{LONGEST_CIRCLE, circle};
use study_tree::{Diagnostic, Diagnostics, Entry, Node, Span, Value, merge};

/// How far a stage has been followed.
#[derive(Clone)]
enum Progress {
    Unvisited,
    /// On the chain that is being followed.
    Open,
    /// Merged, without the key `like`.
    Done(Node),
    /// Cannot be merged; already reported.
    Failed,
}

/// The stages with `like` worked in, in the same order; `None` where that is impossible. Everything of the other stage
/// is copied, `kind`, `needs` and `matrix` included; a key is taken away with `matrix: null`.
pub(crate) fn resolve(stages: &[Entry], names: &StageNames<'_>, diagnostics: &mut Diagnostics) -> Vec<Option<Node>> {
    let bases: Vec<Base> = stages.iter().map(|stage| base_of(stage, names, diagnostics)).collect();
    let mut progress = vec![Progress::Unvisited; stages.len()];
    for start in 0..stages.len() {
        follow(start, stages, &bases, &mut progress, diagnostics);
    }
    let merged = |p| if let Progress::Done(node) = p { Some(node) } else { None };
    progress.into_iter().map(merged).collect()
}

/// What a stage is like.
enum Base {
    Nothing,
    Stage(usize, Span),
    Unknown,
}

fn base_of(stage: &Entry, names: &StageNames<'_>, diagnostics: &mut Diagnostics) -> Base {
    let Some(like) = stage.value.get("like").filter(|n| !n.is_null()) else { return Base::Nothing };
    let Some(name) = like.text() else {
        let message = format!("expected the name of a stage, found {}", like.describe());
        diagnostics.push(Diagnostic::error("wrong-type", like.span, message).help("write `like: STAGE`"));
        return Base::Unknown;
    };
    match names.find(name, like.span) {
        Ok(stage) => Base::Stage(stage, like.span),
        Err(diagnostic) => {
            diagnostics.push(diagnostic);
            Base::Unknown
        }
    }
}

/// Follows the chain of one stage to its end, then merges back along it.
fn follow(start: usize, stages: &[Entry], bases: &[Base], progress: &mut [Progress], diagnostics: &mut Diagnostics) {
    let mut chain = Vec::new();
    let mut at = start;
    // `None`: nothing below; `Some(None)`: what is below has failed.
    let below = loop {
        match &progress[at] {
            Progress::Done(node) => break Some(Some(node.clone())),
            Progress::Failed => break Some(None),
            Progress::Open => {
                report_cycle(at, &chain, stages, bases, diagnostics);
                break Some(None);
            }
            Progress::Unvisited => {}
        }
        progress[at] = Progress::Open;
        chain.push(at);
        match bases[at] {
            Base::Nothing => break None,
            Base::Unknown => break Some(None),
            Base::Stage(next, _) => at = next,
        }
    };
    let mut base = below;
    for &stage in chain.iter().rev() {
        let own = without_like(&stages[stage].value);
        let merged = match &base {
            None => Some(own),
            Some(base) => base.as_ref().map(|base| merge(base, &own)),
        };
        progress[stage] = merged.clone().map_or(Progress::Failed, Progress::Done);
        base = Some(merged);
    }
}

fn without_like(node: &Node) -> Node {
    let entries = node.entries().unwrap_or_default().iter().filter(|e| e.key != "like").cloned().collect();
    Node { value: Value::Map(entries), span: node.span }
}

fn report_cycle(at: usize, chain: &[usize], stages: &[Entry], bases: &[Base], diagnostics: &mut Diagnostics) {
    let first = chain.iter().position(|&i| i == at).unwrap_or_default();
    let cycle = &chain[first..];
    let place = |i: usize| if let Base::Stage(_, span) = bases[i] { span } else { stages[i].key_span };
    let message =
        format!("stages are like each other in a circle: `{}`", circle(cycle.iter().map(|&i| stages[i].key.as_str())));
    let mut diagnostic =
        Diagnostic::error("like-cycle", place(at), message).help("write the parameters out in one of them");
    for &other in cycle.iter().filter(|&&i| i != at).take(LONGEST_CIRCLE) {
        diagnostic = diagnostic.related(place(other), format!("`{}` is like the next", stages[other].key));
    }
    diagnostics.push(diagnostic);
}
