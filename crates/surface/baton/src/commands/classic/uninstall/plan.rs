//! What is deleted with an operator, in which order, and what stays.

use apply::object::text;
use classic::Kind;
use serde::Serialize;
use serde_json::Value;

use crate::planned_steps::object_name;

/// What there is.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    pub(super) subscription: Value,
    /// What it installed: two versions in the middle of an upgrade.
    pub(super) versions: Vec<Value>,
    /// The definitions that they brought.
    pub(super) definitions: Vec<Definition>,
    /// The Subscriptions that were made for what it needs.
    pub(super) dependencies: Vec<String>,
    /// Whether anything else is installed in the namespace.
    pub(super) has_others: bool,
    /// The OperatorGroups of the namespace.
    pub(super) groups: Vec<String>,
    /// The roles and bindings of the whole cluster that were made for all of these.
    pub(super) cluster_roles: Vec<ClusterRole>,
}

/// A ClusterRole or a ClusterRoleBinding that OLM made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClusterRole {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) made_for: MadeFor,
}

/// What a role was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MadeFor {
    /// A version that is there.
    Version(String),
    /// A version of the operator that is gone.
    EarlierVersion(String),
    /// The operator: bundles of its versions, those that were replaced included, brought it.
    Bundle,
    /// A definition: people use its resources by the role.
    Definition(String),
    /// An OperatorGroup: people use what its operators provide by the role.
    Group(String),
}

/// A definition of custom resources.
#[derive(Debug, Clone, Default)]
pub(super) struct Definition {
    pub(super) name: String,
    /// Other versions that bring it too.
    pub(super) users: Vec<String>,
    /// The resources that the operator looks after.
    pub(super) operands: Vec<Step>,
}

/// What is to go beyond the operator itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) operands: bool,
    pub(super) definitions: bool,
    pub(super) group: bool,
}

/// What becomes of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Action {
    Delete,
    Keep,
}

/// An object, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Step {
    pub(super) action: Action,
    pub(super) api_version: String,
    pub(super) kind: String,
    #[serde(skip)]
    pub(super) plural: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) because: String,
}

impl Step {
    fn of(action: Action, kind: Kind, namespace: &str, name: &str, because: &str) -> Self {
        let naming = kind.naming();
        Self {
            action,
            api_version: naming.api_version.to_owned(),
            kind: naming.kind.to_owned(),
            plural: naming.plural.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            because: because.to_owned(),
        }
    }

    /// The object, as people name it.
    pub(super) fn object(&self) -> String {
        object_name(&self.kind, &self.namespace, &self.name)
    }
}

/// Plans what is deleted, in that order, and says what stays.
pub(super) fn plan(found: &Found, wish: Wish) -> Result<Vec<Step>, String> {
    use Action::{Delete, Keep};
    let namespace = text(&found.subscription, "/metadata/namespace");
    let name = text(&found.subscription, "/metadata/name");
    // First, so that nobody installs again what goes.
    let mut steps = vec![Step::of(
        Delete,
        Kind::Subscription,
        namespace,
        name,
        "nothing is installed or updated any more",
    )];
    for definition in &found.definitions {
        steps.extend(operands(definition, wish)?);
    }
    for version in &found.versions {
        steps.push(Step::of(
            Delete,
            Kind::ClusterServiceVersion,
            namespace,
            text(version, "/metadata/name"),
            "the operator, with everything that was made for it",
        ));
    }
    steps.extend(cluster_roles(found, |made_for| match made_for {
        MadeFor::Version(version) => Some((Delete, format!("made for {version}, and of no use without it"))),
        MadeFor::EarlierVersion(version) => Some((Delete, format!("made for {version}, which was replaced"))),
        MadeFor::Bundle => Some((Delete, "a bundle of the operator brought it".to_owned())),
        MadeFor::Definition(_) | MadeFor::Group(_) => None,
    }));
    for definition in &found.definitions {
        let because = match definition.users.as_slice() {
            [] if wish.definitions => "--delete-crds asks for it".to_owned(),
            [] => "--delete-crds would delete it".to_owned(),
            users => format!("{} brings it too", users.join(", ")),
        };
        let action = if wish.definitions && definition.users.is_empty() {
            Delete
        } else {
            Keep
        };
        steps.push(Step::of(
            action,
            Kind::CustomResourceDefinition,
            "",
            &definition.name,
            &because,
        ));
        steps.extend(cluster_roles(found, |made_for| {
            let is_of_it = matches!(made_for, MadeFor::Definition(name) if *name == definition.name);
            let because = match action {
                Delete => "its definition goes",
                Keep => "people may use the resources of its definition by it",
            };
            is_of_it.then(|| (action, because.to_owned()))
        }));
    }
    for dependency in &found.dependencies {
        let because =
            format!("installed because {name} needed it; `baton classic uninstall {dependency}` removes it");
        steps.push(Step::of(
            Keep,
            Kind::Subscription,
            namespace,
            dependency,
            &because,
        ));
    }
    for group in &found.groups {
        let (action, because) = match (wish.group, found.has_others) {
            (true, false) => (Delete, "--delete-group asks for it"),
            (true, true) => (Keep, "other operators of the namespace need it"),
            (false, _) => (Keep, "the next operator of the namespace needs it"),
        };
        steps.push(Step::of(action, Kind::OperatorGroup, namespace, group, because));
        steps.extend(cluster_roles(found, |made_for| {
            let is_of_it = matches!(made_for, MadeFor::Group(name) if name == group);
            let because = match action {
                Delete => "its OperatorGroup goes",
                Keep => "people may use what operators of its OperatorGroup provide by it",
            };
            is_of_it.then(|| (action, because.to_owned()))
        }));
    }
    Ok(steps)
}

