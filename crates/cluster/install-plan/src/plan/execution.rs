//! The steps of a plan, one after the other, until something is needed, fails, or all is done.

use std::collections::BTreeSet;

use apply::object::{ObjectId, at, text};
use classic::definitions::lacks_schemas;
use classic::{Notice, ServiceAccount, World};
use jiff::Timestamp;
use serde_json::Value;

use super::conclusion::{self, about};
use super::object::{self, StepAct};
use super::progress::{Outcome, Progress, RefusalKind};
use super::{Action, Next};
use super::{definition_step, refusal_text};
use crate::alongside;
use crate::conditions::field;
use crate::definition_upgrade::{DefinitionUpgrade, Verdict, check_stored_versions, converts_by_webhook};
use crate::manifest::{self, Contents, Reference};
use crate::settings::Settings;
use crate::steps::{self, DEFINITION, StepStatus};

/// What upstream says of a plan that can't be executed.
pub(super) const INVALID: &str = "the InstallPlan contains invalid data";

/// One run through a plan.
pub(super) struct Run<'a> {
    pub(super) world: &'a World,
    pub(super) plan: &'a Value,
    pub(super) progress: &'a Progress,
    pub(super) contents: &'a dyn Contents,
    pub(super) settings: &'a Settings,
    /// The ClusterServiceVersions whose steps are taken; none for all.
    pub(super) only: Option<&'a BTreeSet<String>>,
    pub(super) now: Timestamp,
}

/// Why a step couldn't be taken.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct StepFailure {
    pub(super) message: String,
    pub(super) is_forbidden: bool,
    pub(super) notices: Vec<Notice>,
}

impl StepFailure {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }
}

/// What stands in the way of going on.
pub(super) enum Pause {
    /// Something is needed first.
    Needs(Box<Next>),
    /// A step failed.
    Failed(StepFailure),
    /// Something comes by itself in a moment; the failure is what is said where it doesn't.
    Soon(StepFailure),
}

impl Pause {
    fn needs(next: Next) -> Self {
        Self::Needs(Box::new(next))
    }
}

impl From<StepFailure> for Pause {
    fn from(failure: StepFailure) -> Self {
        Self::Failed(failure)
    }
}

/// Goes through the steps as far as possible. The status to begin with is asked for only where it is written: a plan wants one
/// thing for each of its steps first.
pub(super) fn advance(run: &Run<'_>, status: impl FnOnce() -> Value) -> Next {
    let steps = at(run.plan, "/status/plan").and_then(Value::as_array);
    let mut statuses = Vec::new();
    let taken = match take(run, steps.map_or(&[], Vec::as_slice), &mut statuses) {
        Err(Pause::Needs(next)) => return *next,
        Err(Pause::Soon(failure)) => return Next::Rest(conclusion::soon(run, status(), &failure)),
        Err(Pause::Failed(failure)) => Err(failure),
        Ok(notices) => Ok(notices),
    };
    let mut status = status();
    let steps = status.get_mut("plan").and_then(Value::as_array_mut);
    for (step, new) in steps.into_iter().flatten().zip(statuses) {
        if let Some(new) = new {
            step["status"] = Value::from(new.as_str());
        }
    }
    match taken {
        Ok(notices) => {
            let steps = status.get("plan").and_then(Value::as_array);
            let mut steps = steps.into_iter().flatten();
            let waits = steps.any(|step| field(step, "status") == StepStatus::WaitingForApi.as_str());
            let mut decision = conclusion::finished(run, status, waits);
            decision.notices.extend(notices);
            Next::Rest(decision)
        }
        Err(failure) => Next::Rest(conclusion::failed(run, status, &failure)),
    }
}

/// Takes the steps, and notes the status of each; none for one that isn't taken. Returns what is worth telling.
fn take(
    run: &Run<'_>,
    steps: &[Value],
    statuses: &mut Vec<Option<StepStatus>>,
) -> Result<Vec<Notice>, Pause> {
    if let Some(message) = &run.progress.failure {
        return Err(StepFailure::new(message.clone()).into());
    }
    let mut notices = check_definitions(run, steps)?;
    for (index, step) in steps.iter().enumerate() {
        if !is_taken(run, step) {
            statuses.push(None);
            continue;
        }
        let mut taken = take_one(run, index, step);
        if let Err(Pause::Failed(failure)) = &mut taken {
            failure.notices.append(&mut notices);
        }
        let new = taken?;
        statuses.push(Some(new));
        if new == StepStatus::UnsupportedResource {
            return Err(StepFailure::new(INVALID).into());
        }
    }
    Ok(notices)
}

fn is_taken(run: &Run<'_>, step: &Value) -> bool {
    run.only
        .is_none_or(|only| only.contains(text(step, "/resolving")))
}

