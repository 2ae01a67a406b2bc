//! Packages that a text finds in a catalog: what `baton catalog search` and the console show.

use std::borrow::Cow;

use catalog::store::Store;
use serde::Deserialize;

use crate::package::{Bundle, Package, PackageError};
use crate::resolution::preference;

/// A package that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The package.
    pub package: String,
    /// What it is for.
    pub description: String,
    /// The channel that is used when none is asked for.
    pub default_channel: String,
}

/// The part of a package object that is looked at; pictures aren't even copied.
#[derive(Deserialize)]
struct Described<'a> {
    #[serde(default, borrow)]
    description: Option<Cow<'a, str>>,
    #[serde(rename = "defaultChannel", default, borrow)]
    default_channel: Option<Cow<'a, str>>,
}

/// Finds the packages whose name or description holds a text, in the order of the catalog; an empty text finds all.
///
/// # Errors
///
/// If an object of the catalog can't be read.
pub fn hits(store: &Store, text: &str) -> Result<Vec<Hit>, PackageError> {
    let text = text.to_lowercase();
    let mut found = Vec::new();
    for meta in store.packages() {
        let name = meta.name();
        let described: Described<'_> =
            serde_json::from_slice(meta.blob()?).map_err(|source| PackageError::Object {
                package: name.to_owned(),
                schema: "olm.package".to_owned(),
                name: name.to_owned(),
                source,
            })?;
        let description = described.description.unwrap_or_default();
        if name.to_lowercase().contains(&text) || description.to_lowercase().contains(&text) {
            found.push(Hit {
                package: name.to_owned(),
                description: description.into_owned(),
                default_channel: described.default_channel.unwrap_or_default().into_owned(),
            });
        }
    }
    Ok(found)
}

/// Returns the version that would be installed where nothing is; empty where none can be.
pub fn latest(package: &Package) -> String {
    let best = package
        .bundles
        .iter()
        .min_by(|one, other| preference(package, one, other));
    best.map(version_text).unwrap_or_default()
}

/// Returns the version of a bundle as people write it; empty where it has none that can be read.
pub fn version_text(bundle: &Bundle) -> String {
    match &bundle.version {
        Ok(version) => version.to_build_metadata().to_string(),
        Err(_) => String::new(),
    }
}
