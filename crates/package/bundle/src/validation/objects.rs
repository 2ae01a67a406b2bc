//! Rules for further objects in a bundle: disruption budgets, priority classes and roles.

use std::borrow::Cow;
use std::collections::BTreeMap;

use goyaml::go_struct;
use goyaml::typed::{GoType, Reader};
use serde_json::Value;

use super::finding::{Finding, Kind, Level, Outcome};
use super::manifest;
use super::object_metadata::{ObjectMetadata, Time};
use super::printed::{Printed, printed_struct};

/// The security context constraints that `OpenShift` comes with.
const DEFAULT_CONSTRAINTS: [&str; 8] = [
    "privileged",
    "restricted",
    "anyuid",
    "hostaccess",
    "hostmount-anyuid",
    "hostnetwork",
    "node-exporter",
    "nonroot",
];

/// Checks every object that there is a rule for.
pub(super) fn check<'o>(objects: impl IntoIterator<Item = &'o Value>) -> Vec<Outcome> {
    objects
        .into_iter()
        .filter_map(
            |object| match manifest::GroupVersionKind::of(object).kind.as_str() {
                "PodDisruptionBudget" => Some(disruption_budget(object)),
                "PriorityClass" => Some(priority_class(object)),
                "Role" => Some(role::<Role>(object, "role")),
                "ClusterRole" => Some(role::<ClusterRole>(object, "clusterrole")),
                _ => None,
            },
        )
        .collect()
}

fn read<T: GoType>(object: &Value, what: &str) -> Result<T, Outcome> {
    goyaml::typed::decode(object).map_err(|error| {
        let mut outcome = Outcome::default();
        outcome.extend([Finding::about(
            Level::Error,
            Kind::Parse,
            error.to_string(),
            format!("error unmarshaling {what}"),
        )]);
        outcome
    })
}

fn wrong(object: &impl Printed, detail: &str) -> Finding {
    Finding::about(Level::Error, Kind::Object, object.to_plain(), detail)
}

/// Kind and API version, as Go prints them before the rest.
#[derive(Debug, Clone, Default)]
struct TypeMetadata {
    kind: String,
    api_version: String,
}
printed_struct!(TypeMetadata, { "kind" => kind, "apiVersion" => api_version });

/// Says how a struct with kind and metadata at its top is read and printed.
macro_rules! top_level {
    ($type:ident, $go_name:literal, { $($key:literal => $field:ident),* $(,)? }) => {
        impl GoType for $type {
            fn go_name() -> Cow<'static, str> {
                Cow::Borrowed($go_name)
            }

            fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), goyaml::Error> {
                let names = ["kind", "apiVersion", "metadata", $($key),*];
                reader.structure(value, $go_name, &names, |reader, name, value| match name {
                    "kind" => self.types.kind.read(value, reader),
                    "apiVersion" => self.types.api_version.read(value, reader),
                    "metadata" => self.metadata.read(value, reader),
                    $($key => self.$field.read(value, reader),)*
                    _ => Ok(()),
                })
            }
        }
        printed_struct!($type, { "TypeMeta" => types, "metadata" => metadata, $($key => $field),* });
    };
}

/// A number or a percentage, which prints itself.
#[derive(Debug, Clone, PartialEq)]
enum IntOrString {
    Number(i32),
    Text(String),
}

impl Default for IntOrString {
    fn default() -> Self {
        Self::Number(0)
    }
}

impl GoType for IntOrString {
    fn go_name() -> Cow<'static, str> {
        Cow::Borrowed("intstr.IntOrString")
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), goyaml::Error> {
        *self = match value {
            Value::String(text) => Self::Text(text.clone()),
            Value::Number(number) => match number.as_i64().and_then(|number| i32::try_from(number).ok()) {
                Some(number) => Self::Number(number),
                None => return Err(reader.mismatch_of(&format!("number {number}"), "int32")),
            },
            other => return Err(reader.mismatch_of(goyaml::json::kind_word(other), "int32")),
        };
        Ok(())
    }
}

impl Printed for IntOrString {
    fn plain(&self, out: &mut String) {
        match self {
            Self::Number(number) => number.plain(out),
            Self::Text(text) => text.plain(out),
        }
    }

    fn json(&self, out: &mut String) {
        match self {
            Self::Number(number) => number.json(out),
            Self::Text(text) => text.json(out),
        }
    }

