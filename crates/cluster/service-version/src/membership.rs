//! To which OperatorGroup a version belongs, and what of it is written into the version's annotations.

use apply::object::{annotation, text};
use classic::{Kind, ServiceAccount, World, keys};
use serde_json::{Map, Value, json};

use crate::provided_apis::status_namespaces;
use crate::version::ServiceVersion;

/// Returns the namespaces of a group as annotations have them: sorted and joined by commas.
pub fn joined_targets(group: &Value) -> String {
    let mut namespaces = status_namespaces(group).unwrap_or_default();
    namespaces.sort_unstable();
    namespaces.join(",")
}

/// Returns the namespaces of a group in words for people.
pub fn targets_in_words(group: &Value) -> String {
    match status_namespaces(group).unwrap_or_default().as_slice() {
        [] => "no namespace".to_owned(),
        [""] => "all namespaces".to_owned(),
        targets => format!("namespaces {}", targets.join(", ")),
    }
}

/// Returns the annotations that a version lacks to be a member of a group; none where it is one.
///
/// There are none to write where the status of the group doesn't name its namespaces yet.
pub fn missing_annotations(version: &Value, group: &Value) -> Option<Map<String, Value>> {
    let targets = joined_targets(group);
    let wanted = [
        (keys::OPERATOR_NAMESPACE, text(group, "/metadata/namespace")),
        (keys::OPERATOR_GROUP, text(group, "/metadata/name")),
        (keys::TARGET_NAMESPACES, &targets),
    ];
    let has_targets = status_namespaces(group).is_some();
    let mut is_member = true;
    let mut missing = Map::new();
    for (key, value) in wanted {
        if annotation(version, key) == Some(value) {
            continue;
        }
        is_member = false;
        if key != keys::TARGET_NAMESPACES || has_targets {
            missing.insert(key.to_owned(), Value::from(value));
        }
    }
    (!is_member).then_some(missing)
}

/// Returns the group that a version is a full member of, as its annotations say.
pub fn group<'a>(world: &'a World, version: ServiceVersion<'_>) -> Option<&'a Value> {
    if version.annotation(keys::OPERATOR_NAMESPACE)? != version.namespace() {
        return None;
    }
    let name = version.annotation(keys::OPERATOR_GROUP)?;
    let group = world.get(Kind::OperatorGroup, version.namespace(), name)?;
    (version.annotation(keys::TARGET_NAMESPACES)? == joined_targets(group)).then_some(&**group)
}

/// Returns whether a group looks after its own namespace and nothing else.
pub fn is_own_namespace_only(group: &Value) -> bool {
    status_namespaces(group).is_some_and(|targets| targets == [text(group, "/metadata/namespace")])
}

/// Returns whether failed versions of a group may be replaced.
pub fn fails_forward(group: &Value) -> bool {
    text(group, "/spec/upgradeStrategy") == "TechPreviewUnsafeFailForward"
}

/// Returns as whom the members of a group are installed: as ourselves where it names nobody.
///
/// # Errors
///
/// Upstream's text where it names someone who isn't there.
pub fn account(group: &Value) -> Result<Option<ServiceAccount>, String> {
    let wanted = text(group, "/spec/serviceAccountName");
    if wanted.is_empty() {
        return Ok(None);
    }
    let name = text(group, "/status/serviceAccountRef/name");
    if name.is_empty() {
        return Err(format!(
            "please make sure the service account exists. sa={wanted} operatorgroup={}/{}",
            text(group, "/metadata/namespace"),
            text(group, "/metadata/name")
        ));
    }
    Ok(Some(ServiceAccount {
        namespace: text(group, "/status/serviceAccountRef/namespace").to_owned(),
        name: name.to_owned(),
    }))
}

/// Returns a merge patch of annotations that holds only while nobody changed the object.
pub fn annotation_patch(object: &Value, annotations: Map<String, Value>) -> Value {
    let mut patch = json!({"metadata": {"annotations": annotations}});
    guard(&mut patch, object);
    patch
}

/// Lets a patch hold only while nobody changed the object.
pub fn guard(patch: &mut Value, object: &Value) {
    let version = text(object, "/metadata/resourceVersion");
    if !version.is_empty() {
        patch["metadata"]["resourceVersion"] = Value::from(version);
    }
}
