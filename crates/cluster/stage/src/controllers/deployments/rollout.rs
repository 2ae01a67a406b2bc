//! The next step of a rollout, as a pure function of the Deployment and its ReplicaSets.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::progress::{is_complete, next_look, note_progress, status_of};
use super::sets::{
    by_age, counted, desired_then, history_limit, is_present, is_rolling, made_for, max_surge,
    max_unavailable, most_then, note_revision, note_rollout, note_sizes, progress_deadline, replicas,
    revision,
};
use crate::controllers::conditions::{self, Condition};
use crate::controllers::work::Next;
use crate::events::Note;
use crate::object::{Object, map_of};

/// What has to be done.
#[derive(Debug)]
pub(super) struct Plan {
    /// The ReplicaSet to make.
    pub(super) create: Option<Value>,
    /// What to tell when it is made.
    pub(super) created_notes: Vec<Note>,
    /// The ReplicaSets to change, and what to tell when they are.
    pub(super) update: Vec<(Value, Vec<Note>)>,
    /// The names of the ReplicaSets to delete.
    pub(super) delete: Vec<String>,
    /// The Deployment with its new status.
    pub(super) deployment: Value,
    /// When to look again.
    pub(super) next: Next,
}

/// Decides the next step. `living` are the uids of the ReplicaSets which have Pods that haven't ended.
pub(super) fn decide(seen: &Value, sets: &[Value], living: &BTreeSet<String>, now: Timestamp) -> Plan {
    let mut rollout = Rollout::new(seen, sets, now);
    if seen.is_being_deleted() {
        rollout.sync_status();
        return rollout.into_plan(seen);
    }
    rollout.note_pause();
    let paused = seen["spec"]["paused"] == true;
    rollout.find_newest();
    if paused || rollout.was_scaled() {
        rollout.scale();
        if paused {
            rollout.clean_up();
        }
        rollout.sync_status();
        return rollout.into_plan(seen);
    }
    if is_rolling(seen) {
        rollout.roll();
    } else {
        rollout.recreate(living);
    }
    rollout.sync_progress();
    rollout.into_plan(seen)
}

#[derive(Debug)]
struct Set {
    object: Value,
    is_new: bool,
    changed: bool,
    notes: Vec<Note>,
}

struct Rollout {
    deployment: Value,
    /// The oldest first; one that is made now stands last.
    sets: Vec<Set>,
    newest: Option<usize>,
    delete: Vec<String>,
    now: Timestamp,
    next: Next,
}

impl Rollout {
    fn new(seen: &Value, sets: &[Value], now: Timestamp) -> Self {
        let mut sorted: Vec<&Value> = sets.iter().collect();
        sorted.sort_by(|one, other| by_age(one, other));
        let newest = sorted.iter().position(|set| is_present(set, seen));
        let mut deployment = seen.clone();
        map_of(map_of(&mut deployment).entry("status").or_insert(Value::Null));
        Self {
            deployment,
            sets: sorted
                .into_iter()
                .map(|object| Set {
                    object: object.clone(),
                    is_new: false,
                    changed: false,
                    notes: Vec::new(),
                })
                .collect(),
            newest,
            delete: Vec::new(),
            now,
            next: Next::Wait,
        }
    }

    fn into_plan(self, seen: &Value) -> Plan {
        let mut deployment = self.deployment;
        // A status that says nothing is as good as none.
        if seen.get("status").is_none()
            && deployment["status"]
                .as_object()
                .is_some_and(serde_json::Map::is_empty)
        {
            map_of(&mut deployment).remove("status");
        }
        let mut plan = Plan {
            create: None,
            created_notes: Vec::new(),
            update: Vec::new(),
            delete: self.delete,
            deployment,
            next: self.next,
        };
        for set in self.sets {
            if set.is_new {
                plan.create = Some(set.object);
                plan.created_notes = set.notes;
            } else if set.changed {
                plan.update.push((set.object, set.notes));
            }
        }
        plan
    }

    fn set_condition(&mut self, condition: &Condition) {
        let status = &mut map_of(&mut self.deployment)["status"];
        conditions::set_with_update_time(status, condition, self.now);
    }

