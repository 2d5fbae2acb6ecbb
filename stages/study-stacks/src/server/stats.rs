//! What a server counts; `/stats` gives it as JSON.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of a server since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServerStats {
    /// Requests for objects.
    pub requests: u64,
    /// Answered from what was stored.
    pub hits: u64,
    /// Fetched from upstream.
    pub misses: u64,
    /// Answered from a fetch that another request had begun.
    pub coalesced: u64,
    /// Requests that could not be answered, and answers that broke off.
    pub errors: u64,
    /// Bytes of bodies handed to the stack.
    pub bytes_sent: u64,
    /// Bytes of bodies that came from upstream.
    pub upstream_bytes: u64,
    /// Fetches from upstream that have ended.
    pub upstream_fetches: u64,
    /// Their time from request to last byte, summed, in microseconds.
    pub upstream_us: u64,
    /// Objects stored.
    pub objects: u64,
    /// Bytes stored.
    pub stored_bytes: u64,
    /// Bytes that can be stored.
    pub capacity_bytes: u64,
}

macro_rules! counters {
    ($($name:ident),*) => {
        /// The same as running counters.
        #[derive(Debug, Default)]
        pub(crate) struct Counting { $( pub(crate) $name: Counter ),* }
        impl Counting {
            pub(crate) fn read(&self) -> ServerStats {
                ServerStats { $( $name: self.$name.0.load(Ordering::Relaxed), )* ..ServerStats::default() }
            }
        }
    };
}
counters! { requests, hits, misses, coalesced, errors, bytes_sent, upstream_bytes, upstream_fetches, upstream_us }

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }
    pub(crate) fn one(&self) {
        self.add(1);
    }
}
