//! The status of a custom resource: upstream's conditions and release, and what baton adds.
//!
//! ```text
//! Initialized, Deployed, ReleaseFailed, Irreconcilable, Paused   upstream's
//! Ready, Retrying, Selected, Valid, observedGeneration, drift, retry   baton's
//! ```

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use api::condition::ConditionStatus;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// The aspects that conditions are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Aspect {
    /// A release is there.
    Deployed,
    /// The resource was looked at.
    Initialized,
    /// It can't be made true.
    Irreconcilable,
    /// Nobody may change anything of it.
    Paused,
    /// What the release made really works; baton's own.
    Ready,
    /// The last try failed.
    ReleaseFailed,
    /// What failed is tried again, and when; baton's own, said only while that is so.
    Retrying,
    /// Whether an operator looks after the resource; baton's own, said only where none does.
    Selected,
    /// Whether the chart's schema allows what the resource says; baton's own, said only where it doesn't.
    Valid,
}

impl Aspect {
    fn as_str(self) -> &'static str {
        match self {
            Self::Deployed => "Deployed",
            Self::Initialized => "Initialized",
            Self::Irreconcilable => "Irreconcilable",
            Self::Paused => "Paused",
            Self::Ready => "Ready",
            Self::ReleaseFailed => "ReleaseFailed",
            Self::Retrying => "Retrying",
            Self::Selected => "Selected",
            Self::Valid => "Valid",
        }
    }
}

/// What is said of an aspect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The aspect.
    pub aspect: Aspect,
    /// Whether it holds.
    pub truth: ConditionStatus,
    /// Why, in one word; may be empty.
    pub reason: &'static str,
    /// Why, for a person; may be empty.
    pub message: String,
}

impl Statement {
    /// Says that an aspect holds or not, without a reason.
    pub fn plain(aspect: Aspect, truth: ConditionStatus) -> Self {
        Self {
            aspect,
            truth,
            reason: "",
            message: String::new(),
        }
    }

    /// Says that an aspect holds or not, and why.
    pub fn new(
        aspect: Aspect,
        truth: ConditionStatus,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            aspect,
            truth,
            reason,
            message: message.into(),
        }
    }
}

/// The release in the status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeployedRelease {
    /// Its name.
    pub name: String,
    /// Its objects, as YAML.
    pub manifest: String,
}

/// A manifest that is longer stays out of the status, where it would make the resource too large to store.
const LONGEST_MANIFEST: usize = 400 << 10;

/// What becomes of the release in the status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum ReleaseChange {
    /// Nothing.
    #[default]
    Same,
    /// There is none.
    Gone,
    /// It is this one.
    There(DeployedRelease),
}

/// The next try of a resource whose last one failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// Its number; the first try is 1.
    pub attempt: u32,
    /// When it is due.
    pub at: Timestamp,
    /// Tells what is tried from what the resource or another chart asked for before.
    pub of: String,
}

impl Retry {
    /// Reads the next try that a status names, whoever wrote it.
    pub fn read(status: &Value) -> Option<Self> {
        let retry = status.get("retry")?;
        let text = |field: &str| retry.get(field).and_then(Value::as_str);
        Some(Self {
            attempt: u32::try_from(retry.get("attempt")?.as_u64()?).ok()?,
            at: text("nextTryAt")?.parse().ok()?,
            of: text("of")?.to_owned(),
        })
    }

    fn write(&self) -> Value {
        json!({"attempt": self.attempt, "nextTryAt": seconds(self.at), "of": self.of})
    }

    fn in_words(&self) -> String {
        format!(
            "next try at {}, attempt {}",
            self.at.strftime("%H:%M:%SZ"),
            self.attempt
        )
    }
}

/// A time as Kubernetes writes it.
fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// What was found otherwise than the chart has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drift {
    /// The fields that were set back now, object by object; what is said of earlier ones stays where there are none.
    pub repaired: Vec<String>,
    /// The fields that are left to others, and to whom.
    pub left: Vec<String>,
}

impl Drift {
    /// Reads what a status says is left to others.
    pub fn left(status: &Value) -> Vec<String> {
        let lines = status.pointer("/drift/left").and_then(Value::as_array);
        let lines = lines.into_iter().flatten();
        lines
            .filter_map(|line| line.as_str().map(str::to_owned))
            .collect()
    }
}

/// What becomes of the next try in the status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum RetryChange {
    /// Nothing.
    #[default]
    Same,
    /// Nothing failed.
    Gone,
    /// It is this one.
    Next(Retry),
}

/// What becomes of a status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusChange {
    statements: Vec<Statement>,
    release: ReleaseChange,
    removed: Vec<Aspect>,
    observed_generation: Option<i64>,
    drift: Option<Drift>,
    retry: RetryChange,
}

impl StatusChange {
    /// Says something; what is said later of the same aspect wins.
    pub fn say(&mut self, statement: Statement) -> &mut Self {
        self.removed.retain(|aspect| *aspect != statement.aspect);
        self.statements.push(statement);
        self
    }

