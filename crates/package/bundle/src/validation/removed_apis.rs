//! APIs that Kubernetes no longer has, found in a bundle's objects and in what its operator asks for.

use std::collections::{BTreeMap, BTreeSet};

use gotemplate::format::quote_ascii;
use serde_json::Value;

use super::context::{Context, KUBERNETES_VERSION};
use super::finding::{Finding, Kind, Level, Outcome};
use super::loaded::Loaded;
use super::manifest::{self, GroupVersionKind};
use super::unstructured;
use crate::cluster_service_version::{self, ClusterServiceVersion, CustomResourceDescription, Permissions};
use version::Version;

/// The kinds that 1.22 removed, by the API version they were in.
const REMOVED_IN_22: &[(&str, &[&str])] = &[
    ("scheduling.k8s.io/v1beta1", &["PriorityClass"]),
    (
        "rbac.authorization.k8s.io/v1beta1",
        &["Role", "ClusterRoleBinding", "RoleBinding", "ClusterRole"],
    ),
    ("apiregistration.k8s.io/v1beta1", &["APIService"]),
    ("authentication.k8s.io/v1beta1", &["TokenReview"]),
    (
        "authorization.k8s.io/v1beta1",
        &[
            "LocalSubjectAccessReview",
            "SelfSubjectAccessReview",
            "SubjectAccessReview",
        ],
    ),
    (
        "admissionregistration.k8s.io/v1beta1",
        &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
    ),
    ("coordination.k8s.io/v1beta1", &["Lease"]),
    ("extensions/v1beta1", &["Ingress"]),
    ("networking.k8s.io/v1beta1", &["Ingress", "IngressClass"]),
    (
        "storage.k8s.io/v1beta1",
        &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"],
    ),
    ("certificates.k8s.io/v1beta1", &["CertificateSigningRequest"]),
];

/// The kinds that 1.25 removed.
const REMOVED_IN_25: &[(&str, &[&str])] = &[
    ("batch/v1beta1", &["CronJob"]),
    ("discovery.k8s.io/v1beta1", &["EndpointSlice"]),
    ("events.k8s.io/v1beta1", &["Event"]),
    ("autoscaling/v2beta1", &["HorizontalPodAutoscaler"]),
    ("policy/v1beta1", &["PodDisruptionBudget", "PodSecurityPolicy"]),
    ("node.k8s.io/v1beta1", &["RuntimeClass"]),
];

/// The kinds that 1.26 removed.
const REMOVED_IN_26: &[(&str, &[&str])] = &[("autoscaling/v2beta2", &["HorizontalPodAutoscaler"])];

/// The resource that 1.25 removed in all its versions, so that a role that names it can't mean another.
const GONE: (&str, &str) = ("policy", "podsecuritypolicies");

/// Names of objects by their kind.
type ByKind = BTreeMap<String, Vec<String>>;

/// Checks a bundle for removed APIs.
pub(super) fn check(bundle: &Loaded, context: &Context<'_>) -> Vec<Outcome> {
    let mut outcome = Outcome::about(&bundle.name);
    outcome.extend(findings(bundle, context));
    vec![outcome]
}

/// What is found about removed APIs: an error where the operator is to run on a Kubernetes that lacks them.
pub(super) fn findings(bundle: &Loaded, context: &Context<'_>) -> Vec<Finding> {
    let mut errors = Vec::new();
    let mut warnings = Vec::new();
    let asked = context.values.get(KUBERNETES_VERSION);
    let asked_version = Version::parse_tolerant(asked).ok();
    if !asked.is_empty() && asked_version.is_none() {
        errors.push(format!("invalid value informed via the k8s key option : {asked}"));
    }
    let minimum = bundle.csv.spec.minimum_kubernetes_version.as_str();
    let minimum_version = Version::parse_tolerant(minimum).ok();
    if !minimum.is_empty() && minimum_version.is_none() {
        errors.push(format!(
            "unable to use csv.Spec.MinKubeVersion to verify the CRD/Webhook apis because it has an invalid value: \
             {minimum}"
        ));
    }
    let (removed_in_25, gone_in_25) = removed_in_25(bundle);
    for (minor, removed, gone) in [
        (22, removed_in_22(bundle), ByKind::new()),
        (25, removed_in_25, gone_in_25),
        (26, objects_of(bundle, REMOVED_IN_26), ByKind::new()),
    ] {
        let removal = Version::new(1, minor, 0);
        let is_meant_for_it = [&asked_version, &minimum_version]
            .into_iter()
            .flatten()
            .any(|version| version.precedence(&removal).is_ge());
        if !removed.is_empty() {
            let text = message(minor, &removed);
            if is_meant_for_it {
                errors.push(text);
            } else {
                warnings.push(text);
            }
        }
        if !gone.is_empty() {
            warnings.push(message(minor, &gone));
        }
    }
    let finding = |level| {
        let name = bundle.csv.metadata.name.clone();
        move |detail: String| Finding::about(level, Kind::Validation, name.clone(), detail)
    };
    errors
        .into_iter()
        .map(finding(Level::Error))
        .chain(warnings.into_iter().map(finding(Level::Warning)))
        .collect()
}

