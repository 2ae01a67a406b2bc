//! The status of a pod.

use std::collections::HashMap;

use schema::structural::name_rules::{dns_subdomain, label_key};

use super::super::reading::Reading;
use super::super::report::{Errors, Path};
use super::super::seen::Seen;
use super::super::syntax::address;
use super::super::{internal, metadata};
use super::Options;
use super::update::annotation_changes;
use crate::tree::{Fields, Tree};

const STATUS: Path<'_> = Path::new("status");

/// Checks an update of a pod's status.
pub(in super::super) fn check(errors: &mut Errors, new: &Fields, old: &Fields) {
    let options = Options::of_changed_pod(old);
    metadata::check_update(errors, "", new, old);
    annotation_changes(errors, new, old, &options);
    let (now, then) = (new.at("status"), old.at("status"));
    let conditions = STATUS.child("conditions");
    for (index, condition) in now.numbered("conditions") {
        let path = conditions.index(index);
        let generation = condition.number("observedGeneration");
        if generation < 0 {
            errors.invalid(
                &path.child("observedGeneration"),
                generation,
                "must be a non-negative integer",
            );
        }
        let kind = condition.text("type");
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            errors.faults(&path.child("Type"), kind, label_key(kind));
        }
    }
    if new.at("spec").text("nodeName") != old.at("spec").text("nodeName") {
        errors.forbidden(&STATUS.child("nodeName"), "may not be changed directly");
    }
    let nominated = now.text("nominatedNodeName");
    if nominated != then.text("nominatedNodeName") && !nominated.is_empty() {
        let path = STATUS.child("nominatedNodeName");
        errors.faults(&path, nominated, dns_subdomain(nominated));
        if !old.at("spec").is_zero("nodeName") {
            errors.forbidden(&path, "may not be set on pods that are already bound to a node");
        }
    }
    let generation = now.number("observedGeneration");
    if generation < 0 {
        errors.invalid(
            &STATUS.child("observedGeneration"),
            generation,
            "must be a non-negative integer",
        );
    }
    if now.text("qosClass") != then.text("qosClass") {
        errors.invalid(
            &STATUS.child("qosClass"),
            now.text("qosClass"),
            "field is immutable",
        );
    }
    states(errors, now, then, old.at("spec"));
    addresses(errors, now, then);
}

/// Checks that containers which ended stay so, unless they may run again.
fn states(errors: &mut Errors, now: &Fields, then: &Fields, spec: &Fields) {
    let all_may_restart = super::containers::all(spec).any(|(_, _, container)| {
        container
            .items("restartPolicyRules")
            .any(|rule| rule.text("action") == "RestartAllContainers")
    });
    for (list, containers) in [
        ("containerStatuses", "containers"),
        ("initContainerStatuses", "initContainers"),
        ("ephemeralContainerStatuses", ""),
    ] {
        if all_may_restart && !containers.is_empty() {
            continue;
        }
        let path = STATUS.child(list);
        let running: Seen<&str> = now
            .items(list)
            .filter(|status| !status.at("state").has("terminated"))
            .map(|status| status.text("name"))
            .collect();
        // Of several with a name the first counts.
        let mut of_name: HashMap<&str, &Fields> = HashMap::new();
        for container in spec.items(containers) {
            of_name.entry(container.text("name")).or_insert(container);
        }
        for (index, before) in then.numbered(list) {
            if !before.at("state").has("terminated") {
                continue;
            }
            let name = before.text("name");
            let runs_again = running.contains(&name);
            let code = before.at("state").at("terminated").number("exitCode");
            let may = of_name
                .get(name)
                .is_some_and(|container| should_restart(container, spec, containers, code));
            if runs_again && !may {
                errors.forbidden(
                    &path.index(index).child("state"),
                    "may not be transitioned to non-terminated state",
                );
            }
        }
    }
}

fn should_restart(container: &Fields, spec: &Fields, list: &str, code: i64) -> bool {
    for rule in container.items("restartPolicyRules") {
        let codes = rule.at("exitCodes");
        let is_listed = codes.list("values").iter().any(|one| one.as_i64() == Some(code));
        let applies = rule.has("exitCodes")
            && match codes.text("operator") {
                "In" => is_listed,
                "NotIn" => !is_listed,
                _ => false,
            };
        if applies {
            return rule.text("action") == "Restart";
        }
    }
    let of_pod = spec.text("restartPolicy");
    let policy = match container.set_text("restartPolicy") {
        Some(own) => own,
        None if list == "initContainers" && of_pod == "Always" => "OnFailure",
        None => of_pod,
    };
    match policy {
        "Always" => true,
        "OnFailure" => code != 0,
        _ => false,
    }
}

fn addresses(errors: &mut Errors, now: &Fields, then: &Fields) {
    for (list, kind) in [("podIPs", "core.PodIP"), ("hostIPs", "core.HostIP")] {
        let path = STATUS.child(list);
        let first = now.items(list).next().map(|one| one.text("ip"));
        if let Some(first) = first
            && list == "hostIPs"
            && now.text("hostIP") != first
        {
            errors.invalid(&path.index(0).child("ip"), first, "must be equal to `hostIP`");
        }
        for (index, one) in now.numbered(list) {
            let known = then.items(list).map(|one| one.text("ip"));
            address::check(errors, &path.index(index), one.text("ip"), known);
        }
        let count = now.list(list).len();
        if count > 1 {
            let is_dual = address::is_dual_stack(now.items(list).map(|one| one.text("ip")));
            if is_dual != Some(true) || count > 2 {
                errors.invalid(
                    &path,
                    internal::shown_list(kind, now.get(list)),
                    "may specify no more than one IP for each IP family",
                );
            }
        }
    }
}
