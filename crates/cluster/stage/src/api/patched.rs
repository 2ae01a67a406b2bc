//! What a patch makes of an object, and what is said where that is no object of its kind any more.

use std::sync::Arc;

use patch::{PatchError, json_patch::JsonPatch};
use schema::strict::{self, DecodeError, Decoded, Encoding, Target};
use schema::{FieldError, FieldPath};
use serde_json::Value;

use super::patch::PatchType;
use super::{Call, Place};
use crate::custom::CustomKind;
use crate::object::Object;
use crate::options::FieldValidation;
use crate::resource::{Nature, Resource, api_version};
use crate::status::Status;

/// Returns an object as a patch changes it, in the form that objects of its kind have.
pub(super) fn patched(
    call: &Call,
    place: &Place,
    patch_type: PatchType,
    current: Value,
    body: &[u8],
    validation: FieldValidation,
) -> Result<Value, Status> {
    let resource = &*place.resource;
    let strict = validation != FieldValidation::Ignore;
    let (mut object, mut findings) = merged(resource, patch_type, current, body, strict)?;
    let refuse = |object: &Value, why: &str| {
        let shown = match patch_type {
            PatchType::Strategic => patch::strategic::shown(body),
            _ => object.to_string(),
        };
        let error = FieldError::invalid(FieldPath::new("patch"), &shown.into(), why);
        Status::invalid("", "", "", &[error])
    };
    if patch_type == PatchType::Strategic {
        // Kind and version aren't merged: the result is read as what it was.
        set_type(resource, &mut object);
    }
    let decoded = read(resource, &object).map_err(|failed| match failed {
        Failed::Unreadable(why) if patch_type == PatchType::Strategic => {
            refuse(&object, &patch::strategic::conversion_error(&why))
        }
        Failed::Unreadable(why) => refuse(&object, &why),
        Failed::Refused(status) => status,
    })?;
    findings.extend(decoded.problems);
    match validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => findings.into_iter().for_each(|finding| call.warn(finding)),
        FieldValidation::Strict if findings.is_empty() => {}
        FieldValidation::Strict => {
            let why = format!("strict decoding error: {}", findings.join(", "));
            return Err(refuse(&object, &why));
        }
    }
    let mut object = decoded.value;
    set_type(resource, &mut object);
    check_name(place, &object)?;
    Ok(object)
}

fn set_type(resource: &Resource, object: &mut Value) {
    let object = crate::object::map_of(object);
    object.insert("apiVersion".into(), resource.api_version().into());
    object.insert("kind".into(), (&*resource.kind).into());
}

fn check_name(place: &Place, object: &Value) -> Result<(), Status> {
    let (named, name) = (object.name(), &place.name);
    if named == *name {
        return Ok(());
    }
    Err(Status::bad_request(if named.is_empty() {
        format!("the name of the object ({name} based on URL) was undeterminable: name must be provided")
    } else {
        format!("the name of the object ({named}) does not match the name on the URL ({name})")
    }))
}

fn merged(
    resource: &Resource,
    patch_type: PatchType,
    object: Value,
    body: &[u8],
    strict: bool,
) -> Result<(Value, Vec<String>), Status> {
    let merged = match patch_type {
        PatchType::Json => JsonPatch::read(body, strict).and_then(|read| {
            let findings = read.findings().to_vec();
            Ok((read.apply(object)?, findings))
        }),
        PatchType::Merge => {
            patch::merge_patch::apply(object, body, strict).map(|merged| (merged.object, merged.findings))
        }
        PatchType::Strategic | PatchType::Apply => {
            let name = schema::builtin::kind(&resource.group, &resource.version, &resource.kind)
                .ok_or_else(|| Status::internal(format_args!("{} has no schema", resource.kind)))?;
            let definition = schema::Reference::Definition {
                name: name.into(),
                beside: Arc::default(),
            };
            patch::strategic::apply(object, body, &definition, strict)
                .map(|merged| (merged.object, merged.findings))
        }
    };
    merged.map_err(|error| patch_failure(&error))
}

/// Returns the failure of a patch that can't be applied.
pub(super) fn patch_failure(error: &PatchError) -> Status {
    let code = http::StatusCode::from_u16(error.code()).unwrap_or(http::StatusCode::BAD_REQUEST);
    let status = Status::refusal(code, error.reason(), error.message());
    if error.code() == 422 {
        status.with_causes(Vec::new())
    } else {
        status
    }
}

/// Why the result of a patch is no object of its kind.
enum Failed {
    /// It can't be read, and the patch is to blame.
    Unreadable(String),
    /// It is refused for what it says of itself.
    Refused(Status),
}

impl From<DecodeError> for Failed {
    fn from(error: DecodeError) -> Self {
        Self::Unreadable(error.to_string())
    }
}

fn read(resource: &Resource, object: &Value) -> Result<Decoded, Failed> {
    match &resource.nature {
        Nature::BuiltIn(_) => read_built_in(resource, object),
        Nature::Custom(custom) => read_custom(resource, custom, object),
    }
}

fn read_built_in(resource: &Resource, object: &Value) -> Result<Decoded, Failed> {
    let definition =
        schema::builtin::kind(&resource.group, &resource.version, &resource.kind).ok_or_else(|| {
            Failed::Refused(Status::internal(format_args!(
                "{} has no definition",
                resource.kind
            )))
        })?;
    let decoded = strict::normalize(definition, object)?;
    let found = &decoded.found;
    let kind = if found.kind.is_empty() {
        &*resource.kind
    } else {
        &found.kind
    };
    if found.version.is_empty() || (resource.is_kind(&found.group, &found.version, kind)) {
        return Ok(decoded);
    }
    let why = if schema::builtin::kind(&found.group, &found.version, kind).is_some() {
        let package = crate::decode::internal_package(&resource.group);
        let version = &found.version;
        format!(
            "converting ({version}.{kind}) to ({package}.{}): unknown conversion",
            resource.kind
        )
    } else {
        let sent = api_version(&found.group, &found.version);
        format!(
            "no kind \"{kind}\" is registered for version \"{sent}\" in scheme \"pkg/runtime/scheme.go:111\""
        )
    };
    Err(Failed::Unreadable(why))
}

fn read_custom(resource: &Resource, custom: &CustomKind, object: &Value) -> Result<Decoded, Failed> {
    let text = |name: &str| object.get(name).and_then(Value::as_str);
    let json = object.to_string();
    let decoded = strict::decode(
        json.as_bytes(),
        Encoding::Json,
        Target::Custom(Some(&custom.schema)),
    )?;
    let Some(sent) = text("apiVersion").filter(|sent| !sent.is_empty()) else {
        let why = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
        return Err(Failed::Refused(Status::internal(why)));
    };
    let wrong = if decoded.found.kind != *resource.kind {
        let rule = format!("must be {}", resource.kind);
        FieldError::invalid(FieldPath::new("kind"), &decoded.found.kind.clone().into(), rule)
    } else if sent != resource.api_version() {
        let rule = format!("must be {}", resource.api_version());
        FieldError::invalid(FieldPath::new("apiVersion"), &sent.into(), rule)
    } else {
        return Ok(decoded);
    };
    let found = &decoded.found;
    Err(Failed::Refused(Status::invalid(
        &found.group,
        &found.kind,
        object.name(),
        &[wrong],
    )))
}
