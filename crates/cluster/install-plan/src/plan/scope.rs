//! Whom a plan acts as: the service account that the OperatorGroup of its namespace names.

use apply::object::{at, text};
use classic::{Kind, World};
use serde_json::Value;
use thiserror::Error;

/// Why it isn't known whom a plan acts as. The words are upstream's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GroupProblem {
    /// No OperatorGroup looks after the namespace, or none has found its namespaces yet.
    #[error("no operator group found that is managing this namespace")]
    None,
    /// There are several.
    #[error("more than one operator group(s) are managing this namespace count={0}")]
    Several(usize),
    /// The service account that the group names hasn't been found.
    #[error("please make sure the service account exists. sa={account} operatorgroup={namespace}/{group}")]
    NoAccount {
        /// The service account.
        account: String,
        /// The namespace of the group.
        namespace: String,
        /// The name of the group.
        group: String,
    },
}

/// Returns the reference to the service account that plans of a namespace act as; none for OLM itself.
pub fn account<'a>(world: &'a World, namespace: &'a str) -> Result<Option<&'a Value>, GroupProblem> {
    let looks_after_something = |group: &&Value| {
        let namespaces = at(group, "/status/namespaces").and_then(Value::as_array);
        namespaces.is_some_and(|namespaces| !namespaces.is_empty())
    };
    let groups: Vec<&Value> = world
        .in_namespace(Kind::OperatorGroup, namespace)
        .map(AsRef::as_ref)
        .filter(looks_after_something)
        .collect();
    let group = match groups.as_slice() {
        [] => return Err(GroupProblem::None),
        [group] => group,
        several => return Err(GroupProblem::Several(several.len())),
    };
    let named = text(group, "/spec/serviceAccountName");
    if named.is_empty() {
        return Ok(None);
    }
    match at(group, "/status/serviceAccountRef") {
        Some(reference) if text(reference, "/name") == named => Ok(Some(reference)),
        _ => Err(GroupProblem::NoAccount {
            account: named.to_owned(),
            namespace: text(group, "/metadata/namespace").to_owned(),
            group: text(group, "/metadata/name").to_owned(),
        }),
    }
}
