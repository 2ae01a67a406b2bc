//! kube-rs's watcher, reflector, Controller and leases elected with its client, while objects come, change and go.
//!
//! A few seconds by default; `BATON_CHURN_SECONDS=3600` makes it an hour.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::controller::Action;
use kube::runtime::{Controller, WatchStreamExt as _, reflector, watcher};
use kube::{Resource as _, ResourceExt as _};
use serde_json::json;
use stage::server::ServeOptions;
use stage::{Options, Stage};
use tokio::task::JoinHandle;

/// Enough names that many live at a time, and few enough that each is made and deleted again and again.
const NAMES: u64 = 40;

/// How long everyone may take to see the last change.
const SETTLING: Duration = Duration::from_mins(1);

const LEASE_SECONDS: i32 = 2;

type Seen = Arc<Mutex<BTreeMap<String, String>>>;

fn seconds() -> u64 {
    std::env::var("BATON_CHURN_SECONDS").map_or(5, |seconds| seconds.parse().expect("a number of seconds"))
}

/// A sequence without a pattern, the same on every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Whether an answer says that another was faster, which is what churn is made of.
fn is_lost_race(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 404 | 409))
}

/// Makes, changes and deletes objects until the end.
async fn churn(maps: Api<ConfigMap>, seed: u64, end: Instant, writes: Arc<AtomicU64>) {
    let mut dice = Dice(seed);
    while Instant::now() < end {
        let name = format!("churned-{}", dice.below(NAMES));
        let value = dice.below(1_000_000).to_string();
        let outcome = match dice.below(4) {
            0 => maps.delete(&name, &DeleteParams::default()).await.map(drop),
            1 => {
                let patch = json!({"data": {"value": value}});
                maps.patch(&name, &PatchParams::default(), &Patch::Merge(&patch))
                    .await
                    .map(drop)
            }
            _ => {
                let object = json!({"metadata": {"name": name, "labels": {"churned": "yes"}}, "data": {"value": value}});
                let object: ConfigMap = serde_json::from_value(object).expect("a config map");
                maps.create(&PostParams::default(), &object).await.map(drop)
            }
        };
        match outcome {
            Ok(()) => {
                writes.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) if is_lost_race(&error) => {}
            Err(error) => panic!("churning {name}: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(dice.below(10))).await;
    }
}

fn only_churned() -> watcher::Config {
    watcher::Config::default().labels("churned=yes")
}

/// Follows a watcher and remembers what is there, by name and version.
fn follow(maps: Api<ConfigMap>, config: watcher::Config) -> (Seen, JoinHandle<()>) {
    let seen = Seen::default();
    let mine = Arc::clone(&seen);
    let task = tokio::spawn(async move {
        let mut events = Box::pin(watcher(maps, config));
        let mut coming = BTreeMap::new();
        while let Some(event) = events.next().await {
            let event = event.unwrap_or_else(|error| panic!("a watcher met {error}"));
            let entry = |map: ConfigMap| (map.name_any(), map.resource_version().unwrap_or_default());
            let mut seen = mine.lock().unwrap_or_else(PoisonError::into_inner);
            match event {
                watcher::Event::Init => coming.clear(),
                watcher::Event::InitApply(map) => coming.extend([entry(map)]),
                watcher::Event::InitDone => *seen = std::mem::take(&mut coming),
                watcher::Event::Apply(map) => seen.extend([entry(map)]),
                watcher::Event::Delete(map) => {
                    seen.remove(&map.name_any());
                }
            }
        }
    });
    (seen, task)
}

/// Keeps a Secret beside every object, as a controller does.
async fn copy(map: Arc<ConfigMap>, client: Arc<kube::Client>) -> Result<Action, kube::Error> {
    let secrets: Api<Secret> = Api::default_namespaced((*client).clone());
    let owner = map.controller_owner_ref(&());
    let value = map.data.as_ref().and_then(|data| data.get("value"));
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": map.name_any(), "ownerReferences": [owner], "labels": {"copied": "yes"}},
        "stringData": {"value": value},
    });
    let parameters = PatchParams::apply("copier").force();
    secrets
        .patch(&map.name_any(), &parameters, &Patch::Apply(&secret))
        .await?;
    Ok(Action::await_change())
}

