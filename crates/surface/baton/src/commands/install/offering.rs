//! Whether the catalogs have what is asked for: looked up before anything is made or changed, since a typo would wait for ever.

use std::time::Duration;

use api::cluster_catalog::AvailabilityMode;
use api::{ClusterCatalog, ClusterExtension};
use catalog::nearest::did_you_mean;
use extension_controller::catalogs::Catalogs as _;
use extension_controller::observing::{labels_of, selection};
use extension_controller::snapshot::request;
use kube::api::{Api, ListParams};
use resolve::package::{Package, Releases};
use resolve::request::Request;
use resolve::resolution::preference;
use resolve::search::version_text;

use crate::cluster::{is_forbidden, refused};
use crate::failure::Failure;
use crate::observed_cluster::{self, ObservationFlags};
use crate::terminal::Terminal;

/// How long one catalog may take to be fetched: whoever is far from a large one needn't wait for a look that isn't needed.
const READ_WITHIN: Duration = Duration::from_secs(30);

/// How many versions a message names; `baton catalog list bundles` names them all.
const MOST_VERSIONS: usize = 5;

/// What was read of a catalog.
struct Offering {
    catalog: String,
    /// The names of all its packages.
    packages: Vec<String>,
    /// The package that is asked for.
    package: Option<Package>,
}

/// Fails where no catalog that the extension selects has what it asks for, with what was probably meant.
pub(in crate::commands) async fn check(
    extension: &ClusterExtension,
    observation: &ObservationFlags,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    // What is no range is refused by the API server, in its own words.
    let Ok(request) = request(extension, None) else {
        return Ok(());
    };
    let selection = selection(extension).map_err(Failure::new)?;
    let catalogs: Api<ClusterCatalog> = Api::all(observation.access.connect().await?);
    let listed = match catalogs.list(&ListParams::default()).await {
        Ok(listed) => listed.items,
        // Whoever may not look at catalogs may still install from them.
        Err(error) if is_forbidden(&error) => return Ok(()),
        Err(error) => return Err(refused(&format!("look for package {:?}", request.package), error)),
    };
    let selected: Vec<&ClusterCatalog> = listed
        .iter()
        .filter(|catalog| selection.includes(&labels_of(catalog)))
        .filter(|catalog| catalog.spec.availability_mode == AvailabilityMode::Available)
        .collect();
    if selected.is_empty() {
        return Err(Failure::new(format!(
            "no catalog can have package {:?}: {}",
            request.package,
            if listed.is_empty() {
                "there is no ClusterCatalog; `baton catalog add` adds one"
            } else {
                "the ClusterCatalogs are out of service (spec.availabilityMode), see `baton catalog list`"
            }
        )));
    }
    let (read, unread) = offerings(&selected, &request.package, observation, terminal).await;
    let Some(cause) = missing(&request, &read) else {
        return Ok(());
    };
    if unread.is_empty() {
        return Err(Failure::new(cause));
    }
    // One that can't be read may have it.
    for reason in unread {
        terminal.remark(format!(
            "{reason}; so it isn't known whether {:?} is there",
            request.package
        ));
    }
    Ok(())
}

/// Reads catalogs; the second list says why others can't be read.
async fn offerings(
    selected: &[&ClusterCatalog],
    package: &str,
    observation: &ObservationFlags,
    terminal: &Terminal,
) -> (Vec<Offering>, Vec<String>) {
    let content = match observed_cluster::open(observation, terminal).await {
        Ok(origins) => origins.catalogs,
        Err(failure) => return (Vec::new(), vec![failure.text()]),
    };
    let (mut read, mut unread) = (Vec::new(), Vec::new());
    for catalog in selected {
        let name = catalog.name();
        let store = match tokio::time::timeout(READ_WITHIN, content.content(catalog)).await {
            Ok(Ok(store)) => store,
            Ok(Err(error)) => {
                unread.push(error.to_string());
                continue;
            }
            Err(_) => {
                let seconds = READ_WITHIN.as_secs();
                unread.push(format!("catalog {name} can't be read within {seconds} s"));
                continue;
            }
        };
        match Package::read(&store, package, Releases::Stated) {
            Ok(found) => read.push(Offering {
                catalog: name.to_owned(),
                packages: store.packages().map(|meta| meta.name().to_owned()).collect(),
                package: found,
            }),
            Err(error) => unread.push(format!("catalog {name}: {error}")),
        }
    }
    (read, unread)
}

