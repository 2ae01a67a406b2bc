//! Permissions pinned in a file of the author's tree, so that a change of them is a change that a person reviews.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Derivation, PolicyRule, Reason, Subject};

/// Where the author's tree has the pinned permissions.
pub const PERMISSIONS_FILE: &str = "config/rbac/derived.yaml";

/// Why pinned permissions were refused.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// The file is no list of rules.
    #[error(
        "cannot read {PERMISSIONS_FILE}: {0}; run `baton bundle generate --update-permissions` to write it again"
    )]
    Unreadable(String),
    /// What the chart needs now is not what the file says.
    #[error(
        "the permissions that the chart needs are not those in {PERMISSIONS_FILE}:\n{}review them, then run `baton bundle generate --update-permissions`",
        differences(missing, extra)
    )]
    Differ {
        /// What the chart needs and the file doesn't have, each with why.
        missing: Vec<String>,
        /// What the file has and the chart doesn't need.
        extra: Vec<String>,
    },
}

fn differences(missing: &[String], extra: &[String]) -> String {
    let line = |verb: &str, text: &String| format!("  {verb} {text}\n");
    let missing = missing.iter().map(|text| line("missing:", text));
    missing
        .chain(extra.iter().map(|text| line("no longer needed:", text)))
        .collect()
}

#[derive(Serialize, Deserialize)]
struct Pinned {
    rules: Vec<PolicyRule>,
}

/// The text of the file for these permissions.
pub fn pinned_text(derivation: &Derivation) -> Result<String, goyaml::Error> {
    let mut text = String::from(
        "# What the operator may do, derived from the chart. `baton bundle generate` stops when the chart needs\n\
         # something else; `baton bundle generate --update-permissions` writes this file again.\n",
    );
    text.push_str(&goyaml::to_string(&Pinned {
        rules: derivation.rules(),
    })?);
    Ok(text)
}

/// Returns whether the file has what operators wish for, but can do without. Where it hasn't, they do without: a version of
/// baton that wishes for more must neither stop an author nor get it before a person has reviewed it.
pub fn grants_wishes(file: &[u8]) -> bool {
    let Ok(pinned) = goyaml::from_slice::<Pinned>(file) else {
        // What can't be read is an error when it is compared.
        return true;
    };
    let (mut written, mut wishes) = (Derivation::default(), Derivation::default());
    written.add_rules(&pinned.rules, &Reason::Author(PERMISSIONS_FILE.to_owned()));
    wishes.add_wishes();
    wishes.permissions.iter().all(|(subject, wished)| {
        let granted = written.permissions.get(subject);
        granted.is_some_and(|granted| granted.verbs.is_superset(&wished.verbs))
    })
}

/// Compares the file with what was derived; a difference is an error that names every part of it.
pub fn compare(file: &[u8], derivation: &Derivation) -> Result<(), PinError> {
    let pinned: Pinned = goyaml::from_slice(file).map_err(|error| PinError::Unreadable(error.to_string()))?;
    let mut written = Derivation::default();
    written.add_rules(&pinned.rules, &Reason::Author(PERMISSIONS_FILE.to_owned()));
    let verbs = |derivation: &Derivation| -> BTreeMap<Subject, BTreeSet<String>> {
        let permissions = derivation.permissions.iter();
        permissions
            .map(|(subject, permission)| (subject.clone(), permission.verbs.clone()))
            .collect()
    };
    let (needed, written) = (verbs(derivation), verbs(&written));
    let lacking = |these: &BTreeMap<Subject, BTreeSet<String>>,
                   those: &BTreeMap<Subject, BTreeSet<String>>| {
        let mut found = Vec::new();
        for (subject, verbs) in these {
            let nothing = BTreeSet::new();
            let there = those.get(subject).unwrap_or(&nothing);
            let lacking: Vec<&str> = verbs.difference(there).map(String::as_str).collect();
            if !lacking.is_empty() {
                found.push((subject.clone(), lacking.join(" ")));
            }
        }
        found
    };
    let missing: Vec<String> = lacking(&needed, &written)
        .into_iter()
        .map(|(subject, verbs)| {
            let reason = derivation
                .permissions
                .get(&subject)
                .and_then(|permission| permission.reasons.first())
                .map(ToString::to_string)
                .unwrap_or_default();
            format!("{subject}: {verbs} ({reason})")
        })
        .collect();
    let extra: Vec<String> = lacking(&written, &needed)
        .into_iter()
        .map(|(subject, verbs)| format!("{subject}: {verbs}"))
        .collect();
    if missing.is_empty() && extra.is_empty() {
        Ok(())
    } else {
        Err(PinError::Differ { missing, extra })
    }
}
