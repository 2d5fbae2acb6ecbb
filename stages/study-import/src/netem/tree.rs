//! From commands to the qdiscs of each device, and to the way of a packet through them.
//!
//! Purpose: which qdisc hangs below which. A later command for the same place replaces the earlier one, `del` removes the device's
//! tree. Each leaf is one way; a class without a leaf of its own is one too.

use super::cursor::Cursor;
use super::options::{self, Netem};
use super::script::{Command, Word};
use super::tbf::{self, Fifo, HtbClass, Tbf};
use study_tree::{Diagnostic, Diagnostics, Span};

/// What one qdisc or class does to packets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Element {
    Netem(Box<Netem>, Span),
    Tbf(Tbf),
    Class(HtbClass),
    Fifo(Fifo),
    /// Hands packets to its classes.
    Classes,
}

#[derive(Debug, Clone, PartialEq)]
struct Hung {
    device: String,
    /// `root`, or the handle or class that it hangs below.
    parent: String,
    /// Its own handle or class.
    handle: String,
    class: bool,
    element: Element,
    comments: Vec<Word>,
    command: String,
}

/// A packet's way from the root of a device to a leaf.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Way {
    pub device: String,
    /// The handle of the leaf, where the device has several.
    pub leaf: Option<String>,
    /// From the root on.
    pub elements: Vec<Element>,
    pub comments: Vec<Word>,
    /// The commands that made it, from the root on.
    pub commands: Vec<String>,
}

/// What a script does, and what of it was not read.
#[derive(Debug, Default)]
pub(crate) struct Devices {
    hung: Vec<Hung>,
    /// The first command that is not of tc, and how many there are.
    strangers: Option<(Span, String, usize)>,
    filters: Option<Span>,
    /// A command that was refused: a tree without it would be another.
    incomplete: bool,
}

/// Words before `tc` that run it as somebody else or elsewhere; the place, if it is elsewhere.
fn strip(words: &[Word]) -> (&[Word], Option<String>) {
    let texts: Vec<&str> = words.iter().map(|w| w.text.as_str()).collect();
    let options = |from: usize| texts[from..].iter().take_while(|t| t.starts_with('-')).count();
    match texts.as_slice() {
        ["sudo", ..] => strip(&words[1 + options(1)..]),
        ["ip", "netns", "exec", place, ..] => (&words[4..], Some((*place).to_owned())),
        ["docker", "exec", ..] => {
            let place = 2 + options(2);
            texts.get(place).map_or((words, None), |name| (strip(&words[place + 1..]).0, Some((*name).to_owned())))
        }
        _ => (words, None),
    }
}

