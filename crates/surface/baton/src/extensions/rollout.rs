//! The wait until the cluster has what an extension asks for, and what is said meanwhile.

use api::cluster_extension::{BundleMetadata, ClusterExtension};
use api::condition::{self, Condition, ConditionStatus};
use api::keys;
use extension_controller::tree::TreeReader;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use kube::ResourceExt as _;
use kube::runtime::{WatchStreamExt as _, watcher};

use super::drawing::obstacle;
use super::{Extensions, of_owner};
use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::waiting::{GATHERED_FOR, SEEN_WITHIN, WaitFlags, burst};

/// The most objects of a revision that are read to say what it waits for; `baton status` reads all.
const MOST_OBJECTS: usize = 200;

impl Extensions {
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
        let obstacles = self.obstacles();
        let watching = async {
            let mut of_revisions = std::pin::pin!(self.changes_of_revisions(&name));
            let (mut progress, mut obstacle) = (String::new(), String::new());
            let mut is_looked_at = false;
            loop {
                let judged = judge(&extension);
                let is_underway = matches!(judged, Rollout::Underway(_));
                let why = match judged {
                    Rollout::Done => return Ok(extension.clone()),
                    Rollout::Stopped(why) => {
                        return Err(Failure::new(format!(
                            "ClusterExtension {name:?}: {why}; see `baton status {name}` and `baton explain {name}`"
                        )));
                    }
                    Rollout::Unseen => "waiting for the controller to see the change".to_owned(),
                    Rollout::Retrying(why) => format!("{why}; it is tried again, see `baton explain {name}`"),
                    Rollout::Underway(why) => why,
                };
                say(&mut progress, why, terminal);
                // What passes in a moment is nothing to wait for.
                let looking = async {
                    if is_looked_at {
                        burst(of_revisions.as_mut()).await;
                    } else {
                        tokio::time::sleep(GATHERED_FOR).await;
                    }
                    obstacles.of(&extension).await
                };
                tokio::select! {
                    changed = next() => {
                        extension = changed?;
                        is_looked_at = false;
                    }
                    found = looking, if is_underway => {
                        is_looked_at = true;
                        if let Some(found) = found {
                            say(&mut obstacle, found, terminal);
                        }
                    }
                }
            }
        };
        if let Ok(ended) = tokio::time::timeout(wait.patience(), watching).await {
            return ended;
        }
        let seconds = wait.patience().as_secs();
        let held_up = match judge(&extension) {
            Rollout::Unseen => {
                return Err(Failure::new(format!(
                    "no controller has looked at ClusterExtension {name:?} for {seconds} s: is `baton controllers` running? What was \
                     asked for is done as soon as it is"
                )));
            }
            // However short the patience was, it is told what the cluster is at.
            Rollout::Underway(_) => tokio::time::timeout(SEEN_WITHIN, obstacles.of(&extension))
                .await
                .unwrap_or_default(),
            Rollout::Done | Rollout::Retrying(_) | Rollout::Stopped(_) => None,
        };
        let held_up = held_up.map_or_else(String::new, |obstacle| format!(" ({obstacle})"));
        Err(Failure::new(format!(
            "ClusterExtension {name:?} isn't installed after {seconds} s{held_up}; it goes on in the cluster: see `baton status \
             {name}`, or wait longer with --timeout"
        )))
    }

    /// Finds out what rollouts wait for.
    fn obstacles(&self) -> Obstacles {
        let reader = TreeReader::new(self.client.clone(), keys::SYSTEM_NAMESPACE.to_owned());
        Obstacles(reader.at_most(MOST_OBJECTS))
    }

    /// Something that happens whenever a revision of an extension changes.
    fn changes_of_revisions(&self, name: &str) -> impl Stream<Item = ()> + use<> {
        let config = watcher::Config::default().labels(&of_owner(name));
        let changes = watcher(self.revisions.clone(), config)
            .default_backoff()
            .touched_objects();
        // Where they can't be watched, the extension alone tells how far it is.
        changes.filter_map(async |seen| seen.ok().map(drop))
    }
}

/// Finds out what rollouts wait for.
struct Obstacles(TreeReader);

impl Obstacles {
    /// What the revision that is on its way waits for, as `baton status` shows it; none where that isn't known, as for those who
    /// may not read its objects.
    async fn of(&self, extension: &ClusterExtension) -> Option<String> {
        let tree = self.0.read(extension, false).await.ok()?;
        obstacle(&tree)
    }
}

/// Says something that wasn't said last.
fn say(said: &mut String, text: String, terminal: &mut Terminal) {
    if *said != text {
        terminal.remark(&text);
        *said = text;
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
