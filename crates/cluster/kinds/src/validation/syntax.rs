//! What texts may look like, and the API server's words for those that don't.

pub(super) mod address;

use schema::structural::name_rules::{dns_label, dns_subdomain, label_key};

use super::report::{Errors, Path};

/// Returns what keeps text from being what it should be.
pub(super) type Rule = fn(&str) -> Vec<String>;

/// The longest DNS subdomain, which is also the longest key of a `ConfigMap`.
const SUBDOMAIN_BYTES: usize = 253;

/// Returns the rule that a number must lie between two others.
pub(super) fn between(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

/// Returns what keeps a number from being a port.
pub(super) fn port_number(port: i64) -> Vec<String> {
    if (1..=65535).contains(&port) {
        Vec::new()
    } else {
        vec![between(1, 65535)]
    }
}

/// Returns what keeps text from being the name of a port (RFC 6335).
pub(super) fn port_name(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if name.len() > 15 {
        faults.push("must be no more than 15 characters".to_owned());
    }
    let is_sign = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || !name.bytes().all(is_sign) {
        faults.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        faults.push("must contain at least one letter (a-z)".to_owned());
    }
    if name.contains("--") {
        faults.push("must not contain consecutive hyphens".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') {
        faults.push("must not begin or end with a hyphen".to_owned());
    }
    faults
}

/// Returns what keeps text from being the name of an environment variable.
pub(super) fn variable_name(name: &str) -> Vec<String> {
    if name.is_empty() {
        return vec!["environment variable name must be non-empty".to_owned()];
    }
    if name
        .bytes()
        .all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=')
    {
        return Vec::new();
    }
    vec![
        "a valid environment variable name must consist only of printable ASCII characters other than '='"
            .to_owned(),
    ]
}

/// Returns what keeps text from being a key of a `ConfigMap` or a Secret.
pub(super) fn config_key(key: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if key.len() > SUBDOMAIN_BYTES {
        faults.push(format!("must be no more than {SUBDOMAIN_BYTES} characters"));
    }
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if key.is_empty() || !key.bytes().all(is_sign) {
        faults.push(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
             'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
                .to_owned(),
        );
    }
    match key {
        "." => faults.push("must not be '.'".to_owned()),
        ".." => faults.push("must not be '..'".to_owned()),
        _ if key.starts_with("..") => faults.push("must not start with '..'".to_owned()),
        _ => {}
    }
    faults
}

/// Returns what keeps text from being the name of an HTTP header.
pub(super) fn header_name(name: &str) -> Vec<String> {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if !name.is_empty() && name.bytes().all(is_sign) {
        return Vec::new();
    }
    vec![
        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for \
         validation is '[-A-Za-z0-9]+')"
            .to_owned(),
    ]
}

/// Returns the number of a percentage such as `25%`.
pub(super) fn percentage(text: &str) -> Option<i64> {
    let digits = text.strip_suffix('%')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // A number that no machine holds is 0 upstream.
    is_number.then(|| digits.parse().unwrap_or(0))
}

/// What is said of text that should be a percentage.
pub(super) const PERCENTAGE_RULE: &str = "a valid percent string must be a numeric string followed by an ending '%' \
     (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

/// Returns what keeps text from being a DNS subdomain with underscores.
pub(super) fn search_domain(text: &str) -> Vec<String> {
    let is_edge = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| {
        let label = label.strip_prefix('_').unwrap_or(label);
        let bytes = label.as_bytes();
        match bytes {
            [] => false,
            [only] => is_edge(*only),
            [first, inner @ .., last] => {
                is_edge(*first)
                    && is_edge(*last)
                    && inner
                        .iter()
                        .all(|byte| is_edge(*byte) || matches!(byte, b'-' | b'_'))
            }
        }
    };
    let mut faults = Vec::new();
    if text.len() > SUBDOMAIN_BYTES {
        faults.push(format!("must be no more than {SUBDOMAIN_BYTES} characters"));
    }
    if !text.split('.').all(is_label) {
        faults.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and \
             must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        );
    }
    faults
}

