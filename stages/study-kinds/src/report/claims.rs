//! Claims: what a study says will be found.
//!
//! A claim names a statistic of one stage (in a matrix: of one cell), two arms, and a bound:
//!
//! | key of `expect` | holds when |
//! |---|---|
//! | `improvement_at_least: x` | the improvement of the second arm over the first is x or more |
//! | `improvement_at_most: x` | it is x or less |
//! | `difference_at_least: x` | second minus first arm is x or more, in the metric's unit |
//! | `difference_at_most: x` | it is x or less |
//!
//! Which of the two effects a metric has is fixed: times and rates are compared relatively, metrics that may be 0 in a run
//! as differences. `tolerance` has the unit of the bound and moves it to the claim's favour.

use crate::aggregate::metrics::{Scale, metric};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use study_report::effect::EffectKind;
use study_report::metric::{METRICS, Metric, find};
use study_tree::{Cx, Decode, Diagnostic, MapReader, Node, did_you_mean};
use study_units::{BitRate, Quantity, SimDuration};

/// A claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    /// Its id, e.g. `C1`.
    pub id: String,
    /// What it says, in words.
    pub statement: String,
    /// The stage it is about.
    pub of: String,
    /// The cell of the stage's matrix, as axis and value; all axes that matter must be given.
    #[serde(rename = "where")]
    pub cell: BTreeMap<String, String>,
    /// Name of the metric.
    pub metric: String,
    /// Statistic: a percentile such as `p95`, or `mean`.
    pub stat: String,
    /// Baseline and other arm.
    pub arms: [String; 2],
    /// What is expected.
    pub expect: Expectation,
    /// How far the bound may be missed, in its unit; 0 or more.
    pub tolerance: f64,
    /// Figure or table that shows it.
    pub shown_in: Option<String>,
}

/// A bound on an effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expectation {
    /// Relative or absolute.
    pub effect: EffectKind,
    /// Whether the bound is the least or the most.
    pub at_least: bool,
    /// The bound: a share for improvements, else in the metric's unit.
    pub bound: f64,
}

/// Keys of `expect`.
const EXPECTATIONS: [(&str, EffectKind, bool); 4] = [
    ("improvement_at_least", EffectKind::Improvement, true),
    ("improvement_at_most", EffectKind::Improvement, false),
    ("difference_at_least", EffectKind::Difference, true),
    ("difference_at_most", EffectKind::Difference, false),
];

impl Expectation {
    /// The key in study files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        let same =
            |(_, effect, at_least): &&(&str, EffectKind, bool)| *effect == self.effect && *at_least == self.at_least;
        EXPECTATIONS.iter().find(same).map_or("", |(name, ..)| name)
    }
}

impl Serialize for Expectation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.name(), &self.bound)?;
        map.end()
    }
}

/// The stage that a claim is about; a name that the study does not have would silently switch the claim off.
fn decode_stage(node: &Node, cx: &mut Cx<'_>) -> Option<String> {
    if cx.section("stages").is_some() {
        cx.lookup("stages", node)?;
    }
    String::decode(node, cx)
}

/// Reads a claim.
pub(super) fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Claim> {
    let mut map = MapReader::new(node, cx)?;
    let id = map.required("id");
    let statement = map.required("statement");
    let of = map.required_node("of").and_then(|n| decode_stage(n, map.cx));
    let cell = map.or("where", BTreeMap::new);
    let metric = map.required_node("metric").and_then(|n| decode_metric(n, map.cx));
    let stat = map.required_node("stat").and_then(|n| decode_stat(n, map.cx));
    let arms = map.required_node("arms").and_then(|n| decode_arms(n, map.cx));
    let expect = map.required_node("expect");
    let tolerance = map.node("tolerance");
    let shown_in = map.or("shown_in", || None);
    let complete = map.finish();
    let metric = metric?;
    let expect = expect.and_then(|n| decode_expectation(n, metric, cx));
    let tolerance = match (tolerance, &expect) {
        (None, _) => Some(0.0),
        (Some(node), Some(expect)) => decode_tolerance(node, effect_unit(expect.effect, metric), cx),
        (Some(_), None) => None,
    };
    if !complete {
        return None;
    }
    Some(Claim {
        id: id?,
        statement: statement?,
        of: of?,
        cell: cell?,
        metric: metric.name.to_owned(),
        stat: stat?,
        arms: arms?,
        expect: expect?,
        tolerance: tolerance?,
        shown_in: shown_in?,
    })
}