/// What becomes of the roles of the cluster that something is decided about; bindings before what they bind.
fn cluster_roles(found: &Found, decide: impl Fn(&MadeFor) -> Option<(Action, String)>) -> Vec<Step> {
    let mut roles: Vec<&ClusterRole> = found.cluster_roles.iter().collect();
    roles.sort_by_key(|role| (role.kind != Kind::ClusterRoleBinding, &role.name));
    let step = |role: &ClusterRole| {
        let (action, because) = decide(&role.made_for)?;
        Some(Step::of(action, role.kind, "", &role.name, &because))
    };
    roles.into_iter().filter_map(step).collect()
}

/// What becomes of the custom resources of a definition.
fn operands(definition: &Definition, wish: Wish) -> Result<Vec<Step>, String> {
    let Definition {
        name,
        users,
        operands,
    } = definition;
    if wish.definitions && !wish.operands && users.is_empty() && !operands.is_empty() {
        return Err(format!(
            "{} of CustomResourceDefinition {name} would go with it, such as {}; say so with --delete-operands, or keep the \
             definition",
            match operands.len() {
                1 => "1 resource".to_owned(),
                count => format!("{count} resources"),
            },
            operands[0].object()
        ));
    }
    let (action, because) = match users.as_slice() {
        [] if wish.operands => (
            Action::Delete,
            "while its operator can still clean up after it".to_owned(),
        ),
        [] => (Action::Keep, "nobody looks after it any more".to_owned()),
        users => (Action::Keep, format!("{} looks after it too", users.join(", "))),
    };
    let steps = operands.iter().map(|operand| Step {
        action,
        because: because.clone(),
        ..operand.clone()
    });
    Ok(steps.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found() -> Found {
        let operand = |name: &str| Step {
            action: Action::Keep,
            api_version: "example.com/v1".to_owned(),
            kind: "Web".to_owned(),
            plural: "webs".to_owned(),
            namespace: "team".to_owned(),
            name: name.to_owned(),
            because: String::new(),
        };
        Found {
            subscription: json!({
                "metadata": {"name": "web", "namespace": "operators"}, "status": {"installedCSV": "web.v1"},
            }),
            versions: vec![json!({"metadata": {"name": "web.v1", "namespace": "operators"}})],
            definitions: vec![
                Definition {
                    name: "webs.example.com".to_owned(),
                    users: Vec::new(),
                    operands: vec![operand("one"), operand("two")],
                },
                Definition {
                    name: "shared.example.com".to_owned(),
                    users: vec!["other/shared.v1".to_owned()],
                    operands: vec![operand("three")],
                },
            ],
            dependencies: vec!["database".to_owned()],
            has_others: true,
            groups: vec!["global".to_owned()],
            cluster_roles: Vec::new(),
        }
    }

    fn role(kind: Kind, name: &str, made_for: MadeFor) -> ClusterRole {
        ClusterRole {
            kind,
            name: name.to_owned(),
            made_for,
        }
    }

    fn told(steps: &[Step]) -> Vec<String> {
        let steps = steps.iter().map(|step| {
            let action = match step.action {
                Action::Delete => "delete",
                Action::Keep => "keep",
            };
            format!("{action} {}", step.object())
        });
        steps.collect()
    }

    #[test]
    fn without_flags_the_operator_goes_and_what_people_made_stays() {
        let steps = plan(&found(), Wish::default()).expect("a plan");
        assert_eq!(
            told(&steps),
            [
                "delete Subscription operators/web",
                "keep Web team/one",
                "keep Web team/two",
                "keep Web team/three",
                "delete ClusterServiceVersion operators/web.v1",
                "keep CustomResourceDefinition webs.example.com",
                "keep CustomResourceDefinition shared.example.com",
                "keep Subscription operators/database",
                "keep OperatorGroup operators/global",
            ]
        );
    }

    #[test]
    fn resources_go_before_their_operator_and_definitions_after_it() {
        let everything = Wish {
            operands: true,
            definitions: true,
            group: true,
        };
        let alone = Found {
            has_others: false,
            dependencies: Vec::new(),
            ..found()
        };
        assert_eq!(
            told(&plan(&alone, everything).expect("a plan")),
            [
                "delete Subscription operators/web",
                "delete Web team/one",
                "delete Web team/two",
                "keep Web team/three",
                "delete ClusterServiceVersion operators/web.v1",
                "delete CustomResourceDefinition webs.example.com",
                "keep CustomResourceDefinition shared.example.com",
                "delete OperatorGroup operators/global",
            ]
        );
        let steps = plan(&found(), everything).expect("a plan");
        assert!(told(&steps).contains(&"keep OperatorGroup operators/global".to_owned()));
    }

    #[test]
    fn roles_of_the_cluster_go_with_what_they_were_made_for() {
        use Kind::{ClusterRole, ClusterRoleBinding};
        let version = || MadeFor::Version("web.v2".to_owned());
        let earlier = || MadeFor::EarlierVersion("web.v1".to_owned());
        let roles = vec![
            role(ClusterRole, "web.v2-a", version()),
            role(ClusterRoleBinding, "web.v2-a", version()),
            role(ClusterRole, "web-editor-1", MadeFor::Bundle),
            role(ClusterRole, "web.v1-a", earlier()),
            role(ClusterRoleBinding, "web.v1-a", earlier()),
            role(
                ClusterRole,
                "webs.example.com-v1-admin",
                MadeFor::Definition("webs.example.com".to_owned()),
            ),
            role(
                ClusterRole,
                "olm.og.global.admin-x",
                MadeFor::Group("global".to_owned()),
            ),
        ];
        let found = Found {
            cluster_roles: roles,
            dependencies: Vec::new(),
            has_others: false,
            ..found()
        };
        let steps = plan(&found, Wish::default()).expect("a plan");
        let rights = |steps: &[Step]| {
            let mut told = told(steps);
            told.retain(|line| line.contains("ClusterRole"));
            told
        };
        assert_eq!(
            rights(&steps),
            [
                "delete ClusterRoleBinding web.v1-a",
                "delete ClusterRoleBinding web.v2-a",
                "delete ClusterRole web-editor-1",
                "delete ClusterRole web.v1-a",
                "delete ClusterRole web.v2-a",
                "keep ClusterRole webs.example.com-v1-admin",
                "keep ClusterRole olm.og.global.admin-x",
            ]
        );
        let because = |name: &str| {
            let step = steps.iter().find(|step| step.name == name);
            step.map(|step| step.because.as_str())
        };
        assert_eq!(because("web.v1-a"), Some("made for web.v1, which was replaced"));
        let everything = Wish {
            operands: true,
            definitions: true,
            group: true,
        };
        let steps = plan(&found, everything).expect("a plan");
        assert!(rights(&steps).iter().all(|line| line.starts_with("delete")));
    }

    #[test]
    fn definitions_with_resources_go_only_where_that_is_said() {
        let wish = Wish {
            definitions: true,
            ..Wish::default()
        };
        assert_eq!(
            plan(&found(), wish),
            Err("2 resources of CustomResourceDefinition webs.example.com would go with it, such as Web team/one; say so with \
                 --delete-operands, or keep the definition"
                .to_owned())
        );
        let mut without = found();
        without.definitions[0].operands.clear();
        assert!(plan(&without, wish).is_ok());
    }

    #[test]
    fn a_subscription_that_installed_nothing_goes_alone() {
        let found = Found {
            subscription: json!({"metadata": {"name": "web", "namespace": "operators"}}),
            ..Found::default()
        };
        let steps = plan(&found, Wish::default()).expect("a plan");
        assert_eq!(told(&steps), ["delete Subscription operators/web"]);
    }
}
