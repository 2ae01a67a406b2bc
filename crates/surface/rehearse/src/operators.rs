//! The Helm operators among the objects of a bundle: their charts, from their images.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use apply::object::{ObjectId, annotation, text};
use chart::environment::Variables;
use extension_controller::bundles::Remotes;
use helm_operator::blueprint::Blueprint;
use helm_operator::resource::CustomResource;
use helm_operator::watches;
use image::content::ContentStore;
use image::manifest::host_architecture;
use image::reference::Reference;
use image::unpack::{self, Limits};
use serde_json::Value;

/// Where charts and watches are in the image of a Helm operator.
const HOME: &str = "opt/helm";

/// The watches file where an operator names none.
const WATCHES_FILE: &str = "watches.yaml";

/// The flag that names another one.
const WATCHES_FLAG: &str = "--watches-file";

/// The variable that names the namespaces of an operator.
const NAMESPACES_VARIABLE: &str = "WATCH_NAMESPACE";

/// A container that may be an operator.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// Its image.
    pub image: String,
    /// The watches file, below the operator's folder.
    pub watches_file: String,
    /// Its environment, as far as the object says it.
    pub environment: BTreeMap<String, String>,
    /// Who it is in the cluster.
    pub account: Account,
}

/// A service account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Account {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Account {
    /// Returns how the API server calls whoever has it.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }
}

impl Candidate {
    /// Returns the namespaces that it looks after; none if it looks after all.
    fn namespaces(&self) -> Vec<String> {
        let names = self.environment.get(NAMESPACES_VARIABLE);
        let names = names
            .map(String::as_str)
            .unwrap_or_default()
            .split(',')
            .map(str::trim);
        names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }
}

/// A Helm operator with its charts.
pub(crate) struct HelmOperator {
    pub(crate) account: Account,
    /// The namespaces that it looks after; all if there are none.
    namespaces: Vec<String>,
    pub(crate) blueprints: Vec<Arc<Blueprint>>,
    /// The charts, until nobody renders them any more.
    _folder: tempfile::TempDir,
}

impl HelmOperator {
    /// Returns whether one of its charts is for a resource, and which.
    pub(crate) fn chart_for(&self, id: &ObjectId, resource: &CustomResource) -> Option<&Arc<Blueprint>> {
        let namespace = &resource.id.namespace;
        let is_seen =
            namespace.is_empty() || self.namespaces.is_empty() || self.namespaces.contains(namespace);
        self.blueprints_of(id.group(), &id.kind)
            .find(|blueprint| is_seen && blueprint.selects(resource))
    }

    /// Returns its charts for a kind.
    pub(crate) fn blueprints_of(&self, group: &str, kind: &str) -> impl Iterator<Item = &Arc<Blueprint>> {
        self.blueprints.iter().filter(move |blueprint| {
            let watched = &blueprint.watch.kind;
            watched.group == group && watched.kind == kind
        })
    }
}

/// Returns the containers of Deployments, each once.
pub fn candidates(objects: &[Value]) -> BTreeSet<Candidate> {
    let deployments = objects
        .iter()
        .filter(|object| text(object, "/kind") == "Deployment");
    let mut found = BTreeSet::new();
    for deployment in deployments {
        let template = deployment.pointer("/spec/template").unwrap_or(&Value::Null);
        let pod = template.get("spec").unwrap_or(&Value::Null);
        let account = match text(pod, "/serviceAccountName") {
            "" => "default",
            name => name,
        };
        let account = Account {
            namespace: text(deployment, "/metadata/namespace").to_owned(),
            name: account.to_owned(),
        };
        for container in items(pod, "containers") {
            let variables = items(container, "env").iter();
            found.insert(Candidate {
                image: text(container, "/image").to_owned(),
                watches_file: watches_file(container),
                environment: variables
                    .map(|variable| (text(variable, "/name").to_owned(), value_of(variable, template)))
                    .collect(),
                account: account.clone(),
            });
        }
    }
    found
}

/// The value of a variable: its own, or that of an annotation of the pod, as OLM tells operators their namespaces.
fn value_of(variable: &Value, template: &Value) -> String {
    let field = text(variable, "/valueFrom/fieldRef/fieldPath");
    let key = field
        .strip_prefix("metadata.annotations['")
        .and_then(|rest| rest.strip_suffix("']"));
    let value = match key {
        Some(key) => annotation(template, key).unwrap_or_default(),
        None => text(variable, "/value"),
    };
    value.to_owned()
}

fn items<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    object
        .get(field)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn watches_file(container: &Value) -> String {
    let words: Vec<&str> = ["command", "args"]
        .iter()
        .flat_map(|field| items(container, field))
        .filter_map(Value::as_str)
        .collect();
    let mut named = words.iter().enumerate().filter_map(|(index, word)| {
        let rest = word.strip_prefix(WATCHES_FLAG)?;
        match rest.strip_prefix('=') {
            Some(file) => Some(file),
            None if rest.is_empty() => words.get(index + 1).copied(),
            None => None,
        }
    });
    named.next().unwrap_or(WATCHES_FILE).to_owned()
}

