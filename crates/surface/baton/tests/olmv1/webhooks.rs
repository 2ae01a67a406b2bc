//! Scenarios 6 and 64: operators with webhooks. Their bundles are the real ones; what their Pods would do is done here.

use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};

use crate::bundles::{Contents, Files};
use crate::certificates::Issuing;
use crate::classic_kinds;
use crate::images::Entry;
use crate::kubernetes::PATIENCE;
use crate::processes::Server;
use crate::reference::Reference;
use crate::runner::{Case, cases, told_together};
use crate::scenario::Scenario;
use crate::terminal::Terminal;
use crate::webhook_server::{Answer, Reserved, WebhookServer, leads_here};
use crate::world::World;

type Outcome = Result<(), String>;

/// Those whose webhooks are asked about other people's objects.
const SCENARIOS: &[Case] = &cases![
    "6": webhooks::an_operator_with_webhooks_converts_and_refuses,
    "64": webhooks::an_operator_adds_a_container_to_pods,
    "adopted": webhooks::somebody_is_always_asked_while_an_operator_is_adopted,
];

/// Both, in a cluster where nobody else's objects are asked about.
pub(crate) async fn operators_with_webhooks_work(server: Server) -> Outcome {
    let world = World::on(server).await?;
    let _issuing = Issuing::start(&world.kubernetes, &world.kubeconfig()).await?;
    let failures = told_together(world, SCENARIOS).await;
    if failures.is_empty() {
        Ok(())
    } else {
        Err(failures.join("\n\n"))
    }
}

/// Reads a bundle and moves its webhooks to a port of the test.
fn bundle(folder: &Path, port: u16) -> Result<Files, String> {
    let mut files = Files::new();
    for part in ["manifests", "metadata"] {
        let entries = std::fs::read_dir(folder.join(part)).map_err(|error| error.to_string())?;
        for entry in entries {
            let entry = entry.map_err(|error| error.to_string())?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let text = std::fs::read(entry.path()).map_err(|error| error.to_string())?;
            let mut object = goyaml::to_value(&text).map_err(|error| format!("{name}: {error}"))?;
            if object["kind"] == "ClusterServiceVersion" {
                move_to(&mut object, port);
            }
            files.insert(format!("{part}/{name}"), object.to_string().into_bytes());
        }
    }
    Ok(files)
}

fn move_to(service_version: &mut Value, port: u16) {
    let spec = &mut service_version["spec"];
    for webhook in spec["webhookdefinitions"].as_array_mut().into_iter().flatten() {
        webhook["targetPort"] = port.into();
    }
    let deployments = spec["install"]["spec"]["deployments"].as_array_mut();
    for deployment in deployments.into_iter().flatten() {
        let pod = &mut deployment["spec"]["template"]["spec"];
        for container in pod["containers"].as_array_mut().into_iter().flatten() {
            container["ports"] = json!([{"containerPort": port}]);
        }
    }
}

/// Installs a bundle and becomes its operator as soon as there is a certificate for it.
async fn installed(
    scenario: &Scenario,
    folder: &Path,
    version: &'static str,
    deployment: &str,
    answer: Answer,
) -> Result<WebhookServer, String> {
    let reserved = Reserved::any().await?;
    let contents = Contents::of_files(bundle(folder, reserved.port)?);
    scenario
        .prepare(&[Entry::new(version, "alpha", contents)])
        .await?;
    scenario.apply(&scenario.extension()).await?;
    let namespace = scenario.namespace();
    let collection = Reference::namespaced("cert-manager.io/v1", "Certificate", &namespace, "").collection();
    let name = scenario
        .kubernetes()
        .until_all(&collection, "", crate::kubernetes::PATIENCE, |certificates| {
            let certificate = certificates.first().ok_or("there is no Certificate")?;
            let name = certificate["spec"]["secretName"].as_str();
            Ok(name.ok_or("the Certificate names no Secret")?.to_owned())
        })
        .await?;
    let secret = Reference::namespaced("v1", "Secret", &namespace, &name);
    let secret = scenario.kubernetes().until_there(&secret).await?;
    let server = reserved.serve(&secret, answer)?;
    let deployment = Reference::namespaced("apps/v1", "Deployment", &namespace, deployment);
    leads_here(scenario, &deployment).await?;
    scenario.is_installed(&scenario.reference()).await?;
    Ok(server)
}