    fn pointer(value: Option<&Self>, out: &mut String) {
        match value {
            Some(value) => value.plain(out),
            None => out.push_str("<nil>"),
        }
    }
}

/// Selects objects by their labels, and prints itself.
#[derive(Debug, Clone, Default, PartialEq)]
struct LabelSelector {
    match_labels: BTreeMap<String, String>,
    match_expressions: Vec<LabelRequirement>,
}
go_struct!(LabelSelector, "v1.LabelSelector", {
    "matchLabels" => match_labels, "matchExpressions" => match_expressions,
});

#[derive(Debug, Clone, Default, PartialEq)]
struct LabelRequirement {
    key: String,
    operator: String,
    values: Vec<String>,
}
go_struct!(LabelRequirement, "v1.LabelSelectorRequirement", {
    "key" => key, "operator" => operator as "v1.LabelSelectorOperator", "values" => values,
});

impl Printed for LabelSelector {
    fn plain(&self, out: &mut String) {
        out.push_str("&LabelSelector{MatchLabels:map[string]string{");
        for (key, value) in &self.match_labels {
            for part in [key, ": ", value, ","] {
                out.push_str(part);
            }
        }
        out.push_str("},MatchExpressions:[]LabelSelectorRequirement{");
        for one in &self.match_expressions {
            for part in [
                "LabelSelectorRequirement{Key:",
                &one.key,
                ",Operator:",
                &one.operator,
                ",Values:",
                &one.values.to_plain(),
                ",},",
            ] {
                out.push_str(part);
            }
        }
        out.push_str("},}");
    }

    fn json(&self, out: &mut String) {
        // No message shows one as JSON.
        self.plain(out);
    }

    fn pointer(value: Option<&Self>, out: &mut String) {
        match value {
            Some(value) => value.plain(out),
            None => out.push_str("nil"),
        }
    }
}

#[derive(Debug, Clone, Default)]
struct DisruptionBudget {
    types: TypeMetadata,
    metadata: ObjectMetadata,
    spec: DisruptionBudgetSpec,
    status: DisruptionBudgetStatus,
}
top_level!(DisruptionBudget, "v1beta1.PodDisruptionBudget", { "spec" => spec, "status" => status });

#[derive(Debug, Clone, Default)]
struct DisruptionBudgetSpec {
    min_available: Option<IntOrString>,
    selector: Option<LabelSelector>,
    max_unavailable: Option<IntOrString>,
    unhealthy_pod_eviction_policy: Option<String>,
}
go_struct!(DisruptionBudgetSpec, "v1beta1.PodDisruptionBudgetSpec", {
    "minAvailable" => min_available, "selector" => selector, "maxUnavailable" => max_unavailable,
    "unhealthyPodEvictionPolicy" => unhealthy_pod_eviction_policy as "v1beta1.UnhealthyPodEvictionPolicyType",
});
printed_struct!(DisruptionBudgetSpec, {
    "minAvailable" => min_available, "selector" => selector, "maxUnavailable" => max_unavailable,
    "unhealthyPodEvictionPolicy" => unhealthy_pod_eviction_policy,
});

#[derive(Debug, Clone, Default)]
struct DisruptionBudgetStatus {
    observed_generation: i64,
    disrupted_pods: BTreeMap<String, Time>,
    disruptions_allowed: i32,
    current_healthy: i32,
    desired_healthy: i32,
    expected_pods: i32,
    conditions: Vec<Value>,
}
go_struct!(DisruptionBudgetStatus, "v1beta1.PodDisruptionBudgetStatus", {
    "observedGeneration" => observed_generation, "disruptedPods" => disrupted_pods,
    "disruptionsAllowed" => disruptions_allowed, "currentHealthy" => current_healthy,
    "desiredHealthy" => desired_healthy, "expectedPods" => expected_pods, "conditions" => conditions,
});
printed_struct!(DisruptionBudgetStatus, {
    "observedGeneration" => observed_generation, "disruptedPods" => disrupted_pods,
    "disruptionsAllowed" => disruptions_allowed, "currentHealthy" => current_healthy,
    "desiredHealthy" => desired_healthy, "expectedPods" => expected_pods, "conditions" => conditions,
});

