//! The API server's rules for a new definition, in its order.

use gotemplate::format::is_print;

use super::super::field_error::FieldError;
use super::super::names;
use super::{Column, Definition, Names, Schema, Subresources, Validation, Version, selectable_fields};
use chart::go_url::Url;

/// The annotation that says who approved an API in a group of the Kubernetes project.
const APPROVAL: &str = "api-approved.kubernetes.io";
/// Where that rule is written down.
const APPROVAL_RULE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";
/// The longest deprecation warning.
const MAXIMUM_WARNING_BYTES: usize = 256;
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];

/// Everything that is wrong with a definition.
pub(super) fn faults(definition: &Definition) -> Vec<FieldError> {
    let required_name = format!("{}.{}", definition.names.plural, definition.group);
    let mut faults = definition.metadata.faults(|name| {
        let mut faults = names::dns_subdomain(name);
        if name != required_name {
            faults.push("must be spec.names.plural+\".\"+spec.group".to_owned());
        }
        faults
    });
    group_faults(&definition.group, &mut faults);
    faults.extend(one_of(
        "spec.scope",
        &definition.scope,
        &["Cluster", "Namespaced"],
    ));
    let keeps_unknown = definition.preserve_unknown_fields != Some(false);
    if keeps_unknown && has_defaults(definition) {
        faults.push(FieldError::invalid_value(
            "spec.preserveUnknownFields",
            &true,
            "must be false in order to use defaults in the schema",
        ));
    }
    for (index, version) in definition.versions.iter().enumerate() {
        version_faults(version, &format!("spec.versions[{index}]"), &mut faults);
    }
    shared_faults(definition, &mut faults);
    version_list_faults(definition, &mut faults);
    required_names(&definition.names, &mut faults);
    name_faults(&definition.names, &mut faults);
    subresource_faults(definition.subresources.as_ref(), "spec.subresources", &mut faults);
    column_faults(&definition.columns, "spec.additionalPrinterColumns", &mut faults);
    top_selectable_faults(definition, &mut faults);
    if let Some(conversion) = &definition.conversion {
        if conversion.strategy != super::conversion::NONE && keeps_unknown {
            faults.push(FieldError::invalid_value(
                "spec.conversion.strategy",
                &conversion.strategy,
                "must be None if spec.preserveUnknownFields is true",
            ));
        }
        faults.extend(conversion.faults());
    }
    approval_faults(definition, &mut faults);
    if definition.preserve_unknown_fields == Some(true) {
        faults.push(FieldError::invalid_pointer(
            "spec.preserveUnknownFields",
            &true,
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ));
    }
    faults
}

/// What is wrong with text that must be one of a list.
pub(super) fn one_of(field: &str, value: &str, accepted: &[&str]) -> Vec<FieldError> {
    if value.is_empty() {
        return vec![FieldError::required(field, "")];
    }
    if accepted.contains(&value) {
        return Vec::new();
    }
    vec![FieldError::not_supported(field, value, accepted)]
}

fn group_faults(group: &str, faults: &mut Vec<FieldError>) {
    const FIELD: &str = "spec.group";
    if group.is_empty() {
        faults.push(FieldError::required(FIELD, ""));
        return;
    }
    let wrong = names::dns_subdomain(group);
    if !wrong.is_empty() {
        faults.push(FieldError::invalid(FIELD, group, wrong.join(",")));
    } else if !group.contains('.') {
        faults.push(FieldError::invalid(
            FIELD,
            group,
            "should be a domain with at least one dot",
        ));
    }
}

fn schema_of(validation: Option<&Validation>) -> Option<&Schema> {
    validation.and_then(|validation| validation.schema.as_ref())
}

fn has_defaults(definition: &Definition) -> bool {
    schema_of(definition.validation.as_ref())
        .into_iter()
        .chain(
            definition
                .versions
                .iter()
                .filter_map(|version| schema_of(version.schema.as_ref())),
        )
        .any(Schema::has_defaults)
}

fn version_faults(version: &Version, field: &str, faults: &mut Vec<FieldError>) {
    let wrong = names::dns_1035_label(&version.name);
    if !wrong.is_empty() {
        faults.push(FieldError::invalid(
            format!("{field}.name"),
            &version.name,
            wrong.join(","),
        ));
    }
    if let Some(warning) = &version.deprecation_warning {
        for problem in warning_problems(version.deprecated, warning) {
            faults.push(FieldError::invalid_pointer(
                format!("{field}.deprecationWarning"),
                warning,
                problem,
            ));
        }
    }
    subresource_faults(
        version.subresources.as_ref(),
        &format!("{field}.subresources"),
        faults,
    );
    column_faults(
        &version.columns,
        &format!("{field}.additionalPrinterColumns"),
        faults,
    );
    if version.selectable_fields.is_empty() {
        return;
    }
    let field = format!("{field}.selectableFields");
    match schema_of(version.schema.as_ref()) {
        None => faults.push(FieldError::invalid(
            field,
            "",
            "may only be set when `version.schema.openAPIV3Schema` is not included",
        )),
        Some(schema) => faults.extend(selectable_fields::faults(
            &version.selectable_fields,
            Some(schema).filter(|schema| schema.is_convertible()),
            &field,
        )),
    }
}