/// What the webhook operator answers.
fn webhook_operator(path: &str, request: &Value) -> Value {
    if path == "/convert" {
        let wanted = request["desiredAPIVersion"].as_str().unwrap_or_default();
        let objects = request["objects"].as_array().into_iter().flatten();
        let converted: Vec<Value> = objects.map(|object| converted(object, wanted)).collect();
        return json!({"result": {"status": "Success"}, "convertedObjects": converted});
    }
    let spec = &request["object"]["spec"];
    if path.starts_with("/mutate") {
        let patch = json!([{"op": "add", "path": "/spec/mutate", "value": true}]);
        let patch = base64::engine::general_purpose::STANDARD.encode(patch.to_string());
        return json!({"allowed": true, "patchType": "JSONPatch", "patch": patch});
    }
    if spec["valid"] == true {
        return json!({"allowed": true});
    }
    let message = format!(
        "WebhookTest.webhook.operators.coreos.io {} is invalid: spec.valid: Invalid value: false: Spec.Valid must be true",
        request["name"]
    );
    json!({"allowed": false, "status": {"code": 422, "reason": "Invalid", "message": message}})
}

fn converted(object: &Value, wanted: &str) -> Value {
    let mut converted = object.clone();
    if object["apiVersion"] != wanted {
        converted["spec"] = if wanted.ends_with("/v2") {
            json!({"conversion": object["spec"]})
        } else {
            object["spec"]["conversion"].clone()
        };
        converted["apiVersion"] = wanted.into();
    }
    converted
}

/// Tries until it holds: an API server takes its time to see the certificate by which a webhook is trusted.
async fn patiently<Attempt>(attempt: impl Fn(usize) -> Attempt) -> Outcome
where
    Attempt: Future<Output = Outcome>,
{
    let begin = Instant::now();
    let mut number = 1;
    loop {
        match attempt(number).await {
            Err(_) if begin.elapsed() < PATIENCE => tokio::time::sleep(Duration::from_millis(300)).await,
            outcome => return outcome,
        }
        number += 1;
    }
}

/// 6
pub(crate) async fn an_operator_with_webhooks_converts_and_refuses(scenario: Scenario) -> Outcome {
    let Some(corpus) = corpus::open("olmv1") else {
        return Ok(());
    };
    let folder = corpus.join("olmv1-corpus/render/bundles-extra/webhook-operator.v0.0.1");
    let _operator = installed(
        &scenario,
        &folder,
        "0.0.1",
        "webhook-operator-controller-manager",
        webhook_operator,
    )
    .await?;
    patiently(|number| converts_and_refuses(&scenario, number)).await
}

async fn converts_and_refuses(scenario: &Scenario, number: usize) -> Outcome {
    let test = |name: &str, valid: bool| {
        json!({"apiVersion": "webhook.operators.coreos.io/v1", "kind": "WebhookTest",
            "metadata": {"name": name, "namespace": scenario.namespace()}, "spec": {"valid": valid}})
    };
    let refused = scenario.kubernetes().create(&test("wrong", false)).await?;
    let words = "Invalid value: false: Spec.Valid must be true";
    if refused.code < 400 || !refused.message().contains(words) {
        return Err(format!(
            "what isn't valid is told {} {}",
            refused.code,
            refused.message()
        ));
    }
    let name = format!("right-{number}");
    scenario
        .kubernetes()
        .create(&test(&name, true))
        .await?
        .successful("what is valid is refused")?;
    for (version, expected) in [
        ("v2", json!({"conversion": {"valid": true, "mutate": true}})),
        ("v1", json!({"valid": true, "mutate": true})),
    ] {
        let api_version = format!("webhook.operators.coreos.io/{version}");
        let reference = Reference::namespaced(&api_version, "WebhookTest", &scenario.namespace(), &name);
        let read = scenario.kubernetes().read(&reference).await?;
        if read["spec"] != expected {
            return Err(format!("as {version} it reads {}", read["spec"]));
        }
    }
    Ok(())
}

