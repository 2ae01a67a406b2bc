//! Pods, and their templates wherever they occur.

use serde_json::{Value, json};

use super::{image, resources, volumes};
use crate::tree::{Fields, Tree};

/// Annotations that held initial containers before they had a field. They are dropped, lest an old node reads them.
const OLD_ANNOTATIONS: [&str; 4] = [
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
];

/// Fills in a pod.
pub(super) fn pod(pod: &mut Fields) {
    drop_old_annotations(pod);
    let spec = pod.part_or_new("spec");
    pod_spec(spec);
    for list in ["containers", "initContainers"] {
        for container in spec.items_mut(list) {
            resources::requests_from_limits(container);
        }
    }
    resources::whole_pod(spec);
    spec.set_if_unset("enableServiceLinks", true);
    if spec.flag("hostNetwork") {
        for list in ["containers", "initContainers"] {
            spec.items_mut(list).for_each(ports_of_the_host);
        }
    }
    if spec.number("terminationGracePeriodSeconds") < 0 {
        spec.set("terminationGracePeriodSeconds", 1);
    }
    if let Some(status) = pod.part_mut("status") {
        pod_status(status);
    }
}

fn ports_of_the_host(container: &mut Fields) {
    for port in container.items_mut("ports") {
        let number = port.number("containerPort");
        port.set_if_zero("hostPort", number);
    }
}

fn pod_status(status: &mut Fields) {
    for list in [
        "containerStatuses",
        "initContainerStatuses",
        "ephemeralContainerStatuses",
    ] {
        for container in status.items_mut(list) {
            resources::list(container, "allocatedResources");
            resources::requirements(container);
        }
    }
    resources::list(status, "allocatedResources");
    resources::requirements(status);
    one_and_many(
        status,
        "podIP",
        "podIPs",
        |address| json!({"ip": address}),
        |item| item.get("ip")?.as_str(),
    );
}

/// Makes a field that holds one value and the list that replaced it agree. The one is what older clients write, so it
/// decides.
pub(super) fn one_and_many(
    fields: &mut Fields,
    one: &str,
    many: &str,
    item: impl Fn(&str) -> Value,
    text_of: impl Fn(&Value) -> Option<&str>,
) {
    let single = fields.text(one);
    let first = fields
        .get(many)
        .and_then(Value::as_array)
        .and_then(|all| all.first());
    let first = first.map(|first| text_of(first).unwrap_or_default());
    match first {
        Some(first) if single.is_empty() => {
            let first = first.to_owned();
            if !first.is_empty() {
                fields.set(one, first);
            }
        }
        Some(first) if first == single => {}
        None if single.is_empty() => {}
        _ => {
            let items = vec![item(single)];
            fields.set(many, items);
        }
    }
}

fn drop_old_annotations(object: &mut Fields) {
    let Some(metadata) = object.part_mut("metadata") else {
        return;
    };
    if let Some(annotations) = metadata.part_mut("annotations") {
        for name in OLD_ANNOTATIONS {
            annotations.remove(name);
        }
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
}

/// Fills in a template of pods: not what only a pod itself gets.
pub(super) fn template(template: &mut Fields) {
    drop_old_annotations(template);
    pod_spec(template.part_or_new("spec"));
}

fn pod_spec(spec: &mut Fields) {
    spec.set_if_zero("dnsPolicy", "ClusterFirst");
    spec.set_if_zero("restartPolicy", "Always");
    spec.set_if_unset("securityContext", json!({}));
    spec.set_if_unset("terminationGracePeriodSeconds", 30);
    spec.set_if_zero("schedulerName", "default-scheduler");
    spec.items_mut("volumes").for_each(volumes::volume);
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        spec.items_mut(list).for_each(container);
    }
    resources::list(spec, "overhead");
    resources::requirements(spec);
    // One field has two names.
    let name = spec.text("serviceAccountName");
    if name.is_empty() {
        let old_name = spec.text("serviceAccount").to_owned();
        if !old_name.is_empty() {
            spec.set("serviceAccountName", old_name);
        }
    } else if spec.text("serviceAccount") != name {
        let name = name.to_owned();
        spec.set("serviceAccount", name);
    }
}

fn container(container: &mut Fields) {
    if container.is_zero("imagePullPolicy") {
        let policy = image::pull_policy(container.text("image"));
        container.set("imagePullPolicy", policy);
    }
    container.set_if_zero("terminationMessagePath", "/dev/termination-log");
    container.set_if_zero("terminationMessagePolicy", "File");
    for port in container.items_mut("ports") {
        port.set_if_zero("protocol", "TCP");
    }
    for variable in container.items_mut("env") {
        let Some(source) = variable.part_mut("valueFrom") else {
            continue;
        };
        if let Some(reference) = source.part_mut("fieldRef") {
            reference.set_if_zero("apiVersion", "v1");
        }
        if let Some(reference) = source.part_mut("fileKeyRef") {
            reference.set_if_unset("optional", false);
        }
    }
    resources::requirements(container);
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.part_mut(name) {
            self::probe(probe);
        }
    }
    if let Some(lifecycle) = container.part_mut("lifecycle") {
        for name in ["postStart", "preStop"] {
            if let Some(handler) = lifecycle.part_mut(name) {
                http_get(handler);
            }
        }
    }
}

fn probe(probe: &mut Fields) {
    probe.set_if_zero("timeoutSeconds", 1);
    probe.set_if_zero("periodSeconds", 10);
    probe.set_if_zero("successThreshold", 1);
    probe.set_if_zero("failureThreshold", 3);
    http_get(probe);
    if let Some(call) = probe.part_mut("grpc") {
        call.set_if_unset("service", "");
    }
}

fn http_get(handler: &mut Fields) {
    if let Some(request) = handler.part_mut("httpGet") {
        request.set_if_zero("path", "/");
        request.set_if_zero("scheme", "HTTP");
    }
}
