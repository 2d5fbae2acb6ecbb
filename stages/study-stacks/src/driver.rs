//! The one driver of all arms: connects, asks, reads, checks and times, whatever the protocol.
//!
//! Requests of a connection are sent in the order in which they are asked for, up to [`StackSettings::depth`] at once. All
//! instants are nanoseconds of one monotonic clock, taken here and nowhere else. A transfer that fails is a record with an
//! error, never a missing row, and none waits longer than its timeouts.

use crate::clock;
use crate::counters::Counters;
use crate::credentials::Trust;
use crate::error::StackError;
use crate::link::{Dial, Link, Response};
use crate::readback::{End, Evidence, Readback, Verdict};
use crate::settings::StackSettings;
use crate::sink::Sink;
use crate::tls::{HandshakeReport, Memory, Tickets};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use study_transport::SessionState;
use study_units::SimTime;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// One viewer's end: its settings and what it remembers of servers.
pub struct Client {
    settings: StackSettings,
    memory: Memory,
    dialer: Arc<dyn Dial>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// When a connection became ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandshakeTimes {
    /// When the first packet was about to be sent, in nanoseconds of the monotonic clock.
    pub started_ns: u64,
    /// When TCP's own handshake was over; `None` over QUIC.
    pub transport_ns: Option<u64>,
    /// When the first request could be sent. With early data that is before anything came back from the server's TLS.
    pub ready_ns: u64,
}

impl Client {
    /// A client that has never been anywhere.
    ///
    /// # Errors
    /// What the stack refuses of its settings, [`StackError::Credentials`] when TLS cannot be configured.
    pub fn new(settings: StackSettings, trust: Trust) -> Result<Self, StackError> {
        settings.check()?;
        let memory = Memory { trust, tickets: Arc::new(Tickets::new()) };
        let dialer = settings.stack.dialer(&settings, &memory)?;
        Ok(Self { settings, memory, dialer })
    }

    /// Its settings.
    #[must_use]
    pub const fn settings(&self) -> &StackSettings {
        &self.settings
    }

    /// Opens one connection to the server called `name` at `address`.
    ///
    /// # Errors
    /// [`StackError::Connect`], [`StackError::Timeout`], or what the kernel refuses of the socket's settings.
    pub async fn connect(&self, address: SocketAddr, name: &str) -> Result<Connection, StackError> {
        let started = clock::now();
        let limit = self.settings.connect_timeout;
        let dialed = timeout(limit, self.dialer.dial(address, name))
            .await
            .map_err(|_| StackError::Timeout { what: "the handshake", after: limit })??;
        let times = HandshakeTimes {
            started_ns: started.as_nanos(),
            transport_ns: dialed.transport.map(SimTime::as_nanos),
            ready_ns: clock::now().as_nanos(),
        };
        Ok(Connection {
            link: dialed.link,
            times,
            name: name.to_owned(),
            session: self.settings.session,
            slots: Semaphore::new(self.settings.depth.max(1) as usize),
            fetch_timeout: self.settings.fetch_timeout,
            idle_timeout: self.settings.idle_timeout,
        })
    }

    /// Visits a server once, so that the next connection can have the session state of the settings: an earlier session, not
    /// part of what is measured. Does nothing for `cold`.
    ///
    /// # Errors
    /// Those of [`Client::connect`], and [`StackError::NoTicket`] when the server gave none in time.
    pub async fn prime(&self, address: SocketAddr, name: &str) -> Result<(), StackError> {
        let wanted = self.settings.session;
        if wanted == SessionState::Cold {
            return Ok(());
        }
        let before = self.memory.tickets.received();
        let connection = self.connect(address, name).await?;
        if let Some(error) = connection.fetch("/health").await.error {
            return Err(error);
        }
        let came = async {
            while self.memory.tickets.received() == before {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let patience = self.settings.connect_timeout.min(Duration::from_secs(5));
        timeout(patience, came).await.map_err(|_| StackError::NoTicket { wanted, address })?;
        connection.close();
        Ok(())
    }
}

/// One open connection.
pub struct Connection {
    link: Arc<dyn Link>,
    times: HandshakeTimes,
    name: String,
    session: SessionState,
    slots: Semaphore,
    fetch_timeout: Duration,
    idle_timeout: Duration,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("times", &self.times).finish_non_exhaustive()
    }
}

/// One transfer, as the client saw it. Times are nanoseconds of the monotonic clock.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FetchRecord {
    /// What was asked for.
    pub path: String,
    /// When the caller asked.
    pub requested_ns: u64,
    /// When its turn came and the request was handed to the stack.
    pub sent_ns: Option<u64>,
    /// When the response's headers were there.
    pub headers_ns: Option<u64>,
    /// When the first byte of the body was there.
    pub first_byte_ns: Option<u64>,
    /// When the last byte of the body was there; `None` when the transfer failed.
    pub last_byte_ns: Option<u64>,
    /// Bytes of the body that came, also of a transfer that failed.
    pub bytes: u64,
    /// Whether each of them was compared with the object that was asked for.
    pub verified: bool,
    /// HTTP status.
    pub status: Option<u16>,
    /// The response's headers.
    pub headers: BTreeMap<String, String>,
    /// The body, where it is no object (`/stats`, `/health`), up to 64 KiB.
    pub text: String,
    /// Why the transfer failed.
    pub error: Option<StackError>,
}

