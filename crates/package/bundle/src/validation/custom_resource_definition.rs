//! `CustomResourceDefinitions`, checked as the Kubernetes API server checks a new one.
//!
//! Both versions of the API are read into what the server works with: what `v1` says of every version alike moves to the
//! top, and what `v1beta1` leaves out is filled in. Faults inside schemas and in the status are not upstream's concern
//! here, so they aren't looked for.

mod conversion;
mod rules;
mod schema;
mod selectable_fields;

use goyaml::go_struct;
use serde_json::Value;

use self::conversion::{Conversion, ConversionV1, ConversionV1beta1};
use self::schema::Schema;
use super::finding::{Finding, Outcome};
use super::manifest;
use super::object_metadata::ObjectMetadata;
use super::printed::printed_struct;

/// The API version of today's definitions.
pub(super) const V1: &str = "apiextensions.k8s.io/v1";
/// The API version of definitions before Kubernetes 1.16, which 1.22 removed.
pub(super) const V1BETA1: &str = "apiextensions.k8s.io/v1beta1";

/// A definition as the API server works with it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Definition {
    pub(super) metadata: ObjectMetadata,
    pub(super) group: String,
    /// The deprecated field for a single version.
    pub(super) version: String,
    pub(super) names: Names,
    scope: String,
    validation: Option<Validation>,
    subresources: Option<Subresources>,
    pub(super) versions: Vec<Version>,
    columns: Vec<Column>,
    selectable_fields: Vec<SelectableField>,
    conversion: Option<Conversion>,
    preserve_unknown_fields: Option<bool>,
    /// The single version as it was written, which only `v1beta1` has.
    pub(super) written_version: String,
    /// The versions as they were written: `v1beta1` may name none.
    pub(super) written_versions: Vec<String>,
}

/// The names of a custom resource.
#[expect(clippy::struct_field_names, reason = "the API calls them so")]
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Names {
    plural: String,
    singular: String,
    short_names: Vec<String>,
    pub(super) kind: String,
    list_kind: String,
    categories: Vec<String>,
}
go_struct!(Names, "v1.CustomResourceDefinitionNames", {
    "plural" => plural, "singular" => singular, "shortNames" => short_names, "kind" => kind,
    "listKind" => list_kind, "categories" => categories,
});

/// One version of a custom resource.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Version {
    pub(super) name: String,
    served: bool,
    storage: bool,
    deprecated: bool,
    deprecation_warning: Option<String>,
    schema: Option<Validation>,
    subresources: Option<Subresources>,
    columns: Vec<Column>,
    selectable_fields: Vec<SelectableField>,
}
go_struct!(Version, "v1.CustomResourceDefinitionVersion", {
    "name" => name, "served" => served, "storage" => storage, "deprecated" => deprecated,
    "deprecationWarning" => deprecation_warning, "schema" => schema, "subresources" => subresources,
    "additionalPrinterColumns" => columns, "selectableFields" => selectable_fields,
});
printed_struct!(Version, {
    "Name" => name, "Served" => served, "Storage" => storage, "Deprecated" => deprecated,
    "DeprecationWarning" => deprecation_warning, "Schema" => schema, "Subresources" => subresources,
    "AdditionalPrinterColumns" => columns, "SelectableFields" => selectable_fields,
});

/// What a custom resource must look like.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Validation {
    schema: Option<Schema>,
}
go_struct!(Validation, "v1.CustomResourceValidation", { "openAPIV3Schema" => schema });
printed_struct!(Validation, { "OpenAPIV3Schema" => schema });

/// Parts of a custom resource with an address of their own.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Subresources {
    status: Option<StatusSubresource>,
    scale: Option<Scale>,
}
go_struct!(Subresources, "v1.CustomResourceSubresources", { "status" => status, "scale" => scale });
printed_struct!(Subresources, { "Status" => status, "Scale" => scale });

/// That the status has an address of its own.
#[derive(Debug, Clone, Default, PartialEq)]
struct StatusSubresource {}
go_struct!(StatusSubresource, "v1.CustomResourceSubresourceStatus", {});
printed_struct!(StatusSubresource, {});

