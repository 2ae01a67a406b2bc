//! Which version follows which: the chain that an upgrade walks along.

use std::collections::{BTreeMap, BTreeSet};

use classic::World;

use crate::version::ServiceVersion;

/// Returns the version that a version follows, if it is there. None follows itself.
pub fn previous<'a>(world: &'a World, version: ServiceVersion<'_>) -> Option<ServiceVersion<'a>> {
    let replaces = version.replaces();
    if replaces.is_empty() || replaces == version.name() {
        return None;
    }
    ServiceVersion::find(world, version.namespace(), replaces)
}

/// Returns the version that follows a version; the first by name where there are several.
pub fn next<'a>(world: &'a World, version: ServiceVersion<'a>) -> Option<ServiceVersion<'a>> {
    ServiceVersion::all_in(world, version.namespace())
        .find(|other| other.name() != version.name() && other.replaces() == version.name())
}

/// Returns the names of all versions that come before or after a version, and its own.
pub fn chain<'a>(world: &'a World, version: ServiceVersion<'a>) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::from([version.name()]);
    let mut current = version.name();
    while let Some(after) =
        ServiceVersion::all_in(world, version.namespace()).find(|other| other.replaces() == current)
    {
        if !names.insert(after.name()) {
            break;
        }
        current = after.name();
    }
    let mut before = version.replaces();
    while let Some(found) =
        ServiceVersion::all_in(world, version.namespace()).find(|other| other.name() == before)
    {
        if !names.insert(found.name()) {
            break;
        }
        before = found.replaces();
    }
    names
}

/// Returns the last version of the chain that begins with a version.
///
/// # Errors
///
/// Upstream's text where the chain bites its tail.
pub fn last<'a>(world: &'a World, version: ServiceVersion<'a>) -> Result<ServiceVersion<'a>, String> {
    let followers: BTreeMap<&str, ServiceVersion<'a>> = ServiceVersion::all_in(world, version.namespace())
        .filter(|other| !other.replaces().is_empty())
        .map(|other| (other.replaces(), other))
        .collect();
    let mut seen = BTreeSet::new();
    let mut current = version;
    while let Some(after) = followers.get(current.name()) {
        if !seen.insert(current.name()) {
            return Err(format!(
                "csv {}/{} has already been seen",
                current.namespace(),
                current.name()
            ));
        }
        current = *after;
    }
    Ok(current)
}