/// Checks a claim by itself.
pub fn check_claim(node: &Node, cx: &mut Cx<'_>) {
    let _ = decode(node, cx);
}

/// JSON Schema of a claim.
#[must_use]
pub fn claim_schema() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let amount = json!({ "type": ["string", "number"], "examples": ["5 %", "50 ms", 0.5] });
    let bounds: serde_json::Map<String, Value> =
        EXPECTATIONS.iter().map(|(name, ..)| ((*name).to_owned(), amount.clone())).collect();
    json!({
        "type": "object",
        "properties": {
            "id": text("id, e.g. C1"),
            "statement": text("what it says, in words"),
            "of": text("the stage it is about"),
            "where": { "type": "object", "description": "the cell of the matrix, as `axis: value`",
                       "additionalProperties": { "type": ["string", "number"] } },
            "metric": { "enum": METRICS.iter().map(|m| m.name).collect::<Vec<_>>() },
            "stat": { "type": "string", "description": "a percentile, or `mean`", "examples": ["p95", "mean"] },
            "arms": { "type": "array", "description": "baseline and other arm", "items": { "type": "string" },
                      "minItems": 2, "maxItems": 2 },
            "expect": { "type": "object", "description": "one bound", "properties": bounds,
                        "minProperties": 1, "maxProperties": 1, "additionalProperties": false },
            "tolerance": amount,
            "shown_in": text("figure or table that shows it, e.g. fig_startup"),
        },
        "required": ["id", "statement", "of", "metric", "stat", "arms", "expect"],
        "additionalProperties": false
    })
}

fn decode_metric(node: &Node, cx: &mut Cx<'_>) -> Option<&'static Metric> {
    let name = String::decode(node, cx)?;
    let found = find(&name);
    if found.is_none() {
        let known: Vec<&str> = METRICS.iter().map(|m| m.name).collect();
        let help = did_you_mean(&name, &known).unwrap_or_else(|| format!("use one of: {}", known.join(", ")));
        cx.push(Diagnostic::error("unknown-value", node.span, format!("`{name}` is not a metric")).help(help));
    }
    found
}

fn decode_stat(node: &Node, cx: &mut Cx<'_>) -> Option<String> {
    let stat = String::decode(node, cx)?;
    let percentile = stat.strip_prefix('p').and_then(|p| p.parse::<f64>().ok());
    if stat == "mean" || percentile.is_some_and(|p| (0.0..=100.0).contains(&p)) {
        return Some(stat);
    }
    let message = format!("`{stat}` is not a statistic");
    cx.push(Diagnostic::error("unknown-value", node.span, message).help("write a percentile such as `p95`, or `mean`"));
    None
}

fn decode_arms(node: &Node, cx: &mut Cx<'_>) -> Option<[String; 2]> {
    let Some([a, b]) = node.items().and_then(|items| <&[Node; 2]>::try_from(items).ok()) else {
        let message = format!("expected two arms, found {}", node.describe());
        cx.push(Diagnostic::error("wrong-type", node.span, message).help("write `[baseline, other]`"));
        return None;
    };
    let known = [cx.lookup("arms", a).is_some(), cx.lookup("arms", b).is_some()];
    if known != [true, true] {
        return None;
    }
    let names = [String::decode(a, cx)?, String::decode(b, cx)?];
    if names[0] == names[1] {
        let message = format!("the arm `{}` is compared with itself", names[0]);
        cx.push(Diagnostic::error("out-of-range", node.span, message).help("name two different arms"));
        return None;
    }
    Some(names)
}

fn decode_expectation(node: &Node, of: &Metric, cx: &mut Cx<'_>) -> Option<Expectation> {
    let known: Vec<&str> = EXPECTATIONS.iter().map(|(name, ..)| *name).collect();
    let Some([entry]) = node.entries() else {
        let message = format!("expected one bound, found {}", node.describe());
        let help = format!("write `{{ {}: 5 % }}`; bounds are: {}", known[0], known.join(", "));
        cx.push(Diagnostic::error("wrong-type", node.span, message).help(help));
        return None;
    };
    let Some((_, effect, at_least)) = EXPECTATIONS.iter().find(|(name, ..)| *name == entry.key) else {
        let help = did_you_mean(&entry.key, &known).unwrap_or_else(|| format!("use one of: {}", known.join(", ")));
        let message = format!("unknown key `{}`", entry.key);
        cx.push(Diagnostic::error("unknown-key", entry.key_span, message).help(help));
        return None;
    };
    let relative = metric(of.name).scale == Scale::Ratio;
    if relative != (*effect == EffectKind::Improvement) {
        let (message, help) = if relative {
            (format!("`{}` is compared relatively", of.name), "use `improvement_at_least` or `improvement_at_most`")
        } else {
            let message = format!("`{}` may be 0 in a run, so it is compared as a difference", of.name);
            (message, "use `difference_at_least` or `difference_at_most`")
        };
        cx.push(Diagnostic::error("claim-effect", entry.key_span, message).help(help));
        return None;
    }
    let bound = amount(&entry.value, effect_unit(*effect, of), cx)?;
    Some(Expectation { effect: *effect, at_least: *at_least, bound })
}

/// Unit of an effect's bound: improvements are shares.
const fn effect_unit(effect: EffectKind, of: &Metric) -> &'static str {
    match effect {
        EffectKind::Improvement => "1",
        EffectKind::Difference => of.unit,
    }
}