/// What candidates for leadership share: who led last, when it renewed the lease, and how many turns there were.
#[derive(Default)]
struct Election {
    leader: Mutex<Option<(String, Instant)>>,
    turns: AtomicU64,
}

impl Election {
    /// Notes a leader. On a busy machine one may sleep so long that its lease runs out: then another may lead.
    fn leads(&self, me: &str, since: Instant) {
        let mut leader = self.leader.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((other, renewed)) = leader.as_ref().filter(|(other, _)| other != me) {
            assert!(has_run_out(*renewed), "{other} and {me} lead at once");
        }
        *leader = Some((me.to_owned(), since));
    }

    fn renewed(&self, me: &str) -> Option<Instant> {
        let leader = self.leader.lock().unwrap_or_else(PoisonError::into_inner);
        leader
            .as_ref()
            .filter(|(name, _)| name == me)
            .map(|(_, renewed)| *renewed)
    }

    fn steps_down(&self, me: &str) {
        let mut leader = self.leader.lock().unwrap_or_else(PoisonError::into_inner);
        if leader.as_ref().is_some_and(|(name, _)| name == me) {
            *leader = None;
        }
    }
}

fn has_run_out(renewed: Instant) -> bool {
    renewed.elapsed() >= Duration::from_secs(u64::from(LEASE_SECONDS.unsigned_abs()))
}

