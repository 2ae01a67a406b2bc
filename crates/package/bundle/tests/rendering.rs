//! registry+v1 bundles rendered as OLM v1 renders them, case by case against what upstream expects.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bundle::files::BundleFiles;
use bundle::registry::{LoadError, RegistryBundle};
use bundle::rendering::certificates::{
    CertManager, CertificateProvider, CertificateSecret, ServiceCa, ServingCertificate,
};
use bundle::rendering::targets::InstallModes;
use bundle::rendering::{GENERATORS, RenderOptions, checks, names, render};
use bundle::supported_kinds;
use serde_json::{Value, json};

/// Whether a value says nothing: the recorded objects were written without such values.
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

fn pruned(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, value)| (key, pruned(value)))
            .filter(|(_, value)| !says_nothing(value))
            .collect(),
        Value::Array(items) => items.into_iter().map(pruned).collect(),
        other => other,
    }
}

/// The install modes of rows that were recorded without them: their names stand in the expected text or in the id.
fn lost_modes(row: &Value) -> Vec<Value> {
    let told = format!("{}{}", row["expected"]["error"], row["expectedErrors"]);
    let told = match told
        .split_once("install modes [")
        .and_then(|(_, rest)| rest.split_once(']'))
    {
        Some((modes, _)) => modes.to_lowercase(),
        None => row["id"].as_str().unwrap_or_default().to_owned(),
    };
    let known = [
        "AllNamespaces",
        "SingleNamespace",
        "OwnNamespace",
        "MultiNamespace",
    ];
    let mut modes: Vec<_> = known
        .into_iter()
        .filter(|mode| told.contains(&mode.to_lowercase()))
        .collect();
    if modes.is_empty() && row["expected"]["ok"] == true {
        modes.push("AllNamespaces");
    }
    modes
        .into_iter()
        .map(|mode| json!({ "type": mode, "supported": true }))
        .collect()
}

fn strings(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn described_bundle(value: &Value) -> RegistryBundle {
    let list = |field: &str| value[field].as_array().cloned().unwrap_or_default();
    RegistryBundle {
        package_name: value["packageName"].as_str().unwrap_or_default().to_owned(),
        cluster_service_version: value["csv"].clone(),
        custom_resource_definitions: list("crds"),
        others: list("others"),
    }
}

/// A provider that does what the recorded case says.
struct Fake(Value);

impl CertificateProvider for Fake {
    fn inject_authority(&self, object: &mut Value, _certificate: &ServingCertificate) {
        if !self.0["setAnnotations"].is_null() {
            object["metadata"]["annotations"] = self.0["setAnnotations"].clone();
        }
    }

    fn requests(&self, certificate: &ServingCertificate) -> Vec<Value> {
        vec![json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": certificate.name } })]
    }

    fn secret(&self, _certificate: &ServingCertificate) -> CertificateSecret {
        let text = |field: &str| {
            self.0["certSecretInfo"][field]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        CertificateSecret {
            name: text("secretName"),
            certificate_key: text("certificateKey"),
            private_key_key: text("privateKeyKey"),
        }
    }
}

fn cases(section: &str, run: impl Fn(&Path, &Value) -> Result<(), String>) {
    let Some(root) = corpus::open("olmv1") else { return };
    let root = root.join("olmv1-corpus/render");
    let all: Value =
        serde_json::from_slice(&fs::read(root.join("cases.json")).expect("cases")).expect("JSON");
    let rows = all[section].as_array().expect("rows");
    let failures: Vec<_> = rows
        .iter()
        .filter_map(|row| Some(format!("{}: {}", row["id"], run(&root, row).err()?)))
        .collect();
    assert!(
        failures.is_empty(),
        "{} of {} differ:\n{}",
        failures.len(),
        rows.len(),
        failures.join("\n")
    );
    assert!(!rows.is_empty());
}

fn equal(found: &Value, expected: &Value) -> Result<(), String> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("\n   found {found}\nexpected {expected}"))
    }
}

