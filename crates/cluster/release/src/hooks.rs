//! Hooks: objects that are made at certain moments of an action, and waited for.

use std::time::Duration;

use apply::object::text;
use chart::manifest::{Hook, HookEvent, HookExecution};
use chart::release::Release;
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::watch;

use crate::cluster::{Cluster, Deletion, Placed, ServerError, place_all};
use crate::documents;
use crate::failure::{Cause, Failure, several};
use crate::identity::ReleaseId;
use crate::moment;
use crate::records::{Record, Records};
use crate::waiting::{self, Sight, TIMED_OUT, WaitError, Waited};

/// Whether an action begins, or goes on after it was cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It begins.
    First,
    /// It goes on: hooks that are done are not run again, and one that runs is waited for.
    Resumed,
}

/// The policy by which the object of a hook is deleted before it is made again; what a hook has that says nothing.
const BEFORE_CREATION: &str = "before-hook-creation";
const SUCCEEDED: &str = "hook-succeeded";
const FAILED: &str = "hook-failed";

/// Returns which hooks run at a moment, in their order: by weight, then by name, then as they were.
pub fn order(hooks: &[Hook], event: &HookEvent) -> Vec<usize> {
    let mut indexes: Vec<usize> = (0..hooks.len())
        .filter(|index| hooks[*index].events.contains(event))
        .collect();
    indexes.sort_by(|one, other| {
        let key = |index: &usize| (hooks[*index].weight, hooks[*index].name.as_str());
        key(one).cmp(&key(other))
    });
    indexes
}

/// How far a hook came in an action that was cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// It has not begun, or ran for an earlier revision.
    Ahead,
    /// It was about to be made, or is running.
    Begun,
    /// It is done.
    Done,
}

/// Reads from its record how far a hook came since the action began.
fn progress(hook: &Hook, began: Option<Timestamp>) -> Progress {
    let started = hook.last_run.started_at.as_deref().and_then(moment::read);
    let is_of_this_action = match (started, began) {
        (Some(started), Some(began)) => started >= began,
        _ => false,
    };
    match hook.last_run.phase.as_str() {
        "Succeeded" if is_of_this_action => Progress::Done,
        "Running" | "Unknown" if is_of_this_action => Progress::Begun,
        _ => Progress::Ahead,
    }
}

/// Returns when the action that a record tells of began.
fn began(release: &Release) -> Option<Timestamp> {
    let deleted = release.info.deleted.as_deref().and_then(moment::read);
    deleted.or_else(|| release.info.last_deployed.as_deref().and_then(moment::read))
}

/// What is seen of a hook's object.
fn look(kind: &str, object: Option<&Value>) -> Sight {
    // Whoever deletes it meanwhile doesn't want to wait for it.
    let Some(object) = object else {
        return Sight::Over(Waited::Done);
    };
    let name = text(object, "/metadata/name");
    match kind {
        "Job" => {
            let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
            for condition in conditions.into_iter().flatten() {
                if text(condition, "/status") != "True" {
                    continue;
                }
                match text(condition, "/type") {
                    "Complete" => return Sight::Over(Waited::Done),
                    "Failed" => {
                        let reason = text(condition, "/reason");
                        return Sight::Over(Waited::Failed(format!("job {name} failed: {reason}")));
                    }
                    _ => {}
                }
            }
            Sight::Waiting
        }
        "Pod" => match text(object, "/status/phase") {
            "Succeeded" => Sight::Over(Waited::Done),
            "Failed" => Sight::Over(Waited::Failed(format!("pod {name} failed"))),
            _ => Sight::Waiting,
        },
        _ => Sight::Over(Waited::Done),
    }
}

/// Runs the hooks of one release.
pub(crate) struct Runner<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) records: &'a Records,
    pub(crate) release: &'a ReleaseId,
    pub(crate) timeout: Duration,
    /// Becomes true when nobody wants the action any more.
    pub(crate) unwanted: Option<watch::Receiver<bool>>,
}

