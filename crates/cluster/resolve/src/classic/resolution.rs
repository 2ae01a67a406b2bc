//! The answer: which bundles to install next, and for whom nothing can be.

mod apart;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thiserror::Error;

use super::entry::{CatalogKey, Entry};
use super::explanation::Explanation;
use super::request::{Isolation, Request};
use super::snapshot::Snapshot;
use super::solver::{NotSatisfiable, Rule, SolveError, Variable, solve};
use super::variables::{EXISTING, Reason, Role, Trouble, Variables};

/// Why a bundle is installed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// A Subscription asks for it.
    Subscription(String),
    /// Another operator, installed or to be installed, needs it.
    NeededBy {
        /// The name of the operator.
        bundle: String,
        /// What it needs, in the words that follow "requires an operator".
        need: String,
    },
}

/// A bundle to install.
#[derive(Debug, Clone)]
pub struct Install {
    /// The bundle.
    pub entry: Arc<Entry>,
    /// The installed operator that it takes the place of; where there is none, what the catalog says it replaces.
    pub replaces: String,
    /// Its name, if a Subscription asks to start with it.
    pub starting_csv: Option<String>,
    /// The Subscriptions that it is for, by name: those to the same package, channel and catalog. Where there are none,
    /// it is a dependency, and a Subscription is to be made for it.
    pub subscriptions: Vec<String>,
    /// Why it is installed.
    pub because: Vec<Cause>,
}

/// A catalog that can't be asked. The words are upstream's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Error)]
#[error("error using catalogsource {catalog}: {cause}")]
pub struct CatalogFault {
    /// The catalog.
    pub catalog: CatalogKey,
    /// Why.
    pub cause: String,
}

/// Why nothing can be installed. The words are upstream's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FailureKind {
    /// What is asked for excludes each other, or isn't there. Asking again doesn't help until something changes.
    #[error(transparent)]
    NotSatisfiable(#[from] NotSatisfiable),
    /// Catalogs can't be asked. It may be different in a moment.
    #[error("{}", aggregate(.0.iter().map(ToString::to_string)))]
    Catalogs(Vec<CatalogFault>),
    /// Something couldn't be read.
    #[error("{}", aggregate(.0.iter().cloned()))]
    Unreadable(Vec<String>),
    /// The question is too hard.
    #[error("cancelled before a solution could be found")]
    TooHard,
}

/// Returns several texts as Kubernetes writes several errors.
fn aggregate(texts: impl Iterator<Item = String>) -> String {
    let mut seen = BTreeSet::new();
    let texts: Vec<String> = texts.filter(|text| seen.insert(text.clone())).collect();
    match texts.as_slice() {
        [only] => only.clone(),
        texts => format!("[{}]", texts.join(", ")),
    }
}

/// Subscriptions for which nothing can be installed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{kind}")]
pub struct Failure {
    /// The Subscriptions, by name. Without any it is about operators that are installed and stops nobody.
    pub subscriptions: Vec<String>,
    /// Why.
    pub kind: FailureKind,
    /// Why, for a person.
    pub explanation: Explanation,
}

impl Failure {
    /// Returns whether it is upstream's reason `ConstraintsNotSatisfiable`; otherwise it is
    /// `ErrorPreventedResolution`, which is worth another attempt.
    pub fn is_not_satisfiable(&self) -> bool {
        matches!(self.kind, FailureKind::NotSatisfiable(_))
    }
}

/// What to do next for the Subscriptions of a namespace.
#[derive(Debug, Clone, Default)]
pub struct Resolution {
    /// The bundles to install: those that Subscriptions ask for first, then what they need.
    pub installs: Vec<Install>,
    /// The Subscriptions for which nothing can be installed. With [`Isolation::Namespace`] there is at most one failure,
    /// and nothing is installed.
    pub failures: Vec<Failure>,
    /// What was passed over, for the log: bundles that can't be read, channels without order.
    pub notes: Vec<String>,
}

impl Resolution {
    /// Returns the failure of a Subscription.
    pub fn failure_of(&self, subscription: &str) -> Option<&Failure> {
        let named = |failure: &&Failure| failure.subscriptions.iter().any(|name| name == subscription);
        self.failures.iter().find(named)
    }
}

/// Returns what to install next for the Subscriptions of a namespace. The same question always has the same answer.
pub fn resolve(request: &Request<'_>) -> Resolution {
    let versions = request.existing.versions.iter();
    let existing = Snapshot::new(versions.map(|version| Arc::clone(&version.entry)));
    let variables = Variables::new(request, &existing);
    match request.isolation {
        Isolation::Subscription => apart::resolve(&variables),
        Isolation::Namespace => together(&variables),
    }
}

