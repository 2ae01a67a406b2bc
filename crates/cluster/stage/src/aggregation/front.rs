//! Who this server is to the servers behind it: they believe its word about who calls, because it proves itself with a
//! certificate whose authority they find in a ConfigMap.

use std::sync::OnceLock;

use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};

use crate::callback::trust::Identity;
use crate::caller::Caller;
use crate::client::Client;
use crate::status::Status;

/// The name in the certificate.
const NAME: &str = "front-proxy-client";

/// The ConfigMap in which other servers find whom to believe.
const CONFIG_MAP: &str = "extension-apiserver-authentication";

/// The certificate with which this server speaks for its callers. It is made anew at each start: those who check it read
/// the ConfigMap again.
#[derive(Debug, Default)]
pub struct Front {
    made: OnceLock<Option<Made>>,
}

#[derive(Debug)]
struct Made {
    authority: String,
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

impl Front {
    fn made(&self) -> Option<&Made> {
        self.made.get_or_init(|| make().ok()).as_ref()
    }

    /// Returns the certificate and its key.
    pub fn identity(&self) -> Option<Identity> {
        let made = self.made()?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.key.clone()));
        Some((vec![made.certificate.clone()], key))
    }

    /// Returns what a server has to know to believe this one, as the ConfigMap says it.
    pub fn trust(&self) -> Option<Value> {
        let made = self.made()?;
        Some(json!({
            "requestheader-allowed-names": format!("[\"{NAME}\"]"),
            "requestheader-client-ca-file": made.authority,
            "requestheader-extra-headers-prefix": "[\"X-Remote-Extra-\"]",
            "requestheader-group-headers": "[\"X-Remote-Group\"]",
            "requestheader-uid-headers": "[\"X-Remote-Uid\"]",
            "requestheader-username-headers": "[\"X-Remote-User\"]",
        }))
    }

    /// Tells the servers behind this one whom to believe.
    pub async fn publish(&self, client: &Client) -> Result<(), Status> {
        let Some(data) = self.trust() else { return Ok(()) };
        let config_maps = ("", "configmaps");
        if client.get(config_maps, "kube-system", CONFIG_MAP)?.is_some() {
            let patch = json!({"data": data});
            client
                .merge(config_maps, "kube-system", CONFIG_MAP, "", &patch)
                .await?;
        } else {
            let object = json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": CONFIG_MAP, "namespace": "kube-system"}, "data": data,
            });
            client.create(config_maps, object).await?;
        }
        Ok(())
    }
}

fn make() -> Result<Made, rcgen::Error> {
    let authority_key = KeyPair::generate()?;
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority
        .distinguished_name
        .push(DnType::CommonName, "front-proxy-ca");
    let authority_certificate = authority.self_signed(&authority_key)?;
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate()?;
    let mut client = CertificateParams::default();
    client.distinguished_name.push(DnType::CommonName, NAME);
    client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = client.signed_by(&key, &issuer)?;
    Ok(Made {
        authority: authority_certificate.pem(),
        certificate: certificate.der().clone(),
        key: key.serialize_der(),
    })
}

/// Returns the headers that tell another server who calls.
pub fn headers(caller: &Caller) -> Vec<(String, String)> {
    let mut headers = vec![("x-remote-user".to_owned(), caller.user.clone())];
    if !caller.uid.is_empty() {
        headers.push(("x-remote-uid".to_owned(), caller.uid.clone()));
    }
    for group in &caller.groups {
        headers.push(("x-remote-group".to_owned(), group.clone()));
    }
    for (key, values) in &caller.extra {
        // What a header's name can't hold is written with percent signs, as the other side expects.
        let name: String = percent_encoding::utf8_percent_encode(key, KEPT).to_string();
        for value in values {
            headers.push((format!("x-remote-extra-{}", name.to_lowercase()), value.clone()));
        }
    }
    headers
}

/// What isn't part of a header's name; a percent sign begins what was escaped.
const KEPT: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'*')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_told_in_headers_whose_names_are_escaped() {
        let mut caller = Caller::named("alice", &["devs", "ops"]);
        caller
            .extra
            .insert("example.com/Scope".to_owned(), vec!["a".to_owned()]);
        let told = headers(&caller);
        let told: Vec<(&str, &str)> = told
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                ("x-remote-user", "alice"),
                ("x-remote-group", "devs"),
                ("x-remote-group", "ops"),
                ("x-remote-extra-example.com%2fscope", "a"),
            ]
        );
    }

    #[test]
    fn the_certificate_is_signed_by_the_authority_that_is_published() {
        let front = Front::default();
        let trust = front.trust().unwrap_or_default();
        assert!(
            trust["requestheader-client-ca-file"]
                .as_str()
                .is_some_and(|pem| pem.starts_with("-----BEGIN CERTIFICATE-----"))
        );
        assert!(front.identity().is_some());
    }
}
