//! Where bodies go: counted and compared, not kept.

use crate::error::StackError;
use crate::payload::{ObjectId, Payload};

/// Bytes of a body that is kept because it is no object.
const KEPT: usize = 65_536;

/// The end of one body.
#[derive(Debug)]
pub(crate) struct Sink {
    object: Option<(Payload, u64)>,
    got: u64,
    kept: Vec<u8>,
}

impl Sink {
    /// The sink of what `path` asks for.
    pub(crate) fn new(path: &str) -> Self {
        let object = ObjectId::parse(path).map(|(id, bytes)| (id.payload(), bytes));
        Self { object, got: 0, kept: Vec::new() }
    }
    /// Whether bytes are compared.
    pub(crate) const fn verifies(&self) -> bool {
        self.object.is_some()
    }
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(), StackError> {
        let at = self.got;
        self.got += bytes.len() as u64;
        match self.object {
            Some((_, length)) if self.got > length => Err(StackError::Length { got: self.got, expected: length }),
            Some((payload, _)) => {
                payload.first_difference(at, bytes).map_or(Ok(()), |at| Err(StackError::Corrupt { at }))
            }
            None => {
                self.kept.extend_from_slice(&bytes[..bytes.len().min(KEPT.saturating_sub(self.kept.len()))]);
                Ok(())
            }
        }
    }
    /// The body is over; `promised` is what the headers said.
    pub(crate) fn end(&self, promised: Option<u64>) -> Result<(), StackError> {
        let asked = self.object.map(|(_, length)| length);
        match asked.or(promised).filter(|expected| *expected != self.got) {
            Some(expected) => Err(StackError::Length { got: self.got, expected }),
            None => Ok(()),
        }
    }
    /// What was kept, as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.kept).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: ObjectId = ObjectId { title: 1, segment: 2, rung: 3 };

    #[test]
    fn the_right_bytes_pass_in_any_pieces() {
        let mut sink = Sink::new(&ID.path(100));
        for (at, length) in [(0, 1), (1, 50), (51, 49)] {
            sink.take(&ID.payload().piece(at, length)).unwrap();
        }
        assert!(sink.verifies() && sink.end(Some(100)).is_ok());
    }

    #[test]
    fn wrong_missing_and_surplus_bytes_are_errors_with_their_place() {
        let mut sink = Sink::new(&ID.path(100));
        let mut bytes = ID.payload().piece(0, 60).to_vec();
        bytes[42] ^= 1;
        assert_eq!(sink.take(&bytes), Err(StackError::Corrupt { at: 42 }));
        let mut short = Sink::new(&ID.path(100));
        short.take(&ID.payload().piece(0, 60)).unwrap();
        assert_eq!(short.end(None), Err(StackError::Length { got: 60, expected: 100 }));
        assert_eq!(short.take(&ID.payload().piece(60, 41)), Err(StackError::Length { got: 101, expected: 100 }));
    }

    #[test]
    fn what_is_no_object_is_kept_as_text() {
        let mut sink = Sink::new("/health");
        sink.take(b"o").unwrap();
        sink.take(b"k").unwrap();
        assert_eq!((sink.text().as_str(), sink.verifies(), sink.end(Some(2)).is_ok()), ("ok", false, true));
        assert_eq!(sink.end(Some(3)), Err(StackError::Length { got: 2, expected: 3 }));
    }
}
