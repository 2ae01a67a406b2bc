//! What a person should know about an object that is allowed.

mod pods;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schema::structural::name_rules::dns_label;

use super::reading::Reading;
use super::report::{Path, Shown};
use super::resources::quantity_text;
use super::syntax::address;
use crate::quantity::Quantity;
use crate::tree::{Fields, Tree, same};

/// Labels of nodes that have better names now.
const OLD_NODE_LABELS: [(&str, &str); 8] = [
    (
        "beta.kubernetes.io/arch",
        "deprecated since v1.14; use \"kubernetes.io/arch\" instead",
    ),
    (
        "beta.kubernetes.io/os",
        "deprecated since v1.14; use \"kubernetes.io/os\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    (
        "node-role.kubernetes.io/master",
        "use \"node-role.kubernetes.io/control-plane\" instead",
    ),
];

const SPEC: Path<'_> = Path::new("spec");

/// How many warnings are looked for: many more than the headers of an answer can hold.
const MOST_WARNINGS: usize = 1_000;

/// What was found so far.
#[derive(Default)]
struct Warnings(Vec<String>);

impl Warnings {
    fn is_full(&self) -> bool {
        self.0.len() >= MOST_WARNINGS
    }

    fn say(&mut self, path: &Path<'_>, text: &str) {
        if !self.is_full() {
            self.0.push(format!("{}: {text}", path.owned()));
        }
    }

    fn tell(&mut self, text: impl Into<String>) {
        if !self.is_full() {
            self.0.push(text.into());
        }
    }

    fn address(&mut self, path: &Path<'_>, text: &str) {
        let Some(found) = address::parse(text) else { return };
        let usual = address::canonical(found);
        let (shown, usual_shown) = (text.shown(), usual.as_str().shown());
        let is_mapped = matches!(found, std::net::IpAddr::V6(six) if six.to_ipv4_mapped().is_some());
        if text.parse::<std::net::IpAddr>().is_err() || is_mapped {
            self.say(
                path,
                &format!("non-standard IP address {shown} is invalid: use {usual_shown}"),
            );
        } else if address::is_six(found) && usual != text {
            self.say(
                path,
                &format!("IPv6 address {shown} should be in RFC 5952 canonical format ({usual_shown})"),
            );
        }
    }

    fn old_label(&mut self, path: &Path<'_>, label: &str, is_named: bool) {
        if let Some((_, text)) = OLD_NODE_LABELS.iter().find(|(known, _)| *known == label) {
            if is_named {
                self.say(path, &format!("{label} is {text}"));
            } else {
                self.say(path, text);
            }
        }
    }

    fn node_term(&mut self, path: &Path<'_>, term: &Fields, checks_values: bool) {
        let list = path.child("matchExpressions");
        for (index, expression) in term.numbered("matchExpressions") {
            let path = list.index(index);
            self.old_label(&path.child("key"), expression.text("key"), true);
            if !checks_values {
                continue;
            }
            let values = path.child("values");
            for (index, value) in expression.texts("values").enumerate() {
                for fault in schema::structural::name_rules::label_value(value) {
                    self.say(&values.index(index), &format!("{value} is invalid, {fault}"));
                }
            }
        }
    }

    fn fraction(&mut self, path: &Path<'_>, amounts: &Fields, resource: &str) {
        let Some(value) = amounts.get(resource) else {
            return;
        };
        let text = quantity_text(value);
        if !Quantity::read(&text).is_whole() {
            let shown = text.as_str().shown();
            self.say(
                &path.key(resource),
                &format!("fractional byte value {shown} is invalid, must be an integer"),
            );
        }
    }

    fn claim(&mut self, path: &Path<'_>, spec: &Fields) {
        let resources = spec.at("resources");
        for list in ["requests", "limits"] {
            self.fraction(
                &path.child("resources").child(list),
                resources.at(list),
                "storage",
            );
        }
    }
}

