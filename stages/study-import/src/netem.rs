//! Command lines of tc: netem, tbf, classes of htb and plain queues become the definition of a link.
//!
//! Purpose: what others used to shape a network, as the link that a study can use, and what it really did. A command shapes what its
//! device sends: one direction. Nothing is left out in silence: what a link cannot say is refused with a cure, or mapped with the
//! difference in words.
//!
//! Modules: `script` splits the text, `numbers` reads tc's units, `options` and `tbf` tc's grammar, `tree` says which qdisc hangs below
//! which, `direction` makes the link, `correlated` and `reordering` work out what netem does to losses and order.
//!
//! Sources: tc(8), tc-netem(8), tc-tbf(8), tc-htb(8); iproute2 `tc/q_netem.c`, `tc/q_tbf.c`; Linux `net/sched/sch_netem.c`. The
//! divergence tables are in the modules.

mod correlated;
mod cursor;
mod direction;
mod numbers;
mod options;
mod reordering;
mod script;
mod tbf;
mod tree;

use crate::profile::{LinkProfile, name_of};
use crate::wording::{percent, significant};
use study_link::{DirectionParams, LinkParams, Rate};
use study_tree::{Diagnostic, Diagnostics, Span};
use study_units::SimDuration;

/// Which direction of a link the commands shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shaped {
    /// Towards the viewer: they were run on the server's side.
    Down,
    /// From the viewer: they were run on the viewer's side.
    Up,
    /// They were run on both sides.
    Both,
}

/// How to read commands.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which direction they shape.
    pub shaped: Shaped,
    /// A name for the link instead of the device's; several links get numbers.
    pub name: Option<String>,
    /// Number of the text among the sources in which problems are shown.
    pub source: u32,
}

/// Longest text that is read, in bytes.
pub const LONGEST: usize = 1 << 20;

/// The links that a script makes, one for each way through each device. Problems are told; with an error among them nothing is given.
#[must_use]
pub fn import(text: &str, settings: &Settings, problems: &mut Diagnostics) -> Vec<LinkProfile> {
    let whole = Span { source: settings.source, start: 0, end: text.len().min(1) as u32 };
    if text.len() > LONGEST {
        let message = format!("a script of {} bytes is too long", text.len());
        problems
            .push(Diagnostic::error("import-syntax", whole, message).help("give the tc commands only, up to 1 MiB"));
        return Vec::new();
    }
    let commands = script::commands(text, settings.source);
    let mut found = Diagnostics::default();
    let devices = tree::Devices::read(&commands, &mut found);
    let ways = if devices.complete() { devices.ways() } else { Vec::new() };
    let many = ways.len() > 1;
    let mut profiles = Vec::new();
    for (i, way) in ways.iter().enumerate() {
        if let Some(mapped) = direction::map(way, &mut found) {
            stated_loss(way, &mapped.direction, &mut found);
            let name = match (&settings.name, many) {
                (Some(name), false) => name.clone(),
                (Some(name), true) => format!("{name}_{}", i + 1),
                (None, _) => name_of(&format!("{} {}", way.device, way.leaf.as_deref().unwrap_or_default())),
            };
            profiles.push(profile(name, way, mapped, settings.shaped));
        }
    }
    if ways.is_empty() && !found.has_errors() {
        let help = "give lines like `tc qdisc add dev eth0 root netem delay 50ms loss 1%`";
        found.push(Diagnostic::error("import-empty", whole, "no command of tc shapes anything").help(help));
    }
    let failed = found.has_errors();
    problems.append(found);
    if failed { Vec::new() } else { profiles }
}

fn profile(name: String, way: &tree::Way, mapped: direction::Mapped, shaped: Shaped) -> LinkProfile {
    let plain = DirectionParams::plain(SimDuration::ZERO, Rate::Unlimited);
    let shaped_way = mapped.direction;
    let (link, which) = match shaped {
        Shaped::Down => {
            (LinkParams { down: shaped_way, up: plain }, "towards the viewer; the other direction is not shaped")
        }
        Shaped::Up => {
            (LinkParams { down: plain, up: shaped_way }, "from the viewer; the other direction is not shaped")
        }
        Shaped::Both => (LinkParams { down: shaped_way.clone(), up: shaped_way }, "in both directions"),
    };
    let mut source = vec![format!("tc commands for {}, {which}", way.device)];
    source.extend(way.commands.iter().map(|command| format!("`{command}`")));
    LinkProfile { name, source, link, notes: mapped.facts, deviations: mapped.deviations }
}

/// Warns where a comment beside the command states another loss than the real one.
fn stated_loss(way: &tree::Way, params: &DirectionParams, problems: &mut Diagnostics) {
    let real = params.stationary_loss();
    for comment in &way.comments {
        let text = comment.text.to_lowercase();
        if !["loss", "lossy", "lost", "drop"].iter().any(|word| text.contains(word)) {
            continue;
        }
        let mut stated = text.match_indices('%').filter_map(|(at, _)| {
            let before = text[..at].trim_end();
            let digits = before
                .rfind(|c: char| !c.is_ascii_digit() && c != '.')
                .map_or(0, |i| i + before[i..].chars().next().map_or(1, char::len_utf8));
            before[digits..].parse::<f64>().ok()
        });
        let Some(percentage) = stated.next() else { continue };
        if (percentage / 100.0 - real).abs() > 0.1 * (percentage / 100.0).max(real) {
            let message = format!(
                "the comment states a loss of {} %, and the command loses {}",
                significant(percentage, 3),
                percent(real)
            );
            let help = "correct the comment, or the command";
            problems.push(Diagnostic::warning("import-stated-loss", comment.span, message).help(help));
        }
    }
}
