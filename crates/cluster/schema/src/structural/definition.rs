//! CustomResourceDefinitions: defaults, and everything that the API server checks when one is written.
//!
//! The API server moves what all versions share (schema, subresources, columns, selectable fields) to one place before
//! it checks it, and its errors name that place: `spec.validation.openAPIV3Schema` instead of
//! `spec.versions[0].schema.openAPIV3Schema`.

mod columns;
mod conversion;
mod default_values;
mod defaulting;
mod extensions;
pub mod field_path;
mod internal;
mod keywords;
mod parts;
mod rules;
mod schema;
mod structure;
mod view;

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

pub use self::conversion::webhook_address_faults;
pub use self::defaulting::{default, prepare_create, prepare_update, warnings};
pub use self::field_path::{Found, follow as follow_field_path};
pub use self::internal::rule as shown_rule;
pub use self::rules::{RuleChecks, RuleSite, Unchecked};
pub use self::schema::non_structural;
use self::view::{Part, View};
use super::metadata::{self, Malformed};
use super::name_rules;
use crate::{FieldError, FieldErrors, FieldPath};
use chart::go_url::Url;

/// The annotation that says who approved an API in a group of the Kubernetes project.
const APPROVAL: &str = "api-approved.kubernetes.io";

/// What is asked of a definition. A stored one that breaks a rule which came later may go on breaking it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a rule of its own, and any of them may be waived"
)]
struct Strictness {
    recognized_review_version: bool,
    every_version_has_schema: bool,
    valid_types: bool,
    structural: bool,
    pruned_defaults: bool,
    atomic_sets: bool,
    list_keys: bool,
    invalid_authority_bundle: bool,
    /// Whether the schema that is being checked is the one that is stored.
    unchanged_schema: bool,
    /// The versions whose schema is the one that is stored.
    unchanged_versions: Vec<String>,
    /// The versions that may keep more selectable fields than are allowed; empty text stands for what all share.
    many_selectable_fields: Vec<String>,
}

impl Strictness {
    /// What is asked of a new definition.
    fn full() -> Self {
        Self {
            recognized_review_version: true,
            every_version_has_schema: true,
            valid_types: true,
            structural: true,
            pruned_defaults: true,
            atomic_sets: true,
            list_keys: true,
            // The bundle is often filled in by a controller afterwards.
            invalid_authority_bundle: true,
            unchanged_schema: false,
            unchanged_versions: Vec::new(),
            many_selectable_fields: Vec::new(),
        }
    }
}

/// Returns what is wrong with a new definition, short of its CEL rules.
pub fn validate(new: &Value) -> FieldErrors {
    validate_with(new, &mut Unchecked)
}

/// Returns what is wrong with a new definition.
pub fn validate_with(new: &Value, checks: &mut dyn RuleChecks) -> FieldErrors {
    let view = View::of(new);
    let wanted = format!("{}.{}", view.names().text("plural"), view.text("group"));
    let name_rule = |name: &str, is_prefix: bool| {
        let judged = if is_prefix {
            name_rules::masked_prefix(name)
        } else {
            name.to_owned()
        };
        let mut faults = name_rules::dns_subdomain(&judged);
        if name != wanted {
            faults.push("must be spec.names.plural+\".\"+spec.group".to_owned());
        }
        faults
    };
    let mut errors = metadata::validate(
        &read_metadata(new),
        false,
        &name_rule,
        &FieldPath::new("metadata"),
    );
    errors.append(parts::validate_spec(&view, &Strictness::full(), checks));
    errors.append(rest(new, None));
    errors
}

/// Returns what is wrong with a definition that replaces an old one, short of its CEL rules.
pub fn validate_update(new: &Value, old: &Value) -> FieldErrors {
    validate_update_with(new, old, &mut Unchecked)
}

/// Returns what is wrong with a definition that replaces an old one.
pub fn validate_update_with(new: &Value, old: &Value, checks: &mut dyn RuleChecks) -> FieldErrors {
    let (view, old_view) = (View::of(new), View::of(old));
    let strictness = schema::strictness_for_update(&view, &old_view);
    let mut errors = metadata::validate_update(
        &read_metadata(new),
        &read_metadata(old),
        &FieldPath::new("metadata"),
    );
    errors.append(parts::validate_spec(&view, &strictness, checks));
    let spec = FieldPath::new("spec");
    let mut immutable = |new: &str, old: &str, field: FieldPath| {
        if new != old {
            errors.push(FieldError::invalid(field, &new.into(), "field is immutable"));
        }
    };
    if is_condition_true(old, "Established") {
        immutable(view.text("scope"), old_view.text("scope"), spec.child("scope"));
        immutable(
            view.names().text("kind"),
            old_view.names().text("kind"),
            spec.child("names").child("kind"),
        );
    }
    immutable(view.text("group"), old_view.text("group"), spec.child("group"));
    immutable(
        view.names().text("plural"),
        old_view.names().text("plural"),
        spec.child("names").child("plural"),
    );
    errors.append(rest(new, Some(old)));
    errors
}

/// Returns what is wrong with the status of a definition that replaces an old one.
pub fn validate_status_update(new: &Value, old: &Value) -> FieldErrors {
    let mut errors = metadata::validate_update(
        &read_metadata(new),
        &read_metadata(old),
        &FieldPath::new("metadata"),
    );
    errors.append(accepted_name_faults(new));
    errors
}

/// Returns whether a definition has a condition that is true.
pub fn is_condition_true(definition: &Value, condition_type: &str) -> bool {
    condition(definition, condition_type)
        .is_some_and(|condition| condition.get("status") == Some(&"True".into()))
}

