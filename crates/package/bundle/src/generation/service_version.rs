//! The `ClusterServiceVersion`: what the operator is, what it runs and what it may do.

use base64::Engine as _;
use serde_json::{Map, Value, json};

use super::definition::Definition;
use super::deployment::deployment;
use super::error::GenerationError;
use super::examples::examples;
use super::kinds::version_of;
use super::options::{Definitions, Names, Options};
use super::permissions::{Derivation, PolicyRule};
use super::project::{Project, Watched};
use super::watches::Watch;

/// What is said to have made the bundle. It has no version, so that another version of baton makes the same bundle.
pub(super) const BUILDER: &str = "baton";

/// The layout of trees that have a `watches.yaml` and charts.
pub(super) const PROJECT_LAYOUT: &str = "helm.sdk.operatorframework.io/v1";

/// A watched kind with everything that was found out about it.
pub(super) struct Kept<'a> {
    /// What the tree has.
    pub watched: &'a Watched,
    /// The watch, with the labels for this version.
    pub watch: &'a Watch,
    /// Its definition.
    pub definition: Definition,
    /// What its chart needs.
    pub derivation: Derivation,
}

/// Everything that a `ClusterServiceVersion` is made of.
pub(super) struct Parts<'a> {
    /// The author's tree.
    pub project: &'a Project,
    /// What the author asked for.
    pub options: &'a Options,
    /// The names of the objects.
    pub names: &'a Names,
    /// The kinds.
    pub kept: &'a [Kept<'a>],
    /// All permissions together.
    pub derivation: &'a Derivation,
}

