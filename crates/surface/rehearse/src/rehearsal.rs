//! The rehearsal from its first look to its report.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use api::ClusterExtension;
use apply::diff::{Change, What};
use apply::engine::Engine;
use apply::object::{ObjectId, text};
use extension_controller::bundles::{Bundles, Certificates, Remotes};
use extension_controller::catalogs::Catalogs;
use extension_controller::observing::Observer;
use extension_controller::planning::{self, Planned};
use helm_operator::watches::Kind;
use helm_operator::world::capabilities_of;
use image::content::ContentStore;
use kube::Client;
use resolve::resolution::BrokenCatalogs;
use serde_json::Value;
use stage::Stage;

use crate::copying::Copier;
use crate::definitions;
use crate::former::Former;
use crate::gathering::{Gathered, Wanted, gather};
use crate::impossible::Impossible;
use crate::next::{Chosen, Next};
use crate::operators::{HelmOperator, candidates, load};
use crate::playing::{Played, play};
use crate::reading::read_only;
use crate::releases::Rehearsed;
use crate::report::{Break, CopiedKind, Report};
use crate::setting;

/// How many custom resources of a kind are copied where nobody says it: enough to meet every way in which they are written.
pub const DEFAULT_SAMPLE: usize = 500;

/// What is to be rehearsed.
pub struct Rehearsal<C> {
    /// The way to the live cluster; it is only read from.
    pub client: Client,
    /// The extension.
    pub extension: String,
    /// The version that it shall go to.
    pub version: String,
    /// Whether the catalog's edges don't matter.
    pub force: bool,
    /// How many custom resources of a kind are copied.
    pub sample: usize,
    /// Gives the content of catalogs.
    pub catalogs: Arc<C>,
    /// The ways to registries.
    pub remotes: Remotes,
    /// Where images are kept.
    pub store: ContentStore,
    /// The namespace of the Secrets of revisions.
    pub system_namespace: String,
    /// Where the stage keeps its objects; none for in memory.
    pub keep: Option<PathBuf>,
}

impl<C: Catalogs> Rehearsal<C> {
    /// Plays the upgrade on a stage, and says what it would do.
    ///
    /// # Errors
    ///
    /// If nothing can be said, because what is needed can't be read or had.
    pub async fn rehearse(&self) -> Result<Report, Impossible> {
        let live = read_only(&self.client);
        let chosen = self.observer(live.clone()).await?;
        let next = match Next::choose(&chosen, &self.extension, &self.version, self.force).await? {
            Chosen::Next(next) => next,
            Chosen::Uninstallable(report) => return Ok(*report),
        };
        let mut report = next.report();
        let stage = setting::stage(self.keep.clone(), &next.content.objects).await?;
        let played = Box::pin(self.play(&live, &stage, &next, &mut report)).await;
        stage.stop().await;
        played?;
        report.sort();
        Ok(report)
    }

    /// Looks at a cluster as the controller does.
    async fn observer(&self, client: Client) -> Result<Observer<Arc<C>>, Impossible> {
        let catalogs = Arc::clone(&self.catalogs);
        let namespace = self.system_namespace.clone();
        let observer = Observer::new(client, catalogs, self.bundles(), BrokenCatalogs::Skip, namespace);
        let doing = "list ClusterExtensions, ClusterObjectSets and ClusterCatalogs";
        observer
            .fill()
            .await
            .map_err(|error| Impossible::live(doing, &error))?;
        Ok(observer)
    }

    fn bundles(&self) -> Bundles {
        Bundles::new(
            Arc::clone(&self.remotes),
            self.store.clone(),
            Certificates::CertManager,
        )
    }

    async fn play(
        &self,
        live: &Client,
        stage: &Stage,
        next: &Next,
        report: &mut Report,
    ) -> Result<(), Impossible> {
        let client = Client::new(stage.service(), "default");
        let mut copier = Copier::new(live.clone(), stage.clone());
        let operators = self.operators(&next.content.objects, report).await;
        let wanted = Wanted {
            extension: &next.extension,
            objects: &next.content.objects,
            watched: watched(&operators),
            accounts: operators
                .iter()
                .map(|operator| operator.account.clone())
                .collect(),
            sample: self.sample,
            system_namespace: &self.system_namespace,
        };
        let gathered = gather(&mut copier, live, &wanted).await?;
        let capabilities = capabilities_of(live)
            .await
            .map_err(|error| Impossible::live("ask for the version of the cluster", &error))?;
        definitions::examine(next, &gathered, report);
        unserved(&copier, next, &capabilities.kube_version.version, report).await?;

        let engine = Engine::new(client.clone(), self.system_namespace.clone());
        let observer = self.observer(client.clone()).await?;
        let planned = planning::plan(&observer, &engine, &next.extension)
            .await
            .map_err(|fault| Impossible::stage("plan the upgrade", fault))?;
        let version = &next.content.bundle.metadata.version;
        let catalogs = Arc::clone(&self.catalogs);
        let played = play(
            &client,
            catalogs,
            self.bundles(),
            &self.system_namespace,
            &self.extension,
            version,
        )
        .await?;
        tell(&engine, next, &gathered, planned, &played, report).await?;

        setting::silence_webhooks(&client, report).await?;
        let rights_are_known = gathered.rights_are_known && played == Played::Done;
        if !gathered.rights_are_known {
            copier.note(
                "the rights of operators aren't known: whether they suffice is not part of the rehearsal"
                    .to_owned(),
            );
        }
        let mut rehearsed = Rehearsed {
            copier: &mut copier,
            live,
            stage,
            onlooker: &engine,
            capabilities: Arc::new(capabilities),
            operators: &operators,
            former: Former::new(candidates(&gathered.installed), &self.remotes, &self.store),
            rights_are_known,
            defined: defined(&next.content.objects),
            report: &mut *report,
        };
        for resources in &gathered.resources {
            rehearsed.each(resources).await?;
        }
        report.copied.objects = copier.count();
        report.copied.resources = gathered
            .resources
            .iter()
            .map(|resources| CopiedKind {
                definition: resources.definition.clone(),
                copied: resources.objects.len(),
                left_out: resources.left_out,
            })
            .collect();
        report.not_rehearsed.extend(copier.into_blind_spots());
        Ok(())
    }

