//! A plan: carried out one write after the other, until it rests.

use std::collections::HashMap;
use std::sync::Arc;

use apply::object::{ObjectId, at, text};
use apply::refusal::{is_not_found, words};
use classic::{Key, Kind, World, Write};
use install_plan::definition_upgrade::{DefinitionUpgrade, Verdict};
use install_plan::manifest::Reference;
use install_plan::plan::{Action, Next, Outcome, Progress, Refusal, RefusalKind, decide};
use install_plan::selection::Content;
use install_plan::user_plan::is_unplanned;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use resolve::classic::entry::CatalogKey;
use serde_json::Value;
use service_version::Place;

use crate::controller::{Again, Office, now};
use crate::sources::SourceName;
use crate::writing::WriteError;

/// How many things one run through a plan may want: many times what the largest bundles have. A rule that wanted the same
/// again and again would otherwise never end.
const MAX_WANTS: usize = 20_000;

/// How many writes of a run may come too late before that counts as a refusal.
const MAX_STALE: usize = 50;

/// How many custom resources are read at once.
const PAGE: u32 = 500;

/// A run through a plan.
struct Run<'a> {
    office: &'a Office,
    place: &'a Place,
    /// The picture as it was at the beginning, with what this run wrote and read in full.
    world: World,
    progress: Progress,
    contents: HashMap<String, Content>,
    /// How many writes came too late.
    stale: usize,
}

impl Office {
    pub(crate) async fn look_at_plan(self: &Arc<Self>, place: &Place) -> Again {
        let plan = {
            let world = self.picture.look();
            world
                .get(Kind::InstallPlan, &place.namespace, &place.name)
                .cloned()
        };
        let Some(plan) = plan.filter(|plan| !matches!(text(plan, "/status/phase"), "Complete" | "Failed"))
        else {
            return Again::WhenChanged;
        };
        if is_unplanned(&plan) {
            return self.plan_for_user(&plan).await;
        }
        let mut run = Run {
            office: self,
            place,
            world: self.picture.look().clone(),
            progress: Progress::default(),
            contents: HashMap::new(),
            stale: 0,
        };
        for _ in 0..MAX_WANTS {
            let next = decide(
                &run.world,
                &place.namespace,
                &place.name,
                &run.progress,
                &run.contents,
                &self.options.settings,
                now(),
            );
            match next {
                Next::Rest(decision) => return self.carry_out(&decision).await,
                Next::Write(action) => run.write(&action).await,
                Next::Look(id) => run.look(id).await,
                Next::Bundle(reference) => run.bundle(&reference).await,
                Next::Check(upgrade) => run.check(&upgrade).await,
            }
        }
        tracing::error!(
            namespace = place.namespace,
            plan = place.name,
            "the plan wants more than any plan should"
        );
        Again::AfterFailure
    }
}

