//! Whether a rollout that is under way is still what the user wants.
//!
//! Upstream goes on with it whatever the spec says, so that one that can't succeed can't be left. Here the spec counts:
//! a version or a channel that it no longer allows is left for another one.

use version::Version;

use crate::snapshot::{SeenPackage, Snapshot};
use crate::standing::Revision;

/// Returns whether the spec no longer allows what is being rolled out.
pub(super) fn is_unwanted(snapshot: &Snapshot, revision: &Revision) -> bool {
    let Ok(request) = snapshot.request(None) else {
        return false;
    };
    let metadata = &revision.bundle.metadata;
    if let (Some(wish), Ok(version)) = (&request.version, Version::parse(&metadata.version))
        && !wish.constraint.check(&version)
    {
        return true;
    }
    if request.channels.is_empty() {
        return false;
    }
    // A catalog that doesn't know the bundle can't say which channels it is in.
    let catalogs = snapshot.catalogs.iter().flatten();
    let mut knowing = catalogs
        .filter_map(|catalog| match &catalog.package {
            SeenPackage::Read(package) => package.as_deref(),
            SeenPackage::Disabled | SeenPackage::Broken(_) => None,
        })
        .filter(|package| package.bundle(&metadata.name).is_some())
        .peekable();
    knowing.peek().is_some()
        && !knowing.any(|package| {
            let mut channels = package.channels_with(&metadata.name);
            channels.any(|channel| request.channels.iter().any(|asked| asked == channel))
        })
}
