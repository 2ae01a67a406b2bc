//! The recorded test data that lies beside the repository, unpacked once and shared by all tests.
//!
//! ```text
//! <repository>/../shared/corpus/<name>.tar.xz ── open("<name>") ──► <repository>/target/corpus/<name>-<size>-<mtime>/
//! ```
//!
//! A test asks for an archive by its name and works with plain files:
//!
//! ```no_run
//! # fn replay(_: std::path::PathBuf) {}
//! let Some(olm) = corpus::open("olmv1") else { return };
//! replay(olm.join("olmv1-corpus/versions/blang.json"));
//! ```
//!
//! Without the archive the test is skipped and says so, unless [`REQUIRE`] is set: then its absence is a
//! failure, so that a machine that is meant to have the data can't pass by not having it.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The environment variable that turns a missing archive into a failure when it is `1`.
pub const REQUIRE: &str = "BATON_REQUIRE_CORPUS";

/// How long an unfinished unpacking may lie around before it counts as abandoned by a killed test.
///
/// The largest archive takes seconds; an hour leaves room for the slowest machine.
const ABANDONED_AFTER: Duration = Duration::from_hours(1);

/// How much memory the decoder may take, in KiB; the archives use dictionaries of at most 64 MiB.
const DECODER_MEMORY_KIB: u32 = 256 * 1024;

/// Says that a test was skipped and why, also where the test runner hides what passing tests print.
pub fn skipped(reason: &str) {
    use std::io::Write as _;
    // The runner captures the printing macros, but not the stream itself.
    writeln!(io::stderr(), "SKIPPED: {reason}").ok();
}

/// Returns the folder with the content of `<name>.tar.xz`, unpacking it if no earlier test has.
///
/// Returns `None`, after a line that starts with `SKIPPED`, when the archive is absent.
///
/// # Panics
///
/// When the archive is absent although [`REQUIRE`] is `1`, and when it can't be unpacked.
pub fn open(name: &str) -> Option<PathBuf> {
    let repository = repository();
    let archive = repository.join("../shared/corpus").join(format!("{name}.tar.xz"));
    let required = std::env::var(REQUIRE).is_ok_and(|value| value == "1");
    if !archive.is_file() {
        assert!(
            !required,
            "the corpus archive {} is absent, and {REQUIRE}=1 asks for it",
            archive.display()
        );
        skipped(&format!("the corpus archive {} is absent", archive.display()));
        return None;
    }
    match unpack_once(&archive, name, &target(&repository).join("corpus")) {
        Ok(folder) => Some(folder),
        Err(error) => panic!("cannot unpack {}: {error}", archive.display()),
    }
}

/// Returns the root of the repository.
fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// Returns the folder that cargo builds into.
fn target(repository: &Path) -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => repository.join(folder),
        None => repository.join("target"),
    }
}

/// Unpacks `archive` into a folder of `shelf` named after the archive's state, unless it is there.
///
/// The folder appears by a rename, so whoever sees it sees all of it. Of several processes that unpack at
/// the same time one wins; the others throw their own copy away and use the winner's.
fn unpack_once(archive: &Path, name: &str, shelf: &Path) -> io::Result<PathBuf> {
    static ATTEMPT: AtomicU32 = AtomicU32::new(0);

    let state = fs::metadata(archive)?;
    let modified = state
        .modified()?
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    let folder = shelf.join(format!("{name}-{}-{modified}", state.len()));
    if folder.is_dir() {
        return Ok(folder);
    }

    fs::create_dir_all(shelf)?;
    remove_abandoned(shelf);
    let attempt = ATTEMPT.fetch_add(1, Ordering::Relaxed);
    let unfinished = shelf.join(format!("{UNFINISHED}{name}-{}-{attempt}", process::id()));
    let result = unpack(archive, &unfinished).and_then(|()| match fs::rename(&unfinished, &folder) {
        Err(_) if folder.is_dir() => Ok(()),
        other => other,
    });
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    result.map(|()| folder)
}

