//! Webhooks: servers that are asked about writes, because an object in the cluster says so.
//!
//! - [`asking`]: one question and its answer
//! - [`registered`]: what the configurations say
//! - [`simulated`]: webhooks whose pods are simulated, so that nobody would answer

pub mod asking;
pub mod registered;
pub mod simulated;

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::expressions::{Met, Seen};
use super::kept::Kept;
use super::{Operation, Review};
use crate::api::scale;
use crate::resource::Resource;
use crate::status::Status;
use asking::Refused;
use registered::Webhook;
use simulated::SimulatedWebhooks;

/// The webhooks of a cluster.
#[derive(Debug)]
pub struct Webhooks {
    mutating: Kept<Vec<Webhook>>,
    validating: Kept<Vec<Webhook>>,
}

impl Default for Webhooks {
    fn default() -> Self {
        let group = "admissionregistration.k8s.io";
        Self {
            mutating: Kept::new(group, "mutatingwebhookconfigurations"),
            validating: Kept::new(group, "validatingwebhookconfigurations"),
        }
    }
}

/// What the first round of mutating webhooks leaves for the second.
#[derive(Debug, Default)]
pub struct Rounds {
    /// Webhooks that want to be asked again, and were asked since something changed.
    asked: Vec<String>,
    /// Webhooks that have to be asked again.
    again: Vec<String>,
    /// The object when all had been asked.
    last: Option<Value>,
    second: bool,
}

impl Rounds {
    fn something_changed(&mut self) {
        self.again.append(&mut self.asked);
    }

    /// Begins the second round; whatever plugins changed since the first one counts.
    pub fn begin_second(&mut self, object: Option<&Value>) {
        self.second = true;
        if self.last.as_ref() != object {
            self.something_changed();
        }
    }
}

impl Webhooks {
    /// Asks the mutating webhooks one after the other; whether the object has changed.
    pub async fn mutate(&self, review: &mut Review<'_>, rounds: &mut Rounds) -> Result<bool, Status> {
        if review.is_to_admission() {
            return Ok(false);
        }
        let configurations = self.mutating.all(&review.api.store, Webhook::read_all);
        if configurations.is_empty() {
            return Ok(false);
        }
        let mut changed = false;
        for webhook in configurations.iter().flat_map(|all| all.iter()) {
            if rounds.second && !rounds.again.contains(&webhook.id) {
                continue;
            }
            let Some(question) = Question::about(webhook, review).await? else {
                continue;
            };
            match asking::ask(review, webhook, &question, true).await {
                Ok(answer) => {
                    if let Some(patch) = answer.patch {
                        let patched = apply(review, webhook, question, &patch).await?;
                        if patched {
                            changed = true;
                            rounds.something_changed();
                        }
                    }
                }
                Err(refused) => go_on(review, webhook, refused)?,
            }
            if webhook.asks_again && !rounds.asked.contains(&webhook.id) {
                rounds.asked.push(webhook.id.clone());
            }
        }
        if !rounds.second {
            rounds.last.clone_from(&review.object);
        }
        Ok(changed)
    }

    /// Asks the validating webhooks all at once.
    pub async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        if review.is_to_admission() {
            return Ok(());
        }
        let configurations = self.validating.all(&review.api.store, Webhook::read_all);
        if configurations.is_empty() {
            return Ok(());
        }
        let mut questions = Vec::new();
        for webhook in configurations.iter().flat_map(|all| all.iter()) {
            if let Some(question) = Question::about(webhook, review).await? {
                questions.push((webhook, question));
            }
        }
        let answers = join_all(questions.iter().map(|(webhook, question)| async move {
            let essence = question.essence();
            if review.call.has_allowed(&webhook.id, &essence) {
                return Ok(());
            }
            match asking::ask(review, webhook, question, false).await {
                Ok(_) => {
                    review.call.note_allowed(&webhook.id, essence);
                    Ok(())
                }
                Err(refused) => go_on(review, webhook, refused),
            }
        }));
        answers.await.into_iter().collect()
    }
}

