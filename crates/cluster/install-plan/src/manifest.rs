//! What a step says of its object: the object itself, or where it is to be found.
//!
//! ```text
//! {"apiVersion": …, "kind": "Role", …}                                         the object, as upstream writes it
//! {"kind": "BundleImage", "image": "registry/bundle@sha256:…", "bundle": "a.v1"}   in an image, pulled again when needed
//! {"kind": "CatalogBundle", "catalogSourceName": …, "bundle": "a.v1", …}           in the catalog that the step names
//! {"kind": "ConfigMap", "name": …, "namespace": …, "catalogSourceName": …, …}      upstream's, from before a take-over
//! ```
//!
//! The kinds of references exist nowhere else. What upstream repeats in each reference (properties, what is
//! replaced) stands once, in the plan's `bundleLookups`. So a plan of image bundles takes some hundred bytes for each object,
//! whatever the size of the object.

use resolve::classic::entry::CatalogKey;
use serde_json::{Value, json};

use crate::selection::Content;

/// How many bytes of manifests a plan holds before they are replaced by references: etcd takes 1.5 MiB in all, and the
/// API server keeps what was applied and who owns which field beside it.
pub const MAXIMUM_INLINE_BYTES: usize = 768 * 1024;

/// Where the object of a step is to be found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reference {
    /// In a bundle image.
    Image {
        /// The image, by digest where it is known.
        image: String,
        /// The ClusterServiceVersion of the bundle.
        bundle: String,
    },
    /// In a catalog that holds the bundle itself.
    Catalog {
        /// The catalog.
        source: CatalogKey,
        /// The package.
        package: String,
        /// The channel.
        channel: String,
        /// The ClusterServiceVersion of the bundle.
        bundle: String,
        /// The installed ClusterServiceVersion that it takes the place of; empty for none.
        replaces: String,
    },
    /// In a ConfigMap that upstream's unpacking left behind; without it, in the image of the plan's bundle lookup.
    ConfigMap {
        /// The namespace.
        namespace: String,
        /// The name.
        name: String,
        /// The ClusterServiceVersion of the bundle.
        bundle: String,
    },
}

impl Reference {
    /// Writes the reference as the manifest of a step.
    pub fn to_manifest(&self) -> String {
        let value = match self {
            Self::Image { image, bundle } => json!({"kind": "BundleImage", "image": image, "bundle": bundle}),
            Self::Catalog {
                source,
                package,
                channel,
                bundle,
                replaces,
            } => json!({
                "kind": "CatalogBundle",
                "catalogSourceName": source.name,
                "catalogSourceNamespace": source.namespace,
                "package": package,
                "channel": channel,
                "bundle": bundle,
                "replaces": replaces,
            }),
            Self::ConfigMap { namespace, name, .. } => {
                json!({"kind": "ConfigMap", "name": name, "namespace": namespace})
            }
        };
        value.to_string()
    }

    /// Reads the reference of a step that belongs to `resolving`; none where the manifest is an object.
    pub fn read(manifest: &Value, resolving: &str) -> Option<Self> {
        let field = |name: &str| {
            let value = manifest.get(name).and_then(Value::as_str)?;
            (!value.is_empty()).then(|| value.to_owned())
        };
        let source = || {
            Some(CatalogKey {
                name: field("catalogSourceName")?,
                namespace: field("catalogSourceNamespace")?,
            })
        };
        match manifest.get("kind")?.as_str()? {
            "BundleImage" => Some(Self::Image {
                image: field("image")?,
                bundle: field("bundle")?,
            }),
            "CatalogBundle" => Some(Self::Catalog {
                source: source()?,
                package: field("package")?,
                channel: field("channel").unwrap_or_default(),
                bundle: field("bundle")?,
                replaces: field("replaces").unwrap_or_default(),
            }),
            // A ConfigMap of a bundle has no such fields at its top.
            "ConfigMap" => {
                source()?;
                Some(Self::ConfigMap {
                    namespace: field("namespace")?,
                    name: field("name")?,
                    bundle: resolving.to_owned(),
                })
            }
            _ => None,
        }
    }
}

/// Reads a manifest, which is JSON or, from a catalog's inline objects, YAML.
pub fn parse(manifest: &str) -> Result<Value, goyaml::Error> {
    // JSON is what nearly all of them are, and it is read much faster.
    match serde_json::from_str(manifest) {
        Ok(value) => Ok(value),
        Err(_) => goyaml::to_value(manifest.as_bytes()),
    }
}

/// Gives the manifests of bundles that references name.
pub trait Contents {
    /// Returns the manifests of a bundle; none if they aren't at hand yet.
    fn content(&self, reference: &Reference) -> Option<&Content>;
}

/// No manifests at all, for plans that hold their own.
impl Contents for () {
    fn content(&self, _: &Reference) -> Option<&Content> {
        None
    }
}

impl<S: std::hash::BuildHasher> Contents for std::collections::HashMap<String, Content, S> {
    /// Finds bundles by their ClusterServiceVersion.
    fn content(&self, reference: &Reference) -> Option<&Content> {
        self.get(reference.bundle())
    }
}

impl Reference {
    /// Returns the ClusterServiceVersion of the bundle.
    pub fn bundle(&self) -> &str {
        match self {
            Self::Image { bundle, .. } | Self::Catalog { bundle, .. } | Self::ConfigMap { bundle, .. } => {
                bundle
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_as_they_are_written() {
        let references = [
            Reference::Image {
                image: "registry/bundle@sha256:1".to_owned(),
                bundle: "a.v1".to_owned(),
            },
            Reference::Catalog {
                source: CatalogKey::new("olm", "cat"),
                package: "a".to_owned(),
                channel: "stable".to_owned(),
                bundle: "a.v1".to_owned(),
                replaces: "a.v0".to_owned(),
            },
        ];
        for reference in references {
            let manifest = parse(&reference.to_manifest()).expect("JSON");
            assert_eq!(Reference::read(&manifest, "a.v1"), Some(reference));
        }
    }

    #[test]
    fn upstreams_references_are_told_from_config_maps() {
        let reference = json!({
            "kind": "ConfigMap", "name": "0123", "namespace": "olm", "catalogSourceName": "cat",
            "catalogSourceNamespace": "olm", "replaces": "", "properties": "{}",
        });
        assert_eq!(
            Reference::read(&reference, "a.v1"),
            Some(Reference::ConfigMap {
                namespace: "olm".to_owned(),
                name: "0123".to_owned(),
                bundle: "a.v1".to_owned(),
            })
        );
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        assert_eq!(Reference::read(&object, "a.v1"), None);
    }
}
