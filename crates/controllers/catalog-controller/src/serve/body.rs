//! Bodies of answers: pieces of mapped files that are sent without being copied.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

use crate::metrics::Metrics;

/// Pieces that are sent one after the other.
pub(super) struct Pieces {
    left: VecDeque<Bytes>,
    length: u64,
}

impl Pieces {
    pub(super) fn new(pieces: impl IntoIterator<Item = Bytes>) -> Self {
        let left: VecDeque<Bytes> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
        let length = left.iter().map(|piece| piece.len() as u64).sum();
        Self { left, length }
    }
}

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(self.left.pop_front().map(|piece| {
            self.length -= piece.len() as u64;
            Ok(Frame::data(piece))
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

/// A body that tells how long the request took when the last of it was sent, or the client went away.
pub(super) struct Timed {
    pub(super) inner: Body,
    pub(super) metrics: Arc<Metrics>,
    pub(super) status: u16,
    pub(super) begun: Instant,
}

impl Drop for Timed {
    fn drop(&mut self) {
        self.metrics.request(self.status, self.begun.elapsed());
    }
}

impl HttpBody for Timed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.inner).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
