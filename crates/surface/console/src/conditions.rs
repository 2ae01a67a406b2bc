//! Conditions and states, as pages show them.

use api::condition::{Condition, ConditionStatus, find};
use api::{ClusterCatalog, ClusterExtension, keys};
use jiff::Timestamp;
use serde_json::Value;

use crate::marks::{Moment, Pill, Tone};

/// Conditions that are bad news when they hold.
const BAD_NEWS: [&str; 7] = [
    "Deprecated",
    "Degraded",
    "Failed",
    "Irreconcilable",
    "ReleaseFailed",
    "Missing",
    "Unhealthy",
];

/// Conditions that say, when they hold, that something is under way.
const UNDER_WAY: [&str; 3] = ["Pending", "Unpacking", "Retrying"];

/// Conditions that say what somebody chose, which is neither good nor bad.
const CHOSEN: [&str; 1] = ["Paused"];

/// How much of a message is shown; a kind may write anything of any length.
const LONGEST_MESSAGE: usize = 4_000;

/// A row of the table of conditions.
pub(crate) struct ConditionRow {
    pub(crate) kind: String,
    pub(crate) pill: Pill,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) since: Option<Moment>,
}

/// The rows of conditions of baton's own kinds.
pub(crate) fn rows(conditions: &[Condition], now: Timestamp) -> Vec<ConditionRow> {
    let row = |condition: &Condition| ConditionRow {
        kind: condition.kind.clone(),
        pill: pill(&condition.kind, condition.status.as_str()),
        reason: condition.reason.clone(),
        message: shortened(&condition.message),
        since: Some(Moment::new(condition.last_transition_time, now)),
    };
    conditions.iter().map(row).collect()
}

/// The rows of conditions of any kind, as far as it has them in the usual form.
pub(crate) fn rows_of(object: &Value, now: Timestamp) -> Vec<ConditionRow> {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let text = |condition: &Value, field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    let row = |condition: &Value| {
        let kind = text(condition, "type");
        let since = text(condition, "lastTransitionTime").parse().ok();
        ConditionRow {
            pill: pill(&kind, &text(condition, "status")),
            reason: text(condition, "reason"),
            message: shortened(&text(condition, "message")),
            since: since.map(|since| Moment::new(since, now)),
            kind,
        }
    };
    conditions.into_iter().flatten().map(row).collect()
}

/// The message of a condition, if it is as it shall be.
pub(crate) fn message_of<'a>(object: &'a Value, kind: &str, status: ConditionStatus) -> Option<&'a str> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    let found = conditions
        .iter()
        .find(|condition| condition["type"] == kind && condition["status"] == status.as_str())?;
    found["message"].as_str()
}

fn pill(kind: &str, status: &str) -> Pill {
    let is_one_of = |endings: &[&str]| endings.iter().any(|ending| kind.ends_with(ending));
    let is_bad_news = is_one_of(&BAD_NEWS);
    let is_under_way = is_one_of(&UNDER_WAY);
    let tone = match (is_bad_news, status) {
        _ if is_one_of(&CHOSEN) => Tone::Idle,
        _ if is_under_way => match status {
            "True" => Tone::Busy,
            _ => Tone::Idle,
        },
        (true, "True") => Tone::Bad,
        (false, "True") => Tone::Good,
        (true, "False") | (_, "Unknown") => Tone::Idle,
        _ => Tone::Warning,
    };
    Pill::new(tone, status)
}

pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_MESSAGE) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// How an extension is, in a word or two.
pub(crate) fn of_extension(extension: &ClusterExtension) -> Pill {
    let annotation = |key: &str| {
        let annotations = extension.metadata.annotations.as_ref()?;
        annotations.get(key).map(String::as_str)
    };
    if extension.metadata.deletion_timestamp.is_some() {
        return Pill::new(Tone::Busy, "Leaving");
    }
    let installed = find(&extension.status.conditions, "Installed");
    let is_installed = installed.is_some_and(|said| said.status == ConditionStatus::True);
    let Some(progressing) = find(&extension.status.conditions, "Progressing") else {
        return Pill::new(Tone::Idle, "Not seen yet");
    };
    if progressing.observed_generation < extension.generation() {
        return Pill::new(Tone::Busy, "Not seen yet");
    }
    let is_paused = annotation(keys::PAUSE) == Some("true");
    match (progressing.status, progressing.reason.as_str()) {
        // What waits is blocked by design, and nothing is wrong with it.
        _ if annotation(keys::WAITING).is_some() && is_paused => Pill::new(Tone::Idle, "Paused"),
        _ if annotation(keys::WAITING).is_some() => Pill::new(Tone::Warning, "Upgrade waits"),
        (ConditionStatus::False, reason) => Pill::new(Tone::Bad, reason),
        _ if is_paused => Pill::new(Tone::Idle, "Paused"),
        (_, "Succeeded") if is_installed => Pill::new(Tone::Good, "Installed"),
        (_, "RollingOut") => Pill::new(Tone::Busy, "Rolling out"),
        (_, reason) => Pill::new(Tone::Warning, reason),
    }
}

