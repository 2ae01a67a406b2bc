//! Where an image is really fetched from: `registries.conf` with its mirrors, rewritten names and blocks.
//!
//! The file is `$CONTAINERS_REGISTRIES_CONF`, the user's `~/.config/containers/registries.conf` or the system's
//! `/etc/containers/registries.conf`, in this order and only the first; drop-in files of `registries.conf.d` change it
//! afterwards, in the order of their names. The rules are those of containers/image.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::reference::{InvalidReference, Reference};
use crate::surroundings::Surroundings;

mod file;

/// The registries that a configuration says something about.
#[derive(Debug, Clone, Default)]
pub struct Mirrors {
    /// By prefix.
    registries: BTreeMap<String, Registry>,
    /// The files that they come from, for messages.
    files: Vec<PathBuf>,
}

/// A place to try, in the order in which [`Mirrors::endpoints`] lists them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The image's name there.
    pub reference: Reference,
    /// Whether it may be talked to without a valid certificate, or without encryption.
    pub insecure: bool,
}

/// Why it can't be said where an image is to be fetched from.
#[derive(Debug, thiserror::Error)]
pub enum MirrorsError {
    /// The file exists, or was named explicitly, but can't be read.
    #[error("cannot read the registries configuration {}: {source}; make it readable or name another one (CONTAINERS_REGISTRIES_CONF)", path.display())]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The file says something that makes no sense.
    #[error("the registries configuration {} is invalid: {cause}; correct it", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: String,
    },
    /// The registry, or a part of it, is blocked.
    #[error("registry {prefix} is blocked in {files}; remove \"blocked\" there or use another registry")]
    Blocked {
        /// The prefix of the entry that blocks it.
        prefix: String,
        /// The configuration files.
        files: String,
    },
    /// A location doesn't make a name together with the rest of the image's name.
    #[error("cannot look for {reference} at {location:?}, as {files} says: {cause}")]
    Rewrite {
        /// The image.
        reference: Box<Reference>,
        /// The location.
        location: String,
        /// The configuration files.
        files: String,
        /// What is wrong with the resulting name.
        cause: Box<InvalidReference>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Registry {
    /// Absent where a wildcard keeps the name as it is.
    location: Option<String>,
    insecure: bool,
    blocked: bool,
    mirrors: Vec<Mirror>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Mirror {
    location: String,
    insecure: bool,
    serves: Serves,
}

/// Which references a mirror is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Serves {
    All,
    DigestsOnly,
    TagsOnly,
}

impl Mirrors {
    /// No configuration: every image is fetched where its name says.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Reads one file alone, without drop-ins.
    pub fn from_file(path: &Path) -> Result<Self, MirrorsError> {
        let mut mirrors = Self::none();
        let registries = file::read(path, file::Role::Main)?.ok_or_else(|| MirrorsError::Unreadable {
            path: path.to_owned(),
            source: std::io::ErrorKind::NotFound.into(),
        })?;
        mirrors.merge(path, registries);
        Ok(mirrors)
    }

    /// Reads the configuration of the user or the system.
    pub fn from_surroundings(surroundings: &Surroundings) -> Result<Self, MirrorsError> {
        const FILE: &str = "containers/registries.conf";
        let system_drop_ins = surroundings.in_system("etc/containers/registries.conf.d");
        let user_drop_ins = surroundings.in_home(".config/containers/registries.conf.d");
        let user_file = surroundings
            .in_home(&format!(".config/{FILE}"))
            .filter(|path| path.exists());
        let (mut mirrors, drop_ins) = match (surroundings.variable("CONTAINERS_REGISTRIES_CONF"), user_file) {
            (Some(path), _) => (
                Self::from_file(Path::new(path))?,
                vec![Some(system_drop_ins), user_drop_ins],
            ),
            // A user's own file replaces the system's, with its drop-ins.
            (None, Some(path)) => (Self::from_file(&path)?, vec![user_drop_ins]),
            (None, None) => {
                let path = surroundings.in_system(&format!("etc/{FILE}"));
                let mut mirrors = Self::none();
                if let Some(registries) = file::read(&path, file::Role::Main)? {
                    mirrors.merge(&path, registries);
                }
                (mirrors, vec![Some(system_drop_ins), user_drop_ins])
            }
        };
        for folder in drop_ins.into_iter().flatten() {
            for path in file::drop_ins(&folder)? {
                if let Some(registries) = file::read(&path, file::Role::DropIn)? {
                    mirrors.merge(&path, registries);
                }
            }
        }
        Ok(mirrors)
    }

    fn merge(&mut self, path: &Path, registries: BTreeMap<String, Registry>) {
        self.registries.extend(registries);
        self.files.push(path.to_owned());
    }

    /// Lists where to look for an image, mirrors first.
    pub fn endpoints(&self, reference: &Reference) -> Result<Vec<Endpoint>, MirrorsError> {
        let Some((prefix, registry)) = self.registry_of(&reference.to_string()) else {
            return Ok(vec![Endpoint {
                reference: reference.clone(),
                insecure: false,
            }]);
        };
        self.check_blocked(prefix, registry)?;
        let by_digest = reference.digest().is_some();
        let mut endpoints = Vec::with_capacity(registry.mirrors.len() + 1);
        for mirror in &registry.mirrors {
            let serves = match mirror.serves {
                Serves::All => true,
                Serves::DigestsOnly => by_digest,
                Serves::TagsOnly => !by_digest,
            };
            if serves {
                endpoints.push(Endpoint {
                    reference: self.rewrite(reference, prefix, &mirror.location)?,
                    insecure: mirror.insecure,
                });
            }
        }
        endpoints.push(Endpoint {
            reference: match &registry.location {
                Some(location) => self.rewrite(reference, prefix, location)?,
                None => reference.clone(),
            },
            insecure: registry.insecure,
        });
        Ok(endpoints)
    }

    /// Says how to reach the registry that an image is pushed to: its name is never rewritten then.
    pub fn push_target(&self, reference: &Reference) -> Result<Endpoint, MirrorsError> {
        let registry = self.registry_of(&reference.name());
        if let Some((prefix, registry)) = registry {
            self.check_blocked(prefix, registry)?;
        }
        Ok(Endpoint {
            reference: reference.clone(),
            insecure: registry.is_some_and(|(_, registry)| registry.insecure),
        })
    }

    /// The entry with the longest prefix of a name.
    fn registry_of(&self, name: &str) -> Option<(&str, &Registry)> {
        self.registries
            .iter()
            .filter(|(prefix, _)| matched_length(name, prefix).is_some())
            // Of equally long prefixes the first in alphabetical order, as upstream has it.
            .rev()
            .max_by_key(|(prefix, _)| prefix.len())
            .map(|(prefix, registry)| (prefix.as_str(), registry))
    }

    fn check_blocked(&self, prefix: &str, registry: &Registry) -> Result<(), MirrorsError> {
        if registry.blocked {
            return Err(MirrorsError::Blocked {
                prefix: prefix.to_owned(),
                files: self.files_in_words(),
            });
        }
        Ok(())
    }

    fn rewrite(
        &self,
        reference: &Reference,
        prefix: &str,
        location: &str,
    ) -> Result<Reference, MirrorsError> {
        let text = reference.to_string();
        let rest = matched_length(&text, prefix).map_or("", |length| &text[length..]);
        Reference::parse(&format!("{location}{rest}")).map_err(|cause| MirrorsError::Rewrite {
            reference: Box::new(reference.clone()),
            location: location.to_owned(),
            files: self.files_in_words(),
            cause: Box::new(cause),
        })
    }

    fn files_in_words(&self) -> String {
        let files: Vec<String> = self.files.iter().map(|path| path.display().to_string()).collect();
        files.join(", ")
    }
}

/// How much of a name a prefix covers: whole components only; `*.example.com` covers every host below that domain.
fn matched_length(name: &str, prefix: &str) -> Option<usize> {
    let length = match prefix.strip_prefix('*').filter(|domain| domain.starts_with('.')) {
        Some(domain) => {
            let start = name.find(domain)?;
            if name[..start].contains('/') {
                return None;
            }
            start + domain.len()
        }
        None => name.starts_with(prefix).then_some(prefix.len())?,
    };
    matches!(name.as_bytes().get(length), None | Some(b':' | b'/' | b'@')).then_some(length)
}

#[cfg(test)]
mod tests;