    /// Loads the Helm operators of the new bundle; an image that can't be had is told.
    async fn operators(&self, objects: &[Value], report: &mut Report) -> Vec<HelmOperator> {
        let mut operators = Vec::new();
        for candidate in candidates(objects) {
            match load(&candidate, &self.remotes, &self.store).await {
                Ok(operator) => operators.extend(operator),
                Err(cause) => report.not_rehearsed.push(format!(
                    "image {} can't be looked into for charts: {cause}; what its operator makes of custom resources isn't known",
                    candidate.image
                )),
            }
        }
        operators
    }
}

/// The kinds that operators look after.
fn watched(operators: &[HelmOperator]) -> BTreeSet<Kind> {
    let blueprints = operators.iter().flat_map(|operator| &operator.blueprints);
    blueprints.map(|blueprint| blueprint.watch.kind.clone()).collect()
}

/// The kinds that a bundle defines: group and kind.
fn defined(objects: &[Value]) -> BTreeSet<(String, String)> {
    let definitions = objects
        .iter()
        .filter(|object| text(object, "/kind") == "CustomResourceDefinition");
    definitions
        .map(|definition| {
            (
                text(definition, "/spec/group").to_owned(),
                text(definition, "/spec/names/kind").to_owned(),
            )
        })
        .collect()
}

/// Takes down the objects of the bundle whose kinds the live cluster doesn't have.
async fn unserved(copier: &Copier, next: &Next, server: &str, report: &mut Report) -> Result<(), Impossible> {
    let defined = defined(&next.content.objects);
    for object in &next.content.objects {
        let id = ObjectId::of(object);
        if defined.contains(&(id.group().to_owned(), id.kind.clone()))
            || copier.live_kind(&id).await?.is_some()
        {
            continue;
        }
        report.would_break.push(Break {
            cause: format!(
                "the cluster ({server}) doesn't have the kind {} in {}",
                id.kind, id.api_version
            ),
            next_step: "install what defines the kind, or ask the author for a version for this cluster"
                .to_owned(),
            field: Some("apiVersion".to_owned()),
            object: id,
        });
    }
    Ok(())
}

/// Takes down what became of the bundle's objects.
async fn tell(
    engine: &Engine,
    next: &Next,
    gathered: &Gathered,
    planned: Planned,
    played: &Played,
    report: &mut Report,
) -> Result<(), Impossible> {
    let part_of = format!("ClusterExtension {}", next.extension.name());
    let find =
        |objects: &[Value], id: &ObjectId| objects.iter().find(|object| ObjectId::of(object) == *id).cloned();
    let changes: Vec<Change> = planned
        .revisions
        .into_iter()
        .flat_map(|revision| revision.objects)
        .collect();
    let is_refused = changes
        .iter()
        .any(|change| matches!(change.what, What::Refused(_)));
    for mut change in changes {
        let after = engine
            .live(&change.id)
            .await
            .map_err(|fault| Impossible::stage(format!("read {}", change.id), fault))?;
        if change.id.kind == "Secret" && change.what == What::Update {
            // Its values stayed in the live cluster; what the bundles say of them is compared.
            let (old, new) = (
                find(&gathered.installed, &change.id),
                find(&next.content.objects, &change.id),
            );
            change = Change::between(&change.id, old.as_ref(), new.as_ref());
        }
        report.take(&part_of, change, after.as_ref());
    }
    if let Played::Stuck(why) = played
        && !is_refused
    {
        report.would_break.push(Break {
            object: extension_id(&next.extension),
            field: None,
            cause: format!("version {} does not roll out: {why}", report.to),
            next_step: "ask the author to mend the bundle, or stay at the installed version".to_owned(),
        });
    }
    Ok(())
}

/// An extension as an object.
pub(crate) fn extension_id(extension: &ClusterExtension) -> ObjectId {
    ObjectId {
        api_version: format!("{}/v1", api::keys::GROUP),
        kind: "ClusterExtension".to_owned(),
        namespace: String::new(),
        name: extension.name().to_owned(),
    }
}
