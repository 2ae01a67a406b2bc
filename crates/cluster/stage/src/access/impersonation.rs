//! Acting as someone else.
//!
//! Five modes are tried one after the other, the narrow ones first. The narrow ones want two permissions: to be that
//! someone (`impersonate:<mode>`), and to do this very thing as them (`impersonate-on:<mode>:<verb>`). The last mode is
//! the old one, with the verb `impersonate` alone. Who fails in all of them is told about the first, beginning with the
//! mode that they had success with before.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use percent_encoding::percent_decode_str;
use schema::FieldError;
use schema::field_error::FieldPath;
use schema::structural::name_rules;
use serde_json::json;

use super::attributes::{Attributes, quoted};
use super::authentication::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED};
use super::{Access, tokens};
use crate::caller::{Caller, MASTERS};
use crate::status::Status;

/// The group of the resources that stand for what is impersonated.
const GROUP: &str = "authentication.k8s.io";

/// The header of extras, before the key.
const EXTRA_PREFIX: &str = "impersonate-extra-";

/// From how many values on one check for all of them is tried first.
const MANY: usize = 4;

/// How many callers are remembered with the mode that they had success with.
const MOST_REMEMBERED: usize = 10_000;

/// The modes in the order in which they are tried.
const MODES: [Mode; 5] = [
    Mode::AssociatedNode,
    Mode::ArbitraryNode,
    Mode::ServiceAccount,
    Mode::UserInfo,
    Mode::Legacy,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// A ServiceAccount whose token is bound to a node acts as that node.
    AssociatedNode,
    /// Someone acts as any node.
    ArbitraryNode,
    /// Someone acts as a ServiceAccount.
    ServiceAccount,
    /// Someone acts as any other user.
    UserInfo,
    /// The old way, with one permission for all that is done.
    Legacy,
}

impl Mode {
    const fn name(self) -> &'static str {
        match self {
            Self::AssociatedNode => "associated-node",
            Self::ArbitraryNode => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::UserInfo => "user-info",
            Self::Legacy => "",
        }
    }

    fn verb(self) -> String {
        match self {
            Self::Legacy => "impersonate".to_owned(),
            narrow => format!("impersonate:{}", narrow.name()),
        }
    }

    /// Returns whether the mode is for this.
    fn applies(self, requestor: &Caller, wanted: &Caller) -> bool {
        let only_name = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let node = node_name(&wanted.user);
        let account = tokens::split_user_name(&wanted.user);
        match self {
            Self::AssociatedNode => {
                let own = match requestor.extra.get(tokens::NODE_NAME).map(Vec::as_slice) {
                    Some([one]) => Some(one.as_str()),
                    _ => None,
                };
                only_name
                    && node.is_some()
                    && node == own
                    && tokens::split_user_name(&requestor.user).is_some()
            }
            Self::ArbitraryNode => only_name && node.is_some(),
            Self::ServiceAccount => only_name && account.is_some(),
            Self::UserInfo => node.is_none() && account.is_none(),
            Self::Legacy => true,
        }
    }
}

/// Which mode each caller had success with, by the name of the caller.
#[derive(Debug, Default)]
pub struct Successes(Mutex<HashMap<String, Mode>>);

impl Successes {
    fn of(&self, user: &str) -> Option<Mode> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(user).copied()
    }

    fn note(&self, user: &str, mode: Mode) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_REMEMBERED && !known.contains_key(user) {
            known.clear();
        }
        known.insert(user.to_owned(), mode);
    }
}

fn node_name(user: &str) -> Option<&str> {
    let name = user.strip_prefix("system:node:")?;
    name_rules::dns_subdomain(name).is_empty().then_some(name)
}

/// Reads whom the headers of a request ask for.
fn wanted(headers: &[(String, String)]) -> Result<Option<Caller>, Status> {
    let mut wanted = Caller::default();
    let mut asked = false;
    for (name, value) in headers {
        match name.as_str() {
            "impersonate-user" if wanted.user.is_empty() => wanted.user.clone_from(value),
            "impersonate-uid" if wanted.uid.is_empty() => {
                wanted.uid.clone_from(value);
                asked |= !value.is_empty();
            }
            "impersonate-group" => {
                wanted.groups.push(value.clone());
                asked = true;
            }
            _ => {
                if let Some(key) = name.strip_prefix(EXTRA_PREFIX) {
                    let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
                    wanted.extra.entry(key).or_default().push(value.clone());
                    asked = true;
                }
            }
        }
    }
    if !wanted.user.is_empty() {
        return Ok(Some(wanted));
    }
    if asked {
        return Err(Status::bad_request(format!(
            "requested {} without impersonating a user name",
            described(&wanted)
        )));
    }
    Ok(None)
}

