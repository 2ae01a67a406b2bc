//! Checks of templates and of what they render to.

use std::path::Path;

use bytes::Bytes;
use gotemplate::format::quoted;
use serde_json::Value;

use super::{DEFAULT_KUBERNETES, Findings, LintInput, Render, Severity, deprecations, object_names, require};
use crate::chart::File;
use crate::dependencies::{ActiveChart, activate};
use crate::document;
use crate::field_decoder::FieldDecoder;
use crate::manifest::trim_space;
use crate::values::coalesce;
use crate::warning::WarningSink;
use crate::{loader, schema};

const DIRECTORY: &str = "templates/";

pub(super) fn check(
    directory: &Path,
    input: &LintInput<'_>,
    render: Render<'_>,
    findings: &mut Findings,
    warn: WarningSink<'_>,
) {
    let path = directory.join("templates");
    let is_directory = require(!path.exists() || path.is_dir(), || "not a directory".to_owned());
    if !findings.rule(Severity::Warning, DIRECTORY, is_directory) {
        return;
    }
    let chart = match loader::load(directory, warn) {
        Ok(chart) => chart,
        Err(error) => {
            findings.rule(Severity::Error, DIRECTORY, Err(error.to_string()));
            return;
        }
    };
    // Faults in dependencies and values are not for this check to report.
    let Ok(active) = activate(&chart, input.values, warn) else {
        return;
    };
    let Ok(values) = coalesce(&active, input.values, warn) else {
        return;
    };
    let Ok(values) = coalesce(&active, &values, warn) else {
        return;
    };
    if !input.skip_schema_validation
        && let Err(error) = schema::validate_chart(&active, &values)
    {
        findings.rule(Severity::Error, DIRECTORY, Err(error.to_string()));
        return;
    }
    let rendered = match render(&active, &values) {
        Ok(rendered) => rendered,
        Err(message) => {
            findings.rule(Severity::Error, DIRECTORY, Err(message));
            return;
        }
    };
    for template in active.chart.templates.iter() {
        if check_template(&active, template, &rendered, input, findings).is_none() {
            return;
        }
    }
}

/// Checks one template; nothing comes back when its YAML cannot be read, which ends the check of all.
fn check_template(
    chart: &ActiveChart,
    template: &File,
    rendered: &[(String, Bytes)],
    input: &LintInput<'_>,
    findings: &mut Findings,
) -> Option<()> {
    let path = &template.name;
    let element = path.rsplit('/').next().unwrap_or(path);
    let extension = element.rfind('.').map_or("", |at| &element[at..]);
    findings.rule(
        Severity::Error,
        path,
        require(matches!(extension, ".yaml" | ".yml" | ".tpl" | ".txt"), || {
            format!("file extension '{extension}' not valid. Valid extensions are .yaml, .yml, .tpl, or .txt")
        }),
    );
    findings.rule(Severity::Warning, path, no_crd_hook(&template.data));
    findings.rule(
        Severity::Error,
        path,
        require(memchr::memmem::find(&template.data, b".Release.Time").is_none(), || {
            ".Release.Time has been removed in v3, please replace with the `now` function in your templates".to_owned()
        }),
    );
    if extension != ".yaml" {
        return Some(());
    }
    let name = format!("{}/{path}", chart.name());
    let Some((_, content)) = rendered.iter().find(|(file, _)| *file == name) else {
        return Some(());
    };
    if trim_space(content).is_empty() {
        return Some(());
    }
    findings.rule(Severity::Warning, path, no_indent(content));
    for document in documents(content) {
        let object = match document.and_then(|document| Object::read(&document)) {
            Ok(object) => object,
            Err(message) => {
                findings.rule(
                    Severity::Error,
                    path,
                    Err(format!("unable to parse YAML: {message}")),
                );
                return None;
            }
        };
        if let Some(object) = object {
            check_object(&object, content, path, input, findings);
        }
    }
    Some(())
}

/// Looks for the annotation with which Helm 2 installed definitions.
fn no_crd_hook(data: &[u8]) -> Result<(), String> {
    let is_hook = memchr::memmem::find_iter(data, b"helm.sh/hook").any(|at| {
        let rest = &data[at + b"helm.sh/hook".len()..];
        let rest = rest.strip_prefix(b"\"").unwrap_or(rest);
        let Some(value) = rest.strip_prefix(b":") else {
            return false;
        };
        let trimmed = value.trim_ascii_start();
        trimmed.len() < value.len() && trimmed.starts_with(b"crd-install")
    });
    require(!is_hook, || {
        "manifest is a crd-install hook. This hook is no longer supported in v3 and all CRDs should also exist the \
         crds/ directory at the top level of the chart"
            .to_owned()
    })
}