/// How the name of a folder starts that is still being filled.
const UNFINISHED: &str = ".unfinished-";

fn unpack(archive: &Path, folder: &Path) -> io::Result<()> {
    let compressed = BufReader::with_capacity(1 << 16, File::open(archive)?);
    let plain = lzma_rust2::XzReader::new_mem_limit(compressed, true, DECODER_MEMORY_KIB);
    let mut entries = tar::Archive::new(plain);
    entries.set_preserve_mtime(false);
    entries.set_preserve_permissions(false);
    entries.unpack(folder)
}

/// Removes what killed tests have left half unpacked; failing to is no reason to fail a test.
fn remove_abandoned(shelf: &Path) {
    let now = SystemTime::now();
    let Ok(entries) = fs::read_dir(shelf) else { return };
    for entry in entries.flatten() {
        let unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        let age = entry
            .metadata()
            .and_then(|state| state.modified())
            .ok()
            .and_then(|at| now.duration_since(at).ok());
        if unfinished && age.is_some_and(|age| age > ABANDONED_AFTER) {
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::thread;

    /// Packs one file into `<folder>/data.tar.xz`.
    fn pack(folder: &Path, content: &[u8]) -> PathBuf {
        let mut tarball = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        tarball
            .append_data(&mut header, "inside/file.txt", content)
            .unwrap();
        let archive = folder.join("data.tar.xz");
        let options = lzma_rust2::XzOptions::with_preset(1);
        let mut writer = lzma_rust2::XzWriter::new(File::create(&archive).unwrap(), options).unwrap();
        writer.write_all(&tarball.into_inner().unwrap()).unwrap();
        writer.finish().unwrap();
        archive
    }

    #[test]
    fn racing_tests_all_get_the_whole_content_and_leave_nothing_else() {
        let world = tempfile::tempdir().unwrap();
        let content = b"baton ".repeat(100_000);
        let archive = pack(world.path(), &content);
        let shelf = world.path().join("shelf");
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let folder = unpack_once(&archive, "data", &shelf).unwrap();
                    assert_eq!(fs::read(folder.join("inside/file.txt")).unwrap(), content);
                });
            }
        });
        assert_eq!(fs::read_dir(&shelf).unwrap().count(), 1);
    }

    #[test]
    fn a_changed_archive_is_unpacked_again() {
        let world = tempfile::tempdir().unwrap();
        let shelf = world.path().join("shelf");
        let before = unpack_once(&pack(world.path(), b"one"), "data", &shelf).unwrap();
        let after = unpack_once(&pack(world.path(), &b"another".repeat(100)), "data", &shelf).unwrap();
        assert_ne!(before, after);
        assert_eq!(
            fs::read(after.join("inside/file.txt")).unwrap(),
            b"another".repeat(100)
        );
    }

    #[test]
    fn a_damaged_archive_is_an_error_and_leaves_no_folder() {
        let world = tempfile::tempdir().unwrap();
        let archive = pack(world.path(), &b"baton ".repeat(1000));
        let mut bytes = fs::read(&archive).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0xff;
        fs::write(&archive, bytes).unwrap();
        let shelf = world.path().join("shelf");
        unpack_once(&archive, "data", &shelf).unwrap_err();
        assert_eq!(fs::read_dir(&shelf).unwrap().count(), 0);
    }

    #[test]
    fn an_archive_that_nobody_has_is_skipped_or_refused() {
        let absent = std::panic::catch_unwind(|| open("no such archive"));
        if std::env::var(REQUIRE).is_ok_and(|value| value == "1") {
            absent.unwrap_err();
        } else {
            assert_eq!(absent.unwrap(), None);
        }
    }

    #[test]
    fn the_recorded_versions_are_found() {
        let Some(olm) = open("olmv1") else { return };
        assert!(
            olm.join("olmv1-corpus/versions/blang.json").is_file(),
            "{}",
            olm.display()
        );
    }
}
