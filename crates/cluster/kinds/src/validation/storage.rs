//! Persistent volumes, classes of storage, and drivers.

mod drivers;

use std::collections::{BTreeMap, BTreeSet};

use schema::structural::name_rules::{dns_label, dns_subdomain, label_key};
use serde_json::Value;

use super::claims::{access_modes, basic};
use super::reading::{Reading, fields};
use super::report::{Errors, Path, listed};
use super::seen::Seen;
use super::syntax::{Rule, no_backsteps};
use super::volumes::{
    OneSource, azure_disk, cinder, demand, disk, driver, fibre_channel, flex, flocker, host_path,
    iscsi_of_cluster, nfs, quobyte, storage_os,
};
use super::{difference, internal, metadata, placement, resources};
use crate::tree::{Fields, Tree, same};

pub(super) use drivers::{attachment, capacity, csi_driver, csi_node};

const SPEC: Path<'_> = Path::new("spec");
const GROUP: &str = "storage.k8s.io";

/// Fields of a persistent volume that say where it is.
const SOURCES: [&str; 22] = [
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "hostPath",
    "glusterfs",
    "nfs",
    "rbd",
    "quobyte",
    "iscsi",
    "flexVolume",
    "cinder",
    "cephfs",
    "fc",
    "flocker",
    "azureFile",
    "vsphereVolume",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

/// Checks a persistent volume; `old` is the one that it replaces.
pub(super) fn volume(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    metadata::check(errors, "", "PersistentVolume", object);
    let spec = object.at("spec");
    let allows_values = old.is_some_and(|old| {
        placement::has_wrong_node_values(old.at("spec").at("nodeAffinity").at("required"))
    });
    let name = object.at("metadata").text("name");
    volume_spec(errors, &SPEC, spec, name, false, allows_values);
    let Some(before) = old.map(|old| old.at("spec")) else {
        return;
    };
    let source = |spec: &Fields| {
        let mut source = spec.clone();
        source.retain(|name, _| SOURCES.contains(&name.as_str()));
        source
    };
    let (mut now, then) = (source(spec), source(before));
    if then.has("csi")
        && !then.at("csi").has("controllerExpandSecretRef")
        && let Some(Value::Object(csi)) = now.get_mut("csi")
    {
        csi.remove("controllerExpandSecretRef");
    }
    let (now, then) = (Value::Object(now), Value::Object(then));
    if !same(Some(&now), Some(&then)) {
        let kind = "core.PersistentVolumeSource";
        let text = difference::between(
            &internal::lines(kind, Some(&then)),
            &internal::lines(kind, Some(&now)),
        );
        errors.forbidden(
            &SPEC.child("persistentvolumesource"),
            format!("spec.persistentvolumesource is immutable after creation\n{text}"),
        );
    }
    if spec.get("volumeMode") != before.get("volumeMode") {
        errors.invalid(
            &Path::new("volumeMode"),
            spec.set_value("volumeMode"),
            "field is immutable",
        );
    }
    if before.has("nodeAffinity") && !spec.is_same(before, "nodeAffinity") && !renames_labels(spec, before) {
        errors.invalid(
            &Path::new("nodeAffinity"),
            internal::shown_if_set("core.VolumeNodeAffinity", spec.get("nodeAffinity")),
            "field is immutable, except for updating from beta label to GA",
        );
    }
    if before.has("volumeAttributesClassName") && !spec.has("volumeAttributesClassName") {
        errors.forbidden(
            &SPEC.child("volumeAttributesClassName"),
            "update from non-nil value to nil is forbidden",
        );
    }
}

/// Returns whether a node affinity differs only in labels that got their final names.
fn renames_labels(spec: &Fields, before: &Fields) -> bool {
    const RENAMED: [(&str, &str); 5] = [
        (
            "failure-domain.beta.kubernetes.io/zone",
            "topology.kubernetes.io/zone",
        ),
        (
            "failure-domain.beta.kubernetes.io/region",
            "topology.kubernetes.io/region",
        ),
        ("beta.kubernetes.io/os", "kubernetes.io/os"),
        ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
        (
            "beta.kubernetes.io/instance-type",
            "node.kubernetes.io/instance-type",
        ),
    ];
    let text = |spec: &Fields, rename: bool| {
        let mut text = spec.get("nodeAffinity").map(Value::to_string).unwrap_or_default();
        if rename {
            for (from, to) in RENAMED {
                text = text.replace(&format!("\"key\":\"{from}\""), &format!("\"key\":\"{to}\""));
            }
        }
        text
    };
    text(spec, false) == text(before, true)
}

fn volume_spec(
    errors: &mut Errors,
    path: &Path<'_>,
    spec: &Fields,
    name: &str,
    is_inline: bool,
    allows_values: bool,
) {
    const INLINE: &str = "may not be specified in the context of inline volumes";
    if is_inline {
        for name in ["claimRef", "capacity"] {
            if !spec.is_zero(name) {
                errors.forbidden(&path.child(name), INLINE);
            }
        }
        if !spec.has("csi") {
            errors.required(
                &path.child("csi"),
                "has to be specified in the context of inline volumes",
            );
        }
    }
    if spec.is_zero("accessModes") {
        errors.required(&path.child("accessModes"), "");
    }
    access_modes(errors, path, spec);
    if !is_inline {
        let path = path.child("capacity");
        let capacity = spec.at("capacity");
        if capacity.is_empty() {
            errors.required(&path, "");
        }
        if !capacity.contains_key("storage") || capacity.len() > 1 {
            errors.not_supported(
                &path,
                listed(spec.get("capacity").filter(|_| !capacity.is_empty())),
                &["storage"],
            );
        }
        for (resource, amount) in capacity {
            basic(errors, &path.key(resource), amount);
            resources::positive(errors, &path.key(resource), amount);
        }
    }
    let policy = spec.text("persistentVolumeReclaimPolicy");
    let policy_path = path.child("persistentVolumeReclaimPolicy");
    if is_inline && !matches!(policy, "" | "Retain") {
        errors.forbidden(
            &policy_path,
            "may only be Retain in the context of inline volumes",
        );
    } else if !policy.is_empty() && !is_inline {
        errors.one_of_if_set(&policy_path, Some(policy), &["Delete", "Recycle", "Retain"]);
    }
    if spec.has("nodeAffinity") {
        let path = path.child("nodeAffinity");
        let affinity = spec.at("nodeAffinity");
        if is_inline {
            errors.forbidden(&path, INLINE);
        } else if affinity.has("required") {
            placement::node_selector(
                errors,
                &path.child("required"),
                affinity.at("required"),
                allows_values,
            );
        } else {
            errors.required(&path.child("required"), "must specify required node constraints");
        }
    }
    source(errors, path, spec, name);
    if spec.has("hostPath")
        && spec
            .at("hostPath")
            .text("path")
            .split('/')
            .all(|part| matches!(part, "" | "."))
        && spec.at("hostPath").text("path").starts_with('/')
        && policy == "Recycle"
    {
        errors.forbidden(&policy_path, "may not be 'recycle' for a hostPath mount of '/'");
    }
    let class = spec.text("storageClassName");
    if !class.is_empty() {
        if is_inline {
            errors.forbidden(&path.child("storageClassName"), INLINE);
        } else {
            errors.faults(&path.child("storageClassName"), class, dns_subdomain(class));
        }
    }
    if let Some(mode) = spec.set_text("volumeMode") {
        let path = path.child("volumeMode");
        if !is_inline {
            errors.one_of_if_set(&path, Some(mode), &["Block", "Filesystem"]);
        } else if mode != "Filesystem" {
            errors.forbidden(
                &path,
                "may not specify volumeMode other than Filesystem in the context of inline volumes",
            );
        }
    }
    if let Some(class) = spec.set_text("volumeAttributesClassName").filter(|_| !is_inline) {
        let own = path.child("volumeAttributesClassName");
        if class.is_empty() {
            errors.required(&own, "an empty string is disallowed");
        } else {
            errors.faults(&own, class, dns_subdomain(class));
        }
        if !spec.has("csi") {
            errors.required(
                &path.child("csi"),
                "has to be specified when using volumeAttributesClassName",
            );
        }
    }
}

fn source(errors: &mut Errors, path: &Path<'_>, spec: &Fields, name: &str) {
    let mut one = OneSource { is_found: false };
    if let Some(source) = one.take(errors, path, spec, "hostPath") {
        host_path(errors, &path.child("hostPath"), source);
    }
    if let Some(source) = one.take(errors, path, spec, "gcePersistentDisk") {
        disk(errors, &path.child("persistentDisk"), source, "pdName");
    }
    if let Some(source) = one.take(errors, path, spec, "awsElasticBlockStore") {
        disk(errors, &path.child("awsElasticBlockStore"), source, "volumeID");
    }
    if let Some(source) = one.take(errors, path, spec, "glusterfs") {
        let path = path.child("glusterfs");
        demand(errors, &path, source, &["endpoints", "path"]);
        if let Some(namespace) = source.set_text("endpointsNamespace") {
            let path = path.child("endpointsNamespace");
            if namespace.is_empty() {
                errors.invalid(
                    &path,
                    namespace,
                    "if the endpointnamespace is set, it must be a valid namespace name",
                );
            } else {
                errors.faults(&path, namespace, dns_label(namespace));
            }
        }
    }
    if let Some(source) = one.take(errors, path, spec, "flocker") {
        flocker(errors, &path.child("flocker"), source);
    }
    if let Some(source) = one.take(errors, path, spec, "nfs") {
        nfs(errors, &path.child("nfs"), source);
    }
    if let Some(source) = one.take(errors, path, spec, "rbd") {
        demand(errors, &path.child("rbd"), source, &["monitors", "image"]);
    }
    if let Some(source) = one.take(errors, path, spec, "quobyte") {
        quobyte(errors, &path.child("quobyte"), source);
    }
    if let Some(source) = one.take_as(errors, path, spec, "cephfs", "cephFS") {
        demand(errors, &path.child("cephfs"), source, &["monitors"]);
    }
    if let Some(source) = one.take(errors, path, spec, "iscsi") {
        iscsi_of_cluster(errors, &path.child("iscsi"), source, name);
    }
    if let Some(source) = one.take(errors, path, spec, "cinder") {
        cinder(errors, &path.child("cinder"), source, true);
    }
    if let Some(source) = one.take(errors, path, spec, "fc") {
        fibre_channel(errors, &path.child("fc"), source);
    }
    if let Some(source) = spec.set_value("flexVolume") {
        // It may stand beside another, as upstream has it.
        one.is_found = true;
        flex(errors, &path.child("flexVolume"), fields(source));
    }
    if let Some(source) = one.take(errors, path, spec, "azureFile") {
        let path = path.child("azureFile");
        demand(errors, &path, source, &["secretName", "shareName"]);
        if source.set_text("secretNamespace") == Some("") {
            errors.required(&path.child("secretNamespace"), "");
        }
    }
    for (name, field) in [
        ("vsphereVolume", "volumePath"),
        ("photonPersistentDisk", "pdID"),
        ("portworxVolume", "volumeID"),
    ] {
        if let Some(source) = one.take(errors, path, spec, name) {
            demand(errors, &path.child(name), source, &[field]);
        }
    }
    if let Some(source) = one.take(errors, path, spec, "azureDisk") {
        azure_disk(errors, &path.child("azureDisk"), source);
    }
    if let Some(source) = one.take(errors, path, spec, "scaleIO") {
        demand(
            errors,
            &path.child("scaleIO"),
            source,
            &["gateway", "system", "volumeName"],
        );
    }
    if let Some(source) = one.take(errors, path, spec, "local") {
        let own = path.child("local.path");
        if source.is_zero("path") {
            errors.required(&own, "");
        } else {
            no_backsteps(errors, &own, source.text("path"));
        }
        if !spec.has("nodeAffinity") {
            errors.required(&path.child("nodeAffinity"), "Local volume requires node affinity");
        }
    }
    if let Some(source) = one.take(errors, path, spec, "storageos") {
        storage_os(errors, &path.child("storageos"), source, true);
    }
    if let Some(source) = one.take(errors, path, spec, "csi") {
        let path = path.child("csi");
        driver(errors, &path.child("driver"), source.text("driver"));
        demand(errors, &path, source, &["volumeHandle"]);
        for name in [
            "controllerPublishSecretRef",
            "controllerExpandSecretRef",
            "nodePublishSecretRef",
            "nodeExpandSecretRef",
        ] {
            if source.has(name) {
                secret(errors, &path.child(name), source.at(name));
            }
        }
    }
    if !one.is_found {
        errors.required(path, "must specify a volume type");
    }
}

fn secret(errors: &mut Errors, path: &Path<'_>, secret: &Fields) {
    let rules: [(&str, Rule); 2] = [("name", dns_subdomain), ("namespace", dns_label)];
    for (name, rule) in rules {
        let text = secret.text(name);
        if text.is_empty() {
            errors.required(&path.child(name), "");
        } else {
            errors.faults(&path.child(name), text, rule(text));
        }
    }
}

fn unchanged(errors: &mut Errors, new: &Fields, old: &Fields, name: &str) {
    if !new.is_same(old, name) {
        errors.invalid(&Path::new(name), new.set_value(name), "field is immutable");
    }
}

/// Checks a `StorageClass`; `old` is the one that it replaces.
pub(super) fn class(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    if let Some(old) = old {
        metadata::check_update(errors, GROUP, object, old);
        for name in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
            unchanged(errors, object, old, name);
        }
        return;
    }
    metadata::check(errors, GROUP, "StorageClass", object);
    provisioner(errors, &Path::new("provisioner"), object.text("provisioner"));
    parameters(errors, object, true);
    let policy = object
        .set_text("reclaimPolicy")
        .filter(|policy| !policy.is_empty());
    errors.one_of_if_set(&Path::new("reclaimPolicy"), policy, &["Delete", "Retain"]);
    match object.set_text("volumeBindingMode") {
        None => errors.required(&Path::new("volumeBindingMode"), ""),
        mode => errors.one_of_if_set(
            &Path::new("volumeBindingMode"),
            mode,
            &["Immediate", "WaitForFirstConsumer"],
        ),
    }
    topologies(errors, object);
}

