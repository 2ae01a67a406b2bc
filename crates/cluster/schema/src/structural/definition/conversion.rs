//! How a definition's versions are converted into each other.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chart::go_url::Url;
use serde_json::Value;
use x509_parser::pem::Pem;

use super::Strictness;
use super::view::Part;
use crate::structural::name_rules;
use crate::{FieldError, FieldErrors, FieldPath};

const RECOGNIZED: [&str; 2] = ["v1", "v1beta1"];
/// What a service's address would be; errors about an address end with it.
const FORM: &str = "; desired format: https://host[/path]";

/// Returns what is wrong with a conversion.
pub(super) fn faults(conversion: Part<'_>, path: &FieldPath, strictness: &Strictness) -> FieldErrors {
    let mut errors = FieldErrors::default();
    if !conversion.is_there() {
        return errors;
    }
    let strategy = conversion.text("strategy");
    errors.extend(super::parts::one_of(
        &path.child("strategy"),
        strategy,
        &["None", "Webhook"],
    ));
    let webhook = conversion.part("webhook");
    let client = webhook.part("clientConfig");
    let client_path = path.child("webhookClientConfig");
    let versions_path = path.child("conversionReviewVersions");
    if strategy != "Webhook" {
        let rule = "should not be set when strategy is not set to Webhook";
        if client.is_there() {
            errors.push(FieldError::forbidden(client_path, rule));
        }
        if !webhook.items("conversionReviewVersions").is_empty() {
            errors.push(FieldError::forbidden(versions_path, rule));
        }
        return errors;
    }
    if client.is_there() {
        check_client(client, &client_path, strictness, &mut errors);
    } else {
        errors.push(FieldError::required(
            client_path,
            "required when strategy is set to Webhook",
        ));
    }
    check_versions(
        webhook.items("conversionReviewVersions"),
        &versions_path,
        strictness,
        &mut errors,
    );
    errors
}

/// Returns what is wrong with where a webhook is: at an address, or at a service.
pub fn webhook_address_faults(client: Option<&Value>, path: &FieldPath) -> FieldErrors {
    let mut errors = FieldErrors::default();
    check_address(Part::of(client), path, &mut errors);
    errors
}

fn check_address(client: Part<'_>, path: &FieldPath, errors: &mut FieldErrors) {
    let service = client.part("service");
    match (client.pointed_text("url"), service.is_there()) {
        (None, false) | (Some(_), true) => {
            errors.push(FieldError::required(
                path.clone(),
                "exactly one of url or service is required",
            ));
        }
        (Some(url), false) => check_url(url, &path.child("url"), errors),
        (None, true) => check_service(service, &path.child("service"), errors),
    }
}

fn check_client(client: Part<'_>, path: &FieldPath, strictness: &Strictness, errors: &mut FieldErrors) {
    check_address(client, path, errors);
    if !strictness.invalid_authority_bundle
        && let Some(bundle) = client
            .pointed_text("caBundle")
            .filter(|bundle| !bundle.is_empty())
        && let Some(fault) = bundle_fault(bundle)
    {
        errors.push(FieldError::invalid(path.child("caBundle"), &bundle.into(), fault));
    }
}

fn check_url(text: &str, path: &FieldPath, errors: &mut FieldErrors) {
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(fault) => {
            let rule = format!("url must be a valid URL: {fault}{FORM}");
            errors.push(FieldError::required(path.clone(), rule));
            return;
        }
    };
    let mut invalid = |value: &[u8], rule: String| {
        let value = String::from_utf8_lossy(value).into_owned();
        errors.push(FieldError::invalid(path.clone(), &value.into(), rule));
    };
    if url.scheme != b"https" {
        invalid(
            &url.scheme,
            format!("'https' is the only allowed URL scheme{FORM}"),
        );
    }
    if url.host.is_empty() {
        invalid(b"", format!("host must be specified{FORM}"));
    }
    if let Some(user) = &url.user {
        invalid(
            &user.to_text(),
            "user information is not permitted in the URL".to_owned(),
        );
    }
    if !url.fragment.is_empty() {
        invalid(&url.fragment, "fragments are not permitted in the URL".to_owned());
    }
    if !url.query.is_empty() {
        invalid(
            &url.query,
            "query parameters are not permitted in the URL".to_owned(),
        );
    }
}

