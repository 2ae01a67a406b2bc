//! `Chart.yaml`: what a chart says about itself.

use std::collections::BTreeMap;

use gotemplate::format::{is_print, quoted};
use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

use crate::field_decoder::FieldDecoder;

/// The `apiVersion` of charts that Helm 2 also reads.
pub const API_VERSION_V1: &str = "v1";
/// The `apiVersion` of charts that declare their dependencies in `Chart.yaml`.
pub const API_VERSION_V2: &str = "v2";

/// Everything that `Chart.yaml` may say.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The name of the chart.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The address of the project's page.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub home: String,
    /// Addresses of the source code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The semantic version of the chart.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// One sentence about the chart.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Words to find the chart by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// Who looks after the chart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub maintainers: Vec<Maintainer>,
    /// The address of an icon.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub icon: String,
    /// The version of the chart format, `v1` or `v2`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// A value path that enables the chart; kept for its readers, unused by Helm.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// Tags of the chart; kept for its readers, unused by Helm.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tags: String,
    /// The version of the application in the chart.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub app_version: String,
    /// Whether the chart should no longer be used.
    #[serde(skip_serializing_if = "is_false")]
    pub deprecated: bool,
    /// Free-form notes for other programs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// The range of Kubernetes versions that the chart works with.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kube_version: String,
    /// The charts that this one needs. Absent and empty differ: only a chart that has the list processes its subcharts.
    #[serde(skip_serializing_if = "is_none_or_empty")]
    pub dependencies: Option<Vec<Dependency>>,
    /// `application`, `library`, or nothing, which means application.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub chart_type: String,
    #[serde(skip)]
    null_nodes: NullNodes,
}

/// Where a list had `null` for an element, which only validation complains about.
#[derive(Clone, Debug, Default, PartialEq)]
struct NullNodes {
    maintainers: bool,
    /// How many dependencies stand before the first `null`.
    dependencies_before: Option<usize>,
}

/// A person or organisation that looks after a chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Maintainer {
    /// Their name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Where to write to them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub email: String,
    /// Where to read about them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub url: String,
}

/// A chart that another one needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Dependency {
    /// The name in the needed chart's own `Chart.yaml`.
    pub name: String,
    /// A version or a range of versions.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Where it comes from.
    pub repository: String,
    /// Value paths, separated by commas; the first that is a boolean decides whether the chart is used.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// Tags that switch the chart on and off together with others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Whether the chart is used; computed from tags and conditions.
    #[serde(skip_serializing_if = "is_false")]
    pub enabled: bool,
    /// Values that the parent takes over: names below `exports`, or pairs of `child` and `parent` paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub import_values: Vec<Value>,
    /// The name under which the chart is used.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub alias: String,
}

/// Metadata that breaks a rule.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("validation: {0}")]
pub struct InvalidMetadata(String);

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn is_none_or_empty(list: &Option<Vec<Dependency>>) -> bool {
    list.as_ref().is_none_or(Vec::is_empty)
}

impl Metadata {
    /// Reads a decoded `Chart.yaml` (or `requirements.yaml`) over what is there already, by Go's rules.
    ///
    /// The error is Go's text of the first field that does not fit; the others are read all the same.
    pub fn decode(&mut self, value: &Value) -> Result<(), String> {
        const FIELDS: &[&str] = &[
            "name",
            "home",
            "sources",
            "version",
            "description",
            "keywords",
            "maintainers",
            "icon",
            "apiVersion",
            "condition",
            "tags",
            "appVersion",
            "deprecated",
            "annotations",
            "kubeVersion",
            "dependencies",
            "type",
        ];
        let mut decoder = FieldDecoder::default();
        decoder.structure(
            value,
            "Metadata",
            "chart.Metadata",
            FIELDS,
            |decoder, field, item| match field {
                "name" => decoder.string(item, &mut self.name),
                "home" => decoder.string(item, &mut self.home),
                "sources" => decoder.strings(item, &mut self.sources),
                "version" => decoder.string(item, &mut self.version),
                "description" => decoder.string(item, &mut self.description),
                "keywords" => decoder.strings(item, &mut self.keywords),
                "maintainers" => self.decode_maintainers(decoder, item),
                "icon" => decoder.string(item, &mut self.icon),
                "apiVersion" => decoder.string(item, &mut self.api_version),
                "condition" => decoder.string(item, &mut self.condition),
                "tags" => decoder.string(item, &mut self.tags),
                "appVersion" => decoder.string(item, &mut self.app_version),
                "deprecated" => decoder.boolean(item, &mut self.deprecated),
                "annotations" => decoder.string_map(item, &mut self.annotations),
                "kubeVersion" => decoder.string(item, &mut self.kube_version),
                "dependencies" => self.decode_dependencies(decoder, item),
                _ => decoder.string(item, &mut self.chart_type),
            },
        );
        decoder.finish()
    }

