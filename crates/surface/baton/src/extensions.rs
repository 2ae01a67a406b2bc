//! Extensions of a cluster, as commands read, change and wait for them.

use std::time::Duration;

use api::cluster_extension::{BundleMetadata, ClusterExtension};
use api::condition::{self, Condition, ConditionStatus};
use api::{ClusterObjectSet, keys};
use apply::refusal::is_already_there;
use futures_util::TryStreamExt as _;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, ResourceExt as _};
use serde_json::Value;

use crate::cluster::{FIELD_MANAGER, refused};
use crate::failure::Failure;
use crate::known_names;
use crate::terminal::Terminal;
use crate::waiting::{SEEN_WITHIN, WaitFlags};

/// How often it is looked whether revisions are gone.
const REVISIONS_PAUSE: Duration = Duration::from_millis(200);

/// The extensions of a cluster.
pub(crate) struct Extensions {
    api: Api<ClusterExtension>,
    revisions: Api<ClusterObjectSet>,
}

impl Extensions {
    pub(crate) fn of(client: Client) -> Self {
        Self {
            api: Api::all(client.clone()),
            revisions: Api::all(client),
        }
    }

    /// Reads one extension; one that isn't there is a failure that names those that are.
    pub(crate) async fn read(&self, name: &str) -> Result<ClusterExtension, Failure> {
        match self.api.get_opt(name).await {
            Ok(Some(extension)) => Ok(extension),
            Ok(None) => {
                let known: Vec<String> = self
                    .all()
                    .await?
                    .iter()
                    .map(kube::ResourceExt::name_any)
                    .collect();
                let otherwise = "`baton install` makes one";
                Err(known_names::unknown("ClusterExtension", name, &known, otherwise))
            }
            Err(error) => Err(refused(&format!("read ClusterExtension {name:?}"), error)),
        }
    }

    /// All extensions, by name.
    pub(crate) async fn all(&self) -> Result<Vec<ClusterExtension>, Failure> {
        let list = self.api.list(&ListParams::default()).await;
        Ok(list
            .map_err(|error| refused("list ClusterExtensions", error))?
            .items)
    }

    pub(crate) async fn create(
        &self,
        extension: &ClusterExtension,
        try_only: bool,
    ) -> Result<ClusterExtension, Failure> {
        let parameters = kube::api::PostParams {
            dry_run: try_only,
            field_manager: Some(FIELD_MANAGER.to_owned()),
        };
        let name = extension.name_any();
        match self.api.create(&parameters, extension).await {
            Err(error) if is_already_there(&error) => Err(Failure::new(format!(
                "ClusterExtension {name:?} is there already; change its version with `baton upgrade {name}`, or give the new \
                 one another name with --name"
            ))),
            made => made.map_err(|error| refused(&format!("make ClusterExtension {name:?}"), error)),
        }
    }

    /// Changes an extension that was read before; what others changed meanwhile is left as they made it.
    pub(crate) async fn change(&self, name: &str, change: &Value) -> Result<ClusterExtension, Failure> {
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        self.api
            .patch(name, &parameters, &Patch::Merge(change))
            .await
            .map_err(|error| refused(&format!("change ClusterExtension {name:?}"), error))
    }

    /// Asks for an extension to be deleted.
    pub(crate) async fn delete(&self, name: &str) -> Result<(), Failure> {
        self.api
            .delete(name, &kube::api::DeleteParams::default())
            .await
            .map(drop)
            .map_err(|error| refused(&format!("delete ClusterExtension {name:?}"), error))
    }

    /// Waits until an extension is what its generation asks for, and says on the way what it waits for.
    pub(crate) async fn wait_installed(
        &self,
        wanted: &ClusterExtension,
        wait: WaitFlags,
        terminal: &mut Terminal,
    ) -> Result<ClusterExtension, Failure> {
        let generation = wanted.metadata.generation.unwrap_or_default();
        self.wait(wanted, wait, terminal, |extension| rollout(extension, generation))
            .await
    }

    /// The same, and a version that waits for somebody's approval is as good: that is what was asked for.
    pub(crate) async fn wait_approvable(
        &self,
        wanted: &ClusterExtension,
        wait: WaitFlags,
        terminal: &mut Terminal,
    ) -> Result<ClusterExtension, Failure> {
        let generation = wanted.metadata.generation.unwrap_or_default();
        self.wait(wanted, wait, terminal, |extension| {
            match rollout(extension, generation) {
                Rollout::Stopped(_) if waiting_version(extension).is_some() => Rollout::Done,
                // The version is noted a moment after the condition, and `baton approve` looks for it.
                Rollout::Stopped(why) if why.contains(WAITS_FOR_APPROVAL) => Rollout::Underway(why),
                rollout => rollout,
            }
        })
        .await
    }

