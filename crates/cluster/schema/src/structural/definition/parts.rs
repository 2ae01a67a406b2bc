//! The specification of a definition: names, versions, columns, subresources, selectable fields.

use std::collections::HashSet;

use gotemplate::format::is_print;
use serde_json::Value;

use super::columns::{check_columns, check_selectable_fields, check_subresources};
use super::rules::RuleChecks;
use super::view::{Part, Version, View, schema_of};
use super::{Strictness, conversion, schema};
use crate::structural::name_rules::{dns_1035_label, dns_subdomain};
use crate::{FieldError, FieldErrorKind, FieldErrors, FieldPath};

/// The longest deprecation warning.
const MAXIMUM_WARNING_BYTES: usize = 256;

/// Returns what is wrong with a required text that must be one of `allowed`.
pub(super) fn one_of(field: &FieldPath, value: &str, allowed: &[&str]) -> Option<FieldError> {
    if value.is_empty() {
        Some(FieldError::required(field.clone(), ""))
    } else if allowed.contains(&value) {
        None
    } else {
        Some(FieldError::not_supported(field.clone(), &value.into(), allowed))
    }
}

/// Returns what is wrong with the specification of a definition.
pub(super) fn validate_spec(
    view: &View<'_>,
    strictness: &Strictness,
    checks: &mut dyn RuleChecks,
) -> FieldErrors {
    let mut errors = FieldErrors::default();
    let path = FieldPath::new("spec");
    check_group(view.text("group"), &path.child("group"), &mut errors);
    errors.extend(one_of(
        &path.child("scope"),
        view.text("scope"),
        &["Cluster", "Namespaced"],
    ));
    let mut strictness = strictness.clone();
    let keeps_unknown = view.definition().pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true));
    check_schemas_are_there(view, &strictness, keeps_unknown, &path, &mut errors);
    check_needs_of_schemas(view, &mut strictness, keeps_unknown, &path, &mut errors);
    let mut names = HashSet::new();
    let mut has_unique_names = true;
    let mut storage_versions = 0;
    for (index, version) in view.versions.iter().enumerate() {
        let path = path.child("versions").index(index);
        let name = version.text("name");
        storage_versions += usize::from(version.flag("storage"));
        has_unique_names &= names.insert(name);
        let faults = dns_1035_label(name);
        if !faults.is_empty() {
            errors.push(FieldError::invalid(
                path.child("name"),
                &name.into(),
                faults.join(","),
            ));
        }
        check_version(view, version, &path, &strictness, checks, &mut errors);
    }
    let versions_error = |rule: &str| FieldError {
        kind: FieldErrorKind::Invalid,
        field: path.child("versions"),
        value: Some(view.shown_versions()),
        detail: rule.to_owned(),
    };
    if !has_unique_names {
        errors.push(versions_error("must contain unique version names"));
    }
    if storage_versions != 1 {
        errors.push(versions_error(
            "must have exactly one version marked as storage version",
        ));
    }
    if let Some(first) = view
        .versions
        .first()
        .map(|version| version.text("name"))
        .filter(|name| !name.is_empty())
    {
        let faults = dns_1035_label(first);
        if !faults.is_empty() {
            errors.push(FieldError::invalid(
                path.child("version"),
                &first.into(),
                faults.join(","),
            ));
        }
    }
    let names_path = path.child("names");
    for name in ["plural", "singular", "kind", "listKind"] {
        if view.names().text(name).is_empty() {
            errors.push(FieldError::required(names_path.child(name), ""));
        }
    }
    errors.append(name_faults(view.names(), &names_path));
    check_shared(view, &path, strictness, checks, &mut errors);
    errors
}

fn check_group(group: &str, path: &FieldPath, errors: &mut FieldErrors) {
    if group.is_empty() {
        errors.push(FieldError::required(path.clone(), ""));
        return;
    }
    let faults = dns_subdomain(group);
    if !faults.is_empty() {
        errors.push(FieldError::invalid(path.clone(), &group.into(), faults.join(",")));
    } else if !group.contains('.') {
        let rule = "should be a domain with at least one dot";
        errors.push(FieldError::invalid(path.clone(), &group.into(), rule));
    }
}

