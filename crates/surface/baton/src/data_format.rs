//! What a data folder says of itself: in which format it is, and which versions of baton can use it.
//!
//! A folder outlives the program: a newer one finds what an older one wrote, and the other way round when somebody goes back.
//! So a file in it names the format, and the oldest format whose programs can still use what lies there:
//!
//! ```text
//! this program knows format 2; the folder is in …
//! format 1                          it is brought to format 2
//! format 2                          it is used
//! format 3, for programs from 2 on  it is used, and says format 2 again: what is written from now on is that
//! format 4, for programs from 3 on  it is left alone, and the versions are told
//! ```
//!
//! The rule that makes going back by one version work: a program of format N writes what one of format N-1 can use.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use image::registry::note_pusher;
use serde::{Deserialize, Serialize};
use stage::access::keys::write_private;

use crate::failure::Failure;
use crate::own_registry;

/// The file that says it, and the one that is held by those who use the folder.
const FILE: &str = "format.json";
const LOCK: &str = "format.lock";

/// The largest file that is read; one that was written has less than a hundred bytes.
const MAX_BYTES: u64 = 1 << 16;

/// Everything in the folder is for its owner.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// How often it is tried to have a folder alone, and after which time again.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// The format of folders that say nothing: those of baton before there was this file.
const UNSAID: u32 = 1;

/// The format that this program writes. To change it: raise the number, add a migration to [`MIGRATIONS`], and see to it that
/// a program of the format before can use what is written.
const CURRENT: u32 = 3;

/// How a folder gets from each format to the next one, the oldest first.
const MIGRATIONS: [Migration; 2] = [
    Migration {
        to: 2,
        // All that is new is that the folder says its format, which is written afterwards.
        carry_out: |_| Ok(()),
    },
    Migration {
        to: 3,
        carry_out: note_who_pushed,
    },
];

