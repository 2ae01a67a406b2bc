//! Custom resources: what a CustomResourceDefinition makes of a kind.
//!
//! - [`conversion`]: versions that a webhook turns into each other

pub mod conversion;

use std::cmp::Ordering;
use std::sync::Arc;

use expression::rules::Compiled;
use kinds::columns::custom::Columns;
use schema::structural::definition::is_condition_true;
use schema::structural::{self, embedded, metadata, name_rules};
use schema::{FieldError, FieldErrors, FieldPath, Schema};
use serde_json::Value;
use version::api_version_priority;

use crate::api::Api;
use crate::api::scale::ScalePaths;
use crate::object::{Object, map_of};
use crate::resource::{Nature, Resource, api_version};
use crate::status::Status;
use crate::store::ResourceKey;

/// One version of a custom kind.
#[derive(Debug)]
pub struct CustomKind {
    /// The name of the definition, which is also the name of the resource with its group.
    pub definition: Arc<str>,
    /// What the kind was made of: whoever watches its objects starts anew when this changes.
    pub identity: Arc<str>,
    /// The schema of this version.
    pub schema: Arc<Schema>,
    /// The schema as it was written, for the documents that describe it.
    pub document: Arc<Value>,
    /// The schema of the version that is stored.
    pub stored_schema: Arc<Schema>,
    /// Whether the version that is stored has resources inside resources.
    pub has_embedded: bool,
    /// The rules of the version that is stored.
    pub rules: Arc<Compiled>,
    /// Whether the status is written apart.
    pub has_status: bool,
    /// Where the replicas are, if it can be scaled.
    pub scale: Option<ScalePaths>,
    /// The fields that a field selector may name, as dotted paths.
    pub selectable_fields: Vec<String>,
    /// The columns of `kubectl get`, as the definition has them.
    pub columns: Columns,
    /// What a person should know who uses a version that goes away.
    pub deprecation: Option<String>,
    /// The `apiVersion` of every version that is served.
    pub versions: Vec<String>,
    /// How versions become each other.
    pub conversion: Value,
}

impl CustomKind {
    /// Returns objects in another version, whose schema is `wanted_schema`.
    pub async fn convert(
        &self,
        api: &Api,
        wanted: &str,
        wanted_schema: &Schema,
        objects: Vec<Value>,
    ) -> Result<Vec<Value>, Status> {
        let mut converted = if self.conversion["strategy"] == "Webhook" {
            conversion::convert(api, &self.conversion["webhook"], wanted, objects).await?
        } else {
            let mut objects = objects;
            for object in &mut objects {
                map_of(object).insert("apiVersion".into(), wanted.into());
            }
            objects
        };
        // What the other version doesn't have isn't shown, whoever made it.
        for object in &mut converted {
            structural::prune(wanted_schema, object, true);
        }
        Ok(converted)
    }

    /// Returns an object in another version without asking anyone, for the names of its fields alone.
    pub fn convert_fields(&self, object: &Value, wanted: &str) -> Result<Value, String> {
        let mut object = object.clone();
        map_of(&mut object).insert("apiVersion".into(), wanted.into());
        Ok(object)
    }

    /// Fills in defaults.
    pub fn default(&self, object: &mut Value) {
        schema::structural::default(&self.schema, object);
    }

    /// Fills in the defaults of the stored version.
    pub fn default_stored(&self, object: &mut Value) {
        schema::structural::default(&self.stored_schema, object);
    }

    /// Brings the metadata of resources inside an object into the form in which it is stored.
    pub fn settle(&self, object: &mut Value) {
        if self.has_embedded {
            let dropped = metadata::Malformed::Drop;
            // With what can't be read left out nothing is left to fail.
            let _ = embedded::coerce(&self.stored_schema, object, false, dropped, &FieldPath::root());
        }
    }

    /// Removes what a client may not set on a new object.
    pub fn prepare_for_create(&self, object: &mut Value) {
        if self.has_status {
            map_of(object).remove("status");
        }
        object.metadata_mut().insert("generation".into(), 1.into());
    }

