//! Secrets of the type `kubernetes.io/service-account-token`, which are filled with a token of their ServiceAccount.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;
use serde_json::{Value, json};

use super::work::{Affected, Controller, Item, Next};
use crate::api::Api;
use crate::client::{Client, Named};
use crate::object::{Object, map_of};
use crate::options::DeleteOptions;
use crate::status::Status;
use crate::store::{Event, ResourceKey, Stored};

const SECRETS: Named<'static> = ("", "secrets");

/// The type of the Secrets that hold tokens.
const TYPE: &str = "kubernetes.io/service-account-token";

const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// Fills the Secrets of `ServiceAccounts`, and removes those whose account is gone.
#[derive(Debug)]
pub struct TokenSecrets;

impl Controller for TokenSecrets {
    const NAME: &'static str = "tokens-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![
            (ResourceKey::new("", "secrets"), itself_if_token),
            (ResourceKey::new("", "serviceaccounts"), tokens_of_namespace),
        ]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let Some(secret) = client.get(SECRETS, &item.namespace, &item.name)? else {
            return Ok(Next::Wait);
        };
        if secret["type"] != TYPE || secret.is_being_deleted() {
            return Ok(Next::Wait);
        }
        let name = secret.annotation(ACCOUNT_NAME).unwrap_or_default();
        let account = client.get(("", "serviceaccounts"), &item.namespace, name)?;
        match decide(&secret, account.as_ref()) {
            Plan::Nothing => {}
            Plan::Delete => {
                let options = DeleteOptions {
                    uid: Some(secret.uid().to_owned()),
                    ..DeleteOptions::default()
                };
                client
                    .delete(SECRETS, &item.namespace, &item.name, &options)
                    .await?;
            }
            Plan::Fill { claims } => {
                let keys = &client.api().access.keys;
                let certificate = keys.authority.certificate_pem();
                let token = match &claims {
                    Some(claims) => {
                        let key = keys.signing().map_err(Status::internal)?;
                        Some(key.sign(claims).map_err(Status::internal)?)
                    }
                    None => None,
                };
                let wanted = fill(secret, account.as_ref(), &certificate, token.as_deref());
                client.update(SECRETS, wanted).await?;
            }
        }
        Ok(Next::Wait)
    }
}

/// What is done with a Secret for a token.
#[derive(Debug, PartialEq)]
enum Plan {
    Nothing,
    /// Its account is gone.
    Delete,
    /// Something is missing; a new token has these claims.
    Fill {
        claims: Option<Value>,
    },
}

fn decide(secret: &Value, account: Option<&Value>) -> Plan {
    let Some(account) = account else {
        return Plan::Delete;
    };
    let uid = secret.annotation(ACCOUNT_UID).unwrap_or_default();
    if !uid.is_empty() && uid != account.uid() {
        return Plan::Delete;
    }
    let is_filled = |name: &str| secret["data"][name].as_str().is_some_and(|text| !text.is_empty());
    let claims = (!is_filled("token")).then(|| {
        let namespace = account.namespace();
        json!({
            "iss": "kubernetes/serviceaccount",
            "sub": format!("system:serviceaccount:{namespace}:{}", account.name()),
            "kubernetes.io/serviceaccount/namespace": namespace,
            "kubernetes.io/serviceaccount/secret.name": secret.name(),
            "kubernetes.io/serviceaccount/service-account.name": account.name(),
            "kubernetes.io/serviceaccount/service-account.uid": account.uid(),
        })
    });
    if claims.is_none() && is_filled("ca.crt") && is_filled("namespace") && !uid.is_empty() {
        Plan::Nothing
    } else {
        Plan::Fill { claims }
    }
}

fn fill(mut secret: Value, account: Option<&Value>, certificate: &str, token: Option<&str>) -> Value {
    let namespace = secret.namespace().to_owned();
    let data = map_of(&mut secret["data"]);
    data.insert("ca.crt".into(), STANDARD.encode(certificate).into());
    data.insert("namespace".into(), STANDARD.encode(namespace).into());
    if let Some(token) = token {
        data.insert("token".into(), STANDARD.encode(token).into());
    }
    let uid = account.map(Object::uid).unwrap_or_default();
    map_of(&mut secret["metadata"]["annotations"]).insert(ACCOUNT_UID.into(), uid.into());
    secret
}

/// Returns whether a Secret may be one for a token, without reading all of it.
fn may_hold_token(secret: &Stored) -> bool {
    memmem::find(&secret.bytes, TYPE.as_bytes()).is_some()
}

fn itself_if_token(_: &Api, event: &Event) -> Vec<Item> {
    let secret = &event.object;
    Vec::from_iter(may_hold_token(secret).then(|| Item::of(secret)))
}

fn tokens_of_namespace(api: &Api, event: &Event) -> Vec<Item> {
    let namespace = &event.object.key.namespace;
    let secrets = api.store.list(
        &ResourceKey::new("", "secrets"),
        Some(namespace),
        None,
        None,
        None,
    );
    let secrets = secrets.map(|listing| listing.items).unwrap_or_default();
    let tokens = secrets.iter().filter(|secret| may_hold_token(secret));
    tokens.map(|secret| Item::of(secret)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> Value {
        json!({
            "metadata": {"name": "t", "namespace": "a", "uid": "s", "annotations": {ACCOUNT_NAME: "robot"}},
            "type": TYPE,
        })
    }

    fn account(uid: &str) -> Value {
        json!({"metadata": {"name": "robot", "namespace": "a", "uid": uid}})
    }

    #[test]
    fn a_secret_is_filled_once_and_goes_with_its_account() {
        let Plan::Fill { claims: Some(claims) } = decide(&secret(), Some(&account("1"))) else {
            panic!("an empty secret is filled");
        };
        assert_eq!(claims["sub"], "system:serviceaccount:a:robot");
        assert_eq!(claims["kubernetes.io/serviceaccount/secret.name"], "t");
        let filled = fill(secret(), Some(&account("1")), "PEM", Some("token"));
        assert_eq!(filled["data"]["namespace"], "YQ==");
        assert_eq!(decide(&filled, Some(&account("1"))), Plan::Nothing);
        assert_eq!(decide(&filled, Some(&account("2"))), Plan::Delete);
        assert_eq!(decide(&filled, None), Plan::Delete);
    }
}
