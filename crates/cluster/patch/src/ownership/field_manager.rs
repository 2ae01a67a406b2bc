//! Accounting for every write of an object: who owns which field afterwards.

use jiff::Timestamp;
use schema::Schema;
use serde_json::{Map, Number, Value};
use std::sync::LazyLock;
use thiserror::Error;

use super::cap::cap_updaters;
use super::conflict::Conflicts;
use super::element::{FieldPath, floats};
use super::empty_object::Form;
use super::last_applied;
use super::managers::{
    Entry, Manager, Managers, ManagersError, Operation, is_reset, managed_fields, set_managed_fields,
    take_managed_fields, time_text,
};
use super::matcher::ResetFields;
use super::set::Set;
use super::shape::Shape;
use super::updater::{UpdateError, Updater};
use super::validate::{Duplicates, validate};
use super::versions::{Home, Versions};

/// Who owns what an object had before anyone applied anything to it.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Fields that identify an object or that the server writes: nobody owns them.
static NEVER_OWNED: LazyLock<Set> = LazyLock::new(|| {
    let metadata = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    let mut paths: Vec<FieldPath> = ["apiVersion", "kind", "metadata"]
        .iter()
        .map(|name| FieldPath::of_fields([*name]))
        .collect();
    paths.extend(
        metadata
            .iter()
            .map(|name| FieldPath::of_fields(["metadata", name])),
    );
    Set::of(&paths)
});

/// Accounts for the writes to one kind in one version, through one of its resources.
#[derive(Clone, Copy)]
pub struct FieldManager<'a> {
    /// The kind's schema in this version.
    pub schema: &'a Schema,
    /// How objects of the kind are held.
    pub form: Form<'a>,
    /// The version, such as `apps/v1`.
    pub api_version: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// The subresource that is written; empty for the object itself.
    pub subresource: &'a str,
    /// The fields that a write through this resource can't change.
    pub reset_fields: &'a ResetFields,
    /// The kind's other versions.
    pub versions: &'a dyn Versions,
}

/// What an object became.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// The object, with `metadata.managedFields`. Defaults aren't filled in yet.
    pub object: Value,
    /// Whether it, or who owns it, differs from what was there.
    pub changed: bool,
}

/// Why a configuration can't be applied.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// Others own what is applied (409, reason `Conflict`). Normal: the caller decides whether to force it.
    #[error(transparent)]
    Conflicts(Conflicts),
    /// The request is wrong (400, reason `BadRequest`).
    #[error("{0}")]
    Invalid(String),
    /// The configuration doesn't fit the kind's schema, or a conversion failed (500, without a reason).
    #[error("{0}")]
    Failed(String),
}

impl From<UpdateError> for ApplyError {
    fn from(error: UpdateError) -> Self {
        match error {
            UpdateError::Conflicts(conflicts) => Self::Conflicts(conflicts),
            UpdateError::Failed(text) => Self::Failed(text),
        }
    }
}

