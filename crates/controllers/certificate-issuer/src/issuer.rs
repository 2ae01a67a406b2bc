//! What an `Issuer` or `ClusterIssuer` signs with.

use apply::object::text;
use serde_json::Value;

use crate::ready::Ready;
use crate::signing::Authority;

/// The namespace of what belongs to issuers of the cluster, as cert-manager has it where nothing else is said.
pub const CLUSTER_NAMESPACE: &str = "cert-manager";

/// What an issuer signs with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way<'a> {
    /// Each certificate with its own key.
    Itself,
    /// With the authority in a Secret.
    Authority(&'a str),
}

impl<'a> Way<'a> {
    /// Reads an issuer.
    ///
    /// # Errors
    ///
    /// That it does what isn't done here.
    pub fn read(issuer: &'a Value) -> Result<Self, String> {
        let spec = &issuer["spec"];
        let secret = text(spec, "/ca/secretName");
        if spec["selfSigned"].is_object() {
            Ok(Self::Itself)
        } else if !secret.is_empty() {
            Ok(Self::Authority(secret))
        } else {
            let kinds = spec.as_object().into_iter().flatten();
            let kinds: Vec<&str> = kinds.map(|(kind, _)| kind.as_str()).collect();
            Err(format!(
                "spec has {kinds:?}, and baton serves issuers with selfSigned or ca.secretName: use one of those, or install \
                 cert-manager"
            ))
        }
    }
}

/// Returns the namespace of the Secrets of an issuer.
pub fn namespace_of(issuer: &Value) -> &str {
    match text(issuer, "/metadata/namespace") {
        "" => CLUSTER_NAMESPACE,
        namespace => namespace,
    }
}

/// Says whether an issuer can sign. `secret` is that of its authority, if it has one that is there.
pub fn ready(issuer: &Value, secret: Option<&Value>) -> Ready {
    match Way::read(issuer) {
        Err(cause) => Ready::no("Unserved", cause),
        Ok(Way::Itself) => Ready::yes("each certificate is signed with its own key"),
        Ok(Way::Authority(name)) => match secret.map(Authority::read) {
            None => Ready::no(
                "SecretMissing",
                format!(
                    "there is no Secret {name:?} in namespace {:?}: make it, with the authority in tls.crt and tls.key",
                    namespace_of(issuer)
                ),
            ),
            Some(Err(cause)) => Ready::no("SecretUnusable", format!("Secret {name:?}: {cause}")),
            Some(Ok(_)) => Ready::yes(format!(
                "certificates are signed by the authority in Secret {name:?}"
            )),
        },
    }
}
