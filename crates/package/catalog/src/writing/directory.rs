//! A catalog as a directory with a file per package.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use gotemplate::format::quoted;

use super::{Format, WriteError, order, write_object, write_package};
use crate::objects::Catalog;

/// Writes a catalog below `root`: `PACKAGE/catalog.EXTENSION` for every package, and `catalog.EXTENSION` for objects
/// that belong to none.
///
/// Every file is complete before it takes its name, so that a reader never sees half of one.
pub fn write_directory(catalog: &Catalog, root: &Path, format: Format) -> Result<(), WriteError> {
    let (packages, roots) = order::by_package(catalog);
    fs::create_dir_all(root)?;
    let file_name = format!("catalog{}", format.extension());
    for (name, package) in &packages {
        if !is_local(name) {
            return Err(WriteError::PackageName(quoted(name)));
        }
        let directory = root.join(name);
        fs::create_dir_all(&directory)?;
        write_file(&directory.join(&file_name), |content| {
            write_package(package, format, content)
        })?;
    }
    if !roots.is_empty() {
        write_file(&root.join(&file_name), |content| {
            roots
                .iter()
                .try_for_each(|other| write_object(&other.blob, format, content))
        })?;
    }
    Ok(())
}

/// Whether a name leads to a place below the directory that it is looked up in.
fn is_local(name: &str) -> bool {
    let mut depth = 0_usize;
    for component in Path::new(name).components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir => match depth.checked_sub(1) {
                Some(shallower) => depth = shallower,
                None => return false,
            },
            Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    !name.is_empty() && !name.contains('\0')
}

fn write_file(
    path: &Path,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    let shown = || quoted(path.as_os_str().as_encoded_bytes());
    let mut content = Vec::new();
    write(&mut content).map_err(|error| WriteError::Content {
        path: shown(),
        error: Box::new(error),
    })?;
    replace(path, &content).map_err(|error| WriteError::File { path: shown(), error })
}

/// Writes a file beside the one that is meant, and then gives it its name.
///
/// The file gets the permissions that the user's mask leaves, because others are to read a catalog.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let unfinished = PathBuf::from(name);
    let result = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&unfinished)
        .and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&unfinished, path));
    if result.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    result
}
