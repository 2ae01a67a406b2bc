//! Image references of catalogs with placeholders for the version of the cluster.

use apply::object::{annotation, at};
use classic::{World, keys};
use jiff::Timestamp;
use serde_json::Value;

use crate::conditions::{self, condition};
use crate::moment;

/// The condition that says whether all placeholders could be replaced.
pub const TEMPLATES_RESOLVED: &str = "TemplatesHaveResolved";

/// The condition whose message is the image that came of it.
pub const IMAGE_RESOLVED: &str = "ResolvedImage";

const MISSING: &str = "missing";

/// What became of an image reference with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedTemplate {
    /// The reference after replacing.
    pub image: String,
    /// Why it can't be used; none where it can.
    pub problem: Option<String>,
}

/// Replaces the placeholders of an image reference by the version of the server, such as `v1.36.3`.
pub fn resolve_template(template: &str, server_version: &str) -> ResolvedTemplate {
    let version = version::Version::parse(server_version.trim_start_matches('v')).ok();
    let numbers = version.map(|version| [version.major(), version.minor(), version.patch()]);
    let placeholders = [
        "{kube_major_version}",
        "{kube_minor_version}",
        "{kube_patch_version}",
    ];
    let mut image = template.to_owned();
    let mut unresolved: Vec<(usize, &str)> = Vec::new();
    for (index, placeholder) in placeholders.into_iter().enumerate() {
        let number = numbers.map(|numbers| numbers[index].to_string());
        if number.is_none() {
            let found = template.match_indices(placeholder);
            unresolved.extend(found.map(|(at, _)| (at, placeholder)));
        }
        image = image.replace(placeholder, number.as_deref().unwrap_or(MISSING));
    }
    unresolved.sort_unstable();
    let names: Vec<&str> = unresolved.into_iter().map(|(_, name)| name).collect();
    let variables = format!("\"{}\"", names.join("\", \""));
    let says = "cannot construct catalog image reference, because";
    let problem = match (names.is_empty(), is_reference(&image)) {
        (true, true) => None,
        (false, false) => Some(format!(
            "{says} variable(s) {variables} could not be resolved and one or more template(s) has improper syntax"
        )),
        (true, false) => Some(format!("{says} one or more template(s) has improper syntax")),
        (false, true) => Some(format!("{says} variable(s) {variables} could not be resolved")),
    };
    ResolvedTemplate { image, problem }
}

/// Returns whether a text can be an image reference; what is left of a placeholder can't.
fn is_reference(image: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:@+[]".contains(&byte);
    !image.is_empty() && image.bytes().all(allowed)
}

/// Brings the conditions about the template up to date; returns the image that the spec must name first.
pub(super) fn update(world: &World, source: &Value, status: &mut Value, now: Timestamp) -> Option<String> {
    let template = annotation(source, keys::CATALOG_IMAGE_TEMPLATE).unwrap_or_default();
    if template.is_empty() {
        conditions::remove(status, &[TEMPLATES_RESOLVED, IMAGE_RESOLVED]);
        return None;
    }
    let resolved = resolve_template(template, &world.server_version);
    let (is_resolved, reason) = match resolved.problem {
        None => ("True", "AllTemplatesResolved"),
        Some(_) => ("False", "UnableToResolve"),
    };
    let message = resolved
        .problem
        .as_deref()
        .unwrap_or("catalog image reference was successfully resolved");
    tell(
        status,
        condition(TEMPLATES_RESOLVED, is_resolved, reason, message),
        now,
    );
    tell(
        status,
        condition(IMAGE_RESOLVED, is_resolved, reason, &resolved.image),
        now,
    );
    let is_other = at(source, "/spec/image").and_then(Value::as_str) != Some(resolved.image.as_str());
    (resolved.problem.is_none() && is_other).then_some(resolved.image)
}

fn tell(status: &mut Value, mut wanted: Value, now: Timestamp) {
    let existing = conditions::get(status, conditions::field(&wanted, "type"));
    if existing.is_some_and(|existing| conditions::say_the_same(existing, &wanted)) {
        return;
    }
    let since = existing
        .filter(|existing| conditions::field(existing, "status") == conditions::field(&wanted, "status"))
        .and_then(|existing| existing.get("lastTransitionTime"))
        .cloned();
    wanted["lastTransitionTime"] = since.unwrap_or_else(|| Value::from(moment::text(now)));
    conditions::set(status, wanted);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_become_the_numbers_of_the_server() {
        let resolved = resolve_template("q.io/c:{kube_major_version}.{kube_minor_version}", "v1.36.3");
        assert_eq!(resolved.image, "q.io/c:1.36");
        assert_eq!(resolved.problem, None);
    }

    #[test]
    fn what_is_left_of_placeholders_is_named() {
        let resolved = resolve_template("q.io/c:{kube_patch_version}-{kube_major_version}", "");
        assert_eq!(resolved.image, "q.io/c:missing-missing");
        assert_eq!(
            resolved.problem.as_deref(),
            Some(
                "cannot construct catalog image reference, because variable(s) \"{kube_patch_version}\", \
                 \"{kube_major_version}\" could not be resolved"
            )
        );
        let resolved = resolve_template("q.io/c:{other}", "v1.36.3");
        assert_eq!(
            resolved.problem.as_deref(),
            Some(
                "cannot construct catalog image reference, because one or more template(s) has improper syntax"
            )
        );
    }
}
