//! The reference in the book, written anew: all commands, as the program itself tells them, and all kinds.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::kind_pages;

/// Writes `docs/src/reference` and removes pages of kinds that are gone.
pub(crate) fn write() -> Result<(), Box<dyn std::error::Error>> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let book = root.join("docs/src");
    let told = Command::new("cargo")
        .args(["run", "--quiet", "--package", "baton", "--", "reference"])
        .current_dir(&root)
        .output()?;
    if !told.status.success() {
        return Err(format!("baton reference: {}", String::from_utf8_lossy(&told.stderr)).into());
    }
    let kinds = book.join("reference/kinds");
    if kinds.exists() {
        fs::remove_dir_all(&kinds)?;
    }
    fs::create_dir_all(&kinds)?;
    fs::write(book.join("reference/commands.md"), told.stdout)?;
    for (path, text) in kind_pages::all() {
        fs::write(book.join(path), text)?;
    }
    Ok(())
}
