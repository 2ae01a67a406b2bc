//! Resolving what has nothing to do with each other apart, so that a failure stops only whom it is about.
//!
//! Variables that share a constraint form a group, and every group is solved by itself. Where a group has no solution,
//! the Subscriptions among the constraints that exclude each other are left out, first those for which nothing is
//! installed yet, and the rest is solved again. What is installed for a Subscription that was left out stays.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::{CatalogFault, Failure, FailureKind, Resolution, catalog_faults, catalog_of, installs, kind_of};
use crate::classic::explanation::Explanation;
use crate::classic::solver::{
    Applied, Constraint, Identifier, NotSatisfiable, Rule, SolveError, Variable, solve,
};
use crate::classic::variables::{Asked, Reason, Role, Trouble, Variables};

/// Resolves a namespace so that a failure stops only whom it is about.
pub(super) fn resolve(variables: &Variables<'_>) -> Resolution {
    let mut apart = Apart {
        variables,
        faults: catalog_faults(variables),
        failed: BTreeSet::new(),
        kept: BTreeMap::new(),
        resolution: Resolution::default(),
    };
    apart.resolution.notes.extend(variables.errors.iter().cloned());
    apart
        .resolution
        .notes
        .extend(variables.request.existing.faults.iter().map(ToString::to_string));
    apart
        .resolution
        .notes
        .extend(apart.faults.iter().map(ToString::to_string));
    for asked in &variables.asked {
        apart.troubled(asked);
    }
    for group in groups(variables) {
        apart.solve_group(&group);
    }
    let mut resolution = apart.resolution;
    resolution.notes.sort();
    resolution.notes.dedup();
    resolution
        .failures
        .sort_by(|one, other| one.subscriptions.cmp(&other.subscriptions));
    resolution
}

/// How an operator stays that is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stay {
    /// With what it needs.
    Whole,
    /// Whatever else it needs, and whatever else excludes it: it is there.
    Bare,
}

struct Apart<'a, 'b> {
    variables: &'b Variables<'a>,
    /// Catalogs that can't be asked.
    faults: Vec<CatalogFault>,
    /// Subscriptions that were left out, by their position in the request.
    failed: BTreeSet<usize>,
    /// Installed operators that stay, by variable.
    kept: BTreeMap<usize, Stay>,
    resolution: Resolution,
}