/// Where a custom resource keeps its number of replicas.
#[expect(clippy::struct_field_names, reason = "the API calls them so")]
#[derive(Debug, Clone, Default, PartialEq)]
struct Scale {
    spec_replicas_path: String,
    status_replicas_path: String,
    label_selector_path: Option<String>,
}
go_struct!(Scale, "v1.CustomResourceSubresourceScale", {
    "specReplicasPath" => spec_replicas_path, "statusReplicasPath" => status_replicas_path,
    "labelSelectorPath" => label_selector_path,
});
printed_struct!(Scale, {
    "SpecReplicasPath" => spec_replicas_path, "StatusReplicasPath" => status_replicas_path,
    "LabelSelectorPath" => label_selector_path,
});

/// A column in the tables that kubectl prints.
#[derive(Debug, Clone, Default, PartialEq)]
struct Column {
    name: String,
    kind: String,
    format: String,
    description: String,
    priority: i32,
    json_path: String,
}
go_struct!(Column, "v1.CustomResourceColumnDefinition", {
    "name" => name, "type" => kind, "format" => format, "description" => description, "priority" => priority,
    "jsonPath" => json_path,
});
printed_struct!(Column, {
    "Name" => name, "Type" => kind, "Format" => format, "Description" => description, "Priority" => priority,
    "JSONPath" => json_path,
});

/// A field that custom resources can be selected by.
#[derive(Debug, Clone, Default, PartialEq)]
struct SelectableField {
    json_path: String,
}
go_struct!(SelectableField, "v1.SelectableField", { "jsonPath" => json_path });
printed_struct!(SelectableField, { "JSONPath" => json_path });

/// A definition as `apiextensions.k8s.io/v1` has it.
#[derive(Debug, Clone, Default)]
struct WrittenV1 {
    api_version: String,
    kind: String,
    metadata: ObjectMetadata,
    spec: SpecV1,
}
go_struct!(WrittenV1, "v1.CustomResourceDefinition", {
    "apiVersion" => api_version in "TypeMeta", "kind" => kind in "TypeMeta", "metadata" => metadata, "spec" => spec,
});

#[derive(Debug, Clone, Default)]
struct SpecV1 {
    group: String,
    names: Names,
    scope: String,
    versions: Vec<Version>,
    conversion: Option<ConversionV1>,
    preserve_unknown_fields: bool,
}
go_struct!(SpecV1, "v1.CustomResourceDefinitionSpec", {
    "group" => group, "names" => names, "scope" => scope as "v1.ResourceScope", "versions" => versions,
    "conversion" => conversion, "preserveUnknownFields" => preserve_unknown_fields,
});

/// A definition as `apiextensions.k8s.io/v1beta1` has it.
#[derive(Debug, Clone, Default)]
struct WrittenV1beta1 {
    api_version: String,
    kind: String,
    metadata: ObjectMetadata,
    spec: SpecV1beta1,
}
go_struct!(WrittenV1beta1, "v1beta1.CustomResourceDefinition", {
    "apiVersion" => api_version in "TypeMeta", "kind" => kind in "TypeMeta", "metadata" => metadata, "spec" => spec,
});

#[derive(Debug, Clone, Default)]
struct SpecV1beta1 {
    group: String,
    version: String,
    names: Names,
    scope: String,
    validation: Option<Validation>,
    subresources: Option<Subresources>,
    versions: Vec<Version>,
    columns: Vec<Column>,
    selectable_fields: Vec<SelectableField>,
    conversion: Option<ConversionV1beta1>,
    preserve_unknown_fields: Option<bool>,
}
go_struct!(SpecV1beta1, "v1beta1.CustomResourceDefinitionSpec", {
    "group" => group, "version" => version, "names" => names, "scope" => scope as "v1beta1.ResourceScope",
    "validation" => validation, "subresources" => subresources, "versions" => versions,
    "additionalPrinterColumns" => columns, "selectableFields" => selectable_fields, "conversion" => conversion,
    "preserveUnknownFields" => preserve_unknown_fields,
});

