//! A link that was read from elsewhere: its definition, and what it really does.
//!
//! Purpose: what every importer of links gives. The YAML is the canonical spelling of the link, so a study that holds it decodes to the
//! same link; comments above it say where it comes from, what it does, and where it differs from its source.

use crate::facts;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use study_link::{DirectionParams, LinkParams, Loss, Queue, Rate};
use study_units::{Probability, SimDuration};

/// A link with its name, its source and its figures.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkProfile {
    /// Its name in a study: letters, digits, `_` and `-`.
    pub name: String,
    /// Where it comes from and under which licence, line by line.
    pub source: Vec<String>,
    /// The link.
    pub link: LinkParams,
    /// What the source says and does, beyond what the link shows.
    pub notes: Vec<String>,
    /// Where the link differs from its source.
    pub deviations: Vec<String>,
}

/// The section `links` of a study, with all links in order.
#[must_use]
pub fn yaml(profiles: &[LinkProfile]) -> String {
    let mut text = "links:\n".to_owned();
    profiles.iter().for_each(|profile| text.push_str(&profile.yaml()));
    text
}

impl LinkProfile {
    /// What the link really does: loss, runs, rate, queue, delay; one line each, computed in closed form.
    #[must_use]
    pub fn facts(&self) -> Vec<String> {
        facts::of(&self.link)
    }
    /// The entry of the section `links`, indented by two blanks, with comments.
    #[must_use]
    pub fn yaml(&self) -> String {
        let mut text = String::new();
        let mut comment = |label: &str, lines: &[String]| {
            for line in lines {
                // A comment is one line, and YAML allows no control characters in it.
                let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
                let _ = writeln!(text, "  # {label}{line}");
            }
        };
        comment("", &self.source);
        comment("really: ", &self.facts());
        comment("note: ", &self.notes);
        comment("differs: ", &self.deviations);
        let _ = writeln!(text, "  {}:", self.name);
        for (key, value) in definition(&self.link) {
            let _ = writeln!(text, "    {key}: {value}");
        }
        text
    }
    /// The same for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let link: Map<String, Value> =
            definition(&self.link).into_iter().map(|(k, v)| (k.to_owned(), v.into())).collect();
        json!({
            "name": self.name, "source": self.source, "definition": link, "facts": self.facts(), "notes": self.notes,
            "deviations": self.deviations, "figures": { "down": facts::figures(&self.link, true), "up": facts::figures(&self.link, false) },
        })
    }
}

/// A name that a study accepts, made from any text.
#[must_use]
pub fn name_of(text: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let mut name = String::new();
    for c in text.chars().map(safe) {
        if c != '_' || !(name.is_empty() || name.ends_with('_')) {
            name.push(c);
        }
    }
    let name: String = name.trim_end_matches('_').chars().take(60).collect();
    if name.is_empty() { "link".to_owned() } else { name }
}

/// Keys and values of the definition of a link, in flow style.
fn definition(link: &LinkParams) -> Vec<(&'static str, String)> {
    if link.down == link.up {
        let mut pairs = vec![("symmetric", "true".to_owned())];
        pairs.extend(direction(&link.down));
        return pairs;
    }
    let side = |params: &DirectionParams| {
        let inside: Vec<String> = direction(params).into_iter().map(|(key, value)| format!("{key}: {value}")).collect();
        format!("{{ {} }}", inside.join(", "))
    };
    vec![("down", side(&link.down)), ("up", side(&link.up))]
}

