//! Admission webhooks: what they are told, and what their answers do.

use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};

use crate::context::{Context, PATIENCE};
use crate::exchange::PatchKind;
use crate::webhook::Webhook;

cases![
    a_denial_carries_the_webhook_s_words_and_code,
    a_denial_without_words_says_so,
    warnings_reach_the_client,
    a_mutating_webhook_changes_what_is_stored,
    a_patch_that_makes_an_object_invalid_is_refused,
    a_broken_patch_is_an_internal_error,
    the_review_describes_the_request,
    the_review_of_an_update_has_both_objects,
    the_review_of_a_deletion_has_the_old_object,
    a_webhook_that_is_down_fails_the_request,
    a_webhook_that_is_down_can_be_ignored,
    a_webhook_with_another_certificate_fails_the_request,
    an_answer_with_another_uid_fails_the_request,
    match_conditions_decide_whether_a_webhook_is_asked,
    an_object_selector_decides_whether_a_webhook_is_asked,
    rules_name_the_operations,
    subresources_are_matched_by_name,
    a_dry_run_is_refused_where_a_webhook_has_side_effects,
    a_webhook_is_asked_again_when_another_changed_the_object,
    mutating_webhooks_come_before_validating_ones,
    another_version_is_converted_to_the_one_the_rule_names,
    custom_resources_are_reviewed_too,
];

const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

fn hook(c: &Context, webhook: &Webhook, resource: &str) -> Value {
    json!({
        "name": "hook.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": webhook.url, "caBundle": webhook.authority},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": c.id}},
        "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "resources": [resource], "operations": ["*"]}],
    })
}

async fn register(c: &Context, path: &str, hooks: Vec<Value>) {
    let kind = if path == VALIDATING {
        "ValidatingWebhookConfiguration"
    } else {
        "MutatingWebhookConfiguration"
    };
    let body = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
        "metadata": {"name": c.id}, "webhooks": hooks});
    c.post(path, &body).await.expect(201);
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