fn warning_problems(deprecated: bool, warning: &str) -> Vec<String> {
    if !deprecated {
        return vec!["can only be set for deprecated versions".to_owned()];
    }
    let mut problems = Vec::new();
    if warning.len() > MAXIMUM_WARNING_BYTES {
        problems.push(format!("must be <= {MAXIMUM_WARNING_BYTES} characters long"));
    }
    if warning.is_empty() {
        problems.push("must not be an empty string".to_owned());
    }
    if let Some((at, _)) = warning
        .char_indices()
        .find(|(_, character)| !is_print(*character))
    {
        problems.push(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {at}"
        ));
    }
    problems
}

/// What the top and the versions may not both say, and the versions not all alike.
fn shared_faults(definition: &Definition, faults: &mut Vec<FieldError>) {
    let versions = &definition.versions;
    let some_schema = versions.iter().any(|version| version.schema.is_some());
    let some_subresources = versions.iter().any(|version| version.subresources.is_some());
    let some_columns = versions.iter().any(|version| !version.columns.is_empty());
    for (both, field, noun) in [
        (
            definition.validation.is_some() && some_schema,
            "validation",
            "schemas",
        ),
        (
            definition.subresources.is_some() && some_subresources,
            "subresources",
            "subresources",
        ),
        (
            !definition.columns.is_empty() && some_columns,
            "additionalPrinterColumns",
            "additionalPrinterColumns",
        ),
    ] {
        if both {
            faults.push(FieldError::forbidden(
                format!("spec.{field}"),
                format!("top-level and per-version {noun} are mutually exclusive"),
            ));
        }
    }
    let Some(first) = versions.first() else {
        return;
    };
    let alike = |same: fn(&Version, &Version) -> bool| versions.iter().all(|version| same(version, first));
    for (alike, noun, top) in [
        (
            alike(|one, first| one.schema.is_some() && one.schema == first.schema),
            "schemas",
            "validation",
        ),
        (
            alike(|one, first| one.subresources.is_some() && one.subresources == first.subresources),
            "subresources",
            "subresources",
        ),
        (
            alike(|one, first| !one.columns.is_empty() && one.columns == first.columns),
            "additionalPrinterColumns",
            "additionalPrinterColumns",
        ),
    ] {
        if alike {
            faults.push(FieldError::invalid_value(
                "spec.versions",
                versions,
                format!(
                    "per-version {noun} may not all be set to identical values (top-level {top} should be used instead)"
                ),
            ));
        }
    }
}

fn version_list_faults(definition: &Definition, faults: &mut Vec<FieldError>) {
    let versions = &definition.versions;
    let is_repeated = |index: usize, version: &Version| {
        versions
            .iter()
            .take(index)
            .any(|earlier| earlier.name == version.name)
    };
    if versions
        .iter()
        .enumerate()
        .any(|(index, version)| is_repeated(index, version))
    {
        faults.push(FieldError::invalid_value(
            "spec.versions",
            versions,
            "must contain unique version names",
        ));
    }
    if versions.iter().filter(|version| version.storage).count() != 1 {
        faults.push(FieldError::invalid_value(
            "spec.versions",
            versions,
            "must have exactly one version marked as storage version",
        ));
    }
    if definition.version.is_empty() {
        return;
    }
    let wrong = names::dns_1035_label(&definition.version);
    if !wrong.is_empty() {
        faults.push(FieldError::invalid(
            "spec.version",
            &definition.version,
            wrong.join(","),
        ));
    }
    if versions
        .first()
        .is_some_and(|first| first.name != definition.version)
    {
        faults.push(FieldError::invalid(
            "spec.version",
            &definition.version,
            "must match the first version in spec.versions",
        ));
    }
}

fn required_names(names: &Names, faults: &mut Vec<FieldError>) {
    for (field, name) in [
        ("plural", &names.plural),
        ("singular", &names.singular),
        ("kind", &names.kind),
        ("listKind", &names.list_kind),
    ] {
        if name.is_empty() {
            faults.push(FieldError::required(format!("spec.names.{field}"), ""));
        }
    }
}

fn name_faults(names: &Names, faults: &mut Vec<FieldError>) {
    let mut check = |field: String, name: &str, checked: &str, prefix: &str| {
        let wrong = names::dns_1035_label(checked);
        if !wrong.is_empty() {
            faults.push(FieldError::invalid(
                format!("spec.names.{field}"),
                name,
                format!("{prefix}{}", wrong.join(",")),
            ));
        }
    };
    for (field, name) in [("plural", &names.plural), ("singular", &names.singular)] {
        if !name.is_empty() {
            check(field.to_owned(), name, name, "");
        }
    }
    for (field, name) in [("kind", &names.kind), ("listKind", &names.list_kind)] {
        if !name.is_empty() {
            check(
                field.to_owned(),
                name,
                &name.to_lowercase(),
                "may have mixed case, but should otherwise match: ",
            );
        }
    }
    for (index, name) in names.short_names.iter().enumerate() {
        check(format!("shortNames[{index}]"), name, name, "");
    }
    if !names.kind.is_empty() && names.kind == names.list_kind {
        faults.push(FieldError::invalid(
            "spec.names.listKind",
            &names.list_kind,
            "kind and listKind may not be the same",
        ));
    }
    for (index, category) in names.categories.iter().enumerate() {
        let wrong = names::dns_1035_label(category);
        if !wrong.is_empty() {
            faults.push(FieldError::invalid(
                format!("spec.names.categories[{index}]"),
                category,
                wrong.join(","),
            ));
        }
    }
}

