//! What a cluster's admin says about an extension: `spec.config.inline` of a ClusterExtension, and what a bundle makes
//! of it.
//!
//! ```text
//! install modes ─ schema ─┐
//! inline (YAML or JSON) ──┴─ document, judgement ─► Configuration ─ options ─► RenderOptions ─ manifests ─► objects
//!                            violation: OLM v1's words
//! ```
//!
//! Texts are OLM v1's. Where it has only `validation failed` to say, [`ConfigurationError::details`] knows more.

mod addresses;
mod deployment;
mod document;
mod formats;
mod judgement;
mod numbers;
mod schema;
mod times;
mod values;
mod violation;

use serde_json::{Map, Value};

use super::certificates::CertificateProvider;
use super::targets::InstallModes;
use super::{RenderError, RenderOptions, list, render};
use crate::files::BundleFiles;
use crate::registry::{LoadError, RegistryBundle};
use document::Document;
use judgement::{Exhausted, Judge};

const WATCH_NAMESPACE_FIELD: &str = "watchNamespace";
const DEPLOYMENT_CONFIG_FIELD: &str = "deploymentConfig";

/// The longest configuration that is read. It comes out of an object in etcd, which takes 1.5 MiB at most.
pub const MAXIMUM_CONFIGURATION_BYTES: usize = 2 << 20;

/// The condition reason of a ClusterExtension whose configuration can't be used.
pub const INVALID_CONFIGURATION: &str = "InvalidConfiguration";

/// The JSON schema that the configuration of a bundle with these install modes must keep to.
///
/// Without `deployment_config` it doesn't know that field, as when the gate is off.
#[must_use]
pub fn schema(modes: &InstallModes, deployment_config: bool) -> Value {
    schema::of_bundle(modes, deployment_config)
}

/// A configuration that keeps to its schema.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Configuration(Map<String, Value>);

/// Why a configuration can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigurationError {
    /// It is neither YAML nor JSON, breaks its schema, or the schema itself can't be used.
    #[error("invalid configuration: {message}")]
    Invalid {
        /// What OLM v1 says about it.
        message: String,
        /// Every value that breaks a rule, with the rule.
        details: Vec<String>,
    },
    /// There is no schema, and the configuration can't be read.
    #[error("error unmarshalling configuration: {0}")]
    Unreadable(String),
    /// The changes to the operator's deployments keep to the schema, but a value in them is impossible.
    #[error("failed to unmarshal deploymentConfig: {message}")]
    DeploymentConfig {
        /// What Go says about it.
        message: String,
        /// The quantities that can't be read, with their places.
        details: Vec<String>,
    },
}

impl ConfigurationError {
    fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid {
            message: message.into(),
            details: Vec::new(),
        }
    }

    /// Every value that breaks a rule, with the rule; empty where the message says it all.
    #[must_use]
    pub fn details(&self) -> &[String] {
        match self {
            Self::Invalid { details, .. } | Self::DeploymentConfig { details, .. } => details,
            Self::Unreadable(_) => &[],
        }
    }
}

impl Configuration {
    /// Reads a configuration and holds it against a schema, if there is one. No configuration is an empty one.
    ///
    /// `install_namespace` is where the operator will run; empty where nobody knows yet.
    ///
    /// # Errors
    ///
    /// When the configuration can't be read or breaks the schema.
    pub fn read(
        inline: Option<&[u8]>,
        schema: Option<&Value>,
        install_namespace: &str,
    ) -> Result<Self, ConfigurationError> {
        let bytes = inline.unwrap_or(b"{}");
        if bytes.len() > MAXIMUM_CONFIGURATION_BYTES {
            return Err(ConfigurationError::invalid(format!(
                "the configuration has {} bytes, and more than {MAXIMUM_CONFIGURATION_BYTES} are not read; shorten it",
                bytes.len()
            )));
        }
        let value = goyaml::to_value_float64(bytes).map_err(|error| {
            let core = core_of(&error.to_string());
            match schema {
                Some(_) => ConfigurationError::invalid(core),
                None => ConfigurationError::Unreadable(core),
            }
        })?;
        if let Some(schema) = schema {
            check(&value, schema, install_namespace)?;
        }
        match value {
            Value::Object(fields) => Ok(Self(fields)),
            Value::Null => Ok(Self::default()),
            _ => Err(ConfigurationError::Unreadable(
                "input is not a valid JSON object".to_owned(),
            )),
        }
    }

