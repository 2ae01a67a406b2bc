//! Bundle images that plans need: pulled once, kept while they are used.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use install_plan::bundle_lookup::{NO_BUNDLE, Unpacked};
use install_plan::selection::Content;
use jiff::Timestamp;
use tokio::sync::watch;
use tracing::Instrument as _;

use crate::sources::image::{BundleError, Images, credentials};

/// How many bundles stay in memory beside those that a plan waits for: a plan looks at the same ones several times, and at rest
/// none is needed.
const IN_MEMORY: usize = 8;

/// The word for an image that can't be had, as the kubelet has it.
const NOT_PULLED: &str = "ErrImagePull";

/// The word for an image that takes too long, as upstream's Job has it.
const TOO_LATE: &str = "DeadlineExceeded";

/// Called with the namespace whose bundle is here, or can't be had.
pub type Heed = Arc<dyn Fn(&str) + Send + Sync>;

/// Bundle images.
pub struct Bundles {
    client: kube::Client,
    images: Option<Images>,
    shared: Arc<Shared>,
}

struct Shared {
    known: Mutex<Known>,
    /// Tells that an image came, or can't be had.
    kept: watch::Sender<()>,
    heed: Heed,
}

#[derive(Default)]
struct Known {
    by_image: BTreeMap<String, Unpacked>,
    /// The images that are here, the oldest first.
    order: VecDeque<String>,
    /// The images that are being fetched. One that failed says so until it is here.
    fetched: BTreeSet<String>,
    /// The images that the next plan of a namespace waits for.
    held: BTreeMap<String, BTreeSet<String>>,
}

impl Bundles {
    /// Fetches nothing yet. Without a way to images, every one of them fails.
    pub fn new(client: kube::Client, images: Option<Images>, heed: Heed) -> Self {
        Self {
            client,
            images,
            shared: Arc::new(Shared {
                known: Mutex::default(),
                kept: watch::Sender::new(()),
                heed,
            }),
        }
    }

    /// Returns what is known of images.
    pub fn known(&self) -> BTreeMap<String, Unpacked> {
        self.shared.lock().by_image.clone()
    }

