//! Charts of the world against what Helm 3.17.3 was recorded to print for them: output to the byte, errors to the word.
//!
//! What a chart draws at random cannot be the same twice. A line may differ from the recording only where it differs
//! between two renders of ours, and only in the words that do.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use chart::capabilities::{Capabilities, KubeVersion};
use chart::engine::{Engine, Operation, ReleaseContext};
use chart::host::{Host, NoCluster};
use chart::installation::{self, InstallationError, InstallationRequest};
use chart::manifest::{trim_space, write_document};
use chart::source::{SeededSource, Source, SystemSource};
use chart::value_options::{self, ValueOptions};
use chart::{dependencies, loader};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

/// How often a chart is rendered again to find out what in it is random: a small random number may come twice.
const MAX_RENDERS: u64 = 6;

/// A quarter of the steps that a render may take: the charts of the world are far from the limit.
const ENOUGH_STEPS: u64 = 5_000_000;

/// What a command printed.
struct Printed {
    output: Vec<u8>,
    errors: String,
    succeeded: bool,
}

/// Chance and time, repeatable but for keys, of which each size is made once.
struct Dice {
    seeded: SeededSource,
    keys: RefCell<HashMap<u32, Vec<u8>>>,
}

impl Dice {
    fn new(seed: u64) -> Self {
        let now = Timestamp::from_second(1_700_000_000 + seed as i64 * 40_000_000).expect("a time");
        Self {
            seeded: SeededSource::from_number(seed, now),
            keys: RefCell::default(),
        }
    }
}

