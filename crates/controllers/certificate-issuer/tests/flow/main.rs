//! Certificates on a server: asked for as OLM and bundles ask, and given back to cert-manager.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use certificate_issuer::{controller, definitions};
use kube::Client;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};
use stage::{Options, Stage};
use tokio::task::JoinHandle;
use x509_parser::pem::parse_x509_pem;

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server on which certificates are issued.
struct World {
    client: Client,
    issuing: JoinHandle<()>,
    _stage: Stage,
}

impl Drop for World {
    fn drop(&mut self) {
        self.issuing.abort();
    }
}

impl World {
    async fn new() -> Self {
        let stage = Stage::in_memory(Options::default()).await.expect("a stage");
        let client = Client::new(stage.service(), "default");
        let issuing = tokio::spawn(controller::run(client.clone(), std::future::pending()));
        let world = Self {
            client,
            issuing,
            _stage: stage,
        };
        for (_, plural, _) in definitions::KINDS {
            let is_there = |found: &Value| {
                let conditions = found["status"]["conditions"].as_array();
                let mut conditions = conditions.into_iter().flatten();
                conditions
                    .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
            };
            world
                .until(DEFINITION, "", &definitions::name_of(plural), is_there)
                .await;
        }
        world
    }

    fn api(&self, (api_version, kind, plural): Kind, namespace: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let kind = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        if namespace.is_empty() {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::namespaced_with(self.client.clone(), namespace, &resource)
        }
    }

    async fn make(&self, kind: Kind, namespace: &str, name: &str, fields: &Value) {
        let mut object = json!({"apiVersion": kind.0, "kind": kind.1, "metadata": {"name": name}});
        for (field, value) in fields.as_object().into_iter().flatten() {
            object[field] = value.clone();
        }
        object["metadata"]["name"] = name.into();
        let object = serde_json::from_value(object).expect("an object");
        let api = self.api(kind, namespace);
        api.create(&PostParams::default(), &object).await.expect("made");
    }

    async fn read(&self, kind: Kind, namespace: &str, name: &str) -> Value {
        let found = self.api(kind, namespace).get(name).await.expect("it is there");
        serde_json::to_value(found).expect("an object")
    }

    /// Waits until an object is as wanted, and returns it.
    async fn until(&self, kind: Kind, namespace: &str, name: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let value = |object: &DynamicObject| serde_json::to_value(object).expect("an object");
        let wanted = |object: Option<&DynamicObject>| object.is_some_and(|object| holds(&value(object)));
        let waiting = await_condition(self.api(kind, namespace), name, wanted);
        let found = tokio::time::timeout(PATIENCE, waiting).await;
        let found =
            found.unwrap_or_else(|_| panic!("{} {namespace}/{name} never came to be as wanted", kind.1));
        value(&found.expect("a watch").expect("an object"))
    }

    async fn is_ready(&self, kind: Kind, namespace: &str, name: &str) -> Value {
        self.until(kind, namespace, name, |object| {
            object["status"]["conditions"][0]["status"] == "True"
        })
        .await
    }
}

/// The group and version, kind and plural.
type Kind = (&'static str, &'static str, &'static str);

const CERTIFICATE: Kind = (definitions::API_VERSION, "Certificate", "certificates");
const ISSUER: Kind = (definitions::API_VERSION, "Issuer", "issuers");
const CLUSTER_ISSUER: Kind = (definitions::API_VERSION, "ClusterIssuer", "clusterissuers");
const SECRET: Kind = ("v1", "Secret", "secrets");
const NAMESPACE: Kind = ("v1", "Namespace", "namespaces");
const WEBHOOKS: Kind = (
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
);

const DEFINITION: Kind = (
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
);

fn decoded(secret: &Value, entry: &str) -> Vec<u8> {
    let encoded = secret["data"][entry].as_str().expect("an entry");
    STANDARD.decode(encoded).expect("base64")
}

fn webhooks(certificate: &str) -> Value {
    let client = json!({"service": {"name": "a", "namespace": "default"}});
    json!({
        "metadata": {"annotations": {"cert-manager.io/inject-ca-from": certificate}},
        "webhooks": [{
            "name": "a.example.com", "clientConfig": client, "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "rules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "resources": ["nothings"],
                "operations": ["CREATE"]}],
        }],
    })
}