/// Returns a condition of a definition.
pub fn condition<'a>(definition: &'a Value, condition_type: &str) -> Option<&'a Value> {
    definition
        .pointer("/status/conditions")?
        .as_array()?
        .iter()
        .find(|condition| condition.get("type").and_then(Value::as_str) == Some(condition_type))
}

/// Returns whether a definition has authorities for its conversion webhook that can't be read.
pub fn has_invalid_authority_bundle(definition: &Value) -> bool {
    conversion::has_invalid_bundle(View::of(definition).conversion())
}

fn read_metadata(definition: &Value) -> Map<String, Value> {
    let given = definition.get("metadata").unwrap_or(&Value::Null);
    metadata::read(given, Malformed::Drop)
        .map(|read| read.metadata)
        .unwrap_or_default()
}

fn accepted_name_faults(definition: &Value) -> FieldErrors {
    let names = Part::at(definition, "/status/acceptedNames");
    parts::name_faults(names, &FieldPath::new("status").child("acceptedNames"))
}

/// Returns what is wrong beside the metadata and the specification.
fn rest(new: &Value, old: Option<&Value>) -> FieldErrors {
    let mut errors = accepted_name_faults(new);
    errors.append(stored_version_faults(new));
    errors.extend(approval_fault(new, old));
    let keeps_unknown =
        |definition: &Value| definition.pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true));
    if keeps_unknown(new) && !old.is_some_and(keeps_unknown) {
        errors.push(FieldError::invalid(
            FieldPath::new("spec").child("preserveUnknownFields"),
            &Value::Bool(true),
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ));
    }
    errors
}

fn stored_version_faults(definition: &Value) -> FieldErrors {
    let path = FieldPath::new("status").child("storedVersions");
    let stored = Part::at(definition, "/status").items("storedVersions");
    if stored.is_empty() {
        let given = definition
            .pointer("/status/storedVersions")
            .unwrap_or(&Value::Null);
        let rule = "must have at least one stored version";
        return FieldErrors::from(vec![FieldError::invalid(path, given, rule)]);
    }
    let mut errors = FieldErrors::default();
    let view = View::of(definition);
    let mut unseen: HashSet<&str> = stored.iter().filter_map(Value::as_str).collect();
    for version in &view.versions {
        let name = version.text("name");
        // A name is used up by the first version that has it.
        if version.flag("storage") && !unseen.contains(name) {
            let rule = format!("must have the storage version {name}");
            errors.push_with(|| FieldError::invalid(path.clone(), &Value::Array(stored.to_vec()), rule));
        }
        unseen.remove(name);
    }
    let known: HashSet<&str> = view.versions.iter().map(|version| version.text("name")).collect();
    let last: HashMap<&Value, usize> = stored.iter().zip(0..).collect();
    for (index, name) in stored.iter().enumerate() {
        let version = name.as_str().unwrap_or_default();
        // A name that is listed twice is complained about once, where it stands last.
        if !known.contains(version) && last.get(name) == Some(&index) {
            errors.push(FieldError::invalid(
                path.index(index),
                name,
                format!(
                    "missing from spec.versions; {version} was previously a storage version, and must remain in \
                     spec.versions until a storage migration ensures no data remains persisted in {version} and removes \
                     {version} from status.storedVersions"
                ),
            ));
        }
    }
    errors
}

/// What the annotation says about the approval of an API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// The annotation holds something else than it should.
    Invalid,
    /// The annotation holds the address where the API was approved.
    Approved,
    /// The annotation says that the API isn't approved.
    Bypassed,
    /// There is no annotation.
    Missing,
}

/// Returns whether APIs of a group need the approval of the Kubernetes project.
pub fn needs_approval(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"].into_iter().any(|domain| {
        group
            .strip_suffix(domain)
            .is_some_and(|front| front.is_empty() || front.ends_with('.'))
    })
}

/// Returns what a definition's annotation says about its approval, and what a condition says about that.
pub fn approval(definition: &Value) -> (Approval, String) {
    let annotation = definition
        .pointer("/metadata/annotations")
        .and_then(|annotations| annotations.get(APPROVAL))
        .and_then(Value::as_str)
        .unwrap_or_default();
    let quoted = gotemplate::format::quoted(annotation);
    let required = format!(
        "protected groups must have approval annotation {}",
        gotemplate::format::quoted(APPROVAL)
    );
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    if annotation.is_empty() {
        (Approval::Missing, format!("{required}, {see}"))
    } else if annotation.starts_with("unapproved") {
        (Approval::Bypassed, format!("not approved: {quoted}"))
    } else if Url::parse_request(annotation).is_ok_and(|url| !url.host.is_empty() && !url.scheme.is_empty()) {
        (Approval::Approved, format!("approved in {annotation}"))
    } else {
        let rule = format!("{required} with either a URL or a reason starting with \"unapproved\", {see}");
        (Approval::Invalid, rule)
    }
}

fn approval_fault(new: &Value, old: Option<&Value>) -> Option<FieldError> {
    if !needs_approval(View::of(new).text("group")) {
        return None;
    }
    let (state, reason) = approval(new);
    if old.is_some_and(|old| approval(old).0 == state) {
        return None;
    }
    let field = FieldPath::new("metadata").child("annotations").key(APPROVAL);
    match state {
        Approval::Invalid => {
            let annotation = new
                .pointer("/metadata/annotations")
                .and_then(|all| all.get(APPROVAL));
            Some(FieldError::invalid(
                field,
                annotation.unwrap_or(&Value::Null),
                reason,
            ))
        }
        Approval::Missing => Some(FieldError::required(field, reason)),
        Approval::Approved | Approval::Bypassed => None,
    }
}
