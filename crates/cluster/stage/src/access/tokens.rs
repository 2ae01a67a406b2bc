//! The tokens of ServiceAccounts: what they say, and whether it still holds.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schema::structural::name_rules;
use serde_json::{Map, Value, json};

use super::attributes::quoted_list;
use super::authentication::authenticated;
use super::{Access, CREDENTIAL_ID};
use crate::api::Api;
use crate::caller::Caller;
use crate::object::Object as _;
use crate::store::{Key, ResourceKey};

/// Who issues tokens, as the real server is usually told; it is also the audience of tokens for the API itself.
pub const ISSUER: &str = "https://kubernetes.default.svc";

/// The issuer in tokens of Secrets, which have no audience and don't expire.
pub const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";

/// By how many seconds clocks may differ, and how long after its deletion an object still vouches for a token.
const LEEWAY: i64 = 60;

/// What begins the user names of ServiceAccounts.
const USER_PREFIX: &str = "system:serviceaccount:";

/// The extras of tokens that are bound to a pod or a node: claim, part of it, key.
const EXTRAS: [(&str, &str, &str); 4] = [
    ("pod", "name", "authentication.kubernetes.io/pod-name"),
    ("pod", "uid", "authentication.kubernetes.io/pod-uid"),
    ("node", "name", NODE_NAME),
    ("node", "uid", "authentication.kubernetes.io/node-uid"),
];

/// The key of the extra that names the node a token is bound to.
pub const NODE_NAME: &str = "authentication.kubernetes.io/node-name";

/// Returns the user name of a ServiceAccount.
pub fn user_name(namespace: &str, name: &str) -> String {
    format!("{USER_PREFIX}{namespace}:{name}")
}

/// Returns the namespace and the name of the ServiceAccount that a user name is of.
pub fn split_user_name(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(USER_PREFIX)?.split_once(':')?;
    let valid = name_rules::dns_label(namespace).is_empty() && name_rules::dns_subdomain(name).is_empty();
    valid.then_some((namespace, name))
}

/// Returns the groups of the ServiceAccounts of a namespace.
pub fn groups(namespace: &str) -> Vec<String> {
    vec![
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
    ]
}

/// What a token is bound to.
#[derive(Debug, Clone, Default)]
pub struct Bound {
    /// The pod.
    pub pod: Option<(String, String)>,
    /// The Secret.
    pub secret: Option<(String, String)>,
    /// The node, or the pod's node.
    pub node: Option<(String, String)>,
}

/// What a new token says.
#[derive(Debug, Clone)]
pub struct Claimed<'a> {
    /// The ServiceAccount's namespace, name and uid.
    pub account: (&'a str, &'a str, &'a str),
    /// What the token is bound to.
    pub bound: Bound,
    /// Whom the token is for.
    pub audiences: &'a [String],
    /// For how many seconds it is good.
    pub seconds: i64,
    /// After how many seconds a client should have a new one.
    pub warn_after: Option<i64>,
}

impl Claimed<'_> {
    /// Returns the claims as of a moment.
    pub fn claims(&self, now: Timestamp, id: &str) -> Value {
        let (namespace, name, uid) = self.account;
        let now = now.as_second();
        let mut own = Map::new();
        own.insert("namespace".into(), namespace.into());
        own.insert("serviceaccount".into(), json!({"name": name, "uid": uid}));
        let bound = [
            ("pod", &self.bound.pod),
            ("secret", &self.bound.secret),
            ("node", &self.bound.node),
        ];
        for (kind, object) in bound {
            if let Some((name, uid)) = object {
                let mut reference = Map::new();
                reference.insert("name".into(), name.as_str().into());
                if !uid.is_empty() {
                    reference.insert("uid".into(), uid.as_str().into());
                }
                own.insert(kind.into(), Value::Object(reference));
            }
        }
        if let Some(seconds) = self.warn_after {
            own.insert("warnafter".into(), now.saturating_add(seconds).into());
        }
        json!({
            "aud": self.audiences, "exp": now.saturating_add(self.seconds), "iat": now, "iss": ISSUER, "jti": id,
            "kubernetes.io": own, "nbf": now, "sub": user_name(namespace, name),
        })
    }
}

