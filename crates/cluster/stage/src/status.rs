//! What went wrong with a request, as the `Status` object that clients know.
//!
//! Codes, reasons, details and texts are those of the real server: kubectl prints them, client libraries branch on
//! them, and scripts match on them.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use http::StatusCode;
use schema::field_error::shorten;
use schema::field_errors::{MOST_PROBLEMS, MOST_TEXT};
use schema::{FieldError, FieldErrors};
use serde_json::{Map, Value, json};

/// How many bytes a message has at most, and all causes together: they say what is wrong with an object, with some words
/// around each problem.
const LONGEST_MESSAGE: usize = MOST_TEXT + (16 << 10);

/// How many bytes of a name are repeated: more than any name that is allowed.
const LONGEST_NAME: usize = 1 << 10;

/// How many bytes the answer to a request that failed has at most, whatever the request was: the message, the causes and
/// what is around them, with every byte escaped as `\u003c` is.
pub const LARGEST_FAILURE: usize = 6 * (2 * LONGEST_MESSAGE + (32 << 10));

/// One reason of several why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cause {
    /// What kind of cause, such as `FieldValueInvalid`; empty where the real server names none.
    pub reason: String,
    /// What it says.
    pub message: String,
    /// The field it is about; empty where it is about none.
    pub field: String,
}

/// What a failure is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details {
    /// The object's name.
    pub name: String,
    /// The group of the resource.
    pub group: String,
    /// The plural of the resource, or the kind for failed validation.
    pub kind: String,
    /// The object's uid.
    pub uid: String,
    /// The reasons one by one.
    pub causes: Vec<Cause>,
    /// After how many seconds it makes sense to try again; 0 for never.
    pub retry_after_seconds: u32,
}

/// What is wrong with an object, as far as it is told, and how much more there is.
#[derive(Debug, Clone, Copy)]
pub struct Problems<'a> {
    told: &'a [FieldError],
    left_out: usize,
}

impl<'a> From<&'a FieldErrors> for Problems<'a> {
    fn from(errors: &'a FieldErrors) -> Self {
        Self {
            told: errors.told(),
            left_out: errors.left_out(),
        }
    }
}

impl<'a> From<&'a [FieldError]> for Problems<'a> {
    fn from(errors: &'a [FieldError]) -> Self {
        let (told, more) = errors.split_at(errors.len().min(MOST_PROBLEMS));
        Self {
            told,
            left_out: more.len(),
        }
    }
}

impl<'a> From<&'a Vec<FieldError>> for Problems<'a> {
    fn from(errors: &'a Vec<FieldError>) -> Self {
        errors.as_slice().into()
    }
}

impl<'a, const COUNT: usize> From<&'a [FieldError; COUNT]> for Problems<'a> {
    fn from(errors: &'a [FieldError; COUNT]) -> Self {
        errors.as_slice().into()
    }
}

/// The failure of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The HTTP status code.
    pub code: StatusCode,
    /// The reason in one word; empty where the real server gives none.
    pub reason: Cow<'static, str>,
    /// What a person reads.
    pub message: String,
    /// What it is about.
    pub details: Option<Box<Details>>,
    /// Where a list that has expired can go on, though no longer on one snapshot.
    pub continue_token: Option<Box<str>>,
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Status {}

/// A resource as failures name it: `deployments.apps`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupResource<'a> {
    /// The API group; empty for the core.
    pub group: &'a str,
    /// The plural name.
    pub resource: &'a str,
}

impl fmt::Display for GroupResource<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.resource)?;
        if !self.group.is_empty() {
            write!(formatter, ".{}", self.group)?;
        }
        Ok(())
    }
}

impl Status {
    fn new(code: StatusCode, reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        let mut message = message.into();
        shorten(&mut message, LONGEST_MESSAGE);
        Self {
            code,
            reason: reason.into(),
            message,
            details: None,
            continue_token: None,
        }
    }

    fn about(mut self, resource: GroupResource<'_>, name: &str) -> Self {
        let mut name = name.to_owned();
        shorten(&mut name, LONGEST_NAME);
        self.details = Some(Box::new(Details {
            name,
            group: resource.group.to_owned(),
            kind: resource.resource.to_owned(),
            ..Details::default()
        }));
        self
    }

    /// Says that a request isn't for this server, or comes from somebody else's page.
    pub fn misdirected(refused: &hosts::Refused) -> Self {
        Self::new(refused.status(), refused.reason(), refused.to_string())
    }

