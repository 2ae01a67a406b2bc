//! Sources of volumes that are reached over a network.

use std::sync::LazyLock;

use regex::Regex;
use schema::structural::name_rules::dns_label;

use super::super::reading::Reading;
use super::super::report::{Errors, Path};
use super::super::syntax::between;
use super::{demand, shown_list};
use crate::tree::{Fields, Tree};

/// How long the name of a volume and the portal of its target may be together, with what stands between them.
pub(super) const ISCSI_BYTES: usize = 64;

pub(super) const ISCSI_RULE: &str = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters \
     if iscsi.initiatorName is specified.";

/// The patterns don't depend on input, so that they can't be wrong.
fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

static IQN: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"iqn\.[0-9]{4}-[0-9]{2}\.([[:alnum:]\-.]+)(:[^,;*&$|\t\n\f\r ]+)$"));
static EUI: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^eui.[[:alnum:]]{16}$"));
static NAA: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^naa.[[:alnum:]]{32}$"));

fn fits(regex: Option<&Regex>, text: &str) -> bool {
    regex.is_some_and(|regex| regex.is_match(text))
}

fn qualified_name(errors: &mut Errors, path: &Path<'_>, name: &str, rule_of_start: &str) {
    let is_right = match name.get(..3) {
        Some("iqn") => fits(IQN.as_ref(), name),
        Some("eui") => fits(EUI.as_ref(), name),
        Some("naa") => fits(NAA.as_ref(), name),
        _ => {
            errors.invalid(path, name, rule_of_start);
            return;
        }
    };
    if !is_right {
        errors.invalid(path, name, "must be valid format");
    }
}

fn iscsi_target(errors: &mut Errors, path: &Path<'_>, source: &Fields, rule_of_start: &str) {
    if source.is_zero("iqn") {
        errors.required(&path.child("iqn"), "");
    } else {
        qualified_name(errors, &path.child("iqn"), source.text("iqn"), rule_of_start);
    }
    let lun = source.number("lun");
    if !(0..=255).contains(&lun) {
        errors.invalid(&path.child("lun"), lun, between(0, 255));
    }
    if (source.flag("chapAuthDiscovery") || source.flag("chapAuthSession")) && !source.has("secretRef") {
        errors.required(&path.child("secretRef"), "");
    }
}

const START: &str = "must be valid format starting with iqn, eui, or naa";

/// Checks a target of `iSCSI` of a pod.
pub(super) fn iscsi(errors: &mut Errors, path: &Path<'_>, source: &Fields) {
    demand(errors, path, source, &["targetPortal"]);
    iscsi_target(errors, path, source, START);
    if let Some(initiator) = source.set_text("initiatorName") {
        qualified_name(errors, &path.child("initiatorname"), initiator, START);
    }
}

/// Checks a target of `iSCSI` of a persistent volume.
pub(in super::super) fn iscsi_of_cluster(
    errors: &mut Errors,
    path: &Path<'_>,
    source: &Fields,
    volume_name: &str,
) {
    demand(errors, path, source, &["targetPortal"]);
    let portal = source.text("targetPortal");
    if source.has("initiatorName") && volume_name.len() + 1 + portal.len() > ISCSI_BYTES {
        errors.invalid(&path.child("targetportal"), portal, ISCSI_RULE);
    }
    iscsi_target(errors, path, source, "must be valid format");
    if source.has("secretRef") {
        demand(
            errors,
            &path.child("secretRef"),
            source.at("secretRef"),
            &["name"],
        );
    }
    if let Some(initiator) = source.set_text("initiatorName") {
        qualified_name(
            errors,
            &path.child("initiatorname"),
            initiator,
            "must be valid format",
        );
    }
}

/// Checks a target of Fibre Channel.
pub(in super::super) fn fibre_channel(errors: &mut Errors, path: &Path<'_>, source: &Fields) {
    let targets = path.child("targetWWNs");
    let (has_names, has_ids) = (!source.is_zero("targetWWNs"), !source.is_zero("wwids"));
    if !has_names && !has_ids {
        errors.required(&targets, "must specify either targetWWNs or wwids, but not both");
    }
    if has_names && has_ids {
        errors.invalid(
            &targets,
            shown_list(source, "targetWWNs"),
            "targetWWNs and wwids can not be specified simultaneously",
        );
    }
    if has_names {
        match source.set_number("lun") {
            None => errors.required(&path.child("lun"), "lun is required if targetWWNs is specified"),
            Some(lun) if !(0..=255).contains(&lun) => {
                errors.invalid(&path.child("lun"), lun, between(0, 255));
            }
            Some(_) => {}
        }
    }
}

