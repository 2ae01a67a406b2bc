//! Which writes a webhook or a policy is about.

use std::sync::Arc;

use serde_json::Value;

use super::{Operation, Review};
use crate::object::Object;
use crate::resource::Resource;
use crate::selectors::LabelSelector;
use crate::status::{GroupResource, Status};
use crate::store::{Key, ResourceKey};

/// Where a rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Everywhere,
    Namespaced,
    Cluster,
}

/// One rule: what is done to which resources.
#[derive(Debug, Clone)]
pub struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<String>,
    names: Vec<String>,
    scope: Scope,
}

impl Rule {
    fn read(rule: &Value) -> Self {
        let texts = |name: &str| -> Vec<String> {
            let listed = rule[name].as_array().into_iter().flatten();
            listed.filter_map(Value::as_str).map(ToOwned::to_owned).collect()
        };
        Self {
            operations: texts("operations"),
            groups: texts("apiGroups"),
            versions: texts("apiVersions"),
            resources: texts("resources"),
            names: texts("resourceNames"),
            scope: match rule["scope"].as_str() {
                Some("Namespaced") => Scope::Namespaced,
                Some("Cluster") => Scope::Cluster,
                _ => Scope::Everywhere,
            },
        }
    }

    /// Returns the rules of a list.
    pub fn read_all(rules: &Value) -> Vec<Self> {
        rules.as_array().into_iter().flatten().map(Self::read).collect()
    }

    fn matches(&self, review: &Review<'_>, resource: &Resource) -> bool {
        let any = |items: &[String], wanted: &str| items.iter().any(|item| item == "*" || item == wanted);
        let cluster_wide = resource.is("", "namespaces") || review.place.namespace.is_empty();
        let in_scope = match self.scope {
            Scope::Everywhere => true,
            Scope::Namespaced => !cluster_wide,
            Scope::Cluster => cluster_wide,
        };
        let below = review.place.subresource.as_str();
        in_scope
            && any(&self.operations, review.operation.name())
            && any(&self.groups, &resource.group)
            && any(&self.versions, &resource.version)
            && self.resources.iter().any(|named| {
                let (named, subresource) = named.split_once('/').unwrap_or((named, ""));
                (named == "*" || *named == *resource.plural) && (subresource == "*" || subresource == below)
            })
            && (self.names.is_empty() || self.names.contains(&review.place.name))
    }
}

/// What a webhook, a policy or a binding is about.
#[derive(Debug)]
pub struct Matching {
    rules: Vec<Rule>,
    excluded: Vec<Rule>,
    /// Without rules, everything is meant.
    everything_without_rules: bool,
    namespaces: LabelSelector,
    objects: LabelSelector,
    equivalent: bool,
}

impl Matching {
    /// Reads what a webhook is about.
    pub fn of_webhook(webhook: &Value) -> Self {
        Self {
            rules: Rule::read_all(&webhook["rules"]),
            excluded: Vec::new(),
            everything_without_rules: false,
            namespaces: selector(&webhook["namespaceSelector"]),
            objects: selector(&webhook["objectSelector"]),
            equivalent: webhook["matchPolicy"] != "Exact",
        }
    }

    /// Reads the `matchConstraints` of a policy or the `matchResources` of a binding.
    pub fn of_policy(constraints: &Value) -> Self {
        Self {
            rules: Rule::read_all(&constraints["resourceRules"]),
            excluded: Rule::read_all(&constraints["excludeResourceRules"]),
            everything_without_rules: true,
            namespaces: selector(&constraints["namespaceSelector"]),
            objects: selector(&constraints["objectSelector"]),
            equivalent: constraints["matchPolicy"] != "Exact",
        }
    }