    /// Adds that the client should try again after some seconds.
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.details.get_or_insert_default().retry_after_seconds = seconds;
        self
    }

    /// Adds the reasons one by one: the first of them, and how many more there are.
    pub fn with_causes(self, causes: Vec<Cause>) -> Self {
        self.with_first_causes(causes, 0)
    }

    fn with_first_causes(mut self, mut causes: Vec<Cause>, left_out: usize) -> Self {
        let mut room = LONGEST_MESSAGE;
        let mut told = 0;
        for cause in causes.iter_mut().take(MOST_PROBLEMS) {
            if room == 0 {
                break;
            }
            shorten(&mut cause.field, room.min(LONGEST_NAME));
            shorten(&mut cause.message, room);
            room = room.saturating_sub(cause.field.len() + cause.message.len());
            told += 1;
        }
        let left_out = left_out + causes.len() - told;
        causes.truncate(told);
        if left_out > 0 {
            // Clients show the causes instead of the message.
            causes.push(Cause {
                field: causes.last().map(|last| last.field.clone()).unwrap_or_default(),
                message: format!("and {left_out} more problems, which are not shown"),
                ..Cause::default()
            });
        }
        self.details.get_or_insert_default().causes = causes;
        self
    }

    /// Adds where a list that has expired can go on.
    pub fn with_continue(mut self, token: String) -> Self {
        self.continue_token = Some(token.into());
        self
    }

    /// There is no object of that name.
    pub fn not_found(resource: GroupResource<'_>, name: &str) -> Self {
        let message = format!("{resource} \"{name}\" not found");
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about(resource, name)
    }

    /// There is no such resource, or it doesn't have that subresource.
    pub fn no_such_resource() -> Self {
        let mut status = Self::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            "the server could not find the requested resource",
        );
        status.details = Some(Box::default());
        status
    }

    /// There is an object of that name already.
    pub fn already_exists(resource: GroupResource<'_>, name: &str) -> Self {
        let message = format!("{resource} \"{name}\" already exists");
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message).about(resource, name)
    }

    /// No free name was found for a `generateName`.
    pub fn no_free_name(resource: GroupResource<'_>, name: &str) -> Self {
        let message = format!(
            "{resource} \"{name}\" already exists, the server was not able to generate a unique name for the object"
        );
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message)
            .about(resource, name)
            .retry_after(1)
    }

    /// The write can't be done on the object as it is now.
    pub fn conflict(resource: GroupResource<'_>, name: &str, why: impl fmt::Display) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}");
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(resource, name)
    }

    /// The object was changed by someone else since it was read.
    pub fn modified(resource: GroupResource<'_>, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// Other managers own fields that an apply sets: some of them, and how many more there are.
    pub fn apply_conflict(message: impl Into<String>, causes: Vec<Cause>, left_out: usize) -> Self {
        Self::new(StatusCode::CONFLICT, "Conflict", message).with_first_causes(causes, left_out)
    }

    /// The caller isn't known.
    pub fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    /// The caller may not do this.
    pub fn forbidden(resource: GroupResource<'_>, name: &str, why: impl fmt::Display) -> Self {
        let message = if resource.resource.is_empty() && resource.group.is_empty() {
            format!("forbidden: {why}")
        } else if name.is_empty() {
            format!("{resource} is forbidden: {why}")
        } else {
            format!("{resource} \"{name}\" is forbidden: {why}")
        };
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).about(resource, name)
    }

    /// The object breaks rules.
    pub fn invalid<'a>(group: &str, kind: &str, name: &str, errors: impl Into<Problems<'a>>) -> Self {
        let Problems { told, left_out } = errors.into();
        let qualified = GroupResource {
            group,
            resource: kind,
        };
        let mut name = name.to_owned();
        shorten(&mut name, LONGEST_NAME);
        let mut known = HashSet::new();
        let more = (left_out > 0).then(|| format!("and {left_out} more problems"));
        let texts: Vec<String> = told
            .iter()
            .map(ToString::to_string)
            .filter(|text| known.insert(text.clone()))
            .chain(more)
            .collect();
        let message = match texts.as_slice() {
            [] => format!("{qualified} \"{name}\" is invalid"),
            [one] => format!("{qualified} \"{name}\" is invalid: {one}"),
            several => format!("{qualified} \"{name}\" is invalid: [{}]", several.join(", ")),
        };
        let causes = told
            .iter()
            .map(|error| Cause {
                reason: error.kind.reason().to_owned(),
                message: error.body(),
                field: error.field.to_string(),
            })
            .collect();
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
            .about(qualified, &name)
            .with_first_causes(causes, left_out)
    }

    /// The request itself is wrong.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// The patch can't be applied: what the real server says about patches that don't fit the object.
    pub fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).with_causes(Vec::new())
    }

    /// The resource doesn't have this verb.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        let mut status = Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message);
        status.details = Some(Box::default());
        status
    }

    /// The resource doesn't support this action.
    pub fn not_supported_on(resource: GroupResource<'_>, action: &str) -> Self {
        let message = format!("{action} is not supported on resources of kind \"{resource}\"");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).about(resource, "")
    }

    /// The body is in a format that isn't read.
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            message,
        )
    }

    /// No format that the client takes is written.
    pub fn not_acceptable(written: &[&str]) -> Self {
        let message = format!(
            "only the following media types are accepted: {}",
            written.join(", ")
        );
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// The revision that was asked for is no longer kept.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// The body is larger than the limit.
    pub fn too_large(message: impl fmt::Display) -> Self {
        let message = format!("Request entity too large: {message}");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    }

    /// The server can't do this now.
    pub fn too_many_requests(message: impl Into<String>, seconds: u32) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message).retry_after(seconds)
    }

    /// The request took too long.
    pub fn timeout(message: impl fmt::Display) -> Self {
        Self::new(
            StatusCode::GATEWAY_TIMEOUT,
            "Timeout",
            format!("Timeout: {message}"),
        )
        .retry_after(1)
    }

    /// What would answer isn't there.
    pub fn service_unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
    }

    /// The server failed.
    pub fn internal(message: impl fmt::Display) -> Self {
        let cause = Cause {
            message: message.to_string(),
            ..Cause::default()
        };
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "InternalError",
            format!("Internal error occurred: {message}"),
        )
        .with_causes(vec![cause])
    }

    /// There is no space left for what should be stored.
    pub fn disk_full(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "InsufficientStorage", message)
    }

    /// Any other refusal, such as the one of an admission webhook, with a code and text of its own.
    pub fn refusal(
        code: StatusCode,
        reason: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        Self::new(code, reason, message)
    }

    /// Returns the `Status` object.
    pub fn to_value(&self) -> Value {
        let mut object = Map::new();
        object.insert("kind".into(), "Status".into());
        object.insert("apiVersion".into(), "v1".into());
        let metadata = self
            .continue_token
            .as_ref()
            .map_or_else(|| json!({}), |token| json!({"continue": &**token}));
        object.insert("metadata".into(), metadata);
        object.insert("status".into(), "Failure".into());
        if !self.message.is_empty() {
            object.insert("message".into(), self.message.clone().into());
        }
        if !self.reason.is_empty() {
            object.insert("reason".into(), self.reason.as_ref().into());
        }
        if let Some(details) = &self.details {
            object.insert("details".into(), details.to_value());
        }
        object.insert("code".into(), self.code.as_u16().into());
        Value::Object(object)
    }
}