/// Stands for election until the end: takes the lease when nobody holds it, renews it, and gives it back.
async fn stand(leases: Api<Lease>, me: String, election: Arc<Election>, end: Instant) {
    while Instant::now() < end {
        // Taken before the lease is written, so that it never looks younger here than it is.
        let begin = Instant::now();
        if hold(&leases, &me).await {
            election.leads(&me, begin);
            election.turns.fetch_add(1, Ordering::SeqCst);
            let mut is_leading = true;
            for _ in 0..3 {
                tokio::time::sleep(Duration::from_millis(50)).await;
                let begin = Instant::now();
                if hold(&leases, &me).await {
                    election.leads(&me, begin);
                } else {
                    is_leading = false;
                    let has_run_out = election.renewed(&me).is_none_or(has_run_out);
                    assert!(has_run_out, "{me} lost the lease while it led");
                    break;
                }
            }
            if is_leading {
                election.steps_down(&me);
                release(&leases, &me).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

/// Takes or renews the lease; whoever writes with the version it read wins.
async fn hold(leases: &Api<Lease>, me: &str) -> bool {
    let now = Timestamp::now();
    let spec = json!({
        "holderIdentity": me, "leaseDurationSeconds": LEASE_SECONDS,
        "renewTime": format!("{now:.6}"),
    });
    let written = match leases.get_opt("leader").await.expect("the lease is readable") {
        None => {
            let lease = json!({"metadata": {"name": "leader"}, "spec": spec});
            let lease = serde_json::from_value(lease).expect("a lease");
            leases.create(&PostParams::default(), &lease).await
        }
        Some(lease) => {
            let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.clone());
            let renewed = lease.spec.as_ref().and_then(|spec| spec.renew_time.clone());
            let expired = renewed
                .is_none_or(|renewed| now.duration_since(renewed.0).as_secs() >= i64::from(LEASE_SECONDS));
            let free = holder.as_deref().is_none_or(str::is_empty);
            if !free && !expired && holder.as_deref() != Some(me) {
                return false;
            }
            let mut lease = lease;
            lease.spec = Some(serde_json::from_value(spec).expect("a lease's spec"));
            leases.replace("leader", &PostParams::default(), &lease).await
        }
    };
    match written {
        Ok(_) => true,
        Err(error) if is_lost_race(&error) => false,
        Err(error) => panic!("{me} can't hold the lease: {error}"),
    }
}

/// Gives the lease back, unless it ran out meanwhile and is somebody else's: then it isn't for us to clear.
async fn release(leases: &Api<Lease>, me: &str) {
    let Some(mut lease) = leases.get_opt("leader").await.expect("the lease is readable") else {
        return;
    };
    let spec = lease.spec.get_or_insert_default();
    if spec.holder_identity.as_deref() != Some(me) {
        return;
    }
    spec.holder_identity = Some(String::new());
    // With the version that was read, so that who took it in between keeps it.
    match leases.replace("leader", &PostParams::default(), &lease).await {
        Ok(_) => {}
        Err(error) if is_lost_race(&error) => {}
        Err(error) => panic!("{me} can't release the lease: {error}"),
    }
}

/// Waits until `view` is what the server has.
async fn settles(what: &str, view: impl AsyncFn() -> (BTreeMap<String, String>, BTreeMap<String, String>)) {
    let end = Instant::now() + SETTLING;
    loop {
        let (seen, true_) = view().await;
        if seen == true_ {
            return;
        }
        assert!(
            Instant::now() < end,
            "{what} never saw the truth: {seen:?} instead of {true_:?}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kube_rs_sees_the_truth_after_any_amount_of_churn() {
    let stage = Stage::in_memory(Options::default()).await.expect("a stage");
    let serving = stage
        .serve(
            "127.0.0.1:0".parse().expect("an address"),
            &ServeOptions::default(),
        )
        .await
        .expect("a listening stage");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kubeconfig");
    serving.write_kubeconfig(&path).expect("a kubeconfig");
    let kubeconfig = Kubeconfig::read_from(&path).expect("a readable kubeconfig");
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .expect("a configuration");
    let client = kube::Client::try_from(config).expect("a client");
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());

    let (listed, lister) = follow(maps.clone(), only_churned());
    let (streamed, streamer) = follow(maps.clone(), only_churned().streaming_lists());
    let (store, writer) = reflector::store();
    let reflected = reflector(writer, watcher(maps.clone(), only_churned())).applied_objects();
    let reflecting = tokio::spawn(reflected.for_each(|_| std::future::ready(())));
    let controller = Controller::new(maps.clone(), only_churned())
        .owns(secrets.clone(), watcher::Config::default())
        .run(
            copy,
            |_, _: &kube::Error, _| Action::requeue(Duration::from_millis(50)),
            Arc::new(client.clone()),
        );
    let controlling = tokio::spawn(controller.for_each(|_| std::future::ready(())));

    let end = Instant::now() + Duration::from_secs(seconds());
    let writes = Arc::new(AtomicU64::new(0));
    let election = Arc::new(Election::default());
    let mut ending = Vec::new();
    for number in 1..=4 {
        ending.push(tokio::spawn(churn(
            maps.clone(),
            number * 7919,
            end,
            Arc::clone(&writes),
        )));
    }
    for name in ["a", "b", "c"] {
        let leases = Api::default_namespaced(client.clone());
        ending.push(tokio::spawn(stand(
            leases,
            name.to_owned(),
            Arc::clone(&election),
            end,
        )));
    }
    for task in ending {
        task.await.expect("no failure in the churn");
    }
    assert!(writes.load(Ordering::Relaxed) > 0 && election.turns.load(Ordering::SeqCst) > 1);

    let truth = async || {
        let list = maps.list(&ListParams::default().labels("churned=yes")).await;
        let entry = |map: ConfigMap| (map.name_any(), map.resource_version().unwrap_or_default());
        list.expect("listed")
            .into_iter()
            .map(entry)
            .collect::<BTreeMap<_, _>>()
    };
    let view = |seen: &Seen| seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    settles("a watcher that lists", async || (view(&listed), truth().await)).await;
    settles("a watcher that streams", async || {
        (view(&streamed), truth().await)
    })
    .await;
    settles("a reflector", async || {
        let entry = |map: Arc<ConfigMap>| (map.name_any(), map.resource_version().unwrap_or_default());
        (store.state().into_iter().map(entry).collect(), truth().await)
    })
    .await;
    settles("a controller", async || {
        let copies = secrets.list(&ListParams::default().labels("copied=yes")).await;
        let copies = copies.expect("listed").into_iter().map(|secret| {
            let value = secret.data.as_ref().and_then(|data| data.get("value"));
            let value = value.map(|value| String::from_utf8_lossy(&value.0).into_owned());
            (secret.name_any(), value.unwrap_or_default())
        });
        let originals = maps.list(&ListParams::default().labels("churned=yes")).await;
        let originals = originals.expect("listed").into_iter().map(|map| {
            let value = map.data.as_ref().and_then(|data| data.get("value").cloned());
            (map.name_any(), value.unwrap_or_default())
        });
        (copies.collect(), originals.collect())
    })
    .await;
    for task in [lister, streamer, reflecting, controlling] {
        assert!(!task.is_finished(), "a follower gave up");
        task.abort();
    }
}
