//! What the new operator would make of each custom resource: its chart rendered, its release upgraded on the stage.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apply::diff::Change;
use apply::engine::Engine;
use apply::object::{ObjectId, as_map};
use chart::capabilities::Capabilities;
use chart::engine::Operation;
use chart::manifest::HookEvent;
use chart::release::Release;
use chart::values::Table;
use helm_operator::blueprint::{Blueprint, RenderError};
use helm_operator::invalid_fields;
use helm_operator::preparing::{Before, LookedUp, Preparation, PreparationError, Wanted};
use helm_operator::resource::CustomResource;
use kube::Client;
use release::documents;
use release::failure::{Cause, Failure};
use release::{Cluster, Options, Records, ReleaseId, Releases, Standing};
use serde_json::Value;
use stage::Stage;

use crate::copying::Copier;
use crate::former::Former;
use crate::gathering::Resources;
use crate::impersonating::as_user;
use crate::impossible::Impossible;
use crate::operators::HelmOperator;
use crate::records;
use crate::report::{Break, Report};

/// Who writes the objects of releases.
const MANAGER: &str = "helm-operator";

/// How many kinds of one render may be new to the stage.
const MOST_NEW_KINDS: usize = 100;

/// What Deployments note of their own revisions: on the stage they are others.
const DEPLOYMENT_REVISION: &str = "deployment.kubernetes.io/revision";

/// The custom resources on the stage, and those who look after them.
pub(crate) struct Rehearsed<'a> {
    pub(crate) copier: &'a mut Copier,
    pub(crate) live: &'a Client,
    pub(crate) stage: &'a Stage,
    /// Looks at the stage.
    pub(crate) onlooker: &'a Engine,
    /// What charts may ask about the live cluster.
    pub(crate) capabilities: Arc<Capabilities>,
    pub(crate) operators: &'a [HelmOperator],
    pub(crate) former: Former<'a>,
    /// Whether the operators' rights are known, so that they can be held to them.
    pub(crate) rights_are_known: bool,
    /// The kinds that the new bundle defines.
    pub(crate) defined: BTreeSet<(String, String)>,
    pub(crate) report: &'a mut Report,
}

/// A resource, and the operator that looks after it.
struct Look<'a> {
    resource: &'a CustomResource,
    /// The resource as an object.
    id: ObjectId,
    /// What people call it.
    called: String,
    blueprint: &'a Arc<Blueprint>,
    cluster: Cluster,
}

impl Look<'_> {
    fn breaks(&self, field: Option<String>, cause: impl Into<String>, next_step: impl Into<String>) -> Break {
        Break {
            object: self.id.clone(),
            field,
            cause: cause.into(),
            next_step: next_step.into(),
        }
    }
}