impl<'b> Apart<'_, 'b> {
    /// Leaves out a Subscription that has nothing to choose from.
    fn troubled(&mut self, asked: &Asked) {
        let kind = match &asked.trouble {
            None => return,
            // The solver finds it, in upstream's words.
            Some(Trouble::Invalid(_)) => {
                self.keep_current(asked);
                return;
            }
            Some(Trouble::Channel(error)) => FailureKind::Unreadable(vec![error.to_string()]),
            Some(Trouble::Catalog(_)) => {
                let source =
                    catalog_of(asked.trouble.as_ref()).map(|source| &self.variables.sources[source].key);
                let faults = self.faults.iter().filter(|fault| Some(&fault.catalog) == source);
                FailureKind::Catalogs(faults.cloned().collect())
            }
        };
        self.fail(&[asked], kind);
    }

    fn keep_current(&mut self, asked: &Asked) {
        if let Some(current) = asked.current {
            self.kept.entry(current).or_insert(Stay::Whole);
        }
    }

    fn fail(&mut self, asked: &[&Asked], kind: FailureKind) {
        let asked: Vec<&Asked> = asked
            .iter()
            .copied()
            .filter(|asked| self.failed.insert(asked.subscription))
            .collect();
        for asked in &asked {
            self.keep_current(asked);
        }
        let name = |asked: &&Asked| self.variables.subscription(asked).name.clone();
        self.resolution.failures.push(Failure {
            subscriptions: asked.iter().map(name).collect(),
            explanation: Explanation::new(self.variables, asked.iter().copied(), &kind),
            kind,
        });
    }

    fn solve_group(&mut self, group: &[usize]) {
        loop {
            let (positions, solved) = self.relaxed(group);
            match solve(&solved) {
                Ok(solution) => {
                    let chosen: Vec<usize> = solution
                        .chosen
                        .iter()
                        .map(|&position| positions[position])
                        .collect();
                    if self.rests_on_known_catalogs(&solved, &chosen) {
                        let found = installs(self.variables, &solved, &chosen, &self.failed);
                        self.resolution.installs.extend(found);
                    } else {
                        let asked = self.asked_among(&positions);
                        self.fail(&asked, FailureKind::Catalogs(self.faults.clone()));
                    }
                    return;
                }
                Err(SolveError::NotSatisfiable(core)) => {
                    let core = NotSatisfiable {
                        core: core
                            .core
                            .into_iter()
                            .map(|applied| self.applied(&positions, &solved, applied))
                            .collect(),
                    };
                    if !self.leave_out(core) {
                        return;
                    }
                }
                Err(error) => {
                    let asked = self.asked_among(&positions);
                    self.fail(&asked, kind_of(error));
                    return;
                }
            }
        }
    }

    /// Returns one of the excluding constraints as it is among all variables, with its words there: they name also
    /// those that were left out.
    fn applied(&self, positions: &[usize], solved: &[Variable<Reason>], applied: Applied) -> Applied {
        let variable = positions[applied.variable];
        let original = &self.variables.all[variable];
        let constraint = if self.variables.roles[variable] == Role::Invariant {
            Some(applied.constraint)
        } else {
            let wanted = &solved[applied.variable].constraints[applied.constraint].rule;
            let mut constraints = original.constraints.iter();
            constraints.position(|constraint| constraint.rule == *wanted)
        };
        Applied {
            variable,
            constraint: constraint.unwrap_or(usize::MAX),
            text: constraint.map_or(applied.text, |constraint| original.text(constraint)),
        }
    }

    /// Leaves out some of what excludes each other; returns whether there was something to leave out.
    fn leave_out(&mut self, core: NotSatisfiable) -> bool {
        let in_core: BTreeSet<usize> = core.core.iter().map(|applied| applied.variable).collect();
        let asked = self.asked_among(&in_core.iter().copied().collect::<Vec<_>>());
        if asked.is_empty() {
            let installed = in_core
                .iter()
                .copied()
                .filter(|&variable| self.variables.is_existing(variable));
            let before = self.kept.clone();
            self.kept.extend(installed.map(|variable| (variable, Stay::Bare)));
            self.resolution
                .notes
                .push(format!("what is installed isn't consistent: {core}"));
            return before != self.kept;
        }
        let new: Vec<&Asked> = asked
            .iter()
            .copied()
            .filter(|asked| asked.current.is_none())
            .collect();
        let to_blame = if new.is_empty() { asked } else { new };
        // What is missing may be in a catalog that can't be asked.
        let needs = core.core.iter().any(|applied| {
            let constraints = &self.variables.all[applied.variable].constraints;
            let reason = constraints
                .get(applied.constraint)
                .map(|constraint| &constraint.wording);
            matches!(reason, Some(Reason::Needs { .. }))
        });
        let kind = if needs && !self.faults.is_empty() {
            FailureKind::Catalogs(self.faults.clone())
        } else {
            core.into()
        };
        self.fail(&to_blame, kind);
        true
    }

    /// Returns the Subscriptions among variables that were not left out.
    fn asked_among(&self, variables: &[usize]) -> Vec<&'b Asked> {
        let subscriptions: BTreeSet<usize> = variables
            .iter()
            .filter_map(|&variable| match self.variables.roles[variable] {
                Role::Subscription(subscription) => Some(subscription),
                _ => None,
            })
            .collect();
        let asked = self.variables.asked.iter();
        asked
            .filter(|asked| subscriptions.contains(&asked.subscription))
            .filter(|asked| !self.failed.contains(&asked.subscription))
            .collect()
    }

    /// Returns the variables of a group without what was left out, each with its position among all.
    fn relaxed(&self, group: &[usize]) -> (Vec<usize>, Vec<Variable<Reason>>) {
        let all = &self.variables.all;
        let bare: BTreeSet<&Identifier> = group
            .iter()
            .filter(|variable| self.kept.get(variable) == Some(&Stay::Bare))
            .map(|&variable| &all[variable].id)
            .collect();
        let mut positions = Vec::with_capacity(group.len());
        let mut relaxed = Vec::with_capacity(group.len());
        for &position in group {
            let mut variable = all[position].clone();
            match self.variables.roles[position] {
                Role::Subscription(subscription) if self.failed.contains(&subscription) => continue,
                Role::Subscription(_) => {}
                Role::Invariant => {
                    for constraint in &mut variable.constraints {
                        if let Rule::AtMost(_, members) = &mut constraint.rule {
                            without_repeated_bare(members, &bare);
                        }
                    }
                }
                Role::Bundle(_) => {
                    if let Some(stay) = self.kept.get(&position) {
                        self.keep(position, &mut variable, *stay);
                    }
                }
            }
            positions.push(position);
            relaxed.push(variable);
        }
        (positions, relaxed)
    }

    fn keep(&self, position: usize, variable: &mut Variable<Reason>, stay: Stay) {
        if stay == Stay::Bare {
            variable
                .constraints
                .retain(|constraint| constraint.rule == Rule::Mandatory);
        }
        if !variable
            .constraints
            .iter()
            .any(|constraint| constraint.rule == Rule::Mandatory)
        {
            let name = self.variables.entry_of(position).map(|entry| entry.name.clone());
            variable.constraints.push(Constraint {
                rule: Rule::Mandatory,
                wording: Reason::Kept(name.unwrap_or_default()),
            });
        }
    }

    /// Returns whether nothing that was chosen because something needs it might come from a catalog that can't be asked,
    /// and would be preferred.
    fn rests_on_known_catalogs(&self, solved: &[Variable<Reason>], chosen: &[usize]) -> bool {
        if self.faults.is_empty() {
            return true;
        }
        let all = &self.variables.all;
        let places: HashMap<&str, usize> = chosen
            .iter()
            .filter_map(|&variable| match self.variables.roles[variable] {
                Role::Bundle(place) => Some((&*all[variable].id, place.source)),
                _ => None,
            })
            .collect();
        solved.iter().all(|variable| {
            let Some(&own) = places.get(&*variable.id) else {
                return true;
            };
            variable.constraints.iter().all(|constraint| {
                let Rule::Dependency(candidates) = &constraint.rule else {
                    return true;
                };
                let by = candidates.iter().find_map(|id| places.get(&**id));
                let preferred = self.variables.preference(own);
                let before = preferred.into_iter().take_while(|source| Some(source) != by);
                before
                    .into_iter()
                    .all(|source| self.variables.sources[source].content.is_ok())
            })
        })
    }
}

