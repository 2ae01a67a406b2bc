//! The policies that the API server applies to the objects of OLM v1, beside the rules of their definitions.

use serde_json::Value;

/// A manifest that is part of the program.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// Its name.
    pub name: &'static str,
    /// The manifest as YAML.
    pub yaml: &'static str,
}

/// The name of the policy about `spec.serviceAccount`, which upstream's users see in the warning.
const SERVICE_ACCOUNT_DEPRECATED: &str = "clusterextension-serviceaccount-deprecated";

/// The policies of OLM v1 with their bindings, in the order in which they are made: one, which warns of
/// `spec.serviceAccount`.
pub const OLM_V1: [Policy; 2] = [
    Policy {
        name: SERVICE_ACCOUNT_DEPRECATED,
        yaml: include_str!("../admission/service-account-deprecated.yaml"),
    },
    Policy {
        name: SERVICE_ACCOUNT_DEPRECATED,
        yaml: include_str!("../admission/service-account-deprecated-binding.yaml"),
    },
];

impl Policy {
    /// Returns the manifest as an object.
    pub fn object(&self) -> Value {
        // The text is part of the program, and a test reads it.
        goyaml::to_value(self.yaml.as_bytes()).unwrap_or(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_warns_in_upstreams_words() {
        let [policy, binding] = OLM_V1.map(|policy| policy.object());
        assert_eq!(policy["kind"], "ValidatingAdmissionPolicy");
        assert_eq!(binding["kind"], "ValidatingAdmissionPolicyBinding");
        assert_eq!(binding["spec"]["policyName"], policy["metadata"]["name"]);
        assert_eq!(binding["spec"]["validationActions"], serde_json::json!(["Warn"]));
        let message = policy["spec"]["validations"][0]["message"].as_str();
        assert!(
            message.is_some_and(|text| text.starts_with("spec.serviceAccount is deprecated, ignored")),
            "{message:?}"
        );
    }
}