/// What the telegraf operator answers: a second container for Pods that ask for it.
fn telegraf_operator(_path: &str, request: &Value) -> Value {
    let annotations = request["object"]["metadata"]["annotations"].as_object();
    let is_asked = annotations.is_some_and(|annotations| {
        annotations
            .keys()
            .any(|key| key.starts_with("telegraf.influxdata.com/"))
    });
    if !is_asked || request["operation"] != "CREATE" {
        return json!({"allowed": true});
    }
    let container = json!({"name": "telegraf", "image": "docker.io/library/telegraf:1.22"});
    let patch = json!([{"op": "add", "path": "/spec/containers/-", "value": container}]);
    let patch = base64::engine::general_purpose::STANDARD.encode(patch.to_string());
    json!({"allowed": true, "patchType": "JSONPatch", "patch": patch})
}

/// 64
pub(crate) async fn an_operator_adds_a_container_to_pods(scenario: Scenario) -> Outcome {
    let Some(corpus) = corpus::open("catalog") else {
        return Ok(());
    };
    let folder = corpus.join("catalog-corpus/bundles/telegraf-operator/1.3.6");
    let operator = installed(
        &scenario,
        &folder,
        "1.3.6",
        "telegraf-operator",
        telegraf_operator,
    )
    .await?;
    patiently(|number| adds_a_container(&scenario, number)).await?;
    // Its webhook is asked about every Pod of the cluster: it has to be gone before its operator is.
    scenario.kubernetes().delete(&scenario.reference()).await?;
    scenario.kubernetes().until_gone(&scenario.reference()).await?;
    drop(operator);
    Ok(())
}

async fn adds_a_container(scenario: &Scenario, number: usize) -> Outcome {
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": format!("my-pod-{number}"), "namespace": scenario.namespace(),
                "annotations": {"telegraf.influxdata.com/port": "8080"}},
            "spec": {"containers": [{"name": "httpd", "image": "busybox:1.36"}]}});
    let made = scenario.kubernetes().create(&pod).await?;
    let made = made.successful("cannot make a Pod")?;
    match made["spec"]["containers"].as_array().map_or(0, Vec::len) {
        2 => Ok(()),
        count => Err(format!("the Pod has {count} containers")),
    }
}

/// The webhook of an operator that OLM v0 installed: nothing of it is lost on the way to an extension.
pub(crate) async fn somebody_is_always_asked_while_an_operator_is_adopted(scenario: Scenario) -> Outcome {
    let (id, namespace) = (scenario.id.clone(), scenario.namespace());
    let webhook = format!("check.{id}.example.com");
    let (files, version) = with_webhook(&scenario, &webhook)?;
    let contents = Contents::of_files(files);
    scenario
        .prepare(&[Entry::new("1.0.0", "alpha", contents)])
        .await?;
    classic_kinds::serve(scenario.kubernetes()).await?;
    let old = installed_by_classic(&scenario, version, &webhook).await?;
    let new = Reference::cluster(
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        &webhook,
    );

    let plan = adopt(&scenario, &["-o", "json"]).await?.successful()?;
    let plan: Value = serde_json::from_str(&plan).map_err(|error| error.to_string())?;
    let kind = "ValidatingWebhookConfiguration";
    let expected = json!([{"name": webhook, "type": "ValidatingAdmissionWebhook",
        "before": [format!("{kind} {}", old.name)], "after": [format!("{kind} {webhook}")]}]);
    if plan["webhooks"] != expected {
        return Err(format!("the plan says of webhooks {}", plan["webhooks"]));
    }
    let watching = tokio::spawn({
        let (scenario, old, new) = (scenario.clone(), old.clone(), new.clone());
        async move { is_always_asked(&scenario, &old, &new).await }
    });
    let adopted = adopt(&scenario, &["--yes"]).await?.successful();
    watching.abort();
    if let Ok(gap) = watching.await {
        return gap;
    }
    adopted?;
    scenario.kubernetes().until_gone(&old).await?;
    let deployment = Reference::namespaced(
        "apps/v1",
        "Deployment",
        &namespace,
        &format!("test-operator-{id}"),
    );
    scenario.kubernetes().read(&deployment).await?;
    trusts(scenario.kubernetes().get(&new).await?.as_ref())
}

/// Types the command that takes over the operator of a scenario.
async fn adopt(scenario: &Scenario, more: &[&str]) -> Result<crate::terminal::Seen, String> {
    let namespace = scenario.namespace();
    let mut arguments = vec!["adopt", "left", "--namespace", &namespace];
    arguments.extend(more);
    Terminal::of(&scenario.world)?.run(&arguments).await
}