fn disruption_budget(object: &Value) -> Outcome {
    let budget: DisruptionBudget = match read(object, "poddisruptionbudget") {
        Ok(budget) => budget,
        Err(outcome) => return outcome,
    };
    let mut outcome = Outcome::default();
    // Upstream looks at the number of a value even when it is text, and text has the number 0.
    if budget
        .spec
        .max_unavailable
        .as_ref()
        .is_some_and(|given| matches!(given, IntOrString::Number(0) | IntOrString::Text(_)))
    {
        outcome.extend([wrong(&budget, "maxUnavailable field cannot be set to 0 or 0%")]);
    }
    if budget.spec.min_available == Some(IntOrString::Text("100%".to_owned())) {
        outcome.extend([wrong(&budget, "minAvailable field cannot be set to 100%")]);
    }
    outcome
}

#[derive(Debug, Clone, Default)]
struct PriorityClass {
    types: TypeMetadata,
    metadata: ObjectMetadata,
    value: i32,
    global_default: bool,
    description: String,
    preemption_policy: Option<String>,
}
top_level!(PriorityClass, "v1.PriorityClass", {
    "value" => value, "globalDefault" => global_default, "description" => description,
    "preemptionPolicy" => preemption_policy,
});

fn priority_class(object: &Value) -> Outcome {
    let class: PriorityClass = match read(object, "priorityclass") {
        Ok(class) => class,
        Err(outcome) => return outcome,
    };
    let mut outcome = Outcome::default();
    if class.global_default {
        outcome.extend([wrong(&class, "globalDefault field cannot be set to true")]);
    }
    outcome
}

/// What may be done with what.
#[derive(Debug, Clone, Default)]
struct PolicyRule {
    verbs: Vec<String>,
    api_groups: Vec<String>,
    resources: Vec<String>,
    resource_names: Vec<String>,
    non_resource_urls: Vec<String>,
}
go_struct!(PolicyRule, "v1.PolicyRule", {
    "verbs" => verbs, "apiGroups" => api_groups, "resources" => resources, "resourceNames" => resource_names,
    "nonResourceURLs" => non_resource_urls,
});
printed_struct!(PolicyRule, {
    "verbs" => verbs, "apiGroups" => api_groups, "resources" => resources, "resourceNames" => resource_names,
    "nonResourceURLs" => non_resource_urls,
});

#[derive(Debug, Clone, Default)]
struct Role {
    metadata: ObjectMetadata,
    rules: Vec<PolicyRule>,
}
go_struct!(Role, "v1.Role", { "metadata" => metadata, "rules" => rules });

#[derive(Debug, Clone, Default)]
struct ClusterRole {
    metadata: ObjectMetadata,
    rules: Vec<PolicyRule>,
    aggregation: Value,
}
go_struct!(ClusterRole, "v1.ClusterRole", {
    "metadata" => metadata, "rules" => rules, "aggregationRule" => aggregation,
});

trait HasRules: GoType {
    fn rules(self) -> Vec<PolicyRule>;
}

impl HasRules for Role {
    fn rules(self) -> Vec<PolicyRule> {
        self.rules
    }
}

impl HasRules for ClusterRole {
    fn rules(self) -> Vec<PolicyRule> {
        self.rules
    }
}

fn role<T: HasRules>(object: &Value, what: &str) -> Outcome {
    let rules = match read::<T>(object, what) {
        Ok(role) => role.rules(),
        Err(outcome) => return outcome,
    };
    let has = |given: &[String], wanted: &[&str]| given.iter().any(|one| wanted.contains(&one.as_str()));
    let mut outcome = Outcome::default();
    for rule in &rules {
        if has(&rule.api_groups, &["policy"])
            && has(&rule.resources, &["poddisruptionbudgets"])
            && has(&rule.verbs, &["*", "create", "update", "patch"])
        {
            outcome.extend([Finding::about(
                Level::Warning,
                Kind::Validation,
                rule.to_plain(),
                "RBAC includes permission to create/update poddisruptionbudgets, which could impact cluster stability",
            )]);
        }
    }
    for rule in &rules {
        if has(&rule.api_groups, &["security.openshift.io"])
            && has(&rule.resources, &["securitycontextconstraints"])
            && has(&rule.verbs, &["*", "delete", "update", "patch"])
            && has(&rule.resource_names, &DEFAULT_CONSTRAINTS)
        {
            outcome.extend([wrong(
                rule,
                "RBAC includes permission to modify default securitycontextconstraints, which could impact cluster \
                 stability",
            )]);
        }
    }
    outcome
}
