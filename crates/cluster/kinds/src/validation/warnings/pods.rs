//! What a person should know about pods.

use std::collections::HashMap;

use super::super::containers;
use super::super::placement::REQUIRED;
use super::super::reading::Reading;
use super::super::report::{Path, Shown};
use super::super::seen::Seen;
use super::Warnings;
use crate::tree::{Fields, Tree};

/// How many files or ports are compared with each other: each with all before it.
const MOST_COMPARED: usize = 1_000;

const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const NO_SELECTOR: &str = "a null labelSelector results in matching no pod";

/// Looks at a pod, or at a template of pods, which has a path.
pub(super) fn check(found: &mut Warnings, template: Option<&Path<'_>>, pod: &Fields) {
    let (spec, meta) = (pod.at("spec"), pod.at("metadata"));
    let (spec_path, notes_path) = match &template {
        Some(path) => (path.child("spec"), path.child("metadata.annotations")),
        None => (Path::new("spec"), Path::new("metadata.annotations")),
    };
    placement(found, &spec_path, spec);
    let notes = meta.at("annotations");
    for (key, text) in [
        (
            "scheduler.alpha.kubernetes.io/critical-pod",
            "non-functional in v1.16+; use the \"priorityClassName\" field instead",
        ),
        (
            "security.alpha.kubernetes.io/sysctls",
            "non-functional in v1.11+; use the \"sysctls\" field instead",
        ),
        (
            "security.alpha.kubernetes.io/unsafe-sysctls",
            "non-functional in v1.11+; use the \"sysctls\" field instead",
        ),
    ] {
        if notes.has(key) {
            found.say(&notes_path.key(key), text);
        }
    }
    volumes(found, &spec_path.child("volumes"), spec);
    repeated(found, &spec_path, spec, "hostAliases", "ip");
    repeated(found, &spec_path, spec, "imagePullSecrets", "name");
    let list = spec_path.child("imagePullSecrets");
    for (index, secret) in spec.numbered("imagePullSecrets") {
        if secret.is_zero("name") {
            found.say(&list.index(index).child("name"), "invalid empty name \"\"");
        }
    }
    for resource in ["memory", "ephemeral-storage"] {
        found.fraction(&spec_path.child("overhead"), spec.at("overhead"), resource);
    }
    security(found, &spec_path, &notes_path, spec, notes, template.is_some());
    ports(found, &spec_path, spec);
    if spec.number("terminationGracePeriodSeconds") < 0 {
        found.say(
            &spec_path.child("terminationGracePeriodSeconds"),
            "must be >= 0; negative values are invalid and will be treated as 1",
        );
    }
    pod_affinity(found, &spec_path.child("affinity"), spec.at("affinity"));
    let servers = spec_path.child("dnsConfig.nameservers");
    for (index, server) in spec.at("dnsConfig").texts("nameservers").enumerate() {
        found.address(&servers.index(index), server);
    }
    let aliases = spec_path.child("hostAliases");
    for (index, alias) in spec.numbered("hostAliases") {
        found.address(&aliases.index(index).child("ip"), alias.text("ip"));
    }
}

fn placement(found: &mut Warnings, path: &Path<'_>, spec: &Fields) {
    let selector = path.child("nodeSelector");
    for (label, _) in spec.entries("nodeSelector") {
        found.old_label(&selector.key(label), label, false);
    }
    let nodes = spec.at("affinity").at("nodeAffinity");
    let affinity = path.child("affinity.nodeAffinity");
    let required = affinity.child(REQUIRED);
    let terms = required.child("nodeSelectorTerms");
    for (index, term) in nodes.at(REQUIRED).numbered("nodeSelectorTerms") {
        found.node_term(&terms.index(index), term, false);
    }
    let preferred = affinity.child(PREFERRED);
    for (index, term) in nodes.numbered(PREFERRED) {
        let own = preferred.index(index);
        found.node_term(&own.child("preference"), term.at("preference"), true);
    }
    let list = path.child("topologySpreadConstraints");
    for (index, constraint) in spec.numbered("topologySpreadConstraints") {
        let path = list.index(index);
        found.old_label(&path.child("topologyKey"), constraint.text("topologyKey"), true);
        if !constraint.has("labelSelector") {
            found.say(&path.child("labelSelector"), NO_SELECTOR);
        }
    }
}

fn repeated(found: &mut Warnings, path: &Path<'_>, spec: &Fields, list: &str, field: &str) {
    let path = path.child(list);
    let mut seen: Seen<&str> = Seen::default();
    for (index, item) in spec.numbered(list) {
        let text = item.text(field);
        if seen.contains(&text) {
            let own = path.index(index);
            found.say(&own.child(field), &format!("duplicate {field} {}", text.shown()));
        } else {
            seen.push(text);
        }
    }
}

