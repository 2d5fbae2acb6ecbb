//! Shapes as SVG.

use super::canvas::{Anchor, Canvas, Shape};
use super::style::{Marker, Paint, Stroke, TEXT};
use std::fmt::Write;

/// DejaVu Sans is what texts were measured with; the others are not wider.
const FONTS: &str = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif";

pub(crate) fn render(canvas: &Canvas, id: &str, title: &str, alt: &str) -> String {
    let (w, h) = (number(canvas.width), number(canvas.height));
    let (id, title, alt) = (escape(id), escape(title), escape(alt));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"img\" \
         aria-labelledby=\"{id}-title {id}-desc\" font-family=\"{FONTS}\" font-size=\"{}\">\n\
         <title id=\"{id}-title\">{title}</title>\n<desc id=\"{id}-desc\">{alt}</desc>\n",
        number(TEXT)
    );
    for shape in &canvas.shapes {
        draw(&mut out, shape);
        out.push('\n');
    }
    out.push_str("</svg>\n");
    out
}

fn draw(out: &mut String, shape: &Shape) {
    match shape {
        Shape::Line { points, stroke } => {
            let d = path(points);
            write!(out, "<path d=\"{d}\" fill=\"none\" {}/>", stroke_attributes(stroke)).expect(INFALLIBLE);
        }
        Shape::Rect { x, y, width, height, paint } => {
            let [x, y, w, h] = [x, y, width, height].map(|v| number(*v));
            write!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" {}/>", fill(*paint)).expect(INFALLIBLE);
        }
        Shape::Point { at, marker, radius, paint, hollow, note } => {
            let paints = if *hollow {
                format!("{} {}", fill(Paint::Paper), stroke_attributes(&Stroke::solid(*paint, 1.2)))
            } else {
                fill(*paint)
            };
            let note = note.as_ref().map_or_else(String::new, |n| format!("<title>{}</title>", escape(n)));
            let (tag, place) = match marker {
                Marker::Circle => {
                    let [x, y, r] = [at.0, at.1, *radius].map(number);
                    ("circle", format!("cx=\"{x}\" cy=\"{y}\" r=\"{r}\""))
                }
                _ => ("path", format!("d=\"{}Z\"", path(&marker.corners(at.0, at.1, *radius)))),
            };
            write!(out, "<{tag} {place} {paints}>{note}</{tag}>").expect(INFALLIBLE);
        }
        Shape::Text { at, text, anchor, paint } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let ([x, y], text) = ([at.0, at.1].map(number), escape(text));
            write!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" {}>{text}</text>", fill(*paint))
                .expect(INFALLIBLE);
        }
    }
}

const INFALLIBLE: &str = "writing to a text cannot fail";

/// `M x y L x y ...`; runs of equal x or y are written as they are, viewers do not mind.
fn path(points: &[(f64, f64)]) -> String {
    points.iter().enumerate().fold(String::new(), |mut d, (i, (x, y))| {
        d.push(if i == 0 { 'M' } else { 'L' });
        d.push_str(&number(*x));
        d.push(' ');
        d.push_str(&number(*y));
        d
    })
}

/// Paint as an attribute, and as a class where a page may choose another.
fn fill(paint: Paint) -> String {
    let class = paint.class().map_or_else(String::new, |c| format!("class=\"{c}\" "));
    format!("{class}fill=\"{}\"", paint.hex())
}

fn stroke_attributes(stroke: &Stroke) -> String {
    let class = stroke.paint.class().map_or_else(String::new, |c| format!("class=\"{c}-line\" "));
    let dashes = if stroke.dashes.is_empty() {
        String::new()
    } else {
        let list: Vec<String> = stroke.dashes.iter().map(|d| number(*d)).collect();
        format!(" stroke-dasharray=\"{}\"", list.join(" "))
    };
    format!(
        "{class}stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{dashes}",
        stroke.paint.hex(),
        number(stroke.width)
    )
}

/// At most two decimals, no trailing zeros, no `-0`.
fn number(x: f64) -> String {
    let text = format!("{x:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text for SVG and HTML, in elements and attributes.
#[must_use]
pub fn escape(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Control characters are not allowed in XML.
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            c => out.push(c),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_and_numbers_short() {
        assert_eq!(escape("<script>\"&'\u{1}"), "&lt;script&gt;&quot;&amp;&#39;\u{fffd}");
        assert_eq!(number(12.0), "12");
        assert_eq!(number(-0.001), "0");
        assert_eq!(number(1.239), "1.24");
        let mut canvas = Canvas::new(10.0, 10.0);
        canvas.text(1.0, 2.0, "a < b", Anchor::Start, Paint::Ink);
        let svg = render(&canvas, "t", "x & y", "alt");
        assert!(svg.contains("a &lt; b") && svg.contains("x &amp; y") && svg.contains("class=\"ink\""), "{svg}");
    }
}
