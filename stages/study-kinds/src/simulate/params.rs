//! Parameters of `simulate` and of its arms.

use super::logs::{self, QlogParams};
use super::presets::Preset;
use serde::Serialize;
use serde_json::{Value, json};
use study_cdn::cache::CacheParams;
use study_cdn::player::{Decisions, PlayerParams};
use study_sim::{ArmSpec, Resumption};
use study_transport::{CongestionControl, Profile, Protocol, Scheduler, TransportParams};
use study_tree::{
    Cx, Decode, Diagnostic, MapReader, Node, choices, defaults, did_you_mean, merge, params, split_keys, variants,
};
use study_trial::EmulationParams;
use study_units::{Probability, SimDuration};

variants! {
    /// Where the packets are.
    pub enum Mode {
        unit {
            /// In a simulation.
            Modeled = "modeled"
        }
        defaulted {
            /// Between real stacks, on links that this machine emulates.
            Emulated(EmulationParams) = "emulated"
        }
        data {}
    }
}

choices! {
    /// What a comparison claims about its arms.
    pub enum Compare {
        /// They differ in the protocol alone; any other difference fails the validity check.
        Equal = "equal",
        /// They are what is deployed; differences are listed.
        AsDeployed = "as_deployed",
    }
}

params! {
    /// TLS session state of the viewers: one draw per run and viewer, shared by the arms.
    pub struct SessionParams {
        /// Share of viewers that hold a ticket.
        resumed: Probability = Probability::ZERO;
        /// Whether a ticket allows early data (0-RTT).
        early_data: bool = false;
    }
}

params! {
    /// What holds for every arm unless it says otherwise.
    pub struct BaseParams {
        /// Order in which the responses of a connection share it.
        scheduler: Scheduler = Scheduler::RoundRobin;
        /// TLS session state of the viewers.
        session: SessionParams = defaults();
        /// The viewers' player.
        player: PlayerParams = defaults();
        /// The edges' caches.
        cache: CacheParams = defaults();
        /// Transport parameters.
        transport: TransportParams = defaults();
        /// Protocol between edge and origin.
        origin_protocol: Protocol = Protocol::H2;
        /// A viewer leaves when its session is not over by then.
        session_limit: SimDuration = SimDuration::from_secs(1_800), in SimDuration::from_secs(1)..=SimDuration::from_secs(86_400);
    }
}

/// One arm with everything filled in.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Arm {
    /// Its name.
    pub name: String,
    /// Protocol.
    pub protocol: Protocol,
    /// Congestion controller.
    pub congestion_control: CongestionControl,
    /// The rest.
    #[serde(flatten)]
    pub base: BaseParams,
}

impl Arm {
    /// For the simulator.
    pub fn spec(&self) -> ArmSpec {
        let base = &self.base;
        ArmSpec {
            protocol: self.protocol,
            congestion_control: self.congestion_control,
            scheduler: base.scheduler,
            origin_protocol: base.origin_protocol,
            transport: base.transport.clone(),
            resumption: Resumption { resumed: base.session.resumed, early_data: base.session.early_data },
            player: base.player.clone(),
            cache: base.cache.clone(),
            session_limit: base.session_limit,
            blend: None,
        }
    }
}

/// Parameters of a node of kind `simulate`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimulateParams {
    /// Modeled or emulated.
    pub mode: Mode,
    /// Independent runs.
    pub runs: u64,
    /// Viewers of each run, the first by id; all when absent.
    pub clients: Option<u64>,
    /// What the comparison claims.
    pub compare: Compare,
    /// Logs; not in the canonical document where there are none, because they change nothing else.
    #[serde(skip_serializing_if = "QlogParams::is_off")]
    pub qlog: QlogParams,
    /// What holds for every arm unless it says otherwise.
    #[serde(flatten)]
    pub base: BaseParams,
    /// The arms, baseline first.
    pub arms: Vec<Arm>,
}

params! {
    /// The keys that belong to the stage and not to an arm.
    pub struct StageKeys {
        /// Where the packets are.
        mode: Mode;
        /// Names of the arms, baseline first.
        arms: Vec<String>;
        /// Independent runs; every run draws its own viewers.
        runs: u64 = 1, in 1..=1_000_000;
        /// Viewers of each run, the first by id; all of them when not given.
        clients: Option<u64> = None;
        /// What the comparison claims about its arms.
        compare: Compare = Compare::Equal;
        /// Logs of some sessions.
        qlog: QlogParams = defaults();
    }
}

const STAGE_KEYS: &[&str] = &["mode", "arms", "runs", "clients", "compare", "qlog"];
const ARM_KEYS: &[&str] = &["protocol", "congestion_control"];
const PRESET: &str = "preset";

/// Reads a node.
pub fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<SimulateParams> {
    let (stage, rest) = split_keys(node, STAGE_KEYS);
    let keys = StageKeys::decode(&stage, cx);
    let base = BaseParams::decode(&rest, cx);
    if let (Some(0), Some(span)) = (keys.as_ref().and_then(|k| k.clients), node.get("clients").map(|n| n.span)) {
        cx.push(
            Diagnostic::error("out-of-range", span, "`0` is out of range for `clients`").help("give at least 1 viewer"),
        );
        return None;
    }
    let names = stage.get("arms").and_then(Node::items).unwrap_or_default();
    let arms: Vec<Option<Arm>> = names.iter().map(|name| decode_arm(name, &rest, cx)).collect();
    let (keys, base) = (keys?, base?);
    let arms: Vec<Arm> = arms.into_iter().collect::<Option<_>>()?;
    let params = SimulateParams {
        mode: keys.mode,
        runs: keys.runs,
        clients: keys.clients,
        compare: keys.compare,
        qlog: keys.qlog,
        base,
        arms,
    };
    (check_arms(&params, node, cx) && logs::check(&params, node, cx)).then_some(params)
}

