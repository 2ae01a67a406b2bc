//! Jobs and `CronJobs`.

mod indexes;
mod policies;
mod schedule;
mod status;

use schema::structural::name_rules::dns_label;
use serde_json::Value;

use super::pods::{self, Options};
use super::reading::Reading;
use super::report::{Errors, Path, Shown, listed};
use super::selectors::{self, Match};
use super::workloads::{shown_labels, unchanged};
use super::{internal, metadata, syntax};
use crate::tree::{Fields, Tree, same};

pub(super) use status::check as check_status;

const SPEC: Path<'_> = Path::new("spec");

/// The most pods at a time of a Job whose pods are counted, and the most of those that may fail.
const MOST_PARALLEL: i64 = 100_000;
/// From how many completions on less is allowed, and how much.
const MANY_COMPLETIONS: i64 = 100_000;
const LESS_PARALLEL: i64 = 10_000;

/// Checks a new Job.
pub(super) fn check(errors: &mut Errors, job: &Fields) {
    whole(errors, job, true, &Options::of_template(), false);
}

fn whole(
    errors: &mut Errors,
    job: &Fields,
    demands_labels: bool,
    options: &Options,
    allows_selector_values: bool,
) {
    metadata::check(errors, "batch", "Job", job);
    generated_selector(errors, job, demands_labels);
    full_spec(errors, job.at("spec"), options, allows_selector_values);
    let (spec, name) = (job.at("spec"), job.at("metadata").text("name"));
    if is_indexed(spec)
        && let Some(completions) = spec.set_number("completions").filter(|count| *count > 0)
    {
        let longest = format!("{name}-{}", completions - 1);
        if !dns_label(&longest).is_empty() {
            errors.invalid(
                &Path::new("metadata.name"),
                name,
                format!("will not able to create pod with invalid DNS label: {longest}"),
            );
        }
    }
}

fn is_indexed(spec: &Fields) -> bool {
    spec.text("completionMode") == "Indexed"
}

const LABELS: [(&str, bool); 4] = [
    ("controller-uid", true),
    ("job-name", false),
    ("batch.kubernetes.io/controller-uid", true),
    ("batch.kubernetes.io/job-name", false),
];

/// Checks that the selector and the labels are those that the server makes, unless the owner wants others.
fn generated_selector(errors: &mut Errors, job: &Fields, demands_labels: bool) {
    let spec = job.at("spec");
    if spec.flag("manualSelector") || !spec.has("selector") {
        return;
    }
    let meta = job.at("metadata");
    let (uid, name) = (meta.text("uid"), meta.text("name"));
    if uid.is_empty() {
        errors.required(&Path::new("metadata.uid"), "");
    }
    let template = spec.at("template");
    let labels = template.at("metadata").at("labels");
    let path = Path::new("spec.template.metadata.labels");
    let mut expected = Fields::new();
    let count = if demands_labels { 4 } else { 2 };
    for (key, is_uid) in LABELS.into_iter().take(count) {
        let value = if is_uid { uid } else { name };
        expected.set(key, value);
        match labels.set_text(key) {
            None => errors.required(&path.key(key), format!("must be '{value}'")),
            Some(label) if label != value => errors.invalid(
                &path.key(key),
                shown_labels(template),
                format!("must be '{value}'"),
            ),
            Some(_) => {}
        }
    }
    if let Match::Fits(false) = selectors::matches(spec.part("selector"), &expected) {
        errors.invalid(
            &SPEC.child("selector"),
            spec.get("selector"),
            "`selector` not auto-generated",
        );
    }
}

fn full_spec(errors: &mut Errors, spec: &Fields, options: &Options, allows_selector_values: bool) {
    plain_spec(errors, &SPEC, spec, options);
    let path = SPEC.child("selector");
    if spec.has("selector") {
        selectors::check(errors, &path, spec.part("selector"), allows_selector_values);
    } else {
        errors.required(&path, "");
    }
    let template = spec.at("template");
    if let Match::Fits(false) =
        selectors::matches(spec.part("selector"), template.at("metadata").at("labels"))
    {
        errors.invalid(
            &SPEC.child("template.metadata.labels"),
            shown_labels(template),
            "`selector` does not match template `labels`",
        );
    }
}