    /// The namespace that the operator shall watch.
    #[must_use]
    pub fn watch_namespace(&self) -> Option<String> {
        self.set(WATCH_NAMESPACE_FIELD).map(values::go_text)
    }

    /// The changes to the operator's deployments.
    ///
    /// # Errors
    ///
    /// When a value in them is impossible in a way that no schema tells, such as a quantity of `128MB`.
    pub fn deployment_config(&self) -> Result<Option<Value>, ConfigurationError> {
        let Some(config) = self.set(DEPLOYMENT_CONFIG_FIELD) else {
            return Ok(None);
        };
        deployment::read(config)
            .map(Some)
            .map_err(|error| ConfigurationError::DeploymentConfig {
                message: error.to_string(),
                details: deployment::faulty_quantities(config),
            })
    }

    fn set(&self, field: &str) -> Option<&Value> {
        self.0.get(field).filter(|value| !value.is_null())
    }
}

/// The last part of an error: OLM v1 leaves out where in the text it is.
fn core_of(error: &str) -> String {
    error.rsplit(':').next().unwrap_or(error).trim().to_owned()
}

fn check(value: &Value, schema: &Value, install_namespace: &str) -> Result<(), ConfigurationError> {
    let document = Document::read(schema)
        .map_err(|fault| ConfigurationError::invalid(format!("failed to compile schema: {fault}")))?;
    match Judge::new(&document, install_namespace).judge(value) {
        Ok(None) => Ok(()),
        Ok(Some(violation)) => Err(ConfigurationError::Invalid {
            message: violation.message(),
            details: violation.details(),
        }),
        Err(Exhausted) => Err(ConfigurationError::invalid(
            "the schema branches too much or leads too deep to hold the configuration against it; simplify either",
        )),
    }
}

/// The feature gates that decide what bundles and configurations may ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gates {
    /// `SingleOwnNamespaceInstallSupport`: operators may watch a single namespace.
    pub single_own_namespace: bool,
    /// `DeploymentConfig`: the configuration may change deployments.
    pub deployment_config: bool,
    /// `WebhookProviderCertManager` or `WebhookProviderOpenshiftServiceCA`: bundles may have webhooks.
    pub webhooks: bool,
}

impl Gates {
    /// Everything is allowed.
    #[must_use]
    pub fn all() -> Self {
        Self {
            single_own_namespace: true,
            deployment_config: true,
            webhooks: true,
        }
    }
}

/// Why there are no manifests for a bundle and a configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestsError {
    /// The bundle can't be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The bundle asks for something that isn't supported, or not with these gates.
    #[error("unsupported bundle: {0}")]
    Unsupported(&'static str),
    /// The configuration can't be used; nothing changes before somebody changes it.
    #[error("invalid ClusterExtension configuration: {0}")]
    Configuration(#[source] ConfigurationError),
    /// The changes to deployments can't be used; nothing changes before somebody changes them.
    #[error("invalid deploymentConfig: {0}")]
    DeploymentConfig(#[source] ConfigurationError),
    /// The bundle can't be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
}

impl ManifestsError {
    /// Whether trying again is in vain until somebody changes the ClusterExtension.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.reason().is_some()
    }

    /// The condition reason that upstream gives to a terminal error.
    #[must_use]
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Configuration(_) | Self::DeploymentConfig(_) => Some(INVALID_CONFIGURATION),
            Self::Load(_) | Self::Unsupported(_) | Self::Render(_) => None,
        }
    }

    /// Every value of the configuration that breaks a rule, with the rule; empty where the message says it all.
    #[must_use]
    pub fn details(&self) -> &[String] {
        match self {
            Self::Configuration(error) | Self::DeploymentConfig(error) => error.details(),
            Self::Load(_) | Self::Unsupported(_) | Self::Render(_) => &[],
        }
    }
}

