//! Pods and templates of pods.

mod status;
mod update;

use std::collections::HashMap;

use schema::structural::name_rules::{dns_label, dns_subdomain, label_key};
use serde_json::Value;

use super::containers::{self, Around};
use super::reading::Reading;
use super::report::{Errors, Path, Shown, listed};
use super::resources::{self, Asker};
use super::seen::Seen;
use super::syntax::{self, address, between, search_domain};
use super::{internal, metadata, placement, security, volumes};
use crate::quantity::Quantity;
use crate::tree::{Fields, Tree};

pub(super) use status::check as check_status;
pub(super) use update::{check as check_update, ephemeral as check_ephemeral, resize as check_resize};

/// What may stay as an older server let it in.
#[derive(Default, Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says of another field whether it is let be"
)]
pub(super) struct Allows {
    pub(super) deletion_cost: bool,
    pub(super) selector_values: bool,
    pub(super) node_values: bool,
    pub(super) odd_pages: bool,
    pub(super) spread_selectors: bool,
    pub(super) spread_keys: bool,
    pub(super) token_path: bool,
    pub(super) host_sysctls: bool,
    pub(super) restart_by_resize: bool,
    pub(super) user_devices: bool,
}

/// How a pod or a template is checked.
#[derive(Default, Clone, Copy)]
pub(super) struct Options {
    /// Whether it is a pod and not a template of pods.
    pub(super) is_pod: bool,
    pub(super) allows: Allows,
}

impl Options {
    /// Of a new template.
    pub(super) fn of_template() -> Self {
        Self::default()
    }

    /// Of a template that replaces an old one.
    pub(super) fn of_changed_template(old: &Fields) -> Self {
        Self {
            is_pod: false,
            allows: Allows::of(old),
        }
    }

    /// Of a new pod.
    pub(super) fn of_pod() -> Self {
        Self {
            is_pod: true,
            ..Self::default()
        }
    }

    /// Of a pod that replaces an old one.
    pub(super) fn of_changed_pod(old: &Fields) -> Self {
        Self {
            is_pod: true,
            allows: Allows::of(old),
        }
    }
}

impl Allows {
    /// Returns what an old pod or template has that a new one couldn't.
    fn of(old: &Fields) -> Self {
        let spec = old.at("spec");
        let affinity = spec.at("affinity");
        let (spread_keys, spread_selectors) = placement::spread_tolerance(spec);
        let pages_are_odd = |container: &Fields| {
            let mut errors = Errors::default();
            let requirements = container.at("resources");
            resources::requirements(
                &mut errors,
                &Path::new("resources"),
                Asker::Container,
                requirements,
                &[],
                false,
            );
            errors
                .told()
                .iter()
                .any(|error| error.detail.contains("is not positive integer multiple of"))
        };
        let has_odd_token_path = spec.items("volumes").any(|volume| {
            volume.at("projected").items("sources").any(|source| {
                let file = source.at("serviceAccountToken").text("path");
                let mut errors = Errors::default();
                syntax::local_unreserved_path(&mut errors, &Path::new("path"), file);
                !errors.is_empty()
            })
        });
        Self {
            deletion_cost: deletion_cost_fault(old.at("metadata")).is_some(),
            selector_values: placement::has_wrong_affinity_values(affinity),
            node_values: placement::has_wrong_node_values(
                affinity.at("nodeAffinity").at(placement::REQUIRED),
            ),
            odd_pages: containers::all(spec).any(|(_, _, container)| pages_are_odd(container)),
            spread_selectors,
            spread_keys,
            token_path: has_odd_token_path,
            host_sysctls: security::has_host_sysctls(spec),
            restart_by_resize: spec.items("initContainers").any(|container| {
                container.text("restartPolicy") != "Always"
                    && container
                        .items("resizePolicy")
                        .any(|policy| policy.text("restartPolicy") == "RestartContainer")
            }),
            user_devices: spec.set_flag("hostUsers") == Some(false)
                && containers::all(spec).any(|(_, _, container)| !container.is_zero("volumeDevices")),
        }
    }
}

