//! A certificate that is kept in a Secret of the cluster, shared by all replicas and renewed by them.
//!
//! The Secret holds an authority with its key and a certificate that it signed, under the keys that cert-manager uses. Who
//! trusts `ca.crt` needs nothing new when the certificate is renewed; when the authority is, `ca.crt` has both for a while.

mod renewal;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use apply::refusal::{is_already_there, is_conflict};
use catalog_controller::pull_secrets::NamespacedName;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use self::renewal::{Due, Kept};
use crate::cluster::refused;
use crate::failure::Failure;

/// How often the Secret is looked at: long before a certificate ends, and soon enough after somebody deleted it.
const EVERY: Duration = Duration::from_hours(1);

/// How often replicas that write at the same time try again; one of them succeeds each time.
const ATTEMPTS: usize = 5;

/// The type of Secrets with a certificate.
const SECRET_TYPE: &str = "kubernetes.io/tls";

/// A certificate in a Secret, as all replicas show it.
pub(crate) struct KeptIdentity {
    client: Client,
    secret: NamespacedName,
    hosts: Vec<String>,
    current: RwLock<Arc<CertifiedKey>>,
}

impl std::fmt::Debug for KeptIdentity {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("KeptIdentity")
            .field("secret", &self.secret)
            .finish_non_exhaustive()
    }
}

impl KeptIdentity {
    /// Reads the certificate, or makes one where there is none that will do.
    pub(crate) async fn open(
        client: Client,
        secret: NamespacedName,
        hosts: Vec<String>,
    ) -> Result<Arc<Self>, Failure> {
        let kept = ensure(&client, &secret, &hosts).await?;
        let current = certified(&kept).map_err(|cause| {
            Failure::new(format!("cannot use the certificate in Secret {secret}: {cause}"))
        })?;
        Ok(Arc::new(Self {
            client,
            secret,
            hosts,
            current: RwLock::new(Arc::new(current)),
        }))
    }

    /// Renews the certificate when it is time, and shows what another replica renewed; has no end of its own.
    pub(crate) async fn keep(&self) {
        loop {
            tokio::time::sleep(EVERY).await;
            let kept = match ensure(&self.client, &self.secret, &self.hosts).await {
                Ok(kept) => kept,
                Err(failure) => {
                    let cause = failure.text();
                    tracing::warn!(secret = %self.secret, cause, "the certificate can't be renewed; trying again");
                    continue;
                }
            };
            match certified(&kept) {
                Ok(identity) => {
                    *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(identity);
                }
                Err(cause) => tracing::warn!(secret = %self.secret, cause, "the certificate can't be used"),
            }
        }
    }
}

impl ResolvesServerCert for KeptIdentity {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(
            &self.current.read().unwrap_or_else(PoisonError::into_inner),
        ))
    }
}

/// Reads what the Secret holds, after renewing what is due.
async fn ensure(client: &Client, name: &NamespacedName, hosts: &[String]) -> Result<Kept, Failure> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &name.namespace);
    let doing = |verb: &str| format!("{verb} Secret {name} with the certificate");
    for _ in 0..ATTEMPTS {
        let found = secrets
            .get_opt(&name.name)
            .await
            .map_err(|error| refused(&doing("read"), error))?;
        let kept = found.as_ref().map(|secret| Kept::of(&data(secret)));
        let now = Timestamp::now();
        let due = renewal::decide(kept.as_ref(), hosts, now);
        let kept = kept.unwrap_or_default();
        if due == Due::Nothing {
            return Ok(kept);
        }
        let renewed = renewal::renew(due, kept, hosts, now)
            .map_err(|cause| Failure::new(format!("cannot make a certificate: {cause}")))?;
        let entries = renewed.data().into_iter();
        let entries = entries.map(|(key, value)| (key, ByteString(value)));
        let written = if let Some(mut secret) = found {
            secret.data.get_or_insert_default().extend(entries);
            secrets.replace(&name.name, &PostParams::default(), &secret).await
        } else {
            let secret = Secret {
                metadata: ObjectMeta {
                    name: Some(name.name.clone()),
                    ..ObjectMeta::default()
                },
                type_: Some(SECRET_TYPE.to_owned()),
                data: Some(entries.collect()),
                ..Secret::default()
            };
            secrets.create(&PostParams::default(), &secret).await
        };
        match written {
            Ok(_) => {
                tracing::info!(secret = %name, "the certificate is new");
                return Ok(renewed);
            }
            // Another replica was faster, and what it wrote is as good.
            Err(error) if is_conflict(&error) || is_already_there(&error) => {}
            Err(error) => return Err(refused(&doing("write"), error)),
        }
    }
    Err(Failure::new(format!(
        "cannot {}: others write it all the time; see who with: kubectl get secret {} -n {} -o yaml --show-managed-fields",
        doing("write"),
        name.name,
        name.namespace
    )))
}

fn data(secret: &Secret) -> BTreeMap<String, Vec<u8>> {
    let entries = secret.data.iter().flatten();
    entries
        .map(|(key, value)| (key.clone(), value.0.clone()))
        .collect()
}

/// Makes what is shown to clients of what is kept.
fn certified(kept: &Kept) -> Result<CertifiedKey, String> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(kept.certificate.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    let key = PrivateKeyDer::from_pem_slice(kept.key.as_bytes()).map_err(|error| error.to_string())?;
    let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&key).map_err(|error| error.to_string())?;
    let identity = CertifiedKey::new(chain, key);
    identity.keys_match().map_err(|error| error.to_string())?;
    Ok(identity)
}