/// Lets a write go on although a webhook didn't allow it, where that is how it is meant.
fn go_on(review: &Review<'_>, webhook: &Webhook, refused: Refused) -> Result<(), Status> {
    match refused {
        Refused::Simulated(why) if review.api.options.simulated_webhooks == SimulatedWebhooks::Skip => {
            simulated::skip(review, webhook, &why);
            Ok(())
        }
        Refused::Unreachable(why) | Refused::Simulated(why) if webhook.ignores_failures => {
            tracing::warn!(webhook = webhook.name, why, "a webhook failed and is ignored");
            Ok(())
        }
        Refused::Simulated(why) => {
            let why = format!(
                "failed calling webhook \"{}\": failed to call webhook: {why}; with --simulated-webhooks=skip writes go on \
                 without it",
                webhook.name
            );
            Err(Status::internal(why))
        }
        refused => Err(refused.into()),
    }
}

/// A write as a webhook is asked about it.
#[derive(Debug)]
pub struct Question {
    /// The resource in the version that the webhook wants.
    pub resource: Arc<Resource>,
    /// The object as it will be, in that version; null for deletions.
    pub object: Value,
    /// The object as it was, in that version; null for new ones.
    pub old: Value,
}

impl Question {
    /// Returns what a question is about, without what changes whenever the object is written.
    fn essence(&self) -> Value {
        let without = |object: &Value| {
            let mut object = object.clone();
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("resourceVersion");
                metadata.remove("managedFields");
            }
            object
        };
        json!([&*self.resource.version, without(&self.object), without(&self.old)])
    }

    /// Returns what a webhook is asked about a write; `None` where it isn't asked.
    async fn about(webhook: &Webhook, review: &Review<'_>) -> Result<Option<Self>, Status> {
        let Some(resource) = webhook.matching.find(review)? else {
            return Ok(None);
        };
        let question = Self {
            object: shown(review, &resource, review.object.as_ref()).await?,
            old: shown(review, &resource, review.old).await?,
            resource,
        };
        if webhook.conditions.is_empty() {
            return Ok(Some(question));
        }
        let Self {
            resource,
            object,
            old,
        } = question;
        let seen = Seen::new(review, &resource, object, old);
        match webhook.conditions.met(&seen) {
            Met::Yes => {}
            Met::No => return Ok(None),
            Met::Failed(_) if webhook.ignores_failures => return Ok(None),
            Met::Failed(why) => {
                let group_resource = review.place.resource.group_resource();
                return Err(Status::forbidden(group_resource, &review.place.name, why));
            }
        }
        let Seen { object, old, .. } = seen;
        Ok(Some(Self {
            resource,
            object,
            old,
        }))
    }
}

/// Returns an object in the version of a resource, as those who decide about writes see it.
pub async fn shown(
    review: &Review<'_>,
    resource: &Arc<Resource>,
    object: Option<&Value>,
) -> Result<Value, Status> {
    let Some(object) = object else {
        return Ok(Value::Null);
    };
    if object.get("kind").and_then(Value::as_str) != Some(&*resource.kind) {
        return Ok(object.clone());
    }
    let object = review
        .api
        .in_version(resource, object.clone(), &resource.api_version())
        .await?;
    if review.place.subresource == "scale" {
        let mut place = review.place.clone();
        place.resource = resource.clone();
        return scale::scale_of(&place, &object);
    }
    Ok(object)
}

/// Applies the patch of a webhook to the reviewed object; whether anything has changed.
async fn apply(
    review: &mut Review<'_>,
    webhook: &Webhook,
    question: Question,
    patch: &patch::json_patch::JsonPatch,
) -> Result<bool, Status> {
    if review.object.is_none() || review.operation == Operation::Delete {
        return Err(Status::internal(format_args!(
            "admission webhook \"{}\" attempted to modify the object, which is not supported for this operation",
            webhook.name
        )));
    }
    let before = question.object.clone();
    let resource = question.resource;
    let mut patched = patch.apply(question.object).map_err(Status::internal)?;
    let whole = patched.get("kind").and_then(Value::as_str) == Some(&*resource.kind);
    if whole {
        crate::decode::conform(&resource, &mut patched).map_err(|status| Status::internal(status.message))?;
        crate::rules::default(&resource, &mut patched);
    }
    if patched == before {
        return Ok(false);
    }
    if review.place.subresource == "scale" {
        let mut place = review.place.clone();
        place.resource = resource.clone();
        let object = review.object.take().unwrap_or_default();
        let object = review
            .api
            .in_version(&resource, object, &resource.api_version())
            .await?;
        patched = scale::with_scale(&place, object, &patched)?;
    } else if !whole {
        review.object = Some(patched);
        return Ok(true);
    }
    let stored = review.api.to_stored_version(&resource, patched).await?;
    review.object = Some(stored);
    Ok(true)
}
