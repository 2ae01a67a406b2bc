//! Cases that are played beside each other, and the ground that they are played on.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::LocalBoxFuture;
use futures_util::{StreamExt as _, stream};

use crate::case::{Case, Outcome, one_word};
use crate::log::{Log, caught};
use crate::report;

/// How long a ground may take to open. A real Kubernetes on a machine that is busy otherwise takes three minutes.
const OPENED_WITHIN: Duration = Duration::from_mins(6);

/// How long a case may take, unless its group says otherwise: it is only used up when something hangs.
const USUAL_LIMIT: Duration = Duration::from_mins(5);

type Waiting<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Opening<G> = Box<dyn Fn() -> Waiting<Result<G, String>> + Send + Sync>;
type Clearing<G> = Box<dyn Fn(Arc<G>) -> Waiting<Outcome> + Send + Sync>;

/// Cases of one kind: what they are played on, how many at once, and for how long.
pub struct Group<G> {
    name: String,
    at_once: usize,
    limit: Duration,
    is_shared: bool,
    open: Opening<G>,
    clear: Option<Clearing<G>>,
    last_words: fn(&G) -> String,
    cases: Vec<Case<G>>,
}

impl Group<()> {
    /// Cases that share nothing and bring along what they need.
    pub fn free(name: impl Into<String>) -> Self {
        Self::apart(name, async || Ok(()))
    }
}

impl<G: Send + Sync + 'static> Group<G> {
    /// Cases that share one ground, such as a server on which each has names of its own.
    pub fn shared<F>(name: impl Into<String>, open: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<G, String>> + Send + 'static,
    {
        Self::new(name, true, open)
    }

    /// Cases that each have a ground for themselves.
    pub fn apart<F>(name: impl Into<String>, open: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<G, String>> + Send + 'static,
    {
        Self::new(name, false, open)
    }

    fn new<F>(name: impl Into<String>, is_shared: bool, open: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<G, String>> + Send + 'static,
    {
        Self {
            name: one_word(&name.into()),
            at_once: 1,
            limit: USUAL_LIMIT,
            is_shared,
            open: Box::new(move || Box::pin(open())),
            clear: None,
            last_words: |_| String::new(),
            cases: Vec::new(),
        }
    }

    /// How many cases are played at once; one after the other, unless this is said.
    #[must_use]
    pub fn at_once(mut self, cases: usize) -> Self {
        self.at_once = cases.max(1);
        self
    }

    /// How long each case may take.
    #[must_use]
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Lets a ground that one case has for itself serve another one after it, where that is quicker than to open a new one:
    /// `clear` takes away what the first left behind. Where it can't, and after a case that failed, a new one is opened.
    #[must_use]
    pub fn cleared_by<F>(mut self, clear: impl Fn(Arc<G>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        self.clear = Some(Box::new(move |ground| Box::pin(clear(ground))));
        self
    }

    /// What a ground has to say when a case on it fails, such as the end of a server's log.
    #[must_use]
    pub fn last_words(mut self, last_words: fn(&G) -> String) -> Self {
        self.last_words = last_words;
        self
    }

    /// One more case.
    #[must_use]
    pub fn case(mut self, case: Case<G>) -> Self {
        self.cases.push(case);
        self
    }

    /// More cases; they begin in this order.
    #[must_use]
    pub fn cases(mut self, cases: impl IntoIterator<Item = Case<G>>) -> Self {
        self.cases.extend(cases);
        self
    }

    /// Opens a ground.
    async fn opened(&self) -> Result<Arc<G>, String> {
        let opening = tokio::time::timeout(OPENED_WITHIN, caught((self.open)())).await;
        let opened = opening
            .map_err(|_| format!("not after {} s", OPENED_WITHIN.as_secs()))
            .flatten();
        let ground = opened
            .flatten()
            .map_err(|reason| format!("there is nothing to play it on: {reason}"));
        ground.map(Arc::new)
    }

    /// Plays one case on a ground.
    async fn played(&self, entry: &Entry, ground: &Arc<G>, log: &Log) -> Attempt {
        let begun = Instant::now();
        let Some(case) = self.cases.get(entry.case) else {
            return Attempt::not_begun(format!("there is no case {}", entry.case));
        };
        let limit = case.limit.unwrap_or(self.limit);
        let (playing, in_task) = (case.play(Arc::clone(ground)), log.clone());
        let task = tokio::spawn(async move { in_task.caught(playing).await.flatten() });
        let stop = task.abort_handle();
        let outcome = if let Ok(ended) = tokio::time::timeout(limit, task).await {
            ended.map_err(|stopped| stopped.to_string()).flatten()
        } else {
            stop.abort();
            Err(format!("not done after its {} s", limit.as_secs()))
        };
        let elapsed = begun.elapsed();
        if let Err(reason) = &outcome {
            log.note(format_args!("FAILED: {reason}"));
            let words = (self.last_words)(ground);
            if !words.is_empty() {
                log.note(format_args!("the last words of what it was played on:\n{words}"));
            }
        }
        Attempt {
            outcome,
            elapsed,
            is_begun: true,
        }
    }

    /// Plays one case on a ground that is opened for it, or that another case has left.
    async fn played_apart(&self, entry: &Entry, log: &Path, spare: &Mutex<Vec<Arc<G>>>) -> Attempt {
        let log = match Log::create(log) {
            Ok(log) => log,
            Err(error) => return Attempt::not_begun(format!("{}: {error}", log.display())),
        };
        let found = spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let ground = match found {
            Some(ground) => ground,
            None => match log.caught(self.opened()).await.flatten() {
                Ok(ground) => ground,
                Err(reason) => {
                    log.note(format_args!("FAILED: {reason}"));
                    return Attempt {
                        outcome: Err(reason),
                        elapsed: Duration::ZERO,
                        is_begun: true,
                    };
                }
            },
        };
        let attempt = self.played(entry, &ground, &log).await;
        if let (Some(clear), Ok(())) = (&self.clear, &attempt.outcome) {
            match log.caught(clear(Arc::clone(&ground))).await.flatten() {
                Ok(()) => {
                    spare.lock().unwrap_or_else(PoisonError::into_inner).push(ground);
                    return attempt;
                }
                Err(left) => log.note(format_args!("the next case gets another ground: {left}")),
            }
        }
        close(ground).await;
        attempt
    }

    async fn beside_others_on_one(&self, entries: Vec<Entry>) -> Vec<(Entry, Attempt)> {
        // Twice, as a case that fails: what a server fails to start of once, it may not the next time.
        let opened = match self.opened().await {
            Ok(ground) => Ok(ground),
            Err(reason) => {
                eprintln!("{}: {reason}; once more", self.name);
                self.opened().await
            }
        };
        let ground = match opened {
            Ok(ground) => ground,
            Err(reason) => {
                let not_begun = |entry| (entry, Attempt::not_begun(reason.clone()));
                return entries.into_iter().map(not_begun).collect();
            }
        };
        let playing = entries.into_iter().map(async |entry| {
            let attempt = match Log::create(&entry.log) {
                Ok(log) => self.played(&entry, &ground, &log).await,
                Err(error) => Attempt::not_begun(format!("{}: {error}", entry.log.display())),
            };
            tell(&entry.title, &attempt);
            (entry, attempt)
        });
        let attempts = stream::iter(playing).buffer_unordered(self.at_once);
        let attempts = attempts.collect().await;
        close(ground).await;
        attempts
    }

    async fn beside_others_apart(&self, entries: Vec<Entry>) -> Vec<(Entry, Attempt)> {
        let spare = Mutex::default();
        let playing = entries.into_iter().map(async |entry| {
            let attempt = self.played_apart(&entry, &entry.log, &spare).await;
            tell(&entry.title, &attempt);
            (entry, attempt)
        });
        let attempts = stream::iter(playing).buffer_unordered(self.at_once);
        let attempts = attempts.collect().await;
        for ground in spare.into_inner().unwrap_or_else(PoisonError::into_inner) {
            close(ground).await;
        }
        attempts
    }
}

/// Ends a ground that nobody plays on any more; that may hold up a thread, as waiting for a program's end does.
async fn close<G: Send + Sync + 'static>(ground: Arc<G>) {
    tokio::task::spawn_blocking(move || drop(ground)).await.ok();
}

fn tell(title: &str, attempt: &Attempt) {
    println!("{}", report::line(title, &attempt.outcome, attempt.elapsed));
}

/// A case that is to be played.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Its place in its group.
    pub(crate) case: usize,
    /// `suite::group::case`.
    pub(crate) title: String,
    pub(crate) log: PathBuf,
}

/// What came of playing a case once.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) outcome: Outcome,
    pub(crate) elapsed: Duration,
    /// Whether it was played at all. What never began for want of a ground won't begin the next time.
    pub(crate) is_begun: bool,
}

