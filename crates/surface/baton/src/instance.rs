//! The `baton up` of a data folder: that there is only one, where others find it, and whether it still lives.
//!
//! Two files in the folder tell of it. The lock is held by the process for as long as it lives, however it ends, and has
//! its number in it. The record says where everything is; it is there from when all is ready until a clean end. A record
//! without a held lock is what a process left behind that was killed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use stage::access::keys::write_private;

use crate::failure::Failure;

const LOCK: &str = "up.lock";
const RECORD: &str = "up.json";

/// The largest record that is read; one that was written has some hundred bytes.
const MAX_RECORD_BYTES: u64 = 1 << 20;

/// How often a lock that is held is tried again, and after which time. Who only looks whether it is held, holds it for a
/// moment.
const CLAIM_ATTEMPTS: u32 = 10;
const CLAIM_PAUSE: Duration = Duration::from_millis(20);

/// How often it is looked whether a process that was asked to stop has ended.
const END_PAUSE: Duration = Duration::from_millis(50);

/// Where a running `baton up` has everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    /// The number of its process.
    pub(crate) process: u32,
    /// When everything was ready.
    pub(crate) since: String,
    /// The address of the Kubernetes API.
    pub(crate) api: String,
    /// The address of the registry.
    pub(crate) registry: String,
    /// What its owner logs in to the registry with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) registry_password: Option<String>,
    /// The address of catalogs.
    pub(crate) catalogs: String,
    /// The address of the console, with the token that lets in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) console: Option<String>,
    /// The administrator's kubeconfig.
    pub(crate) kubeconfig: PathBuf,
    /// The data folder.
    pub(crate) folder: PathBuf,
    /// Whether everything is gone at the end.
    pub(crate) in_memory: bool,
}

/// What there is in a folder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No process.
    Nothing,
    /// No process, but the record of one that didn't end as it should.
    Remains(Box<Record>),
    /// A process that is about to start or to end.
    Changing(u32),
    /// A process that is ready.
    Running(Box<Record>),
}

impl Found {
    /// The number of the process that has the folder.
    pub(crate) fn process(&self) -> Option<u32> {
        match self {
            Self::Nothing | Self::Remains(_) => None,
            Self::Changing(process) => Some(*process),
            Self::Running(record) => Some(record.process),
        }
    }
}

/// A folder that this process has for itself for as long as this value lives.
#[derive(Debug)]
pub(crate) struct Claim {
    folder: PathBuf,
    lock: File,
}

impl Claim {
    /// Makes the folder where it is missing, and takes possession of it.
    pub(crate) fn take(folder: &Path) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            Failure::new(format!(
                "cannot use the folder {}: {error}; name another one with --data-dir",
                folder.display()
            ))
        };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(failed)?;
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(folder.join(LOCK))
            .map_err(failed)?;
        for attempt in 1.. {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) if attempt < CLAIM_ATTEMPTS => std::thread::sleep(CLAIM_PAUSE),
                Err(TryLockError::WouldBlock) => {
                    let holder = read_number(&mut lock).map_or_else(
                        || "another process".to_owned(),
                        |number| format!("process {number}"),
                    );
                    return Err(Failure::new(format!(
                        "baton is up already: {holder} uses {0}; see it with `baton status`, stop it with `baton down --data-dir \
                         {0}`, or name another folder with --data-dir",
                        folder.display()
                    )));
                }
            }
        }
        // What a process left that was killed is true no more.
        let _ = fs::remove_file(folder.join(RECORD));
        lock.set_len(0)
            .and_then(|()| writeln!(lock, "{}", std::process::id()))
            .map_err(failed)?;
        Ok(Self {
            folder: folder.to_owned(),
            lock,
        })
    }

    /// Tells others that everything is ready; for their owner's eyes, because a token and a password are in it.
    pub(crate) fn record(&self, record: &Record) -> Result<(), Failure> {
        let mut text = serde_json::to_vec_pretty(record)?;
        text.push(b'\n');
        write_private(&self.folder.join(RECORD), &text).map_err(|error| Failure::new(error.to_string()))
    }
}

impl Claim {
    /// Takes back what was told to others: the process is about to end.
    pub(crate) fn forget_record(&self) {
        let _ = fs::remove_file(self.folder.join(RECORD));
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.forget_record();
        // Closing the file is not enough while a process that is just being started still has a copy of it.
        let _ = self.lock.unlock();
    }
}

/// Looks which process there is in a folder; changes nothing.
pub(crate) fn find(folder: &Path) -> Result<Found, Failure> {
    let failed = |error: io::Error| {
        Failure::new(format!(
            "cannot look for a running baton in {}: {error}",
            folder.display()
        ))
    };
    let record = read_record(&folder.join(RECORD));
    let mut lock = match File::open(folder.join(LOCK)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(match record {
                Some(record) => Found::Remains(Box::new(record)),
                None => Found::Nothing,
            });
        }
        lock => lock.map_err(failed)?,
    };
    match lock.try_lock_shared() {
        Ok(()) => {
            let _ = lock.unlock();
            Ok(match record {
                Some(record) => Found::Remains(Box::new(record)),
                None => Found::Nothing,
            })
        }
        Err(TryLockError::Error(error)) => Err(failed(error)),
        Err(TryLockError::WouldBlock) => {
            let holder = read_number(&mut lock).unwrap_or_default();
            Ok(match record {
                // A record of another process was left behind by one that was killed before this one began.
                Some(record) if record.process == holder => Found::Running(Box::new(record)),
                _ => Found::Changing(holder),
            })
        }
    }
}