    fn old(&self) -> Vec<usize> {
        (0..self.sets.len())
            .filter(|&index| Some(index) != self.newest)
            .collect()
    }

    fn active_old(&self) -> Vec<usize> {
        let mut old = self.old();
        old.retain(|&index| self.size(index) > 0);
        old
    }

    fn size(&self, index: usize) -> i64 {
        replicas(&self.sets[index].object)
    }

    fn available(&self, index: usize) -> i64 {
        counted(&self.sets[index].object["status"], "availableReplicas")
    }

    fn total(&self) -> i64 {
        (0..self.sets.len()).map(|index| self.size(index)).sum()
    }

    fn wanted(&self) -> i64 {
        replicas(&self.deployment)
    }

    /// Says that a rollout is paused or goes on, so that the time in between doesn't count against its deadline.
    fn note_pause(&mut self) {
        if progress_deadline(&self.deployment).is_none() {
            return;
        }
        let reason = conditions::find(&self.deployment["status"], "Progressing")
            .and_then(|one| one["reason"].as_str())
            .unwrap_or_default();
        let paused = self.deployment["spec"]["paused"] == true;
        let condition = match (reason, paused) {
            ("ProgressDeadlineExceeded", _) | ("DeploymentPaused", true) => return,
            (_, true) => Condition::new(
                "Progressing",
                "Unknown",
                "DeploymentPaused",
                "Deployment is paused",
            ),
            ("DeploymentPaused", false) => Condition::new(
                "Progressing",
                "Unknown",
                "DeploymentResumed",
                "Deployment is resumed",
            ),
            _ => return,
        };
        self.set_condition(&condition);
    }

    fn next_revision(&self) -> i64 {
        let old = self.old();
        let last = old.iter().map(|&index| revision(&self.sets[index].object)).max();
        last.unwrap_or(0).saturating_add(1)
    }

    /// Brings the ReplicaSet of the present template up to date, where there is one.
    fn find_newest(&mut self) {
        let Some(index) = self.newest else { return };
        let number = self.next_revision();
        let seconds = self.deployment["spec"]["minReadySeconds"].as_i64().unwrap_or(0);
        let set = &mut self.sets[index];
        let before = set.object.clone();
        note_rollout(&mut set.object, &self.deployment, number);
        if set.object["spec"]["minReadySeconds"].as_i64().unwrap_or(0) != seconds {
            super::super::conditions::set_count(
                map_of(map_of(&mut set.object).entry("spec").or_insert(Value::Null)),
                "minReadySeconds",
                seconds,
            );
        }
        set.changed |= set.object != before;
        let name = set.object.name().to_owned();
        let number = set
            .object
            .annotation(super::sets::REVISION)
            .unwrap_or_default()
            .to_owned();
        note_revision(&mut self.deployment, &number);
        let is_known = conditions::find(&self.deployment["status"], "Progressing").is_some();
        if progress_deadline(&self.deployment).is_some() && !is_known {
            let text = format!("Found new replica set \"{name}\"");
            self.set_condition(&Condition::new("Progressing", "True", "FoundNewReplicaSet", text));
        }
    }

    /// Makes the ReplicaSet of the present template, where there is none.
    fn make_newest(&mut self) {
        if self.newest.is_some() {
            return;
        }
        let number = self.next_revision();
        let mut object = made_for(&self.deployment);
        note_rollout(&mut object, &self.deployment, number);
        note_sizes(&mut object, &self.deployment);
        let name = object.name().to_owned();
        self.newest = Some(self.sets.len());
        self.sets.push(Set {
            object,
            is_new: true,
            changed: false,
            notes: Vec::new(),
        });
        let index = self.sets.len() - 1;
        let size = self.size_of_newest(index);
        self.resize(index, size, false);
        note_revision(&mut self.deployment, &number.to_string());
        if progress_deadline(&self.deployment).is_some() {
            let text = format!("Created new replica set \"{name}\"");
            self.set_condition(&Condition::new(
                "Progressing",
                "True",
                "NewReplicaSetCreated",
                text,
            ));
        }
    }