fn subresource_faults(subresources: Option<&Subresources>, field: &str, faults: &mut Vec<FieldError>) {
    let Some(scale) = subresources.and_then(|subresources| subresources.scale.as_ref()) else {
        return;
    };
    for (name, path, root) in [
        ("specReplicasPath", &scale.spec_replicas_path, ".spec"),
        ("statusReplicasPath", &scale.status_replicas_path, ".status"),
    ] {
        let field = format!("{field}.scale.{name}");
        if path.is_empty() {
            faults.push(FieldError::required(field, ""));
        } else if !path.starts_with('.') {
            faults.push(not_a_path(field, path));
        } else if !path.starts_with(&format!("{root}.")) {
            faults.push(FieldError::invalid(
                field,
                path,
                format!("should be a json path under {root}"),
            ));
        }
    }
    let Some(path) = scale.label_selector_path.as_ref().filter(|path| !path.is_empty()) else {
        return;
    };
    let field = format!("{field}.scale.labelSelectorPath");
    if !path.starts_with('.') {
        faults.push(not_a_path(field, path));
    } else if !path.starts_with(".spec.") && !path.starts_with(".status.") {
        faults.push(FieldError::invalid_pointer(
            field,
            path,
            "should be a json path under either .spec or .status",
        ));
    }
}

fn not_a_path(field: String, path: &str) -> FieldError {
    FieldError::invalid(field, path, "must be a simple json path starting with .")
}

fn column_faults(columns: &[Column], field: &str, faults: &mut Vec<FieldError>) {
    for (index, column) in columns.iter().enumerate() {
        let field = format!("{field}[{index}]");
        let types = format!("must be one of {}", COLUMN_TYPES.join(","));
        if column.name.is_empty() {
            faults.push(FieldError::required(format!("{field}.name"), ""));
        }
        if column.kind.is_empty() {
            faults.push(FieldError::required(format!("{field}.type"), types));
        } else if !COLUMN_TYPES.contains(&column.kind.as_str()) {
            faults.push(FieldError::invalid(format!("{field}.type"), &column.kind, types));
        }
        if !column.format.is_empty() && !COLUMN_FORMATS.contains(&column.format.as_str()) {
            faults.push(FieldError::invalid(
                format!("{field}.format"),
                &column.format,
                format!("must be one of {}", COLUMN_FORMATS.join(",")),
            ));
        }
        if column.json_path.is_empty() {
            faults.push(FieldError::required(format!("{field}.JSONPath"), ""));
        } else if !column.json_path.starts_with('.') {
            faults.push(not_a_path(format!("{field}.JSONPath"), &column.json_path));
        }
    }
}

fn top_selectable_faults(definition: &Definition, faults: &mut Vec<FieldError>) {
    const FIELD: &str = "spec.selectableFields";
    if definition.selectable_fields.is_empty() {
        return;
    }
    match &definition.validation {
        None => faults.push(FieldError::invalid(
            FIELD,
            "",
            "may only be set when validations.schema is included",
        )),
        Some(validation) => faults.extend(selectable_fields::faults(
            &definition.selectable_fields,
            validation
                .schema
                .as_ref()
                .filter(|schema| schema.is_convertible()),
            FIELD,
        )),
    }
}

fn approval_faults(definition: &Definition, faults: &mut Vec<FieldError>) {
    let group = definition.group.as_str();
    let is_protected = ["k8s.io", "kubernetes.io"].iter().any(|root| {
        group
            .strip_suffix(root)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    if !is_protected {
        return;
    }
    let field = format!("metadata.annotations[{APPROVAL}]");
    let approval = definition
        .metadata
        .annotations
        .get(APPROVAL)
        .map_or("", String::as_str);
    if approval.is_empty() {
        faults.push(FieldError::required(
            field,
            format!("protected groups must have approval annotation \"{APPROVAL}\", {APPROVAL_RULE}"),
        ));
    } else if !approval.starts_with("unapproved")
        && !Url::parse_request(approval).is_ok_and(|url| !url.host.is_empty() && !url.scheme.is_empty())
    {
        faults.push(FieldError::invalid(
            field,
            approval,
            format!(
                "protected groups must have approval annotation \"{APPROVAL}\" with either a URL or a reason starting \
                 with \"unapproved\", {APPROVAL_RULE}"
            ),
        ));
    }
}