/// From format 3 on it is noted who pushed an image, and pods run only images of which that is known. Before, everyone on the
/// machine could push. What the node ran then goes on running: it can do nothing new. All else has to be pushed again.
fn note_who_pushed(folder: &Path) -> io::Result<()> {
    // That of `baton up`, and that of `baton stage`.
    let nodes = [folder.join("cluster/node"), folder.join("node")];
    let mut ran = HashSet::new();
    for node in &nodes {
        match fs::read_dir(node.join("images")) {
            Ok(images) => {
                for image in images {
                    ran.extend(image?.file_name().into_string());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        // Whatever is in there is believed, and everyone had it fetched. It is fetched again where it is needed.
        match fs::remove_dir_all(node.join("content")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    note_pusher(&folder.join("registry"), own_registry::USER, |image| {
        ran.contains(&image.hex())
    })
}

/// A step from one format to the next.
#[derive(Clone, Copy)]
struct Migration {
    to: u32,
    /// May be carried out again if it was interrupted.
    carry_out: fn(&Path) -> io::Result<()>,
}

/// What a folder says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stamp {
    /// In which format it is.
    format: u32,
    /// The oldest format whose programs can use it.
    readable_from: u32,
    /// The version of baton that wrote this.
    written_by: String,
}

impl Stamp {
    fn of(format: u32) -> Self {
        Self {
            format,
            readable_from: format - 1,
            written_by: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// What is to be done with a folder.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// It is as this program writes it.
    Use,
    /// It is this program's from now on, because it is new or a newer one left it.
    Stamp,
    /// It has to be brought here from an older format.
    MigrateFrom(u32),
    /// This program can't use it.
    Refuse,
}

fn judge(found: Option<&Stamp>, is_empty: bool, current: u32) -> Verdict {
    match found {
        None if is_empty => Verdict::Stamp,
        None => Verdict::MigrateFrom(UNSAID),
        Some(stamp) if stamp.format == current => Verdict::Use,
        Some(stamp) if stamp.format < current => Verdict::MigrateFrom(stamp.format),
        Some(stamp) if stamp.readable_from <= current => Verdict::Stamp,
        Some(_) => Verdict::Refuse,
    }
}

/// A folder that this process may use for as long as this value lives: nobody changes its format meanwhile.
#[derive(Debug)]
pub(crate) struct UsedFolder {
    _lock: File,
}

/// Makes a folder where it is missing, and brings it to the format of this program; fails if it can't be used.
pub(crate) fn open(folder: &Path) -> Result<UsedFolder, Failure> {
    open_as(folder, CURRENT, &MIGRATIONS)
}

fn open_as(folder: &Path, current: u32, migrations: &[Migration]) -> Result<UsedFolder, Failure> {
    let failed = |error: io::Error| {
        Failure::new(format!(
            "cannot use the folder {}: {error}; name another one with --data-dir",
            folder.display()
        ))
    };
    let is_empty = make_private(folder).map_err(failed)?;
    let lock = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(FILE_MODE)
        .open(folder.join(LOCK))
        .map_err(failed)?;
    for name in [LOCK, FILE] {
        keep_private(&folder.join(name)).map_err(failed)?;
    }
    let mut attempts = 0;
    let from = loop {
        lock.lock_shared().map_err(failed)?;
        let found = read(folder)?;
        let from = match judge(found.as_ref(), is_empty, current) {
            Verdict::Use => return Ok(UsedFolder { _lock: lock }),
            Verdict::Stamp => current,
            Verdict::MigrateFrom(from) => from,
            Verdict::Refuse => return Err(too_new(folder, found, current)),
        };
        // The shared lock has to go first: two that wait for each other's would never get there.
        lock.unlock().map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => break from,
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) if attempts == LOCK_ATTEMPTS => {
                return Err(busy(folder, found, current));
            }
            // Whoever only starts too has looked in a moment.
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
        }
        attempts += 1;
    };
    for migration in migrations.iter().filter(|migration| migration.to > from) {
        (migration.carry_out)(folder).map_err(|error| {
            Failure::new(format!(
                "cannot bring the folder {} from format {from} to {current}: {error}; it can be used by the version of baton that \
                 wrote it, and is tried again at the next start",
                folder.display()
            ))
        })?;
    }
    let mut text = serde_json::to_vec(&Stamp::of(current))?;
    text.push(b'\n');
    write_private(&folder.join(FILE), &text).map_err(|error| Failure::new(error.to_string()))?;
    // From exclusive to shared; should somebody come between, it finds a folder that needs nothing.
    lock.lock_shared().map_err(failed)?;
    Ok(UsedFolder { _lock: lock })
}

/// Makes a folder where it is missing, for its owner alone; returns whether it is empty. One with content may be shared on
/// purpose.
fn make_private(folder: &Path) -> io::Result<bool> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(folder)?;
    if fs::read_dir(folder)?.next().is_none() {
        fs::set_permissions(folder, Permissions::from_mode(FOLDER_MODE))?;
    }
    is_empty(folder)
}

/// Makes a file, if it is there, one that only its owner can read.
fn keep_private(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.permissions().mode() & 0o777 != FILE_MODE => {
            fs::set_permissions(path, Permissions::from_mode(FILE_MODE))
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn busy(folder: &Path, found: Option<Stamp>, current: u32) -> Failure {
    let format = found.map_or(UNSAID, |stamp| stamp.format);
    Failure::new(format!(
        "the folder {} is in format {format} and used by another process, so it can't be brought to format {current} of baton {}; \
         stop that process first",
        folder.display(),
        env!("CARGO_PKG_VERSION"),
    ))
}

fn too_new(folder: &Path, found: Option<Stamp>, current: u32) -> Failure {
    let (format, written_by) = found.map_or((0, String::new()), |stamp| (stamp.format, stamp.written_by));
    Failure::new(format!(
        "the folder {} is in format {format}, written by baton {written_by}, and this is baton {}, which reads formats up to \
         {current}; use baton {written_by}, or name another folder with --data-dir",
        folder.display(),
        env!("CARGO_PKG_VERSION"),
    ))
}

fn read(folder: &Path) -> Result<Option<Stamp>, Failure> {
    let path: PathBuf = folder.join(FILE);
    let mut bytes = Vec::new();
    match File::open(&path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes)) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::new(format!("cannot read {}: {error}", path.display()))),
    }
    serde_json::from_slice(&bytes).map(Some).map_err(|error| {
        Failure::new(format!(
            "{} doesn't say in which format its folder is: {error}; remove it if nothing but baton {} has used the folder",
            path.display(),
            env!("CARGO_PKG_VERSION"),
        ))
    })
}

/// Returns whether nothing of baton lies in a folder: what others put there beforehand, and what tells of a process alone,
/// has no format.
fn is_empty(folder: &Path) -> io::Result<bool> {
    const OF_PROCESSES: [&str; 4] = [LOCK, "up.lock", "up.json", "lost+found"];
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if !OF_PROCESSES.iter().any(|other| name == **other) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(format: u32, readable_from: u32) -> Stamp {
        Stamp {
            format,
            readable_from,
            written_by: "9.8.7".to_owned(),
        }
    }

    #[test]
    fn a_folder_is_judged_by_its_format_and_by_who_can_read_it() {
        for (found, is_empty, verdict) in [
            (None, true, Verdict::Stamp),
            (None, false, Verdict::MigrateFrom(1)),
            (Some(stamp(2, 1)), false, Verdict::MigrateFrom(2)),
            (Some(stamp(3, 2)), false, Verdict::Use),
            (Some(stamp(4, 3)), false, Verdict::Stamp),
            (Some(stamp(5, 4)), false, Verdict::Refuse),
        ] {
            assert_eq!(judge(found.as_ref(), is_empty, 3), verdict, "{found:?}");
        }
    }

    #[test]
    fn migrations_lead_from_each_format_to_the_next() {
        let steps: Vec<u32> = MIGRATIONS.iter().map(|migration| migration.to).collect();
        assert_eq!(steps, (UNSAID + 1..=CURRENT).collect::<Vec<_>>());
    }

    /// Formats as they might become: in each one the file has one more line.
    fn lines(folder: &Path, line: &str) -> io::Result<()> {
        let path = folder.join("lines");
        let text = fs::read_to_string(&path)?;
        if text.lines().any(|one| one == line) {
            return Ok(());
        }
        fs::write(path, format!("{text}{line}\n"))
    }

    const FUTURE: [Migration; 3] = [
        Migration {
            to: 2,
            carry_out: |folder| lines(folder, "two"),
        },
        Migration {
            to: 3,
            carry_out: |folder| lines(folder, "three"),
        },
        Migration {
            to: 4,
            carry_out: |folder| lines(folder, "four"),
        },
    ];

    fn open_in(folder: &Path, current: u32) -> Result<UsedFolder, Failure> {
        open_as(folder, current, &FUTURE[..current as usize - 1])
    }

    #[test]
    fn an_older_folder_is_brought_here_step_by_step_and_back_by_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let text = || fs::read_to_string(folder.join("lines")).expect("a file");
        let format = || read(folder).expect("a file").map(|stamp| stamp.format);
        fs::write(folder.join("lines"), "one\n").expect("a file");
        drop(open_in(folder, 2).expect("a folder of before"));
        assert_eq!((text().as_str(), format()), ("one\ntwo\n", Some(2)));
        drop(open_in(folder, 4).expect("two formats further"));
        assert_eq!((text().as_str(), format()), ("one\ntwo\nthree\nfour\n", Some(4)));
        // Back by one: it is used as it is, and the newer program has to look at it again afterwards.
        drop(open_in(folder, 3).expect("one format back"));
        assert_eq!(format(), Some(3));
        drop(open_in(folder, 4).expect("on again"));
        assert_eq!((text().as_str(), format()), ("one\ntwo\nthree\nfour\n", Some(4)));
        let refused = open_in(folder, 2).expect_err("two formats back").text();
        assert!(
            refused.contains("is in format 4, written by baton ")
                && refused.contains("reads formats up to 2"),
            "{refused}"
        );
    }

    #[test]
    fn a_folder_in_use_is_not_changed_and_one_that_is_new_needs_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join("new");
        let used = open_in(&folder, 2).expect("a new folder");
        assert!(!folder.join("lines").exists());
        let second = open_in(&folder, 2).expect("two may use it");
        drop(second);
        let refused = open_in(&folder, 3).expect_err("it is in use").text();
        assert!(
            refused.contains("is in format 2 and used by another process"),
            "{refused}"
        );
        drop(used);
        fs::write(folder.join("lines"), "").expect("a file");
        drop(open_in(&folder, 3).expect("nobody uses it"));
        fs::write(folder.join(FILE), "{").expect("a file");
        let refused = open_in(&folder, 3).expect_err("no format").text();
        assert!(refused.contains("doesn't say in which format"), "{refused}");
    }
}