const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const MIRROR: &str = "kubernetes.io/config.mirror";

fn deletion_cost_fault(meta: &Fields) -> Option<&str> {
    let cost = meta.at("annotations").set_text(DELETION_COST)?;
    // The number is written as it would be printed: no sign, no zeros in front.
    let is_plain = !cost.starts_with('+') && (cost == "0" || !cost.starts_with('0'));
    (!is_plain || cost.parse::<i32>().is_err()).then_some(cost)
}

/// Checks annotations that mean something for pods.
pub(super) fn annotations(
    errors: &mut Errors,
    path: &Path<'_>,
    meta: &Fields,
    spec: &Fields,
    options: &Options,
) {
    let notes = meta.at("annotations");
    if let Some(value) = notes.set_text(MIRROR)
        && spec.is_zero("nodeName")
    {
        errors.invalid(
            &path.key(MIRROR),
            value,
            "must set spec.nodeName if mirror pod annotation is set",
        );
    }
    if !options.allows.deletion_cost
        && let Some(cost) = deletion_cost_fault(meta)
    {
        errors.invalid(&path.key(DELETION_COST), cost, "must be a 32bit integer");
    }
    security::annotations(errors, path, notes, spec);
}

/// Checks a template of pods.
pub(super) fn template(errors: &mut Errors, path: &Path<'_>, template: &Fields, options: &Options) {
    let (meta, pod) = (template.at("metadata"), template.at("spec"));
    syntax::labels(errors, &path.child("labels"), meta.entries("labels"));
    let notes = path.child("annotations");
    metadata::annotations(errors, &notes, meta);
    annotations(errors, &notes, meta, pod, options);
    let spec_path = path.child("spec");
    spec(errors, &spec_path, pod, None, options);
    security::agreement(errors, &spec_path, meta, pod);
    if !pod.is_zero("ephemeralContainers") {
        errors.forbidden(
            &spec_path.child("ephemeralContainers"),
            "ephemeral containers not allowed in pod template",
        );
    }
}

/// Checks a new pod.
pub(super) fn check(errors: &mut Errors, pod: &Fields) {
    let options = Options::of_pod();
    metadata_and_spec(errors, pod, &options);
    let (path, pod_spec) = (Path::new("spec"), pod.at("spec"));
    if !pod_spec.is_zero("ephemeralContainers") {
        errors.forbidden(&path.child("ephemeralContainers"), "cannot be set on create");
    }
    if !pod_spec.is_zero("nodeName") && !pod_spec.is_zero("schedulingGates") {
        errors.forbidden(
            &path.child("nodeName"),
            "cannot be set until all schedulingGates have been cleared",
        );
    }
    security::agreement(errors, &path, pod.at("metadata"), pod_spec);
}

fn metadata_and_spec(errors: &mut Errors, pod: &Fields, options: &Options) {
    metadata::check(errors, "", "Pod", pod);
    let (meta, pod_spec) = (pod.at("metadata"), pod.at("spec"));
    annotations(
        errors,
        &Path::new("metadata.annotations"),
        meta,
        pod_spec,
        options,
    );
    let path = Path::new("spec");
    spec(errors, &path, pod_spec, Some(meta), options);
    if pod_spec.is_zero("serviceAccountName") {
        let volumes = path.child("volumes");
        for (index, volume) in pod_spec.numbered("volumes") {
            let volume_path = volumes.index(index);
            let sources = volume_path.child("projected.sources");
            for (index, source) in volume.at("projected").numbered("sources") {
                if source.has("serviceAccountToken") {
                    errors.forbidden(
                        &sources.index(index).child("serviceAccountToken"),
                        "must not be specified when serviceAccountName is not set",
                    );
                }
            }
        }
    }
    for list in ["containers", "initContainers"] {
        let path = path.child(list);
        for (index, container) in pod_spec.numbered(list) {
            containers::image_for_pod(errors, &path.index(index), container);
        }
    }
}

