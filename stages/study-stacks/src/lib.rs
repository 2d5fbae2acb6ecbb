//! Real stacks behind one driver and one server: HTTP/2 over kernel TCP and HTTP/3 over QUIC.
//!
//! Purpose: the emulated twin of the transport model. What differs between two arms is the stack and nothing else: one
//! [`Client`] asks, times and checks, one [`Service`] answers, one certificate chain and one cipher serve all. Every setting
//! is made explicitly and read back ([`Readback`]): from the kernel, from the running stack, or from the bytes that passed.
//!
//! Use: make [`Credentials`] once per trial and give each [`Client`] their [`Trust`]. In the thread of each role, after it
//! has entered its namespace, build a [`runtime`] and call [`Listener::bind`] and [`Server::start`], or [`Client::connect`]
//! and [`Connection::fetch`]. A transfer that fails is a [`FetchRecord`] with an error; nothing waits longer than the
//! timeouts of its [`StackSettings`].
//!
//! ```
//! use study_stacks::{Client, Credentials, Listener, ObjectId, Server, Service, StackChoice, StackSettings, runtime};
//! use study_transport::CongestionControl;
//! use study_units::Bytes;
//!
//! let settings = StackSettings::equal(StackChoice::H3Quinn, CongestionControl::Cubic, Bytes::new(100_000));
//! let credentials = Credentials::new(&["origin.study"], 3_000)?;
//! runtime()?.block_on(async {
//!     let listener = Listener::bind(&settings, "127.0.0.1:0".parse().unwrap())?;
//!     let service = Service::origin(std::time::Duration::ZERO);
//!     let server = Server::start(listener, settings.clone(), &credentials, service)?;
//!     let client = Client::new(settings, credentials.trust())?;
//!     let connection = client.connect(server.address(), "origin.study").await?;
//!     let record = connection.fetch(&ObjectId { title: 0, segment: 0, rung: 0 }.path(50_000)).await;
//!     assert!(record.is_complete() && record.verified && record.bytes == 50_000);
//!     Ok::<_, study_stacks::StackError>(())
//! })?;
//! # Ok::<_, study_stacks::StackError>(())
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod clock;
pub mod counters;
mod credentials;
mod driver;
mod error;
mod h2_hyper;
mod h3_quinn;
mod link;
pub mod node;
mod payload;
pub mod readback;
mod server;
mod settings;
mod sink;
mod stacks;
mod sys;
mod tls;
mod versions;

pub use counters::Counters;
pub use credentials::{Credentials, Trust};
pub use driver::{Client, Connection, FetchRecord, HandshakeTimes};
pub use error::StackError;
pub use payload::{ObjectId, Payload};
pub use readback::Readback;
pub use server::{ConnectionRecord, EdgeSettings, Listener, Server, ServerStats, Service};
pub use settings::{Datagram, StackSettings, WINDOW_BDPS};
pub use stacks::StackChoice;
pub use tls::{HandshakeKind, HandshakeReport};

/// A tokio runtime on the calling thread alone. Its sockets belong to the network namespace that this thread is in, so
/// enter the namespace first.
///
/// # Errors
/// [`StackError::Host`] when the kernel gives no event queue.
pub fn runtime() -> Result<tokio::runtime::Runtime, StackError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| StackError::Host { what: "an event queue".to_owned(), reason: error.to_string() })
}