/// Returns where a path of the operator lies below the root of its image; none where it leads out of it.
fn in_image(path: &Path) -> Option<PathBuf> {
    let mut found = if path.is_absolute() {
        PathBuf::new()
    } else {
        PathBuf::from(HOME)
    };
    for component in path.components() {
        match component {
            Component::RootDir | Component::CurDir => {}
            Component::Normal(name) => found.push(name),
            Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    Some(found)
}

/// Fetches the image of a container and loads its charts; none where it is no Helm operator.
pub(crate) async fn load(
    candidate: &Candidate,
    remotes: &Remotes,
    store: &ContentStore,
) -> Result<Option<HelmOperator>, String> {
    let reference = Reference::parse(&candidate.image).map_err(|fault| fault.to_string())?;
    let remote = remotes().await?;
    let pulled = remote
        .pull(store, &reference, host_architecture())
        .await
        .map_err(|fault| fault.to_string())?;
    let (store, candidate) = (store.clone(), candidate.clone());
    let loading = move || {
        let folder = tempfile::tempdir().map_err(|fault| fault.to_string())?;
        let root = folder.path().join("image");
        unpack::to_directory(&store, &pulled.manifest, &root, &[HOME], &Limits::ON_DISK)
            .map_err(|fault| fault.to_string())?;
        let blueprints = blueprints(&candidate, &root)?;
        Ok(blueprints.map(|blueprints| HelmOperator {
            namespaces: candidate.namespaces(),
            account: candidate.account,
            blueprints,
            _folder: folder,
        }))
    };
    tokio::task::spawn_blocking(loading)
        .await
        .map_err(|fault| fault.to_string())?
}

fn blueprints(candidate: &Candidate, root: &Path) -> Result<Option<Vec<Arc<Blueprint>>>, String> {
    let Some(file) = in_image(Path::new(&candidate.watches_file)) else {
        return Err(format!(
            "{WATCHES_FLAG} {} leads out of the image",
            candidate.watches_file
        ));
    };
    let file = root.join(file);
    if !file.is_file() {
        return Ok(None);
    }
    let environment = candidate.environment.clone();
    let variables: Variables = Rc::new(move |name| environment.get(name).cloned().unwrap_or_default());
    let mut blueprints = Vec::new();
    for mut watch in watches::load(&file, &variables).map_err(|fault| fault.to_string())? {
        let chart = in_image(&watch.chart)
            .ok_or_else(|| format!("chart {} leads out of the image", watch.chart.display()))?;
        watch.chart = root.join(chart);
        let kind = watch.kind.clone();
        let blueprint = Blueprint::load(watch).map_err(|fault| {
            let told = fault.to_string();
            format!("{kind}: {}", told.replace(&root.display().to_string(), ""))
        })?;
        blueprints.push(Arc::new(blueprint));
    }
    Ok(Some(blueprints))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_container_of_a_deployment_may_be_an_operator() {
        let deployment = json!({
            "kind": "Deployment", "metadata": {"name": "d", "namespace": "n"},
            "spec": {"template": {"spec": {"serviceAccountName": "s", "containers": [
                {"image": "a", "env": [{"name": "TAG", "value": "1"}, {"name": "REF", "valueFrom": {}}]},
                {"image": "b", "args": ["operator", "--watches-file=./w.yaml"]},
                {"image": "c", "command": ["x", "--watches-file", "/opt/helm/w.yaml"]},
            ]}}},
        });
        let found = candidates(&[deployment, json!({"kind": "ConfigMap"})]);
        let found: Vec<(&str, &str, String)> = found
            .iter()
            .map(|one| (one.image.as_str(), one.watches_file.as_str(), one.account.user()))
            .collect();
        let user = || "system:serviceaccount:n:s".to_owned();
        assert_eq!(
            found,
            [
                ("a", "watches.yaml", user()),
                ("b", "./w.yaml", user()),
                ("c", "/opt/helm/w.yaml", user())
            ]
        );
    }

    #[test]
    fn an_operator_is_told_its_namespaces_by_the_pod() {
        let deployment = json!({"kind": "Deployment", "spec": {"template": {
            "metadata": {"annotations": {"olm.targetNamespaces": "a, b"}},
            "spec": {"containers": [{"image": "a", "env": [{"name": "WATCH_NAMESPACE", "valueFrom": {"fieldRef": {
                "fieldPath": "metadata.annotations['olm.targetNamespaces']",
            }}}]}]},
        }}});
        let found = candidates(&[deployment]);
        assert_eq!(
            found.first().map(Candidate::namespaces),
            Some(vec!["a".to_owned(), "b".to_owned()])
        );
    }

    #[test]
    fn paths_stay_in_the_image() {
        let rows = [
            ("watches.yaml", Some("opt/helm/watches.yaml")),
            ("./helm-charts/a", Some("opt/helm/helm-charts/a")),
            ("/opt/helm/helm-charts/a", Some("opt/helm/helm-charts/a")),
            ("../../etc/passwd", None),
            ("/opt/../../etc", None),
        ];
        for (path, expected) in rows {
            assert_eq!(
                in_image(Path::new(path)).as_deref(),
                expected.map(Path::new),
                "{path}"
            );
        }
    }
}
