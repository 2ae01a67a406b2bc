//! Runs all cases against one server and says which of them it doesn't satisfy.

use std::cell::RefCell;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};

use crate::context::Context;
use crate::server::Server;
use crate::transcript::{Mode, Script, Transcript, play};

/// How many cases run at once: enough to keep a server busy, few enough for small machines.
const AT_ONCE: usize = 16;

/// No case takes this long, unless something hangs.
const CASE_DEADLINE: Duration = Duration::from_mins(5);

tokio::task_local! {
    /// Where the panic hook leaves what a case died of.
    static LAST_WORDS: RefCell<String>;
}

/// A case that is a function.
pub(crate) type Function = fn(Arc<Context>) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// One case.
#[derive(Clone)]
pub struct Case {
    /// The file it stands in.
    pub topic: String,
    /// Its name, a sentence.
    pub name: String,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    Function(Function),
    Script {
        file: usize,
        position: usize,
        script: Script,
    },
}

/// What became of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// How many cases held.
    pub passed: usize,
    /// The cases that did not hold, with the reason.
    pub failures: Vec<(String, String)>,
    /// The cases that ask for different things of the servers, with the reason.
    pub differences: Vec<(String, String)>,
}

impl Case {
    /// A case that is a function.
    pub fn function(module: &str, name: &str, function: Function) -> Self {
        let topic = module.rsplit("::").next().unwrap_or(module).to_owned();
        Self {
            topic,
            name: name.replace('_', " "),
            kind: Kind::Function(function),
        }
    }

    /// Topic and name, by which a case is listed and picked.
    pub fn title(&self) -> String {
        format!("{}: {}", self.topic, self.name)
    }
}

fn transcript_folder() -> PathBuf {
    crate::real::workspace().join("tests/contract/transcripts")
}

/// Reads all transcripts, in the order of their names.
fn transcripts() -> Vec<(PathBuf, Transcript)> {
    let folder = transcript_folder();
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "transcript")
        })
        .collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let transcript =
            Transcript::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path, transcript)
    };
    paths.into_iter().map(read).collect()
}

fn all_cases(transcripts: &[(PathBuf, Transcript)]) -> Vec<Case> {
    let mut cases = crate::cases::all();
    for (file, (path, transcript)) in transcripts.iter().enumerate() {
        let topic = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .replace('-', " ");
        for (position, script) in transcript.scripts.iter().enumerate() {
            let kind = Kind::Script {
                file,
                position,
                script: script.clone(),
            };
            cases.push(Case {
                topic: topic.clone(),
                name: script.name.clone(),
                kind,
            });
        }
    }
    cases
}

/// All cases, functions first.
pub fn cases() -> Vec<Case> {
    all_cases(&transcripts())
}