impl Parts<'_> {
    /// Makes the `ClusterServiceVersion`; `created_at` is the time that it names.
    pub(super) fn service_version(&self, created_at: &str) -> Result<Value, GenerationError> {
        let version = self.options.parsed_version()?;
        let mut object = self.project.base.clone().unwrap_or_else(|| json!({}));
        if !object.is_object() {
            object = json!({});
        }
        let base_metadata = object
            .get("metadata")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        let base_spec = object
            .get("spec")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        let spec = self.spec(base_spec, &version)?;
        Ok(json!({
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "ClusterServiceVersion",
            "metadata": self.metadata(base_metadata, &self.names.service_version(&version), created_at)?,
            "spec": spec,
        }))
    }

    fn metadata(
        &self,
        base: Map<String, Value>,
        name: &str,
        created_at: &str,
    ) -> Result<Value, GenerationError> {
        let mut metadata = base;
        let mut annotations = take_object(&mut metadata, "annotations");
        annotations.insert("alm-examples".into(), self.examples()?.into());
        annotations
            .entry("capabilities")
            .or_insert_with(|| "Basic Install".into());
        annotations.insert("containerImage".into(), self.options.image.clone().into());
        annotations.insert("createdAt".into(), created_at.into());
        annotations.insert("operators.operatorframework.io/builder".into(), BUILDER.into());
        annotations.insert(
            "operators.operatorframework.io/project_layout".into(),
            PROJECT_LAYOUT.into(),
        );
        let mut labels = take_object(&mut metadata, "labels");
        if !self.options.architectures.is_empty() {
            labels.insert("operatorframework.io/os.linux".into(), "supported".into());
        }
        for architecture in &self.options.architectures {
            labels.insert(
                format!("operatorframework.io/arch.{architecture}"),
                "supported".into(),
            );
        }
        metadata.remove("creationTimestamp");
        metadata.insert("annotations".into(), Value::Object(annotations));
        if !labels.is_empty() {
            metadata.insert("labels".into(), Value::Object(labels));
        }
        metadata.insert("name".into(), name.into());
        metadata.insert("namespace".into(), "placeholder".into());
        Ok(Value::Object(metadata))
    }

    /// The examples as JSON; none where the bundle doesn't bring the kinds, because then they would be strangers.
    fn examples(&self) -> Result<String, GenerationError> {
        let examples: Vec<Value> = match self.options.definitions {
            Definitions::Separate => Vec::new(),
            Definitions::InBundle => self
                .kept
                .iter()
                .flat_map(|kept| examples(self.project, kept.watched, kept.watch))
                .collect(),
        };
        if examples.is_empty() {
            return Ok("[]".to_owned());
        }
        goyaml::json::to_string_pretty(&examples, "  ", goyaml::json::Escape::None).map_err(|error| {
            GenerationError::Write {
                file: "alm-examples".to_owned(),
                cause: error.to_string(),
            }
        })
    }

    fn spec(&self, base: Map<String, Value>, version: &version::Version) -> Result<Value, GenerationError> {
        let mut spec = base;
        let chart = self.kept.first().map(|kept| &kept.watched.chart.metadata);
        let title = in_words(&self.names.package, true);
        fill(&mut spec, "displayName", || Some(title.clone().into()));
        fill(&mut spec, "description", || {
            let described = chart
                .map(|chart| chart.description.trim().to_owned())
                .filter(|text| !text.is_empty());
            let described = described
                .map(|text| format!("{}. ", text.trim_end_matches('.')))
                .unwrap_or_default();
            let kinds: Vec<&str> = self.kept.iter().map(|kept| kept.watch.kind.as_str()).collect();
            Some(
                format!(
                    "{described}Keeps what custom resources of kind {} ask for.",
                    kinds.join(" and ")
                )
                .into(),
            )
        });
        fill(&mut spec, "keywords", || {
            let keywords = chart
                .map(|chart| chart.keywords.clone())
                .filter(|keywords| !keywords.is_empty());
            Some(json!(
                keywords.unwrap_or_else(|| vec![self.names.package.clone()])
            ))
        });
        fill(&mut spec, "links", || {
            let chart = chart?;
            let mut links = Vec::new();
            if !chart.home.is_empty() {
                links.push(json!({"name": title, "url": chart.home}));
            }
            for source in &chart.sources {
                links.push(json!({"name": "Sources", "url": source}));
            }
            (!links.is_empty()).then_some(Value::Array(links))
        });
        fill(&mut spec, "maintainers", || {
            let maintainers = chart?.maintainers.iter();
            let known: Vec<Value> = maintainers
                .filter(|person| !person.name.is_empty() && !person.email.is_empty())
                .map(|person| json!({"email": person.email, "name": person.name}))
                .collect();
            (!known.is_empty()).then_some(Value::Array(known))
        });
        fill(&mut spec, "provider", || {
            let first = chart.and_then(|chart| chart.maintainers.first());
            let name = first
                .map(|person| person.name.clone())
                .filter(|name| !name.is_empty());
            Some(json!({"name": name.unwrap_or_else(|| title.clone())}))
        });
        fill(&mut spec, "maturity", || {
            Some(
                if version.is_prerelease() || version.major() == 0 {
                    "alpha"
                } else {
                    "stable"
                }
                .into(),
            )
        });
        fill(&mut spec, "installModes", || {
            let modes = [
                "OwnNamespace",
                "SingleNamespace",
                "MultiNamespace",
                "AllNamespaces",
            ];
            let mode = |mode: &str| json!({"supported": mode == "AllNamespaces", "type": mode});
            Some(Value::Array(modes.map(mode).to_vec()))
        });
        fill(&mut spec, "minKubeVersion", || {
            lowest_version(&chart?.kube_version).map(Value::from)
        });
        self.add_icon(&mut spec);
        spec.insert("version".into(), version.to_string().into());
        self.add_definitions(&mut spec);
        let install = self.install(&spec)?;
        spec.insert("install".into(), install);
        if spec
            .get("apiservicedefinitions")
            .and_then(Value::as_object)
            .is_some_and(Map::is_empty)
        {
            spec.remove("apiservicedefinitions");
        }
        Ok(Value::Object(spec))
    }

    fn add_icon(&self, spec: &mut Map<String, Value>) {
        if let Some((media_type, bytes)) = &self.project.icon {
            let data = base64::engine::general_purpose::STANDARD.encode(bytes);
            spec.insert(
                "icon".into(),
                json!([{"base64data": data, "mediatype": media_type}]),
            );
            return;
        }
        // The tree that operator-sdk makes has an icon without a picture, which no catalog accepts.
        let is_blank = |icon: &Value| {
            icon.get("base64data")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .is_empty()
        };
        if spec
            .get("icon")
            .and_then(Value::as_array)
            .is_some_and(|icons| icons.iter().all(is_blank))
        {
            spec.remove("icon");
        }
    }

    fn add_definitions(&self, spec: &mut Map<String, Value>) {
        let mut definitions = take_object(spec, "customresourcedefinitions");
        let written = match definitions.remove("owned") {
            Some(Value::Array(owned)) => owned,
            _ => Vec::new(),
        };
        if self.options.definitions == Definitions::InBundle {
            let owned = self.kept.iter().map(|kept| owned(kept, &written)).collect();
            definitions.insert("owned".into(), Value::Array(owned));
        }
        if !definitions.is_empty() {
            spec.insert("customresourcedefinitions".into(), Value::Object(definitions));
        }
    }

    fn install(&self, spec: &Map<String, Value>) -> Result<Value, GenerationError> {
        let account = self.names.of("controller-manager");
        let everywhere = spec
            .get("installModes")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .any(|mode| {
                mode.get("type").and_then(Value::as_str) == Some("AllNamespaces")
                    && mode.get("supported") == Some(&Value::Bool(true))
            });
        let election = PolicyRule {
            api_groups: vec!["coordination.k8s.io".to_owned()],
            resources: vec!["leases".to_owned()],
            verbs: super::permissions::KEEPING.map(str::to_owned).to_vec(),
            ..PolicyRule::default()
        };
        // An operator for some namespaces gets what lives in namespaces only in those.
        let (cluster_rules, rules) = if everywhere {
            (self.derivation.rules(), Vec::new())
        } else {
            self.derivation.rules_by_scope()
        };
        let mut rules = rules;
        rules.push(election);
        let written = |rules: Vec<PolicyRule>| {
            serde_json::to_value(rules).map_err(|error| GenerationError::Write {
                file: "permissions".to_owned(),
                cause: error.to_string(),
            })
        };
        let mut install = json!({
            "deployments": [deployment(self.project, self.options, self.names)],
            "permissions": [{"rules": written(rules)?, "serviceAccountName": account}],
        });
        if !cluster_rules.is_empty() {
            install["clusterPermissions"] =
                json!([{"rules": written(cluster_rules)?, "serviceAccountName": account}]);
        }
        Ok(json!({"spec": install, "strategy": "deployment"}))
    }
}

