//! Bundles that are made for one scenario: everything in them has the scenario's id in its name.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// The files of an image, by path.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// What makes a simulated Pod run without ever being ready, as one whose image doesn't exist.
const NEVER_READY: (&str, &str) = ("stage.baton.dev/simulate", "unready");

/// What can be in a bundle beside what is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// A definition of the operator's kind.
    Definition,
    /// A Deployment, and the ConfigMap, NetworkPolicy and roles that belong to it.
    Operator,
    /// The same, with Pods that never become ready.
    BrokenOperator,
    /// A ConfigMap.
    ConfigMap,
}

/// What a bundle holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Contents {
    parts: BTreeSet<Part>,
    version_in_objects: Option<&'static str>,
    install_modes: Vec<&'static str>,
    more_fields: usize,
    properties: Vec<(&'static str, &'static str)>,
    others: Vec<Value>,
    /// The registry that the catalog names for the image, where it isn't the one that it is pushed to.
    pub(crate) registry: Option<String>,
    /// Files that aren't made, but given.
    files: Option<Files>,
}

impl Contents {
    /// A definition, a Deployment with what belongs to it, and a ConfigMap.
    pub(crate) fn full() -> Self {
        Self::of_parts([Part::Definition, Part::Operator, Part::ConfigMap])
    }

    /// A definition and a Deployment with what belongs to it.
    pub(crate) fn operator() -> Self {
        Self::of_parts([Part::Definition, Part::Operator])
    }

    /// An operator whose Pods never become ready.
    pub(crate) fn bad_image() -> Self {
        Self::of_parts([Part::Definition, Part::BrokenOperator])
    }

    /// Nothing but a ConfigMap.
    pub(crate) fn small() -> Self {
        Self::of_parts([Part::ConfigMap])
    }

    fn of_parts(parts: impl IntoIterator<Item = Part>) -> Self {
        Self {
            parts: parts.into_iter().collect(),
            ..Self::default()
        }
    }

    fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }

    fn has_operator(&self) -> bool {
        self.has(Part::Operator) || self.has(Part::BrokenOperator)
    }

    /// Given files.
    pub(crate) fn of_files(files: Files) -> Self {
        Self {
            files: Some(files),
            ..Self::default()
        }
    }

    /// Says in all objects that they are of a version, whichever the bundle's is.
    pub(crate) fn with_version_in_objects(mut self, version: &'static str) -> Self {
        self.version_in_objects = Some(version);
        self
    }

    /// Supports these install modes alone.
    pub(crate) fn with_install_modes(mut self, modes: &[&'static str]) -> Self {
        self.install_modes = modes.to_vec();
        self
    }

    /// Makes the definition large.
    pub(crate) fn with_more_fields(mut self, fields: usize) -> Self {
        self.more_fields = fields;
        self
    }

    /// Adds a property.
    pub(crate) fn with_property(mut self, kind: &'static str, value: &'static str) -> Self {
        self.properties.push((kind, value));
        self
    }

    /// Adds an object as it is.
    pub(crate) fn with_object(mut self, object: Value) -> Self {
        self.others.push(object);
        self
    }

    /// Lets the catalog name another registry.
    pub(crate) fn named_in(mut self, registry: &str) -> Self {
        self.registry = Some(registry.to_owned());
        self
    }

    /// Returns the files of the bundle.
    pub(crate) fn files(&self, id: &str, package: &str, version: &str) -> Files {
        if let Some(files) = &self.files {
            return files.clone();
        }
        let shown = self.version_in_objects.unwrap_or(version);
        let mut files = Files::new();
        let mut manifest = |name: &str, object: &Value| {
            files.insert(format!("manifests/{name}.yaml"), object.to_string().into_bytes());
        };
        manifest("csv", &self.service_version(id, package, version, shown));
        if self.has(Part::Definition) {
            manifest("crd", &definition(id, self.more_fields));
        }
        if self.has_operator() {
            manifest(
                "script-configmap",
                &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("httpd-script-{id}")},
                    "data": {"httpd.sh": "#!/bin/sh\nexec httpd -f -p 8080\n"}}),
            );
            manifest(
                "networkpolicy",
                &json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
                    "metadata": {"name": format!("test-operator-{id}-network-policy")},
                    "spec": {"podSelector": {}, "policyTypes": ["Ingress"]}}),
            );
        }
        if self.has(Part::ConfigMap) {
            let name = format!("test-configmap-{id}");
            manifest(
                "bundle-configmap",
                &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
                    "data": {"version": shown, "name": name}}),
            );
        }
        for (number, object) in self.others.iter().enumerate() {
            manifest(&format!("other-{number:04}"), object);
        }
        let annotations = json!({"annotations": {
            "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
            "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
            "operators.operatorframework.io.bundle.metadata.v1": "metadata/",
            "operators.operatorframework.io.bundle.package.v1": package,
        }});
        files.insert(
            "metadata/annotations.yaml".to_owned(),
            annotations.to_string().into_bytes(),
        );
        if !self.properties.is_empty() {
            let properties = self.properties.iter();
            let properties: Vec<Value> = properties
                .map(|(kind, value)| json!({"type": kind, "value": value}))
                .collect();
            files.insert(
                "metadata/properties.yaml".to_owned(),
                json!({"properties": properties}).to_string().into_bytes(),
            );
        }
        files
    }

    fn service_version(&self, id: &str, package: &str, version: &str, shown: &str) -> Value {
        const MODES: [&str; 4] = [
            "OwnNamespace",
            "SingleNamespace",
            "MultiNamespace",
            "AllNamespaces",
        ];
        let supported: &[&str] = if self.install_modes.is_empty() {
            &["AllNamespaces", "SingleNamespace"]
        } else {
            &self.install_modes
        };
        let modes = MODES.map(|mode| json!({"type": mode, "supported": supported.contains(&mode)}));
        let account = format!("bundle-manager-{id}");
        let mut install = json!({});
        if self.has_operator() {
            install = json!({
                "deployments": [self.deployment(id, shown, &account)],
                "permissions": [{"serviceAccountName": account, "rules": [
                    {"apiGroups": [""], "resources": ["configmaps", "serviceaccounts"],
                        "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"]},
                    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
                ]}],
                "clusterPermissions": [{"serviceAccountName": account, "rules": [
                    {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
                ]}],
            });
        }
        let owned = if self.has(Part::Definition) {
            json!([{"name": definition_name(id), "kind": "E2ETest", "version": "v1", "displayName": "E2ETest",
                "description": "a test"}])
        } else {
            json!([])
        };
        json!({
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "ClusterServiceVersion",
            "metadata": {"name": format!("{package}.v{version}")},
            "spec": {
                "version": version,
                "displayName": package,
                "installModes": modes,
                "customresourcedefinitions": {"owned": owned},
                "install": {"strategy": "deployment", "spec": install},
            },
        })
    }

    fn deployment(&self, id: &str, version: &str, account: &str) -> Value {
        let name = format!("test-operator-{id}");
        let is_broken = self.has(Part::BrokenOperator);
        let mut template = json!({
            "metadata": {"labels": {"app": id}},
            "spec": {
                "serviceAccountName": account,
                "terminationGracePeriodSeconds": 0,
                "containers": [{
                    "name": "busybox-httpd-container",
                    "image": if is_broken { "wrong/image" } else { "busybox:1.36" },
                    "command": ["/scripts/httpd.sh"],
                    "ports": [{"containerPort": 8080}],
                    "volumeMounts": [{"name": "scripts", "mountPath": "/scripts", "readOnly": true}],
                    "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 1},
                }],
                "volumes": [{"name": "scripts", "configMap": {"name": format!("httpd-script-{id}"), "defaultMode": 493}}],
            },
        });
        if is_broken {
            let (annotation, fate) = NEVER_READY;
            template["metadata"]["annotations"] = json!({annotation: fate});
        }
        json!({
            "name": name,
            "label": {"app.kubernetes.io/name": name, "app.kubernetes.io/version": version,
                "app.kubernetes.io/component": "controller"},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": id}}, "template": template},
        })
    }
}

/// The name of a scenario's definition.
pub(crate) fn definition_name(id: &str) -> String {
    format!("e2e-{id}tests.e2e-{id}.e2e.operatorframework.io")
}

fn definition(id: &str, more_fields: usize) -> Value {
    let mut fields = json!({"testField": {"type": "string"}});
    // About 4 KiB each: 250 of them make a definition that is too large for an annotation or a single Secret.
    let description = "This field says something about a large definition, at great length. ".repeat(60);
    for number in 0..more_fields {
        fields[format!("field{number:04}")] = json!({"type": "string", "description": description});
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": definition_name(id)},
        "spec": {
            "group": format!("e2e-{id}.e2e.operatorframework.io"),
            "names": {"kind": "E2ETest", "listKind": "E2ETestList", "plural": format!("e2e-{id}tests"),
                "singular": format!("e2e-{id}test")},
            "scope": "Cluster",
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {"type": "object", "properties": fields}},
            }}}],
        },
    })
}
