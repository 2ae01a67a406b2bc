//! Where GPG signatures are kept: beside the registry, at an address that `registries.d` names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{PolicyError, read_limited, scope};
use crate::digest::Digest;
use crate::reference::Reference;
use crate::surroundings::Surroundings;

/// The places of signatures by scope.
#[derive(Debug, Clone)]
pub struct Lookaside {
    default: Option<String>,
    /// By scope.
    docker: BTreeMap<String, String>,
    /// Where signatures are when nothing is configured.
    fallback: PathBuf,
}

/// Where one signature is, if it exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// In a file.
    File(PathBuf),
    /// On a web server.
    Address(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Document {
    default_docker: Option<Namespace>,
    #[serde(default)]
    docker: Option<BTreeMap<String, Option<Namespace>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Namespace {
    lookaside: Option<String>,
    /// The older name of the same.
    sigstore: Option<String>,
}

impl Namespace {
    fn location(self) -> Option<String> {
        let given = |text: &String| !text.is_empty();
        self.lookaside.filter(given).or(self.sigstore.filter(given))
    }
}

impl Lookaside {
    /// Nothing configured: signatures are looked for below `folder` alone.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            default: None,
            docker: BTreeMap::new(),
            fallback: folder.to_owned(),
        }
    }

    /// Reads `registries.d` of the user or the system.
    pub fn from_surroundings(surroundings: &Surroundings) -> Result<Self, PolicyError> {
        let mut lookaside = Self::in_folder(&surroundings.in_system("var/lib/containers/sigstore"));
        let folder = surroundings
            .in_home(".config/containers/registries.d")
            .filter(|folder| folder.exists())
            .unwrap_or_else(|| surroundings.in_system("etc/containers/registries.d"));
        let failed = |path: &Path, cause: String| PolicyError::Lookaside {
            path: path.to_owned(),
            cause,
        };
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(lookaside),
            Err(error) => return Err(failed(&folder, error.to_string())),
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(|error| failed(&folder, error.to_string()))?.path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                paths.push(path);
            }
        }
        paths.sort();
        let mut default_from = None;
        let mut seen: BTreeMap<String, PathBuf> = BTreeMap::new();
        for path in paths {
            let bytes = read_limited(&path).map_err(|error| failed(&path, error.to_string()))?;
            let document: Option<Document> =
                goyaml::from_slice(&bytes).map_err(|error| failed(&path, error.to_string()))?;
            let Some(document) = document else { continue };
            if let Some(namespace) = document.default_docker {
                if let Some(earlier) = default_from.replace(path.clone()) {
                    let cause = format!("\"default-docker\" is also defined in {}", earlier.display());
                    return Err(failed(&path, cause));
                }
                lookaside.default = namespace.location();
            }
            for (scope, namespace) in document.docker.unwrap_or_default() {
                if let Some(earlier) = seen.insert(scope.clone(), path.clone()) {
                    let cause = format!(
                        "\"docker\" namespace {scope:?} is also defined in {}",
                        earlier.display()
                    );
                    return Err(failed(&path, cause));
                }
                if let Some(location) = namespace.unwrap_or_default().location() {
                    lookaside.docker.insert(scope, location);
                }
            }
        }
        Ok(lookaside)
    }

    /// Where the signature with this number is, counted from 0.
    pub fn location(
        &self,
        reference: &Reference,
        manifest: &Digest,
        index: usize,
    ) -> Result<Location, String> {
        let file = format!(
            "{}@sha256={}/signature-{}",
            reference.repository(),
            manifest.hex(),
            index + 1
        );
        let configured = scope::scopes(reference)
            .iter()
            .find_map(|scope| self.docker.get(scope))
            .or(self.default.as_ref());
        let Some(base) = configured else {
            return Ok(Location::File(self.fallback.join(file)));
        };
        if let Some(folder) = base.strip_prefix("file://") {
            return Ok(Location::File(Path::new(folder).join(file)));
        }
        if base.starts_with("https://") || base.starts_with("http://") {
            return Ok(Location::Address(format!(
                "{}/{file}",
                base.trim_end_matches('/')
            )));
        }
        Err(format!(
            "signatures of {} are kept at {base:?}, which is neither a file:// nor an https:// address; correct registries.d",
            reference.name()
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn location(lookaside: &Lookaside, reference: &str) -> Location {
        let reference = Reference::parse(reference).expect(reference);
        lookaside
            .location(&reference, &Digest::of(b""), 1)
            .expect("a location")
    }

    #[test]
    fn the_narrowest_scope_says_where_signatures_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let configuration = folder.path().join("etc/containers/registries.d");
        fs::create_dir_all(&configuration).expect("folders");
        fs::write(
            configuration.join("a.yaml"),
            "default-docker:\n  sigstore: file:///var/signatures\ndocker:\n  quay.io:\n    lookaside: https://sig.example/quay/\n  quay.io/x:\n    use-sigstore-attachments: true\n",
        )
        .expect("a file");
        let surroundings = Surroundings::under(folder.path());
        let lookaside = Lookaside::from_surroundings(&surroundings).expect("a configuration");
        let hex = Digest::of(b"").hex();
        assert_eq!(
            location(&lookaside, "quay.io/x/y:1"),
            Location::Address(format!("https://sig.example/quay/x/y@sha256={hex}/signature-2"))
        );
        assert_eq!(
            location(&lookaside, "other.example/y:1"),
            Location::File(PathBuf::from(format!(
                "/var/signatures/y@sha256={hex}/signature-2"
            )))
        );
        fs::write(configuration.join("b.yaml"), "docker:\n  quay.io: {}\n").expect("a file");
        let error = Lookaside::from_surroundings(&surroundings)
            .expect_err("twice")
            .to_string();
        assert!(
            error.contains("\"docker\" namespace \"quay.io\" is also defined in"),
            "{error}"
        );
    }

    #[test]
    fn an_address_that_cannot_be_asked_is_an_error() {
        let lookaside = Lookaside {
            default: Some("ftp://x".to_owned()),
            docker: BTreeMap::new(),
            fallback: PathBuf::new(),
        };
        let reference = Reference::parse("quay.io/a:1").expect("a reference");
        assert!(lookaside.location(&reference, &Digest::of(b""), 0).is_err());
    }
}
