//! Who waits for whom.

use crate::EngineError;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::{Dfs, Reversed};
use study_spec::Study;

/// The nodes of a study as a graph; edges lead from a node to those that need it.
pub(crate) struct Dag {
    graph: DiGraph<(), ()>,
    /// Per node, sorted and each once: what it waits for.
    pub needs: Vec<Vec<usize>>,
}

impl Dag {
    /// # Errors
    /// A node stands before one that it needs, which also rules out cycles.
    pub fn of(study: &Study) -> Result<Self, EngineError> {
        let mut graph = DiGraph::with_capacity(study.nodes.len(), study.nodes.len());
        let mut needs = Vec::with_capacity(study.nodes.len());
        for (i, node) in study.nodes.iter().enumerate() {
            let own = graph.add_node(());
            let givers = node.inputs.values().flatten().map(|binding| binding.node);
            let mut all: Vec<usize> = node.needs.iter().copied().chain(givers).collect();
            all.sort_unstable();
            all.dedup();
            for need in &all {
                if *need >= i {
                    return Err(EngineError::Order { node: node.id.clone() });
                }
                graph.add_edge(NodeIndex::new(*need), own, ());
            }
            needs.push(all);
        }
        Ok(Self { graph, needs })
    }

    /// The nodes that need `node` directly, in order.
    pub fn dependants(&self, node: usize) -> Vec<usize> {
        let mut found: Vec<usize> = self.graph.neighbors(NodeIndex::new(node)).map(NodeIndex::index).collect();
        found.sort_unstable();
        found
    }

    /// Marks `start` and everything below it.
    pub fn mark_below(&self, start: usize, marks: &mut [bool]) {
        let mut walk = Dfs::new(&self.graph, NodeIndex::new(start));
        while let Some(node) = walk.next(&self.graph) {
            marks[node.index()] = true;
        }
    }

    /// Marks all of `starts` and everything above them.
    pub fn mark_above(&self, starts: impl IntoIterator<Item = usize>, marks: &mut [bool]) {
        let reversed = Reversed(&self.graph);
        let mut walk = Dfs::empty(reversed);
        for start in starts {
            walk.move_to(NodeIndex::new(start));
            while let Some(node) = walk.next(reversed) {
                marks[node.index()] = true;
            }
        }
    }
}
