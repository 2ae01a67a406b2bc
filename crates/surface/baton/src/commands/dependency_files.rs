//! Carries out what an update of dependencies plans.

use std::path::{Path, PathBuf};

use chart::dependency_update::{self, DependencyUpdate};
use chart::source::SystemSource;

use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::written_files;

/// Packs the dependencies of the chart in a directory into its `charts/`.
pub(super) fn update(directory: &Path, terminal: &mut Terminal) -> Result<DependencyUpdate, Failure> {
    let update = dependency_update::plan(directory, &SystemSource, &mut |warning| terminal.remark(warning))?;
    let files: Vec<(PathBuf, Vec<u8>)> = update
        .new_files
        .iter()
        .map(|file| (file.path.clone(), file.content.clone()))
        .collect();
    written_files::write_all(&files).map_err(|error| {
        Failure::new(format!(
            "cannot write dependencies to {}: {error}",
            directory.display()
        ))
    })?;
    for outdated in &update.outdated {
        std::fs::remove_file(outdated)
            .map_err(|error| Failure::new(format!("cannot delete {}: {error}", outdated.display())))?;
    }
    Ok(update)
}