/// Checks the specification of a pod; `meta` is its metadata where it is no template.
fn spec(errors: &mut Errors, path: &Path<'_>, spec: &Fields, meta: Option<&Fields>, options: &Options) {
    let grace = spec.set_number("terminationGracePeriodSeconds");
    if grace.is_none() {
        errors.required(&path.child("terminationGracePeriodSeconds"), "");
    }
    let pod_name = meta.map_or("", |meta| meta.text("name"));
    let right = volumes::check(errors, &path.child("volumes"), spec, pod_name, options);
    claims(errors, &path.child("resourceClaims"), spec, meta);
    let around = Around {
        volumes: right,
        claims: spec
            .items("resourceClaims")
            .map(|claim| claim.text("name"))
            .filter(|name| !name.is_empty())
            .collect(),
        grace,
        restart_policy: spec.text("restartPolicy"),
        host_users: spec.set_flag("hostUsers") != Some(false),
        system: spec.has("os").then(|| spec.at("os").text("name")),
        may_have_odd_pages: options.allows.odd_pages,
        may_restart_by_resize: options.allows.restart_by_resize,
    };
    containers::regular(errors, &path.child("containers"), spec, &around);
    containers::initial(errors, &path.child("initContainers"), spec, &around);
    containers::ephemeral(errors, &path.child("ephemeralContainers"), spec, &around);
    pod_resources(errors, &path.child("resources"), spec, &around);
    host_network(errors, &path.child("containers"), spec, options);
    errors.one_of(
        &path.child("restartPolicy"),
        spec.text("restartPolicy"),
        &["Always", "OnFailure", "Never"],
    );
    errors.one_of(
        &path.child("dnsPolicy"),
        spec.text("dnsPolicy"),
        &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
    );
    syntax::labels(errors, &path.child("nodeSelector"), spec.entries("nodeSelector"));
    security::of_pod(errors, &path.child("securityContext"), spec, options);
    if spec.has("affinity") {
        placement::affinity(errors, &path.child("affinity"), spec.at("affinity"), options);
    }
    dns(errors, &path.child("dnsConfig"), spec);
    let gates = path.child("readinessGates");
    for (index, gate) in spec.numbered("readinessGates") {
        let kind = gate.text("conditionType");
        errors.faults(&gates.index(index).child("conditionType"), kind, label_key(kind));
    }
    let gates = path.child("schedulingGates");
    let mut seen: Seen<&str> = Seen::default();
    for (index, gate) in spec.numbered("schedulingGates") {
        let name = gate.text("name");
        errors.faults(&gates.index(index), name, label_key(name));
        if seen.contains(&name) {
            errors.duplicate(&gates.index(index), name);
        }
        seen.push(name);
    }
    placement::spread(errors, &path.child("topologySpreadConstraints"), spec, options);
    security::host_process(errors, path, spec);
    host_users(errors, path, spec, options);
    host_name_override(errors, &path.child("hostnameOverride"), spec);
    names_and_numbers(errors, path, spec);
    if spec.has("overhead") {
        let overhead = serde_json::json!({ "limits": spec.get("overhead") });
        resources::requirements(
            errors,
            &path.child("overhead"),
            Asker::Container,
            super::reading::fields(&overhead),
            &[],
            options.allows.odd_pages,
        );
    }
    if spec.has("os") {
        match spec.at("os").text("name") {
            "" => errors.required(&path.child("os.name"), ""),
            "linux" => security::for_linux(errors, path, spec),
            "windows" => security::for_windows(errors, path, spec),
            other => errors.not_supported(&path.child("os"), other, &["linux", "windows"]),
        }
    }
    if spec.has("schedulingGroup") {
        scheduling_group(errors, &path.child("schedulingGroup"), spec.at("schedulingGroup"));
    }
    file_volumes(errors, path, spec);
}

