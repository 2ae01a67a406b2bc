//! The pages of packages: what catalogs have, and the channels of one package.

use std::sync::Arc;

use api::ClusterExtension;
use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use catalog::store::Store;
use resolve::package::{Package, PackageChannel, Releases};
use resolve::request::Installed;
use resolve::search::{Hit, hits, latest, version_text};

use crate::catalogs::{content, named};
use crate::conditions::shortened;
use crate::console::Console;
use crate::fault::Fault;
use crate::graph::{Graph, Holding, draw};
use crate::marks::{Empty, Pill, Tone};
use crate::page::{Page, Section, Visit, path, shown};
use crate::paging::{Paging, ROWS};
use crate::parameters::Parameters;

/// How many catalogs are searched; clusters have a handful.
const MOST_CATALOGS: usize = 50;

/// How much of a description a row shows.
const LONGEST_SUMMARY: usize = 160;

/// How many extensions are named that have the same version.
const MOST_HOLDERS: usize = 20;

/// A row of the table of packages.
pub(crate) struct PackageRow {
    pub(crate) href: String,
    pub(crate) package: String,
    pub(crate) catalog: String,
    pub(crate) summary: String,
    pub(crate) latest: String,
    pub(crate) default_channel: String,
    /// The extensions that install it, each with the address of its page.
    pub(crate) installed: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "packages.html")]
struct PackagesPage {
    page: Page,
    packages: Vec<PackageRow>,
    paging: Paging,
    text: String,
    /// Catalogs that could not be searched, and why.
    unreadable: Vec<(String, String)>,
    empty: Empty,
}

/// A tab that shows a channel.
struct ChannelTab {
    href: String,
    name: String,
    is_shown: bool,
    /// What is special about it, in words.
    hint: &'static str,
}

/// A row of the table of versions.
struct VersionRow {
    version: String,
    bundle: String,
    follows: Vec<String>,
    pills: Vec<Pill>,
    message: String,
}

/// An extension that installs the package.
struct Installer {
    href: String,
    name: String,
    version: String,
    pill: Pill,
}

#[derive(Template)]
#[template(path = "package.html")]
struct PackagePage {
    page: Page,
    package: String,
    catalog: String,
    catalog_href: String,
    description: String,
    channels: Vec<ChannelTab>,
    channel: String,
    svg: String,
    words: String,
    hidden: usize,
    left_out: usize,
    versions: Vec<VersionRow>,
    paging: Paging,
    installers: Vec<Installer>,
    command: String,
    empty: Empty,
}

/// Searches all catalogs.
pub(crate) async fn search(State(console): State<Arc<Console>>, visit: Visit) -> Result<Response, Fault> {
    console.wait_filled().await;
    let text = visit.parameters.search();
    let catalogs = console.insight.index().catalogs();
    let (mut stores, mut unreadable) = (Vec::new(), Vec::new());
    for catalog in catalogs.iter().take(MOST_CATALOGS) {
        match content(&console, catalog).await {
            Ok(store) => stores.push((catalog.name().to_owned(), store)),
            Err(cause) => unreadable.push((catalog.name().to_owned(), cause)),
        }
    }
    let (packages, paging) = find(&console, &stores, &text, &visit.parameters)
        .await
        .map_err(|cause| Fault::unanswered("search the catalogs", cause))?;
    let empty = match (text.is_empty(), catalogs.is_empty()) {
        (_, true) => Empty::new(
            "Nothing to search yet",
            "Packages come from catalogs. Add one to begin.",
        )
        .command("baton catalog add NAME IMAGE"),
        (false, false) => Empty::new(
            "No such package",
            "No package has this in its name or description. Try a shorter word.",
        ),
        (true, false) => Empty::new("No package", "The catalogs that are served have no packages."),
    };
    shown(&PackagesPage {
        page: visit
            .page("Packages", Section::Packages)
            .following(["catalogs", "extensions"]),
        packages,
        paging,
        text,
        unreadable,
        empty,
    })
}

