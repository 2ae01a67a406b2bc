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
use crate::graph::{Graph, draw};
use crate::marks::{Empty, Pill, Tone};
use crate::page::{Page, Section, Visit, path, shown};
use crate::paging::{Paging, ROWS};
use crate::parameters::Parameters;

/// How many catalogs are searched; clusters have a handful.
const MOST_CATALOGS: usize = 50;

/// How much of a description a row shows.
const LONGEST_SUMMARY: usize = 160;

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
    is_default: bool,
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
    let installed = installers(&extensions, &name)
        .find_map(|extension| extension.status.install.as_ref())
        .map(|install| Installed {
            name: install.bundle.name.clone(),
            version: install.bundle.version.clone(),
            release: install.bundle.release.clone(),
        });
    let chosen = chosen_channel(&package, visit.parameters.filled("channel"), &hit.default_channel);
    let here = path(["packages", &catalog, &name]);
    let tabs = package.channels.iter().map(|channel| ChannelTab {
        href: format!(
            "{here}{}",
            Parameters::default().with("channel", &*channel.name).to_query()
        ),
        is_shown: chosen.is_some_and(|chosen| chosen.name == channel.name),
        is_default: channel.name == hit.default_channel,
        name: channel.name.clone(),
    });
    let mut tabs: Vec<ChannelTab> = tabs.collect();
    tabs.sort_by(|one, other| (!one.is_default, &one.name).cmp(&(!other.is_default, &other.name)));
    let graph = chosen.map(|channel| Graph::of(&package, channel, installed.as_ref()));
    let graph = graph.unwrap_or_default();
    let drawing = draw(&graph);
    let versions = chosen.map(|channel| versions(&package, channel, installed.as_ref()));
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

/// The channel that is shown: the asked one, the default one, or the first.
fn chosen_channel<'a>(
    package: &'a Package,
    asked: Option<&str>,
    default: &str,
) -> Option<&'a PackageChannel> {
    let named = |name: &str| package.channels.iter().find(|channel| channel.name == name);
    asked
        .and_then(named)
        .or_else(|| named(default))
        .or_else(|| package.channels.first())
}

/// The versions of a channel, the newest first, with what each follows.
fn versions(package: &Package, channel: &PackageChannel, installed: Option<&Installed>) -> Vec<VersionRow> {
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
        let mut pills = Vec::new();
        if installed.is_some_and(|installed| installed.name == bundle.name) {
            pills.push(Pill::new(Tone::Good, "Installed"));
        }
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
    use super::*;

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
