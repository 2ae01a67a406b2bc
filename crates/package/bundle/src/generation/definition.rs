//! The `CustomResourceDefinition` of a chart: its spec is the chart's values, its status what the operator reports.

use serde_json::{Map, Value, json};

use super::error::GenerationError;
use super::kinds::plural_of_new_kind;
use super::project::{Project, Watched};
use super::structural::structural;
use super::watches::{OPERATOR_VERSION_LABEL, Watch};

/// The definition of a watched kind.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    /// The plural name.
    pub plural: String,
    /// Whether the custom resources live in namespaces.
    pub namespaced: bool,
    /// The whole object.
    pub object: Value,
}

impl Definition {
    /// The author's definition of a watched kind, or one made from the chart.
    pub(super) fn of(project: &Project, watched: &Watched) -> Result<Self, GenerationError> {
        let watch = &watched.watch;
        let written = project.definitions.iter().find(|(_, definition)| {
            let is = |pointer: &str, value: &str| {
                definition.pointer(pointer).and_then(Value::as_str) == Some(value)
            };
            is("/spec/group", &watch.group) && is("/spec/names/kind", &watch.kind)
        });
        match written {
            Some((file, object)) => Self::written(file, object, watch),
            None => Ok(Self::made(watched)),
        }
    }

    fn written(file: &str, object: &Value, watch: &Watch) -> Result<Self, GenerationError> {
        let versions = object.pointer("/spec/versions").and_then(Value::as_array);
        let serves = versions.into_iter().flatten().any(|version| {
            version.get("name").and_then(Value::as_str) == Some(&watch.version)
                && version.get("served") == Some(&Value::Bool(true))
        });
        if !serves {
            return Err(GenerationError::DefinitionNotServed {
                file: file.to_owned(),
                kind: watch.kind.clone(),
                version: watch.version.clone(),
            });
        }
        let mut object = object.clone();
        if let Some(object) = object.as_object_mut() {
            object.remove("status");
            if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
                metadata.remove("creationTimestamp");
            }
        }
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let plural =
            text("/spec/names/plural").map_or_else(|| plural_of_new_kind(&watch.kind), str::to_owned);
        let namespaced = text("/spec/scope") != Some("Cluster");
        Ok(Self {
            plural,
            namespaced,
            object,
        })
    }

    fn made(watched: &Watched) -> Self {
        let (watch, chart) = (&watched.watch, &watched.chart);
        let plural = plural_of_new_kind(&watch.kind);
        let mut columns = vec![
            column(
                "Deployed",
                "string",
                r#".status.conditions[?(@.type=="Deployed")].status"#,
            ),
            column(
                "Reason",
                "string",
                r#".status.conditions[?(@.type=="Deployed")].reason"#,
            ),
        ];
        if watch.match_labels.contains_key(OPERATOR_VERSION_LABEL) {
            columns.push(column(
                "Operator",
                "string",
                &format!(".metadata.labels.{OPERATOR_VERSION_LABEL}"),
            ));
        }
        columns.push(column("Age", "date", ".metadata.creationTimestamp"));
        let about = if chart.metadata.description.is_empty() {
            format!("{} is kept by the chart {}.", watch.kind, chart.name())
        } else {
            format!(
                "{}: {}.",
                watch.kind,
                chart.metadata.description.trim_end_matches('.')
            )
        };
        let object = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{}", watch.group)},
            "spec": {
                "group": watch.group,
                "names": {
                    "kind": watch.kind,
                    "listKind": format!("{}List", watch.kind),
                    "plural": plural,
                    "singular": watch.kind.to_lowercase(),
                },
                "scope": "Namespaced",
                "versions": [{
                    "additionalPrinterColumns": columns,
                    "name": watch.version,
                    "schema": {"openAPIV3Schema": {
                        "description": about,
                        "properties": {
                            "apiVersion": {
                                "description": "The version of the schema that this object is written in.",
                                "type": "string",
                            },
                            "kind": {
                                "description": "The kind of object that this is.",
                                "type": "string",
                            },
                            "metadata": {"type": "object"},
                            "spec": spec_schema(watched),
                            "status": status_schema(),
                        },
                        "type": "object",
                    }},
                    "served": true,
                    "storage": true,
                    "subresources": {"status": {}},
                }],
            },
        });
        Self {
            plural,
            namespaced: true,
            object,
        }
    }

    /// The schema of the spec, as the API server will know it.
    pub(super) fn spec_schema(&self, version: &str) -> Option<&Map<String, Value>> {
        let versions = self.object.pointer("/spec/versions")?.as_array()?;
        let version = versions
            .iter()
            .find(|known| known.get("name").and_then(Value::as_str) == Some(version))?;
        version
            .pointer("/schema/openAPIV3Schema/properties/spec")?
            .as_object()
    }

    /// The name of its file in a bundle.
    pub(super) fn file_name(&self, group: &str) -> String {
        format!("{group}_{}.yaml", self.plural)
    }
}

fn column(name: &str, kind: &str, path: &str) -> Value {
    json!({"jsonPath": path, "name": name, "type": kind})
}

fn spec_schema(watched: &Watched) -> Value {
    let chart = &watched.chart;
    let about = format!("The values of the chart {}.", chart.name());
    let schema = chart
        .schema
        .as_ref()
        .and_then(|schema| serde_json::from_slice::<Value>(schema).ok());
    let Some(schema) = schema else {
        return json!({"description": about, "type": "object", "x-kubernetes-preserve-unknown-fields": true});
    };
    let defaults = chart.values.as_deref().cloned().map(Value::Object);
    let mut converted = structural(&schema, defaults.as_ref());
    if let Some(object) = converted.as_object_mut() {
        object.remove("title");
        object.entry("description").or_insert_with(|| about.into());
        // Values for subcharts, and `global`, need not be in the chart's own schema.
        if !chart.dependencies.is_empty() {
            object.insert("x-kubernetes-preserve-unknown-fields".into(), true.into());
        }
    }
    converted
}

fn status_schema() -> Value {
    let text = |about: &str| json!({"description": about, "type": "string"});
    json!({
        "description": "What the operator has made of the spec.",
        "properties": {
            "conditions": {
                "description": "How it goes: Initialized, Deployed, ReleaseFailed, Irreconcilable.",
                "items": {
                    "properties": {
                        "lastTransitionTime": {
                            "description": "When the status last changed.",
                            "format": "date-time",
                            "nullable": true,
                            "type": "string",
                        },
                        "message": text("What happened, in words."),
                        "reason": text("What happened, in one word."),
                        "status": text("True, False or Unknown."),
                        "type": text("What the condition is about."),
                    },
                    "required": ["status", "type"],
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": true,
                },
                "type": "array",
            },
            "deployedRelease": {
                "description": "The release that is deployed.",
                "nullable": true,
                "properties": {
                    "manifest": text("The objects of the release, as they were rendered."),
                    "name": text("The name of the release."),
                },
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": true,
            },
        },
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
    })
}
