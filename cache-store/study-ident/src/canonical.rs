//! The canonical encoding: typed, length-prefixed, versioned.
//!
//! Every value is written as a type tag followed by a fixed-size or length-prefixed body, so that no two different
//! documents share an encoding. Map entries are sorted by key. Floats enter by their IEEE bits; `-0.0` is written as
//! `0.0`, and NaN cannot occur (JSON has none).

use crate::Digest;
use serde_json::Value;

/// Changed whenever the encoding changes, so that old and new keys never meet.
const FORMAT: u32 = 1;

/// Feeds typed, length-prefixed values into blake3.
pub struct CanonicalHasher(blake3::Hasher);

impl CanonicalHasher {
    /// A hasher for one purpose; `domain` separates purposes (`"action-key"`, `"frame"`).
    #[must_use]
    pub fn new(domain: &str) -> Self {
        let mut hasher = Self(blake3::Hasher::new());
        hasher.uint(u64::from(FORMAT));
        hasher.text(domain);
        hasher
    }
    /// Raw bytes, length first.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.tag(b'b');
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }
    /// A part of a longer run of bytes whose framing is the caller's: the split into parts does not matter.
    pub fn bytes_unframed(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
    /// Text, length first.
    pub fn text(&mut self, text: &str) {
        self.tag(b's');
        self.0.update(&(text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }
    /// An unsigned integer.
    pub fn uint(&mut self, value: u64) {
        self.tag(b'u');
        self.0.update(&value.to_le_bytes());
    }
    /// A digest.
    pub fn digest(&mut self, digest: &Digest) {
        self.tag(b'd');
        self.0.update(digest.as_bytes());
    }
    /// A JSON document of parameters, maps in key order.
    pub fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.tag(b'n'),
            Value::Bool(b) => self.tag(if *b { b'T' } else { b'F' }),
            Value::Number(n) => self.number(n),
            Value::String(s) => self.text(s),
            Value::Array(items) => {
                self.tag(b'[');
                self.uint(items.len() as u64);
                items.iter().for_each(|item| self.value(item));
            }
            Value::Object(map) => {
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_by_key(|(key, _)| key.as_str());
                self.tag(b'{');
                self.uint(entries.len() as u64);
                for (key, item) in entries {
                    self.text(key);
                    self.value(item);
                }
            }
        }
    }
    /// The digest of all that was fed.
    #[must_use]
    pub fn finish(&self) -> Digest {
        Digest::from_bytes(*self.0.finalize().as_bytes())
    }
    fn number(&mut self, n: &serde_json::Number) {
        if let Some(u) = n.as_u64() {
            self.uint(u);
        } else if let Some(i) = n.as_i64() {
            self.tag(b'i');
            self.0.update(&i.to_le_bytes());
        } else {
            self.tag(b'f');
            self.0.update(&(n.as_f64().unwrap_or(0.0) + 0.0).to_bits().to_le_bytes());
        }
    }
    fn tag(&mut self, tag: u8) {
        self.0.update(&[tag]);
    }
}

/// The digest of one JSON document under a domain.
#[must_use]
pub fn canonical_digest(domain: &str, value: &Value) -> Digest {
    let mut hasher = CanonicalHasher::new(domain);
    hasher.value(value);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn key_order_does_not_matter_and_every_value_does() {
        let of = |v: Value| canonical_digest("t", &v);
        assert_eq!(of(json!({"a": 1, "b": 2})), of(json!({"b": 2, "a": 1})));
        let all = [
            json!(1),
            json!(1.5),
            json!("1"),
            json!(null),
            json!(true),
            json!([1]),
            json!([[1]]),
            json!({"a": 1}),
            json!(["a", 1]),
        ];
        for (i, a) in all.iter().enumerate() {
            for b in &all[i + 1..] {
                assert_ne!(of(a.clone()), of(b.clone()), "{a} {b}");
            }
        }
        assert_ne!(of(json!(["ab", "c"])), of(json!(["a", "bc"])), "lengths are part of the encoding");
        assert_ne!(canonical_digest("t", &json!(1)), canonical_digest("u", &json!(1)), "domains are apart");
    }
}