    /// Keeps the images that the next plan of a namespace needs, and no others for it: a plan needs all of its bundles at once,
    /// however many they are.
    pub fn hold<'a>(&self, namespace: &str, images: impl IntoIterator<Item = &'a str>) {
        let images: BTreeSet<String> = images.into_iter().map(str::to_owned).collect();
        let mut known = self.shared.lock();
        if images.is_empty() {
            known.held.remove(namespace);
        } else {
            known.held.insert(namespace.to_owned(), images);
        }
        known.forget_surplus();
    }

    /// Returns the content of an image, by digest or not, that is here.
    pub fn content(&self, image: &str) -> Option<Arc<Content>> {
        let known = self.shared.lock();
        known.by_image.iter().find_map(|(path, unpacked)| match unpacked {
            Unpacked::Ready {
                image: pulled,
                content,
            } if path == image || pulled == image => Some(Arc::clone(content)),
            _ => None,
        })
    }

    /// Begins to fetch an image for a plan in a namespace, with the Secrets of its catalog; one that failed before is tried
    /// again. It may take as long as `within`; zero is without end.
    ///
    /// Returns whether that began now.
    pub fn fetch(&self, image: &str, namespace: &str, secrets: (&str, &[String]), within: Duration) -> bool {
        {
            let mut known = self.shared.lock();
            if matches!(known.by_image.get(image), Some(Unpacked::Ready { .. }))
                || !known.fetched.insert(image.to_owned())
            {
                return false;
            }
            known
                .by_image
                .entry(image.to_owned())
                .or_insert_with(|| Unpacked::Pending {
                    message: String::new(),
                    since: Timestamp::now(),
                });
        }
        let (images, client, shared) = (self.images.clone(), self.client.clone(), Arc::clone(&self.shared));
        let (image, namespace) = (image.to_owned(), namespace.to_owned());
        let (of, secrets) = (secrets.0.to_owned(), secrets.1.to_vec());
        let fetching = async move {
            let pulling = pull(images.as_ref(), &client, &image, &of, &secrets);
            let unpacked = if within.is_zero() {
                pulling.await
            } else {
                let pulled = tokio::time::timeout(within, pulling).await;
                pulled.unwrap_or_else(|_| Unpacked::Failed {
                    reason: TOO_LATE.to_owned(),
                    message: format!("{image} isn't here after {} s", within.as_secs()),
                    at: Timestamp::now(),
                })
            };
            shared.keep(image, unpacked);
            (shared.heed)(&namespace);
        };
        tokio::spawn(fetching.in_current_span());
        true
    }

    /// Waits until images that are being fetched are here, or can't be had, but no longer than `patience`.
    pub async fn settle(&self, images: &[&str], patience: Duration) {
        let mut kept = self.shared.kept.subscribe();
        let settled = kept.wait_for(|()| {
            let known = self.shared.lock();
            !images.iter().any(|image| known.fetched.contains(*image))
        });
        tokio::time::timeout(patience, settled).await.ok();
    }

    /// Fetches an image and waits for it.
    ///
    /// # Errors
    ///
    /// If it can't be had.
    pub async fn get(&self, image: &str) -> Result<Arc<Content>, String> {
        if let Some(content) = self.content(image) {
            return Ok(content);
        }
        match pull(self.images.as_ref(), &self.client, image, "", &[]).await {
            Unpacked::Ready {
                image: pulled,
                content,
            } => {
                let ready = Unpacked::Ready {
                    image: pulled,
                    content: Arc::clone(&content),
                };
                self.shared.keep(image.to_owned(), ready);
                Ok(content)
            }
            Unpacked::Failed { message, .. } | Unpacked::Pending { message, .. } => Err(message),
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, image: String, unpacked: Unpacked) {
        let mut known = self.lock();
        known.fetched.remove(&image);
        known.order.retain(|kept| *kept != image);
        known.order.push_back(image.clone());
        known.by_image.insert(image, unpacked);
        known.forget_surplus();
        drop(known);
        self.kept.send_replace(());
    }
}

impl Known {
    /// Forgets the oldest images that nobody waits for, while there are too many.
    fn forget_surplus(&mut self) {
        let is_held = |image: &String| self.held.values().any(|held| held.contains(image));
        let (held, mut spare): (VecDeque<String>, VecDeque<String>) =
            std::mem::take(&mut self.order).into_iter().partition(is_held);
        while spare.len() > IN_MEMORY {
            if let Some(oldest) = spare.pop_front() {
                self.by_image.remove(&oldest);
            }
        }
        spare.extend(held);
        self.order = spare;
    }
}

async fn pull(
    images: Option<&Images>,
    client: &kube::Client,
    image: &str,
    namespace: &str,
    secrets: &[String],
) -> Unpacked {
    let failed_for = |reason: &str, message: String| Unpacked::Failed {
        reason: reason.to_owned(),
        message,
        at: Timestamp::now(),
    };
    let failed = |message: String| failed_for(NOT_PULLED, message);
    let Some(images) = images else {
        return failed("images can't be pulled here".to_owned());
    };
    let credentials = match credentials(client, namespace, secrets).await {
        Ok(credentials) => credentials,
        Err(message) => return failed(message),
    };
    match images.bundle(image, credentials).await {
        Ok((pulled, bundle)) => {
            let service_version = bundle.cluster_service_version;
            let mut objects = vec![service_version.clone()];
            objects.extend(bundle.custom_resource_definitions);
            objects.extend(bundle.others);
            Unpacked::Ready {
                image: pulled,
                content: Arc::new(Content {
                    service_version,
                    objects,
                    properties: Vec::new(),
                }),
            }
        }
        Err(fault @ BundleError::Unavailable(_)) => failed(fault.to_string()),
        Err(fault @ BundleError::Broken { .. }) => failed_for(NO_BUNDLE, fault.to_string()),
    }
}
