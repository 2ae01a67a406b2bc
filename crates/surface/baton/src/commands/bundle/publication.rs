//! Versions that are published stay what they are: an image's tag is written once.

use image::Descriptor;
use image::digest::Digest;
use image::reference::Reference;

use crate::attestations::{self, Attestation};
use crate::failure::Failure;
use crate::images::{Images, digest_of};
use crate::terminal::Terminal;

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

/// Refuses images in `--allow` that nothing happens to: a slip there must not pass for care.
pub(crate) fn refuse_needless<'a>(
    allowed: impl IntoIterator<Item = &'a String>,
    decided: &[(&Reference, Publication)],
) -> Result<(), Failure> {
    let is_replaced = |name: &str| {
        decided.iter().any(|(reference, publication)| {
            matches!(publication, Publication::Replaces(_)) && reference.to_string() == name
        })
    };
    match allowed.into_iter().find(|name| !is_replaced(name)) {
        Some(name) => Err(Failure::new(format!(
            "no published image {name} would be replaced: take it out of --allow, or correct the name"
        ))),
        None => Ok(()),
    }
}

/// Publishes an image as it was decided, with what is said about it, unless somebody published another one under its name
/// meanwhile.
pub(crate) async fn publish(
    images: &Images,
    reference: &Reference,
    image: &Descriptor,
    decided: Publication,
    attestations: &[Attestation],
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    if decided == Publication::Unchanged {
        return Ok(());
    }
    images.upload(image, reference).await?;
    attestations::attach(images, reference, attestations, terminal).await?;
    let expected = match decided {
        Publication::Replaces(published) => Some(published),
        Publication::New | Publication::Unchanged => None,
    };
    let now = images.published(reference).await?;
    if now != expected && now != Some(digest_of(image)?) {
        return Err(Failure::new(format!(
            "somebody published {reference} while this build of it was being uploaded; it was left as it is: \
             raise VERSION, or run the command again to compare with what is published now"
        )));
    }
    images.tag(image, reference).await
}
