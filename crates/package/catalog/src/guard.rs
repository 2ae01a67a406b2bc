//! What was published must stay: compares a catalog with the published one and names what would be lost.
//!
//! Customers run versions that were published once. A version that disappears, changes under its name, or loses its
//! way to the head of its channel leaves them behind, so none of these passes unless it is allowed by name; what was
//! allowed is written into the catalog's history, where the next reader finds it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::diff::{self, PackageDiff, Presence};
use crate::objects::{Catalog, Meta};

/// The schema of the objects that keep what was allowed to be lost.
pub const HISTORY_SCHEMA: &str = "baton.history";

/// One thing that customers would lose.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Loss {
    /// The package it belongs to.
    pub package: String,
    /// What would be lost.
    pub kind: LossKind,
    /// The name to give to `--allow`: of the package, the channel or the bundle.
    pub name: String,
}

/// The ways in which something published can be lost.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossKind {
    /// The whole package is gone.
    PackageRemoved,
    /// A channel that customers subscribe to is gone.
    ChannelRemoved,
    /// A version is gone.
    BundleRemoved,
    /// A version has another content under the same name.
    BundleChanged {
        /// What differs, such as `image`.
        parts: Vec<String>,
    },
    /// A version that stays published left a channel.
    EntryRemoved {
        /// The channel.
        channel: String,
    },
    /// Customers on a version could get to the channel's head, and can't any more.
    Stranded {
        /// The channel.
        channel: String,
    },
}

impl LossKind {
    /// One word for the history and for scripts.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::PackageRemoved => "packageRemoved",
            Self::ChannelRemoved => "channelRemoved",
            Self::BundleRemoved => "bundleRemoved",
            Self::BundleChanged { .. } => "bundleChanged",
            Self::EntryRemoved { .. } => "entryRemoved",
            Self::Stranded { .. } => "stranded",
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { package, kind, name } = self;
        match kind {
            LossKind::PackageRemoved => write!(formatter, "package {package} is removed"),
            LossKind::ChannelRemoved => write!(formatter, "package {package}: channel {name} is removed"),
            LossKind::BundleRemoved => write!(formatter, "package {package}: bundle {name} is removed"),
            LossKind::BundleChanged { parts } => {
                write!(
                    formatter,
                    "package {package}: bundle {name} is changed ({})",
                    parts.join(", ")
                )
            }
            LossKind::EntryRemoved { channel } => {
                write!(
                    formatter,
                    "package {package}: bundle {name} leaves channel {channel}"
                )
            }
            LossKind::Stranded { channel } => {
                write!(
                    formatter,
                    "package {package}: customers on {name} can't get to the head of channel {channel} any more"
                )
            }
        }
    }
}

/// What customers of the `published` catalog would lose with the `next` one, in a fixed order.
///
/// A removed package is named once, not again for each of its channels; likewise a removed channel or bundle isn't
/// named again for the entries that go with it.
#[must_use]
pub fn losses(published: &Catalog, next: &Catalog) -> Vec<Loss> {
    let mut losses = Vec::new();
    for (package, diff) in diff::diff(published, next).packages {
        match diff.presence {
            Presence::Added => {}
            Presence::Removed => losses.push(Loss {
                name: package.clone(),
                package,
                kind: LossKind::PackageRemoved,
            }),
            Presence::Kept => package_losses(&package, diff, &mut losses),
        }
    }
    losses
}

fn package_losses(package: &str, diff: PackageDiff, losses: &mut Vec<Loss>) {
    let mut lose = |kind: LossKind, name: &str| {
        losses.push(Loss {
            package: package.to_owned(),
            kind,
            name: name.to_owned(),
        });
    };
    let removed: BTreeSet<&String> = diff.removed_bundles.iter().collect();
    for (channel, diff) in &diff.channels {
        if diff.presence == Presence::Removed {
            lose(LossKind::ChannelRemoved, channel);
        }
    }
    for name in &diff.removed_bundles {
        lose(LossKind::BundleRemoved, name);
    }
    for (name, parts) in diff.changed_bundles {
        lose(LossKind::BundleChanged { parts }, &name);
    }
    for (channel, diff) in diff
        .channels
        .iter()
        .filter(|(_, diff)| diff.presence == Presence::Kept)
    {
        for name in diff.removed_entries.iter().filter(|name| !removed.contains(name)) {
            lose(
                LossKind::EntryRemoved {
                    channel: channel.clone(),
                },
                name,
            );
        }
        for (name, _) in diff.customers.iter().filter(|(_, offer)| offer.stranded) {
            lose(
                LossKind::Stranded {
                    channel: channel.clone(),
                },
                name,
            );
        }
    }
}

