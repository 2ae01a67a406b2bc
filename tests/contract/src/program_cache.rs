//! Programs that are built or downloaded once and kept outside of the project's own builds, with the digest of each.
//!
//! ```text
//! ${XDG_CACHE_HOME:-~/.cache}/baton/realkube/1.36.3/{etcd, etcd.sha256, …}
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use aws_lc_rs::digest::{SHA256, digest};

use crate::real::binaries::BuildError;

/// The folder of what doesn't change from build to build, shared by all checkouts of this repository.
pub fn folder() -> PathBuf {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .unwrap_or_else(std::env::temp_dir)
        .join("baton")
}

/// Whether a program is there and is what was put there: an interrupted copy or a full disk leaves something else.
pub(crate) fn is_whole(program: &Path) -> bool {
    // Tests ask again and again, and a hundred megabytes take a tenth of a second.
    static KNOWN: Mutex<BTreeMap<PathBuf, bool>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().expect("nobody panics while asking");
    if let Some(is_whole) = known.get(program) {
        return *is_whole;
    }
    let is_whole = std::fs::read_to_string(digest_file(program))
        .is_ok_and(|noted| digest_of(program).is_ok_and(|found| found == noted.trim()));
    // What isn't there yet may come.
    if is_whole {
        known.insert(program.to_owned(), is_whole);
    }
    is_whole
}

/// Moves a program to its place when it is whole, and notes its digest, so that an interrupted build isn't taken for a
/// finished one.
pub(crate) fn keep(unfinished: &Path, finished: &Path) -> Result<(), BuildError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |cause| BuildError::File { path, cause }
    };
    let noted = digest_file(finished);
    let found = digest_of(unfinished).map_err(failed(unfinished))?;
    std::fs::rename(unfinished, finished).map_err(failed(finished))?;
    std::fs::write(&noted, found).map_err(failed(&noted))
}

fn digest_file(program: &Path) -> PathBuf {
    program.with_added_extension("sha256")
}

fn digest_of(program: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    for byte in digest(&SHA256, &std::fs::read(program)?).as_ref() {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{is_whole, keep};

    #[test]
    fn a_program_that_is_not_what_was_kept_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let unfinished = path("unfinished");
        for (name, spoilt) in [
            ("whole", None),
            ("cut", Some("prog")),
            ("empty", Some("")),
            ("other", Some("Program")),
        ] {
            assert!(!is_whole(&path(name)), "{name} isn't there yet");
            std::fs::write(&unfinished, "program").expect("written");
            keep(&unfinished, &path(name)).expect("kept");
            if let Some(text) = spoilt {
                std::fs::write(path(name), text).expect("spoilt");
            }
            assert_eq!(is_whole(&path(name)), spoilt.is_none(), "{name}");
        }
        assert!(!unfinished.exists());
        std::fs::write(path("undescribed"), "program").expect("written");
        assert!(!is_whole(&path("undescribed")));
    }
}
