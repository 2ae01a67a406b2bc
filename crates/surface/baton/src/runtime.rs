//! The event loop for commands that talk to the network, and the signals that end it.

use std::future::Future;

use crate::failure::Failure;

/// Runs a command's future to its end.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start the event loop: {error}")))?
        .block_on(future)
}

/// Listens for being asked to stop from now on; what it returns is done when that happens.
pub(crate) fn stop_signal() -> Result<impl Future<Output = ()>, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let failed = |error| Failure::new(format!("cannot listen for signals: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