/// Writes a caller as the real server's language does.
fn described(caller: &Caller) -> String {
    let list = |texts: &[String]| {
        let all: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
        format!("[]string{{{}}}", all.join(", "))
    };
    let groups = if caller.groups.is_empty() {
        "[]string(nil)".to_owned()
    } else {
        list(&caller.groups)
    };
    let extra = if caller.extra.is_empty() {
        "map[string][]string(nil)".to_owned()
    } else {
        let all: Vec<String> = caller
            .extra
            .iter()
            .map(|(key, values)| format!("{}:{}", quoted(key), list(values)))
            .collect();
        format!("map[string][]string{{{}}}", all.join(", "))
    };
    format!(
        "&user.DefaultInfo{{Name:{}, UID:{}, Groups:{groups}, Extra:{extra}}}",
        quoted(&caller.user),
        quoted(&caller.uid)
    )
}

impl Access {
    /// Returns who a request is made as: the caller, or whom the headers ask for if the caller may be them.
    pub fn impersonate(
        &self,
        requestor: Arc<Caller>,
        headers: &[(String, String)],
        attributes: &Attributes,
    ) -> Result<Arc<Caller>, Status> {
        let Some(wanted) = wanted(headers)? else {
            return Ok(requestor);
        };
        let before = self.impersonations.of(&requestor.user);
        let others = MODES.into_iter().filter(|mode| Some(*mode) != before);
        let mut first = None;
        for mode in before.into_iter().chain(others) {
            if !mode.applies(&requestor, &wanted) {
                continue;
            }
            match self.act_as(mode, &requestor, &wanted, attributes) {
                Ok(caller) => {
                    self.impersonations.note(&requestor.user, mode);
                    return Ok(Arc::new(caller));
                }
                Err(refusal) => first = first.or(Some(refusal)),
            }
        }
        Err(first.unwrap_or_else(|| Status::internal("all impersonation modes failed")))
    }

    fn act_as(
        &self,
        mode: Mode,
        requestor: &Caller,
        wanted: &Caller,
        attributes: &Attributes,
    ) -> Result<Caller, Status> {
        let check = |attributes: &Attributes| {
            let decision = self.allowed(requestor, attributes);
            if decision.allowed {
                Ok(())
            } else {
                Err(attributes.forbidden(requestor, &decision.reason))
            }
        };
        let narrow = mode != Mode::Legacy;
        if narrow {
            check(&Attributes {
                verb: format!("impersonate-on:{}:{}", mode.name(), attributes.verb),
                object: attributes.object.clone(),
            })?;
        }
        let verb = mode.verb();
        let group = if narrow { GROUP } else { "" };
        let on =
            |group: &str, resource: &str, name: &str| Attributes::resource(&verb, "", group, resource, name);
        let mut actual = wanted.clone();

        match (node_name(&wanted.user), tokens::split_user_name(&wanted.user)) {
            (Some(node), _) if narrow => {
                actual.groups = vec!["system:nodes".to_owned()];
                // The permission to be one's own node is one for all nodes.
                let node = if mode == Mode::AssociatedNode { "*" } else { node };
                check(&on(group, "nodes", node))?;
            }
            (_, Some((namespace, name))) => {
                if wanted.groups.is_empty() {
                    actual.groups = tokens::groups(namespace);
                }
                check(&Attributes::resource(
                    &verb,
                    namespace,
                    group,
                    "serviceaccounts",
                    name,
                ))?;
            }
            _ => check(&on(group, "users", &wanted.user))?,
        }
        if !wanted.uid.is_empty() {
            check(&on(GROUP, "uids", &wanted.uid))?;
        }
        if !wanted.groups.is_empty() {
            if narrow {
                refuse_groups(requestor, &wanted.groups, &on)?;
            }
            let all = narrow && wanted.groups.len() >= MANY && check(&on(group, "groups", "*")).is_ok();
            if !all {
                for one in &wanted.groups {
                    check(&on(group, "groups", one))?;
                }
            }
        }
        if !wanted.extra.is_empty() {
            if narrow && let Some(why) = wrong_extra(&wanted.extra) {
                return Err(on(GROUP, "userextras", "").forbidden(requestor, &why));
            }
            let values: usize = wanted.extra.values().map(Vec::len).sum();
            let many = wanted.extra.len() >= MANY || values >= MANY;
            let all = narrow && many && check(&on(GROUP, "userextras", "*").below("*")).is_ok();
            for (key, values) in wanted.extra.iter().filter(|_| !all) {
                for value in values {
                    check(&on(GROUP, "userextras", value).below(key))?;
                }
            }
        }

        let proven = if actual.user == ANONYMOUS {
            Some(UNAUTHENTICATED)
        } else {
            (!actual.is_in(UNAUTHENTICATED)).then_some(AUTHENTICATED)
        };
        if let Some(group) = proven
            && !actual.is_in(group)
        {
            actual.groups.push(group.to_owned());
        }
        Ok(actual)
    }
}