    /// Puts back what an update may not change, and raises the generation when what is wanted has changed.
    pub fn prepare_for_update(&self, subresource: Option<&str>, new: &mut Value, old: &Value) {
        if let Some("status") = subresource {
            // Everything but the status stays, and so does all metadata but the managers of fields.
            let status = map_of(new).remove("status");
            let managers = new.metadata_mut().remove("managedFields");
            *new = old.clone();
            match status {
                Some(status) => map_of(new).insert("status".into(), status),
                None => map_of(new).remove("status"),
            };
            if let Some(managers) = managers {
                new.metadata_mut().insert("managedFields".into(), managers);
            }
        } else {
            if self.has_status {
                match old.get("status") {
                    Some(status) => map_of(new).insert("status".into(), status.clone()),
                    None => map_of(new).remove("status"),
                };
            }
            if !same_wish(new, old, self.has_status) {
                let generation = old.generation() + 1;
                new.metadata_mut().insert("generation".into(), generation.into());
            }
        }
    }

    /// Returns what is wrong with a new object.
    pub fn validate_create(&self, namespaced: bool, object: &Value) -> FieldErrors {
        let metadata = object.metadata().cloned().unwrap_or_default();
        let name_rule = |name: &str, is_prefix: bool| {
            let judged = if is_prefix {
                name_rules::masked_prefix(name)
            } else {
                name.to_owned()
            };
            name_rules::dns_subdomain(&judged)
        };
        let mut errors = metadata::validate(&metadata, namespaced, &name_rule, &FieldPath::new("metadata"));
        errors.append(structural::validate_resource(&self.stored_schema, object, None));
        errors.extend(self.scale_errors(object));
        if self.rules.is_empty() {
            return errors;
        }
        match structural::unchecked_rules(&errors) {
            Some(unchecked) => errors.push(unchecked),
            None => errors.append(self.rules.validate(&FieldPath::root(), object, None).errors),
        }
        errors
    }

    /// Returns what is wrong with an update, and what a person should know about what it leaves as it was.
    pub fn validate_update(
        &self,
        below: Option<&str>,
        new: &Value,
        old: &Value,
    ) -> (FieldErrors, Vec<String>) {
        let (metadata, old_metadata) = (
            new.metadata().cloned().unwrap_or_default(),
            old.metadata().cloned().unwrap_or_default(),
        );
        let mut errors = metadata::validate_update(&metadata, &old_metadata, &FieldPath::new("metadata"));
        if below == Some("status") {
            errors.append(structural::validate_status(&self.stored_schema, new, old));
        } else {
            errors.append(structural::validate_resource(&self.stored_schema, new, Some(old)));
            errors.extend(self.scale_errors(new));
        }
        if self.rules.is_empty() {
            return (errors, Vec::new());
        }
        if let Some(unchecked) = structural::unchecked_rules(&errors) {
            errors.push(unchecked);
            return (errors, Vec::new());
        }
        let found = self.rules.validate(&FieldPath::root(), new, Some(old));
        errors.append(found.errors);
        (errors, found.warnings)
    }

    fn scale_errors(&self, object: &Value) -> Vec<FieldError> {
        let Some(scale) = &self.scale else {
            return Vec::new();
        };
        let paths = structural::resource::ScalePaths {
            spec_replicas: format!(".{}", scale.wanted),
            status_replicas: format!(".{}", scale.present),
            label_selector: (!scale.selector.is_empty()).then(|| format!(".{}", scale.selector)),
        };
        paths.validate_spec(object)
    }
}

