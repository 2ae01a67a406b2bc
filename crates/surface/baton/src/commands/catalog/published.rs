//! What is published already, and what of it must not be lost.

use catalog::guard::{self, Loss};
use catalog::objects::Catalog;
use clap::Args;
use image::Descriptor;
use image::digest::Digest;
use image::reference::Reference;
use version::Version;

use crate::failure::Failure;
use crate::images::{Held, Images};
use crate::named_source::NamedSource;
use crate::terminal::Terminal;

/// What a catalog is compared with before it is published.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Guard")]
pub(crate) struct GuardFlags {
    /// The catalog image that customers have; by default the image itself, or the highest version in its repository
    #[arg(long, value_name = "IMAGE")]
    pub(crate) published: Option<String>,
    /// Let this package, channel or bundle be lost or changed, and write so into the catalog's history
    #[arg(long, value_name = "NAME")]
    pub(crate) allow: Vec<String>,
}

/// A published catalog.
pub(crate) struct Published {
    pub(crate) reference: Reference,
    pub(crate) digest: Digest,
    pub(crate) catalog: Catalog,
}

/// What names stood for when a catalog was compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The image that the new one will take the name of.
    pub(crate) target: Option<Digest>,
    /// The image that customers have.
    published: Option<(Reference, Digest)>,
}

impl Standing {
    async fn look(images: &Images, target: &Reference, flags: &GuardFlags) -> Result<Self, Failure> {
        let standing = images.published(target).await?;
        let published = match (&flags.published, standing) {
            (Some(name), _) => {
                let reference = Reference::parse(name)?;
                let Some(digest) = images.published(&reference).await? else {
                    return Err(Failure::new(format!(
                        "--published names {reference}, which does not exist; name the catalog that customers have, or leave the flag out"
                    )));
                };
                Some((reference, digest))
            }
            (None, Some(digest)) => Some((target.or_latest(), digest)),
            (None, None) => match latest(images, target).await? {
                Some(reference) => images
                    .published(&reference)
                    .await?
                    .map(|digest| (reference, digest)),
                None => None,
            },
        };
        Ok(Self {
            target: standing,
            published,
        })
    }
}

/// Finds the catalog that customers of `target` have: none when nothing is published yet.
pub(crate) async fn find(
    images: &Images,
    target: &Reference,
    flags: &GuardFlags,
) -> Result<(Standing, Option<Published>), Failure> {
    let standing = Standing::look(images, target, flags).await?;
    let Some((reference, digest)) = standing.published.clone() else {
        return Ok((standing, None));
    };
    // By digest: what is compared is what was found, even when somebody publishes meanwhile.
    let pinned = reference.with_digest(digest);
    match images.read(&NamedSource::Image(pinned.to_string())).await? {
        Held::Catalog(catalog) => Ok((
            standing,
            Some(Published {
                reference,
                digest,
                catalog,
            }),
        )),
        Held::Bundle(..) => Err(Failure::new(format!(
            "{reference} is a bundle, not a catalog; publish the catalog under another name, or name the one that customers have with --published"
        ))),
    }
}

/// The image under the highest version among the tags of the target's repository, or else under `latest`.
async fn latest(images: &Images, target: &Reference) -> Result<Option<Reference>, Failure> {
    let tags = match images.remote()?.tags(target).await {
        Ok(tags) => tags,
        Err(image::remote::RemoteError::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let versions = tags
        .iter()
        .filter_map(|tag| Some((Version::parse_tolerant(tag).ok()?, tag)));
    let highest = versions
        .max_by(|(left, _), (right, _)| left.precedence(right))
        .map(|(_, tag)| tag.as_str());
    let tag = highest.or_else(|| tags.iter().find(|tag| *tag == "latest").map(String::as_str));
    Ok(tag
        .map(|tag| target.without_version().with_tag(tag))
        .transpose()?)
}

/// Lets a catalog pass only if customers of the published one lose nothing that isn't allowed.
pub(crate) fn admit(
    published: Option<&Published>,
    next: &mut Catalog,
    flags: &GuardFlags,
    terminal: &mut Terminal,
) -> Result<Vec<Loss>, Failure> {
    let Some(published) = published else {
        if !flags.allow.is_empty() {
            return Err(Failure::new(
                "--allow is given, but no catalog is published yet that could lose something; take it out",
            ));
        }
        return Ok(Vec::new());
    };
    let name = published.reference.to_string();
    let losses = guard::admit(
        &published.catalog,
        &name,
        &published.digest.to_string(),
        next,
        &flags.allow,
    )?;
    for loss in &losses {
        terminal.remark(format!("allowed: {loss}"));
    }
    Ok(losses)
}

/// Publishes a catalog's image, unless somebody published another one since `compared`: what they added would be lost
/// unseen. Everything is uploaded before that is asked, so that only an instant is left between the answer and the tag.
pub(crate) async fn publish(
    images: &Images,
    image: &Descriptor,
    target: &Reference,
    flags: &GuardFlags,
    compared: &Standing,
) -> Result<(), Failure> {
    images.upload(image, target).await?;
    if Standing::look(images, target, flags).await? != *compared {
        return Err(Failure::new(format!(
            "somebody published another catalog while this one was being compared with the published one; {target} was \
             left as it is: render the template again, with their versions in it, and run the command again"
        )));
    }
    images.tag(image, target).await
}
