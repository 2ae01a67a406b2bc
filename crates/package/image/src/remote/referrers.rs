//! Documents about an image: attaching them, and finding those that are attached.
//!
//! Registries list what names an image as its subject. For those that don't, a tag made of the image's digest holds the list,
//! and who attaches something writes it there, as the specification of OCI's registries has it.

use oci_spec::image::{Descriptor, ImageIndex, ImageIndexBuilder, MediaType, SCHEMA_VERSION};

use super::connection::{Connection, Purpose};
use super::{Remote, RemoteError, digest_of};
use crate::attachment::Attachment;
use crate::build::{self, BuildError, BuiltImage};
use crate::content::ContentStore;
use crate::digest::Digest;
use crate::manifest::{self, MAX_DOCUMENT_BYTES, Manifest};
use crate::reference::Reference;

/// The longest document that is read.
const ATTACHMENT_LIMIT: u64 = 32 << 20;

/// How many documents of one kind are read.
const ATTACHMENTS_LIMIT: usize = 32;

/// How often the list is written again when somebody else wrote it at the same time.
const LIST_ATTEMPTS: usize = 5;

/// What a registry knows about what refers to an image.
enum Listing {
    /// Its own list.
    Kept(Vec<Descriptor>),
    /// It keeps none; this is what the tag holds that stands in for it.
    Tagged(Vec<Descriptor>),
}

impl Remote {
    /// Publishes a document about an image that is published already.
    pub async fn attach(
        &self,
        store: &ContentStore,
        attachment: &Attachment,
        subject: &Descriptor,
        reference: &Reference,
    ) -> Result<Digest, RemoteError> {
        let broken = |source: BuildError| unmade(reference, &source);
        let built = attachment.build(store, subject).map_err(broken)?;
        let digest = digest_of(reference, &built.descriptor)?;
        let subject = digest_of(reference, subject)?;
        let repository = reference.without_version();
        let endpoint = self
            .options
            .mirrors
            .push_target(&repository.with_digest(digest))?;
        let connection = self.connect(&endpoint, Purpose::Push).await?;
        self.push_to(
            &connection,
            store,
            &built.descriptor,
            &repository.with_digest(digest),
        )
        .await?;
        for _ in 0..LIST_ATTEMPTS {
            let mut listed = match listing(&connection, &subject).await? {
                Listing::Kept(_) => return Ok(digest),
                Listing::Tagged(listed) => listed,
            };
            if listed
                .iter()
                .any(|referrer| referrer.digest() == built.descriptor.digest())
            {
                return Ok(digest);
            }
            listed.push(built.descriptor.clone());
            let list = list_of(store, listed).map_err(broken)?;
            let tag = repository.with_tag(&tag_of(&subject))?;
            self.push_list(&connection, store, &list, &tag).await?;
        }
        Err(RemoteError::Refused {
            registry: reference.registry().to_owned(),
            action: format!("list what is attached to {subject}"),
            status: 0,
            message: "others write the list at the same time; try again".to_owned(),
        })
    }

    /// Publishes a list under its tag. What it lists is published already, so nothing but the list itself is sent.
    async fn push_list(
        &self,
        connection: &Connection,
        store: &ContentStore,
        list: &BuiltImage,
        tag: &Reference,
    ) -> Result<(), RemoteError> {
        let digest = digest_of(tag, &list.descriptor)?;
        let name = connection
            .reference
            .with_tag(tag.or_latest().tag().unwrap_or_default())?;
        self.publish(connection, store, digest, &list.descriptor, &name)
            .await
    }

    /// Fetches the documents of a kind that are attached to an image; nobody vouches for them but the registry.
    ///
    /// Where the name stands for images of several platforms, those of the one for `architecture` count as well.
    pub async fn attachments(
        &self,
        reference: &Reference,
        media_type: &str,
        architecture: &str,
    ) -> Result<Vec<Attachment>, RemoteError> {
        let reference = reference.or_latest();
        let mut places = self.places(&reference)?;
        while let Some(place) = places.next() {
            let connection = self.connect(&place, Purpose::Pull).await;
            let found = match connection {
                Ok(connection) => attachments_at(&connection, media_type, architecture).await,
                Err(error) => Err(error),
            };
            match found {
                Err(error) if !error.is_final() => places.failed(error),
                result => return result,
            }
        }
        Err(places.exhausted())
    }
}

