//! A namespace: its Subscriptions resolved, and the plan made that they lead to.

use std::sync::Arc;
use std::time::Instant;

use apply::object::text;
use classic::{Kind, Write};
use install_plan::bundle_lookup::BundleLookup;
use install_plan::namespace::{
    Answer, Conclusion, Failure, NewPlan, Question, conclude, linked, refused, survey,
};
use install_plan::selection::Selected;
use resolve::classic::entry::CatalogKey;
use resolve::classic::request::Catalog;
use resolve::classic::resolution::{self, Resolution};
use serde_json::Value;

use crate::controller::{Again, Office, failed, now};
use crate::sources::SourceName;

/// How often Subscriptions are tried to point to a plan, while others write them.
const MAX_LINK_ATTEMPTS: usize = 20;

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
        let (question, resolution) = match tokio::task::spawn_blocking(move || {
            let resolution = resolution::resolve(&question.request(&catalogs, None));
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
        let answer = self.answer(&question, &resolution);
        let conclusion = conclude(
            &self.picture.look(),
            namespace,
            &answer,
            &self.bundles.known(),
            now(),
        );
        match conclusion {
            Conclusion::Settled(decision) => self.carry_out(&decision).await,
            Conclusion::NeedsBundles { lookups, decision } => {
                self.fetch(namespace, &lookups);
                self.carry_out(&decision).await
            }
            Conclusion::Plan(plan) => self.make_plan(namespace, &plan).await,
        }
    }

    /// Begins to fetch the bundles that a plan in a namespace needs.
    pub(super) fn fetch(&self, namespace: &str, lookups: &[BundleLookup]) {
        for lookup in lookups {
            let secrets = self.secrets(&lookup.source);
            self.bundles
                .fetch(&lookup.path, namespace, (&lookup.source.namespace, &secrets));
        }
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
            let priority = source.and_then(|source| source.pointer("/spec/priority").and_then(Value::as_i64));
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
        let secrets = source.and_then(|source| source.pointer("/spec/secrets").and_then(Value::as_array));
        let secrets = secrets.into_iter().flatten().filter_map(Value::as_str);
        secrets.map(str::to_owned).collect()
    }

    pub(super) fn answer(&self, question: &Question, resolution: &Resolution) -> Answer {
        let mut answer = Answer::default();
        for install in &resolution.installs {
            match Selected::of_entry(&install.entry, &install.replaces) {
                Ok(selected) => answer.selected.push(selected),
                Err(fault) => {
                    let failure = Failure {
                        message: fault.to_string(),
                        explanation: String::new(),
                        is_unsatisfiable: false,
                    };
                    let names = question.subscriptions.iter().map(|asking| asking.name.as_str());
                    return Answer::failed(names, &failure);
                }
            }
        }
        for failure in &resolution.failures {
            // Where everything is as upstream has it, so are the words.
            let explanation = if self.options.settings.failures_stay_apart {
                failure.explanation.to_string()
            } else {
                String::new()
            };
            let told = Failure {
                message: failure.to_string(),
                explanation,
                is_unsatisfiable: failure.is_not_satisfiable(),
            };
            for subscription in &failure.subscriptions {
                answer.failures.insert(subscription.clone(), told.clone());
            }
        }
        answer
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
