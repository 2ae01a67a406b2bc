//! One configuration file, in the current format or in the first one.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Mirror, MirrorsError, Registry, Serves};

/// The largest configuration file that is read: far above any that a person or a tool writes.
const FILE_SIZE_LIMIT: u64 = 4 << 20;

/// Which formats a file may have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Main,
    /// Drop-ins are newer than the first format.
    DropIn,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Document {
    registry: Option<Vec<RegistryTable>>,
    unqualified_search_registries: Option<Vec<String>>,
    short_name_mode: Option<String>,
    /// The first format.
    registries: Option<FirstFormat>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct RegistryTable {
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    location: String,
    #[serde(default)]
    insecure: bool,
    #[serde(default)]
    blocked: bool,
    #[serde(default)]
    mirror_by_digest_only: bool,
    #[serde(default)]
    pull_from_mirror: String,
    #[serde(default)]
    mirror: Vec<MirrorTable>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct MirrorTable {
    #[serde(default)]
    location: String,
    #[serde(default)]
    insecure: bool,
    #[serde(default)]
    pull_from_mirror: String,
}

#[derive(Deserialize)]
struct FirstFormat {
    #[serde(default)]
    insecure: RegistryNames,
    #[serde(default)]
    block: RegistryNames,
}

#[derive(Default, Deserialize)]
struct RegistryNames {
    #[serde(default)]
    registries: Vec<String>,
}

/// Reads the registries of a file by prefix; nothing when there is no such file.
pub(super) fn read(path: &Path, role: Role) -> Result<Option<BTreeMap<String, Registry>>, MirrorsError> {
    let unreadable = |source| MirrorsError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let mut text = String::new();
    file.take(FILE_SIZE_LIMIT + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    if text.len() as u64 > FILE_SIZE_LIMIT {
        return Err(invalid(
            path,
            format!("it is larger than {FILE_SIZE_LIMIT} bytes"),
        ));
    }
    parse(&text, role).map(Some).map_err(|cause| invalid(path, cause))
}

fn invalid(path: &Path, cause: String) -> MirrorsError {
    MirrorsError::Invalid {
        path: path.to_owned(),
        cause,
    }
}

/// Lists the drop-in files of a folder in the order of their names.
pub(super) fn drop_ins(folder: &Path) -> Result<Vec<PathBuf>, MirrorsError> {
    let unreadable = |source| MirrorsError::Unreadable {
        path: folder.to_owned(),
        source,
    };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "conf") && !path.is_dir() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

pub(super) fn parse(text: &str, role: Role) -> Result<BTreeMap<String, Registry>, String> {
    let document: Document = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
    let is_current = document.registry.is_some()
        || document.unqualified_search_registries.is_some()
        || document.short_name_mode.is_some();
    let registries = match (document.registries, role) {
        (Some(_), Role::DropIn) => return Err("registry must be in v2 format but is in v1".to_owned()),
        (Some(_), Role::Main) if is_current => {
            return Err("mixing sysregistry v1/v2 is not supported".to_owned());
        }
        (Some(first), Role::Main) => converted(&first)?,
        (None, _) => document.registry.unwrap_or_default(),
    };
    let mode = document.short_name_mode.unwrap_or_default();
    if !matches!(&*mode, "" | "disabled" | "enforcing" | "permissive") {
        return Err(format!("invalid short-name mode: {mode:?}"));
    }
    checked(registries)
}

fn converted(first: &FirstFormat) -> Result<Vec<RegistryTable>, String> {
    let mut tables: BTreeMap<String, RegistryTable> = BTreeMap::new();
    let mut table = |location: &str, change: fn(&mut RegistryTable)| -> Result<(), String> {
        let location = parse_location(location)?;
        let entry = tables.entry(location.clone()).or_insert_with(|| RegistryTable {
            prefix: location.clone(),
            location,
            insecure: false,
            blocked: false,
            mirror_by_digest_only: false,
            pull_from_mirror: String::new(),
            mirror: Vec::new(),
        });
        change(entry);
        Ok(())
    };
    for blocked in &first.block.registries {
        table(blocked, |registry| registry.blocked = true)?;
    }
    for insecure in &first.insecure.registries {
        table(insecure, |registry| registry.insecure = true)?;
    }
    Ok(tables.into_values().collect())
}

fn checked(tables: Vec<RegistryTable>) -> Result<BTreeMap<String, Registry>, String> {
    let mut registries = BTreeMap::new();
    let mut settings: BTreeMap<String, (bool, bool)> = BTreeMap::new();
    for table in tables {
        let (prefix, registry) = table.checked()?;
        let key = registry.location.clone().unwrap_or_else(|| prefix.clone());
        let (insecure, blocked) = *settings
            .entry(key.clone())
            .or_insert((registry.insecure, registry.blocked));
        for (differs, setting) in [
            (insecure != registry.insecure, "insecure"),
            (blocked != registry.blocked, "blocked"),
        ] {
            if differs {
                return Err(format!(
                    "registry '{key}' is defined multiple times with conflicting '{setting}' setting"
                ));
            }
        }
        registries.entry(prefix).or_insert(registry);
    }
    Ok(registries)
}

impl RegistryTable {
    fn checked(self) -> Result<(String, Registry), String> {
        let location = parse_location(&self.location)?;
        let prefix = if self.prefix.is_empty() {
            if location.is_empty() {
                return Err("invalid condition: both location and prefix are unset".to_owned());
            }
            location.clone()
        } else {
            parse_location(&self.prefix)?
        };
        let is_wildcard = prefix.starts_with("*.");
        if !is_wildcard && location.is_empty() {
            return Err(
                "invalid condition: location is unset and prefix is not in the format: *.example.com"
                    .to_owned(),
            );
        }
        if !self.pull_from_mirror.is_empty() {
            return Err(format!(
                "pull-from-mirror must not be set for a non-mirror registry {prefix:?}"
            ));
        }
        if is_wildcard && prefix.contains(['/', '@', ':']) {
            return Err(format!(
                "Wildcarded prefix should be in the format: *.example.com. Current prefix {prefix:?} is incorrectly formatted"
            ));
        }
        let mut mirrors = Vec::with_capacity(self.mirror.len());
        for mirror in self.mirror {
            mirrors.push(mirror.checked(&prefix, self.mirror_by_digest_only)?);
        }
        let registry = Registry {
            location: (!location.is_empty()).then_some(location),
            insecure: self.insecure,
            blocked: self.blocked,
            mirrors,
        };
        Ok((prefix, registry))
    }
}

impl MirrorTable {
    fn checked(self, prefix: &str, by_digest_only: bool) -> Result<Mirror, String> {
        let location = parse_location(&self.location)?;
        if location.is_empty() {
            return Err("invalid condition: mirror location is unset".to_owned());
        }
        if by_digest_only && !self.pull_from_mirror.is_empty() {
            return Err(format!(
                "cannot set mirror usage mirror-by-digest-only for the registry ({prefix:?}) and pull-from-mirror for \
                 per-mirror ({location:?}) at the same time"
            ));
        }
        let serves = match self.pull_from_mirror.as_str() {
            "" if by_digest_only => Serves::DigestsOnly,
            "" | "all" => Serves::All,
            "digest-only" => Serves::DigestsOnly,
            "tag-only" => Serves::TagsOnly,
            other => {
                return Err(format!(
                    "unsupported pull-from-mirror value {other:?} for mirror {location:?}"
                ));
            }
        };
        Ok(Mirror {
            location,
            insecure: self.insecure,
            serves,
        })
    }
}

fn parse_location(text: &str) -> Result<String, String> {
    let trimmed = text.trim_end_matches('/');
    if trimmed.starts_with("http://") || trimmed.starts_with("https://") {
        return Err(format!(
            "invalid location '{text}': URI schemes are not supported"
        ));
    }
    Ok(trimmed.to_owned())
}
