//! The cluster: what is read of it, and what is written to it.

use apply::object::text;
use apply::unmanaged::Unmanaged;
use jiff::Timestamp;
use kube::Client;
use kube::api::{Api, ApiResource, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use crate::definitions::{self, FIELD_MANAGER, GROUP};
use crate::injection::{self, Target};
use crate::issuer::{self, Way, namespace_of};
use crate::keeping::{self, Due, Validity};
use crate::ready::{self, Ready};
use crate::request::{IssuerReference, Request};
use crate::seen::{Item, Seen};
use crate::signing::{self, Authority, Signer};

/// Returns how objects of a kind are addressed.
pub(crate) fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

/// Returns how objects of one of the kinds are addressed.
pub(crate) fn resource_of(kind: &str) -> ApiResource {
    let found = definitions::KINDS.iter().find(|(known, ..)| *known == kind);
    let plural = found.map_or("", |(_, plural, _)| plural);
    resource(GROUP, "v1", kind, plural)
}

/// Returns how objects of a kind that trusts are addressed.
pub(crate) fn resource_of_target(target: Target) -> ApiResource {
    let (group, version, kind, plural) = target.naming();
    resource(group, version, kind, plural)
}

/// Returns how Secrets are addressed.
pub(crate) fn secrets() -> ApiResource {
    resource("", "v1", "Secret", "secrets")
}

/// Whoever looks at things one after the other.
pub(crate) struct Work<'a> {
    pub(crate) client: &'a Client,
    pub(crate) seen: &'a Seen,
    pub(crate) now: Timestamp,
}