/// Returns what a person should know about an object; `old` is the one that it replaces.
pub(super) fn of(group: &str, kind: &str, new: &Fields, old: Option<&Fields>) -> Vec<String> {
    let mut found = Warnings::default();
    let spec = new.at("spec");
    match (group, kind) {
        ("", "Pod") if old.is_none() => {
            name(&mut found, new, "the Pod's hostname");
            pods::check(&mut found, None, new);
        }
        ("apps", "Deployment" | "ReplicaSet") | ("", "ReplicationController") => {
            if old.is_none() {
                name(&mut found, new, "Pod names and hostnames");
            }
            if has_new_spec(new, old) {
                pods::check(&mut found, Some(&SPEC.child("template")), spec.at("template"));
            }
        }
        ("apps", "DaemonSet") if old.is_none_or(|old| !spec.is_same(old.at("spec"), "template")) => {
            pods::check(&mut found, Some(&SPEC.child("template")), spec.at("template"));
        }
        ("apps", "StatefulSet") => stateful_set(&mut found, new, old),
        ("", "PodTemplate") if old.is_none() => {
            pods::check(&mut found, Some(&Path::new("template")), new.at("template"));
        }
        ("batch", "Job") => {
            if old.is_none() {
                name(&mut found, new, "Pod names and hostnames");
            }
            if has_new_spec(new, old) {
                job(&mut found, &SPEC, spec);
            }
        }
        ("batch", "CronJob") => {
            if old.is_none() {
                name(&mut found, new, "Pod names and hostnames");
            }
            if has_new_spec(new, old) {
                job(
                    &mut found,
                    &SPEC.child("jobTemplate.spec"),
                    spec.at("jobTemplate").at("spec"),
                );
            }
        }
        ("", "Service") => service(&mut found, new),
        ("", "PersistentVolumeClaim") => {
            const CLASS: &str = "volume.beta.kubernetes.io/storage-class";
            if new.at("metadata").at("annotations").has(CLASS) {
                found.say(
                    &Path::new("metadata.annotations").key(CLASS),
                    "deprecated since v1.8; use \"storageClassName\" attribute instead",
                );
            }
            found.claim(&SPEC, spec);
        }
        ("", "PersistentVolume") => volume(&mut found, new),
        ("", "Secret") => secret(&mut found, new),
        ("", "Node") => node(&mut found, new),
        ("", "ResourceQuota") if old.is_none() => quota(&mut found, spec),
        ("", "Endpoints") => endpoints(&mut found, new),
        ("discovery.k8s.io", "EndpointSlice") => slice(&mut found, new),
        ("networking.k8s.io", "Ingress") if old.is_none() => {
            const CLASS: &str = "kubernetes.io/ingress.class";
            if new.at("metadata").at("annotations").has(CLASS) && !spec.has("ingressClassName") {
                found.tell(format!(
                    "annotation \"{CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"
                ));
            }
        }
        ("storage.k8s.io", "StorageClass") => {
            let list = Path::new("allowedTopologies");
            for (index, topology) in new.numbered("allowedTopologies") {
                let own = list.index(index);
                let expressions = own.child("matchLabelExpressions");
                for (index, expression) in topology.numbered("matchLabelExpressions") {
                    let path = expressions.index(index);
                    found.old_label(&path.child("key"), expression.text("key"), false);
                }
            }
        }
        ("node.k8s.io", "RuntimeClass") => {
            for (label, _) in new.at("scheduling").entries("nodeSelector") {
                found.old_label(&Path::new("scheduling.nodeSelector"), label, false);
            }
        }
        _ => {}
    }
    found.0
}

/// Returns whether an update changes what is wanted, which raises the generation.
fn has_new_spec(new: &Fields, old: Option<&Fields>) -> bool {
    old.is_none_or(|old| !same(new.get("spec"), old.get("spec")))
}

fn name(found: &mut Warnings, object: &Fields, what: &str) {
    let faults = dns_label(object.at("metadata").text("name"));
    if !faults.is_empty() {
        found.tell(format!(
            "metadata.name: this is used in {what}, which can result in surprising behavior; a DNS label is recommended: \
             [{}]",
            faults.join(" ")
        ));
    }
}

fn stateful_set(found: &mut Warnings, new: &Fields, old: Option<&Fields>) {
    let spec = new.at("spec");
    if has_new_spec(new, old) {
        pods::check(found, Some(&SPEC.child("template")), spec.at("template"));
        let list = SPEC.child("volumeClaimTemplates");
        for (index, claim) in spec.numbered("volumeClaimTemplates") {
            found.claim(&list.index(index), claim.at("spec"));
        }
    }
    if spec.number("revisionHistoryLimit") < 0 {
        found.tell(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
        );
    }
}

fn job(found: &mut Warnings, path: &Path<'_>, spec: &Fields) {
    if spec.text("completionMode") == "Indexed"
        && spec.number("completions") > 100_000
        && spec.number("parallelism") > 10_000
    {
        found.say(
            path,
            "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes \
             might not be able to track completedIndexes when a big number of indexes fail",
        );
    }
    pods::check(found, Some(&path.child("template")), spec.at("template"));
}

