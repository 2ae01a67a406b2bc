//! What cert-manager does in a cluster, played by the test: certificates for those who ask, and trust in them.

use std::time::Duration;

use base64::Engine as _;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::kubernetes::Kubernetes;
use crate::reference::Reference;

/// How often the cluster is looked at.
const PERIOD: Duration = Duration::from_millis(200);

/// The annotation that asks for trust in a certificate.
const INJECT: &str = "cert-manager.io/inject-ca-from";

/// Plays cert-manager until it is dropped.
pub(crate) struct CertificateManager {
    task: JoinHandle<()>,
}

impl Drop for CertificateManager {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl CertificateManager {
    /// Makes the kinds of cert-manager known and begins to serve them.
    pub(crate) async fn start(kubernetes: &Kubernetes) -> Result<Self, String> {
        for kind in ["Certificate", "Issuer"] {
            let singular = kind.to_ascii_lowercase();
            let definition = json!({
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("{singular}s.cert-manager.io")},
                "spec": {
                    "group": "cert-manager.io",
                    "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": format!("{singular}s"),
                        "singular": singular},
                    "scope": "Namespaced",
                    "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                        }}}}],
                },
            });
            kubernetes.apply(&definition).await?;
            kubernetes
                .until(&Reference::of(&definition), |definition| {
                    crate::conditions::holds(
                        definition,
                        "Established",
                        "True",
                        "",
                        crate::conditions::Says::Anything,
                    )
                })
                .await?;
        }
        let authority = Authority::new()?;
        let kubernetes = kubernetes.clone();
        let task = tokio::spawn(async move {
            loop {
                // What fails is tried again a moment later: somebody else was faster, or the server is busy.
                let _ = authority.serve(&kubernetes).await;
                tokio::time::sleep(PERIOD).await;
            }
        });
        Ok(Self { task })
    }
}

/// Who signs.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

impl Authority {
    fn new() -> Result<Self, String> {
        let key = KeyPair::generate().map_err(|error| error.to_string())?;
        let mut parameters = CertificateParams::default();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = parameters.self_signed(&key).map_err(|error| error.to_string())?;
        Ok(Self {
            certificate: certificate.pem(),
            issuer: Issuer::new(parameters, key),
        })
    }

    async fn serve(&self, kubernetes: &Kubernetes) -> Result<(), String> {
        let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Ready",
            "message": "signed by a test", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
        for kind in ["issuers", "certificates"] {
            let (objects, _) = kubernetes
                .list(&format!("/apis/cert-manager.io/v1/{kind}"), "")
                .await?;
            for object in objects.iter().filter(|object| object["status"].is_null()) {
                if kind == "certificates" {
                    kubernetes.apply(&self.secret(object)?).await?;
                }
                kubernetes
                    .replace_in_status(&Reference::of(object), &ready)
                    .await?;
            }
        }
        self.inject(kubernetes).await
    }

    /// Signs what a Certificate asks for.
    fn secret(&self, certificate: &Value) -> Result<Value, String> {
        let names: Vec<String> = certificate["spec"]["dnsNames"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|name| Some(name.as_str()?.to_owned()))
            .collect();
        let key = KeyPair::generate().map_err(|error| error.to_string())?;
        let signed = CertificateParams::new(names)
            .and_then(|parameters| parameters.signed_by(&key, &self.issuer))
            .map_err(|error| error.to_string())?;
        Ok(json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": certificate["spec"]["secretName"], "namespace": certificate["metadata"]["namespace"]},
            "type": "kubernetes.io/tls",
            "stringData": {"tls.crt": signed.pem(), "tls.key": key.serialize_pem(), "ca.crt": self.certificate},
        }))
    }

    /// Writes the authority where an annotation asks for it.
    async fn inject(&self, kubernetes: &Kubernetes) -> Result<(), String> {
        let bundle = base64::engine::general_purpose::STANDARD.encode(&self.certificate);
        let registrations = "admissionregistration.k8s.io/v1";
        for (api_version, kind) in [
            (registrations, "MutatingWebhookConfiguration"),
            (registrations, "ValidatingWebhookConfiguration"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ] {
            let collection = Reference::cluster(api_version, kind, "").collection();
            let (objects, _) = kubernetes.list(&collection, "").await?;
            for object in objects {
                if object["metadata"]["annotations"][INJECT].is_null() {
                    continue;
                }
                let places = match object["webhooks"].as_array() {
                    Some(webhooks) => (0..webhooks.len())
                        .map(|number| format!("/webhooks/{number}/clientConfig"))
                        .collect(),
                    None => vec!["/spec/conversion/webhook/clientConfig".to_owned()],
                };
                let missing: Vec<Value> = places
                    .iter()
                    .filter(|place| {
                        let place = object.pointer(place);
                        place.is_some_and(|place| place["caBundle"] != bundle)
                    })
                    .map(|place| json!({"op": "add", "path": format!("{place}/caBundle"), "value": bundle}))
                    .collect();
                if !missing.is_empty() {
                    let name = object["metadata"]["name"].as_str().unwrap_or_default();
                    kubernetes
                        .operate(&Reference::cluster(api_version, kind, name), &missing.into())
                        .await?;
                }
            }
        }
        Ok(())
    }
}