    /// Says nothing of an aspect any more.
    pub fn unsay(&mut self, aspect: Aspect) -> &mut Self {
        self.statements.retain(|statement| statement.aspect != aspect);
        self.removed.push(aspect);
        self
    }

    /// Names the release that is there, or that there is none.
    pub fn release(&mut self, release: Option<DeployedRelease>) -> &mut Self {
        self.release = release.map_or(ReleaseChange::Gone, ReleaseChange::There);
        self
    }

    /// Names the generation that the status is about.
    pub fn observed(&mut self, generation: i64) -> &mut Self {
        self.observed_generation = Some(generation);
        self
    }

    /// Names the fields that were found changed.
    pub fn drift(&mut self, drift: Drift) -> &mut Self {
        self.drift = Some(drift);
        self
    }

    /// Says when what failed is tried again, and why if no other condition says it.
    pub fn retry(&mut self, retry: Retry, cause: &str) -> &mut Self {
        let mut message = retry.in_words();
        if !cause.is_empty() {
            message = format!("{message}: {cause}");
        }
        self.retry = RetryChange::Next(retry);
        self.say(Statement::new(
            Aspect::Retrying,
            ConditionStatus::True,
            "BackOff",
            message,
        ))
    }

    /// Says that nothing is to be tried again.
    pub fn no_retry(&mut self) -> &mut Self {
        self.retry = RetryChange::Gone;
        self.unsay(Aspect::Retrying)
    }

    /// Returns the new status, if it differs from the one before, which is a [shortened](shorten) one.
    pub fn apply(&self, before: &Map<String, Value>, now: Timestamp) -> Option<Map<String, Value>> {
        let mut conditions = read_conditions(before);
        for aspect in &self.removed {
            conditions.retain(|condition| text(condition, "type") != aspect.as_str());
        }
        for statement in &self.statements {
            set(&mut conditions, statement, now);
        }
        conditions.sort_by(|left, right| text(left, "type").cmp(text(right, "type")));
        let mut after = before.clone();
        after.insert("conditions".to_owned(), Value::Array(conditions));
        match &self.release {
            ReleaseChange::Same => {}
            ReleaseChange::Gone => {
                after.remove("deployedRelease");
            }
            ReleaseChange::There(release) => {
                let mut value = json!({"name": release.name});
                let mut shortened = value.clone();
                if release.manifest.len() <= LONGEST_MANIFEST {
                    value["manifest"] = Value::String(release.manifest.clone());
                    shortened["manifest"] = Value::String(mark(&release.manifest));
                }
                if before.get("deployedRelease") != Some(&shortened) {
                    after.insert("deployedRelease".to_owned(), value);
                }
            }
        }
        if let Some(generation) = self.observed_generation {
            after.insert("observedGeneration".to_owned(), json!(generation));
        }
        match &self.drift {
            None => {}
            Some(Drift { repaired, left }) => {
                let mut report = match after.remove("drift") {
                    Some(Value::Object(report)) => report,
                    _ => Map::new(),
                };
                if !repaired.is_empty() {
                    report.insert("repairedAt".to_owned(), json!(seconds(now)));
                    report.insert("fields".to_owned(), json!(repaired));
                }
                if left.is_empty() {
                    report.remove("left");
                } else {
                    report.insert("left".to_owned(), json!(left));
                }
                if !report.is_empty() {
                    after.insert("drift".to_owned(), Value::Object(report));
                }
            }
        }
        match &self.retry {
            RetryChange::Same => {}
            RetryChange::Gone => {
                after.remove("retry");
            }
            RetryChange::Next(retry) => {
                after.insert("retry".to_owned(), retry.write());
            }
        }
        (after != *before).then_some(after)
    }
}

/// Cuts the manifest of the release in a status to a mark of it: it is most of a resource, and is only ever compared.
pub fn shorten(status: &mut Map<String, Value>) {
    let release = status.get_mut("deployedRelease").and_then(Value::as_object_mut);
    if let Some(Value::String(manifest)) = release.and_then(|release| release.get_mut("manifest")) {
        *manifest = mark(manifest);
    }
}

/// Tells a manifest from others.
fn mark(manifest: &str) -> String {
    let mut hasher = DefaultHasher::new();
    manifest.hash(&mut hasher);
    format!("{}:{:016x}", manifest.len(), hasher.finish())
}

