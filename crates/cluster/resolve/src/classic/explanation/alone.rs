//! What excludes one bundle, if it is the only one that a Subscription may have.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::classic::solver::{Applied, Constraint, Identifier, Rule, SolveError, Variable, solve};
use crate::classic::variables::{Asked, Reason, Role, Variables, api_text};

/// Returns in plain words which rules exclude a candidate, beside the others that have a part in the failure.
pub(super) fn excluded_by(
    variables: &Variables<'_>,
    asked: &Asked,
    candidate: usize,
    core: &[Applied],
) -> Vec<String> {
    let question = Question::new(variables, asked, candidate, core);
    match solve(&question.variables) {
        Err(SolveError::NotSatisfiable(found)) => {
            let sentences = found
                .core
                .iter()
                .filter_map(|applied| question.sentence(variables, applied));
            sentences.collect()
        }
        Ok(_) | Err(_) => Vec::new(),
    }
}

/// The part of the whole question that a candidate has to do with.
struct Question {
    variables: Vec<Variable<Option<Reason>>>,
}

impl Question {
    fn new(all: &Variables<'_>, asked: &Asked, candidate: usize, core: &[Applied]) -> Self {
        let positions: HashMap<&str, usize> = all
            .variables
            .iter()
            .enumerate()
            .map(|(position, variable)| (&*variable.id, position))
            .collect();
        let others =
            core.iter()
                .map(|applied| applied.variable)
                .filter(|&variable| match all.roles[variable] {
                    Role::Subscription(subscription) => subscription != asked.subscription,
                    Role::Bundle(_) => all.is_existing(variable) && Some(variable) != asked.current,
                    Role::Invariant => false,
                });
        let mut reached: BTreeSet<usize> = BTreeSet::new();
        let mut open: Vec<usize> = others.chain([candidate]).collect();
        while let Some(position) = open.pop() {
            if !reached.insert(position) {
                continue;
            }
            for constraint in &all.variables[position].constraints {
                if let Rule::Dependency(ids) = &constraint.rule {
                    open.extend(ids.iter().filter_map(|id| positions.get(&**id)));
                }
            }
        }
        let has = |id: &Identifier| {
            positions
                .get(&**id)
                .is_some_and(|position| reached.contains(position))
        };
        let mut variables: Vec<Variable<Option<Reason>>> = Vec::new();
        let invariants = (0..all.variables.len()).filter(|&position| all.roles[position] == Role::Invariant);
        for position in reached.iter().copied().chain(invariants) {
            let Variable { id, constraints } = &all.variables[position];
            let mut kept: Vec<Constraint<Option<Reason>>> = Vec::new();
            for Constraint { rule, wording } in constraints {
                let rule = match rule {
                    Rule::AtMost(limit, ids) => {
                        let ids: Vec<Identifier> = ids.iter().filter(|id| has(id)).map(Arc::clone).collect();
                        if ids.len() <= *limit {
                            continue;
                        }
                        Rule::AtMost(*limit, ids)
                    }
                    Rule::Conflict(id) if !has(id) => continue,
                    other => other.clone(),
                };
                kept.push(Constraint {
                    rule,
                    wording: Some(wording.clone()),
                });
            }
            if position == candidate {
                kept.push(Constraint {
                    rule: Rule::Mandatory,
                    wording: None,
                });
            }
            if !kept.is_empty() || all.roles[position] != Role::Invariant {
                variables.push(Variable {
                    id: Arc::clone(id),
                    constraints: kept,
                });
            }
        }
        Self { variables }
    }

    /// Returns a rule in plain words; `None` for what the reader knows.
    fn sentence(&self, all: &Variables<'_>, applied: &Applied) -> Option<String> {
        let Constraint { rule, wording } = &self.variables[applied.variable].constraints[applied.constraint];
        let subject = &self.variables[applied.variable].id;
        let several = |rule: &Rule| match rule {
            Rule::Dependency(ids) | Rule::AtMost(_, ids) => {
                let mut names: Vec<String> = ids.iter().map(|id| called(all, id)).collect();
                names.dedup();
                names
            }
            _ => Vec::new(),
        };
        Some(match wording.as_ref()? {
            Reason::SubscriptionExists(_) => return None,
            Reason::Unreferenced(name) => format!("{name} is installed without a Subscription, so it stays"),
            Reason::Kept(name) => format!("{name} is installed, so it stays"),
            Reason::Deprecated => format!("{} is deprecated by its author", called(all, subject)),
            Reason::Forbidden(cause) | Reason::InvalidSubscription(cause) => cause.clone(),
            Reason::Unreadable(cause) => format!("{} can't be read: {cause}", called(all, subject)),
            Reason::Replaces => {
                let Rule::Conflict(id) = rule else { return None };
                format!("{} would replace {}", called(all, subject), called(all, id))
            }
            Reason::Needs { bundle, need } => match several(rule).as_slice() {
                [] => format!("{bundle} needs an operator {need}, and no catalog has one"),
                names => format!("{bundle} needs an operator {need}: {}", either(names)),
            },
            Reason::SubscriptionRequires(name) => match several(rule).as_slice() {
                [] => format!("subscription {name} has nothing to choose from"),
                names => format!("subscription {name} asks for {}", either(names)),
            },
            Reason::SingleProvider(kind) => {
                format!(
                    "only one operator may provide {}: {}",
                    api_text(kind),
                    either(&several(rule))
                )
            }
            Reason::SinglePackage(package) => {
                format!(
                    "only one operator may be of package {package}: {}",
                    either(&several(rule))
                )
            }
        })
    }
}

/// Returns the name of what a variable stands for, with its catalog unless it is installed.
fn called(all: &Variables<'_>, id: &Identifier) -> String {
    let position = all.variables.iter().position(|variable| variable.id == *id);
    match position.and_then(|position| all.entry_of(position)) {
        None => id.to_string(),
        Some(entry) if entry.catalog.is_existing() => format!("{} (installed)", entry.name),
        Some(entry) => format!("{} (from {})", entry.name, entry.catalog),
    }
}

/// How many names are listed before the rest is counted.
const MAX_NAMES: usize = 5;

fn either(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        names if names.len() > MAX_NAMES => {
            format!(
                "{} or one of {} more",
                names[..MAX_NAMES].join(", "),
                names.len() - MAX_NAMES
            )
        }
        [rest @ .., last] => format!("{} or {last}", rest.join(", ")),
    }
}
