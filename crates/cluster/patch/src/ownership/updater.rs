//! Who owns what after a write, and what an object becomes when a configuration is applied to it.

use serde_json::Value;
use thiserror::Error;

use super::compare::{Comparison, compare};
use super::conflict::Conflicts;
use super::managers::{Entry, Manager, Managers};
use super::matcher::{Filter, ResetFields};
use super::merge::merge;
use super::order::same;
use super::set::Set;
use super::versions::{Home, NoForm, Versioned};

/// Why a write can't be accounted for.
#[derive(Debug, Error)]
pub(super) enum UpdateError {
    /// Others own what is applied.
    #[error(transparent)]
    Conflicts(#[from] Conflicts),
    /// The objects can't be compared, merged or converted.
    #[error("{0}")]
    Failed(String),
}

fn failed(doing: &str, why: &impl ToString) -> UpdateError {
    UpdateError::Failed(format!("{doing}: {}", why.to_string()))
}

/// Accounts for writes in one version of a kind.
pub(super) struct Updater<'a> {
    pub(super) home: Home<'a>,
    pub(super) reset_fields: &'a ResetFields,
}

impl<'a> Updater<'a> {
    /// Takes what a write changes from those who owned it, and returns what the writer owns now beside what it had.
    pub(super) fn update(
        &self,
        live: &'a Value,
        new: &'a Value,
        managers: &mut Managers<'_>,
    ) -> Result<Set, UpdateError> {
        let (live, new) = (self.home.versioned(live), self.home.versioned(new));
        self.reconcile(&live, managers)?;
        let changes = self.take_over(&live, &new, managers, None, true)?;
        let set = changes.modified.union(changes.added);
        Ok(match self.filter(self.home.api_version) {
            Some(filter) => filter.apply(set),
            None => set,
        })
    }

    /// Applies a configuration. Returns the object it makes, or `None` if that is the one that is there.
    pub(super) fn apply(
        &self,
        live: &'a Value,
        applied: &Value,
        managers: &mut Managers<'_>,
        manager: &Manager,
        force: bool,
    ) -> Result<Option<Value>, UpdateError> {
        let live = self.home.versioned(live);
        self.reconcile(&live, managers)?;
        let merged = merge(live.value(), applied, self.home.shape)
            .map_err(|problems| failed("failed to merge config", &problems))?;
        let merged = live.with(merged);
        let last = managers.remove(manager);
        let mut set = live.with(applied.clone()).field_set();
        if let Some(filter) = self.filter(self.home.api_version) {
            set = filter.apply(set);
        }
        let mut entry = Entry::new(manager.clone(), self.home.api_version, set);
        entry.time = last.as_ref().and_then(|last| last.time.clone());
        managers.put(entry);
        let new = match last {
            Some(last) if !last.fields.is_empty() => self
                .prune(&merged, managers, &last)
                .map_err(|why| failed("failed to prune fields", &why))?,
            _ => merged,
        };
        self.take_over(&live, &new, managers, Some(manager), force)?;
        Ok((!same(live.value(), new.value())).then(|| new.into_value()))
    }

    fn filter(&self, api_version: &str) -> Option<&Filter> {
        self.reset_fields.get(api_version)
    }

    /// Brings what managers own in line with what the schema says today; versions that are gone end what is owned in
    /// them.
    fn reconcile(&self, live: &Versioned<'a>, managers: &mut Managers<'_>) -> Result<(), UpdateError> {
        let mut problem = None;
        managers.entries.retain_mut(|entry| {
            let shape = match self.home.convert(live, &entry.api_version) {
                Ok(live) => live.shape,
                Err(NoForm::Gone) => return false,
                Err(NoForm::Failed(why)) => {
                    problem.get_or_insert(why);
                    return true;
                }
            };
            if !entry.fields.is_reconciled(shape)
                && let Some(fields) = entry.fields.reconciled(shape)
            {
                entry.fields = fields;
                entry.touch();
            }
            true
        });
        problem.map_or(Ok(()), |why| Err(UpdateError::Failed(why)))
    }

    /// Takes the fields that differ between two objects from all managers but `writer`, or reports their conflicts.
    fn take_over(
        &self,
        live: &Versioned<'a>,
        new: &Versioned<'a>,
        managers: &mut Managers<'_>,
        writer: Option<&Manager>,
        force: bool,
    ) -> Result<Comparison, UpdateError> {
        let home = self.compare(live, new)?;
        let mut others: Vec<(String, Comparison)> = Vec::new();
        let mut gone: Vec<String> = Vec::new();
        for entry in &managers.entries {
            let version = &entry.api_version;
            let known = *version == self.home.api_version
                || gone.contains(version)
                || others.iter().any(|(other, _)| other == version);
            if known || Some(&entry.manager) == writer {
                continue;
            }
            match self.compare_in(live, new, version)? {
                Some(comparison) => others.push((version.clone(), comparison)),
                None => gone.push(version.clone()),
            }
        }
        managers
            .entries
            .retain(|entry| !gone.contains(&entry.api_version) || Some(&entry.manager) == writer);
        let changes = |version: &str| {
            others
                .iter()
                .find(|(other, _)| other == version)
                .map_or(&home, |(_, comparison)| comparison)
        };

        if !force {
            let conflicts = managers
                .entries
                .iter()
                .filter(|entry| Some(&entry.manager) != writer);
            let conflicts = conflicts.filter_map(|entry| {
                let changes = changes(&entry.api_version);
                let set = entry.fields.intersection(&changes.modified);
                let set = set.union(entry.fields.intersection(&changes.added));
                (!set.is_empty()).then(|| (entry.manager.clone(), set))
            });
            let conflicts: Vec<_> = conflicts.collect();
            if !conflicts.is_empty() {
                return Err(Conflicts::of(conflicts).into());
            }
        }
        managers.entries.retain_mut(|entry| {
            if Some(&entry.manager) != writer {
                let changes = changes(&entry.api_version);
                let lost = [&changes.modified, &changes.added, &changes.removed];
                if lost.map(|lost| entry.fields.subtract(lost)).contains(&true) {
                    entry.touch();
                }
            }
            !entry.fields.is_empty()
        });
        Ok(home)
    }

