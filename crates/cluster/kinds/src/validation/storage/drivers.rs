//! Drivers of the Container Storage Interface, and what they do for volumes.

use std::collections::HashMap;

use schema::structural::name_rules::{dns_subdomain, label_key};
use serde_json::Value;

use super::super::reading::Reading;
use super::super::report::{Errors, Path};
use super::super::seen::Seen;
use super::super::syntax::between;
use super::super::volumes::driver;
use super::super::{internal, metadata, resources, selectors};
use super::{GROUP, SPEC, unchanged, volume_spec};
use crate::tree::{Fields, Tree, same};

/// Checks a `CSIDriver`; `old` is the one that it replaces.
pub(in super::super) fn csi_driver(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    match old {
        None => metadata::check(errors, GROUP, "CSIDriver", object),
        Some(old) => metadata::check_update(errors, GROUP, object, old),
    }
    let spec = object.at("spec");
    for (name, shown) in [
        ("attachRequired", "attachedRequired"),
        ("podInfoOnMount", "podInfoOnMount"),
        ("storageCapacity", "storageCapacity"),
    ] {
        if !spec.has(name) {
            errors.required(&SPEC.child(shown), "");
        }
    }
    errors.one_of_if_set(
        &SPEC.child("fsGroupPolicy"),
        spec.set_text("fsGroupPolicy"),
        &["File", "None", "ReadWriteOnceWithFSType"],
    );
    token_requests(errors, spec);
    for mode in spec.texts("volumeLifecycleModes") {
        errors.one_of_if_set(
            &SPEC.child("volumeLifecycleModes"),
            Some(mode),
            &["Persistent", "Ephemeral"],
        );
    }
    if !spec.has("seLinuxMount") {
        errors.required(&SPEC.child("seLinuxMount"), "");
    }
    if let Some(seconds) = spec
        .set_number("nodeAllocatableUpdatePeriodSeconds")
        .filter(|seconds| *seconds < 10)
    {
        errors.invalid(
            &SPEC.child("nodeAllocatableUpdatePeriodSeconds"),
            seconds,
            "must be greater than or equal to 10 seconds",
        );
    }
    if let Some(flag) = spec.set_flag("serviceAccountTokenInSecrets")
        && spec.is_zero("tokenRequests")
    {
        errors.invalid(
            &SPEC.child("serviceAccountTokenInSecrets"),
            flag,
            "serviceAccountTokenInSecrets is set but no tokenRequests are specified",
        );
    }
    if let Some(before) = old.map(|old| old.at("spec")) {
        for (name, shown) in [
            ("attachRequired", "attachedRequired"),
            ("volumeLifecycleModes", "volumeLifecycleModes"),
        ] {
            if !spec.is_same(before, name) {
                errors.invalid(&SPEC.child(shown), spec.set_value(name), "field is immutable");
            }
        }
    }
}

fn token_requests(errors: &mut Errors, spec: &Fields) {
    let list = SPEC.child("tokenRequests");
    let mut seen: Seen<&str> = Seen::default();
    for (index, request) in spec.numbered("tokenRequests") {
        let path = list.index(index);
        let audience = request.text("audience");
        if seen.contains(&audience) {
            errors.duplicate(&path.child("audience"), audience);
            continue;
        }
        seen.push(audience);
        let Some(seconds) = request.set_number("expirationSeconds") else {
            continue;
        };
        let path = path.child("expirationSeconds");
        if seconds < 600 {
            errors.invalid(&path, seconds, "may not specify a duration less than 10 minutes");
        }
        if seconds > 1 << 32 {
            errors.invalid(
                &path,
                seconds,
                "may not specify a duration larger than 2^32 seconds",
            );
        }
    }
}

