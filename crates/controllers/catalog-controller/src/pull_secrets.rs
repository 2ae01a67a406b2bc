//! Credentials for registries that Secrets of the cluster hold.

use std::fmt;
use std::str::FromStr;

use api::keys::PULL_SECRET;
use image::credentials::{CredentialsDocument, Secret as Hidden};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::{Api, Client};

/// The key of a Secret in the form that Docker and Podman write today.
const CURRENT_KEY: &str = ".dockerconfigjson";
/// The key of a Secret in the form that Docker once wrote.
const LEGACY_KEY: &str = ".dockercfg";

/// An object with a namespace, written `<namespace>/<name>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamespacedName {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl fmt::Display for NamespacedName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// Why credentials of the cluster can't be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The name isn't one.
    #[error("pull secret {0:?} is not a name: write <namespace>/<name> into the annotation {PULL_SECRET}")]
    Name(String),
    /// There is no such Secret.
    #[error("pull secret {0} does not exist: create it, or change the annotation {PULL_SECRET}")]
    Missing(NamespacedName),
    /// The Secret has neither of the two keys.
    #[error(
        "pull secret {0} has no key {CURRENT_KEY} or {LEGACY_KEY}: create it with `kubectl create secret docker-registry`"
    )]
    NoKey(NamespacedName),
    /// The Secret's content is no text.
    #[error("pull secret {0} holds no text: create it with `kubectl create secret docker-registry`")]
    NoText(NamespacedName),
    /// The cluster can't be asked.
    #[error("cannot read pull secret {name}: {cause}")]
    Api {
        /// The Secret or ServiceAccount.
        name: NamespacedName,
        /// What the cluster said.
        cause: String,
    },
}

impl FromStr for NamespacedName {
    type Err = SecretError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_name = |part: &str| schema::structural::name_rules::dns_subdomain(part).is_empty();
        match text.split_once('/') {
            Some((namespace, name)) if is_name(namespace) && is_name(name) => Ok(Self {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            }),
            _ => Err(SecretError::Name(text.to_owned())),
        }
    }
}

/// Where credentials for all catalogs come from.
#[derive(Debug, Clone, Default)]
pub struct GlobalSecrets {
    /// Secrets for every catalog; one that doesn't exist is passed over.
    pub secrets: Vec<NamespacedName>,
    /// The ServiceAccount whose `imagePullSecrets` are used too: that of the pod.
    pub service_account: Option<NamespacedName>,
}

/// Reads the credentials for a catalog: first those of its own Secret, then the global ones.
pub async fn read(
    client: &Client,
    own: Option<&str>,
    global: &GlobalSecrets,
) -> Result<Vec<CredentialsDocument>, SecretError> {
    let mut documents = Vec::new();
    if let Some(own) = own {
        let name: NamespacedName = own.parse()?;
        let secret = secret(client, &name).await?;
        documents.push(document(
            &name,
            secret.ok_or_else(|| SecretError::Missing(name.clone()))?,
        )?);
    }
    let mut names = global.secrets.clone();
    if let Some(account) = &global.service_account {
        names.extend(of_account(client, account).await?);
    }
    for name in names {
        // Those who set up the cluster name Secrets that may come later, or never.
        if let Some(secret) = secret(client, &name).await? {
            match document(&name, secret) {
                Ok(document) => documents.push(document),
                Err(error) => tracing::warn!(%error, "a global pull secret is passed over"),
            }
        }
    }
    Ok(documents)
}

async fn secret(client: &Client, name: &NamespacedName) -> Result<Option<Secret>, SecretError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &name.namespace);
    secrets
        .get_opt(&name.name)
        .await
        .map_err(|error| failed(name, &error))
}

async fn of_account(client: &Client, account: &NamespacedName) -> Result<Vec<NamespacedName>, SecretError> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &account.namespace);
    let found = accounts
        .get_opt(&account.name)
        .await
        .map_err(|error| failed(account, &error))?;
    let references = found
        .and_then(|found| found.image_pull_secrets)
        .unwrap_or_default();
    Ok(references
        .into_iter()
        .map(|reference| NamespacedName {
            namespace: account.namespace.clone(),
            name: reference.name,
        })
        .collect())
}

fn failed(name: &NamespacedName, error: &kube::Error) -> SecretError {
    SecretError::Api {
        name: name.clone(),
        cause: error.to_string(),
    }
}

fn document(name: &NamespacedName, secret: Secret) -> Result<CredentialsDocument, SecretError> {
    let mut data = secret.data.unwrap_or_default();
    let (content, is_legacy) = match (data.remove(CURRENT_KEY), data.remove(LEGACY_KEY)) {
        (Some(content), _) => (content, false),
        (None, Some(content)) => (content, true),
        (None, None) => return Err(SecretError::NoKey(name.clone())),
    };
    let content = String::from_utf8(content.0).map_err(|_| SecretError::NoText(name.clone()))?;
    Ok(CredentialsDocument {
        origin: format!("Secret {name}"),
        content: Hidden::new(content),
        is_legacy,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_named_with_its_namespace() {
        let name: NamespacedName = "olm/registry".parse().expect("a name");
        assert_eq!(name.to_string(), "olm/registry");
        for wrong in ["registry", "a/b/c", "/b", "a/", "A/b", ""] {
            let error = wrong.parse::<NamespacedName>().expect_err(wrong).to_string();
            assert!(error.contains("<namespace>/<name>"), "{error}");
        }
    }
}
