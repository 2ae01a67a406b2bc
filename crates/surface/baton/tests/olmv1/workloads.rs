//! Scenarios 41–45: what runs, and what users change in it; and how it goes.

use serde_json::{Value, json};

use crate::bundles::{Contents, definition_name};
use crate::conditions::Says;
use crate::images::Entry;
use crate::kubernetes::PATIENCE;
use crate::recovery::config_map_comes_back;
use crate::reference::Reference;
use crate::scenario::Scenario;

type Outcome = Result<(), String>;

fn full() -> [Entry; 1] {
    [Entry::new("1.0.0", "alpha", Contents::full())]
}

/// A Deployment of one Pod with the annotations that say what becomes of it.
pub(crate) fn deployment(namespace: &str, name: &str, annotations: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}, "annotations": annotations},
                "spec": {"containers": [{"name": "httpd", "image": "busybox:1.36", "command": ["httpd"],
                    "args": ["-f", "-p", "8080"]}]},
            },
        },
    })
}

/// Says of all Pods with a label that they are ready, or not, as their kubelet would.
pub(crate) async fn set_readiness(scenario: &Scenario, label: &str, ready: bool) -> Outcome {
    let collection = Reference::namespaced("v1", "Pod", &scenario.namespace(), "").collection();
    let query = format!("labelSelector={}", label.replace('=', "%3D"));
    let pods = scenario
        .kubernetes()
        .until_all(&collection, &query, PATIENCE, |pods| {
            let running = pods.iter().filter(|pod| pod["status"]["phase"] == "Running");
            let running: Vec<Value> = running.cloned().collect();
            if running.is_empty() {
                Err(format!("no Pod with {label} runs"))
            } else {
                Ok(running)
            }
        })
        .await?;
    let status = if ready { "True" } else { "False" };
    for mut pod in pods {
        pod["apiVersion"] = "v1".into();
        pod["kind"] = "Pod".into();
        let containers = pod["status"]["containerStatuses"].as_array().cloned();
        let containers: Vec<Value> = containers
            .unwrap_or_default()
            .into_iter()
            .map(|mut container| {
                container["ready"] = ready.into();
                container
            })
            .collect();
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let conditions = ["Ready", "ContainersReady"]
            .map(|kind| json!({"type": kind, "status": status, "lastTransitionTime": now}));
        let patch = json!({"status": {"conditions": conditions, "containerStatuses": containers}});
        scenario
            .kubernetes()
            .merge_status(&Reference::of(&pod), &patch)
            .await?;
    }
    Ok(())
}

/// Installs, and lets the Pod lose its readiness.
async fn loses_readiness(scenario: &Scenario) -> Outcome {
    scenario.prepare(&full()).await?;
    scenario.install(&scenario.extension()).await?;
    set_readiness(scenario, &format!("app={}", scenario.id), false).await?;
    for reference in [scenario.reference(), scenario.revision(1)] {
        scenario
            .reports(&reference, "Available", "False", "ProbeFailure", Says::Anything)
            .await?;
    }
    Ok(())
}

/// 41
pub(crate) async fn what_is_not_ready_is_not_available(scenario: Scenario) -> Outcome {
    loses_readiness(&scenario).await?;
    // It stays installed: nothing was taken away.
    scenario
        .reports(
            &scenario.reference(),
            "Installed",
            "True",
            "Succeeded",
            Says::Anything,
        )
        .await
        .map(drop)
}

/// 42
pub(crate) async fn what_is_ready_again_is_available_again(scenario: Scenario) -> Outcome {
    loses_readiness(&scenario).await?;
    set_readiness(&scenario, &format!("app={}", scenario.id), true).await?;
    for reference in [scenario.reference(), scenario.revision(1)] {
        scenario
            .reports(&reference, "Available", "True", "ProbesSucceeded", Says::Anything)
            .await?;
    }
    scenario.is_installed(&scenario.reference()).await
}

