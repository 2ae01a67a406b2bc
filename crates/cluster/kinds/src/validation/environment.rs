//! Environment variables of containers, and where their values come from.

use schema::structural::name_rules::{dns_label, dns_subdomain, label_key};

use super::reading::Reading;
use super::report::{Errors, Path};
use super::syntax::{config_key, no_backsteps, variable_name};
use crate::quantity::Quantity;
use crate::tree::{Fields, Tree};

const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Fields of a pod that can be referred to somewhere, if not here.
const REFERABLE: [&str; 14] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// Checks the variables of a container.
pub(super) fn check(errors: &mut Errors, path: &Path<'_>, container: &Fields) {
    let variables = path.child("env");
    for (index, variable) in container.numbered("env") {
        let path = variables.index(index);
        let name = variable.text("name");
        if name.is_empty() {
            errors.required(&path.child("name"), "");
        } else {
            errors.faults(&path.child("name"), name, variable_name(name));
        }
        if variable.has("valueFrom") {
            let from = variable.at("valueFrom");
            value_from(errors, &path.child("valueFrom"), from, variable.text("value"));
        }
    }
    let sources = path.child("envFrom");
    for (index, source) in container.numbered("envFrom") {
        let path = sources.index(index);
        let prefix = source.text("prefix");
        if !prefix.is_empty() {
            errors.faults(&path.child("prefix"), prefix, variable_name(prefix));
        }
        let mut count = 0;
        for kind in ["configMapRef", "secretRef"] {
            if source.has(kind) {
                count += 1;
                let path = path.child(kind);
                let name = source.at(kind).text("name");
                if name.is_empty() {
                    errors.required(&path.child("name"), "");
                } else {
                    let masked = schema::structural::name_rules::masked_prefix(name);
                    errors.faults(&path.child("name"), name, dns_subdomain(&masked));
                }
            }
        }
        match count {
            0 => errors.invalid(&sources, "", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => errors.invalid(
                &sources,
                "",
                "may not have more than one field specified at a time",
            ),
        }
    }
}

fn value_from(errors: &mut Errors, path: &Path<'_>, from: &Fields, value: &str) {
    let mut count = 0;
    if from.has("fieldRef") {
        count += 1;
        field_reference(errors, &path.child("fieldRef"), from.at("fieldRef"), &FIELDS);
    }
    if from.has("resourceFieldRef") {
        count += 1;
        let path = path.child("resourceFieldRef");
        resource_reference(errors, &path, from.at("resourceFieldRef"), false);
    }
    for kind in ["configMapKeyRef", "secretKeyRef"] {
        if from.has(kind) {
            count += 1;
            key_reference(errors, &path.child(kind), from.at(kind));
        }
    }
    if from.has("fileKeyRef") {
        count += 1;
        file_reference(errors, &path.child("fileKeyRef"), from.at("fileKeyRef"));
    }
    if count == 0 {
        errors.invalid(
            path,
            "",
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        );
    } else if !value.is_empty() {
        errors.invalid(path, "", "may not be specified when `value` is not empty");
    } else if count > 1 {
        errors.invalid(path, "", "may not have more than one field specified at a time");
    }
}

/// Splits `metadata.labels['name']` into the map and its key.
fn subscript(field: &str) -> Option<(&str, &str)> {
    let (map, key) = field.strip_suffix("']")?.split_once("['")?;
    (!map.is_empty()).then_some((map, key))
}

/// Checks a reference to a field of the pod, which must be one of `fields`.
pub(super) fn field_reference(errors: &mut Errors, path: &Path<'_>, reference: &Fields, fields: &[&str]) {
    let (version, field) = (reference.text("apiVersion"), reference.text("fieldPath"));
    if version.is_empty() {
        errors.required(&path.child("apiVersion"), "");
        return;
    }
    let field_path = path.child("fieldPath");
    if field.is_empty() {
        errors.required(&field_path, "");
        return;
    }
    let fault = if version == "v1" {
        match subscript(field) {
            Some(("metadata.annotations" | "metadata.labels", _)) => None,
            Some(_) => Some(format!("field label does not support subscript: {field}")),
            None if REFERABLE.contains(&field) || field == "spec.host" => None,
            None => Some(format!("field label not supported: {field}")),
        }
    } else {
        Some(format!("unsupported pod version: {version}"))
    };
    if let Some(fault) = fault {
        errors.invalid(&field_path, field, format!("error converting fieldPath: {fault}"));
        return;
    }
    let field = if field == "spec.host" {
        "spec.nodeName"
    } else {
        field
    };
    match subscript(field) {
        Some(("metadata.annotations", key)) => {
            let key = key.to_lowercase();
            errors.faults(path, &key, label_key(&key));
        }
        Some((_, key)) => errors.faults(path, key, label_key(key)),
        None if !fields.contains(&field) => errors.not_supported(&field_path, field, fields),
        None => {}
    }
}

/// Checks a reference to an amount that a container asks for; in a volume the container must be named.
pub(super) fn resource_reference(
    errors: &mut Errors,
    path: &Path<'_>,
    reference: &Fields,
    is_in_volume: bool,
) {
    let resource = reference.text("resource");
    let is_huge = resource.starts_with("requests.hugepages-") || resource.starts_with("limits.hugepages-");
    if is_in_volume && reference.is_zero("containerName") {
        errors.required(&path.child("containerName"), "");
    } else if resource.is_empty() {
        errors.required(&path.child("resource"), "");
    } else if !RESOURCES.contains(&resource) && !is_huge {
        errors.not_supported(&path.child("resource"), resource, &RESOURCES);
    }
    let divisor = reference.text("divisor");
    if divisor.is_empty() || !Quantity::read(divisor).is_set() {
        return;
    }
    let whole = [
        "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
    ];
    let what = match resource.rsplit('.').next() {
        Some("cpu") => {
            if !matches!(divisor, "1m" | "1") {
                errors.invalid(
                    &path.child("divisor"),
                    resource,
                    "only divisor's values 1m and 1 are supported with the cpu resource",
                );
            }
            return;
        }
        Some("memory") => "memory",
        Some("ephemeral-storage") => "local ephemeral storage",
        _ if is_huge => "hugepages",
        _ => return,
    };
    if !whole.contains(&divisor) {
        errors.invalid(
            &path.child("divisor"),
            resource,
            format!(
                "only divisor's values {} are supported with the {what} resource",
                whole.join(", ")
            ),
        );
    }
}

fn key_reference(errors: &mut Errors, path: &Path<'_>, reference: &Fields) {
    let (name, key) = (reference.text("name"), reference.text("key"));
    errors.faults(&path.child("name"), name, dns_subdomain(name));
    if key.is_empty() {
        errors.required(&path.child("key"), "");
    } else {
        errors.faults(&path.child("key"), key, config_key(key));
    }
}

fn file_reference(errors: &mut Errors, path: &Path<'_>, reference: &Fields) {
    let key = reference.text("key");
    if key.is_empty() {
        errors.required(&path.child("key"), "");
    } else {
        errors.faults(&path.child("key"), key, variable_name(key));
    }
    let volume = reference.text("volumeName");
    if volume.is_empty() {
        errors.required(&path.child("volumeName"), "");
    } else {
        errors.faults(&path.child("volumeName"), volume, dns_label(volume));
    }
    let file = reference.text("path");
    if file.is_empty() {
        errors.required(&path.child("path"), "");
    } else {
        no_backsteps(errors, &path.child("path"), file);
    }
}
