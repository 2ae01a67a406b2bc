use std::fs;

use chart::schema::Step;

use super::super::project::ChartSources;
use super::position::{Position, in_json, in_yaml, json_fault};
use super::*;

const WATCHES: &str = "- {group: example.com, version: v1, kind: Demo, chart: helm-charts/demo}\n";
const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  size: {{ .Values.size | quote }}\n";

/// A tree with a chart that works, with these files over it.
fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let all = [
        ("watches.yaml", WATCHES),
        (
            "helm-charts/demo/Chart.yaml",
            "apiVersion: v2\nname: demo\nversion: 1.0.0\n",
        ),
        (
            "helm-charts/demo/values.yaml",
            "# How many.\nsize: 3\nimage:\n  tag: one\n",
        ),
        ("helm-charts/demo/templates/map.yaml", MAP),
    ];
    for (path, content) in all.iter().chain(files) {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, content).expect("a file");
    }
    folder
}

fn checked(files: &[(&str, &str)]) -> ChartReport {
    let folder = tree(files);
    let project = Project::read(folder.path(), &ChartSources::default()).expect("a tree");
    let mut report = check(&project, &[]);
    let root = format!("{}/", folder.path().display());
    for fault in &mut report.faults {
        for text in [&mut fault.place, &mut fault.cause, &mut fault.remedy] {
            *text = text.replace(&root, "");
        }
    }
    for warning in &mut report.warnings {
        *warning = warning.replace(&root, "");
    }
    report
}

fn found(files: &[(&str, &str)]) -> Vec<(&'static str, String)> {
    let faults = checked(files).faults.into_iter();
    faults
        .map(|fault| (fault.check.name(), format!("{}: {}", fault.place, fault.cause)))
        .collect()
}

const SAMPLE: &str = "config/samples/demo.yaml";

fn sample(spec: &str) -> String {
    format!("apiVersion: example.com/v1\nkind: Demo\nmetadata:\n  name: demo\nspec: {spec}\n")
}

#[test]
fn a_chart_that_works_has_no_faults() {
    assert_eq!(checked(&[]).faults, Vec::new());
    let written = sample("{size: 5}");
    assert_eq!(found(&[(SAMPLE, written.as_str())]), Vec::new());
    let schema = r#"{"type": "object", "properties": {"size": {"type": "integer"}}}"#;
    assert_eq!(
        found(&[
            (SAMPLE, written.as_str()),
            ("helm-charts/demo/values.schema.json", schema)
        ]),
        Vec::new()
    );
}

#[test]
fn each_fault_is_told_once_with_its_place() {
    let cases: [(&str, Vec<(&str, &str)>); 14] = [
        (
            "a template that can't be parsed",
            vec![(
                "helm-charts/demo/templates/if.yaml",
                "a: b\n{{ if }}\n{{ end }}\n",
            )],
        ),
        (
            "a schema that is cut off",
            vec![(
                "helm-charts/demo/values.schema.json",
                "{\n  \"type\": \"object\",\n",
            )],
        ),
        (
            "a schema with a comma too much",
            vec![(
                "helm-charts/demo/values.schema.json",
                "{\n  \"type\": \"object\",\n}\n",
            )],
        ),
        (
            "a schema of no type",
            vec![(
                "helm-charts/demo/values.schema.json",
                "{\n  \"properties\": {\n    \"size\": {\"type\": \"number?\"}\n  }\n}\n",
            )],
        ),
        (
            "a default that the schema refuses",
            vec![(
                "helm-charts/demo/values.schema.json",
                r#"{"properties": {"image": {"properties": {"tag": {"type": "integer"}}}}}"#,
            )],
        ),
        (
            "a default that is missing, and no sample",
            vec![(
                "helm-charts/demo/values.schema.json",
                r#"{"required": ["model"]}"#,
            )],
        ),
        (
            "a template that needs a value",
            vec![(
                "helm-charts/demo/templates/map.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Values.a.b.c }}\n",
            )],
        ),
        (
            "a template that prints no YAML",
            vec![(
                "helm-charts/demo/templates/map.yaml",
                "apiVersion: v1\nkind: [ConfigMap\n",
            )],
        ),
        (
            "an object without kind",
            vec![(
                "helm-charts/demo/templates/map.yaml",
                "apiVersion: v1\nmetadata: {name: a}\n",
            )],
        ),
        (
            "an object without name",
            vec![(
                "helm-charts/demo/templates/map.yaml",
                "apiVersion: v1\nkind: ConfigMap\n",
            )],
        ),
        (
            "something that is no object",
            vec![("helm-charts/demo/templates/notes.yaml", "{{ \"[]\" }}\n")],
        ),
        (
            "a sample that the schema refuses",
            vec![
                (
                    SAMPLE,
                    "apiVersion: example.com/v1\nkind: Demo\nmetadata: {name: demo}\nspec: {size: many}\n",
                ),
                (
                    "helm-charts/demo/values.schema.json",
                    r#"{"properties": {"size": {"type": "integer"}}}"#,
                ),
            ],
        ),
        (
            "a sample without spec",
            vec![(
                SAMPLE,
                "apiVersion: example.com/v1\nkind: Demo\nmetadata: {name: demo}\n",
            )],
        ),
        (
            "what only the linter minds",
            vec![(
                "helm-charts/demo/Chart.yaml",
                "apiVersion: v2\nname: demo\nversion: 1.0.0\nicon: a picture\n",
            )],
        ),
    ];
    let mut told = String::new();
    for (title, files) in cases {
        told = told + "# " + title + "\n";
        for (check, fault) in found(&files) {
            told = told + check + "  " + &fault + "\n";
        }
    }
    insta::assert_snapshot!("faults", told);
}

