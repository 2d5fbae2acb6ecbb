//! Servers of a trial, each in a thread and a namespace of its own.

use crate::error::TrialError;
use crate::trial::join;
use crate::validity::Dialed;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc::channel;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;
use study_cdn::cache::CacheParams;
use study_shaper::{Rig, ThreadWatch};
use study_stacks::{
    ConnectionRecord, Credentials, EdgeSettings, Listener, Server, ServerStats, Service, StackSettings, Trust, runtime,
};

/// Where servers listen; each has a namespace of its own.
const PORT: u16 = 443;

/// What a server does.
pub(crate) enum Duty {
    /// Has every object.
    Origin,
    /// Has what it stored.
    Edge {
        cache: CacheParams,
        upstream: SocketAddr,
        upstream_name: String,
        upstream_settings: Box<StackSettings>,
        trust: Trust,
    },
}

/// A running server.
pub(crate) struct Serving<'scope> {
    name: String,
    thread_id: ThreadWatch,
    port: u16,
    stop: tokio::sync::oneshot::Sender<()>,
    thread: ScopedJoinHandle<'scope, Result<Served, TrialError>>,
}

/// What a server has seen.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    pub stats: ServerStats,
    pub connections: Vec<ConnectionRecord>,
    /// An edge's connection to the origin, as it was near its end.
    pub upstream: Option<Dialed>,
}

impl Duty {
    /// Starts to serve in a namespace.
    pub fn serve<'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        rig: &'scope Rig,
        node: &str,
        settings: StackSettings,
        credentials: &'scope Credentials,
    ) -> Result<Serving<'scope>, TrialError> {
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (says, started) = channel();
        let name = node.to_owned();
        let thread = std::thread::Builder::new()
            .name(name.clone())
            .spawn_scoped(scope, move || {
                rig.enter(&name)?;
                runtime()?.block_on(async {
                    let (server, port) = self.start(settings, credentials)?;
                    // The one who waits is gone only when the trial has failed already.
                    let _ = says.send((port, ThreadWatch::current()));
                    let _ = stopped.await;
                    let upstream = server.upstream().await.map(|connection| Dialed::of(&connection));
                    let served = Served { stats: server.stats(), connections: server.connections(), upstream };
                    server.stop().await;
                    Ok(served)
                })
            })
            .map_err(|error| TrialError::environment(format!("no thread for `{node}`: {error}"), None))?;
        match started.recv() {
            Ok((port, thread_id)) => Ok(Serving { name: node.to_owned(), thread_id, port, stop, thread }),
            Err(_) => Err(join(thread).err().unwrap_or_else(|| TrialError::failed("a server ended at once")).at(node)),
        }
    }

    fn start(self, settings: StackSettings, credentials: &Credentials) -> Result<(Server, u16), TrialError> {
        let listener = Listener::bind(&settings, SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)))?;
        let service = match self {
            Self::Origin => Service::origin(Duration::ZERO),
            Self::Edge { cache, upstream, upstream_name, upstream_settings, trust } => Service::edge(EdgeSettings {
                cache,
                upstream,
                upstream_name,
                upstream_settings: *upstream_settings,
                trust,
                processing: Duration::ZERO,
            })?,
        };
        let server = Server::start(listener, settings, credentials, service)?;
        let port = server.address().port();
        Ok((server, port))
    }
}

impl Serving<'_> {
    /// Where it listens.
    pub const fn port(&self) -> u16 {
        self.port
    }
    /// A watch on its thread from now on.
    pub fn watch(&self) -> (String, ThreadWatch) {
        (self.name.clone(), self.thread_id.again())
    }
    /// Ends it.
    pub fn end(self) -> Result<Served, TrialError> {
        let _ = self.stop.send(());
        join(self.thread)
    }
}
