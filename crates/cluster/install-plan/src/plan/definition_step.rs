//! The step that makes or updates a definition of custom resources.

use apply::object::{ObjectId, at, set_metadata_entry, text};
use classic::{Kind, World, Write, components, keys};
use schema::structural::definition::is_condition_true;
use serde_json::Value;

use super::execution::{Pause, Run, StepFailure};
use super::object::{self, StepAct, covers};
use super::ownership::owned;
use crate::alongside;
use crate::steps::StepStatus;

/// Returns a definition of the cluster.
pub(super) fn existing<'a>(world: &'a World, name: &str) -> Option<&'a Value> {
    world
        .get(Kind::CustomResourceDefinition, "", name)
        .map(AsRef::as_ref)
}

/// Returns how far a definition came that was created.
pub(super) fn status(world: &World, name: &str) -> StepStatus {
    match existing(world, name) {
        None => StepStatus::NotPresent,
        Some(definition)
            if is_condition_true(definition, "Established")
                && is_condition_true(definition, "NamesAccepted") =>
        {
            StepStatus::Created
        }
        Some(_) => StepStatus::WaitingForApi,
    }
}

/// Makes or updates a definition of custom resources. That the update is safe was checked before.
pub(super) fn act(run: &Run<'_>, step: &Value, mut object: Value, exists: bool) -> Result<StepAct, Pause> {
    let version = ObjectId::of(&object).version().to_owned();
    if !matches!(version.as_str(), "v1" | "v1beta1") {
        return Err(
            StepFailure::new(format!("CRD APIVersion from manifest not supported: {version}")).into(),
        );
    }
    let namespace = text(run.plan, "/metadata/namespace");
    let resolving = text(step, "/resolving");
    set_metadata_entry(&mut object, "labels", keys::MANAGED, keys::MANAGED_VALUE);
    let own = object.clone();
    let name = alongside::name(&own);
    let Some(existing) = existing(run.world, name) else {
        if exists {
            return Ok(StepAct::Look(ObjectId::of(&object)));
        }
        let version = object::version(run, resolving);
        if let Some(version) = version.filter(|version| owned(version).any(|owned| owned == name)) {
            components::join(&mut object, version);
        }
        alongside::annotate(run.world, &mut object, &[&own], namespace, resolving);
        return Ok(StepAct::write(Write::Create {
            object,
            or_update: false,
        }));
    };
    components::join(&mut object, existing);
    alongside::annotate(run.world, &mut object, &[&own, existing], namespace, resolving);
    let notes = |definition: &Value| {
        let mut notes = alongside::read(definition);
        notes.sort();
        notes
    };
    if covers(existing, &object) && notes(existing) == notes(&object) {
        return Ok(StepAct::Known(StepStatus::Present));
    }
    if let Some(version) = at(existing, "/metadata/resourceVersion") {
        object["metadata"]["resourceVersion"] = version.clone();
    }
    Ok(StepAct::write(Write::Update(object)))
}