/// Returns what has become of a step, or what it takes to go on.
fn take_one(run: &Run<'_>, index: usize, step: &Value) -> Result<StepStatus, Pause> {
    let is_definition = text(step, "/resource/kind") == DEFINITION;
    match StepStatus::named(field(step, "status")) {
        Some(status @ (StepStatus::Present | StepStatus::Created)) => return Ok(status),
        Some(StepStatus::WaitingForApi) => {
            return Ok(if is_definition {
                definition_step::status(run.world, text(step, "/resource/name"))
            } else {
                StepStatus::WaitingForApi
            });
        }
        Some(StepStatus::Unknown | StepStatus::NotPresent) => {}
        // A step that was written without a status hasn't been taken either.
        None if field(step, "status").is_empty() => {}
        Some(StepStatus::UnsupportedResource) | None => return Err(StepFailure::new(INVALID).into()),
    }
    let outcome = run.progress.outcomes.get(&index);
    if let Some(status) = outcome.and_then(|outcome| settled(outcome, is_definition)) {
        return Ok(status);
    }
    let exists = outcome == Some(&Outcome::Exists);
    if let Some(Outcome::Refused(refusal)) = outcome {
        let missing = refusal_text::missing_api(run.world, step);
        let message = match missing.filter(|_| refusal.kind == RefusalKind::NotFound) {
            Some(missing) => missing,
            None => refusal_text::refused(step, refusal),
        };
        return Err(Pause::Failed(StepFailure {
            message,
            is_forbidden: refusal.kind == RefusalKind::Forbidden,
            notices: Vec::new(),
        }));
    }
    let manifest = manifest_of(run, step)?;
    match object::act(run, step, manifest, exists)? {
        StepAct::Known(status) => Ok(status),
        StepAct::Look(id) if run.progress.looked.contains(&id) => {
            Err(StepFailure::new(format!("{} {:?} exists, but it can't be read", id.kind, id.name)).into())
        }
        StepAct::Look(id) => Err(Pause::needs(Next::Look(id))),
        StepAct::Write(write) => Err(Pause::needs(Next::Write(Box::new(Action {
            step: index,
            write: *write,
            // Definitions belong to the whole cluster, so no account of a namespace writes them.
            account: if is_definition { None } else { account(run.plan) },
        })))),
    }
}

/// Returns what an outcome makes of a step; none where it doesn't settle it.
fn settled(outcome: &Outcome, is_definition: bool) -> Option<StepStatus> {
    match outcome {
        Outcome::Created if is_definition => Some(StepStatus::WaitingForApi),
        Outcome::Created => Some(StepStatus::Created),
        Outcome::Updated => Some(StepStatus::Present),
        Outcome::Exists | Outcome::Refused(_) => None,
    }
}

fn account(plan: &Value) -> Option<ServiceAccount> {
    let reference = at(plan, "/status/attenuatedServiceAccountRef")?;
    Some(ServiceAccount {
        namespace: text(reference, "/namespace").to_owned(),
        name: text(reference, "/name").to_owned(),
    })
}

/// Returns the object of a step, found where its reference points.
pub(super) fn manifest_of(run: &Run<'_>, step: &Value) -> Result<Value, Pause> {
    let name = text(step, "/resource/name");
    let resolving = text(step, "/resolving");
    let manifest = manifest::parse(text(step, "/resource/manifest"))
        .map_err(|error| StepFailure::new(format!("error parsing step manifest: {name}: {error}")))?;
    let Some(reference) = Reference::read(&manifest, resolving) else {
        return checked(manifest, name);
    };
    let reference = resolved(run.plan, reference);
    let Some(content) = run.contents.content(&reference) else {
        return Err(Pause::needs(Next::Bundle(reference)));
    };
    let lookup = lookup(run.plan, reference.bundle());
    let properties = match lookup.map(|lookup| text(lookup, "/properties")) {
        Some(annotation) if !annotation.is_empty() => resolve::classic::property::from_annotation(annotation)
            .map_err(|error| {
                StepFailure::new(format!(
                    "failed to load bundle properties for {resolving:?}: {error}"
                ))
            })?,
        _ => content.properties.clone(),
    };
    let replaces = match &reference {
        Reference::Catalog { replaces, .. } => replaces.as_str(),
        _ => lookup.map_or("", |lookup| text(lookup, "/replaces")),
    };
    let source = resolve::classic::entry::CatalogKey::new(
        text(step, "/resource/sourceNamespace"),
        text(step, "/resource/sourceName"),
    );
    let namespace = text(run.plan, "/metadata/namespace");
    let of_bundle = steps::of_bundle(content, &properties, namespace, replaces, &source)
        .map_err(|error| StepFailure::new(format!("error calculating steps for {resolving}: {error}")))?;
    let found = of_bundle.into_iter().find(|candidate| {
        candidate.name == name
            && candidate.kind == text(step, "/resource/kind")
            && candidate.version == text(step, "/resource/version")
            && candidate.group == text(step, "/resource/group")
    });
    let Some(found) = found else {
        return Err(StepFailure::new(format!("couldn't find unpacked step for {resolving}: {name}")).into());
    };
    let manifest = manifest::parse(&found.manifest)
        .map_err(|error| StepFailure::new(format!("error parsing step manifest: {name}: {error}")))?;
    checked(manifest, name)
}

