//! What speaks for or against one bundle of a package, seen from a Subscription.

use std::cmp::Reverse;

use resolve::classic::Entry;
use resolve::classic::request::Subscription as Asking;
use serde::Serialize;
use version::Version;

/// What a bundle is judged by.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    /// The Subscription.
    pub(super) asked: &'a Asking,
    /// What is installed for it.
    pub(super) installed: Option<&'a Entry>,
    /// What the resolver would install next.
    pub(super) next: Option<&'a Entry>,
}

/// A bundle, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Judged {
    pub(super) bundle: String,
    pub(super) version: String,
    pub(super) channel: String,
    pub(super) catalog: String,
    /// What becomes of it, and why.
    pub(super) verdict: String,
    /// What would have to change for it to come; none where nothing has to or can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) change: Option<String>,
}

/// Puts what is newest first, and equals by catalog and channel.
pub(super) fn order(judged: &mut [Judged]) {
    judged.sort_by_cached_key(|one| {
        (
            Reverse(Version::parse(&one.version).ok()),
            one.bundle.clone(),
            one.catalog.clone(),
            one.channel.clone(),
        )
    });
}

/// Says what comes next.
pub(super) fn next(case: &Case<'_>, is_failing: bool, groups: usize) -> String {
    match (case.next, case.installed) {
        _ if groups == 0 => {
            "nothing: the namespace has no OperatorGroup, and nothing is resolved without one".to_owned()
        }
        _ if groups > 1 => {
            format!(
                "nothing: the namespace has {groups} OperatorGroups, and nothing is resolved before there is one"
            )
        }
        (Some(next), Some(installed)) => format!("{} takes the place of {}", next.name, installed.name),
        (Some(next), None) => format!("{} is to be installed", next.name),
        (None, _) if is_failing => "nothing can be installed".to_owned(),
        (None, Some(installed)) => format!("{} stays: nothing in its channel follows it", installed.name),
        (None, None) => "nothing: the Subscription waits for a plan, see `baton classic status`".to_owned(),
    }
}

/// Judges one bundle in one channel.
pub(super) fn judge(case: &Case<'_>, entry: &Entry) -> Judged {
    let (verdict, change) = verdict(case, entry);
    Judged {
        bundle: entry.name.clone(),
        version: entry
            .version
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        channel: entry.channel.clone(),
        catalog: entry.catalog.to_string(),
        verdict,
        change,
    }
}

fn verdict(case: &Case<'_>, entry: &Entry) -> (String, Option<String>) {
    let Case {
        asked,
        installed,
        next,
    } = case;
    let is_same = |other: &Entry| other.name == entry.name;
    if installed.is_some_and(is_same) {
        return ("installed".to_owned(), None);
    }
    if next
        .is_some_and(|next| is_same(next) && next.channel == entry.channel && next.catalog == entry.catalog)
    {
        return (comes(case, entry), None);
    }
    if !asked.catalog.is_empty() && entry.catalog != asked.catalog {
        return (
            format!("no: it is in another catalog than {}", asked.catalog),
            Some(format!(
                "set spec.source to {:?} and spec.sourceNamespace to {:?}",
                entry.catalog.name, entry.catalog.namespace
            )),
        );
    }
    if !asked.channel.is_empty() && entry.channel != asked.channel {
        return (
            format!("no: it is in another channel than {}", asked.channel),
            Some(format!("set spec.channel to {:?}", entry.channel)),
        );
    }
    if entry.is_deprecated() {
        return ("no: its author forbids to install it any more".to_owned(), None);
    }
    match installed {
        Some(installed) if !entry.may_follow(installed) => no_way(installed, entry),
        Some(_) => (
            "could follow, but a later one does".to_owned(),
            Some("approve plans by hand (spec.installPlanApproval: Manual)".to_owned()),
        ),
        None if !asked.starting_csv.is_empty() && asked.starting_csv != entry.name => (
            format!("no: spec.startingCSV says to begin with {}", asked.starting_csv),
            Some(format!(
                "make the Subscription anew with spec.startingCSV {:?}",
                entry.name
            )),
        ),
        None => match next {
            Some(next) => (
                format!("no: {} is preferred", next.name),
                Some(format!(
                    "make the Subscription anew with spec.startingCSV {:?}",
                    entry.name
                )),
            ),
            None => ("no: nothing can be installed now, see above".to_owned(), None),
        },
    }
}

