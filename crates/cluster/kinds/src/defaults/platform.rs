//! What the cluster itself is set up with: namespaces, nodes, limits, rights, webhooks, policies, priorities, devices.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{pods, resources};
use crate::tree::{Fields, Tree};

const ACCESS: &str = "rbac.authorization.k8s.io";

/// The port of a service that is called when none is written.
const HTTPS_PORT: i64 = 443;

/// Fills in a Namespace. One whose name is still to be generated is labelled when it has it.
pub(super) fn namespace(namespace: &mut Fields) {
    label_with_name(namespace);
    namespace.part_or_new("status").set_if_zero("phase", "Active");
}

/// Labels a Namespace with its name.
pub(crate) fn label_with_name(namespace: &mut Fields) {
    let metadata = namespace.part_or_new("metadata");
    let name = metadata.text("name").to_owned();
    if !name.is_empty() {
        metadata
            .part_or_new("labels")
            .set("kubernetes.io/metadata.name", name);
    }
}

fn range(text: &str) -> Value {
    text.into()
}

/// Fills in a Node.
pub(super) fn node(node: &mut Fields) {
    if let Some(status) = node.part_mut("status") {
        if status.is_unset("allocatable")
            && let Some(capacity) = status.get("capacity").cloned()
        {
            status.set("allocatable", capacity);
        }
        resources::list(status, "capacity");
        resources::list(status, "allocatable");
    }
    if let Some(spec) = node.part_mut("spec") {
        pods::one_and_many(spec, "podCIDR", "podCIDRs", range, Value::as_str);
    }
}

/// Fills in a Secret. What is written as text becomes what is stored, in base64.
pub(super) fn secret(secret: &mut Fields) {
    secret.set_if_zero("type", "Opaque");
    if let Some(Value::Object(texts)) = secret.remove("stringData")
        && !texts.is_empty()
    {
        let data = secret.part_or_new("data");
        for (name, text) in texts {
            data.insert(name, STANDARD.encode(text.as_str().unwrap_or_default()).into());
        }
    }
}

/// Fills in a `LimitRange`.
pub(super) fn limit_range(range: &mut Fields) {
    let limits = range
        .part_mut("spec")
        .into_iter()
        .flat_map(|spec| spec.items_mut("limits"));
    for limit in limits {
        if limit.text("type") == "Container" {
            resources::fill_in(limit, "max", "default");
            resources::fill_in(limit, "default", "defaultRequest");
            resources::fill_in(limit, "min", "defaultRequest");
        }
        for list in ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] {
            resources::list(limit, list);
        }
    }
}

/// Fills in a `ResourceQuota`.
pub(super) fn resource_quota(quota: &mut Fields) {
    if let Some(spec) = quota.part_mut("spec") {
        resources::list(spec, "hard");
    }
    if let Some(status) = quota.part_mut("status") {
        resources::list(status, "hard");
        resources::list(status, "used");
    }
}

/// Fills in a `RoleBinding` or a `ClusterRoleBinding`.
pub(super) fn role_binding(binding: &mut Fields) {
    binding.part_or_new("roleRef").set_if_zero("apiGroup", ACCESS);
    for subject in binding.items_mut("subjects") {
        if matches!(subject.text("kind"), "User" | "Group") {
            subject.set_if_zero("apiGroup", ACCESS);
        }
    }
}

/// Fills in the configuration of webhooks.
pub(super) fn webhooks(configuration: &mut Fields, mutating: bool) {
    for webhook in configuration.items_mut("webhooks") {
        webhook.set_if_unset("failurePolicy", "Fail");
        what_matches(webhook);
        webhook.set_if_unset("timeoutSeconds", 10);
        if mutating {
            webhook.set_if_unset("reinvocationPolicy", "Never");
        }
        if let Some(client) = webhook.part_mut("clientConfig") {
            port_of_service(client);
        }
        for rule in webhook.items_mut("rules") {
            rule.set_if_unset("scope", "*");
        }
    }
}

