//! Names that Kubernetes takes for its objects.

use gotemplate::format::quoted;

use crate::release_name::is_label;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
     and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
     and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
     alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
     validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

/// Checks the name of an object by the rules for its kind.
pub(super) fn check(kind: &str, name: &str) -> Result<(), String> {
    let complaints = match kind.to_lowercase().as_str() {
        "service" => limited(
            name,
            63,
            is_label(name) && name.starts_with(|first: char| first.is_ascii_lowercase()),
            LABEL_1035,
        ),
        "namespace" if name.contains('.') && name.split('.').all(is_label) => {
            limited(name, 63, false, "must not contain dots")
        }
        "namespace" => limited(name, 63, is_label(name), LABEL),
        "certificatesigningrequest" => Vec::new(),
        "role" | "clusterrole" | "rolebinding" | "clusterrolebinding" => path_segment(name),
        _ => limited(name, 253, name.split('.').all(is_label), SUBDOMAIN),
    };
    let complaints: Vec<String> = complaints
        .into_iter()
        .map(|complaint| format!("metadata.name: Invalid value: {}: {complaint}", quoted(name)))
        .collect();
    let text = match complaints.as_slice() {
        [] => return Ok(()),
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    Err(format!(
        "object name does not conform to Kubernetes naming requirements: {}: {text}",
        quoted(name)
    ))
}

fn limited(name: &str, most: usize, is_valid: bool, rule: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if name.len() > most {
        complaints.push(format!("must be no more than {most} characters"));
    }
    if !is_valid {
        complaints.push(rule.to_owned());
    }
    complaints
}

fn path_segment(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    ['/', '%']
        .iter()
        .filter(|part| name.contains(**part))
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}