impl Devices {
    pub(crate) fn read(commands: &[Command], problems: &mut Diagnostics) -> Self {
        let mut devices = Self::default();
        commands.iter().for_each(|command| devices.command(command, problems));
        if let Some((span, name, count)) = &devices.strangers {
            let more = if *count > 1 { format!(", nor were {} more", count - 1) } else { String::new() };
            let message = format!("`{name}` is not a command of tc and was not read{more}");
            let help = "conditions, loops and functions are not followed: give the tc commands as they are run";
            problems.push(Diagnostic::warning("import-ignored", *span, message).help(help));
        }
        if let Some(span) = devices.filters {
            let message = "which packets a filter sends where was not read";
            let help = "the link is what a packet meets that takes the printed way";
            problems.push(Diagnostic::warning("import-ignored", span, message).help(help));
        }
        devices
    }
    /// Whether every command of tc was understood.
    pub(crate) const fn complete(&self) -> bool {
        !self.incomplete
    }
    fn stranger(&mut self, word: &Word) {
        match &mut self.strangers {
            Some((.., count)) => *count += 1,
            none => *none = Some((word.span, word.text.clone(), 1)),
        }
    }
    fn command(&mut self, command: &Command, problems: &mut Diagnostics) {
        let (words, place) = strip(&command.words);
        let Some(first) = words.first() else { return };
        let words = match first.text.as_str() {
            "qdisc" | "class" | "dev" | "netem" | "tbf" => words,
            name if name == "tc" || name.ends_with("/tc") => {
                let options = words[1..].iter().take_while(|w| w.text.starts_with('-')).count();
                &words[1 + options..]
            }
            name if options::keyword(name).is_some_and(|key| key == name) => words,
            _ => return self.stranger(first),
        };
        if let Some(word) = command.words.iter().find(|w| w.expands) {
            let message = format!("`{}` is a variable of the shell: what it stands for is not known here", word.text);
            problems.push(
                Diagnostic::error("import-variable", word.span, message)
                    .help("write the value in its place, e.g. `100ms`"),
            );
            self.incomplete = true;
            return;
        }
        if self.hang(words, place, command, problems).is_none() {
            self.incomplete = true;
        }
    }
    /// `None` when the command was refused.
    fn hang(
        &mut self,
        words: &[Word],
        place: Option<String>,
        command: &Command,
        problems: &mut Diagnostics,
    ) -> Option<()> {
        let mut cursor = Cursor::new(words, problems);
        let mut class = false;
        match words.first().map(|w| w.text.as_str()) {
            Some("qdisc" | "class") => {
                class = cursor.next()?.text == "class";
                let verb = cursor.next();
                match verb.map(|w| w.text.as_str()) {
                    Some("add" | "change" | "replace" | "link") => {}
                    Some("del" | "delete") => {
                        let words = cursor.rest();
                        let device = words.iter().skip_while(|w| w.text != "dev").nth(1);
                        let name = device.map(|w| named(place.as_deref(), &w.text));
                        self.hung.retain(|hung| Some(&hung.device) != name.as_ref());
                        return Some(());
                    }
                    Some("show" | "list" | "ls") | None => return Some(()),
                    Some(other) => {
                        let message = format!("`{other}` is not something that tc does to a qdisc or class");
                        cursor.error("import-syntax", verb?.span, message, "write `add`, `change` or `replace`");
                        return None;
                    }
                }
            }
            Some("filter" | "action" | "actions" | "monitor" | "chain") => {
                self.filters.get_or_insert(words.first()?.span);
                return Some(());
            }
            _ => {}
        }
        let (device, parent, handle) = Self::place(&mut cursor)?;
        let Some(kind) = cursor.next() else {
            let span = words.last()?.span;
            cursor.error("import-syntax", span, "no qdisc is named".to_owned(), "write e.g. `netem delay 100ms`");
            return None;
        };
        let element = element(kind, class, &mut cursor)?;
        let device = named(place.as_deref(), device.as_deref().unwrap_or("link"));
        let classless = class && handle.is_empty();
        self.hung.retain(|h| {
            let same = h.device == device && h.class == class && h.parent == parent;
            !(same && (!class || (h.handle == handle && !classless)))
        });
        let texts: Vec<&str> = command.words.iter().map(|w| w.text.as_str()).collect();
        let (comments, command) = (command.comments.clone(), texts.join(" "));
        self.hung.push(Hung { device, parent, handle, class, element, comments, command });
        Some(())
    }
    /// Device, parent and handle.
    fn place(cursor: &mut Cursor<'_, '_>) -> Option<(Option<String>, String, String)> {
        let (mut device, mut parent, mut handle) = (None, "root".to_owned(), String::new());
        while let Some(word) = cursor.peek() {
            match word.text.as_str() {
                "dev" => {
                    cursor.next();
                    let name = cursor.value(word)?;
                    if name.text == "lo" {
                        let message =
                            "`lo` carries both directions of every local connection, and refuses no packet size";
                        let cure = "delay and loss on `lo` strike requests and answers alike, so a delay counts twice in each \
                                    round trip, packets may be 64 KiB large, and everything else on the machine is slowed down: \
                                    shape a veth pair between two namespaces, and import that";
                        cursor.error("import-loopback", name.span, message.to_owned(), cure);
                        return None;
                    }
                    device = Some(name.text.clone());
                }
                "root" => {
                    cursor.next();
                }
                "parent" | "handle" | "classid" => {
                    cursor.next();
                    let value = cursor.value(word)?.text.clone();
                    *(if word.text == "parent" { &mut parent } else { &mut handle }) = value;
                }
                "ingress" | "clsact" => {
                    let message = format!("`{}` hands arriving packets on and shapes nothing", word.text);
                    let cure = "import the commands for the device that they are handed to, e.g. `ifb0`";
                    cursor.error("import-unsupported", word.span, message, cure);
                    return None;
                }
                _ => break,
            }
        }
        Some((device, parent, handle))
    }
    /// What something hangs below: the class of that name, or else the qdisc with that major number, whose classes (`1:1` of netem, tbf or
    /// prio) nobody needs to make.
    fn above(&self, hung: &Hung) -> Option<&Hung> {
        let major = |handle: &str| handle.split(':').next().unwrap_or_default().to_owned();
        let here =
            || self.hung.iter().filter(|h| h.device == hung.device && !std::ptr::eq(*h, hung) && !h.handle.is_empty());
        if hung.parent == "root" {
            return None;
        }
        let class = here().find(|h| h.class && h.handle == hung.parent);
        class.or_else(|| here().find(|h| !h.class && major(&h.handle) == major(&hung.parent)))
    }
    /// The ways through all devices, in the order of their first command.
    pub(crate) fn ways(&self) -> Vec<Way> {
        let inner: Vec<&Hung> = self.hung.iter().filter_map(|hung| self.above(hung)).collect();
        let leaves = self.hung.iter().filter(|hung| !inner.iter().any(|inner| std::ptr::eq(*inner, *hung)));
        let shapes = |e: &Element| !matches!(e, Element::Classes);
        let mut ways: Vec<Way> = leaves
            .map(|leaf| {
                let (mut elements, mut comments, mut commands, mut at) =
                    (Vec::new(), Vec::new(), Vec::new(), Some(leaf));
                while let Some(hung) = at {
                    elements.push(hung.element.clone());
                    comments.extend(hung.comments.iter().cloned());
                    commands.push(hung.command.clone());
                    // Each step goes to another one; a ring of parents ends when all have been met.
                    at = if elements.len() <= self.hung.len() { self.above(hung) } else { None };
                }
                elements.reverse();
                commands.reverse();
                Way { device: leaf.device.clone(), leaf: Some(leaf.label()), elements, comments, commands }
            })
            .filter(|way| way.elements.iter().any(shapes))
            .collect();
        let devices: Vec<String> = ways.iter().map(|w| w.device.clone()).collect();
        for way in &mut ways {
            if devices.iter().filter(|d| **d == way.device).count() == 1 {
                way.leaf = None;
            }
        }
        ways
    }
}