/// The first line that is not blank must start at the margin.
fn no_indent(content: &Bytes) -> Result<(), String> {
    let text = String::from_utf8_lossy(content);
    let line = text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    require(!line.starts_with([' ', '\t']), || {
        format!(
            "document starts with an illegal indent: {}, which may cause parsing problems",
            quoted(line)
        )
    })
}

/// Cuts a stream at lines that are three hyphens; a comment may follow them, and nothing else.
fn documents(content: &[u8]) -> Vec<Result<Vec<u8>, String>> {
    let mut documents = Vec::new();
    let mut document: Vec<u8> = Vec::new();
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        let Some(rest) = line.strip_prefix(b"---") else {
            document.extend_from_slice(line);
            continue;
        };
        let rest = String::from_utf8_lossy(rest);
        let rest = rest.trim();
        if !rest.is_empty() && !rest.starts_with('#') {
            documents.push(Err(format!("invalid Yaml document separator: {rest}")));
            return documents;
        }
        if !document.is_empty() {
            documents.push(Ok(std::mem::take(&mut document)));
        }
    }
    if !document.is_empty() {
        documents.push(Ok(document));
    }
    documents
}

/// What lint looks at in an object.
#[derive(Default)]
struct Object {
    api_version: String,
    kind: String,
    name: String,
    /// Whether an item of a list has the annotation that only works on objects of their own.
    has_policy_in_list: bool,
}

impl Object {
    /// Reads a document; an empty one is no object.
    fn read(document: &[u8]) -> Result<Option<Self>, String> {
        let value = document::read(document)?;
        if value.is_null() {
            return Ok(None);
        }
        let mut object = Self::default();
        let mut decoder = FieldDecoder::default();
        let names = &["apiVersion", "Kind", "Metadata"];
        decoder.structure(
            &value,
            "K8sYamlStruct",
            "rules.K8sYamlStruct",
            names,
            |decoder, field, item| match field {
                "apiVersion" => decoder.string(item, &mut object.api_version),
                "Kind" => decoder.string(item, &mut object.kind),
                _ => {
                    let names = &["Namespace", "Name"];
                    decoder.structure(
                        item,
                        "k8sYamlMetadata",
                        "rules.k8sYamlMetadata",
                        names,
                        |decoder, field, item| {
                            let mut namespace = String::new();
                            decoder.string(
                                item,
                                if field == "Name" {
                                    &mut object.name
                                } else {
                                    &mut namespace
                                },
                            );
                        },
                    );
                }
            },
        );
        decoder.finish().map_err(document::decoding_error)?;
        object.has_policy_in_list = has_policy_in_list(&value);
        Ok(Some(object))
    }
}

fn has_policy_in_list(value: &Value) -> bool {
    value.get("items").and_then(Value::as_array).is_some_and(|items| {
        items.iter().any(|item| {
            item.pointer("/metadata/annotations/helm.sh~1resource-policy")
                .is_some()
        })
    })
}

fn check_object(object: &Object, content: &[u8], path: &str, input: &LintInput<'_>, findings: &mut Findings) {
    findings.rule(
        Severity::Warning,
        path,
        object_names::check(&object.kind, &object.name),
    );
    let (major, minor) = input.kubernetes.unwrap_or(DEFAULT_KUBERNETES);
    let deprecation = deprecations::warning(&object.api_version, &object.kind, major, minor);
    findings.rule(Severity::Warning, path, deprecation.map_or(Ok(()), Err));
    let needs_selector = matches!(
        object.kind.as_str(),
        "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet"
    );
    let has = |text: &[u8]| memchr::memmem::find(content, text).is_some();
    findings.rule(
        Severity::Error,
        path,
        require(
            !needs_selector || has(b"matchLabels") || has(b"matchExpressions"),
            || {
                format!(
                    "a {} must contain matchLabels or matchExpressions, and {} does not",
                    object.kind,
                    quoted(&object.name)
                )
            },
        ),
    );
    findings.rule(
        Severity::Error,
        path,
        require(object.kind != "List" || !object.has_policy_in_list, || {
            "Annotation 'helm.sh/resource-policy' within List objects are ignored".to_owned()
        }),
    );
}
