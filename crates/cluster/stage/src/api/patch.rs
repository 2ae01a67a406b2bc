//! A change of an object that is written as a patch.

use std::sync::Arc;

use patch::ownership::ApplyError;
use patch::{PatchError, json_patch::JsonPatch};
use serde_json::Value;

use super::modify::Changed;
use super::{Api, Call, Place, Written};
use crate::decode;
use crate::object::Object;
use crate::options::{FieldValidation, WriteOptions};
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
        let strict = options.field_validation != FieldValidation::Ignore;
        self.modify(call, place, options, |found| {
            let current = found.object.clone();
            async move {
                let (mut object, findings) = patched(place, patch_type, current, body, strict)?;
                let schema_problems = decode::conform(&place.resource, &mut object)?;
                decode::report(call, options.field_validation, findings, schema_problems)?;
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

fn patched(
    place: &Place,
    patch_type: PatchType,
    object: Value,
    body: &[u8],
    strict: bool,
) -> Result<(Value, Vec<String>), Status> {
    let (object, findings) = match patch_type {
        PatchType::Json => {
            let read = JsonPatch::read(body, strict).map_err(|error| patch_failure(&error))?;
            let findings = read.findings().to_vec();
            (read.apply(object), findings)
        }
        PatchType::Merge => {
            let merged =
                patch::merge_patch::apply(object, body, strict).map_err(|error| patch_failure(&error))?;
            (Ok(merged.object), merged.findings)
        }
        PatchType::Strategic | PatchType::Apply => {
            let resource = &place.resource;
            let name = schema::builtin::kind(&resource.group, &resource.version, &resource.kind)
                .ok_or_else(|| Status::internal(format_args!("{} has no schema", resource.kind)))?;
            let definition = schema::Reference::Definition {
                name: name.into(),
                beside: Arc::default(),
            };
            let merged = patch::strategic::apply(object, body, &definition, strict)
                .map_err(|error| patch_failure(&error))?;
            (Ok(merged.object), merged.findings)
        }
    };
    Ok((object.map_err(|error| patch_failure(&error))?, findings))
}

fn patch_failure(error: &PatchError) -> Status {
    let code = http::StatusCode::from_u16(error.code()).unwrap_or(http::StatusCode::BAD_REQUEST);
    let status = Status::refusal(code, error.reason(), error.message());
    if error.code() == 422 {
        status.with_causes(Vec::new())
    } else {
        status
    }
}

/// Checks what an applied configuration says about itself.
fn check_applied(place: &Place, applied: &Value) -> Result<(), Status> {
    let text = |name: &str| applied.get(name).and_then(Value::as_str).unwrap_or_default();
    if !applied.is_object() {
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
            let causes = conflicts
                .iter()
                .map(|conflict| Cause {
                    reason: "FieldManagerConflict".to_owned(),
                    message: conflict.message(),
                    field: conflict.path.to_string(),
                })
                .collect();
            Status::apply_conflict(error.to_string(), causes)
        }
        ApplyError::Invalid(text) => Status::bad_request(text.clone()),
        ApplyError::Failed(text) => {
            Status::refusal(http::StatusCode::INTERNAL_SERVER_ERROR, "", text.clone())
        }
    }
}
