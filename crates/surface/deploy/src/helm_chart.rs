//! The Helm chart: the same objects, with the settings that differ between clusters as values.
//!
//! The templates are made of the objects themselves. An installation is made whose settings are words that stand for
//! values, and in its text these words become expressions. So the chart can't say anything else than the plain YAML does.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use api::definitions::Definition;
use serde_json::Value;

use crate::installation::{self, Step, called};
use crate::part::Part;
use crate::settings::{MAX_REPLICAS, Settings};

/// Words that stand for values: the word, and the expression that it becomes.
const WORDS: [(&str, &str); 4] = [
    ("value-of-namespace", ".Values.namespace"),
    ("value-of-classic-namespace", ".Values.classicNamespace"),
    ("value-of-image", ".Values.image"),
    ("value-of-tenants", ".Values.tenants"),
];

/// A number that stands for the replicas, and that no field has by itself.
const REPLICAS: u32 = 987_654_321;

/// The parts that a value turns on and off, with the value.
const SWITCHES: [(Part, &str); 8] = [
    (Part::Namespaces, "namespaces"),
    (Part::Classic, "classic"),
    (Part::NetworkPolicies, "networkPolicies"),
    (Part::DisruptionBudgets, "disruptionBudgets"),
    (Part::Policies, "policies"),
    (Part::Monitoring, "monitoring"),
    (Part::ClusterAdmin, "clusterAdmin"),
    (Part::TenantLimits, "tenantLimits"),
];

/// The files of the chart, by their paths in it.
pub fn files() -> BTreeMap<String, String> {
    let mut files = BTreeMap::from([
        ("Chart.yaml".to_owned(), chart_file()),
        ("values.yaml".to_owned(), values_file()),
        (".helmignore".to_owned(), "*.orig\n".to_owned()),
    ]);
    for definition in installation::definitions(&Settings::default()) {
        let plural = definition.name.split('.').next().unwrap_or_default();
        files.insert(
            format!("crds/{plural}.yaml"),
            text(&definition_object(&definition)),
        );
    }
    for step in templated() {
        let documents: Vec<String> = step.objects.iter().map(document).collect();
        if !documents.is_empty() {
            files.insert(format!("templates/{}.yaml", step.name), documents.join(""));
        }
    }
    files
}

fn definition_object(definition: &Definition) -> Value {
    definition.object()
}

/// The steps of an installation with every switchable part, whose settings are words.
fn templated() -> Vec<Step> {
    let settings = Settings {
        namespace: WORDS[0].0.to_owned(),
        classic_namespace: WORDS[1].0.to_owned(),
        image: WORDS[2].0.to_owned(),
        tenants: WORDS[3].0.to_owned(),
        replicas: REPLICAS,
        parts: Part::ALL
            .into_iter()
            .filter(|part| *part != Part::Definitions)
            .collect(),
        ..Settings::default()
    };
    installation::steps(&settings)
}

/// The parts without which an object isn't there.
fn needed_parts(object: &Value) -> Vec<Part> {
    let is_there = |without: Part| {
        let mut settings = Settings {
            namespace: WORDS[0].0.to_owned(),
            classic_namespace: WORDS[1].0.to_owned(),
            ..Settings::default()
        };
        settings.parts = Part::ALL.into_iter().filter(|part| *part != without).collect();
        let steps = installation::steps(&settings);
        let name = called(object);
        steps
            .iter()
            .flat_map(|step| &step.objects)
            .any(|other| called(other) == name)
    };
    SWITCHES
        .into_iter()
        .map(|(part, _)| part)
        .filter(|part| !is_there(*part))
        .collect()
}

