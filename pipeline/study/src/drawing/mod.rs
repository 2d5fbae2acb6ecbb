//! The graph of nodes as text, for Graphviz, for Markdown, and as a picture.

mod svg;

pub use svg::svg;

use crate::terminal::Stream;
use crate::wording;
use std::fmt::Write;
use study_engine::State;

/// A node to draw.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// Its state in the cache.
    pub state: State,
    /// Positions of the nodes it needs; each is smaller than its own.
    pub needs: Vec<usize>,
}

/// Fill colour by state: light enough for black text, and apart from each other also for colour-blind readers.
const fn fill(state: State) -> &'static str {
    match state {
        State::Cached => "#cfe8d5",
        State::Execute => "#ffe2a8",
        State::Executed => "#bcdcf5",
        State::Failed => "#f5b7b1",
        State::Blocked | State::Skipped => "#e5e5e5",
    }
}

/// One line per node.
pub fn ascii(nodes: &[Drawn], stream: Stream) -> String {
    let width = nodes.iter().map(|node| node.id.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for node in nodes {
        let state = stream.paint(wording::state_paint(node.state), &format!("{:<8}", wording::state(node.state)));
        let needs: Vec<&str> = node.needs.iter().map(|n| nodes[*n].id.as_str()).collect();
        let arrow = if needs.is_empty() { String::new() } else { format!("  <- {}", needs.join(", ")) };
        let line = format!("{state}  {:<width$}{arrow}", node.id);
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// For Graphviz.
pub fn dot(nodes: &[Drawn]) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let mut text =
        "digraph study {\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n"
            .to_owned();
    for node in nodes {
        let tooltip = quoted(&format!("{}, {}", node.kind, wording::state(node.state)));
        let _ = writeln!(text, "  {} [fillcolor=\"{}\", tooltip={tooltip}];", quoted(&node.id), fill(node.state));
    }
    for node in nodes {
        for need in &node.needs {
            let _ = writeln!(text, "  {} -> {};", quoted(&nodes[*need].id), quoted(&node.id));
        }
    }
    text.push_str("}\n");
    text
}

/// For Markdown.
pub fn mermaid(nodes: &[Drawn]) -> String {
    let escaped = |text: &str| text.replace('"', "#quot;").replace('[', "#91;").replace(']', "#93;");
    let mut text = "flowchart LR\n".to_owned();
    for (i, node) in nodes.iter().enumerate() {
        let _ = writeln!(text, "  n{i}[\"{}\"]:::{}", escaped(&node.id), wording::state(node.state));
    }
    for (i, node) in nodes.iter().enumerate() {
        for need in &node.needs {
            let _ = writeln!(text, "  n{need} --> n{i}");
        }
    }
    for state in [State::Cached, State::Execute, State::Blocked, State::Skipped] {
        if nodes.iter().any(|node| node.state == state) {
            let _ = writeln!(text, "  classDef {} fill:{},stroke:#555,color:#000", wording::state(state), fill(state));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn diamond() -> Vec<Drawn> {
        let node = |id: &str, state, needs: &[usize]| Drawn {
            id: id.to_owned(),
            kind: "k".to_owned(),
            state,
            needs: needs.to_vec(),
        };
        vec![
            node("a", State::Cached, &[]),
            node("b[x=1,y=\"q\"]", State::Execute, &[0]),
            node("c<&>", State::Cached, &[0]),
            node("d", State::Execute, &[1, 2]),
        ]
    }

    #[test]
    fn every_form_has_every_node_and_edge() {
        let plain = Stream { interactive: false, color: false };
        assert_eq!(
            ascii(&diamond(), plain),
            "cached    a\nexecute   b[x=1,y=\"q\"]  <- a\ncached    c<&>          <- a\nexecute   d             <- b[x=1,y=\"q\"], c<&>\n"
        );
        let dot = dot(&diamond());
        assert_eq!((dot.matches("fillcolor").count(), dot.matches("->").count()), (4, 4), "{dot}");
        assert!(dot.contains(r#""b[x=1,y=\"q\"]""#), "{dot}");
        let mermaid = mermaid(&diamond());
        assert_eq!((mermaid.matches(":::").count(), mermaid.matches("-->").count()), (4, 4), "{mermaid}");
        assert!(mermaid.contains("n1[\"b#91;x=1,y=#quot;q#quot;#93;\"]"), "{mermaid}");
    }

    #[test]
    fn text_is_coloured_only_where_colour_is_wanted() {
        assert!(ascii(&diamond(), Stream { interactive: false, color: true }).contains("\u{1b}["));
    }
}
