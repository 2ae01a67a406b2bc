//! What can be done with a part of a resource: its status, its scale, a pod's log.

use serde_json::{Value, json};

use super::super::components::reference;
use super::super::parameters;
use super::{Describing, Operation, article, capitalized, content, kind_value};

const LOG_FORMS: [&str; 4] = [
    "application/json",
    "application/vnd.kubernetes.protobuf",
    "application/yaml",
    "text/plain",
];

impl Describing<'_> {
    pub(super) fn on_subresource(&self, name: &str, with_path: bool) -> Vec<Operation> {
        let kind = &self.resource.kind;
        let rest = capitalized(name);
        let read = |component: &str, of: Value| {
            self.read(
                &rest,
                format!("read {name} of the specified {kind}"),
                component,
                of,
            )
        };
        let replace = |component: &str, of: Value| {
            self.replace(
                &rest,
                format!("replace {name} of the specified {kind}"),
                component,
                of,
            )
        };
        let patch = |component: &str, of: Value| {
            self.patch(
                &rest,
                format!("partially update {name} of the specified {kind}"),
                component,
                of,
            )
        };
        let own = self.resource.component();
        match name {
            "binding" => vec![self.create_below(
                name,
                "io.k8s.api.core.v1.Binding",
                kind_value("", "v1", "Binding"),
            )],
            "eviction" => {
                let of = kind_value("policy", "v1", "Eviction");
                vec![self.create_below(name, "io.k8s.api.policy.v1.Eviction", of)]
            }
            "token" => {
                let of = kind_value("authentication.k8s.io", "v1", "TokenRequest");
                vec![self.create_below(name, "io.k8s.api.authentication.v1.TokenRequest", of)]
            }
            "log" => {
                let mut operation = read(&own, self.own_kind());
                operation.content = content(&LOG_FORMS, &json!({ "type": "string" }));
                operation.parameters = parameters::LOG.to_vec();
                vec![operation]
            }
            "attach" => self.connections(
                name,
                &["get", "post"],
                "PodAttachOptions",
                &parameters::ATTACH,
                "",
            ),
            "exec" => self.connections(name, &["get", "post"], "PodExecOptions", &parameters::EXEC, ""),
            "portforward" => {
                self.connections(name, &["get", "post"], "PodPortForwardOptions", &["ports"], "")
            }
            "proxy" => {
                let methods = ["get", "put", "post", "delete", "options", "head", "patch"];
                let suffix = if with_path { "WithPath" } else { "" };
                self.connections(name, &methods, &format!("{kind}ProxyOptions"), &["path"], suffix)
            }
            "finalize" => vec![replace(&own, self.own_kind())],
            "scale" => {
                let scale = "io.k8s.api.autoscaling.v1.Scale";
                // A custom resource's scale is told as its own kind, though it isn't.
                let of = if self.is_custom() {
                    self.own_kind()
                } else {
                    kind_value("autoscaling", "v1", "Scale")
                };
                vec![
                    read(scale, of.clone()),
                    replace(scale, of.clone()),
                    patch(scale, of),
                ]
            }
            _ => vec![
                read(&own, self.own_kind()),
                replace(&own, self.own_kind()),
                patch(&own, self.own_kind()),
            ],
        }
    }

    fn create_below(&self, name: &str, component: &str, kind: Value) -> Operation {
        Operation {
            method: "post",
            description: format!(
                "create {name} of {} {}",
                article(&self.resource.kind),
                self.resource.kind
            ),
            id: self.id("create", self.scope(), &capitalized(name)),
            parameters: parameters::WRITE.to_vec(),
            body: Some(self.body(component)),
            answers: vec![("200", "OK"), ("201", "Created"), ("202", "Accepted")],
            content: content(self.forms(), &reference(component)),
            action: "post",
            kind,
        }
    }

    fn connections(
        &self,
        name: &str,
        methods: &[&'static str],
        options: &str,
        parameters: &[&'static str],
        suffix: &str,
    ) -> Vec<Operation> {
        methods
            .iter()
            .map(|method| Operation {
                method,
                description: format!(
                    "connect {} requests to {name} of {}",
                    method.to_uppercase(),
                    self.resource.kind
                ),
                id: format!(
                    "connect{}{}{}{}{}{suffix}",
                    self.names.prefix,
                    capitalized(method),
                    self.scope(),
                    self.resource.kind,
                    capitalized(name)
                ),
                parameters: parameters.to_vec(),
                body: None,
                answers: vec![("200", "OK")],
                content: content(&["*/*"], &json!({ "type": "string" })),
                action: "connect",
                kind: kind_value("", "v1", options),
            })
            .collect()
    }
}
