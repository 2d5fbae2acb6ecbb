//! The top level of a study and its named definitions.

use crate::keys::{TopKeys, check_name};
use std::collections::{BTreeMap, HashMap};
use study_stage::{Registry, Section};
use study_tree::{Cx, Diagnostic, Diagnostics, Entry, MapReader, Node, Sections, Span};

/// The top level, read as far as it can be read.
pub(crate) struct Draft {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) seed: u64,
    /// Entries that stages may take over (`runs`).
    pub(crate) inherited: Vec<Entry>,
    pub(crate) sections: Sections,
    /// Where each named definition stands, as (section, name, place), for lints.
    pub(crate) definitions: Vec<(&'static str, String, Span)>,
    /// Stages in the order of the file; each is a mapping.
    pub(crate) stages: Vec<Entry>,
    /// Where the key `stages` stands.
    pub(crate) stages_span: Span,
}

/// The seed of a study that gives none.
pub(crate) const DEFAULT_SEED: u64 = 1;

/// Reads the top level. `None` when there is nothing to go on with.
pub(crate) fn read(registry: &Registry, keys: &TopKeys, root: &Node, diagnostics: &mut Diagnostics) -> Option<Draft> {
    let nothing = Sections::new();
    let mut cx = Cx::new(&nothing);
    let draft = read_top(registry, keys, root, &mut cx);
    diagnostics.append(cx.diagnostics);
    draft
}

fn read_top(registry: &Registry, keys: &TopKeys, root: &Node, cx: &mut Cx<'_>) -> Option<Draft> {
    let mut map = MapReader::new(root, cx)?;
    let name: Option<String> = map.required("study");
    let title = map.or("title", || name.clone().unwrap_or_default());
    let seed = map.or("seed", || DEFAULT_SEED);
    for &key in keys.all().iter().filter(|k| !matches!(**k, "study" | "title" | "seed" | "stages")) {
        map.ignore(&[key]);
    }
    let stages = map.required_node("stages");
    map.finish();
    if let (Some(name), Some(node)) = (&name, root.get("study")) {
        check_name("a study", name, node.span).into_iter().for_each(|d| cx.push(d));
    }
    let stages_span = root.entries()?.iter().find(|e| e.key == "stages").map_or(root.span, |e| e.key_span);
    let inherited = root.entries()?.iter().filter(|e| keys.inherited().contains(e.key.as_str())).cloned().collect();
    Some(Draft {
        name: name.unwrap_or_default(),
        title: title.unwrap_or_default(),
        seed: seed.unwrap_or(DEFAULT_SEED),
        inherited,
        sections: read_sections(registry, root, cx),
        definitions: definitions(registry, root),
        stages: stages.map_or_else(Vec::new, |node| read_stages(node, stages_span, keys, cx)),
        stages_span,
    })
}

fn read_stages(node: &Node, key_span: Span, keys: &TopKeys, cx: &mut Cx<'_>) -> Vec<Entry> {
    let Some(entries) = node.entries().filter(|e| !e.is_empty()) else {
        cx.push(
            Diagnostic::error("missing-key", if node.is_null() { key_span } else { node.span }, "there is no stage")
                .help("write `stages:` with at least one `name: { kind: ... }` below it; see `study kinds`"),
        );
        return Vec::new();
    };
    let mut stages = Vec::new();
    for entry in entries {
        if let Some(diagnostic) = check_name("a stage", &entry.key, entry.key_span) {
            cx.push(diagnostic);
        } else if keys.contains(&entry.key) {
            let message = format!("`{}` cannot be the name of a stage: it is a key of the study", entry.key);
            cx.push(Diagnostic::error("bad-name", entry.key_span, message).help("give the stage another name"));
        }
        if entry.value.entries().is_some() {
            stages.push(entry.clone());
        } else {
            let message = format!("expected a mapping, found {}", entry.value.describe());
            cx.push(
                Diagnostic::error("wrong-type", entry.value.span, message)
                    .help(format!("write `{}: {{ kind: ... }}`; see `study kinds`", entry.key)),
            );
        }
    }
    stages
}

fn definitions(registry: &Registry, root: &Node) -> Vec<(&'static str, String, Span)> {
    let of = |section: &Section| {
        let entries = root.get(section.name).filter(|_| section.named).and_then(Node::entries).unwrap_or_default();
        entries.iter().map(|e| (section.name, e.key.clone(), e.key_span)).collect::<Vec<_>>()
    };
    registry.sections.iter().flat_map(of).collect()
}

fn read_sections(registry: &Registry, root: &Node, cx: &mut Cx<'_>) -> Sections {
    let mut sections = Sections::new();
    for section in registry.sections {
        let node = root.get(section.name).filter(|n| !n.is_null());
        let definitions = match node {
            None => BTreeMap::new(),
            Some(node) if section.named => read_named(section, node, cx),
            Some(node) => read_listed(section, node, cx),
        };
        sections.insert(section.name.to_owned(), definitions);
    }
    sections
}

fn read_named(section: &Section, node: &Node, cx: &mut Cx<'_>) -> BTreeMap<String, Node> {
    let Some(entries) = node.entries() else {
        let message = format!("expected a mapping of names, found {}", node.describe());
        cx.push(
            Diagnostic::error("wrong-type", node.span, message)
                .help(format!("write `name: {{ ... }}` lines below `{}:`", section.name)),
        );
        return BTreeMap::new();
    };
    for entry in entries {
        let what = format!("a definition in `{}`", section.name);
        check_name(&what, &entry.key, entry.key_span).into_iter().for_each(|d| cx.push(d));
    }
    entries.iter().map(|e| (e.key.clone(), e.value.clone())).collect()
}

fn read_listed(section: &Section, node: &Node, cx: &mut Cx<'_>) -> BTreeMap<String, Node> {
    let Some(items) = node.items() else {
        let message = format!("expected a list, found {}", node.describe());
        cx.push(
            Diagnostic::error("wrong-type", node.span, message)
                .help(format!("write one `- {{ id: ..., ... }}` per line below `{}:`", section.name)),
        );
        return BTreeMap::new();
    };
    let mut definitions = BTreeMap::new();
    let mut first: HashMap<String, Span> = HashMap::new();
    for item in items {
        let Some(mut map) = MapReader::new(item, cx) else { continue };
        let Some(id) = map.required::<String>("id") else { continue };
        let span = item.get("id").map_or(item.span, |n| n.span);
        let what = format!("an item of `{}`", section.name);
        check_name(&what, &id, span).into_iter().for_each(|d| cx.push(d));
        if let Some(earlier) = first.insert(id.clone(), span) {
            cx.push(
                Diagnostic::error("duplicate-id", span, format!("`{id}` is given twice"))
                    .related(earlier, "first given here")
                    .help("ids are unique: rename one of the two"),
            );
        }
        definitions.insert(id, item.clone());
    }
    definitions
}

/// Checks every definition by itself, in the order of the file, so that an unused one is not left unchecked.
pub(crate) fn check_sections(registry: &Registry, root: &Node, sections: &Sections, diagnostics: &mut Diagnostics) {
    let mut cx = Cx::new(sections);
    for section in registry.sections {
        let node = root.get(section.name);
        let named = node.and_then(Node::entries).unwrap_or_default().iter().map(|e| &e.value);
        let listed = node.and_then(Node::items).unwrap_or_default().iter();
        named.chain(listed).for_each(|node| (section.check)(node, &mut cx));
    }
    diagnostics.append(cx.diagnostics);
}