/// The entry of a kind that the operator brings; what the author has written about it stays.
fn owned(kept: &Kept<'_>, written: &[Value]) -> Value {
    let (watch, chart) = (kept.watch, &kept.watched.chart);
    let name = format!("{}.{}", kept.definition.plural, watch.group);
    let resources: Vec<Value> = kept
        .derivation
        .objects
        .iter()
        .map(|(api_version, kind)| json!({"kind": kind, "name": "", "version": version_of(api_version)}))
        .collect();
    let about = if chart.metadata.description.is_empty() {
        format!("Values of the chart {}.", chart.name())
    } else {
        format!("{}.", chart.metadata.description.trim_end_matches('.'))
    };
    let mut entry = json!({
        "description": about,
        "displayName": in_words(&watch.kind, true),
        "kind": watch.kind,
        "name": name,
        "resources": resources,
        "specDescriptors": spec_descriptors(kept),
        "statusDescriptors": [
            {
                "description": "How it goes.",
                "displayName": "Conditions",
                "path": "conditions",
                "x-descriptors": ["urn:alm:descriptor:io.kubernetes.conditions"],
            },
            {
                "description": "The name of the release that is deployed.",
                "displayName": "Deployed Release",
                "path": "deployedRelease.name",
                "x-descriptors": ["urn:alm:descriptor:text"],
            },
        ],
        "version": watch.version,
    });
    let same = written.iter().find(|known| {
        ["name", "kind", "version"]
            .iter()
            .all(|key| known.get(key) == entry.get(key))
    });
    if let (Some(Value::Object(known)), Some(entry)) = (same, entry.as_object_mut()) {
        entry.extend(known.clone());
    }
    if let Some(entry) = entry.as_object_mut() {
        entry.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
    }
    entry
}

