//! What a cluster is made of: namespaces, nodes, and what is said about them.

use schema::structural::name_rules::{dns_label, dns_subdomain, label_key, label_value};
use serde_json::Value;

use super::reading::{Reading, fields};
use super::report::{Errors, Path};
use super::resources::{self, Asker};
use super::seen::Seen;
use super::syntax::{self, address};
use super::{internal, metadata, placement};
use crate::tree::{Fields, Tree, same};

const SPEC: Path<'_> = Path::new("spec");

/// Checks a new Namespace.
pub(super) fn namespace(errors: &mut Errors, object: &Fields) {
    metadata::check(errors, "", "Namespace", object);
    for name in object.at("spec").texts("finalizers") {
        let path = SPEC.child("finalizers");
        errors.faults(&path, name, label_key(name));
        metadata::plain_finalizer(errors, &path, name);
    }
}

/// Checks a status of a Namespace.
pub(super) fn namespace_status(errors: &mut Errors, new: &Fields, old: &Fields) {
    metadata::check_update(errors, "", new, old);
    let phase = new.at("status").text("phase");
    let path = Path::new("status.Phase");
    if new.at("metadata").has("deletionTimestamp") {
        if phase != "Terminating" {
            errors.invalid(
                &path,
                phase,
                "may only be 'Terminating' if `deletionTimestamp` is not empty",
            );
        }
    } else if phase != "Active" {
        errors.invalid(
            &path,
            phase,
            "may only be 'Active' if `deletionTimestamp` is empty",
        );
    }
}

/// Checks the finalizers of a Namespace.
pub(super) fn namespace_finalizers(errors: &mut Errors, new: &Fields, old: &Fields) {
    metadata::check_update(errors, "", new, old);
    let list = SPEC.child("finalizers");
    for (index, name) in new.at("spec").texts("finalizers").enumerate() {
        errors.faults(&list.index(index), name, label_key(name));
        metadata::plain_finalizer(errors, &list.index(index), name);
    }
}

fn taints(errors: &mut Errors, object: &Fields) {
    let list = Path::new("metadata.taints");
    let mut seen: Seen<(&str, &str)> = Seen::default();
    for (index, value) in object.at("spec").list("taints").iter().enumerate() {
        let taint = fields(value);
        let path = list.index(index);
        let (key, effect) = (taint.text("key"), taint.text("effect"));
        errors.faults(&path.child("key"), key, label_key(key));
        let faults = label_value(taint.text("value"));
        if !faults.is_empty() {
            errors.invalid(&path.child("value"), taint.text("value"), faults.join(";"));
        }
        placement::effect(errors, &path.child("effect"), effect, false);
        if seen.contains(&(key, effect)) {
            errors.push(schema::FieldError {
                kind: schema::FieldErrorKind::Duplicate,
                field: path.owned(),
                value: Some(super::report::Shown::shown(&internal::shown(
                    "core.Taint",
                    Some(value),
                ))),
                detail: "taints must be unique by key and effect pair".to_owned(),
            });
        } else {
            seen.push((key, effect));
        }
    }
}

fn node_amounts(errors: &mut Errors, object: &Fields) {
    for list in ["capacity", "allocatable"] {
        let status = Path::new("status");
        let path = status.child(list);
        for (resource, amount) in object.at("status").at(list) {
            resources::amount(errors, &path.child(resource), resource, amount);
        }
    }
}

/// Checks a Node; `old` is the one that it replaces.
pub(super) fn node(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    const RULE: &str = "node updates may not change podCIDR except from \"\" to valid";
    let spec = object.at("spec");
    let path = SPEC.child("podCIDRs");
    let Some(old) = old else {
        metadata::check(errors, "", "Node", object);
        taints(errors, object);
        node_amounts(errors, object);
        for (index, range) in spec.texts("podCIDRs").enumerate() {
            address::check_range(errors, &path.index(index), range, std::iter::empty());
        }
        let count = spec.list("podCIDRs").len();
        if count > 1 {
            let ranges: Vec<_> = spec.texts("podCIDRs").filter_map(address::Range::parse).collect();
            let is_dual =
                ranges.iter().any(address::Range::is_six) && !ranges.iter().all(address::Range::is_six);
            if !is_dual || count > 2 {
                errors.invalid(
                    &path,
                    spec.get("podCIDRs"),
                    "may specify no more than one CIDR for each IP family",
                );
            }
        }
        return;
    };
    metadata::check_update(errors, "", object, old);
    node_amounts(errors, object);
    let mut seen: Seen<&Value> = Seen::default();
    for (index, value) in object.at("status").list("addresses").iter().enumerate() {
        if seen.contains(&value) {
            errors.duplicate(
                &Path::new("status.addresses").index(index),
                internal::shown("core.NodeAddress", Some(value)),
            );
        }
        seen.push(value);
    }
    let before = old.at("spec");
    if !before.is_zero("podCIDRs") {
        if before.list("podCIDRs").len() == spec.list("podCIDRs").len() {
            for _ in before
                .texts("podCIDRs")
                .zip(spec.texts("podCIDRs"))
                .filter(|(old, new)| old != new)
            {
                errors.forbidden(&path, RULE);
            }
        } else {
            errors.forbidden(&path, RULE);
        }
    }
    if !before.is_zero("providerID") && before.text("providerID") != spec.text("providerID") {
        errors.forbidden(
            &SPEC.child("providerID"),
            "node updates may not change providerID except from \"\" to valid",
        );
    }
    taints(errors, object);
    if spec.text("externalID") != before.text("externalID") {
        errors.forbidden(&SPEC.child("externalID"), "may not be updated");
    }
}