impl FetchRecord {
    /// Whether the whole body came and was right.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.error.is_none()
    }
    /// A header as a number, e.g. `x-server-us`.
    #[must_use]
    pub fn number(&self, header: &str) -> Option<u64> {
        self.headers.get(header)?.parse().ok()
    }
}

/// The length that a response's headers promise.
pub(crate) fn content_length(response: &Response) -> Option<u64> {
    response.head.headers.get("content-length")?.to_str().ok()?.parse().ok()
}

impl Connection {
    /// When it became ready.
    #[must_use]
    pub const fn times(&self) -> HandshakeTimes {
        self.times
    }

    /// What is known of its handshake by now. Whether early data was taken is known when the first response has come.
    #[must_use]
    pub fn handshake(&self) -> HandshakeReport {
        self.link.handshake()
    }

    /// Settings of this end beside what they are, as far as they are known by now; and the session state that was wanted
    /// beside the one it is.
    #[must_use]
    pub fn readbacks(&self) -> Vec<Readback> {
        let mut rows = self.link.readbacks();
        let got = self.link.handshake().session();
        let asked = self.session.name();
        rows.push(match got {
            Some(got) => Readback::equal(End::Client, "session", asked, got.name(), Evidence::Stack),
            None => Readback { verdict: Verdict::Unknown, ..Readback::told(End::Client, "session", asked) },
        });
        rows
    }

    /// Counters of this end; `None` when they cannot be read.
    #[must_use]
    pub fn counters(&self) -> Option<Counters> {
        self.link.counters()
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.link.is_closed()
    }

    /// Ends it.
    pub fn close(&self) {
        self.link.close();
    }

    fn request(&self, path: &str) -> Result<http::Request<()>, StackError> {
        let uri = format!("https://{}{path}", self.name);
        http::Request::get(uri).body(()).map_err(|error| StackError::lost(format!("`{path}` is no path: {error}")))
    }

    /// Sends a request past the queue and gives its body as it arrives.
    pub(crate) async fn open(&self, path: &str) -> Result<Response, StackError> {
        self.limited("the headers", self.link.request(self.request(path)?)).await
    }

    async fn limited<T>(
        &self,
        what: &'static str,
        work: impl Future<Output = Result<T, StackError>>,
    ) -> Result<T, StackError> {
        let after = self.idle_timeout;
        timeout(after, work).await.unwrap_or(Err(StackError::Timeout { what, after }))
    }

    /// Fetches `path`; objects are compared byte for byte with what they should be.
    pub async fn fetch(&self, path: &str) -> FetchRecord {
        let mut record =
            FetchRecord { path: path.to_owned(), requested_ns: clock::now().as_nanos(), ..FetchRecord::default() };
        // The semaphore serves in order and is never closed.
        let Ok(_slot) = self.slots.acquire().await else { return record };
        record.sent_ns = Some(clock::now().as_nanos());
        let after = self.fetch_timeout;
        let ended = timeout(after, self.transfer(path, &mut record))
            .await
            .unwrap_or(Err(StackError::Timeout { what: "the transfer", after }));
        record.error = ended.err();
        record
    }

    async fn transfer(&self, path: &str, record: &mut FetchRecord) -> Result<(), StackError> {
        let mut response = self.open(path).await?;
        record.headers_ns = Some(clock::now().as_nanos());
        let status = response.head.status.as_u16();
        record.status = Some(status);
        record.headers = headers(&response.head.headers);
        let promised = content_length(&response);
        let mut sink = Sink::new(if status == 200 { path } else { "" });
        record.verified = sink.verifies();
        while let Some(bytes) = self.limited("the next bytes", response.body.chunk()).await? {
            let now = clock::now().as_nanos();
            if !bytes.is_empty() {
                record.first_byte_ns.get_or_insert(now);
            }
            record.bytes += bytes.len() as u64;
            sink.take(&bytes)?;
        }
        let ended = clock::now().as_nanos();
        record.text = sink.text();
        if status != 200 {
            let reason = record.headers.get("x-error").cloned().unwrap_or_default();
            return Err(StackError::Status { status, reason });
        }
        sink.end(promised)?;
        record.last_byte_ns = Some(ended);
        Ok(())
    }

    /// Fetches all of `paths`, up to the depth of the settings at once, in this order; one record each, in the same order.
    pub async fn fetch_all<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> Vec<FetchRecord> {
        futures_util::future::join_all(paths.into_iter().map(|path| self.fetch(path))).await
    }
}

fn headers(map: &http::HeaderMap) -> BTreeMap<String, String> {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    map.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}