fn decode_tolerance(node: &Node, unit: &str, cx: &mut Cx<'_>) -> Option<f64> {
    let value = amount(node, unit, cx)?;
    if value < 0.0 {
        let message = format!("{} is out of range for `tolerance`", node.describe());
        cx.push(Diagnostic::error("out-of-range", node.span, message).help("give 0 or more"));
        return None;
    }
    Some(value)
}

/// A signed amount in `unit`: shares as `5 %` or `0.05`, times and rates with their unit, counts as bare numbers.
fn amount(node: &Node, unit: &str, cx: &mut Cx<'_>) -> Option<f64> {
    let Some(text) = node.text().filter(|_| !node.is_null()) else {
        let message = format!("expected an amount, found {}", node.describe());
        cx.push(Diagnostic::error("wrong-type", node.span, message).help("e.g. `5 %`"));
        return None;
    };
    let (sign, size) = text.trim().strip_prefix('-').map_or((1.0, text.trim()), |rest| (-1.0, rest.trim_start()));
    let parsed = match unit {
        "1" => share(size),
        "ms" => {
            SimDuration::parse_quantity(size).map(|t| t.as_nanos() as f64 / 1e6).map_err(|e| (e.to_string(), e.help()))
        }
        "kbit/s" => BitRate::parse_quantity(size)
            .map(|r| r.bits_per_second() as f64 / 1e3)
            .map_err(|e| (e.to_string(), e.help())),
        _ => number(size).ok_or_else(|| (format!("`{size}` is not a number"), "e.g. `0.5`".to_owned())),
    };
    match parsed {
        // `+ 0.0` turns -0.0 into 0.0, so that equal claims have equal keys.
        Ok(value) => Some(sign * value + 0.0),
        Err((message, help)) => {
            cx.push(Diagnostic::error("bad-quantity", node.span, message).help(help));
            None
        }
    }
}

/// `5 %` or `0.05`; a bare number of 1 or more could be either.
fn share(text: &str) -> Result<f64, (String, String)> {
    let wrong = || (format!("`{text}` is not a share"), "e.g. `5 %`".to_owned());
    match text.strip_suffix('%') {
        // Shifting the decimal point instead of dividing, so that 5 % and 0.05 have the same bits.
        Some(percent) => {
            number(percent.trim_end()).and_then(|_| number(&format!("{}e-2", percent.trim_end()))).ok_or_else(wrong)
        }
        None => match number(text) {
            Some(x) if x < 1.0 => Ok(x),
            Some(_) => {
                Err((format!("`{text}` can be read in two ways"), format!("write `{text} %`, or a share below 1")))
            }
            None => Err(wrong()),
        },
    }
}

/// A finite number without a sign.
fn number(text: &str) -> Option<f64> {
    let plain = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    text.parse::<f64>().ok().filter(|x| x.is_finite() && plain)
}
