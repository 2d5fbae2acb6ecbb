//! What every stack offers to the driver.

use crate::counters::Counters;
use crate::error::StackError;
use crate::readback::Readback;
use crate::tls::HandshakeReport;
use bytes::Bytes;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use study_units::SimTime;

pub(crate) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A stack's client: opens connections.
pub(crate) trait Dial: Send + Sync {
    /// Opens one connection to the server called `name` at `address`.
    fn dial<'a>(&'a self, address: SocketAddr, name: &'a str) -> Boxed<'a, Result<Dialed, StackError>>;
}

/// A connection on which requests can be sent.
pub(crate) struct Dialed {
    pub(crate) link: Arc<dyn Link>,
    /// When the transport below TLS was there; `None` where there is none of its own.
    pub(crate) transport: Option<SimTime>,
}

/// One open connection of a client.
pub(crate) trait Link: Send + Sync {
    /// Sends a request and waits for the headers of its response.
    fn request<'a>(&'a self, head: http::Request<()>) -> Boxed<'a, Result<Response, StackError>>;
    /// What is known of the handshake by now.
    fn handshake(&self) -> HandshakeReport;
    /// Settings of this connection, as far as they are known by now.
    fn readbacks(&self) -> Vec<Readback>;
    /// Counters of this end.
    fn counters(&self) -> Option<Counters>;
    /// Whether it has ended.
    fn is_closed(&self) -> bool;
    /// Ends it.
    fn close(&self);
}

/// A response whose headers have come.
pub(crate) struct Response {
    pub(crate) head: http::response::Parts,
    pub(crate) body: Box<dyn Body>,
}

/// The rest of a response.
pub(crate) trait Body: Send {
    /// The next bytes; `None` at the end.
    fn chunk(&mut self) -> Boxed<'_, Result<Option<Bytes>, StackError>>;
}
