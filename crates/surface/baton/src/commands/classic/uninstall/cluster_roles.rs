//! The ClusterRoles and ClusterRoleBindings that OLM made for an operator: for each of its versions, for the definitions
//! that it brought, and for the OperatorGroup.

use std::collections::BTreeSet;

use apply::object::{label, text};
use apply::owners;
use classic::world::labelled_owner;
use classic::{Kind, components, keys, names};
use serde_json::Value;

use super::plan::{ClusterRole, MadeFor};

/// What roles may have been made for.
pub(super) struct Operator<'a> {
    pub(super) package: &'a str,
    pub(super) namespace: &'a str,
    /// Its versions, those that are gone and are still named as replaced included.
    pub(super) versions: &'a BTreeSet<String>,
    /// All versions that are in the namespace, others' included.
    pub(super) there: BTreeSet<String>,
    /// The definitions that it brought.
    pub(super) definitions: BTreeSet<&'a str>,
    /// The OperatorGroups of the namespace.
    pub(super) groups: BTreeSet<&'a str>,
}

impl Operator<'_> {
    /// Says what a role or binding was made for; none where it has nothing to do with the operator.
    pub(super) fn made(&self, role: &Value) -> Option<ClusterRole> {
        Some(ClusterRole {
            kind: Kind::named(text(role, "/kind"))?,
            name: text(role, "/metadata/name").to_owned(),
            made_for: self.made_for(role)?,
        })
    }

    fn made_for(&self, role: &Value) -> Option<MadeFor> {
        // OLM writes the kind in lower case, and so the garbage collector doesn't find it.
        let mut owners = owners::references(role)
            .iter()
            .filter(|owner| text(owner, "/kind").eq_ignore_ascii_case("CustomResourceDefinition"))
            .map(|owner| text(owner, "/name"));
        if let Some(definition) = owners.find(|name| self.definitions.contains(name)) {
            return Some(MadeFor::Definition(definition.to_owned()));
        }
        let component = names::component_label(&names::operator(self.package, self.namespace));
        let is_of_package = components::labels(role).any(|label| label == component);
        let Some(owner) = labelled_owner(role) else {
            // What a bundle holds has no owner: one of the cluster can't belong to a version, which is in a namespace.
            let is_made = label(role, keys::MANAGED) == Some(keys::MANAGED_VALUE);
            return (is_of_package && is_made).then_some(MadeFor::Bundle);
        };
        match owner.kind {
            _ if owner.namespace != self.namespace => None,
            Kind::OperatorGroup if self.groups.contains(owner.name.as_str()) => {
                Some(MadeFor::Group(owner.name))
            }
            Kind::ClusterServiceVersion if self.there.contains(&owner.name) => self
                .versions
                .contains(&owner.name)
                .then_some(MadeFor::Version(owner.name)),
            Kind::ClusterServiceVersion => (is_of_package || self.versions.contains(&owner.name))
                .then_some(MadeFor::EarlierVersion(owner.name)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn roles_are_told_by_their_labels_and_owners() {
        let versions = ["web.v1", "web.v2"].map(str::to_owned).into();
        let operator = Operator {
            package: "web",
            namespace: "shop",
            versions: &versions,
            there: ["web.v2", "other.v1"].map(str::to_owned).into(),
            definitions: ["webs.example.com"].into(),
            groups: ["shop"].into(),
        };
        let owned = |kind: &str, namespace: &str, name: &str| {
            json!({"kind": "ClusterRole", "metadata": {"name": "r", "labels": {
                "olm.owner": name, "olm.owner.kind": kind, "olm.owner.namespace": namespace,
            }}})
        };
        let version = |namespace: &str, name: &str| owned("ClusterServiceVersion", namespace, name);
        let mut component = version("shop", "web.v0");
        component["metadata"]["labels"]["operators.coreos.com/web.shop"] = "".into();
        let of_definition = |name: &str| {
            json!({"kind": "ClusterRole", "metadata": {"name": "r", "ownerReferences": [
                {"kind": "customresourcedefinition", "name": name},
            ]}})
        };
        let bundled = |component: &str| json!({"kind": "ClusterRole", "metadata": {"name": "r", "labels": {"olm.managed": "true", component: ""}}});
        let named = |name: &str| name.to_owned();
        for (role, expected) in [
            (version("shop", "web.v2"), Some(MadeFor::Version(named("web.v2")))),
            (
                version("shop", "web.v1"),
                Some(MadeFor::EarlierVersion(named("web.v1"))),
            ),
            (component, Some(MadeFor::EarlierVersion(named("web.v0")))),
            (version("shop", "web.v0"), None),
            (version("shop", "other.v1"), None),
            (version("elsewhere", "web.v2"), None),
            (
                owned("OperatorGroup", "shop", "shop"),
                Some(MadeFor::Group(named("shop"))),
            ),
            (owned("OperatorGroup", "elsewhere", "shop"), None),
            (
                of_definition("webs.example.com"),
                Some(MadeFor::Definition(named("webs.example.com"))),
            ),
            (of_definition("others.example.com"), None),
            (bundled("operators.coreos.com/web.shop"), Some(MadeFor::Bundle)),
            (bundled("operators.coreos.com/web.elsewhere"), None),
            (json!({"kind": "ClusterRole", "metadata": {"name": "r"}}), None),
        ] {
            let made = operator.made(&role).map(|made| made.made_for);
            assert_eq!(made, expected, "{role}");
        }
    }
}