#[test]
fn every_generator_makes_the_objects_that_upstream_makes() {
    cases("generators", |_, row| {
        let expected = &row["expected"];
        if expected["error"] == "bundle cannot be nil" {
            return Ok(());
        }
        let options = &row["options"];
        let fake = Fake(options["certProvider"].clone());
        let mut wanted = RenderOptions::new(options["installNamespace"].as_str().unwrap_or_default());
        wanted.target_namespaces = strings(&options["targetNamespaces"]);
        wanted.certificates = (!fake.0.is_null()).then_some(&fake as &dyn CertificateProvider);
        wanted.deployment_config =
            Some(options["deploymentConfig"].clone()).filter(|config| !config.is_null());
        if options["uniqueNames"] == "base" {
            wanted.unique_name = |base, _| base.to_owned();
        }
        let stage = row["stage"]
            .as_str()
            .and_then(|stage| stage.strip_prefix("generator:"))
            .expect("a stage");
        let (_, generator) = GENERATORS
            .iter()
            .find(|(name, _)| *name == stage)
            .expect("a generator");
        match generator(&described_bundle(&row["bundle"]), &wanted) {
            Ok(objects) => equal(
                &pruned(Value::Array(objects)),
                &pruned(expected["objects"].clone()),
            ),
            Err(error) => equal(&json!(error.to_string()), &expected["error"]),
        }
    });
}

#[test]
fn every_check_finds_what_upstream_finds() {
    cases("validators", |_, row| {
        let (_, check) = checks::CHECKS
            .iter()
            .find(|(name, _)| row["validator"] == *name)
            .expect("a check");
        let mut bundle = described_bundle(&row["bundle"]);
        if row["validator"] == "conversion-webhook-support" {
            bundle.cluster_service_version["spec"]["installModes"] = lost_modes(row).into();
        }
        equal(&json!(check(&bundle)), &row["expectedErrors"])
    });
}

#[test]
fn whole_bundles_render_to_the_recorded_manifests() {
    cases("golden", |root, row| {
        let path = |field: &str| root.join(row[field].as_str().expect("a path"));
        let bundle = RegistryBundle::load(&BundleFiles::read_directory(&path("bundleDir")).expect("files"))
            .expect("a bundle");
        let mut options = RenderOptions::new(row["installNamespace"].as_str().expect("a namespace"));
        options.target_namespaces = strings(&row["watchNamespaces"]);
        options.deployment_config = Some(row["deploymentConfig"].clone()).filter(|config| !config.is_null());
        let key = |object: &Value| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (
                text(&object["kind"]),
                text(&object["metadata"]["namespace"]),
                text(&object["metadata"]["name"]),
            )
        };
        let objects = render(&bundle, options).map_err(|error| error.to_string())?;
        let found: BTreeMap<_, _> = objects
            .into_iter()
            .map(|object| (key(&object), pruned(object)))
            .collect();
        let mut expected = BTreeMap::new();
        for entry in fs::read_dir(path("expectedDir")).expect("a directory") {
            let object =
                goyaml::to_value(&fs::read(entry.expect("an entry").path()).expect("a file")).expect("YAML");
            expected.insert(key(&object), pruned(object));
        }
        let names = |objects: &BTreeMap<_, _>| json!(objects.keys().collect::<Vec<_>>());
        equal(&names(&found), &names(&expected))?;
        found.iter().try_for_each(|(key, object)| {
            equal(object, &expected[key]).map_err(|told| format!("{key:?}{told}"))
        })
    });
}

#[test]
fn targets_are_allowed_and_refused_as_upstream_does() {
    cases("options", |_, row| {
        if row["id"] == "options/rejects-nil-unique-name-generator" {
            // There is no such state here: the field is not optional.
            return Ok(());
        }
        let modes: Vec<_> = strings(&row["supportedInstallModes"]);
        let stated = modes
            .iter()
            .map(|mode| json!({ "type": mode, "supported": true }));
        let modes = if modes.is_empty() {
            lost_modes(row)
        } else {
            stated.collect()
        };
        let bundle = RegistryBundle {
            package_name: "test".to_owned(),
            cluster_service_version: json!({ "spec": { "installModes": modes } }),
            ..RegistryBundle::default()
        };
        let mut options = RenderOptions::new(row["installNamespace"].as_str().unwrap_or_default());
        options.target_namespaces = strings(&row["targetNamespaces"]);
        let expected = &row["expected"];
        match render(&bundle, options) {
            Ok(_) if expected["targetNamespaces"].is_array() => equal(
                &json!(InstallModes::of(&bundle).default_targets()),
                &expected["targetNamespaces"],
            ),
            Ok(_) => equal(&json!(true), &expected["ok"]),
            Err(error) => equal(&json!(error.to_string()), &expected["error"]),
        }
    });
}

