//! Containers of pods: regular ones, those that run before, and those that are added to look inside.

use schema::structural::name_rules::dns_label;

use super::reading::Reading;
use super::report::{Errors, Path};
use super::resources::{self, Asker};
use super::seen::Seen;
use super::syntax::{local_path, no_backsteps, port_name, port_number};
use super::volumes::{Volumes, find};
use super::{environment, probes, security};
use crate::tree::{Fields, Tree};

/// What containers of a pod must know of the pod.
pub(super) struct Around<'a> {
    pub(super) volumes: Volumes<'a>,
    pub(super) claims: Vec<&'a str>,
    pub(super) grace: Option<i64>,
    pub(super) restart_policy: &'a str,
    pub(super) host_users: bool,
    pub(super) system: Option<&'a str>,
    pub(super) may_have_odd_pages: bool,
    pub(super) may_restart_by_resize: bool,
}

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// Checks a protocol.
pub(super) fn protocol(errors: &mut Errors, path: &Path<'_>, protocol: &str) {
    errors.one_of(path, protocol, &PROTOCOLS);
}

/// Checks when an image is pulled.
pub(super) fn pull_policy(errors: &mut Errors, path: &Path<'_>, policy: &str) {
    errors.one_of(path, policy, &["Always", "IfNotPresent", "Never"]);
}

fn ports(errors: &mut Errors, path: &Path<'_>, container: &Fields) {
    let mut names: Seen<&str> = Seen::default();
    for (index, port) in container.numbered("ports") {
        let path = path.index(index);
        let name = port.text("name");
        if !name.is_empty() {
            let faults = port_name(name);
            if !faults.is_empty() {
                errors.faults(&path.child("name"), name, faults);
            } else if names.contains(&name) {
                errors.duplicate(&path.child("name"), name);
            } else {
                names.push(name);
            }
        }
        let number = port.number("containerPort");
        if number == 0 {
            errors.required(&path.child("containerPort"), "");
        } else {
            for fault in port_number(number) {
                errors.invalid(&path.child("containerPort"), number, fault);
            }
        }
        let host = port.number("hostPort");
        if host != 0 {
            for fault in port_number(host) {
                errors.invalid(&path.child("hostPort"), host, fault);
            }
        }
        protocol(errors, &path.child("protocol"), port.text("protocol"));
    }
}

fn mounts(errors: &mut Errors, path: &Path<'_>, container: &Fields, around: &Around<'_>) {
    let mut seen: Seen<&str> = Seen::default();
    let of_devices = |name: &'static str| -> Seen<&str> {
        container
            .items("volumeDevices")
            .map(|device| device.text(name))
            .collect()
    };
    let (device_names, device_places) = (of_devices("name"), of_devices("devicePath"));
    let is_privileged = container.at("securityContext").flag("privileged");
    for (index, mount) in container.numbered("volumeMounts") {
        let own = path.index(index);
        let (name, place) = (mount.text("name"), mount.text("mountPath"));
        if name.is_empty() {
            errors.required(&own.child("name"), "");
        }
        if find(&around.volumes, name).is_none() {
            errors.not_found(&own.child("name"), name, "");
        }
        if place.is_empty() {
            errors.required(&own.child("mountPath"), "");
        }
        if seen.contains(&place) {
            errors.invalid(&own.child("mountPath"), place, "must be unique");
        }
        seen.push(place);
        if device_names.contains(&name) {
            errors.invalid(
                &own.child("name"),
                name,
                "must not already exist in volumeDevices",
            );
        }
        if device_places.contains(&place) {
            errors.invalid(
                &own.child("mountPath"),
                place,
                "must not already exist as a path in volumeDevices",
            );
        }
        let (below, expression) = (mount.text("subPath"), mount.text("subPathExpr"));
        if !below.is_empty() {
            local_path(errors, &path.child("subPath"), below);
        }
        if !expression.is_empty() {
            if !below.is_empty() {
                errors.invalid(
                    &own.child("subPathExpr"),
                    expression,
                    "subPathExpr and subPath are mutually exclusive",
                );
            }
            local_path(errors, &path.child("subPathExpr"), expression);
        }
        let propagation = mount.set_text("mountPropagation");
        let propagation_path = path.child("mountPropagation");
        errors.one_of_if_set(
            &propagation_path,
            propagation,
            &["Bidirectional", "HostToContainer", "None"],
        );
        if propagation == Some("Bidirectional") && !is_privileged {
            errors.forbidden(
                &propagation_path,
                "Bidirectional mount propagation is available only to privileged containers",
            );
        }
        let recursive = path.child("recursiveReadOnly");
        match mount.set_text("recursiveReadOnly") {
            None | Some("Disabled") => {}
            Some("Enabled" | "IfPossible") => {
                if !mount.flag("readOnly") {
                    errors.forbidden(&recursive, "may only be specified when readOnly is true");
                }
                if propagation.is_some_and(|propagation| propagation != "None") {
                    errors.forbidden(
                        &recursive,
                        "may only be specified when mountPropagation is None or not specified",
                    );
                }
            }
            Some(other) => {
                errors.not_supported(&recursive, other, &["Disabled", "Enabled", "IfPossible"]);
            }
        }
    }
}

