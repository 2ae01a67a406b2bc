//! What an operator must be allowed to do for its chart, and why: every rule names what asked for it.
//!
//! ```text
//! chart ─┬─ variants ─ render ─► objects ──┐
//!        ├─ scan ─► kinds in the text ─────┼─► Derivation ─► rules of the ClusterServiceVersion
//!        └─ crds/, hooks, lookups ─────────┘        └─► the pinned file, the printed explanation
//! ```

mod exploration;
mod pinned;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use chart::Chart;
use chart::values::Table;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use exploration::{DEFAULT_RENDERS, FailedRender};
pub use pinned::{PERMISSIONS_FILE, PinError, compare, grants_wishes, pinned_text};

use super::kinds::{Kinds, Origin, Resource, group_of};
use super::scan::{Place, Undecided, scan};

/// What an operator does with the objects that it keeps.
pub const KEEPING: [&str; 7] = ["create", "delete", "get", "list", "patch", "update", "watch"];

/// How many reasons of one permission are printed.
const PRINTED_REASONS: usize = 4;

/// A rule of a Role, as Kubernetes writes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyRule {
    /// The API groups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// The resources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// The names that it is limited to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// Paths outside of the resources.
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub non_resource_urls: Vec<String>,
    /// What may be done.
    pub verbs: Vec<String>,
}

/// The smallest thing that a permission can be about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// The API group; `*` for all.
    pub group: String,
    /// The resource; empty for a path.
    pub resource: String,
    /// The object that it is limited to.
    pub name: Option<String>,
    /// The path outside of the resources.
    pub url: Option<String>,
}

impl Subject {
    fn resource(group: &str, resource: &str) -> Self {
        Self {
            group: group.to_owned(),
            resource: resource.to_owned(),
            name: None,
            url: None,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(url) = &self.url {
            return formatter.write_str(url);
        }
        formatter.write_str(&self.resource)?;
        if !self.group.is_empty() {
            write!(formatter, ".{}", self.group)?;
        }
        match &self.name {
            Some(name) => write!(formatter, " named {name}"),
            None => Ok(()),
        }
    }
}

/// Why a permission is there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Every operator of this kind needs it.
    Operator(&'static str),
    /// A template rendered such an object.
    Rendered {
        /// The template.
        template: String,
        /// The values that made it do so.
        setting: String,
    },
    /// The chart has it in `crds/`.
    Definition(String),
    /// The text of a template names the kind.
    Mentioned(Place),
    /// A template reads such objects with `lookup`.
    LookedUp(Place),
    /// The chart gives it to others, and only who has a permission may give it.
    Granted {
        /// The template of the Role or binding.
        template: String,
        /// The values that made it appear.
        setting: String,
    },
    /// The author's own file asks for it.
    Author(String),
}

impl Reason {
    /// Whether this already says what another would add: the first values that lead to a template are enough.
    fn says(&self, other: &Reason) -> bool {
        match (self, other) {
            (Reason::Rendered { template, .. }, Reason::Rendered { template: other, .. })
            | (Reason::Granted { template, .. }, Reason::Granted { template: other, .. }) => {
                template == other
            }
            _ => self == other,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Operator(purpose) => write!(formatter, "the operator itself: {purpose}"),
            Reason::Rendered { template, setting } => {
                write!(formatter, "created by {template} with {setting}")
            }
            Reason::Definition(file) => write!(formatter, "created from {file}"),
            Reason::Mentioned(place) => write!(formatter, "named in {place}"),
            Reason::LookedUp(place) => write!(formatter, "looked up in {place}"),
            Reason::Granted { template, setting } => {
                write!(formatter, "granted to others by {template} with {setting}")
            }
            Reason::Author(file) => write!(formatter, "asked for in {file}"),
        }
    }
}

/// What is allowed about one subject, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permission {
    /// What may be done.
    pub verbs: BTreeSet<String>,
    /// What asked for it.
    pub reasons: BTreeSet<Reason>,
    /// Whether the objects live outside of namespaces.
    pub cluster_scoped: bool,
}

/// All permissions of an operator, with what could not be decided.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Derivation {
    /// The permissions by what they are about.
    pub permissions: BTreeMap<Subject, Permission>,
    /// What only a person can decide.
    pub undecided: BTreeSet<Undecided>,
    /// Resources whose name was guessed from a kind, with the kind.
    pub guessed: BTreeMap<String, String>,
    /// The objects that were seen, by API version and kind.
    pub objects: BTreeSet<(String, String)>,
    /// Values with which the chart could not be rendered.
    pub failed: Vec<FailedRender>,
    /// How many sets of values the chart was rendered with.
    pub renders: usize,
}

impl Derivation {
    fn allow(&mut self, subject: Subject, verbs: &[&str], cluster_scoped: bool, reason: Reason) {
        let permission = self.permissions.entry(subject).or_default();
        permission
            .verbs
            .extend(verbs.iter().map(|verb| (*verb).to_owned()));
        if !permission.reasons.iter().any(|known| known.says(&reason)) {
            permission.reasons.insert(reason);
        }
        permission.cluster_scoped |= cluster_scoped;
    }