/// What a console can say about each value at the top.
fn spec_descriptors(kept: &Kept<'_>) -> Vec<Value> {
    let schema = kept.definition.spec_schema(&kept.watch.version);
    let properties = schema
        .and_then(|schema| schema.get("properties"))
        .and_then(Value::as_object);
    let described = properties.into_iter().flatten().filter_map(|(path, property)| {
        let about = property.get("description").and_then(Value::as_str)?;
        let descriptor = match property.get("type").and_then(Value::as_str) {
            Some("boolean") => Some("urn:alm:descriptor:com.tectonic.ui:booleanSwitch"),
            Some("integer") if path.to_lowercase().contains("replica") => {
                Some("urn:alm:descriptor:com.tectonic.ui:podCount")
            }
            Some("integer" | "number") => Some("urn:alm:descriptor:com.tectonic.ui:number"),
            Some("string") => Some("urn:alm:descriptor:com.tectonic.ui:text"),
            Some("object") if path == "resources" => {
                Some("urn:alm:descriptor:com.tectonic.ui:resourceRequirements")
            }
            _ => None,
        };
        let mut entry = json!({"description": about, "displayName": in_words(path, true), "path": path});
        if let Some(descriptor) = descriptor {
            entry["x-descriptors"] = json!([descriptor]);
        }
        Some(entry)
    });
    described.collect()
}

fn take_object(map: &mut Map<String, Value>, key: &str) -> Map<String, Value> {
    match map.remove(key) {
        Some(Value::Object(object)) => object,
        _ => Map::new(),
    }
}

/// Sets what the author has left out or left empty.
fn fill(spec: &mut Map<String, Value>, key: &str, value: impl FnOnce() -> Option<Value>) {
    let given = spec.get(key).is_some_and(|given| match given {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    });
    if !given {
        spec.remove(key);
        if let Some(value) = value() {
            spec.insert(key.to_owned(), value);
        }
    }
}

/// The lowest version that a range of Kubernetes versions starts at.
fn lowest_version(range: &str) -> Option<String> {
    let text = range.trim().trim_start_matches(['>', '=', '^', '~', ' ', 'v']);
    let number: String = text
        .chars()
        .take_while(|character| character.is_ascii_digit() || *character == '.')
        .collect();
    if range.contains("||") || range.trim_start().starts_with(['<', '!']) {
        return None;
    }
    version::Version::parse_tolerant(number.trim_end_matches('.'))
        .ok()
        .map(|version| version.core().to_string())
}

/// A name in words: `inference-stack` and `inferenceStack` are `Inference Stack`.
pub fn in_words(name: &str, capitals: bool) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut previous_lower = false;
    for character in name.chars() {
        let separates = !character.is_alphanumeric();
        if separates || (character.is_uppercase() && previous_lower) || words.is_empty() {
            words.push(String::new());
        }
        previous_lower = character.is_lowercase() || character.is_ascii_digit();
        if let Some(word) = words.last_mut().filter(|_| !separates) {
            word.push(character);
        }
    }
    words.retain(|word| !word.is_empty());
    for word in &mut words {
        if capitals && let Some(first) = word.chars().next() {
            *word = first.to_uppercase().chain(word.chars().skip(1)).collect();
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_put_into_words() {
        for (name, words) in [
            ("inference-stack-operator", "Inference Stack Operator"),
            ("applicationTemplate", "Application Template"),
            ("InferenceStack", "Inference Stack"),
            ("imagePullSecrets", "Image Pull Secrets"),
            ("HTTPRoute", "HTTPRoute"),
        ] {
            assert_eq!(in_words(name, true), words);
        }
    }

    #[test]
    fn the_lowest_kubernetes_is_read_off_a_range() {
        for (range, lowest) in [
            (">=1.25.0-0", Some("1.25.0")),
            (">= 1.22.0 < 2", Some("1.22.0")),
            ("^1.20", Some("1.20.0")),
            ("<1.30", None),
            ("1.20 || 1.22", None),
            ("", None),
        ] {
            assert_eq!(lowest_version(range).as_deref(), lowest, "{range}");
        }
    }
}