impl Attempt {
    fn not_begun(reason: String) -> Self {
        Self {
            outcome: Err(reason),
            elapsed: Duration::ZERO,
            is_begun: false,
        }
    }
}

/// A group, whatever its ground is.
pub(crate) trait Playable {
    /// Its name.
    fn name(&self) -> &str;

    /// The names of its cases.
    fn case_names(&self) -> Vec<&str>;

    /// Plays cases beside each other and tells of each as it ends.
    fn beside_others(&self, entries: Vec<Entry>) -> LocalBoxFuture<'_, Vec<(Entry, Attempt)>>;

    /// Plays a case on a fresh ground, and what it says goes into another log.
    fn alone<'a>(&'a self, entry: &'a Entry, log: &'a Path) -> LocalBoxFuture<'a, Attempt>;
}

impl<G: Send + Sync + 'static> Playable for Group<G> {
    fn name(&self) -> &str {
        &self.name
    }

    fn case_names(&self) -> Vec<&str> {
        self.cases.iter().map(|case| case.name.as_str()).collect()
    }

    fn beside_others(&self, entries: Vec<Entry>) -> LocalBoxFuture<'_, Vec<(Entry, Attempt)>> {
        if self.is_shared {
            Box::pin(self.beside_others_on_one(entries))
        } else {
            Box::pin(self.beside_others_apart(entries))
        }
    }

    fn alone<'a>(&'a self, entry: &'a Entry, log: &'a Path) -> LocalBoxFuture<'a, Attempt> {
        Box::pin(async move {
            let attempt = self.played_apart(entry, log, &Mutex::default()).await;
            tell(&format!("{}, alone", entry.title), &attempt);
            attempt
        })
    }
}