    fn keep(&mut self, resource: &Resource, kind: &str, reason: Reason) {
        if resource.origin == Origin::Guessed {
            let subject = Subject::resource(&resource.group, &resource.plural);
            self.guessed.insert(subject.to_string(), kind.to_owned());
        }
        self.allow(
            Subject::resource(&resource.group, &resource.plural),
            &KEEPING,
            !resource.namespaced,
            reason,
        );
    }

    /// Adds everything that another derivation found.
    pub fn merge(&mut self, other: &Derivation) {
        for (subject, permission) in &other.permissions {
            let own = self.permissions.entry(subject.clone()).or_default();
            own.verbs.extend(permission.verbs.iter().cloned());
            own.reasons.extend(permission.reasons.iter().cloned());
            own.cluster_scoped |= permission.cluster_scoped;
        }
        self.undecided.extend(other.undecided.iter().cloned());
        self.guessed.extend(other.guessed.clone());
        self.objects.extend(other.objects.iter().cloned());
        self.failed.extend(other.failed.iter().cloned());
        self.renders += other.renders;
    }

    /// Adds what every operator needs that keeps releases for custom resources.
    pub fn add_operator(&mut self, group: &str, plural: &str) {
        let operator = Reason::Operator;
        self.allow(
            Subject::resource("", "namespaces"),
            &["get"],
            true,
            operator("to see that a release's namespace exists"),
        );
        self.allow(
            Subject::resource("", "secrets"),
            &KEEPING,
            false,
            operator("releases are recorded in Secrets"),
        );
        self.allow(
            Subject::resource("", "events"),
            &["create", "patch"],
            false,
            operator("to tell what happens to a custom resource"),
        );
        for part in ["", "/finalizers", "/status"] {
            self.allow(
                Subject::resource(group, &format!("{plural}{part}")),
                &KEEPING,
                false,
                operator("its own custom resource"),
            );
        }
        for (group, resource) in [
            ("authentication.k8s.io", "tokenreviews"),
            ("authorization.k8s.io", "subjectaccessreviews"),
        ] {
            self.allow(
                Subject::resource(group, resource),
                &["create"],
                true,
                operator("to know who asks for metrics"),
            );
        }
    }

    /// Adds what operators make use of, but can do without.
    pub fn add_wishes(&mut self) {
        self.allow(
            Subject::resource("", "pods"),
            &["get", "list"],
            false,
            Reason::Operator("to say why workloads aren't ready"),
        );
    }

    /// Adds rules that the author has written.
    pub fn add_rules(&mut self, rules: &[PolicyRule], reason: &Reason) {
        for rule in rules {
            let verbs: Vec<&str> = rule.verbs.iter().map(String::as_str).collect();
            for url in &rule.non_resource_urls {
                let subject = Subject {
                    url: Some(url.clone()),
                    ..Subject::resource("", "")
                };
                self.allow(subject, &verbs, true, reason.clone());
            }
            for group in &rule.api_groups {
                for resource in &rule.resources {
                    let names: Vec<Option<String>> = if rule.resource_names.is_empty() {
                        vec![None]
                    } else {
                        rule.resource_names.iter().cloned().map(Some).collect()
                    };
                    for name in names {
                        let subject = Subject {
                            name,
                            ..Subject::resource(group, resource)
                        };
                        self.allow(subject, &verbs, true, reason.clone());
                    }
                }
            }
        }
    }

    /// Derives what a chart can create, by rendering it in up to `renders` ways and by reading its templates.
    pub fn add_chart(
        &mut self,
        chart: &std::sync::Arc<Chart>,
        samples: &[(String, Table)],
        kinds: &Kinds,
        renders: usize,
    ) {
        let mut kinds = kinds.clone();
        exploration::learn_definitions(chart, &mut kinds);
        exploration::explore(self, chart, samples, &kinds, renders);
        let found = scan(chart, &kinds);
        for mention in found.mentions {
            let resource = kinds.resource(&mention.group, &mention.kind);
            let subject = Subject::resource(&resource.group, &resource.plural);
            // A render says more than the text: which values lead there.
            let rendered = self.permissions.get(&subject).is_some_and(|permission| {
                permission.reasons.iter().any(
                    |reason| matches!(reason, Reason::Rendered { template, .. } if *template == mention.place.template),
                )
            });
            if !rendered {
                self.keep(&resource, &mention.kind, Reason::Mentioned(mention.place));
            }
        }
        for lookup in found.lookups {
            let resource = kinds.resource(&lookup.group, &lookup.kind);
            self.allow(
                Subject::resource(&resource.group, &resource.plural),
                &["get", "list"],
                !resource.namespaced,
                Reason::LookedUp(lookup.place),
            );
        }
        self.undecided.extend(found.undecided);
    }