/// Keeps only the first of the members that are there whatever excludes them: they can't be held against each other.
fn without_repeated_bare(members: &mut Vec<Identifier>, bare: &BTreeSet<&Identifier>) {
    let mut seen = false;
    members.retain(|member| !bare.contains(member) || !std::mem::replace(&mut seen, true));
}

/// Returns the variables in groups that share no constraint, each in order, and the groups in the order of their first.
fn groups(variables: &Variables<'_>) -> Vec<Vec<usize>> {
    let all = &variables.all;
    let positions: HashMap<&str, usize> = all
        .iter()
        .enumerate()
        .map(|(position, variable)| (&*variable.id, position))
        .collect();
    let mut parents: Vec<usize> = (0..all.len()).collect();
    for (position, variable) in all.iter().enumerate() {
        let mut join = |id: &Arc<str>| {
            if let Some(&other) = positions.get(&**id) {
                let (one, other) = (root(&mut parents, position), root(&mut parents, other));
                parents[one.max(other)] = one.min(other);
            }
        };
        for constraint in &variable.constraints {
            match &constraint.rule {
                Rule::Mandatory | Rule::Prohibited => {}
                Rule::Dependency(ids) | Rule::AtMost(_, ids) => ids.iter().for_each(&mut join),
                Rule::Conflict(id) => join(id),
            }
        }
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for position in 0..all.len() {
        groups
            .entry(root(&mut parents, position))
            .or_default()
            .push(position);
    }
    groups.into_values().collect()
}

fn root(parents: &mut [usize], mut position: usize) -> usize {
    while parents[position] != position {
        parents[position] = parents[parents[position]];
        position = parents[position];
    }
    position
}
