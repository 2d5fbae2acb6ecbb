//! What a role is told.

use super::Pacing;
use crate::error::StackError;
use crate::settings::StackSettings;
use crate::stacks::StackChoice;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::sync::Arc;
use study_cdn::cache::CacheParams;
use study_cdn::catalog::{Title, segment_bytes, segment_durations};
use study_cdn::player::{Decisions, Player, PlayerParams};
use study_transport::{CongestionControl, SessionState, TransportParams};
use study_tree::{Cx, Decode, Diagnostic, Node, choices, defaults, params, split_keys};
use study_units::{BitRate, Bytes, SimDuration, SimTime};

choices! {
    /// A role.
    pub enum RoleChoice {
        /// Has every object.
        Origin = "origin",
        /// A cache between edges and the origin.
        Shield = "shield",
        /// A cache between clients and what is above it.
        Edge = "edge",
        /// Fetches objects or plays a title.
        Client = "client",
    }
}

/// Address and port, `127.0.0.1:4433`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Address(pub SocketAddr);

impl Decode for Address {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let parsed = node.text().and_then(|text| text.parse().ok());
        if parsed.is_none() {
            let message = format!("{} is no address with a port", node.describe());
            let problem = Diagnostic::error("bad-address", node.span, message);
            cx.push(problem.help("write e.g. `127.0.0.1:4433`; port 0 is any free one"));
        }
        parsed.map(Self)
    }
    fn schema() -> serde_json::Value {
        serde_json::json!({ "type": "string", "examples": ["127.0.0.1:4433"] })
    }
}

/// Any free port of loopback.
const ANY: Address = Address(SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0));

params! {
    /// What every role needs: its end of the connections.
    pub struct EndParams {
        /// The stack.
        stack: StackChoice;
        /// Congestion control of this end; what a host has as its default says nothing.
        congestion_control: CongestionControl;
        /// The file that all roles of a study share: authority, certificate and key. The first server makes it.
        credentials: String;
        /// Bandwidth-delay product of the link; with it, windows and buffers are those of a fair comparison (four of them
        /// each), without it, those that the stack comes with.
        bdp: Option<Bytes> = None;
        /// Client: the session state of its connection. Server: the most that it allows.
        session: SessionState = SessionState::Cold;
        /// A connection must be ready after this time.
        connect_timeout: SimDuration = SimDuration::from_secs(30), in SimDuration::from_millis(1)..=SimDuration::from_secs(3_600);
        /// A transfer must have ended after this time.
        fetch_timeout: SimDuration = SimDuration::from_secs(120), in SimDuration::from_millis(1)..=SimDuration::from_secs(86_400);
        /// A transfer must make progress within this time.
        idle_timeout: SimDuration = SimDuration::from_secs(30), in SimDuration::from_millis(1)..=SimDuration::from_secs(3_600);
        /// Transport settings, as in a study.
        transport: TransportParams = defaults();
    }
}

/// The keys of [`EndParams`].
const END: [&str; 9] = [
    "stack",
    "congestion_control",
    "credentials",
    "bdp",
    "session",
    "connect_timeout",
    "fetch_timeout",
    "idle_timeout",
    "transport",
];

params! {
    /// `origin`.
    pub struct OriginParams {
        /// Where it listens.
        listen: Address = ANY;
        /// Time before the headers of each object, in whole milliseconds.
        processing: SimDuration = SimDuration::ZERO;
        /// Bytes of the certificate chain, when this role makes the credentials.
        certificate_chain: Bytes = Bytes::new(3_000);
    }
}

params! {
    /// `edge` and `shield`.
    pub struct EdgeParams {
        /// Where it listens.
        listen: Address = ANY;
        /// Time before the headers of each object, in whole milliseconds.
        processing: SimDuration = SimDuration::ZERO;
        /// Bytes of the certificate chain, when this role makes the credentials.
        certificate_chain: Bytes = Bytes::new(3_000);
        /// Where objects come from that it has not.
        upstream: Address;
        /// The stack towards upstream; the same as towards clients when it is not given.
        upstream_stack: Option<StackChoice> = None;
        /// Congestion control of its end towards upstream; the same as towards clients when it is not given.
        upstream_congestion_control: Option<CongestionControl> = None;
        /// Its cache.
        cache: CacheParams = defaults();
    }
}

params! {
    /// A title to play.
    pub struct TitleParams {
        /// Its number.
        number: u32 = 0;
        /// How long it is.
        duration: SimDuration;
        /// How long a segment is; the last one is what is left.
        segment: SimDuration;
        /// The ladder's bit rates, rising; a segment has rate times duration.
        rungs: Vec<BitRate>;
        /// How the player behaves.
        player: PlayerParams = defaults();
        /// Whether the player waits for its buffer.
        pacing: Pacing = Pacing::RealTime;
    }
}

