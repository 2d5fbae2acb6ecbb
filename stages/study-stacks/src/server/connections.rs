//! The connections of a server: what is known of each, while it is open and after it has ended.

use crate::clock;
use crate::counters::Counters;
use crate::readback::Readback;
use crate::tls::HandshakeReport;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use study_units::SimTime;

/// One accepted connection, seen from the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionRecord {
    /// The client's address.
    pub peer: SocketAddr,
    /// When it was accepted, in nanoseconds of the monotonic clock.
    pub accepted_ns: u64,
    /// When it ended; `None` while it is open.
    pub closed_ns: Option<u64>,
    /// What the server knows of its handshake; over QUIC only the client knows.
    pub handshake: HandshakeReport,
    /// Settings of the server's end.
    pub readbacks: Vec<Readback>,
    /// Counters of the server's end; `None` when they could not be read.
    pub counters: Option<Counters>,
}

/// What a stack says about a connection at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    pub(crate) handshake: HandshakeReport,
    pub(crate) readbacks: Vec<Readback>,
    pub(crate) counters: Option<Counters>,
}

type Look = Box<dyn Fn() -> Snapshot + Send>;

enum State {
    Open(Look),
    Ended(Box<Snapshot>, SimTime),
}

struct Entry {
    peer: SocketAddr,
    accepted: SimTime,
    state: Mutex<State>,
}

/// All connections of a server.
#[derive(Default)]
pub(crate) struct Connections {
    entries: Mutex<Vec<Arc<Entry>>>,
}

impl std::fmt::Debug for Connections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connections").finish_non_exhaustive()
    }
}

/// Held while a connection is open; its last figures are taken when it is dropped, however the connection ends.
pub(crate) struct Guard(Arc<Entry>);

impl Connections {
    pub(crate) fn open(&self, peer: SocketAddr, look: impl Fn() -> Snapshot + Send + 'static) -> Guard {
        let state = Mutex::new(State::Open(Box::new(look)));
        let entry = Arc::new(Entry { peer, accepted: clock::now(), state });
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&entry));
        Guard(entry)
    }

    pub(crate) fn records(&self) -> Vec<ConnectionRecord> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|entry| entry.record()).collect()
    }
}

impl Entry {
    fn record(&self) -> ConnectionRecord {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (snapshot, closed) = match &*state {
            State::Open(look) => (look(), None),
            State::Ended(snapshot, closed) => (Snapshot::clone(snapshot), Some(*closed)),
        };
        ConnectionRecord {
            peer: self.peer,
            accepted_ns: self.accepted.as_nanos(),
            closed_ns: closed.map(SimTime::as_nanos),
            handshake: snapshot.handshake,
            readbacks: snapshot.readbacks,
            counters: snapshot.counters,
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Open(look) = &*state {
            *state = State::Ended(Box::new(look()), clock::now());
        }
    }
}
