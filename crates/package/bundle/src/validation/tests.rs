use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// A bundle of the given manifests, with proper annotations.
fn bundle(manifests: &[(&str, Value)]) -> BundleFiles {
    let mut files: BTreeMap<String, Vec<u8>> = manifests
        .iter()
        .map(|(name, object)| (format!("manifests/{name}"), object.to_string().into_bytes()))
        .collect();
    let annotations = json!({"annotations": {
        "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
        "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
        "operators.operatorframework.io.bundle.metadata.v1": "metadata/",
        "operators.operatorframework.io.bundle.package.v1": "memcached",
        "operators.operatorframework.io.bundle.channels.v1": "stable",
    }});
    files.insert(
        "metadata/annotations.yaml".to_owned(),
        annotations.to_string().into_bytes(),
    );
    BundleFiles::from_image(files, BTreeMap::new())
}

fn csv() -> Value {
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": "memcached.v0.1.0",
            "labels": {"operatorframework.io/arch.arm64": "supported"},
            "annotations": {"alm-examples": "[]", "categories": "Database"},
        },
        "spec": {
            "displayName": "Memcached",
            "version": "0.1.0",
            "minKubeVersion": "1.20.0",
            "installModes": [{"type": "AllNamespaces", "supported": true}],
            "install": {"strategy": "deployment", "spec": {"deployments": [{"name": "d", "spec": {"template": {"spec": {
                "containers": [{"name": "manager", "image": "quay.io/a/b:1"}],
            }}}}]}},
        },
    })
}

fn selection(optional: &str) -> Selection<'static> {
    Selection {
        location: "bundle".to_owned(),
        optional: Selector::parse(optional).expect("a selector"),
        ..Selection::default()
    }
}

fn text(report: &Report) -> String {
    let (mut out, mut log) = (Vec::new(), Vec::new());
    report.write_text(&mut out, &mut log, "T").expect("written");
    format!(
        "{}--\n{}",
        String::from_utf8_lossy(&out),
        String::from_utf8_lossy(&log)
    )
}

#[test]
fn a_good_bundle_passes_and_says_so_on_standard_error() {
    let report = validate(
        &bundle(&[("csv.yaml", csv())]),
        &selection(""),
        &OptionalValues::default(),
    );
    assert!(report.passed());
    assert_eq!(
        text(&report),
        "--\ntime=T level=info msg=\"All validation tests have completed successfully\"\n"
    );
    let mut out = Vec::new();
    report
        .write_json(&mut out, &mut Vec::new(), "T")
        .expect("written");
    assert_eq!(
        String::from_utf8_lossy(&out),
        "{\n    \"passed\": true,\n    \"outputs\": null\n}\n"
    );
}

#[test]
fn findings_are_printed_as_operator_sdk_prints_them() {
    let mut object = csv();
    object["spec"]["displayName"] = json!("");
    object["spec"]["minKubeVersion"] = json!("");
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}});
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "n", "name": "s"}});
    let files = bundle(&[("csv.yaml", object), ("d.yaml", deployment), ("s.yaml", service)]);
    let report = validate(
        &files,
        &selection("name=good-practices"),
        &OptionalValues::default(),
    );
    assert!(!report.passed());
    insta::assert_snapshot!(text(&report), @r#"
    time=T level=warning msg="Warning: Value : (memcached.v0.1.0) csv.Spec.minKubeVersion is not informed. It is recommended you provide this information. Otherwise, it would mean that your operator project can be distributed and installed in any cluster version available, which is not necessarily the case for all projects."
    time=T level=error msg="Error: Field Spec.DisplayName, Value field: required field missing"
    time=T level=error msg="Error: Value apps/v1, Kind=Deployment: unsupported media type registry+v1 for bundle object"
    time=T level=error msg="Error: Value s: error validating object: metadata.namespace: Forbidden: not allowed on this type. &{map[apiVersion:v1 kind:Service metadata:map[name:s namespace:n]]}"
    time=T level=warning msg="Warning: Value memcached.v0.1.0: unable to find the resource requests for the container: (manager). It is recommended to ensure the resource request for CPU and Memory. Be aware that for some clusters configurations it is required to specify requests or limits for those values. Otherwise, the system or quota may reject Pod creation. More info: https://master.sdk.operatorframework.io/docs/best-practices/managing-resources/"
    --
    "#);
    let mut out = Vec::new();
    report
        .write_json(&mut out, &mut Vec::new(), "T")
        .expect("written");
    let value: Value = serde_json::from_slice(&out).expect("JSON");
    assert_eq!(value["passed"], json!(false));
    assert_eq!(value["outputs"][0]["type"], json!("warning"));
}

#[test]
fn a_bundle_that_cannot_be_loaded_gives_one_fatal_line() {
    let files = BundleFiles::from_image(BTreeMap::new(), BTreeMap::new());
    let report = validate(&files, &selection(""), &OptionalValues::default());
    assert!(!report.passed());
    assert_eq!(
        text(&report),
        "--\ntime=T level=fatal msg=\"metadata not found in bundle\"\n"
    );
}

