//! `baton why`: who owns an object, from the object up to the catalog.

mod ownership;

use apply::refusal::is_not_found;
use clap::Args;
use futures_util::{StreamExt as _, stream};
use kube::api::{Api, DynamicObject};
use kube::core::ApiResource;
use kube::discovery::{ApiGroup, Discovery, Scope};
use kube::{Client, ResourceExt as _};

use crate::cluster::{ClusterAccess, refused};
use crate::failure::Failure;
use crate::output::OutputFlag;
use crate::runtime;
use crate::terminal::Terminal;

/// Says who owns an object of the cluster, and why it is there.
#[derive(Args)]
pub(crate) struct Why {
    /// The object, as KIND/NAME or KIND.GROUP/NAME, such as deployment/web or deploy/web
    #[arg(value_name = "OBJECT")]
    object: String,
    /// The namespace of the object
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    #[command(flatten)]
    access: ClusterAccess,
    #[command(flatten)]
    output: OutputFlag,
}

impl Why {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            let client = self.access.connect().await?;
            let (kind, name) = self.object.split_once('/').ok_or_else(|| {
                Failure::new(format!(
                    "{:?} names no object: write it as KIND/NAME, such as deployment/web",
                    self.object
                ))
            })?;
            let (resource, scope) = find_kind(&client, kind).await?;
            let objects: Api<DynamicObject> = match &scope {
                Scope::Cluster => Api::all_with(client.clone(), &resource),
                Scope::Namespaced => {
                    let namespace = self
                        .namespace
                        .as_deref()
                        .unwrap_or_else(|| client.default_namespace());
                    Api::namespaced_with(client.clone(), namespace, &resource)
                }
            };
            let object = objects.get(name).await.map_err(|error| {
                if !is_not_found(&error) {
                    return refused(&format!("read {} {name:?}", resource.kind), error);
                }
                let (place, next) = match (scope, &self.namespace) {
                    (Scope::Cluster, _) => (String::new(), String::new()),
                    (Scope::Namespaced, Some(namespace)) => {
                        (format!(" in namespace {namespace}"), String::new())
                    }
                    (Scope::Namespaced, None) => (
                        format!(" in namespace {}", client.default_namespace()),
                        ", or name another namespace with -n".to_owned(),
                    ),
                };
                Failure::new(format!(
                    "{} {name:?} isn't there{place}; `kubectl get {}` lists those that are{next}",
                    resource.kind, resource.plural
                ))
            })?;
            let ownership = ownership::trace(&client, &resource, &object).await?;
            self.output.print(terminal, &ownership, ownership::told)
        })
    }
}

/// How many groups are asked at once for the short names of their kinds.
const GROUPS_AT_ONCE: usize = 8;

/// Finds a kind by what people call it: its name, its plural, its singular or a short name, perhaps with the group.
async fn find_kind(client: &Client, called: &str) -> Result<(ApiResource, Scope), Failure> {
    let discovery = Discovery::new(client.clone())
        .run_aggregated()
        .await
        .map_err(|error| refused("ask the cluster for its kinds", error))?;
    let (name, group) = match called.split_once('.') {
        Some((name, group)) => (name, Some(group)),
        None => (called, None),
    };
    let name = name.to_lowercase();
    let groups: Vec<&ApiGroup> = discovery
        .groups()
        .filter(|known| group.is_none_or(|group| known.name() == group))
        .collect();
    let found = |is_meant: &dyn Fn(&ApiResource) -> bool| {
        groups
            .iter()
            .flat_map(|group| group.recommended_resources())
            .find(|(resource, _)| is_meant(resource))
            .map(|(resource, capabilities)| (resource, capabilities.scope))
    };
    if let Some(found) = found(&|resource| resource.plural == name || resource.kind.to_lowercase() == name) {
        return Ok(found);
    }
    let meant = kind_of_short_name(client, &groups, &name).await;
    meant
        .and_then(|(group, plural)| found(&|resource| resource.group == group && resource.plural == plural))
        .ok_or_else(|| {
            Failure::new(format!(
                "the cluster has no kind {called:?}; `kubectl api-resources` lists them, and KIND.GROUP tells two of one name \
                 apart"
            ))
        })
}

/// Finds the group and the plural of a kind by a short name, such as `deploy`; of several with one name, as kubectl does, that
/// of the group which the server names first. Aggregated discovery as it is read here leaves short names out, so that each
/// group is asked.
async fn kind_of_short_name(client: &Client, groups: &[&ApiGroup], name: &str) -> Option<(String, String)> {
    let asked = groups.iter().map(async |group| {
        let version = group.preferred_version_or_latest();
        let list = match group.name() {
            "" => client.list_core_api_resources(version).await,
            group => {
                client
                    .list_api_group_resources(&format!("{group}/{version}"))
                    .await
            }
        };
        (group.name().to_owned(), list)
    });
    let mut answers = std::pin::pin!(stream::iter(asked).buffered(GROUPS_AT_ONCE));
    while let Some((group, list)) = answers.next().await {
        // A group whose server doesn't answer has no say in what the others call their kinds.
        let Ok(list) = list else { continue };
        let is_meant = |names: &Vec<String>| names.iter().any(|short| short == name);
        let found = list
            .resources
            .into_iter()
            .find(|resource| resource.short_names.as_ref().is_some_and(is_meant));
        if let Some(resource) = found {
            return Some((group, resource.name));
        }
    }
    None
}

/// How an object is named in texts.
fn named(kind: &str, object: &DynamicObject) -> String {
    match object.namespace() {
        Some(namespace) => format!("{kind} {namespace}/{}", object.name_any()),
        None => format!("{kind} {}", object.name_any()),
    }
}
