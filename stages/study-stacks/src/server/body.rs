//! The body of an answer, piece by piece.

use super::object::Object;
use super::service::Service;
use crate::error::StackError;
use crate::payload::Payload;
use bytes::Bytes;
use std::sync::Arc;

/// Largest piece that is made at once: HTTP/2's default frame.
const PIECE: u64 = 16_384;

#[derive(Debug)]
enum Source {
    Whole(Option<Bytes>),
    Made { payload: Payload, at: u64, length: u64 },
    Passing { object: Arc<Object>, at: u64 },
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct ReplyBody {
    source: Source,
    service: Option<Arc<Service>>,
}

impl ReplyBody {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self { source: Source::Whole((!bytes.is_empty()).then_some(bytes)), service: None }
    }
    pub(crate) fn made(payload: Payload, length: u64, service: Arc<Service>) -> Self {
        Self { source: Source::Made { payload, at: 0, length }, service: Some(service) }
    }
    pub(crate) fn passing(object: Arc<Object>, service: Arc<Service>) -> Self {
        Self { source: Source::Passing { object, at: 0 }, service: Some(service) }
    }

    /// The next piece; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, StackError>> {
        let piece = match &mut self.source {
            Source::Whole(bytes) => bytes.take().map(Ok),
            Source::Made { at, length, .. } if at == length => None,
            Source::Made { payload, at, length } => {
                let piece = payload.piece(*at, usize::try_from((*length - *at).min(PIECE)).unwrap_or_default());
                *at += piece.len() as u64;
                Some(Ok(piece))
            }
            Source::Passing { object, at } => {
                let piece = object.piece(*at).await;
                if let Some(Ok(bytes)) = &piece {
                    *at += bytes.len() as u64;
                }
                piece
            }
        };
        if let Some(service) = &self.service {
            match &piece {
                Some(Ok(bytes)) => service.counting.bytes_sent.add(bytes.len() as u64),
                Some(Err(_)) => service.counting.errors.one(),
                None => {}
            }
        }
        piece
    }
}
