//! The folder of `baton up`: where it is when nobody says so.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::Failure;

/// The variable that names the folder where no flag does.
const VARIABLE: &str = "BATON_DATA_DIR";

/// The folder below the one for data of programs.
const NAME: &str = "baton";

/// Which folder holds everything.
#[derive(Args, Clone, Default)]
pub(crate) struct DataFolderFlag {
    #[arg(
        long,
        value_name = "FOLDER",
        help = "The folder that holds everything; without it, $BATON_DATA_DIR, or baton in $XDG_DATA_HOME or ~/.local/share"
    )]
    data_dir: Option<PathBuf>,
}

impl DataFolderFlag {
    /// Whether the flag was given.
    pub(crate) fn is_given(&self) -> bool {
        self.data_dir.is_some()
    }

    /// Returns the folder, as a path that leads there from anywhere.
    pub(crate) fn folder(&self) -> Result<PathBuf, Failure> {
        let folder = self.data_dir.clone().or_else(default).ok_or_else(|| {
            Failure::new(format!(
                "cannot find a folder for data: neither $XDG_DATA_HOME nor $HOME is set; name one with --data-dir or ${VARIABLE}"
            ))
        })?;
        std::path::absolute(&folder)
            .map_err(|error| Failure::new(format!("cannot use the folder {}: {error}", folder.display())))
    }
}

/// Returns the folder where nothing is said.
pub(crate) fn default() -> Option<PathBuf> {
    default_among(
        std::env::var_os(VARIABLE),
        std::env::var_os("XDG_DATA_HOME"),
        std::env::home_dir().as_deref(),
    )
}

fn default_among(named: Option<OsString>, data: Option<OsString>, home: Option<&Path>) -> Option<PathBuf> {
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    // A relative one doesn't count, says the specification.
    let data = data.map(PathBuf::from).filter(|data| data.is_absolute());
    let home = home.filter(|home| !home.as_os_str().is_empty());
    let data = data.or_else(|| home.map(|home| home.join(".local/share")));
    data.map(|data| data.join(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_where_a_variable_says_or_among_the_data_of_programs() {
        for (named, data, home, expected) in [
            (Some("here"), Some("/data"), Some("/home/me"), Some("here")),
            (None, Some("/data"), Some("/home/me"), Some("/data/baton")),
            (
                Some(""),
                None,
                Some("/home/me"),
                Some("/home/me/.local/share/baton"),
            ),
            (
                None,
                Some("relative"),
                Some("/home/me"),
                Some("/home/me/.local/share/baton"),
            ),
            (None, Some(""), Some(""), None),
            (None, None, None, None),
        ] {
            let found = default_among(named.map(Into::into), data.map(Into::into), home.map(Path::new));
            assert_eq!(
                found.as_deref(),
                expected.map(Path::new),
                "{named:?} {data:?} {home:?}"
            );
        }
    }
}