fn port_of_service(client: &mut Fields) {
    if let Some(service) = client.part_mut("service") {
        service.set_if_unset("port", HTTPS_PORT);
    }
}

fn what_matches(holder: &mut Fields) {
    holder.set_if_unset("matchPolicy", "Equivalent");
    holder.set_if_unset("namespaceSelector", json!({}));
    holder.set_if_unset("objectSelector", json!({}));
}

/// Fills in an admission policy, or its binding.
pub(super) fn policy(policy: &mut Fields, is_binding: bool) {
    let spec = policy.part_or_new("spec");
    let matches = if is_binding {
        "matchResources"
    } else {
        spec.set_if_unset("failurePolicy", "Fail");
        "matchConstraints"
    };
    if let Some(matches) = spec.part_mut(matches) {
        what_matches(matches);
        for list in ["resourceRules", "excludeResourceRules"] {
            for rule in matches.items_mut(list) {
                rule.set_if_unset("scope", "*");
            }
        }
    }
}

/// Fills in an `APIService`.
pub(super) fn api_service(service: &mut Fields) {
    if let Some(spec) = service.part_mut("spec") {
        port_of_service(spec);
    }
}

/// Fills in a `PriorityClass`.
pub(super) fn priority_class(class: &mut Fields) {
    class.set_if_unset("preemptionPolicy", "PreemptLowerPriority");
}

/// Fills in a `FlowSchema`.
pub(super) fn flow_schema(schema: &mut Fields) {
    schema.part_or_new("spec").set_if_zero("matchingPrecedence", 1000);
}

/// Fills in a `PriorityLevelConfiguration`.
pub(super) fn priority_level(level: &mut Fields) {
    let Some(spec) = level.part_mut("spec") else {
        return;
    };
    if let Some(exempt) = spec.part_mut("exempt") {
        exempt.set_if_unset("nominalConcurrencyShares", 0);
        exempt.set_if_unset("lendablePercent", 0);
    }
    if let Some(limited) = spec.part_mut("limited") {
        limited.set_if_unset("nominalConcurrencyShares", 30);
        limited.set_if_unset("lendablePercent", 0);
        let queuing = limited
            .part_mut("limitResponse")
            .and_then(|response| response.part_mut("queuing"));
        if let Some(queuing) = queuing {
            queuing.set_if_zero("handSize", 8);
            queuing.set_if_zero("queues", 64);
            queuing.set_if_zero("queueLengthLimit", 50);
        }
    }
}

/// Fills in what a `ResourceClaim`, or a template of one, asks for.
pub(super) fn device_requests(spec: &mut Fields) {
    let Some(devices) = spec.part_mut("devices") else {
        return;
    };
    for request in devices.items_mut("requests") {
        if let Some(exactly) = request.part_mut("exactly") {
            number_of_devices(exactly);
            tolerations(exactly);
        }
        for alternative in request.items_mut("firstAvailable") {
            number_of_devices(alternative);
            tolerations(alternative);
        }
    }
}

fn number_of_devices(request: &mut Fields) {
    request.set_if_zero("allocationMode", "ExactCount");
    if request.text("allocationMode") == "ExactCount" {
        request.set_if_zero("count", 1);
    }
}

fn tolerations(request: &mut Fields) {
    for toleration in request.items_mut("tolerations") {
        toleration.set_if_zero("operator", "Equal");
    }
}

/// Fills in a `ResourceClaim`.
pub(super) fn resource_claim(claim: &mut Fields) {
    device_requests(claim.part_or_new("spec"));
    let results = claim
        .part_mut("status")
        .and_then(|status| status.part_mut("allocation"))
        .and_then(|allocation| allocation.part_mut("devices"));
    for result in results
        .into_iter()
        .flat_map(|devices| devices.items_mut("results"))
    {
        tolerations(result);
    }
}

/// Fills in a request for a `ServiceAccount`'s token.
pub(super) fn token_request(request: &mut Fields) {
    request
        .part_or_new("spec")
        .set_if_unset("expirationSeconds", 3600);
}
