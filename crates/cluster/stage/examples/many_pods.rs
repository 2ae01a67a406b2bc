//! Says what many pods cost of which most find no room: how long until everything stands, what a request waits meanwhile,
//! and what the cluster takes at rest.
//!
//! `many_pods [STACKS [NAMESPACES [SECONDS]]]`: each stack is a pod that runs, four that ask for a device of which there
//! are few, and six more objects that are written for them; `SECONDS` is how long the rest is measured.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use stage::client::Client;
use stage::node::Options as NodeOptions;
use stage::object::Object as _;
use stage::options::DeleteOptions;
use stage::{Options, Stage};

type Failure = Box<dyn Error + Send + Sync>;

/// How many stacks are written at once, as by an operator that works on several.
const WRITERS: usize = 8;

/// How many devices there are, so that almost every pod that asks for one waits.
const DEVICES: usize = 8;

/// How long the cluster may take to settle.
const PATIENCE: Duration = Duration::from_mins(20);

/// How often a request is sent to see how long it takes.
const PROBE: Duration = Duration::from_millis(20);

const PODS: (&str, &str) = ("", "pods");

/// Everything that a stack is made of, with the resource of each object.
fn stack(number: usize, namespace: &str) -> Vec<((&'static str, &'static str), Value)> {
    let name = format!("stack-{number}");
    let metadata = |part: &str| json!({"name": format!("{name}-{part}"), "namespace": namespace});
    let labels =
        |part: &str| json!({"app.kubernetes.io/instance": name, "app.kubernetes.io/component": part});
    let deployment = |part: &str, replicas: usize, resources: Value| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(part),
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels(part)},
                "template": {
                    "metadata": {"labels": labels(part)},
                    "spec": {
                        "containers": [{
                            "name": "server", "image": "example.com/server:1", "resources": resources,
                            "ports": [{"name": "http", "containerPort": 8080}],
                            "env": [{"name": "MODEL", "value": "example/small-chat-7b"}],
                            "volumeMounts": [{"name": "settings", "mountPath": "/settings"}],
                        }],
                        "volumes": [
                            {"name": "settings", "configMap": {"name": format!("{name}-settings")}},
                            {"name": "models", "persistentVolumeClaim": {"claimName": format!("{name}-models")}},
                        ],
                    },
                },
            },
        })
    };
    let service = |part: &str| {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata(part),
            "spec": {"selector": labels(part), "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
        })
    };
    let map = |part: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(part), "data": {"settings": "a: b\n".repeat(40)}});
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata("models"),
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata("reader"),
        "spec": {"minAvailable": 1, "selector": {"matchLabels": labels("reader")}},
    });
    vec![
        (("", "configmaps"), map("settings")),
        (("", "configmaps"), map("prompts")),
        (("", "persistentvolumeclaims"), claim),
        (("", "services"), service("reader")),
        (("", "services"), service("router")),
        (("policy", "poddisruptionbudgets"), budget),
        (
            ("apps", "deployments"),
            deployment("router", 1, json!({"requests": {"cpu": "10m"}})),
        ),
        (
            ("apps", "deployments"),
            deployment("reader", 4, json!({"limits": {"nvidia.com/gpu": "1"}})),
        ),
    ]
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Which pods are there: those that run, and those that were told why they wait.
fn counted(client: &Client) -> Result<(usize, usize), Failure> {
    let (mut ready, mut told) = (0, 0);
    for pod in client.list_stored(PODS, "")? {
        // Read by what is written, so that looking costs little.
        let holds = |text: &str| String::from_utf8_lossy(&pod.bytes).contains(text);
        if holds("\"phase\":\"Running\"") {
            ready += 1;
        } else if holds("Insufficient nvidia.com/gpu") {
            told += 1;
        }
    }
    Ok((ready, told))
}

/// How many requests took how long, sorted.
async fn probe(client: Client, ends: Arc<AtomicBool>) -> Vec<Duration> {
    let mut taken = Vec::new();
    let mut number = 0_u64;
    while !ends.load(Ordering::Relaxed) {
        number += 1;
        let client = client.clone();
        let begin = Instant::now();
        let asked = tokio::spawn(async move {
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "probe", "namespace": "default"}, "data": {"n": number.to_string()}});
            client.apply(("", "configmaps"), "probe", &map).await
        });
        if !matches!(asked.await, Ok(Ok(_))) {
            eprintln!("a probe failed");
        }
        taken.push(begin.elapsed());
        tokio::time::sleep(PROBE).await;
    }
    taken.sort();
    taken
}

