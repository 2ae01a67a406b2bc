//! What checks are told besides the bundle: values from the command line, and who knows about images.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The key of the Kubernetes version that a bundle is checked against.
pub const KUBERNETES_VERSION: &str = "k8s-version";
/// The key of the Dockerfile whose labels say which `OpenShift` versions a bundle is for.
pub const INDEX_PATH: &str = "index-path";
/// The key of the tool that images are looked at with; baton looks itself, and only checks the value.
pub const CONTAINER_TOOLS: &str = "container-tools";
/// The variable that names a file of one's own categories.
pub const CATEGORIES_VARIABLE: &str = "OPERATOR_BUNDLE_CATEGORIES";

/// Values for checks that need more than the bundle, such as `k8s-version=1.22`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OptionalValues {
    values: BTreeMap<String, String>,
    categories_file: Option<PathBuf>,
}

/// Text that is not `key=value`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} must be formatted as key=value")]
pub struct NotAPair(pub String);

impl OptionalValues {
    /// Reads values as they are given on the command line: `k8s-version=1.22,index-path=bundle.Dockerfile`.
    ///
    /// # Errors
    ///
    /// When a part has no equals sign.
    pub fn parse<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, NotAPair> {
        let mut values = BTreeMap::new();
        for text in texts {
            // One pair may hold commas in its value; more than one is a list of pairs.
            let pairs: Vec<&str> = match text.matches('=').count() {
                0 => return Err(NotAPair(text.to_owned())),
                1 => vec![text],
                _ => text.split(',').collect(),
            };
            for pair in pairs {
                let (key, value) = pair.split_once('=').ok_or_else(|| NotAPair(pair.to_owned()))?;
                values.insert(key.to_owned(), value.to_owned());
            }
        }
        Ok(Self {
            values,
            categories_file: None,
        })
    }

    /// Takes a file of categories instead of `OperatorHub`'s, as `$OPERATOR_BUNDLE_CATEGORIES` names it.
    #[must_use]
    pub fn with_categories_file(mut self, path: Option<PathBuf>) -> Self {
        self.categories_file = path.filter(|path| !path.as_os_str().is_empty());
        self
    }

    /// The value of a key; empty where there is none.
    #[must_use]
    pub fn get(&self, key: &str) -> &str {
        self.values.get(key).map_or("", String::as_str)
    }

    /// The file of categories, if there is one.
    #[must_use]
    pub fn categories_file(&self) -> Option<&Path> {
        self.categories_file.as_deref()
    }
}

/// An operating system and an architecture that an image is there for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Platform {
    /// Such as `linux`.
    pub system: String,
    /// Such as `arm64`.
    pub architecture: String,
}

/// Knows which platforms an image is there for, by asking its registry.
pub trait ImagePlatforms {
    /// The platforms in an image's index; none for an image that has no index.
    ///
    /// # Errors
    ///
    /// Why the image could not be looked at.
    fn platforms(&self, image: &str) -> Result<Vec<Platform>, String>;
}

/// What a check is told.
pub(super) struct Context<'c> {
    pub(super) values: &'c OptionalValues,
    pub(super) platforms: Option<&'c dyn ImagePlatforms>,
}

/// What Go says for an error of the system.
pub(super) fn system_text(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or_default().to_lowercase()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_given_in_pairs() {
        let values =
            OptionalValues::parse(["k8s-version=1.22,index-path=a", "container-tools=none"]).expect("pairs");
        assert_eq!(values.get(KUBERNETES_VERSION), "1.22");
        assert_eq!(values.get(INDEX_PATH), "a");
        assert_eq!(values.get(CONTAINER_TOOLS), "none");
        assert_eq!(values.get("other"), "");
        let error = OptionalValues::parse(["x"]).expect_err("no pair");
        assert_eq!(error.to_string(), "x must be formatted as key=value");
    }
}