/// Resolves the namespace as a whole, as upstream does.
fn together(variables: &Variables<'_>) -> Resolution {
    let failed = |kind: FailureKind| {
        let names = variables
            .asked
            .iter()
            .map(|asked| variables.subscription(asked).name.clone());
        Resolution {
            failures: vec![Failure {
                explanation: Explanation::new(variables, &variables.asked, &kind),
                subscriptions: names.collect(),
                kind,
            }],
            ..Resolution::default()
        }
    };
    let mut faults = catalog_faults(variables);
    if let Some(fault) = variables.request.existing.faults.first() {
        faults.push(CatalogFault {
            catalog: variables.sources[EXISTING].key.clone(),
            cause: fault.to_string(),
        });
    }
    if !faults.is_empty() {
        return failed(FailureKind::Catalogs(faults));
    }
    if !variables.errors.is_empty() {
        return failed(FailureKind::Unreadable(variables.errors.clone()));
    }
    match solve(&variables.all) {
        Ok(solution) => Resolution {
            installs: installs(variables, &variables.all, &solution.chosen, &BTreeSet::new()),
            ..Resolution::default()
        },
        Err(error) => failed(kind_of(error)),
    }
}

/// Returns the catalogs that can't be asked.
fn catalog_faults(variables: &Variables<'_>) -> Vec<CatalogFault> {
    let sources = variables.sources.iter();
    let faults = sources.filter_map(|source| {
        let cause = source.content.err()?;
        Some(CatalogFault {
            catalog: source.key.clone(),
            cause: cause.to_owned(),
        })
    });
    faults.collect()
}

fn kind_of(error: SolveError) -> FailureKind {
    match error {
        SolveError::NotSatisfiable(core) => core.into(),
        SolveError::GaveUp => FailureKind::TooHard,
        other => FailureKind::Unreadable(vec![other.to_string()]),
    }
}

/// Returns what is to be installed of what the solver chose, which are positions among all variables. `solved` are the
/// variables as the solver saw them, and `failed` the Subscriptions that were left out.
fn installs(
    variables: &Variables<'_>,
    solved: &[Variable<Reason>],
    chosen: &[usize],
    failed: &BTreeSet<usize>,
) -> Vec<Install> {
    let is_chosen: BTreeMap<&str, usize> = chosen
        .iter()
        .map(|&variable| (&*variables.all[variable].id, variable))
        .collect();
    let mut causes: BTreeMap<usize, Vec<Cause>> = BTreeMap::new();
    for variable in solved
        .iter()
        .filter(|variable| is_chosen.contains_key(&*variable.id))
    {
        for constraint in &variable.constraints {
            let Rule::Dependency(candidates) = &constraint.rule else {
                continue;
            };
            let cause = match &constraint.wording {
                Reason::SubscriptionRequires(name) => Cause::Subscription(name.clone()),
                Reason::Needs { bundle, need } => Cause::NeededBy {
                    bundle: bundle.clone(),
                    need: need.to_string(),
                },
                _ => continue,
            };
            if let Some(&by) = candidates.iter().find_map(|id| is_chosen.get(&**id)) {
                causes.entry(by).or_default().push(cause);
            }
        }
    }
    let subscriptions = || {
        variables
            .asked
            .iter()
            .filter(|asked| !failed.contains(&asked.subscription))
    };
    let starting: BTreeSet<&str> = subscriptions()
        .filter(|asked| asked.current.is_none())
        .map(|asked| variables.subscription(asked).starting_csv.as_str())
        .collect();
    let install = |&variable: &usize| {
        let Role::Bundle(place) = variables.roles[variable] else {
            return None;
        };
        if place.source == EXISTING {
            return None;
        }
        let entry = variables.shared_entry(place);
        let asking = subscriptions().map(|asked| variables.subscription(asked));
        let mut because = causes.get(&variable).cloned().unwrap_or_default();
        because.sort();
        because.dedup();
        Some(Install {
            replaces: variables
                .replaces
                .get(&variable)
                .unwrap_or(&entry.replaces)
                .clone(),
            starting_csv: starting.contains(entry.name.as_str()).then(|| entry.name.clone()),
            subscriptions: asking
                .filter(|subscription| subscription.asks_for(&entry))
                .map(|subscription| subscription.name.clone())
                .collect(),
            because,
            entry,
        })
    };
    chosen.iter().filter_map(install).collect()
}

/// Returns whether a Subscription's trouble is one that a healthy catalog would end.
fn catalog_of(trouble: Option<&Trouble>) -> Option<usize> {
    match trouble {
        Some(Trouble::Catalog(source)) => Some(*source),
        _ => None,
    }
}
