//! From which catalog, in which channel and with which version a Subscription begins.

use crate::offers::Offer;

/// What is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asked<'a> {
    pub(super) package: &'a str,
    pub(super) namespace: &'a str,
    pub(super) source: Option<&'a str>,
    pub(super) source_namespace: Option<&'a str>,
    pub(super) channel: Option<&'a str>,
    pub(super) starting_csv: Option<&'a str>,
    pub(super) version: Option<&'a str>,
}

/// What the Subscription says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) source: String,
    pub(super) source_namespace: String,
    pub(super) channel: String,
    pub(super) starting_csv: Option<String>,
    /// Which namespaces the operator can watch; none if that isn't known.
    pub(super) install_modes: Option<Vec<String>>,
}

/// Chooses from what the catalogs offer; what can't be chosen is said with what there is.
pub(super) fn choose(asked: &Asked<'_>, offers: &[Offer]) -> Result<Chosen, String> {
    let Asked {
        package, namespace, ..
    } = asked;
    if offers.is_empty() {
        return Err(format!(
            "no catalog that namespace {namespace:?} sees has package {package:?}; see them with `kubectl get \
             catalogsources.operators.coreos.com --all-namespaces`"
        ));
    }
    let offered: Vec<&Offer> = offers
        .iter()
        .filter(|offer| {
            asked.source.is_none_or(|source| source == offer.source)
                && asked
                    .source_namespace
                    .is_none_or(|namespace| namespace == offer.source_namespace)
        })
        .collect();
    let names =
        |offers: &mut dyn Iterator<Item = &Offer>| offers.map(Offer::catalog).collect::<Vec<_>>().join(", ");
    let offer = match offered.as_slice() {
        [offer] => *offer,
        [] => {
            return Err(format!(
                "the catalog that --source and --source-namespace name doesn't have package {package:?}; it is in {}",
                names(&mut offers.iter())
            ));
        }
        several => {
            return Err(format!(
                "package {package:?} is in several catalogs: {}; choose one with --source and --source-namespace",
                names(&mut several.iter().copied())
            ));
        }
    };
    let Some(channel) = offer.channel(asked.channel) else {
        let channels: Vec<&str> = offer
            .channels
            .iter()
            .map(|channel| channel.name.as_str())
            .collect();
        return Err(format!(
            "package {package:?} of catalog {} has no channel {:?}; it has {}",
            offer.catalog(),
            asked.channel.unwrap_or(&offer.default_channel),
            channels.join(", ")
        ));
    };
    let missing = |what: &str| {
        let versions: Vec<String> = channel
            .entries
            .iter()
            .map(|(name, version)| format!("{name} ({version})"))
            .collect();
        format!(
            "channel {:?} of package {package:?} doesn't have {what}; it has {}",
            channel.name,
            versions.join(", ")
        )
    };
    let starting_csv = match (asked.starting_csv, asked.version) {
        // Where the entries aren't listed, the controller knows better.
        (Some(name), _) if channel.entries.is_empty() || channel.entries.contains_key(name) => {
            Some(name.to_owned())
        }
        (Some(name), _) => return Err(missing(name)),
        (None, Some(version)) => {
            let mut entries = channel.entries.iter();
            let found = entries.find(|(_, offered)| *offered == version);
            let found = found.map(|(name, _)| name.clone());
            Some(found.ok_or_else(|| missing(&format!("version {version}")))?)
        }
        (None, None) => None,
    };
    Ok(Chosen {
        source: offer.source.clone(),
        source_namespace: offer.source_namespace.clone(),
        channel: channel.name.clone(),
        starting_csv,
        install_modes: channel.install_modes.clone(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::offers::OfferedChannel;

    fn offer(namespace: &str, source: &str) -> Offer {
        let channel = |name: &str, versions: &[&str]| OfferedChannel {
            name: name.to_owned(),
            head: format!("web.v{}", versions[0]),
            version: versions[0].to_owned(),
            install_modes: None,
            entries: versions
                .iter()
                .map(|version| (format!("web.v{version}"), (*version).to_owned()))
                .collect::<BTreeMap<_, _>>(),
        };
        Offer {
            package: "web".to_owned(),
            source: source.to_owned(),
            source_namespace: namespace.to_owned(),
            default_channel: "stable".to_owned(),
            channels: vec![
                channel("fast", &["2.0.0", "1.0.0"]),
                channel("stable", &["1.0.0"]),
            ],
        }
    }

    #[test]
    fn what_can_not_be_chosen_is_said_with_what_there_is() {
        let one = [offer("olm", "models")];
        let two = [offer("olm", "models"), offer("ns", "own")];
        let asked = Asked {
            package: "web",
            namespace: "ns",
            ..Asked::default()
        };
        let chosen = |source: &str, channel: &str, starting: Option<&str>| {
            Ok(format!("{source} {channel} {starting:?}"))
        };
        for (asked, offers, expected) in [
            (asked, &one[..], chosen("olm/models", "stable", None)),
            (
                Asked {
                    channel: Some("fast"),
                    version: Some("1.0.0"),
                    ..asked
                },
                &one,
                chosen("olm/models", "fast", Some("web.v1.0.0")),
            ),
            (
                Asked {
                    source: Some("own"),
                    starting_csv: Some("web.v1.0.0"),
                    ..asked
                },
                &two,
                chosen("ns/own", "stable", Some("web.v1.0.0")),
            ),
            (
                asked,
                &[],
                Err(
                    "no catalog that namespace \"ns\" sees has package \"web\"; see them with `kubectl get catalogsources.operators.coreos.com --all-namespaces`",
                ),
            ),
            (
                asked,
                &two,
                Err(
                    "package \"web\" is in several catalogs: olm/models, ns/own; choose one with --source and --source-namespace",
                ),
            ),
            (
                Asked {
                    source: Some("none"),
                    ..asked
                },
                &two,
                Err(
                    "the catalog that --source and --source-namespace name doesn't have package \"web\"; it is in olm/models, ns/own",
                ),
            ),
            (
                Asked {
                    channel: Some("slow"),
                    ..asked
                },
                &one,
                Err("package \"web\" of catalog olm/models has no channel \"slow\"; it has fast, stable"),
            ),
            (
                Asked {
                    version: Some("2.0.0"),
                    ..asked
                },
                &one,
                Err(
                    "channel \"stable\" of package \"web\" doesn't have version 2.0.0; it has web.v1.0.0 (1.0.0)",
                ),
            ),
            (
                Asked {
                    starting_csv: Some("web.v9"),
                    ..asked
                },
                &one,
                Err("channel \"stable\" of package \"web\" doesn't have web.v9; it has web.v1.0.0 (1.0.0)"),
            ),
        ] {
            let found = choose(&asked, offers).map(|chosen| {
                format!(
                    "{}/{} {} {:?}",
                    chosen.source_namespace, chosen.source, chosen.channel, chosen.starting_csv
                )
            });
            assert_eq!(found, expected.map_err(str::to_owned), "{asked:?}");
        }
    }
}
