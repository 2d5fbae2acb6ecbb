//! What is answered, whatever the protocol.
//!
//! | path | answer |
//! |---|---|
//! | `/object/<title>/<segment>/<rung>?bytes=N` | the first N bytes of this object |
//! | `/health` | `ok` |
//! | `/stats` | the counters as JSON |
//!
//! Headers of an object: `x-server-us` (from the request to these headers, the processing delay included), at an edge also
//! `x-cache` (`hit`, `miss` or `coalesced`), `x-origin-fetch-us` (a miss: from the edge's request to upstream's headers) and
//! `x-upstream-cache` (behind a shield: the shield's own `x-cache`). Server times are labelled as such and never stand in for
//! what a client measured.

use super::body::ReplyBody;
use super::edge::{Edge, EdgeSettings};
use super::stats::{Counting, ServerStats};
use crate::clock;
use crate::error::StackError;
use crate::payload::ObjectId;
use std::sync::Arc;
use std::time::Duration;

/// Largest object that is made, in bytes.
const MOST: u64 = 1 << 40;

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) length: Option<u64>,
    pub(crate) body: ReplyBody,
}

impl Reply {
    fn text(status: u16, text: String) -> Self {
        let length = Some(text.len() as u64);
        Self { status, headers: Vec::new(), length, body: ReplyBody::whole(text) }
    }
    fn error(status: u16, reason: String) -> Self {
        Self { headers: vec![("x-error", reason)], ..Self::text(status, String::new()) }
    }

    /// The headers of this answer for both stacks.
    pub(crate) fn head<T>(&self, body: T) -> Result<http::Response<T>, http::Error> {
        let mut response = http::Response::builder().status(self.status);
        for (name, value) in &self.headers {
            // Texts of errors may hold what a header must not.
            let value: String = value.chars().map(|c| if (' '..='~').contains(&c) { c } else { ' ' }).collect();
            response = response.header(*name, value);
        }
        if let Some(length) = self.length {
            response = response.header(http::header::CONTENT_LENGTH, length);
        }
        response.body(body)
    }
}

#[derive(Debug)]
enum Role {
    Origin,
    Edge(Box<Edge>),
}

/// What a server answers: the role of an origin or of a caching edge. A shield is an edge whose upstream is an origin and
/// whose clients are edges.
#[derive(Debug)]
pub struct Service {
    role: Role,
    processing: Duration,
    pub(crate) counting: Counting,
}

impl Service {
    /// An origin: has every object. `processing` passes before the headers of each object (in whole milliseconds, as tokio's
    /// timers go).
    #[must_use]
    pub fn origin(processing: Duration) -> Arc<Self> {
        Arc::new(Self { role: Role::Origin, processing, counting: Counting::default() })
    }

    /// A caching edge: has what it stored and fetches the rest from its upstream, handing bytes on as they arrive.
    ///
    /// # Errors
    /// What the upstream stack refuses of its settings.
    pub fn edge(settings: EdgeSettings) -> Result<Arc<Self>, StackError> {
        let processing = settings.processing;
        let role = Role::Edge(Box::new(Edge::new(settings)?));
        Ok(Arc::new(Self { role, processing, counting: Counting::default() }))
    }

    /// What it has counted so far.
    #[must_use]
    pub fn stats(&self) -> ServerStats {
        let mut stats = self.counting.read();
        if let Role::Edge(edge) = &self.role {
            (stats.objects, stats.stored_bytes, stats.capacity_bytes) = edge.stored();
        }
        stats
    }

    pub(super) fn edge_role(&self) -> Option<&Edge> {
        match &self.role {
            Role::Origin => None,
            Role::Edge(edge) => Some(edge),
        }
    }

    pub(crate) async fn respond(self: &Arc<Self>, path: &str) -> Reply {
        match path {
            "/health" => return Reply::text(200, "ok".to_owned()),
            "/stats" => {
                let json = serde_json::to_string(&self.stats()).unwrap_or_default();
                let mut reply = Reply::text(200, json);
                reply.headers.push(("content-type", "application/json".to_owned()));
                return reply;
            }
            _ => {}
        }
        let Some((id, bytes)) = ObjectId::parse(path).filter(|(_, bytes)| *bytes <= MOST) else {
            self.counting.errors.one();
            return Reply::error(404, format!("no object at {path}"));
        };
        let asked = clock::now();
        self.counting.requests.one();
        if !self.processing.is_zero() {
            tokio::time::sleep(self.processing).await;
        }
        let mut reply = match &self.role {
            Role::Origin => Reply {
                status: 200,
                headers: Vec::new(),
                length: Some(bytes),
                body: ReplyBody::made(id.payload(), bytes, Arc::clone(self)),
            },
            Role::Edge(edge) => edge.respond(self, path).await.unwrap_or_else(|error| {
                self.counting.errors.one();
                Reply::error(502, error.to_string())
            }),
        };
        let waited = clock::now().since(asked);
        reply.headers.push(("x-server-us", waited.as_micros().to_string()));
        reply
    }
}