    fn decode_maintainers(&mut self, decoder: &mut FieldDecoder, value: &Value) {
        let mut list = Some(
            std::mem::take(&mut self.maintainers)
                .into_iter()
                .map(Some)
                .collect::<Vec<_>>(),
        );
        decoder.list(
            value,
            "[]*chart.Maintainer",
            &mut list,
            |decoder, item, slot: &mut Option<Maintainer>| {
                if item.is_null() {
                    *slot = None;
                } else {
                    slot.get_or_insert_default().decode(decoder, item);
                }
            },
        );
        let list = list.unwrap_or_default();
        self.null_nodes.maintainers = list.iter().any(Option::is_none);
        self.maintainers = list.into_iter().flatten().collect();
    }

    fn decode_dependencies(&mut self, decoder: &mut FieldDecoder, value: &Value) {
        let mut list = self
            .dependencies
            .take()
            .map(|list| list.into_iter().map(Some).collect::<Vec<_>>());
        decode_dependency_list(decoder, value, &mut list);
        self.null_nodes.dependencies_before = list
            .as_ref()
            .and_then(|list| list.iter().position(Option::is_none));
        self.dependencies = list.map(|list| list.into_iter().flatten().collect());
    }

    /// Cleans the strings that people read, and checks what Helm requires of every chart that it loads.
    pub fn validate(&mut self) -> Result<(), InvalidMetadata> {
        for text in [
            &mut self.name,
            &mut self.description,
            &mut self.home,
            &mut self.icon,
            &mut self.condition,
            &mut self.tags,
            &mut self.app_version,
            &mut self.kube_version,
        ]
        .into_iter()
        .chain(&mut self.sources)
        .chain(&mut self.keywords)
        {
            sanitize(text);
        }
        if self.api_version.is_empty() {
            return Err(InvalidMetadata(
                "chart.metadata.apiVersion is required".to_owned(),
            ));
        }
        if self.name.is_empty() {
            return Err(InvalidMetadata("chart.metadata.name is required".to_owned()));
        }
        if base_name(&self.name) != self.name {
            return Err(InvalidMetadata(format!(
                "chart.metadata.name {} is invalid",
                quoted(&self.name)
            )));
        }
        if self.version.is_empty() {
            return Err(InvalidMetadata("chart.metadata.version is required".to_owned()));
        }
        if !crate::compatibility::is_semantic_version(&self.version) {
            return Err(InvalidMetadata(format!(
                "chart.metadata.version {} is invalid",
                quoted(&self.version)
            )));
        }
        if !matches!(self.chart_type.as_str(), "" | "application" | "library") {
            return Err(InvalidMetadata(
                "chart.metadata.type must be application or library".to_owned(),
            ));
        }
        if self.null_nodes.maintainers {
            return Err(InvalidMetadata(
                "maintainers must not contain empty or null nodes".to_owned(),
            ));
        }
        for maintainer in &mut self.maintainers {
            for text in [&mut maintainer.name, &mut maintainer.email, &mut maintainer.url] {
                sanitize(text);
            }
        }
        self.validate_dependencies()
    }