impl Source for Dice {
    fn now(&self) -> Timestamp {
        self.seeded.now()
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn local_zone(&self) -> TimeZone {
        TimeZone::UTC
    }

    fn random_bytes(&self, buffer: &mut [u8]) {
        self.seeded.random_bytes(buffer);
    }

    fn rsa_private_key(&self, bits: u32) -> Vec<u8> {
        self.keys
            .borrow_mut()
            .entry(bits)
            .or_insert_with(|| SystemSource.rsa_private_key(bits))
            .clone()
    }
}

/// Does what `helm template rel CHART -n ns1 --kube-version v1.32.0 [-f FILE]` does.
fn template(path: &Path, values_file: Option<&Path>, seed: u64) -> Printed {
    let mut errors = String::new();
    match try_template(path, values_file, seed, &mut errors) {
        Ok(output) => Printed {
            output,
            errors,
            succeeded: true,
        },
        Err(text) => {
            writeln!(errors, "Error: {text}").expect("memory");
            Printed {
                output: Vec::new(),
                errors,
                succeeded: false,
            }
        }
    }
}

fn try_template(
    path: &Path,
    values_file: Option<&Path>,
    seed: u64,
    errors: &mut String,
) -> Result<Vec<u8>, String> {
    let mut warn = |warning: chart::warning::Warning| writeln!(errors, "{warning}").expect("memory");
    let files = values_file
        .map(|file| file.to_string_lossy().into_owned())
        .into_iter()
        .collect();
    let options = ValueOptions {
        files,
        ..ValueOptions::default()
    };
    let values = options
        .merge(&mut |name| value_options::read_file(name), None)
        .map_err(|error| error.to_string())?;
    let chart = loader::load(path, &mut warn).map_err(|error| error.to_string())?;
    if !chart.metadata.is_installable() {
        return Err(format!(
            "{} charts are not installable",
            chart.metadata.chart_type
        ));
    }
    if chart.metadata.deprecated {
        writeln!(errors, "WARNING: This chart is deprecated").expect("memory");
    }
    let mut warn = |warning: chart::warning::Warning| writeln!(errors, "{warning}").expect("memory");
    dependencies::check(&chart).map_err(|missing| missing.advice())?;
    let capabilities = Capabilities {
        kube_version: KubeVersion::parse("v1.32.0")?,
        ..Capabilities::default()
    };
    let request = InstallationRequest {
        chart: &chart,
        values: &values,
        release: ReleaseContext {
            name: "rel".to_owned(),
            namespace: "ns1".to_owned(),
            operation: Operation::Install,
            revision: 1,
        },
        capabilities: &capabilities,
        sub_notes: false,
        skip_schema_validation: false,
        strict: false,
    };
    let host = Host::new(Rc::new(Dice::new(seed)), Rc::new(NoCluster));
    let engine = Engine::new().with_max_steps(ENOUGH_STEPS);
    let planned = installation::plan(&engine, &request, &host, None, &mut warn);
    let installation = planned.map_err(|error| match error {
        InstallationError::KubeVersion(_)
        | InstallationError::Render(_)
        | InstallationError::Manifest { .. } => {
            format!("{error}\n\nUse --debug flag to render out invalid YAML")
        }
        error => error.to_string(),
    })?;
    let mut stream = Vec::new();
    for manifest in &installation.manifests {
        write_document(&mut stream, &manifest.name, &manifest.content).expect("memory");
    }
    let mut output = trim_space(&Bytes::from(stream)).to_vec();
    output.push(b'\n');
    for hook in &installation.hooks {
        write_document(&mut output, &hook.path, &hook.manifest).expect("memory");
    }
    Ok(output)
}

/// Tells how an output differs from the recorded one other than by chance.
fn difference(path: &Path, values_file: Option<&Path>, recorded: &[u8]) -> Option<String> {
    let first = template(path, values_file, 0);
    if first.output == recorded {
        return None;
    }
    if !first.succeeded {
        return Some(format!("fails: {}", first.errors));
    }
    let lines =
        |text: &[u8]| -> Vec<Vec<u8>> { text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect() };
    let (recorded, first) = (lines(recorded), lines(&first.output));
    if recorded.len() != first.len() {
        return Some(format!("has {} lines, not {}", first.len(), recorded.len()));
    }
    let mut open: Vec<usize> = (0..first.len())
        .filter(|at| first[*at] != recorded[*at])
        .collect();
    for seed in 1..MAX_RENDERS {
        let other = lines(&template(path, values_file, seed).output);
        if other.len() != first.len() {
            return Some("has another number of lines in each render".to_owned());
        }
        open.retain(|at| !differs_by_chance(&recorded[*at], &first[*at], &other[*at]));
        if open.is_empty() {
            return None;
        }
    }
    open.first().map(|at| {
        let shown = |line: &[u8]| {
            String::from_utf8_lossy(line)
                .chars()
                .take(200)
                .collect::<String>()
        };
        format!(
            "differs in {} lines, first in line {}:\n  helm:  {}\n  baton: {}",
            open.len(),
            at + 1,
            shown(&recorded[*at]),
            shown(&first[*at])
        )
    })
}

/// Tells whether a recorded line is ours but for the words in which two lines of ours differ.
fn differs_by_chance(recorded: &[u8], one: &[u8], other: &[u8]) -> bool {
    if one == other {
        return false;
    }
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=_.$-".contains(byte);
    let common = one
        .iter()
        .zip(other)
        .take_while(|(left, right)| left == right)
        .count();
    let before = common
        - one[..common]
            .iter()
            .rev()
            .take_while(|byte| is_word(byte))
            .count();
    let common = one
        .iter()
        .rev()
        .zip(other.iter().rev())
        .take_while(|(left, right)| left == right)
        .count();
    let tail = &one[one.len() - common..];
    let after = tail.len() - tail.iter().take_while(|byte| is_word(byte)).count();
    recorded.len() >= before + after
        && recorded.starts_with(&one[..before])
        && recorded.ends_with(&one[one.len() - after..])
}

/// Runs cases on all processors and returns what they complain about.
fn complaints<T: Sync>(cases: &[T], judge: impl Fn(&T) -> Option<String> + Sync) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(complaint) = judge(case) {
                        found.lock().expect("no other thread failed").push(complaint);
                    }
                }
            });
        }
    });
    found.into_inner().expect("no thread failed")
}

fn lines_of(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).expect("an index");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn helm_charts() -> Option<(PathBuf, Vec<Value>)> {
    let folder = corpus::open("helm-charts")?;
    let expected = fs::read(folder.join("expect.json")).expect("expectations");
    let expected: Vec<Value> = serde_json::from_slice(&expected).expect("JSON");
    assert!(expected.len() > 280, "the corpus has {} charts", expected.len());
    Some((folder, expected))
}