/// Returns whether two objects want the same: everything but metadata, and the status where it is written apart.
fn same_wish(new: &Value, old: &Value, has_status: bool) -> bool {
    let ignored = |name: &str| name == "metadata" || (has_status && name == "status");
    let (Some(new), Some(old)) = (new.as_object(), old.as_object()) else {
        return false;
    };
    let rest = |map: &'_ serde_json::Map<String, Value>| {
        map.iter()
            .filter(|(name, _)| !ignored(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect::<Vec<_>>()
    };
    rest(new) == rest(old)
}

/// Returns what tells whether a definition makes other kinds than before.
fn identity(definition: &Value) -> String {
    let accepted = &definition["status"]["acceptedNames"];
    format!("{} {} {accepted}", definition.uid(), definition.generation())
}

/// Returns what tells whether resources that were made of a definition still fit it.
pub fn state(definition: &Value) -> String {
    let ends = is_condition_true(definition, "Terminating");
    format!("{} {ends}", identity(definition))
}

/// What may be done with custom resources, in the order that discovery has.
const VERBS: &[&str] = &[
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];

/// What may be done with custom resources while their definition goes.
const LAST_VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "watch"];

/// Returns what discovery says may be done with the objects of a definition.
fn verbs(definition: &Value) -> &'static [&'static str] {
    if is_condition_true(definition, "Terminating") {
        LAST_VERBS
    } else {
        VERBS
    }
}

/// Returns what is said to those who use a version that goes away and whose definition has no words for it.
fn default_deprecation(group: &str, version: &str, kind: &str, versions: &[&Value]) -> String {
    let better = versions
        .iter()
        .filter(|other| other["served"] == true && other["deprecated"] != true)
        .filter_map(|other| other["name"].as_str())
        .filter(|other| api_version_priority(other, version) == Ordering::Less)
        .min_by(|one, other| api_version_priority(one, other));
    let deprecated = api_version(group, version);
    match better {
        Some(better) => format!(
            "{deprecated} {kind} is deprecated; use {} {kind}",
            api_version(group, better)
        ),
        None => format!("{deprecated} {kind} is deprecated"),
    }
}

