//! The objects that parameterise a policy.

use std::sync::Arc;

use serde_json::Value;

use super::definition::{Binding, Policy};
use crate::admission::Review;
use crate::api::Api;
use crate::resource::{Resource, split_api_version};
use crate::selectors::LabelSelector;
use crate::store::Key;

/// Returns the resource of a policy's parameters; `None` where it has none.
pub fn resource(api: &Api, policy: &Policy) -> Result<Option<Arc<Resource>>, String> {
    let Some((api_version, kind)) = &policy.param_kind else {
        return Ok(None);
    };
    let served = api.resources.now();
    if let Some(found) = served.of_kind(api_version, kind) {
        return Ok(Some(found.clone()));
    }
    let (group, version) = split_api_version(api_version);
    Err(format!(
        "failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'"
    ))
}

/// Returns the parameters with which a binding uses its policy, one run for each; null where it has none.
pub async fn collect(
    review: &Review<'_>,
    resource: Option<&Resource>,
    binding: &Binding,
) -> Result<Vec<Value>, String> {
    let reference = &binding.param_ref;
    let (Some(resource), true) = (resource, reference.is_object()) else {
        return Ok(vec![Value::Null]);
    };
    let text = |name: &str| reference[name].as_str().unwrap_or_default();
    let namespace = match (resource.namespaced, text("namespace")) {
        (false, "") => "",
        (false, _) => {
            return Err(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned(),
            );
        }
        (true, "") if review.namespace().is_empty() => {
            return Err(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                    .to_owned(),
            );
        }
        (true, "") => review.namespace(),
        (true, named) => named,
    };
    let store = &review.api.store;
    let stored = if !text("name").is_empty() {
        let key = Key::new(&resource.storage, namespace, text("name"));
        store.get(&key).into_iter().collect()
    } else if reference["selector"].is_object() {
        let selector =
            LabelSelector::from_object(&reference["selector"]).map_err(|error| error.to_string())?;
        let within = resource.namespaced.then_some(namespace);
        let listing = store
            .list(&resource.storage, within, None, None, None)
            .map_err(|error| error.to_string())?;
        let mut items = listing.items;
        items.retain(|one| selector.matches(&one.labels));
        items
    } else {
        return Err("one of name or selector must be provided".to_owned());
    };
    if stored.is_empty() && text("parameterNotFoundAction") == "Deny" {
        return Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned());
    }
    let mut params = Vec::with_capacity(stored.len());
    for one in &stored {
        let param = review.api.served(resource, one).await;
        params.push(param.map_err(|status| status.message)?);
    }
    Ok(params)
}