#[test]
fn defaults_may_leave_open_what_every_sample_says() {
    let asks = r#"{{ required "say which model" .Values.model }}"#;
    let template = MAP.replace("{{ .Release.Name }}", asks);
    let by_template = ("helm-charts/demo/templates/map.yaml", template.as_str());
    let by_schema = (
        "helm-charts/demo/values.schema.json",
        r#"{"required": ["model"]}"#,
    );
    let (says, says_not) = (sample("{model: a}"), sample("{size: 1}"));
    for asking in [by_template, by_schema] {
        let report = checked(&[asking, (SAMPLE, says.as_str())]);
        assert_eq!(report.faults, Vec::new());
        assert!(
            report
                .warnings
                .iter()
                .any(|warning| warning.contains("may leave it open")),
            "{:?}",
            report.warnings
        );
        for files in [
            vec![asking],
            vec![asking, (SAMPLE, says_not.as_str())],
            vec![
                asking,
                (SAMPLE, says.as_str()),
                ("config/samples/other.yaml", says_not.as_str()),
            ],
        ] {
            let faults: Vec<&str> = found(&files).iter().map(|(check, _)| *check).collect();
            assert_eq!(faults, ["chart-defaults"], "{files:?}");
        }
    }
    // A default that is wrong is not one that is left open.
    let wrong = (
        "helm-charts/demo/values.schema.json",
        r#"{"properties": {"size": {"type": "string"}}}"#,
    );
    let right = sample("{size: a}");
    let faults: Vec<&str> = found(&[wrong, (SAMPLE, right.as_str())])
        .iter()
        .map(|(check, _)| *check)
        .collect();
    assert_eq!(faults, ["chart-defaults"]);
}

#[test]
fn what_depends_on_the_cluster_is_no_fault() {
    for files in [
        [(
            "helm-charts/demo/Chart.yaml",
            "apiVersion: v2\nname: demo\nversion: 1.0.0\nkubeVersion: \">= 1.99\"\n",
        )],
        [(
            "helm-charts/demo/templates/monitor.yaml",
            "{{ if not (.Capabilities.APIVersions.Has \"monitoring.coreos.com/v1\") }}{{ fail \"install Prometheus\" }}{{ end }}\n",
        )],
    ] {
        assert_eq!(found(&files), Vec::new());
    }
}

