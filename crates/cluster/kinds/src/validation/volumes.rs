//! Volumes of pods and persistent volumes: each has exactly one source.

mod network;
mod projected;

use std::collections::HashMap;

use schema::structural::name_rules::{dns_label, dns_subdomain};
use serde_json::Value;

use super::claims;
use super::pods::Options;
use super::reading::{Reading, fields};
use super::report::{Errors, Path};
use super::seen::Seen;
use super::syntax::{between, local_path, local_unreserved_path, no_backsteps};
use crate::quantity::Quantity;
use crate::tree::{Fields, Tree};

/// What modes of files may be.
const MODE_RULE: &str = "must be a number between 0 and 0777 (octal), both inclusive";

const ONE_SOURCE: &str = "may not specify more than 1 volume type";

/// The volumes of a pod that are right, by name.
pub(super) type Volumes<'a> = HashMap<&'a str, &'a Fields>;

/// Checks the volumes of a pod, and returns those that are right; `pod_name` is empty in templates.
pub(super) fn check<'a>(
    errors: &mut Errors,
    path: &Path<'_>,
    spec: &'a Fields,
    pod_name: &str,
    options: &Options,
) -> Volumes<'a> {
    let mut right: Volumes<'a> = HashMap::new();
    let created: Seen<String> = if pod_name.is_empty() {
        Seen::default()
    } else {
        spec.items("volumes")
            .filter(|volume| volume.has("ephemeral"))
            .map(|volume| format!("{pod_name}-{}", volume.text("name")))
            .collect()
    };
    for (index, volume) in spec.numbered("volumes") {
        let path = path.index(index);
        let before = errors.len();
        source(errors, &path, volume, pod_name, options);
        let name = volume.text("name");
        let name_path = path.child("name");
        if name.is_empty() {
            errors.required(&name_path, "");
        } else {
            errors.faults(&name_path, name, dns_label(name));
        }
        if right.contains_key(name) {
            errors.duplicate(&name_path, name);
        }
        if errors.len() == before {
            right.insert(name, volume);
        }
        let claim = volume.at("persistentVolumeClaim").text("claimName").to_owned();
        if volume.has("persistentVolumeClaim") && created.contains(&claim) {
            errors.invalid(
                &path.child("persistentVolumeClaim.claimName"),
                &claim,
                "must not reference a PVC that gets created for an ephemeral volume",
            );
        }
    }
    right
}

/// Counts the sources of a volume, of which only the first is checked.
pub(super) struct OneSource {
    pub(super) is_found: bool,
}

impl OneSource {
    /// Returns the source if it is there and the first.
    pub(super) fn take<'a>(
        &mut self,
        errors: &mut Errors,
        path: &Path<'_>,
        volume: &'a Fields,
        name: &str,
    ) -> Option<&'a Fields> {
        self.take_as(errors, path, volume, name, name)
    }

    /// Returns the source if it is there and the first; some are called differently in errors.
    pub(super) fn take_as<'a>(
        &mut self,
        errors: &mut Errors,
        path: &Path<'_>,
        volume: &'a Fields,
        name: &str,
        shown: &str,
    ) -> Option<&'a Fields> {
        let source = volume.set_value(name).map(fields)?;
        if self.is_found {
            errors.forbidden(&path.child(shown), ONE_SOURCE);
            return None;
        }
        self.is_found = true;
        Some(source)
    }
}

/// Checks that texts are there.
pub(super) fn demand(errors: &mut Errors, path: &Path<'_>, source: &Fields, names: &[&str]) {
    for name in names {
        if source.is_zero(name) {
            errors.required(&path.child(name), "");
        }
    }
}

