//! Shapes as PNG, through kuva's rasteriser (DejaVu Sans is built in).

use super::canvas::{Anchor, Canvas, Shape};
use super::style::{Marker, Paint, Stroke, TEXT};
use kuva::RasterBackend;
use kuva::render::color::Color;
use kuva::render::render::{PathData, Primitive, Scene, TextAnchor};

/// Pixels per CSS pixel.
const SCALE: f32 = 4.0;

pub(crate) fn render(canvas: &Canvas) -> Result<Vec<u8>, String> {
    let mut scene = Scene::new(canvas.width, canvas.height);
    canvas.shapes.iter().for_each(|shape| add(&mut scene, shape));
    RasterBackend::new().with_scale(SCALE).render_scene(&scene)
}

fn add(scene: &mut Scene, shape: &Shape) {
    match shape {
        Shape::Line { points, stroke } => add_line(scene, points, stroke),
        Shape::Rect { x, y, width, height, paint } => scene.add(Primitive::Rect {
            x: *x,
            y: *y,
            width: *width,
            height: *height,
            fill: color(*paint),
            stroke: None,
            stroke_width: None,
            opacity: None,
        }),
        Shape::Point { at, marker, radius, paint, hollow, .. } => {
            let fill = color(if *hollow { Paint::Paper } else { *paint });
            let stroke_width = if *hollow { 1.2 } else { 0.0 };
            add_point(scene, *at, *marker, *radius, fill, color(*paint), stroke_width);
        }
        Shape::Text { at, text, anchor, paint } => scene.add(Primitive::Text {
            x: at.0,
            y: at.1,
            // kuva reads `$...$` as mathematics.
            content: text.replace('$', "\\$"),
            size: TEXT as u32,
            anchor: match anchor {
                Anchor::Start => TextAnchor::Start,
                Anchor::Middle => TextAnchor::Middle,
                Anchor::End => TextAnchor::End,
            },
            rotate: None,
            bold: false,
            color: Some(color(*paint)),
        }),
    }
}

fn add_point(scene: &mut Scene, at: (f64, f64), marker: Marker, r: f64, fill: Color, stroke: Color, width: f64) {
    if marker == Marker::Circle {
        let outline = (width > 0.0).then_some(stroke);
        scene.add(Primitive::Circle {
            cx: at.0,
            cy: at.1,
            r,
            fill,
            fill_opacity: None,
            stroke: outline,
            stroke_width: Some(width),
        });
        return;
    }
    let corners = marker.corners(at.0, at.1, r);
    let mut d: String =
        corners.iter().enumerate().map(|(i, (x, y))| format!("{} {x} {y} ", if i == 0 { 'M' } else { 'L' })).collect();
    d.push('Z');
    scene.add(Primitive::Path(Box::new(PathData {
        d,
        fill: Some(fill),
        stroke: Color::None,
        stroke_width: 0.0,
        opacity: None,
        stroke_dasharray: None,
    })));
    if width > 0.0 {
        let outline = corners.iter().chain(corners.first()).copied().collect();
        scene.add(Primitive::PolyLine { points: outline, stroke, stroke_width: width, stroke_dasharray: None });
    }
}

fn add_line(scene: &mut Scene, points: &[(f64, f64)], stroke: &Stroke) {
    // The rasteriser begins its dashes anew at every corner, which makes a curve of many points solid: cut it here.
    let pieces = if stroke.dashes.is_empty() { vec![points.to_vec()] } else { dashed(points, stroke.dashes) };
    for piece in pieces.into_iter().filter(|p| p.len() > 1) {
        scene.add(Primitive::PolyLine {
            points: piece,
            stroke: color(stroke.paint),
            stroke_width: stroke.width,
            stroke_dasharray: None,
        });
    }
}

/// The strokes of a dashed line, measured along it.
fn dashed(points: &[(f64, f64)], dashes: &[f64]) -> Vec<Vec<(f64, f64)>> {
    let mut pieces = Vec::new();
    let Some(first) = points.first() else { return pieces };
    let (mut index, mut left) = (0, dashes[0]);
    let mut piece = vec![*first];
    for pair in points.windows(2) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        let length = ((x1 - x0) * (x1 - x0) + (y1 - y0) * (y1 - y0)).sqrt();
        let mut done = 0.0;
        while length - done > left {
            done += left;
            let share = done / length;
            let corner = (x0 + (x1 - x0) * share, y0 + (y1 - y0) * share);
            if index % 2 == 0 {
                piece.push(corner);
                pieces.push(std::mem::take(&mut piece));
            }
            piece = vec![corner];
            index += 1;
            left = dashes[index % dashes.len()];
        }
        left -= length - done;
        if index % 2 == 0 {
            piece.push((x1, y1));
        }
    }
    if index % 2 == 0 {
        pieces.push(piece);
    }
    pieces
}

const fn color(paint: Paint) -> Color {
    let (r, g, b) = paint.rgb();
    Color::Rgb(r, g, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_run_on_around_corners() {
        // 4 on, 2 off along a path of 5 + 5.
        let pieces = dashed(&[(0.0, 0.0), (5.0, 0.0), (5.0, 5.0)], &[4.0, 2.0]);
        assert_eq!(pieces, [vec![(0.0, 0.0), (4.0, 0.0)], vec![(5.0, 1.0), (5.0, 5.0)]]);
        let many: Vec<(f64, f64)> = (0..100).map(|i| (f64::from(i) * 0.1, 0.0)).collect();
        assert_eq!(dashed(&many, &[4.0, 2.0]).len(), 2, "short segments do not make it solid");
    }
}