fn check_schemas_are_there(
    view: &View<'_>,
    strictness: &Strictness,
    keeps_unknown: bool,
    path: &FieldPath,
    errors: &mut FieldErrors,
) {
    if schema_of(view.shared.schema).is_some() {
        return;
    }
    for (index, version) in view.versions.iter().enumerate() {
        if schema_of(version.own.schema).is_some() {
            continue;
        }
        let field = path
            .child("versions")
            .index(index)
            .child("schema")
            .child("openAPIV3Schema");
        if strictness.every_version_has_schema {
            errors.push(FieldError::required(field, ""));
        } else if !keeps_unknown && version.flag("served") {
            errors.push(FieldError::required(
                field,
                "because otherwise all fields are pruned",
            ));
        }
    }
}

/// Pruning, defaults and extensions need structural schemas, whatever the stored one was like.
fn check_needs_of_schemas(
    view: &View<'_>,
    strictness: &mut Strictness,
    keeps_unknown: bool,
    path: &FieldPath,
    errors: &mut FieldErrors,
) {
    strictness.structural |= !keeps_unknown;
    let has_defaults = view
        .schemas()
        .any(|schema| schema.any(&mut |node| node.value("default").is_some()));
    if has_defaults {
        strictness.structural = true;
        if keeps_unknown {
            let rule = "must be false in order to use defaults in the schema";
            errors.push(FieldError::invalid(
                path.child("preserveUnknownFields"),
                &Value::Bool(true),
                rule,
            ));
        }
    }
    strictness.structural |= view.schemas().any(|schema| {
        schema.any(&mut |node| {
            [
                "x-kubernetes-embedded-resource",
                "x-kubernetes-preserve-unknown-fields",
                "x-kubernetes-int-or-string",
                "x-kubernetes-list-type",
            ]
            .into_iter()
            .any(|keyword| node.is_set(keyword))
                || !node.items("x-kubernetes-list-map-keys").is_empty()
                || !node.items("x-kubernetes-validations").is_empty()
        })
    });
}

fn check_version(
    view: &View<'_>,
    version: &Version<'_>,
    path: &FieldPath,
    strictness: &Strictness,
    checks: &mut dyn RuleChecks,
    errors: &mut FieldErrors,
) {
    check_deprecation(version, path, errors);
    let has_own_subresources = view
        .versions
        .iter()
        .any(|version| version.own.subresources.is_some());
    // Where two versions have one name, the first is taken for both.
    let named = view
        .versions
        .iter()
        .find(|one| one.text("name") == version.text("name"));
    let subresources = if has_own_subresources {
        named.unwrap_or(version).own.subresources
    } else {
        view.shared.subresources
    };
    let has_status = Part::of(subresources).part("status").is_there();
    let strictness = Strictness {
        unchanged_schema: strictness
            .unchanged_versions
            .iter()
            .any(|name| name == version.text("name")),
        ..strictness.clone()
    };
    let schema_path = path.child("schema");
    errors.append(schema::faults(
        version.own.schema,
        &schema_path,
        has_status,
        &strictness,
        checks,
    ));
    check_subresources(version.own.subresources, &path.child("subresources"), errors);
    check_columns(
        version.own.columns.unwrap_or_default(),
        &path.child("additionalPrinterColumns"),
        errors,
    );
    if !version.own.selectable_fields.unwrap_or_default().is_empty() {
        let field = path.child("selectableFields");
        // A schema that this version shares with all others isn't seen here.
        if schema_of(version.own.schema).is_some() {
            let allows_many = strictness
                .many_selectable_fields
                .iter()
                .any(|name| name == version.text("name"));
            check_selectable_fields(
                version.own,
                &field,
                &path.child("schema.openAPIV3Schema"),
                allows_many,
                errors,
            );
        } else {
            let rule = "may only be set when `version.schema.openAPIV3Schema` is not included";
            errors.push(FieldError::invalid(field, &"".into(), rule));
        }
    }
}

fn check_deprecation(version: &Version<'_>, path: &FieldPath, errors: &mut FieldErrors) {
    let Some(warning) = version.pointed_text("deprecationWarning") else {
        return;
    };
    let mut invalid = |rule: String| {
        errors.push(pointed_text_error(
            path.child("deprecationWarning"),
            warning,
            rule,
        ));
    };
    if !version.flag("deprecated") {
        invalid("can only be set for deprecated versions".to_owned());
        return;
    }
    if warning.len() > MAXIMUM_WARNING_BYTES {
        invalid(format!("must be <= {MAXIMUM_WARNING_BYTES} characters long"));
    }
    if warning.is_empty() {
        invalid("must not be an empty string".to_owned());
    }
    if let Some((index, _)) = warning
        .char_indices()
        .find(|(_, character)| !is_print(*character))
    {
        invalid(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {index}"
        ));
    }
}

