//! Adaptive replacement cache, by bytes.
//!
//! Two lists of stored objects, `T1` (used once lately) and `T2` (used more than once), each followed by a ghost list of
//! keys that were evicted from it, `B1` and `B2`. A target `p` for the bytes of `T1` grows when a ghost of `B1` is asked
//! for and shrinks when one of `B2` is.
//!
//! With `|X|` the bytes of a list, `c` the capacity and `s` the bytes of the object at hand:
//! a ghost of `B1` comes back: `p <- min(c, p + s x max(1, |B2| / |B1|))`; of `B2`: `p <- max(0, p - s x max(1, |B1| / |B2|))`;
//! to make room, the oldest of `T1` becomes a ghost if `|T1| > p` (or `= p` while a ghost of `B2` comes back), else the
//! oldest of `T2`. At all times `|T1| + |T2| <= c`, `|T1| + |B1| <= c`, `|T1| + |T2| + |B1| + |B2| <= 2c`, `0 <= p <= c`.
//!
//! Sources: Megiddo and Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003, figure 4.
//!
//! | reference | here | effect |
//! |---|---|---|
//! | counts pages of one size | counts bytes; room is made and lists are trimmed until the object fits | with objects of one size the decisions are those of figure 4 (tested against it and on published figures) |
//! | steps of `p` by `max(1, ratio)` pages | the same, times the size of the object | a large object moves the target further |
//! | every page fits | an object larger than the cache passes by and teaches nothing | no effect on unit sizes |
//! | no expiry | an expired object is forgotten, without a ghost | expiry is not taken for a lack of room |
//! | looks up and fetches at once | `get` is case I, `insert` the cases II to IV, when the object has arrived | an object evicted while it is fetched again counts as evicted |
//! | a page is never written twice | storing an object that is there counts as its second use and bounds all lists anew | the directory cannot outgrow its limits, as it does in the Go simulator |
//!
//! Random streams: none.

use super::CachePolicy;
use super::lists::Lists;
use study_units::SimTime;

const T1: usize = 0;
const T2: usize = 1;
const B1: usize = 2;
const B2: usize = 3;

/// See the [module](self).
#[derive(Debug)]
pub struct Arc {
    lists: Lists<4>,
    capacity: u64,
    /// Target bytes of `T1`, in [0, capacity]; not a whole number, as the ratio of the ghost lists is none.
    target: f64,
}

impl Arc {
    /// An empty cache of `capacity` bytes.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        Self { lists: Lists::new(), capacity, target: 0.0 }
    }
    fn bytes(&self, lists: &[usize]) -> u64 {
        lists.iter().map(|l| self.lists.bytes(*l)).sum()
    }
    /// Moves the target towards recency (`ghost` is `B1`) or towards frequency (`B2`).
    fn adapt(&mut self, ghost: usize, bytes: u64) {
        let (own, other) = if ghost == B1 { (B1, B2) } else { (B2, B1) };
        let ratio = self.lists.bytes(other) as f64 / self.lists.bytes(own) as f64;
        let step = bytes as f64 * ratio.max(1.0);
        self.target =
            if ghost == B1 { (self.target + step).min(self.capacity as f64) } else { (self.target - step).max(0.0) };
    }
    /// REPLACE of figure 4: one stored object becomes a ghost.
    fn demote_one(&mut self, from_b2: bool) {
        let t1 = self.lists.bytes(T1) as f64;
        let recency = self.lists.len(T1) > 0 && (t1 > self.target || (from_b2 && t1 == self.target));
        let moved = if recency { self.lists.oldest_to(T1, B1) } else { self.lists.oldest_to(T2, B2) };
        if !moved {
            // Only with sizes: `T2` is empty and `T1` below its target, yet the object does not fit.
            self.lists.oldest_to(T1, B1);
        }
    }
    /// Case IV A: room in `T1` and its ghosts for an object that nothing is known of.
    fn trim_recency(&mut self, bytes: u64) {
        while self.bytes(&[T1, B1]) + bytes > self.capacity {
            if !self.lists.remove_oldest(B1) {
                self.lists.remove_oldest(T1);
            }
        }
    }
    /// Case IV B: room in the whole directory.
    fn trim_directory(&mut self, bytes: u64) {
        while self.bytes(&[T1, T2, B1, B2]) + bytes > 2 * self.capacity {
            if !self.lists.remove_oldest(B2) {
                self.lists.remove_oldest(B1);
            }
        }
    }
}

