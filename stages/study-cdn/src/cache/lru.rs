//! Least recently used, by bytes.
//!
//! A read or a write makes an object the newest; what is unused for longest goes first, until the new object fits.
//!
//! Sources: Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970. No difference
//! but the byte bound; with objects of one size it is the textbook's LRU.
//!
//! Random streams: none.

use super::CachePolicy;
use super::lists::Lists;
use study_units::SimTime;

/// See the [module](self).
#[derive(Debug)]
pub struct Lru {
    lists: Lists<1>,
    capacity: u64,
}

impl Lru {
    /// An empty cache of `capacity` bytes.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        Self { lists: Lists::new(), capacity }
    }
}

impl CachePolicy for Lru {
    fn get(&mut self, key: u64, now: SimTime) -> bool {
        let Some(slot) = self.lists.find(key) else { return false };
        if self.lists.expired(slot, now) {
            self.lists.remove(slot);
            return false;
        }
        self.lists.move_to_newest(slot, 0);
        true
    }
    fn insert(&mut self, key: u64, bytes: u64, _now: SimTime, expires: Option<SimTime>) {
        let bytes = bytes.max(1);
        if let Some(slot) = self.lists.find(key) {
            self.lists.remove(slot);
        }
        if bytes > self.capacity {
            return;
        }
        while self.lists.bytes(0) > self.capacity - bytes {
            self.lists.remove_oldest(0);
        }
        self.lists.push_newest(0, key, bytes, expires);
    }
    fn contains(&self, key: u64, now: SimTime) -> bool {
        self.lists.find(key).is_some_and(|slot| !self.lists.expired(slot, now))
    }
    fn len(&self) -> usize {
        self.lists.len(0)
    }
    fn bytes_used(&self) -> u64 {
        self.lists.bytes(0)
    }
    fn capacity(&self) -> u64 {
        self.capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_agrees_with_a_list_searched_from_end_to_end(
            capacity in 1_u64..100,
            ops in prop::collection::vec((0_u64..25, 1_u64..40), 1..300),
        ) {
            let mut cache = Lru::new(capacity);
            let mut model: Vec<(u64, u64)> = Vec::new(); // newest first
            for (key, bytes) in ops {
                let hit = model.iter().position(|(k, _)| *k == key);
                prop_assert_eq!(cache.get(key, SimTime::ZERO), hit.is_some());
                if let Some(i) = hit {
                    let entry = model.remove(i);
                    model.insert(0, entry);
                    continue;
                }
                cache.insert(key, bytes, SimTime::ZERO, None);
                if bytes <= capacity {
                    model.insert(0, (key, bytes));
                    while model.iter().map(|(_, b)| b).sum::<u64>() > capacity {
                        model.pop();
                    }
                }
                prop_assert_eq!(cache.bytes_used(), model.iter().map(|(_, b)| b).sum::<u64>());
                prop_assert_eq!(cache.len(), model.len());
            }
        }
    }
}