fn message(minor: u64, found: &ByKind) -> String {
    format!(
        "this bundle is using APIs which were deprecated and removed in v1.{minor}. More info: \
         https://kubernetes.io/docs/reference/using-api/deprecation-guide/#v1-{minor}. Migrate the API(s) for {}",
        listed(found)
    )
}

/// The names by kind. Upstream walks them in random order, and puts a comma after each but where it forgets to count,
/// which is after each once there are several.
pub(super) fn listed(found: &ByKind) -> String {
    let comma = if found.len() > 1 { "," } else { "" };
    let kinds: Vec<String> = found
        .iter()
        .map(|(kind, names)| {
            let names: Vec<String> = names
                .iter()
                .map(|name| String::from_utf8_lossy(&quote_ascii(name.as_bytes())).into_owned())
                .collect();
            format!("{kind}: ([{}]){comma}", names.join(" "))
        })
        .collect();
    kinds.concat()
}

/// What 1.22 removed, definitions of custom resources among them.
pub(super) fn removed_in_22(bundle: &Loaded) -> ByKind {
    let mut found = objects_of(bundle, REMOVED_IN_22);
    if !bundle.old_definitions.is_empty() {
        let names = bundle.old_definitions.iter();
        found.insert(
            "CRD".to_owned(),
            names.map(|definition| definition.metadata.name.clone()).collect(),
        );
    }
    found
}

fn is_removed(table: &[(&str, &[&str])], api_version: &str, kind: &str) -> bool {
    table
        .iter()
        .any(|(version, kinds)| *version == api_version && kinds.contains(&kind))
}

fn objects_of(bundle: &Loaded, table: &[(&str, &[&str])]) -> ByKind {
    let mut found = ByKind::new();
    for object in &bundle.objects {
        let kind = manifest::kind(object);
        if is_removed(table, manifest::api_version(object), kind) {
            found
                .entry(kind.to_owned())
                .or_default()
                .push(manifest::name(object).to_owned());
        }
    }
    found
}

/// What 1.25 removed: in objects and in what the operator says its custom resources consist of; and beside it what its
/// roles name.
fn removed_in_25(bundle: &Loaded) -> (ByKind, ByKind) {
    let mut found = ByKind::new();
    let mut gone = ByKind::new();
    for object in &bundle.objects {
        if manifest::api_version(object) != "operators.coreos.com/v1alpha1" {
            note(&mut found, &GroupVersionKind::of(object), manifest::name(object));
        } else if manifest::kind(object) == cluster_service_version::KIND {
            let csv = converted(object);
            let mut described = BTreeSet::new();
            let definitions = &csv.spec.custom_resource_definitions;
            described_in("Owned", &definitions.owned, &mut described, &mut found);
            described_in("Required", &definitions.required, &mut described, &mut found);
            let install = &csv.spec.install.spec;
            for (field, permissions) in [
                ("ClusterPermissions", &install.cluster_permissions),
                ("Permissions", &install.permissions),
            ] {
                named_in_roles(field, permissions, &described, &mut gone);
            }
        }
    }
    (found, gone)
}

/// What Kubernetes' converter makes of a `ClusterServiceVersion`, as far as it gets.
fn converted(object: &Value) -> ClusterServiceVersion {
    manifest::typed(&unstructured::convert(object).object).unwrap_or_default()
}

fn note(found: &mut ByKind, gvk: &GroupVersionKind, name: &str) {
    let api_version = if gvk.group.is_empty() {
        gvk.version.clone()
    } else {
        format!("{}/{}", gvk.group, gvk.version)
    };
    if is_removed(REMOVED_IN_25, &api_version, &gvk.kind) {
        found.entry(gvk.kind.clone()).or_default().push(name.to_owned());
    }
}

fn described_in(
    field: &str,
    descriptions: &[CustomResourceDescription],
    described: &mut BTreeSet<String>,
    found: &mut ByKind,
) {
    for (index, description) in descriptions.iter().enumerate() {
        for (place, resource) in description.resources.iter().enumerate() {
            described.insert(format!("{}s", resource.kind.to_lowercase()));
            note(
                found,
                &GroupVersionKind::new(&resource.version, &resource.kind),
                &format!(
                    "ClusterServiceVersion.Spec.CustomResourceDefinitions.{field}[{index}].Resource[{place}]"
                ),
            );
        }
    }
}

fn named_in_roles(field: &str, permissions: &[Permissions], described: &BTreeSet<String>, gone: &mut ByKind) {
    for (index, permission) in permissions.iter().enumerate() {
        for (place, rule) in permission.rules.iter().enumerate() {
            for group in &rule.api_groups {
                for resource in &rule.resources {
                    if !described.contains(resource) && (group.as_str(), resource.as_str()) == GONE {
                        gone.entry(resource.clone()).or_default().push(format!(
                            "ClusterServiceVersion.Spec.InstallStrategy.StrategySpec.{field}[{index}].Rules[{place}]"
                        ));
                    }
                }
            }
        }
    }
}
