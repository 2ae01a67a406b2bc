//! What a Secret holds of a certificate, and whether that is still what is asked for.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use apply::object::annotation;
use jiff::{SignedDuration, Timestamp};
use rcgen::{KeyPair, PublicKeyData as _};
use serde_json::{Value, json};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::pem::{Pem, parse_x509_pem};

use crate::request::{Name, Request};
use crate::signing::{
    AUTHORITY_ENTRY, Authority, CERTIFICATE_ENTRY, Issued, KEY_ENTRY, Signer, encoded, entry,
};

/// The annotation of a Secret with the Certificate it belongs to; cert-manager's, as are the others.
pub const CERTIFICATE_NAME: &str = "cert-manager.io/certificate-name";

/// The annotation with who signed.
const ISSUER_NAME: &str = "cert-manager.io/issuer-name";

/// The annotation with the kind of who signed.
const ISSUER_KIND: &str = "cert-manager.io/issuer-kind";

/// What is to be done for a Certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    /// Another is to be issued, because of this.
    Issue(&'static str),
    /// Nothing before it is renewed.
    Nothing(Validity),
}

/// From when until when a certificate is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// Since when it is good.
    pub from: Timestamp,
    /// Until when.
    pub until: Timestamp,
    /// When another is issued.
    pub renew_at: Timestamp,
}

/// Decides what is to be done for a Certificate, from what its Secret holds.
pub fn decide(request: &Request, secret: Option<&Value>, signer: &Signer<'_>, now: Timestamp) -> Due {
    let Some(secret) = secret else {
        return Due::Issue("the Secret isn't there");
    };
    let has = |key: &str, value: &str| annotation(secret, key) == Some(value);
    if !has(ISSUER_NAME, &request.issuer.name) || !has(ISSUER_KIND, &request.issuer.kind) {
        return Due::Issue("the Secret is of another issuer");
    }
    let entries = [CERTIFICATE_ENTRY, KEY_ENTRY, AUTHORITY_ENTRY].map(|name| entry(secret, name));
    let [Some(certificate), Some(key), Some(authority)] = entries else {
        return Due::Issue("the Secret lacks a part");
    };
    let (Ok((_, certificate)), Ok((_, authority))) =
        (parse_x509_pem(&certificate), parse_x509_pem(&authority))
    else {
        return Due::Issue("the certificate can't be read");
    };
    let Ok(read) = certificate.parse_x509() else {
        return Due::Issue("the certificate can't be read");
    };
    if !is_key_of(&key, &read) {
        return Due::Issue("the key is another certificate's");
    }
    if !is_asked_for(request, &read) {
        return Due::Issue("the Certificate asks for something else");
    }
    if !is_signed(&read, &authority, signer) {
        return Due::Issue("the issuer signs with another key");
    }
    match validity(request, &read) {
        Some(validity) if now < validity.renew_at && validity.from <= now => Due::Nothing(validity),
        _ => Due::Issue("it is time to renew it"),
    }
}

/// Makes the Secret of a Certificate.
pub fn secret(certificate: &Value, request: &Request, issued: &Issued) -> Value {
    let metadata = &certificate["metadata"];
    let template = &certificate["spec"]["secretTemplate"];
    let mut annotations = template["annotations"].as_object().cloned().unwrap_or_default();
    for (key, value) in [
        (CERTIFICATE_NAME, metadata["name"].clone()),
        (ISSUER_NAME, request.issuer.name.clone().into()),
        (ISSUER_KIND, request.issuer.kind.clone().into()),
        ("cert-manager.io/issuer-group", crate::definitions::GROUP.into()),
    ] {
        annotations.insert(key.to_owned(), value);
    }
    let mut labels = template["labels"].as_object().cloned().unwrap_or_default();
    // By it cert-manager finds Secrets of its own.
    labels.insert("controller.cert-manager.io/fao".to_owned(), "true".into());
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": request.secret,
            "namespace": metadata["namespace"],
            "annotations": annotations,
            "labels": labels,
        },
        "type": "kubernetes.io/tls",
        "data": {
            CERTIFICATE_ENTRY: encoded(&issued.certificate),
            KEY_ENTRY: encoded(&issued.key),
            AUTHORITY_ENTRY: encoded(&issued.authority),
        },
    })
}

