//! Advice of baton's own, which upstream's validators don't give.

use super::bundle_rules;
use super::loaded::Loaded;

/// What an author may want to know; none of it is wrong.
pub(super) fn advice(bundle: &Loaded) -> Vec<String> {
    let name = &bundle.csv.metadata.name;
    let mut advice = Vec::new();
    for (image, place) in bundle_rules::images(bundle) {
        if !image.contains('@') {
            advice.push(format!(
                "baton: ({name}) image {image} ({place}) is named by a tag, which can be moved; pin it by its digest"
            ));
        }
    }
    if bundle.csv.annotation("createdAt").is_empty() {
        advice.push(format!(
            "baton: ({name}) annotation createdAt is missing, so catalogs can't show when this version was made"
        ));
    }
    if bundle.csv.spec.replaces.is_empty() && bundle.csv.skip_range().is_empty() {
        advice.push(format!(
            "baton: ({name}) neither spec.replaces nor annotation olm.skipRange says which version this one follows; \
             a catalog made from a template (olm.semver) adds that"
        ));
    }
    if bundle.csv.spec.description.trim().is_empty() {
        advice.push(format!(
            "baton: ({name}) spec.description is empty, so catalogs have nothing to show"
        ));
    }
    advice
}