#[test]
fn the_examples_of_a_bundle_are_tried_too() {
    let folder = tree(&[(
        "helm-charts/demo/values.schema.json",
        r#"{"properties": {"size": {"type": "integer"}}}"#,
    )]);
    let project = Project::read(folder.path(), &ChartSources::default()).expect("a tree");
    let example = |spec: &str| goyaml::to_value(sample(spec).as_bytes()).expect("YAML");
    assert_eq!(check(&project, &[example("{size: 4}")]).faults, Vec::new());
    let report = check(&project, &[example("{size: four}")]);
    let [fault] = report.faults.as_slice() else {
        panic!("{report:?}");
    };
    assert_eq!(fault.check, ChartCheck::Samples);
    assert_eq!(fault.place, "alm-examples, Demo demo");
}

#[test]
fn what_the_operator_sets_itself_needs_no_default() {
    let asks = MAP.replace("{{ .Release.Name }}", "{{ required \"model\" .Values.model }}");
    let watches = "- {group: example.com, version: v1, kind: Demo, chart: helm-charts/demo, overrideValues: {model: a}}\n";
    let written = sample("{}");
    assert_eq!(
        found(&[
            ("watches.yaml", watches),
            ("helm-charts/demo/templates/map.yaml", asks.as_str()),
            (SAMPLE, written.as_str())
        ]),
        Vec::new()
    );
}

#[test]
fn what_is_allowed_passes_alone() {
    let fault = |check| ChartFault {
        check,
        place: "chart/values.yaml:3".to_owned(),
        cause: "bad".to_owned(),
        remedy: "make it good".to_owned(),
        diagnosis: Diagnosis::default(),
    };
    let report = ChartReport {
        faults: vec![fault(ChartCheck::Defaults), fault(ChartCheck::Lint)],
        warnings: Vec::new(),
    };
    let both = [ChartCheck::Lint, ChartCheck::Defaults];
    assert_eq!(report.admit(&both).map(|passed| passed.len()), Ok(2));
    insta::assert_snapshot!(
        "unusable",
        report
            .admit(&[ChartCheck::Lint])
            .expect_err("a fault is left")
            .to_string()
    );
    let nothing = ChartReport::default();
    assert_eq!(nothing.admit(&[]), Ok(Vec::new()));
    assert_eq!(
        nothing.admit(&[ChartCheck::Lint]),
        Err(ChartCheckError::Needless { name: "chart-lint" })
    );
    for check in ChartCheck::ALL {
        assert_eq!(ChartCheck::named(check.name()), Some(check));
    }
}

#[test]
fn places_are_found_in_files() {
    let path = |text: &str| -> Vec<Step> {
        let keys = text.split('.').filter(|key| !key.is_empty());
        keys.map(|key| Step::Key(key.to_owned())).collect()
    };
    let yaml = "---\n# image:\nimage:\n  # tag:\n  pull: {tag: no}\n  tag: one\n\"other.key\":\n  - tag: two\ntag: three\n";
    for (way, expected) in [
        ("image", Some(3)),
        ("image.tag", Some(6)),
        ("tag", Some(9)),
        ("image.nothing", Some(3)),
        ("nothing", None),
        ("", None),
    ] {
        assert_eq!(in_yaml(yaml, &path(way)), expected, "{way}");
    }
    assert_eq!(in_yaml(yaml, &[Step::Key("other.key".to_owned())]), Some(7));
    let json = "{\n  \"properties\": {\n    \"a\": {\"type\": \"x\"}\n  }\n}";
    for (pointer, expected) in [
        ("/properties/a/type", Some((3, 11))),
        ("/properties/a/enum/0", None),
        ("", None),
    ] {
        let expected = expected.map(|(line, column)| Position { line, column });
        assert_eq!(in_json(json, pointer), expected, "{pointer}");
    }
    assert_eq!(json_fault(json.as_bytes()), None);
    let (position, cause) = json_fault(b"{\n \"a\": 1,\n}").expect("a fault");
    assert_eq!((position.line, cause.as_str()), (3, "trailing comma"));
    assert_eq!(json_fault(b"").map(|(position, _)| position.line), Some(1));
}

const WORKLOAD: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Release.Name }}-web\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata:\n      labels: {a: b}\n    spec:\n      containers:\n      - name: web\n        image: web:1\n        envFrom: [{configMapRef: {name: {{ .Release.Name }}}}]\n";

