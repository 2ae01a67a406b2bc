//! The Deployment that runs the operator, and the objects around it.

use serde_json::{Map, Value, json};

use super::options::{Names, Options};
use super::project::Project;
use super::watches::Watch;

/// The container that the operator runs in.
const CONTAINER: &str = "manager";

const HEALTH_PORT: u16 = 8081;
const METRICS_PORT: u16 = 8443;

/// The labels that the operator's pods have, and by which they are found.
fn labels(names: &Names) -> Map<String, Value> {
    Map::from_iter([
        (
            "app.kubernetes.io/instance".to_owned(),
            names.of("controller-manager").into(),
        ),
        ("app.kubernetes.io/name".to_owned(), names.package.clone().into()),
        ("control-plane".to_owned(), "controller-manager".into()),
    ])
}

/// The entry of the install strategy: the operator's Deployment, the author's where there is one.
pub(super) fn deployment(project: &Project, options: &Options, names: &Names) -> Value {
    let written = project
        .deployment
        .as_ref()
        .and_then(|(_, deployment)| deployment.get("spec"));
    let mut spec = written.cloned().unwrap_or_else(usual);
    let labels = labels(names);
    set(
        &mut spec,
        &["selector", "matchLabels"],
        Value::Object(labels.clone()),
    );
    merge(&mut spec, &["template", "metadata", "labels"], &labels);
    set(
        &mut spec,
        &["template", "spec", "serviceAccountName"],
        names.of("controller-manager").into(),
    );
    if let Some(containers) = spec
        .pointer_mut("/template/spec/containers")
        .and_then(Value::as_array_mut)
    {
        let index = containers
            .iter()
            .position(|container| container.get("name").and_then(Value::as_str) == Some(CONTAINER))
            .unwrap_or(0);
        if let Some(container) = containers.get_mut(index) {
            complete(container, options, names);
        }
    }
    json!({
        "label": labels,
        "name": names.of("controller-manager"),
        "spec": spec,
    })
}

/// The Deployment for who has written none.
fn usual() -> Value {
    json!({
        "replicas": 1,
        "strategy": {},
        "template": {
            "metadata": {"annotations": {"kubectl.kubernetes.io/default-container": CONTAINER}},
            "spec": {
                "containers": [{
                    "name": CONTAINER,
                    "livenessProbe": {
                        "httpGet": {"path": "/healthz", "port": HEALTH_PORT},
                        "initialDelaySeconds": 15,
                        "periodSeconds": 20,
                    },
                    "readinessProbe": readiness_probe(HEALTH_PORT),
                    "resources": {
                        "limits": {"cpu": "500m", "memory": "256Mi"},
                        "requests": {"cpu": "10m", "memory": "64Mi"},
                    },
                    "securityContext": {
                        "allowPrivilegeEscalation": false,
                        "capabilities": {"drop": ["ALL"]},
                        "readOnlyRootFilesystem": true,
                    },
                }],
                "securityContext": {
                    "runAsNonRoot": true,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "terminationGracePeriodSeconds": 10,
            },
        },
    })
}

/// Asks whether this version looks after resources. It is asked often: who upgrades the operator waits for the answer.
fn readiness_probe(port: u16) -> Value {
    json!({"httpGet": {"path": "/readyz", "port": port}, "periodSeconds": 2})
}

/// Returns the port at which flags have the operator say how it is; none if it says so nowhere, or only to itself.
fn health_port(arguments: &[String]) -> Option<u16> {
    let flag = "--health-probe-bind-address";
    let mut after = arguments
        .iter()
        .skip_while(|argument| !argument.starts_with(flag));
    let address = match after.next()?.strip_prefix(flag)?.strip_prefix('=') {
        Some(address) => address,
        None => after.next()?,
    };
    let (host, port) = address.rsplit_once(':')?;
    let is_everywhere = matches!(host, "" | "0.0.0.0" | "[::]");
    is_everywhere.then(|| port.parse().ok()).flatten()
}

/// Gives the operator's container its image, its flags as far as they are missing, and its namespaces.
fn complete(container: &mut Value, options: &Options, names: &Names) {
    set(container, &["image"], options.image.clone().into());
    let mut arguments: Vec<String> = container
        .get("args")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|argument| argument.as_str().map(str::to_owned))
        .collect();
    let wanted = [
        "--metrics-require-rbac".to_owned(),
        "--metrics-secure".to_owned(),
        format!("--metrics-bind-address=:{METRICS_PORT}"),
        "--leader-elect".to_owned(),
        // Each version has a Lease of its own: the new one must work before the old one is taken away, and whose a resource is
        // follows from its label and their versions.
        format!("--leader-election-id={}", names.election()),
        format!("--health-probe-bind-address=:{HEALTH_PORT}"),
    ];
    for argument in wanted {
        let flag = argument.split('=').next().unwrap_or_default();
        let given = |known: &String| known == flag || known.starts_with(&format!("{flag}="));
        if !arguments.iter().any(given) {
            arguments.push(argument);
        }
    }
    if container.get("readinessProbe").is_none()
        && let Some(port) = health_port(&arguments)
    {
        set(container, &["readinessProbe"], readiness_probe(port));
    }
    set(container, &["args"], json!(arguments));
    let mut environment: Vec<Value> = container
        .get("env")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    environment.retain(|variable| variable.get("name").and_then(Value::as_str) != Some("WATCH_NAMESPACE"));
    environment.push(json!({
        "name": "WATCH_NAMESPACE",
        "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['olm.targetNamespaces']"}},
    }));
    set(container, &["env"], Value::Array(environment));
}

