//! Files that appear whole or not at all: written under a temporary name, then renamed.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use tempfile::NamedTempFile;

/// The permissions that a new file asks for; the process's mask takes away from them, as for every other program.
#[cfg(unix)]
const FILE_MODE: u32 = 0o666;

/// Tells whether a path, joined to a directory, stays inside it.
pub(crate) fn stays_inside(path: &str) -> bool {
    Path::new(path)
        .components()
        .all(|component| matches!(component, Component::Normal(_) | Component::CurDir))
}

/// Writes one file with what `content` writes.
pub(crate) fn write<E: From<io::Error>>(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let mut file = create_beside(path)?;
    // Past the temporary name, which would be in the error.
    content(file.as_file_mut())?;
    file.persist(path).map_err(|failed| failed.error)?;
    Ok(())
}

/// Writes files; none of them is replaced before all of them are on the disk. Folders that were made for files that
/// can't be written are removed again.
pub(crate) fn write_all(files: &[(PathBuf, Vec<u8>)]) -> io::Result<()> {
    let missing: BTreeSet<&Path> = files
        .iter()
        .flat_map(|(path, _)| path.ancestors().skip(1))
        .filter(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        .collect();
    write_or_nothing(files).inspect_err(|_| {
        // Deepest first; one that somebody else has put something into meanwhile stays.
        for folder in missing.iter().rev() {
            fs::remove_dir(folder).ok();
        }
    })
}

fn write_or_nothing(files: &[(PathBuf, Vec<u8>)]) -> io::Result<()> {
    let mut written = Vec::with_capacity(files.len());
    for (path, content) in files {
        let mut file = create_beside(path)?;
        file.as_file_mut().write_all(content)?;
        // Renaming needs no open file, and there may be more files than may be open.
        written.push((path, file.into_temp_path()));
    }
    for (path, file) in written {
        file.persist(path).map_err(|failed| failed.error)?;
    }
    Ok(())
}

fn create_beside(path: &Path) -> io::Result<NamedTempFile> {
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".baton-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(FILE_MODE));
    builder.tempfile_in(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_climbs_leaves() {
        for (path, inside) in [
            ("a/b", true),
            ("a/./b", true),
            ("../a", false),
            ("a/../../b", false),
            ("/a", false),
        ] {
            assert_eq!(stays_inside(path), inside, "{path}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_finished_leaves_nothing() {
        let world = tempfile::tempdir().expect("a directory");
        let path = world.path().join("a/b.txt");
        let outcome = write(&path, |output| {
            output.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert_eq!(outcome.expect_err("a failure").to_string(), "no more");
        assert_eq!(
            fs::read_dir(world.path().join("a")).expect("a directory").count(),
            0
        );
        write_all(&[(path.clone(), b"whole".to_vec())]).expect("written");
        assert_eq!(fs::read(&path).expect("a file"), b"whole");
    }
}
