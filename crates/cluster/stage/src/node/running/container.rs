//! One container that really runs: started, probed, started again, stopped.

use std::io::Read as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio::time::Instant;

use super::super::lock;
use super::super::log_file::{self, LogFile};
use super::super::pod_status::{Container, Ended, State};
use super::super::probes::{Count, Probe, Question};
use super::super::process::{Launch, Process};
use super::{Company, Part, surroundings};
use crate::events::{self, EventType};
use crate::object::Object;

/// How long a container that failed waits before it is started a second time; each failure doubles it.
const FIRST_BACK_OFF: Duration = Duration::from_secs(10);

/// The longest that it waits.
const LONGEST_BACK_OFF: Duration = Duration::from_mins(5);

/// A container that ran so long has proved itself: its failures are forgotten.
const PROVED_AFTER: Duration = Duration::from_mins(10);

/// How long a container waits when something that it needs isn't there.
const OBSTACLE_RETRY: Duration = Duration::from_secs(2);

/// How long what is done after a container's start may take. Upstream waits for ever; a program that is never looked at
/// again helps nobody.
const LONGEST_HOOK: Duration = Duration::from_mins(10);

/// The most that a container which failed leaves of its log as its message.
const LONGEST_MESSAGE: usize = 2048;

/// The most lines of that.
const MOST_MESSAGE_LINES: usize = 80;

/// Returns how long a container waits after so many failures in a row: not at all after the first.
pub fn back_off(failures: u32) -> Duration {
    match failures {
        0 | 1 => Duration::ZERO,
        more => FIRST_BACK_OFF
            .saturating_mul(1 << (more - 2).min(16))
            .min(LONGEST_BACK_OFF),
    }
}

/// Runs a container until it ends for good or the pod is asked to stop.
pub(super) async fn look_after(company: Arc<Company>, index: usize) {
    let Some(part) = company.parts.get(index) else {
        return;
    };
    if part.image.is_none() {
        simulate(&company, part).await;
        return;
    }
    let mut failures = 0_u32;
    // What was taken up from a status may have ended for good, or waits to be started again.
    let ended = match &lock(&part.state).state {
        State::Terminated(ended) => Some(ended.clone()),
        _ => None,
    };
    if let Some(ended) = ended {
        let was_lost = ended.reason == "ContainerStatusUnknown";
        if !company.restarts(part, ended.exit_code) {
            return;
        }
        failures = u32::from(!was_lost);
        note_end(part, ended);
    } else if lock(&part.state).last.is_some() {
        failures = u32::try_from(lock(&part.state).restarts).unwrap_or(u32::MAX);
    }
    tokio::select! {
        () = company.shared.listening() => {}
        _ = part.asked_to_stop() => return,
    }
    loop {
        if failures > 1 && !wait_before_restart(&company, part, back_off(failures)).await {
            return;
        }
        let launch = loop {
            match surroundings::launch(&company, part).await {
                Ok(launch) => break launch,
                Err((reason, message)) => {
                    tell_obstacle(&company, part, reason, &message);
                    set_waiting(&company, part, reason, &message);
                    tokio::select! {
                        () = tokio::time::sleep(OBSTACLE_RETRY) => {}
                        _ = part.asked_to_stop() => return,
                    }
                }
            }
        };
        let began = Instant::now();
        let (ended, stopped) = run(&company, part, &launch).await;
        failures = if began.elapsed() >= PROVED_AFTER {
            1
        } else {
            failures.saturating_add(1)
        };
        if stopped || !company.restarts(part, ended.exit_code) {
            let mut state = lock(&part.state);
            state.ready = part.list == "initContainers" && ended.exit_code == 0;
            state.started = false;
            state.state = State::Terminated(ended);
            drop(state);
            company.tell_change();
            return;
        }
        note_end(part, ended);
        company.tell_change();
    }
}

/// Notes that a run has ended and another follows.
fn note_end(part: &Part, ended: Ended) {
    let mut state = lock(&part.state);
    state.restarts += 1;
    state.ready = false;
    state.started = false;
    state.state = State::Terminated(ended.clone());
    state.last = Some(ended);
}

