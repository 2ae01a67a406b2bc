//! Certificates of cert-manager, where it makes those that the components serve with.

use serde_json::{Value, json};

use crate::component::{Component, MANAGED_BY, PART_OF};
use crate::settings::Settings;
use crate::workloads::metadata;

/// The authority of the installation, as upstream calls it.
const AUTHORITY: &str = "olmv1-ca";

/// Who signs the authority: itself.
const SELF_SIGNED: &str = "self-sign-issuer";

const API_VERSION: &str = "cert-manager.io/v1";

/// An authority for each namespace, and a certificate for each component.
pub fn cert_manager(settings: &Settings) -> Vec<Value> {
    let mut objects = Vec::new();
    for namespace in settings.namespaces() {
        let metadata = |name: &str| {
            json!({
                "name": name, "namespace": namespace,
                "labels": {PART_OF.0: PART_OF.1, MANAGED_BY.0: MANAGED_BY.1},
            })
        };
        objects.extend([
            json!({"apiVersion": API_VERSION, "kind": "Issuer", "metadata": metadata(SELF_SIGNED),
                "spec": {"selfSigned": {}}}),
            json!({"apiVersion": API_VERSION, "kind": "Certificate", "metadata": metadata(AUTHORITY),
            "spec": {
                "commonName": AUTHORITY, "isCA": true, "secretName": AUTHORITY,
                "issuerRef": {"group": "cert-manager.io", "kind": "Issuer", "name": SELF_SIGNED},
                "privateKey": key(),
            }}),
            json!({"apiVersion": API_VERSION, "kind": "Issuer", "metadata": metadata(AUTHORITY),
                "spec": {"ca": {"secretName": AUTHORITY}}}),
        ]);
    }
    objects.extend(
        settings
            .components()
            .map(|component| certificate(settings, component)),
    );
    objects
}

fn certificate(settings: &Settings, component: Component) -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": "Certificate",
        "metadata": metadata(settings, component, component.certificate_secret()),
        "spec": {
            "dnsNames": component.hosts(settings.namespace_of(component)),
            "secretName": component.certificate_secret(),
            "issuerRef": {"group": "cert-manager.io", "kind": "Issuer", "name": AUTHORITY},
            "privateKey": key(),
        },
    })
}

fn key() -> Value {
    json!({"algorithm": "ECDSA", "rotationPolicy": "Always", "size": 256})
}
