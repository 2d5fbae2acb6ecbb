//! All that is set in a stack. Nothing is left to the stack's own default without being written down as such.

use crate::error::StackError;
use crate::stacks::StackChoice;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use study_transport::{CongestionControl, Limit, Scheduler, SessionState, TransportParams};
use study_tree::{Cx, Decode, Node, Sections, Span};
use study_units::Bytes;

/// Flow-control windows and buffers are this many bandwidth-delay products under `compare: equal`.
pub const WINDOW_BDPS: u64 = 4;
/// Smallest flow-control window under `compare: equal`, in bytes: the least that RFC 9113 lets a peer assume.
const LEAST_WINDOW: u64 = 65_535;
/// Largest flow-control window of HTTP/2 (RFC 9113 section 6.9.1).
const MOST_WINDOW: u64 = (1 << 31) - 1;

/// Size of full QUIC packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Datagram {
    /// Fixed UDP payload in bytes, 1,200 to 1,472: no probes.
    Fixed(u16),
    /// The stack begins with 1,200 B and probes for more, up to this UDP payload.
    Discover(u16),
}

/// Settings of one end of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackSettings {
    /// Which implementation.
    pub stack: StackChoice,
    /// Congestion controller of this end.
    pub congestion_control: CongestionControl,
    /// Initial congestion window in packets. QUIC takes it from here; for kernel TCP it is an attribute of the route
    /// (`initcwnd`), and this is what the read-back compares with.
    pub initial_window: u32,
    /// Flow-control window of a stream (HTTP/2, QUIC) in bytes; `None` leaves the stack's own.
    pub stream_window: Option<u64>,
    /// Flow-control window of all streams (HTTP/2, QUIC) in bytes; `None` leaves the stack's own.
    pub connection_window: Option<u64>,
    /// Receive buffer of TCP. `Unlimited`: autotuned, and the ceiling (`tcp_rmem`) must hold `least_window`.
    pub tcp_receive: Limit,
    /// Send buffer of TCP (`Unlimited` as above, with `tcp_wmem`), and of QUIC its bytes not yet acknowledged.
    pub send: Limit,
    /// What `Unlimited` buffers and the UDP receive buffer must hold, in bytes; 0: nothing is asked for.
    pub least_window: u64,
    /// Receive and send buffer asked for the UDP socket, in bytes; `None` leaves the kernel's.
    pub udp_buffer: Option<u64>,
    /// Unsent bytes that a TCP server's socket takes (`TCP_NOTSENT_LOWAT`); `None` leaves the kernel's.
    pub notsent_lowat: Option<u32>,
    /// Bytes per stream that HTTP/2's server takes from the application ahead of the window; `None` leaves hyper's 400 KiB.
    pub http_send_buffer: Option<u64>,
    /// Plaintext bytes of the largest TLS record over TCP, 27 to 16,384; `None` leaves rustls' 16,384.
    pub tls_record: Option<u16>,
    /// Client: which session state a connection should have. Server: the most that it allows.
    pub session: SessionState,
    /// Size of QUIC packets.
    pub datagram: Datagram,
    /// Segmentation offload of UDP sends and joined UDP receives.
    pub offload: bool,
    /// `TCP_NODELAY`.
    pub nodelay: bool,
    /// Order of the responses of one connection. hyper and quinn give each stream its turn; nothing else can be asked for.
    pub scheduler: Scheduler,
    /// Most streams at once that a server lets its client open.
    pub streams: u32,
    /// Requests of one connection that are under way at once; further ones wait in order.
    pub depth: u32,
    /// A connection must be ready after this time.
    pub connect_timeout: Duration,
    /// A transfer must have ended after this time (from the moment it is sent).
    pub fetch_timeout: Duration,
    /// A transfer must make progress within this time; QUIC's idle timeout too.
    pub idle_timeout: Duration,
}

impl StackSettings {
    /// The settings of a fair comparison over a link whose bandwidth-delay product is `bdp`: every window and buffer holds
    /// four of them, packets have a fixed size, and offloads are off.
    #[must_use]
    pub fn equal(stack: StackChoice, congestion_control: CongestionControl, bdp: Bytes) -> Self {
        let window = (bdp.get().saturating_mul(WINDOW_BDPS)).clamp(LEAST_WINDOW, MOST_WINDOW);
        Self {
            stream_window: Some(window),
            connection_window: Some(window),
            tcp_receive: Limit::Unlimited,
            send: Limit::Unlimited,
            least_window: window,
            udp_buffer: Some(window.max(1 << 20)),
            datagram: Datagram::Fixed(1_452),
            offload: false,
            nodelay: true,
            ..Self::as_deployed(stack, congestion_control)
        }
    }

