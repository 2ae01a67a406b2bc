//! The signals by which a person or the system asks a program that serves a cluster to stop: at the first one it ends in order, at
//! the second one at once.

use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::failure::Failure;
use crate::leadership::becomes_true;
use crate::terminal::Terminal;

/// The exit codes with which shells report a program that Ctrl-C, or a request to terminate, ended.
const INTERRUPTED: i32 = 130;
const TERMINATED: i32 = 143;

/// What is done before the program ends at once.
type Leftovers = Arc<Mutex<Vec<Box<dyn FnOnce() + Send>>>>;

/// Hears signals for as long as the process lives.
pub(crate) struct StopSignals {
    asked: watch::Receiver<bool>,
    leftovers: Leftovers,
}

impl StopSignals {
    /// Listens from now on.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let failed = |error| Failure::new(format!("cannot listen for signals: {error}"));
        // A thread and an event loop of its own: signals are heard while everything else computes, and while the event loop of the
        // program waits for its last threads.
        let event_loop = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let mut heard = {
            let _within = event_loop.enter();
            Heard {
                interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
                terminate: signal(SignalKind::terminate()).map_err(failed)?,
            }
        };
        let (say_asked, asked) = watch::channel(false);
        let leftovers = Leftovers::default();
        let at_the_end = Arc::clone(&leftovers);
        let hearing = move || {
            event_loop.block_on(heard.next());
            say_asked.send_replace(true);
            let code = event_loop.block_on(heard.next());
            Terminal::new().remark("stopping at once");
            let leftovers = std::mem::take(&mut *at_the_end.lock().unwrap_or_else(PoisonError::into_inner));
            for clear in leftovers {
                clear();
            }
            // Nothing stored is lost by that: the store is whole after every write.
            process::exit(code);
        };
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(hearing)
            .map_err(failed)?;
        Ok(Self { asked, leftovers })
    }

    /// Waits until the program is asked to stop, or returns at once if it was.
    pub(crate) async fn asked(&self) {
        becomes_true(self.asked.clone()).await;
    }

    /// Has something done before the program ends at once, unless this value is gone by then: files that others would take for those
    /// of a process that lives.
    pub(crate) fn before_ending_at_once(&self, clear: impl FnOnce() + Send + 'static) {
        let mut leftovers = self.leftovers.lock().unwrap_or_else(PoisonError::into_inner);
        leftovers.push(Box::new(clear));
    }
}

impl Drop for StopSignals {
    fn drop(&mut self) {
        // What was to be cleared is cleared, and may be another process's by the time of a second signal.
        let leftovers = std::mem::take(&mut *self.leftovers.lock().unwrap_or_else(PoisonError::into_inner));
        drop(leftovers);
    }
}

/// The signals, one after the other.
struct Heard {
    interrupt: Signal,
    terminate: Signal,
}

impl Heard {
    /// Waits for the next signal; returns the exit code of a program that it ends.
    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => INTERRUPTED,
            _ = self.terminate.recv() => TERMINATED,
        }
    }
}
