//! A Helm operator of a small chart, and the custom resources that it looks after.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::conditions::{Says, holds};
use crate::reference::Reference;
use crate::world::World;

const GROUP: &str = "replicas.example.com";

/// Writes a chart and a watches file into a folder; returns the latter.
pub(crate) fn write_operator(folder: &Path) -> Result<PathBuf, String> {
    let watches = folder.join("watches.yaml");
    let chart = folder.join("chart");
    let files = [
        (
            watches.clone(),
            format!(
                "- group: {GROUP}\n  version: v1\n  kind: Stack\n  chart: {}\n",
                chart.display()
            ),
        ),
        (
            chart.join("Chart.yaml"),
            "apiVersion: v2\nname: stack\nversion: 1.0.0\n".to_owned(),
        ),
        (chart.join("values.yaml"), "step: 0\n".to_owned()),
        (
            chart.join("templates/map.yaml"),
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  step: {{ .Values.step | quote }}\n"
                .to_owned(),
        ),
        (
            chart.join("templates/service.yaml"),
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Release.Name }}\n  annotations:\n    step: {{ .Values.step | quote }}\nspec:\n  ports:\n  - port: 80\n"
                .to_owned(),
        ),
    ];
    for (path, text) in files {
        let parent = path.parent().unwrap_or(folder);
        let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, text));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(watches)
}

/// The definition of the operator's kind.
pub(crate) fn definition() -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("stacks.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {"kind": "Stack", "listKind": "StackList", "plural": "stacks", "singular": "stack"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}}}],
        },
    })
}

/// A custom resource in a namespace of its own, which asks for one thing after the other.
pub(crate) struct Stack {
    name: String,
    step: u32,
}

impl Stack {
    /// Makes the namespace; the resource itself comes with the first step.
    pub(crate) async fn prepare(world: &World, name: &str) -> Result<Self, String> {
        let stack = Self {
            name: name.to_owned(),
            step: 0,
        };
        world.namespace(&stack.namespace()).await?;
        Ok(stack)
    }

    fn namespace(&self) -> String {
        format!("ns-{}", self.name)
    }

    fn object(&self, api_version: &str, kind: &str) -> Reference {
        Reference::namespaced(api_version, kind, &self.namespace(), &self.name)
    }

    /// Asks for something else, and waits until it is so.
    pub(crate) async fn go_on(&mut self, world: &World, patience: std::time::Duration) -> Result<(), String> {
        self.step += 1;
        let resource = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "Stack",
            "metadata": {"name": self.name, "namespace": self.namespace()},
            "spec": {"step": self.step},
        });
        world.kubernetes.apply(&resource).await?;
        self.is_so(world, patience).await
    }

    async fn is_so(&self, world: &World, patience: std::time::Duration) -> Result<(), String> {
        let step = self.step.to_string();
        let map = self.object("v1", "ConfigMap");
        let is_so = |map: Option<&Value>| match map.map(|map| &map["data"]["step"]) {
            Some(found) if *found == step => Ok(()),
            found => Err(format!("its step is {found:?}, not {step}")),
        };
        world.kubernetes.until_within(&map, patience, is_so).await?;
        let resource = self.object(&format!("{GROUP}/v1"), "Stack");
        let is_deployed = |resource: Option<&Value>| {
            holds(resource, "Deployed", "True", "", Says::Anything)?;
            let manifest =
                resource.and_then(|resource| resource["status"]["deployedRelease"]["manifest"].as_str());
            let expected = format!("step: \"{step}\"");
            match manifest {
                Some(manifest) if manifest.contains(&expected) => Ok(()),
                manifest => Err(format!("its release is {manifest:?}")),
            }
        };
        world
            .kubernetes
            .until_within(&resource, patience, is_deployed)
            .await
    }

    /// Checks what there is in the end: the objects as rendered, and releases without a gap, of which the last one counts.
    pub(crate) async fn is_whole(&self, world: &World, patience: std::time::Duration) -> Result<(), String> {
        self.is_so(world, patience).await?;
        let service = world.kubernetes.read(&self.object("v1", "Service")).await?;
        let step = self.step.to_string();
        if service["metadata"]["annotations"]["step"] != step {
            return Err(format!(
                "Service {} has {}",
                self.name, service["metadata"]["annotations"]
            ));
        }
        let records = Reference::namespaced("v1", "Secret", &self.namespace(), "").collection();
        let (records, _) = world
            .kubernetes
            .list(&records, "labelSelector=owner%3Dhelm")
            .await?;
        let mut found: Vec<(u64, String)> = records
            .iter()
            .map(|record| {
                let label = |name: &str| record["metadata"]["labels"][name].as_str().unwrap_or_default();
                (label("version").parse().unwrap_or(0), label("status").to_owned())
            })
            .collect();
        found.sort_unstable();
        let is_consecutive = found.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0);
        let deployed = found.iter().filter(|(_, status)| status == "deployed").count();
        let is_last = found.last().is_some_and(|(_, status)| status == "deployed");
        if is_consecutive && deployed == 1 && is_last {
            Ok(())
        } else {
            Err(format!("the releases of {} are {found:?}", self.name))
        }
    }

    /// How far it is.
    pub(crate) fn described(&self) -> String {
        format!("{} at step {}", self.name, self.step)
    }
}
