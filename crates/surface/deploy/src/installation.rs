//! An installation: all objects, in the order in which a cluster can take them.

use api::definitions::{self, Definition};
use apply::object::ObjectId;
use apply::phases;
use serde_json::Value;

use crate::part::Part;
use crate::settings::{ServingCertificates, Settings};
use crate::{admission, certificates, classic, monitoring, network, roles, workloads};

/// Objects that can be written together, once those before them are there.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What they are about.
    pub name: String,
    /// The objects, in a fixed order.
    pub objects: Vec<Value>,
}

/// Whether a cluster may lack the kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing works without it.
    Needed,
    /// It makes something better that works without it.
    Welcome,
}

/// Says whether an installation works on a cluster that doesn't have the kind of an object.
pub fn need(object: &Value) -> Need {
    match object["kind"].as_str() {
        // The controller sets the label by itself.
        Some("MutatingAdmissionPolicy" | "MutatingAdmissionPolicyBinding") => Need::Welcome,
        _ => Need::Needed,
    }
}

/// An object as clusters of several releases know it, the newest first.
pub fn forms(object: &Value) -> Vec<Value> {
    let mut forms = vec![object.clone()];
    // Kubernetes 1.34 and 1.35 have them where somebody turned them on.
    if need(object) == Need::Welcome {
        let mut earlier = object.clone();
        earlier["apiVersion"] = "admissionregistration.k8s.io/v1beta1".into();
        forms.push(earlier);
    }
    forms
}

/// The definitions that an installation brings.
pub fn definitions(settings: &Settings) -> Vec<Definition> {
    let mut wanted = definitions::OLM_V1.to_vec();
    if settings.has(Part::Classic) {
        wanted.extend(definitions::OLM_V0);
    }
    wanted
}

/// All objects of an installation, in no particular order.
fn objects(settings: &Settings) -> Vec<Value> {
    let mut objects = Vec::new();
    if settings.has(Part::Namespaces) {
        objects.extend(workloads::namespaces(settings));
    }
    if settings.has(Part::Definitions) {
        objects.extend(definitions(settings).iter().map(Definition::object));
    }
    for component in settings.components() {
        objects.push(workloads::service_account(settings, component));
        objects.extend(roles::of(settings, component));
        objects.push(workloads::service(settings, component));
        objects.push(workloads::deployment(settings, component));
        if settings.has(Part::DisruptionBudgets) {
            objects.extend(workloads::disruption_budget(settings, component));
        }
        if settings.has(Part::NetworkPolicies) {
            objects.push(network::component_policy(settings, component));
        }
    }
    objects.extend(roles::for_people());
    if settings.has(Part::NetworkPolicies) {
        // Operators are installed beside OLM v0, and what they serve has to be reached.
        objects.push(network::default_deny(&settings.namespace));
    }
    if settings.has(Part::Priority) {
        objects.push(workloads::priority_class());
    }
    if settings.has(Part::Policies) {
        objects.extend(admission::of_upstream());
        objects.extend(admission::catalog_label());
    }
    if settings.has(Part::TenantLimits) {
        objects.extend(admission::tenant_limits(settings));
    }
    if settings.has(Part::Classic) {
        objects.extend(classic::roles());
        objects.push(classic::configuration());
        objects.extend(classic::groups(&settings.classic_namespace));
        if settings.has(Part::Namespaces) {
            objects.push(classic::operators_namespace());
        }
    }
    if settings.certificates == ServingCertificates::CertManager {
        objects.extend(certificates::cert_manager(settings));
    }
    if settings.has(Part::Monitoring) {
        objects.extend(monitoring::of(settings));
    }
    objects
}

/// The steps of an installation: namespaces and definitions before what is made of them, rights before who uses them.
pub fn steps(settings: &Settings) -> Vec<Step> {
    let phases = phases::phases_of(objects(settings));
    let steps = phases.into_iter().map(|phase| Step {
        name: phase.name,
        objects: phase
            .objects
            .into_iter()
            .filter_map(|entry| entry.object)
            .flat_map(phases::objects_of)
            .collect(),
    });
    steps.collect()
}

/// What an object is called among people: its kind, and its name with its namespace.
pub fn called(object: &Value) -> String {
    let id = ObjectId::of(object);
    match id.namespace.as_str() {
        "" => format!("{} {}", id.kind, id.name),
        namespace => format!("{} {namespace}/{}", id.kind, id.name),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn everything() -> Settings {
        Settings {
            parts: Part::ALL.into_iter().collect(),
            certificates: ServingCertificates::CertManager,
            ..Settings::default()
        }
    }

    /// Where an object stands among all of them.
    fn place(steps: &[Step], wanted: impl Fn(&Value) -> bool) -> usize {
        steps
            .iter()
            .flat_map(|step| &step.objects)
            .position(wanted)
            .expect("an object")
    }

    #[test]
    fn what_others_need_comes_before_them() {
        let steps = steps(&everything());
        let last = |kind: &str| {
            let all: Vec<&Value> = steps.iter().flat_map(|step| &step.objects).collect();
            all.iter()
                .rposition(|object| object["kind"] == kind)
                .expect("an object")
        };
        let first = |kind: &str| place(&steps, |object| object["kind"] == kind);
        for (before, after) in [
            ("Namespace", "NetworkPolicy"),
            ("CustomResourceDefinition", "OLMConfig"),
            ("CustomResourceDefinition", "OperatorGroup"),
            ("ServiceAccount", "Deployment"),
            ("ClusterRole", "ClusterRoleBinding"),
            ("ClusterRoleBinding", "Deployment"),
            ("PriorityClass", "Deployment"),
            ("Service", "Deployment"),
        ] {
            assert!(last(before) < first(after), "{before} comes after {after}");
        }
    }

    #[test]
    fn no_two_objects_are_the_same_and_all_are_labelled_or_upstreams() {
        let steps = steps(&everything());
        let mut seen = BTreeSet::new();
        for object in steps.iter().flat_map(|step| &step.objects) {
            let id = ObjectId::of(object);
            assert!(
                seen.insert((id.api_version.clone(), called(object))),
                "{} is there twice",
                called(object)
            );
        }
    }

    #[test]
    fn a_part_that_is_left_out_leaves_nothing() {
        let kinds = |settings: &Settings| -> BTreeSet<String> {
            let steps = steps(settings);
            let objects = steps.iter().flat_map(|step| &step.objects);
            objects
                .filter_map(|object| object["kind"].as_str().map(str::to_owned))
                .collect()
        };
        for (part, kind) in [
            (Part::Namespaces, "Namespace"),
            (Part::Definitions, "CustomResourceDefinition"),
            (Part::Classic, "OLMConfig"),
            (Part::NetworkPolicies, "NetworkPolicy"),
            (Part::DisruptionBudgets, "PodDisruptionBudget"),
            (Part::Priority, "PriorityClass"),
            (Part::Monitoring, "ServiceMonitor"),
            (Part::TenantLimits, "ConfigMap"),
        ] {
            let mut settings = everything();
            assert!(kinds(&settings).contains(kind), "{kind}");
            settings.parts.remove(&part);
            if part == Part::TenantLimits {
                settings.parts.remove(&Part::Monitoring);
            }
            assert!(!kinds(&settings).contains(kind), "{kind} without {part}");
        }
    }

    #[test]
    fn the_usual_installation_is_upstreams_by_name() {
        let steps = steps(&Settings::default());
        let named: Vec<String> = steps.iter().flat_map(|step| &step.objects).map(called).collect();
        insta::assert_snapshot!(named.join("\n"));
    }
}