fn source(errors: &mut Errors, path: &Path<'_>, volume: &Fields, pod_name: &str, options: &Options) {
    let mut one = OneSource { is_found: false };
    if volume.has("emptyDir") {
        one.is_found = true;
        let limit = volume.at("emptyDir").set_text("sizeLimit");
        if limit.is_some_and(|limit| Quantity::read(limit).is_negative()) {
            errors.forbidden(
                &path.child("emptyDir.sizeLimit"),
                "SizeLimit field must be a valid resource quantity",
            );
        }
    }
    if let Some(source) = one.take(errors, path, volume, "hostPath") {
        host_path(errors, &path.child("hostPath"), source);
    }
    if let Some(source) = one.take(errors, path, volume, "gitRepo") {
        let path = path.child("gitRepo");
        demand(errors, &path, source, &["repository"]);
        local_path(errors, &path.child("directory"), source.text("directory"));
    }
    if let Some(source) = one.take(errors, path, volume, "gcePersistentDisk") {
        disk(errors, &path.child("persistentDisk"), source, "pdName");
    }
    if let Some(source) = one.take(errors, path, volume, "awsElasticBlockStore") {
        disk(errors, &path.child("awsElasticBlockStore"), source, "volumeID");
    }
    if let Some(source) = one.take(errors, path, volume, "secret") {
        files(errors, &path.child("secret"), source, "secretName");
    }
    if let Some(source) = one.take(errors, path, volume, "nfs") {
        network::nfs(errors, &path.child("nfs"), source);
    }
    if let Some(source) = one.take(errors, path, volume, "iscsi") {
        network::iscsi(errors, &path.child("iscsi"), source);
    }
    if volume.at("iscsi").has("initiatorName") {
        let name = volume.text("name");
        if name.len() + 1 + volume.at("iscsi").text("targetPortal").len() > network::ISCSI_BYTES {
            errors.invalid(&path.child("name"), name, network::ISCSI_RULE);
        }
    }
    if let Some(source) = one.take(errors, path, volume, "glusterfs") {
        demand(errors, &path.child("glusterfs"), source, &["endpoints", "path"]);
    }
    if let Some(source) = one.take(errors, path, volume, "flocker") {
        network::flocker(errors, &path.child("flocker"), source);
    }
    if let Some(source) = one.take(errors, path, volume, "persistentVolumeClaim") {
        demand(
            errors,
            &path.child("persistentVolumeClaim"),
            source,
            &["claimName"],
        );
    }
    if let Some(source) = one.take(errors, path, volume, "rbd") {
        demand(errors, &path.child("rbd"), source, &["monitors", "image"]);
    }
    if let Some(source) = one.take(errors, path, volume, "cinder") {
        network::cinder(errors, &path.child("cinder"), source, false);
    }
    if let Some(source) = one.take_as(errors, path, volume, "cephfs", "cephFS") {
        demand(errors, &path.child("cephfs"), source, &["monitors"]);
    }
    if let Some(source) = one.take(errors, path, volume, "quobyte") {
        network::quobyte(errors, &path.child("quobyte"), source);
    }
    if let Some(source) = one.take_as(errors, path, volume, "downwardAPI", "downwarAPI") {
        projected::downward(errors, &path.child("downwardAPI"), source);
    }
    if let Some(source) = one.take(errors, path, volume, "fc") {
        network::fibre_channel(errors, &path.child("fc"), source);
    }
    if let Some(source) = one.take(errors, path, volume, "flexVolume") {
        network::flex(errors, &path.child("flexVolume"), source);
    }
    if let Some(source) = one.take(errors, path, volume, "configMap") {
        files(errors, &path.child("configMap"), source, "name");
    }
    if let Some(source) = one.take(errors, path, volume, "azureFile") {
        demand(
            errors,
            &path.child("azureFile"),
            source,
            &["secretName", "shareName"],
        );
    }
    for (name, field) in [
        ("vsphereVolume", "volumePath"),
        ("photonPersistentDisk", "pdID"),
        ("portworxVolume", "volumeID"),
    ] {
        if let Some(source) = one.take(errors, path, volume, name) {
            demand(errors, &path.child(name), source, &[field]);
        }
    }
    if let Some(source) = one.take(errors, path, volume, "azureDisk") {
        network::azure_disk(errors, &path.child("azureDisk"), source);
    }
    if let Some(source) = one.take(errors, path, volume, "storageos") {
        network::storage_os(errors, &path.child("storageos"), source, false);
    }
    if let Some(source) = one.take(errors, path, volume, "projected") {
        projected::check(errors, &path.child("projected"), source, options);
    }
    if let Some(source) = one.take(errors, path, volume, "scaleIO") {
        demand(
            errors,
            &path.child("scaleIO"),
            source,
            &["gateway", "system", "volumeName"],
        );
    }
    if let Some(source) = one.take(errors, path, volume, "csi") {
        let path = path.child("csi");
        driver(errors, &path.child("driver"), source.text("driver"));
        if source.has("nodePublishSecretRef") {
            let name = source.at("nodePublishSecretRef").text("name");
            if name.is_empty() {
                errors.required(&path.child("nodePublishSecretRef.name"), "");
            } else {
                errors.faults(&path.child("name"), name, dns_subdomain(name));
            }
        }
    }
    if let Some(source) = one.take(errors, path, volume, "ephemeral") {
        ephemeral(errors, path, volume.text("name"), source, pod_name);
    }
    if let Some(source) = one.take(errors, path, volume, "image") {
        let path = path.child("image");
        if options.is_pod {
            demand(errors, &path, source, &["reference"]);
        }
        super::containers::pull_policy(errors, &path.child("pullPolicy"), source.text("pullPolicy"));
    }
    if !one.is_found {
        errors.required(path, "must specify a volume type");
    }
}

