//! A suite as a program: what is asked of it, and how it plays that.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::group::{Attempt, Entry, Group, Playable};
use crate::report::{self, Played};
use crate::selection::Selection;
use crate::verdict::Verdict;

/// How many cases of a group are played a second time. Where more of them fail, something is broken rather than unsteady, and a
/// fresh server for each would only keep who waits from learning so.
const AGAIN_AT_MOST: usize = 8;

/// The longest that the name of a log is made; file systems take 255 bytes.
const LONGEST_LOG_NAME: usize = 150;

const USAGE: &str = "usage: [WORD…] [--list]
  WORD    plays the cases whose title contains one of the words; all, without a word
  --list  names them instead";

/// A program that plays cases: its name, and groups that are played one after the other.
pub struct Suite {
    name: &'static str,
    groups: Vec<Box<dyn Playable>>,
}

/// What somebody asks of the program.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    words: Vec<String>,
    lists: bool,
}

impl Asked {
    /// Reads arguments; the error says how they are to be.
    fn read(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut asked = Self {
            words: Vec::new(),
            lists: false,
        };
        for argument in arguments {
            match argument.as_str() {
                "--list" => asked.lists = true,
                "-h" | "--help" => return Err(USAGE.to_owned()),
                option if option.starts_with('-') => {
                    return Err(format!("there is no option {option}\n{USAGE}"));
                }
                _ => asked.words.push(argument),
            }
        }
        Ok(asked)
    }
}

impl Suite {
    /// A suite without cases.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            groups: Vec::new(),
        }
    }

    /// The same suite with one more group, which is played after the others.
    #[must_use]
    pub fn with<G: Send + Sync + 'static>(mut self, group: Group<G>) -> Self {
        self.groups.push(Box::new(group));
        self
    }

    /// Does what the arguments of this program ask for; this is all that a `main` has to do.
    pub fn main(self) -> ExitCode {
        let asked = match Asked::read(std::env::args().skip(1)) {
            Ok(asked) => asked,
            Err(reason) => {
                eprintln!("{reason}");
                return ExitCode::from(2);
            }
        };
        let titles = self.titles();
        if let Err(reason) = distinct(&titles) {
            eprintln!("{}: {reason}", self.name);
            return ExitCode::from(2);
        }
        let selection = Selection::new(asked.words);
        if let Some(fault) = selection.fault(titles.iter().map(String::as_str)) {
            eprintln!("{}: {fault}", self.name);
            return ExitCode::from(2);
        }
        if asked.lists {
            for title in titles.iter().filter(|title| selection.picks(title)) {
                println!("{title}");
            }
            return ExitCode::SUCCESS;
        }
        let folder = logs_of(self.name);
        // What lies there is of the last time alone.
        if let Err(error) = std::fs::remove_dir_all(&folder)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            eprintln!("{}: {}: {error}", self.name, folder.display());
            return ExitCode::FAILURE;
        }
        let runtime = match tokio::runtime::Runtime::new() {
            Ok(runtime) => runtime,
            Err(error) => {
                eprintln!("{}: {error}", self.name);
                return ExitCode::FAILURE;
            }
        };
        let played = runtime.block_on(self.play(&selection, &folder));
        print!("{}", report::closing(&played));
        // Cases that can't be stopped must not hold up the end.
        runtime.shutdown_background();
        let has_failed = |case: &Played| matches!(case.verdict, Verdict::Failed { .. });
        if played.iter().any(has_failed) {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        }
    }

    /// The titles of all cases.
    fn titles(&self) -> Vec<String> {
        let groups = self.groups.iter();
        groups.flat_map(|group| self.titles_of(group.as_ref())).collect()
    }

    fn titles_of(&self, group: &dyn Playable) -> Vec<String> {
        let names = group.case_names().into_iter();
        names
            .map(|name| format!("{}::{}::{name}", self.name, group.name()))
            .collect()
    }

    /// Plays what is picked: group after group, and of each what failed once more.
    async fn play(&self, selection: &Selection, folder: &Path) -> Vec<Played> {
        let mut played = Vec::new();
        for group in &self.groups {
            let group = group.as_ref();
            let folder = folder.join(file_name(group.name()));
            let mut logs = LogNames::default();
            let mut entries = Vec::new();
            let titles = self.titles_of(group).into_iter();
            for (case, (name, title)) in group.case_names().into_iter().zip(titles).enumerate() {
                if selection.picks(&title) {
                    let log = folder.join(logs.next(name));
                    entries.push(Entry { case, title, log });
                }
            }
            if entries.is_empty() {
                continue;
            }
            println!("\n{} cases of {}::{}", entries.len(), self.name, group.name());
            let attempts = group.beside_others(entries).await;
            let mut again = AGAIN_AT_MOST;
            for (entry, attempt) in attempts {
                played.push(judged(group, entry, attempt, &mut again).await);
            }
        }
        played
    }
}

