//! Whose logs an archive holds: those of controllers, operators and catalogs.

use apply::object::{label, text};
use classic::keys;
use serde_json::Value;

use crate::kinds;
use crate::picture::Picture;
use crate::rules::pods;

/// The log of one run of a container.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Log {
    /// The namespace of the pod.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
    /// Whether the run before the current one is meant.
    pub is_previous: bool,
}

impl Log {
    /// Returns where the log lies in an archive.
    pub fn path(&self) -> String {
        let run = if self.is_previous { ".previous" } else { "" };
        format!("logs/{}/{}/{}{run}.log", self.namespace, self.pod, self.container)
    }
}

/// Returns the logs that are worth reading: of pods that Deployments of the picture made, and of catalogs.
pub fn wanted(picture: &Picture) -> Vec<Log> {
    let of_deployments = picture
        .all(kinds::DEPLOYMENT)
        .flat_map(|deployment| pods::of_deployment(picture, deployment));
    let of_catalogs = picture
        .all(kinds::POD)
        .filter(|pod| label(pod, keys::CATALOG_SOURCE).is_some());
    let mut logs: Vec<Log> = of_deployments.chain(of_catalogs).flat_map(of_pod).collect();
    logs.sort();
    logs.dedup();
    logs
}

fn of_pod(pod: &Value) -> Vec<Log> {
    let containers = ["initContainers", "containers"].into_iter().flat_map(|field| {
        let list = pod.pointer(&format!("/spec/{field}")).and_then(Value::as_array);
        list.into_iter().flatten()
    });
    let log = |container: &Value, is_previous: bool| Log {
        namespace: text(pod, "/metadata/namespace").to_owned(),
        pod: text(pod, "/metadata/name").to_owned(),
        container: text(container, "/name").to_owned(),
        is_previous,
    };
    containers
        .flat_map(|container| {
            let before = has_restarted(pod, text(container, "/name")).then(|| log(container, true));
            [Some(log(container, false)), before]
        })
        .flatten()
        .collect()
}

fn has_restarted(pod: &Value, container: &str) -> bool {
    ["initContainerStatuses", "containerStatuses"]
        .iter()
        .any(|field| {
            let list = pod.pointer(&format!("/status/{field}")).and_then(Value::as_array);
            list.into_iter().flatten().any(|status| {
                let restarts = status.pointer("/restartCount").and_then(Value::as_i64);
                text(status, "/name") == container && restarts.unwrap_or_default() > 0
            })
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{object, picture};

    #[test]
    fn logs_of_operators_are_wanted_with_those_of_the_run_before() {
        let deployment = object(
            "apps/v1",
            "Deployment",
            "apps",
            "web",
            json!({
            "spec": {"selector": {"matchLabels": {"app": "web"}}}}),
        );
        let pod = |name: &str, app: &str, restarts: i64| {
            object(
                "v1",
                "Pod",
                "apps",
                name,
                json!({
                "metadata": {"labels": {"app": app}},
                "spec": {"containers": [{"name": "manager"}]},
                "status": {"containerStatuses": [{"name": "manager", "restartCount": restarts}]}}),
            )
        };
        let picture = picture([
            deployment,
            pod("web-1", "web", 0),
            pod("web-2", "web", 3),
            pod("other", "other", 0),
        ]);
        let paths: Vec<String> = wanted(&picture).iter().map(Log::path).collect();
        assert_eq!(
            paths,
            [
                "logs/apps/web-1/manager.log",
                "logs/apps/web-2/manager.log",
                "logs/apps/web-2/manager.previous.log"
            ]
        );
    }
}