/// Why a bundle comes next.
fn comes(case: &Case<'_>, entry: &Entry) -> String {
    let Some(installed) = case.installed else {
        return if case.asked.starting_csv == entry.name {
            "comes next, spec.startingCSV asks for it".to_owned()
        } else {
            format!("comes next, it is at the end of channel {}", entry.channel)
        };
    };
    let rule = if entry.replaces == installed.name {
        format!("it replaces {}", installed.name)
    } else if entry.skips.contains(&installed.name) {
        format!("it skips {}", installed.name)
    } else {
        format!("its skipRange holds the version of {}", installed.name)
    };
    format!("comes next, {rule}")
}

/// Why no way leads from what is installed to a bundle.
fn no_way(installed: &Entry, entry: &Entry) -> (String, Option<String>) {
    if let (Some(old), Some(new)) = (&installed.version, &entry.version)
        && new < old
    {
        return (format!("no: it is older than {}", installed.name), None);
    }
    let mut ways = Vec::new();
    if !entry.replaces.is_empty() {
        ways.push(format!("replaces {}", entry.replaces));
    }
    if !entry.skips.is_empty() {
        ways.push(format!("skips {}", entry.skips.join(", ")));
    }
    if let Some(range) = &entry.skip_range {
        ways.push(format!("has skipRange {range}"));
    }
    let ways = match ways.as_slice() {
        [] => "it replaces nothing".to_owned(),
        ways => format!("it {}", ways.join(", ")),
    };
    (
        format!("no: no way leads to it from {}: {ways}", installed.name),
        None,
    )
}

#[cfg(test)]
mod tests {
    use resolve::classic::{CatalogKey, RegistryBundle, RegistryPackage};

    use super::*;

    fn entry(version: &str, channel: &str, replaces: &str, skips: &[&str]) -> Entry {
        let bundle = RegistryBundle {
            csv_name: format!("web.v{version}"),
            package_name: "web".to_owned(),
            channel_name: channel.to_owned(),
            version: version.to_owned(),
            replaces: replaces.to_owned(),
            skips: skips.iter().map(|skip| (*skip).to_owned()).collect(),
            bundle_path: "example.com/web".to_owned(),
            ..RegistryBundle::default()
        };
        let package = RegistryPackage {
            name: "web".to_owned(),
            default_channel: "stable".to_owned(),
            ..RegistryPackage::default()
        };
        Entry::from_registry(&CatalogKey::new("olm", "models"), bundle, &package).expect("an entry")
    }

    fn asking() -> Asking {
        Asking {
            name: "web".to_owned(),
            package: "web".to_owned(),
            channel: "stable".to_owned(),
            catalog: CatalogKey::new("olm", "models"),
            ..Asking::default()
        }
    }