/// Checks a `CSINode`; `old` is the one that it replaces.
pub(in super::super) fn csi_node(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    /// The longest name of a node that a driver gives it.
    const MOST_BYTES: usize = 256;
    metadata::check(errors, GROUP, "CSINode", object);
    let list = SPEC.child("drivers");
    let drivers = object.at("spec");
    let mut seen: Seen<&str> = Seen::default();
    for (index, one) in drivers.numbered("drivers") {
        let path = list.index(index);
        let (name, id) = (one.text("name"), one.text("nodeID"));
        driver(errors, &path.child("name"), name);
        if id.is_empty() {
            errors.required(&path.child("nodeID"), "");
        }
        if id.len() > MOST_BYTES {
            errors.invalid(
                &path.child("nodeID"),
                id,
                format!("must be {MOST_BYTES} characters or less"),
            );
        }
        let count = one.at("allocatable").number("count");
        errors.not_negative(&path.child("allocatable.count"), count);
        if seen.contains(&name) {
            errors.duplicate(&path.child("name"), name);
        }
        seen.push(name);
        let mut keys: Seen<&str> = Seen::default();
        for key in one.texts("topologyKeys") {
            if key.is_empty() {
                errors.required(&path, "");
            }
            if keys.contains(&key) {
                errors.duplicate(&path, key);
            }
            keys.push(key);
            errors.faults(&path, key, label_key(key));
        }
    }
    let Some(old) = old else { return };
    let mut of_name: HashMap<&str, Vec<&Fields>> = HashMap::new();
    for now in drivers.items("drivers") {
        of_name.entry(now.text("name")).or_default().push(now);
    }
    for before in old.at("spec").items("drivers") {
        for now in of_name.get(before.text("name")).into_iter().flatten() {
            let plain = |driver: &Fields| {
                let mut plain = driver.clone();
                plain.remove("allocatable");
                Value::Object(plain)
            };
            let (now, before) = (plain(now), plain(before));
            if !same(Some(&now), Some(&before)) {
                errors.invalid(
                    &list,
                    internal::shown("storage.CSINodeDriver", Some(&now)),
                    "field is immutable",
                );
            }
        }
    }
}

/// Checks a `VolumeAttachment`; `old` is the one that it replaces.
pub(in super::super) fn attachment(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    const RULE: &str = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    metadata::check(errors, GROUP, "VolumeAttachment", object);
    let spec = object.at("spec");
    driver(errors, &SPEC.child("attacher"), spec.text("attacher"));
    let path = SPEC.child("source");
    let source = spec.at("source");
    let volume = source.set_text("persistentVolumeName");
    match (source.has("inlineVolumeSpec"), volume) {
        (false, None) => errors.required(&path, RULE),
        (true, Some(_)) => errors.forbidden(&path, RULE),
        (false, Some("")) => errors.required(
            &path.child("persistentVolumeName"),
            "must specify non empty persistentVolumeName",
        ),
        (false, Some(_)) => {}
        (true, None) => volume_spec(
            errors,
            &path.child("inlineVolumeSpec"),
            source.at("inlineVolumeSpec"),
            "",
            true,
            false,
        ),
    }
    let node = spec.text("nodeName");
    errors.faults(&SPEC.child("nodeName"), node, dns_subdomain(node));
    attachment_status(errors, object.at("status"));
    if let Some(volume) = volume {
        let path = Path::new("spec.source.persistentVolumeName");
        errors.faults(&path, volume, dns_subdomain(volume));
    }
    if old.is_some_and(|old| !object.is_same(old, "spec")) {
        errors.invalid(
            &SPEC,
            internal::shown("storage.VolumeAttachmentSpec", object.get("spec")),
            "field is immutable",
        );
    }
}

fn attachment_status(errors: &mut Errors, status: &Fields) {
    /// The most bytes of what a driver notes, and of what it says of an error.
    const MOST: (usize, usize) = (256 << 10, 1024);
    let path = Path::new("status");
    let bytes: usize = status
        .entries("attachmentMetadata")
        .map(|(key, value)| key.len() + value.len())
        .sum();
    if bytes > MOST.0 {
        errors.too_long(&path.child("attachmentMetadata"), MOST.0);
    }
    for name in ["attachError", "detachError"] {
        let error = status.at(name);
        if error.text("message").len() > MOST.1 {
            // Upstream names the other limit.
            errors.too_long(&path.child(name).child("message"), MOST.0);
        }
        if let Some(code) = error.set_number("errorCode").filter(|code| *code < 0) {
            errors.invalid(
                &path.child(name).child("errorCode"),
                code,
                between(0, i64::from(i32::MAX)),
            );
        }
    }
}

/// Checks a `CSIStorageCapacity`; `old` is the one that it replaces.
pub(in super::super) fn capacity(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    if let Some(old) = old {
        metadata::check_update(errors, GROUP, object, old);
        for name in ["nodeTopology", "storageClassName"] {
            unchanged(errors, object, old, name);
        }
        return;
    }
    metadata::check(errors, GROUP, "CSIStorageCapacity", object);
    selectors::check(
        errors,
        &Path::new("nodeTopology"),
        object.part("nodeTopology"),
        false,
    );
    let class = object.text("storageClassName");
    errors.faults(&Path::new("storageClassName"), class, dns_subdomain(class));
    if let Some(amount) = object.set_value("capacity") {
        resources::not_negative(errors, &Path::new("capacity"), amount);
    }
}
