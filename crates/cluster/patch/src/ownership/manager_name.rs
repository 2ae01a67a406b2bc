//! The names of managers: where they come from, and what they may be.

use gotemplate::format::is_print;
use schema::{FieldError, FieldPath};
use serde_json::Value;

/// The bytes that a manager's name may have: the API server's limit.
pub const MAX_MANAGER_BYTES: usize = 128;

/// The bytes that a subresource's name in `managedFields` may have: the API server's limit.
const MAX_SUBRESOURCE_BYTES: usize = 256;

/// Returns the name of a write's manager: the one that the request names, else the beginning of its user agent.
pub fn manager_or_user_agent(field_manager: &str, user_agent: &str) -> String {
    if field_manager.is_empty() {
        from_user_agent(user_agent)
    } else {
        field_manager.to_owned()
    }
}

/// Returns what stands before the first `/` of a user agent, without what can't be printed, as far as it fits.
fn from_user_agent(user_agent: &str) -> String {
    let mut name = String::new();
    let product = user_agent.split('/').next().unwrap_or_default();
    for character in product.chars().filter(|character| is_print(*character)) {
        if name.len() + character.len_utf8() > MAX_MANAGER_BYTES {
            break;
        }
        name.push(character);
    }
    name
}

/// Returns what is wrong with the `fieldManager` of a request.
pub fn validate_field_manager(name: &str, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if name.len() > MAX_MANAGER_BYTES {
        errors.push(FieldError::too_long(path.clone(), MAX_MANAGER_BYTES));
    }
    for (position, character) in name.char_indices().filter(|(_, character)| !is_print(*character)) {
        let detail = format!(
            "invalid character U+{:04X} (at position {position})",
            u32::from(character)
        );
        errors.push(FieldError::invalid(
            path.clone(),
            &Value::String(name.to_owned()),
            detail,
        ));
    }
    errors
}

/// Returns what is wrong with the `fieldManager` and `force` of a patch.
pub fn validate_patch_options(is_apply: bool, field_manager: &str, force: Option<bool>) -> Vec<FieldError> {
    let path = FieldPath::new("fieldManager");
    let mut errors = Vec::new();
    if is_apply && field_manager.is_empty() {
        errors.push(FieldError::required(path.clone(), "is required for apply patch"));
    }
    if !is_apply && force.is_some() {
        errors.push(FieldError::forbidden(
            FieldPath::new("force"),
            "may not be specified for non-apply patch",
        ));
    }
    errors.extend(validate_field_manager(field_manager, &path));
    errors
}

/// Returns what is wrong with an object's `metadata.managedFields`, which `path` names.
pub fn validate_managed_fields(managed_fields: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (position, entry) in managed_fields.as_array().into_iter().flatten().enumerate() {
        let path = path.index(position);
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let operation = text("operation");
        if !matches!(operation, "Apply" | "Update") {
            let shown = Value::String(operation.to_owned());
            errors.push(FieldError::invalid(
                path.child("operation"),
                &shown,
                "must be `Apply` or `Update`",
            ));
        }
        let fields_type = text("fieldsType");
        if !matches!(fields_type, "" | "FieldsV1") {
            let shown = Value::String(fields_type.to_owned());
            errors.push(FieldError::invalid(
                path.child("fieldsType"),
                &shown,
                "must be `FieldsV1`",
            ));
        }
        errors.extend(validate_field_manager(text("manager"), &path.child("manager")));
        if text("subresource").len() > MAX_SUBRESOURCE_BYTES {
            errors.push(FieldError::too_long(
                path.child("subresource"),
                MAX_SUBRESOURCE_BYTES,
            ));
        }
    }
    errors
}

/// Returns the warning for a webhook that left `metadata.managedFields` in a state that can't be read, which is then
/// undone; `None` if they can be read.
pub fn warning_after_admission(managed_fields: Option<&Value>) -> Option<String> {
    let error = super::managers::Managers::read(managed_fields).err()?;
    Some(format!(
        ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated \
         mutating admission controller; please fix your requests: {error}"
    ))
}
