//! What a process finds around it: environment variables, the user's home and the system's directories.
//!
//! Configuration is looked up through this type alone, so that a test, or a controller with its own directories, sees
//! nothing of the machine that it runs on.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The variables that decide where container tools look for their configuration.
const VARIABLES: [&str; 6] = [
    "CONTAINERS_REGISTRIES_CONF",
    "DOCKER_CONFIG",
    "PATH",
    "REGISTRY_AUTH_FILE",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
];

/// Where configuration files of Docker, Podman and the system are looked for.
#[derive(Debug, Clone)]
pub struct Surroundings {
    variables: BTreeMap<String, OsString>,
    home: Option<PathBuf>,
    root: PathBuf,
}

impl Surroundings {
    /// Those of this process.
    #[must_use]
    pub fn of_process() -> Self {
        let variables = VARIABLES
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var_os(name)?)))
            .collect();
        Self {
            variables,
            home: std::env::home_dir(),
            root: PathBuf::from("/"),
        }
    }

    /// A world of its own, without variables and without a home, whose `/etc` lies under `root`.
    #[must_use]
    pub fn under(root: &Path) -> Self {
        Self {
            variables: BTreeMap::new(),
            home: None,
            root: root.to_owned(),
        }
    }

    /// The same, with a home directory.
    #[must_use]
    pub fn with_home(mut self, home: &Path) -> Self {
        self.home = Some(home.to_owned());
        self
    }

    /// The same, with an environment variable.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    /// The value of a variable, unless it is unset or empty.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(name)
            .map(OsString::as_os_str)
            .filter(|value| !value.is_empty())
    }

    /// A path below the user's home, if there is one.
    pub fn in_home(&self, path: &str) -> Option<PathBuf> {
        Some(self.home.as_ref()?.join(path))
    }

    /// A path below the directory for the user's configuration.
    pub fn in_configuration(&self, path: &str) -> Option<PathBuf> {
        match self.variable("XDG_CONFIG_HOME") {
            Some(folder) => Some(Path::new(folder).join(path)),
            None => Some(self.in_home(".config")?.join(path)),
        }
    }

    /// A path of the system, given without its leading slash.
    pub fn in_system(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}
