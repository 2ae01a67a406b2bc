//! The upgrade on the stage: OLM's own controller brings it about, while nobody else looks.

use std::sync::Arc;
use std::time::Duration;

use api::condition::{Condition, find};
use api::{ClusterExtension, ClusterObjectSet, keys};
use extension_controller::bundles::Bundles;
use extension_controller::catalogs::Catalogs;
use extension_controller::controller::{Controller, Options};
use extension_controller::status::{PROGRESSING, reason};
use kube::Client;
use kube::api::{Api, ListParams};
use resolve::resolution::BrokenCatalogs;
use tokio::time::Instant;

use crate::impossible::Impossible;

/// How long the upgrade may take on the stage, where pods are ready within milliseconds.
const PATIENCE: Duration = Duration::from_mins(2);

/// How long nothing may move before it is believed that nothing will.
const STILL_AFTER: Duration = Duration::from_secs(15);

/// How long a failure that is tried again may stay the same before it is believed.
const BELIEVED_AFTER: Duration = Duration::from_secs(3);

/// How often it is looked how far it is.
const PAUSE: Duration = Duration::from_millis(25);

/// How the upgrade went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Played {
    /// The version is installed, and everything in it is as its probes want it.
    Done,
    /// It didn't come to that, in the words of the conditions.
    Stuck(String),
}

/// What happened so far.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Done,
    /// It can't go on before somebody changes something.
    Stopped(String),
    /// It failed and is tried again.
    Failing(String),
    Underway(String),
}

/// Runs the controller on the stage until the version is installed, or nothing moves any more.
pub(crate) async fn play<C: Catalogs>(
    client: &Client,
    catalogs: Arc<C>,
    bundles: Bundles,
    system_namespace: &str,
    extension: &str,
    version: &str,
) -> Result<Played, Impossible> {
    let controller = Controller::new(Options {
        client: client.clone(),
        system_namespace: system_namespace.to_owned(),
        catalogs,
        bundles,
        broken_catalogs: BrokenCatalogs::Skip,
    });
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let watching = async {
        let played = watch(client, extension, version).await;
        stop.send(()).ok();
        played
    };
    let running = controller.run(async {
        stopped.await.ok();
    });
    let ((), played) = tokio::join!(running, watching);
    played
}

async fn watch(client: &Client, extension: &str, version: &str) -> Result<Played, Impossible> {
    let begun = Instant::now();
    let mut last: Option<(Seen, Instant)> = None;
    loop {
        let seen = look(client, extension, version).await?;
        let since = match &last {
            Some((known, since)) if *known == seen => *since,
            _ => Instant::now(),
        };
        match &seen {
            Seen::Done => return Ok(Played::Done),
            Seen::Stopped(why) => return Ok(Played::Stuck(why.clone())),
            Seen::Failing(why) if since.elapsed() > BELIEVED_AFTER => return Ok(Played::Stuck(why.clone())),
            Seen::Failing(why) | Seen::Underway(why)
                if since.elapsed() > STILL_AFTER || begun.elapsed() > PATIENCE =>
            {
                return Ok(Played::Stuck(why.clone()));
            }
            _ => {}
        }
        last = Some((seen, since));
        tokio::time::sleep(PAUSE).await;
    }
}

async fn look(client: &Client, name: &str, version: &str) -> Result<Seen, Impossible> {
    let unread = |fault: kube::Error| Impossible::stage(format!("read ClusterExtension {name:?}"), fault);
    let extensions: Api<ClusterExtension> = Api::all(client.clone());
    let extension = extensions.get(name).await.map_err(unread)?;
    let revisions: Api<ClusterObjectSet> = Api::all(client.clone());
    let selector = ListParams::default().labels(&format!("{}={name}", keys::OWNER_NAME));
    let revisions = revisions.list(&selector).await.map_err(unread)?.items;
    Ok(judge(&extension, &revisions, version))
}

