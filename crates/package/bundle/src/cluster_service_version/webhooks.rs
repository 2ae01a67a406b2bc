//! The webhooks that an operator serves.

use std::borrow::Cow;

use goyaml::go_struct;
use goyaml::typed::{GoType, Reader};
use serde_json::Value;

use super::LabelSelector;

/// A webhook that an operator serves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WebhookDescription {
    /// What the webhook's name is made from.
    pub generate_name: String,
    /// `ValidatingAdmissionWebhook`, `MutatingAdmissionWebhook` or `ConversionWebhook`.
    pub kind: String,
    /// The deployment that serves it.
    pub deployment_name: String,
    /// The port of the service.
    pub container_port: i32,
    /// The port of the container.
    pub target_port: Option<IntOrString>,
    /// Which requests it is asked about.
    pub rules: Vec<WebhookRule>,
    /// What happens when it can't be reached.
    pub failure_policy: Option<String>,
    /// How rules match.
    pub match_policy: Option<String>,
    /// Which objects it is asked about.
    pub object_selector: Option<LabelSelector>,
    /// Whether it does more than to answer.
    pub side_effects: Option<String>,
    /// How long it may take.
    pub timeout_seconds: Option<i32>,
    /// The versions of the question that it understands.
    pub admission_review_versions: Vec<String>,
    /// Whether it is asked again after others changed the object.
    pub reinvocation_policy: Option<String>,
    /// The path it is served at.
    pub webhook_path: Option<String>,
    /// The custom resources that it converts.
    pub conversion_crds: Vec<String>,
}

go_struct!(WebhookDescription, "v1alpha1.WebhookDescription", {
    "generateName" => generate_name,
    "type" => kind as "v1alpha1.WebhookAdmissionType",
    "deploymentName" => deployment_name,
    "containerPort" => container_port,
    "targetPort" => target_port,
    "rules" => rules,
    "failurePolicy" => failure_policy as "v1.FailurePolicyType",
    "matchPolicy" => match_policy as "v1.MatchPolicyType",
    "objectSelector" => object_selector,
    "sideEffects" => side_effects as "v1.SideEffectClass",
    "timeoutSeconds" => timeout_seconds,
    "admissionReviewVersions" => admission_review_versions,
    "reinvocationPolicy" => reinvocation_policy as "v1.ReinvocationPolicyType",
    "webhookPath" => webhook_path,
    "conversionCRDs" => conversion_crds,
});

/// Which requests a webhook is asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebhookRule {
    /// `CREATE`, `UPDATE`, `DELETE`, `CONNECT` or `*`.
    pub operations: Vec<String>,
    /// The groups of the resources.
    pub api_groups: Vec<String>,
    /// The versions of the groups.
    pub api_versions: Vec<String>,
    /// The resources.
    pub resources: Vec<String>,
    /// `Cluster`, `Namespaced` or `*`.
    pub scope: Option<String>,
}

go_struct!(WebhookRule, "v1.RuleWithOperations", {
    "operations" => operations as "v1.OperationType",
    "apiGroups" => api_groups in "Rule",
    "apiVersions" => api_versions in "Rule",
    "resources" => resources in "Rule",
    "scope" => scope as "v1.ScopeType" in "Rule",
});

/// A port, by number or by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntOrString {
    /// The number.
    Int(i32),
    /// The name.
    Text(String),
}

impl Default for IntOrString {
    fn default() -> Self {
        Self::Int(0)
    }
}

impl GoType for IntOrString {
    fn go_name() -> Cow<'static, str> {
        Cow::Borrowed("intstr.IntOrString")
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), goyaml::Error> {
        *self = match value {
            Value::String(text) => Self::Text(text.clone()),
            Value::Number(number) => match number.as_i64().and_then(|number| number.try_into().ok()) {
                Some(number) => Self::Int(number),
                // The type reads itself, so this ends the reading.
                None => return Err(reader.mismatch_of(&format!("number {number}"), "int32")),
            },
            Value::Null => Self::Int(0),
            _ => return Err(reader.mismatch_of(goyaml::json::kind_word(value), "int32")),
        };
        Ok(())
    }
}
