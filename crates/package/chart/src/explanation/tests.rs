//! Renders of small charts, and the comments that explain them.

use std::rc::Rc;

use bytes::Bytes;
use jiff::Timestamp;

use super::*;
use crate::capabilities::Capabilities;
use crate::chart::File;
use crate::dependencies;
use crate::engine::{Engine, Operation, ReleaseContext};
use crate::host::{Host, NoCluster};
use crate::installation::{self, InstallationRequest};
use crate::loader;
use crate::provenance::Origin;
use crate::source::SeededSource;

/// Renders a chart with values from a file called `prod.yaml`, and returns the comment of each document.
fn comments(files: &[(&str, &str)], user: Value) -> Vec<String> {
    let definition = ("Chart.yaml", "apiVersion: v2\nname: demo\nversion: 1.0.0\n");
    let files = std::iter::once(&definition)
        .chain(files)
        .map(|(name, data)| File {
            name: (*name).to_owned(),
            data: Bytes::copy_from_slice(data.as_bytes()),
        })
        .collect();
    let chart = loader::load_files(files, &mut |_| {}).expect("a chart");
    let Value::Object(user) = user else {
        unreachable!("values are a table")
    };
    let request = InstallationRequest {
        chart: &chart,
        values: &user,
        release: ReleaseContext {
            name: "r".to_owned(),
            namespace: "n".to_owned(),
            operation: Operation::Install,
            revision: 1,
        },
        capabilities: &Capabilities::default(),
        sub_notes: false,
        skip_schema_validation: true,
        strict: false,
    };
    let recorder = Recorder::default();
    let host = Host::new(
        Rc::new(SeededSource::from_number(1, Timestamp::UNIX_EPOCH)),
        Rc::new(NoCluster),
    );
    let rendered =
        installation::plan(&Engine::new(), &request, &host, Some(&recorder), &mut |_| {}).expect("a render");
    let mut provenance = Provenance::default();
    provenance.record_chart(&dependencies::activate(&chart, &user, &mut |_| {}).expect("an active chart"));
    provenance.record_table(&user, Origin::File("prod.yaml".to_owned()));
    let documents: Vec<Document<'_>> = rendered
        .manifests
        .iter()
        .map(|manifest| Document {
            source: &manifest.name,
            kind: &manifest.head.kind,
            content: &manifest.content,
        })
        .collect();
    explain(recorder, &documents, &rendered.values, &provenance)
}

#[test]
fn a_document_is_explained_by_its_line_and_its_values() {
    let template = "{{- /* a comment */ -}}\n{{ if .Values.enabled }}\nkind: A\nport: {{ .Values.web.port }}\n\
                    tag: {{ .Values.tag }}\nlabels: {{ toYaml .Values.labels | nindent 2 }}\n{{ end }}";
    let values = "enabled: true\nweb: {port: 80}\nlabels: {a: b}\nunused: 1\n";
    assert_eq!(
        comments(
            &[("values.yaml", values), ("templates/a.yaml", template)],
            serde_json::json!({"web": {"port": 81.0}, "labels": {"c": "d"}})
        ),
        ["# Template: demo/templates/a.yaml:3\n\
          # Values: enabled = true (values.yaml of demo)\n\
          #         labels = {\"a\":\"b\",\"c\":\"d\"} (values.yaml of demo, -f prod.yaml)\n\
          #         tag is not set\n\
          #         web.port = 81 (-f prod.yaml)\n"]
    );
}

#[test]
fn each_document_of_a_file_gets_its_own_values() {
    let template = "kind: A\na: {{ .Values.a }}\n{{- with .Values.empty }}\nx: {{ . }}\n{{- end }}\n\
                    {{- if .Values.shown }}\n---\nkind: B\nb: {{ .Values.b }}{{ .Values.missing }}\n{{- end }}\n\
                    {{- range .Values.list }}\n---\nkind: C\nc: {{ .name }}\n{{- end }}\n";
    let values = "a: 1\nb: 2\nshown: true\nempty: {}\nlist: [{name: x}, {name: z}]\n";
    assert_eq!(
        comments(
            &[("values.yaml", values), ("templates/a.yaml", template)],
            serde_json::json!({})
        ),
        [
            "# Template: demo/templates/a.yaml:1\n\
             # Values: a = 1 (values.yaml of demo)\n\
             #         empty = {} (values.yaml of demo)\n",
            "# Template: demo/templates/a.yaml:8\n\
             # Values: b = 2 (values.yaml of demo)\n\
             #         missing is not set\n\
             #         shown = true (values.yaml of demo)\n",
            "# Template: demo/templates/a.yaml:13\n\
             # Values: list[0].name = \"x\" (values.yaml of demo)\n",
            "# Template: demo/templates/a.yaml:13\n\
             # Values: list[1].name = \"z\" (values.yaml of demo)\n",
        ]
    );
}

#[test]
fn values_behind_includes_subcharts_and_changes_are_followed() {
    let sub = "apiVersion: v2\nname: sub\nversion: 1.0.0\n";
    let helper = "{{ define \"h\" }}{{ .Values.global.g }}{{ .Values.own }}{{ end }}";
    let template =
        "{{ $_ := set .Values \"made\" 5 }}kind: A\na: {{ include \"h\" . }}\nm: {{ .Values.made }}\n";
    assert_eq!(
        comments(
            &[
                ("charts/sub/Chart.yaml", sub),
                ("charts/sub/values.yaml", "own: o\n"),
                ("charts/sub/templates/_h.tpl", helper),
                ("charts/sub/templates/a.yaml", template),
            ],
            serde_json::json!({"global": {"g": "G"}})
        ),
        ["# Template: demo/charts/sub/templates/a.yaml:1\n\
          # Values: sub.global.g = \"G\" (-f prod.yaml)\n\
          #         sub.made = 5 (set by a template)\n\
          #         sub.own = \"o\" (values.yaml of demo/charts/sub)\n"]
    );
}

#[test]
fn what_is_secret_is_not_shown_anywhere() {
    let secret =
        "kind: Secret\nmetadata: {name: {{ .Values.name }}}\nstringData: {a: {{ .Values.license }}}\n";
    let other = "kind: A\na: {{ .Values.license }}{{ .Values.name }}{{ .Values.db.password }}\n";
    assert_eq!(
        comments(
            &[
                ("values.yaml", "license: abc\nname: web\ndb: {password: xyz}\n"),
                ("templates/a.yaml", secret),
                ("templates/b.yaml", other),
            ],
            serde_json::json!({})
        ),
        [
            "# Template: demo/templates/a.yaml:1\n\
             # Values: license = … (values.yaml of demo)\n\
             #         name = … (values.yaml of demo)\n",
            "# Template: demo/templates/b.yaml:1\n\
             # Values: db.password = … (values.yaml of demo)\n\
             #         license = … (values.yaml of demo)\n\
             #         name = \"web\" (values.yaml of demo)\n",
        ]
    );
}