async fn write_all(client: &Client, stacks: usize, namespaces: usize) -> Result<(), Failure> {
    for number in 0..namespaces {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": format!("n{number}")}});
        client.create(("", "namespaces"), namespace).await?;
        while client
            .get(("", "serviceaccounts"), &format!("n{number}"), "default")?
            .is_none()
        {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let next = Arc::new(AtomicUsize::new(0));
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let (client, next) = (client.clone(), next.clone());
            tokio::spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= stacks {
                        return Ok(());
                    }
                    for (resource, object) in stack(number, &format!("n{}", number % namespaces)) {
                        client.create(resource, object).await?;
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer
            .await?
            .map_err(|status: stage::status::Status| status.to_string())?;
    }
    Ok(())
}

/// Waits until as many pods run and wait as should.
async fn settle(client: &Client, running: usize, waiting: usize) -> Result<(), Failure> {
    let begin = Instant::now();
    let mut said = begin;
    loop {
        let (ready, told) = counted(client)?;
        if ready == running && told == waiting {
            return Ok(());
        }
        if said.elapsed() > Duration::from_secs(10) {
            said = Instant::now();
            eprintln!("{:.0} s: {ready} run, {told} wait", begin.elapsed().as_secs_f64());
        }
        if begin.elapsed() > PATIENCE {
            return Err(format!("{ready} pods run and {told} wait, not {running} and {waiting}").into());
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |usual: usize| arguments.next().map_or(Ok(usual), |text| text.parse());
    let (stacks, namespaces, seconds) = (number(1000)?, number(1)?, number(60)?);
    let directory = tempfile::tempdir()?;
    let stage = Stage::start(Options {
        data_dir: Some(directory.path().to_owned()),
        node: NodeOptions {
            capacity: BTreeMap::from([("nvidia.com/gpu".to_owned(), DEVICES.to_string())]),
            ..NodeOptions::default()
        },
        ..Options::default()
    })
    .await?;
    let client = stage.client();
    let ends = Arc::new(AtomicBool::new(false));
    let probing = tokio::spawn(probe(client.clone(), ends.clone()));
    let (begin, cpu) = (Instant::now(), cpu_seconds());
    write_all(&client, stacks, namespaces).await?;
    println!(
        "written: {:.1} s, {:.1} CPU s",
        begin.elapsed().as_secs_f64(),
        cpu_seconds() - cpu
    );
    settle(&client, stacks + DEVICES, 4 * stacks - DEVICES).await?;
    println!(
        "settled: {:.1} s, {:.1} CPU s",
        begin.elapsed().as_secs_f64(),
        cpu_seconds() - cpu
    );

    // One device is given back at a time, and the next pod takes it.
    let cpu = cpu_seconds();
    for _ in 0..DEVICES {
        let holder = client.list(PODS, "")?.into_iter().find(|pod| {
            pod["status"]["phase"] == "Running"
                && pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"
        });
        let holder = holder.ok_or("no pod has a device")?;
        let options = DeleteOptions::default();
        client
            .delete(PODS, holder.namespace(), holder.name(), &options)
            .await?;
        while client.get(PODS, holder.namespace(), holder.name())?.is_some() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    settle(&client, stacks + DEVICES, 4 * stacks - DEVICES).await?;
    println!("{DEVICES} devices given on: {:.2} CPU s", cpu_seconds() - cpu);
    ends.store(true, Ordering::Relaxed);
    let taken = probing.await?;
    let at = |share: f64| taken[((taken.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "{} requests meanwhile: median {:.1} ms, p99 {:.1} ms, longest {:.1} ms",
        taken.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );

    // What still waits its turn is no rest.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (begin, cpu) = (Instant::now(), cpu_seconds());
    tokio::time::sleep(Duration::from_secs(seconds as u64)).await;
    let minutes = begin.elapsed().as_secs_f64() / 60.0;
    println!("at rest: {:.2} CPU s a minute", (cpu_seconds() - cpu) / minutes);
    stage.stop().await;
    Ok(())
}