    /// The settings that each stack comes with. The congestion control is still set: a host's default says nothing.
    #[must_use]
    pub fn as_deployed(stack: StackChoice, congestion_control: CongestionControl) -> Self {
        Self {
            stack,
            congestion_control,
            initial_window: 10,
            stream_window: None,
            connection_window: None,
            tcp_receive: Limit::Auto,
            send: Limit::Auto,
            least_window: 0,
            udp_buffer: None,
            notsent_lowat: None,
            http_send_buffer: None,
            tls_record: None,
            session: SessionState::Cold,
            datagram: Datagram::Discover(1_452),
            offload: true,
            nodelay: true,
            scheduler: Scheduler::RoundRobin,
            streams: 200,
            depth: 100,
            connect_timeout: Duration::from_secs(30),
            fetch_timeout: Duration::from_secs(120),
            idle_timeout: Duration::from_secs(30),
        }
    }

    /// These settings with what a study says about its transport.
    ///
    /// # Errors
    /// [`StackError::Setting`] for a key that real stacks have no setting for, when it differs from its default.
    pub fn with_params(mut self, params: &TransportParams) -> Result<Self, StackError> {
        self.refuse_model_only(params)?;
        let size = |bytes: Bytes| bytes.get();
        self.initial_window = params.initial_window;
        self.stream_window = params.stream_window.map(size).or(self.stream_window);
        self.connection_window = params.connection_window.map(size).or(self.connection_window);
        if params.receive_window != Limit::Unlimited {
            self.tcp_receive = params.receive_window;
        }
        if params.send_buffer != Limit::Unlimited {
            self.send = params.send_buffer;
        }
        self.notsent_lowat =
            params.notsent_lowat.map(|b| u32::try_from(b.get()).unwrap_or(u32::MAX)).or(self.notsent_lowat);
        if params.http_send_buffer.get() > 0 {
            self.http_send_buffer = Some(params.http_send_buffer.get());
        }
        self.tls_record = params.tls_record.map(|b| u16::try_from(b.get()).unwrap_or(16_384)).or(self.tls_record);
        if let Datagram::Fixed(size) = &mut self.datagram {
            *size = u16::try_from(params.datagram.get()).unwrap_or(1_472);
        }
        Ok(self)
    }