    #[test]
    fn every_bundle_gets_its_reason() {
        let asked = asking();
        let installed = entry("1.1.0", "stable", "web.v1.0.0", &[]);
        let next = entry("1.3.0", "stable", "web.v1.2.0", &["web.v1.1.0"]);
        let case = Case {
            asked: &asked,
            installed: Some(&installed),
            next: Some(&next),
        };
        let said = |entry: &Entry| judge(&case, entry).verdict;
        for (entry, expected) in [
            (
                entry("1.3.0", "stable", "web.v1.2.0", &["web.v1.1.0"]),
                "comes next, it skips web.v1.1.0",
            ),
            (
                entry("1.2.0", "stable", "web.v1.1.0", &[]),
                "could follow, but a later one does",
            ),
            (entry("1.1.0", "stable", "", &[]), "installed"),
            (
                entry("1.0.0", "stable", "", &[]),
                "no: it is older than web.v1.1.0",
            ),
            (
                entry("2.0.0", "stable", "web.v1.9.0", &[]),
                "no: no way leads to it from web.v1.1.0: it replaces web.v1.9.0",
            ),
            (
                entry("2.0.0", "fast", "", &[]),
                "no: it is in another channel than stable",
            ),
        ] {
            assert_eq!(said(&entry), expected, "{}", entry.name);
        }
        let elsewhere = Asking {
            catalog: CatalogKey::new("ns", "own"),
            ..asking()
        };
        let judged = judge(
            &Case {
                asked: &elsewhere,
                ..case
            },
            &next_in_other(),
        );
        assert_eq!(judged.verdict, "no: it is in another catalog than ns/own");
    }

    fn next_in_other() -> Entry {
        entry("1.4.0", "stable", "web.v1.3.0", &[])
    }

    #[test]
    fn a_new_subscription_begins_at_the_end_of_its_channel_or_where_it_says() {
        let (old, head) = (
            entry("1.0.0", "stable", "", &[]),
            entry("1.1.0", "stable", "web.v1.0.0", &[]),
        );
        let asked = asking();
        let case = Case {
            asked: &asked,
            installed: None,
            next: Some(&head),
        };
        assert_eq!(
            judge(&case, &head).verdict,
            "comes next, it is at the end of channel stable"
        );
        assert_eq!(judge(&case, &old).verdict, "no: web.v1.1.0 is preferred");
        let asked = Asking {
            starting_csv: "web.v1.0.0".to_owned(),
            ..asking()
        };
        let case = Case {
            asked: &asked,
            installed: None,
            next: Some(&old),
        };
        assert_eq!(
            judge(&case, &old).verdict,
            "comes next, spec.startingCSV asks for it"
        );
        assert_eq!(
            judge(&case, &head).verdict,
            "no: spec.startingCSV says to begin with web.v1.0.0"
        );
    }

    #[test]
    fn what_comes_next_depends_on_the_namespace_too() {
        let asked = asking();
        let installed = entry("1.1.0", "stable", "", &[]);
        let empty = Case {
            asked: &asked,
            installed: None,
            next: None,
        };
        assert!(next(&empty, false, 0).starts_with("nothing: the namespace has no OperatorGroup"));
        assert!(next(&empty, false, 2).starts_with("nothing: the namespace has 2 OperatorGroups"));
        assert_eq!(next(&empty, true, 1), "nothing can be installed");
        let stays = Case {
            installed: Some(&installed),
            ..empty
        };
        assert_eq!(
            next(&stays, false, 1),
            "web.v1.1.0 stays: nothing in its channel follows it"
        );
        let goes = Case {
            next: Some(&installed),
            ..empty
        };
        assert_eq!(next(&goes, false, 1), "web.v1.1.0 is to be installed");
        let before = entry("1.0.0", "stable", "", &[]);
        let follows = Case {
            installed: Some(&before),
            ..goes
        };
        assert_eq!(
            next(&follows, false, 1),
            "web.v1.1.0 takes the place of web.v1.0.0"
        );
    }

    #[test]
    fn the_newest_stands_first() {
        let asked = asking();
        let case = Case {
            asked: &asked,
            installed: None,
            next: None,
        };
        let mut judged: Vec<Judged> = ["1.2.0", "1.10.0", "1.9.0"]
            .iter()
            .map(|version| judge(&case, &entry(version, "stable", "", &[])))
            .collect();
        order(&mut judged);
        let versions: Vec<&str> = judged.iter().map(|one| one.version.as_str()).collect();
        assert_eq!(versions, ["1.10.0", "1.9.0", "1.2.0"]);
    }
}
