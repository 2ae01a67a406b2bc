//! Volumes of pods, and what persistent volumes are made of.

use serde_json::{Value, json};

use super::image;
use super::resources;
use crate::tree::{Fields, Tree};

/// What files in a volume may be done with: read by all, written by the owner.
const FILE_MODE: i64 = 0o644;

/// Everything that a volume can be.
const SOURCES: [&str; 30] = [
    "hostPath",
    "emptyDir",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "persistentVolumeClaim",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "downwardAPI",
    "fc",
    "azureFile",
    "configMap",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "projected",
    "portworxVolume",
    "scaleIO",
    "storageos",
    "csi",
    "ephemeral",
    "image",
];

/// Fills in a volume of a pod.
pub(super) fn volume(volume: &mut Fields) {
    if SOURCES.iter().all(|source| volume.is_unset(source)) {
        volume.set("emptyDir", json!({}));
        return;
    }
    if let Some(image) = volume.part_mut("image") {
        let policy = image::pull_policy(image.text("reference"));
        image.set_if_zero("pullPolicy", policy);
    }
    for source in ["secret", "configMap", "projected"] {
        if let Some(source) = volume.part_mut(source) {
            source.set_if_unset("defaultMode", FILE_MODE);
        }
    }
    if let Some(source) = volume.part_mut("downwardAPI") {
        source.set_if_unset("defaultMode", FILE_MODE);
        fields_of_the_pod(source);
    }
    if let Some(projected) = volume.part_mut("projected") {
        for source in projected.items_mut("sources") {
            if let Some(downward) = source.part_mut("downwardAPI") {
                fields_of_the_pod(downward);
            }
            if let Some(token) = source.part_mut("serviceAccountToken") {
                token.set_if_unset("expirationSeconds", 3600);
            }
        }
    }
    if let Some(template) = volume
        .part_mut("ephemeral")
        .and_then(|ephemeral| ephemeral.part_mut("volumeClaimTemplate"))
    {
        claim_spec(template.part_or_new("spec"));
    }
    source(volume);
}

fn fields_of_the_pod(downward: &mut Fields) {
    for item in downward.items_mut("items") {
        if let Some(reference) = item.part_mut("fieldRef") {
            reference.set_if_zero("apiVersion", "v1");
        }
    }
}

/// Fills in what pods' volumes and persistent volumes have in common.
pub(super) fn source(holder: &mut Fields) {
    if let Some(host_path) = holder.part_mut("hostPath") {
        host_path.set_if_unset("type", "");
    }
    if let Some(iscsi) = holder.part_mut("iscsi") {
        iscsi.set_if_zero("iscsiInterface", "default");
    }
    if let Some(rbd) = holder.part_mut("rbd") {
        rbd.set_if_zero("pool", "rbd");
        rbd.set_if_zero("user", "admin");
        rbd.set_if_zero("keyring", "/etc/ceph/keyring");
    }
    if let Some(scale_io) = holder.part_mut("scaleIO") {
        scale_io.set_if_zero("storageMode", "ThinProvisioned");
        scale_io.set_if_zero("fsType", "xfs");
    }
    if let Some(disk) = holder.part_mut("azureDisk") {
        disk.set_if_unset("cachingMode", "ReadWrite");
        disk.set_if_unset("fsType", "ext4");
        disk.set_if_unset("readOnly", false);
        disk.set_if_unset("kind", "Shared");
    }
}

/// Fills in what a claim asks for.
pub(super) fn claim_spec(spec: &mut Fields) {
    spec.set_if_unset("volumeMode", "Filesystem");
    resources::requirements(spec);
}

/// Fills in a claim.
pub(super) fn claim(claim: &mut Fields) {
    claim_spec(claim.part_or_new("spec"));
    let status = claim.part_or_new("status");
    status.set_if_zero("phase", "Pending");
    resources::list(status, "capacity");
    resources::list(status, "allocatedResources");
}

/// Fills in a persistent volume.
pub(super) fn persistent_volume(volume: &mut Fields) {
    volume.part_or_new("status").set_if_zero("phase", "Pending");
    let spec = volume.part_or_new("spec");
    spec.set_if_zero("persistentVolumeReclaimPolicy", "Retain");
    spec.set_if_unset("volumeMode", "Filesystem");
    resources::list(spec, "capacity");
    source(spec);
}

/// Fills in the volume that a `VolumeAttachment` carries with it.
pub(super) fn attachment(attachment: &mut Fields) {
    let inline = attachment
        .part_mut("spec")
        .and_then(|spec| spec.part_mut("source"))
        .and_then(|source| source.part_mut("inlineVolumeSpec"));
    if let Some(spec) = inline {
        resources::list(spec, "capacity");
        source(spec);
    }
}

/// Fills in a `StorageClass`.
pub(super) fn storage_class(class: &mut Fields) {
    class.set_if_unset("reclaimPolicy", "Delete");
    class.set_if_unset("volumeBindingMode", "Immediate");
}

/// Fills in a `CSIDriver`.
pub(super) fn csi_driver(driver: &mut Fields) {
    let spec = driver.part_or_new("spec");
    spec.set_if_unset("attachRequired", true);
    spec.set_if_unset("podInfoOnMount", false);
    spec.set_if_unset("storageCapacity", false);
    spec.set_if_unset("fsGroupPolicy", "ReadWriteOnceWithFSType");
    spec.set_if_zero("volumeLifecycleModes", Value::from(vec!["Persistent"]));
    spec.set_if_unset("requiresRepublish", false);
    spec.set_if_unset("seLinuxMount", false);
}