/// Waits until the server has noticed the configuration: until a rehearsed request reaches the webhook.
async fn until_asked(c: &Context, webhook: &Webhook) {
    let begun = Instant::now();
    while webhook.seen().is_empty() {
        c.post("configmaps", &config_map("rehearsal"))
            .query("dryRun", "All")
            .await;
        assert!(begun.elapsed() < PATIENCE, "the webhook was never asked");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn validating(c: &Context, answer: impl Fn(&Value) -> Value + Send + Sync + 'static) -> Webhook {
    c.namespace().await;
    let webhook = Webhook::serve(answer).await;
    register(c, VALIDATING, vec![hook(c, &webhook, "configmaps")]).await;
    until_asked(c, &webhook).await;
    webhook
}

fn patch_response(patch: &Value) -> Value {
    let encoded = base64::engine::general_purpose::STANDARD.encode(patch.to_string());
    json!({"allowed": true, "patchType": "JSONPatch", "patch": encoded})
}

async fn a_denial_carries_the_webhook_s_words_and_code(c: &Context) {
    let _webhook = validating(c, |request| match request["name"].as_str() {
        Some("teapot") => json!({"allowed": false, "status": {"code": 418, "reason": "Teapot", "message": "short and stout"}}),
        Some("plain") => json!({"allowed": false, "status": {"message": "not today"}}),
        Some("reasoned") => json!({"allowed": false, "status": {"reason": "because"}}),
        _ => json!({"allowed": true}),
    })
    .await;
    c.post("configmaps", &config_map("teapot")).await.refused(
        418,
        "Teapot",
        "admission webhook \"hook.example.com\" denied the request: short and stout",
    );
    c.post("configmaps", &config_map("plain")).await.refused(
        400,
        "",
        "admission webhook \"hook.example.com\" denied the request: not today",
    );
    c.post("configmaps", &config_map("reasoned")).await.refused(
        400,
        "because",
        "admission webhook \"hook.example.com\" denied the request: because",
    );
    c.post("configmaps", &config_map("fine")).await.expect(201);
}

async fn a_denial_without_words_says_so(c: &Context) {
    let _webhook = validating(c, |_| json!({"allowed": false})).await;
    c.post("configmaps", &config_map("a")).await.refused(
        400,
        "",
        "admission webhook \"hook.example.com\" denied the request without explanation",
    );
}

async fn warnings_reach_the_client(c: &Context) {
    let _webhook = validating(
        c,
        |_| json!({"allowed": true, "warnings": ["mind the gap", "and the step"]}),
    )
    .await;
    let answer = c.post("configmaps", &config_map("a")).await.expect(201);
    assert_eq!(
        answer.warnings(),
        ["299 - \"mind the gap\"", "299 - \"and the step\""]
    );
}

async fn a_mutating_webhook_changes_what_is_stored(c: &Context) {
    c.namespace().await;
    let webhook = Webhook::serve(|_| {
        patch_response(&json!([{"op": "add", "path": "/data", "value": {"added": "by webhook"}}]))
    })
    .await;
    register(c, MUTATING, vec![hook(c, &webhook, "configmaps")]).await;
    until_asked(c, &webhook).await;
    c.post("configmaps", &config_map("a"))
        .await
        .expect(201)
        .has("/data/added", "by webhook");
    c.get("configmaps/a")
        .await
        .expect(200)
        .has("/data/added", "by webhook");
}

async fn a_patch_that_makes_an_object_invalid_is_refused(c: &Context) {
    c.namespace().await;
    let webhook = Webhook::serve(|_| {
        patch_response(&json!([{"op": "add", "path": "/data", "value": {"bad/key": "x"}}]))
    })
    .await;
    register(c, MUTATING, vec![hook(c, &webhook, "configmaps")]).await;
    until_asked(c, &webhook).await;
    c.post("configmaps", &config_map("a"))
        .await
        .expect(422)
        .has("/reason", "Invalid")
        .has("/details/causes/0/field", "data[bad/key]");
}

async fn a_broken_patch_is_an_internal_error(c: &Context) {
    c.namespace().await;
    let webhook = Webhook::serve(|_| patch_response(&json!([{"op": "remove", "path": "/none/such"}]))).await;
    register(c, MUTATING, vec![hook(c, &webhook, "configmaps")]).await;
    until_asked(c, &webhook).await;
    c.post("configmaps", &config_map("a"))
        .await
        .expect(500)
        .has("/reason", "InternalError");
}

async fn the_review_describes_the_request(c: &Context) {
    let webhook = validating(c, |_| json!({"allowed": true})).await;
    c.post("configmaps", &config_map("a"))
        .query("fieldManager", "me")
        .await
        .expect(201);
    let seen = webhook.seen();
    let review = seen
        .iter()
        .rfind(|review| review["request"]["name"] == "a")
        .expect("the review of a");
    assert_eq!(review["kind"], "AdmissionReview");
    assert_eq!(review["apiVersion"], "admission.k8s.io/v1");
    let request = &review["request"];
    let kind = json!({"group": "", "version": "v1", "kind": "ConfigMap"});
    let resource = json!({"group": "", "version": "v1", "resource": "configmaps"});
    assert_eq!(request["kind"], kind);
    assert_eq!(request["resource"], resource);
    assert_eq!(request["requestKind"], kind);
    assert_eq!(request["requestResource"], resource);
    assert_eq!(request["operation"], "CREATE");
    assert_eq!(request["namespace"], json!(c.id));
    assert_eq!(request["dryRun"], false);
    assert_eq!(request["oldObject"], Value::Null);
    assert_eq!(request["object"]["metadata"]["namespace"], json!(c.id));
    assert_eq!(
        request["options"],
        json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "me"})
    );
    assert!(request["userInfo"]["username"].is_string(), "{request}");
    assert!(
        request["uid"].as_str().is_some_and(|uid| uid.len() == 36),
        "{request}"
    );
}

async fn the_review_of_an_update_has_both_objects(c: &Context) {
    let webhook = validating(c, |_| json!({"allowed": true})).await;
    c.post("configmaps", &config_map("a")).await.expect(201);
    c.patch(PatchKind::Merge, "configmaps/a", &json!({"data": {"k": "v"}}))
        .await
        .expect(200);
    let seen = webhook.seen();
    let review = seen
        .iter()
        .rfind(|review| review["request"]["operation"] == "UPDATE")
        .expect("an update");
    assert_eq!(review["request"]["object"]["data"]["k"], "v");
    assert_eq!(review["request"]["oldObject"]["data"], Value::Null);
    assert_eq!(review["request"]["options"]["kind"], "UpdateOptions");
}

