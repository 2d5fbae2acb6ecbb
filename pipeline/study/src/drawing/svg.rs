//! The graph as a picture: nodes in layers from left to right, each one layer behind the last of its needs.

use super::{Drawn, fill};
use crate::wording;
use std::fmt::Write;

const ROW: f64 = 46.0;
const BOX_HEIGHT: f64 = 32.0;
const GAP: f64 = 60.0;
const MARGIN: f64 = 16.0;
/// Width of a letter of the font below; a little generous, since fonts differ.
const LETTER: f64 = 7.6;

/// Left edge, width and middle of a node.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    x: f64,
    width: f64,
    y: f64,
}

/// A self-contained SVG.
pub fn svg(nodes: &[Drawn]) -> String {
    let places = layout(nodes);
    let right = places.iter().map(|p| p.x + p.width).fold(0.0, f64::max) + MARGIN;
    let bottom = places.iter().map(|p| p.y + BOX_HEIGHT / 2.0).fold(0.0, f64::max) + MARGIN;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{right:.0}\" height=\"{bottom:.0}\" viewBox=\"0 0 {right:.0} {bottom:.0}\" \
         font-family=\"monospace\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    for (node, to) in nodes.iter().zip(&places) {
        for need in &node.needs {
            let from = places[*need];
            let (x1, x2) = (from.x + from.width, to.x);
            let bend = ((x2 - x1) / 2.0).max(GAP / 2.0);
            let (y1, y2) = (from.y, to.y);
            let _ = writeln!(
                text,
                "<path d=\"M{x1:.0} {y1:.0} C{:.0} {y1:.0} {:.0} {y2:.0} {x2:.0} {y2:.0}\" fill=\"none\" stroke=\"#888\"/>",
                x1 + bend,
                x2 - bend
            );
        }
    }
    for (node, place) in nodes.iter().zip(&places) {
        let (id, state) = (escaped(&node.id), wording::state(node.state));
        let (top, middle, baseline) = (place.y - BOX_HEIGHT / 2.0, place.x + place.width / 2.0, place.y + 4.0);
        let _ = writeln!(
            text,
            "<g><title>{id}: {}, {state}</title><rect x=\"{:.0}\" y=\"{top:.0}\" width=\"{:.0}\" height=\"{BOX_HEIGHT}\" rx=\"6\" fill=\"{}\" \
             stroke=\"#555\"/><text x=\"{middle:.0}\" y=\"{baseline:.0}\" text-anchor=\"middle\">{id}</text></g>",
            escaped(&node.kind),
            place.x,
            place.width,
            fill(node.state)
        );
    }
    text.push_str("</svg>\n");
    text
}

/// Columns by longest path; in a column, nodes are ordered by the mean row of what they need, which avoids most crossings.
fn layout(nodes: &[Drawn]) -> Vec<Place> {
    let mut layer = vec![0usize; nodes.len()];
    for (i, node) in nodes.iter().enumerate() {
        layer[i] = node.needs.iter().map(|need| layer[*need] + 1).max().unwrap_or(0);
    }
    let layers = layer.iter().max().map_or(0, |last| last + 1);
    let widest = |l: usize| {
        let letters = nodes.iter().zip(&layer).filter(|(_, own)| **own == l).map(|(node, _)| node.id.chars().count());
        letters.max().unwrap_or(0) as f64 * LETTER + 20.0
    };
    let tallest = (0..layers).map(|l| layer.iter().filter(|own| **own == l).count()).max().unwrap_or(0);
    let mut places = vec![Place { x: 0.0, width: 0.0, y: 0.0 }; nodes.len()];
    let mut x = MARGIN;
    for l in 0..layers {
        let mut column: Vec<usize> = (0..nodes.len()).filter(|i| layer[*i] == l).collect();
        let pull = |i: usize| {
            let needs = &nodes[i].needs;
            needs.iter().map(|need| places[*need].y).sum::<f64>() / needs.len().max(1) as f64
        };
        let pulls: Vec<f64> = (0..nodes.len()).map(|i| if layer[i] == l { pull(i) } else { 0.0 }).collect();
        column.sort_by(|a, b| pulls[*a].total_cmp(&pulls[*b]).then(a.cmp(b)));
        let width = widest(l);
        let top = MARGIN + (tallest - column.len()) as f64 * ROW / 2.0;
        for (row, i) in column.into_iter().enumerate() {
            places[i] = Place { x, width, y: top + row as f64 * ROW + BOX_HEIGHT / 2.0 };
        }
        x += width + GAP;
    }
    places
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::tests::diamond;
    use super::*;

    #[test]
    fn each_node_stands_right_of_what_it_needs_and_none_covers_another() {
        let nodes = diamond();
        let places = layout(&nodes);
        for (i, node) in nodes.iter().enumerate() {
            assert!(node.needs.iter().all(|need| places[*need].x + places[*need].width < places[i].x));
            for other in 0..i {
                let apart = places[i].x != places[other].x || (places[i].y - places[other].y).abs() >= BOX_HEIGHT;
                assert!(apart, "{i} {other} {places:?}");
            }
        }
    }

    #[test]
    fn the_picture_is_well_formed() {
        let picture = svg(&diamond());
        assert_eq!((picture.matches("<rect").count(), picture.matches("<path").count()), (5, 4), "{picture}");
        assert!(picture.contains("c&lt;&amp;&gt;") && !picture.contains("c<&>"), "{picture}");
        assert_eq!(svg(&[]).matches("<rect").count(), 1);
    }
}
