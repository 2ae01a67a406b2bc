//! What the resolver answered.

use std::collections::BTreeMap;

use resolve::classic::resolution::Resolution;

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

/// What the resolver answered to a [`Question`](super::Question).
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// What shall be installed, without what is.
    pub selected: Vec<Selected>,
    /// The Subscriptions that nothing was found for, and why.
    pub failures: BTreeMap<String, Failure>,
}

impl Answer {
    /// Takes what the resolver said. A bundle whose text can't be read fails those that it is for.
    pub fn of_resolution(resolution: &Resolution) -> Self {
        let mut answer = Self::default();
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
        for install in &resolution.installs {
            match Selected::of_entry(&install.entry, &install.replaces) {
                Ok(selected) => answer.selected.push(selected),
                Err(error) => {
                    let told = Failure {
                        message: error.to_string(),
                        explanation: String::new(),
                        is_unsatisfiable: false,
                    };
                    let named = install.subscriptions.iter();
                    answer
                        .failures
                        .extend(named.map(|subscription| (subscription.clone(), told.clone())));
                }
            }
        }
        answer
    }

    /// Returns the answer in which everything fails for one reason, as upstream has it.
    pub fn failed<'a>(subscriptions: impl IntoIterator<Item = &'a str>, failure: &Failure) -> Self {
        let failures = subscriptions
            .into_iter()
            .map(|name| (name.to_owned(), failure.clone()));
        Self {
            selected: Vec::new(),
            failures: failures.collect(),
        }
    }
}
