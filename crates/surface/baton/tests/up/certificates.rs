//! Operators with webhooks on a machine without cert-manager.

use std::fs;

use serde_json::{Value, json};

use super::world::World;
use super::{Up, read, run, text, until};

const EXTENSION: &str = "/apis/olm.operatorframework.io/v1/clusterextensions/hooks";

const CERTIFICATES: &str = "/apis/cert-manager.io/v1/namespaces/hooks/certificates";

/// Puts the image of a bundle with webhooks into the registry.
fn push_bundle(world: &World, up: &Up<'_>) -> Option<String> {
    let corpus = corpus::open("olmv1")?;
    let folder = corpus.join("olmv1-corpus/render/bundles-extra/webhook-operator.v0.0.1");
    let host = up.place("registry").trim_start_matches("http://");
    let image = format!("{host}/hooks/bundle:v0.0.1");
    for part in ["manifests", "metadata"] {
        let to = world.path("hooks").join(part);
        fs::create_dir_all(&to).expect("a folder");
        for entry in fs::read_dir(folder.join(part)).expect("a part of the bundle") {
            let entry = entry.expect("a file");
            let file = fs::read_to_string(entry.path()).expect("a text");
            // The bundle is older than the rule that this says something.
            let file = file.replace("channel.default.v1: \"\"", "channel.default.v1: alpha");
            fs::write(to.join(entry.file_name()), file).expect("a copy");
        }
    }
    let folder = world.path("hooks").display().to_string();
    for arguments in [
        vec!["bundle", "build", &folder, "--bundle-image", &image],
        vec!["bundle", "push", &image],
    ] {
        let done = run(world, &arguments);
        assert!(done.status.success(), "{arguments:?}: {}", text(&done.stderr));
    }
    Some(image)
}

/// Asks for something that must be there.
fn there(up: &Up<'_>, path: &str) -> Value {
    let (code, found) = up.ask("GET", path, None);
    assert_eq!(code, 200, "{path}: {found}");
    found
}

fn condition(object: &Value, kind: &str) -> Value {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions
        .find(|condition| condition["type"] == kind)
        .cloned()
        .unwrap_or_default()
}

#[test]
fn an_operator_with_webhooks_is_installed_where_nobody_runs_cert_manager() {
    let world = World::new();
    let up = Up::start(&world, &[]);
    let Some(image) = push_bundle(&world, &up) else {
        return;
    };
    let make = |path: &str, object: &Value| {
        let (code, made) = up.ask("POST", path, Some(object));
        assert_eq!(code, 201, "{made}");
    };
    make("/api/v1/namespaces", &json!({"metadata": {"name": "hooks"}}));
    make(
        "/apis/olm.operatorframework.io/v1/clusterextensions",
        &json!({"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension",
            "metadata": {"name": "hooks", "annotations": {"baton-olm.dev/bundle-image": image}},
            "spec": {"namespace": "hooks", "serviceAccount": {"name": "default"},
                "source": {"sourceType": "Catalog", "catalog": {"packageName": "webhook-operator"}}}}),
    );
    until("the operator is waited for", || {
        condition(&there(&up, EXTENSION), "Installed")["status"] == "True"
    });

    let certificates = there(&up, CERTIFICATES);
    let certificate = &certificates["items"][0];
    assert_eq!(condition(certificate, "Ready")["status"], "True", "{certificate}");
    let name = certificate["spec"]["secretName"].as_str().expect("a Secret");
    let secret = there(&up, &format!("/api/v1/namespaces/hooks/secrets/{name}"));
    assert_eq!(secret["type"], "kubernetes.io/tls");
    let trusted = &secret["data"]["ca.crt"];
    assert!(trusted.is_string(), "{}", secret["metadata"]);
    let registrations = "/apis/admissionregistration.k8s.io/v1";
    for plural in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        let path = format!("{registrations}/{plural}");
        until("trust in the webhooks is waited for", || {
            let found = there(&up, &path);
            let of_operator = found["items"].as_array().into_iter().flatten().filter(|found| {
                found["metadata"]["annotations"]["cert-manager.io/inject-ca-from"].is_string()
            });
            let asked: Vec<Value> = of_operator
                .flat_map(|found| found["webhooks"].as_array().cloned().unwrap_or_default())
                .collect();
            !asked.is_empty()
                && asked
                    .iter()
                    .all(|webhook| webhook["clientConfig"]["caBundle"] == *trusted)
        });
    }
    until("trust in the conversion is waited for", || {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/webhooktests.webhook.operators.coreos.io";
        there(&up, path)["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] == *trusted
    });

    // The second start issues nothing anew.
    up.signal("-TERM");
    assert_eq!(up.end(), Some(0));
    let up = Up::start(&world, &[]);
    until("the operator is waited for again", || {
        condition(&there(&up, EXTENSION), "Installed")["status"] == "True"
    });
    let again = there(&up, &format!("/api/v1/namespaces/hooks/secrets/{name}"));
    assert_eq!(again["data"], secret["data"], "{}", read(&world, "up.log"));
}