impl Hung {
    fn label(&self) -> String {
        if self.handle.is_empty() { self.parent.clone() } else { self.handle.clone() }
    }
}

/// The name of a device, with the namespace or container it is in.
fn named(place: Option<&str>, device: &str) -> String {
    place.map_or_else(|| device.to_owned(), |place| format!("{place}_{device}"))
}

fn element(kind: &Word, class: bool, cursor: &mut Cursor<'_, '_>) -> Option<Element> {
    if class {
        if kind.text == "htb" {
            return tbf::htb_class(kind, cursor).map(Element::Class);
        }
        let message = format!("classes of `{}` cannot be read", kind.text);
        cursor.error("import-unsupported", kind.span, message, "classes of htb can");
        return None;
    }
    match kind.text.as_str() {
        "netem" => options::parse(cursor).map(|netem| Element::Netem(Box::new(netem), kind.span)),
        "tbf" => tbf::tbf(kind, cursor).map(Element::Tbf),
        // Options of the qdisc itself decide where packets without a filter go.
        "htb" | "prio" => Some(Element::Classes),
        "pfifo" | "bfifo" => tbf::fifo(kind, cursor).map(Element::Fifo),
        name if options::keyword(name).is_some_and(|key| key == name) => {
            // `delay 100ms loss 1%` without anything before it.
            let mut words = vec![kind.clone()];
            words.extend_from_slice(cursor.rest());
            let netem = options::parse(&mut Cursor::new(&words, cursor.problems));
            while cursor.next().is_some() {}
            netem.map(|netem| Element::Netem(Box::new(netem), kind.span))
        }
        name => {
            let message = format!("the qdisc `{name}` cannot be read");
            let cure = "netem, tbf, htb, prio, pfifo and bfifo can; for the queues of CoDel write `queue: codel` or `queue: fq_codel` \
                        into the link";
            cursor.error("import-unsupported", kind.span, message, cure);
            None
        }
    }
}
