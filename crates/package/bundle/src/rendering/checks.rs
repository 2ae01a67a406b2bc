//! The rules that a bundle must keep to be installed by OLM v1, with upstream's texts.

use std::collections::{BTreeMap, BTreeSet};

use gotemplate::format::quoted;
use serde_json::Value;

use super::names::subdomain_errors;
use super::targets::InstallModes;
use super::webhooks::CONVERSION;
use super::{list, text};
use crate::registry::RegistryBundle;
use crate::supported_kinds::scope;

/// One rule: says every way in which a bundle breaks it.
pub type Check = fn(&RegistryBundle) -> Vec<String>;

/// The rules in their order, each with its name.
pub const CHECKS: [(&str, Check); 13] = [
    ("deployment-spec-uniqueness", deployments_are_unique),
    ("deployment-name-dns1123", deployment_names_are_valid),
    ("crd-uniqueness", definitions_are_unique),
    ("owned-crd-existence", owned_definitions_exist),
    ("package-name-not-empty", package_has_a_name),
    ("conversion-webhook-support", conversions_need_all_namespaces),
    ("webhook-deployment-reference", webhooks_have_deployments),
    ("webhook-name-uniqueness", webhook_names_are_unique),
    ("webhook-name-dns1123", webhook_names_are_valid),
    ("conversion-webhook-crd-uniqueness", conversions_are_unique),
    (
        "conversion-webhook-owned-crds",
        conversions_are_of_owned_definitions,
    ),
    ("webhook-rules", webhook_rules_are_harmless),
    ("object-support", kinds_are_supported),
];

/// Every rule that the bundle breaks, in the rules' order.
#[must_use]
pub fn check(bundle: &RegistryBundle) -> Vec<String> {
    CHECKS.iter().flat_map(|(_, check)| check(bundle)).collect()
}

fn deployment_names(bundle: &RegistryBundle) -> impl Iterator<Item = &str> {
    list(bundle, "/spec/install/spec/deployments")
        .iter()
        .map(|deployment| text(deployment, "name"))
}

fn webhooks(bundle: &RegistryBundle) -> &[Value] {
    list(bundle, "/spec/webhookdefinitions")
}