async fn the_review_of_a_deletion_has_the_old_object(c: &Context) {
    let webhook = validating(c, |_| json!({"allowed": true})).await;
    c.post("configmaps", &config_map("a")).await.expect(201);
    c.delete("configmaps/a").await.expect(200);
    let seen = webhook.seen();
    let review = seen
        .iter()
        .rfind(|review| review["request"]["operation"] == "DELETE")
        .expect("a deletion");
    assert_eq!(review["request"]["object"], Value::Null);
    assert_eq!(review["request"]["oldObject"]["metadata"]["name"], "a");
    assert_eq!(review["request"]["options"]["kind"], "DeleteOptions");
}

async fn a_webhook_that_is_down_fails_the_request(c: &Context) {
    c.namespace().await;
    let webhook = Webhook::serve(|_| json!({"allowed": true})).await;
    let mut down = hook(c, &webhook, "configmaps");
    let url = webhook.url.clone();
    drop(webhook);
    down["timeoutSeconds"] = json!(5);
    register(c, VALIDATING, vec![down]).await;
    let begun = Instant::now();
    let answer = loop {
        let answer = c
            .post("configmaps", &config_map("a"))
            .query("dryRun", "All")
            .await;
        if answer.status != 201 || begun.elapsed() > PATIENCE {
            break answer;
        }
    };
    let answer = answer.expect(500).has("/reason", "InternalError");
    let message = answer.json()["message"].as_str().unwrap_or_default().to_owned();
    let start = format!(
        "Internal error occurred: failed calling webhook \"hook.example.com\": failed to call webhook: Post \"{url}?timeout=5s\": "
    );
    assert!(message.starts_with(&start), "{message}");
}

async fn a_webhook_that_is_down_can_be_ignored(c: &Context) {
    c.namespace().await;
    let alive = Webhook::serve(|_| json!({"allowed": true})).await;
    let down = Webhook::serve(|_| json!({"allowed": true})).await;
    let mut ignored = hook(c, &down, "configmaps");
    ignored["name"] = json!("down.example.com");
    ignored["failurePolicy"] = json!("Ignore");
    drop(down);
    register(c, VALIDATING, vec![ignored, hook(c, &alive, "configmaps")]).await;
    until_asked(c, &alive).await;
    c.post("configmaps", &config_map("a")).await.expect(201);
}

async fn a_webhook_with_another_certificate_fails_the_request(c: &Context) {
    c.namespace().await;
    let alive = Webhook::serve(|_| json!({"allowed": true})).await;
    let other = Webhook::serve(|_| json!({"allowed": true})).await;
    let mut wrong = hook(c, &alive, "configmaps");
    wrong["clientConfig"]["caBundle"] = json!(other.authority);
    register(c, VALIDATING, vec![wrong]).await;
    let begun = Instant::now();
    loop {
        let answer = c
            .post("configmaps", &config_map("a"))
            .query("dryRun", "All")
            .await;
        if answer.status != 201 || begun.elapsed() > PATIENCE {
            answer.expect(500).has("/reason", "InternalError");
            break;
        }
    }
    assert!(alive.seen().is_empty());
}

async fn an_answer_with_another_uid_fails_the_request(c: &Context) {
    let _webhook = validating(c, |_| json!({"uid": "other", "allowed": true})).await;
    let answer = c
        .post("configmaps", &config_map("a"))
        .await
        .expect(500)
        .has("/reason", "InternalError");
    let message = answer.json()["message"].as_str().unwrap_or_default().to_owned();
    let start = "Internal error occurred: failed calling webhook \"hook.example.com\": received invalid webhook response: expected response.uid=";
    assert!(message.starts_with(start), "{message}");
}

async fn match_conditions_decide_whether_a_webhook_is_asked(c: &Context) {
    c.namespace().await;
    let webhook = Webhook::serve(|request| json!({"allowed": request["name"] == "rehearsal"})).await;
    let mut picky = hook(c, &webhook, "configmaps");
    picky["matchConditions"] = json!([{"name": "not-free", "expression": "!has(object.metadata.labels) || object.metadata.labels.free != 'yes'"}]);
    register(c, VALIDATING, vec![picky]).await;
    until_asked(c, &webhook).await;
    c.post("configmaps", &config_map("a")).await.expect(400);
    let mut free = config_map("a");
    free["metadata"]["labels"] = json!({"free": "yes"});
    c.post("configmaps", &free).await.expect(201);
}

