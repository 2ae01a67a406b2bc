//! A case: one thing that holds or doesn't, with a name by which it is picked.

use std::fmt::Display;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::log::Log;

/// How a case ended; the error is why it doesn't hold.
pub type Outcome = Result<(), String>;

/// What a case may end with: nothing at all, where it panics if it doesn't hold, or a result whose error is the reason.
pub trait Ending {
    /// Says it as an outcome.
    fn outcome(self) -> Outcome;
}

impl Ending for () {
    fn outcome(self) -> Outcome {
        Ok(())
    }
}

impl<E: Display> Ending for Result<(), E> {
    fn outcome(self) -> Outcome {
        self.map_err(|reason| reason.to_string())
    }
}

type Playing = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// One thing that holds or doesn't, told of a ground, such as a server.
pub struct Case<G> {
    pub(crate) name: String,
    pub(crate) limit: Option<Duration>,
    play: Arc<dyn Fn(Arc<G>) -> Playing + Send + Sync>,
}

impl<G: Send + Sync + 'static> Case<G> {
    /// A case that mostly waits.
    pub fn new<F>(name: impl Into<String>, play: impl Fn(Arc<G>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output: Ending> + Send + 'static,
    {
        Self {
            name: one_word(&name.into()),
            limit: None,
            play: Arc::new(move |ground| {
                let playing = play(ground);
                Box::pin(async move { playing.await.outcome() })
            }),
        }
    }

    /// A case that holds up its thread, as those do that wait for programs. What hasn't ended at its limit can't be stopped; it
    /// goes on, with its thread, until the suite ends.
    pub fn blocking<E: Ending>(
        name: impl Into<String>,
        play: impl Fn(&G) -> E + Send + Sync + 'static,
    ) -> Self {
        let play = Arc::new(play);
        Self {
            name: one_word(&name.into()),
            limit: None,
            play: Arc::new(move |ground| {
                let play = Arc::clone(&play);
                Box::pin(async move {
                    let log = Log::current();
                    let playing = move || log.caught_at_once(|| play(&ground).outcome());
                    let played = tokio::task::spawn_blocking(playing).await;
                    played.map_err(|stopped| stopped.to_string()).flatten().flatten()
                })
            }),
        }
    }

    /// The same case, with another limit than its group has.
    #[must_use]
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    pub(crate) fn play(&self, ground: Arc<G>) -> impl Future<Output = Outcome> + Send + use<G> {
        let play = Arc::clone(&self.play);
        // Within the future, so that a panic before its first rest is caught as well.
        async move { play(ground).await }
    }
}

/// Names are one word, so that they can be typed without quotes.
pub(crate) fn one_word(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join("_")
}

/// Cases for a group that shares nothing: functions without arguments that are to be awaited, each named as it is.
#[macro_export]
macro_rules! cases {
    ($($($path:ident)::+),* $(,)?) => {
        [$($crate::Case::new($crate::last_name(stringify!($($path)::+)), |_| $($path)::+())),*]
    };
}

/// The same for functions that hold up their thread.
#[macro_export]
macro_rules! blocking_cases {
    ($($($path:ident)::+),* $(,)?) => {
        [$($crate::Case::blocking($crate::last_name(stringify!($($path)::+)), |()| $($path)::+())),*]
    };
}

/// The last name of a path, for the macros of this crate.
#[doc(hidden)]
pub fn last_name(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path).trim()
}
