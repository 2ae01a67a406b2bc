//! Notices as events: what was decided of an object, for whoever runs `kubectl describe`.
//!
//! Nobody waits for an event, so they are told one after the other beside the work that they are about, and slowly while much
//! changes: fifty operators that are installed at once have three hundred things to tell.

use std::time::{Duration, Instant};

use classic::Notice;
use duty::events::{Announcement, Announcer, Telling};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use tokio::sync::{Mutex, mpsc};

use crate::bustle::Bustle;
use crate::controller::now;

/// How many notices wait to be told; further ones are passed over, as Kubernetes' own controllers do.
const MOST_WAITING: usize = 1_000;

/// How long there is between two events while much changes.
const PAUSE_IN_BUSTLE: Duration = Duration::from_millis(100);

/// Tells notices.
pub(crate) struct Teller {
    announcer: Announcer,
    notices: mpsc::Sender<(Telling, Announcement)>,
    waiting: Mutex<mpsc::Receiver<(Telling, Announcement)>>,
}

impl Teller {
    /// Tells through a client, as long as it is run.
    pub(crate) fn new(client: Client) -> Self {
        let (notices, waiting) = mpsc::channel(MOST_WAITING);
        Self {
            announcer: Announcer::new(client),
            notices,
            waiting: Mutex::new(waiting),
        }
    }

    /// Has a notice told of the object with an identity.
    pub(crate) fn take(&self, notice: &Notice, uid: Option<String>) {
        if self.notices.try_send(announcement(notice, uid)).is_err() {
            tracing::debug!(?notice, "too much is to be told, and this is passed over");
        }
    }

    /// Tells what there is to tell, for ever.
    pub(crate) async fn run(&self, bustle: &Bustle) {
        let mut waiting = self.waiting.lock().await;
        while let Some((telling, announcement)) = waiting.recv().await {
            self.announcer.tell(&telling, &announcement).await;
            if bustle.is_high(Instant::now()) {
                tokio::time::sleep(PAUSE_IN_BUSTLE).await;
            }
        }
    }
}

/// The name under which events are told, as upstream's.
const REPORTER: &str = "operator-lifecycle-manager";

/// Returns what a notice tells of the object with an identity.
fn announcement(notice: &Notice, uid: Option<String>) -> (Telling, Announcement) {
    let about = &notice.about;
    let telling = Telling {
        reporter: REPORTER.to_owned(),
        about: ObjectReference {
            api_version: Some(about.api_version.clone()),
            kind: Some(about.kind.clone()),
            name: Some(about.name.clone()),
            namespace: Some(about.namespace.clone()).filter(|namespace| !namespace.is_empty()),
            uid: uid.filter(|uid| !uid.is_empty()),
            ..ObjectReference::default()
        },
        happened: now(),
    };
    let announcement = Announcement {
        is_warning: notice.is_warning,
        reason: notice.reason.clone().into(),
        message: notice.message.clone(),
    };
    (telling, announcement)
}

#[cfg(test)]
mod tests {
    use apply::object::ObjectId;
    use kube::api::ListParams;
    use stage::Stage;

    use super::*;

    fn notice(number: usize) -> Notice {
        Notice {
            about: ObjectId {
                api_version: "operators.coreos.com/v1alpha1".to_owned(),
                kind: "ClusterServiceVersion".to_owned(),
                namespace: "default".to_owned(),
                name: "one.v1".to_owned(),
            },
            is_warning: false,
            reason: "InstallWaiting".to_owned(),
            message: format!("notice {number}"),
        }
    }

    #[tokio::test]
    async fn what_is_taken_is_told_in_its_order_and_what_is_too_much_is_passed_over() {
        let stage = Stage::in_memory(stage::Options {
            without_controllers: true,
            ..stage::Options::default()
        });
        let stage = stage.await.expect("a stage in memory starts");
        let client = Client::new(stage.service(), "default");
        let teller = Teller::new(client.clone());
        for number in 0..MOST_WAITING + 5 {
            teller.take(&notice(number), Some("identity".to_owned()));
        }
        assert_eq!(teller.notices.capacity(), 0, "as many wait as may");
        let events: kube::Api<k8s_openapi::api::core::v1::Event> = kube::Api::namespaced(client, "default");
        let bustle = Bustle::default();
        let told = async {
            while teller.notices.capacity() < MOST_WAITING {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            // One more, so that the last of those before it has surely been written.
            teller.take(&notice(usize::MAX), None);
            loop {
                let told = events.list(&ListParams::default()).await.expect("events").items;
                if told
                    .iter()
                    .any(|event| event.message == Some(notice(usize::MAX).message))
                {
                    return told;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let told = tokio::select! {
            told = told => told,
            () = teller.run(&bustle) => unreachable!("it tells for ever"),
        };
        assert_eq!(told.len(), MOST_WAITING + 1, "five were too many");
        let mut in_order = told;
        in_order.sort_by_key(|event| {
            event
                .metadata
                .resource_version
                .clone()
                .map(|version| version.parse::<u64>().ok())
        });
        let messages: Vec<_> = in_order
            .iter()
            .filter_map(|event| event.message.clone())
            .collect();
        let mut wanted: Vec<_> = (0..MOST_WAITING).map(|number| notice(number).message).collect();
        wanted.push(notice(usize::MAX).message);
        assert_eq!(messages, wanted);
    }
}