async fn an_object_selector_decides_whether_a_webhook_is_asked(c: &Context) {
    c.namespace().await;
    let webhook = Webhook::serve(|request| json!({"allowed": request["name"] == "rehearsal"})).await;
    let mut picky = hook(c, &webhook, "configmaps");
    picky["objectSelector"] = json!({"matchExpressions": [{"key": "free", "operator": "DoesNotExist"}]});
    register(c, VALIDATING, vec![picky]).await;
    until_asked(c, &webhook).await;
    c.post("configmaps", &config_map("a")).await.expect(400);
    let mut free = config_map("a");
    free["metadata"]["labels"] = json!({"free": "yes"});
    c.post("configmaps", &free).await.expect(201);
    // The old object counts too: what stops being selected is still reviewed.
    c.patch(
        PatchKind::Merge,
        "configmaps/a",
        &json!({"metadata": {"labels": null}}),
    )
    .await
    .expect(400);
}

async fn rules_name_the_operations(c: &Context) {
    c.namespace().await;
    let webhook = Webhook::serve(|request| json!({"allowed": request["name"] == "rehearsal"})).await;
    let other = Webhook::serve(|_| json!({"allowed": true})).await;
    let mut deletions = hook(c, &webhook, "configmaps");
    deletions["name"] = json!("deletions.example.com");
    deletions["rules"][0]["operations"] = json!(["DELETE"]);
    register(c, VALIDATING, vec![deletions, hook(c, &other, "configmaps")]).await;
    until_asked(c, &other).await;
    c.post("configmaps", &config_map("a")).await.expect(201);
    c.delete("configmaps/a").await.refused(
        400,
        "",
        "admission webhook \"deletions.example.com\" denied the request without explanation",
    );
    c.get("configmaps/a").await.expect(200);
}

async fn subresources_are_matched_by_name(c: &Context) {
    c.namespace().await;
    let webhook = Webhook::serve(|_| json!({"allowed": true})).await;
    let mut scales = hook(c, &webhook, "deployments/scale");
    scales["rules"][0]["resources"] = json!(["deployments/scale", "configmaps"]);
    register(c, VALIDATING, vec![scales]).await;
    until_asked(c, &webhook).await;
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {
        "paused": true, "replicas": 0, "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    c.post("apps/v1:deployments", &deployment).await.expect(201);
    c.patch(
        PatchKind::Merge,
        "apps/v1:deployments/d/scale",
        &json!({"spec": {"replicas": 1}}),
    )
    .await
    .expect(200);
    let seen: Vec<Value> = webhook
        .seen()
        .into_iter()
        .filter(|review| review["request"]["resource"]["resource"] == "deployments")
        .collect();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!(seen[0]["request"]["subResource"], "scale");
    assert_eq!(seen[0]["request"]["kind"]["kind"], "Scale");
    assert_eq!(seen[0]["request"]["object"]["spec"]["replicas"], 1);
}

async fn a_dry_run_is_refused_where_a_webhook_has_side_effects(c: &Context) {
    c.namespace().await;
    let webhook = Webhook::serve(|_| json!({"allowed": true})).await;
    let quiet = Webhook::serve(|_| json!({"allowed": true})).await;
    let mut loud = hook(c, &webhook, "secrets");
    loud["sideEffects"] = json!("NoneOnDryRun");
    loud["name"] = json!("loud.example.com");
    register(c, VALIDATING, vec![loud, hook(c, &quiet, "configmaps")]).await;
    until_asked(c, &quiet).await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}});
    c.post("secrets", &secret)
        .query("dryRun", "All")
        .await
        .expect(201);
    let seen = webhook.seen();
    assert_eq!(seen[0]["request"]["dryRun"], true);
    let mut refused = hook(c, &webhook, "secrets");
    refused["sideEffects"] = json!("Some");
    let body = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": format!("{}-some", c.id)}, "webhooks": [refused]});
    c.post(VALIDATING, &body)
        .await
        .expect(422)
        .has("/details/causes/0/field", "webhooks[0].sideEffects");
}

