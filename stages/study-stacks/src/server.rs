//! The server of all arms: one set of roles, whatever the protocol.
//!
//! A [`Service`] says what is answered (origin, or caching edge), a stack says how it travels. Servers run on the tokio
//! runtime that calls [`Server::start`]; build it in a thread that has entered its network namespace (see
//! [`runtime`](crate::runtime)).

mod body;
mod connections;
mod edge;
mod object;
mod service;
mod stats;

pub use connections::ConnectionRecord;
pub(crate) use connections::{Connections, Snapshot};
pub use edge::EdgeSettings;
pub(crate) use service::Reply;
pub use service::Service;
pub use stats::ServerStats;

use crate::credentials::Credentials;
use crate::driver::Connection;
use crate::error::StackError;
use crate::settings::StackSettings;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;

/// A socket on which a server waits. It belongs to the namespace in which it was made.
#[derive(Debug)]
pub enum Listener {
    /// A listening TCP socket.
    Tcp(TcpListener),
    /// A bound UDP socket.
    Udp(UdpSocket),
}

impl Listener {
    /// A socket on `address` with all that `settings` say about sockets; for TCP the congestion control is set before
    /// anybody can connect.
    ///
    /// # Errors
    /// [`StackError::PortTaken`], [`StackError::NoController`], [`StackError::ControllerRefused`], or what else the kernel
    /// refuses.
    pub fn bind(settings: &StackSettings, address: SocketAddr) -> Result<Self, StackError> {
        settings.check()?;
        settings.stack.bind(settings, address)
    }

    /// The address that it has.
    ///
    /// # Errors
    /// [`StackError::Host`] when the kernel does not say.
    pub fn address(&self) -> Result<SocketAddr, StackError> {
        let address = match self {
            Self::Tcp(socket) => socket.local_addr(),
            Self::Udp(socket) => socket.local_addr(),
        };
        address.map_err(|error| StackError::Host { what: "address of a socket".to_owned(), reason: error.to_string() })
    }
}

/// What a stack's accept loop works with.
pub(crate) struct Accepting {
    pub(crate) settings: Arc<StackSettings>,
    pub(crate) service: Arc<Service>,
    pub(crate) connections: Arc<Connections>,
}

/// A running server. Dropping it ends it with all its connections when the runtime next looks; [`Server::stop`] waits for that.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    service: Arc<Service>,
    connections: Arc<Connections>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Server {
    /// Starts to answer on `listener`, on the current runtime.
    ///
    /// # Errors
    /// [`StackError::Credentials`] or [`StackError::Setting`] when the stack refuses its configuration.
    pub fn start(
        listener: Listener,
        settings: StackSettings,
        credentials: &Credentials,
        service: Arc<Service>,
    ) -> Result<Self, StackError> {
        settings.check()?;
        let address = listener.address()?;
        let connections = Arc::new(Connections::default());
        let stack = settings.stack;
        let accepting = Accepting {
            settings: Arc::new(settings),
            service: Arc::clone(&service),
            connections: Arc::clone(&connections),
        };
        let accepting = stack.serve(listener, credentials, accepting)?;
        Ok(Self { address, service, connections, accepting })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it has counted so far: the same figures as `/stats`.
    #[must_use]
    pub fn stats(&self) -> ServerStats {
        self.service.stats()
    }

    /// The connection to upstream, as its client sees it: an edge has one once it missed something.
    pub async fn upstream(&self) -> Option<Arc<Connection>> {
        self.service.edge_role()?.connection().await
    }

    /// Its connections so far, in the order of their acceptance: open ones as they are now, ended ones as they ended.
    #[must_use]
    pub fn connections(&self) -> Vec<ConnectionRecord> {
        self.connections.records()
    }
}

impl Server {
    /// Ends it with all its connections and waits until they have ended. A TCP port is free then; a UDP port is when the
    /// closing period of its connections is over (RFC 9000 section 10.2).
    pub async fn stop(mut self) {
        self.accepting.abort();
        // Told to end, it ends with an error that says so.
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}
