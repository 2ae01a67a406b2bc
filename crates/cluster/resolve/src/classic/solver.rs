//! OLM's solver: chooses among variables so that every constraint holds, and the preferred ones where there is a choice.
//!
//! It begins with what is mandatory. Every dependency of something chosen is a choice to make, in the order in which
//! they come up: the first candidate with which a solution exists is taken. Nothing is chosen that nobody asked for.
//!
//! Almost always the first candidate of every choice will do, and no search is needed (`search`). Where it will not,
//! a SAT solver tells with which candidates a solution exists, and which constraints exclude each other
//! (`satisfiability`).

mod satisfiability;
mod search;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use gotemplate::format::quoted;
use thiserror::Error;

use satisfiability::Clauses;

/// The name of a variable.
pub type Identifier = Arc<str>;

/// What holds for a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// It is in every solution.
    Mandatory,
    /// It is in no solution.
    Prohibited,
    /// With it comes one of these; earlier ones are preferred.
    Dependency(Vec<Identifier>),
    /// It and this one are not in the same solution.
    Conflict(Identifier),
    /// No more of these are in a solution than that, whether or not the variable itself is.
    AtMost(usize, Vec<Identifier>),
}

/// The words for a constraint; they are put together only when somebody asks.
pub trait Wording {
    /// Returns what to say; `None` for the solver's own words.
    fn text(&self, subject: &str, rule: &Rule) -> Option<String>;
}

impl Wording for String {
    fn text(&self, _: &str, _: &Rule) -> Option<String> {
        Some(self.clone())
    }
}

impl<W: Wording> Wording for Option<W> {
    fn text(&self, subject: &str, rule: &Rule) -> Option<String> {
        self.as_ref()?.text(subject, rule)
    }
}

/// A rule and the words for it.
#[derive(Debug, Clone)]
pub struct Constraint<W> {
    /// The rule.
    pub rule: Rule,
    /// The words.
    pub wording: W,
}

/// Something that is chosen or not.
#[derive(Debug, Clone)]
pub struct Variable<W> {
    /// Its name, which no other variable has.
    pub id: Identifier,
    /// What holds for it.
    pub constraints: Vec<Constraint<W>>,
}

impl<W: Wording> Variable<W> {
    /// Returns the words for one of its constraints.
    pub fn text(&self, constraint: usize) -> String {
        let Constraint { rule, wording } = &self.constraints[constraint];
        wording
            .text(&self.id, rule)
            .unwrap_or_else(|| plain_text(&self.id, rule))
    }
}

fn plain_text(subject: &str, rule: &Rule) -> String {
    let list = |ids: &[Identifier]| ids.join(", ");
    match rule {
        Rule::Mandatory => format!("{subject} is mandatory"),
        Rule::Prohibited => format!("{subject} is prohibited"),
        Rule::Dependency(ids) if ids.is_empty() => {
            format!("{subject} has a dependency without any candidates to satisfy it")
        }
        Rule::Dependency(ids) => format!("{subject} requires at least one of {}", list(ids)),
        Rule::Conflict(id) => format!("{subject} conflicts with {id}"),
        Rule::AtMost(limit, ids) => format!("{subject} permits at most {limit} of {}", list(ids)),
    }
}

/// What was chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Solution {
    /// The positions of the chosen variables in the order in which they were chosen.
    pub chosen: Vec<usize>,
}

impl Solution {
    /// Returns the positions of the chosen variables in the order of the input.
    pub fn in_order(&self) -> Vec<usize> {
        let mut positions = self.chosen.clone();
        positions.sort_unstable();
        positions
    }
}

/// One of the constraints that exclude each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The position of the variable.
    pub variable: usize,
    /// The position of the constraint among those of the variable.
    pub constraint: usize,
    /// The words for it.
    pub text: String,
}

/// Constraints that can't all hold; without any one of them, the rest could.
///
/// Of several such sets it is always the same one: the one whose words come first in the alphabet.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct NotSatisfiable {
    /// The constraints, in the order of their words.
    pub core: Vec<Applied>,
}

impl fmt::Display for NotSatisfiable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("constraints not satisfiable")?;
        for (index, applied) in self.core.iter().enumerate() {
            formatter.write_str(if index == 0 { ": " } else { ", " })?;
            formatter.write_str(&applied.text)?;
        }
        Ok(())
    }
}

/// Why there is no solution. The words are upstream's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SolveError {
    /// Two variables have the same name.
    #[error("duplicate identifier {} in input", quoted(.0))]
    DuplicateIdentifier(String),
    /// Constraints name variables that aren't there.
    #[error("{} errors encountered: {}", .0.len(), unknown(.0))]
    UnknownIdentifiers(Vec<String>),
    /// The constraints can't all hold.
    #[error(transparent)]
    NotSatisfiable(#[from] NotSatisfiable),
    /// The question is too hard: see [`MAX_CONFLICTS`].
    #[error("cancelled before a solution could be found")]
    GaveUp,
}

