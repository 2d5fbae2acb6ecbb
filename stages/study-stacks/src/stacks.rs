//! The registry of stacks: one file per stack, one row here.

use crate::credentials::Credentials;
use crate::error::StackError;
use crate::link::Dial;
use crate::server::{Accepting, Listener};
use crate::settings::StackSettings;
use crate::tls::Memory;
use crate::versions::versions;
use crate::{h2_hyper, h3_quinn};
use std::sync::Arc;
use study_transport::{CongestionControl, Protocol};
use study_tree::choices;

/// The registry: documentation, variant, name, protocol, module, and the congestion controllers by the stack's own names.
macro_rules! stacks {
    ($( $(#[doc = $doc:literal])* $variant:ident = $name:literal, $protocol:expr, $module:ident,
        [$($controller:ident = $own:literal),*]; )*) => {
        choices! {
            /// A real stack.
            pub enum StackChoice { $( $(#[doc = $doc])* $variant = $name ),* }
        }
        impl StackChoice {
            /// Which protocol it speaks.
            #[must_use]
            pub const fn protocol(self) -> Protocol {
                match self { $( Self::$variant => $protocol ),* }
            }
            /// The congestion controllers that it has, each with its own name for it.
            #[must_use]
            pub const fn controllers(self) -> &'static [(CongestionControl, &'static str)] {
                match self { $( Self::$variant => &[$( (CongestionControl::$controller, $own) ),*] ),* }
            }
            pub(crate) fn dialer(self, settings: &StackSettings, memory: &Memory) -> Result<Arc<dyn Dial>, StackError> {
                match self { $( Self::$variant => Ok(Arc::new($module::Dialer::new(settings, memory)?)) ),* }
            }
            pub(crate) fn bind(self, settings: &StackSettings, address: std::net::SocketAddr) -> Result<Listener, StackError> {
                match self { $( Self::$variant => $module::bind(settings, address) ),* }
            }
            pub(crate) fn serve(self, listener: Listener, credentials: &Credentials, accepting: Accepting)
                -> Result<tokio::task::JoinHandle<()>, StackError> {
                match self { $( Self::$variant => $module::serve(listener, credentials, accepting) ),* }
            }
        }
    };
}

stacks! {
    /// HTTP/2 by hyper and h2 with rustls over the kernel's TCP.
    H2Hyper = "h2-hyper", Protocol::H2, h2_hyper, [NewReno = "reno", Cubic = "cubic", BbrV1 = "bbr"];
    /// HTTP/3 by h3 over quinn. Its BBR is marked experimental by its authors.
    H3Quinn = "h3-quinn", Protocol::H3, h3_quinn, [NewReno = "NewReno", Cubic = "Cubic", BbrV1 = "Bbr"];
}

impl StackChoice {
    /// The stack that speaks a protocol when nothing else is said; `None` for HTTP/1.1, which no stack here speaks.
    #[must_use]
    pub fn of(protocol: Protocol) -> Option<Self> {
        Self::ALL.iter().copied().find(|stack| stack.protocol() == protocol)
    }

    /// The libraries behind it, with the versions of this build.
    #[must_use]
    pub fn implementation(self) -> String {
        versions(match self {
            Self::H2Hyper => &["hyper", "h2", "rustls"],
            Self::H3Quinn => &["quinn", "quinn-proto", "h3", "rustls"],
        })
    }

    /// The controller with this name in study files, and the stack's own name for it.
    ///
    /// # Errors
    /// [`StackError::NoController`] when the stack has none of this name, e.g. `bbr_v3`.
    pub fn controller(self, name: &str) -> Result<(CongestionControl, &'static str), StackError> {
        let found = self.controllers().iter().find(|(controller, _)| controller.name() == name);
        found.copied().ok_or_else(|| {
            let has: Vec<&str> = self.controllers().iter().map(|(controller, _)| controller.name()).collect();
            StackError::NoController { stack: self.name(), asked: name.to_owned(), has: has.join(", ") }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_protocol_of_the_comparison_has_a_stack() {
        assert_eq!(StackChoice::of(Protocol::H2), Some(StackChoice::H2Hyper));
        assert_eq!(StackChoice::of(Protocol::H3), Some(StackChoice::H3Quinn));
        assert_eq!(StackChoice::of(Protocol::H1), None);
    }

    #[test]
    fn a_controller_that_a_stack_does_not_have_is_named_with_those_it_has() {
        for stack in StackChoice::ALL {
            assert_eq!(stack.controller("cubic").unwrap().0, CongestionControl::Cubic);
            for missing in ["bbr_v3", "bbr", "fixed"] {
                let error = stack.controller(missing).unwrap_err();
                assert_eq!(error.code(), "no_controller");
                assert!(error.to_string().contains("newreno, cubic, bbr_v1"), "{error}");
                assert!(error.is_environment() && error.cure().is_some());
            }
        }
        let plain = StackChoice::H2Hyper.controller("bbr").unwrap_err();
        assert!(plain.cure().unwrap().contains("bbr_v1"), "plain `bbr` says which");
    }
}
