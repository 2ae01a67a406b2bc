//! What the resolver answered.

use std::collections::{BTreeMap, BTreeSet};

use resolve::classic::request::Isolation;
use resolve::classic::resolution::{Cause, Install, Resolution};

use super::Question;
use crate::selection::Selected;

/// Why something can't be resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What is wrong, in upstream's words.
    pub message: String,
    /// What that means and what to do, for people; empty for nothing to add.
    pub explanation: String,
    /// Whether no selection could satisfy everyone. Otherwise something stood in the way, and trying again may help.
    pub is_unsatisfiable: bool,
}

impl Failure {
    /// Returns the reason of the condition.
    pub fn reason(&self) -> &'static str {
        if self.is_unsatisfiable {
            "ConstraintsNotSatisfiable"
        } else {
            "ErrorPreventedResolution"
        }
    }

    /// Returns the text of the condition: upstream's, and what explains it in lines of its own.
    pub fn text(&self) -> String {
        if self.explanation.is_empty() {
            return self.message.clone();
        }
        format!("{}\n{}", self.message, self.explanation)
    }
}

/// What the resolver answered to a [`Question`].
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// What shall be installed, without what is.
    pub selected: Vec<Selected>,
    /// The Subscriptions that nothing was found for, and why.
    pub failures: BTreeMap<String, Failure>,
    /// The Subscriptions that each selected bundle is for, and those that need it, by the bundle's name. Where it is empty,
    /// what stops one stops all, as upstream has it.
    pub wanted_by: BTreeMap<String, BTreeSet<String>>,
}

impl Answer {
    /// Takes what the resolver said to a question. A failure stops those whom the question says that it stops.
    pub fn of_resolution(question: &Question, resolution: &Resolution) -> Self {
        match question.isolation {
            Isolation::Subscription => Self::kept_apart(resolution),
            Isolation::Namespace => Self::shared_by_all(question, resolution),
        }
    }

    /// One failure is everyone's, and the words are upstream's alone.
    fn shared_by_all(question: &Question, resolution: &Resolution) -> Self {
        let failed = |message: String, is_unsatisfiable: bool| Failure {
            message,
            explanation: String::new(),
            is_unsatisfiable,
        };
        let mut answer = Self::default();
        for install in &resolution.installs {
            match Selected::of_entry(&install.entry, &install.replaces) {
                Ok(selected) => answer.selected.push(selected),
                Err(fault) => {
                    let asking = question.subscriptions.iter().map(|asking| asking.name.as_str());
                    return Self::failed(asking, &failed(fault.to_string(), false));
                }
            }
        }
        for failure in &resolution.failures {
            let told = failed(failure.to_string(), failure.is_not_satisfiable());
            let named = failure.subscriptions.iter();
            answer
                .failures
                .extend(named.map(|subscription| (subscription.clone(), told.clone())));
        }
        answer
    }

    /// A failure stops only whom it is about. A bundle whose text can't be read fails those that want it.
    fn kept_apart(resolution: &Resolution) -> Self {
        let mut answer = Self {
            wanted_by: wanted_by(&resolution.installs),
            ..Self::default()
        };
        for failure in &resolution.failures {
            let told = Failure {
                message: failure.to_string(),
                explanation: failure.explanation.to_string(),
                is_unsatisfiable: failure.is_not_satisfiable(),
            };
            let named = failure.subscriptions.iter();
            answer
                .failures
                .extend(named.map(|subscription| (subscription.clone(), told.clone())));
        }
        let mut unreadable = BTreeSet::new();
        for install in &resolution.installs {
            match Selected::of_entry(&install.entry, &install.replaces) {
                Ok(selected) => answer.selected.push(selected),
                Err(error) => {
                    let told = Failure {
                        message: error.to_string(),
                        explanation: String::new(),
                        is_unsatisfiable: false,
                    };
                    let named = answer.wanted_by.get(&install.entry.name).into_iter().flatten();
                    for subscription in named {
                        unreadable.insert(subscription.clone());
                        answer.failures.insert(subscription.clone(), told.clone());
                    }
                }
            }
        }
        answer.selected = answer.without(&unreadable);
        answer
    }

    /// Returns what is selected for somebody else than these Subscriptions.
    pub(super) fn without(&self, subscriptions: &BTreeSet<String>) -> Vec<Selected> {
        let is_for_others = |selected: &&Selected| {
            let wanted = self.wanted_by.get(&selected.name);
            wanted.is_none_or(|wanted| wanted.is_empty() || !wanted.is_subset(subscriptions))
        };
        self.selected.iter().filter(is_for_others).cloned().collect()
    }

    /// Returns the answer in which everything fails for one reason, as upstream has it.
    pub fn failed<'a>(subscriptions: impl IntoIterator<Item = &'a str>, failure: &Failure) -> Self {
        let failures = subscriptions
            .into_iter()
            .map(|name| (name.to_owned(), failure.clone()));
        Self {
            failures: failures.collect(),
            ..Self::default()
        }
    }
}

/// Returns the Subscriptions that each bundle is for: those that ask for it, and those for whose bundles it is needed.
fn wanted_by(installs: &[Install]) -> BTreeMap<String, BTreeSet<String>> {
    let mut wanted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for install in installs {
        let asking = install.because.iter().filter_map(|cause| match cause {
            Cause::Subscription(name) => Some(name),
            Cause::NeededBy { .. } => None,
        });
        let asking = install.subscriptions.iter().chain(asking).cloned();
        wanted
            .entry(install.entry.name.clone())
            .or_default()
            .extend(asking);
    }
    // What is needed by what is needed; a chain is at most as long as the list.
    for _ in installs {
        let before = wanted.clone();
        for install in installs {
            for cause in &install.because {
                if let Cause::NeededBy { bundle, .. } = cause
                    && let Some(needing) = before.get(bundle)
                {
                    let here = wanted.entry(install.entry.name.clone()).or_default();
                    here.extend(needing.iter().cloned());
                }
            }
        }
        if wanted == before {
            break;
        }
    }
    wanted
}
