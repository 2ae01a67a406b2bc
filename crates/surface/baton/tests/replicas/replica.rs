//! One process among several that do the same: started on a machine of its own, killed, stopped, paused.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use contract::real::Supervised;

/// How long a process that is asked to end may take.
const ENDS_WITHIN: Duration = Duration::from_mins(1);

/// The program that is tested.
fn baton() -> &'static str {
    env!("CARGO_BIN_EXE_baton")
}

/// A process with a folder that stays.
pub(crate) struct Replica {
    pub(crate) name: String,
    /// The network that it lives in.
    namespace: String,
    arguments: Vec<String>,
    folder: PathBuf,
    process: Mutex<Option<Supervised>>,
}

/// Returns whether a process has ended: what has is a zombie until its shell looks, and a zombie has no memory.
fn has_ended(id: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/statm")).map_or(true, |text| text.starts_with("0 "))
}

impl Replica {
    /// Prepares a process; nothing runs yet.
    pub(crate) fn new(name: &str, namespace: &str, folder: &Path, arguments: Vec<String>) -> Self {
        Self {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            arguments,
            folder: folder.to_owned(),
            process: Mutex::default(),
        }
    }

    fn process(&self) -> MutexGuard<'_, Option<Supervised>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the process; returns before it has done anything.
    pub(crate) fn start(&self) -> Result<(), String> {
        let mut words = vec!["netns", "exec", &self.namespace, "env", "-i"]
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<String>>();
        words.push(format!("HOME={}", self.folder.display()));
        for name in ["PATH", "TMPDIR"] {
            words.extend(std::env::var(name).map(|value| format!("{name}={value}")));
        }
        words.push(baton().to_owned());
        words.extend(self.arguments.iter().cloned());
        // Each of these programs becomes the next one, so that the number of the process is that of baton.
        let started = Supervised::start(Path::new("ip"), &words, &self.log());
        *self.process() = Some(started.map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Starts the process again if it ended by itself, as a kubelet does: one that starts while it is cut off can't do anything
    /// else. Returns whether it did.
    pub(crate) fn revive(&self) -> Result<bool, String> {
        let id = self.process().as_ref().map(Supervised::pid);
        if id.is_some_and(has_ended) {
            self.start()?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Returns whether somebody who holds a Lease is this process, by its number in the identity.
    pub(crate) fn is_holder(&self, identity: &str) -> bool {
        let id = self.process().as_ref().map(Supervised::pid);
        id.is_some_and(|id| identity.contains(&format!("_{id}_")))
    }

    /// Ends the process as `kill -9` does.
    pub(crate) fn kill(&self) {
        self.process().take();
    }

    /// Asks the process to end, and waits until it has.
    pub(crate) async fn stop(&self) -> Result<(), String> {
        let Some(process) = self.process().take() else {
            return Ok(());
        };
        signal("TERM", process.pid())?;
        let deadline = Instant::now() + ENDS_WITHIN;
        while !has_ended(process.pid()) {
            if Instant::now() > deadline {
                return Err(format!("{} doesn't end when it is asked to", self.name));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// Holds the process up in whatever it does.
    pub(crate) fn pause(&self) -> Result<(), String> {
        self.signal("STOP")
    }

    /// Lets it go on.
    pub(crate) fn resume(&self) -> Result<(), String> {
        self.signal("CONT")
    }

    fn signal(&self, name: &str) -> Result<(), String> {
        let id = self.process().as_ref().map(Supervised::pid);
        id.map_or(Ok(()), |id| signal(name, id))
    }

    /// What the process said over all its runs.
    pub(crate) fn words(&self) -> String {
        let text = std::fs::read(self.log()).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The end of it.
    pub(crate) fn last_words(&self, lines: usize) -> String {
        let text = self.words();
        let all: Vec<&str> = text.lines().collect();
        let end = all.get(all.len().saturating_sub(lines)..).unwrap_or_default();
        format!("{}:\n  {}\n", self.name, end.join("\n  "))
    }

    fn log(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.name))
    }
}

fn signal(name: &str, id: u32) -> Result<(), String> {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &id.to_string()])
        .status();
    if sent.is_ok_and(|status| status.success()) || has_ended(id) {
        Ok(())
    } else {
        Err(format!("process {id} can't be sent SIG{name}"))
    }
}
