//! Two releases that differ in one thing, and whether their pods start anew for nothing.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const VERSIONS: [&str; 3] = ["1.0.0", "1.1.0", "1.2.0"];

/// A workload as most charts write it, in which everything names a version.
fn workload(kind: &str, version: &str) -> Value {
    let labels = json!({"app": "web", "helm.sh/chart": format!("web-{version}")});
    json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web", "labels": labels},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            },
        },
    })
}

/// The same with something else at a place of it.
fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, field) = pointer.rsplit_once('/').expect("a pointer");
    let field = field.replace("~1", "/");
    object.pointer_mut(parent).expect("a parent")[field] = value;
    object
}

/// The next release, deferred, and what was found.
fn deferred(wanted: &[Value], previous: &[Value]) -> (Vec<Value>, Vec<String>) {
    let restarts = needless_restarts(wanted, previous, "models");
    let mut objects = wanted.to_vec();
    defer(&mut objects, &restarts);
    let words = restarts.iter().map(|restart| {
        let keys: Vec<&str> = restart.keys.iter().copied().collect();
        format!("{restart}: {}", keys.join(", "))
    });
    (objects, words.collect())
}

#[test]
fn a_word_says_what_becomes_of_labels() {
    assert_eq!("apply".parse(), Ok(Cosmetic::Apply));
    assert_eq!("defer".parse(), Ok(Cosmetic::Defer));
    for word in ["", "Defer", "true", "later"] {
        let fault = word.parse::<Cosmetic>().expect_err("no such word").to_string();
        assert_eq!(fault, format!("{word:?} is none of \"apply\" and \"defer\""));
    }
    assert_eq!(Cosmetic::default(), Cosmetic::Apply);
}

#[test]
fn pods_keep_their_labels_where_nothing_else_of_them_changes() {
    const LABEL: &str = "/spec/template/metadata/labels/helm.sh~1chart";
    const ANNOTATIONS: &str = "/spec/template/metadata/annotations";
    let (old, new) = (
        || workload("Deployment", "1.0.0"),
        || workload("Deployment", "1.1.0"),
    );
    let version = |text: &str| json!({"app.kubernetes.io/version": text});
    let rows: Vec<(&str, Value, Value, &[&str])> = vec![
        ("nothing differs", old(), old(), &[]),
        (
            "the chart's label",
            old(),
            new(),
            &["Deployment web: helm.sh/chart"],
        ),
        (
            "what the object itself says",
            old(),
            with(new(), "/metadata/annotations", json!({"a": "b"})),
            &["Deployment web: helm.sh/chart"],
        ),
        (
            "what the workload does with its pods",
            old(),
            with(new(), "/spec/replicas", json!(3)),
            &["Deployment web: helm.sh/chart"],
        ),
        (
            "both, one of them as an annotation",
            with(old(), ANNOTATIONS, version("1")),
            with(new(), ANNOTATIONS, version("2")),
            &["Deployment web: app.kubernetes.io/version, helm.sh/chart"],
        ),
        (
            "a label that is new",
            with(old(), LABEL, Value::Null),
            new(),
            &["Deployment web: helm.sh/chart"],
        ),
        (
            "an annotation that is taken away, with all annotations",
            with(old(), ANNOTATIONS, version("1")),
            old(),
            &["Deployment web: app.kubernetes.io/version"],
        ),
        (
            "an image too",
            old(),
            with(new(), "/spec/template/spec/containers/0/image", json!("web:2")),
            &[],
        ),
        (
            "a label of another name too",
            old(),
            with(new(), "/spec/template/metadata/labels/chart", json!("web-1.1.0")),
            &[],
        ),
        (
            "who manages it",
            old(),
            with(
                old(),
                "/spec/template/metadata/labels/app.kubernetes.io~1managed-by",
                json!("Helm"),
            ),
            &[],
        ),
        (
            "a checksum too",
            old(),
            with(new(), ANNOTATIONS, json!({"checksum/config": "1"})),
            &[],
        ),
        (
            "a variable with the version",
            old(),
            with(
                new(),
                "/spec/template/spec/containers/0/env",
                json!([{"name": "VERSION", "value": "1.1.0"}]),
            ),
            &[],
        ),
        (
            "another workload",
            with(old(), "/metadata/name", json!("other")),
            new(),
            &[],
        ),
        (
            "a workload of another namespace",
            with(old(), "/metadata/namespace", json!("elsewhere")),
            new(),
            &[],
        ),
        (
            "the namespace of the release, which one of them names",
            old(),
            with(new(), "/metadata/namespace", json!("models")),
            &["Deployment web: helm.sh/chart"],
        ),
        (
            "another version of the API",
            with(old(), "/apiVersion", json!("apps/v1beta2")),
            new(),
            &["Deployment web: helm.sh/chart"],
        ),
        (
            "another API",
            with(old(), "/apiVersion", json!("example.com/v1")),
            new(),
            &[],
        ),
    ];
    for (title, previous, wanted, expected) in rows {
        let (objects, found) = deferred(std::slice::from_ref(&wanted), std::slice::from_ref(&previous));
        assert_eq!(found, expected, "{title}");
        let standing = if expected.is_empty() { &wanted } else { &previous };
        let template = |object: &Value| object.pointer("/spec/template").cloned();
        assert_eq!(template(&objects[0]), template(standing), "{title}");
        assert_eq!(
            objects[0]["metadata"], wanted["metadata"],
            "{title}: its own labels move on"
        );
        assert_eq!(
            objects[0]["spec"]["replicas"], wanted["spec"]["replicas"],
            "{title}"
        );
    }
}

