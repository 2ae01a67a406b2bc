//! What a `Certificate` asks for.

use std::collections::BTreeSet;
use std::net::IpAddr;

use apply::object::{at, text};
use jiff::SignedDuration;
use serde_json::Value;

/// How long a certificate is good where it isn't said, as cert-manager has it.
const USUAL_LIFETIME: SignedDuration = SignedDuration::from_hours(90 * 24);

/// The shortest lifetime, as cert-manager has it.
const SHORTEST_LIFETIME: SignedDuration = SignedDuration::from_hours(1);

/// The longest lifetime: certificates can't name years after 9999, and nobody means a century.
const LONGEST_LIFETIME: SignedDuration = SignedDuration::from_hours(100 * 366 * 24);

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The Secret it goes to.
    pub secret: String,
    /// Who signs.
    pub issuer: IssuerReference,
    /// Whose certificate it is; empty for nobody's in particular.
    pub common_name: String,
    /// The organization it names.
    pub organization: Option<String>,
    /// What it is good for.
    pub names: BTreeSet<Name>,
    /// How long it is good.
    pub lifetime: SignedDuration,
    /// How long before its end it is renewed; none is a third of its lifetime.
    pub renew_before: Option<SignedDuration>,
    /// What its key may do; empty is the usual.
    pub usages: Vec<String>,
    /// Whether others may be signed with it.
    pub is_authority: bool,
    /// Its key.
    pub key: KeyKind,
}

/// Who signs a certificate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct IssuerReference {
    /// The kind of it.
    pub kind: String,
    /// Its namespace; empty for those of the cluster.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// A name that a certificate is good for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    /// A host.
    Host(String),
    /// An address.
    Address(IpAddr),
    /// A URI.
    Uri(String),
    /// A mailbox.
    Mailbox(String),
}

/// A kind of key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// RSA with so many bits.
    Rsa(u16),
    /// ECDSA on the curve of so many bits.
    Ecdsa(u16),
    /// Ed25519.
    Ed25519,
}

impl Request {
    /// Reads a Certificate.
    ///
    /// # Errors
    ///
    /// Which field can't be followed here, and what to do.
    pub fn read(certificate: &Value) -> Result<Self, String> {
        let spec = &certificate["spec"];
        let secret = text(spec, "/secretName");
        if secret.is_empty() {
            return Err("spec.secretName is empty: name the Secret that the certificate goes to".to_owned());
        }
        for field in ["keystores", "literalSubject", "nameConstraints", "otherNames"] {
            if !spec[field].is_null() {
                return Err(format!(
                    "spec.{field} isn't served by baton: remove it, or install cert-manager"
                ));
            }
        }
        let organizations: Vec<&str> = texts(spec, "/subject/organizations").collect();
        if organizations.len() > 1 {
            return Err("spec.subject.organizations has several, and baton serves one: name one, or install cert-manager".to_owned());
        }
        let request = Self {
            secret: secret.to_owned(),
            issuer: IssuerReference::read(certificate)?,
            common_name: text(spec, "/commonName").to_owned(),
            organization: organizations.first().map(|name| (*name).to_owned()),
            names: names(spec)?,
            lifetime: lifetime(spec)?,
            renew_before: duration(spec, "renewBefore")?,
            usages: texts(spec, "/usages").map(str::to_owned).collect(),
            is_authority: spec["isCA"] == true,
            key: KeyKind::read(&spec["privateKey"])?,
        };
        if request.common_name.is_empty() && request.names.is_empty() {
            return Err("spec names nobody: say at least one of commonName and dnsNames".to_owned());
        }
        if request
            .renew_before
            .is_some_and(|before| before >= request.lifetime)
        {
            return Err(
                "spec.renewBefore isn't shorter than spec.duration: it would be renewed all the time"
                    .to_owned(),
            );
        }
        Ok(request)
    }
}

impl IssuerReference {
    fn read(certificate: &Value) -> Result<Self, String> {
        let said = |field: &str| text(&certificate["spec"]["issuerRef"], field);
        let kind = if said("/kind").is_empty() {
            "Issuer"
        } else {
            said("/kind")
        };
        let group = said("/group");
        let namespace = match kind {
            "Issuer" => text(certificate, "/metadata/namespace"),
            "ClusterIssuer" => "",
            _ => return Err(foreign(kind, group)),
        };
        if !group.is_empty() && group != crate::definitions::GROUP {
            return Err(foreign(kind, group));
        }
        if said("/name").is_empty() {
            return Err("spec.issuerRef.name is empty: name an Issuer".to_owned());
        }
        Ok(Self {
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: said("/name").to_owned(),
        })
    }
}

fn foreign(kind: &str, group: &str) -> String {
    format!(
        "spec.issuerRef names a {kind} of group {group:?}, which isn't served by baton: install cert-manager"
    )
}

impl KeyKind {
    /// Reads `spec.privateKey`. Where nothing is said it is a key that is made in no time, and that every server takes.
    fn read(key: &Value) -> Result<Self, String> {
        let size = key["size"].as_u64().unwrap_or_default();
        let kind = match (text(key, "/algorithm"), size) {
            ("" | "ECDSA", 0 | 256) => Self::Ecdsa(256),
            ("ECDSA", 384) => Self::Ecdsa(384),
            ("" | "RSA", 2048) | ("RSA", 0) => Self::Rsa(2048),
            ("" | "RSA", 3072) => Self::Rsa(3072),
            ("" | "RSA", 4096) => Self::Rsa(4096),
            ("Ed25519", _) => Self::Ed25519,
            (algorithm, size) => {
                return Err(format!(
                    "spec.privateKey asks for {algorithm:?} with {size} bits: use RSA with 2048, 3072 or 4096, ECDSA with 256 or \
                     384, or Ed25519"
                ));
            }
        };
        Ok(kind)
    }
}