/// Says what is to be said of a case, for which it is played once more where it failed, at most `again` times.
async fn judged(group: &dyn Playable, entry: Entry, attempt: Attempt, again: &mut usize) -> Played {
    let is_repeated = attempt.outcome.is_err() && attempt.is_begun && *again > 0;
    let (mut second, mut log_again) = (None, None);
    if is_repeated {
        *again -= 1;
        let log = entry.log.with_extension("alone.log");
        second = Some(group.alone(&entry, &log).await.outcome);
        log_again = Some(log);
    }
    Played {
        group: group.name().to_owned(),
        verdict: Verdict::of(attempt.outcome, second),
        elapsed: attempt.elapsed,
        title: entry.title,
        log: entry.log,
        log_again,
    }
}

/// Two cases of one title couldn't be told apart in a report.
fn distinct(titles: &[String]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    match titles.iter().find(|title| !seen.insert(*title)) {
        Some(twice) => Err(format!("two cases are called {twice}")),
        None => Ok(()),
    }
}

/// Where the logs of a suite lie.
fn logs_of(suite: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let repository = here.ancestors().nth(2).unwrap_or(here);
    repository.join("target/suites").join(suite)
}

/// The names of the logs of a group, each different from those before it.
#[derive(Default)]
struct LogNames(BTreeMap<String, usize>);

impl LogNames {
    fn next(&mut self, case: &str) -> String {
        let name = file_name(case);
        let count = self.0.entry(name.clone()).or_default();
        *count += 1;
        match *count {
            1 => format!("{name}.log"),
            // The dot keeps it apart from any name, since names have none at that place.
            count => format!("{name}.{count}.log"),
        }
    }
}

