//! PackageManifest: what catalogs offer, as an API of the cluster (`packages.operators.coreos.com/v1`).
//!
//! ```text
//! Sources, CatalogSources ─ package ─► PackageManifests ─ answers ─► discovery, get, list, watch, tables, icons
//!                                                        registration ─► the APIService that leads here
//! ```
//!
//! The answers are for the API server alone, which has asked already whether its caller may see them: whoever serves
//! [`Manifests::router`] lets in only who has the API server's certificate.

mod answers;
mod icon;
mod package;
pub mod registration;
mod table;

use std::sync::Arc;

use axum::Router;
use classic::Kind;
use serde_json::Value;

use crate::controller::Office;
use crate::sources::SourceName;

/// The API group.
pub const GROUP: &str = "packages.operators.coreos.com";

/// The version.
pub const VERSION: &str = "v1";

/// The group and version as objects write them.
pub const API_VERSION: &str = "packages.operators.coreos.com/v1";

/// What is asked about: the packages of all catalogs at this moment.
#[derive(Clone)]
pub struct Manifests {
    office: Arc<Office>,
}

impl Manifests {
    pub(crate) fn new(office: Arc<Office>) -> Self {
        Self { office }
    }

    /// Returns the routes below `/apis/packages.operators.coreos.com`.
    pub fn router(&self) -> Router {
        answers::router(self.clone())
    }

    /// Returns the packages that a namespace sees: those of its own catalogs and of the global ones; every one, in its own
    /// namespace, where none is named.
    fn packages(&self, namespace: &str) -> Vec<Value> {
        let global = &self.office.options.settings.global_namespace;
        let standings = self.office.sources.standings();
        let world = self.office.picture.look();
        let mut found = Vec::new();
        for (name, standing) in &standings {
            let is_seen = namespace.is_empty() || name.namespace == namespace || name.namespace == *global;
            let Ok(content) = &standing.content else { continue };
            if !is_seen {
                continue;
            }
            let Some(source) = world.get(Kind::CatalogSource, &name.namespace, &name.name) else {
                continue;
            };
            let place = if namespace.is_empty() {
                &name.namespace
            } else {
                namespace
            };
            found.extend(package::manifests(source, content, place));
        }
        let key = |manifest: &Value| {
            let text = |pointer: &str| apply::object::text(manifest, pointer).to_owned();
            (
                text("/metadata/namespace"),
                text("/metadata/name"),
                text("/status/catalogSourceNamespace"),
                text("/status/catalogSource"),
            )
        };
        found.sort_by_key(key);
        found
    }

    /// Returns how often the catalogs changed, which is the version of every list.
    fn version(&self) -> u64 {
        let standings = self.office.sources.standings();
        standings.values().map(|standing| standing.edition).sum()
    }

    /// Returns the picture of a package, from the end of its default channel.
    fn icon(&self, namespace: &str, name: &str) -> Option<icon::Icon> {
        let global = &self.office.options.settings.global_namespace;
        let standings = self.office.sources.standings();
        let mut contents = standings
            .iter()
            .filter_map(|(source, standing): (&SourceName, _)| {
                let is_seen = source.namespace == namespace || source.namespace == *global;
                standing.content.as_ref().ok().filter(|_| is_seen)
            });
        contents.find_map(|content| package::icon(content, name))
    }
}
