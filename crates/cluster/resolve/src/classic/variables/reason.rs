//! Why a constraint is there, and upstream's words for it.

use crate::classic::need::Need;
use crate::classic::solver::{Identifier, Rule, Wording};
use crate::dependencies::GroupVersionKind;

/// Why a constraint is there.
#[derive(Debug, Clone)]
pub(in crate::classic) enum Reason {
    /// An operator is installed for which no Subscription asks.
    Unreferenced(String),
    /// An operator is installed, and its Subscription can't be resolved.
    Kept(String),
    /// A bundle says of itself that it mustn't be installed any more.
    Deprecated,
    /// The cluster has a rule against it.
    Forbidden(String),
    /// What a bundle needs can't be read.
    Unreadable(String),
    /// A bundle needs another operator.
    Needs {
        /// The name of the bundle.
        bundle: String,
        /// What it needs.
        need: Need,
    },
    /// A bundle takes the place of what is installed.
    Replaces,
    /// There is a Subscription.
    SubscriptionExists(String),
    /// A Subscription asks for one of several bundles.
    SubscriptionRequires(String),
    /// What a Subscription asks for isn't there.
    InvalidSubscription(String),
    /// Only one operator may provide a kind.
    SingleProvider(GroupVersionKind),
    /// Only one operator may be of a package.
    SinglePackage(String),
}

/// Returns a kind in the words of upstream's messages.
pub(in crate::classic) fn api_text(kind: &GroupVersionKind) -> String {
    format!("{} ({}/{})", kind.kind, kind.group, kind.version)
}

impl Wording for Reason {
    fn text(&self, subject: &str, rule: &Rule) -> Option<String> {
        Some(match self {
            Self::Unreferenced(name) => {
                format!("clusterserviceversion {name} exists and is not referenced by a subscription")
            }
            Self::Kept(name) => {
                format!("clusterserviceversion {name} exists and its subscription can't be resolved")
            }
            Self::Deprecated => format!("bundle {subject} is deprecated"),
            Self::Unreadable(cause) => format!("bundle {subject} can't be used: {cause}"),
            Self::Forbidden(cause) | Self::InvalidSubscription(cause) => cause.clone(),
            Self::Needs { bundle, need } => format!("bundle {bundle} requires an operator {need}"),
            Self::Replaces => return None,
            Self::SubscriptionExists(name) => format!("subscription {name} exists"),
            Self::SubscriptionRequires(name) => match members(rule) {
                [] => format!("no operators found matching the criteria of subscription {name}"),
                [only] => format!("subscription {name} requires {only}"),
                ids => format!(
                    "subscription {name} requires at least one of {}",
                    listed(ids, "or")
                ),
            },
            Self::SingleProvider(kind) => {
                format!("{} provide {}", listed(members(rule), "and"), api_text(kind))
            }
            Self::SinglePackage(package) => {
                format!(
                    "{} originate from package {package}",
                    listed(members(rule), "and")
                )
            }
        })
    }
}

fn members(rule: &Rule) -> &[Identifier] {
    match rule {
        Rule::Dependency(ids) | Rule::AtMost(_, ids) => ids,
        _ => &[],
    }
}

fn listed(ids: &[Identifier], word: &str) -> String {
    match ids {
        [] => String::new(),
        [only] => only.to_string(),
        [rest @ .., last] => format!("{} {word} {last}", rest.join(", ")),
    }
}