    /// Waits until an extension has a version, whatever made it go there.
    pub(crate) async fn wait_version(
        &self,
        wanted: &ClusterExtension,
        version: &str,
        wait: WaitFlags,
        terminal: &mut Terminal,
    ) -> Result<ClusterExtension, Failure> {
        let has_version = |extension: &ClusterExtension| {
            let install = extension.status.install.as_ref();
            install.is_some_and(|install| full_version(&install.bundle) == version)
        };
        let generation = wanted.metadata.generation.unwrap_or_default();
        self.wait(wanted, wait, terminal, |extension| {
            match rollout(extension, generation) {
                Rollout::Done if !has_version(extension) => Rollout::Unseen,
                // An approval changes no generation: what was said before it still stands there.
                Rollout::Stopped(why) if asks_for_approval(&why, version) => Rollout::Unseen,
                rollout => rollout,
            }
        })
        .await
    }

    async fn wait(
        &self,
        wanted: &ClusterExtension,
        wait: WaitFlags,
        terminal: &mut Terminal,
        judge: impl Fn(&ClusterExtension) -> Rollout,
    ) -> Result<ClusterExtension, Failure> {
        if wait.is_declined() {
            return Ok(wanted.clone());
        }
        let name = wanted.name_any();
        let mut said = String::new();
        let mut is_unseen = true;
        let mut changes = std::pin::pin!(
            watcher(self.api.clone(), of_name(&name))
                .default_backoff()
                .applied_objects()
        );
        let mut next = async || {
            let seen = changes
                .try_next()
                .await
                .map_err(|error| Failure::new(format!("cannot watch ClusterExtension {name:?}: {error}")))?;
            seen.ok_or_else(|| Failure::new(format!("the watch of ClusterExtension {name:?} ended")))
        };
        let first = tokio::time::timeout(SEEN_WITHIN, next()).await.map_err(|_| {
            Failure::new(format!(
                "ClusterExtension {name:?} could not be watched within {} s; see whether the API server is well with `baton status`",
                SEEN_WITHIN.as_secs()
            ))
        });
        let mut extension = first??;
        let watching = async {
            loop {
                let judged = judge(&extension);
                is_unseen = judged == Rollout::Unseen;
                let why = match judged {
                    Rollout::Done => return Ok(extension),
                    Rollout::Stopped(why) => {
                        return Err(Failure::new(format!(
                            "ClusterExtension {name:?}: {why}; see `baton status {name}` and `baton explain {name}`"
                        )));
                    }
                    Rollout::Unseen => "waiting for the controller to see the change".to_owned(),
                    Rollout::Retrying(why) => format!("{why}; it is tried again, see `baton explain {name}`"),
                    Rollout::Underway(why) => why,
                };
                if why != said {
                    terminal.remark(&why);
                    said = why;
                }
                extension = next().await?;
            }
        };
        let ended = tokio::time::timeout(wait.patience(), watching).await;
        ended.unwrap_or_else(|_| {
            let seconds = wait.patience().as_secs();
            Err(Failure::new(if is_unseen {
                format!(
                    "no controller has looked at ClusterExtension {name:?} for {seconds} s: is `baton controllers` running? What was \
                     asked for is done as soon as it is"
                )
            } else {
                format!(
                    "ClusterExtension {name:?} isn't installed after {seconds} s; it goes on in the cluster: see `baton status \
                     {name}`, or wait longer with --timeout"
                )
            }))
        })
    }

    /// Waits until the revisions of an extension that is gone are gone too, and with them what they installed.
    async fn wait_for_revisions_gone(&self, name: &str) -> Result<(), Failure> {
        let selector = ListParams::default().labels(&format!("{}={name}", keys::OWNER_NAME));
        loop {
            let left =
                self.revisions.list_metadata(&selector).await.map_err(|error| {
                    Failure::new(format!("cannot list the revisions of {name:?}: {error}"))
                })?;
            if left.items.is_empty() {
                return Ok(());
            }
            tokio::time::sleep(REVISIONS_PAUSE).await;
        }
    }

    /// Waits until an extension is gone with all its objects.
    pub(crate) async fn wait_gone(&self, name: &str, wait: WaitFlags) -> Result<(), Failure> {
        if wait.is_declined() {
            return Ok(());
        }
        let gone = kube::runtime::wait::await_condition(
            self.api.clone(),
            name,
            |object: Option<&ClusterExtension>| object.is_none(),
        );
        let gone = async {
            gone.await
                .map_err(|error| Failure::new(format!("cannot watch ClusterExtension {name:?}: {error}")))?;
            self.wait_for_revisions_gone(name).await
        };
        match tokio::time::timeout(wait.patience(), gone).await {
            Ok(ended) => ended,
            Err(_) => Err(Failure::new(format!(
                "ClusterExtension {name:?} isn't gone after {} s; see what is left with `baton status {name}`, and whether `baton \
                 controllers` is running",
                wait.patience().as_secs()
            ))),
        }
    }
}

/// What the controller says of a version that somebody has to approve.
const WAITS_FOR_APPROVAL: &str = " waits for approval;";