/// Whom a token is of, and for which of the wanted audiences.
#[derive(Debug, Clone)]
pub struct Believed {
    /// Whose token it is.
    pub caller: Caller,
    /// The audiences it is for.
    pub audiences: Vec<String>,
}

fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    let mut value = value;
    for part in path {
        value = &value[*part];
    }
    value.as_str().unwrap_or_default()
}

impl Access {
    /// Returns whose ServiceAccount token this is. `None` for what is no such token; otherwise why it isn't believed.
    pub fn service_account(
        &self,
        api: &Api,
        token: &str,
        wanted: &[String],
        now: Timestamp,
    ) -> Option<Result<Believed, String>> {
        let issuer = unverified_issuer(token)?;
        if issuer != ISSUER && issuer != LEGACY_ISSUER {
            return None;
        }
        let key = match self.keys.signing() {
            Ok(key) => key,
            Err(error) => return Some(Err(error.to_string())),
        };
        let Some(claims) = key.verify(token) else {
            return Some(Err("invalid signature, no keys found".to_owned()));
        };
        Some(if issuer == LEGACY_ISSUER {
            legacy(api, token, &claims, wanted)
        } else {
            bound(api, &claims, wanted, now)
        })
    }
}

/// Returns who a token says that it is from, before anything is believed.
fn unverified_issuer(token: &str) -> Option<String> {
    use base64::Engine as _;
    let mut parts = token.split('.');
    let (_, body, _) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .decode(body)
        .ok()?;
    let claims: Value = serde_json::from_slice(&bytes).ok()?;
    claims.get("iss")?.as_str().map(str::to_owned)
}

