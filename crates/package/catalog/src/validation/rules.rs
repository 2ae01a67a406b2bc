//! The rules for what has its place in the model; everything that breaks one is told.

use std::collections::{BTreeMap, BTreeSet};

use gotemplate::format::quoted;
use version::Range;

use super::chain;
use super::model::{Channel, Entry, Model, Package};
use super::tree::Problem;

/// Returns everything that is wrong with a catalog.
pub(super) fn check(model: &Model<'_>) -> Option<Problem> {
    let problems = model
        .packages
        .iter()
        .filter_map(|(name, package)| check_package(name, package))
        .collect();
    Problem::of(|| "invalid index".to_owned(), problems)
}

fn check_package(name: &str, package: &Package<'_>) -> Option<Problem> {
    let mut problems = Vec::new();
    if package.default_channel.is_empty() {
        problems.push(Problem::leaf("default channel must be set"));
    }
    if package.channels.is_empty() {
        problems.push(Problem::leaf("package must contain at least one channel"));
    }
    for (channel_name, channel) in &package.channels {
        problems.extend(check_channel(name, channel_name, channel));
    }
    problems.extend(check_versions(package));
    problems.extend(check_deprecation(package.deprecation));
    Problem::of(|| format!("invalid package {}", quoted(name)), problems)
}

fn check_deprecation(message: Option<&str>) -> Option<Problem> {
    (message == Some("")).then(|| Problem::leaf("invalid deprecation: message must be set"))
}

/// Two bundles of a package must not have the same version, whatever channels they are in.
fn check_versions(package: &Package<'_>) -> Option<Problem> {
    let mut names_by_version: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for channel in package.channels.values() {
        for (name, entry) in &channel.entries {
            let version = match &entry.bundle {
                Some((_, version)) => version.text(),
                None => "0.0.0".to_owned(),
            };
            names_by_version.entry(version).or_default().insert(name);
        }
    }
    let repeated: Vec<String> = names_by_version
        .iter()
        .filter(|(_, names)| names.len() > 1)
        .map(|(version, names)| {
            let names: Vec<&str> = names.iter().copied().collect();
            format!("{{{version}: [{}]}}", names.join(", "))
        })
        .collect();
    (!repeated.is_empty()).then(|| {
        Problem::leaf(format!(
            "duplicate versions found in bundles: [{}]",
            repeated.join(" ")
        ))
    })
}

fn check_channel(package: &str, name: &str, channel: &Channel<'_>) -> Option<Problem> {
    let mut problems = Vec::new();
    if channel.entries.is_empty() {
        problems.push(Problem::leaf("channel must contain at least one bundle"));
    } else if let Err(error) = chain::check(channel.entries.values().map(|entry| entry.stated)) {
        problems.push(Problem::leaf(error));
    }
    for (name, entry) in &channel.entries {
        problems.extend(check_entry(package, name, entry));
    }
    problems.extend(check_deprecation(channel.deprecation));
    Problem::of(|| format!("invalid channel {}", quoted(name)), problems)
}

fn check_entry(package: &str, name: &str, entry: &Entry<'_>) -> Option<Problem> {
    let mut problems = Vec::new();
    if name.is_empty() {
        problems.push(Problem::leaf("name must be set"));
    }
    if let Some((_, version)) = &entry.bundle
        && !version.release.is_empty()
    {
        let normalized = format!("{package}-v{}", version.text());
        if name != normalized {
            problems.push(Problem::leaf(format!(
                "name {} does not match normalized name {}",
                quoted(name),
                quoted(normalized)
            )));
        }
    }
    for (index, skip) in entry.stated.skips.iter().enumerate() {
        if skip.is_empty() {
            problems.push(Problem::leaf(format!("skip[{index}] is empty")));
        }
    }
    let skip_range = &entry.stated.skip_range;
    if !skip_range.is_empty()
        && let Err(error) = Range::parse(skip_range)
    {
        problems.push(Problem::leaf(format!(
            "invalid skipRange {}: {error}",
            quoted(skip_range)
        )));
    }
    match &entry.bundle {
        None => {
            problems.push(Problem::leaf(
                r#"must be exactly one property with type "olm.package""#,
            ));
            problems.push(Problem::leaf("bundle image must be set"));
        }
        Some((bundle, _)) if !bundle.has_image && !bundle.has_objects => {
            problems.push(Problem::leaf("bundle image must be set"));
        }
        Some(_) => {}
    }
    problems.extend(check_deprecation(entry.deprecation));
    if let Some((_, version)) = &entry.bundle
        && !version.version.build().is_empty()
        && !version.release.is_empty()
    {
        problems.push(Problem::leaf(
            "cannot use build metadata in version with a release version",
        ));
    }
    Problem::of(|| format!("invalid bundle {}", quoted(name)), problems)
}