fn trusts(webhooks: &Value) -> String {
    let trusted = &webhooks["webhooks"][0]["clientConfig"]["caBundle"];
    trusted.as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn what_olm_asks_for_is_issued_and_trusted_and_made_again() {
    let world = World::new().await;
    // In the order in which it helps least.
    world.make(WEBHOOKS, "", "w", &webhooks("default/c")).await;
    let asked = json!({"spec": {"secretName": "s", "commonName": "a.default", "dnsNames": ["a.default", "a.default.svc"],
        "usages": ["server auth"], "issuerRef": {"name": "i"}, "duration": "17520h0m0s", "renewBefore": "24h0m0s"}});
    world.make(CERTIFICATE, "default", "c", &asked).await;
    let waits = |certificate: &Value| certificate["status"]["conditions"][0]["reason"] == "IssuerMissing";
    world.until(CERTIFICATE, "default", "c", waits).await;
    world
        .make(ISSUER, "default", "i", &json!({"spec": {"selfSigned": {}}}))
        .await;
    world.is_ready(ISSUER, "default", "i").await;
    world.is_ready(CERTIFICATE, "default", "c").await;
    let first = world.read(SECRET, "default", "s").await;
    assert_eq!(first["type"], "kubernetes.io/tls");
    let authority = first["data"]["ca.crt"].as_str().expect("an authority").to_owned();
    world
        .until(WEBHOOKS, "", "w", |webhooks| trusts(webhooks) == authority)
        .await;

    let secrets = world.api(SECRET, "default");
    secrets
        .delete("s", &DeleteParams::default())
        .await
        .expect("deleted");
    let is_another =
        |secret: &Value| secret["data"]["tls.crt"].is_string() && secret["data"] != first["data"];
    let second = world.until(SECRET, "default", "s", is_another).await;
    world
        .until(WEBHOOKS, "", "w", |webhooks| {
            trusts(webhooks) == second["data"]["ca.crt"]
        })
        .await;
}

#[tokio::test]
async fn an_authority_that_was_asked_for_signs_for_the_whole_cluster() {
    let world = World::new().await;
    world.make(NAMESPACE, "", "cert-manager", &Value::Null).await;
    world
        .make(ISSUER, "cert-manager", "i", &json!({"spec": {"selfSigned": {}}}))
        .await;
    world
        .make(
            CLUSTER_ISSUER,
            "",
            "all",
            &json!({"spec": {"ca": {"secretName": "root"}}}),
        )
        .await;
    let lacks = |issuer: &Value| issuer["status"]["conditions"][0]["reason"] == "SecretMissing";
    world.until(CLUSTER_ISSUER, "", "all", lacks).await;
    let leaf = json!({"spec": {"secretName": "s", "dnsNames": ["a.default.svc"],
        "issuerRef": {"name": "all", "kind": "ClusterIssuer"}}});
    world.make(CERTIFICATE, "default", "c", &leaf).await;
    let root = json!({"spec": {"secretName": "root", "commonName": "root", "isCA": true, "issuerRef": {"name": "i"}}});
    world.make(CERTIFICATE, "cert-manager", "root", &root).await;
    world.is_ready(CLUSTER_ISSUER, "", "all").await;
    world.is_ready(CERTIFICATE, "default", "c").await;
    let root = world.read(SECRET, "cert-manager", "root").await;
    let leaf = world.read(SECRET, "default", "s").await;
    assert_eq!(leaf["data"]["ca.crt"], root["data"]["tls.crt"]);
    let (root, leaf) = (decoded(&root, "tls.crt"), decoded(&leaf, "tls.crt"));
    let ((_, root), (_, leaf)) = (
        parse_x509_pem(&root).expect("the root"),
        parse_x509_pem(&leaf).expect("a leaf"),
    );
    let (root, leaf) = (
        root.parse_x509().expect("a certificate"),
        leaf.parse_x509().expect("a certificate"),
    );
    assert_eq!(leaf.issuer().as_raw(), root.subject().as_raw());
    assert!(leaf.verify_signature(Some(root.public_key())).is_ok());
}

#[tokio::test]
async fn a_secret_that_cannot_be_written_is_told_and_its_removal_heals() {
    let world = World::new().await;
    let issuer = json!({"spec": {"selfSigned": {}}});
    world.make(ISSUER, "default", "i", &issuer).await;
    let opaque = json!({"type": "Opaque", "stringData": {"of": "somebody else"}});
    world.make(SECRET, "default", "s", &opaque).await;
    let asked =
        json!({"spec": {"secretName": "s", "dnsNames": ["a.default.svc"], "issuerRef": {"name": "i"}}});
    world.make(CERTIFICATE, "default", "c", &asked).await;
    let is_told = |certificate: &Value| {
        let condition = &certificate["status"]["conditions"][0];
        let message = condition["message"].as_str().unwrap_or_default();
        condition["reason"] == "NotWritten" && message.contains("spec.secretName")
    };
    world.until(CERTIFICATE, "default", "c", is_told).await;
    let secrets = world.api(SECRET, "default");
    secrets
        .delete("s", &DeleteParams::default())
        .await
        .expect("deleted");
    world.is_ready(CERTIFICATE, "default", "c").await;
}

#[tokio::test]
async fn a_definition_that_somebody_writes_over_is_theirs() {
    let world = World::new().await;
    let definitions = world.api(DEFINITION, "");
    let name = definitions::name_of("certificates");
    let read = async || world.read(DEFINITION, "", &name).await;
    assert!(definitions::is_ours(&read().await));
    let label = json!({"metadata": {"labels": {"team": "a"}}});
    let by = |manager: &str| PatchParams {
        field_manager: Some(manager.to_owned()),
        ..PatchParams::default()
    };
    let labelled = definitions
        .patch(&name, &by("kubectl-label"), &Patch::Merge(&label))
        .await;
    labelled.expect("labelled");
    assert!(definitions::is_ours(&read().await), "a label changes nothing");
    let mut versions = read().await["spec"]["versions"].clone();
    versions[0]["schema"]["openAPIV3Schema"]["description"] = "A Certificate, as cert-manager has it".into();
    let over = json!({"spec": {"versions": versions}});
    let written = definitions
        .patch(&name, &by("kubectl-client-side-apply"), &Patch::Merge(&over))
        .await;
    written.expect("written over");
    assert!(!definitions::is_ours(&read().await));
}