/// Returns the certificate by which a Secret's is trusted, as webhooks hold it.
pub fn trusted(secret: &Value) -> Option<String> {
    entry(secret, AUTHORITY_ENTRY).map(encoded)
}

fn is_key_of(key: &[u8], certificate: &X509Certificate<'_>) -> bool {
    KeyPair::from_pem(&String::from_utf8_lossy(key))
        .is_ok_and(|key| key.subject_public_key_info() == certificate.public_key().raw)
}

fn is_asked_for(request: &Request, certificate: &X509Certificate<'_>) -> bool {
    let subject = certificate.subject();
    let common_name = subject.iter_common_name().next();
    let common_name = common_name
        .and_then(|name| name.as_str().ok())
        .unwrap_or_default();
    let organization = subject.iter_organization().next();
    let organization = organization.and_then(|name| name.as_str().ok());
    let extension = certificate.subject_alternative_name().ok().flatten();
    let names = extension
        .iter()
        .flat_map(|extension| &extension.value.general_names);
    let names: BTreeSet<Name> = names.filter_map(name).collect();
    common_name == request.common_name
        && organization == request.organization.as_deref()
        && names == request.names
        && certificate.is_ca() == request.is_authority
}

fn name(name: &GeneralName<'_>) -> Option<Name> {
    match name {
        GeneralName::DNSName(host) => Some(Name::Host((*host).to_owned())),
        GeneralName::URI(uri) => Some(Name::Uri((*uri).to_owned())),
        GeneralName::RFC822Name(mailbox) => Some(Name::Mailbox((*mailbox).to_owned())),
        GeneralName::IPAddress(bytes) => {
            let four = <[u8; 4]>::try_from(*bytes).map(|bytes| IpAddr::from(Ipv4Addr::from(bytes)));
            let sixteen = || <[u8; 16]>::try_from(*bytes).map(|bytes| IpAddr::from(Ipv6Addr::from(bytes)));
            four.or_else(|_| sixteen()).ok().map(Name::Address)
        }
        _ => None,
    }
}

fn is_signed(certificate: &X509Certificate<'_>, authority: &Pem, signer: &Signer<'_>) -> bool {
    match signer {
        Signer::Itself => {
            authority
                .parse_x509()
                .is_ok_and(|authority| authority == *certificate)
                && certificate.verify_signature(None).is_ok()
        }
        Signer::Authority(present) => {
            let trusts = is_same(present, authority);
            let first = present
                .chain
                .first()
                .map(|first| parse_x509_pem(first.as_bytes()));
            let Some(Ok((_, first))) = first else {
                return false;
            };
            trusts
                && first
                    .parse_x509()
                    .is_ok_and(|first| certificate.verify_signature(Some(first.public_key())).is_ok())
        }
    }
}

/// Whether the Secret trusts what the authority is trusted by now.
fn is_same(present: &Authority, authority: &Pem) -> bool {
    parse_x509_pem(present.trusted().as_bytes())
        .is_ok_and(|(_, trusted)| trusted.contents == authority.contents)
}

fn validity(request: &Request, certificate: &X509Certificate<'_>) -> Option<Validity> {
    let moment = |time: x509_parser::time::ASN1Time| Timestamp::from_second(time.timestamp()).ok();
    let from = moment(certificate.validity().not_before)?;
    let until = moment(certificate.validity().not_after)?;
    let lifetime = until.duration_since(from);
    // That of an authority that ends soon may be shorter than asked for.
    let before = request.renew_before.filter(|before| *before < lifetime);
    let renew_at = until
        .checked_sub(before.unwrap_or_else(|| third(lifetime)))
        .ok()?;
    Some(Validity {
        from,
        until,
        renew_at,
    })
}

fn third(lifetime: SignedDuration) -> SignedDuration {
    lifetime / 3
}

#[cfg(test)]
mod tests;