/// Says what of a request no catalog has, and what was probably meant; none where one has all of it.
fn missing(request: &Request, read: &[Offering]) -> Option<String> {
    let packages: Vec<&Package> = read
        .iter()
        .filter_map(|offering| offering.package.as_ref())
        .collect();
    if packages.is_empty() {
        return Some(no_package(&request.package, read));
    }
    no_channel(request, &packages).or_else(|| no_version(request, &packages))
}

fn no_package(package: &str, read: &[Offering]) -> String {
    let catalogs: Vec<&str> = read.iter().map(|offering| offering.catalog.as_str()).collect();
    let known = read.iter().flat_map(|offering| &offering.packages);
    let hint = did_you_mean(package, known.map(String::as_str))
        .unwrap_or_else(|| "`baton catalog search` shows what there is".to_owned());
    format!(
        "no catalog has a package {package:?} (looked at {}); {hint}",
        catalogs.join(", ")
    )
}

fn no_channel(request: &Request, packages: &[&Package]) -> Option<String> {
    let mut known: Vec<&str> = packages
        .iter()
        .flat_map(|package| &package.channels)
        .map(|channel| channel.name.as_str())
        .collect();
    known.sort_unstable();
    known.dedup();
    let asked = &request.channels;
    if asked.is_empty() || asked.iter().any(|asked| known.contains(&asked.as_str())) {
        return None;
    }
    let mut hints = asked
        .iter()
        .filter_map(|asked| did_you_mean(asked, known.iter().copied()));
    let hint = hints
        .next()
        .map_or_else(|| ".".to_owned(), |hint| format!("; {hint}"));
    Some(format!(
        "package {:?} has no channel {}{hint} It has {}",
        request.package,
        asked.join(" or "),
        known.join(", ")
    ))
}

fn no_version(request: &Request, packages: &[&Package]) -> Option<String> {
    let wish = request.version.as_ref()?;
    let mut in_channels = Vec::new();
    for package in packages {
        let is_asked_for = |channel: &str| {
            request.channels.is_empty() || request.channels.iter().any(|asked| asked == channel)
        };
        let mut bundles: Vec<_> = package
            .bundles
            .iter()
            .filter(|bundle| {
                let mut channels = package.channels_with(&bundle.name);
                request.channels.is_empty() || channels.any(is_asked_for)
            })
            .collect();
        bundles.sort_by(|one, other| preference(package, one, other));
        in_channels.extend(bundles);
    }
    let is_in_range = |version: &version::Version| wish.constraint.check(version);
    let mut versions = in_channels
        .iter()
        .filter_map(|bundle| bundle.version.as_ref().ok());
    if versions.any(|version| is_in_range(&version.version)) {
        return None;
    }
    let mut texts: Vec<String> = in_channels.iter().map(|bundle| version_text(bundle)).collect();
    texts.dedup();
    let more = texts.len().saturating_sub(MOST_VERSIONS);
    texts.truncate(MOST_VERSIONS);
    let channels = if request.channels.is_empty() {
        String::new()
    } else {
        format!(" in channel {}", request.channels.join(" or "))
    };
    let there = match (texts.as_slice(), more) {
        ([], _) => "it has none".to_owned(),
        (texts, 0) => format!("it has {}", texts.join(", ")),
        (texts, more) => format!("it has {} and {more} older ones", texts.join(", ")),
    };
    Some(format!(
        "no version of package {:?}{channels} is in {:?}; {there}",
        request.package, wish.text
    ))
}

