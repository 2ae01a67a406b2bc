//! The events of a watch, one JSON document per line.

use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use serde_json::Value;

/// Cuts a stream of bytes into the documents it carries.
pub struct Events {
    chunks: Pin<Box<dyn Stream<Item = Result<Bytes, String>> + Send>>,
    pending: Vec<u8>,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Events")
            .field("pending", &self.pending.len())
            .finish_non_exhaustive()
    }
}

impl Events {
    /// Reads events from a body.
    pub fn new<E: std::fmt::Debug + 'static>(
        chunks: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    ) -> Self {
        let chunks = chunks.map(|chunk| chunk.map_err(|error| format!("{error:?}")));
        Self {
            chunks: Box::pin(chunks),
            pending: Vec::new(),
        }
    }

    /// The next event, or nothing when the server has ended the watch.
    pub async fn next(&mut self) -> Option<Result<Value, String>> {
        loop {
            if let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                if line.trim_ascii().is_empty() {
                    continue;
                }
                return Some(serde_json::from_slice(&line).map_err(|error| {
                    format!(
                        "an event that is not JSON ({error}): {}",
                        String::from_utf8_lossy(&line)
                    )
                }));
            }
            match self.chunks.next().await {
                Some(Ok(chunk)) => self.pending.extend_from_slice(&chunk),
                Some(Err(error)) => return Some(Err(error)),
                None if self.pending.trim_ascii().is_empty() => return None,
                None => self.pending.push(b'\n'),
            }
        }
    }
}
