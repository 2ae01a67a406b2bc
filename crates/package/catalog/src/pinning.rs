//! Images of a catalog named by digest instead of by tag.
//!
//! A tag can be moved after a catalog was published; a digest can't. Which digest a tag has now is asked of the
//! registries by the caller: this module says which names to ask for, and writes the answers in.

use std::collections::{BTreeMap, BTreeSet};

use image::digest::Digest;

use crate::objects::Catalog;

/// Every image name in the catalog's bundles that has no digest, once each, in lexical order.
#[must_use]
pub fn unpinned(catalog: &Catalog) -> BTreeSet<&str> {
    catalog
        .bundles
        .iter()
        .flat_map(|bundle| {
            std::iter::once(&bundle.image).chain(bundle.related_images.iter().map(|related| &related.image))
        })
        .map(String::as_str)
        .filter(|image| !image.is_empty() && !image.contains('@'))
        .collect()
}

/// Writes the digests that were found for image names; names that aren't in `digests` stay as they are.
pub fn pin(catalog: &mut Catalog, digests: &BTreeMap<String, Digest>) {
    for bundle in &mut catalog.bundles {
        let images = std::iter::once(&mut bundle.image)
            .chain(bundle.related_images.iter_mut().map(|related| &mut related.image));
        for image in images {
            if let Some(digest) = digests.get(image.as_str()) {
                *image = format!("{}@{digest}", without_tag(image));
            }
        }
    }
}

/// An image name without its tag: a colon after the last slash starts a tag, one before it a port.
fn without_tag(image: &str) -> &str {
    let name_start = image.rfind('/').map_or(0, |slash| slash + 1);
    image[name_start..]
        .find(':')
        .map_or(image, |colon| &image[..name_start + colon])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::tests::world;
    use crate::objects::RelatedImage;

    #[test]
    fn tags_become_digests_everywhere_they_stand() {
        let mut catalog = world("stable: 1.0.0");
        let image = catalog.bundles[0].image.clone();
        let pinned = format!("other.example:5000/x@{}", Digest::of(b"y"));
        catalog.bundles[0].related_images = [image.as_str(), "other.example:5000/x", &pinned]
            .map(|image| RelatedImage {
                name: String::new(),
                image: image.to_owned(),
            })
            .to_vec();
        assert_eq!(
            unpinned(&catalog).into_iter().collect::<Vec<_>>(),
            ["other.example:5000/x", image.as_str()]
        );
        let digest = Digest::of(b"x");
        pin(
            &mut catalog,
            &BTreeMap::from([(image, digest), ("other.example:5000/x".to_owned(), digest)]),
        );
        assert_eq!(
            catalog.bundles[0].image,
            format!("registry.example/stack-bundle@{digest}")
        );
        let related: Vec<_> = catalog.bundles[0]
            .related_images
            .iter()
            .map(|related| related.image.as_str())
            .collect();
        assert_eq!(
            related,
            [
                &format!("registry.example/stack-bundle@{digest}"),
                &format!("other.example:5000/x@{digest}"),
                &pinned
            ]
        );
        assert!(unpinned(&catalog).is_empty());
    }
}
