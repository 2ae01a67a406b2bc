//! What may change in a pod that is there already.

use std::collections::HashMap;

use serde_json::Value;

use super::super::reading::{Reading, fields};
use super::super::report::{Errors, Path, Raw};
use super::super::seen::Seen;
use super::super::{difference, internal, metadata, placement, security};
use super::{MIRROR, Options, annotations, metadata_and_spec, shown_number};
use crate::tree::{Fields, Tree, same};

const SPEC: Path<'_> = Path::new("spec");

const CHANGEABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
     `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
     tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Checks how annotations changed that nobody may change.
pub(super) fn annotation_changes(errors: &mut Errors, new: &Fields, old: &Fields, options: &Options) {
    let path = Path::new("metadata.annotations");
    let (ours, theirs) = (
        new.at("metadata").at("annotations"),
        old.at("metadata").at("annotations"),
    );
    for (key, value) in theirs {
        if ours.get(key) == Some(value) {
            continue;
        }
        if key.starts_with(security::APP_ARMOR) {
            errors.forbidden(&path.key(key), "may not remove or update AppArmor annotations");
        }
        if key == MIRROR {
            errors.forbidden(&path.key(key), "may not remove or update mirror pod annotation");
        }
    }
    for key in ours.keys().filter(|key| !theirs.contains_key(*key)) {
        if key.starts_with(security::APP_ARMOR) {
            errors.forbidden(&path.key(key), "may not add AppArmor annotations");
        }
        if key == MIRROR {
            errors.forbidden(&path.key(key), "may not add mirror pod annotation");
        }
    }
    annotations(errors, &path, new.at("metadata"), new.at("spec"), options);
}

/// Checks that containers weren't added or removed; whether to go on.
fn same_containers(errors: &mut Errors, new: &Fields, old: &Fields, list: &str) -> bool {
    let path = SPEC.child(list);
    if new.list(list).len() != old.list(list).len() {
        errors.forbidden(&path, "pod updates may not add or remove containers");
        return false;
    }
    for (index, container) in new.numbered(list) {
        let own = path.index(index);
        if container.is_zero("image") {
            errors.required(&own.child("image"), "");
        }
        super::containers::image_for_pod(errors, &own, container);
    }
    true
}

/// Checks an update of a pod.
pub(in super::super) fn check(errors: &mut Errors, new: &Fields, old: &Fields) {
    let options = Options::of_changed_pod(old);
    metadata::check_update(errors, "", new, old);
    metadata_and_spec(errors, new, &options);
    annotation_changes(errors, new, old, &options);
    let (ours, theirs) = (new.at("spec"), old.at("spec"));
    for list in ["containers", "initContainers"] {
        if !same_containers(errors, ours, theirs, list) {
            return;
        }
    }
    if !deadline(errors, ours, theirs) {
        return;
    }
    added_tolerations(errors, ours, theirs);
    deleted_gates(errors, ours, theirs);
    if same(new.get("spec"), old.get("spec")) {
        return;
    }
    let mut munged = ours.clone();
    for list in ["containers", "initContainers"] {
        let Some(Value::Array(items)) = munged.get_mut(list) else {
            continue;
        };
        for (item, before) in items.iter_mut().zip(theirs.items(list)) {
            if let Value::Object(item) = item {
                item.take_from(Some(before), "image");
            }
        }
    }
    for name in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        munged.take_from(Some(theirs), name);
    }
    if theirs.number("terminationGracePeriodSeconds") < 0
        && munged.set_number("terminationGracePeriodSeconds") == Some(1)
    {
        munged.take_from(Some(theirs), "terminationGracePeriodSeconds");
    }
    if !theirs.is_zero("schedulingGates") {
        gated(errors, &mut munged, theirs);
    }
    let (munged, theirs) = (Value::Object(munged), old.get("spec"));
    if !same(Some(&munged), theirs) {
        let kind = "core.PodSpec";
        let text = difference::between(
            &internal::lines(kind, theirs),
            &internal::lines(kind, Some(&munged)),
        );
        errors.forbidden(&SPEC, format!("{CHANGEABLE}\n{text}"));
    }
}

fn deadline(errors: &mut Errors, ours: &Fields, theirs: &Fields) -> bool {
    let path = SPEC.child("activeDeadlineSeconds");
    let before = theirs.set_number("activeDeadlineSeconds");
    match ours.set_number("activeDeadlineSeconds") {
        Some(seconds) => {
            let most = i64::from(i32::MAX);
            if !(0..=most).contains(&seconds) {
                errors.invalid(&path, seconds, super::between(0, most));
                return false;
            }
            if before.is_some_and(|before| before < seconds) {
                errors.invalid(&path, seconds, "must be less than or equal to previous value");
                return false;
            }
        }
        None if before.is_some() => errors.invalid(
            &path,
            Raw(shown_number(None)),
            "must not update from a positive integer to nil value",
        ),
        None => {}
    }
    true
}

fn added_tolerations(errors: &mut Errors, ours: &Fields, theirs: &Fields) {
    let path = SPEC.child("tolerations");
    let plain = |toleration: &Fields| {
        let mut plain = toleration.clone();
        plain.remove("tolerationSeconds");
        plain.retain(|_, value| value != "");
        Value::Object(plain)
    };
    let kept: Seen<Value> = ours.items("tolerations").map(plain).collect();
    if theirs.items("tolerations").any(|old| !kept.contains(&plain(old))) {
        errors.forbidden(
            &path,
            "existing toleration can not be modified except its tolerationSeconds",
        );
        return;
    }
    placement::tolerations(errors, &path, ours.list("tolerations"));
}

fn deleted_gates(errors: &mut Errors, ours: &Fields, theirs: &Fields) {
    let path = SPEC.child("schedulingGates");
    let known: Seen<&str> = theirs
        .items("schedulingGates")
        .map(|gate| gate.text("name"))
        .collect();
    for (index, gate) in ours.numbered("schedulingGates") {
        let name = gate.text("name");
        if !known.contains(&name) {
            errors.forbidden(
                &path.index(index).child("name"),
                format!("only deletion is allowed, but found new scheduling gate '{name}'"),
            );
        }
    }
}

/// Lets a pod that waits be bound more tightly, and makes what was allowed what it was.
fn gated(errors: &mut Errors, munged: &mut Fields, theirs: &Fields) {
    if !munged.is_same(theirs, "nodeSelector") {
        let ours = munged.at("nodeSelector");
        if theirs
            .at("nodeSelector")
            .iter()
            .any(|(key, value)| ours.get(key) != Some(value))
        {
            errors.invalid(
                &SPEC.child("nodeSelector"),
                munged.set_value("nodeSelector"),
                "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
            );
        }
        munged.take_from(Some(theirs), "nodeSelector");
    }
    let (ours, before) = (munged.at("affinity").clone(), theirs.at("affinity"));
    if ours.is_same(before, "nodeAffinity") {
        return;
    }
    node_affinity(errors, ours.at("nodeAffinity"), before.at("nodeAffinity"));
    let is_alone = !ours.has("podAffinity") && !ours.has("podAntiAffinity");
    if munged.has("affinity") && !theirs.has("affinity") && is_alone {
        munged.remove("affinity");
    } else {
        let mut affinity = ours;
        affinity.take_from(Some(before), "nodeAffinity");
        if munged.has("affinity") || !affinity.is_empty() {
            munged.set("affinity", Value::Object(affinity));
        }
    }
}

fn node_affinity(errors: &mut Errors, ours: &Fields, theirs: &Fields) {
    if !theirs.has(placement::REQUIRED) {
        return;
    }
    let affinity = SPEC.child("affinity.nodeAffinity");
    let required = affinity.child(placement::REQUIRED);
    let path = required.child("nodeSelectorTerms");
    let (new, old) = (ours.at(placement::REQUIRED), theirs.at(placement::REQUIRED));
    let terms = old.list("nodeSelectorTerms");
    if !terms.is_empty() && terms.len() != new.list("nodeSelectorTerms").len() {
        errors.invalid(
            &path,
            internal::shown_list("core.NodeSelectorTerm", new.get("nodeSelectorTerms")),
            "no additions/deletions to non-empty NodeSelectorTerms list are allowed",
        );
        return;
    }
    for (index, (new, old)) in new.list("nodeSelectorTerms").iter().zip(terms).enumerate() {
        if !only_adds(fields(new), fields(old)) {
            errors.invalid(
                &path.index(index),
                internal::shown("core.NodeSelectorTerm", Some(new)),
                "only additions are allowed (no mutations or deletions)",
            );
        }
    }
}

fn only_adds(new: &Fields, old: &Fields) -> bool {
    let lists = ["matchExpressions", "matchFields"];
    if lists.iter().all(|list| old.is_zero(list)) {
        return lists.iter().all(|list| new.is_zero(list));
    }
    lists.iter().all(|list| {
        let (new, old) = (new.list(list), old.list(list));
        new.len() >= old.len() && old.iter().zip(new).all(|(old, new)| same(Some(old), Some(new)))
    })
}

/// Checks containers that are added to a running pod.
pub(in super::super) fn ephemeral(errors: &mut Errors, new: &Fields, old: &Fields) {
    let options = Options::of_changed_pod(old);
    if old.at("metadata").at("annotations").has(MIRROR) {
        errors.forbidden(&Path::new(""), "static pods do not support ephemeral containers");
        return;
    }
    metadata::check_update(errors, "", new, old);
    metadata_and_spec(errors, new, &options);
    annotation_changes(errors, new, old, &options);
    let path = SPEC.child("ephemeralContainers");
    // Of several with a name the last counts.
    let ours: HashMap<&str, &Value> = new
        .at("spec")
        .list("ephemeralContainers")
        .iter()
        .map(|one| (fields(one).text("name"), one))
        .collect();
    for before in old.at("spec").list("ephemeralContainers") {
        let name = fields(before).text("name");
        let quoted = super::Shown::shown(&name);
        match ours.get(name) {
            None => errors.forbidden(
                &path,
                format!("existing ephemeral containers {quoted} may not be removed\n"),
            ),
            Some(&now) if !same(Some(now), Some(before)) => {
                let kind = "core.EphemeralContainer";
                let text = difference::between(
                    &internal::lines(kind, Some(before)),
                    &internal::lines(kind, Some(now)),
                );
                errors.forbidden(
                    &path,
                    format!("existing ephemeral containers {quoted} may not be changed\n{text}"),
                );
            }
            Some(_) => {}
        }
    }
}

/// Checks a change of what containers ask for.
pub(in super::super) fn resize(errors: &mut Errors, new: &Fields, old: &Fields) {
    let options = Options::of_changed_pod(old);
    if old.at("metadata").at("annotations").has(MIRROR) {
        errors.forbidden(&Path::new(""), "static pods cannot be resized");
        return;
    }
    if old.at("spec").at("os").text("name") == "windows" {
        errors.forbidden(&Path::new(""), "windows pods cannot be resized");
        return;
    }
    metadata::check_update(errors, "", new, old);
    metadata_and_spec(errors, new, &options);
    let (ours, theirs) = (new.at("spec"), old.at("spec"));
    let class = crate::strategy::pods::quality_of_service(ours);
    if old.at("status").text("qosClass") != class {
        errors.invalid(
            &SPEC,
            new.at("status").text("qosClass"),
            "Pod QOS Class may not change as a result of resizing",
        );
    }
    let before = errors.len();
    for list in ["containers", "initContainers"] {
        let path = SPEC.child(list);
        if ours.list(list).len() != theirs.list(list).len() {
            errors.forbidden(&path, format!("{list} may not be added or removed on resize"));
            continue;
        }
        for (index, (now, then)) in ours.items(list).zip(theirs.items(list)).enumerate() {
            if now.text("name") != then.text("name") {
                errors.forbidden(
                    &path.index(index).child("name"),
                    format!("{list} may not be renamed or reordered on resize"),
                );
            }
        }
    }
    if errors.len() > before {
        return;
    }
    let mut munged = ours.clone();
    for list in ["initContainers", "containers"] {
        let path = SPEC.child(list);
        for (index, (now, then)) in ours.items(list).zip(theirs.items(list)).enumerate() {
            if list == "initContainers" && then.text("restartPolicy") != "Always" {
                continue;
            }
            let own = path.index(index);
            for amounts in ["requests", "limits"] {
                let (now, then) = (now.at("resources").at(amounts), then.at("resources").at(amounts));
                if then.keys().any(|resource| !now.contains_key(resource)) {
                    errors.forbidden(
                        &own.child("resources").child(amounts),
                        format!("resource {amounts} cannot be removed"),
                    );
                }
            }
        }
    }
    for list in ["containers", "initContainers"] {
        let Some(Value::Array(items)) = munged.get_mut(list) else {
            continue;
        };
        for (index, (item, before)) in items.iter_mut().zip(theirs.list(list)).enumerate() {
            if list == "initContainers" && fields(before).text("restartPolicy") != "Always" {
                if !same(Some(item), Some(before)) {
                    errors.forbidden(&SPEC, "resources for non-sidecar init containers are immutable");
                }
                continue;
            }
            keep_amounts(item, fields(before));
            if !same(Some(item), Some(before)) {
                if list == "containers" {
                    errors.forbidden(&SPEC, "only cpu and memory resources are mutable");
                } else {
                    errors.forbidden(
                        &SPEC.child(list).index(index),
                        "only cpu and memory resources for init or sidecar containers are mutable",
                    );
                }
            }
        }
    }
    if errors.is_empty() && !same(Some(&Value::Object(munged)), old.get("spec")) {
        errors.forbidden(&SPEC, "only cpu and memory resources are mutable");
    }
}

/// Makes the amounts of processor and memory what they were.
fn keep_amounts(container: &mut Value, before: &Fields) {
    let Value::Object(container) = container else {
        return;
    };
    let mut requirements = container.at("resources").clone();
    for list in ["limits", "requests"] {
        let mut amounts = requirements.at(list).clone();
        for resource in ["cpu", "memory"] {
            amounts.take_from(Some(before.at("resources").at(list)), resource);
        }
        if amounts.is_empty() && !before.at("resources").has(list) {
            requirements.remove(list);
        } else {
            requirements.set(list, Value::Object(amounts));
        }
    }
    if requirements.is_empty() && !before.has("resources") {
        container.remove("resources");
    } else {
        container.set("resources", Value::Object(requirements));
    }
}