    /// Adds what one object asks for: to be kept, and what a Role in it gives to others.
    fn add_object(&mut self, object: &Value, kinds: &Kinds, template: &str, setting: &str, reason: Reason) {
        let text = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        if kind.is_empty() {
            return;
        }
        if kind.ends_with("List")
            && let Some(items) = object.get("items").and_then(Value::as_array)
        {
            for item in items {
                self.add_object(item, kinds, template, setting, reason.clone());
            }
            return;
        }
        self.objects.insert((api_version.to_owned(), kind.to_owned()));
        let resource = kinds.resource(group_of(api_version), kind);
        self.keep(&resource, kind, reason);
        if group_of(api_version) != "rbac.authorization.k8s.io" {
            return;
        }
        let granted = Reason::Granted {
            template: template.to_owned(),
            setting: setting.to_owned(),
        };
        match kind {
            "Role" | "ClusterRole" => {
                let rules = object.get("rules").cloned().unwrap_or_default();
                let rules: Vec<PolicyRule> = serde_json::from_value(rules).unwrap_or_default();
                self.add_rules(&rules, &granted);
                if object.get("aggregationRule").is_some_and(|rule| !rule.is_null()) {
                    let subject = Subject::resource("rbac.authorization.k8s.io", "clusterroles");
                    self.allow(subject, &["escalate"], true, granted);
                }
            }
            "RoleBinding" | "ClusterRoleBinding" => {
                let resource = match text("/roleRef/kind") {
                    "ClusterRole" => "clusterroles",
                    "Role" => "roles",
                    _ => return,
                };
                let name = text("/roleRef/name");
                // A role of the chart's own holds nothing that the operator hasn't got by then; a stranger's may.
                if !name.is_empty() && !name.contains(exploration::RELEASE_NAME) {
                    let subject = Subject {
                        name: Some(name.to_owned()),
                        ..Subject::resource("rbac.authorization.k8s.io", resource)
                    };
                    self.allow(subject, &["bind"], resource == "clusterroles", granted);
                }
            }
            _ => {}
        }
    }

    /// The rules for a `ClusterRole`: what belongs together in one rule, in a fixed order.
    pub fn rules(&self) -> Vec<PolicyRule> {
        combined(self.permissions.iter())
    }

    /// The rules for objects outside of namespaces, and those for the rest.
    pub fn rules_by_scope(&self) -> (Vec<PolicyRule>, Vec<PolicyRule>) {
        let scoped = |cluster: bool| {
            combined(
                self.permissions
                    .iter()
                    .filter(move |(_, permission)| permission.cluster_scoped == cluster),
            )
        };
        (scoped(true), scoped(false))
    }
}

fn combined<'a>(permissions: impl Iterator<Item = (&'a Subject, &'a Permission)>) -> Vec<PolicyRule> {
    /// What subjects must have in common to be in one rule: group, name, being a path, and verbs.
    type Common<'a> = (&'a str, Option<&'a str>, bool, &'a BTreeSet<String>);
    let mut rules: BTreeMap<Common<'_>, PolicyRule> = BTreeMap::new();
    for (subject, permission) in permissions {
        let key = (
            subject.group.as_str(),
            subject.name.as_deref(),
            subject.url.is_some(),
            &permission.verbs,
        );
        let rule = rules.entry(key).or_insert_with(|| PolicyRule {
            api_groups: if subject.url.is_some() {
                Vec::new()
            } else {
                vec![subject.group.clone()]
            },
            resource_names: subject.name.iter().cloned().collect(),
            verbs: permission.verbs.iter().cloned().collect(),
            ..PolicyRule::default()
        });
        match &subject.url {
            Some(url) => rule.non_resource_urls.push(url.clone()),
            None => rule.resources.push(subject.resource.clone()),
        }
    }
    rules.into_values().collect()
}

impl fmt::Display for Derivation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "permissions of the operator, from {} renders:",
            self.renders
        )?;
        for (subject, permission) in &self.permissions {
            let verbs: Vec<&str> = permission.verbs.iter().map(String::as_str).collect();
            writeln!(formatter, "  {subject}: {}", verbs.join(" "))?;
            for reason in permission.reasons.iter().take(PRINTED_REASONS) {
                writeln!(formatter, "    {reason}")?;
            }
            if permission.reasons.len() > PRINTED_REASONS {
                writeln!(
                    formatter,
                    "    and {} more reasons",
                    permission.reasons.len() - PRINTED_REASONS
                )?;
            }
        }
        if !self.guessed.is_empty() {
            writeln!(
                formatter,
                "guessed by Kubernetes' rule for plurals; if one is wrong, add the kind's definition to config/crd/bases:"
            )?;
            for (subject, kind) in &self.guessed {
                writeln!(formatter, "  {subject} for kind {kind}")?;
            }
        }
        if !self.undecided.is_empty() {
            writeln!(
                formatter,
                "undecided; if one needs more, add a rule to config/rbac/role.yaml:"
            )?;
            for undecided in &self.undecided {
                writeln!(formatter, "  {} {}", undecided.place, undecided.what)?;
            }
        }
        if !self.failed.is_empty() {
            writeln!(formatter, "not rendered, so known only from the templates' text:")?;
            for failed in &self.failed {
                writeln!(formatter, "  with {}: {}", failed.setting, failed.cause)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
