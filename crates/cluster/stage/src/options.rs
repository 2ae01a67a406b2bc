//! What the query of a request says, with the real server's words for what it may not say.

use patch::ownership::{validate_field_manager, validate_patch_options};
use schema::{FieldError, FieldPath};
use serde_json::{Value, json};

use crate::status::Status;

/// What happens to fields that a kind doesn't have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldValidation {
    /// They are dropped in silence.
    Ignore,
    /// They are dropped with a warning.
    #[default]
    Warn,
    /// The request is refused.
    Strict,
}

/// What a create, update or patch says beside its body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WriteOptions {
    /// Everything happens but the write itself.
    pub dry_run: bool,
    /// Who owns the fields that are written.
    pub field_manager: String,
    /// What happens to fields that the kind doesn't have.
    pub field_validation: FieldValidation,
    /// Whether an apply takes fields from other managers; `None` where the request doesn't say.
    pub force: Option<bool>,
    /// Whether the request says what happens to fields that the kind doesn't have.
    pub names_field_validation: bool,
}

/// The query of a request, decoded.
#[derive(Debug, Clone, Default)]
pub struct Query(Vec<(String, String)>);

/// Returns whether a pair of a query has no semicolon in it, and after each percent sign two hexadecimal digits.
fn is_readable(pair: &str) -> bool {
    let digits = |part: &str| {
        let bytes = part.as_bytes();
        bytes.len() >= 2 && bytes.iter().take(2).all(u8::is_ascii_hexdigit)
    };
    !pair.contains(';') && pair.split('%').skip(1).all(digits)
}

impl Query {
    /// Reads a query.
    pub fn read(query: Option<&str>) -> Self {
        let query = query.unwrap_or_default();
        // Go passes over what it can't read.
        let pairs = query.split('&').filter(|pair| is_readable(pair));
        Self(
            pairs
                .flat_map(|pair| form_urlencoded::parse(pair.as_bytes()))
                .map(|(key, value)| (key.into_owned(), value.into_owned()))
                .collect(),
        )
    }

    /// Returns the first value of a key; empty where it is missing.
    pub fn get(&self, key: &str) -> &str {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
            .unwrap_or_default()
    }

    /// Returns all values of a key.
    pub fn all(&self, key: &str) -> Vec<&str> {
        self.0
            .iter()
            .filter(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
            .collect()
    }

    /// Returns whether a key is there.
    pub fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(name, _)| name == key)
    }

    /// Returns a truth value as Go's conversion of queries reads it: a key without a value is true, and so is every
    /// text but `false` and `0`.
    pub fn flag(&self, key: &str) -> Option<bool> {
        self.has(key)
            .then(|| !matches!(self.get(key).to_lowercase().as_str(), "false" | "0"))
    }

    fn number(&self, key: &str) -> Result<Option<i64>, Status> {
        let text = self.get(key);
        if text.is_empty() {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|error: std::num::ParseIntError| {
            let what = match error.kind() {
                std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => {
                    "value out of range"
                }
                _ => "invalid syntax",
            };
            Status::bad_request(format!("strconv.ParseInt: parsing \"{text}\": {what}"))
        })
    }
}

/// Which of the write options a request may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteKind {
    /// A new object.
    Create,
    /// A whole object in place of the old one.
    Update,
    /// A change of an object.
    Patch,
    /// A configuration that is applied.
    Apply,
}

impl WriteKind {
    const fn options_kind(self) -> &'static str {
        match self {
            Self::Create => "CreateOptions",
            Self::Update => "UpdateOptions",
            Self::Patch | Self::Apply => "PatchOptions",
        }
    }
}

impl WriteOptions {
    /// Reads the options of a write.
    pub fn read(query: &Query, write: WriteKind) -> Result<Self, Status> {
        let mut errors = Vec::new();
        let field_manager = query.get("fieldManager");
        let force = query.flag("force");
        match write {
            WriteKind::Create | WriteKind::Update => {
                errors.extend(validate_field_manager(
                    field_manager,
                    &FieldPath::new("fieldManager"),
                ));
            }
            WriteKind::Patch | WriteKind::Apply => {
                errors.extend(validate_patch_options(
                    write == WriteKind::Apply,
                    field_manager,
                    force,
                ));
            }
        }
        let dry_run = read_dry_run(&query.all("dryRun"), &mut errors);
        let field_validation = match query.get("fieldValidation") {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                errors.push(FieldError::not_supported(
                    FieldPath::new("fieldValidation"),
                    &json!(other),
                    &supported,
                ));
                FieldValidation::Strict
            }
        };
        if errors.is_empty() {
            return Ok(Self {
                dry_run,
                field_manager: field_manager.to_owned(),
                field_validation,
                force,
                names_field_validation: query.has("fieldValidation"),
            });
        }
        Err(Status::invalid("meta.k8s.io", write.options_kind(), "", &errors))
    }

    /// Returns the options as the object that webhooks and policies see: a patch is a create or an update to them.
    pub fn document(&self, creates: bool) -> Value {
        let kind = if creates { "CreateOptions" } else { "UpdateOptions" };
        let mut document = options_document(kind, self.dry_run);
        if !self.field_manager.is_empty() {
            document.insert("fieldManager".into(), self.field_manager.clone().into());
        }
        if self.names_field_validation {
            let validation = match self.field_validation {
                FieldValidation::Ignore => "Ignore",
                FieldValidation::Warn => "Warn",
                FieldValidation::Strict => "Strict",
            };
            document.insert("fieldValidation".into(), validation.into());
        }
        Value::Object(document)
    }
}