fn unknown(ids: &[String]) -> String {
    let one = |id: &String| format!("variable {} referenced but not provided", quoted(id));
    ids.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// How often the SAT solver may find that it was wrong before it gives up: real catalogs need a few hundred, and a
/// catalog is written by strangers.
pub const MAX_CONFLICTS: u64 = 200_000;

/// Chooses among variables. The same input always has the same answer.
pub fn solve<W: Wording>(variables: &[Variable<W>]) -> Result<Solution, SolveError> {
    let problem = Problem::new(variables)?;
    if let Some(chosen) = search::without_turning_back(&problem) {
        return Ok(Solution { chosen });
    }
    let mut clauses = Clauses::new(&problem);
    let everything: Vec<usize> = (0..problem.rules.len()).collect();
    if clauses.can_hold(&everything, &[]).ok_or(SolveError::GaveUp)? {
        let chosen = search::with_clauses(&problem, &mut clauses).ok_or(SolveError::GaveUp)?;
        return Ok(Solution { chosen });
    }
    let mut all: Vec<(usize, Applied)> = problem
        .rules
        .iter()
        .enumerate()
        .map(|(rule, found)| {
            let text = variables[found.subject].text(found.constraint);
            (
                rule,
                Applied {
                    variable: found.subject,
                    constraint: found.constraint,
                    text,
                },
            )
        })
        .collect();
    all.sort_by(|(_, one), (_, other)| one.text.cmp(&other.text));
    let order: Vec<usize> = all.iter().map(|(rule, _)| *rule).collect();
    let core = clauses.first_core(&order).ok_or(SolveError::GaveUp)?;
    let core = all.into_iter().filter(|(rule, _)| core.contains(rule));
    Err(NotSatisfiable {
        core: core.map(|(_, applied)| applied).collect(),
    }
    .into())
}

/// The input with positions in place of names.
#[derive(Debug)]
struct Problem {
    /// How many variables there are.
    variables: usize,
    rules: Vec<FoundRule>,
    /// The rules of each variable.
    of_variable: Vec<Vec<usize>>,
    /// The rules in which a variable is one of several that conflict or are limited, with how often it is.
    limits: Vec<Vec<(usize, usize)>>,
}

#[derive(Debug)]
struct FoundRule {
    subject: usize,
    constraint: usize,
    kind: RuleKind,
}

#[derive(Debug)]
enum RuleKind {
    Mandatory,
    Prohibited,
    Dependency(Vec<usize>),
    AtMost(usize, Vec<usize>),
}

impl Problem {
    fn new<W>(variables: &[Variable<W>]) -> Result<Self, SolveError> {
        let mut positions: HashMap<&str, usize> = HashMap::with_capacity(variables.len());
        for (position, variable) in variables.iter().enumerate() {
            if positions.insert(&variable.id, position).is_some() {
                return Err(SolveError::DuplicateIdentifier(variable.id.to_string()));
            }
        }
        let mut missing = Vec::new();
        let mut position = |id: &Identifier| {
            let found = positions.get(&**id).copied();
            if found.is_none() {
                missing.push(id.to_string());
            }
            found.unwrap_or_default()
        };
        let mut problem = Self {
            variables: variables.len(),
            rules: Vec::new(),
            of_variable: vec![Vec::new(); variables.len()],
            limits: vec![Vec::new(); variables.len()],
        };
        for (subject, variable) in variables.iter().enumerate() {
            for (constraint, Constraint { rule, .. }) in variable.constraints.iter().enumerate() {
                let kind = match rule {
                    Rule::Mandatory => RuleKind::Mandatory,
                    Rule::Prohibited => RuleKind::Prohibited,
                    Rule::Dependency(ids) => RuleKind::Dependency(ids.iter().map(&mut position).collect()),
                    Rule::Conflict(id) => RuleKind::AtMost(1, vec![subject, position(id)]),
                    Rule::AtMost(limit, ids) => {
                        RuleKind::AtMost(*limit, ids.iter().map(&mut position).collect())
                    }
                };
                let rule = problem.rules.len();
                if let RuleKind::AtMost(_, members) = &kind {
                    for &member in members {
                        match problem.limits[member].last_mut() {
                            Some((limited_by, times)) if *limited_by == rule => *times += 1,
                            _ => problem.limits[member].push((rule, 1)),
                        }
                    }
                }
                problem.of_variable[subject].push(rule);
                problem.rules.push(FoundRule {
                    subject,
                    constraint,
                    kind,
                });
            }
        }
        if missing.is_empty() {
            Ok(problem)
        } else {
            Err(SolveError::UnknownIdentifiers(missing))
        }
    }

    /// Returns the variables that are mandatory.
    fn anchors(&self) -> impl Iterator<Item = usize> {
        let is_mandatory = |rule: &usize| matches!(self.rules[*rule].kind, RuleKind::Mandatory);
        (0..self.variables).filter(move |&variable| self.of_variable[variable].iter().any(is_mandatory))
    }

    /// Returns the candidates of each dependency of a variable.
    fn dependencies(&self, variable: usize) -> impl Iterator<Item = &[usize]> {
        self.of_variable[variable]
            .iter()
            .filter_map(|&rule| match &self.rules[rule].kind {
                RuleKind::Dependency(candidates) => Some(candidates.as_slice()),
                _ => None,
            })
    }

    /// Returns whether a variable can be in no solution, by its own rules alone.
    fn is_excluded(&self, variable: usize) -> bool {
        self.of_variable[variable]
            .iter()
            .any(|&rule| match &self.rules[rule].kind {
                RuleKind::Prohibited => true,
                RuleKind::Dependency(candidates) => candidates.is_empty(),
                _ => false,
            })
    }
}
