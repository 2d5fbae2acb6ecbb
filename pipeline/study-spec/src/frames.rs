//! Which stages give a stage its frames.

use crate::keys::suggest;
use crate::needs::Need;
use crate::stage::Stage;
use std::collections::BTreeMap;
use study_stage::{Kind, Registry};
use study_tree::{Diagnostic, Diagnostics, Span};

/// The stages that give one frame to one stage.
#[derive(Debug, Clone)]
pub(crate) struct Binding {
    /// The name of the frame.
    pub(crate) frame: String,
    /// Who gives it, in the order of `needs`.
    pub(crate) from: Vec<Need>,
}

/// Stages of a study by the frames they give, the first few of each, for suggestions.
pub(crate) struct Givers(BTreeMap<&'static str, Vec<usize>>);

/// Most stages that are suggested.
const MOST_SUGGESTED: usize = 5;

impl Givers {
    pub(crate) fn new(stages: &[Stage]) -> Self {
        let mut givers: BTreeMap<&'static str, Vec<usize>> = BTreeMap::new();
        for (i, stage) in stages.iter().enumerate() {
            for frame in stage.kind.iter().flat_map(|k| k.gives()) {
                let known = givers.entry(frame).or_default();
                // One more, because the stage itself is no suggestion.
                if known.len() <= MOST_SUGGESTED {
                    known.push(i);
                }
            }
        }
        Self(givers)
    }
    /// What to do about a frame that a stage lacks.
    fn help(&self, registry: &Registry, stages: &[Stage], stage: usize, frame: &str) -> String {
        let known = self.0.get(frame).map(Vec::as_slice).unwrap_or_default().iter().filter(|&&i| i != stage);
        let names: Vec<String> = known.take(MOST_SUGGESTED).map(|&i| format!("`{}`", stages[i].name)).collect();
        let kinds = registry.kinds.iter().filter(|k| k.gives().contains(&frame)).map(|k| k.name());
        let kinds: Vec<&str> = kinds.collect();
        match (names.is_empty(), kinds.is_empty()) {
            (false, _) => format!("add {} to its `needs`", names.join(" or ")),
            (true, false) => format!("add a stage of kind {} and name it in `needs`", kinds.join(" or ")),
            (true, true) => "no kind of this build gives it".to_owned(),
        }
    }
}

fn takes(kind: &dyn Kind, frame: &str) -> bool {
    kind.takes().iter().chain(kind.requires()).any(|t| *t == frame || *t == "*")
}

/// Binds the frames of one stage, and reports what does not fit. A stage without a kind has none.
pub(crate) fn bind(
    registry: &Registry,
    stages: &[Stage],
    givers: &Givers,
    stage: usize,
    diagnostics: &mut Diagnostics,
) -> Vec<Binding> {
    let Some(kind) = stages[stage].kind else { return Vec::new() };
    let named = stages[stage].needs.frames.as_ref();
    let bindings = match named {
        Some(frames) => bind_named(stages, stage, kind, frames, diagnostics),
        None => bind_all(stages, stage, kind, diagnostics),
    };
    // A misspelt frame is reported by its name, not as a missing one.
    if named.is_none_or(|frames| frames.len() == bindings.iter().map(|b| b.from.len()).sum::<usize>()) {
        for frame in missing(stages, stage, kind, &bindings) {
            let message = format!("`{}` needs a stage that gives the frame `{frame}`", stages[stage].name);
            let help = givers.help(registry, stages, stage, frame);
            diagnostics.push(Diagnostic::error("missing-frame", stages[stage].span, message).help(help));
        }
    }
    bindings
}

/// Whether a frame that the stage must have is missing.
pub(crate) fn lacks(stages: &[Stage], stage: usize) -> bool {
    let Some(kind) = stages[stage].kind else { return false };
    let given = |frame: &str| {
        let kinds = stages[stage].needs.list.iter().filter_map(|need| stages[need.stage].kind);
        kinds.flat_map(Kind::gives).any(|g| *g == frame)
    };
    !kind.requires().iter().all(|frame| given(frame))
}

/// `needs: [a, b]`: every frame that is offered and taken.
fn bind_all(stages: &[Stage], stage: usize, kind: &dyn Kind, diagnostics: &mut Diagnostics) -> Vec<Binding> {
    let mut bindings: Vec<Binding> = Vec::new();
    for need in &stages[stage].needs.list {
        for frame in stages[need.stage].kind.iter().flat_map(|k| k.gives()).filter(|f| takes(kind, f)) {
            match bindings.iter_mut().find(|b| b.frame == *frame) {
                Some(binding) => binding.from.push(*need),
                None => bindings.push(Binding { frame: (*frame).to_owned(), from: vec![*need] }),
            }
        }
    }
    bindings.iter().for_each(|binding| report_ambiguous(stages, binding, diagnostics));
    bindings
}

/// Frames of one kind are stacked; of two kinds, they are different things of one name.
fn report_ambiguous(stages: &[Stage], binding: &Binding, diagnostics: &mut Diagnostics) {
    let kind_of = |need: &Need| stages[need.stage].kind.map(Kind::name).unwrap_or_default();
    let first = binding.from[0];
    let Some(other) = binding.from.iter().find(|need| kind_of(need) != kind_of(&first)) else { return };
    let (frame, a, b) = (&binding.frame, &stages[first.stage].name, &stages[other.stage].name);
    let message = format!("`{a}` ({}) and `{b}` ({}) both give the frame `{frame}`", kind_of(&first), kind_of(other));
    let mut diagnostic = Diagnostic::error("ambiguous-frame", other.span, message)
        .help(format!("say whose it is: `needs: {{ {frame}: {b} }}`, with the other frames named as well"));
    if first.span != other.span {
        diagnostic = diagnostic.related(first.span, "also given by this one");
    }
    diagnostics.push(diagnostic);
}

/// `needs: { frame: stage }`: what is named and nothing else.
fn bind_named(
    stages: &[Stage],
    stage: usize,
    kind: &dyn Kind,
    frames: &[(String, Span)],
    diagnostics: &mut Diagnostics,
) -> Vec<Binding> {
    let mut bindings: Vec<Binding> = Vec::new();
    for ((frame, span), need) in frames.iter().zip(&stages[stage].needs.list) {
        if !takes(kind, frame) {
            let known: Vec<&str> = kind.takes().iter().chain(kind.requires()).copied().collect();
            let help = suggest(frame, &known, "it reads");
            let message = format!("a stage of kind `{}` reads no frame `{frame}`", kind.name());
            diagnostics.push(Diagnostic::error("unknown-frame", *span, message).help(help));
            continue;
        }
        let other = &stages[need.stage];
        if other.kind.is_some_and(|k| !k.gives().contains(&frame.as_str())) {
            let known = other.kind.map(Kind::gives).unwrap_or_default();
            let message = format!("`{}` gives no frame `{frame}`", other.name);
            let help = suggest(frame, known, "it gives");
            diagnostics.push(Diagnostic::error("unknown-frame", need.span, message).help(help));
            continue;
        }
        match bindings.iter_mut().find(|b| b.frame == *frame) {
            Some(binding) => binding.from.push(*need),
            None => bindings.push(Binding { frame: frame.clone(), from: vec![*need] }),
        }
    }
    bindings
}

/// The frames that a stage must have and nobody gives it.
fn missing(stages: &[Stage], stage: usize, kind: &dyn Kind, bindings: &[Binding]) -> Vec<&'static str> {
    let needs = &stages[stage].needs;
    // What a broken stage would have given is not known, and nobody can be blamed for leaving it out.
    if needs.incomplete || needs.list.iter().any(|need| stages[need.stage].kind.is_none()) {
        return Vec::new();
    }
    kind.requires().iter().copied().filter(|frame| bindings.iter().all(|b| b.frame != *frame)).collect()
}