/// A document of a template: the object, under the condition that its parts are wanted.
fn document(object: &Value) -> String {
    let mut conditions: Vec<String> = needed_parts(object)
        .into_iter()
        .filter_map(|part| SWITCHES.into_iter().find(|(switch, _)| *switch == part))
        .map(|(_, value)| format!(".Values.parts.{value}"))
        .collect();
    if object["kind"] == "PodDisruptionBudget" {
        conditions.push("(gt (int .Values.replicas) 1)".to_owned());
    }
    if object["kind"]
        .as_str()
        .is_some_and(|kind| kind.starts_with("MutatingAdmissionPolicy"))
    {
        let api = format!(
            "{}/MutatingAdmissionPolicy",
            object["apiVersion"].as_str().unwrap_or_default()
        );
        conditions.push(format!("(.Capabilities.APIVersions.Has {api:?})"));
    }
    let body = expressed(&text(object));
    match conditions.as_slice() {
        [] => format!("---\n{body}"),
        [only] => format!("{{{{- if {only} }}}}\n---\n{body}{{{{- end }}}}\n"),
        several => format!(
            "{{{{- if and {} }}}}\n---\n{body}{{{{- end }}}}\n",
            several.join(" ")
        ),
    }
}

fn text(object: &Value) -> String {
    // What is written here was made here: there is nothing in it that YAML can't say.
    goyaml::to_string(object).unwrap_or_default()
}

/// Puts expressions in the places of words.
fn expressed(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        // What looks like an expression is somebody else's: Prometheus writes its own that way.
        let mut line = line.replace("{{", "{{ \"{{\" }}");
        line = line.replace(&REPLICAS.to_string(), "{{ .Values.replicas }}");
        for (word, expression) in WORDS {
            // A value that stands alone is quoted, since it may look like a number.
            if let Some(before) = line
                .strip_suffix(word)
                .filter(|before| before.ends_with(": ") || before.ends_with("- "))
            {
                line = format!("{before}{{{{ {expression} | quote }}}}");
            }
            line = line.replace(word, &format!("{{{{ {expression} }}}}"));
        }
        lines.push_str(&line);
        lines.push('\n');
    }
    lines
}

fn chart_file() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "# Generated; see deploy/README.md.\napiVersion: v2\nname: baton\ndescription: An Operator Lifecycle Manager for \
         Kubernetes\ntype: application\nversion: {version}\nappVersion: {version:?}\nkubeVersion: \">=1.{}.0-0\"\n",
        crate::check::OLDEST_MINOR
    )
}

fn values_file() -> String {
    let settings = Settings::default();
    let mut text = format!(
        "# Generated; see deploy/README.md.\n\
         # The image with baton: build and push it with `baton deploy --push --image …`.\n\
         image: {}\n\
         # The namespace of OLM v1.\n\
         namespace: {}\n\
         # The namespace of OLM v0.\n\
         classicNamespace: {}\n\
         # How many pods each Deployment has, at most {MAX_REPLICAS}.\n\
         replicas: {}\n\
         # The group of users whom tenantLimits is about.\n\
         tenants: {}\n\
         parts:\n",
        settings.image, settings.namespace, settings.classic_namespace, settings.replicas, settings.tenants
    );
    for (part, value) in SWITCHES {
        let meaning = upper_first(part.meaning());
        // Writing to a text can't fail.
        let _ = writeln!(text, "  # {meaning}.\n  {value}: {}", part.is_usual());
    }
    text
}

fn upper_first(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + characters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_expressions_and_strange_braces_stay() {
        for (line, expected) in [
            (
                "namespace: value-of-namespace",
                "namespace: {{ .Values.namespace | quote }}\n",
            ),
            ("- value-of-namespace", "- {{ .Values.namespace | quote }}\n"),
            ("- --x=value-of-namespace", "- --x={{ .Values.namespace }}\n"),
            (
                "a: h.value-of-classic-namespace.svc",
                "a: h.{{ .Values.classicNamespace }}.svc\n",
            ),
            ("replicas: 987654321", "replicas: {{ .Values.replicas }}\n"),
            (
                "summary: '{{ $labels.job }}'",
                "summary: '{{ \"{{\" }} $labels.job }}'\n",
            ),
        ] {
            assert_eq!(expressed(line), expected);
        }
    }
}
