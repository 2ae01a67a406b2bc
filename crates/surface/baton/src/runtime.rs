//! The event loop for commands that talk to the network, and the signals that end it.

use std::future::Future;

use tokio::signal::unix::{Signal, SignalKind, signal};

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
    let mut signals = StopSignals::listen()?;
    Ok(async move { signals.next().await })
}

/// The signals by which a person or the system asks a program to stop.
pub(crate) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    /// Listens from now on.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let failed = |error| Failure::new(format!("cannot listen for signals: {error}"));
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
        })
    }

    /// Waits until the program is asked to stop, the first time or once more.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