/// Runs the cases whose title contains `CONTRACT_CASES` (all, if it isn't set) against `server`, prints what failed
/// and panics if anything did. `CONTRACT_CASES=list` prints the titles instead. With `CONTRACT_RECORD=missing` or
/// `=all`, the answers of a real server are written into the transcripts.
pub async fn run(server: Arc<dyn Server>) {
    let filter = std::env::var("CONTRACT_CASES").unwrap_or_default();
    let mut transcripts = transcripts();
    let mut cases = all_cases(&transcripts);
    if filter == "list" {
        for case in &cases {
            println!("{}", case.title());
        }
        return;
    }
    cases.retain(|case| case.title().contains(&filter));
    assert!(
        !cases.is_empty(),
        "CONTRACT_CASES={filter:?} picks no case; CONTRACT_CASES=list prints their titles"
    );
    let mode = match std::env::var("CONTRACT_RECORD").as_deref() {
        Ok("missing") if server.backend().is_real() => Mode::RecordMissing,
        Ok("all") if server.backend().is_real() => Mode::RecordAll,
        _ => Mode::Compare,
    };
    let (report, recorded) = run_cases(server, cases, mode).await;
    if mode != Mode::Compare {
        for (file, position, script) in recorded {
            transcripts[file].1.scripts[position] = script;
        }
        for (path, transcript) in &transcripts {
            std::fs::write(path, transcript.write())
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
    report.print();
    assert!(
        report.failures.is_empty(),
        "{} cases failed",
        report.failures.len()
    );
}

type Recorded = Vec<(usize, usize, Script)>;

async fn run_cases(server: Arc<dyn Server>, cases: Vec<Case>, mode: Mode) -> (Report, Recorded) {
    note_panics();
    let report = Mutex::new(Report::default());
    let recorded = Mutex::new(Vec::new());
    let run = run_name();
    stream::iter(cases.into_iter().enumerate())
        .for_each_concurrent(AT_ONCE, |(number, case)| {
            let context = Arc::new(Context::new(Arc::clone(&server), format!("c{run}-{number}")));
            let (report, recorded) = (&report, &recorded);
            async move {
                let title = case.title();
                let begun = Instant::now();
                let (outcome, script) = run_case(Arc::clone(&context), &case, mode).await;
                if begun.elapsed() > Duration::from_secs(20) {
                    eprintln!("slow ({} s): {title}", begun.elapsed().as_secs());
                }
                let mut report = report.lock().expect("the runner itself does not panic");
                for reason in context.differences() {
                    report.differences.push((title.clone(), reason));
                }
                match outcome {
                    Ok(()) => report.passed += 1,
                    Err(reason) => report.failures.push((title, reason)),
                }
                if let Some(script) = script {
                    recorded
                        .lock()
                        .expect("the runner itself does not panic")
                        .push(script);
                }
            }
        })
        .await;
    let report = report.into_inner().expect("the runner itself does not panic");
    (
        report,
        recorded.into_inner().expect("the runner itself does not panic"),
    )
}

type Played = (Result<(), String>, Option<(usize, usize, Script)>);

/// Runs one case in a task of its own, so that its panic ends nothing else.
async fn run_case(context: Arc<Context>, case: &Case, mode: Mode) -> Played {
    let kind = case.kind.clone();
    let body = async move {
        match kind {
            Kind::Function(function) => {
                function(context).await;
                None
            }
            Kind::Script {
                file,
                position,
                mut script,
            } => {
                play(&context, &mut script, mode).await;
                Some((file, position, script))
            }
        }
    };
    let task = tokio::spawn(LAST_WORDS.scope(RefCell::new(String::new()), async {
        match std::panic::AssertUnwindSafe(body).catch_unwind_with_words().await {
            Ok(script) => (Ok(()), script),
            Err(words) => (Err(words), None),
        }
    }));
    match tokio::time::timeout(CASE_DEADLINE, task).await {
        Ok(Ok(played)) => played,
        Ok(Err(error)) => (Err(error.to_string()), None),
        Err(_) => (Err(format!("not done after {} s", CASE_DEADLINE.as_secs())), None),
    }
}

trait CatchWithWords: Future + Sized {
    async fn catch_unwind_with_words(self) -> Result<Self::Output, String>;
}

impl<F: Future + std::panic::UnwindSafe> CatchWithWords for F {
    async fn catch_unwind_with_words(self) -> Result<Self::Output, String> {
        use futures_util::FutureExt as _;
        self.catch_unwind()
            .await
            .map_err(|_| LAST_WORDS.with(|words| words.borrow().clone()))
    }
}

/// The panic of a case is part of the report, with its place; nothing is printed when it happens.
fn note_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic
            .location()
            .map(|place| format!("{}:{}", place.file(), place.line()));
        let message = panic.payload_as_str().unwrap_or("a panic without words");
        let words = format!("{message}\n(at {})", place.unwrap_or_default());
        if LAST_WORDS.try_with(|last| last.replace(words)).is_err() {
            usual(panic);
        }
    }));
}

/// Something short that differs from run to run: a server may have seen an earlier one.
fn run_name() -> String {
    let elapsed = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    format!("{:x}", elapsed.as_millis() & 0xfff_ffff)
}

impl Report {
    fn print(&self) {
        let mut failures: Vec<_> = self.failures.iter().collect();
        failures.sort();
        for (title, reason) in failures {
            println!("FAILED {title}\n    {}\n", reason.replace('\n', "\n    "));
        }
        for (title, reason) in &self.differences {
            println!("DIFFERS {title}: {reason}");
        }
        println!(
            "{} cases held, {} failed, {} say that servers differ",
            self.passed,
            self.failures.len(),
            self.differences.len()
        );
    }
}
