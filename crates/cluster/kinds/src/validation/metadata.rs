//! Metadata of built-in kinds: each has its own rule for names.

use schema::structural::metadata as rules;
use schema::structural::name_rules::{dns_label, dns_subdomain, masked_prefix, path_segment};

use super::reading::Reading;
use super::report::{Errors, Path};
use super::syntax;
use crate::tree::Fields;

/// What names of a kind may look like.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// A DNS subdomain.
    Subdomain,
    /// A DNS label.
    Label,
    /// A segment of a path.
    Segment,
    /// A key of a `ConfigMap`.
    Key,
    /// Whatever the kind's own rules say.
    Any,
}

impl Name {
    fn faults(self, name: &str, is_prefix: bool) -> Vec<String> {
        let masked = || {
            if is_prefix {
                masked_prefix(name)
            } else {
                name.to_owned()
            }
        };
        match self {
            Self::Subdomain => dns_subdomain(&masked()),
            Self::Label => dns_label(&masked()),
            Self::Segment => path_segment(name, false),
            Self::Key => syntax::config_key(name),
            Self::Any => Vec::new(),
        }
    }
}

/// Returns what names of a kind may look like, and whether it lives in namespaces.
fn name_rule(group: &str, kind: &str) -> Name {
    match (group, kind) {
        ("", "Service" | "Namespace") | ("apps", "StatefulSet") => Name::Label,
        ("rbac.authorization.k8s.io", _) | ("apiregistration.k8s.io", "APIService") => Name::Segment,
        ("coordination.k8s.io", "LeaseCandidate") => Name::Key,
        ("certificates.k8s.io", "ClusterTrustBundle") => Name::Any,
        _ => Name::Subdomain,
    }
}

const METADATA: Path<'_> = Path::new("metadata");

/// Finalizers that need no domain in front.
const PLAIN_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

fn is_namespaced(group: &str, kind: &str) -> bool {
    crate::table::kind(group, kind).is_none_or(|row| row.scope == crate::Scope::Namespaced)
}

/// Checks metadata of an object as if it were new.
pub(super) fn check(errors: &mut Errors, group: &str, kind: &str, object: &Fields) {
    let rule = name_rule(group, kind);
    check_with(errors, object, is_namespaced(group, kind), &|name, is_prefix| {
        rule.faults(name, is_prefix)
    });
    if !keeps_plain_finalizers(group) {
        plain_finalizers(errors, object);
    }
}

/// Checks metadata by a rule for names.
pub(super) fn check_with(
    errors: &mut Errors,
    object: &Fields,
    is_namespaced: bool,
    rule: rules::NameRule<'_>,
) {
    errors.append(rules::validate(
        object.at("metadata"),
        is_namespaced,
        rule,
        &METADATA.owned(),
    ));
}

/// Checks metadata of an object that replaces an old one.
pub(super) fn check_update(errors: &mut Errors, group: &str, new: &Fields, old: &Fields) {
    errors.append(rules::validate_update(
        new.at("metadata"),
        old.at("metadata"),
        &METADATA.owned(),
    ));
    if !keeps_plain_finalizers(group) {
        plain_finalizers(errors, new);
    }
}

/// Checks what the server checks of all kinds, whatever their own rules are; `old` is what an object replaces.
pub(super) fn check_common(errors: &mut Errors, group: &str, kind: &str, new: &Fields, old: Option<&Fields>) {
    check_with(errors, new, is_namespaced(group, kind), &|name, _| {
        path_segment(name, false)
    });
    if let Some(old) = old {
        errors.append(rules::validate_update(
            new.at("metadata"),
            old.at("metadata"),
            &METADATA.owned(),
        ));
    }
}

/// Some groups are checked by the rules of all objects alone, which know no list of plain finalizers.
fn keeps_plain_finalizers(group: &str) -> bool {
    matches!(
        group,
        "admissionregistration.k8s.io" | "apiregistration.k8s.io" | "coordination.k8s.io" | "node.k8s.io"
    )
}

fn plain_finalizers(errors: &mut Errors, object: &Fields) {
    let path = METADATA.child("finalizers");
    for (index, name) in object.at("metadata").texts("finalizers").enumerate() {
        plain_finalizer(errors, &path.index(index), name);
    }
}

/// Checks that a finalizer has a domain or is one of those that need none.
pub(super) fn plain_finalizer(errors: &mut Errors, path: &Path<'_>, name: &str) {
    if !name.contains('/') && !PLAIN_FINALIZERS.contains(&name) {
        errors.invalid(
            path,
            name,
            "name is neither a standard finalizer name nor is it fully qualified",
        );
    }
}

/// Checks annotations.
pub(super) fn annotations(errors: &mut Errors, path: &Path<'_>, object: &Fields) {
    /// The most bytes that all annotations may have together.
    const MOST_BYTES: usize = 256 << 10;
    let mut bytes = 0;
    for (key, value) in object.entries("annotations") {
        let faults = schema::structural::name_rules::label_key(&key.to_lowercase());
        errors.faults(path, key, faults);
        bytes += key.len() + value.len();
    }
    if bytes > MOST_BYTES {
        errors.too_long(path, MOST_BYTES);
    }
}
