//! What can go wrong with a real stack, by name, and what to do about it.

use std::net::SocketAddr;
use std::time::Duration;
use study_transport::SessionState;

/// Why a stack could not be set up, or why a transfer failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StackError {
    /// Another socket has the address.
    #[error("address `{address}` is taken")]
    PortTaken {
        /// The address that was asked for.
        address: SocketAddr,
    },
    /// A socket could not be made or bound.
    #[error("no socket on `{address}`: {reason}")]
    Socket {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the kernel said.
        reason: String,
    },
    /// The stack has no such congestion controller.
    #[error("stack `{stack}` has no congestion control `{asked}` (it has {has})")]
    NoController {
        /// The stack's name.
        stack: &'static str,
        /// The name that was asked for.
        asked: String,
        /// Names that it has, separated by commas.
        has: String,
    },
    /// The stack has the controller, but this process may not choose it.
    #[error("the kernel refuses congestion control `{asked}` to this process: {reason}")]
    ControllerRefused {
        /// The name that was asked for.
        asked: String,
        /// What the kernel said.
        reason: String,
    },
    /// A setting cannot be made in this stack.
    #[error("stack `{stack}` cannot be set to `{setting}: {asked}`: {reason}")]
    Setting {
        /// The stack's name.
        stack: &'static str,
        /// Name of the setting.
        setting: &'static str,
        /// What was asked for.
        asked: String,
        /// Why not.
        reason: String,
    },
    /// Certificates or TLS configurations could not be made.
    #[error("no TLS credentials: {reason}")]
    Credentials {
        /// What the library said.
        reason: String,
    },
    /// A certificate chain cannot have the asked size.
    #[error("no certificate chain has {asked} B: {least} B to {most} B can be made")]
    ChainSize {
        /// Bytes asked for.
        asked: u64,
        /// Fewest bytes.
        least: u64,
        /// Most bytes.
        most: u64,
    },
    /// A connection was refused or failed.
    #[error("no connection to `{address}`: {reason}")]
    Connect {
        /// Where to.
        address: SocketAddr,
        /// What the stack said.
        reason: String,
    },
    /// Nothing was ready in time.
    #[error("{what} took longer than {} ms", after.as_millis())]
    Timeout {
        /// What was waited for.
        what: &'static str,
        /// How long.
        after: Duration,
    },
    /// A session state cannot be had, because no ticket came.
    #[error("no session ticket for `{}` came from `{address}`", wanted.name())]
    NoTicket {
        /// The state that was asked for.
        wanted: SessionState,
        /// The server.
        address: SocketAddr,
    },
    /// The connection or the stream ended before the response did.
    #[error("lost: {reason}")]
    Lost {
        /// What the stack said.
        reason: String,
    },
    /// The body is not the object that was asked for.
    #[error("wrong bytes from byte {at} on")]
    Corrupt {
        /// First wrong byte, from 0.
        at: u64,
    },
    /// The body ended early or is longer than said.
    #[error("{got} B of body where {expected} B were promised")]
    Length {
        /// Bytes that came.
        got: u64,
        /// Bytes that were promised.
        expected: u64,
    },
    /// The server answered with an error.
    #[error("status {status}: {reason}")]
    Status {
        /// HTTP status.
        status: u16,
        /// What the server said in `x-error`.
        reason: String,
    },
    /// The host could not be asked.
    #[error("`{what}` cannot be read: {reason}")]
    Host {
        /// File or option.
        what: String,
        /// What the kernel said.
        reason: String,
    },
}

impl StackError {
    /// A short stable name, for the rows of failed transfers.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::PortTaken { .. } => "port_taken",
            Self::Socket { .. } => "socket",
            Self::NoController { .. } => "no_controller",
            Self::ControllerRefused { .. } => "controller_refused",
            Self::Setting { .. } => "setting",
            Self::Credentials { .. } => "credentials",
            Self::ChainSize { .. } => "chain_size",
            Self::Connect { .. } => "connect",
            Self::Timeout { .. } => "timeout",
            Self::NoTicket { .. } => "no_ticket",
            Self::Lost { .. } => "lost",
            Self::Corrupt { .. } => "corrupt",
            Self::Length { .. } => "length",
            Self::Status { .. } => "status",
            Self::Host { .. } => "host",
        }
    }

    /// Whether the environment lacks a capability, in contrast to a transfer that failed.
    #[must_use]
    pub const fn is_environment(&self) -> bool {
        matches!(
            self,
            Self::PortTaken { .. }
                | Self::Socket { .. }
                | Self::NoController { .. }
                | Self::ControllerRefused { .. }
                | Self::Setting { .. }
                | Self::Host { .. }
        )
    }

    /// What to do about it, where something can be done.
    #[must_use]
    pub fn cure(&self) -> Option<String> {
        let text = match self {
            Self::PortTaken { .. } => "end the program that listens there, or ask for port 0".to_owned(),
            Self::NoController { asked, .. } if asked == "bbr" => {
                "say which: `bbr_v1` is the kernel's `bbr` and quinn's".to_owned()
            }
            Self::NoController { stack: "h2-hyper", asked, .. } => format!(
                "load the kernel module as root before the run (`modprobe tcp_{}`); it cannot be loaded from a user namespace",
                if asked == "bbr_v1" { "bbr" } else { asked }
            ),
            Self::NoController { has, .. } => format!("choose one of {has}"),
            Self::ControllerRefused { .. } => {
                "run inside a user namespace (`study` does by itself), or add it to net.ipv4.tcp_allowed_congestion_control"
                    .to_owned()
            }
            Self::Setting { setting, .. } => format!("leave `{setting}` at its default in `mode: emulated`"),
            Self::ChainSize { least, most, .. } => format!("set `certificate_chain` between {least} B and {most} B"),
            Self::NoTicket { .. } => "let the server allow tickets: its settings need the same session state".to_owned(),
            _ => return None,
        };
        Some(text)
    }

    pub(crate) fn lost(reason: impl std::fmt::Display) -> Self {
        Self::Lost { reason: reason.to_string() }
    }
    pub(crate) fn credentials(reason: impl std::fmt::Display) -> Self {
        Self::Credentials { reason: reason.to_string() }
    }
    pub(crate) fn connect(address: SocketAddr, reason: impl std::fmt::Display) -> Self {
        Self::Connect { address, reason: reason.to_string() }
    }
    pub(crate) fn socket(address: SocketAddr, error: &std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::AddrInUse {
            return Self::PortTaken { address };
        }
        Self::Socket { address, reason: error.to_string() }
    }
}
