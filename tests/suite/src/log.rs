//! What happens in a case: a file of its own, written as it happens, and the words in which it panicked.

use std::fmt::Display;
use std::fs::File;
use std::io::Write as _;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::Instant;

use futures_util::FutureExt as _;

tokio::task_local! {
    /// The log of the case that is played.
    static LOG: Log;
}

/// Says something that belongs to the case that is played: it goes into the log of the case. Outside of a case, and in tasks that
/// a case has spawned, it goes to the standard error.
pub fn say(text: impl Display) {
    Log::current().note(text);
}

/// Runs what may panic. The panic is the error, with its place, and isn't printed.
pub async fn caught<F: Future>(body: F) -> Result<F::Output, String> {
    Log::current().caught(body).await
}

/// The log of a case.
#[derive(Clone)]
pub(crate) struct Log(Arc<Inner>);

struct Inner {
    begun: Instant,
    file: Option<Mutex<File>>,
    /// In which words the case panicked, and where.
    last_words: Mutex<String>,
}

impl Log {
    /// A log in a file, which is made anew.
    pub(crate) fn create(path: &Path) -> std::io::Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        Ok(Self::of(Some(File::create(path)?)))
    }

    /// A log of its own for what is no case: the standard error.
    fn nowhere() -> Self {
        Self::of(None)
    }

    fn of(file: Option<File>) -> Self {
        Self(Arc::new(Inner {
            begun: Instant::now(),
            file: file.map(Mutex::new),
            last_words: Mutex::default(),
        }))
    }

    /// The log of the case that is played here.
    pub(crate) fn current() -> Self {
        LOG.try_with(Self::clone).unwrap_or_else(|_| Self::nowhere())
    }

    pub(crate) fn note(&self, text: impl Display) {
        match &self.0.file {
            Some(file) => {
                let seconds = self.0.begun.elapsed().as_secs_f32();
                // Where the disk is full, the case goes on.
                writeln!(held(file), "{seconds:8.2} s  {text}").ok();
            }
            None => eprintln!("{text}"),
        }
    }

    /// Runs what may panic and what may say something.
    pub(crate) async fn caught<F: Future>(&self, body: F) -> Result<F::Output, String> {
        note_panics();
        let played = LOG.scope(self.clone(), AssertUnwindSafe(body).catch_unwind());
        played.await.map_err(|_| self.last_words())
    }

    /// The same for what doesn't wait.
    pub(crate) fn caught_at_once<T>(&self, body: impl FnOnce() -> T) -> Result<T, String> {
        note_panics();
        let played = || std::panic::catch_unwind(AssertUnwindSafe(body));
        LOG.sync_scope(self.clone(), played)
            .map_err(|_| self.last_words())
    }

    fn last_words(&self) -> String {
        held(&self.0.last_words).clone()
    }
}

/// Leaves the words and the place of a panic in the log of its case; elsewhere it is told as usual.
fn note_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let message = panic.payload_as_str().unwrap_or("a panic without words");
            let place = panic
                .location()
                .map(|place| format!("\n(at {}:{})", place.file(), place.line()));
            let words = format!("{message}{}", place.unwrap_or_default());
            let noted = LOG.try_with(|log| {
                if log.0.file.is_some() {
                    log.note(&words);
                }
                *held(&log.0.last_words) = words;
            });
            if noted.is_err() {
                usual(panic);
            }
        }));
    });
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{Log, caught, say};

    #[tokio::test]
    async fn a_panic_is_an_error_with_its_place() {
        async fn is_one(number: u8) -> u8 {
            tokio::task::yield_now().await;
            assert!(number == 1, "{number} is wrong");
            number
        }
        let words = caught(is_one(2)).await.expect_err("it panicked");
        let (text, place) = words.split_once('\n').expect("two lines");
        assert_eq!(text, "2 is wrong");
        assert!(place.starts_with("(at ") && place.contains("log.rs:"), "{place}");
        assert_eq!(caught(is_one(1)).await, Ok(1));
    }

    #[tokio::test]
    async fn what_a_case_says_is_in_its_file_and_what_another_says_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join("deeper").join(name);
        let (one, other) = (
            Log::create(&path("one")).expect("made"),
            Log::create(&path("other")).expect("made"),
        );
        let at_once = one.caught(async {
            say("first");
            tokio::task::yield_now().await;
            panic!("last");
        });
        let blocking = other.caught_at_once(|| say(format_args!("{}", 2)));
        assert!(at_once.await.is_err());
        assert_eq!(blocking, Ok(()));
        let said = |name: &str| std::fs::read_to_string(path(name)).expect("a log");
        let lines = |name: &str| -> Vec<String> {
            let text = said(name);
            let after = |line: &str| {
                line.split_once(" s  ")
                    .map_or_else(|| line.to_owned(), |(_, text)| text.to_owned())
            };
            text.lines().map(after).collect()
        };
        assert_eq!(lines("one")[..2], ["first", "last"]);
        assert_eq!(lines("other"), ["2"]);
    }
}
