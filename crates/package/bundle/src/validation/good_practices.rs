//! What is good practice for a bundle, though nothing needs it.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use gotemplate::format::{quote_ascii, quoted};
use regex::Regex;

use super::context::Context;
use super::deployment;
use super::finding::{Finding, Kind, Level, Outcome};
use super::loaded::Loaded;
use crate::cluster_service_version::CustomResourceDescription;

/// The end of a name that has a version there.
static VERSION_AT_THE_END: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"([0-9]+)\.([0-9]+)\.([0-9]+)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+)?\z")
        .ok()
});

/// Checks a bundle.
pub(super) fn check(bundle: &Loaded, _: &Context<'_>) -> Vec<Outcome> {
    let name = bundle.csv.metadata.name.as_str();
    let mut outcome = Outcome::about(&bundle.name);
    let mut warnings = Vec::new();
    let finding = |level, detail| Finding::about(level, Kind::Validation, name, detail);
    if bundle.csv_has(&["spec", "install", "spec", "deployments"]) {
        resource_requests(bundle, &mut warnings);
    } else {
        outcome.extend([finding(
            Level::Error,
            "unable to find a deployment to install in the CSV".to_owned(),
        )]);
    }
    let definitions = &bundle.csv.spec.custom_resource_definitions;
    descriptions(&definitions.owned, "owned", &mut warnings);
    descriptions(&definitions.required, "required", &mut warnings);
    warnings.extend(channels(bundle));
    warnings.extend(creates_definitions(bundle));
    bundle_name(name, &mut warnings);
    outcome.extend(warnings.into_iter().map(|detail| finding(Level::Warning, detail)));
    vec![outcome]
}

fn resource_requests(bundle: &Loaded, warnings: &mut Vec<String>) {
    for container in deployment::pods(&bundle.csv).flat_map(|pod| pod.containers) {
        // Upstream asks whether the amounts have a text, and the amount of nothing is "0": so any requests will do.
        if container.resources.requests.is_none() {
            warnings.push(format!(
                "unable to find the resource requests for the container: ({}). It is recommended to ensure the resource \
                 request for CPU and Memory. Be aware that for some clusters configurations it is required to specify \
                 requests or limits for those values. Otherwise, the system or quota may reject Pod creation. More info: \
                 https://master.sdk.operatorframework.io/docs/best-practices/managing-resources/",
                container.name
            ));
        }
    }
}

fn descriptions(descriptions: &[CustomResourceDescription], relation: &str, warnings: &mut Vec<String>) {
    for description in descriptions.iter().filter(|one| one.description.is_empty()) {
        warnings.push(format!(
            "{relation} CRD {} has an empty description",
            quoted(&description.name)
        ));
    }
}

fn channels(bundle: &Loaded) -> Option<String> {
    let unusual: BTreeSet<&str> = bundle
        .channels
        .iter()
        .chain([&bundle.default_channel])
        .map(|channel| channel.trim())
        .filter(|channel| {
            !channel.is_empty()
                && !["candidate", "stable", "fast"]
                    .iter()
                    .any(|usual| channel.starts_with(usual))
        })
        .collect();
    if unusual.is_empty() {
        return None;
    }
    let names: Vec<String> = unusual
        .iter()
        .map(|name| String::from_utf8_lossy(&quote_ascii(name.as_bytes())).into_owned())
        .collect();
    Some(format!(
        "channel(s) [{}] are not following the recommended naming convention: \
         https://olm.operatorframework.io/docs/best-practices/channel-naming",
        names.join(" ")
    ))
}

fn creates_definitions(bundle: &Loaded) -> Option<String> {
    let has = |given: &[String], wanted: &[&str]| given.iter().any(|one| wanted.contains(&one.as_str()));
    let install = &bundle.csv.spec.install.spec;
    install
        .permissions
        .iter()
        .chain(&install.cluster_permissions)
        .flat_map(|permission| &permission.rules)
        .any(|rule| {
            has(&rule.api_groups, &["apiextensions.k8s.io"])
                && has(&rule.resources, &["customresourcedefinitions", "*", "[*]"])
                && has(&rule.verbs, &["create", "*", "[*]", "patch"])
        })
        .then(|| {
            "CSV contains permissions to create CRD. An Operator shouldn't deploy or manage other operators (such patterns \
             are known as meta or super operators or include CRDs in its Operands). It's the Operator Lifecycle \
             Manager's job to manage the deployment and lifecycle of operators.  Please, review the design of your \
             solution and if you should not be using Dependency Resolution from OLM instead. More info: \
             https://sdk.operatorframework.io/docs/best-practices/common-recommendation/"
                .to_owned()
        })
}

fn bundle_name(name: &str, warnings: &mut Vec<String>) {
    let version = VERSION_AT_THE_END
        .as_ref()
        .and_then(|expression| expression.find(name));
    if version.is_none_or(|version| version::Version::parse(version.as_str()).is_err()) {
        warnings.push(format!(
            "csv.metadata.Name {name} is not following the versioning convention (MAJOR.MINOR.PATCH e.g 0.0.1): \
             https://semver.org/"
        ));
    }
    if name.split(".v").count() != 2 {
        warnings.push(format!(
            "csv.metadata.Name {name} is not following the recommended naming convention: <operator-name>.v<semver> e.g. \
             memcached-operator.v0.0.1"
        ));
    }
}