fn conversions(bundle: &RegistryBundle) -> impl Iterator<Item = &Value> {
    webhooks(bundle)
        .iter()
        .filter(|webhook| text(webhook, "type") == CONVERSION)
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn definition_names(bundle: &RegistryBundle) -> impl Iterator<Item = &str> {
    bundle
        .custom_resource_definitions
        .iter()
        .map(|definition| text(&definition["metadata"], "name"))
}

fn owned_names(bundle: &RegistryBundle) -> BTreeSet<&str> {
    list(bundle, "/spec/customresourcedefinitions/owned")
        .iter()
        .map(|owned| text(owned, "name"))
        .collect()
}

/// What comes more than once, in order.
fn repeated<T: Ord + Copy>(items: impl Iterator<Item = T>) -> BTreeSet<T> {
    let mut seen = BTreeSet::new();
    items.filter(|item| !seen.insert(*item)).collect()
}

/// What is wrong with a name, sorted and joined as upstream does.
fn name_errors(name: &str, separator: &str) -> Option<String> {
    let mut errors = subdomain_errors(name);
    errors.sort_unstable();
    (!errors.is_empty()).then(|| errors.join(separator))
}

fn deployments_are_unique(bundle: &RegistryBundle) -> Vec<String> {
    let names = repeated(deployment_names(bundle));
    names
        .iter()
        .map(|name| format!("cluster service version contains duplicate strategy deployment spec '{name}'"))
        .collect()
}

fn deployment_names_are_valid(bundle: &RegistryBundle) -> Vec<String> {
    let names: BTreeSet<&str> = deployment_names(bundle).collect();
    let told = |name: &str| {
        let errors = name_errors(name, ", ")?;
        Some(format!(
            "invalid cluster service version strategy deployment name '{name}': {errors}"
        ))
    };
    names.into_iter().filter_map(told).collect()
}

fn definitions_are_unique(bundle: &RegistryBundle) -> Vec<String> {
    let names = repeated(definition_names(bundle));
    names
        .iter()
        .map(|name| format!("bundle contains duplicate custom resource definition '{name}'"))
        .collect()
}

fn owned_definitions_exist(bundle: &RegistryBundle) -> Vec<String> {
    let existing: BTreeSet<&str> = definition_names(bundle).collect();
    owned_names(bundle)
        .difference(&existing)
        .map(|name| format!("cluster service definition references owned custom resource definition '{name}' not found in bundle"))
        .collect()
}

fn package_has_a_name(bundle: &RegistryBundle) -> Vec<String> {
    if bundle.package_name.is_empty() {
        vec!["package name is empty".to_owned()]
    } else {
        Vec::new()
    }
}

fn conversions_need_all_namespaces(bundle: &RegistryBundle) -> Vec<String> {
    let modes = InstallModes::of(bundle);
    if modes.count() == 1 && modes.has("AllNamespaces") {
        return Vec::new();
    }
    conversions(bundle)
        .map(|webhook| {
            format!(
                "bundle contains conversion webhook {} and supports install modes {modes} - conversion webhooks are only supported for bundles that only support AllNamespaces install mode",
                quoted(text(webhook, "generateName"))
            )
        })
        .collect()
}

fn webhooks_have_deployments(bundle: &RegistryBundle) -> Vec<String> {
    let existing: BTreeSet<&str> = deployment_names(bundle).collect();
    let mut orphans: Vec<_> = webhooks(bundle)
        .iter()
        .map(|webhook| {
            (
                text(webhook, "deploymentName"),
                text(webhook, "type"),
                text(webhook, "generateName"),
            )
        })
        .filter(|(deployment, _, _)| !existing.contains(deployment))
        .collect();
    orphans.sort_unstable();
    orphans
        .into_iter()
        .map(|(deployment, kind, name)| {
            format!("webhook of type '{kind}' with name '{name}' references non-existent deployment '{deployment}'")
        })
        .collect()
}

fn webhook_names(bundle: &RegistryBundle) -> impl Iterator<Item = (&str, &str)> {
    webhooks(bundle)
        .iter()
        .map(|webhook| (text(webhook, "type"), text(webhook, "generateName")))
}

fn webhook_names_are_unique(bundle: &RegistryBundle) -> Vec<String> {
    let names = repeated(webhook_names(bundle));
    names
        .iter()
        .map(|(kind, name)| format!("duplicate webhook '{name}' of type '{kind}'"))
        .collect()
}

fn webhook_names_are_valid(bundle: &RegistryBundle) -> Vec<String> {
    let names: BTreeSet<_> = webhook_names(bundle).collect();
    let told = |(kind, name): (&str, &str)| {
        let errors = name_errors(name, ",")?;
        Some(format!(
            "webhook of type '{kind}' has invalid name '{name}': {errors}"
        ))
    };
    names.into_iter().filter_map(told).collect()
}

fn conversions_are_unique(bundle: &RegistryBundle) -> Vec<String> {
    let mut converted = BTreeMap::<&str, Vec<&str>>::new();
    for webhook in conversions(bundle) {
        for definition in strings(&webhook["conversionCRDs"]) {
            converted
                .entry(definition)
                .or_default()
                .push(text(webhook, "generateName"));
        }
    }
    let told = |(definition, mut names): (&str, Vec<&str>)| {
        names.sort_unstable();
        format!(
            "conversion webhooks [{}] reference same custom resource definition '{definition}'",
            names.join(",")
        )
    };
    converted
        .into_iter()
        .filter(|(_, names)| names.len() > 1)
        .map(told)
        .collect()
}

fn conversions_are_of_owned_definitions(bundle: &RegistryBundle) -> Vec<String> {
    let owned = owned_names(bundle);
    let mut sorted: Vec<_> = conversions(bundle).collect();
    sorted.sort_by_key(|webhook| text(webhook, "generateName"));
    let mut broken = Vec::new();
    for webhook in sorted {
        let mut names: Vec<_> = strings(&webhook["conversionCRDs"])
            .filter(|name| !owned.contains(name))
            .collect();
        names.sort_unstable();
        broken.extend(names.into_iter().map(|name| {
            let webhook = text(webhook, "generateName");
            format!("conversion webhook '{webhook}' references custom resource definition '{name}' not owned bundle")
        }));
    }
    broken
}

/// A webhook that could refuse changes to webhooks, or to OLM itself, could never be removed again.
fn webhook_rules_are_harmless(bundle: &RegistryBundle) -> Vec<String> {
    const GUARDED_RESOURCES: [&str; 5] = [
        "*",
        "mutatingwebhookconfiguration",
        "mutatingwebhookconfigurations",
        "validatingwebhookconfiguration",
        "validatingwebhookconfigurations",
    ];
    let mut broken = Vec::new();
    for webhook in webhooks(bundle)
        .iter()
        .filter(|webhook| text(webhook, "type") != CONVERSION)
    {
        let name = quoted(text(webhook, "generateName"));
        for rule in webhook["rules"].as_array().into_iter().flatten() {
            for group in strings(&rule["apiGroups"]) {
                if ["olm.operatorframework.io", "*"].contains(&group) {
                    broken.push(format!(
                        "webhook {name} contains forbidden rule: admission webhook rules cannot reference API group {}",
                        quoted(group)
                    ));
                }
                if group != "admissionregistration.k8s.io" {
                    continue;
                }
                for resource in strings(&rule["resources"]) {
                    if GUARDED_RESOURCES.contains(&resource.to_lowercase().as_str()) {
                        broken.push(format!(
                            "webhook {name} contains forbidden rule: admission webhook rules cannot reference resource {} for API group {}",
                            quoted(resource),
                            quoted(group)
                        ));
                    }
                }
            }
        }
    }
    broken
}

fn kinds_are_supported(bundle: &RegistryBundle) -> Vec<String> {
    bundle
        .others
        .iter()
        .filter(|object| scope(text(object, "kind")).is_none())
        .map(|object| {
            format!(
                "unsupported resource {} with kind {}",
                quoted(text(&object["metadata"], "name")),
                quoted(text(object, "kind"))
            )
        })
        .collect()
}