impl Run<'_> {
    async fn write(&mut self, action: &Action) {
        let office = self.office;
        let (is_creation, or_update) = match &action.write {
            Write::Create { or_update, .. } => (true, *or_update),
            _ => (false, false),
        };
        let written = office.writer.write(&action.write, action.account.as_ref()).await;
        let (outcome, warnings) = match written {
            Ok(written) => {
                let outcome = if written.is_new {
                    Outcome::Created
                } else {
                    Outcome::Updated
                };
                if let Some(object) = written.object {
                    self.world.put(object);
                }
                office.metrics.warned(written.warnings.len());
                (outcome, written.warnings)
            }
            Err(fault) if is_creation && !or_update && fault.is_already_there() => {
                if let Write::Create { object, .. } = &action.write {
                    self.look(ObjectId::of(object)).await;
                }
                (Outcome::Exists, Vec::new())
            }
            // Somebody else wrote it meanwhile, such as the server its status: decide again on what is there now.
            Err(fault @ WriteError::Stale(_)) if self.stale < MAX_STALE => {
                tracing::debug!(%fault, "it was changed meanwhile; looking again");
                self.stale += 1;
                self.look(written_id(&action.write)).await;
                return;
            }
            Err(fault) => (Outcome::Refused(refusal(&fault, !is_creation)), Vec::new()),
        };
        self.progress.record(action.step, outcome, warnings);
    }

    /// Reads an object into the world of this run.
    async fn look(&mut self, id: ObjectId) {
        match self.office.writer.read(&id).await {
            Ok(object) => {
                self.world.put(object);
            }
            Err(fault) if fault.is_not_found() || fault.is_unserved() => {
                if let Some(kind) = Kind::named(&id.kind) {
                    self.world.remove(&Key::new(kind, &id.namespace, &id.name));
                }
            }
            Err(fault) => self.progress.fail(fault.to_string()),
        }
        self.progress.looked(id);
    }

    /// Finds the manifests of a bundle.
    async fn bundle(&mut self, reference: &Reference) {
        let found = match reference {
            Reference::Image { image, .. } => self
                .office
                .bundles
                .get(image)
                .await
                .map(|content| Content::clone(&content)),
            Reference::Catalog {
                source,
                package,
                channel,
                bundle,
                ..
            } => self.of_catalog(source, package, channel, bundle),
            Reference::ConfigMap { bundle, .. } => self.of_lookup(bundle).await,
        };
        match found {
            Ok(content) => {
                self.contents.insert(reference.bundle().to_owned(), content);
            }
            Err(message) => self.progress.fail(message),
        }
    }

    fn of_catalog(
        &self,
        source: &CatalogKey,
        package: &str,
        channel: &str,
        bundle: &str,
    ) -> Result<Content, String> {
        let missing = || format!("catalog {source} no longer holds bundle {bundle} of package {package}");
        let name = SourceName {
            namespace: source.namespace.clone(),
            name: source.name.clone(),
        };
        let standing = self.office.sources.standing(&name).ok_or_else(missing)?;
        let catalog = standing.content.map_err(|fault| fault.to_string())?;
        let entries = catalog.snapshot.entries();
        let mut positions = catalog.snapshot.of_package(package).iter();
        let found = positions.find_map(|position| {
            let entry = entries.get(*position)?;
            let is_it = entry.name == bundle && (channel.is_empty() || entry.channel == channel);
            entry.inline.as_ref().filter(|_| is_it)
        });
        let inline = found.ok_or_else(missing)?;
        Content::of_registry(inline).map_err(|fault| fault.to_string())
    }

    /// Takes a bundle from the image that the plan's lookup names: the ConfigMap that upstream unpacked it into may be
    /// gone.
    async fn of_lookup(&self, bundle: &str) -> Result<Content, String> {
        let missing = || format!("the plan doesn't say where bundle {bundle} comes from");
        let plan = self
            .world
            .get(Kind::InstallPlan, &self.place.namespace, &self.place.name)
            .ok_or_else(missing)?;
        let lookups = at(plan, "/status/bundleLookups").and_then(Value::as_array);
        let mut lookups = lookups.into_iter().flatten();
        let lookup = lookups
            .find(|lookup| text(lookup, "/identifier") == bundle)
            .ok_or_else(missing)?;
        let found = self.office.bundles.get(text(lookup, "/path")).await?;
        Ok(Content::clone(&found))
    }

    /// Judges every stored resource of a definition by its new schemas.
    async fn check(&mut self, upgrade: &DefinitionUpgrade) {
        let versions: Vec<String> = upgrade.versions().map(str::to_owned).collect();
        let mut verdict = Verdict::Fits;
        'versions: for version in &versions {
            let kind = GroupVersionKind::gvk(&upgrade.group, version, "");
            let resource = ApiResource::from_gvk_with_plural(&kind, &upgrade.plural);
            let resources: Api<DynamicObject> = Api::all_with(self.office.options.client.clone(), &resource);
            let mut parameters = ListParams::default().limit(PAGE);
            loop {
                let page = match resources.list(&parameters).await {
                    Ok(page) => page,
                    Err(fault) if is_not_found(&fault) => {
                        let definition = self.definition(&upgrade.name).await;
                        verdict = Verdict::of_unknown_path(version, definition);
                        break 'versions;
                    }
                    Err(fault) => {
                        verdict = Verdict::Unreadable(words(&fault));
                        break 'versions;
                    }
                };
                for resource in page.items {
                    let Ok(resource) = serde_json::to_value(resource) else {
                        continue;
                    };
                    if let Err(fault) = upgrade.check(version, &resource) {
                        verdict = Verdict::TooRestrictive(fault.to_string());
                        break 'versions;
                    }
                }
                match page.metadata.continue_.filter(|token| !token.is_empty()) {
                    Some(token) => parameters = parameters.continue_token(&token),
                    None => break,
                }
            }
        }
        self.progress.checked(&upgrade.name, verdict);
    }

    /// Returns a definition as the server has it now.
    async fn definition(&mut self, name: &str) -> Option<&Value> {
        let naming = Kind::CustomResourceDefinition.naming();
        self.look(ObjectId {
            api_version: naming.api_version.to_owned(),
            kind: naming.kind.to_owned(),
            namespace: String::new(),
            name: name.to_owned(),
        })
        .await;
        let found = self.world.get(Kind::CustomResourceDefinition, "", name);
        found.map(AsRef::as_ref)
    }
}

