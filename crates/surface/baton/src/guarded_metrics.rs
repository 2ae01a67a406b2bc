//! Metrics that only those read whom the cluster allows it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};

use crate::cluster::requests;
use crate::process_metrics;

/// The media type of metrics.
pub(crate) const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Where metrics are read.
pub(crate) const PATH: &str = "/metrics";

/// How long the cluster's answer to who may read metrics is believed.
const BELIEVED: Duration = Duration::from_mins(1);

/// How many answers are remembered.
const REMEMBERED: usize = 256;

/// The route of metrics: with a client, for those whom the cluster allows it; without one, for everybody.
pub(crate) fn router(guard: Option<Client>, metrics: impl Fn() -> String + Send + Sync + 'static) -> Router {
    let reading = Reading {
        metrics: Arc::new(metrics),
        gate: guard.map(|client| Arc::new(Gate::new(client))),
    };
    Router::new().route(PATH, get(read_metrics)).with_state(reading)
}

#[derive(Clone)]
struct Reading {
    metrics: Arc<dyn Fn() -> String + Send + Sync>,
    gate: Option<Arc<Gate>>,
}

async fn read_metrics(State(reading): State<Reading>, headers: HeaderMap) -> Response {
    if let Some(gate) = &reading.gate {
        let token = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("Bearer "));
        let Some(token) = token else {
            return (StatusCode::UNAUTHORIZED, "Unauthorized\n").into_response();
        };
        match gate.ask(token).await {
            Ok(Entry::Allowed) => {}
            Ok(Entry::Unknown) => return (StatusCode::UNAUTHORIZED, "Unauthorized\n").into_response(),
            Ok(Entry::Denied(user)) => {
                let text = format!("Authorization denied for user {user}\n");
                return (StatusCode::FORBIDDEN, text).into_response();
            }
            Err(fault) => {
                tracing::warn!(%fault, "the cluster can't be asked who may read metrics");
                return (StatusCode::INTERNAL_SERVER_ERROR, "Authorization failed\n").into_response();
            }
        }
    }
    let text = [
        (reading.metrics)(),
        requests::text(),
        process_metrics::text(),
        runtime_metrics(),
    ]
    .concat();
    ([(CONTENT_TYPE, METRICS)], text).into_response()
}

/// What the runtime tells of itself: a number of tasks that only ever grows is a leak.
fn runtime_metrics() -> String {
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    format!(
        "# HELP baton_runtime_tasks Tasks of this process that have not ended.\n\
         # TYPE baton_runtime_tasks gauge\n\
         baton_runtime_tasks {tasks}\n"
    )
}

/// Whether somebody may read metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Allowed,
    Unknown,
    Denied(String),
}

/// Asks the cluster who somebody is and whether he may read metrics, and believes the answer for a while.
struct Gate {
    client: Client,
    answers: Mutex<HashMap<String, (Instant, Entry)>>,
}

impl Gate {
    fn new(client: Client) -> Self {
        Self {
            client,
            answers: Mutex::default(),
        }
    }

    async fn ask(&self, token: &str) -> Result<Entry, kube::Error> {
        {
            let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            answers.retain(|_, (since, _)| since.elapsed() < BELIEVED);
            if answers.len() >= REMEMBERED {
                answers.clear();
            }
            if let Some((_, entry)) = answers.get(token) {
                return Ok(entry.clone());
            }
        }
        let entry = self.review(token).await?;
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.insert(token.to_owned(), (Instant::now(), entry.clone()));
        Ok(entry)
    }

    async fn review(&self, token: &str) -> Result<Entry, kube::Error> {
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let asked = TokenReview {
            metadata: ObjectMeta::default(),
            spec: TokenReviewSpec {
                token: token.to_owned(),
                audiences: None,
            },
            status: None,
        };
        let status = reviews.create(&PostParams::default(), &asked).await?.status;
        let user = status
            .filter(|status| status.authenticated == Some(true))
            .and_then(|status| status.user);
        let Some(user) = user else {
            return Ok(Entry::Unknown);
        };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let name = user.username.clone().unwrap_or_default();
        let asked = SubjectAccessReview {
            metadata: ObjectMeta::default(),
            spec: SubjectAccessReviewSpec {
                user: user.username,
                uid: user.uid,
                groups: user.groups,
                extra: user.extra,
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some(PATH.to_owned()),
                    verb: Some("get".to_owned()),
                }),
                resource_attributes: None,
            },
            status: None,
        };
        let status = reviews.create(&PostParams::default(), &asked).await?.status;
        Ok(if status.is_some_and(|status| status.allowed) {
            Entry::Allowed
        } else {
            Entry::Denied(name)
        })
    }
}
