//! Versions that are published stay what they are: an image's tag is written once.

use image::digest::Digest;
use image::reference::Reference;

use crate::failure::Failure;
use crate::images::Images;

/// What publishing an image would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Publication {
    /// The image is new.
    New,
    /// The same image is published already.
    Unchanged,
    /// Another image is published under the name, and it may be replaced.
    Replaces(Digest),
}

/// Decides whether an image may be published: a version that is published can't become another.
pub(crate) async fn decide(
    images: &Images,
    reference: &Reference,
    digest: Digest,
    allowed: &[String],
) -> Result<Publication, Failure> {
    match images.published(reference).await? {
        None => Ok(Publication::New),
        Some(published) if published == digest => Ok(Publication::Unchanged),
        Some(published) if allowed.iter().any(|name| *name == reference.to_string()) => {
            Ok(Publication::Replaces(published))
        }
        Some(published) => Err(Failure::new(format!(
            "{reference} is published as {published}, and this build is {digest}: a published version never changes; \
             raise VERSION, or if it really must be replaced, say so: --allow {reference}"
        ))),
    }
}