fn written_id(write: &Write) -> ObjectId {
    match write {
        Write::Create { object, .. }
        | Write::Update(object)
        | Write::UpdateStatus(object)
        | Write::Apply { object, .. } => ObjectId::of(object),
        Write::Merge { id, .. } | Write::Delete { id, .. } => id.clone(),
    }
}

fn refusal(fault: &WriteError, is_of_update: bool) -> Refusal {
    let kind = if fault.is_forbidden() {
        RefusalKind::Forbidden
    } else if fault.is_not_found() || fault.is_unserved() {
        RefusalKind::NotFound
    } else {
        RefusalKind::Other
    };
    Refusal {
        kind,
        is_of_update,
        message: fault.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Mutex;
    use std::time::Duration;

    use http::{Method, Request, Response};
    use http_body_util::BodyExt as _;
    use kube::client::Body;
    use serde_json::json;

    use super::*;
    use crate::controller::{Controller, Options};

    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

    /// A definition whose resources need some fields.
    fn definition(required: &[&str], is_established: bool) -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "as.g", "uid": "d", "resourceVersion": "1"},
            "spec": {
                "group": "g", "scope": "Namespaced", "names": {"plural": "as", "kind": "A"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "required": required, "properties": {"mode": {"type": "string"}},
                }}}],
            },
            "status": {"conditions": [
                {"type": "Established", "status": if is_established { "True" } else { "False" }},
            ]},
        })
    }

    /// Looks once at a plan that makes a definition stricter, on a server that knows no path for its resources; returns when it
    /// is looked at again, and what was written.
    async fn looked_at(is_established: bool) -> (Again, Vec<String>) {
        let written = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&written);
        let service = tower::service_fn(move |request: Request<Body>| {
            let noted = Arc::clone(&noted);
            async move {
                let (parts, body) = request.into_parts();
                let path = parts.uri.path().to_owned();
                let resource = |name: &str, kind: &str, namespaced: bool| {
                    let resource = json!({"name": name, "singularName": "", "kind": kind, "namespaced": namespaced, "verbs": []});
                    json!({"groupVersion": "g/v1", "resources": [resource]}).to_string()
                };
                let answer = if parts.method == Method::PUT {
                    noted.lock().expect("no test panicked").push(path);
                    let sent = body.collect().await.expect("a body").to_bytes();
                    String::from_utf8(sent.to_vec()).expect("JSON")
                } else if path == "/apis/apiextensions.k8s.io/v1" {
                    resource("customresourcedefinitions", "CustomResourceDefinition", false)
                } else if path == "/apis/operators.coreos.com/v1alpha1" {
                    resource("installplans", "InstallPlan", true)
                } else if path.starts_with(DEFINITIONS) {
                    definition(&[], is_established).to_string()
                } else {
                    let unknown = Response::builder().status(404);
                    let unknown = unknown.body(Body::from(b"404 page not found\n".to_vec()));
                    return Ok::<_, Infallible>(unknown.expect("an answer"));
                };
                Ok(Response::new(Body::from(answer.into_bytes())))
            }
        });
        let controller = Controller::new(Options::new(kube::Client::new(service, "default")));
        let office = controller.office();
        office.picture.take(definition(&[], is_established));
        office.picture.take(json!({
            "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
            "metadata": {"name": "og", "namespace": "n"}, "status": {"namespaces": ["n"]},
        }));
        office.picture.take(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "InstallPlan",
            "metadata": {"name": "p", "namespace": "n", "resourceVersion": "1"},
            "status": {"phase": "Installing", "plan": [{"resolving": "a.v1", "status": "Unknown", "resource": {
                "group": "apiextensions.k8s.io", "version": "v1", "kind": "CustomResourceDefinition", "name": "as.g",
                "manifest": definition(&["mode"], is_established).to_string(),
            }}]},
        }));
        let again = office.look_at_plan(&Place::new("n", "p")).await;
        let written = written.lock().expect("no test panicked").clone();
        (again, written)
    }

    #[tokio::test]
    async fn a_definition_whose_resources_nobody_can_read_yet_stays_as_it_is() {
        let status = "/apis/operators.coreos.com/v1alpha1/namespaces/n/installplans/p/status";
        let (again, written) = looked_at(true).await;
        assert_eq!(written, [status]);
        let Again::After(pause) = again else {
            panic!("{again:?}");
        };
        assert!(pause < Duration::from_secs(1), "{pause:?}");

        let (_, written) = looked_at(false).await;
        assert_eq!(written, [format!("{DEFINITIONS}/as.g"), status.to_owned()]);
    }
}
