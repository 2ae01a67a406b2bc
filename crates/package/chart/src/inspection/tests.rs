//! Charts with one mistake each, and what is said about them.

use std::sync::Arc;

use bytes::Bytes;

use super::*;
use crate::chart::File;
use crate::loader;

fn findings(files: &[(&str, &str)]) -> Vec<String> {
    let definition = ("Chart.yaml", "apiVersion: v2\nname: demo\nversion: 1.0.0\n");
    let files = std::iter::once(&definition)
        .chain(files)
        .map(|(name, data)| File {
            name: (*name).to_owned(),
            data: Bytes::copy_from_slice(data.as_bytes()),
        })
        .collect();
    let chart: Arc<Chart> = loader::load_files(files, &mut |_| {}).expect("a chart");
    let request = InspectionRequest {
        chart: &chart,
        values: &Table::new(),
        namespace: "default",
        capabilities: &Capabilities::default(),
    };
    let severity = |severity| if severity == Severity::Info { "I" } else { "W" };
    inspect(&request)
        .into_iter()
        .map(|finding| format!("{} {}", severity(finding.severity), finding.message))
        .collect()
}

const CLEAN: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n";

#[test]
fn a_chart_without_mistakes_has_no_findings() {
    let template =
        format!("{CLEAN}data:\n  a: {{{{ .Values.a.b }}}}\n  c: {{{{ .Values.free.anything | quote }}}}\n");
    assert_eq!(
        findings(&[
            ("values.yaml", "a: {b: 1}\nfree: {}\nglobal: {x: 1}\n"),
            ("templates/a.yaml", &template)
        ]),
        [""; 0]
    );
}

#[test]
fn values_that_are_not_declared_are_found_with_their_place() {
    let template = format!(
        "{CLEAN}data:\n  a: \"{{{{ .Values.a.c }}}}{{{{ $.Values.b }}}}{{{{ .Values.global.x }}}}\"\n"
    );
    assert_eq!(
        findings(&[("values.yaml", "a: {b: 1}\n"), ("templates/a.yaml", &template)]),
        [
            "I templates/a.yaml:6: .Values.a.c is used, but values.yaml does not have it",
            "I templates/a.yaml:6: .Values.b is used, but values.yaml does not have it",
            "I values.yaml: a.b is not used by any template",
        ]
    );
}

#[test]
fn values_that_nothing_uses_are_found_at_the_highest_level() {
    let template = format!(
        "{CLEAN}data: {{{{ toYaml .Values.whole | nindent 2 }}}}\n  t: {{{{ tpl .Values.text . }}}}\n"
    );
    let values = "whole: {x: y}\ntext: '{{ .Values.inText }}'\ninText: 1\nold: {a: 1, b: 2}\npart: {used: 1, not: 2}\n";
    let helper = "{{ define \"x\" }}{{ .ctx.Values.part.used }}{{ end }}";
    assert_eq!(
        findings(&[
            ("values.yaml", values),
            ("templates/a.yaml", &template),
            ("templates/_h.tpl", helper)
        ]),
        [
            "I values.yaml: old is not used by any template",
            "I values.yaml: part.not is not used by any template",
        ]
    );
}

#[test]
fn random_results_are_found_unless_an_earlier_one_is_looked_up() {
    let random = format!("{CLEAN}data:\n  a: {{{{ randAlphaNum 8 }}}}\n  b: {{{{ now | date \"2006\" }}}}\n");
    let kept = "{{ $old := lookup \"v1\" \"Secret\" \"a\" \"b\" }}{{ $new := $old | default (uuidv4) }}";
    assert_eq!(
        findings(&[("templates/a.yaml", &random), ("templates/b.yaml", kept)]),
        [
            "W templates/a.yaml:6: randAlphaNum gives another result at every upgrade; look up the earlier one with lookup, \
             or take it from a value",
            "W templates/a.yaml:7: now gives another result at every upgrade; look up the earlier one with lookup, or take \
             it from a value",
        ]
    );
}