async fn a_webhook_is_asked_again_when_another_changed_the_object(c: &Context) {
    c.namespace().await;
    let first = Webhook::serve(|_| json!({"allowed": true})).await;
    let second = Webhook::serve(|request| {
        if request["object"]["data"].is_null() {
            patch_response(&json!([{"op": "add", "path": "/data", "value": {"k": "v"}}]))
        } else {
            json!({"allowed": true})
        }
    })
    .await;
    let mut again = hook(c, &first, "configmaps");
    again["name"] = json!("a.example.com");
    again["reinvocationPolicy"] = json!("IfNeeded");
    let mut changing = hook(c, &second, "configmaps");
    changing["name"] = json!("b.example.com");
    register(c, MUTATING, vec![again, changing]).await;
    until_asked(c, &second).await;
    c.post("configmaps", &config_map("a"))
        .await
        .expect(201)
        .has("/data/k", "v");
    let reviews = |webhook: &Webhook| {
        webhook
            .seen()
            .into_iter()
            .filter(|review| review["request"]["name"] == "a")
            .collect::<Vec<_>>()
    };
    let asked = reviews(&first);
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert_eq!(asked[0]["request"]["object"]["data"], Value::Null);
    assert_eq!(asked[1]["request"]["object"]["data"]["k"], "v");
    assert_eq!(reviews(&second).len(), 1);
}

async fn mutating_webhooks_come_before_validating_ones(c: &Context) {
    c.namespace().await;
    let changing =
        Webhook::serve(|_| patch_response(&json!([{"op": "add", "path": "/data", "value": {"k": "v"}}])))
            .await;
    let checking = Webhook::serve(|request| json!({"allowed": request["object"]["data"]["k"] == "v"})).await;
    register(c, MUTATING, vec![hook(c, &changing, "configmaps")]).await;
    register(c, VALIDATING, vec![hook(c, &checking, "configmaps")]).await;
    until_asked(c, &changing).await;
    until_asked(c, &checking).await;
    c.post("configmaps", &config_map("a")).await.expect(201);
}

async fn another_version_is_converted_to_the_one_the_rule_names(c: &Context) {
    c.namespace().await;
    let webhook = Webhook::serve(|_| json!({"allowed": true})).await;
    let mut scalers = hook(c, &webhook, "configmaps");
    scalers["matchPolicy"] = json!("Equivalent");
    scalers["rules"] = json!([
        {"apiGroups": ["autoscaling"], "apiVersions": ["v1"], "resources": ["horizontalpodautoscalers"], "operations": ["CREATE"]},
        {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}]);
    register(c, VALIDATING, vec![scalers]).await;
    until_asked(c, &webhook).await;
    let scaler = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}});
    c.post("autoscaling/v2:horizontalpodautoscalers", &scaler)
        .await
        .expect(201);
    let seen = webhook.seen();
    let review = seen
        .iter()
        .find(|review| review["request"]["name"] == "h")
        .expect("the review of h");
    assert_eq!(review["request"]["kind"]["version"], "v1");
    assert_eq!(review["request"]["requestKind"]["version"], "v2");
    assert_eq!(review["request"]["object"]["apiVersion"], "autoscaling/v1");
}

async fn custom_resources_are_reviewed_too(c: &Context) {
    c.namespace().await;
    let group = format!("{}.example.com", c.id);
    c.define(&json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{group}")}, "spec": {"group": group, "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"}, "versions": [{"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}))
        .await;
    let webhook = Webhook::serve(|request| {
        if request["kind"]["kind"] == "Thing" && request["operation"] == "CREATE" {
            patch_response(&json!([{"op": "add", "path": "/spec", "value": {"k": "v"}}]))
        } else {
            json!({"allowed": true})
        }
    })
    .await;
    let mut both = hook(c, &webhook, "configmaps");
    both["rules"][0]["resources"] = json!(["configmaps", "things"]);
    register(c, MUTATING, vec![both]).await;
    until_asked(c, &webhook).await;
    let thing = json!({"apiVersion": format!("{group}/v1"), "kind": "Thing", "metadata": {"name": "a"}});
    c.post(&format!("{group}/v1:things"), &thing)
        .await
        .expect(201)
        .has("/spec/k", "v");
}