/// The operator of a bundle with a webhook, and its ClusterServiceVersion.
fn with_webhook(scenario: &Scenario, webhook: &str) -> Result<(Files, Value), String> {
    let id = &scenario.id;
    let mut files = Contents::operator().files(id, &scenario.package(), "1.0.0");
    let described = files
        .get_mut("manifests/csv.yaml")
        .ok_or("no ClusterServiceVersion")?;
    let mut version: Value = serde_json::from_slice(described).map_err(|error| error.to_string())?;
    version["spec"]["webhookdefinitions"] = json!([{
        "type": "ValidatingAdmissionWebhook", "generateName": webhook, "deploymentName": format!("test-operator-{id}"),
        "containerPort": 443, "targetPort": 8080, "webhookPath": "/check", "admissionReviewVersions": ["v1"],
        // Nobody asks it here: what is looked at is who would be asked.
        "sideEffects": "None", "failurePolicy": "Ignore",
        "rules": [{"apiGroups": [format!("none-{id}.example.com")], "apiVersions": ["v1"], "resources": ["nothings"],
            "operations": ["CREATE"]}],
    }]);
    *described = version.to_string().into_bytes();
    Ok((files, version))
}

/// Makes what OLM v0 leaves behind; returns the configuration by which the webhook is called.
async fn installed_by_classic(
    scenario: &Scenario,
    mut version: Value,
    webhook: &str,
) -> Result<Reference, String> {
    let (kubernetes, namespace) = (scenario.kubernetes(), scenario.namespace());
    let name = version["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    version["metadata"]["namespace"] = namespace.as_str().into();
    version["status"] = json!({"phase": "Succeeded"});
    let subscription = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
        "metadata": {"name": "left", "namespace": namespace},
        "spec": {"name": scenario.package(), "channel": "alpha", "source": "catalog", "sourceNamespace": "olm"},
        "status": {"state": "AtLatestKnown", "installedCSV": name},
    });
    let group = json!({
        "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
        "metadata": {"name": "group", "namespace": namespace}, "spec": {},
    });
    let permissions = &version["spec"]["install"]["spec"];
    let mut rules = permissions["permissions"][0]["rules"].clone();
    let more = [
        json!({"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["namespaces"]}),
        permissions["clusterPermissions"][0]["rules"][0].clone(),
    ];
    rules.as_array_mut().ok_or("no rules")?.extend(more);
    let labels = json!({"olm.owner": name, "olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": namespace});
    let metadata = json!({"name": format!("{name}-c1a551c"), "labels": labels});
    let rbac = "rbac.authorization.k8s.io";
    let role = json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": metadata, "rules": rules});
    let binding = json!({
        "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": metadata["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": permissions["permissions"][0]["serviceAccountName"],
            "namespace": namespace}],
    });
    let mut called = labels;
    called["olm.webhook-description-generate-name"] = webhook.into();
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": format!("{webhook}-x7k2p"), "labels": called},
        "webhooks": [{
            "name": webhook, "sideEffects": "None", "failurePolicy": "Ignore", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://127.0.0.1:1/check"},
            "rules": version["spec"]["webhookdefinitions"][0]["rules"],
        }],
    });
    for object in [&version, &subscription, &group, &role, &binding, &configuration] {
        let what = format!("cannot make {}", Reference::of(object));
        kubernetes.create(object).await?.successful(&what)?;
    }
    Ok(Reference::of(&configuration))
}

/// Looks again and again until it is neither the old webhook that is called nor one that can be trusted.
async fn is_always_asked(scenario: &Scenario, old: &Reference, new: &Reference) -> Outcome {
    let kubernetes = scenario.kubernetes();
    loop {
        // In this order: the old one goes when the new one is there.
        if kubernetes.get(old).await?.is_none() {
            trusts(kubernetes.get(new).await?.as_ref())
                .map_err(|reason| format!("the old webhook is gone: {reason}"))?;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Fails where the API server couldn't call a webhook.
fn trusts(configuration: Option<&Value>) -> Outcome {
    let configuration = configuration.ok_or("the new one isn't there")?;
    let bundle = &configuration["webhooks"][0]["clientConfig"]["caBundle"];
    if bundle.as_str().is_some_and(|bundle| !bundle.is_empty()) {
        Ok(())
    } else {
        Err("the new one isn't trusted".to_owned())
    }
}
