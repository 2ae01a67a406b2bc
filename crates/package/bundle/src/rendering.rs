//! registry+v1 bundles rendered to plain manifests, as OLM v1 installs them.
//!
//! ```text
//! RegistryBundle ─ checks ─► targets (which namespaces) ─► permissions ─► webhooks, certificates ─► workloads ─► objects
//! ```
//!
//! The order of the objects is fixed: service accounts, roles, cluster roles, CRDs, other manifests, deployments,
//! webhooks, services, certificates.

pub mod certificates;
pub mod checks;
pub mod configuration;
mod deployment_config;
pub mod names;
mod permissions;
pub mod quantity;
pub mod targets;
mod webhooks;
mod workloads;

use serde_json::{Value, json};

use crate::registry::RegistryBundle;
use certificates::CertificateProvider;

/// How a bundle is rendered.
pub struct RenderOptions<'a> {
    /// The namespace the operator runs in.
    pub install_namespace: String,
    /// The namespaces it watches; `[""]` means all, none means the bundle's default.
    pub target_namespaces: Vec<String>,
    /// Who makes the certificates of webhooks, where somebody does.
    pub certificates: Option<&'a dyn CertificateProvider>,
    /// Changes to the operator's deployments: `spec.config.inline.deploymentConfig` of a ClusterExtension.
    pub deployment_config: Option<Value>,
    /// How roles and their bindings are named, see [`names::unique_name`].
    pub unique_name: fn(base: &str, permission: &Value) -> String,
}

impl RenderOptions<'_> {
    /// Options for an operator that runs in `install_namespace`, everything else as the bundle has it.
    #[must_use]
    pub fn new(install_namespace: impl Into<String>) -> Self {
        Self {
            install_namespace: install_namespace.into(),
            target_namespaces: Vec::new(),
            certificates: None,
            deployment_config: None,
            unique_name: names::unique_name,
        }
    }

    fn watches_all_namespaces(&self) -> bool {
        self.target_namespaces.len() == 1 && self.target_namespaces[0].is_empty()
    }
}

/// Why a bundle can't be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The bundle breaks rules; every break has a line.
    #[error("{}", .0.join("\n"))]
    Invalid(Vec<String>),
    /// The bundle can't watch the namespaces it is asked to watch.
    #[error("invalid option(s): {0}")]
    Options(String),
    /// Two conversion webhooks serve one CRD.
    #[error("custom resource definition '{0}' is referenced by multiple conversion webhook definitions")]
    SeveralConversions(String),
    /// A CRD with a conversion webhook keeps unknown fields, so the API server would not call the webhook.
    #[error(
        "custom resource definition '{0}' must have .spec.preserveUnknownFields set to false to let API Server call webhook to do the conversion"
    )]
    PreservesUnknownFields(String),
    /// A manifest of a kind that bundles can't have.
    #[error("bundle contains unsupported resource: Name: {name}, Kind: {kind}")]
    UnsupportedKind {
        /// The object's name.
        name: String,
        /// Its kind.
        kind: String,
    },
}

/// One step of rendering, which makes the objects of some kinds.
pub type Generator = fn(&RegistryBundle, &RenderOptions<'_>) -> Result<Vec<Value>, RenderError>;

/// The steps in their order, each with its name.
pub const GENERATORS: [(&str, Generator); 10] = [
    ("service-accounts", permissions::service_accounts),
    ("permissions", permissions::roles),
    ("cluster-permissions", permissions::cluster_roles),
    ("crds", webhooks::custom_resource_definitions),
    ("additional-resources", workloads::other_manifests),
    ("deployments", workloads::deployments),
    ("validating-webhooks", webhooks::validating),
    ("mutating-webhooks", webhooks::mutating),
    ("services", webhooks::services),
    ("cert-resources", webhooks::certificates),
];

/// Renders a bundle to the objects that installing it creates.
///
/// # Errors
///
/// When the bundle breaks a rule of [`checks`], can't watch the namespaces asked for, or holds what can't be installed.
pub fn render(bundle: &RegistryBundle, mut options: RenderOptions<'_>) -> Result<Vec<Value>, RenderError> {
    let broken = checks::check(bundle);
    if !broken.is_empty() {
        return Err(RenderError::Invalid(broken));
    }
    let modes = targets::InstallModes::of(bundle);
    if options.target_namespaces.is_empty() {
        options.target_namespaces = modes.default_targets();
    }
    modes
        .check_targets(&options.install_namespace, &options.target_namespaces)
        .map_err(RenderError::Options)?;
    let mut objects = Vec::new();
    for (_, generator) in GENERATORS {
        objects.extend(generator(bundle, &options)?);
    }
    Ok(objects)
}

/// An object with a name and, where it isn't empty, a namespace.
fn object(api_version: &str, kind: &str, name: &str, namespace: &str) -> Value {
    let mut metadata = json!({ "name": name });
    if !namespace.is_empty() {
        metadata["namespace"] = namespace.into();
    }
    json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata })
}

/// A list inside the ClusterServiceVersion; empty when there is none.
fn list<'a>(bundle: &'a RegistryBundle, pointer: &str) -> &'a [Value] {
    bundle
        .cluster_service_version
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// A text field; empty when there is none.
fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}
