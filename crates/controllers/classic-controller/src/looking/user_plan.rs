//! A plan that a user wrote: what it takes is found out, and then it is a plan like any other.

use std::sync::Arc;

use apply::object::text;
use classic::Kind;
use install_plan::namespace::Answer;
use install_plan::user_plan::{PlanQuestion, Step, conclude, request, sources};
use serde_json::Value;

use crate::controller::{Again, Office, now};

impl Office {
    pub(super) async fn plan_for_user(self: &Arc<Self>, plan: &Value) -> Again {
        let settings = &self.options.settings;
        let keys = sources(&self.picture.look(), plan, settings);
        let catalogs = self.catalogs(&keys);
        let step = request(&self.picture.look(), plan, &catalogs, settings, now());
        let question: PlanQuestion = match step {
            Step::Write(decision) => return self.carry_out(&decision).await,
            Step::NeedsBundles(_) => return Again::WhenChanged,
            Step::Resolve(question) => *question,
        };
        let resolving = tokio::task::spawn_blocking(move || {
            let forbid = |entry: &_| question.forbids(entry);
            let request = question.question.request(&catalogs, Some(&forbid));
            let resolution = resolve::classic::resolution::resolve(&request);
            (question, resolution)
        });
        let Ok((question, resolution)) = resolving.await else {
            return Again::AfterFailure;
        };
        let answer = Answer::of_resolution(&question.question, &resolution);
        let namespace = text(plan, "/metadata/namespace");
        let current = {
            let world = self.picture.look();
            let plan = world.get(Kind::InstallPlan, namespace, text(plan, "/metadata/name"));
            plan.cloned()
        };
        let Some(current) = current else {
            return Again::WhenChanged;
        };
        self.fetch_again(namespace, &answer);
        let step = conclude(
            &self.picture.look(),
            &current,
            &answer,
            &self.bundles.known(),
            now(),
        );
        match step {
            Step::Write(decision) => self.carry_out(&decision).await,
            Step::NeedsBundles(lookups) => {
                let images = lookups
                    .iter()
                    .map(|lookup| (lookup.path.as_str(), &lookup.source));
                self.fetch(namespace, images);
                Again::After(BUNDLE_PAUSE)
            }
            Step::Resolve(_) => Again::AtOnce,
        }
    }
}

/// How soon a plan looks again whether its bundles are here.
const BUNDLE_PAUSE: std::time::Duration = std::time::Duration::from_secs(2);