/// Checks what Jobs and templates of Jobs share.
fn plain_spec(errors: &mut Errors, path: &Path<'_>, spec: &Fields, options: &Options) {
    for name in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        errors.not_negative(&path.child(name), spec.number(name));
    }
    if spec.has("maxFailedIndexes") && !spec.has("backoffLimitPerIndex") {
        errors.required(
            &path.child("backoffLimitPerIndex"),
            "when maxFailedIndexes is specified",
        );
    }
    if let Some(manager) = spec.set_text("managedBy") {
        /// The longest name of who looks after a Job.
        const MOST_BYTES: usize = 63;
        let path = path.child("managedBy");
        syntax::domain_with_path(errors, &path, manager);
        if manager.len() > MOST_BYTES {
            errors.too_long(&path, MOST_BYTES);
        }
    }
    completion(errors, path, spec);
    if spec.has("podFailurePolicy") {
        policies::failure(errors, &path.child("podFailurePolicy"), spec);
    }
    if spec.has("successPolicy") {
        let path = path.child("successPolicy");
        if is_indexed(spec) {
            policies::success(errors, &path, spec);
        } else {
            errors.invalid(
                &path,
                internal::shown("batch.SuccessPolicy", spec.get("successPolicy")),
                "requires indexed completion mode",
            );
        }
    }
    if let Some(policy) = spec.set_text("podReplacementPolicy") {
        let supported: &[&str] = if spec.has("podFailurePolicy") {
            &["Failed"]
        } else {
            &["Failed", "TerminatingOrFailed"]
        };
        errors.one_of_if_set(&path.child("podReplacementPolicy"), Some(policy), supported);
    }
    pods::template(errors, &path.child("template"), spec.at("template"), options);
    let restart = spec.at("template").at("spec").text("restartPolicy");
    let path = path.child("template.spec.restartPolicy");
    match restart {
        "" | "Always" => errors.required(&path, "valid values: \"OnFailure\", \"Never\""),
        "OnFailure" if spec.has("podFailurePolicy") => errors.invalid(
            &path,
            restart,
            "only \"Never\" is supported when podFailurePolicy is specified",
        ),
        "OnFailure" | "Never" => {}
        other => errors.not_supported(&path, other, &["OnFailure", "Never"]),
    }
}

fn completion(errors: &mut Errors, path: &Path<'_>, spec: &Fields) {
    let mode = spec.set_text("completionMode");
    errors.one_of_if_set(&path.child("completionMode"), mode, &["NonIndexed", "Indexed"]);
    let (completions, parallel) = (spec.set_number("completions"), spec.set_number("parallelism"));
    let (limit, failed) = (
        spec.set_number("backoffLimitPerIndex"),
        spec.set_number("maxFailedIndexes"),
    );
    let (parallel_path, failed_path) = (path.child("parallelism"), path.child("maxFailedIndexes"));
    if mode == Some("Indexed") {
        if completions.is_none() {
            errors.required(&path.child("completions"), "when completion mode is Indexed");
        }
        if let Some(parallel) = parallel.filter(|count| *count > MOST_PARALLEL) {
            errors.invalid(
                &parallel_path,
                parallel,
                format!("must be less than or equal to {MOST_PARALLEL} when completion mode is Indexed"),
            );
        }
        if let (Some(completions), Some(failed)) = (completions, failed)
            && failed > completions
        {
            errors.invalid(&failed_path, failed, "must be less than or equal to completions");
        }
        if let Some(failed) = failed.filter(|count| *count > MOST_PARALLEL) {
            errors.invalid(
                &failed_path,
                failed,
                format!("must be less than or equal to {MOST_PARALLEL}"),
            );
        }
        if completions.is_some_and(|count| count > MANY_COMPLETIONS) && limit.is_some() {
            let rule = format!(
                "must be less than or equal to {LESS_PARALLEL} when completions are above {MANY_COMPLETIONS} and used \
                 with backoff limit per index"
            );
            if failed.is_none() {
                errors.required(
                    &failed_path,
                    format!("must be specified when completions is above {MANY_COMPLETIONS}"),
                );
            }
            if let Some(parallel) = parallel.filter(|count| *count > LESS_PARALLEL) {
                errors.invalid(&parallel_path, parallel, rule.as_str());
            }
            if let Some(failed) = failed.filter(|count| *count > LESS_PARALLEL) {
                errors.invalid(&failed_path, failed, rule);
            }
        }
    }
    if mode.is_none_or(|mode| mode == "NonIndexed") {
        if let Some(limit) = limit {
            errors.invalid(
                &path.child("backoffLimitPerIndex"),
                limit,
                "requires indexed completion mode",
            );
        }
        if let Some(failed) = failed {
            errors.invalid(&failed_path, failed, "requires indexed completion mode");
        }
    }
}