fn decode_arm(name: &Node, rest: &Node, cx: &mut Cx<'_>) -> Option<Arm> {
    let overrides = cx.lookup("arms", name)?;
    let (own, overrides) = split_keys(overrides, ARM_KEYS);
    let (preset, overrides) = split_keys(&overrides, &[PRESET]);
    let (protocol, congestion_control) = decode_own(&own, cx)?;
    let merged = match decode_preset(&preset, protocol, cx)? {
        Some(settings) => merge(&merge(rest, &settings), &overrides),
        None => merge(rest, &overrides),
    };
    let base = BaseParams::decode(&merged, cx);
    let profile = base.as_ref().map_or(Profile::Rfc, |base| base.transport.profile);
    if !profile.fits(protocol != Protocol::H3) {
        let message = format!("the profile `{}` is not of the transport of `{}`", profile.name(), protocol.name());
        let span = study_tree::get_path(&merged, "transport.profile").map_or(name.span, |n| n.span);
        cx.push(
            Diagnostic::error("out-of-range", span, message)
                .help("use `linux-6` for TCP and `quinn-0.11` for QUIC, in the arm"),
        );
        return None;
    }
    Some(Arm { name: String::decode(name, cx)?, protocol, congestion_control, base: base? })
}

/// The overrides of an arm's preset, if it has one.
fn decode_preset(own: &Node, protocol: Protocol, cx: &mut Cx<'_>) -> Option<Option<Node>> {
    let Some(node) = own.get(PRESET) else { return Some(None) };
    let preset = Preset::decode(node, cx)?;
    if preset.protocol() == protocol {
        return Some(Some(preset.overrides(node.span)));
    }
    let (name, wanted) = (preset.name(), preset.protocol().name());
    cx.push(
        Diagnostic::error("out-of-range", node.span, format!("the preset `{name}` is for the protocol `{wanted}`"))
            .help(format!("write `protocol: {wanted}`, or a preset of `{}`", protocol.name())),
    );
    None
}

fn decode_own(own: &Node, cx: &mut Cx<'_>) -> Option<(Protocol, CongestionControl)> {
    let mut map = MapReader::new(own, cx)?;
    let protocol = map.required("protocol");
    let congestion_control = map.required("congestion_control");
    map.finish();
    Some((protocol?, congestion_control?))
}

fn check_arms(params: &SimulateParams, node: &Node, cx: &mut Cx<'_>) -> bool {
    let span = node.get("arms").map_or(node.span, |n| n.span);
    let names: Vec<&str> = params.arms.iter().map(|a| a.name.as_str()).collect();
    if names.is_empty() {
        cx.push(Diagnostic::error("out-of-range", span, "a simulation needs an arm").help("name one under `arms:`"));
        return false;
    }
    if let Some((_, twice)) = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)) {
        cx.push(
            Diagnostic::error("duplicate-key", span, format!("the arm `{twice}` is named twice")).help("name it once"),
        );
        return false;
    }
    if let Decisions::Replay(leader) = &params.base.player.decisions
        && !names.contains(&leader.as_str())
    {
        let span = study_tree::get_path(node, "player.decisions").map_or(span, |n| n.span);
        let help = did_you_mean(leader, &names).unwrap_or_else(|| format!("replay one of: {}", names.join(", ")));
        cx.push(Diagnostic::error("unknown-name", span, format!("`{leader}` is not an arm of this stage")).help(help));
        return false;
    }
    if params.arms.iter().any(|arm| arm.base.player.decisions != params.base.player.decisions) {
        cx.push(
            Diagnostic::error("arm-decisions", span, "an arm may not have `player.decisions` of its own")
                .help("set it at the stage: it says what is compared"),
        );
        return false;
    }
    true
}

/// Checks an arm by itself.
pub fn check_arm(node: &Node, cx: &mut Cx<'_>) {
    if MapReader::new(node, cx).is_none_or(|mut map| {
        map.node("protocol");
        false
    }) {
        return;
    }
    let (own, overrides) = split_keys(node, ARM_KEYS);
    let (preset, overrides) = split_keys(&overrides, &[PRESET]);
    if let Some((protocol, _)) = decode_own(&own, cx) {
        let _ = decode_preset(&preset, protocol, cx);
    }
    let _ = BaseParams::decode(&overrides, cx);
}

/// JSON Schema of an arm.
pub fn arm_schema() -> Value {
    let mut schema = BaseParams::schema();
    schema["description"] = json!("overrides of the parameters of `simulate`");
    schema["properties"]["protocol"] = Protocol::schema();
    schema["properties"]["congestion_control"] = CongestionControl::schema();
    schema["properties"][PRESET] = Preset::schema();
    schema["required"] = json!(ARM_KEYS);
    schema
}

/// JSON Schema of the stage.
pub fn schema() -> Value {
    let (mut schema, stage) = (BaseParams::schema(), StageKeys::schema());
    for (key, value) in stage["properties"].as_object().into_iter().flatten() {
        schema["properties"][key] = value.clone();
    }
    schema["required"] = stage["required"].clone();
    schema
}
