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
    fn new(whole: &Variables<'_>, asked: &Asked, candidate: usize, core: &[Applied]) -> Self {
        let positions: HashMap<&str, usize> = whole
            .all
            .iter()
            .enumerate()
            .map(|(position, variable)| (&*variable.id, position))
            .collect();
        let is_other = |variable: &usize| match whole.roles[*variable] {
            Role::Subscription(subscription) => subscription != asked.subscription,
            Role::Bundle(_) => whole.is_existing(*variable) && Some(*variable) != asked.current,
            Role::Invariant => false,
        };
        let in_core = core.iter().map(|applied| applied.variable);
        let others: BTreeSet<usize> = in_core.filter(is_other).collect();
        let mut reached: BTreeSet<usize> = BTreeSet::new();
        let mut open: Vec<usize> = others.iter().copied().chain([candidate]).collect();
        while let Some(position) = open.pop() {
            if !reached.insert(position) {
                continue;
            }
            for constraint in &whole.all[position].constraints {
                if let Rule::Dependency(ids) = &constraint.rule {
                    open.extend(ids.iter().filter_map(|id| positions.get(&**id)));
                }
            }
        }
        let has = |id: &Identifier| {
            let position = positions.get(&**id);
            position.is_some_and(|position| reached.contains(position))
        };
        let invariants = (0..whole.all.len()).filter(|&position| whole.roles[position] == Role::Invariant);
        let mut variables: Vec<Variable<Option<Reason>>> = Vec::new();
        for position in reached.iter().copied().chain(invariants) {
            let Variable { id, constraints } = &whole.all[position];
            let mut kept: Vec<Constraint<Option<Reason>>> = constraints
                .iter()
                .filter_map(|constraint| narrowed(constraint, &has))
                .collect();
            if kept.is_empty() && whole.roles[position] == Role::Invariant {
                continue;
            }
            let mandatory = |wording| Constraint {
                rule: Rule::Mandatory,
                wording,
            };
            let name = whole.entry_of(position).map(|entry| entry.name.clone());
            if position == candidate {
                kept.push(mandatory(None));
            } else if others.contains(&position)
                && let Some(name) = name
                && !kept.iter().any(|constraint| constraint.rule == Rule::Mandatory)
            {
                kept.push(mandatory(Some(Reason::Kept(name))));
            }
            variables.push(Variable {
                id: Arc::clone(id),
                constraints: kept,
            });
        }
        Self { variables }
    }

    /// Returns a rule in plain words; `None` for what the reader knows.
    fn sentence(&self, whole: &Variables<'_>, applied: &Applied) -> Option<String> {
        let Constraint { rule, wording } = &self.variables[applied.variable].constraints[applied.constraint];
        let subject = &self.variables[applied.variable].id;
        let several = |rule: &Rule| match rule {
            Rule::Dependency(ids) | Rule::AtMost(_, ids) => {
                let mut names: Vec<String> = ids.iter().map(|id| called(whole, id)).collect();
                names.dedup();
                names
            }
            _ => Vec::new(),
        };
        Some(match wording.as_ref()? {
            Reason::SubscriptionExists(_) => return None,
            Reason::Unreferenced(name) => format!("{name} is installed without a Subscription, so it stays"),
            Reason::Kept(name) => format!("{name} is installed, so it stays"),
            Reason::Deprecated => format!("{} is deprecated by its author", called(whole, subject)),
            Reason::Forbidden(cause) | Reason::InvalidSubscription(cause) => cause.clone(),
            Reason::Unreadable(cause) => format!("{} can't be read: {cause}", called(whole, subject)),
            Reason::Replaces => {
                let Rule::Conflict(id) = rule else { return None };
                format!("{} would replace {}", called(whole, subject), called(whole, id))
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

/// Returns a constraint with only those of its variables that are there; `None` where it then says nothing.
fn narrowed(
    constraint: &Constraint<Reason>,
    has: &impl Fn(&Identifier) -> bool,
) -> Option<Constraint<Option<Reason>>> {
    let rule = match &constraint.rule {
        Rule::AtMost(limit, ids) => {
            let ids: Vec<Identifier> = ids.iter().filter(|id| has(id)).map(Arc::clone).collect();
            if ids.len() <= *limit {
                return None;
            }
            Rule::AtMost(*limit, ids)
        }
        Rule::Conflict(id) if !has(id) => return None,
        other => other.clone(),
    };
    Some(Constraint {
        rule,
        wording: Some(constraint.wording.clone()),
    })
}

/// Returns the name of what a variable stands for, with its catalog unless it is installed.
fn called(whole: &Variables<'_>, id: &Identifier) -> String {
    let position = whole.all.iter().position(|variable| variable.id == *id);
    match position.and_then(|position| whole.entry_of(position)) {
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