#[test]
fn an_images_labels_stand_in_for_missing_annotations() {
    let files = BTreeMap::from([("objects/csv.yaml".to_owned(), csv().to_string().into_bytes())]);
    let labels = BTreeMap::from([(format::MANIFESTS_ANNOTATION.to_owned(), "objects/".to_owned())]);
    let report = validate(
        &BundleFiles::from_image(files, labels),
        &selection(""),
        &OptionalValues::default(),
    );
    assert_eq!(report.fatal(), None);
    assert!(
        report.outputs()[0]
            .message
            .starts_with("error validating format in bundle: Bundle validation errors: Unable"),
        "{report:?}"
    );
}

struct Platforms;

impl ImagePlatforms for Platforms {
    fn platforms(&self, image: &str) -> Result<Vec<Platform>, String> {
        let platform = |architecture: &str| Platform {
            system: "linux".to_owned(),
            architecture: architecture.to_owned(),
        };
        match image {
            "quay.io/a/b:1" => Ok(vec![platform("amd64"), platform("unknown")]),
            _ => Err("not found".to_owned()),
        }
    }
}

#[test]
fn images_must_be_there_for_the_platforms_that_labels_promise() {
    let files = bundle(&[("csv.yaml", csv())]);
    let mut selection = selection("name=multiarch");
    let report = validate(&files, &selection, &OptionalValues::default());
    assert!(report.passed(), "{report:?}");
    assert!(
        report.outputs()[0]
            .message
            .contains("unable to inspect the image (quay.io/a/b:1)")
    );
    selection.platforms = Some(&Platforms);
    let report = validate(&files, &selection, &OptionalValues::default());
    insta::assert_snapshot!(text(&report), @r#"
    time=T level=warning msg="Warning: Value memcached.v0.1.0: check if the CSV is missing the label (operatorframework.io/arch.<value>) for the Arch(s): [\"amd64\"]. Be aware that your Operator manager image [\"quay.io/a/b:1\"] provides this support. Thus, it is very likely that you want to provide it and if you support more than amd64 architectures, you MUST,use the required labels for all which are supported.Otherwise, your solution cannot be listed on the cluster for these architectures"
    time=T level=warning msg="Warning: Value memcached.v0.1.0: check if the CSV has a missing or invalid node affinity configuration for the image: \"quay.io/a/b:1\". The image data suggests the following platforms are supported: [\"linux/amd64\"]"
    time=T level=error msg="Error: Value memcached.v0.1.0: not all images specified are providing the support described via the CSV labels. Note that (OS.architecture): (linux.arm64) was not found for the image(s) [quay.io/a/b:1]"
    --
    "#);
}

#[test]
fn own_advice_is_given_only_when_asked_for() {
    let files = bundle(&[("csv.yaml", csv())]);
    let mut selection = selection("");
    selection.own_advice = true;
    let report = validate(&files, &selection, &OptionalValues::default());
    assert!(report.passed());
    assert!(
        report
            .outputs()
            .iter()
            .all(|output| output.level == OutputLevel::Info
                && output.message.starts_with("baton: (memcached.v0.1.0) "))
    );
    assert_eq!(report.outputs().len(), 4);
}

#[test]
fn the_list_of_optional_validators_is_a_table() {
    let list = list_optional();
    assert!(
        list.starts_with("NAME                     LABELS                        DESCRIPTION\n"),
        "{list}"
    );
    assert!(
        list.contains("                         suite=operatorframework       \n"),
        "{list}"
    );
    let nothing = Selection {
        optional: Selector::parse("name=nope").expect("a selector"),
        ..Selection::default()
    };
    assert_eq!(
        nothing.check().expect_err("nothing").to_string(),
        "selector \"name=nope\" does not match any validator labels"
    );
}

/// Any JSON, with keys that checks look for.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z0-9./:@-]{0,8}".prop_map(Value::from),
    ];
    let key = prop_oneof![
        Just("metadata"),
        Just("spec"),
        Just("name"),
        Just("versions"),
        Just("names"),
        Just("group"),
        Just("install"),
        Just("deployments"),
        Just("annotations"),
        Just("labels"),
        Just("conversion"),
        Just("webhook"),
        Just("schema"),
        Just("openAPIV3Schema"),
        Just("properties"),
        Just("icon"),
        Just("links"),
        Just("maintainers"),
        Just("email"),
        Just("customresourcedefinitions"),
        Just("owned"),
        Just("template"),
        Just("containers"),
        Just("relatedImages"),
        Just("selectableFields"),
        Just("jsonPath"),
        Just("version"),
        Just("release"),
        Just("kind"),
        Just("strategy"),
    ];
    leaf.prop_recursive(6, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6).prop_map(|entries| entries
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_object_makes_validation_fall(spec in anything(), definition in anything(), metadata in anything(), old in any::<bool>()) {
        let mut version = csv();
        version["spec"] = spec;
        let group = if old { custom_resource_definition::V1BETA1 } else { custom_resource_definition::V1 };
        let files = bundle(&[
            ("csv.yaml", version),
            ("crd.yaml", json!({"apiVersion": group, "kind": "CustomResourceDefinition", "metadata": metadata, "spec": definition})),
        ]);
        let _ = validate(&files, &selection("name"), &OptionalValues::default());
        let _ = opm_content(&files, "bundle", OpmChecks::parse("operatorhub,bundle-objects"), &OptionalValues::default());
    }
}
