//! The steps that install a bundle, and those that a whole resolution asks for.

mod order;
mod planned;
mod service_version;

use apply::object::text;
use bundle::cluster_service_version::KIND as SERVICE_VERSION;
use resolve::classic::entry::CatalogKey;
use resolve::classic::property::{AnnotationError, Property};
use serde_json::{Value, json};
use thiserror::Error;

pub use order::ordered;
pub use planned::{Planned, SubscriptionChange, of_resolution};
pub use service_version::as_installed;

use crate::permissions::{self, DEFAULT_ACCOUNT};
use crate::selection::Content;

/// The group and version of roles and bindings.
const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// The kind of a step that makes a Secret of a bundle; a step of kind `Secret` copies a pull secret.
pub const BUNDLE_SECRET: &str = "BundleSecret";

/// The kind of a step that makes or updates a definition of custom resources.
pub const DEFINITION: &str = "CustomResourceDefinition";

/// Why a bundle can't be made into steps.
#[derive(Debug, Error)]
pub enum StepError {
    /// The ClusterServiceVersion doesn't say which version of the API it is of. No retry helps.
    #[error("bundle CSV {0} missing APIVersion")]
    MissingApiVersion(String),
    /// The ClusterServiceVersion doesn't say its kind. No retry helps.
    #[error("bundle CSV {0} missing Kind")]
    MissingKind(String),
    /// The ClusterServiceVersion can't be read.
    #[error("{0}")]
    Unreadable(goyaml::Error),
    /// The strategy isn't one that exists.
    #[error("unrecognized install strategy")]
    UnknownStrategy,
    /// A property isn't JSON.
    #[error("failed to construct properties annotation for {name:?}: {source}")]
    Properties {
        /// The ClusterServiceVersion.
        name: String,
        /// What is wrong.
        source: AnnotationError,
    },
    /// An object of the bundle doesn't say its kind.
    #[error("object {position} of bundle {bundle} has no kind")]
    ObjectWithoutKind {
        /// The bundle.
        bundle: String,
        /// Which object, from 0.
        position: usize,
    },
}

impl StepError {
    /// Returns whether the bundle is broken for good, so that it isn't tried again.
    pub fn is_fatal(&self) -> bool {
        matches!(self, Self::MissingApiVersion(_) | Self::MissingKind(_))
    }
}

/// What has become of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub enum StepStatus {
    Unknown,
    NotPresent,
    Present,
    Created,
    WaitingForApi,
    UnsupportedResource,
}

impl StepStatus {
    /// Returns the status as objects write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "Unknown",
            Self::NotPresent => "NotPresent",
            Self::Present => "Present",
            Self::Created => "Created",
            Self::WaitingForApi => "WaitingForApi",
            Self::UnsupportedResource => "UnsupportedResource",
        }
    }

    /// Returns whether nothing is left to be done for the step.
    pub const fn is_done(self) -> bool {
        matches!(self, Self::Present | Self::Created)
    }

    /// Reads a status; none for one that no step may have.
    pub fn named(name: &str) -> Option<Self> {
        let all = [
            Self::Unknown,
            Self::NotPresent,
            Self::Present,
            Self::Created,
            Self::WaitingForApi,
            Self::UnsupportedResource,
        ];
        all.into_iter().find(|status| status.as_str() == name)
    }
}

/// One object that a plan makes or updates.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The ClusterServiceVersion that it belongs to.
    pub resolving: String,
    /// The API group of the object.
    pub group: String,
    /// The version of the group.
    pub version: String,
    /// The kind of the step: the object's, or [`BUNDLE_SECRET`].
    pub kind: String,
    /// The object's name.
    pub name: String,
    /// The catalog that it comes from.
    pub source: CatalogKey,
    /// The object as JSON, or a reference to it.
    pub manifest: String,
}

impl Step {
    /// Makes the step of an object; its kind is `inferred` where the object doesn't say it.
    fn of_object(
        resolving: &str,
        object: &Value,
        inferred: Option<(&str, &str)>,
        source: &CatalogKey,
    ) -> Self {
        let (api_version, kind) = match inferred {
            Some(inferred) => inferred,
            None => (text(object, "/apiVersion"), text(object, "/kind")),
        };
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let name = match text(object, "/metadata/name") {
            "" => text(object, "/metadata/generateName"),
            name => name,
        };
        Self {
            resolving: resolving.to_owned(),
            group: group.to_owned(),
            version: version.to_owned(),
            kind: if kind == "Secret" { BUNDLE_SECRET } else { kind }.to_owned(),
            name: name.to_owned(),
            source: source.clone(),
            // Go's serializer ends what it writes with a newline.
            manifest: format!("{object}\n"),
        }
    }

    /// Returns the step as a plan's status holds it.
    pub fn to_value(&self) -> Value {
        json!({
            "resolving": self.resolving,
            "resource": {
                "sourceName": self.source.name,
                "sourceNamespace": self.source.namespace,
                "group": self.group,
                "version": self.version,
                "kind": self.kind,
                "name": self.name,
                "manifest": self.manifest,
            },
            "status": StepStatus::Unknown.as_str(),
        })
    }
}

/// Returns the steps of a bundle: its ClusterServiceVersion, its other objects, then what its permissions need.
pub fn of_bundle(
    content: &Content,
    properties: &[Property],
    namespace: &str,
    replaces: &str,
    source: &CatalogKey,
) -> Result<Vec<Step>, StepError> {
    let installed = as_installed(&content.service_version, properties, namespace, replaces)?;
    let resolving = text(&installed, "/metadata/name");
    let mut steps = vec![Step::of_object(resolving, &installed, None, source)];
    for (position, object) in content.objects.iter().enumerate() {
        match text(object, "/kind") {
            "" => {
                return Err(StepError::ObjectWithoutKind {
                    bundle: resolving.to_owned(),
                    position,
                });
            }
            SERVICE_VERSION => {}
            _ => steps.push(Step::of_object(resolving, object, None, source)),
        }
    }
    for (account, permitted) in permissions::of_service_version(&installed) {
        if account != DEFAULT_ACCOUNT {
            let inferred = Some(("v1", "ServiceAccount"));
            steps.push(Step::of_object(resolving, &permitted.account, inferred, source));
        }
        let lists = [
            ("Role", permitted.roles),
            ("RoleBinding", permitted.role_bindings),
            ("ClusterRole", permitted.cluster_roles),
            ("ClusterRoleBinding", permitted.cluster_role_bindings),
        ];
        for (kind, objects) in lists {
            let step = |object: &Value| Step::of_object(resolving, object, Some((RBAC, kind)), source);
            steps.extend(objects.iter().map(step));
        }
    }
    Ok(steps)
}