    /// Returns how many Pods the ReplicaSet of the present template may have now.
    fn size_of_newest(&self, index: usize) -> i64 {
        let (wanted, size) = (self.wanted(), self.size(index));
        if !is_rolling(&self.deployment) {
            return wanted;
        }
        let room = wanted + max_surge(&self.deployment) - self.total();
        if room <= 0 {
            return size;
        }
        size + room.min(wanted - size)
    }

    /// Gives a ReplicaSet another size; whether it has one now.
    fn resize(&mut self, index: usize, size: i64, always_note: bool) -> bool {
        let before = self.size(index);
        if before == size && !always_note {
            return false;
        }
        let set = &mut self.sets[index];
        let noted = note_sizes(&mut set.object, &self.deployment);
        map_of(map_of(&mut set.object).entry("spec").or_insert(Value::Null))
            .insert("replicas".into(), size.into());
        set.changed |= noted || before != size;
        if before == size {
            return false;
        }
        let way = if before < size { "up" } else { "down" };
        let text = format!(
            "Scaled {way} replica set {} from {before} to {size}",
            set.object.name()
        );
        set.notes.push(Note::normal("ScalingReplicaSet", text));
        true
    }

    fn was_scaled(&self) -> bool {
        self.sets
            .iter()
            .filter(|set| replicas(&set.object) > 0)
            .any(|set| desired_then(&set.object).is_some_and(|desired| desired != self.wanted()))
    }

    /// Shares another number of Pods among the ReplicaSets without rolling anything out.
    fn scale(&mut self) {
        let active: Vec<usize> = (0..self.sets.len())
            .filter(|&index| self.size(index) > 0)
            .collect();
        let only = match active.as_slice() {
            [] => self.newest.or_else(|| self.old().last().copied()),
            [one] => Some(*one),
            _ => None,
        };
        if let Some(only) = only {
            self.resize(only, self.wanted(), false);
            return;
        }
        if active.is_empty() {
            return;
        }
        if self.is_saturated() {
            for index in self.active_old() {
                self.resize(index, 0, false);
            }
            return;
        }
        if is_rolling(&self.deployment) {
            self.scale_in_proportion(active);
        }
    }

    fn is_saturated(&self) -> bool {
        let wanted = self.wanted();
        self.newest.is_some_and(|index| {
            self.size(index) == wanted
                && desired_then(&self.sets[index].object) == Some(wanted)
                && self.available(index) == wanted
        })
    }

    fn scale_in_proportion(&mut self, mut active: Vec<usize>) {
        let wanted = self.wanted();
        let allowed = if wanted > 0 {
            wanted + max_surge(&self.deployment)
        } else {
            0
        };
        let change = allowed - active.iter().map(|&index| self.size(index)).sum::<i64>();
        // The largest first; among those of one size the one that should gain, or lose, most.
        active.sort_by(|&one, &other| {
            let age = by_age(&self.sets[one].object, &self.sets[other].object);
            let age = if change > 0 { age.reverse() } else { age };
            self.size(other).cmp(&self.size(one)).then(age)
        });
        let mut done = 0;
        let mut sizes = Vec::with_capacity(active.len());
        for &index in &active {
            let left = change - done;
            let share = if left == 0 {
                0
            } else if change > 0 {
                self.share(index).min(left)
            } else {
                self.share(index).max(left)
            };
            sizes.push(self.size(index) + share);
            done += share;
        }
        if let Some(first) = sizes.first_mut() {
            *first = (*first + change - done).max(0);
        }
        for (index, size) in active.into_iter().zip(sizes) {
            self.resize(index, size, true);
        }
    }

    /// Returns how many Pods a ReplicaSet gains, or loses, when all keep their proportion.
    fn share(&self, index: usize) -> i64 {
        let size = self.size(index);
        if self.wanted() == 0 {
            return -size;
        }
        let most = self.wanted() + max_surge(&self.deployment);
        let before = most_then(&self.sets[index].object)
            .filter(|&before| before != 0)
            .unwrap_or_else(|| counted(&self.deployment["status"], "replicas"));
        if before <= 0 {
            return 0;
        }
        // Rounded to the nearest, halves up.
        (size * most * 2 + before).div_euclid(before * 2) - size
    }