fn check_service(service: Part<'_>, path: &FieldPath, errors: &mut FieldErrors) {
    // Upstream takes the name for the namespace and the namespace for the name.
    if service.text("namespace").is_empty() {
        errors.push(FieldError::required(path.child("name"), ""));
    }
    if service.text("name").is_empty() {
        errors.push(FieldError::required(path.child("namespace"), ""));
    }
    let port = service.value("port").and_then(Value::as_i64).unwrap_or_default();
    if !(1..=65535).contains(&port) {
        let rule = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(path.child("port"), &port.into(), rule));
    }
    let text = match service.pointed_text("path") {
        None | Some("" | "/") => return,
        Some(text) => text,
    };
    let mut invalid = |rule: String| errors.push(FieldError::invalid(path.child("path"), &text.into(), rule));
    if text == "//" {
        invalid("segment[0] may not be empty".to_owned());
        return;
    }
    if !text.starts_with('/') {
        invalid("must start with a '/'".to_owned());
    }
    // The first sign is cut off whatever it is.
    let mut signs = text.chars();
    signs.next();
    let rest = signs.as_str();
    let segments = rest.strip_suffix('/').unwrap_or(rest);
    for (index, segment) in segments.split('/').enumerate() {
        if segment.is_empty() {
            invalid(format!("segment[{index}] may not be empty"));
            continue;
        }
        for fault in name_rules::dns_subdomain(segment) {
            invalid(format!("segment[{index}]: {fault}"));
        }
    }
}

fn check_versions(versions: &[Value], path: &FieldPath, strictness: &Strictness, errors: &mut FieldErrors) {
    if versions.is_empty() {
        errors.push(FieldError::required(path.clone(), ""));
        return;
    }
    let mut known = HashSet::new();
    for (index, version) in versions.iter().enumerate() {
        if !known.insert(version.as_str()) {
            errors.push(FieldError::invalid(
                path.index(index),
                version,
                "duplicate version",
            ));
            continue;
        }
        for fault in name_rules::dns_1035_label(version.as_str().unwrap_or_default()) {
            errors.push(FieldError::invalid(path.index(index), version, fault));
        }
    }
    if strictness.recognized_review_version && !has_recognized(versions) {
        let rule = format!("must include at least one of {}", RECOGNIZED.join(", "));
        errors.push(FieldError::invalid(
            path.clone(),
            &Value::Array(versions.to_vec()),
            rule,
        ));
    }
}

fn has_recognized(versions: &[Value]) -> bool {
    versions.iter().any(|version| {
        version
            .as_str()
            .is_some_and(|version| RECOGNIZED.contains(&version))
    })
}

/// Returns whether a stored conversion has a version that the API server speaks, or none at all.
pub(super) fn has_recognized_version(conversion: Part<'_>) -> bool {
    let versions = conversion.part("webhook").items("conversionReviewVersions");
    versions.is_empty() || has_recognized(versions)
}

/// Returns whether a stored conversion has authorities that can't be read.
pub(super) fn has_invalid_bundle(conversion: Part<'_>) -> bool {
    let bundle = conversion.part("webhook").part("clientConfig").text("caBundle");
    !bundle.is_empty() && bundle_fault(bundle).is_some()
}

/// Returns why authorities, as base64 of PEM, can't be used.
pub(super) fn bundle_fault(bundle: &str) -> Option<String> {
    let failed = |cause: &str| Some(format!("unable to load root certificates: {cause}"));
    let Ok(text) = STANDARD.decode(bundle) else {
        return failed("unable to parse bytes as PEM block");
    };
    if text.is_empty() {
        return None;
    }
    let mut fault = None;
    let mut blocks = 0;
    for block in Pem::iter_from_buffer(&text) {
        let Ok(block) = block else { break };
        blocks += 1;
        if block.label != "CERTIFICATE" {
            continue;
        }
        match block.parse_x509() {
            Ok(_) => return None,
            Err(error) => {
                fault.get_or_insert_with(|| format!("failed to parse certificate: {error}"));
            }
        }
    }
    if blocks == 0 {
        return failed("unable to parse bytes as PEM block");
    }
    failed(
        fault
            .as_deref()
            .unwrap_or("no valid certificate authority data seen"),
    )
}