/// Checks an Event; `old` is the one that it replaces.
pub(super) fn event(errors: &mut Errors, group: &str, object: &Fields, old: Option<&Fields>) {
    /// The longest texts of an event.
    const MOST: (usize, usize) = (128, 1024);
    let meta = object.at("metadata");
    let namespace = meta.text("namespace");
    let involved = object.at("involvedObject").text("namespace");
    let mismatch = |errors: &mut Errors| {
        errors.invalid(
            &Path::new("involvedObject.namespace"),
            involved,
            "does not match event.namespace",
        );
    };
    let has_time = object.has("eventTime");
    if has_time {
        if involved.is_empty() && !matches!(namespace, "default" | "kube-system") {
            mismatch(errors);
        }
        let (name, shown) = if group.is_empty() {
            ("reportingComponent", "reportingComponent")
        } else {
            ("reportingComponent", "reportingController")
        };
        let controller = object.text(name);
        let path = Path::new(shown);
        if controller.is_empty() {
            errors.required(&path, "");
        }
        errors.faults(&path, controller, label_key(controller));
        for (name, most) in [
            ("reportingInstance", MOST.0),
            ("action", MOST.0),
            ("reason", MOST.0),
            ("message", MOST.1),
        ] {
            let text = object.text(name);
            if text.is_empty() && name != "message" {
                errors.required(&Path::new(name), "");
            }
            if text.len() > most {
                errors.invalid(
                    &Path::new(name),
                    "",
                    format!("can have at most {most} characters"),
                );
            }
        }
    } else if involved.is_empty() {
        if !matches!(namespace, "" | "default") {
            mismatch(errors);
        }
    } else if namespace != involved {
        mismatch(errors);
    }
    errors.faults(&Path::new("namespace"), namespace, dns_subdomain(namespace));
    if group.is_empty() {
        return;
    }
    match old {
        None => new_event(errors, object, has_time),
        Some(old) => changed_event(errors, object, old),
    }
}

fn series(errors: &mut Errors, object: &Fields) {
    if !object.has("series") {
        return;
    }
    let series = object.at("series");
    if series.number("count") < 2 {
        errors.invalid(&Path::new("series.count"), "", "should be at least 2");
    }
    if !series.has("lastObservedTime") {
        errors.required(&Path::new("series.lastObservedTime"), "");
    }
}

fn new_event(errors: &mut Errors, object: &Fields, has_time: bool) {
    metadata::check(errors, "events.k8s.io", "Event", object);
    series(errors, object);
    if !has_time {
        errors.required(&Path::new("eventTime"), "");
    }
    let kind = object.text("type");
    if !matches!(kind, "Normal" | "Warning") {
        errors.invalid(&Path::new("type"), "", format!("has invalid value: {kind}"));
    }
    for name in ["firstTimestamp", "lastTimestamp", "count"] {
        if !object.is_zero(name) {
            errors.invalid(&Path::new(name), "", "needs to be unset");
        }
    }
    let source = object.at("source");
    if !source.is_zero("component") || !source.is_zero("host") {
        errors.invalid(&Path::new("source"), "", "needs to be unset");
    }
}

fn changed_event(errors: &mut Errors, object: &Fields, old: &Fields) {
    metadata::check_update(errors, "events.k8s.io", object, old);
    if !object.is_same(old, "series") {
        series(errors, object);
    }
    for (name, kind) in [
        ("involvedObject", Some("core.ObjectReference")),
        ("reason", None),
        ("message", None),
        ("source", Some("core.EventSource")),
        ("firstTimestamp", None),
        ("lastTimestamp", None),
        ("count", None),
        ("reason", None),
        ("type", None),
        ("eventTime", None),
        ("action", None),
        ("related", Some("core.ObjectReference")),
        ("reportingController", None),
        ("reportingInstance", None),
    ] {
        let stored = if name == "reportingController" {
            "reportingComponent"
        } else {
            name
        };
        if same(object.get(stored), old.get(stored)) {
            continue;
        }
        let path = Path::new(name);
        match kind {
            Some(kind) => errors.invalid(
                &path,
                internal::shown_if_set(kind, object.get(stored)),
                "field is immutable",
            ),
            None => errors.invalid(&path, object.set_value(stored), "field is immutable"),
        }
    }
}