/// Finds packages by name or description, and reads what the rows of the page show of them.
pub(crate) async fn find(
    console: &Console,
    stores: &[(String, Arc<Store>)],
    text: &str,
    parameters: &Parameters,
) -> Result<(Vec<PackageRow>, Paging), String> {
    let (stores, text, parameters) = (stores.to_vec(), text.to_owned(), parameters.clone());
    // Catalogs are mapped files: reading them may wait for the disk.
    let reading = tokio::task::spawn_blocking(move || {
        let mut found: Vec<(Hit, String, Arc<Store>)> = Vec::new();
        for (catalog, store) in &stores {
            let hits = hits(store, &text).map_err(|error| format!("catalog {catalog:?}: {error}"))?;
            found.extend(
                hits.into_iter()
                    .map(|hit| (hit, catalog.clone(), Arc::clone(store))),
            );
        }
        // A name that begins with the text is what most people mean.
        let text = text.to_lowercase();
        found.sort_by(|(one, one_catalog, _), (other, other_catalog, _)| {
            let rank = |hit: &Hit| (!hit.package.starts_with(&text), !hit.package.contains(&text));
            (rank(one), &one.package, one_catalog).cmp(&(rank(other), &other.package, other_catalog))
        });
        let (found, paging) = Paging::take(found, &parameters);
        let rows = found.into_iter().map(|(hit, catalog, store)| {
            let package = Package::read(&store, &hit.package, Releases::Stated)
                .ok()
                .flatten();
            PackageRow {
                href: path(["packages", &catalog, &hit.package]),
                summary: summary(&hit.description),
                latest: package.as_ref().map(latest).unwrap_or_default(),
                package: hit.package,
                catalog,
                default_channel: hit.default_channel,
                installed: Vec::new(),
            }
        });
        Ok::<_, String>((rows.collect::<Vec<_>>(), paging))
    });
    let (mut rows, paging) = reading.await.map_err(|error| error.to_string())??;
    let extensions = console.insight.index().extensions();
    for row in &mut rows {
        let installers = installers(&extensions, &row.package);
        row.installed = installers
            .map(|extension| {
                (
                    extension.name().to_owned(),
                    path(["extensions", extension.name()]),
                )
            })
            .collect();
    }
    Ok((rows, paging))
}

/// The first sentence or so of a description.
fn summary(description: &str) -> String {
    let line = description
        .lines()
        .map(|line| line.trim_start_matches(['#', '*', ' ']).trim())
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    match line.char_indices().nth(LONGEST_SUMMARY) {
        None => line.to_owned(),
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default().trim_end()),
    }
}

/// A description without the marks of headings, which mean nothing on this page.
fn plain(description: &str) -> String {
    let lines = description
        .trim()
        .lines()
        .map(|line| line.trim_start_matches('#').trim());
    lines.collect::<Vec<_>>().join("\n")
}

/// The extensions that install a package.
fn installers<'a>(
    extensions: &'a [Arc<ClusterExtension>],
    package: &'a str,
) -> impl Iterator<Item = &'a Arc<ClusterExtension>> {
    extensions.iter().filter(move |extension| {
        let filter = extension.spec.source.catalog.as_ref();
        filter.is_some_and(|filter| filter.package_name == package)
    })
}

/// Shows one package of one catalog.
pub(crate) async fn one(
    State(console): State<Arc<Console>>,
    Path((catalog, name)): Path<(String, String)>,
    visit: Visit,
) -> Result<Response, Fault> {
    console.wait_filled().await;
    let served = named(&console, &catalog)?;
    let store = content(&console, &served)
        .await
        .map_err(|cause| Fault::unanswered(&format!("read catalog {catalog:?}"), cause))?;
    let wanted = name.clone();
    let reading = tokio::task::spawn_blocking(move || {
        let package = Package::read(&store, &wanted, Releases::Stated)?;
        // Of all packages, since the catalog finds objects by their package only.
        let hit = hits(&store, &wanted)?
            .into_iter()
            .find(|hit| hit.package == wanted);
        Ok::<_, resolve::package::PackageError>(package.zip(hit))
    });
    let read = reading
        .await
        .map_err(|error| Fault::unanswered(&format!("read package {name:?}"), error))?
        .map_err(|error| Fault::unanswered(&format!("read package {name:?}"), error))?;
    let Some((package, hit)) = read else {
        return Err(Fault::not_found(format!(
            "catalog {catalog:?} has no package {name:?}; search for it in all catalogs"
        )));
    };
    let extensions = console.insight.index().extensions();
    let followers: Vec<&ClusterExtension> = installers(&extensions, &name).map(AsRef::as_ref).collect();
    let holdings: Vec<Holding> = followers.iter().filter_map(|one| holding(one)).collect();
    let chosen = chosen_channel(
        &package,
        visit.parameters.filled("channel"),
        &followers,
        &hit.default_channel,
    );
    let here = path(["packages", &catalog, &name]);
    let mut channels: Vec<&PackageChannel> = package.channels.iter().collect();
    channels.sort_by_key(|channel| (channel.name != hit.default_channel, &channel.name));
    let tabs = channels.into_iter().map(|channel| {
        let is_followed = followers
            .iter()
            .any(|follower| wanted_channels(follower).contains(&channel.name));
        ChannelTab {
            href: format!(
                "{here}{}",
                Parameters::default().with("channel", &*channel.name).to_query()
            ),
            is_shown: chosen.is_some_and(|chosen| chosen.name == channel.name),
            hint: match (channel.name == hit.default_channel, is_followed) {
                (true, true) => "default, followed",
                (true, false) => "default",
                (false, true) => "followed",
                (false, false) => "",
            },
            name: channel.name.clone(),
        }
    });
    let tabs: Vec<ChannelTab> = tabs.collect();
    let graph = chosen.map(|channel| Graph::of(&package, channel, &holdings));
    let graph = graph.unwrap_or_default();
    let drawing = draw(&graph);
    let versions = chosen.map(|channel| versions(&package, channel, &holdings));
    let (versions, paging) = Paging::take(versions.unwrap_or_default(), &visit.parameters);
    let channel = chosen.map(|channel| channel.name.clone()).unwrap_or_default();
    let installers = installers(&extensions, &name).map(|extension| Installer {
        href: path(["extensions", extension.name()]),
        name: extension.name().to_owned(),
        version: extension
            .status
            .install
            .as_ref()
            .map(|install| install.bundle.version.clone())
            .unwrap_or_default(),
        pill: crate::conditions::of_extension(extension),
    });
    shown(&PackagePage {
        page: visit
            .page(name.clone(), Section::Packages)
            .following([format!("catalogs/{catalog}").as_str(), "extensions"]),
        catalog_href: path(["catalogs", &catalog]),
        description: shortened(&plain(&hit.description)),
        channels: tabs,
        words: graph.words(),
        hidden: graph.hidden,
        left_out: drawing.left_out,
        svg: drawing.svg,
        versions,
        paging,
        installers: installers.take(ROWS).collect(),
        command: format!("baton install {name} --channel {channel}"),
        empty: Empty::new(
            "No channel",
            "This package has no channel, so that nothing of it can be followed.",
        ),
        package: name,
        catalog,
        channel,
    })
}

