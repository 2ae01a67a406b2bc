//! Threads of their own for what makes a cluster live: however much there is to do, those that answer requests are free.

use std::io;
use std::time::Duration;

use tokio::runtime::{Builder, EnterGuard, Runtime};

/// How long what runs may take to end when the cluster is stopped; what takes longer ends with the process.
const LONGEST_END: Duration = Duration::from_secs(2);

/// The threads; what runs on them ends when this is dropped.
#[derive(Debug)]
pub struct Threads {
    /// There until the end.
    runtime: Option<Runtime>,
}

impl Threads {
    /// Starts threads: half as many as there are processors, so that requests always find one.
    pub fn start() -> io::Result<Self> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = Builder::new_multi_thread()
            .thread_name("controllers")
            .worker_threads((processors / 2).max(1))
            .enable_all()
            .build()?;
        Ok(Self {
            runtime: Some(runtime),
        })
    }

    /// Has what is spawned run on these threads, until the guard is dropped.
    pub fn enter(&self) -> Option<EnterGuard<'_>> {
        self.runtime.as_ref().map(Runtime::enter)
    }

    /// Waits until what runs has ended, for a while.
    pub async fn stop(mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Waiting takes a thread, which the caller's runtime has for that.
            let ending = tokio::task::spawn_blocking(move || runtime.shutdown_timeout(LONGEST_END));
            let _ = ending.await;
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Whoever drops this may be a task of another runtime, which mustn't wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_spawned_runs_on_threads_of_its_own_and_ends_with_them() {
        let threads = Threads::start().expect("threads");
        let here = std::thread::current().id();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let task = {
            let _entered = threads.enter();
            tokio::spawn(async move {
                let _ = sender.send(std::thread::current().id());
                std::future::pending::<()>().await;
            })
        };
        // The task runs although this thread, the only one of the test's runtime, waits for it.
        let there =
            std::thread::scope(|scope| scope.spawn(|| receiver.blocking_recv()).join().expect("no panic"));
        assert_ne!(there.expect("it ran"), here);
        threads.stop().await;
        assert!(task.await.expect_err("it was ended").is_cancelled());
    }

    #[tokio::test]
    async fn threads_are_dropped_within_a_task() {
        drop(Threads::start().expect("threads"));
    }
}