/// Says how far an extension is on its way to a version.
fn judge(extension: &ClusterExtension, revisions: &[ClusterObjectSet], version: &str) -> Seen {
    let progress = find(&extension.status.conditions, PROGRESSING);
    let is_installed = extension
        .status
        .install
        .as_ref()
        .is_some_and(|install| install.bundle.version == version);
    if is_installed && progress.is_some_and(|progress| progress.reason == reason::SUCCEEDED) {
        return Seen::Done;
    }
    let newest = revisions
        .iter()
        .filter(|revision| {
            let annotations = revision.metadata.annotations.as_ref();
            annotations
                .and_then(|all| all.get(keys::BUNDLE_VERSION))
                .map(String::as_str)
                == Some(version)
        })
        .max_by_key(|revision| revision.spec.revision);
    if let Some(revision) = newest {
        let told: Vec<String> = ["Progressing", "Available"]
            .iter()
            .filter_map(|kind| find(&revision.status.conditions, kind))
            .filter(|condition| !condition.message.is_empty())
            .map(in_words)
            .collect();
        let is_failing = find(&revision.status.conditions, PROGRESSING)
            .is_some_and(|condition| matches!(condition.reason.as_str(), reason::RETRYING | reason::BLOCKED));
        let told = told.join("; ");
        return if is_failing {
            Seen::Failing(told)
        } else {
            Seen::Underway(told)
        };
    }
    match progress {
        Some(progress) if progress.reason == reason::RETRYING => Seen::Failing(in_words(progress)),
        Some(progress)
            if matches!(
                progress.reason.as_str(),
                reason::BLOCKED | reason::INVALID_CONFIGURATION
            ) =>
        {
            Seen::Stopped(in_words(progress))
        }
        Some(progress) => Seen::Underway(in_words(progress)),
        None => Seen::Underway("the controller has not looked at it".to_owned()),
    }
}

fn in_words(condition: &Condition) -> String {
    format!("{}: {}", condition.reason, condition.message)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn conditions(of: &[(&str, &str, &str)]) -> Value {
        of.iter()
            .map(|(kind, reason, message)| {
                json!({"type": kind, "status": "True", "reason": reason, "message": message,
                    "lastTransitionTime": "2026-01-01T00:00:00Z"})
            })
            .collect()
    }

    fn judged(
        installed: &str,
        told: &[(&str, &str, &str)],
        of_revision: Option<&[(&str, &str, &str)]>,
    ) -> Seen {
        let extension = serde_json::from_value(json!({
            "metadata": {"name": "web"},
            "spec": {"namespace": "web", "source": {"sourceType": "Catalog", "catalog": {"packageName": "web"}}},
            "status": {"install": {"bundle": {"name": "b", "version": installed}}, "conditions": conditions(told)},
        }));
        let revision = of_revision.map(|told| {
            serde_json::from_value(json!({
                "metadata": {"name": "web-2", "annotations": {keys::BUNDLE_VERSION: "2.0.0"}},
                "spec": {"lifecycleState": "Active", "revision": 2, "collisionProtection": "Prevent"},
                "status": {"conditions": conditions(told)},
            }))
            .expect("a revision")
        });
        let revisions: Vec<ClusterObjectSet> = revision.into_iter().collect();
        judge(&extension.expect("an extension"), &revisions, "2.0.0")
    }

    #[test]
    fn an_upgrade_is_done_stopped_failing_or_under_way() {
        let before = ("Progressing", "Succeeded", "Desired state reached");
        let retrying = ("Progressing", "Retrying", "no");
        assert_eq!(judged("2.0.0", &[before], None), Seen::Done);
        assert!(matches!(judged("1.0.0", &[before], None), Seen::Underway(_)));
        assert_eq!(
            judged("1.0.0", &[retrying], None),
            Seen::Failing("Retrying: no".to_owned())
        );
        let blocked = ("Progressing", "Blocked", "change it");
        assert_eq!(
            judged("1.0.0", &[blocked], None),
            Seen::Stopped("Blocked: change it".to_owned())
        );
        let unready = ("Available", "ProbeFailure", "not ready");
        assert_eq!(
            judged("1.0.0", &[before], Some(&[unready])),
            Seen::Underway("ProbeFailure: not ready".to_owned())
        );
        assert_eq!(
            judged("1.0.0", &[before], Some(&[retrying, unready])),
            Seen::Failing("Retrying: no; ProbeFailure: not ready".to_owned())
        );
    }
}
