//! Presets of arms: what deployed stacks are set to, as overrides under the arm's own keys.
//!
//! A preset says how a stack is configured, a profile ([`study_transport::Profile`]) how it behaves where it differs from the RFCs. Session
//! state belongs to the study: a preset may only switch early data off.
//!
//! Sources: Linux 6 defaults (`tcp_rmem` 6 MiB, `tcp_wmem` 4 MiB, `tcp_slow_start_after_idle`), hyper 1 (client windows of 2 and 5 MiB,
//! 400 kB of send buffer per stream), rustls (records of 16 KiB), quinn 0.11 (stream window 1.25 MB, pacing always); for
//! the tuned TCP server Wolsing et al., ANRW 2019 (initial window 32, pacing) and `tcp_notsent_lowat` of 16 KiB.

use study_transport::Protocol;
use study_tree::{Node, Span, choices, set_path};

choices! {
    /// How an arm's stack is set up.
    pub enum Preset {
        /// HTTP/2 by hyper and rustls on Linux as it comes: HyStart, reset after idle, no pacing, large buffers, no early data.
        H2Stock = "h2_stock",
        /// HTTP/2 on a tuned Linux server: initial window 32, paced, little unsent data in the socket, short records, no reset after idle.
        H2Tuned = "h2_tuned",
        /// HTTP/1.1 over six connections on Linux as it comes.
        H1x6 = "h1x6",
        /// HTTP/3 by quinn as it comes: paced, no reset after idle, stream window of 1.25 MB.
        H3Stock = "h3_stock",
        /// HTTP/3 by quinn with an initial window of 32 packets and a window that is never the limit.
        H3Tuned = "h3_tuned",
    }
}

const LINUX: [(&str, &str); 6] = [
    ("transport.profile", "linux-6"),
    ("transport.slow_start", "hystart"),
    ("transport.receive_window", "auto"),
    ("transport.send_buffer", "auto"),
    ("transport.tls_record", "16 KiB"),
    ("transport.http_send_buffer", "400 kB"),
];
const H2_STOCK: [(&str, &str); 5] = [
    ("transport.stream_window", "2 MiB"),
    ("transport.connection_window", "5 MiB"),
    ("transport.idle_restart", "true"),
    ("transport.pacing", "false"),
    ("session.early_data", "false"),
];
const H2_TUNED: [(&str, &str); 7] = [
    ("transport.initial_window", "32"),
    ("transport.pacing", "true"),
    ("transport.idle_restart", "false"),
    ("transport.notsent_lowat", "16 KiB"),
    ("transport.http_send_buffer", "0 B"),
    ("transport.tls_record", "1400 B"),
    ("transport.slow_start", "hystart"),
];
const H1X6: [(&str, &str); 4] = [
    ("transport.h1_connections", "6"),
    ("transport.idle_restart", "true"),
    ("transport.pacing", "false"),
    ("session.early_data", "false"),
];
const QUINN: [(&str, &str); 3] =
    [("transport.profile", "quinn-0.11"), ("transport.pacing", "true"), ("transport.idle_restart", "false")];
const H3_STOCK: [(&str, &str); 1] = [("transport.stream_window", "1250 kB")];
// The profile would fix the first window at 12,000 bytes.
const H3_TUNED: [(&str, &str); 4] = [
    ("transport.profile", "rfc"),
    ("transport.initial_window", "32"),
    ("transport.pacing", "true"),
    ("transport.idle_restart", "false"),
];

impl Preset {
    /// The protocol that it is for.
    #[must_use]
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::H2Stock | Self::H2Tuned => Protocol::H2,
            Self::H1x6 => Protocol::H1,
            Self::H3Stock | Self::H3Tuned => Protocol::H3,
        }
    }
    /// Paths of parameters and their values, later ones over earlier ones.
    fn settings(self) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
        let (stack, own): (&[_], &[_]) = match self {
            Self::H2Stock => (&LINUX, &H2_STOCK),
            Self::H2Tuned => (&LINUX, &H2_TUNED),
            Self::H1x6 => (&LINUX, &H1X6),
            Self::H3Stock => (&QUINN, &H3_STOCK),
            Self::H3Tuned => (&[], &H3_TUNED),
        };
        stack.iter().chain(own)
    }
    /// The overrides as if they stood where the preset's name stands.
    pub(super) fn overrides(self, span: Span) -> Node {
        let empty = Node::map(Vec::new(), span);
        self.settings()
            .fold(empty, |node, (path, value)| set_path(&node, path, Node::plain(*value, span), span).unwrap_or(node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::params::BaseParams;
    use study_tree::{Cx, Decode, Sections};

    #[test]
    fn every_preset_is_read_and_changes_something() {
        let sections = Sections::new();
        let read = |node: &Node| BaseParams::decode(node, &mut Cx::new(&sections)).unwrap();
        let plain = read(&Node::map(Vec::new(), Span::default()));
        for preset in Preset::ALL {
            let base = read(&preset.overrides(Span::default()));
            assert_ne!(base, plain, "{}", preset.name());
            assert!(base.transport.profile.fits(preset.protocol() != Protocol::H3));
            // Session state is the study's.
            assert_eq!(base.session.resumed, plain.session.resumed);
        }
        let tuned = read(&Preset::H2Tuned.overrides(Span::default()));
        assert_eq!((tuned.transport.initial_window, tuned.transport.pacing), (32, true));
    }
}