fn options_document(kind: &str, dry_run: bool) -> serde_json::Map<String, Value> {
    let mut document = serde_json::Map::new();
    document.insert("kind".into(), kind.into());
    document.insert("apiVersion".into(), "meta.k8s.io/v1".into());
    if dry_run {
        document.insert("dryRun".into(), json!(["All"]));
    }
    document
}

fn read_dry_run(values: &[&str], errors: &mut Vec<FieldError>) -> bool {
    let values: Vec<&&str> = values.iter().filter(|value| !value.is_empty()).collect();
    if values.iter().any(|value| **value != "All") {
        let all: Value = values.iter().map(|value| json!(**value)).collect();
        errors.push(FieldError::not_supported(
            FieldPath::new("dryRun"),
            &all,
            &["All"],
        ));
    }
    !values.is_empty()
}

/// What happens to the dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// They lose their owner and stay.
    Orphan,
    /// They are deleted after the object is gone.
    Background,
    /// They are deleted before the object goes.
    Foreground,
}

/// What a deletion says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeleteOptions {
    /// Everything happens but the deletion itself.
    pub dry_run: bool,
    /// How long the object may take to stop.
    pub grace_period_seconds: Option<i64>,
    /// What happens to dependents.
    pub propagation: Option<Propagation>,
    /// The uid the object must have.
    pub uid: Option<String>,
    /// The resource version the object must have.
    pub resource_version: Option<String>,
}

impl DeleteOptions {
    /// Returns the options as the object that webhooks and policies see.
    pub fn document(&self) -> Value {
        let mut document = options_document("DeleteOptions", self.dry_run);
        if let Some(seconds) = self.grace_period_seconds {
            document.insert("gracePeriodSeconds".into(), seconds.into());
        }
        let mut preconditions = serde_json::Map::new();
        for (name, value) in [("uid", &self.uid), ("resourceVersion", &self.resource_version)] {
            if let Some(value) = value {
                preconditions.insert(name.into(), value.clone().into());
            }
        }
        if !preconditions.is_empty() {
            document.insert("preconditions".into(), preconditions.into());
        }
        if let Some(propagation) = self.propagation {
            let policy = match propagation {
                Propagation::Orphan => "Orphan",
                Propagation::Background => "Background",
                Propagation::Foreground => "Foreground",
            };
            document.insert("propagationPolicy".into(), policy.into());
        }
        Value::Object(document)
    }

    /// Reads the options of a deletion from its body, or from the query where there is no body.
    pub fn read(body: Option<&Value>, query: &Query) -> Result<Self, Status> {
        let mut errors = Vec::new();
        let from_query;
        let body = if let Some(body) = body {
            body
        } else {
            from_query = Self::of_query(query)?;
            &from_query
        };
        let dry_run: Vec<&str> = body
            .get("dryRun")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let dry_run = read_dry_run(&dry_run, &mut errors);
        let orphan = body.get("orphanDependents").and_then(Value::as_bool);
        let policy = body.get("propagationPolicy").and_then(Value::as_str);
        if orphan.is_some() && policy.is_some() {
            errors.push(FieldError::invalid(
                FieldPath::new("propagationPolicy"),
                &json!(policy),
                "orphanDependents and deletionPropagation cannot be both set",
            ));
        }
        let propagation = match policy {
            None => orphan.map(|orphan| {
                if orphan {
                    Propagation::Orphan
                } else {
                    Propagation::Background
                }
            }),
            Some("Orphan") => Some(Propagation::Orphan),
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some(other) => {
                let supported = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(FieldError::not_supported(
                    FieldPath::new("propagationPolicy"),
                    &json!(other),
                    &supported,
                ));
                None
            }
        };
        if !errors.is_empty() {
            return Err(Status::invalid("meta.k8s.io", "DeleteOptions", "", &errors));
        }
        let precondition = |name: &str| {
            let text = body
                .get("preconditions")
                .and_then(|all| all.get(name))
                .and_then(Value::as_str);
            text.map(ToOwned::to_owned)
        };
        Ok(Self {
            dry_run,
            grace_period_seconds: body.get("gracePeriodSeconds").and_then(Value::as_i64),
            propagation,
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
        })
    }

