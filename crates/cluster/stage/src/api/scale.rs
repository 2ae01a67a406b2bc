//! The number of replicas of whatever can be scaled, as an object of its own.

use patch::ownership::{FieldPath, ReplicasPaths, managed_fields_from_scale, scale_managed_fields};
use serde_json::{Value, json};

use super::modify::Changed;
use super::patch::PatchType;
use super::{Answered, Api, Call, Place, Written};
use crate::object::{Object, map_of};
use crate::options::WriteOptions;
use crate::resource::Nature;
use crate::selectors::LabelSelector;
use crate::status::Status;

/// Where a kind keeps its replicas: dotted paths without the leading dot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalePaths {
    /// Where the wanted number is.
    pub wanted: String,
    /// Where the present number is.
    pub present: String,
    /// Where the selector of the pods is, as a text; empty where the kind has none.
    pub selector: String,
}

impl Api {
    /// Returns the scale of an object.
    pub async fn scale(&self, place: &Place) -> Result<Value, Status> {
        let stored = self.get(place)?;
        let object = self.served(&place.resource, &stored).await?;
        if let Some(paths) = place.resource.custom().and_then(|custom| custom.scale.as_ref())
            && at(&object, &paths.wanted).is_none_or(Value::is_null)
        {
            return Err(Status::internal(format_args!(
                "the spec replicas field \".{}\" does not exist",
                paths.wanted
            )));
        }
        scale_of(place, &object)
    }

    /// Puts a scale in place of an object's.
    pub async fn update_scale(
        &self,
        call: &Call,
        place: &Place,
        scale: Value,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        let named = scale.name();
        if named != place.name {
            return Err(Status::bad_request(format!(
                "the name of the object ({named}) does not match the name on the URL ({})",
                place.name
            )));
        }
        self.modify_scale(call, place, options, |_| Ok(scale.clone()))
            .await
    }

    /// Changes an object's scale with a patch.
    pub async fn patch_scale(
        &self,
        call: &Call,
        place: &Place,
        patch_type: PatchType,
        body: &[u8],
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        if patch_type == PatchType::Apply {
            return self.apply_scale(call, place, body, options).await;
        }
        let strict = options.field_validation != crate::options::FieldValidation::Ignore;
        self.modify_scale(call, place, options, |scale| {
            super::patch::patched_scale(patch_type, scale, body, strict)
        })
        .await
    }

    /// Applies a Scale: who owns the replicas of the object owns those of its Scale.
    async fn apply_scale(
        &self,
        call: &Call,
        place: &Place,
        body: &[u8],
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        let applied = crate::decode::applied(body)?.value;
        let paths = self.replicas_paths(place)?;
        let written = self
            .modify(call, place, options, |found| {
                let made = Self::scale_applied(call, place, &found.object, &applied, &paths, options);
                async move {
                    made.map(|object| Changed {
                        object,
                        fields_are_noted: true,
                        replaces: true,
                    })
                }
            })
            .await?;
        self.scale_answer(place, written).await
    }

    fn scale_applied(
        call: &Call,
        place: &Place,
        object: &Value,
        applied: &Value,
        paths: &ReplicasPaths,
        options: &WriteOptions,
    ) -> Result<Value, Status> {
        let owners = object
            .metadata()
            .and_then(|metadata| metadata.get("managedFields"));
        let mut live = scale_of(place, object)?;
        if let Some(managers) = scale_managed_fields(owners, paths).map_err(Status::internal)? {
            live.metadata_mut().insert("managedFields".into(), managers);
        }
        let scale = Self::apply_scale_fields(call, &live, applied, options)?;
        let after = managed_fields_from_scale(
            owners,
            scale
                .metadata()
                .and_then(|metadata| metadata.get("managedFields")),
            &place.resource.api_version(),
            paths,
        );
        let mut object = with_scale(place, object.clone(), &scale)?;
        match after.map_err(Status::internal)? {
            Some(managers) => object.metadata_mut().insert("managedFields".into(), managers),
            None => object.metadata_mut().remove("managedFields"),
        };
        Ok(object)
    }

    /// Returns where the replicas are in each version of a resource.
    fn replicas_paths(&self, place: &Place) -> Result<ReplicasPaths, Status> {
        let served = self.resources.now();
        let versions = served
            .group(&place.resource.group)
            .map(|group| &*group.versions)
            .unwrap_or_default();
        let mut paths = ReplicasPaths::new();
        for resource in versions
            .iter()
            .filter_map(|(_, resources)| resources.get(&place.resource.plural))
        {
            let place = Place {
                resource: resource.clone(),
                ..place.clone()
            };
            let path = scale_paths(&place)
                .ok()
                .map(|paths| FieldPath::of_fields(paths.wanted.split('.')));
            paths.insert(resource.api_version().into(), path);
        }
        Ok(paths)
    }

