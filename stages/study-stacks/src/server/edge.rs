//! A caching edge: bounded by bytes, cut-through, one fetch for all who wait for an object.
//!
//! Towards upstream there is one connection, opened with the first miss and kept. What arrives is kept until the object is
//! whole, whether or not the client keeps up, and counts towards the cache's size from then on.

use super::body::ReplyBody;
use super::object::{Head, Object};
use super::service::{Reply, Service};
use crate::clock;
use crate::credentials::Trust;
use crate::driver::{Client, Connection, content_length};
use crate::error::StackError;
use crate::link::Response;
use crate::settings::StackSettings;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use study_cdn::cache::{CacheParams, CachePolicy};
use study_ident::Digest;

/// A caching edge, or a shield.
#[derive(Debug, Clone)]
pub struct EdgeSettings {
    /// Policy, size and freshness of its cache. What is stored is kept in memory.
    pub cache: CacheParams,
    /// Where objects come from that it has not.
    pub upstream: SocketAddr,
    /// Upstream's name, as in its certificate.
    pub upstream_name: String,
    /// The stack towards upstream, as its client.
    pub upstream_settings: StackSettings,
    /// Whom it trusts as upstream.
    pub trust: Trust,
    /// Time that passes before the headers of each object, in whole milliseconds.
    pub processing: Duration,
}

#[derive(Debug)]
struct Shelf {
    policy: Box<dyn CachePolicy>,
    /// What the policy says is stored, by key.
    stored: HashMap<u64, Arc<Object>>,
    /// What is being fetched.
    arriving: HashMap<u64, Arc<Object>>,
}