/// What an extension has installed, if anything.
fn holding(extension: &ClusterExtension) -> Option<Holding> {
    let bundle = &extension.status.install.as_ref()?.bundle;
    Some(Holding {
        extension: extension.name().to_owned(),
        bundle: Installed {
            name: bundle.name.clone(),
            version: bundle.version.clone(),
            release: bundle.release.clone(),
        },
    })
}

/// The channels that an extension may follow; none for all.
fn wanted_channels(extension: &ClusterExtension) -> &[String] {
    let filter = extension.spec.source.catalog.as_ref();
    filter.map_or(&[], |filter| filter.channels.as_slice())
}

/// The channel that is shown: the asked one, the one that is followed, the default one, or the first.
fn chosen_channel<'a>(
    package: &'a Package,
    asked: Option<&str>,
    followers: &[&ClusterExtension],
    default: &str,
) -> Option<&'a PackageChannel> {
    let named = |name: &str| package.channels.iter().find(|channel| channel.name == name);
    asked
        .and_then(named)
        .or_else(|| {
            followers
                .iter()
                .find_map(|follower| followed_channel(package, follower, default))
        })
        .or_else(|| named(default))
        .or_else(|| package.channels.first())
}

/// The channel that an extension follows: of those that it may follow, one that has what it installed, the default one before
/// others; before it has installed anything, the first that it asks for. None if it may follow all and has nothing.
fn followed_channel<'a>(
    package: &'a Package,
    extension: &ClusterExtension,
    default: &str,
) -> Option<&'a PackageChannel> {
    let wanted = wanted_channels(extension);
    let installed = holding(extension).map(|holding| holding.bundle.name);
    let has_it = |channel: &&PackageChannel| {
        (wanted.is_empty() || wanted.contains(&channel.name))
            && installed
                .as_ref()
                .is_some_and(|installed| channel.entry(installed).is_some())
    };
    let holding = || package.channels.iter().filter(has_it);
    holding()
        .find(|channel| channel.name == default)
        .or_else(|| holding().next())
        .or_else(|| {
            wanted
                .iter()
                .find_map(|name| package.channels.iter().find(|channel| channel.name == *name))
        })
}

