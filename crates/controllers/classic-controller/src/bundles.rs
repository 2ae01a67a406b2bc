//! Bundle images that plans need: pulled once, kept while they are used.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use install_plan::bundle_lookup::Unpacked;
use install_plan::selection::Content;

use crate::sources::image::{Images, credentials};

/// How many bundles stay in memory: a plan looks at the same ones several times, and at rest none is needed.
const IN_MEMORY: usize = 8;

/// The word for an image that can't be had, as the kubelet has it.
const NOT_PULLED: &str = "ErrImagePull";

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
    heed: Heed,
}

#[derive(Default)]
struct Known {
    by_image: BTreeMap<String, Unpacked>,
    /// The images that are here, the oldest first.
    order: VecDeque<String>,
}

impl Bundles {
    /// Fetches nothing yet. Without a way to images, every one of them fails.
    pub fn new(client: kube::Client, images: Option<Images>, heed: Heed) -> Self {
        Self {
            client,
            images,
            shared: Arc::new(Shared {
                known: Mutex::default(),
                heed,
            }),
        }
    }

    /// Returns what is known of images.
    pub fn known(&self) -> BTreeMap<String, Unpacked> {
        self.shared.lock().by_image.clone()
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
    /// again.
    pub fn fetch(&self, image: &str, namespace: &str, secrets: (&str, &[String])) {
        {
            let mut known = self.shared.lock();
            if matches!(
                known.by_image.get(image),
                Some(Unpacked::Pending(_) | Unpacked::Ready { .. })
            ) {
                return;
            }
            known
                .by_image
                .insert(image.to_owned(), Unpacked::Pending(String::new()));
        }
        let (images, client, shared) = (self.images.clone(), self.client.clone(), Arc::clone(&self.shared));
        let (image, namespace) = (image.to_owned(), namespace.to_owned());
        let (of, secrets) = (secrets.0.to_owned(), secrets.1.to_vec());
        tokio::spawn(async move {
            let unpacked = pull(images.as_ref(), &client, &image, &of, &secrets).await;
            shared.keep(image, unpacked);
            (shared.heed)(&namespace);
        });
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
            Unpacked::Failed { message, .. } | Unpacked::Pending(message) => Err(message),
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, image: String, unpacked: Unpacked) {
        let mut known = self.lock();
        known.order.retain(|kept| *kept != image);
        known.order.push_back(image.clone());
        known.by_image.insert(image, unpacked);
        while known.order.len() > IN_MEMORY {
            if let Some(oldest) = known.order.pop_front() {
                known.by_image.remove(&oldest);
            }
        }
    }
}

async fn pull(
    images: Option<&Images>,
    client: &kube::Client,
    image: &str,
    namespace: &str,
    secrets: &[String],
) -> Unpacked {
    let failed = |message: String| Unpacked::Failed {
        reason: NOT_PULLED.to_owned(),
        message,
    };
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
        Err(message) => failed(message),
    }
}
