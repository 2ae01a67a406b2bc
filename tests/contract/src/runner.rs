//! Plays cases on a server, and says of one that is in this process which of them it doesn't satisfy.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
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
struct Report {
    /// How many cases held.
    passed: usize,
    /// The cases that did not hold, with the reason.
    failures: Vec<(String, String)>,
    /// The cases that ask for different things of the servers, with the reason.
    differences: Vec<(String, String)>,
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

/// Cases on one server: each gets names of its own, and where answers are taken down, they come into its transcript.
pub struct Play {
    server: Arc<dyn Server>,
    name: String,
    count: AtomicUsize,
    mode: Mode,
    transcripts: Mutex<Vec<(PathBuf, Transcript)>>,
}

impl Play {
    /// Begins to play on a server. With `CONTRACT_RECORD=missing` or `=all`, the answers of a real one are written into the
    /// transcripts.
    pub fn on(server: Arc<dyn Server>) -> Self {
        let mode = match std::env::var("CONTRACT_RECORD").as_deref() {
            Ok("missing") if server.backend().is_real() => Mode::RecordMissing,
            Ok("all") if server.backend().is_real() => Mode::RecordAll,
            _ => Mode::Compare,
        };
        Self {
            server,
            name: run_name(),
            count: AtomicUsize::new(0),
            mode,
            transcripts: Mutex::new(transcripts()),
        }
    }

    /// Plays a case, which panics where the server doesn't satisfy it; returns why it asks for different things of the servers,
    /// where it does.
    pub async fn case(&self, case: &Case) -> Vec<String> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let context = Arc::new(Context::new(
            Arc::clone(&self.server),
            format!("c{}-{number}", self.name),
        ));
        match &case.kind {
            Kind::Function(function) => function(Arc::clone(&context)).await,
            Kind::Script {
                file,
                position,
                script,
            } => {
                let mut script = script.clone();
                play(&context, &mut script, self.mode).await;
                if self.mode != Mode::Compare {
                    self.keep(*file, *position, script);
                }
            }
        }
        context.differences()
    }

    /// Writes what was taken down.
    fn keep(&self, file: usize, position: usize, script: Script) {
        let mut transcripts = self.transcripts.lock().expect("nobody panics while writing");
        let (path, transcript) = &mut transcripts[file];
        transcript.scripts[position] = script;
        std::fs::write(&*path, transcript.write())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// Plays the cases whose title contains `CONTRACT_CASES` (all, if it isn't set) on `server`, prints what failed
/// and panics if anything did. `CONTRACT_CASES=list` prints the titles instead.
pub async fn run(server: Arc<dyn Server>) {
    let filter = std::env::var("CONTRACT_CASES").unwrap_or_default();
    let mut cases = cases();
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
    let report = run_cases(server, cases).await;
    report.print();
    assert!(
        report.failures.is_empty(),
        "{} cases failed",
        report.failures.len()
    );
}

async fn run_cases(server: Arc<dyn Server>, cases: Vec<Case>) -> Report {
    let play = Arc::new(Play::on(server));
    let report = Mutex::new(Report::default());
    stream::iter(cases)
        .for_each_concurrent(AT_ONCE, |case| {
            let (play, report) = (Arc::clone(&play), &report);
            async move {
                let title = case.title();
                let begun = Instant::now();
                let outcome = run_case(play, case).await;
                if begun.elapsed() > Duration::from_secs(20) {
                    eprintln!("slow ({} s): {title}", begun.elapsed().as_secs());
                }
                let mut report = report.lock().expect("the runner itself does not panic");
                match outcome {
                    Ok(differences) => {
                        report.passed += 1;
                        let titled = differences.into_iter().map(|reason| (title.clone(), reason));
                        report.differences.extend(titled);
                    }
                    Err(reason) => report.failures.push((title, reason)),
                }
            }
        })
        .await;
    report.into_inner().expect("the runner itself does not panic")
}

/// Runs one case in a task of its own, so that its panic ends nothing else.
async fn run_case(play: Arc<Play>, case: Case) -> Result<Vec<String>, String> {
    let task = tokio::spawn(async move { suite::caught(play.case(&case)).await });
    match tokio::time::timeout(CASE_DEADLINE, task).await {
        Ok(Ok(played)) => played,
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("not done after {} s", CASE_DEADLINE.as_secs())),
    }
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