#[test]
fn certificates_are_asked_for_as_upstream_does() {
    cases("certProviders", |_, row| {
        let provider: &dyn CertificateProvider = if row["provider"] == "cert-manager" {
            &CertManager
        } else {
            &ServiceCa
        };
        let text = |field: &str| row["cert"][field].as_str().unwrap_or_default().to_owned();
        let certificate = ServingCertificate {
            service: text("serviceName"),
            name: text("certName"),
            namespace: text("namespace"),
        };
        let expected = &row["expected"];
        match row["call"].as_str() {
            Some("inject") => {
                let mut object = json!({ "kind": row["objectKind"], "metadata": { "annotations": {} } });
                provider.inject_authority(&mut object, &certificate);
                equal(&object["metadata"]["annotations"], &expected["annotations"])
            }
            Some("secretInfo") => {
                let secret = provider.secret(&certificate);
                let found = json!({ "secretName": secret.name, "certificateKey": secret.certificate_key, "privateKeyKey": secret.private_key_key });
                equal(&found, expected)
            }
            _ => equal(
                &Value::Array(provider.requests(&certificate)),
                &expected["objects"],
            ),
        }
    });
}

#[test]
fn names_are_upstreams() {
    cases("names", |_, row| {
        let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
        if row["deployment"].is_null() {
            return equal(
                &json!(names::base_and_suffix(&text("base"), &text("suffix"))),
                &row["name"],
            );
        }
        let service = names::service(&text("deployment"));
        equal(&json!(names::certificate(&service)), &row["cert"])?;
        equal(&json!(service), &row["service"])
    });
}

#[test]
fn bundles_load_and_fail_to_load_as_upstreams_do() {
    cases("bundleSource", |_, row| {
        let files = row["files"].as_object().expect("files").iter();
        let files = files
            .map(|(path, text)| (path.clone(), text.as_str().unwrap_or_default().into()))
            .collect();
        let expected = &row["expected"];
        match RegistryBundle::load(&BundleFiles::from_image(files, BTreeMap::new())) {
            Ok(bundle) => {
                equal(&json!(bundle.package_name), &expected["packageName"])?;
                equal(
                    &bundle.cluster_service_version["metadata"]["annotations"],
                    &expected["csvAnnotations"],
                )
            }
            Err(error) => match expected["errorContains"].as_str() {
                Some(part) if error.to_string().contains(part) => Ok(()),
                _ => equal(&json!(error.to_string()), &expected["error"]),
            },
        }
    });
}

#[test]
fn the_kinds_of_bundles_are_upstreams() {
    let Some(root) = corpus::open("olmv1") else { return };
    let all: Value =
        serde_json::from_slice(&fs::read(root.join("olmv1-corpus/render/cases.json")).expect("cases"))
            .expect("JSON");
    for (kind, described) in all["supportedKinds"].as_object().expect("kinds") {
        let namespaced = supported_kinds::scope(kind) == Some(supported_kinds::Scope::Namespaced);
        assert_eq!(json!(namespaced), described["namespaced"], "{kind}");
    }
    assert_eq!(supported_kinds::scope("StatefulSet"), None);
    let order = |names: Vec<&str>| json!(names);
    assert_eq!(
        order(checks::CHECKS.iter().map(|(name, _)| *name).collect()),
        all["order"]["validators"]
    );
    assert_eq!(
        order(GENERATORS.iter().map(|(name, _)| *name).collect()),
        all["order"]["generators"]
    );
}

#[test]
fn lists_and_several_documents_are_taken_apart() {
    let manifests = "apiVersion: v1\nkind: List\nitems:\n- {kind: Service, apiVersion: v1}\n- {kind: Secret, apiVersion: v1}\n---\n{kind: ClusterServiceVersion}\n---\n# nothing\n";
    let files = |manifests: &str| {
        BundleFiles::from_image(
            [
                ("metadata/annotations.yaml", "annotations: {}"),
                ("manifests/all.yaml", manifests),
            ]
            .map(|(path, text)| (path.to_owned(), text.into()))
            .into(),
            BTreeMap::new(),
        )
    };
    let bundle = RegistryBundle::load(&files(manifests)).expect("a bundle");
    assert_eq!(bundle.others.len(), 2);
    assert!(matches!(
        RegistryBundle::load(&files("a: 1")),
        Err(LoadError::Manifest { .. })
    ));
}
