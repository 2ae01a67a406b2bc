//! A namespace: its Subscriptions resolved, and the plan made that they lead to.

use std::sync::Arc;
use std::time::{Duration, Instant};

use apply::object::{at, text};
use classic::{Kind, Write};
use install_plan::namespace::{
    Answer, Conclusion, NewPlan, conclude, due_again, linked, refused, survey, unpack_timeout,
};
use install_plan::selection::Selected;
use install_plan::subscription::state;
use resolve::classic::entry::CatalogKey;
use resolve::classic::request::Catalog;
use resolve::classic::resolution;
use serde_json::Value;

use crate::controller::{Again, Office, failed, now};
use crate::sources::SourceName;

/// How often Subscriptions are tried to point to a plan, while others write them.
const MAX_LINK_ATTEMPTS: usize = 20;

/// How long a look waits for bundle images: those of a registry nearby are here sooner, and a worker waits for no others.
const BUNDLE_PATIENCE: Duration = Duration::from_millis(300);

impl Office {
    pub(crate) async fn look_at_namespace(self: &Arc<Self>, namespace: &str) -> Again {
        let survey = survey(&self.picture.look(), namespace, &self.options.settings, now());
        let again = self.carry_out(&survey.decision).await;
        let Some(question) = survey.question else {
            return again;
        };
        // What was written first may change the question.
        if !survey.decision.writes.is_empty() {
            return Again::AtOnce;
        }
        let catalogs = self.catalogs(&question.sources);
        let begin = Instant::now();
        let span = tracing::info_span!(target: "baton::work", "resolve", namespace);
        let (question, resolution) = match tokio::task::spawn_blocking(move || {
            let resolution = span.in_scope(|| resolution::resolve(&question.request(&catalogs, None)));
            (question, resolution)
        })
        .await
        {
            Ok(resolved) => resolved,
            Err(fault) => {
                tracing::error!(namespace, %fault, "resolving panicked");
                return Again::AfterFailure;
            }
        };
        self.metrics
            .resolved(resolution.failures.is_empty(), begin.elapsed());
        for note in &resolution.notes {
            tracing::debug!(namespace, note, "passed over while resolving");
        }
        let answer = Answer::of_resolution(&question, &resolution);
        let images = answer.selected.iter().filter_map(Selected::image);
        self.bundles.hold(namespace, images);
        self.fetch_again(namespace, &answer);
        let concluded = || {
            let known = self.bundles.known();
            conclude(&self.picture.look(), namespace, &answer, &known, now())
        };
        let mut conclusion = concluded();
        if let Conclusion::NeedsBundles { lookups, decision } = &conclusion {
            let images = lookups
                .iter()
                .map(|lookup| (lookup.path.as_str(), &lookup.source));
            if self.fetch(namespace, images) {
                // That an operator has a successor is worth saying, however soon it is here.
                if decision.writes.iter().any(tells_of_upgrade)
                    && let again @ (Again::AtOnce | Again::AfterFailure) = self.carry_out(decision).await
                {
                    return again;
                }
                // Most bundles are here before it could be written that they are waited for.
                let images: Vec<&str> = lookups.iter().map(|lookup| lookup.path.as_str()).collect();
                self.bundles.settle(&images, BUNDLE_PATIENCE).await;
                conclusion = concluded();
            }
        }
        match conclusion {
            Conclusion::Settled(decision) | Conclusion::NeedsBundles { decision, .. } => {
                self.carry_out(&decision).await
            }
            Conclusion::Plan(plan) => self.make_plan(namespace, &plan).await,
        }
    }

