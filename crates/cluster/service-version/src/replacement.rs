//! Which version follows which: the chain that an upgrade walks along.

use std::collections::BTreeSet;

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

/// Returns the versions that say they follow the one of a name, by name.
fn followers<'a>(
    world: &'a World,
    namespace: &str,
    name: &str,
) -> impl DoubleEndedIterator<Item = ServiceVersion<'a>> {
    world
        .replacing(namespace, name)
        .map(|object| ServiceVersion::of(object))
        .filter(|version| !version.is_copy())
}

/// Returns the version that follows a version; the first by name where there are several.
pub fn next<'a>(world: &'a World, version: ServiceVersion<'_>) -> Option<ServiceVersion<'a>> {
    followers(world, version.namespace(), version.name()).find(|other| other.name() != version.name())
}

/// Returns the names of all versions that come before or after a version, and its own.
pub fn chain<'a>(world: &'a World, version: ServiceVersion<'a>) -> BTreeSet<&'a str> {
    let namespace = version.namespace();
    let mut names = BTreeSet::from([version.name()]);
    let mut current = version.name();
    while let Some(after) = followers(world, namespace, current).next() {
        if !names.insert(after.name()) {
            break;
        }
        current = after.name();
    }
    let mut before = version.replaces();
    let find = |name: &str| ServiceVersion::find(world, namespace, name).filter(|found| !found.is_copy());
    while let Some(found) = find(before) {
        if !names.insert(found.name()) {
            break;
        }
        before = found.replaces();
    }
    names
}

/// Returns the last version of the chain that begins with a version; where several follow one, the last by name goes on.
///
/// # Errors
///
/// Upstream's text where the chain bites its tail.
pub fn last<'a>(world: &'a World, version: ServiceVersion<'a>) -> Result<ServiceVersion<'a>, String> {
    let mut seen = BTreeSet::new();
    let mut current = version;
    while let Some(after) = followers(world, version.namespace(), current.name()).next_back() {
        if !seen.insert(current.name()) {
            return Err(format!(
                "csv {}/{} has already been seen",
                current.namespace(),
                current.name()
            ));
        }
        current = after;
    }
    Ok(current)
}