#[test]
fn what_is_kept_is_said_in_a_sentence() {
    let named = |version: &str, name: usize| {
        with(
            workload("Deployment", version),
            "/metadata/name",
            json!(format!("web-{name}")),
        )
    };
    let words = |count: usize| {
        let of = |version: &str| -> Vec<Value> { (0..count).map(|name| named(version, name)).collect() };
        kept_in_words(&needless_restarts(&of("1.1.0"), &of("1.0.0"), "models"))
    };
    assert_eq!(words(0), None);
    assert_eq!(
        words(2).as_deref(),
        Some(
            "pods of Deployment web-0 and Deployment web-1 keep helm.sh/chart until something else of them changes"
        )
    );
    let many = words(9).expect("a sentence");
    assert!(
        many.contains(" and Deployment web-4 and 4 more keep ") && !many.contains("web-5"),
        "{many}"
    );
}

#[test]
fn only_pods_that_would_start_anew_keep_their_labels() {
    for (kind, expected) in [
        ("Deployment", true),
        ("StatefulSet", true),
        ("DaemonSet", true),
        ("Job", true),
        ("ReplicaSet", false),
        ("ReplicationController", false),
        ("Rollout", false),
    ] {
        let (_, found) = deferred(&[workload(kind, "1.1.0")], &[workload(kind, "1.0.0")]);
        assert_eq!(!found.is_empty(), expected, "{kind}");
    }
    let nightly = |version: &str| {
        let template = workload("Deployment", version)["spec"]["template"].clone();
        json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "web"},
            "spec": {"jobTemplate": {"spec": {"template": template}}}})
    };
    assert_eq!(deferred(&[nightly("1.1.0")], &[nightly("1.0.0")]).1, [""; 0]);
}

#[test]
fn what_something_goes_by_is_no_matter_of_looks() {
    let chart = json!({"helm.sh/chart": "web-1.1.0"});
    let expression = json!([{"key": "helm.sh/chart", "operator": "Exists"}]);
    let object = |kind: &str, spec: Value| json!({"kind": kind, "metadata": {"name": "other"}, "spec": spec});
    for (other, is_used) in [
        (object("Service", json!({"selector": {"app": "web"}})), false),
        (object("Service", json!({"selector": chart})), true),
        (
            object("NetworkPolicy", json!({"podSelector": {"matchLabels": chart}})),
            true,
        ),
        (
            object(
                "PodDisruptionBudget",
                json!({"selector": {"matchExpressions": expression}}),
            ),
            true,
        ),
        (
            object("Monitor", json!({"selector": "helm.sh/chart=web-1.1.0"})),
            true,
        ),
        (
            object("DestinationRule", json!({"subsets": [{"labels": chart}]})),
            true,
        ),
        (object("ConfigMap", json!({"note": "helm.sh/chart"})), false),
        (
            object("Service", json!({"template": {"metadata": {"labels": chart}}})),
            false,
        ),
    ] {
        let wanted = [workload("Deployment", "1.1.0"), other];
        let (objects, found) = deferred(&wanted, &[workload("Deployment", "1.0.0")]);
        assert_eq!(found.is_empty(), is_used, "{}", wanted[1]);
        assert_eq!(objects == wanted, is_used, "{}", wanted[1]);
    }
}