/// Keys and values of one direction; what has its default is left out.
fn direction(params: &DirectionParams) -> Vec<(&'static str, String)> {
    let mut pairs = vec![("one_way", time(params.one_way))];
    pairs.push((
        "rate",
        match &params.rate {
            Rate::Constant(rate) => rate.to_string(),
            Rate::Unlimited => "unlimited".to_owned(),
            other => flow(&serde_json::to_value(other).unwrap_or_default()),
        },
    ));
    let json = |value: Result<Value, serde_json::Error>| flow(&value.unwrap_or_default());
    if let Some(shaper) = &params.shaper {
        pairs.push(("shaper", format!("{{ rate: {}, burst: {} }}", shaper.rate, shaper.burst)));
    }
    if params.overhead.get() > 0 {
        pairs.push(("overhead", params.overhead.to_string()));
    }
    if let Some(jitter) = &params.jitter {
        pairs.push((
            "jitter",
            format!(
                "{{ std_dev: {}, distribution: {}, correlation_time: {}, reorder: {} }}",
                jitter.std_dev,
                jitter.distribution.name(),
                jitter.correlation_time,
                jitter.reorder
            ),
        ));
    }
    if params.loss != Loss::None {
        pairs.push(("loss", loss(&params.loss)));
    }
    if let Some(policer) = &params.policer {
        pairs.push(("policer", format!("{{ rate: {}, burst: {} }}", policer.rate, policer.burst)));
    }
    if params.outages != study_link::Outages::None {
        pairs.push(("outages", json(serde_json::to_value(&params.outages))));
    }
    if let Queue::DropTail(limit) = &params.queue {
        pairs.push(("queue", format!("{{ drop_tail: {limit} }}")));
    } else if params.mean_rate().is_some() {
        pairs.push(("queue", json(serde_json::to_value(&params.queue))));
    }
    pairs
}

fn time(duration: SimDuration) -> String {
    if duration == SimDuration::ZERO { "0 ms".to_owned() } else { duration.to_string() }
}

/// As a percentage where that reads back to the same bits.
fn share(p: Probability) -> String {
    let percent = crate::wording::significant(100.0 * p.get(), 12);
    let back = format!("{percent}e-2").parse::<f64>().ok();
    if back.is_some_and(|back| back.to_bits() == p.get().to_bits()) { format!("{percent} %") } else { p.to_string() }
}

fn loss(loss: &Loss) -> String {
    let inside = match loss {
        Loss::Bernoulli(p) => format!("bernoulli: {{ rate: {}, clock: {} }}", share(p.rate), p.clock.name()),
        Loss::GilbertElliott(p) => format!(
            "gilbert_elliott: {{ good_to_bad: {}, bad_to_good: {}, loss_in_bad: {}, loss_in_good: {}, clock: {} }}",
            share(p.good_to_bad),
            share(p.bad_to_good),
            share(p.loss_in_bad),
            share(p.loss_in_good),
            p.clock.name()
        ),
        Loss::FourState(p) => format!(
            "four_state: {{ p13: {}, p31: {}, p32: {}, p23: {}, p14: {}, clock: {} }}",
            share(p.p13),
            share(p.p31),
            share(p.p32),
            share(p.p23),
            share(p.p14),
            p.clock.name()
        ),
        Loss::Capped(p) => {
            format!(
                "capped: {{ rate: {}, most_in_a_row: {}, clock: {} }}",
                share(p.rate),
                p.most_in_a_row,
                p.clock.name()
            )
        }
        other => return flow(&serde_json::to_value(other).unwrap_or_default()),
    };
    format!("{{ {inside} }}")
}

/// A value in YAML's flow style; what is not given is left out.
fn flow(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let inside: Vec<String> =
                map.iter().filter(|(_, v)| !v.is_null()).map(|(key, v)| format!("{key}: {}", flow(v))).collect();
            format!("{{ {} }}", inside.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_becomes_a_name_that_a_study_accepts() {
        for (text, name) in [
            ("eth0", "eth0"),
            ("ns 1_Eth0.100", "ns_1_eth0_100"),
            ("", "link"),
            ("--", "link"),
            ("3G (good)", "3g_good"),
        ] {
            assert_eq!(name_of(text), name);
        }
        assert!(name_of(&"x".repeat(200)).len() <= 64);
    }
}