fn devices(errors: &mut Errors, path: &Path<'_>, container: &Fields, around: &Around<'_>) {
    let (mut names, mut places): (Seen<&str>, Seen<&str>) = Default::default();
    let of_mounts = |name: &'static str| -> Seen<&str> {
        container
            .items("volumeMounts")
            .map(|mount| mount.text(name))
            .collect()
    };
    let (mount_names, mount_places) = (of_mounts("name"), of_mounts("mountPath"));
    for (index, device) in container.numbered("volumeDevices") {
        let path = path.index(index);
        let (name, place) = (device.text("name"), device.text("devicePath"));
        let (name_path, place_path) = (path.child("name"), path.child("devicePath"));
        if name.is_empty() {
            errors.required(&name_path, "");
        }
        if names.contains(&name) {
            errors.invalid(&name_path, name, "must be unique");
        }
        match find(&around.volumes, name) {
            None => errors.not_found(&name_path, name, ""),
            Some(volume) if !volume.has("persistentVolumeClaim") && !volume.has("ephemeral") => errors
                .invalid(
                    &name_path,
                    name,
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
                ),
            Some(_) => {}
        }
        if place.is_empty() {
            errors.required(&place_path, "");
        }
        if places.contains(&place) {
            errors.invalid(&place_path, place, "must be unique");
        }
        let mut backsteps = Errors::default();
        no_backsteps(&mut backsteps, &place_path, place);
        if backsteps.is_empty() {
            places.push(place);
        } else {
            errors.invalid(&place_path, place, "can not contain backsteps ('..')");
        }
        if mount_names.contains(&name) {
            errors.invalid(&name_path, name, "must not already exist in volumeMounts");
        }
        if mount_places.contains(&place) {
            errors.invalid(
                &place_path,
                place,
                "must not already exist as a path in volumeMounts",
            );
        }
        if !name.is_empty() {
            names.push(name);
        }
    }
}

fn resize_policies(errors: &mut Errors, path: &Path<'_>, container: &Fields, around: &Around<'_>) {
    let mut seen: Seen<&str> = Seen::default();
    for (index, policy) in container.numbered("resizePolicy") {
        let (resource, restart) = (policy.text("resourceName"), policy.text("restartPolicy"));
        if seen.contains(&resource) {
            errors.duplicate(&path.index(index), resource);
        }
        seen.push(resource);
        errors.one_of(path, resource, &["cpu", "memory"]);
        errors.one_of(path, restart, &["NotRequired", "RestartContainer"]);
        if around.restart_policy == "Never" && restart != "NotRequired" {
            errors.invalid(
                path,
                restart,
                "must be 'NotRequired' when pod `restartPolicy` is 'Never'",
            );
        }
    }
}