fn service(found: &mut Warnings, object: &Fields) {
    const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
    let spec = object.at("spec");
    if object.at("metadata").at("annotations").has(HINTS) {
        found.tell(format!(
            "annotation {HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead"
        ));
    }
    let is_headless = spec.list("clusterIPs").len() == 1 && spec.text("clusterIP") == "None";
    if is_headless {
        if !spec.is_zero("loadBalancerIP") {
            found.tell("spec.loadBalancerIP is ignored for headless services");
        }
        if !spec.is_zero("externalIPs") {
            found.tell("spec.externalIPs is ignored for headless services");
        }
        if spec.text("sessionAffinity") != "None" {
            found.tell("spec.SessionAffinity is ignored for headless services");
        }
    } else {
        for (index, ip) in spec.texts("clusterIPs").enumerate() {
            found.address(&SPEC.child("clusterIPs").index(index), ip);
        }
    }
    for (index, ip) in spec.texts("externalIPs").enumerate() {
        found.address(&SPEC.child("externalIPs").index(index), ip);
    }
    let is_external = spec.text("type") == "ExternalName";
    if !spec.is_zero("externalIPs") && !is_headless && !is_external {
        found.tell("spec.externalIPs is deprecated and may no longer be implemented in some clusters");
    }
    found.address(&SPEC.child("loadBalancerIP"), spec.text("loadBalancerIP"));
    if is_external && !spec.is_zero("externalIPs") {
        found.tell("spec.externalIPs is ignored when spec.type is \"ExternalName\"");
    }
    if !is_external && !spec.is_zero("externalName") {
        found.tell("spec.externalName is ignored when spec.type is not \"ExternalName\"");
    }
    if spec.text("trafficDistribution") == "PreferClose" {
        found.tell("spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"");
    }
}

fn volume(found: &mut Warnings, object: &Fields) {
    const CLASS: &str = "volume.beta.kubernetes.io/storage-class";
    let spec = object.at("spec");
    if object.at("metadata").at("annotations").has(CLASS) {
        found.say(
            &Path::new("metadata.annotations").key(CLASS),
            "deprecated since v1.8; use \"storageClassName\" attribute instead",
        );
    }
    if spec.text("persistentVolumeReclaimPolicy") == "Recycle" {
        found.say(
            &SPEC.child("persistentVolumeReclaimPolicy"),
            "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
        );
    }
    let terms = SPEC.child("nodeAffinity.required.nodeSelectorTerms");
    for (index, term) in spec
        .at("nodeAffinity")
        .at("required")
        .numbered("nodeSelectorTerms")
    {
        found.node_term(&terms.index(index), term, false);
    }
    for (name, shown, text) in [
        (
            "cephfs",
            "cephfs",
            "deprecated in v1.28, non-functional in v1.31+",
        ),
        (
            "photonPersistentDisk",
            "photonPersistentDisk",
            "deprecated in v1.11, non-functional in v1.16+",
        ),
        (
            "scaleIO",
            "scaleIO",
            "deprecated in v1.16, non-functional in v1.22+",
        ),
        (
            "storageos",
            "storageOS",
            "deprecated in v1.22, non-functional in v1.25+",
        ),
        (
            "glusterfs",
            "glusterfs",
            "deprecated in v1.25, non-functional in v1.26+",
        ),
        ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
    ] {
        if spec.has(name) {
            found.say(&SPEC.child(shown), text);
        }
    }
}

fn secret(found: &mut Warnings, object: &Fields) {
    if object.text("type") != "kubernetes.io/tls" {
        return;
    }
    for (key, what) in [("tls.crt", "certificate"), ("tls.key", "key")] {
        let bytes = STANDARD.decode(object.at("data").text(key)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        if !text.contains("-----BEGIN ") || !text.contains("-----END ") {
            found.tell(format!("tls: failed to find any PEM data in {what} input"));
            return;
        }
    }
}

fn node(found: &mut Warnings, object: &Fields) {
    let spec = object.at("spec");
    if spec.has("configSource") {
        found.tell("spec.configSource: the feature is removed");
    }
    if !spec.is_zero("externalID") {
        found.tell("spec.externalID: this field is deprecated, and is unused by Kubernetes");
    }
}

fn quota(found: &mut Warnings, spec: &Fields) {
    let hard = spec.at("hard");
    for resource in ["cpu", "memory", "storage", "ephemeral-storage"] {
        let mut request_name = format!("requests.{resource}");
        if !hard.contains_key(&request_name) && matches!(resource, "cpu" | "memory") {
            resource.clone_into(&mut request_name);
        }
        let limit_name = format!("limits.{resource}");
        if let (Some(request), Some(limit)) = (hard.get(&request_name), hard.get(&limit_name)) {
            let (request, limit) = (quantity_text(request), quantity_text(limit));
            if Quantity::read(&request).is_more_than(Quantity::read(&limit)) {
                found.tell(format!(
                    "ResourceQuota {request_name} ({request}) should be less than {limit_name} ({limit})"
                ));
            }
        }
    }
}

fn endpoints(found: &mut Warnings, object: &Fields) {
    let labels = object.at("metadata").at("labels");
    if labels.text("endpoints.kubernetes.io/managed-by") == "endpoint-controller" {
        return;
    }
    let subsets = Path::new("subsets");
    for (index, subset) in object.numbered("subsets") {
        let path = subsets.index(index);
        for name in ["addresses", "notReadyAddresses"] {
            let list = path.child(name);
            for (index, one) in subset.numbered(name) {
                found.address(&list.index(index).child("ip"), one.text("ip"));
            }
        }
    }
}

fn slice(found: &mut Warnings, object: &Fields) {
    if object.text("addressType") == "FQDN" {
        found.tell("spec.addressType: FQDN endpoints are deprecated");
        return;
    }
    let list = Path::new("endpoints");
    for (index, endpoint) in object.numbered("endpoints") {
        let own = list.index(index);
        let addresses = own.child("addresses");
        for (index, text) in endpoint.texts("addresses").enumerate() {
            found.address(&addresses.index(index), text);
        }
    }
}