fn text<'a>(condition: &'a Value, field: &str) -> &'a str {
    condition.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn read_conditions(status: &Map<String, Value>) -> Vec<Value> {
    let conditions = status.get("conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .filter(|condition| !text(condition, "type").is_empty())
        .cloned()
        .collect()
}

/// Sets a condition; its time changes only with its truth.
fn set(conditions: &mut Vec<Value>, statement: &Statement, now: Timestamp) {
    let kind = statement.aspect.as_str();
    let place = conditions
        .iter()
        .position(|condition| text(condition, "type") == kind);
    let since = place
        .and_then(|place| conditions.get(place))
        .filter(|before| text(before, "status") == statement.truth.as_str())
        .map(|before| text(before, "lastTransitionTime").to_owned())
        .filter(|since| !since.is_empty());
    let since = since.unwrap_or_else(|| seconds(now));
    let mut condition =
        json!({"type": kind, "status": statement.truth.as_str(), "lastTransitionTime": since});
    if !statement.reason.is_empty() {
        condition["reason"] = json!(statement.reason);
    }
    if !statement.message.is_empty() {
        condition["message"] = json!(statement.message);
    }
    match place.and_then(|place| conditions.get_mut(place)) {
        Some(before) => *before = condition,
        None => conditions.push(condition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    #[test]
    fn conditions_are_sorted_and_keep_their_time_while_they_hold() {
        let mut change = StatusChange::default();
        change
            .say(Statement::plain(Aspect::Initialized, ConditionStatus::True))
            .say(Statement::new(
                Aspect::Deployed,
                ConditionStatus::True,
                "InstallSuccessful",
                "done",
            ))
            .release(Some(DeployedRelease {
                name: "stack".to_owned(),
                manifest: "---\n".to_owned(),
            }))
            .observed(1);
        let first = change.apply(&Map::new(), at(0)).expect("a change");
        assert_eq!(
            Value::Object(first.clone()),
            json!({
                "conditions": [
                    {
                        "type": "Deployed", "status": "True", "reason": "InstallSuccessful", "message": "done",
                        "lastTransitionTime": "1970-01-01T00:00:00Z",
                    },
                    {"type": "Initialized", "status": "True", "lastTransitionTime": "1970-01-01T00:00:00Z"},
                ],
                "deployedRelease": {"name": "stack", "manifest": "---\n"},
                "observedGeneration": 1,
            })
        );
        let mut first = first;
        shorten(&mut first);
        assert_eq!(change.apply(&first, at(60)), None, "the same again is no change");
        let mut other = change.clone();
        other.release(Some(DeployedRelease {
            name: "stack".to_owned(),
            manifest: "--- \n".to_owned(),
        }));
        let changed = other.apply(&first, at(60)).expect("another manifest is a change");
        assert_eq!(changed["deployedRelease"]["manifest"], "--- \n");
        let mut change = StatusChange::default();
        change
            .say(Statement::new(
                Aspect::Deployed,
                ConditionStatus::True,
                "UpgradeSuccessful",
                "more",
            ))
            .say(Statement::plain(Aspect::Initialized, ConditionStatus::False))
            .release(None);
        let second = change.apply(&first, at(60)).expect("a change");
        assert_eq!(
            second["conditions"][0]["lastTransitionTime"],
            "1970-01-01T00:00:00Z"
        );
        assert_eq!(
            second["conditions"][1]["lastTransitionTime"],
            "1970-01-01T00:01:00Z"
        );
        assert!(!second.contains_key("deployedRelease"));
    }

    #[test]
    fn the_next_try_is_said_until_one_goes_well() {
        let retry = Retry {
            attempt: 5,
            at: at(43_420),
            of: "1f".to_owned(),
        };
        let mut change = StatusChange::default();
        change.retry(retry.clone(), "");
        let failed = change.apply(&Map::new(), at(43_404)).expect("a change");
        assert_eq!(
            Value::Object(failed.clone()),
            json!({
                "conditions": [{
                    "type": "Retrying", "status": "True", "reason": "BackOff",
                    "message": "next try at 12:03:40Z, attempt 5", "lastTransitionTime": "1970-01-01T12:03:24Z",
                }],
                "retry": {"attempt": 5, "nextTryAt": "1970-01-01T12:03:40Z", "of": "1f"},
            })
        );
        assert_eq!(Retry::read(&Value::Object(failed.clone())), Some(retry.clone()));
        change.retry(retry, "the server is away");
        let said = change.apply(&failed, at(43_404)).expect("a change");
        assert_eq!(
            said["conditions"][0]["message"],
            "next try at 12:03:40Z, attempt 5: the server is away"
        );
        change.no_retry();
        let good = change.apply(&said, at(43_420)).expect("a change");
        assert_eq!(Value::Object(good.clone()), json!({"conditions": []}));
        assert_eq!(change.apply(&good, at(43_421)), None);
        for broken in [
            json!({}),
            json!({"retry": 5}),
            json!({"retry": {"attempt": -1, "nextTryAt": "1970-01-01T12:03:40Z", "of": "1f"}}),
            json!({"retry": {"attempt": 1, "nextTryAt": "soon", "of": "1f"}}),
        ] {
            assert_eq!(Retry::read(&broken), None, "{broken}");
        }
    }

    #[test]
    fn what_others_say_stays() {
        let before = json!({"conditions": [{"type": "Foreign", "status": "True"}], "more": 1});
        let mut change = StatusChange::default();
        change.say(Statement::plain(Aspect::Ready, ConditionStatus::True));
        let after = change
            .apply(before.as_object().expect("a table"), at(0))
            .expect("a change");
        assert_eq!(after["more"], 1);
        assert_eq!(after["conditions"].as_array().map(Vec::len), Some(2));
        let mut change = StatusChange::default();
        change.unsay(Aspect::Ready);
        let after = change.apply(&after, at(0)).expect("a change");
        assert_eq!(after["conditions"].as_array().map(Vec::len), Some(1));
    }
}