impl Rehearsed<'_> {
    /// Rehearses every resource of a kind.
    pub(crate) async fn each(&mut self, resources: &Resources) -> Result<(), Impossible> {
        let operators = self.operators;
        let watching: Vec<&Arc<Blueprint>> = operators
            .iter()
            .flat_map(|operator| operator.blueprints_of(&resources.group, &resources.kind))
            .collect();
        if watching.is_empty() {
            if !resources.objects.is_empty() {
                self.report.not_rehearsed.push(format!(
                    "no operator of the bundle has a chart for {}: what it makes of its resources isn't known",
                    resources.kind
                ));
            }
            return Ok(());
        }
        for object in &resources.objects {
            let id = ObjectId::of(object);
            let resource = CustomResource::read(object.clone());
            let called = format!("{} {}", id.kind, resource.id);
            if resource.is_deleted || resource.wishes().pause {
                let why = if resource.is_deleted {
                    "being deleted"
                } else {
                    "paused"
                };
                self.report
                    .not_rehearsed
                    .push(format!("{called} is {why}: the operator leaves it as it is"));
                continue;
            }
            let chosen = operators
                .iter()
                .find_map(|operator| Some((operator, operator.chart_for(&id, &resource)?)));
            let Some((operator, blueprint)) = chosen else {
                self.deserted(&id, &resource, &watching).await;
                continue;
            };
            let client = if self.rights_are_known {
                as_user(self.stage, &operator.account.user())
            } else {
                Client::new(self.stage.service(), "default")
            };
            let look = Look {
                resource: &resource,
                id,
                called,
                blueprint,
                cluster: Cluster::new(client, MANAGER),
            };
            self.one(&look).await?;
        }
        Ok(())
    }

    /// Says that nobody would look after a resource any more, if somebody does now.
    async fn deserted(&mut self, id: &ObjectId, resource: &CustomResource, watching: &[&Arc<Blueprint>]) {
        match self.former.selects(id, resource).await {
            Ok(false) => {}
            Ok(true) => {
                let offers: Vec<String> = watching
                    .iter()
                    .map(|blueprint| blueprint.selection.to_string())
                    .collect();
                self.report.would_break.push(Break {
                    object: id.clone(),
                    field: Some("metadata.labels".to_owned()),
                    cause: format!(
                        "the new operator doesn't look after it: it picks resources with {}",
                        offers.join(" or ")
                    ),
                    next_step: "give it that label when it shall go to the new version, or keep an operator that picks it"
                        .to_owned(),
                });
            }
            Err(cause) => self.report.not_rehearsed.push(format!(
                "the new operator doesn't pick {} {}, and whether the installed one does isn't known: {cause}",
                id.kind, resource.id
            )),
        }
    }

    async fn one(&mut self, look: &Look<'_>) -> Result<(), Impossible> {
        let release = ReleaseId::new(&*look.resource.id.namespace, &*look.resource.id.name);
        let records_are_known = records::bring(self.copier, self.live, &release).await?;
        let standing = match Records::new(&look.cluster, &release).standing().await {
            Ok(standing) => standing,
            Err(fault) => {
                let fault = Failure::from(fault);
                self.failed(look, &fault);
                return Ok(());
            }
        };
        let values = match look.blueprint.values(look.resource) {
            Ok(values) => Arc::new(values),
            Err(fault) => {
                self.report.would_break.push(look.breaks(
                    Some("spec".to_owned()),
                    format!("it gives the new chart no values: {fault}"),
                    "change its spec before the upgrade",
                ));
                return Ok(());
            }
        };
        let Some(wanted) = self.wanted(look, &values, standing.as_ref()).await? else {
            return Ok(());
        };
        self.note(look, &wanted, standing.is_some());
        if !records_are_known || !self.is_served(look, &wanted).await? {
            return Ok(());
        }
        if let Some(standing) = &standing
            && self.is_same(look, &values, standing, &wanted).await?
        {
            self.report.unchanged.resources += 1;
            self.report.unchanged.objects += wanted.objects.len();
            return Ok(());
        }
        self.upgrade(look, &release, standing, wanted).await
    }

    /// Renders what a resource asks for; what fails is taken down.
    async fn wanted(
        &mut self,
        look: &Look<'_>,
        values: &Arc<Table>,
        standing: Option<&Standing>,
    ) -> Result<Option<Wanted>, Impossible> {
        let operation = if standing.is_some() {
            Operation::Upgrade
        } else {
            Operation::Install
        };
        let number = standing.map_or(1, Standing::next_version);
        for _ in 0..MOST_NEW_KINDS {
            let failed = match self.render(look, values, standing, operation, number).await {
                Ok(wanted) => return Ok(Some(wanted)),
                Err(failed) => failed,
            };
            let (field, cause, next_step) = match &failed {
                PreparationError::Unserved { id, .. } => {
                    if self.copier.bring_kind(id).await? {
                        continue;
                    }
                    if self.copier.live_kind(id).await?.is_some() {
                        self.report.not_rehearsed.push(format!(
                            "{}: the stage doesn't have the kind {} in {}, which its chart makes",
                            look.called, id.kind, id.api_version
                        ));
                        return Ok(None);
                    }
                    self.unserved(look, id);
                    return Ok(None);
                }
                PreparationError::Render(RenderError::Values(violation)) => {
                    let told = invalid_fields::describe(violation, &look.blueprint.watch.overrides);
                    (
                        Some("spec".to_owned()),
                        format!("the new chart's schema doesn't allow its values: {told}"),
                        "change these fields before the upgrade",
                    )
                }
                PreparationError::Server(fault) if fault.missing_permission().is_some() => {
                    let missing = fault.missing_permission().map(ToString::to_string);
                    self.report.would_break.push(look.breaks(
                        None,
                        fault.to_string(),
                        missing.unwrap_or_default(),
                    ));
                    return Ok(None);
                }
                other => (
                    Some("spec".to_owned()),
                    format!("the new chart can't be rendered for it: {other}"),
                    "change its spec so that the chart accepts it, or ask the author to mend the chart",
                ),
            };
            self.report.would_break.push(look.breaks(field, cause, next_step));
            return Ok(None);
        }
        self.report.not_rehearsed.push(format!(
            "{}: its chart makes more than {MOST_NEW_KINDS} kinds",
            look.called
        ));
        Ok(None)
    }

    async fn render(
        &self,
        look: &Look<'_>,
        values: &Arc<Table>,
        standing: Option<&Standing>,
        operation: Operation,
        number: i64,
    ) -> Result<Wanted, PreparationError> {
        let labels = standing
            .map(|standing| standing.base().user_labels())
            .unwrap_or_default();
        let before = standing.map(|standing| Before {
            release: &standing.base().release,
            labels: &labels,
            last: &standing.last.release,
        });
        let preparation = Preparation {
            cluster: &look.cluster,
            blueprint: look.blueprint,
            capabilities: &self.capabilities,
            resource: look.resource,
            values,
            before: before.as_ref(),
            looked_up: &LookedUp::default(),
        };
        preparation.revision(operation, number).await
    }

    /// Whether the release would stay as it is: the number of the revision alone is no reason for another one.
    async fn is_same(
        &self,
        look: &Look<'_>,
        values: &Arc<Table>,
        standing: &Standing,
        wanted: &Wanted,
    ) -> Result<bool, Impossible> {
        let last = &standing.last.release;
        if wanted.prepared.release().manifest == last.manifest {
            return Ok(true);
        }
        let again = self
            .render(look, values, Some(standing), Operation::Upgrade, last.version)
            .await;
        Ok(again.is_ok_and(|again| again.prepared.release().manifest == last.manifest))
    }

    /// Takes down what isn't played.
    fn note(&mut self, look: &Look<'_>, wanted: &Wanted, is_upgrade: bool) {
        let moments = if is_upgrade {
            [HookEvent::PreUpgrade, HookEvent::PostUpgrade]
        } else {
            [HookEvent::PreInstall, HookEvent::PostInstall]
        };
        let release = wanted.prepared.release();
        let hooks = release.hooks.iter();
        let hooks = hooks.filter(|hook| hook.events.iter().any(|event| moments.contains(event)));
        let hooks: Vec<String> = hooks.map(|hook| format!("{} {}", hook.kind, hook.name)).collect();
        if !hooks.is_empty() {
            self.report
                .not_rehearsed
                .push(format!("{}: hooks would run: {}", look.called, hooks.join(", ")));
        }
        if wanted.looked_at_cluster {
            self.report.not_rehearsed.push(format!(
                "{}: its chart looks at the cluster, and saw only what was copied, without the values of Secrets",
                look.called
            ));
        }
    }

    /// Whether the live cluster has all kinds that a release has; one that it lacks is taken down.
    async fn is_served(&mut self, look: &Look<'_>, wanted: &Wanted) -> Result<bool, Impossible> {
        let mut is_served = true;
        for (id, _) in &wanted.objects {
            let is_defined = self.defined.contains(&(id.group().to_owned(), id.kind.clone()));
            if !is_defined && self.copier.live_kind(id).await?.is_none() {
                self.unserved(look, id);
                is_served = false;
            }
        }
        Ok(is_served)
    }

    fn unserved(&mut self, look: &Look<'_>, id: &ObjectId) {
        self.report.would_break.push(look.breaks(
            None,
            format!(
                "its chart makes {} {}, and the cluster ({}) doesn't have that kind in {}",
                id.kind, id.name, self.capabilities.kube_version.version, id.api_version
            ),
            "install what defines the kind, or ask the author for a chart that does without it",
        ));
    }

    /// Upgrades the release on the stage, and takes down what became of its objects.
    async fn upgrade(
        &mut self,
        look: &Look<'_>,
        release: &ReleaseId,
        standing: Option<Standing>,
        wanted: Wanted,
    ) -> Result<(), Impossible> {
        let former = standing
            .as_ref()
            .map(|standing| documents_of(&standing.base().release));
        let former = former.unwrap_or_default();
        let new: BTreeMap<ObjectId, Value> = wanted
            .objects
            .iter()
            .zip(wanted.prepared.documents())
            .map(|((id, _), document)| (id.clone(), Value::clone(&document.object)))
            .collect();
        let ids: BTreeSet<ObjectId> = former.keys().chain(new.keys()).cloned().collect();
        self.copier.bring(ids.iter().cloned()).await?;
        let before = self.seen(&ids).await?;
        let options = Options {
            owner: Some(look.resource.owner_reference(&look.blueprint.watch.kind)),
            disable_hooks: true,
            // Nobody goes back on the stage, and nothing need be forgotten.
            history_limit: 0,
            ..Options::default()
        };
        let releases = Releases::new(&look.cluster, release, options);
        let upgraded = match standing {
            Some(standing) => {
                releases
                    .upgrade(standing, wanted.prepared, &BTreeSet::new())
                    .await
            }
            None => releases.install(wanted.prepared).await,
        };
        if let Err(failure) = upgraded {
            self.failed(look, &failure);
            return Ok(());
        }
        let after = self.seen(&ids).await?;
        for id in &ids {
            let change = if id.kind == "Secret" && id.api_version == "v1" {
                // Its values stayed in the live cluster; what the charts say of them is compared.
                Change::between(id, former.get(id), new.get(id))
            } else {
                Change::between(id, before.get(id), after.get(id))
            };
            self.report.take(&look.called, change, after.get(id));
        }
        Ok(())
    }

    /// What the stage has of some objects.
    async fn seen(&self, ids: &BTreeSet<ObjectId>) -> Result<BTreeMap<ObjectId, Value>, Impossible> {
        let mut seen = BTreeMap::new();
        for id in ids {
            let live = self.onlooker.live(id).await;
            let live = live.map_err(|fault| Impossible::stage(format!("read {id}"), fault))?;
            if let Some(mut live) = live {
                if let Some(annotations) = live.pointer_mut("/metadata/annotations") {
                    as_map(annotations).remove(DEPLOYMENT_REVISION);
                }
                seen.insert(id.clone(), live);
            }
        }
        Ok(seen)
    }

    fn failed(&mut self, look: &Look<'_>, failure: &Failure) {
        if failure.cause == Cause::Pending {
            self.report.not_rehearsed.push(format!(
                "{}: {}; rehearse again when it is done",
                look.called, failure.message
            ));
            return;
        }
        let next_step = match failure.missing.as_slice() {
            [] => "ask the author for a chart whose objects can follow the installed ones, or delete the object first".to_owned(),
            missing => missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        };
        let cause = format!("its release can't go to the new chart: {}", failure.message);
        self.report.would_break.push(look.breaks(None, cause, next_step));
    }
}

/// The objects of a release, as its manifest has them.
fn documents_of(release: &Release) -> BTreeMap<ObjectId, Value> {
    let documents = documents::read(&release.manifest).unwrap_or_default().into_iter();
    documents
        .map(|document| (document.id, Value::clone(&document.object)))
        .collect()
}