/// What the controller says of a version that failed, and is tried again if somebody approves it.
const WAS_ROLLED_BACK: &str = " did not roll out in time and was rolled back;";

/// Whether a version is said to wait for nothing but its approval.
fn asks_for_approval(why: &str, version: &str) -> bool {
    [WAITS_FOR_APPROVAL, WAS_ROLLED_BACK]
        .iter()
        .any(|what| why.starts_with(&format!("Blocked: version {version}{what}")))
}

/// The version that the controller noted as waiting for something.
pub(crate) fn waiting_version(extension: &ClusterExtension) -> Option<&String> {
    extension.annotations().get(keys::WAITING)
}

/// The version with its release, as somebody writes it who approves it.
fn full_version(bundle: &BundleMetadata) -> String {
    match bundle.release.as_deref() {
        Some(release) if !release.is_empty() => format!("{}+{release}", bundle.version),
        _ => bundle.version.clone(),
    }
}

fn of_name(name: &str) -> watcher::Config {
    watcher::Config::default().fields(&format!("metadata.name={name}"))
}

/// How far the cluster is with what an extension asks for.
#[derive(Debug, PartialEq, Eq)]
enum Rollout {
    Done,
    /// No controller has looked at this generation yet.
    Unseen,
    Underway(String),
    /// It failed, and is tried again.
    Retrying(String),
    /// Nothing will happen until somebody changes something.
    Stopped(String),
}

/// Returns whether what an extension asks for now is installed.
pub(crate) fn is_rolled_out(extension: &ClusterExtension) -> bool {
    rollout(extension, extension.metadata.generation.unwrap_or_default()) == Rollout::Done
}

fn rollout(extension: &ClusterExtension, generation: i64) -> Rollout {
    let current = |kind| {
        condition::find(&extension.status.conditions, kind)
            .filter(|condition| condition.observed_generation >= generation)
    };
    let said = |condition: &Condition| format!("{}: {}", condition.reason, condition.message);
    match (current("Installed"), current("Progressing")) {
        (_, Some(progressing)) if progressing.status == ConditionStatus::False => {
            Rollout::Stopped(said(progressing))
        }
        (Some(installed), Some(progressing))
            if installed.status == ConditionStatus::True && progressing.reason == "Succeeded" =>
        {
            Rollout::Done
        }
        (_, Some(progressing)) if progressing.reason == "Retrying" => Rollout::Retrying(said(progressing)),
        (_, Some(progressing)) => Rollout::Underway(said(progressing)),
        (_, None) => Rollout::Unseen,
    }
}

#[cfg(test)]
mod tests {
    use api::condition::Statement;
    use extension_controller::choosing::WaitsFor;
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn an_approved_version_is_said_to_wait_until_the_controller_looks() {
        let wait = |waits_for| extension_controller::choosing::Wait {
            version: "1.2.0".to_owned(),
            waits_for,
        };
        let extension = || "web".to_owned();
        let approval = wait(WaitsFor::Approval {
            extension: extension(),
        });
        let another_try = wait(WaitsFor::AnotherTry {
            extension: extension(),
        });
        let pause = wait(WaitsFor::Resumption);
        for (wait, version, expected) in [
            (&approval, "1.2.0", true),
            (&another_try, "1.2.0", true),
            (&approval, "1.2", false),
            (&pause, "1.2.0", false),
        ] {
            let said = format!("Blocked: {wait}");
            assert_eq!(asks_for_approval(&said, version), expected, "{said}");
        }
    }

    #[test]
    fn a_rollout_is_done_when_this_generation_is_installed() {
        let say = |installed, progressing, reason: &str, generation| {
            let mut extension =
                ClusterExtension::new("web", api::cluster_extension::ClusterExtensionSpec::default());
            for (kind, status, reason) in [
                ("Installed", installed, "Succeeded"),
                ("Progressing", progressing, reason),
            ] {
                condition::set(
                    &mut extension.status.conditions,
                    Statement::new(kind, status, reason, "so it is"),
                    generation,
                    Timestamp::UNIX_EPOCH,
                );
            }
            rollout(&extension, 2)
        };
        assert_eq!(
            say(ConditionStatus::True, ConditionStatus::True, "Succeeded", 2),
            Rollout::Done
        );
        assert_eq!(
            say(ConditionStatus::True, ConditionStatus::True, "Succeeded", 1),
            Rollout::Unseen
        );
        assert_eq!(
            say(ConditionStatus::False, ConditionStatus::True, "Retrying", 2),
            Rollout::Retrying("Retrying: so it is".to_owned())
        );
        assert_eq!(
            say(ConditionStatus::True, ConditionStatus::True, "RollingOut", 2),
            Rollout::Underway("RollingOut: so it is".to_owned())
        );
        assert_eq!(
            say(ConditionStatus::False, ConditionStatus::False, "Blocked", 2),
            Rollout::Stopped("Blocked: so it is".to_owned())
        );
    }
}
