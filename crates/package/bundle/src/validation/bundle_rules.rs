//! The rules for a bundle as a whole: its definitions, service accounts, size, name and images.

use std::collections::{BTreeMap, BTreeSet};

use gotemplate::format::quoted;

use super::custom_resource_definition::Definition;
use super::deployment;
use super::finding::{Finding, Kind, Level, Outcome};
use super::loaded::Loaded;
use super::manifest::{self, GroupVersionKind};

/// The most bytes a bundle may take: OLM keeps it in one `ConfigMap` while it installs.
const MAXIMUM_SIZE: u64 = 1 << 20;

/// Checks a bundle.
pub(super) fn check(bundle: &Loaded) -> Outcome {
    let mut outcome = Outcome::about(bundle.csv.spec.version.0.to_string());
    outcome.extend(definitions(bundle));
    outcome.extend(service_accounts(bundle));
    outcome.extend(size(bundle));
    outcome.extend(name(bundle));
    outcome.extend(related_images(bundle));
    outcome
}

fn error(value: impl Into<String>, detail: String) -> Finding {
    Finding::about(Level::Error, Kind::Bundle, value, detail)
}

/// Group, version and kind of every version that the definitions have.
fn provided(bundle: &Loaded) -> Vec<GroupVersionKind> {
    let key = |definition: &Definition, version: &str| GroupVersionKind {
        group: definition.group.clone(),
        version: version.to_owned(),
        kind: definition.names.kind.clone(),
    };
    let mut keys = Vec::new();
    for definition in &bundle.definitions {
        keys.extend(
            definition
                .written_versions
                .iter()
                .map(|version| key(definition, version)),
        );
    }
    for definition in &bundle.old_definitions {
        if definition.written_versions.is_empty() {
            keys.push(key(definition, &definition.written_version));
        }
        keys.extend(
            definition
                .written_versions
                .iter()
                .map(|version| key(definition, version)),
        );
    }
    keys
}

fn definitions(bundle: &Loaded) -> Vec<Finding> {
    let mut findings = Vec::new();
    let bundle_name = quoted(&bundle.name);
    let mut present = BTreeSet::new();
    for key in provided(bundle) {
        let text = key.to_string();
        if !present.insert(key) {
            findings.push(error(
                text.clone(),
                format!("duplicate CRD {} in bundle {bundle_name}", quoted(&text)),
            ));
        }
    }
    let mut owned_kinds = BTreeSet::new();
    for owned in &bundle.csv.spec.custom_resource_definitions.owned {
        let group = owned
            .name
            .split_once('.')
            .map_or(owned.name.as_str(), |(_, group)| group);
        let key = GroupVersionKind {
            group: group.to_owned(),
            version: owned.version.clone(),
            kind: owned.kind.clone(),
        };
        if present.remove(&key) {
            owned_kinds.insert((key.group, key.kind));
        } else {
            let text = key.to_string();
            findings.push(error(
                text.clone(),
                format!("owned CRD {} not found in bundle {bundle_name}", quoted(&text)),
            ));
        }
    }
    // Further versions of a definition that is owned need not be named.
    present.retain(|key| !owned_kinds.contains(&(key.group.clone(), key.kind.clone())));
    for key in present {
        let text = key.to_string();
        findings.push(error(
            text.clone(),
            format!(
                "CRD {} is present in bundle {bundle_name} but not defined in CSV",
                quoted(&text)
            ),
        ));
    }
    findings
}

fn service_accounts(bundle: &Loaded) -> Vec<Finding> {
    let own: BTreeSet<String> = deployment::pods(&bundle.csv)
        .map(|pod| pod.service_account_name)
        .collect();
    let is_service_account =
        |gvk: &GroupVersionKind| gvk.group.is_empty() && gvk.version == "v1" && gvk.kind == "ServiceAccount";
    bundle
        .objects
        .iter()
        .filter(|object| is_service_account(&GroupVersionKind::of(object)))
        .map(manifest::name)
        .filter(|name| own.contains(*name))
        .map(|name| {
            error(
                name,
                format!(
                    "invalid service account found in bundle. This service account {name} in your bundle is not valid, \
                     because a service account with the same name was already specified in your CSV. If this was \
                     unintentional, please remove the service account manifest from your bundle. If it was intentional \
                     to specify a separate service account, please rename the SA in either the bundle manifest or the \
                     CSV."
                ),
            )
        })
        .collect()
}