impl FieldManager<'_> {
    fn updater(&self) -> Updater<'_> {
        let home = Home {
            api_version: self.api_version,
            shape: Shape::of_resource(self.schema),
            versions: self.versions,
        };
        Updater {
            home,
            reset_fields: self.reset_fields,
        }
    }

    /// Returns `new`, which is about to replace `live` (`None`: to be created), with `metadata.managedFields` as they
    /// are after this write by `manager`.
    ///
    /// An object that can't be accounted for loses its managed fields, as upstream decided: a write never fails for it.
    pub fn update(&self, live: Option<&Value>, mut new: Value, manager: &str, now: Timestamp) -> Value {
        let requested = take_managed_fields(&mut new);
        let Some(managers) = self.managers_before(live, requested) else {
            return new;
        };
        let updated = match live {
            Some(live) => self.account(live, &new, managers, manager, now),
            None => self.account(&self.empty(), &new, managers, manager, now),
        };
        if let Ok(managers) = updated {
            set_managed_fields(&mut new, managers.write());
        }
        new
    }

    /// Returns who owns what before a write; `None` if the object isn't accounted for.
    ///
    /// A request may carry managed fields to change them; one that carries none, or nonsense, means those that are
    /// there.
    fn managers_before<'b>(&self, live: Option<&'b Value>, requested: Option<Value>) -> Option<Managers<'b>> {
        let there = || Managers::read(live.and_then(managed_fields)).unwrap_or_default();
        let managers = if !self.subresource.is_empty() {
            there()
        } else if is_reset(requested.as_ref()) {
            Managers::default()
        } else {
            let requested = requested.map_or_else(|| Ok(Managers::default()), Managers::take);
            requested
                .ok()
                .filter(|managers| !managers.is_empty())
                .unwrap_or_else(there)
        };
        // Nobody begins to own fields of an object that exists and has no owners; that begins with the first apply.
        let exists = live
            .and_then(|live| live.get("metadata")?.get("uid")?.as_str())
            .is_some_and(|uid| !uid.is_empty());
        (!managers.is_empty() || !exists).then_some(managers)
    }

    fn empty(&self) -> Value {
        self.form.empty_object(self.api_version, self.kind)
    }

    fn account<'b>(
        &self,
        live: &Value,
        new: &Value,
        mut managers: Managers<'b>,
        name: &str,
        now: Timestamp,
    ) -> Result<Managers<'b>, UpdateError> {
        let shape = Shape::of_resource(self.schema);
        for (which, object) in [("new", new), ("live", live)] {
            validate(object, shape, Duplicates::Allowed).map_err(|problems| {
                let object = described(object);
                UpdateError::Failed(format!(
                    "failed to convert {which} object ({object}) to smd typed: {problems}"
                ))
            })?;
        }
        let mut fields = self.updater().update(live, new, &mut managers)?;
        fields.subtract(&NEVER_OWNED);
        if !fields.is_empty() {
            let manager = Manager::new(named(name), Operation::Update, self.api_version, self.subresource);
            if let Some(before) = managers.remove(&manager) {
                fields.add(before.fields);
            }
            let mut entry = Entry::new(manager, self.api_version, fields);
            entry.time = Some(time_text(now));
            managers.put(entry);
        }
        cap_updaters(&mut managers);
        Ok(managers)
    }

    /// Returns what `live` (`None`: to be created) becomes when `manager` applies a configuration to it.
    ///
    /// The caller fills in defaults afterwards, then lets [`super::keep_times_if_only_they_changed`] decide whether the
    /// object changed at all.
    pub fn apply(
        &self,
        live: Option<&Value>,
        applied: &Value,
        manager: &str,
        force: bool,
        now: Timestamp,
    ) -> Result<Applied, ApplyError> {
        self.check_kind(applied)?;
        let empty;
        let live_object = if let Some(live) = live {
            live
        } else {
            empty = self.empty();
            &empty
        };
        let applied = &whole_numbers(applied.clone());
        let shape = Shape::of_resource(self.schema);
        let attempt = self.attempt(live, live_object, applied, manager, force, now);
        let (object, managers) = match attempt {
            Err(ApplyError::Conflicts(conflicts)) if last_applied::is_heeded_for(manager) => {
                let conflicts = match last_applied::owned(live_object, shape, self.api_version) {
                    Some(owned) if conflicts.fields().difference(&owned).is_empty() => None,
                    Some(owned) => Some(conflicts.without(&owned)),
                    None => Some(conflicts),
                };
                match conflicts {
                    Some(conflicts) => return Err(ApplyError::Conflicts(conflicts)),
                    None => self.attempt(live, live_object, applied, manager, true, now)?,
                }
            }
            other => other?,
        };
        let mut object = match object {
            Some(object) => self.form.held(&object).map_err(|why| {
                let (group, version) = group_version(self.api_version);
                let object = described(applied);
                ApplyError::Failed(format!(
                    "failed to convert new object ({object}) to proper version: unable to convert unstructured object to \
                     {group}/{version}, Kind={}: {why}",
                    self.kind
                ))
            })?,
            None => live_object.clone(),
        };
        if last_applied::is_heeded_for(manager) {
            last_applied::refresh(&mut object, applied);
        }
        set_managed_fields(&mut object, managers.write());
        let changed = live != Some(&object);
        Ok(Applied { object, changed })
    }

    fn check_kind(&self, applied: &Value) -> Result<(), ApplyError> {
        let text = |name: &str| applied.get(name).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        if api_version != self.api_version || kind != self.kind {
            let (group, version) = group_version(api_version);
            return Err(ApplyError::Invalid(format!(
                "invalid object type: {group}/{version}, Kind={kind}"
            )));
        }
        Ok(())
    }

    fn check_configuration(&self, applied: &Value, live: &Value) -> Result<(), ApplyError> {
        if managed_fields(applied).is_some_and(|managed| !managed.is_null()) {
            return Err(ApplyError::Invalid(
                "metadata.managedFields must be nil".to_owned(),
            ));
        }
        let shape = Shape::of_resource(self.schema);
        validate(applied, shape, Duplicates::Refused).map_err(|problems| {
            // The message shows numbers as they are read upstream.
            let read = validate(&floats(applied.clone()), shape, Duplicates::Refused);
            let problems = read.err().unwrap_or(problems);
            let object = described(applied);
            ApplyError::Failed(format!(
                "failed to create typed patch object ({object}): {problems}"
            ))
        })?;
        validate(live, shape, Duplicates::Allowed).map_err(|problems| {
            let object = described(live);
            ApplyError::Failed(format!(
                "failed to create typed live object ({object}): {problems}"
            ))
        })
    }

    fn attempt<'b>(
        &self,
        live: Option<&'b Value>,
        live_object: &'b Value,
        applied: &Value,
        name: &str,
        force: bool,
        now: Timestamp,
    ) -> Result<(Option<Value>, Managers<'b>), ApplyError> {
        let mut managers = Managers::read(managed_fields(live_object)).map_err(|error: ManagersError| {
            ApplyError::Failed(format!("failed to decode managed fields: {error}"))
        })?;
        if managers.is_empty() && live.is_some() {
            managers = self
                .account(&self.empty(), live_object, managers, BEFORE_FIRST_APPLY, now)
                .map_err(|error| {
                    ApplyError::Failed(format!("failed to create manager for existing fields: {error}"))
                })?;
        }
        self.check_configuration(applied, live_object)?;
        let manager = Manager::new(named(name), Operation::Apply, self.api_version, self.subresource);
        let object = self
            .updater()
            .apply(live_object, applied, &mut managers, &manager, force)?;
        if let Some(mut entry) = managers.remove(&manager) {
            entry.fields.subtract(&NEVER_OWNED);
            if object.is_some() {
                entry.time = Some(time_text(now));
            }
            if !entry.fields.is_empty() {
                managers.put(entry);
            }
        }
        Ok((object, managers))
    }
}

