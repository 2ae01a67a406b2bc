//! The folder `deploy/`, written anew from the crate that decides what goes into a cluster.

use std::fs;
use std::path::PathBuf;

/// Writes the folder and removes what isn't part of it any more.
pub(crate) fn write() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy"));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    for (path, text) in deploy::files::all() {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}