#[test]
fn what_pods_read_of_themselves_is_no_matter_of_looks() {
    for (path, is_read) in [
        ("metadata.name", false),
        ("metadata.labels['app']", false),
        ("metadata.labels['helm.sh/chart']", true),
        ("metadata.labels", true),
        ("metadata.annotations", true),
    ] {
        let environment = json!([{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": path}}}]);
        let of = |version| {
            with(
                workload("Deployment", version),
                "/spec/template/spec/containers/0/env",
                environment.clone(),
            )
        };
        assert_eq!(
            deferred(&[of("1.1.0")], &[of("1.0.0")]).1.is_empty(),
            is_read,
            "{path}"
        );
    }
}

#[test]
fn labels_are_kept_over_versions_until_something_real_changes() {
    let [first, second, third] = VERSIONS.map(|version| workload("Deployment", version));
    let (second, found) = deferred(&[second], &[first]);
    assert_eq!(found.len(), 1);
    // Rendered once more, the same release is the same.
    let again = deferred(&[workload("Deployment", VERSIONS[1])], &second).0;
    assert_eq!(again, second);
    let (third, found) = deferred(&[third], &second);
    assert_eq!(found.len(), 1);
    assert_eq!(
        third[0]["spec"]["template"]["metadata"]["labels"]["helm.sh/chart"],
        "web-1.0.0"
    );
    let real = with(
        workload("Deployment", VERSIONS[2]),
        "/spec/template/spec/containers/0/image",
        json!("web:2"),
    );
    let (real, found) = deferred(&[real], &third);
    assert_eq!(found, [""; 0]);
    assert_eq!(
        real[0]["spec"]["template"]["metadata"]["labels"]["helm.sh/chart"],
        "web-1.2.0"
    );
}

#[test]
fn objects_of_any_shape_are_left_alone() {
    let strange = [
        json!(null),
        json!([]),
        json!({"kind": "Deployment"}),
        json!({"kind": "Deployment", "metadata": {"name": "web"}, "spec": []}),
        json!({"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": null}}),
        json!({"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": {"metadata": [1]}}}),
    ];
    for one in &strange {
        for other in &strange {
            assert_eq!(
                deferred(std::slice::from_ref(one), std::slice::from_ref(other)).1,
                [""; 0]
            );
        }
    }
}

proptest! {
    /// Whatever differs: a template is either as it was, or as it is wanted; and deferring again changes nothing.
    #[test]
    fn a_template_is_the_old_one_or_the_new_one(
        old in proptest::collection::vec((0..4_usize, 0..3_u8), 0..4),
        new in proptest::collection::vec((0..4_usize, 0..3_u8), 0..4),
    ) {
        let of = |entries: &[(usize, u8)]| {
            let mut object = workload("Deployment", "1.0.0");
            for (place, value) in entries {
                let pointer = [
                    "/spec/template/metadata/labels/helm.sh~1chart",
                    "/spec/template/metadata/labels/app.kubernetes.io~1version",
                    "/spec/template/metadata/labels/other",
                    "/spec/template/spec/nodeName",
                ][*place];
                object = with(object, pointer, json!(value.to_string()));
            }
            object
        };
        let (old, new) = (of(&old), of(&new));
        let (objects, found) = deferred(std::slice::from_ref(&new), std::slice::from_ref(&old));
        let standing = if found.is_empty() { &new } else { &old };
        prop_assert_eq!(&objects[0]["spec"]["template"], &standing["spec"]["template"]);
        prop_assert_eq!(deferred(std::slice::from_ref(&new), &objects).0, objects);
    }
}