impl CachePolicy for Arc {
    fn get(&mut self, key: u64, now: SimTime) -> bool {
        let Some(slot) = self.lists.find(key) else { return false };
        if self.lists.list_of(slot) >= B1 {
            return false;
        }
        if self.lists.expired(slot, now) {
            self.lists.remove(slot);
            return false;
        }
        self.lists.move_to_newest(slot, T2);
        true
    }
    fn insert(&mut self, key: u64, bytes: u64, _now: SimTime, expires: Option<SimTime>) {
        let bytes = bytes.max(1);
        let known = self.lists.find(key).map(|slot| (slot, self.lists.list_of(slot)));
        if bytes > self.capacity {
            if let Some((slot, T1 | T2)) = known {
                self.lists.remove(slot);
            }
            return;
        }
        match known {
            Some((slot, list)) => {
                if list >= B1 {
                    self.adapt(list, bytes);
                }
                self.lists.remove(slot);
            }
            None => self.trim_recency(bytes),
        }
        self.trim_directory(bytes);
        let from_b2 = matches!(known, Some((_, B2)));
        while self.bytes(&[T1, T2]) + bytes > self.capacity {
            self.demote_one(from_b2);
        }
        self.lists.push_newest(if known.is_some() { T2 } else { T1 }, key, bytes, expires);
    }
    fn contains(&self, key: u64, now: SimTime) -> bool {
        self.lists.find(key).is_some_and(|slot| self.lists.list_of(slot) < B1 && !self.lists.expired(slot, now))
    }
    fn len(&self) -> usize {
        self.lists.len(T1) + self.lists.len(T2)
    }
    fn bytes_used(&self) -> u64 {
        self.bytes(&[T1, T2])
    }
    fn capacity(&self) -> u64 {
        self.capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Figure 4 of the paper for pages, on plain vectors, newest first.
    #[derive(Default)]
    struct Figure4 {
        c: usize,
        p: f64,
        t1: Vec<u64>,
        t2: Vec<u64>,
        b1: Vec<u64>,
        b2: Vec<u64>,
    }

    fn take(list: &mut Vec<u64>, x: u64) -> bool {
        let at = list.iter().position(|k| *k == x);
        at.map(|i| list.remove(i)).is_some()
    }

    impl Figure4 {
        fn replace(&mut self, in_b2: bool) {
            let t1 = self.t1.len() as f64;
            if !self.t1.is_empty() && (t1 > self.p || (in_b2 && t1 == self.p)) {
                let x = self.t1.pop().unwrap();
                self.b1.insert(0, x);
            } else {
                let x = self.t2.pop().unwrap();
                self.b2.insert(0, x);
            }
        }
        fn request(&mut self, x: u64) -> bool {
            let (n1, n2) = (self.b1.len() as f64, self.b2.len() as f64);
            if take(&mut self.t1, x) || take(&mut self.t2, x) {
                self.t2.insert(0, x);
                return true;
            }
            if self.b1.contains(&x) {
                self.p = (self.c as f64).min(self.p + if n1 >= n2 { 1.0 } else { n2 / n1 });
                self.replace(false);
                take(&mut self.b1, x);
                self.t2.insert(0, x);
            } else if self.b2.contains(&x) {
                self.p = (self.p - if n2 >= n1 { 1.0 } else { n1 / n2 }).max(0.0);
                self.replace(true);
                take(&mut self.b2, x);
                self.t2.insert(0, x);
            } else {
                let l1 = self.t1.len() + self.b1.len();
                let total = l1 + self.t2.len() + self.b2.len();
                if l1 == self.c {
                    if self.t1.len() < self.c {
                        self.b1.pop();
                        self.replace(false);
                    } else {
                        self.t1.pop();
                    }
                } else if total >= self.c {
                    if total == 2 * self.c {
                        self.b2.pop();
                    }
                    self.replace(false);
                }
                self.t1.insert(0, x);
            }
            false
        }
    }

    fn request(cache: &mut Arc, key: u64) -> bool {
        let hit = cache.get(key, SimTime::ZERO);
        if !hit {
            cache.insert(key, 1, SimTime::ZERO, None);
        }
        hit
    }

    fn check(cache: &Arc) -> Result<(), TestCaseError> {
        let c = cache.capacity;
        prop_assert!(cache.bytes(&[T1, T2]) <= c);
        prop_assert!(cache.bytes(&[T1, B1]) <= c, "{} + {} > {c}", cache.bytes(&[T1]), cache.bytes(&[B1]));
        prop_assert!(cache.bytes(&[T1, T2, B1, B2]) <= 2 * c);
        prop_assert!((0.0..=c as f64).contains(&cache.target));
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn with_pages_it_is_figure_4(c in 1_usize..12, keys in prop::collection::vec(0_u64..30, 1..600)) {
            let mut cache = Arc::new(c as u64);
            let mut paper = Figure4 { c, ..Figure4::default() };
            for key in keys {
                prop_assert_eq!(request(&mut cache, key), paper.request(key));
                prop_assert_eq!(cache.target.to_bits(), paper.p.to_bits());
                let lens = [T1, T2, B1, B2].map(|l| cache.lists.len(l));
                prop_assert_eq!(lens, [paper.t1.len(), paper.t2.len(), paper.b1.len(), paper.b2.len()]);
            }
        }

        #[test]
        fn the_limits_of_the_directory_hold_with_sizes(
            capacity in 1_u64..150,
            ops in prop::collection::vec((0_u64..40, 0_u64..80, 0_u64..40, any::<bool>()), 1..500),
        ) {
            let mut cache = Arc::new(capacity);
            for (step, (key, bytes, ttl, look_first)) in ops.into_iter().enumerate() {
                let now = SimTime::from_nanos(step as u64);
                if !(look_first && cache.get(key, now)) {
                    let expires = (ttl > 0).then(|| SimTime::from_nanos(step as u64 + ttl));
                    cache.insert(key, bytes, now, expires);
                }
                check(&cache)?;
            }
        }
    }

    #[test]
    fn a_scan_does_not_wash_out_what_is_used_twice() {
        let mut cache = Arc::new(10);
        (0..5).for_each(|key| assert!(!request(&mut cache, key)));
        (0..5).for_each(|key| assert!(request(&mut cache, key)));
        (100..1_000).for_each(|key| assert!(!request(&mut cache, key)));
        (0..5).for_each(|key| assert!(request(&mut cache, key), "{key}"));
    }

    #[test]
    fn storing_again_promotes_and_bounds_anew() {
        let mut cache = Arc::new(10);
        cache.insert(1, 4, SimTime::ZERO, None);
        cache.insert(2, 4, SimTime::ZERO, None);
        cache.insert(1, 7, SimTime::ZERO, None);
        assert_eq!([T1, T2, B1, B2].map(|l| cache.lists.bytes(l)), [0, 7, 4, 0], "1 moved to T2 and pushed 2 out");
    }
}