/// Returns the error of a text that is a pointer inside the server: it is shown as JSON.
pub(super) fn pointed_text_error(field: FieldPath, text: &str, rule: impl Into<String>) -> FieldError {
    FieldError {
        kind: FieldErrorKind::Invalid,
        field,
        value: goyaml::json::to_string(text, goyaml::json::Escape::Html).ok(),
        detail: rule.into(),
    }
}

/// Returns what is wrong with the names of a kind.
pub(super) fn name_faults(names: Part<'_>, path: &FieldPath) -> FieldErrors {
    let mut errors = FieldErrors::default();
    for name in ["plural", "singular"] {
        let value = names.text(name);
        let faults = dns_1035_label(value);
        if !value.is_empty() && !faults.is_empty() {
            errors.push(FieldError::invalid(
                path.child(name),
                &value.into(),
                faults.join(","),
            ));
        }
    }
    for name in ["kind", "listKind"] {
        let value = names.text(name);
        let faults = dns_1035_label(&value.to_lowercase());
        if !value.is_empty() && !faults.is_empty() {
            let rule = format!(
                "may have mixed case, but should otherwise match: {}",
                faults.join(",")
            );
            errors.push(FieldError::invalid(path.child(name), &value.into(), rule));
        }
    }
    check_labels(names.items("shortNames"), &path.child("shortNames"), &mut errors);
    let (kind, list_kind) = (names.text("kind"), names.text("listKind"));
    if !kind.is_empty() && kind == list_kind {
        let rule = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(
            path.child("listKind"),
            &list_kind.into(),
            rule,
        ));
    }
    check_labels(names.items("categories"), &path.child("categories"), &mut errors);
    errors
}

fn check_labels(values: &[Value], path: &FieldPath, errors: &mut FieldErrors) {
    for (index, value) in values.iter().enumerate() {
        let faults = dns_1035_label(value.as_str().unwrap_or_default());
        if !faults.is_empty() {
            errors.push(FieldError::invalid(path.index(index), value, faults.join(",")));
        }
    }
}

/// Checks what all versions share, and the conversion between them.
fn check_shared(
    view: &View<'_>,
    path: &FieldPath,
    strictness: Strictness,
    checks: &mut dyn RuleChecks,
    errors: &mut FieldErrors,
) {
    let shared = view.shared;
    let has_status = std::iter::once(shared.subresources)
        .chain(view.versions.iter().map(|version| version.own.subresources))
        .any(|subresources| Part::of(subresources).part("status").is_there());
    let first = view.versions.first().map_or("", |version| version.text("name"));
    let strictness = Strictness {
        unchanged_schema: strictness.unchanged_versions.iter().any(|name| name == first),
        ..strictness
    };
    errors.append(schema::faults(
        shared.schema,
        &path.child("validation"),
        has_status,
        &strictness,
        checks,
    ));
    check_subresources(shared.subresources, &path.child("subresources"), errors);
    check_columns(
        shared.columns.unwrap_or_default(),
        &path.child("additionalPrinterColumns"),
        errors,
    );
    if !shared.selectable_fields.unwrap_or_default().is_empty() {
        let field = path.child("selectableFields");
        if Part::of(shared.schema).is_there() {
            let allows_many = strictness.many_selectable_fields.iter().any(String::is_empty);
            check_selectable_fields(
                shared,
                &field,
                &path.child("schema.openAPIV3Schema"),
                allows_many,
                errors,
            );
        } else {
            let rule = "may only be set when validations.schema is included";
            errors.push(FieldError::invalid(field, &"".into(), rule));
        }
    }
    let conversion = view.conversion();
    let keeps_unknown = view.definition().pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true));
    if conversion.is_there() && conversion.text("strategy") != "None" && keeps_unknown {
        errors.push(FieldError::invalid(
            path.child("conversion").child("strategy"),
            &conversion.text("strategy").into(),
            "must be None if spec.preserveUnknownFields is true",
        ));
    }
    errors.append(conversion::faults(
        conversion,
        &path.child("conversion"),
        &strictness,
    ));
}