    fn compare(&self, live: &Versioned<'_>, new: &Versioned<'_>) -> Result<Comparison, UpdateError> {
        let comparison = compare(live.value(), new.value(), live.shape)
            .map_err(|problems| failed("failed to compare objects", &problems))?;
        Ok(comparison.filtered(self.filter(&live.api_version)))
    }

    /// Compares two objects in another version; `None` if it isn't served any more.
    fn compare_in(
        &self,
        live: &Versioned<'a>,
        new: &Versioned<'a>,
        api_version: &str,
    ) -> Result<Option<Comparison>, UpdateError> {
        let live = match self.home.convert(live, api_version) {
            Ok(live) => live,
            Err(NoForm::Gone) => return Ok(None),
            Err(NoForm::Failed(why)) => return Err(failed("failed to convert old object", &why)),
        };
        let new = match self.home.convert(new, api_version) {
            Ok(new) => new,
            Err(NoForm::Gone) => return Ok(None),
            Err(NoForm::Failed(why)) => return Err(failed("failed to convert new object", &why)),
        };
        self.compare(&live, &new).map(Some)
    }

    /// Removes what the manager applied the last time, doesn't apply now, and nobody else owns.
    fn prune(
        &self,
        merged: &Versioned<'a>,
        managers: &Managers<'_>,
        last: &Entry<'_>,
    ) -> Result<Versioned<'a>, String> {
        let merged = match self.home.convert(merged, &last.api_version) {
            Ok(converted) => converted,
            Err(NoForm::Gone) => return Ok(merged.clone()),
            Err(NoForm::Failed(why)) => {
                return Err(format!(
                    "failed to convert merged object to last applied version: {why}"
                ));
            }
        };
        let pruned = merged.without(&last.fields.with_named_fields(merged.shape));
        let pruned = self
            .add_back_owned(&merged, pruned, &last.api_version, managers)
            .map_err(|why| format!("failed add back owned items: {why}"))?;
        let pruned = self
            .add_back_unowned(&merged, &pruned, last)
            .map_err(|why| format!("failed add back dangling items: {why}"))?;
        match self.home.convert(&pruned, self.home.api_version) {
            Ok(pruned) => Ok(pruned),
            Err(NoForm::Gone) => Err(format!("no corresponding type for {}", self.home.api_version)),
            Err(NoForm::Failed(why)) => Err(why),
        }
    }

    /// Puts back what was pruned though someone owns it, the applied configuration's own fields among it.
    fn add_back_owned(
        &self,
        merged: &Versioned<'a>,
        pruned: Versioned<'a>,
        pruned_version: &str,
        managers: &Managers<'_>,
    ) -> Result<Versioned<'a>, String> {
        let mut owned: Vec<(&str, Set)> = Vec::new();
        for entry in &managers.entries {
            match owned
                .iter_mut()
                .find(|(version, _)| *version == entry.api_version)
            {
                Some((_, set)) => set.add(entry.fields.clone()),
                None => owned.push((&entry.api_version, entry.fields.clone())),
            }
        }
        // The version of the pruned object comes first: another may need for its conversion what was pruned.
        owned.sort_by_key(|(version, _)| (*version != pruned_version, *version));
        let (mut merged, mut pruned) = (merged.clone(), pruned);
        for (version, owned) in owned {
            let both = self
                .home
                .convert(&merged, version)
                .map_err(|why| ("merged", why))
                .and_then(|merged| {
                    let pruned = self
                        .home
                        .convert(&pruned, version)
                        .map_err(|why| ("pruned", why))?;
                    Ok((merged, pruned))
                });
            match both {
                Ok((in_version, pruned_in_version)) => (merged, pruned) = (in_version, pruned_in_version),
                Err((_, NoForm::Gone)) => continue,
                Err((which, NoForm::Failed(why))) => {
                    return Err(format!(
                        "failed to convert {which} object at version {version}: {why}"
                    ));
                }
            }
            let shape = merged.shape;
            let kept = pruned
                .field_set()
                .with_named_fields(shape)
                .union(owned.with_named_fields(shape));
            let gone = merged.field_set().with_named_fields(shape).difference(&kept);
            pruned = merged.without(&gone);
        }
        Ok(pruned)
    }

    /// Puts back what was pruned though the manager never owned it.
    fn add_back_unowned(
        &self,
        merged: &Versioned<'a>,
        pruned: &Versioned<'a>,
        last: &Entry<'_>,
    ) -> Result<Versioned<'a>, String> {
        let pruned = match self.home.convert(pruned, &last.api_version) {
            Ok(pruned) => pruned,
            Err(NoForm::Gone) => return Ok(merged.clone()),
            Err(NoForm::Failed(why)) => {
                return Err(format!(
                    "failed to convert pruned object to last applied version: {why}"
                ));
            }
        };
        let shape = merged.shape;
        let kept = pruned.field_set().with_named_fields(shape);
        let gone = merged.field_set().with_named_fields(shape).difference(&kept);
        Ok(merged.without(&gone.intersection(&last.fields.with_named_fields(shape))))
    }
}
