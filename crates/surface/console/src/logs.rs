//! What the pods of a resource's release write.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use k8s_openapi::api::core::v1::Pod;
use kube::api::LogParams;
use kube::{Api, ResourceExt as _};
use release::documents;
use release::records::Records;

use crate::console::Console;
use crate::fault::Fault;
use crate::marks::{Empty, Link};
use crate::page::{Page, Section, Visit, shown};
use crate::parameters::Parameters;
use crate::resources::{ResourceName, crumbs, live_objects, pods_of, read_resource};

/// How many lines are shown: the newest, a few screens of them.
const LINES: i64 = 500;

/// How many bytes are asked for; a line may have any length.
const MOST_BYTES: i64 = 256 << 10;

/// A container whose log may be shown.
struct Choice {
    href: String,
    text: String,
    is_chosen: bool,
}

#[derive(Template)]
#[template(path = "logs.html")]
struct Logs {
    page: Page,
    crumbs: Vec<Link>,
    choices: Vec<Choice>,
    log: String,
    /// Why there is no log.
    unreadable: Option<String>,
    is_previous: bool,
    /// The address of the log of the run before, or of this one.
    other_run: String,
    reload: String,
    empty: Empty,
}

/// Shows the log of one container of one pod.
pub(crate) async fn of_resource(
    State(console): State<Arc<Console>>,
    Path((group, version, kind, namespace, name)): Path<(String, String, String, String, String)>,
    visit: Visit,
) -> Result<Response, Fault> {
    let name = ResourceName::read(&group, &version, &kind, &namespace, &name)?;
    let (_, id) = read_resource(&console, &name).await?;
    let records = Records::new(&console.releases, &id);
    let unread = |error| Fault::unanswered(&format!("read the release of {}", name.words()), error);
    // While an upgrade is under way, the pods are those of the newest revision.
    let record = records.last().await.map_err(unread)?;
    let manifest = record.map(|record| record.release.manifest).unwrap_or_default();
    let documents = documents::read(&manifest).unwrap_or_default();
    let (objects, _) = live_objects(&console.engine, &id.namespace, documents).await;
    let pods = pods_of(&console.client, &objects).await;
    let asked = (
        visit.parameters.filled("pod"),
        visit.parameters.filled("container"),
    );
    let is_previous = visit.parameters.get("previous").is_some();
    let base = format!("{}/logs", name.path());
    // Only pods of this release: the address could name any.
    let chosen = chosen(&pods.pods, asked.0, asked.1);
    if let (None, Some(pod)) = (&chosen, asked.0) {
        return Err(Fault::not_found(format!(
            "{} has no pod {pod:?} any more; its page lists those that it has",
            name.words()
        )));
    }
    let (log, unreadable) = match &chosen {
        None => (String::new(), pods.unreadable),
        Some((pod, container)) => {
            let parameters = LogParams {
                container: Some(container.clone()),
                tail_lines: Some(LINES),
                limit_bytes: Some(MOST_BYTES),
                previous: is_previous,
                ..LogParams::default()
            };
            let api: Api<Pod> = Api::namespaced(console.client.clone(), &pod.namespace().unwrap_or_default());
            match api.logs(&pod.name_any(), &parameters).await {
                Ok(log) => (log, None),
                Err(error) => (String::new(), Some(apply::refusal::words(&error))),
            }
        }
    };
    let place = |pod: &str, container: &str| {
        let place = Parameters::default()
            .with("pod", pod)
            .with("container", container);
        format!("{base}{}", place.to_query())
    };
    let chosen_names = chosen.map(|(pod, container)| (pod.name_any(), container));
    let mut choices = Vec::new();
    for pod in &pods.pods {
        for container in containers(pod) {
            let pod = pod.name_any();
            choices.push(Choice {
                href: place(&pod, &container),
                is_chosen: chosen_names.as_ref() == Some(&(pod.clone(), container.clone())),
                text: format!("{pod} / {container}"),
            });
        }
    }
    let this_run = chosen_names.map_or_else(|| base.clone(), |(pod, container)| place(&pod, &container));
    let previous_run = format!("{this_run}&previous=1");
    shown(&Logs {
        page: visit.page(format!("Logs of {}", name.words()), Section::Resources),
        crumbs: crumbs(&name)
            .into_iter()
            .chain([Link::to(name.path(), name.words())])
            .collect(),
        empty: if choices.is_empty() {
            Empty::new("No pod", "The objects of this release run no pod at the moment.")
        } else {
            Empty::new("Nothing written yet", "The container has written nothing so far.")
        },
        choices,
        log,
        unreadable,
        is_previous,
        reload: if is_previous {
            previous_run.clone()
        } else {
            this_run.clone()
        },
        other_run: if is_previous { this_run } else { previous_run },
    })
}

/// The names of the containers of a pod, those that prepare it first.
fn containers(pod: &Pod) -> Vec<String> {
    let Some(spec) = &pod.spec else { return Vec::new() };
    let first = spec.init_containers.iter().flatten();
    first
        .chain(&spec.containers)
        .map(|container| container.name.clone())
        .collect()
}

/// The container that was asked for; without a name, the first that isn't only for preparation.
fn chosen<'a>(pods: &'a [Pod], pod: Option<&str>, container: Option<&str>) -> Option<(&'a Pod, String)> {
    let pod = match pod {
        Some(name) => pods.iter().find(|pod| pod.name_any() == name)?,
        None => pods.first()?,
    };
    let known = containers(pod);
    let container = match container {
        Some(name) => known.into_iter().find(|known| known == name)?,
        None => pod.spec.as_ref()?.containers.first()?.name.clone(),
    };
    Some((pod, container))
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn only_containers_of_known_pods_can_be_chosen() {
        let pods: Vec<Pod> = vec![
            from_value(json!({
                "metadata": {"name": "a"},
                "spec": {"initContainers": [{"name": "prepare"}], "containers": [{"name": "main"}]},
            }))
            .expect("a pod"),
        ];
        let choose = |pod, container| chosen(&pods, pod, container).map(|(pod, name)| (pod.name_any(), name));
        let found = |container: &str| Some(("a".to_owned(), container.to_owned()));
        assert_eq!(choose(None, None), found("main"));
        assert_eq!(choose(Some("a"), Some("prepare")), found("prepare"));
        assert_eq!(choose(Some("b"), None), None);
        assert_eq!(choose(Some("a"), Some("other")), None);
        assert_eq!(chosen(&[], None, None).map(|(_, name)| name), None);
    }
}