impl Runner<'_> {
    /// Runs the hooks of a moment, one after the other; how they went is put into the record.
    pub(crate) async fn run(
        &self,
        record: &mut Record,
        event: &HookEvent,
        attempt: Attempt,
    ) -> Result<(), Failure> {
        let order = order(&record.release.hooks, event);
        let began = began(&record.release);
        for (place, index) in order.iter().copied().enumerate() {
            if attempt == Attempt::Resumed && progress(&record.release.hooks[index], began) == Progress::Done
            {
                continue;
            }
            if let Err(failure) = self.run_one(record, index, event, attempt, began).await {
                if failure.cause != Cause::Interrupted {
                    for earlier in order[..place].iter().rev() {
                        self.delete(&record.release.hooks[*earlier], SUCCEEDED).await?;
                    }
                }
                return Err(failure);
            }
        }
        for index in order.iter().rev() {
            self.delete(&record.release.hooks[*index], SUCCEEDED).await?;
        }
        Ok(())
    }

    async fn run_one(
        &self,
        record: &mut Record,
        index: usize,
        event: &HookEvent,
        attempt: Attempt,
        began: Option<Timestamp>,
    ) -> Result<(), Failure> {
        let hook = &mut record.release.hooks[index];
        if hook.delete_policies.is_empty() {
            hook.delete_policies = vec![BEFORE_CREATION.to_owned()];
        }
        let path = hook.path.clone();
        let objects = self.objects(hook).await.map_err(|failure| {
            failure.while_doing(&format!(
                "unable to build kubernetes object for {} hook {path}",
                event.as_str()
            ))
        })?;
        let is_running = attempt == Attempt::Resumed
            && progress(hook, began) == Progress::Begun
            && self.are_there(&objects).await?;
        if !is_running {
            self.delete(&record.release.hooks[index], BEFORE_CREATION).await?;
            record.release.hooks[index].last_run = HookExecution {
                started_at: Some(moment::now()),
                completed_at: Some(String::new()),
                phase: "Running".to_owned(),
            };
            self.records.update(record).await?;
            if let Err(failure) = self.make(&objects).await {
                finish(&mut record.release.hooks[index], "Failed");
                return Err(failure.while_doing(&format!("warning: Hook {} {path} failed", event.as_str())));
            }
        }
        let waited = self.wait(&objects).await;
        let hook = &mut record.release.hooks[index];
        match waited {
            Ok(()) => {
                finish(hook, "Succeeded");
                Ok(())
            }
            Err(failure) => {
                if failure.cause != Cause::Interrupted {
                    finish(hook, "Failed");
                    self.delete(&record.release.hooks[index], FAILED).await?;
                }
                Err(failure)
            }
        }
    }

    async fn objects(&self, hook: &Hook) -> Result<Vec<Placed>, Failure> {
        let documents = documents::read(&String::from_utf8_lossy(&hook.manifest))?;
        place_all(self.cluster, &documents, &self.release.namespace)
            .await
            .map_err(|errors| Failure::of_servers(Cause::Build, &errors))
    }

    async fn are_there(&self, objects: &[Placed]) -> Result<bool, Failure> {
        for object in objects {
            let live = self.cluster.get(object).await;
            if live
                .map_err(|error| Failure::of_server(Cause::Hook, &error))?
                .is_none()
            {
                return Ok(false);
            }
        }
        Ok(!objects.is_empty())
    }

    async fn make(&self, objects: &[Placed]) -> Result<(), Failure> {
        let mut errors = Vec::new();
        for object in objects {
            if let Err(error) = self.cluster.create(object, &object.body()).await {
                errors.push(error);
            }
        }
        all_of(&errors)
    }

    async fn wait(&self, objects: &[Placed]) -> Result<(), Failure> {
        let mut failures = Vec::new();
        for object in objects {
            if !matches!(object.id.kind.as_str(), "Job" | "Pod") {
                continue;
            }
            let sight = |live: Option<&Value>| look(&object.id.kind, live);
            let waited = tokio::select! {
                waited = waiting::until(self.cluster, object, self.timeout, sight) => waited,
                () = self.become_unwanted() => {
                    return Err(Failure::new(
                        Cause::Interrupted,
                        format!("the hook {} {} is no longer waited for", object.id.kind, object.id.name),
                    ));
                }
            };
            match waited {
                Ok(Waited::Done) => {}
                Ok(Waited::Failed(cause)) => failures.push(cause),
                Err(WaitError::TimedOut) => failures.push(TIMED_OUT.to_owned()),
                Err(WaitError::Server(error)) => return Err(Failure::of_server(Cause::Hook, &error)),
            }
        }
        if failures.is_empty() {
            return Ok(());
        }
        Err(Failure::new(
            Cause::Hook,
            several(failures.iter().map(String::as_str)),
        ))
    }

    /// Waits until nobody wants the action any more, which may be never.
    async fn become_unwanted(&self) {
        if let Some(mut unwanted) = self.unwanted.clone()
            && unwanted.wait_for(|unwanted| *unwanted).await.is_ok()
        {
            return;
        }
        std::future::pending::<()>().await;
    }

    /// Deletes the objects of a hook if its policies say so, and waits until they are gone. Definitions stay: with them
    /// everything would go that they define.
    async fn delete(&self, hook: &Hook, policy: &str) -> Result<(), Failure> {
        if hook.kind == "CustomResourceDefinition"
            || !hook.delete_policies.iter().any(|known| known == policy)
        {
            return Ok(());
        }
        let objects = self.objects(hook).await.map_err(|failure| {
            failure.while_doing(&format!(
                "unable to build kubernetes object for deleting hook {}",
                hook.path
            ))
        })?;
        let mut going = Vec::new();
        for object in &objects {
            match self.cluster.delete(object).await {
                Ok(Deletion::Gone) => {}
                Ok(Deletion::Going) => going.push(object),
                Err(error) => return Err(Failure::of_server(Cause::Hook, &error)),
            }
        }
        for object in going {
            match waiting::until_gone(self.cluster, object, self.timeout).await {
                Ok(()) => {}
                Err(WaitError::TimedOut) => return Err(Failure::new(Cause::Hook, TIMED_OUT)),
                Err(WaitError::Server(error)) => return Err(Failure::of_server(Cause::Hook, &error)),
            }
        }
        Ok(())
    }
}

