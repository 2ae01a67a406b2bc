//! Connections whose other end no longer reads.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// How long what is sent to a watcher may lie unread before the watcher is dropped. By then it has missed so much that
/// it has to begin anew in any case.
const WATCHER_PATIENCE: Duration = Duration::from_mins(1);

/// Whether a connection is given up when its other end doesn't read. A log may be read as slowly as one likes.
#[derive(Debug, Clone, Default)]
pub(super) struct Impatience(Arc<AtomicBool>);

impl Impatience {
    pub(super) fn set(&self, impatient: bool) {
        self.0.store(impatient, Ordering::Relaxed);
    }
}

/// A connection that fails when nothing can be written to it for a while, as long as it is impatient.
#[derive(Debug)]
pub(super) struct Impatient<S> {
    stream: S,
    impatience: Impatience,
    patience: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Impatient<S> {
    pub(super) fn new(stream: S) -> (Self, Impatience) {
        let impatience = Impatience::default();
        let patient = Self {
            stream,
            impatience: impatience.clone(),
            patience: WATCHER_PATIENCE,
            stalled: None,
        };
        (patient, impatience)
    }

    /// Looks at how a write went: one that can't go on fails when it has waited for too long.
    fn judge<T>(&mut self, context: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() || !self.impatience.0.load(Ordering::Relaxed) {
            self.stalled = None;
            return outcome;
        }
        let patience = self.patience;
        let stalled = self
            .stalled
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        ready!(stalled.as_mut().poll(context));
        self.stalled = None;
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.judge(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// Long for the test's own steps, short for whoever waits for it.
    const PATIENCE: Duration = Duration::from_millis(200);

    #[tokio::test]
    async fn a_watcher_that_reads_nothing_is_dropped_and_others_are_waited_for() {
        let (near, mut far) = tokio::io::duplex(16);
        let (mut stream, impatience) = Impatient::new(near);
        stream.patience = PATIENCE;
        let written = tokio::time::timeout(PATIENCE * 3, stream.write_all(&[0; 64])).await;
        assert!(
            written.is_err(),
            "a reader of something else has all the time there is"
        );
        impatience.set(true);
        let error = stream.write_all(&[0; 64]).await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        // Whoever reads a little from time to time is slow, and not gone.
        let reader = tokio::spawn(async move {
            let mut read = 0;
            let mut bytes = [0; 16];
            loop {
                match far.read(&mut bytes).await {
                    Ok(count) if count > 0 => read += count,
                    _ => break read,
                }
                tokio::time::sleep(PATIENCE / 8).await;
            }
        });
        stream.write_all(&[0; 64]).await.expect("somebody reads");
        drop(stream);
        assert!(reader.await.expect("a reader") >= 64);
    }
}