#[test]
fn pods_that_every_version_starts_anew_are_found() {
    let labelled = WORKLOAD.replace(
        "      labels: {a: b}\n    spec:",
        "      labels: {a: b, helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}}\n    spec:",
    );
    let by_sample = format!("{{{{ if eq (int .Values.size) 5 }}}}\n{labelled}{{{{ end }}}}\n");
    let by_chance = labelled.replace("image: web:1", "image: web:{{ randNumeric 8 }}");
    let written = sample("{size: 5}");
    let saying = |word: &str| WATCHES.replace("chart: helm", &format!("cosmetic: {word}, chart: helm"));
    let (defer, apply) = (saying("defer"), saying("apply"));
    let template = "helm-charts/demo/templates/web.yaml";
    for (files, expected) in [
        (vec![], None),
        (vec![(template, WORKLOAD)], None),
        (vec![(template, labelled.as_str())], Some("sample-web")),
        (vec![(template, by_sample.as_str())], None),
        (
            vec![(template, by_sample.as_str()), (SAMPLE, written.as_str())],
            Some("demo-web"),
        ),
        // An operator keeps what is random.
        (vec![(template, by_chance.as_str())], Some("sample-web")),
        (
            vec![(template, labelled.as_str()), ("watches.yaml", defer.as_str())],
            None,
        ),
        (
            vec![(template, labelled.as_str()), ("watches.yaml", apply.as_str())],
            None,
        ),
    ] {
        let report = checked(&files);
        assert_eq!(report.faults, Vec::new(), "{files:?}");
        let told = report.warnings.iter();
        let told: Vec<&String> = told.filter(|warning| warning.contains("start anew")).collect();
        let expected: Vec<String> = expected
            .map(|workload| {
                format!(
                    "{template}: pods of Deployment {workload} start anew with every version of the chart, because their \
                     template names helm.sh/chart; leave that out of the template, or let pods keep it with \
                     `cosmetic: defer` in watches.yaml"
                )
            })
            .into_iter()
            .collect();
        assert_eq!(told, expected.iter().collect::<Vec<_>>(), "{files:?}");
    }
}

#[test]
fn pods_that_keep_old_configuration_are_found() {
    let checksum = WORKLOAD.replace(
        "      labels: {a: b}\n    spec:",
        "      labels: {a: b}\n      annotations: {checksum/config: abc}\n    spec:",
    );
    let foreign = WORKLOAD.replace(
        "configMapRef: {name: {{ .Release.Name }}}",
        "configMapRef: {name: other}",
    );
    let by_sample = format!("{{{{ if eq (int .Values.size) 5 }}}}\n{WORKLOAD}{{{{ end }}}}\n");
    let saying = |setting: &str| {
        format!("- group: example.com\n  version: v1\n  kind: Demo\n  chart: helm-charts/demo\n  {setting}\n")
    };
    let (says_true, says_false) = (
        saying("restartOnConfiguration: true"),
        saying("restartonconfiguration: false"),
    );
    let written = sample("{size: 5}");
    let template = "helm-charts/demo/templates/web.yaml";
    for (files, expected) in [
        (vec![], None),
        (vec![(template, WORKLOAD)], Some("Deployment sample-web")),
        (vec![(template, checksum.as_str())], None),
        (vec![(template, foreign.as_str())], None),
        (vec![(template, by_sample.as_str())], None),
        (
            vec![(template, by_sample.as_str()), (SAMPLE, written.as_str())],
            Some("Deployment demo-web"),
        ),
        (
            vec![(template, WORKLOAD), ("watches.yaml", says_true.as_str())],
            None,
        ),
        (
            vec![(template, WORKLOAD), ("watches.yaml", says_false.as_str())],
            None,
        ),
    ] {
        let folder = tree(&files);
        let project = Project::read(folder.path(), &ChartSources::default()).expect("a tree");
        let found = unfollowed(&project);
        assert_eq!(
            found.as_ref().map(|found| found.workload.as_str()),
            expected,
            "{files:?}"
        );
        if let Some(found) = found {
            let said = found.to_string();
            assert!(said.contains("\n  restartOnConfiguration: true\n"), "{said}");
            assert!(
                said.contains("pods of Demo don't follow their configuration"),
                "{said}"
            );
            assert!(found.place.ends_with(template), "{said}");
            assert!(found.configuration.starts_with("ConfigMap "), "{said}");
        }
    }
}
