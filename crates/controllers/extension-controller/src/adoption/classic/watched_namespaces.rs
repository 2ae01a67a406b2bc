//! Which namespaces an operator of OLM v0 watches, and how a ClusterExtension says the same.

use apply::object::{annotation, at, text};
use classic::keys;
use serde_json::Value;

use super::AdoptionError;

/// The namespaces that an operator watches, as far as a ClusterExtension can say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchedNamespaces {
    /// All of them, those to come included.
    All,
    /// One: the operator's own or another.
    One(String),
}

impl WatchedNamespaces {
    /// Reads what the OperatorGroups of an operator's namespace say.
    ///
    /// # Errors
    ///
    /// If there isn't one OperatorGroup, if OLM v0 hasn't followed it yet, or if an extension can't watch what it selects.
    pub fn of(namespace: &str, groups: &[Value], service_version: &Value) -> Result<Self, AdoptionError> {
        let group = match groups {
            [group] => group,
            [] => return Err(AdoptionError::NoGroup(namespace.to_owned())),
            several => {
                let names: Vec<&str> = several
                    .iter()
                    .map(|group| text(group, "/metadata/name"))
                    .collect();
                return Err(AdoptionError::SeveralGroups {
                    namespace: namespace.to_owned(),
                    groups: names.join(", "),
                });
            }
        };
        let group_name = format!("{namespace}/{}", text(group, "/metadata/name"));
        let targets = targets(group);
        let followed = annotation(service_version, keys::TARGET_NAMESPACES);
        if let Some(followed) = followed.filter(|followed| *followed != targets.join(",")) {
            return Err(AdoptionError::NotFollowed {
                group: group_name,
                version: text(service_version, "/metadata/name").to_owned(),
                selected: told(&targets),
                watched: told(&followed.split(',').collect::<Vec<_>>()),
            });
        }
        match targets.as_slice() {
            [""] => Ok(Self::All),
            [one] => Ok(Self::One((*one).to_owned())),
            [] => Err(AdoptionError::NoNamespace(group_name)),
            several => Err(AdoptionError::SeveralNamespaces {
                group: group_name,
                namespaces: several.join(", "),
            }),
        }
    }

    /// Returns what `spec.config.inline.watchNamespace` says of it; none where it says nothing.
    pub fn configured(&self) -> Option<&str> {
        match self {
            Self::All => None,
            Self::One(namespace) => Some(namespace),
        }
    }
}

/// The namespaces of a group, sorted; one empty name for all.
fn targets(group: &Value) -> Vec<&str> {
    let listed = |pointer: &str| {
        let namespaces = at(group, pointer).and_then(Value::as_array);
        let mut namespaces: Vec<&str> = namespaces
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        namespaces.sort_unstable();
        namespaces.dedup();
        namespaces
    };
    let named = listed("/spec/targetNamespaces");
    let selector = at(group, "/spec/selector").and_then(Value::as_object);
    match selector {
        _ if !named.is_empty() => named,
        // Which namespaces have the labels is known by who looks at them all the time.
        Some(selector) if !selector.is_empty() => listed("/status/namespaces"),
        _ => vec![""],
    }
}

fn told(namespaces: &[&str]) -> String {
    match namespaces {
        [""] => "all namespaces".to_owned(),
        [] => "no namespace".to_owned(),
        some => some.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_extension_watches_what_the_operator_group_selects_or_is_refused() {
        let group = |spec: Value, status: Value| json!({"metadata": {"name": "group", "namespace": "ns"}, "spec": spec, "status": status});
        let labels = json!({"selector": {"matchLabels": {"a": "b"}}});
        for (groups, followed, expected) in [
            (vec![group(json!({}), json!({}))], None, Ok(None)),
            (
                vec![group(json!({"selector": {}}), json!({}))],
                Some(""),
                Ok(None),
            ),
            (
                vec![group(json!({"targetNamespaces": ["ns"]}), json!({}))],
                Some("ns"),
                Ok(Some("ns")),
            ),
            (
                vec![group(json!({"targetNamespaces": ["team", "team"]}), json!({}))],
                Some("team"),
                Ok(Some("team")),
            ),
            (
                vec![group(labels.clone(), json!({"namespaces": ["team"]}))],
                Some("team"),
                Ok(Some("team")),
            ),
            (
                vec![group(labels.clone(), json!({"namespaces": []}))],
                None,
                Err(
                    "OperatorGroup ns/group selects no namespace, so there is nothing that a ClusterExtension could watch; name a \
                     namespace in its spec.targetNamespaces",
                ),
            ),
            (
                vec![group(labels, json!({"namespaces": ["b", "a"]}))],
                Some("a,b"),
                Err(
                    "OperatorGroup ns/group selects namespaces a, b (MultiNamespace), and a ClusterExtension watches one namespace \
                     or all of them; leave the operator with OLM v0, or let the group select one namespace in \
                     spec.targetNamespaces and install the operator once for each",
                ),
            ),
            (
                vec![group(json!({"targetNamespaces": ["a"]}), json!({}))],
                Some(""),
                Err(
                    "OperatorGroup ns/group selects a, and ClusterServiceVersion \"web.v1\" still watches all namespaces; wait \
                     until OLM v0 has followed the group",
                ),
            ),
            (
                Vec::new(),
                None,
                Err(
                    "namespace \"ns\" has no OperatorGroup, which says what the operator watches; make the one that it was \
                     installed with again",
                ),
            ),
            (
                vec![group(json!({}), json!({})), group(json!({}), json!({}))],
                None,
                Err(
                    "namespace \"ns\" has several OperatorGroups (group, group), so it isn't clear what the operator watches; \
                     delete all but one",
                ),
            ),
        ] {
            let mut version = json!({"metadata": {"name": "web.v1"}});
            if let Some(followed) = followed {
                version["metadata"]["annotations"] = json!({keys::TARGET_NAMESPACES: followed});
            }
            let found = WatchedNamespaces::of("ns", &groups, &version);
            let found = found
                .as_ref()
                .map(WatchedNamespaces::configured)
                .map_err(ToString::to_string);
            assert_eq!(found, expected.map_err(str::to_owned), "{groups:?}");
        }
    }
}