/// Checks a Lease; `old` is the one that it replaces.
pub(super) fn lease(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    const GROUP: &str = "coordination.k8s.io";
    match old {
        None => metadata::check(errors, GROUP, "Lease", object),
        Some(old) => metadata::check_update(errors, GROUP, object, old),
    }
    let spec = object.at("spec");
    if let Some(seconds) = spec
        .set_number("leaseDurationSeconds")
        .filter(|seconds| *seconds <= 0)
    {
        errors.invalid(
            &SPEC.child("leaseDurationSeconds"),
            seconds,
            "must be greater than 0",
        );
    }
    errors.not_negative(&SPEC.child("leaseTransitions"), spec.number("leaseTransitions"));
    let strategy = spec.set_text("strategy");
    if let Some(strategy) = strategy {
        let path = SPEC.child("strategy.strategy");
        if strategy.contains('/') {
            errors.faults(&path, strategy, label_key(strategy));
        } else {
            errors.one_of_if_set(&path, Some(strategy), &["OldestEmulationVersion"]);
        }
    }
    if !spec.is_zero("preferredHolder") && strategy.is_none_or(str::is_empty) {
        errors.forbidden(
            &SPEC.child("preferredHolder"),
            "may only be specified if `strategy` is defined",
        );
    }
}

/// Checks a `PriorityClass`; `old` is the one that it replaces.
pub(super) fn priority_class(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    const GROUP: &str = "scheduling.k8s.io";
    /// The largest priority that anybody but the system may give.
    const LARGEST: i64 = 1_000_000_000;
    const SYSTEM: [(&str, i64); 2] = [
        ("system-node-critical", 2_000_001_000),
        ("system-cluster-critical", 2_000_000_000),
    ];
    let value = object.number("value");
    if let Some(old) = old {
        metadata::check_update(errors, GROUP, object, old);
        if value != old.number("value") {
            errors.forbidden(&Path::new("value"), "may not be changed in an update.");
        }
        if object.get("preemptionPolicy") != old.get("preemptionPolicy") {
            errors.invalid(
                &Path::new("preemptionPolicy"),
                object.set_value("preemptionPolicy"),
                "field is immutable",
            );
        }
        return;
    }
    metadata::check(errors, GROUP, "PriorityClass", object);
    let name = object.at("metadata").text("name");
    if name.starts_with("system-") {
        let fault = match SYSTEM.iter().find(|(known, _)| *known == name) {
            None => Some(format!("{name} is not a known system priority class")),
            Some((_, right)) if *right != value => {
                Some(format!("value of {name} PriorityClass must be {right}"))
            }
            Some(_) if object.flag("globalDefault") => {
                Some(format!("globalDefault of {name} PriorityClass must be false"))
            }
            Some(_) => None,
        };
        if let Some(fault) = fault {
            errors.forbidden(
                &Path::new("metadata.name"),
                format!(
                    "priority class names with 'system-' prefix are reserved for system use only. error: {fault}"
                ),
            );
        }
    } else if value > LARGEST {
        errors.forbidden(
            &Path::new("value"),
            format!("maximum allowed value of a user defined priority is {LARGEST}"),
        );
    }
    if let Some(policy) = object.set_text("preemptionPolicy") {
        errors.one_of(
            &Path::new("preemptionPolicy"),
            policy,
            &["PreemptLowerPriority", "Never"],
        );
    }
}

/// Checks a `RuntimeClass`; `old` is the one that it replaces.
pub(super) fn runtime_class(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    const GROUP: &str = "node.k8s.io";
    let handler = object.text("handler");
    let path = Path::new("handler");
    if let Some(old) = old {
        metadata::check_update(errors, GROUP, object, old);
        if old.text("handler") != handler {
            errors.invalid(&path, handler, "field is immutable");
        }
        return;
    }
    metadata::check(errors, GROUP, "RuntimeClass", object);
    if handler.is_empty() {
        errors.required(&path, "");
    } else {
        errors.faults(&path, handler, dns_label(handler));
    }
    if object.has("overhead") {
        let overhead = serde_json::json!({ "limits": object.at("overhead").get("podFixed") });
        resources::requirements(
            errors,
            &Path::new("overhead"),
            Asker::Container,
            fields(&overhead),
            &[],
            false,
        );
    }
    let scheduling = object.at("scheduling");
    let path = Path::new("scheduling");
    syntax::labels(
        errors,
        &path.child("nodeSelector"),
        scheduling.entries("nodeSelector"),
    );
    let list = path.child("tolerations");
    placement::tolerations(errors, &list, scheduling.list("tolerations"));
    let mut seen: Seen<Value> = Seen::default();
    for (index, value) in scheduling.list("tolerations").iter().enumerate() {
        let mut key = fields(value).clone();
        key.remove("tolerationSeconds");
        let key = Value::Object(key);
        if seen.contains(&key) {
            errors.duplicate(
                &list.index(index),
                internal::shown("core.Toleration", Some(value)),
            );
        } else {
            seen.push(key);
        }
    }
}