fn refuse_groups(
    requestor: &Caller,
    groups: &[String],
    on: &impl Fn(&str, &str, &str) -> Attributes,
) -> Result<(), Status> {
    if groups.iter().any(String::is_empty) {
        let why = "impersonating the empty string group is not allowed";
        return Err(on(GROUP, "groups", "").forbidden(requestor, why));
    }
    if groups.iter().any(|group| group == MASTERS) {
        let why = "impersonating the system:masters group is not allowed";
        return Err(on(GROUP, "groups", MASTERS).forbidden(requestor, why));
    }
    Ok(())
}

/// Returns what the narrow modes don't take in extras.
fn wrong_extra(extra: &BTreeMap<String, Vec<String>>) -> Option<String> {
    for (key, values) in extra {
        if key.is_empty() {
            return Some("impersonating the empty string key in extra is not allowed".to_owned());
        }
        let errors: Vec<String> = domain_prefixed_path_errors(key);
        if !errors.is_empty() {
            let text = match errors.as_slice() {
                [one] => one.clone(),
                several => format!("[{}]", several.join(", ")),
            };
            return Some(format!(
                "impersonating an invalid key in extra is not allowed: {text}"
            ));
        }
        if *key != key.to_lowercase() {
            return Some(format!(
                "impersonating a non-lowercase key in extra is not allowed: {}",
                quoted(key)
            ));
        }
        if values.iter().any(String::is_empty) {
            return Some("impersonating the empty string value in extra is not allowed".to_owned());
        }
    }
    None
}

/// Returns what keeps a text from being a domain, a slash and a path.
fn domain_prefixed_path_errors(key: &str) -> Vec<String> {
    let path = || FieldPath::new("extra").child("key");
    let Some((domain, rest)) = key
        .split_once('/')
        .filter(|(domain, rest)| !domain.is_empty() && !rest.is_empty())
    else {
        let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        return vec![FieldError::invalid(path(), &json!(key), detail).to_string()];
    };
    let mut errors = Vec::new();
    for fault in name_rules::dns_subdomain(domain) {
        errors.push(FieldError::invalid(path(), &json!(domain), fault).to_string());
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !rest.bytes().all(allowed) {
        let detail = "Invalid path (regex used for validation is '^[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+$')";
        errors.push(FieldError::invalid(path(), &json!(rest), detail).to_string());
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn groups_without_a_user_are_refused_in_the_real_words() {
        let asked = headers(&[
            ("impersonate-group", "system:serviceaccount:a:b"),
            ("impersonate-extra-foo", "a"),
            ("impersonate-extra-bar", "b"),
        ]);
        let refusal = wanted(&asked).expect_err("a refusal");
        insta::assert_snapshot!(
            refusal.message,
            @r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"system:serviceaccount:a:b"}, Extra:map[string][]string{"bar":[]string{"b"}, "foo":[]string{"a"}}} without impersonating a user name"#
        );
        assert!(wanted(&[]).expect("nothing asked").is_none());
    }

    #[test]
    fn keys_of_extras_are_unescaped() {
        let asked = headers(&[
            ("impersonate-user", "a"),
            ("impersonate-extra-acme.com%2fproject", "x"),
        ]);
        let found = wanted(&asked).expect("read").expect("someone");
        assert_eq!(found.extra["acme.com/project"], ["x"]);
    }

    #[test]
    fn modes_are_for_the_users_of_their_kind() {
        let anyone = Caller::named("alice", &[]);
        let applying = |wanted: &Caller| -> Vec<Mode> {
            MODES
                .into_iter()
                .filter(|mode| mode.applies(&anyone, wanted))
                .collect()
        };
        let named = |user: &str| Caller::named(user, &[]);
        assert_eq!(applying(&named("bob")), [Mode::UserInfo, Mode::Legacy]);
        assert_eq!(
            applying(&named("system:serviceaccount:a:b")),
            [Mode::ServiceAccount, Mode::Legacy]
        );
        assert_eq!(
            applying(&named("system:node:a")),
            [Mode::ArbitraryNode, Mode::Legacy]
        );
        let with_groups = Caller::named("system:serviceaccount:a:b", &["c"]);
        assert_eq!(applying(&with_groups), [Mode::Legacy]);
    }
}