params! {
    /// `client`.
    pub struct ClientParams {
        /// The server.
        connect: Address;
        /// Paths to fetch, in this order, e.g. `/object/0/0/0?bytes=50000`.
        paths: Vec<String> = Vec::new();
        /// Most transfers under way at once.
        depth: u32 = 100, in 1..=1_000;
        /// A title to play, in place of paths.
        title: Option<TitleParams> = None;
    }
}

/// A role with all that it is told.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeParams {
    /// See [`RoleChoice::Origin`].
    Origin(EndParams, OriginParams),
    /// See [`RoleChoice::Shield`].
    Shield(EndParams, EdgeParams),
    /// See [`RoleChoice::Edge`].
    Edge(EndParams, EdgeParams),
    /// See [`RoleChoice::Client`].
    Client(EndParams, ClientParams),
}

impl NodeParams {
    /// Reads the settings of a role; `None` means that at least one error was reported.
    pub fn decode(role: RoleChoice, node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let (end, rest) = split_keys(node, &END);
        let end = EndParams::decode(&end, cx);
        match role {
            RoleChoice::Origin => OriginParams::decode(&rest, cx).and_then(|role| Some(Self::Origin(end?, role))),
            RoleChoice::Shield => EdgeParams::decode(&rest, cx).and_then(|role| Some(Self::Shield(end?, role))),
            RoleChoice::Edge => EdgeParams::decode(&rest, cx).and_then(|role| Some(Self::Edge(end?, role))),
            RoleChoice::Client => {
                let role = ClientParams::decode(&rest, cx)?;
                if role.paths.is_empty() == role.title.is_none() {
                    let problem = "a client fetches `paths` or plays a `title`: exactly one of them";
                    cx.push(Diagnostic::error("no-work", node.span, problem).help("give one of them"));
                    return None;
                }
                if let Some(Err(reason)) = role.title.as_ref().map(TitleParams::check) {
                    let span = node.get("title").map_or(node.span, |title| title.span);
                    cx.push(Diagnostic::error("bad-title", span, reason).help("a client plays one title by itself"));
                    return None;
                }
                Some(Self::Client(end?, role))
            }
        }
    }
}

impl TitleParams {
    fn check(&self) -> Result<(), String> {
        self.player(self.title()?, SimTime::ZERO).map(drop)
    }
    /// The title as its manifest would have it.
    pub(super) fn title(&self) -> Result<Arc<Title>, String> {
        let kilobits = |rate: &BitRate| u32::try_from(rate.bits_per_second() / 1_000).unwrap_or(u32::MAX);
        let rungs: Vec<u32> = self.rungs.iter().map(kilobits).collect();
        let durations = segment_durations(self.duration, self.segment);
        let sizes = durations.iter().flat_map(|length| rungs.iter().map(|rate| segment_bytes(*rate, *length, 1.0)));
        let sizes = sizes.collect();
        Title::new(rungs.into(), durations, sizes).map(Arc::new).map_err(|error| error.to_string())
    }
    /// Its player; the viewer arrives at `start`.
    pub(super) fn player(&self, title: Arc<Title>, start: SimTime) -> Result<Player, String> {
        match &self.player.decisions {
            Decisions::ClosedLoop => Ok(Player::closed_loop(&self.player, title, start)),
            Decisions::FixedRung(rung) => {
                Player::fixed_rung(&self.player, title, start, *rung).map_err(|error| error.to_string())
            }
            Decisions::Replay(arm) => Err(format!("there is no other arm `{arm}` whose decisions could be repeated")),
        }
    }
}

impl EndParams {
    /// The settings of the stack.
    pub(super) fn settings(&self) -> Result<StackSettings, StackError> {
        let time = |duration: SimDuration| std::time::Duration::from_nanos(duration.as_nanos());
        let base = match self.bdp {
            Some(bdp) => StackSettings::equal(self.stack, self.congestion_control, bdp),
            None => StackSettings::as_deployed(self.stack, self.congestion_control),
        };
        let settings = base.session(self.session).with_params(&self.transport)?;
        Ok(StackSettings {
            connect_timeout: time(self.connect_timeout),
            fetch_timeout: time(self.fetch_timeout),
            idle_timeout: time(self.idle_timeout),
            ..settings
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_an_end_are_those_of_its_declaration() {
        let schema = EndParams::schema();
        let mut declared: Vec<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let mut listed = END.to_vec();
        declared.sort_unstable();
        listed.sort_unstable();
        assert_eq!(declared, listed);
    }
}
