//! Events to nodes.

use super::{Place, limits};
use serde_saphyr::granit_parser::{Event, ScalarStyle, Span as EventSpan, StructureStyle, Tag};
use std::borrow::Cow;
use std::collections::HashMap;
use study_tree::{Diagnostic, Diagnostics, Entry, Node, Scalar, Span, Value};

/// A problem after which nothing more can be read.
type Fatal = Box<Diagnostic>;

/// A finished node and what it costs.
#[derive(Clone)]
struct Built {
    node: Node,
    /// Nodes in it, itself included.
    size: usize,
    /// Levels of lists and mappings in it.
    height: usize,
}

/// The key of the entry whose value comes next.
struct Key {
    text: String,
    span: Span,
    /// Whether the entry is kept; a refused or repeated key still has a value to be read over.
    keep: bool,
}

enum Shape {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, index: HashMap<String, usize>, key: Option<Key> },
}

/// A list or mapping that is still open.
struct Frame {
    shape: Shape,
    style: StructureStyle,
    anchor: usize,
    start: usize,
    /// Where the last part of it ended.
    end: usize,
    size: usize,
    height: usize,
}

/// Mappings below this size find duplicates by looking at every entry.
const INDEXED_FROM: usize = 12;

/// Builds one tree from the events of one text.
pub(super) struct Builder<'t, 'd> {
    place: Place,
    text: &'t str,
    diagnostics: &'d mut Diagnostics,
    stack: Vec<Frame>,
    root: Option<Node>,
    anchors: HashMap<usize, Built>,
    documents: usize,
    nodes: usize,
    aliases: usize,
}

impl<'t, 'd> Builder<'t, 'd> {
    pub(super) fn new(place: Place, text: &'t str, diagnostics: &'d mut Diagnostics) -> Self {
        Self {
            place,
            text,
            diagnostics,
            stack: Vec::new(),
            root: None,
            anchors: HashMap::new(),
            documents: 0,
            nodes: 0,
            aliases: 0,
        }
    }

    /// Takes in one event.
    pub(super) fn event(&mut self, event: Event<'_>, span: EventSpan) -> Result<(), Fatal> {
        let (start, end) = span.byte_range().map_or((0, 0), |range| (range.start, range.end));
        match event {
            Event::DocumentStart(..) => self.document(start, end),
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_tag(tag.as_deref(), &span);
                self.scalar(text, style, anchor, start, end)
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.refuse_tag(tag.as_deref(), &span);
                self.open(Shape::List(Vec::new()), style, anchor, start, end)
            }
            Event::MappingStart(style, anchor, tag) => {
                self.refuse_tag(tag.as_deref(), &span);
                let shape = Shape::Map { entries: Vec::new(), index: HashMap::new(), key: None };
                self.open(shape, style, anchor, start, end)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(end),
            Event::Alias(id) => self.alias(id, start, end),
            _ => Ok(()),
        }
    }

    /// The tree; a text without content has none.
    pub(super) fn finish(self) -> Option<Node> {
        self.root
    }

    /// Where the innermost bracket that is still open stands.
    pub(super) fn open_bracket(&self) -> Option<usize> {
        let frame = self.stack.last()?;
        (frame.style == StructureStyle::Flow && self.text[frame.start..].starts_with(['[', '{'])).then_some(frame.start)
    }

    fn document(&mut self, start: usize, end: usize) -> Result<(), Fatal> {
        self.documents += 1;
        if self.documents == 1 {
            return Ok(());
        }
        Err(Box::new(
            Diagnostic::error("yaml-documents", self.place.span(start, end), "a second document begins here")
                .help("a study is one document: remove the `---`, or put the rest into a file of its own"),
        ))
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        anchor: usize,
        start: usize,
        end: usize,
    ) -> Result<(), Fatal> {
        let quoted = style != ScalarStyle::Plain;
        // The parser spells a value that is not there as `~` of no length.
        let omitted = !quoted && start == end;
        let text = if omitted { String::new() } else { text.into_owned() };
        let span = if omitted { self.place_of_nothing(start) } else { self.place.span(start, end) };
        let built = Built { node: Node { value: Value::Scalar(Scalar { text, quoted }), span }, size: 1, height: 0 };
        self.spend(1, span)?;
        self.remember(anchor, &built)?;
        self.attach(built, end);
        Ok(())
    }

    /// Where to point when a value was left out: at its key.
    fn place_of_nothing(&self, at: usize) -> Span {
        match self.stack.last() {
            Some(Frame { shape: Shape::Map { key: Some(key), .. }, .. }) => key.span,
            _ => self.place.span(at, at),
        }
    }

    fn open(
        &mut self,
        shape: Shape,
        style: StructureStyle,
        anchor: usize,
        start: usize,
        end: usize,
    ) -> Result<(), Fatal> {
        let span = self.place.span(start, end);
        self.check_depth(1, span)?;
        self.spend(1, span)?;
        self.stack.push(Frame { shape, style, anchor, start, end: start, size: 1, height: 1 });
        Ok(())
    }

    fn close(&mut self, end: usize) -> Result<(), Fatal> {
        let Some(frame) = self.stack.pop() else { return Ok(()) };
        // The end of a block is noticed at the next token, often lines later; its last part says where it was.
        let end = if frame.style == StructureStyle::Flow { end.max(frame.end) } else { frame.end };
        let value = match frame.shape {
            Shape::List(items) => Value::List(items),
            Shape::Map { entries, .. } => Value::Map(entries),
        };
        let node = Node { value, span: self.place.span(frame.start, end) };
        let built = Built { node, size: frame.size, height: frame.height };
        self.remember(frame.anchor, &built)?;
        self.attach(built, end);
        Ok(())
    }