/// Returns the resources that a definition with accepted names makes, one for each version that is served.
pub fn resources(definition: &Value) -> Vec<Resource> {
    let spec = &definition["spec"];
    let names = &definition["status"]["acceptedNames"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts = |value: &Value| -> Vec<String> { value.as_array().into_iter().flatten().map(text).collect() };
    let group = text(&spec["group"]);
    let versions: Vec<&Value> = spec["versions"].as_array().into_iter().flatten().collect();
    let Some(stored) = versions.iter().find(|version| version["storage"] == true) else {
        return Vec::new();
    };
    let read = |version: &Value| {
        let document = &version["schema"]["openAPIV3Schema"];
        schema::structural::read(document).unwrap_or_else(|_| Schema::anything())
    };
    let identity: Arc<str> = identity(definition).into();
    let stored_schema = Arc::new(read(stored));
    let has_embedded = embedded::describes_embedded(&stored_schema);
    let rules = Arc::new(Compiled::new(&stored_schema, true));
    let served_versions: Vec<String> = versions
        .iter()
        .filter(|version| version["served"] == true)
        .map(|version| api_version(&group, &text(&version["name"])))
        .collect();
    let mut made = Vec::new();
    for version in versions.iter().filter(|version| version["served"] == true) {
        let name = text(&version["name"]);
        let subresources = &version["subresources"];
        let has_status = subresources.get("status").is_some_and(|status| !status.is_null());
        let scale = subresources
            .get("scale")
            .filter(|scale| !scale.is_null())
            .map(|scale| {
                let path = |name: &str| text(&scale[name]).trim_start_matches('.').to_owned();
                ScalePaths {
                    wanted: path("specReplicasPath"),
                    present: path("statusReplicasPath"),
                    selector: path("labelSelectorPath"),
                }
            });
        let mut below = Vec::new();
        if has_status {
            below.push(kinds::table::STATUS);
        }
        if scale.is_some() {
            below.push(kinds::table::SCALE);
        }
        let kind = text(&names["kind"]);
        let deprecation = (version["deprecated"] == true).then(|| {
            version["deprecationWarning"].as_str().map_or_else(
                || default_deprecation(&group, &name, &kind, &versions),
                ToOwned::to_owned,
            )
        });
        let custom = CustomKind {
            definition: definition.name().into(),
            identity: identity.clone(),
            schema: Arc::new(read(version)),
            document: Arc::new(version["schema"]["openAPIV3Schema"].clone()),
            stored_schema: stored_schema.clone(),
            has_embedded,
            rules: rules.clone(),
            has_status,
            scale,
            selectable_fields: version["selectableFields"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|field| text(&field["jsonPath"]).trim_start_matches('.').to_owned())
                .collect(),
            columns: Columns::from_crd(definition, &name)
                .or_else(|_| Columns::from_definitions(&[]))
                .unwrap_or_else(|_| unreachable!("no columns are always readable")),
            deprecation,
            versions: served_versions.clone(),
            conversion: spec["conversion"].clone(),
        };
        made.push(Resource {
            group: group.as_str().into(),
            version: name.as_str().into(),
            kind: kind.into(),
            list_kind: text(&names["listKind"]).into(),
            plural: text(&names["plural"]).into(),
            singular: text(&names["singular"]).into(),
            short_names: texts(&names["shortNames"]),
            categories: texts(&names["categories"]),
            namespaced: spec["scope"] == "Namespaced",
            verbs: verbs(definition),
            subresources: below,
            storage: ResourceKey::new(&group, &text(&names["plural"])),
            storage_api_version: api_version(&group, &text(&stored["name"])).into(),
            nature: Nature::Custom(Arc::new(custom)),
        });
    }
    made
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition() -> Value {
        let version = |name: &str, served: bool, deprecated: bool| {
            json!({
                "name": name, "served": served, "storage": name == "v1", "deprecated": deprecated,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            })
        };
        json!({
            "metadata": {"name": "things.example.com", "uid": "u", "generation": 1},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "versions": [
                    version("v1alpha1", true, true), version("v1beta1", true, false), version("v1", true, false),
                    version("v2", false, false), version("v3alpha1", true, true),
                ],
            },
            "status": {"acceptedNames": {"kind": "Thing", "listKind": "ThingList", "plural": "things"}},
        })
    }

    #[test]
    fn a_deprecated_version_names_the_best_one_that_is_served_instead() {
        let made = resources(&definition());
        let told: Vec<_> = made
            .iter()
            .filter_map(|resource| resource.custom()?.deprecation.as_deref())
            .collect();
        assert_eq!(
            told,
            [
                "example.com/v1alpha1 Thing is deprecated; use example.com/v1 Thing",
                "example.com/v3alpha1 Thing is deprecated; use example.com/v1 Thing",
            ]
        );
    }

    #[test]
    fn kinds_of_a_definition_that_goes_are_only_read_and_deleted() {
        let mut definition = definition();
        assert_eq!(resources(&definition)[0].verbs, VERBS);
        definition["status"]["conditions"] = json!([{"type": "Terminating", "status": "True"}]);
        assert_eq!(resources(&definition)[0].verbs, LAST_VERBS);
    }

    #[test]
    fn a_kind_is_another_one_when_its_definition_changes_and_not_when_it_goes() {
        let served = crate::resource::Resources::default();
        let serve = |definition: &Value| {
            served.serve_definitions(std::iter::once(definition));
            let now = served.now();
            now.resource("example.com", "v1", "things").cloned()
        };
        let mut definition = definition();
        let first = serve(&definition).expect("it is served");
        assert!(Arc::ptr_eq(&first, &serve(&definition).expect("it is served")));
        definition["status"]["conditions"] = json!([{"type": "Terminating", "status": "True"}]);
        let ending = serve(&definition).expect("it is served");
        assert!(!Arc::ptr_eq(&first, &ending) && served.still_serves(&first));
        definition["metadata"]["generation"] = 2.into();
        serve(&definition);
        assert!(!served.still_serves(&first));
    }
}
