//! `StatefulSets`.

use schema::structural::name_rules::dns_label;
use serde_json::{Value, json};

use super::super::pods::{self, Options};
use super::super::reading::Reading;
use super::super::report::Errors;
use super::super::selectors::{self, Match};
use super::super::{claims, internal, metadata, syntax};
use super::{
    MISMATCH, SPEC, STATUS, amount, available, collisions, counts, lasting_pod, not_above_all,
    number_or_percentage, numbers, selector, shown_labels, template_options,
};
use crate::tree::{Fields, Tree, same};

/// What is left out in an update, because it can't change.
#[derive(Clone, Copy, Default)]
struct Skips {
    service_name: bool,
    claims: bool,
    template: bool,
}

/// Checks a new `StatefulSet`.
pub(in super::super) fn check(errors: &mut Errors, object: &Fields) {
    metadata::check(errors, "apps", "StatefulSet", object);
    spec(
        errors,
        object.at("spec"),
        &Options::of_template(),
        Skips::default(),
    );
}

/// Checks an update of a `StatefulSet`.
pub(in super::super) fn check_update(errors: &mut Errors, new: &Fields, old: &Fields) {
    metadata::check_update(errors, "apps", new, old);
    let options = template_options(Some(old));
    let mut skips = Skips {
        service_name: true,
        claims: true,
        template: false,
    };
    let mut before = Errors::default();
    spec(&mut before, old.at("spec"), &options, skips);
    skips.template = !before.is_empty();
    spec(errors, new.at("spec"), &options, skips);
    let mut munged = new.at("spec").clone();
    for name in [
        "replicas",
        "template",
        "updateStrategy",
        "minReadySeconds",
        "ordinals",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
    ] {
        munged.take_from(Some(old.at("spec")), name);
    }
    if !same(Some(&Value::Object(munged)), old.get("spec")) {
        errors.forbidden(
            &SPEC,
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
             'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        );
    }
}

fn spec(errors: &mut Errors, spec: &Fields, options: &Options, skips: Skips) {
    let path = SPEC.child("podManagementPolicy");
    match spec.text("podManagementPolicy") {
        "" => errors.required(&path, ""),
        "OrderedReady" | "Parallel" => {}
        other => errors.invalid(&path, other, "must be 'OrderedReady' or 'Parallel'"),
    }
    strategy(errors, spec);
    if spec.has("persistentVolumeClaimRetentionPolicy") {
        let path = SPEC.child("persistentVolumeClaimRetentionPolicy");
        let policy = spec.at("persistentVolumeClaimRetentionPolicy");
        for name in ["whenDeleted", "whenScaled"] {
            errors.one_of_if_set(&path.child(name), Some(policy.text(name)), &["Retain", "Delete"]);
        }
    }
    if !skips.claims {
        let templates = SPEC.child("volumeClaimTemplates");
        for (index, claim) in spec.numbered("volumeClaimTemplates") {
            claims::spec(
                errors,
                &templates.index(index).child("spec"),
                claim.at("spec"),
                claims::Allows::default(),
            );
        }
    }
    numbers(errors, &SPEC, spec, &["replicas", "minReadySeconds"]);
    if spec.has("ordinals") {
        let start = spec.at("ordinals").number("start");
        errors.not_negative(&SPEC.child("ordinals.start"), start);
    }
    let service = spec.text("serviceName");
    if !skips.service_name && !service.is_empty() {
        errors.faults(&SPEC.child("serviceName"), service, dns_label(service));
    }
    selector(errors, spec, "statefulset");
    let template = spec.at("template");
    match selectors::matches(spec.part("selector"), template.at("metadata").at("labels")) {
        Match::Unreadable => errors.invalid(&SPEC.child("selector"), spec.get("selector"), ""),
        found => {
            let path = SPEC.child("template");
            if let Match::Fits(false) = found {
                errors.invalid(&path.child("metadata.labels"), shown_labels(template), MISMATCH);
            }
            let template = with_claims(spec);
            if !skips.template {
                pods::template(errors, &path, &template, options);
            }
            let meta = template.at("metadata");
            syntax::labels(errors, &path.child("labels"), meta.entries("labels"));
            let notes = path.child("annotations");
            metadata::annotations(errors, &notes, meta);
            pods::annotations(errors, &notes, meta, template.at("spec"), options);
        }
    }
    lasting_pod(
        errors,
        &SPEC.child("template.spec"),
        template.at("spec"),
        "StatefulSet",
    );
}

/// Returns the template with the volumes that the set's claims become, and without what the set decides itself.
fn with_claims(spec: &Fields) -> Fields {
    let mut template = spec.at("template").clone();
    let mut pod = template.at("spec").clone();
    pod.remove("subdomain");
    pod.remove("hostname");
    let names: Vec<&str> = spec
        .items("volumeClaimTemplates")
        .map(|claim| claim.at("metadata").text("name"))
        .collect();
    if !names.is_empty() {
        let mut volumes: Vec<Value> = names
            .iter()
            .map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}))
            .collect();
        volumes.dedup();
        let others = pod
            .items("volumes")
            .filter(|volume| !names.contains(&volume.text("name")));
        volumes.extend(others.cloned().map(Value::Object));
        pod.insert("volumes".to_owned(), Value::Array(volumes));
    }
    template.insert("spec".to_owned(), Value::Object(pod));
    template
}

fn strategy(errors: &mut Errors, spec: &Fields) {
    let path = SPEC.child("updateStrategy");
    let strategy = spec.at("updateStrategy");
    let rolling_path = path.child("rollingUpdate");
    match strategy.text("type") {
        "" => errors.required(&path, ""),
        "OnDelete" => {
            if strategy.has("rollingUpdate") {
                errors.invalid(
                    &rolling_path,
                    internal::shown(
                        "apps.RollingUpdateStatefulSetStrategy",
                        strategy.get("rollingUpdate"),
                    ),
                    "only allowed for updateStrategy 'RollingUpdate'",
                );
            }
        }
        "RollingUpdate" => {
            let rolling = strategy.at("rollingUpdate");
            errors.not_negative(&rolling_path.child("partition"), rolling.number("partition"));
            if let Some(value) = rolling.set_value("maxUnavailable") {
                let path = rolling_path.child("maxUnavailable");
                number_or_percentage(errors, &path, value);
                if amount(Some(value)) == 0 {
                    errors.invalid(&path, value, "cannot be 0");
                }
                not_above_all(errors, &path, value);
            }
        }
        _ => errors.invalid(
            &path,
            internal::shown("apps.StatefulSetUpdateStrategy", spec.get("updateStrategy")),
            "must be 'RollingUpdate' or 'OnDelete'",
        ),
    }
}

/// Checks a status of a `StatefulSet`.
pub(in super::super) fn check_status(errors: &mut Errors, new: &Fields, old: &Fields) {
    let status = new.at("status");
    numbers(
        errors,
        &STATUS,
        status,
        &[
            "replicas",
            "readyReplicas",
            "currentReplicas",
            "updatedReplicas",
            "availableReplicas",
            "observedGeneration",
            "collisionCount",
        ],
    );
    counts(
        errors,
        status,
        &[
            "readyReplicas",
            "currentReplicas",
            "updatedReplicas",
            "availableReplicas",
        ],
    );
    available(errors, status, "status.readyReplicas");
    metadata::check_update(errors, "apps", new, old);
    collisions(errors, status, old.at("status"));
}