fn names_and_numbers(errors: &mut Errors, path: &Path<'_>, spec: &Fields) {
    for name in ["serviceAccountName", "nodeName"] {
        let text = spec.text(name);
        if !text.is_empty() {
            errors.faults(&path.child(name), text, dns_subdomain(text));
        }
    }
    if let Some(seconds) = spec.set_number("activeDeadlineSeconds") {
        let most = i64::from(i32::MAX);
        if !(1..=most).contains(&seconds) {
            errors.invalid(&path.child("activeDeadlineSeconds"), seconds, between(1, most));
        }
    }
    for name in ["hostname", "subdomain"] {
        let text = spec.text(name);
        if !text.is_empty() {
            errors.faults(&path.child(name), text, dns_label(text));
        }
    }
    placement::tolerations(errors, &path.child("tolerations"), spec.list("tolerations"));
    let aliases = path.child("hostAliases");
    for (index, alias) in spec.numbered("hostAliases") {
        let path = aliases.index(index);
        address::check(errors, &path.child("ip"), alias.text("ip"), std::iter::empty());
        let names = path.child("hostnames");
        for (index, name) in alias.texts("hostnames").enumerate() {
            errors.faults(&names.index(index), name, dns_subdomain(name));
        }
    }
    let class = spec.text("priorityClassName");
    if !class.is_empty() {
        errors.faults(&path.child("priorityClassName"), class, dns_subdomain(class));
    }
    if let Some(class) = spec.set_text("runtimeClassName") {
        errors.faults(&path.child("runtimeClassName"), class, dns_subdomain(class));
    }
    if let Some(policy) = spec.set_text("preemptionPolicy") {
        errors.one_of(
            &path.child("preemptionPolicy"),
            policy,
            &["PreemptLowerPriority", "Never"],
        );
    }
}

fn scheduling_group(errors: &mut Errors, path: &Path<'_>, group: &Fields) {
    match group.set_text("podGroupName") {
        None => errors.required(path, "must specify one of: `podGroupName`"),
        Some(name) => errors.faults(&path.child("podGroupName"), name, dns_subdomain(name)),
    }
}