impl Details {
    /// Reads the details of a `Status` that another server gave.
    pub fn read(value: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let causes = value["causes"].as_array().into_iter().flatten();
        Self {
            name: text(&value["name"]),
            group: text(&value["group"]),
            kind: text(&value["kind"]),
            uid: text(&value["uid"]),
            causes: causes
                .map(|cause| Cause {
                    reason: text(&cause["reason"]),
                    message: text(&cause["message"]),
                    field: text(&cause["field"]),
                })
                .collect(),
            retry_after_seconds: value["retryAfterSeconds"]
                .as_u64()
                .and_then(|seconds| u32::try_from(seconds).ok())
                .unwrap_or(0),
        }
    }

    fn to_value(&self) -> Value {
        let mut object = Map::new();
        for (name, text) in [
            ("name", &self.name),
            ("group", &self.group),
            ("kind", &self.kind),
            ("uid", &self.uid),
        ] {
            if !text.is_empty() {
                object.insert(name.into(), text.clone().into());
            }
        }
        if !self.causes.is_empty() {
            object.insert("causes".into(), self.causes.iter().map(Cause::to_value).collect());
        }
        if self.retry_after_seconds > 0 {
            object.insert("retryAfterSeconds".into(), self.retry_after_seconds.into());
        }
        Value::Object(object)
    }
}

impl Cause {
    fn to_value(&self) -> Value {
        let mut object = Map::new();
        for (name, text) in [
            ("reason", &self.reason),
            ("message", &self.message),
            ("field", &self.field),
        ] {
            if !text.is_empty() {
                object.insert(name.into(), text.clone().into());
            }
        }
        Value::Object(object)
    }
}

/// Returns the `Status` that says a deletion is done.
pub fn deleted(resource: GroupResource<'_>, name: &str, uid: &str) -> Value {
    let details = Details {
        name: name.to_owned(),
        group: resource.group.to_owned(),
        kind: resource.resource.to_owned(),
        uid: uid.to_owned(),
        ..Details::default()
    };
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details.to_value(),
    })
}