    fn roll(&mut self) {
        self.make_newest();
        let Some(newest) = self.newest else { return };
        if self.sets[newest].is_new {
            return;
        }
        let (size, wanted) = (self.size(newest), self.wanted());
        if size != wanted {
            let size = if size > wanted {
                wanted
            } else {
                self.size_of_newest(newest)
            };
            if self.resize(newest, size, false) {
                return;
            }
        }
        if self.shrink_old(newest) {
            return;
        }
        if is_complete(&self.deployment, &self.deployment["status"]) {
            self.clean_up();
        }
    }

    /// Takes Pods from old ReplicaSets as far as enough are available; whether it took any.
    fn shrink_old(&mut self, newest: usize) -> bool {
        let old = self.active_old();
        let least = self.wanted() - max_unavailable(&self.deployment);
        let missing_new = self.size(newest) - self.available(newest);
        let surplus = self.total() - least - missing_new;
        if old.is_empty() || surplus <= 0 {
            return false;
        }
        // The sick first: they help nobody.
        let mut taken = 0;
        for &index in &old {
            let sick = self.size(index) - self.available(index);
            let count = sick.min(surplus - taken);
            if count > 0 {
                self.resize(index, self.size(index) - count, false);
                taken += count;
            }
        }
        let available: i64 =
            old.iter().map(|&index| self.available(index)).sum::<i64>() + self.available(newest);
        let mut left = available - least;
        for &index in &old {
            let count = self.size(index).min(left);
            if count > 0 {
                self.resize(index, self.size(index) - count, false);
                left -= count;
                taken += count;
            }
        }
        taken > 0
    }

    fn recreate(&mut self, living: &BTreeSet<String>) {
        let mut shrunk = false;
        for index in self.active_old() {
            shrunk |= self.resize(index, 0, false);
        }
        if shrunk {
            return;
        }
        let old_lives = self.old().iter().any(|&index| {
            let set = &self.sets[index].object;
            counted(&set["status"], "replicas") > 0 || living.contains(set.uid())
        });
        if old_lives {
            return;
        }
        self.make_newest();
        if let Some(newest) = self.newest {
            self.resize(newest, self.wanted(), false);
        }
        if is_complete(&self.deployment, &self.deployment["status"]) {
            self.clean_up();
        }
    }

    /// Removes old ReplicaSets beyond those that are kept for a way back.
    fn clean_up(&mut self) {
        let Some(limit) = history_limit(&self.deployment) else {
            return;
        };
        let mut old: Vec<&Value> = self
            .old()
            .into_iter()
            .map(|index| &self.sets[index].object)
            .filter(|set| !set.is_being_deleted())
            .collect();
        let surplus = old.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        old.sort_by(|one, other| {
            revision(one)
                .cmp(&revision(other))
                .then_with(|| by_age(one, other))
        });
        let idle = |set: &&&Value| {
            counted(&set["status"], "replicas") == 0
                && replicas(set) == 0
                && set.generation() <= counted(&set["status"], "observedGeneration")
        };
        self.delete = old
            .iter()
            .take(surplus)
            .filter(idle)
            .map(|set| set.name().to_owned())
            .collect();
    }

    fn status(&self) -> Value {
        let sets: Vec<&Value> = self.sets.iter().map(|set| &set.object).collect();
        let newest = self.newest.map(|index| sets[index]);
        status_of(&self.deployment, &sets, newest, self.now)
    }

    fn sync_status(&mut self) {
        let status = self.status();
        map_of(&mut self.deployment).insert("status".into(), status);
    }

    fn sync_progress(&mut self) {
        let mut status = self.status();
        {
            let sets: Vec<&Value> = self.sets.iter().map(|set| &set.object).collect();
            let newest = self.newest.map(|index| sets[index]);
            note_progress(&self.deployment, &mut status, &sets, newest, self.now);
        }
        map_of(&mut self.deployment).insert("status".into(), status);
        self.next = next_look(&self.deployment, self.now);
    }
}

#[cfg(test)]
mod tests;