fn ended(exit_code: i32, started_at: Timestamp, container_id: String, message: String) -> Ended {
    Ended {
        exit_code,
        reason: Ended::reason_of(exit_code).to_owned(),
        message,
        started_at,
        finished_at: Timestamp::now(),
        container_id,
    }
}

fn set_waiting(company: &Company, part: &Part, reason: &str, message: &str) {
    let wanted = State::waiting(reason, message);
    let mut state = lock(&part.state);
    if state.state != wanted {
        state.state = wanted;
        drop(state);
        company.tell_change();
    }
}

/// Waits before a container is started again; whether it may be.
async fn wait_before_restart(company: &Company, part: &Part, delay: Duration) -> bool {
    let pod = lock(&company.pod).clone();
    let named = format!("{}_{}({})", pod.name(), pod.namespace(), pod.uid());
    let time = match delay.as_secs() {
        seconds @ ..60 => format!("{seconds}s"),
        seconds => format!("{}m{}s", seconds / 60, seconds % 60),
    };
    let message = format!(
        "back-off {time} restarting failed container={} pod={named}",
        part.name()
    );
    let told = format!(
        "Back-off restarting failed container {} in pod {named}",
        part.name()
    );
    tell(company, part, EventType::Warning, "BackOff", told);
    set_waiting(company, part, "CrashLoopBackOff", &message);
    tokio::select! {
        () = tokio::time::sleep(delay) => true,
        _ = part.asked_to_stop() => false,
    }
}

fn tell(company: &Company, part: &Part, event_type: EventType, reason: &str, message: String) {
    company.shared.tell(|recorder| {
        let regarding = events::container_reference(&lock(&company.pod), part.list, part.name());
        recorder.tell_of(regarding, event_type, reason, message, "");
    });
}

fn tell_obstacle(company: &Company, part: &Part, reason: &str, message: &str) {
    let waits_the_same =
        matches!(&lock(&part.state).state, State::Waiting { message: before, .. } if before == message);
    if waits_the_same {
        return;
    }
    if reason == "ContainerCreating" {
        let pod = lock(&company.pod).clone();
        company
            .shared
            .tell(|recorder| recorder.tell(&pod, EventType::Warning, "FailedMount", message));
    } else {
        tell(
            company,
            part,
            EventType::Warning,
            "Failed",
            format!("Error: {message}"),
        );
    }
}

/// A container beside real ones that baton didn't build: it is said to run for as long as they do.
async fn simulate(company: &Company, part: &Part) {
    let started_at = Timestamp::now();
    let container_id = format!("simulated://{}/{}", lock(&company.pod).uid(), part.name());
    {
        let is_done = part.list == "initContainers" && !part.stays();
        let mut state = lock(&part.state);
        *state = Container {
            image_id: format!("simulated://{}", state.image),
            container_id: container_id.clone(),
            ready: true,
            started: !is_done,
            state: if is_done {
                State::Terminated(ended(0, started_at, container_id.clone(), String::new()))
            } else {
                State::Running { started_at }
            },
            ..state.clone()
        };
        if is_done {
            return;
        }
    }
    tell(
        company,
        part,
        EventType::Normal,
        "Simulated",
        format!(
            "Container {} is simulated: nothing runs in it, because baton didn't build its image",
            part.name()
        ),
    );
    company.tell_change();
    part.asked_to_stop().await;
    let mut state = lock(&part.state);
    state.ready = false;
    state.started = false;
    state.state = State::Terminated(ended(0, started_at, container_id, String::new()));
}