#[cfg(test)]
mod tests {
    use resolve::request::{UpgradePolicy, VersionWish};
    use serde_json::{Value, json};

    use super::*;

    fn package(channels: &[(&str, &[&str])]) -> Package {
        let mut package = Package {
            name: "web".to_owned(),
            ..Package::default()
        };
        let mut add = |schema: &str, name: &str, object: Value| {
            let blob = serde_json::to_vec(&object).expect("JSON");
            package
                .add(schema, name, &blob, Releases::Stated)
                .expect("an object");
        };
        for (channel, versions) in channels {
            let entries: Vec<Value> = versions
                .iter()
                .map(|version| json!({"name": format!("web.v{version}")}))
                .collect();
            add(
                "olm.channel",
                channel,
                json!({"schema": "olm.channel", "name": channel, "package": "web", "entries": entries}),
            );
            for version in *versions {
                let name = format!("web.v{version}");
                add(
                    "olm.bundle",
                    &name,
                    json!({"schema": "olm.bundle", "name": name, "package": "web", "image": "i", "properties": [
                        {"type": "olm.package", "value": {"packageName": "web", "version": version}},
                    ]}),
                );
            }
        }
        package
    }

    fn asked(package: &str, channels: &[&str], version: &str) -> Request {
        Request {
            package: package.to_owned(),
            version: VersionWish::parse(version).expect("a range"),
            channels: channels.iter().map(|channel| (*channel).to_owned()).collect(),
            policy: UpgradePolicy::CatalogProvided,
            installed: None,
        }
    }

    fn offering(catalog: &str, package: Option<Package>) -> Offering {
        Offering {
            catalog: catalog.to_owned(),
            packages: ["web", "webhook-operator", "cert-manager"]
                .map(str::to_owned)
                .to_vec(),
            package,
        }
    }

    #[test]
    fn a_typo_is_told_with_what_was_meant() {
        let has = |channels: &[(&str, &[&str])]| offering("main", Some(package(channels)));
        let two = [("stable", &["1.0.0", "1.1.0"] as &[&str]), ("edge", &["2.0.0"])];
        let many = [(
            "stable",
            &["1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0", "1.6.0"] as &[&str],
        )];
        let lacks = || offering("main", None);
        for (request, read, expected) in [
            (asked("web", &[], ""), vec![has(&two)], None),
            (asked("web", &["stable"], ">=1.1"), vec![has(&two)], None),
            (asked("web", &["none", "edge"], "2.0.0"), vec![has(&two)], None),
            // One catalog that has it is enough.
            (
                asked("web", &[], "2.0.0"),
                vec![lacks(), offering("other", Some(package(&two)))],
                None,
            ),
            (
                asked("webb", &[], ""),
                vec![lacks(), offering("other", None)],
                Some("no catalog has a package \"webb\" (looked at main, other); did you mean \"web\"?"),
            ),
            (
                asked("strimzi", &[], ""),
                vec![lacks()],
                Some(
                    "no catalog has a package \"strimzi\" (looked at main); `baton catalog search` shows what there is",
                ),
            ),
            (
                asked("web", &["stabel"], ""),
                vec![has(&two)],
                Some("package \"web\" has no channel stabel; did you mean \"stable\"? It has edge, stable"),
            ),
            (
                asked("web", &["alpha", "candidate"], ""),
                vec![has(&two)],
                Some("package \"web\" has no channel alpha or candidate. It has edge, stable"),
            ),
            (
                asked("web", &["stable"], "2.0.0"),
                vec![has(&two)],
                Some("no version of package \"web\" in channel stable is in \"2.0.0\"; it has 1.1.0, 1.0.0"),
            ),
            (
                asked("web", &[], "3.x"),
                vec![has(&many)],
                Some(
                    "no version of package \"web\" is in \"3.x\"; it has 1.6.0, 1.5.0, 1.4.0, 1.3.0, 1.2.0 and 2 older ones",
                ),
            ),
        ] {
            assert_eq!(missing(&request, &read).as_deref(), expected, "{request:?}");
        }
    }
}