fn ephemeral(errors: &mut Errors, path: &Path<'_>, volume_name: &str, source: &Fields, pod_name: &str) {
    let template_path = path.child("ephemeral.volumeClaimTemplate");
    if source.has("volumeClaimTemplate") {
        claims::template(errors, &template_path, source.at("volumeClaimTemplate"));
    } else {
        errors.required(&template_path, "");
    }
    if !pod_name.is_empty() && !volume_name.is_empty() {
        let claim = format!("{pod_name}-{volume_name}");
        for fault in dns_subdomain(&claim) {
            errors.invalid(
                &path.child("name"),
                volume_name,
                format!("PVC name \"{claim}\": {fault}"),
            );
        }
    }
}

/// Checks a folder or file of the node.
pub(super) fn host_path(errors: &mut Errors, path: &Path<'_>, source: &Fields) {
    if source.is_zero("path") {
        errors.required(&path.child("path"), "");
        return;
    }
    no_backsteps(errors, &path.child("path"), source.text("path"));
    errors.one_of_if_set(
        &path.child("type"),
        source.set_text("type"),
        &[
            "",
            "BlockDevice",
            "CharDevice",
            "Directory",
            "DirectoryOrCreate",
            "File",
            "FileOrCreate",
            "Socket",
        ],
    );
}

/// Checks a disk with partitions.
pub(super) fn disk(errors: &mut Errors, path: &Path<'_>, source: &Fields, id: &str) {
    demand(errors, path, source, &[id]);
    let partition = source.number("partition");
    if !(0..=255).contains(&partition) {
        errors.invalid(&path.child("partition"), partition, between(1, 255));
    }
}

pub(super) use network::{
    azure_disk, cinder, fibre_channel, flex, flocker, iscsi_of_cluster, nfs, quobyte, storage_os,
};

/// Checks the mode of files.
fn mode(errors: &mut Errors, path: &Path<'_>, source: &Fields, name: &str) {
    if let Some(mode) = source.set_number(name)
        && !(0..=0o777).contains(&mode)
    {
        errors.invalid(&path.child(name), mode, MODE_RULE);
    }
}

fn files(errors: &mut Errors, path: &Path<'_>, source: &Fields, name: &str) {
    demand(errors, path, source, &[name]);
    mode(errors, path, source, "defaultMode");
    let items = path.child("items");
    for (index, item) in source.numbered("items") {
        key_to_path(errors, &items.index(index), item);
    }
}

fn key_to_path(errors: &mut Errors, path: &Path<'_>, item: &Fields) {
    demand(errors, path, item, &["key", "path"]);
    local_unreserved_path(errors, &path.child("path"), item.text("path"));
    mode(errors, path, item, "mode");
}

/// Checks the name of a driver of the Container Storage Interface.
pub(super) fn driver(errors: &mut Errors, path: &Path<'_>, name: &str) {
    /// The longest name of a driver.
    const MOST_BYTES: usize = 63;
    if name.is_empty() {
        errors.required(path, "");
        return;
    }
    if name.len() > MOST_BYTES {
        errors.too_long(path, MOST_BYTES);
    }
    errors.faults(path, name, dns_subdomain(&name.to_lowercase()));
}

/// Returns the volume of a name.
pub(super) fn find<'a>(volumes: &Volumes<'a>, name: &str) -> Option<&'a Fields> {
    volumes.get(name).copied()
}

/// Returns the first text of a list, for errors that show one of many.
pub(super) fn shown_list(source: &Fields, name: &str) -> super::report::Raw {
    super::report::listed(
        source
            .get(name)
            .filter(|value| !matches!(value, Value::Array(items) if items.is_empty())),
    )
}