/// Returns a manifest that is an object with metadata; strangers write them, and everything else relies on it.
fn checked(manifest: Value, name: &str) -> Result<Value, Pause> {
    let has_metadata = manifest
        .get("metadata")
        .is_none_or(|metadata| metadata.is_object() || metadata.is_null());
    if manifest.is_object() && has_metadata {
        return Ok(manifest);
    }
    let message = format!("error parsing step manifest: {name}: it is no object with metadata");
    Err(StepFailure::new(message).into())
}

fn lookup<'a>(plan: &'a Value, bundle: &str) -> Option<&'a Value> {
    let lookups = at(plan, "/status/bundleLookups")?.as_array()?;
    lookups
        .iter()
        .find(|lookup| text(lookup, "/identifier") == bundle)
}

/// Replaces a reference to a ConfigMap of upstream's by one to the image that it was unpacked from, where the plan knows
/// it: the ConfigMap may be gone with its catalog.
fn resolved(plan: &Value, reference: Reference) -> Reference {
    match &reference {
        Reference::ConfigMap { bundle, .. } => match lookup(plan, bundle).map(|lookup| text(lookup, "/path"))
        {
            Some(path) if !path.is_empty() => Reference::Image {
                image: path.to_owned(),
                bundle: bundle.clone(),
            },
            _ => reference,
        },
        _ => reference,
    }
}

/// Checks every definition that would be updated, before anything is written. Returns what is worth telling.
fn check_definitions(run: &Run<'_>, steps: &[Value]) -> Result<Vec<Notice>, Pause> {
    for (index, step) in steps.iter().enumerate() {
        // Once something was written, this was passed, but by what the server has and the world lacked until then.
        let is_unchecked =
            run.progress.outcomes.is_empty() || run.progress.outcomes.get(&index) == Some(&Outcome::Exists);
        let is_open = matches!(field(step, "status"), "" | "Unknown" | "NotPresent");
        if text(step, "/resource/kind") == DEFINITION && is_unchecked && is_open && is_taken(run, step) {
            check_definition(run, &manifest_of(run, step)?)?;
        }
    }
    let doubtful = run
        .progress
        .verdicts
        .iter()
        .filter_map(|(name, verdict)| match verdict {
            Verdict::TooRestrictive(error) => Some((name, error)),
            Verdict::Fits | Verdict::Unreadable(_) | Verdict::Unserved(_) => None,
        });
    let notices = doubtful.map(|(name, error)| Notice {
        about: about(run.plan),
        is_warning: true,
        reason: "CRDValidation".to_owned(),
        message: format!(
            "Validation of existing CRs against the new CRD's schema failed, but a webhook conversion strategy was \
             specified in the new CRD.\nThe new webhook will only start after the bundle is upgraded, so we must assume \
             that it will successfully convert existing CRs to a format that would have passed validation.\n\nCRD: \
             {name:?}\nValidation Error: {error}\n"
        ),
    });
    Ok(notices.collect())
}

fn check_definition(run: &Run<'_>, new: &Value) -> Result<(), Pause> {
    let name = alongside::name(new);
    let Some(old) = definition_step::existing(run.world, name) else {
        return Ok(());
    };
    let id = ObjectId::of(old);
    if lacks_schemas(old) && !run.progress.looked.contains(&id) {
        return Err(Pause::needs(Next::Look(id)));
    }
    let unchanged = old
        .get("spec")
        .zip(new.get("spec"))
        .is_some_and(|(old, new)| object::covers(old, new));
    if unchanged {
        // Whatever resources there are, they live with this schema already.
        return Ok(());
    }
    let incompatible = |error: &dyn std::fmt::Display| {
        StepFailure::new(format!(
            "error validating existing CRs against new CRD's schema for {name:?}: {error}"
        ))
    };
    let upgrade = DefinitionUpgrade::new(old, new).map_err(|error| incompatible(&error))?;
    if upgrade.versions().next().is_some() {
        match run.progress.verdicts.get(name) {
            None => return Err(Pause::needs(Next::Check(Box::new(upgrade)))),
            Some(Verdict::Fits) => {}
            // The new webhook may convert what the new schema refuses.
            Some(Verdict::TooRestrictive(_)) if converts_by_webhook(new) => {}
            Some(Verdict::Unserved(version)) => {
                let why = format!("the server doesn't serve {version} yet, so nobody can read them");
                return Err(Pause::Soon(incompatible(&why)));
            }
            Some(Verdict::TooRestrictive(error) | Verdict::Unreadable(error)) => {
                return Err(incompatible(error).into());
            }
        }
    }
    check_stored_versions(old, new)
        .map_err(|error| StepFailure::new(format!("risk of data loss updating {name:?}: {error}")).into())
}