/// The versions of a channel, the newest first, with what each follows and who has it.
fn versions(package: &Package, channel: &PackageChannel, holdings: &[Holding]) -> Vec<VersionRow> {
    let mut bundles: Vec<_> = package
        .bundles
        .iter()
        .filter(|bundle| channel.entry(&bundle.name).is_some())
        .collect();
    bundles.sort_by(|one, other| resolve::resolution::preference(&Package::default(), one, other));
    let version_of = |name: &str| match package.bundle(name).map(version_text) {
        Some(version) if !version.is_empty() => version,
        _ => name.to_owned(),
    };
    let rows = bundles.into_iter().map(|bundle| {
        let mut follows = Vec::new();
        if let Some(entry) = channel.entry(&bundle.name) {
            if !entry.replaces.is_empty() {
                follows.push(format!("replaces {}", version_of(&entry.replaces)));
            }
            if !entry.skips.is_empty() {
                let skips: Vec<String> = entry.skips.iter().map(|name| version_of(name)).collect();
                follows.push(shortened(&format!("skips {}", skips.join(", "))));
            }
            if let Some(range) = &entry.skip_range {
                follows.push(format!("skips the range {range}"));
            }
        }
        let deprecation = package
            .deprecations
            .iter()
            .flat_map(|all| &all.0)
            .find(|entry| entry.reference.schema == "olm.bundle" && entry.reference.name == bundle.name);
        let holders = holdings
            .iter()
            .filter(|holding| holding.bundle.name == bundle.name)
            .take(MOST_HOLDERS);
        let mut pills: Vec<Pill> = holders
            .map(|holder| match holdings {
                [_] => Pill::new(Tone::Good, "Installed"),
                _ => Pill::new(Tone::Good, format!("Installed by {}", holder.extension)),
            })
            .collect();
        if deprecation.is_some() {
            pills.push(Pill::new(Tone::Warning, "Deprecated"));
        }
        VersionRow {
            version: version_of(&bundle.name),
            bundle: bundle.name.clone(),
            follows,
            pills,
            message: deprecation
                .map(|entry| shortened(&entry.message))
                .unwrap_or_default(),
        }
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    fn package(channels: &[(&str, &[&str])]) -> Package {
        let mut package = Package {
            name: "web".to_owned(),
            ..Package::default()
        };
        for (channel, versions) in channels {
            let entries: Vec<_> = versions
                .iter()
                .map(|version| json!({"name": format!("web.v{version}")}))
                .collect();
            let object = json!({"package": "web", "name": channel, "entries": entries}).to_string();
            package
                .add("olm.channel", channel, object.as_bytes(), Releases::Stated)
                .expect("a channel");
        }
        package
    }

    fn extension(channels: &[&str], installed: Option<&str>) -> ClusterExtension {
        let mut extension = json!({
            "metadata": {"name": "web"},
            "spec": {"namespace": "web", "source": {"sourceType": "Catalog", "catalog": {"packageName": "web", "channels": channels}}},
        });
        if let Some(version) = installed {
            extension["status"] =
                json!({"install": {"bundle": {"name": format!("web.v{version}"), "version": version}}});
        }
        from_value(extension).expect("an extension")
    }

    #[test]
    fn a_package_opens_on_the_channel_that_is_followed() {
        let package = package(&[
            ("alpha", &["1.0.0", "2.0.0"]),
            ("fast", &["1.0.0", "2.0.0"]),
            ("stable", &["1.0.0"]),
        ]);
        for (asked, followers, expected) in [
            (None, vec![], "stable"),
            (Some("fast"), vec![extension(&["stable"], Some("1.0.0"))], "fast"),
            (Some("gone"), vec![extension(&["fast"], None)], "fast"),
            (None, vec![extension(&["fast"], Some("2.0.0"))], "fast"),
            (None, vec![extension(&["fast", "alpha"], None)], "fast"),
            (None, vec![extension(&["gone", "fast"], Some("0.9.0"))], "fast"),
            (
                None,
                vec![extension(&["fast", "stable"], Some("1.0.0"))],
                "stable",
            ),
            (None, vec![extension(&[], Some("1.0.0"))], "stable"),
            (None, vec![extension(&[], Some("2.0.0"))], "alpha"),
            (
                None,
                vec![extension(&[], None), extension(&["fast"], None)],
                "fast",
            ),
            (None, vec![extension(&["gone"], None)], "stable"),
        ] {
            let followers: Vec<&ClusterExtension> = followers.iter().collect();
            let chosen = chosen_channel(&package, asked, &followers, "stable");
            assert_eq!(chosen.map(|channel| channel.name.as_str()), Some(expected));
        }
    }

    #[test]
    fn a_summary_is_the_first_line_that_says_something() {
        assert_eq!(summary("\n## Web server\n\nServes the web."), "Web server");
        assert_eq!(summary(""), "");
        let long = summary(&"ä".repeat(500));
        assert_eq!(long.chars().count(), LONGEST_SUMMARY + 1);
        assert!(long.ends_with('…'));
        assert_eq!(plain("\n# Web\n\n## Use\nNumber #1"), "Web\n\nUse\nNumber #1");
    }
}