fn names(spec: &Value) -> Result<BTreeSet<Name>, String> {
    let mut names: BTreeSet<Name> = texts(spec, "/dnsNames")
        .map(|name| Name::Host(name.to_owned()))
        .collect();
    for address in texts(spec, "/ipAddresses") {
        let parsed = address.parse();
        let parsed = parsed
            .map_err(|_| format!("spec.ipAddresses has {address:?}, which is no address: correct it"))?;
        names.insert(Name::Address(parsed));
    }
    names.extend(texts(spec, "/uris").map(|name| Name::Uri(name.to_owned())));
    names.extend(texts(spec, "/emailAddresses").map(|name| Name::Mailbox(name.to_owned())));
    Ok(names)
}

fn lifetime(spec: &Value) -> Result<SignedDuration, String> {
    let lifetime = duration(spec, "duration")?.unwrap_or(USUAL_LIFETIME);
    if (SHORTEST_LIFETIME..=LONGEST_LIFETIME).contains(&lifetime) {
        Ok(lifetime)
    } else {
        Err("spec.duration is shorter than an hour or longer than a century: say another".to_owned())
    }
}

fn duration(spec: &Value, field: &str) -> Result<Option<SignedDuration>, String> {
    let text = text(spec, &format!("/{field}"));
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = |cause: &dyn std::fmt::Display| format!("spec.{field}: {cause}; write it like 2160h");
    let read = chart::go_duration::parse(text).map_err(|cause| wrong(&cause))?;
    SignedDuration::try_from(read)
        .map(Some)
        .map_err(|cause| wrong(&cause))
}

fn texts<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a str> {
    let list = at(object, pointer).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn certificate(spec: &Value) -> Value {
        let mut certificate = json!({"metadata": {"name": "c", "namespace": "n"},
            "spec": {"secretName": "s", "issuerRef": {"name": "i"}, "dnsNames": ["a.n.svc"]}});
        for (field, value) in spec.as_object().into_iter().flatten() {
            certificate["spec"][field] = value.clone();
        }
        certificate
    }

    #[test]
    fn what_olm_asks_for_is_read() {
        let asked = certificate(
            &json!({"commonName": "a.n", "duration": "17520h0m0s", "renewBefore": "24h0m0s",
            "usages": ["server auth"]}),
        );
        let read = Request::read(&asked).expect("a request");
        let issuer = IssuerReference {
            kind: "Issuer".to_owned(),
            namespace: "n".to_owned(),
            name: "i".to_owned(),
        };
        assert_eq!(read.issuer, issuer);
        assert_eq!(read.lifetime, SignedDuration::from_hours(17_520));
        assert_eq!(read.renew_before, Some(SignedDuration::from_hours(24)));
        assert_eq!(read.names, BTreeSet::from([Name::Host("a.n.svc".to_owned())]));
        assert_eq!((read.key, read.is_authority), (KeyKind::Ecdsa(256), false));
    }

    #[test]
    fn what_cannot_be_followed_is_named_with_its_field() {
        for (spec, said) in [
            (json!({"secretName": ""}), "spec.secretName"),
            (json!({"issuerRef": {}}), "spec.issuerRef.name"),
            (
                json!({"issuerRef": {"name": "i", "kind": "Foreign"}}),
                "install cert-manager",
            ),
            (
                json!({"issuerRef": {"name": "i", "group": "foreign.io"}}),
                "install cert-manager",
            ),
            (json!({"dnsNames": []}), "commonName"),
            (json!({"ipAddresses": ["300.1.1.1"]}), "spec.ipAddresses"),
            (json!({"duration": "soon"}), "spec.duration"),
            (json!({"duration": "1m"}), "spec.duration"),
            (json!({"renewBefore": "2160h"}), "spec.renewBefore"),
            (
                json!({"privateKey": {"algorithm": "RSA", "size": 1024}}),
                "spec.privateKey",
            ),
            (json!({"keystores": {"jks": {"create": true}}}), "spec.keystores"),
        ] {
            let told = Request::read(&certificate(&spec)).expect_err("refused");
            assert!(told.contains(said), "{spec}: {told}");
        }
    }

    #[test]
    fn keys_are_of_the_kind_that_is_asked_for() {
        for (key, expected) in [
            (Value::Null, KeyKind::Ecdsa(256)),
            (json!({"rotationPolicy": "Always"}), KeyKind::Ecdsa(256)),
            (json!({"algorithm": "ECDSA", "size": 384}), KeyKind::Ecdsa(384)),
            (json!({"algorithm": "RSA"}), KeyKind::Rsa(2048)),
            (json!({"size": 4096}), KeyKind::Rsa(4096)),
            (json!({"algorithm": "Ed25519"}), KeyKind::Ed25519),
        ] {
            assert_eq!(KeyKind::read(&key), Ok(expected), "{key}");
        }
    }
}