impl Shelf {
    fn store(&mut self, key: u64, object: &Arc<Object>, cache: &CacheParams) {
        let now = clock::now();
        self.policy.insert(key, object.bytes(), now, cache.expires(now));
        self.stored.insert(key, Arc::clone(object));
        // The policy says by its length that it has let something go, but not what.
        if self.stored.len() > self.policy.len() {
            let policy = &self.policy;
            self.stored.retain(|key, _| policy.contains(*key, now));
        }
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Edge {
    settings: EdgeSettings,
    client: Client,
    connection: tokio::sync::Mutex<Option<Arc<Connection>>>,
    shelf: Mutex<Shelf>,
}

/// How a request is answered.
enum Found {
    Hit(Arc<Object>),
    Coalesced(Arc<Object>),
    Miss(Arc<Object>),
}

impl Edge {
    pub(crate) fn new(settings: EdgeSettings) -> Result<Self, StackError> {
        let client = Client::new(settings.upstream_settings.clone(), settings.trust.clone())?;
        let shelf = Shelf { policy: settings.cache.build(), stored: HashMap::new(), arriving: HashMap::new() };
        Ok(Self { settings, client, connection: tokio::sync::Mutex::new(None), shelf: Mutex::new(shelf) })
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Objects, bytes and capacity of the cache.
    pub(crate) fn stored(&self) -> (u64, u64, u64) {
        let shelf = self.shelf();
        (shelf.policy.len() as u64, shelf.policy.bytes_used(), shelf.policy.capacity())
    }

    fn find(&self, key: u64) -> Found {
        let mut shelf = self.shelf();
        if let Some(object) = shelf.arriving.get(&key) {
            return Found::Coalesced(Arc::clone(object));
        }
        if shelf.policy.get(key, clock::now())
            && let Some(object) = shelf.stored.get(&key)
        {
            return Found::Hit(Arc::clone(object));
        }
        let object = Arc::new(Object::new());
        shelf.arriving.insert(key, Arc::clone(&object));
        Found::Miss(object)
    }

    pub(crate) async fn respond(&self, service: &Arc<Service>, path: &str) -> Result<Reply, StackError> {
        let key = key(path);
        let counting = &service.counting;
        let (word, object) = match self.find(key) {
            Found::Hit(object) => {
                counting.hits.one();
                ("hit", object)
            }
            Found::Coalesced(object) => {
                counting.coalesced.one();
                ("coalesced", object)
            }
            Found::Miss(object) => {
                counting.misses.one();
                // A task of its own: the fetch goes on when the one who asked first goes away.
                tokio::spawn(fetch(Arc::clone(service), path.to_owned(), key, Arc::clone(&object)));
                ("miss", object)
            }
        };
        let head = object.head().await?;
        let mut headers = vec![("x-cache", word.to_owned())];
        if word == "miss" {
            headers.push(("x-origin-fetch-us", head.waited_us.to_string()));
        }
        if let Some(cache) = head.cache.filter(|_| word == "miss") {
            headers.push(("x-upstream-cache", cache));
        }
        let body = ReplyBody::passing(object, Arc::clone(service));
        Ok(Reply { status: head.status, headers, length: head.length, body })
    }

    /// The connection to upstream that there is, if there is one.
    pub(crate) async fn connection(&self) -> Option<Arc<Connection>> {
        self.connection.lock().await.clone()
    }

    /// The connection to upstream: the one there is, or a new one.
    async fn upstream(&self) -> Result<Arc<Connection>, StackError> {
        let mut slot = self.connection.lock().await;
        if let Some(open) = slot.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(Arc::clone(open));
        }
        let fresh = Arc::new(self.client.connect(self.settings.upstream, &self.settings.upstream_name).await?);
        *slot = Some(Arc::clone(&fresh));
        Ok(fresh)
    }

    /// Upstream's headers. A connection that ended while nobody looked is replaced once.
    async fn ask(&self, path: &str) -> Result<(Response, Arc<Connection>), StackError> {
        let connection = self.upstream().await?;
        match connection.open(path).await {
            Err(StackError::Lost { .. }) if connection.is_closed() => {
                let fresh = self.upstream().await?;
                Ok((fresh.open(path).await?, fresh))
            }
            answer => Ok((answer?, connection)),
        }
    }

    async fn copy(&self, service: &Service, path: &str, object: &Object) -> Result<u16, StackError> {
        let asked = clock::now();
        let limit = self.settings.upstream_settings.idle_timeout;
        let (mut response, _connection) = self.ask(path).await?;
        let status = response.head.status.as_u16();
        let length = content_length(&response);
        let text = |name: &str| response.head.headers.get(name).and_then(|value| value.to_str().ok());
        object.begin(Head {
            status,
            length,
            cache: text("x-cache").map(str::to_owned),
            waited_us: clock::now().since(asked).as_micros(),
        });
        let timeout = || StackError::Timeout { what: "a body from upstream", after: limit };
        while let Some(bytes) = tokio::time::timeout(limit, response.body.chunk()).await.map_err(|_| timeout())?? {
            service.counting.upstream_bytes.add(bytes.len() as u64);
            object.push(bytes);
        }
        if let Some(expected) = length.filter(|length| *length != object.bytes()) {
            return Err(StackError::Length { got: object.bytes(), expected });
        }
        service.counting.upstream_fetches.one();
        service.counting.upstream_us.add(clock::now().since(asked).as_micros());
        Ok(status)
    }
}

/// Fetches an object from upstream; it is stored when it came whole.
async fn fetch(service: Arc<Service>, path: String, key: u64, object: Arc<Object>) {
    let Some(edge) = service.edge_role() else { return };
    let copied = edge.copy(&service, &path, &object).await;
    let mut shelf = edge.shelf();
    shelf.arriving.remove(&key);
    match copied {
        Ok(status) => {
            object.end(Ok(()));
            if status == 200 {
                shelf.store(key, &object, &edge.settings.cache);
            }
        }
        Err(error) => object.end(Err(error)),
    }
}

/// The cache's key of an object.
fn key(path: &str) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *Digest::of(path.as_bytes()).as_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