/// A name as it can be that of a file on every system.
fn file_name(name: &str) -> String {
    let plain = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => character,
        _ => '-',
    };
    name.chars().map(plain).take(LONGEST_LOG_NAME).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::{Asked, LogNames, Suite, distinct};
    use crate::report::Played;
    use crate::verdict::Verdict;
    use crate::{Case, Group, Selection, say};

    /// A server that counts who of its kind were opened and closed.
    struct Server {
        number: usize,
        closed: Arc<AtomicUsize>,
    }

    impl Drop for Server {
        fn drop(&mut self) {
            self.closed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Servers, how many there were, and how many of them are gone.
    #[derive(Clone, Default)]
    struct Servers {
        opened: Arc<AtomicUsize>,
        closed: Arc<AtomicUsize>,
    }

    impl Servers {
        fn open(&self) -> impl Future<Output = Result<Server, String>> + Send + use<> {
            let this = self.clone();
            async move {
                Ok(Server {
                    number: this.opened.fetch_add(1, Ordering::Relaxed),
                    closed: this.closed,
                })
            }
        }

        fn counts(&self) -> (usize, usize) {
            let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
            (count(&self.opened), count(&self.closed))
        }
    }

    fn shared(servers: &Servers) -> Group<Server> {
        let servers = servers.clone();
        Group::shared("servers", move || servers.open())
    }

    fn apart(servers: &Servers) -> Group<Server> {
        let servers = servers.clone();
        Group::apart("servers", move || servers.open())
    }

    /// Holds on a server that isn't the first.
    async fn needs_a_fresh_one(server: Arc<Server>) -> Result<(), String> {
        say(format_args!("on server {}", server.number));
        if server.number > 0 {
            Ok(())
        } else {
            Err("not on the first".to_owned())
        }
    }

    async fn holds(_: Arc<Server>) {}

    async fn panics(server: Arc<Server>) {
        assert!(server.number > 9, "server {} is too young", server.number);
    }

    async fn play(suite: Suite, words: &[&str], folder: &Path) -> Vec<Played> {
        suite.play(&Selection::new(words), folder).await
    }

    fn verdicts(played: &[Played]) -> Vec<(&str, &Verdict)> {
        let mut verdicts: Vec<_> = played
            .iter()
            .map(|case| (case.title.as_str(), &case.verdict))
            .collect();
        verdicts.sort_by_key(|(title, _)| *title);
        verdicts
    }

    #[tokio::test]
    async fn what_fails_on_a_shared_server_is_played_alone_on_a_fresh_one() {
        let (servers, folder) = (Servers::default(), tempfile::tempdir().expect("a folder"));
        let cases = [
            Case::new("holds", holds),
            Case::new("needs a fresh one", needs_a_fresh_one),
            Case::new("panics", panics),
        ];
        let group = shared(&servers)
            .at_once(2)
            .cases(cases)
            .last_words(|server| format!("number {}", server.number));
        let played = play(Suite::new("s").with(group), &[], folder.path()).await;
        let [(_, passed), (title, flaky), (_, failed)] = verdicts(&played)[..] else {
            panic!("{played:?}")
        };
        assert_eq!(passed, &Verdict::Passed);
        assert_eq!(title, "s::servers::needs_a_fresh_one");
        assert_eq!(
            flaky,
            &Verdict::Flaky {
                first: "not on the first".to_owned()
            }
        );
        let Verdict::Failed {
            first,
            again: Some(again),
        } = failed
        else {
            panic!("{failed:?}")
        };
        assert!(first.starts_with("server 0 is too young\n(at "), "{first}");
        assert!(again.starts_with("server "), "{again}");
        assert_eq!(servers.counts(), (3, 3));
        let log = |name: &str| {
            let path = folder.path().join("servers").join(name);
            std::fs::read_to_string(path).expect("a log")
        };
        let (first, again) = (log("needs_a_fresh_one.log"), log("needs_a_fresh_one.alone.log"));
        assert!(first.contains("on server 0") && first.contains("FAILED: not on the first"));
        assert!(
            first.contains("the last words of what it was played on:\nnumber 0"),
            "{first}"
        );
        assert!(
            again.contains("on server") && !again.contains("on server 0"),
            "{again}"
        );
    }

    #[tokio::test]
    async fn a_server_of_its_own_serves_the_next_case_where_it_can_be_cleared() {
        for (clears, opened) in [(None, 3), (Some(true), 1), (Some(false), 3)] {
            let (servers, folder) = (Servers::default(), tempfile::tempdir().expect("a folder"));
            let mut group = apart(&servers).cases(["a", "b", "c"].map(|name| Case::new(name, holds)));
            if let Some(can) = clears {
                let clear = move |_: Arc<Server>| async move {
                    if can { Ok(()) } else { Err("it stays".to_owned()) }
                };
                group = group.cleared_by(clear);
            }
            let played = play(Suite::new("s").with(group), &[], folder.path()).await;
            assert!(played.iter().all(|case| case.verdict == Verdict::Passed));
            assert_eq!(servers.counts(), (opened, opened), "{clears:?}");
        }
        // After a failure, nobody gets what was played on.
        let (servers, folder) = (Servers::default(), tempfile::tempdir().expect("a folder"));
        let group = apart(&servers)
            .cases([Case::new("a", panics), Case::new("b", holds)])
            .cleared_by(async |_| Ok(()));
        play(Suite::new("s").with(group), &[], folder.path()).await;
        assert_eq!(servers.counts(), (3, 3));
    }

    #[tokio::test]
    async fn what_cannot_be_opened_twice_is_not_tried_for_every_case() {
        let (tries, folder) = (
            Arc::new(AtomicUsize::new(0)),
            tempfile::tempdir().expect("a folder"),
        );
        let counter = Arc::clone(&tries);
        let open = move || {
            counter.fetch_add(1, Ordering::Relaxed);
            async { Err::<(), _>("no Kubernetes".to_owned()) }
        };
        let cases = ["a", "b", "c"].map(|name| Case::new(name, async |_| ()));
        let group = Group::shared("g", open).cases(cases);
        let played = play(Suite::new("s").with(group), &[], folder.path()).await;
        let reason = "there is nothing to play it on: no Kubernetes".to_owned();
        for case in &played {
            assert_eq!(
                case.verdict,
                Verdict::Failed {
                    first: reason.clone(),
                    again: None
                }
            );
        }
        assert_eq!((played.len(), tries.load(Ordering::Relaxed)), (3, 2));
    }

    #[tokio::test]
    async fn only_so_many_failures_are_played_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let cases = (0..12).map(|number| Case::new(number.to_string(), async |_| Err::<(), _>("no")));
        let group = Group::free("g").at_once(3).cases(cases);
        let played = play(Suite::new("s").with(group), &[], folder.path()).await;
        let is_again = |case: &&Played| case.log_again.is_some();
        assert_eq!((played.len(), played.iter().filter(is_again).count()), (12, 8));
    }

    #[tokio::test]
    async fn what_hangs_fails_at_its_limit_and_what_blocks_is_caught() {
        let folder = tempfile::tempdir().expect("a folder");
        let group = Group::free("g").cases([
            Case::new("hangs", async |_| std::future::pending::<()>().await).within(Duration::ZERO),
            Case::blocking("blocks", |()| {
                assert!(std::env::args().count() > 1000, "not in a thread either");
            }),
            Case::blocking("holds", |()| say("in a thread")),
        ]);
        let played = play(Suite::new("s").with(group), &[], folder.path()).await;
        let [(_, blocks), (_, hangs), (_, holds)] = verdicts(&played)[..] else {
            panic!("{played:?}")
        };
        let Verdict::Failed { first, .. } = blocks else {
            panic!("{blocks:?}")
        };
        assert!(first.starts_with("not in a thread either\n(at "), "{first}");
        let reason = || "not done after its 0 s".to_owned();
        assert_eq!(
            hangs,
            &Verdict::Failed {
                first: reason(),
                again: Some(reason())
            }
        );
        assert_eq!(holds, &Verdict::Passed);
        let log = std::fs::read_to_string(folder.path().join("g/holds.log")).expect("a log");
        assert!(log.contains("in a thread"), "{log}");
    }

    #[tokio::test]
    async fn of_groups_and_cases_those_are_played_that_are_picked() {
        let (servers, folder) = (Servers::default(), tempfile::tempdir().expect("a folder"));
        let free = Group::free("free").cases(["a", "b"].map(|name| Case::new(name, async |_| ())));
        let suite = Suite::new("s")
            .with(shared(&servers).case(Case::new("a", holds)))
            .with(free);
        assert_eq!(suite.titles(), ["s::servers::a", "s::free::a", "s::free::b"]);
        let played = play(suite, &["free::b"], folder.path()).await;
        assert_eq!(verdicts(&played), [("s::free::b", &Verdict::Passed)]);
        assert_eq!(servers.counts(), (0, 0));
    }

    mod module {
        pub(super) async fn waits() {}
        pub(super) fn blocks() -> Result<(), String> {
            Ok(())
        }
    }

    #[test]
    fn functions_give_cases_their_names() {
        let group = Group::free("g").cases(crate::cases![module::waits]);
        let group = group.cases(crate::blocking_cases![module::blocks]);
        assert_eq!(
            Suite::new("s").with(group).titles(),
            ["s::g::waits", "s::g::blocks"]
        );
    }

    #[test]
    fn arguments_are_words_and_the_wish_for_a_list() {
        let read = |words: &[&str]| Asked::read(words.iter().map(|word| (*word).to_owned()));
        let asked = |words: &[&str], lists| {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            Ok(Asked { words, lists })
        };
        assert_eq!(read(&[]), asked(&[], false));
        assert_eq!(read(&["a", "--list", "b"]), asked(&["a", "b"], true));
        let refused = read(&["--exact"]).expect_err("no such option");
        assert!(
            refused.starts_with("there is no option --exact\nusage: "),
            "{refused}"
        );
    }

    #[test]
    fn two_cases_of_one_name_are_refused() {
        let titles = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(distinct(&titles(&["a", "b"])), Ok(()));
        assert_eq!(
            distinct(&titles(&["a", "b", "a"])),
            Err("two cases are called a".to_owned())
        );
    }

    #[test]
    fn logs_have_names_of_their_own() {
        let mut names = LogNames::default();
        for (case, expected) in [
            ("plain_name-1", "plain_name-1.log".to_owned()),
            ("with/slash::and.dot", "with-slash--and-dot.log".to_owned()),
            ("with/slash::and dot", "with-slash--and-dot.2.log".to_owned()),
            ("ü", "-.log".to_owned()),
            (&"long".repeat(60), format!("{}lo.log", "long".repeat(37))),
        ] {
            assert_eq!(names.next(case), expected);
        }
    }
}
