//! What to change so that something can be installed.

use std::collections::BTreeSet;

use gotemplate::format::quoted;

use crate::classic::request::Subscription;
use crate::classic::resolution::FailureKind;
use crate::classic::solver::{Applied, Rule};
use crate::classic::variables::{Asked, EXISTING, Reason, Trouble, Variables};

/// How many names are proposed.
const MAX_PROPOSED: usize = 5;

/// Returns what to change; any one of it may help.
pub(super) fn remedies(variables: &Variables<'_>, asked: &[&Asked], kind: &FailureKind) -> Vec<String> {
    let mut remedies = Vec::new();
    match kind {
        FailureKind::NotSatisfiable(core) => {
            for applied in &core.core {
                remedies.extend(for_rule(variables, applied));
            }
            remedies.extend(fewer_subscriptions(variables, &core.core));
        }
        FailureKind::Catalogs(faults) => {
            let remedy =
                |key: &dyn std::fmt::Display| format!("look after CatalogSource {key}, or delete it");
            remedies.extend(faults.iter().map(|fault| remedy(&fault.catalog)));
        }
        FailureKind::Unreadable(_) => {
            remedies.push("ask the author of the catalog to correct it, or use another channel".into());
        }
        FailureKind::TooHard => {
            remedies
                .push("install the dependencies one after the other by Subscriptions of their own".into());
        }
    }
    for asked in asked {
        if let Some(Trouble::Invalid(_)) = &asked.trouble {
            remedies.extend(for_invalid(variables, variables.subscription(asked)));
        }
    }
    let mut seen = BTreeSet::new();
    remedies.retain(|remedy| seen.insert(remedy.clone()));
    remedies
}

fn for_rule(variables: &Variables<'_>, applied: &Applied) -> Option<String> {
    let constraint = variables.all[applied.variable]
        .constraints
        .get(applied.constraint)?;
    match (&constraint.wording, &constraint.rule) {
        (Reason::Unreferenced(name), _) => Some(for_unreferenced(variables, name)),
        (Reason::Needs { need, .. }, Rule::Dependency(candidates)) if candidates.is_empty() => {
            Some(format!("add a CatalogSource that offers an operator {need}"))
        }
        (Reason::Deprecated, _) => Some("use a channel or package whose bundles aren't deprecated".into()),
        (Reason::Unreadable(_), _) => {
            Some("ask the author of the bundle to correct it, or use another channel".into())
        }
        _ => None,
    }
}

fn for_unreferenced(variables: &Variables<'_>, name: &str) -> String {
    let mut versions = variables.request.existing.versions.iter();
    match versions
        .find(|version| version.entry.name == name)
        .and_then(|version| version.replaced_by.as_ref())
    {
        Some(next) => format!(
            "wait until {next} has taken the place of {name}; where {next} failed, mend what it says, or set \
             upgradeStrategy to TechPreviewUnsafeFailForward in the OperatorGroup"
        ),
        None => format!(
            "delete ClusterServiceVersion {name} if nobody needs it: a new Subscription doesn't take it over"
        ),
    }
}

/// Proposes to give up one of several Subscriptions that exclude each other.
fn fewer_subscriptions(variables: &Variables<'_>, core: &[Applied]) -> Option<String> {
    let names: BTreeSet<&str> = core
        .iter()
        .filter_map(|applied| {
            let constraint = variables.all[applied.variable]
                .constraints
                .get(applied.constraint)?;
            match &constraint.wording {
                Reason::SubscriptionRequires(name) => Some(name.as_str()),
                _ => None,
            }
        })
        .collect();
    let names: Vec<&str> = names.into_iter().collect();
    (names.len() > 1).then(|| {
        format!(
            "delete one of the Subscriptions {}, or move it to a namespace of its own",
            names.join(", ")
        )
    })
}

/// Proposes what is there in place of what isn't.
fn for_invalid(variables: &Variables<'_>, subscription: &Subscription) -> Vec<String> {
    let Subscription {
        package,
        channel,
        catalog,
        ..
    } = subscription;
    let known = || {
        let sources = variables.sources.iter().skip(EXISTING + 1);
        sources.filter_map(|source| Some((&source.key, source.content.ok()?)))
    };
    let list = |names: Vec<String>| {
        let more = names.len().saturating_sub(MAX_PROPOSED);
        let mut text = names
            .into_iter()
            .take(MAX_PROPOSED)
            .collect::<Vec<_>>()
            .join(", ");
        if more > 0 {
            text = format!("{text} and {more} more");
        }
        text
    };
    let Some((_, snapshot)) = known().find(|(key, _)| *key == catalog) else {
        let names: Vec<String> = known().map(|(key, _)| key.to_string()).collect();
        return vec![if names.is_empty() {
            format!("create CatalogSource {catalog}")
        } else {
            format!("create CatalogSource {catalog}, or use one of {}", list(names))
        }];
    };
    let Some(channels) = snapshot.channels(package) else {
        let others = known().filter(|(_, snapshot)| snapshot.channels(package).is_some());
        let names: Vec<String> = others.map(|(key, _)| key.to_string()).collect();
        return match names.as_slice() {
            [] => vec![format!(
                "check the name of package {}: no catalog has it",
                quoted(package)
            )],
            _ => vec![format!(
                "use a catalog that has package {}: {}",
                quoted(package),
                list(names)
            )],
        };
    };
    match channels.get(channel) {
        None if !channel.is_empty() => {
            let names: Vec<String> = channels.keys().cloned().collect();
            vec![format!(
                "use a channel that package {} has: {}",
                quoted(package),
                list(names)
            )]
        }
        found => {
            let members = match found {
                Some(channel) => channel.members.clone(),
                None => channels
                    .values()
                    .flat_map(|channel| channel.members.clone())
                    .collect(),
            };
            let names: Vec<String> = members
                .iter()
                .rev()
                .map(|&member| snapshot.entries()[member].name.clone())
                .collect();
            vec![format!("leave out startingCSV, or use one of {}", list(names))]
        }
    }
}