fn finish(hook: &mut Hook, phase: &str) {
    hook.last_run.completed_at = Some(moment::now());
    phase.clone_into(&mut hook.last_run.phase);
}

/// Joins what the server said of several objects.
fn all_of(errors: &[ServerError]) -> Result<(), Failure> {
    if errors.is_empty() {
        return Ok(());
    }
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let mut failure = Failure::new(Cause::Hook, several(texts.iter().map(String::as_str)));
    for error in errors {
        failure.note(error);
    }
    Err(failure)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Reads hooks from a record, which is how they come.
    fn hooks(hooks: Value) -> Vec<Hook> {
        Release::from_json(&json!({"hooks": hooks}).to_string())
            .expect("a release")
            .hooks
    }

    #[test]
    fn hooks_run_by_weight_then_by_name() {
        let hooks = hooks(json!([
            {"name": "c", "events": ["pre-install"]},
            {"name": "b", "weight": 5, "events": ["pre-install", "pre-upgrade"]},
            {"name": "a", "events": ["pre-install"]},
            {"name": "z", "weight": -1, "events": ["pre-install"]},
            {"name": "0", "weight": -9, "events": ["post-install"]},
        ]));
        let names = |event| -> Vec<String> {
            let order = order(&hooks, &event);
            order.iter().map(|index| hooks[*index].name.clone()).collect()
        };
        assert_eq!(names(HookEvent::PreInstall), ["z", "a", "c", "b"]);
        assert_eq!(names(HookEvent::PreUpgrade), ["b"]);
        assert_eq!(names(HookEvent::PostDelete), Vec::<String>::new());
    }

    #[test]
    fn only_what_ran_in_this_action_counts() {
        let began = moment::read("2026-01-02T00:00:00Z");
        for (started, phase, expected) in [
            ("2026-01-02T00:00:01Z", "Succeeded", Progress::Done),
            ("2026-01-02T00:00:01Z", "Running", Progress::Begun),
            ("2026-01-02T00:00:01Z", "Failed", Progress::Ahead),
            ("2026-01-01T00:00:00Z", "Succeeded", Progress::Ahead),
            ("", "", Progress::Ahead),
        ] {
            let hooks = hooks(json!([{"name": "a", "last_run": {"started_at": started, "phase": phase}}]));
            assert_eq!(progress(&hooks[0], began), expected, "{started} {phase}");
        }
    }

    #[test]
    fn jobs_and_pods_are_waited_for() {
        let job =
            |condition: Value| json!({"metadata": {"name": "j"}, "status": {"conditions": [condition]}});
        let pod = |phase: &str| json!({"metadata": {"name": "p"}, "status": {"phase": phase}});
        let seen = |kind, object: Option<&Value>| match look(kind, object) {
            Sight::Waiting => "waiting".to_owned(),
            Sight::Over(Waited::Done) => "done".to_owned(),
            Sight::Over(Waited::Failed(cause)) => cause,
        };
        assert_eq!(
            seen("Job", Some(&job(json!({"type": "Complete", "status": "True"})))),
            "done"
        );
        assert_eq!(
            seen(
                "Job",
                Some(&job(
                    json!({"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"})
                ))
            ),
            "job j failed: BackoffLimitExceeded"
        );
        assert_eq!(
            seen("Job", Some(&job(json!({"type": "Failed", "status": "False"})))),
            "waiting"
        );
        assert_eq!(seen("Job", None), "done");
        assert_eq!(seen("Pod", Some(&pod("Succeeded"))), "done");
        assert_eq!(seen("Pod", Some(&pod("Failed"))), "pod p failed");
        assert_eq!(seen("Pod", Some(&pod("Running"))), "waiting");
        assert_eq!(seen("ConfigMap", Some(&json!({}))), "done");
    }
}