/// Returns what keeps text from being a DNS subdomain with a wildcard in front.
pub(super) fn wildcard_domain(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > SUBDOMAIN_BYTES {
        faults.push(format!("must be no more than {SUBDOMAIN_BYTES} characters"));
    }
    let is_rest_right = text
        .strip_prefix("*.")
        .is_some_and(|rest| rest.len() > SUBDOMAIN_BYTES || dns_subdomain(rest).is_empty());
    if !is_rest_right {
        faults.push(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist \
             of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. \
             '*.example.com', regex used for validation is \
             '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        );
    }
    faults
}

/// Returns what keeps text from being a segment of a path.
pub(super) fn path_segment(text: &str) -> Vec<String> {
    schema::structural::name_rules::path_segment(text, false)
}

/// Checks text that should be a domain with a path, such as `example.com/name`.
pub(super) fn domain_with_path(errors: &mut Errors, path: &Path<'_>, text: &str) {
    if text.is_empty() {
        errors.required(path, "");
        return;
    }
    let Some((host, rest)) = text
        .split_once('/')
        .filter(|(host, rest)| !host.is_empty() && !rest.is_empty())
    else {
        errors.invalid(
            path,
            text,
            "must be a domain-prefixed path (such as \"acme.io/foo\")",
        );
        return;
    };
    errors.faults(path, host, dns_subdomain(host));
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !rest.bytes().all(is_sign) {
        errors.invalid(
            path,
            rest,
            "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
        );
    }
}

/// Checks text that should be a domain with at least three parts.
pub(super) fn qualified_domain(errors: &mut Errors, path: &Path<'_>, text: &str) {
    if text.is_empty() {
        errors.required(path, "");
        return;
    }
    let faults = dns_subdomain(text);
    if !faults.is_empty() {
        errors.invalid(path, text, faults.join(","));
        return;
    }
    if text.split('.').count() < 3 {
        errors.invalid(
            path,
            text,
            "should be a domain with at least three segments separated by dots",
        );
    }
}

/// Checks text that should be a fully qualified domain name.
pub(super) fn host_name(errors: &mut Errors, path: &Path<'_>, text: &str) {
    if text.is_empty() {
        errors.required(path, "");
        return;
    }
    let text = text.strip_suffix('.').unwrap_or(text);
    let faults = dns_subdomain(text);
    if !faults.is_empty() {
        errors.invalid(path, text, faults.join(","));
        return;
    }
    if text.split('.').count() < 2 {
        errors.invalid(
            path,
            text,
            "should be a domain with at least two segments separated by dots",
        );
        return;
    }
    for label in text.split('.') {
        let faults = dns_label(label);
        if !faults.is_empty() {
            errors.invalid(path, label, faults.join(","));
            return;
        }
    }
}

/// Checks the name of who signs certificates.
pub(super) fn signer_name(errors: &mut Errors, path: &Path<'_>, name: &str) {
    if name.is_empty() {
        errors.required(path, "");
        return;
    }
    let segments: Vec<&str> = name.split('/').collect();
    let [domain, rest] = segments.as_slice() else {
        errors.invalid(
            path,
            name,
            "must be a fully qualified domain and path of the form 'example.com/signer-name'",
        );
        return;
    };
    if domain.len() > SUBDOMAIN_BYTES {
        errors.too_long(path, SUBDOMAIN_BYTES);
    }
    first_wrong_label(errors, path, domain, dns_label);
    if domain.split('.').count() < 2 {
        errors.invalid(
            path,
            *domain,
            "should be a domain with at least two segments separated by dots",
        );
    }
    first_wrong_label(errors, path, rest, dns_subdomain);
    // The path has a resource's name, a dot and a label; a slash stands between it and the domain.
    let longest = SUBDOMAIN_BYTES + 1 + SUBDOMAIN_BYTES + 1 + 63;
    if name.len() > longest {
        errors.too_long(path, longest);
    }
}

/// Reports what is wrong with the first part between dots that breaks a rule.
fn first_wrong_label(errors: &mut Errors, path: &Path<'_>, whole: &str, rule: fn(&str) -> Vec<String>) {
    let wrong = whole.split('.').map(|label| (label, rule(label)));
    if let Some((label, faults)) = wrong.into_iter().find(|(_, faults)| !faults.is_empty()) {
        let quoted = super::report::Shown::shown(&label);
        for fault in faults {
            errors.invalid(path, whole, format!("validating label {quoted}: {fault}"));
        }
    }
}

/// Checks labels, whose faults are all reported at the map.
pub(super) fn labels<'a>(
    errors: &mut Errors,
    path: &Path<'_>,
    labels: impl Iterator<Item = (&'a str, &'a str)>,
) {
    for (key, value) in labels {
        errors.faults(path, key, label_key(key));
        errors.faults(path, value, schema::structural::name_rules::label_value(value));
    }
}

/// Checks the path of a file below a folder.
pub(super) fn local_path(errors: &mut Errors, path: &Path<'_>, text: &str) {
    if text.starts_with('/') {
        errors.invalid(path, text, "must be a relative path");
    }
    no_backsteps(errors, path, text);
}

/// Checks the path of a file below a folder, where names that begin with two dots are the kubelet's own.
pub(super) fn local_unreserved_path(errors: &mut Errors, path: &Path<'_>, text: &str) {
    local_path(errors, path, text);
    if text.starts_with("..") && !text.starts_with("../") {
        errors.invalid(path, text, "must not start with '..'");
    }
}

/// Checks that a path doesn't lead upwards.
pub(super) fn no_backsteps(errors: &mut Errors, path: &Path<'_>, text: &str) {
    if text.split('/').any(|part| part == "..") {
        errors.invalid(path, text, "must not contain '..'");
    }
}
