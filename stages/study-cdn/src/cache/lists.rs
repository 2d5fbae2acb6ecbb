//! Recency lists over one slab: what all policies are made of.
//!
//! `N` doubly linked lists share one slab of entries and one index from key to slot, so that moving an entry from list to
//! list moves no memory, and every operation takes constant time. The hash map is only looked into, never walked.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use study_units::SimTime;

/// No slot.
const NIL: u32 = u32::MAX;

/// Spreads the bits of an integer key (the finaliser of SplitMix64). Keys are made by the study, so there is no adversary
/// whom a keyed hash would have to resist.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64(u64::from(*b)));
    }
    fn write_u64(&mut self, key: u64) {
        let mut z = self.0.wrapping_add(key).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0 = z ^ (z >> 31);
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// Names an entry until it is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot(u32);

#[derive(Debug, Clone, Copy)]
struct Entry {
    key: u64,
    bytes: u64,
    expires: SimTime,
    newer: u32,
    older: u32,
    list: u8,
}

#[derive(Debug, Clone, Copy)]
struct List {
    newest: u32,
    oldest: u32,
    bytes: u64,
    len: usize,
}

/// `N` recency lists.
#[derive(Debug)]
pub(super) struct Lists<const N: usize> {
    entries: Vec<Entry>,
    free: Vec<u32>,
    index: HashMap<u64, u32, BuildHasherDefault<KeyHasher>>,
    lists: [List; N],
}

impl<const N: usize> Lists<N> {
    pub(super) fn new() -> Self {
        let empty = List { newest: NIL, oldest: NIL, bytes: 0, len: 0 };
        Self { entries: Vec::new(), free: Vec::new(), index: HashMap::default(), lists: [empty; N] }
    }
    /// The entry of a key, in whatever list.
    pub(super) fn find(&self, key: u64) -> Option<Slot> {
        self.index.get(&key).map(|slot| Slot(*slot))
    }
    /// The list an entry is in.
    pub(super) fn list_of(&self, slot: Slot) -> usize {
        usize::from(self.entries[slot.0 as usize].list)
    }
    /// Whether an entry is no longer fresh.
    pub(super) fn expired(&self, slot: Slot, now: SimTime) -> bool {
        let expires = self.entries[slot.0 as usize].expires;
        expires != SimTime::NEVER && expires <= now
    }
    /// Bytes of a list.
    pub(super) fn bytes(&self, list: usize) -> u64 {
        self.lists[list].bytes
    }
    /// Entries of a list.
    pub(super) fn len(&self, list: usize) -> usize {
        self.lists[list].len
    }
    /// Adds an entry as the newest of a list. The key must not be in any.
    pub(super) fn push_newest(&mut self, list: usize, key: u64, bytes: u64, expires: Option<SimTime>) {
        let entry =
            Entry { key, bytes, expires: expires.unwrap_or(SimTime::NEVER), newer: NIL, older: NIL, list: list as u8 };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.entries[slot as usize] = entry;
                slot
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        };
        let previous = self.index.insert(key, slot);
        debug_assert!(previous.is_none(), "key {key} is in a list already");
        self.link_newest(slot, list);
    }
    /// Makes an entry the newest of a list, which may be another one.
    pub(super) fn move_to_newest(&mut self, slot: Slot, list: usize) {
        self.unlink(slot.0);
        self.link_newest(slot.0, list);
    }
    /// Moves the oldest entry of one list to the newest end of another; false when there is none.
    pub(super) fn oldest_to(&mut self, from: usize, to: usize) -> bool {
        let slot = self.lists[from].oldest;
        if slot != NIL {
            self.move_to_newest(Slot(slot), to);
        }
        slot != NIL
    }
    /// Removes the oldest entry of a list; false when there is none.
    pub(super) fn remove_oldest(&mut self, list: usize) -> bool {
        let slot = self.lists[list].oldest;
        if slot != NIL {
            self.remove(Slot(slot));
        }
        slot != NIL
    }
    /// Removes an entry.
    pub(super) fn remove(&mut self, slot: Slot) {
        self.unlink(slot.0);
        self.index.remove(&self.entries[slot.0 as usize].key);
        self.free.push(slot.0);
    }

    fn link_newest(&mut self, slot: u32, list: usize) {
        let head = &mut self.lists[list];
        let entry = &mut self.entries[slot as usize];
        (entry.newer, entry.older, entry.list) = (NIL, head.newest, list as u8);
        head.bytes += entry.bytes;
        head.len += 1;
        match std::mem::replace(&mut head.newest, slot) {
            NIL => head.oldest = slot,
            second => self.entries[second as usize].newer = slot,
        }
    }
    fn unlink(&mut self, slot: u32) {
        let entry = self.entries[slot as usize];
        let head = &mut self.lists[usize::from(entry.list)];
        head.bytes -= entry.bytes;
        head.len -= 1;
        match entry.newer {
            NIL => head.newest = entry.older,
            newer => self.entries[newer as usize].older = entry.older,
        }
        match entry.older {
            NIL => head.oldest = entry.newer,
            older => self.entries[older as usize].newer = entry.newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of a list from the newest to the oldest, and back.
    fn keys<const N: usize>(lists: &Lists<N>, list: usize) -> Vec<u64> {
        let mut forward = Vec::new();
        let mut slot = lists.lists[list].newest;
        while slot != NIL {
            forward.push(lists.entries[slot as usize].key);
            slot = lists.entries[slot as usize].older;
        }
        let mut backward = Vec::new();
        let mut slot = lists.lists[list].oldest;
        while slot != NIL {
            backward.push(lists.entries[slot as usize].key);
            slot = lists.entries[slot as usize].newer;
        }
        backward.reverse();
        assert_eq!(forward, backward, "links agree in both directions");
        assert_eq!(forward.len(), lists.len(list));
        forward
    }

    #[test]
    fn entries_move_between_lists_and_slots_are_used_again() {
        let mut lists = Lists::<2>::new();
        (1..=3).for_each(|key| lists.push_newest(0, key, 10 * key, None));
        assert_eq!((keys(&lists, 0), lists.bytes(0)), (vec![3, 2, 1], 60));
        lists.move_to_newest(lists.find(2).unwrap(), 0);
        assert_eq!(keys(&lists, 0), [2, 3, 1]);
        assert!(lists.oldest_to(0, 1) && lists.oldest_to(0, 1));
        assert_eq!((keys(&lists, 0), keys(&lists, 1)), (vec![2], vec![3, 1]));
        assert_eq!((lists.bytes(0), lists.bytes(1)), (20, 40));
        lists.remove(lists.find(3).unwrap());
        assert!(lists.remove_oldest(1) && !lists.remove_oldest(1) && !lists.oldest_to(1, 0));
        lists.push_newest(1, 9, 5, None);
        assert_eq!((keys(&lists, 1), lists.entries.len()), (vec![9], 3), "no slot was added");
        assert!(lists.find(3).is_none() && lists.find(1).is_none());
    }
}
