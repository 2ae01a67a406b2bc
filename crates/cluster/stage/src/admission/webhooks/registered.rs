//! What the configurations of webhooks say.

use std::sync::Arc;
use std::time::Duration;

use expression::policy::Compiler;
use serde_json::Value;

use crate::admission::expressions::Conditions;
use crate::admission::matching::Matching;
use crate::callback::ClientConfig;
use crate::events;
use crate::object::Object;

/// How long a webhook may take where its configuration doesn't say.
const DEFAULT_TIMEOUT: u64 = 10;

/// One webhook of a configuration.
#[derive(Debug)]
pub struct Webhook {
    /// What tells it from all others: two of one name in one configuration are two.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The configuration that it stands in, as events name it.
    pub configuration: Arc<Value>,
    /// Which writes it is about.
    pub matching: Matching,
    /// Under which conditions it is asked.
    pub conditions: Conditions,
    /// Where it is.
    pub client: ClientConfig,
    /// How long it may take.
    pub timeout: Duration,
    /// Whether the write goes on when it can't be asked.
    pub ignores_failures: bool,
    /// Whether it may be asked about a write that is only tried.
    pub takes_dry_runs: bool,
    /// The version of the review that it is sent; `None` where it takes none that is known.
    pub review_version: Option<&'static str>,
    /// Whether it is asked again when the object changes after it was asked.
    pub asks_again: bool,
}

impl Webhook {
    /// Reads the webhooks of a configuration.
    pub fn read_all(configuration: &Value) -> Vec<Self> {
        let named = Arc::new(events::reference(configuration));
        let listed = configuration["webhooks"].as_array().into_iter().flatten();
        listed
            .enumerate()
            .map(|(index, webhook)| {
                let id = format!("{}/{index}", configuration.name());
                Self::read(id, named.clone(), webhook)
            })
            .collect()
    }

    fn read(id: String, configuration: Arc<Value>, webhook: &Value) -> Self {
        let versions = webhook["admissionReviewVersions"].as_array();
        let review_version = versions
            .into_iter()
            .flatten()
            .find_map(|version| match version.as_str()? {
                "v1" => Some("v1"),
                "v1beta1" => Some("v1beta1"),
                _ => None,
            });
        Self {
            id,
            configuration,
            name: webhook["name"].as_str().unwrap_or_default().to_owned(),
            matching: Matching::of_webhook(webhook),
            conditions: Conditions::read(Compiler::for_webhooks(), &webhook["matchConditions"]),
            client: ClientConfig::read(&webhook["clientConfig"]),
            timeout: Duration::from_secs(webhook["timeoutSeconds"].as_u64().unwrap_or(DEFAULT_TIMEOUT)),
            ignores_failures: webhook["failurePolicy"] == "Ignore",
            takes_dry_runs: matches!(webhook["sideEffects"].as_str(), Some("None" | "NoneOnDryRun")),
            review_version,
            asks_again: webhook["reinvocationPolicy"] == "IfNeeded",
        }
    }
}