fn common(errors: &mut Errors, path: &Path<'_>, container: &Fields, around: &Around<'_>) {
    let name = container.text("name");
    if name.is_empty() {
        errors.required(&path.child("name"), "");
    } else {
        errors.faults(&path.child("name"), name, dns_label(name));
    }
    if container.is_zero("image") {
        errors.required(&path.child("image"), "");
    }
    errors.one_of(
        &path.child("terminationMessagePolicy"),
        container.text("terminationMessagePolicy"),
        &["File", "FallbackToLogsOnError"],
    );
    ports(errors, &path.child("ports"), container);
    environment::check(errors, path, container);
    mounts(errors, &path.child("volumeMounts"), container, around);
    devices(errors, &path.child("volumeDevices"), container, around);
    pull_policy(
        errors,
        &path.child("imagePullPolicy"),
        container.text("imagePullPolicy"),
    );
    resources::requirements(
        errors,
        &path.child("resources"),
        Asker::Container,
        container.at("resources"),
        &around.claims,
        around.may_have_odd_pages,
    );
    resize_policies(errors, &path.child("resizePolicy"), container, around);
    security::of_container(
        errors,
        &path.child("securityContext"),
        container,
        around.host_users,
    );
}

fn restart_rules(errors: &mut Errors, path: &Path<'_>, container: &Fields) {
    /// The most rules, and the most exit codes of one.
    const MOST: (usize, usize) = (20, 255);
    let rules = container.list("restartPolicyRules");
    let policy_path = path.child("restartPolicy");
    match container.set_text("restartPolicy") {
        None if rules.is_empty() => return,
        None => errors.required(
            &policy_path,
            "must specify restartPolicy when restart rules are used",
        ),
        Some(policy) => {
            errors.one_of_if_set(&policy_path, Some(policy), &["Always", "Never", "OnFailure"]);
        }
    }
    let rules_path = path.child("restartPolicyRules");
    if rules.len() > MOST.0 {
        errors.too_many(&rules_path, rules.len(), MOST.0);
    }
    for (index, rule) in container.numbered("restartPolicyRules") {
        let path = rules_path.index(index);
        errors.one_of_if_set(
            &path.child("action"),
            Some(rule.text("action")),
            &["Restart", "RestartAllContainers"],
        );
        if rule.has("exitCodes") {
            let codes = rule.at("exitCodes");
            let path = path.child("exitCodes");
            errors.one_of_if_set(
                &path.child("operator"),
                Some(codes.text("operator")),
                &["In", "NotIn"],
            );
            let count = codes.list("values").len();
            if count > MOST.1 {
                errors.too_many(&path.child("values"), count, MOST.1);
            }
        } else {
            errors.required(&path.child("exitCodes"), "must be specified");
        }
    }
}

fn host_ports<'a>(
    errors: &mut Errors,
    path: &Path<'_>,
    containers: impl Iterator<Item = (usize, &'a Fields)>,
) {
    let mut seen: Seen<String> = Seen::default();
    for (index, container) in containers {
        let own = path.index(index);
        let ports = own.child("ports");
        for (index, port) in container.numbered("ports") {
            let number = port.number("hostPort");
            if number == 0 {
                continue;
            }
            let text = format!("{}/{}/{number}", port.text("protocol"), port.text("hostIP"));
            if seen.contains(&text) {
                errors.duplicate(&ports.index(index).child("hostPort"), &text);
            } else {
                seen.push(text);
            }
        }
    }
}

/// Checks the regular containers of a pod.
pub(super) fn regular(errors: &mut Errors, path: &Path<'_>, spec: &Fields, around: &Around<'_>) {
    if spec.is_zero("containers") {
        errors.required(path, "");
        return;
    }
    let mut names: Seen<&str> = Seen::default();
    for (index, container) in spec.numbered("containers") {
        let path = path.index(index);
        common(errors, &path, container, around);
        let name = container.text("name");
        if names.contains(&name) {
            errors.duplicate(&path.child("name"), name);
        } else {
            names.push(name);
        }
        if container.has("lifecycle") {
            let lifecycle = container.at("lifecycle");
            probes::lifecycle(
                errors,
                &path.child("lifecycle"),
                lifecycle,
                around.grace,
                around.system,
            );
        }
        probes::check(errors, &path, container, around.grace);
        restart_rules(errors, &path, container);
    }
    host_ports(errors, path, spec.numbered("containers"));
}