/// Runs a container once; returns how it ended, and whether the pod was asked to stop.
async fn run(company: &Company, part: &Part, launch: &Launch) -> (Ended, bool) {
    let started_at = Timestamp::now();
    let run = lock(&part.state).restarts;
    let container_id = format!("baton://{}/{}/{run}", lock(&company.pod).uid(), part.name());
    let log = company.directory().join("logs").join(part.name());
    // Two runs are kept: this one and the one before.
    log_file::remove(&log.join(format!("{}.log", run - 2)));
    let path = log.join(format!("{run}.log"));
    let failed = |why: String| {
        let failed = ended(128, started_at, container_id.clone(), why);
        (
            Ended {
                reason: "StartError".to_owned(),
                ..failed
            },
            false,
        )
    };
    let log = match LogFile::open(&path) {
        Ok(log) => Arc::new(Mutex::new(log)),
        Err(error) => return failed(format!("cannot open the log {}: {error}", path.display())),
    };
    let image = lock(&part.state).image.clone();
    let pulled = format!("Container image \"{image}\" already present on machine");
    tell(company, part, EventType::Normal, "Pulled", pulled);
    let mut process = match Process::start(launch, log).await {
        Ok(process) => process,
        Err(error) => {
            let why = format!("cannot start {}: {error}", launch.program.file.display());
            tell(
                company,
                part,
                EventType::Warning,
                "Failed",
                format!("Error: {why}"),
            );
            return failed(why);
        }
    };
    tell(
        company,
        part,
        EventType::Normal,
        "Created",
        "Container created".to_owned(),
    );
    tell(
        company,
        part,
        EventType::Normal,
        "Started",
        "Container started".to_owned(),
    );
    {
        let mut state = lock(&part.state);
        state.state = State::Running { started_at };
        state.container_id.clone_from(&container_id);
        state.image_id = part
            .image
            .as_ref()
            .map(|image| image.digest.clone())
            .unwrap_or_default();
    }
    company.tell_change();
    let (exit_code, stopped) = tokio::select! {
        code = process.wait() => (code, false),
        (why, grace) = watch_over(company, part, launch) => {
            tell(company, part, EventType::Normal, "Killing", why);
            let grace = grace.unwrap_or_else(|| surroundings::grace(&lock(&company.pod)));
            (end(company, part, launch, &mut process, grace).await, false)
        }
        grace = part.asked_to_stop() => {
            tell(company, part, EventType::Normal, "Killing", format!("Stopping container {}", part.name()));
            (end(company, part, launch, &mut process, grace).await, true)
        }
    };
    let message = last_words(company, part, &path, exit_code);
    (ended(exit_code, started_at, container_id, message), stopped)
}

/// Ends a process: first what its container wants done before, within the same time.
async fn end(company: &Company, part: &Part, launch: &Launch, process: &mut Process, grace: Duration) -> i32 {
    let began = Instant::now();
    tokio::select! {
        code = process.wait() => return code,
        done = hook(part, "preStop", launch, grace) => {
            if let Err(why) = done {
                tracing::debug!(container = part.name(), why, "what should be done before the end failed");
                tell(company, part, EventType::Warning, "FailedPreStopHook", "PreStopHook failed".to_owned());
            }
        }
    }
    process.stop(grace.saturating_sub(began.elapsed())).await
}

/// Does what a container wants done after its start or before its end; the failure says why it couldn't be done.
async fn hook(part: &Part, name: &str, launch: &Launch, time: Duration) -> Result<(), String> {
    let hook = &part.spec["lifecycle"][name];
    if let Some(seconds) = hook["sleep"]["seconds"].as_u64() {
        tokio::time::sleep(Duration::from_secs(seconds).min(time)).await;
    } else if let Some(question) = Question::read(&part.spec, hook) {
        let (good, output) = question.ask(launch, time).await;
        if !good {
            return Err(output);
        }
    }
    Ok(())
}

/// Does what a container wants done after its start, then asks it how it is. Returns when the container has to end, with
/// the reason and how long that may take, where something else than the pod says so.
async fn watch_over(company: &Company, part: &Part, launch: &Launch) -> (String, Option<Duration>) {
    if let Err(why) = hook(part, "postStart", launch, LONGEST_HOOK).await {
        tracing::debug!(
            container = part.name(),
            why,
            "what should be done after the start failed"
        );
        let told = "PostStartHook failed".to_owned();
        tell(company, part, EventType::Warning, "FailedPostStartHook", told);
        return ("FailedPostStartHook".to_owned(), None);
    }
    probe(company, part, launch).await
}

/// The most that a container says of its end.
const LONGEST_LAST_WORDS: u64 = 4096;