    fn alias(&mut self, id: usize, start: usize, end: usize) -> Result<(), Fatal> {
        let span = self.place.span(start, end);
        self.aliases += 1;
        if self.aliases > limits::ALIASES {
            return Err(over_budget(span, format!("there are more than {} aliases", limits::ALIASES)));
        }
        let Some(built) = self.anchors.get(&id) else {
            return Err(Box::new(
                Diagnostic::error("yaml-alias", span, "the alias stands inside what it repeats")
                    .help("write the value out"),
            ));
        };
        let (size, height) = (built.size, built.height);
        self.check_depth(height, span)?;
        self.spend(size, span)?;
        let built = self.anchors[&id].clone();
        self.attach(built, end);
        Ok(())
    }

    /// Keeps a copy of an anchored node. Copies count as nodes, so that nested anchors cannot multiply.
    fn remember(&mut self, anchor: usize, built: &Built) -> Result<(), Fatal> {
        if anchor != 0 {
            self.spend(built.size, built.node.span)?;
            self.anchors.insert(anchor, built.clone());
        }
        Ok(())
    }

    fn spend(&mut self, nodes: usize, span: Span) -> Result<(), Fatal> {
        self.nodes += nodes;
        if self.nodes <= limits::NODES {
            return Ok(());
        }
        Err(over_budget(span, format!("the file expands to more than {} values", limits::NODES)))
    }

    fn check_depth(&self, levels: usize, span: Span) -> Result<(), Fatal> {
        if self.stack.len() + levels <= limits::DEPTH { Ok(()) } else { Err(too_deep(span)) }
    }

    /// Puts a finished node into the open list or mapping, as an item, a key or a value.
    fn attach(&mut self, built: Built, end: usize) {
        let Some(frame) = self.stack.last_mut() else {
            self.root = Some(built.node);
            return;
        };
        frame.end = frame.end.max(end);
        frame.size += built.size;
        frame.height = frame.height.max(built.height + 1);
        match &mut frame.shape {
            Shape::List(items) => items.push(built.node),
            Shape::Map { entries, index, key } => match key.take() {
                Some(found) if found.keep => {
                    if entries.len() >= INDEXED_FROM {
                        index_entries(entries, index);
                        index.insert(found.text.clone(), entries.len());
                    }
                    entries.push(Entry { key: found.text, key_span: found.span, value: built.node });
                }
                Some(_) => {}
                None => *key = Some(accept_key(built.node, entries, index, self.diagnostics)),
            },
        }
    }

    fn refuse_tag(&mut self, tag: Option<&Tag>, span: &EventSpan) {
        let Some(tag) = tag else { return };
        let range = span.tag_span().and_then(|s| s.byte_range()).or_else(|| span.byte_range()).unwrap_or(0..0);
        self.diagnostics.push(
            Diagnostic::error(
                "yaml-tag",
                self.place.span(range.start, range.end),
                format!("the tag `{}` is not used in study files", tag.original()),
            )
            .help("remove it; text is text when it is in quotes"),
        );
    }
}

fn index_entries(entries: &[Entry], index: &mut HashMap<String, usize>) {
    if index.is_empty() {
        index.extend(entries.iter().enumerate().map(|(i, entry)| (entry.key.clone(), i)));
    }
}

/// Turns a node into the key of the next entry, or reports why it cannot be one.
fn accept_key(node: Node, entries: &[Entry], index: &HashMap<String, usize>, diagnostics: &mut Diagnostics) -> Key {
    let refused = |span| Key { text: String::new(), span, keep: false };
    let Value::Scalar(scalar) = node.value else {
        diagnostics.push(
            Diagnostic::error("yaml-key", node.span, "a key must be a word, not a list or a mapping")
                .help("if this was meant as a value, put it in quotes or behind `key:`"),
        );
        return refused(node.span);
    };
    if scalar.text.is_empty() {
        diagnostics.push(Diagnostic::error("yaml-key", node.span, "a key is empty").help("write `key: value`"));
        return refused(node.span);
    }
    if !scalar.quoted && scalar.text == "<<" {
        diagnostics.push(
            Diagnostic::error("yaml-merge-key", node.span, "the merge key `<<` is not used in study files")
                .help("write `like: STAGE` to copy the parameters of another stage"),
        );
        return refused(node.span);
    }
    let earlier = if index.is_empty() {
        entries.iter().find(|entry| entry.key == scalar.text)
    } else {
        index.get(&scalar.text).map(|&i| &entries[i])
    };
    if let Some(earlier) = earlier {
        diagnostics.push(
            Diagnostic::error("duplicate-key", node.span, format!("`{}` is given twice", scalar.text))
                .related(earlier.key_span, "first given here")
                .help("remove or rename one of the two"),
        );
    }
    Key { keep: earlier.is_none(), text: scalar.text, span: node.span }
}

fn over_budget(span: Span, message: String) -> Fatal {
    Box::new(
        Diagnostic::error("yaml-budget", span, message)
            .help("write values out instead of nesting aliases, and use `matrix` instead of many stages"),
    )
}

pub(super) fn too_deep(span: Span) -> Fatal {
    let message = format!("lists and mappings are nested deeper than {} levels", limits::DEPTH);
    Box::new(Diagnostic::error("yaml-depth", span, message).help("no study needs this; check the brackets"))
}
