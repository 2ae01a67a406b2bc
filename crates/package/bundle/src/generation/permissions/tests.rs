//! Charts that hide what they create, and whether it is found.

use std::sync::Arc;

use chart::Chart;

use super::*;

fn chart(files: &[(&str, &str)]) -> Arc<Chart> {
    let mut all = vec![("Chart.yaml", "apiVersion: v2\nname: demo\nversion: 1.0.0\n")];
    all.extend(files);
    let files = all
        .into_iter()
        .map(|(name, text)| chart::File {
            name: name.to_owned(),
            data: text.to_owned().into(),
        })
        .collect();
    chart::loader::load_files(files, &mut |_| ()).expect("a chart")
}

fn derived(files: &[(&str, &str)]) -> Derivation {
    let mut derivation = Derivation::default();
    derivation.add_chart(&chart(files), &[], &Kinds::default(), DEFAULT_RENDERS);
    derivation
}

fn reasons(derivation: &Derivation, group: &str, resource: &str) -> Vec<String> {
    derivation
        .permissions
        .get(&Subject::resource(group, resource))
        .map(|permission| permission.reasons.iter().map(ToString::to_string).collect())
        .unwrap_or_default()
}

#[test]
fn what_a_flag_turns_on_is_found_and_the_flag_named() {
    let derivation = derived(&[
        ("values.yaml", "ingress:\n  enabled: false\nkeep: true\n"),
        (
            "templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n{{- if .Values.ingress.enabled }}\n---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: a\n{{- end }}\n{{- if not .Values.keep }}\n---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: a\n{{- end }}\n",
        ),
    ]);
    assert_eq!(
        reasons(&derivation, "networking.k8s.io", "ingresses"),
        ["created by templates/a.yaml with ingress.enabled=true"]
    );
    assert_eq!(
        reasons(&derivation, "batch", "jobs"),
        ["created by templates/a.yaml with keep=false"]
    );
    assert_eq!(
        reasons(&derivation, "", "configmaps"),
        ["created by templates/a.yaml with the chart's defaults"]
    );
}

#[test]
fn what_no_flag_turns_on_is_found_in_the_text() {
    let derivation = derived(&[(
        "templates/a.yaml",
        "{{- range $name, $app := .Values.applications }}\napiVersion: keda.sh/v1alpha1\nkind: ScaledObject\n{{- end }}\n",
    )]);
    assert_eq!(
        reasons(&derivation, "keda.sh", "scaledobjects"),
        ["named in templates/a.yaml line 3"]
    );
}

#[test]
fn who_gives_permissions_must_have_them() {
    let derivation = derived(&[(
        "templates/a.yaml",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: {{ .Release.Name }}\nrules:\n- apiGroups: [example.com]\n  resources: [things]\n  verbs: [get]\n- nonResourceURLs: [/metrics]\n  verbs: [get]\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata:\n  name: a\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: view\n",
    )]);
    assert_eq!(
        reasons(&derivation, "example.com", "things"),
        ["granted to others by templates/a.yaml with the chart's defaults"]
    );
    let rules = derivation.rules();
    let has = |wanted: &PolicyRule| assert!(rules.contains(wanted), "{wanted:?} in {rules:#?}");
    has(&PolicyRule {
        non_resource_urls: vec!["/metrics".into()],
        verbs: vec!["get".into()],
        ..PolicyRule::default()
    });
    has(&PolicyRule {
        api_groups: vec!["rbac.authorization.k8s.io".into()],
        resources: vec!["clusterroles".into()],
        resource_names: vec!["view".into()],
        verbs: vec!["bind".into()],
        ..PolicyRule::default()
    });
}

#[test]
fn definitions_hooks_and_lookups_count_and_tests_do_not() {
    let derivation = derived(&[
        (
            "crds/ox.yaml",
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: oxen.example.com\nspec:\n  group: example.com\n  names: {kind: Ox, plural: oxen}\n",
        ),
        (
            "templates/a.yaml",
            "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: a\n  annotations:\n    helm.sh/hook: pre-install\n---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: t\n  annotations:\n    \"helm.sh/hook\": test\n---\napiVersion: example.com/v1\nkind: Ox\nmetadata:\n  name: {{ (lookup \"v1\" \"Node\" \"\" \"n\").x | default \"x\" }}\n",
        ),
    ]);
    let subjects: Vec<String> = derivation.permissions.keys().map(ToString::to_string).collect();
    assert_eq!(
        subjects,
        [
            "nodes",
            "customresourcedefinitions.apiextensions.k8s.io",
            "jobs.batch",
            "oxen.example.com"
        ]
    );
}

#[test]
fn a_pin_that_no_longer_fits_names_each_difference() {
    let mut derivation = derived(&[(
        "templates/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n",
    )]);
    let pin = pinned_text(&derivation).expect("text");
    assert!(compare(pin.as_bytes(), &derivation).is_ok());
    let old = pin.replace("configmaps", "services");
    insta::assert_snapshot!(compare(old.as_bytes(), &derivation).expect_err("a difference"));
    derivation.permissions.clear();
    assert!(compare(pin.as_bytes(), &derivation).is_err());
    assert!(matches!(
        compare(b"rules: 7", &derivation),
        Err(PinError::Unreadable(_))
    ));
}

#[test]
fn what_operators_can_do_without_waits_until_it_is_pinned() {
    let pin = |verbs: &str| {
        format!("rules:\n- apiGroups: ['']\n  resources: [pods, services]\n  verbs: [{verbs}]\n")
    };
    for (pin, is_granted) in [
        (pin("get, list"), true),
        (pin("get, list, watch"), true),
        (pin("get"), false),
        ("rules: []\n".to_owned(), false),
        ("rules: 7\n".to_owned(), true),
    ] {
        assert_eq!(grants_wishes(pin.as_bytes()), is_granted, "{pin}");
    }
}

#[test]
fn values_that_do_not_render_are_reported_and_stop_nothing() {
    let derivation = derived(&[(
        "templates/a.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ required \"give a name\" .Values.name }}\n",
    )]);
    assert!(derivation.failed[0].cause.contains("give a name"));
    assert_eq!(
        reasons(&derivation, "apps", "deployments"),
        ["named in templates/a.yaml line 2"]
    );
}