/// The Service through which metrics are read.
pub(super) fn metrics_service(names: &Names) -> Value {
    let labels = labels(names);
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"labels": labels, "name": names.of("controller-manager-metrics-service")},
        "spec": {
            "ports": [{"name": "https", "port": METRICS_PORT, "protocol": "TCP", "targetPort": METRICS_PORT}],
            "selector": labels,
        },
    })
}

/// `ClusterRoles` for people: who reads metrics, and who edits or views each kind of custom resource.
pub(super) fn roles_for_people(names: &Names, watches: &[(&Watch, &str)]) -> Vec<Value> {
    let role = |name: String, rules: Value| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"labels": {"app.kubernetes.io/name": names.package}, "name": name},
            "rules": rules,
        })
    };
    let mut roles = vec![role(
        names.of("metrics-reader"),
        json!([{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]),
    )];
    for (watch, plural) in watches {
        for (who, verbs) in [
            ("editor", json!(super::permissions::KEEPING)),
            ("viewer", json!(["get", "list", "watch"])),
        ] {
            let allowed = json!([
                {"apiGroups": [watch.group], "resources": [plural], "verbs": verbs},
                {"apiGroups": [watch.group], "resources": [format!("{plural}/status")], "verbs": ["get"]},
            ]);
            roles.push(role(
                names.of(&format!("{}-{who}-role", watch.kind.to_lowercase())),
                allowed,
            ));
        }
    }
    roles
}

/// Puts a value at a path, making the objects on the way.
fn set(target: &mut Value, path: &[&str], value: Value) {
    let Some((last, parents)) = path.split_last() else {
        return;
    };
    let mut target = target;
    for key in parents {
        if !target.is_object() {
            *target = json!({});
        }
        match target {
            Value::Object(map) => target = map.entry(*key).or_insert_with(|| json!({})),
            _ => return,
        }
    }
    if !target.is_object() {
        *target = json!({});
    }
    if let Value::Object(map) = target {
        map.insert((*last).to_owned(), value);
    }
}

fn merge(target: &mut Value, path: &[&str], values: &Map<String, Value>) {
    for (key, value) in values {
        let mut full = path.to_vec();
        full.push(key);
        set(target, &full, value.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operator_is_asked_where_it_says_how_it_is() {
        for (arguments, expected) in [
            (
                &["--leader-elect", "--health-probe-bind-address=:8081"][..],
                Some(8081),
            ),
            (
                &["--health-probe-bind-address", "0.0.0.0:9000", "--leader-elect"],
                Some(9000),
            ),
            (&["--health-probe-bind-address=[::]:9000"], Some(9000)),
            (&["--health-probe-bind-address=127.0.0.1:9000"], None),
            (&["--health-probe-bind-address=0"], None),
            (&["--health-probe-bind-address"], None),
            (&["--health-probe-bind-address=:http"], None),
            (&["--leader-elect"], None),
        ] {
            let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(health_port(&arguments), expected, "{arguments:?}");
        }
    }
}
