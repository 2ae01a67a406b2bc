//! A change of an object that is written as a patch.

use patch::json_patch::JsonPatch;
use patch::ownership::ApplyError;
use schema::field_errors::MOST_PROBLEMS;
use serde_json::Value;

use super::modify::Changed;
use super::patched::{patch_failure, patched};
use super::{Api, Call, Place, Written};
use crate::decode;
use crate::object::Object;
use crate::options::WriteOptions;
use crate::status::{Cause, Status};

/// What a patch is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchType {
    /// RFC 6902.
    Json,
    /// RFC 7396.
    Merge,
    /// Kubernetes' own, which knows how lists merge.
    Strategic,
    /// A configuration that is applied.
    Apply,
}

impl PatchType {
    /// Returns the type of a media type.
    pub fn of(media_type: &str) -> Option<Self> {
        match media_type {
            "application/json-patch+json" => Some(Self::Json),
            "application/merge-patch+json" => Some(Self::Merge),
            "application/strategic-merge-patch+json" => Some(Self::Strategic),
            "application/apply-patch+yaml" => Some(Self::Apply),
            _ => None,
        }
    }
}

impl Api {
    /// Changes an object with a patch; an apply makes it where it isn't there.
    pub async fn patch(
        &self,
        call: &Call,
        place: &Place,
        patch_type: PatchType,
        body: &[u8],
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        if patch_type == PatchType::Apply {
            return self.apply(call, place, body, options).await;
        }
        self.modify(call, place, options, |found| {
            let current = found.object.clone();
            async move {
                let mut object = patched(call, place, patch_type, current, body, options.field_validation)?;
                crate::rules::default(&place.resource, &mut object);
                Ok(Changed {
                    object,
                    fields_are_noted: false,
                    replaces: false,
                })
            }
        })
        .await
    }

    async fn apply(
        &self,
        call: &Call,
        place: &Place,
        body: &[u8],
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        let applied = decode::applied(body)?;
        check_applied(place, &applied.value)?;
        decode::report(call, options.field_validation, applied.duplicates, Vec::new())?;
        if self.store.get(&place.key()).is_none() {
            if !place.subresource.is_empty() {
                return Err(place.not_found());
            }
            let mut object = self.apply_fields(call, place, None, &applied.value, options)?;
            // A new object has no version yet, whatever the configuration says.
            object.set_metadata_text("resourceVersion", "");
            let changed = Changed {
                object,
                fields_are_noted: true,
                replaces: false,
            };
            return self.create_changed(call, place, changed, options).await;
        }
        self.modify(call, place, options, |found| {
            let made = self.apply_fields(call, place, Some(&found.object), &applied.value, options);
            async move {
                let mut object = made?;
                crate::rules::default(&place.resource, &mut object);
                Ok(Changed {
                    object,
                    fields_are_noted: true,
                    replaces: false,
                })
            }
        })
        .await
    }
}

/// Returns a scale as a patch changes it. A Scale has no lists, so that every patch of a document is a merge.
pub(super) fn patched_scale(
    patch_type: PatchType,
    scale: Value,
    body: &[u8],
    strict: bool,
) -> Result<Value, Status> {
    match patch_type {
        PatchType::Json => {
            let read = JsonPatch::read(body, strict).map_err(|error| patch_failure(&error))?;
            read.apply(scale).map_err(|error| patch_failure(&error))
        }
        PatchType::Merge | PatchType::Strategic => {
            let merged =
                patch::merge_patch::apply(scale, body, strict).map_err(|error| patch_failure(&error))?;
            Ok(merged.object)
        }
        PatchType::Apply => Err(Status::internal("a scale is applied with its owners")),
    }
}

/// Checks what an applied configuration says about itself.
fn check_applied(place: &Place, applied: &Value) -> Result<(), Status> {
    let text = |name: &str| applied.get(name).and_then(Value::as_str).unwrap_or_default();
    if !applied.is_object() && !applied.is_null() {
        let found = match applied {
            Value::Array(_) => "array",
            Value::String(_) => "string",
            Value::Bool(_) => "bool",
            _ => "number",
        };
        return Err(Status::bad_request(format!(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go \
             value of type map[string]interface {{}}"
        )));
    }
    if text("apiVersion").is_empty() || text("kind").is_empty() {
        return Err(Status::bad_request("invalid object type: /, Kind="));
    }
    let resource = &place.resource;
    if text("apiVersion") != resource.api_version() || text("kind") != &*resource.kind {
        let (group, version) = crate::resource::split_api_version(text("apiVersion"));
        return Err(Status::bad_request(format!(
            "invalid object type: {group}/{version}, Kind={}",
            text("kind")
        )));
    }
    let named = applied.name();
    if named.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({} based on URL) was undeterminable: name must be provided",
            place.name
        )));
    }
    if named != place.name {
        return Err(Status::bad_request(format!(
            "the name of the object ({named}) does not match the name on the URL ({})",
            place.name
        )));
    }
    Ok(())
}

/// Returns the failure of an apply.
pub(super) fn apply_failure(error: &ApplyError) -> Status {
    match error {
        ApplyError::Conflicts(conflicts) => {
            let causes: Vec<Cause> = conflicts
                .iter()
                .take(MOST_PROBLEMS)
                .map(|conflict| Cause {
                    reason: "FieldManagerConflict".to_owned(),
                    message: conflict.message(),
                    field: conflict.path.to_string(),
                })
                .collect();
            let left_out = conflicts.iter().skip(causes.len()).count();
            Status::apply_conflict(error.to_string(), causes, left_out)
        }
        ApplyError::Invalid(text) => Status::bad_request(text.clone()),
        ApplyError::Failed(text) => {
            Status::refusal(http::StatusCode::INTERNAL_SERVER_ERROR, "", text.clone())
        }
    }
}
