//! What all pages share.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use apply::engine::Engine;
use extension_controller::bundles::Bundles;
use extension_controller::catalogs::Catalogs;
use extension_controller::observing::Observer;
use extension_controller::tree::TreeReader;
use jiff::Timestamp;
use kube::Client;
use release::cluster::Cluster;
use resolve::resolution::BrokenCatalogs;
use tokio::sync::{Semaphore, broadcast, watch};

use crate::access::Hosts;
use crate::actions::FIELD_MANAGER;
use crate::changes::{MOST_STREAMS, Notice};
use crate::classic::Picture;
use crate::insight::Insight;
use crate::lately::Lately;
use crate::place::Place;
use crate::recent_events::RecentEvents;
use crate::releases::{Survey, survey};
use crate::resources::troubles::{Trouble, troubles};
use crate::sessions::{SessionLimits, Sessions};
use crate::token::Token;
use crate::watching;

/// How many objects of one revision a page reads: more than any bundle that was seen, and few enough to be read again
/// with every change.
const MOST_OBJECTS: usize = 300;

/// How long a page waits for the caches when the console has just started; what isn't there then is said to be missing.
const FIRST_LOOK: Duration = Duration::from_secs(3);

/// How many changes may lie between a stream and what happens; a stream that is further behind refreshes at once.
const NOTICES_KEPT: usize = 256;

/// What a console is made of.
pub struct Options<C> {
    /// The way to the cluster.
    pub client: Client,
    /// Gives the content of catalogs.
    pub catalogs: C,
    /// Fetches bundles, to say what an upgrade would change.
    pub bundles: Bundles,
    /// What a catalog that can't be asked does to the others, as the controllers have it.
    pub broken_catalogs: BrokenCatalogs,
    /// The namespace that the Secrets of revisions are in.
    pub system_namespace: String,
    /// Who knows it may look.
    pub token: Token,
    /// How many browsers stay let in, and for how long.
    pub sessions: SessionLimits,
    /// The names under which browsers may reach the console.
    pub hosts: Hosts,
}

/// What all pages share: the way to the cluster, small caches of it, and who may look.
pub struct Console {
    pub(crate) client: Client,
    pub(crate) insight: Box<dyn Insight>,
    pub(crate) trees: TreeReader,
    pub(crate) engine: Engine,
    pub(crate) releases: Cluster,
    pub(crate) events: RecentEvents,
    pub(crate) classic: Picture,
    last_survey: Lately<Survey>,
    last_troubles: Lately<Vec<Trouble>>,
    pub(crate) token: Token,
    pub(crate) place: Place,
    pub(crate) sessions: Sessions,
    pub(crate) hosts: Hosts,
    pub(crate) notices: broadcast::Sender<Notice>,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) filled: watch::Sender<watching::Filled>,
    pub(crate) stopped: watch::Sender<bool>,
}

impl Console {
    /// Makes a console; its pages have nothing to show before it is run.
    pub fn new<C: Catalogs>(options: Options<C>) -> Arc<Self> {
        let Options {
            client,
            catalogs,
            bundles,
            broken_catalogs,
            system_namespace,
            token,
            sessions,
            hosts,
        } = options;
        let observer = Observer::new(
            client.clone(),
            catalogs,
            bundles,
            broken_catalogs,
            system_namespace.clone(),
        );
        Arc::new(Self {
            insight: Box::new(observer),
            trees: TreeReader::new(client.clone(), system_namespace.clone()).at_most(MOST_OBJECTS),
            engine: Engine::new(client.clone(), system_namespace),
            releases: Cluster::new(client.clone(), FIELD_MANAGER),
            events: RecentEvents::default(),
            classic: Picture::default(),
            last_survey: Lately::default(),
            last_troubles: Lately::default(),
            place: Place::of(&token),
            sessions: Sessions::new(sessions),
            token,
            hosts,
            notices: broadcast::channel(NOTICES_KEPT).0,
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
            filled: watch::Sender::default(),
            stopped: watch::Sender::default(),
            client,
        })
    }

    /// Keeps the caches until `stop` ends, and ends every stream then, so that the server can stop too.
    pub async fn run(self: Arc<Self>, stop: impl Future<Output = ()>) {
        tokio::select! {
            () = watching::watch(&self) => {}
            () = stop => {}
        }
        self.stopped.send_replace(true);
    }

    /// The address to open in a browser, with the token; `base` is such as `http://127.0.0.1:8443`.
    pub fn url(&self, base: &str) -> String {
        format!("{}/?token={}", base.trim_end_matches('/'), self.token.as_str())
    }

    /// What is known of all releases; none where they can't be read.
    pub(crate) async fn survey(&self) -> Option<Arc<Survey>> {
        self.last_survey.get(survey(&self.client)).await.ok()
    }

    /// The custom resources that somebody must look at.
    pub(crate) async fn troubles(&self) -> Arc<Vec<Trouble>> {
        let look = async {
            let survey = self.survey().await;
            Ok::<_, Infallible>(troubles(&self.client, survey.as_deref()).await)
        };
        let Ok(troubles) = self.last_troubles.get(look).await;
        troubles
    }

    /// Waits until the caches hold what the cluster holds, or for a moment.
    pub(crate) async fn wait_filled(&self) -> bool {
        let mut filled = self.filled.subscribe();
        let waiting = filled.wait_for(|filled| filled.is_complete());
        matches!(tokio::time::timeout(FIRST_LOOK, waiting).await, Ok(Ok(_)))
    }

    /// Waits until it is known what the cluster holds of OLM v0, or for a moment.
    pub(crate) async fn wait_classic(&self) -> bool {
        let waiting = self.classic.wait_asked();
        tokio::time::timeout(FIRST_LOOK, waiting).await.is_ok()
    }

    #[expect(
        clippy::unused_self,
        reason = "the clock belongs to the console, like everything that a page reads"
    )]
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