/// How a catalog is, in a word or two.
pub(crate) fn of_catalog(catalog: &ClusterCatalog) -> Pill {
    if catalog.metadata.deletion_timestamp.is_some() {
        return Pill::new(Tone::Busy, "Leaving");
    }
    let find = |kind| find(&catalog.status.conditions, kind);
    match (find("Serving"), find("Progressing")) {
        (Some(serving), Some(progressing))
            if serving.status == ConditionStatus::True && progressing.reason == "Retrying" =>
        {
            Pill::new(Tone::Warning, "Serving, retrying")
        }
        (Some(serving), _) if serving.status == ConditionStatus::True => Pill::new(Tone::Good, "Serving"),
        (_, Some(progressing)) if progressing.reason == "Blocked" => Pill::new(Tone::Bad, "Blocked"),
        (_, Some(progressing)) if progressing.reason == "Retrying" => Pill::new(Tone::Bad, "Retrying"),
        (Some(serving), _) => Pill::new(Tone::Idle, serving.reason.clone()),
        (None, _) => Pill::new(Tone::Idle, "Not seen yet"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    fn extension(annotations: Value, conditions: &[(&str, &str, &str)]) -> ClusterExtension {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(kind, status, reason)| {
                json!({"type": kind, "status": status, "reason": reason, "message": "", "observedGeneration": 1,
                    "lastTransitionTime": "2026-01-01T00:00:00Z"})
            })
            .collect();
        from_value(json!({
            "metadata": {"name": "web", "generation": 1, "annotations": annotations},
            "spec": {"namespace": "web", "source": {"sourceType": "Catalog", "catalog": {"packageName": "web"}}},
            "status": {"conditions": conditions},
        }))
        .expect("an extension")
    }

    #[test]
    fn the_state_of_an_extension_is_told_in_a_word() {
        let installed = ("Installed", "True", "Succeeded");
        let rolling = ("Progressing", "True", "RollingOut");
        let succeeded = ("Progressing", "True", "Succeeded");
        let blocked = ("Progressing", "False", "Blocked");
        let retrying = ("Progressing", "True", "Retrying");
        let paused = json!({keys::PAUSE: "true"});
        let waiting = json!({keys::WAITING: "1.2.0"});
        for (annotations, conditions, tone, word) in [
            (json!({}), &[][..], Tone::Idle, "Not seen yet"),
            (json!({}), &[installed, succeeded][..], Tone::Good, "Installed"),
            (json!({}), &[installed, rolling][..], Tone::Busy, "Rolling out"),
            (json!({}), &[retrying][..], Tone::Warning, "Retrying"),
            (
                waiting.clone(),
                &[installed, succeeded][..],
                Tone::Warning,
                "Upgrade waits",
            ),
            (waiting, &[installed, blocked][..], Tone::Warning, "Upgrade waits"),
            (paused.clone(), &[installed, succeeded][..], Tone::Idle, "Paused"),
            (paused, &[blocked][..], Tone::Bad, "Blocked"),
        ] {
            assert_eq!(
                of_extension(&extension(annotations, conditions)),
                Pill::new(tone, word)
            );
        }
    }

    #[test]
    fn a_condition_has_the_colour_of_its_news() {
        assert_eq!(pill("Deprecated", "True").tone, Tone::Bad);
        assert_eq!(pill("Deprecated", "False").tone, Tone::Idle);
        assert_eq!(pill("BundleDeprecated", "False").tone, Tone::Idle);
        assert_eq!(pill("ReleaseFailed", "True").tone, Tone::Bad);
        assert_eq!(pill("CatalogSourcesUnhealthy", "False").tone, Tone::Idle);
        assert_eq!(pill("InstallPlanMissing", "True").tone, Tone::Bad);
        assert_eq!(pill("InstallPlanPending", "True").tone, Tone::Busy);
        assert_eq!(pill("InstallPlanPending", "False").tone, Tone::Idle);
        assert_eq!(pill("Retrying", "True").tone, Tone::Busy);
        assert_eq!(pill("Paused", "True").tone, Tone::Idle);
        assert_eq!(pill("Paused", "False").tone, Tone::Idle);
        assert_eq!(pill("Irreconcilable", "False").tone, Tone::Idle);
        assert_eq!(pill("Installed", "True").tone, Tone::Good);
        assert_eq!(pill("Installed", "False").tone, Tone::Warning);
    }
}
