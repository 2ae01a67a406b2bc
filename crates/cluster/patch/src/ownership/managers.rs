//! `metadata.managedFields`: who owns which fields, read from an object and written back.

use std::borrow::Cow;

use goyaml::json::{Escape, to_string};
use jiff::Timestamp;
use serde_json::{Map, Value};
use thiserror::Error;

use super::fields_v1::FieldsError;
use super::set::Set;

/// What a manager did to get its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Server-side apply.
    Apply,
    /// Any other write.
    Update,
}

impl Operation {
    /// Returns the operation as `managedFields` writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Who a manager is. One name may own fields as several managers: by another operation or another subresource, and,
/// unless it applies, in another version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manager {
    /// The name.
    pub name: String,
    /// What it does.
    pub operation: Operation,
    /// The version in which it writes; `None` if it applies, because it is then the same in every version.
    pub api_version: Option<String>,
    /// The subresource through which it writes; empty for the object itself.
    pub subresource: String,
}

impl Manager {
    /// Returns the manager of a write.
    pub fn new(name: &str, operation: Operation, api_version: &str, subresource: &str) -> Self {
        Self {
            name: name.to_owned(),
            operation,
            api_version: (operation == Operation::Update).then(|| api_version.to_owned()),
            subresource: subresource.to_owned(),
        }
    }

    /// Returns the text by which upstream tells managers apart, and orders them.
    pub fn identifier(&self) -> String {
        let mut out = String::from("{");
        let version = self.api_version.as_deref().unwrap_or_default();
        let fields = [
            ("manager", self.name.as_str()),
            ("operation", self.operation.as_str()),
            ("apiVersion", version),
            ("subresource", self.subresource.as_str()),
        ];
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            if out.len() > 1 {
                out.push(',');
            }
            // Every string has a JSON form.
            out.push('"');
            out.push_str(name);
            out.push_str("\":");
            out.push_str(&to_string(value, Escape::Html).unwrap_or_default());
        }
        out.push('}');
        out
    }
}

/// A manager and its fields.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    /// Who owns them.
    pub manager: Manager,
    /// The version in which the fields are named.
    pub api_version: String,
    /// When it last wrote one, in seconds, such as `2026-11-16T03:07:19Z`.
    pub time: Option<String>,
    /// The fields.
    pub fields: Set,
    /// The fields as they were read, as long as they are the same.
    encoded: Option<Cow<'a, Value>>,
}

impl<'a> Entry<'a> {
    /// Returns an entry that has not been read from anywhere.
    pub fn new(manager: Manager, api_version: &str, fields: Set) -> Self {
        Self {
            manager,
            api_version: api_version.to_owned(),
            time: None,
            fields,
            encoded: None,
        }
    }

    /// Returns whether the fields were applied.
    pub fn is_applied(&self) -> bool {
        self.manager.operation == Operation::Apply
    }

    /// Says that the fields are no longer those that were read.
    pub fn touch(&mut self) {
        self.encoded = None;
    }

    fn read(entry: Cow<'a, Value>, position: usize) -> Result<Self, ManagersError> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err(ManagersError::Operation),
        };
        let api_version = text("apiVersion");
        if api_version.is_empty() {
            return Err(ManagersError::ApiVersion);
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(ManagersError::NoFieldsType(position)),
            other => return Err(ManagersError::FieldsType(other.to_owned(), position)),
        }
        let manager = Manager::new(text("manager"), operation, api_version, text("subresource"));
        let time = entry.get("time").and_then(Value::as_str).and_then(in_seconds);
        let (fields, canonical) = match entry.get("fieldsV1") {
            Some(fields) => Set::read_fields_v1(fields)?,
            None => (Set::default(), false),
        };
        let api_version = api_version.to_owned();
        let encoded = match (canonical, entry) {
            (false, _) => None,
            (true, Cow::Borrowed(entry)) => entry.get("fieldsV1").map(Cow::Borrowed),
            (true, Cow::Owned(mut entry)) => entry.get_mut("fieldsV1").map(Value::take).map(Cow::Owned),
        };
        Ok(Self {
            manager,
            api_version,
            time,
            fields,
            encoded,
        })
    }

    fn write(self) -> Value {
        let mut entry = Map::new();
        let mut put = |name: &str, value: Value| drop(entry.insert(name.to_owned(), value));
        put("apiVersion", Value::String(self.api_version));
        put("fieldsType", Value::String("FieldsV1".to_owned()));
        put(
            "fieldsV1",
            self.encoded
                .map_or_else(|| self.fields.to_fields_v1(), Cow::into_owned),
        );
        if !self.manager.name.is_empty() {
            put("manager", Value::String(self.manager.name));
        }
        put(
            "operation",
            Value::String(self.manager.operation.as_str().to_owned()),
        );
        if !self.manager.subresource.is_empty() {
            put("subresource", Value::String(self.manager.subresource));
        }
        if let Some(time) = self.time {
            put("time", Value::String(time));
        }
        Value::Object(entry)
    }
}

/// Returns a point in time as `managedFields` writes it; `None` if it isn't one.
fn in_seconds(text: &str) -> Option<String> {
    let shaped = text.len() == "2026-11-16T03:07:19Z".len() && text.ends_with('Z');
    if shaped {
        return Some(text.to_owned());
    }
    text.parse::<Timestamp>().ok().map(time_text)
}