fn volumes(found: &mut Warnings, list: &Path<'_>, spec: &Fields) {
    for (index, volume) in spec.numbered("volumes") {
        let path = list.index(index);
        for (name, shown, text) in [
            (
                "photonPersistentDisk",
                "photonPersistentDisk",
                "deprecated in v1.11, non-functional in v1.16+",
            ),
            (
                "gitRepo",
                "gitRepo",
                "deprecated in v1.11, and disabled by default in v1.33+",
            ),
            (
                "scaleIO",
                "scaleIO",
                "deprecated in v1.16, non-functional in v1.22+",
            ),
            (
                "flocker",
                "flocker",
                "deprecated in v1.22, non-functional in v1.25+",
            ),
            (
                "storageos",
                "storageOS",
                "deprecated in v1.22, non-functional in v1.25+",
            ),
            (
                "quobyte",
                "quobyte",
                "deprecated in v1.22, non-functional in v1.25+",
            ),
            (
                "glusterfs",
                "glusterfs",
                "deprecated in v1.25, non-functional in v1.26+",
            ),
        ] {
            if volume.has(name) {
                found.say(&path.child(shown), text);
            }
        }
        let template = volume.at("ephemeral").at("volumeClaimTemplate");
        found.claim(
            &path.child("ephemeral.volumeClaimTemplate.spec"),
            template.at("spec"),
        );
        for name in ["cephfs", "rbd"] {
            if volume.has(name) {
                found.say(&path.child(name), "deprecated in v1.28, non-functional in v1.31+");
            }
        }
    }
    for volume in spec.items("volumes") {
        overlaps(found, volume);
    }
}

/// A file of a volume and where it comes from.
type File = (String, String);

fn shown((file, source): &File) -> String {
    let quoted = file.as_str().shown();
    if source.is_empty() {
        quoted
    } else {
        format!("{quoted} ({source})")
    }
}

fn files(source: &Fields, what: &str) -> Vec<File> {
    source
        .items("items")
        .map(|item| (item.text("path").to_owned(), what.to_owned()))
        .collect()
}

