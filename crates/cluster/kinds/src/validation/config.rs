//! `ConfigMaps`, Secrets and `ServiceAccounts`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::metadata;
use super::reading::Reading;
use super::report::{Errors, Path};
use super::syntax::config_key;
use crate::tree::{Fields, Tree};

/// The most bytes that all values of a Secret or a `ConfigMap` may have together.
const MOST_BYTES: usize = 1 << 20;

/// What is said of something that may not change any more.
const FIXED: &str = "field is immutable when `immutable` is set";

/// Returns how many bytes base64 stands for.
fn decoded_bytes(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    text.len() / 4 * 3
        - text
            .bytes()
            .rev()
            .take(2)
            .filter(|byte| *byte == b'=')
            .count()
            .min(text.len())
}

fn fixed_fields(errors: &mut Errors, new: &Fields, old: &Fields, names: &[&str]) {
    if !old.flag("immutable") {
        return;
    }
    if !new.flag("immutable") {
        errors.forbidden(&Path::new("immutable"), FIXED);
    }
    for name in names {
        if new.at(name) != old.at(name) {
            errors.forbidden(&Path::new(name), FIXED);
        }
    }
}

/// Checks a `ConfigMap`; `old` is the one that it replaces.
pub(super) fn config_map(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    if let Some(old) = old {
        metadata::check_update(errors, "", object, old);
        fixed_fields(errors, object, old, &["data", "binaryData"]);
    }
    metadata::check(errors, "", "ConfigMap", object);
    let (text, binary) = (Path::new("data"), Path::new("binaryData"));
    let mut bytes = 0;
    for (key, value) in object.entries("data") {
        errors.faults(&text.key(key), key, config_key(key));
        if object.at("binaryData").contains_key(key) {
            errors.invalid(&text.key(key), key, "duplicate of key present in binaryData");
        }
        bytes += value.len();
    }
    for (key, value) in object.at("binaryData") {
        errors.faults(&binary.key(key), key, config_key(key));
        bytes += decoded_bytes(value);
    }
    if bytes > MOST_BYTES {
        // A path of one name that is empty, as the real server writes it.
        errors.too_long(&Path::new("[]"), MOST_BYTES);
    }
}

/// Checks a Secret; `old` is the one that it replaces.
pub(super) fn secret(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    if let Some(old) = old {
        metadata::check_update(errors, "", object, old);
        if object.text("type") != old.text("type") {
            errors.invalid(&Path::new("type"), object.text("type"), "field is immutable");
        }
        fixed_fields(errors, object, old, &["data"]);
    }
    metadata::check(errors, "", "Secret", object);
    let path = Path::new("data");
    let data = object.at("data");
    let mut bytes = 0;
    for (key, value) in data {
        errors.faults(&path.key(key), key, config_key(key));
        bytes += decoded_bytes(value);
    }
    if bytes > MOST_BYTES {
        errors.too_long(&path, MOST_BYTES);
    }
    let demand = |errors: &mut Errors, key: &str| {
        if !data.contains_key(key) {
            errors.required(&path.key(key), "");
        }
    };
    match object.text("type") {
        "kubernetes.io/service-account-token" => {
            const ACCOUNT: &str = "kubernetes.io/service-account.name";
            if object.at("metadata").at("annotations").is_zero(ACCOUNT) {
                errors.required(&Path::new("metadata.annotations").key(ACCOUNT), "");
            }
        }
        "kubernetes.io/dockercfg" => registry_config(errors, &path, data, ".dockercfg"),
        "kubernetes.io/dockerconfigjson" => registry_config(errors, &path, data, ".dockerconfigjson"),
        "kubernetes.io/basic-auth" if !data.contains_key("username") && !data.contains_key("password") => {
            demand(errors, "username");
            demand(errors, "password");
        }
        "kubernetes.io/ssh-auth" if data.is_zero("ssh-privatekey") => {
            errors.required(&path.key("ssh-privatekey"), "");
        }
        "kubernetes.io/tls" => {
            demand(errors, "tls.crt");
            demand(errors, "tls.key");
        }
        _ => {}
    }
}

fn registry_config(errors: &mut Errors, path: &Path<'_>, data: &Fields, key: &str) {
    let path = path.key(key);
    let Some(value) = data.get(key) else {
        errors.required(&path, "");
        return;
    };
    let text = STANDARD
        .decode(value.as_str().unwrap_or_default())
        .unwrap_or_default();
    if let Some(fault) = super::go_json::object_fault(&text) {
        errors.invalid(&path, "<secret contents redacted>", fault);
    }
}

/// Checks a `ServiceAccount`; `old` is the one that it replaces.
pub(super) fn service_account(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    if let Some(old) = old {
        metadata::check_update(errors, "", object, old);
    }
    metadata::check(errors, "", "ServiceAccount", object);
}
