//! Names of generated objects: bounded in length, and different when what they name differs.

use aws_lc_rs::digest;
use num_bigint::BigUint;
use serde::Serialize;
use serde_json::Value;

/// The longest a generated name is meant to be; one that is exactly as long gets one character more, as upstream's do.
const MAXIMUM_NAME_LENGTH: usize = 63;

/// `base-suffix`, with the base cut when both are too long together.
#[must_use]
pub fn base_and_suffix(base: &str, suffix: &str) -> String {
    let base = if base.len() + suffix.len() > MAXIMUM_NAME_LENGTH {
        let mut end = MAXIMUM_NAME_LENGTH
            .saturating_sub(suffix.len() + 1)
            .min(base.len());
        while !base.is_char_boundary(end) {
            end -= 1;
        }
        &base[..end]
    } else {
        base
    };
    format!("{base}-{suffix}")
}

/// A name for what grants `permission`: the base, and a hash of the permission.
#[must_use]
pub fn unique_name(base: &str, permission: &Value) -> String {
    base_and_suffix(base, &hash(permission))
}

/// Why a name is not a DNS subdomain, in the words of the API server that OLM v1 is built with.
pub(super) fn subdomain_errors(name: &str) -> Vec<&'static str> {
    let mut errors = Vec::new();
    if name.len() > 253 {
        errors.push("must be no more than 253 characters");
    }
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |label: &str| {
        !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(inner)
    };
    if !name.split('.').all(is_label) {
        errors.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
             and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        );
    }
    errors
}

/// The service in front of a deployment's webhooks.
#[must_use]
pub fn service(deployment: &str) -> String {
    base_and_suffix(&deployment.replace('.', "-"), "service")
}

/// The certificate of a service, and the Secret it is kept in.
#[must_use]
pub fn certificate(service: &str) -> String {
    base_and_suffix(service, "cert")
}

/// The hash that clusters already know: SHA-224 over Go's JSON of the permission and a newline, in base 36.
fn hash(permission: &Value) -> String {
    let text =
        goyaml::json::to_string(&Permission::of(permission), goyaml::json::Escape::Html).unwrap_or_default();
    let digest = digest::digest(&digest::SHA224, format!("{text}\n").as_bytes());
    BigUint::from_bytes_be(digest.as_ref()).to_str_radix(36)
}

/// A permission with its fields in the order of upstream's type, since the hash is over the text.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Permission<'a> {
    service_account_name: &'a str,
    rules: Option<Vec<Rule<'a>>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule<'a> {
    verbs: &'a Value,
    #[serde(skip_serializing_if = "is_empty")]
    api_groups: &'a Value,
    #[serde(skip_serializing_if = "is_empty")]
    resources: &'a Value,
    #[serde(skip_serializing_if = "is_empty")]
    resource_names: &'a Value,
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "is_empty")]
    non_resource_urls: &'a Value,
}

impl<'a> Permission<'a> {
    fn of(permission: &'a Value) -> Self {
        let rules = permission["rules"].as_array().map(|rules| {
            let rule = |rule: &'a Value| Rule {
                verbs: &rule["verbs"],
                api_groups: &rule["apiGroups"],
                resources: &rule["resources"],
                resource_names: &rule["resourceNames"],
                non_resource_urls: &rule["nonResourceURLs"],
            };
            rules.iter().map(rule).collect()
        });
        Self {
            service_account_name: permission["serviceAccountName"].as_str().unwrap_or_default(),
            rules,
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes what it holds by reference"
)]
fn is_empty(list: &&Value) -> bool {
    list.as_array().is_none_or(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_in_the_middle() {
        assert_eq!(service("my.deployment.thing"), "my-deployment-thing-service");
        assert_eq!(
            base_and_suffix(
                "my.object.thing.has.a.really.really.really.really.really.long.name",
                "suffix"
            ),
            "my.object.thing.has.a.really.really.really.really.really-suffix"
        );
        assert_eq!(
            base_and_suffix(&"ä".repeat(40), "suffix").len(),
            62 + 1,
            "never inside a character"
        );
        assert_eq!(
            base_and_suffix("base", &"s".repeat(80)),
            format!("-{}", "s".repeat(80))
        );
    }
}
