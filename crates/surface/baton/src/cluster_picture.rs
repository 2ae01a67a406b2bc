//! A picture of a cluster for `doctor` and `snapshot`: lists read page by page, with whatever rights the user has.

use std::time::Duration;

use apply::refusal::words;
use doctor::question::{self, Question};
use doctor::{Picture, Subject};
use futures_util::{StreamExt as _, stream};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use serde::Serialize;
use serde_json::Value;

use crate::cluster::{innermost, lacks_kind};
use crate::failure::Failure;

/// How many objects are read at once.
const PAGE: u32 = 500;

/// How many objects of one list are read: a report of more would be read by nobody.
const MOST_OBJECTS: usize = 20_000;

/// How many lists are read at the same time: enough to hide the way to the server, few enough not to press it.
const AT_ONCE: usize = 6;

/// How long a page may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How much of each object is kept for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// What rules look at.
    Little,
    /// Everything, for an archive.
    Whole,
}

/// A cluster as it was seen.
pub(crate) struct Seen {
    pub(crate) picture: Picture,
    /// The objects as the server has them, where they were wanted.
    pub(crate) objects: Vec<Value>,
}

/// Looks at a cluster: at one namespace of it, or at all.
///
/// # Errors
///
/// Where the server doesn't answer at all; what it refuses is noted in the picture.
pub(crate) async fn look(client: &Client, namespace: Option<&str>, keep: Keep) -> Result<Seen, Failure> {
    client
        .apiserver_version()
        .await
        .map_err(|error| unanswered(&error))?;
    let mut seen = Seen {
        picture: Picture::new(jiff::Timestamp::now(), namespace.map(str::to_owned)),
        objects: Vec::new(),
    };
    seen.ask(client, question::first(namespace), keep).await;
    let further = question::further(&seen.picture);
    seen.ask(client, further, keep).await;
    if seen.picture.is_blind() {
        let cause = seen.picture.unseen.first().map(|unseen| unseen.cause.as_str());
        return Err(Failure::Undecided(format!(
            "could not look at anything in the cluster: {}; ask for the right to list objects, or use another --context",
            cause.unwrap_or("it has none of the kinds")
        )));
    }
    Ok(seen)
}

/// Looks only at what answers a few questions; what the server refuses is noted in the picture.
pub(crate) async fn ask(client: &Client, questions: Vec<Question>) -> Picture {
    let mut seen = Seen {
        picture: Picture::new(jiff::Timestamp::now(), None),
        objects: Vec::new(),
    };
    seen.ask(client, questions, Keep::Little).await;
    seen.picture
}

fn unanswered(error: &kube::Error) -> Failure {
    let cause = match error {
        kube::Error::Api(status) => status.message.clone(),
        other => innermost(other),
    };
    Failure::Undecided(format!(
        "could not look at the cluster: {cause}; is it up? `kubectl cluster-info` uses the same kubeconfig"
    ))
}

impl Seen {
    /// Asks questions, and puts the answers into the picture.
    pub(crate) async fn ask(&mut self, client: &Client, questions: Vec<Question>, keep: Keep) {
        let answers = stream::iter(questions).map(|question| async move {
            let answer = read(client, &question, keep).await;
            (question, answer)
        });
        let mut answers = answers.buffered(AT_ONCE);
        while let Some((question, answer)) = answers.next().await {
            for object in answer.objects {
                if keep == Keep::Whole {
                    self.objects.push(object.clone());
                }
                self.picture.put(question::reduced(object));
            }
            match answer.end {
                End::Complete => self.picture.answer(question),
                End::TooLong => {
                    self.picture.cut.insert(question);
                }
                End::Refused(cause) => self.picture.refuse(question, cause),
            }
        }
    }

    /// The objects as the server has them, each once, by kind, namespace and name.
    pub(crate) fn sorted_objects(&mut self) -> Vec<Value> {
        let mut objects = std::mem::take(&mut self.objects);
        objects.sort_by_cached_key(Subject::of);
        objects.dedup_by_key(|object| Subject::of(object));
        objects
    }
}

/// How a list ended.
enum End {
    Complete,
    TooLong,
    Refused(String),
}

struct Answer {
    objects: Vec<Value>,
    end: End,
}

async fn read(client: &Client, question: &Question, keep: Keep) -> Answer {
    let api = api(client, question);
    let mut objects = Vec::new();
    let mut parameters = ListParams::default().limit(PAGE);
    if !question.labels.is_empty() {
        parameters = parameters.labels(&question.labels);
    }
    if !question.fields.is_empty() {
        parameters = parameters.fields(&question.fields);
    }
    let end = loop {
        let page = async {
            if question.is_metadata_only {
                let list = api.list_metadata(&parameters).await?;
                Ok((values(question, &list.items, keep), list.metadata.continue_))
            } else {
                let list = api.list(&parameters).await?;
                Ok((values(question, &list.items, keep), list.metadata.continue_))
            }
        };
        let next = match tokio::time::timeout(PATIENCE, page).await {
            Ok(Ok((page, next))) => {
                objects.extend(page);
                next
            }
            // A kind that the server doesn't have has no objects.
            Ok(Err(error)) if lacks_kind(&error) => break End::Complete,
            Ok(Err(error)) => break End::Refused(words(&error)),
            Err(_) => break End::Refused(format!("no answer within {} s", PATIENCE.as_secs())),
        };
        match next.filter(|next| !next.is_empty()) {
            None => break End::Complete,
            Some(_) if objects.len() >= MOST_OBJECTS => break End::TooLong,
            Some(next) => parameters = parameters.continue_token(&next),
        }
    };
    Answer { objects, end }
}

/// Objects as they are written; lists leave out what they are lists of.
fn values<T: Serialize>(question: &Question, items: &[T], keep: Keep) -> Vec<Value> {
    let values = items.iter().filter_map(|item| {
        let mut object = serde_json::to_value(item).ok()?;
        object["apiVersion"] = question.api_version.as_str().into();
        object["kind"] = question.kind.as_str().into();
        Some(object)
    });
    match keep {
        Keep::Little => values.map(question::reduced).collect(),
        Keep::Whole => values.collect(),
    }
}

fn api(client: &Client, question: &Question) -> Api<DynamicObject> {
    let (group, version) = question
        .api_version
        .split_once('/')
        .unwrap_or(("", &question.api_version));
    let resource = ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: question.api_version.clone(),
        kind: question.kind.clone(),
        plural: question.plural.clone(),
    };
    match &question.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}