/// Returns what a container says of its end: what it wrote where it is told to, or the end of its log where the pod wants
/// that of one that failed.
fn last_words(company: &Company, part: &Part, path: &std::path::Path, exit_code: i32) -> String {
    let mut said = Vec::new();
    if let Ok(file) = std::fs::File::open(surroundings::termination_message(company, part)) {
        let _ = file.take(LONGEST_LAST_WORDS).read_to_end(&mut said);
    }
    if !said.is_empty() {
        return String::from_utf8_lossy(&said).into_owned();
    }
    if exit_code == 0 || part.spec["terminationMessagePolicy"] != "FallbackToLogsOnError" {
        return String::new();
    }
    let Ok((text, _)) = log_file::read(path) else {
        return String::new();
    };
    let lines: Vec<&str> = log_file::lines(&text).map(|(_, line)| line).collect();
    let words = lines
        .iter()
        .skip(lines.len().saturating_sub(MOST_MESSAGE_LINES))
        .fold(String::new(), |mut words, line| {
            words.push_str(line);
            words.push('\n');
            words
        });
    let mut cut = words.len().saturating_sub(LONGEST_MESSAGE);
    while !words.is_char_boundary(cut) {
        cut += 1;
    }
    words[cut..].to_owned()
}

/// Asks a container how it is; returns when it has to be started again, why, and how long its end may take.
async fn probe(company: &Company, part: &Part, launch: &Launch) -> (String, Option<Duration>) {
    let [startup, readiness, liveness] =
        ["startupProbe", "readinessProbe", "livenessProbe"].map(|name| Probe::read(&part.spec, name));
    let set = |ready: bool, started: bool| {
        let mut state = lock(&part.state);
        if (state.ready, state.started) != (ready, started) {
            (state.ready, state.started) = (ready, started);
            drop(state);
            company.tell_change();
        }
    };
    if let Some(probe) = &startup
        && !decided(company, part, probe, launch, "Startup", |good| good).await
    {
        let why = format!(
            "Container {} failed startup probe, will be restarted",
            part.name()
        );
        return (why, probe.grace);
    }
    set(readiness.is_none(), true);
    let ready = async {
        match &readiness {
            Some(probe) => {
                decided(company, part, probe, launch, "Readiness", |good| {
                    set(good, true);
                    false
                })
                .await
            }
            None => std::future::pending().await,
        }
    };
    let alive = async {
        match &liveness {
            Some(probe) => decided(company, part, probe, launch, "Liveness", |_| false).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = ready => {}
        _ = alive => {}
    }
    (
        format!(
            "Container {} failed liveness probe, will be restarted",
            part.name()
        ),
        liveness.and_then(|probe| probe.grace),
    )
}

/// Asks again and again; `ends` hears what is decided and says whether a good decision is the end. A bad one ends startup
/// and liveness probes; readiness probes never end.
async fn decided(
    company: &Company,
    part: &Part,
    probe: &Probe,
    launch: &Launch,
    kind: &str,
    ends: impl Fn(bool) -> bool,
) -> bool {
    let mut count = Count::default();
    tokio::time::sleep(probe.delay).await;
    loop {
        let (good, output) = probe.question.ask(launch, probe.timeout).await;
        if !good {
            let told = format!("{kind} probe failed: {output}");
            tell(company, part, EventType::Warning, "Unhealthy", told);
        }
        match count.note(good, probe) {
            Some(true) if ends(true) => return true,
            Some(false) => {
                ends(false);
                if kind != "Readiness" {
                    return false;
                }
            }
            _ => {}
        }
        tokio::time::sleep(probe.period).await;
    }
}

/// Returns the log of a run of a container, by what its status calls it.
pub fn log_path(
    directory: &std::path::Path,
    container: &str,
    container_id: &str,
) -> Option<std::path::PathBuf> {
    let run: i64 = container_id
        .strip_prefix("baton://")?
        .rsplit('/')
        .next()?
        .parse()
        .ok()?;
    Some(directory.join("logs").join(container).join(format!("{run}.log")))
}

/// Returns whether a container's status is that of one that really runs or ran.
pub fn is_real(status: &Value) -> bool {
    status["containerID"]
        .as_str()
        .is_some_and(|id| id.starts_with("baton://"))
}
