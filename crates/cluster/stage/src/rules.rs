//! The rules of a resource, whatever its nature: defaults, what a write may bring, what an object may not be.

use schema::FieldErrors;
use schema::structural::definition;
use serde_json::Value;

use crate::admission::policies::checks;
use crate::resource::{Nature, Resource};

/// Returns whether a resource is that of the CustomResourceDefinitions, whose rules are those of schemas.
fn defines_kinds(resource: &Resource) -> bool {
    resource.is("apiextensions.k8s.io", "customresourcedefinitions")
}

/// Fills in defaults in the version that an object is written in.
pub fn default(resource: &Resource, object: &mut Value) {
    match &resource.nature {
        Nature::BuiltIn(_) if defines_kinds(resource) => definition::default(object),
        Nature::BuiltIn(row) => kinds::defaults::apply(row.group, &resource.version, row.kind, object),
        Nature::Custom(custom) => custom.default(object),
    }
}

/// Removes what a client may not set on a new object.
pub fn prepare_for_create(resource: &Resource, object: &mut Value) {
    match &resource.nature {
        Nature::BuiltIn(_) if defines_kinds(resource) => definition::prepare_create(object),
        Nature::BuiltIn(row) => kinds::strategy::prepare_for_create(row.group, row.kind, object),
        Nature::Custom(custom) => custom.prepare_for_create(object),
    }
}

/// Puts back what an update through the object itself (`None`) or a subresource may not change.
pub fn prepare_for_update(resource: &Resource, below: Option<&str>, new: &mut Value, old: &Value) {
    match &resource.nature {
        Nature::BuiltIn(_) if defines_kinds(resource) && below.is_none() => {
            definition::prepare_update(new, old);
        }
        Nature::BuiltIn(row) => {
            let now = jiff::Timestamp::now();
            kinds::strategy::prepare_for_update(row.group, row.kind, below, new, old, now);
        }
        Nature::Custom(custom) => custom.prepare_for_update(below, new, old),
    }
}

/// Returns what is wrong with a new object.
pub fn validate_create(resource: &Resource, object: &Value) -> FieldErrors {
    match &resource.nature {
        Nature::BuiltIn(_) if defines_kinds(resource) => {
            definition::validate_with(object, &mut expression::rules::Checks::default())
        }
        Nature::BuiltIn(row) => {
            let mut errors = kinds::validation::validate_create(row.group, row.kind, object);
            errors.extend(checks::errors(resource, object, None));
            errors
        }
        Nature::Custom(custom) => custom.validate_create(resource.namespaced, object),
    }
}

/// Returns what is wrong with an update, and what a person should know about what it leaves as it was.
pub fn validate_update(
    resource: &Resource,
    below: Option<&str>,
    new: &Value,
    old: &Value,
) -> (FieldErrors, Vec<String>) {
    match &resource.nature {
        Nature::BuiltIn(_) if defines_kinds(resource) => {
            let errors = match below {
                None => definition::validate_update_with(new, old, &mut expression::rules::Checks::default()),
                Some(_) => definition::validate_status_update(new, old),
            };
            (errors, Vec::new())
        }
        Nature::BuiltIn(row) => {
            let mut errors = kinds::validation::validate_update(row.group, row.kind, below, new, old);
            errors.extend(checks::errors(resource, new, Some(old)));
            (errors, Vec::new())
        }
        Nature::Custom(custom) => custom.validate_update(below, new, old),
    }
}

/// Brings an object that passed all checks into the form in which it is stored. Checks see what an apply made of it, as
/// those of a real server do.
pub fn settle(resource: &Resource, object: &mut Value) {
    if let Nature::Custom(custom) = &resource.nature {
        custom.settle(object);
    }
}

/// Returns what a person should know about an object that is allowed.
pub fn warnings(resource: &Resource, new: &Value, old: Option<&Value>) -> Vec<String> {
    match &resource.nature {
        Nature::BuiltIn(_) if defines_kinds(resource) => definition::warnings(new, old),
        Nature::BuiltIn(row) => kinds::validation::warnings(row.group, row.kind, new, old),
        Nature::Custom(_) => Vec::new(),
    }
}
