//! Custom resources whose versions a webhook converts.

use serde_json::{Value, json};

use crate::context::Context;
use crate::exchange::PatchKind;
use crate::webhook::Webhook;

cases![
    versions_are_converted_by_the_webhook,
    lists_and_watches_are_converted,
    a_failed_conversion_is_the_request_s_failure,
];

/// Turns `spec.port` of v1 into `spec.address` of v2 and back.
fn convert(request: &Value) -> Value {
    let wanted = request["desiredAPIVersion"].clone();
    let objects: Vec<Value> = request["objects"].as_array().cloned().unwrap_or_default();
    if objects
        .iter()
        .any(|object| object["metadata"]["name"] == "broken")
    {
        return json!({"result": {"status": "Failure", "message": "broken beyond repair"}});
    }
    let converted = objects.into_iter().map(|mut object| {
        let to_second = wanted.as_str().is_some_and(|version| version.ends_with("/v2"));
        let (from, to) = if to_second {
            ("port", "address")
        } else {
            ("address", "port")
        };
        if object["apiVersion"] != wanted {
            if let Some(spec) = object["spec"].as_object_mut()
                && let Some(value) = spec.remove(from)
            {
                spec.insert(to.to_owned(), value);
            }
            object["apiVersion"] = wanted.clone();
        }
        object
    });
    json!({"result": {"status": "Success"}, "convertedObjects": converted.collect::<Vec<_>>()})
}

async fn define(c: &Context, webhook: &Webhook) -> String {
    c.namespace().await;
    let group = format!("{}.example.com", c.id);
    let schema = |field: &str| {
        json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object",
            "properties": {field: {"type": "string"}}}}}})
    };
    c.define(
        &json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{group}")}, "spec": {"group": group, "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
            "clientConfig": {"url": webhook.url, "caBundle": webhook.authority}}},
        "versions": [
            {"name": "v1", "served": true, "storage": true, "schema": schema("port")},
            {"name": "v2", "served": true, "storage": false, "schema": schema("address")}]}}),
    )
    .await;
    group
}

fn thing(group: &str, version: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": format!("{group}/{version}"), "kind": "Thing", "metadata": {"name": name}, "spec": spec})
}

async fn versions_are_converted_by_the_webhook(c: &Context) {
    let webhook = Webhook::serve(convert).await;
    let group = define(c, &webhook).await;
    let (first, second) = (format!("{group}/v1:things"), format!("{group}/v2:things"));
    c.post(&first, &thing(&group, "v1", "a", &json!({"port": "x"})))
        .await
        .expect(201)
        .has("/spec/port", "x");
    c.get(&format!("{second}/a"))
        .await
        .expect(200)
        .has("/apiVersion", format!("{group}/v2"))
        .has("/spec/address", "x")
        .lacks("/spec/port");
    c.patch(
        PatchKind::Merge,
        &format!("{second}/a"),
        &json!({"spec": {"address": "y"}}),
    )
    .await
    .expect(200)
    .has("/spec/address", "y");
    c.get(&format!("{first}/a"))
        .await
        .expect(200)
        .has("/spec/port", "y")
        .has("/metadata/generation", 2);
    let review = &webhook.seen()[0];
    assert_eq!(review["kind"], "ConversionReview");
    assert_eq!(review["apiVersion"], "apiextensions.k8s.io/v1");
}

async fn lists_and_watches_are_converted(c: &Context) {
    let webhook = Webhook::serve(convert).await;
    let group = define(c, &webhook).await;
    let (first, second) = (format!("{group}/v1:things"), format!("{group}/v2:things"));
    c.post(&first, &thing(&group, "v1", "a", &json!({"port": "x"})))
        .await
        .expect(201);
    c.post(&second, &thing(&group, "v2", "b", &json!({"address": "y"})))
        .await
        .expect(201);
    c.get(&second)
        .await
        .expect(200)
        .has("/kind", "ThingList")
        .has("/items/0/spec/address", "x")
        .has("/items/1/spec/address", "y");
    let mut watch = c.get(&second).query("resourceVersion", "0").watch().await;
    let (one, two) = (watch.next().await, watch.next().await);
    for event in [one, two] {
        assert_eq!(event["type"], "ADDED");
        assert!(event["object"]["spec"]["address"].is_string(), "{event}");
    }
}

async fn a_failed_conversion_is_the_request_s_failure(c: &Context) {
    let webhook = Webhook::serve(convert).await;
    let group = define(c, &webhook).await;
    let answer = c
        .post(
            &format!("{group}/v2:things"),
            &thing(&group, "v2", "broken", &json!({"address": "x"})),
        )
        .await
        .expect(500);
    let message = answer.json()["message"].as_str().unwrap_or_default().to_owned();
    let wanted = format!("conversion webhook for {group}/v2, Kind=Thing failed: broken beyond repair");
    assert!(message.ends_with(&wanted), "{message}");
}
