//! When a bundle says that it was made: a time of the tree, so that the same tree makes the same bundle.
//!
//! ```text
//! SOURCE_DATE_EPOCH, else the newest commit of what bundles are made of, else the newest file of it
//! ```
//!
//! What isn't committed yet doesn't move the time of what is: a file that was only touched is the same file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::UNIX_EPOCH;

use bundle::generation::Project;
use bundle::generation::permissions::PERMISSIONS_FILE;
use bundle::generation::watches::WATCHES_FILE;

use crate::failure::Failure;
use crate::terminal::Terminal;

/// The variable by which builds are told the time of their sources.
const SOURCE_DATE_EPOCH: &str = "SOURCE_DATE_EPOCH";

/// What of a tree gets into bundles, apart from charts.
const SOURCES: [&str; 3] = [WATCHES_FILE, "PROJECT", "config"];

/// How many files are looked at; the largest charts have some thousands.
const MAXIMUM_FILES: usize = 100_000;

/// How deep folders are followed into folders.
const MAXIMUM_DEPTH: usize = 64;

/// The time of a tree's bundle, in seconds since 1970.
pub(super) fn of(tree: &Path, project: &Project, terminal: &mut Terminal) -> Result<i64, Failure> {
    if let Ok(text) = std::env::var(SOURCE_DATE_EPOCH) {
        return text.parse().map_err(|_| {
            Failure::new(format!(
                "{SOURCE_DATE_EPOCH} is {text:?}; it must be a number of seconds since 1970"
            ))
        });
    }
    let charts: Vec<&Path> = project
        .watched
        .iter()
        .map(|watched| watched.path.as_path())
        .collect();
    // The permissions are made on the way, and so are no source.
    let without_derived = format!(":(exclude){PERMISSIONS_FILE}");
    let mut of_tree = SOURCES.to_vec();
    of_tree.push(&without_derived);
    let mut commits = vec![newest_commit(tree, &of_tree)];
    for chart in &charts {
        commits.push(if chart.is_dir() {
            newest_commit(chart, &["."])
        } else {
            let folder = chart.parent().filter(|folder| !folder.as_os_str().is_empty());
            let name = chart.file_name().unwrap_or_default().to_string_lossy();
            newest_commit(folder.unwrap_or(Path::new(".")), &[&format!(":(literal){name}")])
        });
    }
    for commit in &commits {
        if let Err(reason) = commit {
            terminal.remark(format!(
                "git can't say when the tree was changed, so the time of its newest file is taken: {reason}"
            ));
            break;
        }
    }
    if let Some(time) = commits
        .into_iter()
        .filter_map(|commit| commit.ok().flatten())
        .max()
    {
        return Ok(time);
    }
    let mut paths: Vec<PathBuf> = SOURCES.iter().map(|source| tree.join(source)).collect();
    paths.extend(charts.into_iter().map(Path::to_owned));
    let mut newest = Newest {
        time: 0,
        left: MAXIMUM_FILES,
        but: tree.join(PERMISSIONS_FILE),
    };
    for path in &paths {
        newest.look(path, 0);
    }
    Ok(newest.time)
}

/// The time of the newest commit in which any of these paths changed; none where no commit has them, or there is no
/// repository or no git. The error is for a repository that git doesn't read.
fn newest_commit(folder: &Path, paths: &[&str]) -> Result<Option<i64>, String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["-c", "log.showSignature=false", "log", "-1", "--format=%ct", "--"])
        .args(paths)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output();
    let Ok(output) = output else { return Ok(None) };
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().parse().ok());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let is_expected = ["not a git repository", "does not have any commits yet"]
        .iter()
        .any(|expected| said.contains(expected));
    if is_expected {
        Ok(None)
    } else {
        Err(said.lines().next().unwrap_or_default().to_owned())
    }
}

/// The newest of files.
struct Newest {
    time: i64,
    left: usize,
    /// The file that doesn't count.
    but: PathBuf,
}

impl Newest {
    fn look(&mut self, path: &Path, depth: usize) {
        if self.left == 0 || path == self.but {
            return;
        }
        self.left -= 1;
        let Ok(metadata) = fs::metadata(path) else { return };
        if !metadata.is_dir() {
            let modified = metadata.modified().ok();
            let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let seconds = since.map_or(0, |since| since.as_secs());
            self.time = self.time.max(i64::try_from(seconds).unwrap_or(i64::MAX));
            return;
        }
        if depth < MAXIMUM_DEPTH
            && let Ok(entries) = fs::read_dir(path)
        {
            for entry in entries.flatten() {
                self.look(&entry.path(), depth + 1);
            }
        }
    }
}