/// Why a catalog may not be published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Customers would lose something that wasn't allowed by name.
    #[error("{}", refusal(published, losses))]
    Losses {
        /// The published catalog, as people name it.
        published: String,
        /// What would be lost.
        losses: Vec<Loss>,
    },
    /// `--allow` names something that isn't lost; a slip there must not pass for care.
    #[error("nothing called {names} is removed or changed: take it out of --allow, or correct the name", names = .0.join(", "))]
    NeedlesslyAllowed(Vec<String>),
    /// The history of the published catalog can't be read, so it can't be carried on.
    #[error(
        "the {HISTORY_SCHEMA} object of package {package:?} in the published catalog can't be read: {cause}; restore it from an older catalog image, or allow its loss by rebuilding without comparing"
    )]
    UnreadableHistory {
        /// The package.
        package: String,
        /// What is wrong with it.
        cause: String,
    },
}

fn refusal(published: &str, losses: &[Loss]) -> String {
    use std::fmt::Write as _;
    let mut text = format!("the catalog would take something from customers of {published}:\n");
    for loss in losses {
        let _ = writeln!(text, "  - {loss}");
    }
    let names: BTreeSet<&str> = losses.iter().map(|loss| loss.name.as_str()).collect();
    let _ = write!(
        text,
        "put back what is missing; if it really must go, say so: --allow {}",
        names.into_iter().collect::<Vec<_>>().join(" --allow ")
    );
    text
}

/// The history of one package, as it is stored in the catalog.
#[derive(Debug, Serialize, Deserialize)]
struct History {
    entries: Vec<HistoryEntry>,
    package: String,
    schema: String,
}

/// One thing that was allowed to be lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// What was lost, see [`LossKind::word`].
    pub change: String,
    /// The sentence that was shown when it was allowed.
    pub message: String,
    /// The name that was allowed.
    pub name: String,
    /// The digest of the published catalog image that still had it.
    pub previous: String,
}

/// Takes `next` for publishing after `published`: carries its history on and writes down what was allowed.
///
/// `name` is how people call the published catalog and `digest` that of its image. Nothing of `next` is changed when
/// the answer is no.
///
/// # Errors
///
/// When something would be lost that isn't in `allowed`, or `allowed` names what isn't lost.
pub fn admit(
    published: &Catalog,
    name: &str,
    digest: &str,
    next: &mut Catalog,
    allowed: &[String],
) -> Result<Vec<Loss>, Refused> {
    let (passed, refused): (Vec<_>, Vec<_>) = losses(published, next)
        .into_iter()
        .partition(|loss| allowed.contains(&loss.name));
    if !refused.is_empty() {
        return Err(Refused::Losses {
            published: name.to_owned(),
            losses: refused,
        });
    }
    let needless: Vec<_> = allowed
        .iter()
        .filter(|name| !passed.iter().any(|loss| loss.name == **name))
        .cloned()
        .collect();
    if !needless.is_empty() {
        return Err(Refused::NeedlesslyAllowed(needless));
    }
    let mut history = history(published)?;
    for (package, entries) in self::history(next)? {
        let known = history.entry(package).or_default();
        known.extend(
            entries
                .into_iter()
                .filter(|entry| !known.contains(entry))
                .collect::<Vec<_>>(),
        );
    }
    for loss in &passed {
        let entry = HistoryEntry {
            change: loss.kind.word().to_owned(),
            message: loss.to_string(),
            name: loss.name.clone(),
            previous: digest.to_owned(),
        };
        let known = history.entry(loss.package.clone()).or_default();
        // A catalog that was compared when it was built is compared again when it is pushed.
        if !known.contains(&entry) {
            known.push(entry);
        }
    }
    next.others.retain(|meta| meta.schema != HISTORY_SCHEMA);
    next.others.extend(
        history
            .into_iter()
            .map(|(package, entries)| history_object(package, entries)),
    );
    Ok(passed)
}

/// What was allowed to be lost so far, by package.
///
/// # Errors
///
/// When a history object isn't one.
pub fn history(catalog: &Catalog) -> Result<BTreeMap<String, Vec<HistoryEntry>>, Refused> {
    let mut found = BTreeMap::<String, Vec<HistoryEntry>>::new();
    for meta in catalog.others.iter().filter(|meta| meta.schema == HISTORY_SCHEMA) {
        let history: History =
            serde_json::from_slice(&meta.blob).map_err(|cause| Refused::UnreadableHistory {
                package: meta.package.clone(),
                cause: cause.to_string(),
            })?;
        found.entry(history.package).or_default().extend(history.entries);
    }
    Ok(found)
}