    fn of_query(query: &Query) -> Result<Value, Status> {
        let mut body = serde_json::Map::new();
        if query.has("dryRun") {
            body.insert("dryRun".into(), json!(query.all("dryRun")));
        }
        if let Some(seconds) = query.number("gracePeriodSeconds")? {
            body.insert("gracePeriodSeconds".into(), json!(seconds));
        }
        if let Some(orphan) = query.flag("orphanDependents") {
            body.insert("orphanDependents".into(), json!(orphan));
        }
        if query.has("propagationPolicy") {
            body.insert("propagationPolicy".into(), json!(query.get("propagationPolicy")));
        }
        Ok(Value::Object(body))
    }
}

/// How a list's resource version is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionMatch {
    /// Exactly that version.
    Exact,
    /// That version or a newer one.
    NotOlderThan,
}

/// What a list or a watch says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListOptions {
    /// Which labels the objects must have.
    pub label_selector: String,
    /// Which fields the objects must have.
    pub field_selector: String,
    /// Whether changes are wanted instead of the present state.
    pub watch: bool,
    /// Whether the watcher wants to be told how far it is.
    pub allow_bookmarks: bool,
    /// The version to list at or to watch from.
    pub resource_version: String,
    /// How the version is meant.
    pub version_match: Option<VersionMatch>,
    /// After how many seconds the watch ends.
    pub timeout_seconds: Option<u64>,
    /// How many objects are wanted at once.
    pub limit: Option<usize>,
    /// Where the last page ended.
    pub continue_token: String,
    /// Whether a watch begins with the present state.
    pub send_initial_events: Option<bool>,
}

impl ListOptions {
    /// Reads the options of a list or a watch.
    pub fn read(query: &Query, watch: bool) -> Result<Self, Status> {
        let mut options = Self {
            label_selector: query.get("labelSelector").to_owned(),
            field_selector: query.get("fieldSelector").to_owned(),
            watch,
            allow_bookmarks: query.flag("allowWatchBookmarks").unwrap_or(false),
            resource_version: query.get("resourceVersion").to_owned(),
            version_match: None,
            timeout_seconds: query
                .number("timeoutSeconds")?
                .map(|seconds| u64::try_from(seconds).unwrap_or(0)),
            limit: query
                .number("limit")?
                .and_then(|limit| usize::try_from(limit).ok())
                .filter(|&limit| limit > 0),
            continue_token: query.get("continue").to_owned(),
            send_initial_events: query.flag("sendInitialEvents"),
        };
        let matched = query.get("resourceVersionMatch");
        let errors = if watch {
            options.check_watch(matched)
        } else {
            options.check_list(matched)
        };
        if !errors.is_empty() {
            return Err(Status::invalid("meta.k8s.io", "ListOptions", "", &errors));
        }
        options.version_match = match matched {
            "Exact" => Some(VersionMatch::Exact),
            "NotOlderThan" => Some(VersionMatch::NotOlderThan),
            _ => None,
        };
        Ok(options)
    }

    fn check_list(&self, matched: &str) -> Vec<FieldError> {
        let field = || FieldPath::new("resourceVersionMatch");
        let mut errors = Vec::new();
        if !matched.is_empty() {
            if self.resource_version.is_empty() {
                let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                errors.push(FieldError::forbidden(field(), why));
            }
            if !self.continue_token.is_empty() {
                errors.push(FieldError::forbidden(
                    field(),
                    "resourceVersionMatch is forbidden when continue is provided",
                ));
            }
            if !matches!(matched, "Exact" | "NotOlderThan") {
                let supported = ["Exact", "NotOlderThan", ""];
                errors.push(FieldError::not_supported(field(), &json!(matched), &supported));
            }
            if matched == "Exact" && self.resource_version == "0" {
                let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                errors.push(FieldError::forbidden(field(), why));
            }
        }
        if self.send_initial_events.is_some() {
            let why = "sendInitialEvents is forbidden for list";
            errors.push(FieldError::forbidden(FieldPath::new("sendInitialEvents"), why));
        }
        errors
    }

    fn check_watch(&self, matched: &str) -> Vec<FieldError> {
        let field = || FieldPath::new("resourceVersionMatch");
        let mut errors = Vec::new();
        if self.send_initial_events.is_some() && matched != "NotOlderThan" {
            let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            errors.push(FieldError::forbidden(field(), why));
        }
        if !matched.is_empty() {
            if self.send_initial_events.is_none() {
                let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
                errors.push(FieldError::forbidden(field(), why));
            }
            if matched != "NotOlderThan" {
                errors.push(FieldError::not_supported(
                    field(),
                    &json!(matched),
                    &["NotOlderThan"],
                ));
            }
        }
        if !self.continue_token.is_empty() {
            let why = "resourceVersionMatch is forbidden when continue is provided";
            errors.push(FieldError::forbidden(field(), why));
        }
        errors
    }
}