async fn attachments_at(
    connection: &Connection,
    media_type: &str,
    architecture: &str,
) -> Result<Vec<Attachment>, RemoteError> {
    let (root, bytes) = connection.manifest().await?;
    let digest = digest_of(&connection.reference, &root)?;
    let mut subjects = vec![digest];
    if let Ok(Manifest::Index(index)) = Manifest::parse(&digest, root.media_type(), &bytes)
        && let Ok(image) = manifest::select_platform(&index, architecture)
    {
        subjects.push(digest_of(&connection.reference, &image)?);
    }
    let mut found = Vec::new();
    for subject in subjects {
        let referrers = listed(connection, &subject).await?;
        for referrer in referrers.iter().filter(|referrer| is_of(referrer, media_type)) {
            if found.len() == ATTACHMENTS_LIMIT {
                break;
            }
            found.extend(fetched(connection, referrer, media_type).await?);
        }
    }
    Ok(found)
}

/// Fetches the document that a referrer holds; none where it holds another.
async fn fetched(
    connection: &Connection,
    referrer: &Descriptor,
    media_type: &str,
) -> Result<Option<Attachment>, RemoteError> {
    let digest = digest_of(&connection.reference, referrer)?;
    let (descriptor, bytes) = connection
        .manifest_of(&connection.reference.with_digest(digest))
        .await?;
    let parsed = Manifest::parse(&digest, descriptor.media_type(), &bytes);
    let Ok(Manifest::Image(image)) = parsed else {
        return Ok(None);
    };
    let Some(layer) = image
        .layers()
        .iter()
        .find(|layer| layer.media_type().as_ref() == media_type)
    else {
        return Ok(None);
    };
    let digest = digest_of(&connection.reference, layer)?;
    let what = format!("attachment {digest}");
    let address = connection.address(&format!("blobs/{digest}"));
    let (_, bytes) = connection.get(&address, &what, ATTACHMENT_LIMIT).await?;
    let found = Digest::of(&bytes);
    if found != digest {
        return Err(connection.tampered(&what, digest, found));
    }
    let annotations = image.annotations().clone().unwrap_or_default();
    Ok(Some(Attachment {
        media_type: media_type.to_owned(),
        bytes,
        annotations: annotations.into_iter().collect(),
    }))
}

/// Whether a referrer is of a kind.
pub(super) fn is_of(referrer: &Descriptor, artifact_type: &str) -> bool {
    let kind = referrer.artifact_type().as_ref();
    kind.is_some_and(|kind| kind.as_ref() == artifact_type)
}

/// What refers to an image, by the registry's list or by the tag that stands in for it.
pub(super) async fn listed(
    connection: &Connection,
    subject: &Digest,
) -> Result<Vec<Descriptor>, RemoteError> {
    Ok(match listing(connection, subject).await? {
        Listing::Kept(listed) | Listing::Tagged(listed) => listed,
    })
}

async fn listing(connection: &Connection, subject: &Digest) -> Result<Listing, RemoteError> {
    let own = connection.address(&format!("referrers/{subject}"));
    if let Some(index) = index_at(connection, subject, &own).await? {
        return Ok(Listing::Kept(index.manifests().clone()));
    }
    let tag = connection.address(&format!("manifests/{}", tag_of(subject)));
    let tagged = index_at(connection, subject, &tag).await?;
    Ok(Listing::Tagged(
        tagged.map(|index| index.manifests().clone()).unwrap_or_default(),
    ))
}

/// Reads a list; none where there is none.
async fn index_at(
    connection: &Connection,
    subject: &Digest,
    address: &str,
) -> Result<Option<ImageIndex>, RemoteError> {
    let what = format!("referrers of {subject}");
    match connection.get(address, &what, MAX_DOCUMENT_BYTES).await {
        // Registries without the list answer in many ways, some with a page; none of them can hide a signature that is
        // needed, because without one the image is refused.
        Ok((_, bytes)) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(RemoteError::NotFound { .. } | RemoteError::Refused { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The tag that holds the list of what refers to an image.
fn tag_of(subject: &Digest) -> String {
    subject.to_string().replace(':', "-")
}

fn list_of(store: &ContentStore, listed: Vec<Descriptor>) -> Result<BuiltImage, BuildError> {
    let list = ImageIndexBuilder::default()
        .schema_version(SCHEMA_VERSION)
        .media_type(MediaType::ImageIndex)
        .manifests(listed)
        .build()
        .map_err(build::incomplete)?;
    let mut pins = Vec::new();
    let descriptor = build::put(store, &list, "list", MediaType::ImageIndex, &mut pins)?;
    Ok(BuiltImage { descriptor, pins })
}

fn unmade(reference: &Reference, error: &BuildError) -> RemoteError {
    RemoteError::Refused {
        registry: reference.registry().to_owned(),
        action: format!("take what is attached to {reference}"),
        status: 0,
        message: error.to_string(),
    }
}