    /// Changes an object's scale with a function of what it is.
    pub async fn modify_scale(
        &self,
        call: &Call,
        place: &Place,
        options: &WriteOptions,
        change: impl Fn(Value) -> Result<Value, Status>,
    ) -> Result<Written, Status> {
        let written = self
            .modify(call, place, options, |found| {
                let made = scale_of(place, &found.object)
                    .and_then(&change)
                    .and_then(|scale| with_scale(place, found.object.clone(), &scale));
                async move {
                    made.map(|object| Changed {
                        object,
                        fields_are_noted: false,
                        replaces: true,
                    })
                }
            })
            .await?;
        self.scale_answer(place, written).await
    }

    async fn scale_answer(&self, place: &Place, written: Written) -> Result<Written, Status> {
        let object = match &written.answer {
            Answered::Stored(stored) => self.served(&place.resource, stored).await?,
            Answered::Value(value) => value.clone(),
        };
        let scale = scale_of(place, &object)?;
        Ok(Written {
            answer: Answered::Value(scale),
            ..written
        })
    }
}

fn scale_paths(place: &Place) -> Result<ScalePaths, Status> {
    match &place.resource.nature {
        Nature::BuiltIn(_) => Ok(ScalePaths {
            wanted: "spec.replicas".to_owned(),
            present: "status.replicas".to_owned(),
            selector: String::new(),
        }),
        Nature::Custom(custom) => custom.scale.clone().ok_or_else(Status::no_such_resource),
    }
}

pub(crate) fn scale_of(place: &Place, object: &Value) -> Result<Value, Status> {
    let paths = scale_paths(place)?;
    let mut scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": object.name()},
        "spec": {},
        "status": {"replicas": at(object, &paths.present).and_then(Value::as_i64).unwrap_or(0)},
    });
    for name in ["namespace", "uid", "resourceVersion", "creationTimestamp"] {
        let text = object.metadata_text(name);
        if !text.is_empty() {
            scale.set_metadata_text(name, text);
        }
    }
    match at(object, &paths.wanted).and_then(Value::as_i64) {
        Some(0) | None => {}
        Some(replicas) => {
            map_of(&mut scale["spec"]).insert("replicas".into(), replicas.into());
        }
    }
    let selector = if place.resource.row().is_some() {
        selector_text(place, &object["spec"]["selector"])
    } else {
        at(object, &paths.selector)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    if !selector.is_empty() {
        map_of(&mut scale["status"]).insert("selector".into(), selector.into());
    }
    Ok(scale)
}

pub(crate) fn with_scale(place: &Place, mut object: Value, scale: &Value) -> Result<Value, Status> {
    let paths = scale_paths(place)?;
    let replicas = scale["spec"]
        .get("replicas")
        .map_or(Some(0), Value::as_i64)
        .unwrap_or(-1);
    // The rules of a custom resource look at its replicas where they are.
    if replicas < 0 && place.resource.row().is_some() {
        let error = schema::FieldError::invalid(
            schema::FieldPath::new("spec").child("replicas"),
            &scale["spec"]["replicas"],
            "must be greater than or equal to 0",
        );
        return Err(Status::invalid("autoscaling", "Scale", &place.name, &[error]));
    }
    let mut value = &mut object;
    for part in paths.wanted.split('.') {
        value = map_of(value).entry(part).or_insert(Value::Null);
    }
    *value = replicas.into();
    let version = scale.metadata_text("resourceVersion");
    if !version.is_empty() || place.resource.row().is_some() {
        object.set_metadata_text("resourceVersion", version);
    }
    let uid = scale.uid();
    if !uid.is_empty() {
        object.set_metadata_text("uid", uid);
    }
    Ok(object)
}

fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    if path.is_empty() {
        return None;
    }
    path.split('.').try_fold(object, |value, part| value.get(part))
}

/// Returns the selector of a built-in kind as a text: its own form for old kinds, a LabelSelector for the others.
fn selector_text(place: &Place, selector: &Value) -> String {
    let parsed = match selector.as_object() {
        Some(labels) if place.resource.is("", "replicationcontrollers") => {
            Ok(LabelSelector::from_map(labels))
        }
        _ => LabelSelector::from_object(selector),
    };
    parsed.map(|selector| selector.to_string()).unwrap_or_default()
}