    fn validate_dependencies(&mut self) -> Result<(), InvalidMetadata> {
        let null_at = self.null_nodes.dependencies_before;
        let list = self.dependencies.as_deref_mut().unwrap_or_default();
        let mut seen = std::collections::HashSet::new();
        for index in 0..=list.len() {
            if null_at == Some(index) {
                return Err(InvalidMetadata(
                    "dependencies must not contain empty or null nodes".to_owned(),
                ));
            }
            let Some(dependency) = list.get_mut(index) else {
                break;
            };
            dependency.validate()?;
            let key = if dependency.alias.is_empty() {
                &dependency.name
            } else {
                &dependency.alias
            };
            if !seen.insert(key.clone()) {
                return Err(InvalidMetadata(format!(
                    "more than one dependency with name or alias {}",
                    quoted(key)
                )));
            }
        }
        Ok(())
    }

    /// Tells whether the chart may be installed; library charts may not.
    pub fn is_installable(&self) -> bool {
        matches!(self.chart_type.as_str(), "" | "application")
    }
}

impl Maintainer {
    fn decode(&mut self, decoder: &mut FieldDecoder, value: &Value) {
        let names = &["name", "email", "url"];
        decoder.structure(
            value,
            "Maintainer",
            "chart.Maintainer",
            names,
            |decoder, field, item| match field {
                "name" => decoder.string(item, &mut self.name),
                "email" => decoder.string(item, &mut self.email),
                _ => decoder.string(item, &mut self.url),
            },
        );
    }
}

impl Dependency {
    fn decode(&mut self, decoder: &mut FieldDecoder, value: &Value) {
        const FIELDS: &[&str] = &[
            "name",
            "version",
            "repository",
            "condition",
            "tags",
            "enabled",
            "import-values",
            "alias",
        ];
        decoder.structure(
            value,
            "Dependency",
            "chart.Dependency",
            FIELDS,
            |decoder, field, item| match field {
                "name" => decoder.string(item, &mut self.name),
                "version" => decoder.string(item, &mut self.version),
                "repository" => decoder.string(item, &mut self.repository),
                "condition" => decoder.string(item, &mut self.condition),
                "tags" => decoder.strings(item, &mut self.tags),
                "enabled" => decoder.boolean(item, &mut self.enabled),
                "import-values" => match item {
                    Value::Null => self.import_values.clear(),
                    Value::Array(items) => self.import_values.clone_from(items),
                    _ => decoder.mismatch(item, "[]interface {}"),
                },
                _ => decoder.string(item, &mut self.alias),
            },
        );
    }

    fn validate(&mut self) -> Result<(), InvalidMetadata> {
        for text in [
            &mut self.name,
            &mut self.version,
            &mut self.repository,
            &mut self.condition,
        ]
        .into_iter()
        .chain(&mut self.tags)
        {
            sanitize(text);
        }
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if !self.alias.bytes().all(legal) {
            return Err(InvalidMetadata(format!(
                "dependency {} has disallowed characters in the alias",
                quoted(&self.name)
            )));
        }
        Ok(())
    }
}

/// Decodes a list of dependencies; also the one of a lock file.
pub(crate) fn decode_dependency_list(
    decoder: &mut FieldDecoder,
    value: &Value,
    list: &mut Option<Vec<Option<Dependency>>>,
) {
    decoder.list(
        value,
        "[]*chart.Dependency",
        list,
        |decoder, item, slot: &mut Option<Dependency>| {
            if item.is_null() {
                *slot = None;
            } else {
                slot.get_or_insert_default().decode(decoder, item);
            }
        },
    );
}

/// Turns every kind of space into the plain one and drops what cannot be printed.
fn sanitize(text: &mut String) {
    let is_space = |character: char| {
        matches!(character, '\t'..='\r' | ' ' | '\u{85}' | '\u{a0}') || character.is_whitespace()
    };
    if text.chars().all(is_print) {
        return;
    }
    *text = text
        .chars()
        .map(|character| if is_space(character) { ' ' } else { character })
        .filter(|character| is_print(*character))
        .collect();
}

/// The last element of a slash-separated path, as Go's `filepath.Base` gives it.
pub(crate) fn base_name(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() {
        "/"
    } else {
        trimmed.rsplit('/').next().unwrap_or(trimmed)
    }
}