    /// Keys of the model that no real stack offers a knob for: they must stand at their defaults.
    fn refuse_model_only(&self, params: &TransportParams) -> Result<(), StackError> {
        let Some(plain) = plain() else { return Ok(()) };
        let differs: [(&'static str, bool); 15] = [
            ("profile", params.profile != plain.profile),
            ("ack_every", params.ack_every != plain.ack_every),
            ("max_ack_delay", params.max_ack_delay != plain.max_ack_delay),
            ("frame", params.frame != plain.frame),
            ("slow_start", params.slow_start != plain.slow_start),
            ("pacing", params.pacing != plain.pacing),
            ("idle_restart", params.idle_restart != plain.idle_restart),
            ("rto_floor", params.rto_floor != plain.rto_floor),
            ("request", params.request != plain.request),
            ("response_headers", params.response_headers != plain.response_headers),
            ("tls", params.tls != plain.tls),
            ("fast_open", params.fast_open != plain.fast_open),
            ("retry", params.retry != plain.retry),
            ("version_negotiation", params.version_negotiation != plain.version_negotiation),
            ("early_data_rejected", params.early_data_rejected != plain.early_data_rejected),
        ];
        match differs.iter().find(|(_, differs)| *differs) {
            None => Ok(()),
            Some((setting, _)) => Err(StackError::Setting {
                stack: self.stack.name(),
                setting,
                asked: "a value other than the default".to_owned(),
                reason: "it is a property of the model; a real stack has no such setting".to_owned(),
            }),
        }
    }

    /// These settings with another session state.
    #[must_use]
    pub fn session(mut self, session: SessionState) -> Self {
        self.session = session;
        self
    }

    /// Whether tickets and early data can be had: a server that rejects early data cannot be arranged in these stacks.
    pub(crate) fn check(&self) -> Result<(), StackError> {
        let refuse = |setting, asked: String, reason: &str| {
            Err(StackError::Setting { stack: self.stack.name(), setting, asked, reason: reason.to_owned() })
        };
        if self.session == SessionState::ZeroRttRejected {
            let reason = "rustls takes the early data of each ticket that allows it";
            return refuse("session", self.session.name().to_owned(), reason);
        }
        if self.scheduler != Scheduler::RoundRobin {
            let reason = "its server gives each stream its turn";
            return refuse("scheduler", self.scheduler.name().to_owned(), reason);
        }
        if let Some(record) = self.tls_record.filter(|size| !(27..=16_384).contains(size)) {
            return refuse("tls_record", record.to_string(), "it must lie between 27 B and 16,384 B");
        }
        let (Datagram::Fixed(size) | Datagram::Discover(size)) = self.datagram;
        if !(1_200..=1_472).contains(&size) {
            return refuse("datagram", size.to_string(), "it must lie between 1,200 B and 1,472 B");
        }
        for window in [self.stream_window, self.connection_window].into_iter().flatten() {
            if !(LEAST_WINDOW..=MOST_WINDOW).contains(&window) {
                return refuse("window", window.to_string(), "it must lie between 65,535 B and 2^31 - 1 B");
            }
        }
        self.stack.controller(self.congestion_control.name()).map(|_| ())
    }
}

/// The parameters of a study that says nothing. Each has a default, which a test sees to.
fn plain() -> Option<TransportParams> {
    let sections = Sections::new();
    TransportParams::decode(&Node::map(Vec::new(), Span::default()), &mut Cx::new(&sections))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> StackSettings {
        StackSettings::equal(StackChoice::H2Hyper, CongestionControl::Cubic, Bytes::new(100_000))
    }

    #[test]
    fn an_equal_comparison_gives_every_layer_four_bandwidth_delay_products() {
        let set = settings();
        assert_eq!(
            (set.stream_window, set.connection_window, set.least_window),
            (Some(400_000), Some(400_000), 400_000)
        );
        let small = StackSettings::equal(StackChoice::H3Quinn, CongestionControl::Cubic, Bytes::new(1));
        assert_eq!(small.stream_window, Some(65_535), "but never less than the protocol's least");
    }

    #[test]
    fn what_a_study_says_goes_into_the_settings() {
        let params = TransportParams {
            initial_window: 32,
            stream_window: Some(Bytes::new(70_000)),
            notsent_lowat: Some(Bytes::new(16_384)),
            tls_record: Some(Bytes::new(1_400)),
            datagram: Bytes::new(1_200),
            ..plain().unwrap()
        };
        let set = settings().with_params(&params).unwrap();
        assert_eq!((set.initial_window, set.stream_window), (32, Some(70_000)));
        assert_eq!((set.notsent_lowat, set.tls_record), (Some(16_384), Some(1_400)));
        assert_eq!(set.datagram, Datagram::Fixed(1_200));
    }

    #[test]
    fn what_only_the_model_has_is_refused_by_name() {
        let params = TransportParams { ack_every: 4, ..plain().unwrap() };
        let error = settings().with_params(&params).unwrap_err();
        assert!(error.to_string().contains("ack_every") && error.is_environment(), "{error}");
    }

    #[test]
    fn what_a_stack_cannot_do_is_refused_before_it_starts() {
        let refused = |change: &dyn Fn(&mut StackSettings)| {
            let mut set = settings();
            change(&mut set);
            set.check().unwrap_err().code()
        };
        assert!(settings().check().is_ok());
        assert_eq!(refused(&|s| s.session = SessionState::ZeroRttRejected), "setting");
        assert_eq!(refused(&|s| s.scheduler = Scheduler::Urgency), "setting");
        assert_eq!(refused(&|s| s.tls_record = Some(20)), "setting");
        assert_eq!(refused(&|s| s.datagram = Datagram::Fixed(1_100)), "setting");
        assert_eq!(refused(&|s| s.stream_window = Some(1 << 31)), "setting");
        assert_eq!(refused(&|s| s.congestion_control = CongestionControl::Fixed), "no_controller");
    }
}
