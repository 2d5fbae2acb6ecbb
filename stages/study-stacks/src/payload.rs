//! Objects with contents that both ends can compute, so that every byte of a transfer is checked.
//!
//! Word `i` (8 bytes, little endian) of the object with key `k` is `mix(k + i * G)`, with the mixing function and the odd
//! constant `G` of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014). Two objects
//! share no run of bytes by design, and a shifted, repeated or truncated piece shows at its first word.

use bytes::{BufMut, Bytes, BytesMut};
use std::fmt;

/// Names one segment of one title in one quality.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId {
    /// Title, from 0.
    pub title: u32,
    /// Segment of the title, from 0.
    pub segment: u32,
    /// Rung of the ladder, 0 the lowest.
    pub rung: u32,
}

impl ObjectId {
    /// The path of this object with a body of `bytes`.
    #[must_use]
    pub fn path(self, bytes: u64) -> String {
        format!("{self}?bytes={bytes}")
    }

    /// Reads a path with its query; `None` when it names no object.
    #[must_use]
    pub fn parse(path: &str) -> Option<(Self, u64)> {
        let (path, query) = path.split_once('?')?;
        let bytes = query.split('&').find_map(|pair| pair.strip_prefix("bytes="))?.parse().ok()?;
        let mut parts = path.strip_prefix("/object/")?.split('/');
        let mut next = || parts.next()?.parse().ok();
        let id = Self { title: next()?, segment: next()?, rung: next()? };
        parts.next().is_none().then_some((id, bytes))
    }

    /// The contents of this object.
    #[must_use]
    pub fn payload(self) -> Payload {
        let spread = |key: u64, part: u32| mix(key ^ u64::from(part));
        Payload { key: spread(spread(spread(0, self.title), self.segment), self.rung) }
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/object/{}/{}/{}", self.title, self.segment, self.rung)
    }
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

const fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The endless contents of one object; a body is a beginning of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload {
    key: u64,
}

impl Payload {
    const fn word(self, index: u64) -> [u8; 8] {
        mix(self.key.wrapping_add(index.wrapping_mul(STEP))).to_le_bytes()
    }

    /// Bytes `at..at + length`.
    #[must_use]
    pub fn piece(self, at: u64, length: usize) -> Bytes {
        let skip = (at % 8) as usize;
        let mut out = BytesMut::with_capacity(length + 16);
        let mut index = at / 8;
        while out.len() < skip + length {
            out.put_slice(&self.word(index));
            index += 1;
        }
        out.freeze().slice(skip..skip + length)
    }

    /// Where `bytes`, which stand at `at`, first differ from this object; `None` when they do not.
    #[must_use]
    pub fn first_difference(self, at: u64, bytes: &[u8]) -> Option<u64> {
        let head = bytes.len().min(((8 - at % 8) % 8) as usize);
        let (start, words) = bytes.split_at(head);
        let by_byte = |from: u64, slice: &[u8]| {
            (from..).zip(slice).find(|(i, byte)| self.word(i / 8)[(i % 8) as usize] != **byte).map(|(i, _)| i)
        };
        if let Some(i) = by_byte(at, start) {
            return Some(i);
        }
        let from = at + head as u64;
        let whole = words.chunks_exact(8);
        let tail = whole.remainder();
        for (index, word) in (from / 8..).zip(whole) {
            if word != self.word(index) {
                return by_byte(index * 8, word);
            }
        }
        by_byte(from + (words.len() - tail.len()) as u64, tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: ObjectId = ObjectId { title: 7, segment: 3, rung: 2 };

    #[test]
    fn a_path_names_an_object_and_its_size() {
        assert_eq!(ID.path(123), "/object/7/3/2?bytes=123");
        assert_eq!(ObjectId::parse("/object/7/3/2?bytes=123"), Some((ID, 123)));
        assert_eq!(ObjectId::parse("/object/7/3/2?x=1&bytes=9"), Some((ID, 9)));
        for wrong in
            ["/object/7/3?bytes=1", "/object/7/3/2", "/object/7/3/2/1?bytes=1", "/object/a/3/2?bytes=1", "/stats"]
        {
            assert_eq!(ObjectId::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn pieces_join_whatever_their_borders() {
        let whole = ID.payload().piece(0, 100);
        for cut in 0..100 {
            let (a, b) = (ID.payload().piece(0, cut), ID.payload().piece(cut as u64, 100 - cut));
            assert_eq!([a, b].concat(), whole, "{cut}");
        }
    }

    #[test]
    fn the_first_wrong_byte_is_found_wherever_it_is() {
        for start in 0..9_u64 {
            let right = ID.payload().piece(start, 40).to_vec();
            assert_eq!(ID.payload().first_difference(start, &right), None);
            for i in 0..40 {
                let mut wrong = right.clone();
                wrong[i] ^= 1;
                assert_eq!(ID.payload().first_difference(start, &wrong), Some(start + i as u64), "{start} {i}");
            }
        }
    }

    #[test]
    fn a_shifted_piece_and_another_object_are_wrong() {
        let piece = ID.payload().piece(8, 16);
        assert_eq!(ID.payload().first_difference(0, &piece), Some(0));
        let other = ObjectId { rung: 1, ..ID };
        assert_eq!(other.payload().first_difference(8, &piece), Some(8));
    }
}
