//! The order of the stages, and cycles.

use crate::stage::Stage;
use petgraph::Direction::{Incoming, Outgoing};
use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use study_tree::{Diagnostic, Diagnostics, Span};

/// Edges run from a stage to those that need it and carry the place of the need.
type Graph = DiGraph<(), Span>;

/// The stages so that each comes after those it needs; among those that could come next, the first of the file. Stages
/// of a cycle, and those that wait for one, are left out; cycles are reported.
pub(crate) fn order(stages: &[Stage], diagnostics: &mut Diagnostics) -> Vec<usize> {
    let mut graph = Graph::with_capacity(stages.len(), stages.len() * 2);
    for _ in stages {
        graph.add_node(());
    }
    for (i, stage) in stages.iter().enumerate() {
        for need in &stage.needs.list {
            graph.add_edge(NodeIndex::new(need.stage), NodeIndex::new(i), need.span);
        }
    }
    let order = in_file_order(&graph);
    if order.len() < stages.len() {
        report_cycles(&graph, stages, diagnostics);
    }
    order
}

fn in_file_order(graph: &Graph) -> Vec<usize> {
    let mut waiting: Vec<usize> = graph.node_indices().map(|n| graph.edges_directed(n, Incoming).count()).collect();
    let mut ready: BinaryHeap<Reverse<usize>> =
        waiting.iter().enumerate().filter(|(_, n)| **n == 0).map(|(i, _)| Reverse(i)).collect();
    let mut order = Vec::with_capacity(waiting.len());
    while let Some(Reverse(stage)) = ready.pop() {
        order.push(stage);
        for edge in graph.edges_directed(NodeIndex::new(stage), Outgoing) {
            let next = edge.target().index();
            waiting[next] -= 1;
            if waiting[next] == 0 {
                ready.push(Reverse(next));
            }
        }
    }
    order
}

/// One cycle for each group of stages that all wait for each other.
fn report_cycles(graph: &Graph, stages: &[Stage], diagnostics: &mut Diagnostics) {
    let mut member = vec![usize::MAX; stages.len()];
    let groups = kosaraju_scc(graph);
    for (number, group) in groups.iter().enumerate() {
        group.iter().for_each(|n| member[n.index()] = number);
    }
    for (number, group) in groups.iter().enumerate() {
        let Some(first) = group.iter().map(|n| n.index()).min() else { continue };
        let Some(cycle) = shortest_cycle(graph, first, |stage| member[stage] == number) else { continue };
        let names = cycle.iter().map(|(stage, _)| stages[*stage].name.as_str());
        let message = format!("stages need each other in a circle: `{}`", circle(names));
        let mut diagnostic = Diagnostic::error("cycle", cycle[0].1, message)
            .help("each stage can only need stages that do not need it, directly or through others");
        for (stage, span) in cycle[1..].iter().take(LONGEST_CIRCLE) {
            diagnostic = diagnostic.related(*span, format!("`{}` needs the next", stages[*stage].name));
        }
        diagnostics.push(diagnostic);
    }
}

/// Most stages of a circle that are written out.
pub(crate) const LONGEST_CIRCLE: usize = 20;

/// `a -> b -> a`.
pub(crate) fn circle<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    let more = if names.len() > LONGEST_CIRCLE { "... -> " } else { "" };
    format!("{} -> {more}{}", names[..names.len().min(LONGEST_CIRCLE)].join(" -> "), names[0])
}

/// The shortest way from a stage along its needs back to itself: each stage, and where its need is written.
fn shortest_cycle(graph: &Graph, start: usize, inside: impl Fn(usize) -> bool) -> Option<Vec<(usize, Span)>> {
    let mut came_from: Vec<Option<(usize, Span)>> = vec![None; graph.node_count()];
    let mut queue = VecDeque::from([start]);
    while let Some(stage) = queue.pop_front() {
        let mut needs: Vec<(usize, Span)> = graph
            .edges_directed(NodeIndex::new(stage), Incoming)
            .map(|edge| (edge.source().index(), *edge.weight()))
            .filter(|(need, _)| inside(*need))
            .collect();
        needs.sort_by_key(|(need, span)| (span.start, *need));
        for (need, span) in needs {
            if need == start {
                let mut cycle = vec![(stage, span)];
                while let Some((before, span)) = came_from[cycle[cycle.len() - 1].0] {
                    cycle.push((before, span));
                }
                cycle.reverse();
                return Some(cycle);
            }
            if came_from[need].is_none() {
                came_from[need] = Some((stage, span));
                queue.push_back(need);
            }
        }
    }
    None
}