/// Checks the containers that run before the regular ones, or beside them.
pub(super) fn initial(errors: &mut Errors, path: &Path<'_>, spec: &Fields, around: &Around<'_>) {
    let mut names: Seen<&str> = spec.items("containers").map(|one| one.text("name")).collect();
    for (index, container) in spec.numbered("initContainers") {
        let own = path.index(index);
        common(errors, &own, container, around);
        let runs_on = container.set_text("restartPolicy") == Some("Always");
        restart_rules(errors, &own, container);
        let name = container.text("name");
        if names.contains(&name) {
            errors.duplicate(&own.child("name"), name);
        } else if !name.is_empty() {
            names.push(name);
        }
        host_ports(errors, path, std::iter::once((0, container)));
        if runs_on {
            if container.has("lifecycle") {
                let lifecycle = container.at("lifecycle");
                probes::lifecycle(
                    errors,
                    &own.child("lifecycle"),
                    lifecycle,
                    around.grace,
                    around.system,
                );
            }
            probes::check(errors, &own, container, around.grace);
        } else {
            for name in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
                if container.has(name) {
                    errors.forbidden(
                        &own.child(name),
                        "may not be set for init containers without restartPolicy=Always",
                    );
                }
            }
            if !around.may_restart_by_resize {
                let policies = own.child("resizePolicy");
                for (index, policy) in container.numbered("resizePolicy") {
                    if policy.text("restartPolicy") == "RestartContainer" {
                        errors.invalid(
                            &policies.index(index).child("restartPolicy"),
                            "RestartContainer",
                            "must not be set to 'RestartContainer' for non-sidecar initContainers",
                        );
                    }
                }
            }
        }
    }
}

const EPHEMERAL: &str = "cannot be set for an Ephemeral Container";

/// Checks the containers that were added to a running pod.
pub(super) fn ephemeral(errors: &mut Errors, path: &Path<'_>, spec: &Fields, around: &Around<'_>) {
    let others = || -> Seen<&str> {
        let all = spec.items("containers").chain(spec.items("initContainers"));
        all.map(|one| one.text("name")).collect()
    };
    let (others, mut names) = (others(), others());
    for (index, container) in spec.numbered("ephemeralContainers") {
        let path = path.index(index);
        common(errors, &path, container, around);
        image_for_pod(errors, &path, container);
        let name = container.text("name");
        if names.contains(&name) {
            errors.duplicate(&path.child("name"), name);
        } else {
            names.push(name);
        }
        let target = container.text("targetContainerName");
        if !target.is_empty() && !others.contains(&target) {
            errors.not_found(&path.child("targetContainerName"), target, "");
        }
        for name in [
            "ports",
            "resources",
            "resizePolicy",
            "restartPolicy",
            "restartPolicyRules",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
            "lifecycle",
        ] {
            if !container.is_zero(name) {
                errors.forbidden(&path.child(name), EPHEMERAL);
            }
        }
        let mounts = path.child("volumeMounts");
        for (index, mount) in container.numbered("volumeMounts") {
            for name in ["subPath", "subPathExpr"] {
                if !mount.is_zero(name) {
                    errors.forbidden(&mounts.index(index).child(name), EPHEMERAL);
                }
            }
        }
    }
}

/// Checks an image's name as pods demand it, though templates don't.
pub(super) fn image_for_pod(errors: &mut Errors, path: &Path<'_>, container: &Fields) {
    let image = container.text("image");
    if image.trim().len() != image.len() {
        errors.invalid(
            &path.child("image"),
            image,
            "must not have leading or trailing whitespace",
        );
    }
}

/// Returns all containers of a pod with their paths' beginnings, in the order in which errors tell of them.
pub(super) fn all(spec: &Fields) -> impl Iterator<Item = (&'static str, usize, &Fields)> {
    ["initContainers", "containers", "ephemeralContainers"]
        .into_iter()
        .flat_map(|list| {
            spec.numbered(list)
                .map(move |(index, container)| (list, index, container))
        })
}