fn size(bundle: &Loaded) -> Option<Finding> {
    let unknown = |what: &str| {
        Some(Finding::about(
            Level::Warning,
            Kind::Validation,
            bundle.name.clone(),
            format!("unable to check the bundle {what}"),
        ))
    };
    if bundle.compressed_size == 0 {
        return unknown("compressed size");
    }
    if bundle.size == 0 {
        return unknown("size");
    }
    let sizes = format!(
        "size=~{} , max={}. Bundle uncompressed size is {}",
        in_units(bundle.compressed_size),
        in_units(MAXIMUM_SIZE),
        in_units(bundle.size)
    );
    if bundle.compressed_size > MAXIMUM_SIZE {
        return Some(error(
            bundle.name.clone(),
            format!("maximum bundle compressed size with gzip size exceeded: {sizes}"),
        ));
    }
    // Above 85 % of what is allowed.
    (bundle.compressed_size * 100 > MAXIMUM_SIZE * 85).then(|| {
        Finding::about(
            Level::Warning,
            Kind::Bundle,
            bundle.name.clone(),
            format!("nearing maximum bundle compressed size with gzip: {sizes}"),
        )
    })
}

/// A number of bytes in units of a thousand.
fn in_units(bytes: u64) -> String {
    const UNIT: u64 = 1000;
    if bytes < UNIT {
        return format!("{bytes} B");
    }
    let mut divisor = UNIT;
    let mut units = "kMGTPE".chars();
    let mut unit = units.next().unwrap_or_default();
    while bytes / divisor >= UNIT {
        divisor *= UNIT;
        unit = units.next().unwrap_or(unit);
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "one decimal is shown, as upstream does"
    )]
    let amount = bytes as f64 / divisor as f64;
    format!("{amount:.1} {unit}B")
}

fn name(bundle: &Loaded) -> Option<Finding> {
    let release = &bundle.csv.spec.release.0;
    if release.is_empty() {
        return None;
    }
    let expected = format!("{}-v{}-{release}", bundle.package, bundle.csv.spec.version.0);
    (bundle.name != expected).then(|| {
        error(
            bundle.name.clone(),
            format!(
                "bundle name with release versioning {} does not match expected name {}",
                quoted(&bundle.name),
                quoted(&expected)
            ),
        )
    })
}

fn related_images(bundle: &Loaded) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, related) in bundle.csv.spec.related_images.iter().enumerate() {
        let place = format!("spec.relatedImages[{index}].image");
        if related.image.is_empty() {
            findings.push(error(
                place,
                format!("relatedImages[{index}] has an empty image field"),
            ));
        } else if let Some(problem) = image::reference::normalized_error(&related.image) {
            findings.push(error(
                place,
                format!(
                    "relatedImages[{index}] has an invalid image pullspec {}: {problem}",
                    quoted(&related.image)
                ),
            ));
        }
    }
    findings
}

/// The images of a bundle by where they are named; used by checks that look at each once.
pub(super) fn images(bundle: &Loaded) -> BTreeMap<String, String> {
    let related = bundle
        .csv
        .spec
        .related_images
        .iter()
        .enumerate()
        .map(|(index, related)| (related.image.clone(), format!("spec.relatedImages[{index}]")));
    let mut images: BTreeMap<String, String> = related.collect();
    for pod in deployment::pods(&bundle.csv) {
        for container in pod.containers {
            images
                .entry(container.image)
                .or_insert_with(|| format!("container {}", quoted(&container.name)));
        }
    }
    images.remove("");
    images
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_shown_in_thousands() {
        for (bytes, text) in [
            (999, "999 B"),
            (1000, "1.0 kB"),
            (1_048_576, "1.0 MB"),
            (1_350_000, "1.4 MB"),
        ] {
            assert_eq!(in_units(bytes), text);
        }
    }
}