/// Checks a folder of a file server.
pub(in super::super) fn nfs(errors: &mut Errors, path: &Path<'_>, source: &Fields) {
    demand(errors, path, source, &["server", "path"]);
    let folder = source.text("path");
    if !folder.starts_with('/') {
        errors.invalid(&path.child("path"), folder, "must be an absolute path");
    }
}

/// Checks a dataset of Flocker.
pub(in super::super) fn flocker(errors: &mut Errors, path: &Path<'_>, source: &Fields) {
    let name = source.text("datasetName");
    match (name.is_empty(), source.is_zero("datasetUUID")) {
        (true, true) => errors.required(path, "one of datasetName and datasetUUID is required"),
        (false, false) => errors.invalid(
            path,
            "resource",
            "datasetName and datasetUUID can not be specified simultaneously",
        ),
        _ => {}
    }
    if name.contains('/') {
        errors.invalid(&path.child("datasetName"), name, "must not contain '/'");
    }
}

/// Checks a volume of Quobyte.
pub(in super::super) fn quobyte(errors: &mut Errors, path: &Path<'_>, source: &Fields) {
    const RULE: &str = "must be a host:port pair or multiple pairs separated by commas";
    let registry = source.text("registry");
    if registry.is_empty() {
        errors.required(&path.child("registry"), RULE);
    } else if source.text("tenant").len() >= 65 {
        errors.required(
            &path.child("tenant"),
            "must be a UUID and may not exceed a length of 64 characters",
        );
    } else {
        for pair in registry.split(',') {
            if !is_host_and_port(pair) {
                errors.invalid(&path.child("registry"), registry, RULE);
            }
        }
    }
    demand(errors, path, source, &["volume"]);
}

/// Returns whether text is a host and a port; IPv6 addresses stand in brackets.
fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else {
        return false;
    };
    if port.contains(['[', ']']) {
        return false;
    }
    match host.strip_prefix('[').map(|rest| rest.strip_suffix(']')) {
        Some(Some(inner)) => !inner.contains(['[', ']']),
        Some(None) => false,
        None => !host.contains([':', '[', ']']),
    }
}

/// Checks a volume of Cinder.
pub(in super::super) fn cinder(errors: &mut Errors, path: &Path<'_>, source: &Fields, of_cluster: bool) {
    demand(errors, path, source, &["volumeID"]);
    secret(errors, path, source, of_cluster);
}

fn secret(errors: &mut Errors, path: &Path<'_>, source: &Fields, of_cluster: bool) {
    if source.has("secretRef") {
        let names: &[&str] = if of_cluster {
            &["name", "namespace"]
        } else {
            &["name"]
        };
        demand(errors, &path.child("secretRef"), source.at("secretRef"), names);
    }
}

/// Checks a volume of `StorageOS`.
pub(in super::super) fn storage_os(errors: &mut Errors, path: &Path<'_>, source: &Fields, of_cluster: bool) {
    let name = source.text("volumeName");
    if name.is_empty() {
        errors.required(&path.child("volumeName"), "");
    } else {
        errors.faults(&path.child("volumeName"), name, dns_label(name));
    }
    let namespace = source.text("volumeNamespace");
    if !namespace.is_empty() {
        errors.faults(&path.child("volumeNamespace"), namespace, dns_label(namespace));
    }
    secret(errors, path, source, of_cluster);
}

/// Checks a volume of a driver that is a program.
pub(in super::super) fn flex(errors: &mut Errors, path: &Path<'_>, source: &Fields) {
    demand(errors, path, source, &["driver"]);
    let options = path.child("options");
    for (key, _) in source.entries("options") {
        let namespace = key.split_once('/').map_or(key, |(namespace, _)| namespace);
        let dotted = format!(".{}", namespace.to_lowercase());
        if dotted.ends_with(".kubernetes.io") || dotted.ends_with(".k8s.io") {
            errors.invalid(
                &options.key(key),
                key,
                "kubernetes.io and k8s.io namespaces are reserved",
            );
        }
    }
}

/// Checks a disk of Azure.
pub(in super::super) fn azure_disk(errors: &mut Errors, path: &Path<'_>, source: &Fields) {
    demand(errors, path, source, &["diskName", "diskURI"]);
    errors.one_of_if_set(
        &path.child("cachingMode"),
        source.set_text("cachingMode"),
        &["None", "ReadOnly", "ReadWrite"],
    );
    let kind = source.set_text("kind");
    errors.one_of_if_set(&path.child("kind"), kind, &["Dedicated", "Managed", "Shared"]);
    let address = source.text("diskURI");
    match kind {
        Some("Managed") if !address.starts_with("/subscriptions/") => errors.not_supported(
            &path.child("diskURI"),
            address,
            &["/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"],
        ),
        Some(kind) if kind != "Managed" && !address.starts_with("https://") => errors.not_supported(
            &path.child("diskURI"),
            address,
            &["https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"],
        ),
        _ => {}
    }
}