fn history_object(package: String, entries: Vec<HistoryEntry>) -> Meta {
    let history = History {
        entries,
        package,
        schema: HISTORY_SCHEMA.to_owned(),
    };
    // Through a value: its keys are sorted, which makes the text canonical. Strings always serialize.
    let blob = serde_json::to_value(&history)
        .map(|value| value.to_string())
        .unwrap_or_default();
    Meta {
        schema: history.schema,
        package: history.package,
        name: String::new(),
        blob: blob.into_bytes().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::tests::world;

    const PUBLISHED: &str = "stable-v1: 1.0.0 | 1.1.0 <- 1.0.0 | 1.2.0 <- 1.1.0\nfast-v1: 1.2.0";

    fn told(next: &str) -> Vec<String> {
        losses(&world(PUBLISHED), &world(next))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn every_loss_is_named_once() {
        let table: [(&str, &[&str]); 6] = [
            (PUBLISHED, &[]),
            (
                "stable-v1: 1.0.0 | 1.1.0 <- 1.0.0 | 1.2.0 <- 1.1.0 | 1.3.0 <- 1.2.0 skips 1.1.0\nfast-v1: 1.2.0 | 1.3.0 <- 1.2.0",
                &[],
            ),
            (
                "stable-v1: 1.0.0 | 1.1.0 <- 1.0.0 | 1.2.0 <- 1.1.0",
                &["package stack: channel fast-v1 is removed"],
            ),
            (
                "stable-v1: 1.0.0 | 1.2.0 <- 1.0.0 skips 1.1.0\nfast-v1: 1.2.0",
                &["package stack: bundle stack.v1.1.0 is removed"],
            ),
            (
                "stable-v1: 1.1.0 | 1.2.0 <- 1.1.0\nfast-v1: 1.0.0 | 1.2.0 <- 1.0.0",
                &[
                    "package stack: bundle stack.v1.0.0 leaves channel stable-v1",
                    "package stack: customers on stack.v1.0.0 can't get to the head of channel stable-v1 any more",
                ],
            ),
            (
                "stable-v1: 1.0.0 | 1.1.0 <- 1.0.0\nfast-v1: 1.1.0",
                &[
                    "package stack: bundle stack.v1.2.0 is removed",
                    "package stack: customers on stack.v1.2.0 can't get to the head of channel fast-v1 any more",
                    "package stack: customers on stack.v1.2.0 can't get to the head of channel stable-v1 any more",
                ],
            ),
        ];
        for (next, expected) in table {
            assert_eq!(told(next), expected, "{next}");
        }
    }

    #[test]
    fn a_changed_bundle_is_refused_with_the_next_step() {
        let mut next = world(PUBLISHED);
        next.bundles[1].image = "registry.example/elsewhere:1".to_owned();
        let refused = admit(
            &world(PUBLISHED),
            "registry.example/catalog:latest",
            "sha256:1",
            &mut next,
            &[],
        )
        .expect_err("a change");
        insta::assert_snapshot!(refused, @r"
        the catalog would take something from customers of registry.example/catalog:latest:
          - package stack: bundle stack.v1.1.0 is changed (image)
        put back what is missing; if it really must go, say so: --allow stack.v1.1.0
        ");
        assert!(next.others.is_empty());
    }

    #[test]
    fn what_is_allowed_is_written_down_and_carried_on() {
        let mut second = world("stable-v1: 1.0.0 | 1.1.0 <- 1.0.0 | 1.2.0 <- 1.1.0");
        admit(
            &world(PUBLISHED),
            "catalog:1",
            "sha256:1",
            &mut second,
            &["fast-v1".to_owned()],
        )
        .expect("allowed");
        let mut third = world("stable-v1: 1.0.0 | 1.2.0 <- 1.0.0 skips 1.1.0");
        admit(
            &second,
            "catalog:2",
            "sha256:2",
            &mut third,
            &["stack.v1.1.0".to_owned()],
        )
        .expect("allowed");
        let lines: Vec<_> = history(&third).expect("a history")["stack"]
            .iter()
            .map(|entry| format!("{} {} {}", entry.previous, entry.change, entry.name))
            .collect();
        assert_eq!(
            lines,
            [
                "sha256:1 channelRemoved fast-v1",
                "sha256:2 bundleRemoved stack.v1.1.0"
            ]
        );
        let mut again = third.clone();
        admit(&third, "catalog:3", "sha256:3", &mut again, &[]).expect("nothing lost");
        assert_eq!(
            again.others, third.others,
            "a history grows only when something is lost"
        );
    }

    #[test]
    fn a_slip_in_allow_is_told() {
        let refused = admit(
            &world(PUBLISHED),
            "catalog",
            "sha256:1",
            &mut world(PUBLISHED),
            &["stack.v9".to_owned()],
        );
        assert_eq!(
            refused,
            Err(Refused::NeedlesslyAllowed(vec!["stack.v9".to_owned()]))
        );
    }

    #[test]
    fn what_was_allowed_when_building_is_written_down_once_when_pushing() {
        let mut next = world("stable-v1: 1.0.0 | 1.1.0 <- 1.0.0 | 1.2.0 <- 1.1.0");
        let mut compare = || {
            let allowed = ["fast-v1".to_owned()];
            admit(&world(PUBLISHED), "catalog", "sha256:1", &mut next, &allowed).expect("allowed");
            history(&next).expect("a history")
        };
        let built = compare();
        assert_eq!(built["stack"].len(), 1);
        assert_eq!(compare(), built);
    }

    #[test]
    fn a_broken_history_is_not_dropped_silently() {
        let mut published = world(PUBLISHED);
        published.others.push(Meta {
            schema: HISTORY_SCHEMA.to_owned(),
            package: "stack".to_owned(),
            name: String::new(),
            blob: b"{}".as_slice().into(),
        });
        assert!(matches!(
            admit(&published, "catalog", "sha256:1", &mut world(PUBLISHED), &[]),
            Err(Refused::UnreadableHistory { .. })
        ));
    }
}
