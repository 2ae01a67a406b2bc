//! Steps on disk that either happened or didn't, also when the machine stops between them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

/// Makes what was last created, renamed or removed in `folder` survive a power failure.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Creates a folder with all that lead to it, each of them durably.
pub(super) fn create_folders(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = folder_of(folder);
    if parent == folder {
        // A current folder that was removed has nothing that it could be created in.
        return Err(io::ErrorKind::NotFound.into());
    }
    create_folders(parent)?;
    match fs::create_dir(folder) {
        Ok(()) => sync_folder(parent),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// The folder that something lies in; for a bare name that is the current one.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => Path::new("/"),
    }
}

/// Puts `bytes` at `target`, in place of what was there; a reader sees the old or the new, never a part.
///
/// `temporary` is a folder on the same disk for the file while it is being written.
pub(super) fn replace(temporary: &Path, target: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(temporary)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    let folder = folder_of(target);
    create_folders(folder)?;
    file.persist(target).map_err(|error| error.error)?;
    sync_folder(folder)
}

/// Moves a finished and synced file to `target`.
pub(super) fn adopt(source: &Path, target: &Path) -> io::Result<()> {
    let folder = folder_of(target);
    create_folders(folder)?;
    fs::rename(source, target)?;
    sync_folder(folder)
}

/// Makes sure that an empty file is at `target` and that it is as young as now.
pub(super) fn mark(target: &Path) -> io::Result<()> {
    let folder = folder_of(target);
    create_folders(folder)?;
    match OpenOptions::new().write(true).create_new(true).open(target) {
        Ok(_) => sync_folder(folder),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => renew(target),
        Err(error) => Err(error),
    }
}

/// Makes a file as young as now.
pub(super) fn renew(target: &Path) -> io::Result<()> {
    OpenOptions::new()
        .write(true)
        .open(target)?
        .set_modified(SystemTime::now())
}

/// Removes a file; returns whether there was one.
pub(super) fn remove(target: &Path) -> io::Result<bool> {
    match fs::remove_file(target) {
        Ok(()) => {
            sync_folder(folder_of(target))?;
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns nothing instead of the error that says that there is nothing.
pub(super) fn if_present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The names in a folder that are text, in no order; a folder that isn't there has none.
pub(super) fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let Some(entries) = if_present(fs::read_dir(folder))? else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    for entry in entries {
        if let Ok(name) = entry?.file_name().into_string() {
            names.push(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_lies_in_the_current_folder() {
        for (path, folder) in [("registry", "."), ("a/b", "a"), ("/a", "/"), ("/", "/")] {
            assert_eq!(folder_of(Path::new(path)), Path::new(folder), "{path}");
        }
    }

    #[test]
    fn folders_are_created_with_all_that_lead_to_them() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/c");
        create_folders(&deep).unwrap();
        create_folders(&deep).unwrap();
        assert!(deep.is_dir());
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(create_folders(&folder.path().join("file/below")).is_err());
    }
}