/// Returns a point in time as `managedFields` writes it.
pub(super) fn time_text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `managedFields` that can't be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ManagersError {
    /// The list isn't one of objects.
    #[error("managedFields must be a list of objects")]
    NotEntries,
    /// An entry's operation isn't one of the two.
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    /// An entry names no version.
    #[error("apiVersion must not be empty")]
    ApiVersion,
    /// An entry doesn't say in which form its fields are.
    #[error("missing fieldsType in managed fields entry {0}")]
    NoFieldsType(usize),
    /// An entry has its fields in an unknown form.
    #[error("invalid fieldsType {0:?} in managed fields entry {1}")]
    FieldsType(String, usize),
    /// An entry's fields can't be read.
    #[error("error decoding set: {0}")]
    Fields(#[from] FieldsError),
}

/// Everyone who owns fields of an object.
#[derive(Debug, Clone, Default)]
pub struct Managers<'a> {
    /// The managers with their fields, each manager once.
    pub entries: Vec<Entry<'a>>,
}

impl<'a> Managers<'a> {
    /// Reads `metadata.managedFields`.
    pub fn read(managed_fields: Option<&'a Value>) -> Result<Self, ManagersError> {
        match managed_fields {
            None | Some(Value::Null) => Ok(Self::default()),
            Some(Value::Array(entries)) => Self::collect(entries.iter().map(Cow::Borrowed)),
            Some(_) => Err(ManagersError::NotEntries),
        }
    }

    /// Reads `metadata.managedFields` that nobody else needs.
    pub fn take(managed_fields: Value) -> Result<Self, ManagersError> {
        match managed_fields {
            Value::Null => Ok(Self::default()),
            Value::Array(entries) => Self::collect(entries.into_iter().map(Cow::Owned)),
            _ => Err(ManagersError::NotEntries),
        }
    }

    fn collect(entries: impl Iterator<Item = Cow<'a, Value>>) -> Result<Self, ManagersError> {
        let mut managers = Self::default();
        for (position, entry) in entries.enumerate() {
            managers.put(Entry::read(entry, position)?);
        }
        Ok(managers)
    }

    /// Returns whether nobody owns anything.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns a manager's entry.
    pub fn get(&self, manager: &Manager) -> Option<&Entry<'a>> {
        self.entries.iter().find(|entry| entry.manager == *manager)
    }

    /// Takes a manager's entry out.
    pub fn remove(&mut self, manager: &Manager) -> Option<Entry<'a>> {
        let position = self.entries.iter().position(|entry| entry.manager == *manager)?;
        Some(self.entries.remove(position))
    }

    /// Puts an entry in, in place of one of the same manager.
    pub fn put(&mut self, entry: Entry<'a>) {
        match self
            .entries
            .iter_mut()
            .find(|present| present.manager == entry.manager)
        {
            Some(present) => *present = entry,
            None => self.entries.push(entry),
        }
    }

    /// Returns `metadata.managedFields`: those who apply first, then by time, name, version and subresource. `None` if
    /// nobody owns anything.
    pub fn write(mut self) -> Option<Value> {
        if self.is_empty() {
            return None;
        }
        self.entries.sort_by(|left, right| {
            (left.manager.operation.cmp(&right.manager.operation))
                .then_with(|| left.time.cmp(&right.time))
                .then_with(|| left.manager.name.cmp(&right.manager.name))
                .then_with(|| left.api_version.cmp(&right.api_version))
                .then_with(|| left.manager.subresource.cmp(&right.manager.subresource))
        });
        Some(Value::Array(self.entries.into_iter().map(Entry::write).collect()))
    }
}

/// Returns an object's `metadata.managedFields`.
pub(super) fn managed_fields(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields")
}

/// Takes an object's `metadata.managedFields` out of it.
pub(super) fn take_managed_fields(object: &mut Value) -> Option<Value> {
    object
        .get_mut("metadata")?
        .as_object_mut()?
        .remove("managedFields")
}

/// Writes an object's `metadata.managedFields`; without any the object has no such field.
pub(super) fn set_managed_fields(object: &mut Value, managed_fields: Option<Value>) {
    let Value::Object(fields) = object else { return };
    match managed_fields {
        None => drop(take_managed_fields(object)),
        Some(managed_fields) => {
            let metadata = fields
                .entry("metadata")
                .or_insert_with(|| Value::Object(Map::new()));
            if metadata.is_null() {
                *metadata = Value::Object(Map::new());
            }
            if let Value::Object(metadata) = metadata {
                metadata.insert("managedFields".to_owned(), managed_fields);
            }
        }
    }
}

/// Returns whether a request clears everyone's ownership: an empty list, or one empty entry.
pub(super) fn is_reset(managed_fields: Option<&Value>) -> bool {
    let Some(Value::Array(entries)) = managed_fields else {
        return false;
    };
    match entries.as_slice() {
        [] => true,
        [Value::Object(entry)] => entry
            .values()
            .all(|value| value.is_null() || value.as_str().is_some_and(str::is_empty)),
        _ => false,
    }
}