/// Returns the `baton up` that runs on the usual folder.
pub(crate) fn usual() -> Option<Record> {
    match find(&crate::data_folder::default()?) {
        Ok(Found::Running(record)) => Some(*record),
        _ => None,
    }
}

/// Asks the process that has a folder to stop, and waits until it has ended.
pub(crate) fn stop(folder: &Path, number: u32, patience: Duration) -> Result<(), Failure> {
    let process = i32::try_from(number).ok().and_then(Pid::from_raw);
    let Some(process) = process.filter(|_| has_open(number, &folder.join(LOCK))) else {
        return Err(Failure::new(format!(
            "cannot stop what uses {}: its lock names process {number}, which isn't it on this machine, or is somebody else's; \
             stop it where it was started",
            folder.display()
        )));
    };
    kill_process(process, Signal::TERM)
        .map_err(|error| Failure::new(format!("cannot stop process {number}: {error}")))?;
    let begun = std::time::Instant::now();
    while find(folder)?.process() == Some(number) {
        if begun.elapsed() >= patience {
            return Err(Failure::new(format!(
                "process {number} hasn't ended after {} s; wait longer with --timeout, or end it at once with: kill -9 {number}",
                patience.as_secs()
            )));
        }
        std::thread::sleep(END_PAUSE);
    }
    Ok(())
}

/// Removes the record that a process left behind.
pub(crate) fn forget(folder: &Path) {
    // Whoever has the folder now wrote its own.
    if let Ok(Found::Remains(_)) = find(folder) {
        let _ = fs::remove_file(folder.join(RECORD));
    }
}

fn read_record(path: &Path) -> Option<Record> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MAX_RECORD_BYTES).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn read_number(lock: &mut File) -> Option<u32> {
    let mut text = String::new();
    // A number and the end of a line: more is none.
    lock.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Returns whether a process has a file open: numbers are given again, and mean others in other containers.
#[cfg(target_os = "linux")]
fn has_open(process: u32, file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let Ok(wanted) = fs::metadata(file).map(identity) else {
        return false;
    };
    let Ok(entries) = fs::read_dir(format!("/proc/{process}/fd")) else {
        return false;
    };
    entries.flatten().any(|entry| {
        fs::metadata(entry.path())
            .map(identity)
            .is_ok_and(|open| open == wanted)
    })
}

#[cfg(not(target_os = "linux"))]
fn has_open(_: u32, _: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(folder: &Path, process: u32) -> Record {
        Record {
            process,
            since: "2026-01-01T00:00:00Z".to_owned(),
            api: "https://127.0.0.1:6443".to_owned(),
            registry: "http://127.0.0.1:5000".to_owned(),
            registry_password: Some("secret".to_owned()),
            catalogs: "http://127.0.0.1:5001/catalogs".to_owned(),
            console: Some("http://127.0.0.1:5002/?token=secret".to_owned()),
            kubeconfig: folder.join("baton.kubeconfig"),
            folder: folder.to_owned(),
            in_memory: false,
        }
    }

    #[test]
    fn a_folder_belongs_to_one_and_tells_who_it_is() {
        let world = tempfile::tempdir().expect("a folder");
        let folder = world.path().join("deep/data");
        assert_eq!(find(&folder).expect("a look"), Found::Nothing);
        let own = std::process::id();
        let claim = Claim::take(&folder).expect("a claim");
        assert_eq!(find(&folder).expect("a look"), Found::Changing(own));
        let refused = Claim::take(&folder).expect_err("a refusal").text();
        assert!(
            refused.starts_with(&format!("baton is up already: process {own} uses ")),
            "{refused}"
        );
        let written = record(&folder, own);
        claim.record(&written).expect("a record");
        assert_eq!(find(&folder).expect("a look"), Found::Running(Box::new(written)));
        drop(claim);
        assert_eq!(find(&folder).expect("a look"), Found::Nothing);
    }

    #[test]
    fn what_a_killed_process_left_is_told_from_one_that_runs() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let left = record(folder, 999_999_999);
        let claim = Claim::take(folder).expect("a claim");
        claim.record(&left).expect("a record");
        // The record of another process is none of the one that holds the lock.
        assert_eq!(find(folder).expect("a look"), Found::Changing(std::process::id()));
        let text = fs::read(folder.join(RECORD)).expect("a record");
        drop(claim);
        fs::write(folder.join(RECORD), text).expect("a record");
        assert_eq!(find(folder).expect("a look"), Found::Remains(Box::new(left)));
        forget(folder);
        assert_eq!(find(folder).expect("a look"), Found::Nothing);
        fs::write(folder.join(RECORD), "no record").expect("a file");
        assert_eq!(find(folder).expect("a look"), Found::Nothing);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_is_known_by_the_file_that_it_has_open() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let file = File::create(&path).expect("a file");
        assert!(has_open(std::process::id(), &path));
        assert!(!has_open(1, &path));
        drop(file);
        assert!(!has_open(std::process::id(), &path));
        let claim = Claim::take(folder.path()).expect("a claim");
        let refused = stop(folder.path(), 1, Duration::ZERO)
            .expect_err("a refusal")
            .text();
        assert!(
            refused.contains("its lock names process 1, which isn't it"),
            "{refused}"
        );
        drop(claim);
    }
}
