//! What is published already, and what of it must not be lost.

use catalog::guard;
use catalog::objects::Catalog;
use clap::Args;
use image::Descriptor;
use image::digest::Digest;
use image::reference::Reference;
use version::Version;

use crate::failure::Failure;
use crate::images::{Held, Images, digest_of};
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

/// The tags that move to each new catalog.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Image")]
pub(crate) struct MovingTagFlags {
    /// Move this tag of the image's repository to the catalog, too: clusters that poll it see new versions by themselves
    #[arg(long = "moving-tag", value_name = "TAG")]
    moving_tags: Vec<String>,
}

impl MovingTagFlags {
    /// All names that a catalog's image gets, its own first.
    pub(crate) fn names(&self, image: &Reference) -> Result<Vec<Reference>, Failure> {
        let mut names = vec![image.clone()];
        for tag in &self.moving_tags {
            let name = image.without_version().with_tag(tag)?;
            if name != image.or_latest() && !names.contains(&name) {
                names.push(name);
            }
        }
        Ok(names)
    }
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

/// What a catalog that is to be published was compared with.
pub(crate) struct Compared {
    /// The names that it gets, each with what stood there: its own first, then the tags that move to it.
    pub(crate) names: Vec<(Reference, Standing)>,
    /// The catalogs that customers of these names have, each once; that of its own name first. None when nothing is
    /// published yet.
    pub(crate) published: Vec<Published>,
}

/// Finds the catalogs that customers of `names` have.
pub(crate) async fn find(
    images: &Images,
    names: &[Reference],
    flags: &GuardFlags,
) -> Result<Compared, Failure> {
    let mut compared = Compared {
        names: Vec::new(),
        published: Vec::new(),
    };
    for name in names {
        let standing = Standing::look(images, name, flags).await?;
        if let Some((reference, digest)) = standing.published.clone()
            && !compared
                .published
                .iter()
                .any(|published| published.digest == digest)
        {
            compared.published.push(read(images, reference, digest).await?);
        }
        compared.names.push((name.clone(), standing));
    }
    Ok(compared)
}

/// Reads a published catalog.
async fn read(images: &Images, reference: Reference, digest: Digest) -> Result<Published, Failure> {
    // By digest: what is compared is what was found, even when somebody publishes meanwhile.
    let pinned = reference.with_digest(digest);
    match images.read(&NamedSource::Image(pinned.to_string())).await? {
        Held::Catalog(catalog) => Ok(Published {
            reference,
            digest,
            catalog,
        }),
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

/// Lets a catalog pass only if customers of the published ones lose nothing that isn't allowed.
pub(crate) fn admit(
    published: &[Published],
    next: &mut Catalog,
    flags: &GuardFlags,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    if published.is_empty() && !flags.allow.is_empty() {
        return Err(Failure::new(
            "--allow is given, but no catalog is published yet that could lose something; take it out",
        ));
    }
    let mut needless = flags.allow.clone();
    let mut losses = Vec::new();
    for published in published {
        // What is allowed may be lost to some customers and not to others.
        let lost = guard::losses(&published.catalog, next);
        let is_lost = |name: &&String| lost.iter().any(|loss| loss.name == **name);
        let allowed: Vec<String> = flags.allow.iter().filter(is_lost).cloned().collect();
        needless.retain(|name| !allowed.contains(name));
        losses.extend(guard::admit(
            &published.catalog,
            &published.reference.to_string(),
            &published.digest.to_string(),
            next,
            &allowed,
        )?);
    }
    if !needless.is_empty() {
        return Err(guard::Refused::NeedlesslyAllowed(needless).into());
    }
    for loss in &losses {
        terminal.remark(format!("allowed: {loss}"));
    }
    Ok(())
}

/// Publishes a catalog's image under all its names, unless somebody published another one under one of them since it was
/// compared: what they added would be lost unseen. Everything is uploaded before that is asked, so that only an instant is
/// left between the answer and the tags.
pub(crate) async fn publish(
    images: &Images,
    image: &Descriptor,
    flags: &GuardFlags,
    compared: &Compared,
) -> Result<(), Failure> {
    let digest = digest_of(image)?;
    // All names are of one repository.
    if let Some((own, _)) = compared.names.first() {
        images.upload(image, own).await?;
    }
    for (name, standing) in &compared.names {
        if Standing::look(images, name, flags).await? != *standing {
            return Err(Failure::new(format!(
                "somebody published another catalog while this one was being compared with the published one; {name} was \
                 left as it is: render the template again, with their versions in it, and run the command again"
            )));
        }
    }
    let mut tagged: Option<&Reference> = None;
    for (name, standing) in &compared.names {
        if standing.target != Some(digest) {
            images.tag(image, name).await.map_err(|failure| match tagged {
                Some(own) => failure.within(format!("{own} is published, but {name} can't be moved to it")),
                None => failure,
            })?;
        }
        tagged.get_or_insert(name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_catalog_has_its_own_name_first_and_each_name_once() {
        let names = |image: &str, tags: &[&str]| {
            let flags = MovingTagFlags {
                moving_tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            };
            let names = flags.names(&Reference::parse(image).expect("a name"));
            names.map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        for (image, tags, expected) in [
            ("r.example/c:1.0.0", &[][..], &["r.example/c:1.0.0"][..]),
            (
                "r.example/c:1.0.0",
                &["latest", "latest"],
                &["r.example/c:1.0.0", "r.example/c:latest"],
            ),
            ("r.example/c:latest", &["latest"], &["r.example/c:latest"]),
        ] {
            assert_eq!(names(image, tags).expect("names"), expected, "{image} {tags:?}");
        }
        assert!(names("r.example/c:1.0.0", &["no tag"]).is_err());
    }
}