/// Returns whether a file is another one, or in the folder that the other one would be.
fn is_at_or_below(file: &str, other: &str) -> bool {
    file.strip_prefix(other)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn overlaps(found: &mut Warnings, volume: &Fields) {
    let name = volume.text("name").shown();
    let mut tell = |what: &str, all: Vec<File>| {
        let mut seen: Vec<File> = Vec::new();
        for (file, source) in all.into_iter().take(MOST_COMPARED) {
            let file = file.trim_end_matches('/').to_owned();
            let one = (file, source);
            for other in seen
                .iter()
                .filter(|other| !one.0.is_empty() && !other.0.is_empty())
            {
                if is_at_or_below(&one.0, &other.0) || is_at_or_below(&other.0, &one.0) {
                    found.tell(format!(
                        "volume {name} ({what}): overlapping paths: {} with {}",
                        shown(&one),
                        shown(other)
                    ));
                }
            }
            seen.push(one);
        }
    };
    let (map, secret) = (volume.at("configMap"), volume.at("secret"));
    tell(&format!("ConfigMap {}", map.text("name").shown()), files(map, ""));
    tell(
        &format!("Secret {}", secret.text("secretName").shown()),
        files(secret, ""),
    );
    tell("DownwardAPI", files(volume.at("downwardAPI"), ""));
    let mut all = Vec::new();
    let mut empty = 0;
    for source in volume.at("projected").items("sources") {
        let (map, secret, token) = (
            source.at("configMap"),
            source.at("secret"),
            source.at("serviceAccountToken"),
        );
        if source.is_empty() {
            empty += 1;
        } else if map.has("items") {
            all.extend(files(map, &format!("ConfigMap {}", map.text("name").shown())));
        } else if secret.has("items") {
            all.extend(files(secret, &format!("Secret {}", secret.text("name").shown())));
        } else if source.at("downwardAPI").has("items") {
            all.extend(files(source.at("downwardAPI"), "DownwardAPI"));
        } else if source.has("serviceAccountToken") {
            all.push((token.text("path").to_owned(), "ServiceAccountToken".to_owned()));
        } else if source.has("clusterTrustBundle") {
            let bundle = source.at("clusterTrustBundle");
            let name = bundle
                .set_text("name")
                .unwrap_or_else(|| bundle.text("signerName"));
            all.push((
                bundle.text("path").to_owned(),
                format!("ClusterTrustBundle {}", name.shown()),
            ));
        } else {
            let certificate = source.at("podCertificate");
            for (field, what) in [
                ("certificateChainPath", "PodCertificate chain"),
                ("keyPath", "PodCertificate key"),
                ("credentialBundlePath", "PodCertificate credential bundle"),
            ] {
                if !certificate.is_zero(field) {
                    all.push((certificate.text(field).to_owned(), what.to_owned()));
                }
            }
        }
    }
    tell("Projected", all);
    for _ in 0..empty {
        found.tell(format!("volume {name} (Projected) has no sources provided"));
    }
}

fn security(
    found: &mut Warnings,
    path: &Path<'_>,
    notes_path: &Path<'_>,
    spec: &Fields,
    notes: &Fields,
    is_template: bool,
) {
    const POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
    const SECCOMP: &str = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
    let context = spec.at("securityContext");
    if !context.has("seccompProfile") && notes.has(POD) {
        found.say(&notes_path.key(POD), SECCOMP);
    }
    for (list, index, container) in containers::all(spec) {
        let list_path = path.child(list);
        let own = list_path.index(index);
        let name = container.text("name");
        let own_context = container.at("securityContext");
        let key = format!("container.seccomp.security.alpha.kubernetes.io/{name}");
        if !own_context.has("seccompProfile") && notes.has(&key) {
            found.say(&notes_path.key(&key), SECCOMP);
        }
        let key = format!("{}{name}", super::super::security::APP_ARMOR);
        if is_template
            && !own_context.has("appArmorProfile")
            && !context.has("appArmorProfile")
            && notes.has(&key)
        {
            found.say(
                &notes_path.key(&key),
                "deprecated since v1.30; use the \"appArmorProfile\" field instead",
            );
        }
        for resource in ["memory", "ephemeral-storage"] {
            for list in ["limits", "requests"] {
                let amounts = container.at("resources").at(list);
                found.fraction(&own.child("resources").child(list), amounts, resource);
            }
        }
        let variables = own.child("env");
        let mut seen: Seen<&str> = Seen::default();
        for (index, variable) in container.numbered("env") {
            let name = variable.text("name");
            if !seen.contains(&name) {
                seen.push(name);
                continue;
            }
            let reference = format!("$({name})");
            let value = variable.text("value");
            if variable.has("valueFrom") || value == reference || !value.contains(&reference) {
                found.say(
                    &variables.index(index),
                    &format!(
                        "hides previous definition of {}, which may be dropped when using apply",
                        name.shown()
                    ),
                );
            }
        }
    }
}

fn ports(found: &mut Warnings, path: &Path<'_>, spec: &Fields) {
    let mut seen: Vec<(String, &Fields)> = Vec::new();
    for (list, index, container) in containers::all(spec) {
        let list_path = path.child(list);
        let own = list_path.index(index);
        let ports = own.child("ports");
        for (index, port) in container.numbered("ports") {
            let place = ports.index(index).owned().to_string();
            if !port.is_zero("hostIP") && port.is_zero("hostPort") {
                found.tell(format!(
                    "{place}: hostIP set without hostPort: {{Name:{} HostPort:0 ContainerPort:{} Protocol:{} HostIP:{}}}",
                    port.text("name"),
                    port.number("containerPort"),
                    port.text("protocol"),
                    port.text("hostIP")
                ));
            }
            let compared = if seen.len() < MOST_COMPARED {
                seen.as_slice()
            } else {
                &[]
            };
            for (other_place, other) in compared {
                let is_same = |name: &str| port.get(name) == other.get(name);
                if !is_same("containerPort") || !is_same("protocol") {
                    continue;
                }
                let (host, its) = (port.number("hostPort"), other.number("hostPort"));
                let (ip, its_ip) = (port.text("hostIP"), other.text("hostIP"));
                let what = if ip == its_ip && host == its {
                    "duplicate"
                } else if host == 0 || its == 0 {
                    "overlapping"
                } else if host == its && ip.is_empty() != its_ip.is_empty() {
                    "dangerously ambiguous"
                } else {
                    continue;
                };
                found.tell(format!("{place}: {what} port definition with {other_place}"));
            }
            seen.push((place, port));
        }
    }
    let mut named: HashMap<&str, &str> = HashMap::new();
    for (place, port) in &seen {
        let name = port.text("name");
        if name.is_empty() {
            continue;
        }
        match named.get(name) {
            Some(other) => found.tell(format!(
                "{place}: duplicate port name {} with {other}, services and probes that select ports by name will use \
                 {other}",
                name.shown()
            )),
            None => drop(named.insert(name, place)),
        }
    }
}

fn pod_affinity(found: &mut Warnings, path: &Path<'_>, affinity: &Fields) {
    for kind in ["podAffinity", "podAntiAffinity"] {
        let own = path.child(kind);
        let pods = affinity.at(kind);
        let required = own.child(REQUIRED);
        for (index, term) in pods.numbered(REQUIRED) {
            if !term.has("labelSelector") {
                found.say(&required.index(index).child("labelSelector"), NO_SELECTOR);
            }
        }
        let preferred = own.child(PREFERRED);
        for (index, weighted) in pods.numbered(PREFERRED) {
            if !weighted.at("podAffinityTerm").has("labelSelector") {
                found.say(
                    &preferred.index(index).child("podAffinityTerm.labelSelector"),
                    NO_SELECTOR,
                );
            }
        }
    }
}