/// How a bundle is rendered for a ClusterExtension with this configuration.
///
/// # Errors
///
/// When the bundle isn't supported with these gates, or the configuration can't be used for it.
pub fn options<'a>(
    bundle: &RegistryBundle,
    install_namespace: &str,
    inline: Option<&[u8]>,
    gates: Gates,
    certificates: Option<&'a dyn CertificateProvider>,
) -> Result<RenderOptions<'a>, ManifestsError> {
    let modes = InstallModes::of(bundle);
    check_support(bundle, &modes, gates, certificates.is_some())?;
    let mut options = RenderOptions::new(install_namespace);
    options.certificates = certificates;
    // A configuration that is there is always looked at, so that a field behind a closed gate isn't silently ignored.
    if gates.single_own_namespace || inline.is_some() {
        let schema = schema(&modes, gates.deployment_config);
        let configuration = Configuration::read(inline, Some(&schema), install_namespace)
            .map_err(ManifestsError::Configuration)?;
        options.target_namespaces.extend(configuration.watch_namespace());
        if gates.deployment_config {
            options.deployment_config = configuration
                .deployment_config()
                .map_err(ManifestsError::DeploymentConfig)?;
        }
    }
    Ok(options)
}

/// The objects that installing a bundle creates for a ClusterExtension with this configuration.
///
/// # Errors
///
/// When the bundle isn't supported with these gates, the configuration can't be used for it, or rendering fails.
pub fn manifests(
    bundle: &RegistryBundle,
    install_namespace: &str,
    inline: Option<&[u8]>,
    gates: Gates,
    certificates: Option<&dyn CertificateProvider>,
) -> Result<Vec<Value>, ManifestsError> {
    let options = options(bundle, install_namespace, inline, gates, certificates)?;
    Ok(render(bundle, options)?)
}

/// The same as [`manifests`], from a bundle's files.
///
/// # Errors
///
/// As [`manifests`], and when the bundle can't be loaded.
pub fn manifests_of_files(
    files: &BundleFiles,
    install_namespace: &str,
    inline: Option<&[u8]>,
    gates: Gates,
    certificates: Option<&dyn CertificateProvider>,
) -> Result<Vec<Value>, ManifestsError> {
    let bundle = RegistryBundle::load(files)?;
    manifests(&bundle, install_namespace, inline, gates, certificates)
}

fn check_support(
    bundle: &RegistryBundle,
    modes: &InstallModes,
    gates: Gates,
    has_certificates: bool,
) -> Result<(), ManifestsError> {
    let unsupported = |cause| Err(ManifestsError::Unsupported(cause));
    if !list(bundle, "/spec/apiservicedefinitions/owned").is_empty() {
        return unsupported("apiServiceDefintions are not supported");
    }
    if !list(bundle, "/spec/webhookdefinitions").is_empty() {
        if !gates.webhooks {
            return unsupported("webhookDefinitions are not supported");
        }
        if !has_certificates {
            return unsupported("webhookDefinitions are not supported: certificate provider is nil");
        }
    }
    if !gates.single_own_namespace && !modes.has("AllNamespaces") {
        return unsupported("bundle does not support AllNamespaces install mode");
    }
    if !["AllNamespaces", "SingleNamespace", "OwnNamespace"]
        .iter()
        .any(|mode| modes.has(mode))
    {
        return unsupported(
            "bundle must support at least one of [AllNamespaces SingleNamespace OwnNamespace] install modes",
        );
    }
    Ok(())
}
