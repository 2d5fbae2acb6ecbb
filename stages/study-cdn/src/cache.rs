//! What an edge remembers: one contract, one file per replacement policy, one row per policy in [`cache_policies!`].
//!
//! All policies are bounded by bytes. An entry may carry an expiry time: it is looked at when the entry is read, and an
//! expired entry is then forgotten, as if it had never been stored. An object larger than the whole cache passes by without
//! being stored. Every operation takes constant time, and nothing depends on the order of a hash map.

mod arc;
mod lists;
mod lru;

pub use arc::Arc;
pub use lru::Lru;

use study_units::{Bytes, SimDuration, SimTime};

/// A cache of objects by key.
pub trait CachePolicy: std::fmt::Debug + Send {
    /// Looks an object up at time `now`; true when it is stored and fresh. Counts as a use.
    fn get(&mut self, key: u64, now: SimTime) -> bool;
    /// Stores an object of `bytes` that arrived at time `now` and is fresh until before `expires`; room is made by evicting
    /// others. One that is stored already is replaced. Counts as a use. An object larger than the cache is not stored, and
    /// what was stored under its key is dropped. An object of 0 bytes counts as 1.
    fn insert(&mut self, key: u64, bytes: u64, now: SimTime, expires: Option<SimTime>);
    /// Whether an object is stored and fresh at time `now`, without counting as a use.
    fn contains(&self, key: u64, now: SimTime) -> bool;
    /// Objects stored, fresh or not.
    fn len(&self) -> usize;
    /// Whether nothing is stored.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Bytes stored, fresh or not; never more than [`CachePolicy::capacity`].
    fn bytes_used(&self) -> u64;
    /// Bytes that fit.
    fn capacity(&self) -> u64;
}

/// The registry: documentation, variant, name in study files, constructor from the capacity in bytes.
macro_rules! cache_policies {
    ($( $(#[doc = $doc:literal])* $variant:ident = $name:literal, $new:expr; )*) => {
        study_tree::choices! {
            /// What an edge forgets when its cache is full.
            pub enum CacheChoice { $( $(#[doc = $doc])* $variant = $name ),* }
        }
        impl CacheChoice {
            /// An empty cache of this capacity.
            #[must_use]
            pub fn build(self, capacity: Bytes) -> Box<dyn CachePolicy> {
                match self { $( Self::$variant => Box::new($new(capacity.get())) ),* }
            }
        }
    };
}

cache_policies! {
    /// The object unused for longest.
    Lru = "lru", Lru::new;
    /// Adapts between the object unused for longest and the one used only once (Megiddo and Modha 2003).
    Arc = "arc", Arc::new;
}

study_tree::params! {
    /// The cache of one edge.
    pub struct CacheParams {
        /// Replacement policy.
        policy: CacheChoice = CacheChoice::Lru;
        /// Bytes that fit.
        size: Bytes = Bytes::new(1 << 30);
        /// How long an object stays fresh after it arrived; for ever when it is not given.
        ttl: Option<SimDuration> = None;
    }
}

impl CacheParams {
    /// An empty cache.
    #[must_use]
    pub fn build(&self) -> Box<dyn CachePolicy> {
        self.policy.build(self.size)
    }
    /// When an object that arrives at `now` expires.
    #[must_use]
    pub fn expires(&self, now: SimTime) -> Option<SimTime> {
        self.ttl.map(|ttl| now + ttl)
    }
}

#[cfg(test)]
mod conformance {
    //! What holds for every policy of the registry.
    use super::*;
    use proptest::prelude::*;

    const T0: SimTime = SimTime::ZERO;

    fn each(test: impl Fn(&str, &dyn Fn(u64) -> Box<dyn CachePolicy>)) {
        for policy in CacheChoice::ALL {
            test(policy.name(), &|capacity| policy.build(Bytes::new(capacity)));
        }
    }

    #[test]
    fn what_was_stored_is_found_and_what_was_not_is_not() {
        each(|name, new| {
            let mut cache = new(100);
            assert!(cache.is_empty() && !cache.get(1, T0), "{name}");
            cache.insert(1, 40, T0, None);
            assert!(cache.get(1, T0) && !cache.get(2, T0), "{name}");
            assert_eq!((cache.len(), cache.bytes_used(), cache.capacity()), (1, 40, 100), "{name}");
        });
    }

    #[test]
    fn an_object_larger_than_the_cache_passes_by() {
        each(|name, new| {
            let mut cache = new(9);
            cache.insert(1, 5, T0, None);
            cache.insert(2, 10_000_000, T0, None);
            assert!(!cache.get(2, T0) && cache.get(1, T0), "{name}: nothing is evicted for it");
            cache.insert(1, 10, T0, None);
            assert!(!cache.get(1, T0), "{name}: the old version is not served");
            cache.insert(3, 9, T0, None);
            assert!(cache.get(3, T0), "{name}: one that just fits does");
            let mut nothing = new(0);
            nothing.insert(1, 0, T0, None);
            assert!(!nothing.get(1, T0) && nothing.bytes_used() == 0, "{name}: a cache of no bytes stores nothing");
        });
    }

    #[test]
    fn an_entry_expires_when_it_is_read_and_comes_back_when_it_is_stored_again() {
        each(|name, new| {
            let (before, at) = (SimTime::from_nanos(9), SimTime::from_nanos(10));
            let mut cache = new(100);
            cache.insert(1, 40, T0, Some(at));
            cache.insert(2, 40, T0, None);
            assert!(cache.contains(1, before) && cache.get(1, before), "{name}");
            assert!(!cache.contains(1, at) && cache.bytes_used() == 80, "{name}: asking changes nothing");
            assert!(!cache.get(1, at), "{name}");
            assert_eq!(cache.bytes_used(), 40, "{name}: its bytes are free");
            assert!(!cache.get(1, before) && cache.get(2, SimTime::NEVER), "{name}");
            cache.insert(1, 30, at, Some(SimTime::from_nanos(20)));
            assert!(cache.get(1, at) && cache.bytes_used() == 70, "{name}");
        });
    }

    #[test]
    fn storing_again_replaces_size_and_expiry() {
        each(|name, new| {
            let mut cache = new(100);
            cache.insert(1, 40, T0, Some(SimTime::from_nanos(1)));
            cache.insert(1, 60, T0, None);
            assert_eq!((cache.len(), cache.bytes_used()), (1, 60), "{name}");
            assert!(cache.get(1, SimTime::from_nanos(5)), "{name}");
        });
    }

    proptest! {
        #[test]
        fn the_capacity_holds_under_any_sequence(
            capacity in 0_u64..200,
            ops in prop::collection::vec((0_u64..30, 0_u64..60, 0_u64..50, any::<bool>()), 1..300),
        ) {
            for policy in CacheChoice::ALL {
                let mut cache = policy.build(Bytes::new(capacity));
                for (step, (key, bytes, ttl, look_first)) in ops.iter().enumerate() {
                    let now = SimTime::from_nanos(step as u64);
                    let expected = cache.contains(*key, now);
                    if *look_first {
                        prop_assert_eq!(cache.get(*key, now), expected);
                    }
                    if !look_first || !expected {
                        cache.insert(*key, *bytes, now, (*ttl > 0).then(|| SimTime::from_nanos(step as u64 + ttl)));
                        prop_assert_eq!(cache.contains(*key, now), (*bytes).max(1) <= capacity);
                    }
                    prop_assert!(cache.bytes_used() <= capacity);
                    prop_assert_eq!(cache.is_empty(), cache.bytes_used() == 0);
                }
            }
        }
    }
}
