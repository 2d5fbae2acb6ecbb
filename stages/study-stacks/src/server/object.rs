//! An object on its way through an edge: written by one fetch, read by any number of requests while it arrives.

use crate::error::StackError;
use bytes::{Bytes, BytesMut};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Largest piece that is handed on at once.
const PIECE: usize = 16_384;

/// What upstream said about the object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) length: Option<u64>,
    /// Upstream's own `x-cache`.
    pub(crate) cache: Option<String>,
    /// From the request to these headers, in microseconds.
    pub(crate) waited_us: u64,
}

#[derive(Debug, Default)]
struct State {
    head: Option<Head>,
    /// Pieces with the offset of each, in order and without gaps.
    pieces: Vec<(u64, Bytes)>,
    bytes: u64,
    end: Option<Result<(), StackError>>,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Object {
    state: Mutex<State>,
    changes: watch::Sender<()>,
}

impl Object {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::default(), changes: watch::Sender::new(()) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changes.send_replace(());
    }

    pub(crate) fn begin(&self, head: Head) {
        self.change(|state| state.head = Some(head));
    }

    pub(crate) fn push(&self, piece: Bytes) {
        self.change(|state| {
            let at = state.bytes;
            state.bytes += piece.len() as u64;
            state.pieces.push((at, piece));
        });
    }

    /// No more will come. A whole object is put together into one piece, so that it holds no receive buffers.
    pub(crate) fn end(&self, result: Result<(), StackError>) {
        self.change(|state| {
            if result.is_ok() && state.pieces.len() > 1 {
                let mut whole = BytesMut::with_capacity(usize::try_from(state.bytes).unwrap_or_default());
                state.pieces.iter().for_each(|(_, piece)| whole.extend_from_slice(piece));
                state.pieces = vec![(0, whole.freeze())];
            }
            state.end = Some(result);
        });
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.state().bytes
    }

    /// Waits until `look` finds something.
    async fn wait<T>(&self, look: impl Fn(&State) -> Option<T>) -> T {
        let mut changes = self.changes.subscribe();
        loop {
            if let Some(found) = look(&self.state()) {
                return found;
            }
            // The sender lives as long as `self`, so this ends only with a change.
            let _ = changes.changed().await;
        }
    }

    /// What upstream said, as soon as it has.
    pub(crate) async fn head(&self) -> Result<Head, StackError> {
        self.wait(|state| match (&state.head, &state.end) {
            (Some(head), _) => Some(Ok(head.clone())),
            (None, Some(Err(error))) => Some(Err(error.clone())),
            (None, Some(Ok(()))) => Some(Err(StackError::lost("the fetch ended without headers"))),
            (None, None) => None,
        })
        .await
    }

    /// Bytes from `at` on, as soon as there are any; `None` at the end.
    pub(crate) async fn piece(&self, at: u64) -> Option<Result<Bytes, StackError>> {
        self.wait(|state| {
            if at < state.bytes {
                let index = state.pieces.partition_point(|(start, _)| *start <= at) - 1;
                let (start, piece) = &state.pieces[index];
                let from = usize::try_from(at - start).unwrap_or_default();
                return Some(Some(Ok(piece.slice(from..piece.len().min(from + PIECE)))));
            }
            match &state.end {
                Some(Ok(())) => Some(None),
                Some(Err(error)) => Some(Some(Err(error.clone()))),
                None => None,
            }
        })
        .await
    }
}
