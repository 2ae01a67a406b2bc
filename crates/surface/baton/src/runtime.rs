//! The event loop for commands that talk to the network, and the signals that end it.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Failure;

/// How long work that computes on threads of its own may go on when everything else has ended. Nobody waits for it any more, and
/// with the grace of [`crate::hosted_stage`] it stays within the five seconds in which a server is to end.
const THREADS_END_WITHIN: Duration = Duration::from_millis(500);

/// Runs a command's future to its end.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    start()?.block_on(future)
}

/// Runs a server's future to its end. What somebody asked of the server may still be computed then, for however long; it is left to
/// the end of the process.
pub(crate) fn block_on_server<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = start()?;
    let outcome = runtime.block_on(future);
    runtime.shutdown_timeout(THREADS_END_WITHIN);
    outcome
}

fn start() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start the event loop: {error}")))
}

/// Listens for being asked to stop from now on; what it returns is done when that happens.
pub(crate) fn stop_signal() -> Result<impl Future<Output = ()>, Failure> {
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
