//! What is published already, and what of it must not be lost.

use catalog::guard::{self, Loss};
use catalog::objects::Catalog;
use clap::Args;
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

/// Finds the catalog that customers of `target` have: none when nothing is published yet.
pub(crate) async fn find(
    images: &Images,
    target: &Reference,
    flags: &GuardFlags,
) -> Result<Option<Published>, Failure> {
    let reference = match &flags.published {
        Some(name) => {
            let reference = Reference::parse(name)?;
            if images.published(&reference).await?.is_none() {
                return Err(Failure::new(format!(
                    "--published names {reference}, which does not exist; name the catalog that customers have, or leave the flag out"
                )));
            }
            reference
        }
        None => match latest(images, target).await? {
            Some(reference) => reference,
            None => return Ok(None),
        },
    };
    let Some(digest) = images.published(&reference).await? else {
        return Ok(None);
    };
    // By digest: what is compared is what was found, even when somebody publishes meanwhile.
    let pinned = reference.with_digest(digest);
    match images.read(&NamedSource::Image(pinned.to_string())).await? {
        Held::Catalog(catalog) => Ok(Some(Published {
            reference,
            digest,
            catalog,
        })),
        Held::Bundle(..) => Err(Failure::new(format!(
            "{reference} is a bundle, not a catalog; publish the catalog under another name"
        ))),
    }
}

/// The image under its own tag, or else under the highest version among the repository's tags, or else under `latest`.
async fn latest(images: &Images, target: &Reference) -> Result<Option<Reference>, Failure> {
    if images.published(target).await?.is_some() {
        return Ok(Some(target.or_latest()));
    }
    let tags = match images.remote().tags(target).await {
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
                "--allow is given, but no catalog is published yet that could lose something",
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

/// Makes sure that nobody published while a catalog was compared: what they published would be lost unseen.
pub(crate) async fn recheck(
    images: &Images,
    published: Option<&Published>,
    target: &Reference,
) -> Result<(), Failure> {
    let now = images.published(target).await?;
    let changed = match published {
        Some(published) if published.reference == target.or_latest() => now != Some(published.digest),
        _ => now.is_some(),
    };
    if changed {
        return Err(Failure::new(format!(
            "somebody published {target} while this catalog was being compared with it; run the command again"
        )));
    }
    Ok(())
}