/// Checks an update of a Job.
pub(super) fn check_update(errors: &mut Errors, new: &Fields, old: &Fields) {
    let (spec, before) = (new.at("spec"), old.at("spec"));
    let options = Options::of_changed_template(before.at("template"));
    let allows_values =
        options.allows.selector_values || selectors::has_wrong_values(before.part("selector"));
    let labels = before.at("template").at("metadata").at("labels");
    let had_labels = LABELS.iter().skip(2).all(|(key, _)| labels.has(key));
    whole(errors, new, had_labels, &options, allows_values);
    metadata::check_update(errors, "batch", new, old);
    full_spec(errors, spec, &options, allows_values);
    completions_update(errors, spec, before);
    unchanged(errors, &SPEC, spec, before, "selector");
    template_update(errors, spec, before, old.at("status"));
    unchanged(errors, &SPEC, spec, before, "completionMode");
    for (name, kind) in [
        ("podFailurePolicy", Some("batch.PodFailurePolicy")),
        ("backoffLimitPerIndex", None),
        ("managedBy", None),
        ("successPolicy", Some("batch.SuccessPolicy")),
    ] {
        match kind {
            None => unchanged(errors, &SPEC, spec, before, name),
            Some(kind) => {
                if !spec.is_same(before, name) {
                    errors.invalid(
                        &SPEC.child(name),
                        internal::shown_if_set(kind, spec.get(name)),
                        "field is immutable",
                    );
                }
            }
        }
    }
}

fn completions_update(errors: &mut Errors, spec: &Fields, before: &Fields) {
    if !is_indexed(spec) {
        unchanged(errors, &SPEC, spec, before, "completions");
        return;
    }
    if spec.get("completions") == before.get("completions") {
        return;
    }
    if let Some(completions) = spec.set_number("completions")
        && completions != spec.number("parallelism")
    {
        errors.invalid(
            &SPEC.child("completions"),
            completions,
            "can only be modified in tandem with spec.parallelism",
        );
    }
}

/// Lets where pods run change while the Job waits, and what they ask for.
fn template_update(errors: &mut Errors, spec: &Fields, before: &Fields, status: &Fields) {
    let is_suspended = before.flag("suspend");
    let has_condition = status
        .items("conditions")
        .any(|one| one.text("type") == "Suspended" && one.text("status") == "True");
    let may_change =
        is_suspended && (!status.has("startTime") || has_condition) && status.number("active") == 0;
    let new = spec.at("template");
    let mut old = before.at("template").clone();
    if may_change {
        let mut pod = old.at("spec").clone();
        let mut affinity = pod.at("affinity").clone();
        affinity.take_from(Some(new.at("spec").at("affinity")), "nodeAffinity");
        if affinity.is_empty() && !new.at("spec").has("affinity") {
            pod.remove("affinity");
        } else {
            pod.set("affinity", Value::Object(affinity));
        }
        for name in ["nodeSelector", "tolerations", "schedulingGates"] {
            pod.take_from(Some(new.at("spec")), name);
        }
        let mut meta = old.at("metadata").clone();
        for name in ["annotations", "labels"] {
            meta.take_from(Some(new.at("metadata")), name);
        }
        old.set("spec", Value::Object(pod));
        old.set("metadata", Value::Object(meta));
        let mut pod = old.at("spec").clone();
        for list in ["containers", "initContainers"] {
            let Some(Value::Array(items)) = pod.get_mut(list) else {
                continue;
            };
            if items.len() != new.at("spec").list(list).len() {
                continue;
            }
            for (item, container) in items.iter_mut().zip(new.at("spec").items(list)) {
                if let Value::Object(item) = item
                    && item.text("name") == container.text("name")
                {
                    item.take_from(Some(container), "resources");
                }
            }
        }
        if !same(new.get("spec"), Some(&Value::Object(pod))) {
            errors.invalid(
                &SPEC.child("template.spec"),
                internal::shown("core.PodSpec", new.get("spec")),
                "field is immutable",
            );
        }
    } else if !same(spec.get("template"), Some(&Value::Object(old))) {
        errors.invalid(
            &SPEC.child("template"),
            internal::shown("core.PodTemplateSpec", spec.get("template")),
            "field is immutable",
        );
    }
}