impl Work<'_> {
    /// Looks at something and does what is due; returns when it has to be looked at again though nothing changes.
    pub(crate) async fn look_at(&self, item: &Item) -> Result<Option<Timestamp>, kube::Error> {
        match item {
            Item::Issuer(reference) => self.issuer(reference).await.map(|()| None),
            Item::Certificate(namespace, name) => self.certificate(namespace, name).await,
            Item::Target(target, name) => self.target(*target, name).await.map(|()| None),
        }
    }

    async fn issuer(&self, reference: &IssuerReference) -> Result<(), kube::Error> {
        let Some(issuer) = self.seen.issuer(reference) else {
            return Ok(());
        };
        let secret = match Way::read(issuer) {
            Ok(Way::Authority(name)) => self.secret(namespace_of(issuer), name).await?,
            _ => None,
        };
        let ready = issuer::ready(issuer, secret.as_ref());
        self.say(&reference.kind, issuer, &ready, &json!({})).await
    }

    async fn certificate(&self, namespace: &str, name: &str) -> Result<Option<Timestamp>, kube::Error> {
        let Some(certificate) = self.seen.certificate(namespace, name) else {
            return Ok(None);
        };
        match self.issued(certificate).await? {
            Ok(validity) => {
                let fields = json!({
                    "notBefore": written(validity.from),
                    "notAfter": written(validity.until),
                    "renewalTime": written(validity.renew_at),
                });
                let ready = Ready::yes("Certificate is up to date and has not expired");
                self.say("Certificate", certificate, &ready, &fields).await?;
                Ok(Some(validity.renew_at))
            }
            Err(ready) => {
                self.say("Certificate", certificate, &ready, &json!({})).await?;
                Ok(None)
            }
        }
    }

    /// Issues what a Certificate asks for, unless it is there.
    async fn issued(&self, certificate: &Value) -> Result<Result<Validity, Ready>, kube::Error> {
        let request = match Request::read(certificate) {
            Ok(request) => request,
            Err(cause) => return Ok(Err(Ready::no("Unserved", cause))),
        };
        let IssuerReference { kind, name, .. } = &request.issuer;
        let Some(issuer) = self.seen.issuer(&request.issuer) else {
            let message = format!("there is no {kind} {name:?}: make it, or name another in spec.issuerRef");
            return Ok(Err(Ready::no("IssuerMissing", message)));
        };
        let authority = match Way::read(issuer) {
            Ok(Way::Authority(secret)) => self.secret(namespace_of(issuer), secret).await?,
            _ => None,
        };
        let state = issuer::ready(issuer, authority.as_ref());
        if !state.is_ready {
            let message = format!("{kind} {name:?} isn't ready: {}", state.message);
            return Ok(Err(Ready::no("IssuerNotReady", message)));
        }
        // Whatever is ready and has no authority signs by itself.
        let authority = authority.and_then(|secret| Authority::read(&secret).ok());
        let signer = authority.as_ref().map_or(Signer::Itself, Signer::Authority);
        let namespace = text(certificate, "/metadata/namespace");
        let found = self.secret(namespace, &request.secret).await?;
        let reason = match keeping::decide(&request, found.as_ref(), &signer, self.now) {
            Due::Nothing(validity) => return Ok(Ok(validity)),
            Due::Issue(reason) => reason,
        };
        let issued = match signing::issue(&request, &signer, self.now) {
            Ok(issued) => issued,
            Err(error) => return Ok(Err(Ready::no("NotIssued", error.to_string()))),
        };
        let secret = keeping::secret(certificate, &request, &issued);
        // What wouldn't do either would be issued again and again.
        let validity = match keeping::decide(&request, Some(&secret), &signer, self.now) {
            Due::Nothing(validity) => validity,
            Due::Issue(cause) => {
                let message = format!(
                    "what {kind} {name:?} signs can't be used: {cause}; does its authority end too soon?"
                );
                return Ok(Err(Ready::no("NotIssued", message)));
            }
        };
        match self.write(namespace, &request.secret, &secret).await {
            // A Secret can't change its type, say: somebody has to do something about it.
            Err(kube::Error::Api(refusal)) if is_lasting(refusal.code) => {
                let message = format!(
                    "Secret {:?} can't be written: {}; delete it, or name another in spec.secretName",
                    request.secret, refusal.message
                );
                return Ok(Err(Ready::no("NotWritten", message)));
            }
            written => written?,
        }
        tracing::info!(namespace, secret = request.secret, reason, "issued a certificate");
        Ok(Ok(validity))
    }

    async fn target(&self, target: Target, name: &str) -> Result<(), kube::Error> {
        let Some((namespace, certificate)) = self.seen.trusted(target, name) else {
            return Ok(());
        };
        let Some(certificate) = self.seen.certificate(namespace, certificate) else {
            return Ok(());
        };
        let secret = self
            .secret(namespace, text(certificate, "/spec/secretName"))
            .await?;
        let Some(authority) = secret.as_ref().and_then(keeping::trusted) else {
            return Ok(());
        };
        let objects: Api<Unmanaged> = Api::all_with(self.client.clone(), &resource_of_target(target));
        let Some(found) = objects.get_opt(name).await? else {
            return Ok(());
        };
        let Some(patch) = injection::patch(target, &found.object, &authority) else {
            return Ok(());
        };
        let patch = serde_json::from_value(patch).map_err(kube::Error::SerdeError)?;
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        match objects.patch(name, &parameters, &Patch::Json::<()>(patch)).await {
            // It is another one since, which its watch tells.
            Err(kube::Error::Api(refusal)) if [404, 409, 422].contains(&refusal.code) => {
                tracing::debug!(name, cause = refusal.message, "it changed meanwhile");
                Ok(())
            }
            written => written.map(drop),
        }
    }

    async fn secret(&self, namespace: &str, name: &str) -> Result<Option<Value>, kube::Error> {
        if name.is_empty() {
            return Ok(None);
        }
        let secrets: Api<Unmanaged> = Api::namespaced_with(self.client.clone(), namespace, &secrets());
        Ok(secrets.get_opt(name).await?.map(|found| found.object))
    }

    async fn write(&self, namespace: &str, name: &str, secret: &Value) -> Result<(), kube::Error> {
        let secrets: Api<Unmanaged> = Api::namespaced_with(self.client.clone(), namespace, &secrets());
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        secrets
            .patch(name, &parameters, &Patch::Apply(secret))
            .await
            .map(drop)
    }

    async fn say(
        &self,
        kind: &str,
        object: &Value,
        ready: &Ready,
        fields: &Value,
    ) -> Result<(), kube::Error> {
        let Some(status) = ready::status(object, ready, fields, self.now) else {
            return Ok(());
        };
        let resource = resource_of(kind);
        let objects: Api<Unmanaged> = match text(object, "/metadata/namespace") {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        };
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(json!({"status": status}));
        let name = text(object, "/metadata/name");
        match objects.patch_status(name, &parameters, &patch).await {
            // It is gone since.
            Err(kube::Error::Api(refusal)) if refusal.code == 404 => Ok(()),
            written => written.map(drop),
        }
    }
}

/// Whether a refusal says that the same would be refused again.
fn is_lasting(code: u16) -> bool {
    [403, 422].contains(&code)
}

fn written(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