fn named(manager: &str) -> &str {
    if manager.is_empty() { "unknown" } else { manager }
}

fn group_version(api_version: &str) -> (&str, &str) {
    match api_version.split('/').collect::<Vec<_>>().as_slice() {
        [version] => ("", version),
        [group, version] => (group, version),
        _ => ("", ""),
    }
}

/// Returns an object as messages name it: `namespace/name; group/version, Kind=kind`.
fn described(object: &Value) -> String {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let metadata = |name: &str| text(object.get("metadata").and_then(|metadata| metadata.get(name)));
    let api_version = text(object.get("apiVersion"));
    let (group, version) = group_version(&api_version);
    let kind = text(object.get("kind"));
    format!(
        "{}/{}; {group}/{version}, Kind={kind}",
        metadata("namespace"),
        metadata("name")
    )
}

/// What a client applies is read with every number as a floating point number, and one that is whole is written without
/// a fraction.
fn whole_numbers(value: Value) -> Value {
    /// The first number that Go writes with an exponent.
    const EXPONENT_FROM: f64 = 1e18;
    match value {
        Value::Number(number) if number.is_f64() => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < EXPONENT_FROM => {
                Value::Number(Number::from(float as i64))
            }
            _ => Value::Number(number),
        },
        Value::Array(items) => Value::Array(items.into_iter().map(whole_numbers).collect()),
        Value::Object(fields) => {
            let fields: Map<String, Value> = fields
                .into_iter()
                .map(|(name, value)| (name, whole_numbers(value)))
                .collect();
            Value::Object(fields)
        }
        other => other,
    }
}