/// 43
pub(crate) async fn nothing_is_left_of_what_is_removed(scenario: Scenario) -> Outcome {
    scenario.prepare(&full()).await?;
    scenario.install(&scenario.extension()).await?;
    let objects = scenario.objects_of(&scenario.revision(1)).await?;
    for object in &objects {
        let reference = Reference::of(object);
        let live = scenario.kubernetes().read(&reference).await?;
        let labels = &live["metadata"]["labels"];
        if labels["olm.operatorframework.io/owner-kind"] != "ClusterExtension"
            || labels["olm.operatorframework.io/owner-name"] != scenario.name()
        {
            return Err(format!("{reference} has the labels {labels}"));
        }
    }
    let definition = Reference::cluster(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &definition_name(&scenario.id),
    );
    let references: Vec<Reference> = objects.iter().map(Reference::of).collect();
    if !references.contains(&definition) || !references.contains(&scenario.deployment()) {
        return Err(format!("the revision holds only {references:?}"));
    }
    scenario.kubernetes().delete(&scenario.reference()).await?;
    scenario.kubernetes().until_gone(&scenario.reference()).await?;
    for reference in &references {
        scenario.kubernetes().until_gone(reference).await?;
    }
    scenario.kubernetes().until_gone(&scenario.revision(1)).await?;
    let collection = Reference::namespaced("v1", "Secret", crate::world::SYSTEM_NAMESPACE, "").collection();
    let query = format!(
        "labelSelector=olm.operatorframework.io/owner-name%3D{}",
        scenario.name()
    );
    scenario
        .kubernetes()
        .until_all(&collection, &query, PATIENCE, |secrets| match secrets.len() {
            0 => Ok(()),
            count => Err(format!("{count} Secrets of the extension are left")),
        })
        .await
}

/// Lets the controllers look at the extension and at its objects once more.
async fn reconciles(scenario: &Scenario, enforcement: &str) -> Outcome {
    scenario
        .install(&scenario.extension().definition_safety(enforcement))
        .await?;
    config_map_comes_back(scenario).await
}

/// 44
pub(crate) async fn what_users_add_stays(scenario: Scenario) -> Outcome {
    scenario.prepare(&full()).await?;
    scenario.install(&scenario.extension()).await?;
    let added = json!({"metadata": {
        "annotations": {"example.com/custom-annotation": "my-value"},
        "labels": {"example.com/custom-label": "my-value"},
    }});
    scenario
        .kubernetes()
        .merge(&scenario.deployment(), &added)
        .await?;
    reconciles(&scenario, "Strict").await?;
    let deployment = scenario.kubernetes().read(&scenario.deployment()).await?;
    let metadata = &deployment["metadata"];
    if metadata["annotations"]["example.com/custom-annotation"] == "my-value"
        && metadata["labels"]["example.com/custom-label"] == "my-value"
        && metadata["labels"]["app.kubernetes.io/name"] == format!("test-operator-{}", scenario.id)
    {
        Ok(())
    } else {
        Err(format!("the Deployment has {metadata}"))
    }
}

/// Waits until a Deployment has only Pods of its newest template.
async fn is_rolled_out(scenario: &Scenario) -> Outcome {
    scenario
        .kubernetes()
        .until(&scenario.deployment(), |deployment| {
            let deployment = deployment.ok_or("it isn't there")?;
            let status = &deployment["status"];
            if status["observedGeneration"] == deployment["metadata"]["generation"]
                && status["updatedReplicas"] == 1
                && status["availableReplicas"] == 1
                && status["replicas"] == 1
            {
                Ok(())
            } else {
                Err(format!("its status is {status}"))
            }
        })
        .await
}

/// 45
pub(crate) async fn a_restart_stays(scenario: Scenario) -> Outcome {
    scenario.prepare(&full()).await?;
    scenario.install(&scenario.extension()).await?;
    is_rolled_out(&scenario).await?;
    // What `kubectl rollout restart` sends.
    let restarted = jiff::Timestamp::now().to_string();
    let restart = json!({"spec": {"template": {"metadata": {"annotations": {
        "kubectl.kubernetes.io/restartedAt": restarted}}}}});
    scenario
        .kubernetes()
        .merge(&scenario.deployment(), &restart)
        .await?;
    let is_restarted = async || {
        is_rolled_out(&scenario).await?;
        let deployment = scenario.kubernetes().read(&scenario.deployment()).await?;
        let annotations = &deployment["spec"]["template"]["metadata"]["annotations"];
        if annotations["kubectl.kubernetes.io/restartedAt"] == restarted {
            Ok(())
        } else {
            Err(format!("the template's annotations are {annotations}"))
        }
    };
    is_restarted().await?;
    let sets = Reference::namespaced("apps/v1", "ReplicaSet", &scenario.namespace(), "").collection();
    let (sets, _) = scenario
        .kubernetes()
        .list(&sets, &format!("labelSelector=app%3D{}", scenario.id))
        .await?;
    if sets.len() != 2 {
        return Err(format!("there are {} ReplicaSets", sets.len()));
    }
    reconciles(&scenario, "Strict").await?;
    is_restarted().await
}
