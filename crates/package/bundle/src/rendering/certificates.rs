//! Certificates for webhooks: who makes them, and what the objects that need them must say.

use serde_json::{Value, json};

use super::names;
use crate::registry::object_of;

/// The certificate of the service in front of a deployment's webhooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServingCertificate {
    /// The service.
    pub service: String,
    /// The certificate, which is also the name of its Secret.
    pub name: String,
    /// The namespace of both.
    pub namespace: String,
}

impl ServingCertificate {
    /// The certificate for the webhooks of `deployment`.
    #[must_use]
    pub fn for_deployment(deployment: &str, namespace: &str) -> Self {
        let service = names::service(deployment);
        Self {
            name: names::certificate(&service),
            service,
            namespace: namespace.to_owned(),
        }
    }
}

/// Where a certificate is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateSecret {
    /// The Secret.
    pub name: String,
    /// The key of the certificate in it.
    pub certificate_key: String,
    /// The key of the private key in it.
    pub private_key_key: String,
}

/// Somebody in the cluster who makes certificates.
pub trait CertificateProvider {
    /// Lets the provider put its authority's certificate into `object`, where objects of that kind need it.
    fn inject_authority(&self, object: &mut Value, certificate: &ServingCertificate);

    /// The objects that make the provider issue the certificate.
    fn requests(&self, certificate: &ServingCertificate) -> Vec<Value>;

    /// Where the provider keeps the certificate.
    fn secret(&self, certificate: &ServingCertificate) -> CertificateSecret {
        CertificateSecret {
            name: certificate.name.clone(),
            certificate_key: "tls.crt".to_owned(),
            private_key_key: "tls.key".to_owned(),
        }
    }
}

/// Certificates from cert-manager, signed by themselves.
#[derive(Debug, Clone, Copy)]
pub struct CertManager;

impl CertificateProvider for CertManager {
    fn inject_authority(&self, object: &mut Value, certificate: &ServingCertificate) {
        if calls_webhooks(object) {
            annotate(
                object,
                "cert-manager.io/inject-ca-from",
                &format!("{}/{}", certificate.namespace, certificate.name),
            );
        }
    }

    fn requests(&self, certificate: &ServingCertificate) -> Vec<Value> {
        let ServingCertificate {
            service,
            name,
            namespace,
        } = certificate;
        let issuer = names::base_and_suffix(name, "selfsigned-issuer");
        let host = format!("{service}.{namespace}");
        let mut authority = super::object("cert-manager.io/v1", "Issuer", &issuer, namespace);
        authority["spec"] = json!({ "selfSigned": {} });
        let mut request = super::object("cert-manager.io/v1", "Certificate", name, namespace);
        request["spec"] = json!({
            "secretName": name,
            "commonName": host,
            "dnsNames": [host, format!("{host}.svc"), format!("{host}.svc.cluster.local")],
            "usages": ["server auth"],
            "issuerRef": { "name": issuer },
            // Two years, renewed a day before: what OLM v0 did, and operators were tested with.
            "duration": "17520h0m0s",
            "renewBefore": "24h0m0s",
        });
        vec![authority, request]
    }
}

/// Certificates from OpenShift's service CA, which issues them by annotations alone.
#[derive(Debug, Clone, Copy)]
pub struct ServiceCa;

impl CertificateProvider for ServiceCa {
    fn inject_authority(&self, object: &mut Value, certificate: &ServingCertificate) {
        if calls_webhooks(object) {
            annotate(object, "service.beta.openshift.io/inject-cabundle", "true");
        } else if object["kind"] == "Service" {
            annotate(
                object,
                "service.beta.openshift.io/serving-cert-secret-name",
                &certificate.name,
            );
        }
    }

    fn requests(&self, _certificate: &ServingCertificate) -> Vec<Value> {
        Vec::new()
    }
}

/// Whether the API server calls a webhook because of this object, and so must know who signed its certificate.
fn calls_webhooks(object: &Value) -> bool {
    [
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "CustomResourceDefinition",
    ]
    .iter()
    .any(|kind| object["kind"] == *kind)
}

fn annotate(object: &mut Value, key: &str, value: &str) {
    let metadata = object_of(object_of(object).entry("metadata").or_insert(Value::Null));
    object_of(metadata.entry("annotations").or_insert(Value::Null)).insert(key.to_owned(), value.into());
}