#[test]
fn objects_that_collide_are_found() {
    let fixed = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n";
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: a.b\n";
    assert_eq!(
        findings(&[
            ("templates/a.yaml", CLEAN),
            ("templates/b.yaml", CLEAN),
            ("templates/c.yaml", fixed),
            ("templates/d.yaml", crd),
        ]),
        [
            "W templates/a.yaml, templates/b.yaml: ConfigMap \"baton-one\" is made more than once; the last one wins",
            "W templates/c.yaml: Service \"web\" has the same name in every release, so two releases cannot live side by \
             side; put .Release.Name into the name",
        ]
    );
}

#[test]
fn a_selector_with_the_version_in_it_is_found() {
    let workload = |label: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{{{ .Release.Name }}}}\nspec:\n  selector:\n    \
             matchLabels:\n      app: x\n      {label}\n"
        )
    };
    let bad = workload("helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}");
    let good = workload("a: {{ .Chart.Name }}").replace("Deployment", "StatefulSet");
    assert_eq!(
        findings(&[("templates/a.yaml", &bad), ("templates/b.yaml", &good)]),
        [
            "W templates/a.yaml: the selector of Deployment \"baton-one\" changes with the chart's version (helm.sh/chart), \
             so every upgrade to another version fails; leave it out of the selector"
        ]
    );
}

#[test]
fn pods_that_every_version_starts_anew_are_found() {
    let workload = |kind: &str, labels: &str, image: &str| {
        format!(
            "apiVersion: apps/v1\nkind: {kind}\nmetadata:\n  name: {{{{ .Release.Name }}}}\n  labels: {{{labels}}}\nspec:\n  \
             selector: {{matchLabels: {{app: x}}}}\n  template:\n    metadata:\n      labels: {{app: x, {labels}}}\n    spec:\n      \
             containers: [{{name: x, image: {image}}}]\n"
        )
    };
    let chart = "helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}";
    let version = "app.kubernetes.io/version: {{ .Chart.Version | quote }}";
    let rows: &[(&str, &str, &str, &str)] = &[
        ("Deployment", chart, "x:1", "helm.sh/chart"),
        ("StatefulSet", version, "x:1", "app.kubernetes.io/version"),
        // With another version of what the chart is for, there is another image as well.
        (
            "Deployment",
            "app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}",
            "\"x:{{ .Chart.AppVersion }}\"",
            "",
        ),
        ("Deployment", chart, "\"x:{{ .Chart.Version }}\"", ""),
        ("Deployment", "other: {{ .Chart.Version | quote }}", "x:1", ""),
        ("Deployment", "other: x", "x:1", ""),
    ];
    for (kind, labels, image, key) in rows {
        let template = workload(kind, labels, image);
        let expected: &[String] = &[format!(
            "W templates/a.yaml: pods of {kind} baton-one start anew with every version of the chart, because their \
             template names {key}; leave that out of the template, or let pods keep it with `cosmetic: defer` in watches.yaml"
        )];
        let expected = if key.is_empty() { &[] } else { expected };
        assert_eq!(
            findings(&[("templates/a.yaml", &template)]),
            expected,
            "{labels} {image}"
        );
    }
}

#[test]
fn a_chart_that_cannot_be_rendered_is_still_read() {
    assert_eq!(
        findings(&[("templates/a.yaml", "{{ .Values.a.b }}{{ fail \"x\" }}")]),
        ["I templates/a.yaml:1: .Values.a is used, but values.yaml does not have it"]
    );
}

#[test]
fn a_long_list_is_cut() {
    let lines: Vec<String> = (0..30)
        .map(|number| format!("# {{{{ .Values.v{number} }}}}"))
        .collect();
    let template = lines.join("\n");
    let found = findings(&[("templates/a.yaml", &template)]);
    assert_eq!(found.len(), MAX_FINDINGS_OF_A_SORT + 1);
    assert_eq!(
        found.last().map(String::as_str),
        Some("I and 20 more like the last one")
    );
}