fn claims(errors: &mut Errors, path: &Path<'_>, spec: &Fields, meta: Option<&Fields>) {
    let is_static = meta.is_some_and(|meta| meta.at("annotations").has(MIRROR));
    let mut seen: Seen<&str> = Seen::default();
    for (index, claim) in spec.numbered("resourceClaims") {
        if is_static {
            errors.forbidden(&Path::new(""), "static pods do not support resource claims");
            continue;
        }
        let path = path.index(index);
        let name = claim.text("name");
        if name.is_empty() {
            errors.required(&path.child("name"), "");
        } else if seen.contains(&name) {
            errors.duplicate(&path.child("name"), name);
        } else {
            errors.faults(&path.child("name"), name, dns_label(name));
            seen.push(name);
        }
        let (given, made) = (
            claim.set_text("resourceClaimName"),
            claim.set_text("resourceClaimTemplateName"),
        );
        let shown = || {
            let value = Value::Object(claim.clone());
            internal::shown("core.PodResourceClaim", Some(&value))
        };
        match (given, made) {
            (Some(_), Some(_)) => errors.invalid(
                &path,
                shown(),
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
            ),
            (None, None) => errors.invalid(
                &path,
                shown(),
                "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            ),
            _ => {}
        }
        for (name, text) in [("resourceClaimName", given), ("resourceClaimTemplateName", made)] {
            if let Some(text) = text {
                errors.faults(&path.child(name), text, dns_subdomain(text));
            }
        }
    }
}

/// Adds up what containers ask for; those that run before count with the most that one of them needs.
fn asked_together(spec: &Fields, list: &str, resource: &str) -> Option<Quantity> {
    let amount = |container: &Fields| {
        let value = container.at("resources").at(list).get(resource)?;
        Some(Quantity::read(&resources::quantity_text(value)))
    };
    let add = |one: Option<Quantity>, other: Option<Quantity>| match (one, other) {
        (Some(one), Some(other)) => Some(one.plus(other)),
        (one, other) => one.or(other),
    };
    let larger = |one: Option<Quantity>, other: Option<Quantity>| match (one, other) {
        (Some(one), Some(other)) => Some(if other.is_more_than(one) { other } else { one }),
        (one, other) => one.or(other),
    };
    let mut together = spec.items("containers").map(amount).fold(None, add);
    let (mut beside, mut before) = (None, None);
    for container in spec.items("initContainers") {
        let own = amount(container);
        if container.text("restartPolicy") == "Always" {
            together = add(together, own);
            beside = add(beside, own);
            before = larger(before, beside);
        } else {
            before = larger(before, add(own, beside));
        }
    }
    larger(together, before)
}

fn pod_resources(errors: &mut Errors, path: &Path<'_>, spec: &Fields, around: &Around<'_>) {
    let Some(own) = spec.part("resources") else { return };
    if around.system == Some("windows") {
        errors.forbidden(path, "may not be set for a windows pod");
        return;
    }
    if own.has("claims") {
        errors.forbidden(
            &path.child("claims"),
            "claims may not be set for Resources at pod-level",
        );
    }
    resources::requirements(
        errors,
        path,
        Asker::Pod,
        own,
        &around.claims,
        around.may_have_odd_pages,
    );
    for (list, what) in [("requests", "requests"), ("limits", "limits")] {
        let list_path = path.child(list);
        for (resource, value) in own.at(list) {
            if list == "limits" && !resources::is_huge_pages(resource) {
                continue;
            }
            let text = resources::quantity_text(value);
            if let Some(together) = asked_together(spec, list, resource)
                && together.is_more_than(Quantity::read(&text))
            {
                let together = together.written();
                errors.invalid(
                    &list_path.key(resource),
                    &text,
                    format!("must be greater than or equal to aggregate container {what} of {together}"),
                );
            }
        }
    }
    let containers = path.child("containers");
    for (index, container) in spec.numbered("containers") {
        for (resource, value) in container.at("resources").at("limits") {
            let Some(most) = own.at("limits").get(resource) else {
                continue;
            };
            let (limit, most) = (resources::quantity_text(value), resources::quantity_text(most));
            if Quantity::read(&limit).is_more_than(Quantity::read(&most)) {
                let container = containers.index(index);
                errors.invalid(
                    &container.key(resource).child("limits"),
                    &limit,
                    format!("must be less than or equal to pod limits of {most}"),
                );
            }
        }
    }
}

fn host_network(errors: &mut Errors, path: &Path<'_>, spec: &Fields, options: &Options) {
    if !spec.flag("hostNetwork") {
        return;
    }
    for (index, container) in spec.numbered("containers") {
        let own = path.index(index);
        let ports = own.child("ports");
        for (index, port) in container.numbered("ports") {
            let (host, own) = (port.number("hostPort"), port.number("containerPort"));
            if (options.is_pod || host != 0) && host != own {
                errors.invalid(
                    &ports.index(index).child("hostPort"),
                    host,
                    "must match `containerPort` when `hostNetwork` is true",
                );
            }
        }
    }
}

fn dns(errors: &mut Errors, path: &Path<'_>, spec: &Fields) {
    /// The most name servers, search paths, and signs of all search paths together.
    const MOST: (usize, usize, usize) = (3, 32, 2048);
    let config = spec.at("dnsConfig");
    let (servers, searches) = (path.child("nameservers"), path.child("searches"));
    if spec.text("dnsPolicy") == "None" {
        if !spec.has("dnsConfig") {
            errors.required(path, "must provide `dnsConfig` when `dnsPolicy` is None");
            return;
        }
        if config.is_zero("nameservers") {
            errors.required(
                &servers,
                "must provide at least one DNS nameserver when `dnsPolicy` is None",
            );
            return;
        }
    }
    if config.list("nameservers").len() > MOST.0 {
        errors.invalid(
            &servers,
            listed(config.get("nameservers")),
            format!("must not have more than {} nameservers", MOST.0),
        );
    }
    for (index, server) in config.texts("nameservers").enumerate() {
        address::check(errors, &servers.index(index), server, std::iter::empty());
    }
    let count = config.list("searches").len();
    if count > MOST.1 {
        errors.invalid(
            &searches,
            listed(config.get("searches")),
            format!("must not have more than {} search paths", MOST.1),
        );
    }
    let signs: usize = config.texts("searches").map(str::len).sum::<usize>() + count.saturating_sub(1);
    if signs > MOST.2 {
        errors.invalid(
            &searches,
            listed(config.get("searches")),
            format!(
                "must not have more than {} characters (including spaces) in the search list",
                MOST.2
            ),
        );
    }
    for (index, search) in config.texts("searches").enumerate() {
        if search != "." {
            let search = search.strip_suffix('.').unwrap_or(search);
            errors.faults(&searches.index(index), search, search_domain(search));
        }
    }
    let options = path.child("options");
    for (index, option) in config.numbered("options") {
        if option.is_zero("name") {
            errors.required(&options.index(index), "must not be empty");
        }
    }
}

fn host_users(errors: &mut Errors, path: &Path<'_>, spec: &Fields, options: &Options) {
    const RULE: &str = "when `hostUsers` is false";
    if spec.set_flag("hostUsers") != Some(false) {
        return;
    }
    for (name, shown) in [
        ("hostNetwork", "hostNetwork"),
        ("hostPID", "HostPID"),
        ("hostIPC", "HostIPC"),
    ] {
        if spec.flag(name) {
            errors.forbidden(&path.child(shown), RULE);
        }
    }
    if options.allows.user_devices {
        return;
    }
    for (list, index, container) in containers::all(spec) {
        if !container.is_zero("volumeDevices") {
            let list = path.child(list);
            errors.forbidden(&list.index(index).child("volumeDevices"), RULE);
        }
    }
}

fn host_name_override(errors: &mut Errors, path: &Path<'_>, spec: &Fields) {
    /// The longest name of a host that Linux has.
    const MOST_BYTES: usize = 64;
    let Some(name) = spec.set_text("hostnameOverride") else {
        return;
    };
    if spec.flag("setHostnameAsFQDN") {
        errors.forbidden(path, "may not be specified when setHostnameAsFQDN is true");
    }
    if spec.flag("hostNetwork") {
        errors.forbidden(path, "may not be specified when hostNetwork is true");
    }
    if name.len() > MOST_BYTES {
        errors.too_long(path, MOST_BYTES);
    }
    errors.faults(path, name, dns_subdomain(name));
}

/// Checks that variables which come from files come from volumes that can hold them.
fn file_volumes(errors: &mut Errors, path: &Path<'_>, spec: &Fields) {
    // Of several volumes with a name the last counts.
    let volumes: HashMap<&str, &Fields> = spec
        .items("volumes")
        .map(|volume| (volume.text("name"), volume))
        .collect();
    for (list, index, container) in containers::all(spec) {
        let list = path.child(list);
        let own = list.index(index);
        let variables = own.child("env");
        for (index, variable) in container.numbered("env") {
            let from = variable.at("valueFrom");
            if !from.has("fileKeyRef") {
                continue;
            }
            let name = from.at("fileKeyRef").text("volumeName");
            let variable = variables.index(index);
            let path = variable.child("valueFrom.fileKeyRef.volumeName");
            match volumes.get(name) {
                None => errors.not_found(&path, name, ""),
                Some(volume) if !volume.has("emptyDir") => {
                    errors.invalid(&path, name, "referenced volume must be of type emptyDir");
                }
                Some(_) => {}
            }
        }
    }
}

/// Returns a number as errors show it where it may be missing.
fn shown_number(number: Option<i64>) -> String {
    number.map_or_else(|| "null".to_owned(), |number| number.shown())
}