/// Checks a `CronJob`; `old` is the one that it replaces.
pub(super) fn cron_job(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    /// The longest name: that of a Job must have room for a time behind it.
    const MOST_BYTES: usize = 52;
    match old {
        None => metadata::check(errors, "batch", "CronJob", object),
        Some(old) => metadata::check_update(errors, "batch", object, old),
    }
    cron_spec(errors, object.at("spec"), old.map(|old| old.at("spec")));
    let name = object.at("metadata").text("name");
    if old.is_none() && name.len() > MOST_BYTES {
        errors.invalid(
            &Path::new("metadata.name"),
            name,
            "must be no more than 52 characters",
        );
    }
}

fn cron_spec(errors: &mut Errors, spec: &Fields, old: Option<&Fields>) {
    let text = spec.text("schedule");
    let path = SPEC.child("schedule");
    if text.is_empty() {
        errors.required(&path, "");
    } else {
        if let Some(fault) = schedule::fault(text) {
            errors.invalid(&path, text, fault);
        }
        let may_have_zone = old.is_some_and(|old| old.text("schedule").contains("TZ"));
        if text.contains("TZ") {
            if !may_have_zone {
                errors.invalid(
                    &path,
                    text,
                    "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
                );
            } else if spec.has("timeZone") {
                errors.invalid(
                    &path,
                    text,
                    "cannot use both timeZone field and TZ or CRON_TZ in schedule",
                );
            }
        }
    }
    let seconds = spec.number("startingDeadlineSeconds");
    errors.not_negative(&SPEC.child("startingDeadlineSeconds"), seconds);
    let zone = spec.set_text("timeZone");
    if old.is_none_or(|old| old.set_text("timeZone") != zone)
        && let Some(zone) = zone
    {
        schedule::time_zone(errors, &SPEC.child("timeZone"), zone);
    }
    errors.one_of(
        &SPEC.child("concurrencyPolicy"),
        spec.text("concurrencyPolicy"),
        &["Allow", "Forbid", "Replace"],
    );
    let options = old.map_or_else(Options::of_template, |old| {
        Options::of_changed_template(old.at("jobTemplate").at("spec").at("template"))
    });
    let path = SPEC.child("jobTemplate.spec");
    let job = spec.at("jobTemplate").at("spec");
    plain_spec(errors, &path, job, &options);
    if let Some(selector) = job.set_value("selector") {
        errors.invalid(
            &path.child("selector"),
            selector,
            "`selector` will be auto-generated",
        );
    }
    if job.flag("manualSelector") {
        errors.not_supported(&path.child("manualSelector"), true, &["nil", "false"]);
    }
    for name in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        errors.not_negative(&SPEC.child(name), spec.number(name));
    }
}

/// Returns a list of values that are valid, as a detail shows it.
fn valid(values: &[&str]) -> String {
    let quoted: Vec<String> = values.iter().map(Shown::shown).collect();
    format!("valid values: [{}]", quoted.join(" "))
}

/// Returns a list as errors show it.
fn shown_list(fields: &Fields, name: &str) -> super::report::Raw {
    listed(fields.get(name))
}