fn provisioner(errors: &mut Errors, path: &Path<'_>, name: &str) {
    if name.is_empty() {
        errors.required(path, "");
    } else {
        let small = name.to_lowercase();
        errors.faults(path, &small, label_key(&small));
    }
}

fn parameters(errors: &mut Errors, object: &Fields, may_be_empty: bool) {
    /// The most parameters, and the most bytes of all together.
    const MOST: (usize, usize) = (512, 256 << 10);
    let path = Path::new("parameters");
    let count = object.at("parameters").len();
    if count > MOST.0 {
        errors.too_long(&path, MOST.0);
        return;
    }
    let mut bytes = 0;
    for (key, value) in object.entries("parameters") {
        if key.is_empty() {
            errors.invalid(&path, key, "field can not be empty.");
        }
        bytes += key.len() + value.len();
    }
    if bytes > MOST.1 {
        errors.too_long(&path, MOST.1);
    }
    if !may_be_empty && count == 0 {
        errors.required(&path, "must contain at least one key/value pair");
    }
}

fn topologies(errors: &mut Errors, object: &Fields) {
    let list = Path::new("allowedTopologies");
    // Labels and the values that they may have.
    let mut seen: Seen<BTreeMap<&str, BTreeSet<&str>>> = Seen::default();
    for (index, term) in object.numbered("allowedTopologies") {
        let path = list.index(index);
        let expressions = path.child("matchLabelExpressions");
        let mut own: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (index, expression) in term.numbered("matchLabelExpressions") {
            let path = expressions.index(index);
            let values = path.child("values");
            if expression.is_zero("values") {
                errors.required(&values, "");
            }
            let mut set = BTreeSet::new();
            for (index, value) in expression.texts("values").enumerate() {
                if !set.insert(value) {
                    errors.duplicate(&values.index(index), value);
                }
            }
            let key = expression.text("key");
            errors.faults(&path.child("key"), key, label_key(key));
            if own.insert(key, set).is_some() {
                errors.duplicate(&path.child("key"), key);
            }
        }
        if seen.contains(&own) {
            errors.duplicate(&expressions, "");
        }
        seen.push(own);
    }
}

/// Checks a `VolumeAttributesClass`; `old` is the one that it replaces.
pub(super) fn attributes_class(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    if let Some(old) = old {
        metadata::check_update(errors, GROUP, object, old);
        for name in ["driverName", "parameters"] {
            if !object.is_same(old, name) {
                errors.forbidden(&Path::new(name), format!("updates to {name} are forbidden."));
            }
        }
    }
    metadata::check(errors, GROUP, "VolumeAttributesClass", object);
    provisioner(errors, &Path::new("driverName"), object.text("driverName"));
    parameters(errors, object, false);
}
