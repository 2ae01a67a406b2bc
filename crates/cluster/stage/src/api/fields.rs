//! Who owns which field, on every write.

use std::collections::BTreeMap;

use jiff::Timestamp;
use patch::ownership::{
    FieldManager, Filter, Form, OnlyVersion, PathElement, ResetFields, Set, Step, Versions,
};
use schema::Schema;
use serde_json::Value;

use super::patch::apply_failure;
use super::{Api, Call, Place};
use crate::options::WriteOptions;
use crate::resource::{Nature, Resource, Served, split_api_version};
use crate::status::Status;

impl Api {
    /// Returns a new object with the managers of its fields after this write.
    pub(crate) fn note_fields(
        &self,
        call: &Call,
        place: &Place,
        live: Option<&Value>,
        new: Value,
        options: &WriteOptions,
    ) -> Result<Value, Status> {
        let manager = patch::ownership::manager_or_user_agent(&options.field_manager, &call.user_agent);
        self.with_fields(place, |fields| {
            fields.update(live, new, &manager, Timestamp::now())
        })
    }

    /// Returns what a live object becomes when a configuration is applied to it.
    pub(crate) fn apply_fields(
        &self,
        call: &Call,
        place: &Place,
        live: Option<&Value>,
        applied: &Value,
        options: &WriteOptions,
    ) -> Result<Value, Status> {
        let manager = patch::ownership::manager_or_user_agent(&options.field_manager, &call.user_agent);
        let force = options.force.unwrap_or(false);
        let applied = self.with_fields(place, |fields| {
            fields.apply(live, applied, &manager, force, Timestamp::now())
        })?;
        match applied {
            Ok(applied) => Ok(applied.object),
            Err(error) => Err(apply_failure(&error)),
        }
    }

    /// Returns what the live Scale of an object becomes when one is applied to it.
    pub(super) fn apply_scale_fields(
        call: &Call,
        live: &Value,
        applied: &Value,
        options: &WriteOptions,
    ) -> Result<Value, Status> {
        let schema = schema::builtin::schema_of("autoscaling", "v1", "Scale");
        let definition = schema::builtin::kind("autoscaling", "v1", "Scale");
        let (Some(schema), Some(definition)) = (schema, definition) else {
            return Err(Status::internal("Scale has no schema"));
        };
        let fields = FieldManager {
            schema,
            form: Form::Structured(definition),
            api_version: "autoscaling/v1",
            kind: "Scale",
            subresource: "scale",
            reset_fields: &ResetFields::new(),
            versions: &OnlyVersion,
        };
        let manager = patch::ownership::manager_or_user_agent(&options.field_manager, &call.user_agent);
        let applied = fields.apply(
            Some(live),
            applied,
            &manager,
            options.force.unwrap_or(false),
            Timestamp::now(),
        );
        applied
            .map(|applied| applied.object)
            .map_err(|error| apply_failure(&error))
    }

    fn with_fields<T>(&self, place: &Place, run: impl FnOnce(FieldManager<'_>) -> T) -> Result<T, Status> {
        let resource = &place.resource;
        let schema = resource.schema();
        let definition = schema::builtin::kind(&resource.group, &resource.version, &resource.kind);
        let anything = Schema::anything();
        let served = self.resources.now();
        let other_versions;
        let versions: &dyn Versions = if has_other_versions(resource, &served) {
            other_versions = OtherVersions {
                resource,
                served: &served,
            };
            &other_versions
        } else {
            &OnlyVersion
        };
        let reset_fields = reset_fields(place);
        let api_version = resource.api_version();
        Ok(run(FieldManager {
            schema: schema.unwrap_or(&anything),
            form: match (&resource.nature, definition) {
                (Nature::BuiltIn(_), Some(definition)) => Form::Structured(definition),
                _ => Form::Unstructured,
            },
            api_version: &api_version,
            kind: &resource.kind,
            subresource: &place.subresource,
            reset_fields: &reset_fields,
            versions,
        }))
    }
}

fn has_other_versions(resource: &Resource, served: &Served) -> bool {
    let versions = served
        .group(&resource.group)
        .into_iter()
        .flat_map(|group| &group.versions);
    versions
        .filter(|(_, resources)| resources.contains_key(&resource.plural))
        .count()
        > 1
}

/// The versions of a kind that has several.
struct OtherVersions<'a> {
    resource: &'a Resource,
    served: &'a Served,
}

impl Versions for OtherVersions<'_> {
    fn schema(&self, api_version: &str) -> Option<&Schema> {
        let (group, version) = split_api_version(api_version);
        self.served
            .resource(group, version, &self.resource.plural)?
            .schema()
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        match &self.resource.nature {
            Nature::BuiltIn(kind) => {
                let from = object
                    .get("apiVersion")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned();
                Ok(kinds::conversion::convert(
                    kind.kind,
                    &from,
                    api_version,
                    object.clone(),
                ))
            }
            Nature::Custom(custom) => custom.convert_fields(object, api_version),
        }
    }
}

/// Returns the fields that a write through a place can't change, so that nobody comes to own them by it.
fn reset_fields(place: &Place) -> ResetFields {
    if let Nature::BuiltIn(kind) = &place.resource.nature
        && let Some(only) = kinds::strategy::only_fields(kind.group, kind.kind, place.below())
    {
        let steps = |path: &&[&str]| path.iter().map(|name| step(name)).collect();
        let prefixes: Vec<Vec<Step>> = only.iter().map(steps).collect();
        return all_versions(place)
            .into_iter()
            .map(|version| (version.into_boxed_str(), Filter::Include(prefixes.clone())))
            .collect();
    }
    let fields = match &place.resource.nature {
        Nature::BuiltIn(kind) => kinds::strategy::reset_fields(kind.group, kind.kind, place.below()),
        Nature::Custom(custom) => match place.below() {
            None if custom.has_status => vec![vec!["status"]],
            Some("status") => vec![vec!["metadata"], vec!["spec"]],
            _ => Vec::new(),
        },
    };
    let mut reset = BTreeMap::new();
    if !fields.is_empty() {
        let paths: Vec<patch::ownership::FieldPath> = fields
            .into_iter()
            .map(patch::ownership::FieldPath::of_fields)
            .collect();
        let set = Set::of(&paths);
        for version in all_versions(place) {
            reset.insert(version.into_boxed_str(), Filter::Exclude(set.clone()));
        }
    }
    reset
}

fn step(name: &str) -> Step {
    if name == "*" {
        return Step::Any;
    }
    Step::Element(PathElement::Field(name.into()))
}

fn all_versions(place: &Place) -> Vec<String> {
    match &place.resource.nature {
        Nature::BuiltIn(kind) => kind
            .versions
            .iter()
            .map(|version| crate::resource::api_version(kind.group, version))
            .collect(),
        Nature::Custom(custom) => custom.versions.clone(),
    }
}

/// Returns whether two versions of an object differ in nothing but the times of its managers.
pub fn same_but_for_times(new: &mut Value, old: &Value) -> bool {
    patch::ownership::keep_times_if_only_they_changed(old, new);
    new == old
}