    /// Begins to fetch bundle images that a plan in a namespace needs, each with the catalog that names it. Returns whether any
    /// of them is fetched only since now.
    pub(super) fn fetch<'a>(
        &self,
        namespace: &str,
        images: impl IntoIterator<Item = (&'a str, &'a CatalogKey)>,
    ) -> bool {
        let within = unpack_timeout(&self.picture.look(), namespace, &self.options.settings);
        let mut has_begun = false;
        for (image, source) in images {
            let secrets = self.secrets(source);
            has_begun |= self
                .bundles
                .fetch(image, namespace, (&source.namespace, &secrets), within);
        }
        has_begun
    }

    /// Begins to fetch the bundle images of an answer that couldn't be had, if it is time to try again.
    pub(super) fn fetch_again(&self, namespace: &str, answer: &Answer) {
        let due = due_again(
            &self.picture.look(),
            namespace,
            answer,
            &self.bundles.known(),
            now(),
        );
        self.fetch(namespace, due);
    }

    /// Returns catalogs as they are now.
    pub(super) fn catalogs(&self, keys: &[CatalogKey]) -> Vec<Catalog> {
        let world = self.picture.look();
        let catalogs = keys.iter().map(|key| {
            let name = SourceName {
                namespace: key.namespace.clone(),
                name: key.name.clone(),
            };
            let content = match self.sources.standing(&name) {
                Some(standing) => standing
                    .content
                    .map(|content| Arc::clone(&content.snapshot))
                    .map_err(|fault| fault.to_string()),
                None => Err(format!("no registry client established for catalogsource {key}")),
            };
            let source = world.get(Kind::CatalogSource, &key.namespace, &key.name);
            let priority = source.and_then(|source| at(source, "/spec/priority").and_then(Value::as_i64));
            Catalog {
                key: key.clone(),
                priority: i32::try_from(priority.unwrap_or(0)).unwrap_or(0),
                content,
            }
        });
        catalogs.collect()
    }

    /// Returns the Secrets that the images of a catalog are pulled with.
    fn secrets(&self, source: &CatalogKey) -> Vec<String> {
        let world = self.picture.look();
        let source = world.get(Kind::CatalogSource, &source.namespace, &source.name);
        let secrets = source.and_then(|source| at(source, "/spec/secrets").and_then(Value::as_array));
        let secrets = secrets.into_iter().flatten().filter_map(Value::as_str);
        secrets.map(str::to_owned).collect()
    }

    /// Makes a plan, gives it its status, and lets the Subscriptions point to it.
    async fn make_plan(&self, namespace: &str, plan: &NewPlan) -> Again {
        let created = if plan.exists() {
            plan.object.clone()
        } else {
            let write = Write::Create {
                object: plan.object.clone(),
                or_update: false,
            };
            match self.writer.write(&write, None).await {
                Ok(written) => written.object.unwrap_or_default(),
                // Somebody else does the same work and was faster; what they made is looked at next.
                Err(fault) if fault.is_already_there() => return failed(&fault),
                Err(fault) => {
                    let decision = refused(&self.picture.look(), namespace, &fault.to_string(), now());
                    self.carry_out(&decision).await;
                    return failed(&fault);
                }
            }
        };
        let mut current = created;
        if let Some(with_status) = plan.with_status(&current) {
            match self.writer.write(&Write::UpdateStatus(with_status), None).await {
                Ok(written) => current = written.object.unwrap_or(current),
                Err(fault) => return failed(&fault),
            }
        }
        tracing::info!(
            namespace,
            plan = text(&current, "/metadata/name"),
            "a plan was made"
        );
        // A plan that nobody points to would be made again, so this doesn't wait for the next look.
        for _ in 0..MAX_LINK_ATTEMPTS {
            let decision = linked(&self.picture.look(), namespace, plan, &current, now());
            let again = self.carry_out(&decision).await;
            if again != Again::AtOnce {
                return again;
            }
        }
        Again::AtOnce
    }
}

/// Whether a write says that a Subscription has something newer to come.
fn tells_of_upgrade(write: &Write) -> bool {
    matches!(write, Write::UpdateStatus(object) if text(object, "/status/state") == state::UPGRADE_AVAILABLE)
}