    /// Returns the resource, in the version that a rule names, as which the write is meant; `None` where it isn't.
    pub fn find(&self, review: &Review<'_>) -> Result<Option<Arc<Resource>>, Status> {
        let in_namespace = self.is_in_namespace(review);
        if matches!(in_namespace, Ok(false)) || !self.is_of_object(review) {
            return Ok(None);
        }
        if self.by_rules(&self.excluded, review).is_some() {
            return Ok(None);
        }
        let found = if self.rules.is_empty() && self.everything_without_rules {
            Some(review.place.resource.clone())
        } else {
            self.by_rules(&self.rules, review)
        };
        // A namespace that isn't there matters only to those who would be asked.
        match (found, in_namespace) {
            (None, _) => Ok(None),
            (Some(_), Err(missing)) => Err(missing),
            (Some(resource), Ok(_)) => Ok(Some(resource)),
        }
    }

    fn by_rules(&self, rules: &[Rule], review: &Review<'_>) -> Option<Arc<Resource>> {
        let asked = &review.place.resource;
        if rules.iter().any(|rule| rule.matches(review, asked)) {
            return Some(asked.clone());
        }
        if !self.equivalent || rules.is_empty() {
            return None;
        }
        let served = review.api.resources.now();
        let below = review.place.below();
        let equivalents: Vec<&Arc<Resource>> = served
            .all()
            .filter(|one| {
                one.storage == asked.storage && !(one.group == asked.group && one.version == asked.version)
            })
            .filter(|one| below.is_none_or(|below| one.subresource(below).is_some()))
            .collect();
        rules.iter().find_map(|rule| {
            let found = equivalents.iter().find(|one| rule.matches(review, one))?;
            Some(Arc::clone(found))
        })
    }

    fn is_in_namespace(&self, review: &Review<'_>) -> Result<bool, Status> {
        let is_namespace = review.place.resource.is("", "namespaces");
        let namespace = review.namespace();
        if (namespace.is_empty() && !is_namespace) || self.namespaces.is_everything() {
            return Ok(true);
        }
        let written = is_namespace
            && review.place.subresource.is_empty()
            && matches!(review.operation, Operation::Create | Operation::Update);
        if let (true, Some(object)) = (written, &review.object) {
            return Ok(self.namespaces.matches_object(object));
        }
        let key = Key::new(&ResourceKey::new("", "namespaces"), "", namespace);
        let stored = review.api.store.get(&key).ok_or_else(|| {
            let namespaces = GroupResource {
                group: "",
                resource: "namespaces",
            };
            Status::not_found(namespaces, namespace)
        })?;
        Ok(self.namespaces.matches(&stored.labels))
    }

    fn is_of_object(&self, review: &Review<'_>) -> bool {
        self.objects.is_everything()
            || review
                .object
                .as_ref()
                .is_some_and(|object| self.objects.matches_object(object))
            || review
                .old
                .is_some_and(|object| self.objects.matches_object(object))
    }
}

/// Returns the selector of a field; one that isn't there matches everything, one that can't be read nothing.
fn selector(value: &Value) -> LabelSelector {
    if value.is_null() {
        return LabelSelector::everything();
    }
    LabelSelector::from_object(value).unwrap_or_else(|_| LabelSelector::nothing())
}

impl Review<'_> {
    /// Returns the namespace of the write; a namespace is in itself.
    pub fn namespace(&self) -> &str {
        if !self.place.resource.is("", "namespaces") {
            return &self.place.namespace;
        }
        if self.place.name.is_empty() {
            self.object.as_ref().map_or("", |object| object.name())
        } else {
            &self.place.name
        }
    }

    /// Returns whether the write is to what decides about writes, which decides about itself never.
    pub fn is_to_admission(&self) -> bool {
        let resource = &self.place.resource;
        &*resource.group == "admissionregistration.k8s.io"
            && matches!(
                &*resource.kind,
                "ValidatingWebhookConfiguration"
                    | "MutatingWebhookConfiguration"
                    | "ValidatingAdmissionPolicy"
                    | "ValidatingAdmissionPolicyBinding"
                    | "MutatingAdmissionPolicy"
                    | "MutatingAdmissionPolicyBinding"
            )
    }
}