#[test]
fn charts_render_to_the_byte() {
    let Some((folder, expected)) = helm_charts() else {
        return;
    };
    let good: Vec<&Value> = expected.iter().filter(|case| case["ok"] == true).collect();
    let wrong = complaints(&good, |case| {
        let id = text(case, "id");
        let recorded = fs::read(folder.join("golden").join(format!("{id}.yaml"))).expect("a recording");
        difference(&folder.join("charts").join(id), None, &recorded)
            .map(|difference| format!("{id} {difference}"))
    });
    assert!(
        wrong.is_empty(),
        "{} of {} charts:\n{}",
        wrong.len(),
        good.len(),
        wrong.join("\n")
    );
}

/// The recordings are the last 400 characters of what Helm printed. Two charts have schemas on the network, and the
/// recorded words are those of a failed connection.
#[test]
fn charts_fail_in_helms_words() {
    let Some((folder, expected)) = helm_charts() else {
        return;
    };
    let bad: Vec<&Value> = expected.iter().filter(|case| case["ok"] == false).collect();
    let wrong = complaints(&bad, |case| {
        let id = text(case, "id");
        let printed = template(&folder.join("charts").join(id), None, 0);
        assert!(!printed.succeeded, "{id} fails with Helm");
        let recorded = text(case, "error").trim();
        let same = printed.errors.trim().ends_with(recorded);
        (!same).then(|| format!("{id}\n  helm:  {recorded}\n  baton: {}", printed.errors))
    });
    assert!(
        wrong.len() <= 2,
        "{} of {} charts:\n{}",
        wrong.len(),
        bad.len(),
        wrong.join("\n")
    );
}

#[test]
fn overlays_render_to_the_byte() {
    let (Some((charts, _)), Some(operator)) = (helm_charts(), corpus::open("operator")) else {
        return;
    };
    let folder = operator.join("operator-corpus/variations/ok");
    let cases = lines_of(&folder.join("index.jsonl"));
    assert_eq!(cases.len(), 126);
    let wrong = complaints(&cases, |case| {
        let id = text(case, "id");
        let recorded = fs::read(folder.join(id).join("golden.yaml")).expect("a recording");
        difference(
            &charts.join("charts").join(id),
            Some(&folder.join(id).join("overlay.yaml")),
            &recorded,
        )
        .map(|difference| format!("{id} {difference}"))
    });
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

/// In one recording Helm's order is that of a hash map.
#[test]
fn overlays_fail_in_helms_words() {
    let (Some((charts, _)), Some(operator)) = (helm_charts(), corpus::open("operator")) else {
        return;
    };
    let folder = operator.join("operator-corpus/variations/fail");
    let cases = lines_of(&folder.join("index.jsonl"));
    assert_eq!(cases.len(), 58);
    let wrong = complaints(&cases, |case| {
        let chart = charts.join("charts").join(text(case, "chart"));
        let printed = template(&chart, Some(&folder.join(text(case, "overlay"))), 0);
        assert!(!printed.succeeded, "{} fails with Helm", text(case, "overlay"));
        let recorded = text(&case["helm3.17.3"], "stderr").trim();
        let errors = printed.errors.replace(chart.to_string_lossy().as_ref(), "CHART");
        let unstable = case["stderr_unstable"] == true;
        (errors.trim() != recorded && !unstable).then(|| {
            format!(
                "{}\n  helm:  {recorded}\n  baton: {errors}",
                text(case, "overlay")
            )
        })
    });
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

#[test]
fn the_users_own_values_give_what_helm_gives() {
    let (Some((charts, _)), Some(operator)) = (helm_charts(), corpus::open("operator")) else {
        return;
    };
    let folder = operator.join("operator-corpus/variations/users");
    let cases = lines_of(&folder.join("index.jsonl"));
    assert_eq!(cases.len(), 16);
    let wrong = complaints(&cases, |case| {
        let name = text(case, "case");
        let chart = charts.join("charts").join(text(case, "chart"));
        let overlay = folder.join(name).join("overlay.yaml");
        if case["rc"] == 0 {
            let recorded = fs::read(folder.join(name).join("golden.yaml")).expect("a recording");
            return difference(&chart, Some(&overlay), &recorded)
                .map(|difference| format!("{name} {difference}"));
        }
        let printed = template(&chart, Some(&overlay), 0);
        let recorded = text(case, "stderr").trim();
        (printed.errors.trim() != recorded)
            .then(|| format!("{name}\n  helm:  {recorded}\n  baton: {}", printed.errors))
    });
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}