/// Returns the audiences that are wanted and that a token has.
fn common_audiences(claims: &Value, wanted: &[String]) -> Result<Vec<String>, String> {
    let own: Vec<String> = match &claims["aud"] {
        Value::String(one) => vec![one.clone()],
        Value::Array(all) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let own = if own.is_empty() {
        vec![ISSUER.to_owned()]
    } else {
        own
    };
    let common: Vec<String> = own.iter().filter(|one| wanted.contains(one)).cloned().collect();
    if common.is_empty() {
        return Err(format!(
            "token audiences {} is invalid for the target audiences {}",
            quoted_list(&own),
            quoted_list(wanted)
        ));
    }
    Ok(common)
}

fn bound(api: &Api, claims: &Value, wanted: &[String], now: Timestamp) -> Result<Believed, String> {
    let audiences = common_audiences(claims, wanted)?;
    let seconds = now.as_second();
    let at = |claim: &str| claims.get(claim).and_then(Value::as_i64);
    if at("nbf").is_some_and(|begin| seconds + LEEWAY < begin) {
        return Err("service account token is not valid yet".to_owned());
    }
    if at("exp").is_some_and(|end| seconds - LEEWAY > end) {
        return Err("service account token has expired".to_owned());
    }
    if at("iat").is_some_and(|issued| seconds + LEEWAY < issued) {
        return Err("service account token is issued in the future".to_owned());
    }
    let own = &claims["kubernetes.io"];
    let namespace = text(own, &["namespace"]);
    let (name, uid) = (
        text(own, &["serviceaccount", "name"]),
        text(own, &["serviceaccount", "uid"]),
    );
    let found = account(api, namespace, name)?;
    if found.0 != uid {
        return Err(format!(
            "service account UID ({}) does not match claim ({uid})",
            found.0
        ));
    }
    if found.1.is_some_and(|at| at < seconds - LEEWAY) {
        return Err(format!("service account {namespace}/{name} has been deleted"));
    }
    let references = [
        ("secret", "secrets", namespace),
        ("pod", "pods", namespace),
        ("node", "nodes", ""),
    ];
    for (kind, plural, place) in references {
        // The node of a pod's token is told, not checked.
        if own.get(kind).is_none() || kind == "node" && own.get("pod").is_some() {
            continue;
        }
        let (name, uid) = (text(own, &[kind, "name"]), text(own, &[kind, "uid"]));
        let Some((found, deleted)) = object(api, plural, place, name) else {
            return Err("service account token has been invalidated".to_owned());
        };
        if found != uid {
            let subject = match kind {
                "secret" => "secret",
                "pod" => "pod",
                _ => "node",
            };
            return Err(format!(
                "{subject} UID ({found}) does not match service account {subject} ref claim ({uid})"
            ));
        }
        if deleted.is_some_and(|at| at < seconds - LEEWAY) {
            return Err("service account token has been invalidated".to_owned());
        }
    }
    let mut caller = account_caller(namespace, name, uid);
    for (kind, part, key) in EXTRAS {
        let value = text(own, &[kind, part]);
        if !value.is_empty() {
            caller.extra.insert(key.to_owned(), vec![value.to_owned()]);
        }
    }
    let id = text(claims, &["jti"]);
    if !id.is_empty() {
        caller
            .extra
            .insert(CREDENTIAL_ID.to_owned(), vec![format!("JTI={id}")]);
    }
    Ok(Believed { caller, audiences })
}

fn account_caller(namespace: &str, name: &str, uid: &str) -> Caller {
    authenticated(Caller {
        user: user_name(namespace, name),
        uid: uid.to_owned(),
        groups: groups(namespace),
        extra: BTreeMap::new(),
    })
}

/// Believes the token of a Secret as long as the Secret has it.
fn legacy(api: &Api, token: &str, claims: &Value, wanted: &[String]) -> Result<Believed, String> {
    let audiences = common_audiences(claims, wanted)?;
    let claim = |name: &str| text(claims, &[&format!("kubernetes.io/serviceaccount/{name}")]).to_owned();
    let (namespace, name, uid) = (
        claim("namespace"),
        claim("service-account.name"),
        claim("service-account.uid"),
    );
    if claims["sub"].as_str() != Some(&user_name(&namespace, &name)) {
        return Err("sub claim is invalid".to_owned());
    }
    for (value, what) in [
        (&namespace, "namespace"),
        (&claim("secret.name"), "secretName"),
        (&name, "serviceAccountName"),
        (&uid, "serviceAccountUID"),
    ] {
        if value.is_empty() {
            return Err(format!("{what} claim is missing"));
        }
    }
    let secret = Key::new(
        &ResourceKey::new("", "secrets"),
        &namespace,
        &claim("secret.name"),
    );
    let held = api
        .store
        .get(&secret)
        .filter(|stored| !stored.deleting)
        .map(|stored| stored.value());
    let encoded = {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(token)
    };
    if held.is_none_or(|held| held["data"]["token"].as_str() != Some(&encoded)) {
        return Err("service account token has been invalidated".to_owned());
    }
    let found = account(api, &namespace, &name)?;
    if found.1.is_some() {
        return Err("service account has been deleted".to_owned());
    }
    if found.0 != uid {
        return Err(format!(
            "service account UID ({}) does not match claim ({uid})",
            found.0
        ));
    }
    Ok(Believed {
        caller: account_caller(&namespace, &name, &uid),
        audiences,
    })
}

/// Returns the uid of an object, and since when it is being deleted, in seconds.
fn object(api: &Api, plural: &str, namespace: &str, name: &str) -> Option<(String, Option<i64>)> {
    let stored = api
        .store
        .get(&Key::new(&ResourceKey::new("", plural), namespace, name))?;
    let deleted = stored.deleting.then(|| {
        let value = stored.value();
        let at: Option<Timestamp> = value.metadata_text("deletionTimestamp").parse().ok();
        at.map_or(i64::MIN, Timestamp::as_second)
    });
    Some((stored.uid.to_string(), deleted))
}

fn account(api: &Api, namespace: &str, name: &str) -> Result<(String, Option<i64>), String> {
    object(api, "serviceaccounts", namespace, name)
        .ok_or_else(|| format!("serviceaccounts \"{name}\" not found"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_names_of_service_accounts_are_taken_apart() {
        for (user, parts) in [
            ("system:serviceaccount:a:b", Some(("a", "b"))),
            ("system:serviceaccount:a:b.c", Some(("a", "b.c"))),
            ("system:serviceaccount:a.b:c", None),
            ("system:serviceaccount:a", None),
            ("system:serviceaccount::b", None),
            ("system:serviceaccount:a:b:c", None),
            ("alice", None),
        ] {
            assert_eq!(split_user_name(user), parts, "{user}");
        }
    }
}