impl Definition {
    /// Reads a definition of `apiextensions.k8s.io/v1`.
    ///
    /// # Errors
    ///
    /// The first field that doesn't fit, in the words of sigs.k8s.io/yaml.
    pub(super) fn read_v1(object: &Value) -> Result<Self, String> {
        let WrittenV1 { metadata, spec, .. } = manifest::typed(object)?;
        let mut definition = Self {
            metadata,
            group: spec.group,
            names: with_default_names(spec.names),
            scope: spec.scope,
            written_versions: names_of(&spec.versions),
            versions: spec.versions,
            conversion: Some(spec.conversion.map_or_else(Conversion::none, Conversion::from_v1)),
            preserve_unknown_fields: Some(spec.preserve_unknown_fields),
            ..Self::default()
        };
        definition.lift_what_all_versions_share();
        Ok(definition)
    }

    /// Reads a definition of `apiextensions.k8s.io/v1beta1`, with the defaults that it had.
    ///
    /// # Errors
    ///
    /// The first field that doesn't fit, in the words of sigs.k8s.io/yaml.
    pub(super) fn read_v1beta1(object: &Value) -> Result<Self, String> {
        let WrittenV1beta1 { metadata, spec, .. } = manifest::typed(object).map_err(|text: String| {
            text.replace(" of type v1.", " of type v1beta1.")
                .replace("[]v1.", "[]v1beta1.")
        })?;
        let written_versions = names_of(&spec.versions);
        let mut versions = spec.versions;
        let written_version = spec.version.clone();
        let mut version = spec.version;
        if versions.is_empty() && !version.is_empty() {
            versions.push(Version {
                name: version.clone(),
                storage: true,
                served: true,
                ..Version::default()
            });
        }
        if version.is_empty()
            && let Some(first) = versions.first()
        {
            version.clone_from(&first.name);
        }
        Ok(Self {
            metadata,
            group: spec.group,
            version,
            names: with_default_names(spec.names),
            scope: if spec.scope.is_empty() {
                "Namespaced".to_owned()
            } else {
                spec.scope
            },
            validation: spec.validation,
            subresources: spec.subresources,
            versions,
            columns: spec.columns,
            selectable_fields: spec.selectable_fields,
            conversion: Some(
                spec.conversion
                    .map_or_else(Conversion::none, Conversion::from_v1beta1),
            ),
            preserve_unknown_fields: Some(spec.preserve_unknown_fields.unwrap_or(true)),
            written_version,
            written_versions,
        })
    }

    /// Moves what every version says alike to the top, and takes it from the versions.
    fn lift_what_all_versions_share(&mut self) {
        let Some(first) = self.versions.first().cloned() else {
            return;
        };
        self.version.clone_from(&first.name);
        macro_rules! lift {
            ($field:ident => $top:ident) => {
                if self
                    .versions
                    .iter()
                    .all(|version| version.$field == first.$field)
                {
                    self.$top = first.$field;
                    for version in &mut self.versions {
                        version.$field = Default::default();
                    }
                }
            };
        }
        lift!(subresources => subresources);
        lift!(schema => validation);
        lift!(columns => columns);
        lift!(selectable_fields => selectable_fields);
    }

    /// What the API server says against the definition.
    pub(super) fn outcome(&self) -> Outcome {
        let findings: Vec<Finding> = rules::faults(self)
            .into_iter()
            .filter(|fault| !fault.field.contains("openAPIV3Schema") && !fault.field.contains("status"))
            .map(super::field_error::FieldError::into_finding)
            .collect();
        let mut outcome = Outcome::default();
        if !findings.is_empty() {
            outcome.name.clone_from(&self.metadata.name);
        }
        outcome.extend(findings);
        outcome
    }
}

fn names_of(versions: &[Version]) -> Vec<String> {
    versions.iter().map(|version| version.name.clone()).collect()
}

fn with_default_names(mut names: Names) -> Names {
    if names.singular.is_empty() {
        names.singular = names.kind.to_lowercase();
    }
    if names.list_kind.is_empty() && !names.kind.is_empty() {
        names.list_kind = format!("{}List", names.kind);
    }
    names
}
