//! Helm 3 and Helm 4 install, upgrade, roll back and uninstall real charts on stage.
//!
//! `CONTRACT_CASES` keeps the charts whose name contains it; `all` takes every chart of the corpus that renders.

mod needs;
mod served_stage;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use contract::clients::Clients;
use needs::found;
use served_stage::ServedStage;

/// The charts that are played, each with the values it always gets and with what its upgrade changes. On one machine
/// no balancer hands out addresses, which Helm 3 waits for, so Services have addresses in the cluster only.
const CHARTS: [(&str, &str, &str); 22] = [
    (
        "bitnami-charts__bitnami__apache",
        "service.type=ClusterIP",
        "replicaCount=2",
    ),
    ("bitnami-charts__bitnami__memcached", "", "podLabels.round=second"),
    (
        "bitnami-charts__bitnami__mysql",
        "",
        "auth.rootPassword=x,auth.password=y,commonLabels.round=second",
    ),
    (
        "bitnami-charts__bitnami__postgresql",
        "",
        "auth.postgresPassword=x,commonAnnotations.round=second",
    ),
    (
        "bitnami-charts__bitnami__haproxy",
        "service.type=ClusterIP",
        "replicaCount=2",
    ),
    (
        "bitnami-charts__bitnami__zookeeper",
        "",
        "commonLabels.round=second",
    ),
    ("bitnami-charts__bitnami__oauth2-proxy", "", "replicaCount=2"),
    (
        "bitnami-charts__bitnami__tomcat",
        "service.type=ClusterIP",
        "replicaCount=2",
    ),
    (
        "bitnami-charts__bitnami__node-exporter",
        "",
        "commonLabels.round=second",
    ),
    (
        "cert-manager-cert-manager__deploy__charts__cert-manager",
        "",
        "replicaCount=2",
    ),
    (
        "kubernetes-ingress-nginx__charts__ingress-nginx",
        "controller.service.type=ClusterIP",
        "controller.replicaCount=2",
    ),
    (
        "prometheus-community-helm-charts__charts__prometheus",
        "",
        "server.podLabels.round=second",
    ),
    (
        "prometheus-community-helm-charts__charts__alertmanager",
        "",
        "replicaCount=2",
    ),
    (
        "prometheus-community-helm-charts__charts__kube-state-metrics",
        "",
        "replicas=2",
    ),
    (
        "prometheus-community-helm-charts__charts__prometheus-pushgateway",
        "",
        "podLabels.round=second",
    ),
    (
        "prometheus-community-helm-charts__charts__prometheus-redis-exporter",
        "",
        "replicaCount=2",
    ),
    (
        "prometheus-community-helm-charts__charts__prometheus-statsd-exporter",
        "",
        "replicaCount=2",
    ),
    (
        "prometheus-community-helm-charts__charts__prometheus-operator-crds",
        "",
        "crds.annotations.round=second",
    ),
    (
        "grafana-helm-charts__charts__promtail",
        "",
        "podLabels.round=second",
    ),
    (
        "prometheus-community-helm-charts__charts__prometheus-blackbox-exporter",
        "",
        "replicas=2",
    ),
    (
        "traefik-traefik-helm-chart__traefik",
        "service.spec.type=ClusterIP",
        "deployment.replicas=2",
    ),
    (
        "argoproj-argo-helm__charts__argo-rollouts",
        "",
        "controller.replicas=1",
    ),
];

/// How many releases are played at the same time: Helm waits most of the time, so a few share a machine well.
const AT_ONCE: usize = 6;

/// A chart, the values it always gets and those that its upgrade changes.
struct Chart {
    path: PathBuf,
    always: &'static str,
    change: &'static str,
}

/// A Helm and the cluster that it talks to.
struct Helm {
    program: PathBuf,
    kubeconfig: PathBuf,
    home: tempfile::TempDir,
}

impl Helm {
    fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let home = self.home.path();
        let output = Command::new(&self.program)
            .args(arguments)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", home)
            .env("KUBECACHEDIR", home.join("cache"))
            .current_dir(home)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(format!(
            "helm {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        ))
    }

    /// Plays the life of one release.
    fn life(&self, chart: &Chart, number: usize) -> Result<(), String> {
        let Chart { path, always, change } = chart;
        let release = format!("life-{number}");
        let (release, namespace) = (release.as_str(), format!("life-{number}"));
        let namespace = namespace.as_str();
        let chart = path.display().to_string();
        let wait = ["--wait", "--timeout", "60s"];
        let within = |arguments: &[&str]| {
            let mut all = arguments.to_vec();
            all.extend(["--namespace", namespace]);
            self.run(&all)
        };
        let waiting = |arguments: &[&str]| {
            let mut all = arguments.to_vec();
            all.extend(wait);
            within(&all)
        };
        let mut install = vec!["upgrade", "--install", release, &chart, "--create-namespace"];
        if !always.is_empty() {
            install.extend(["--set", always]);
        }
        waiting(&install)?;
        let first = within(&["get", "manifest", release])?;
        let mut upgrade = vec!["upgrade", "--install", release, &chart];
        for set in [always, change] {
            if !set.is_empty() {
                upgrade.extend(["--set", set]);
            }
        }
        waiting(&upgrade)?;
        waiting(&["rollback", release, "1"])?;
        let again = within(&["get", "manifest", release])?;
        expect(first == again, "the manifest after the rollback isn't the first")?;
        let history = json(&within(&["history", release, "--output", "json"])?)?;
        let states: Vec<_> = history
            .as_array()
            .into_iter()
            .flatten()
            .map(|revision| revision["status"].as_str().unwrap_or_default().to_owned())
            .collect();
        expect(
            states == ["superseded", "superseded", "deployed"],
            &format!("the history is {states:?}"),
        )?;
        let status = json(&within(&["status", release, "--output", "json"])?)?;
        expect(
            status["info"]["status"] == "deployed",
            &format!("the status is {}", status["info"]),
        )?;
        let list = json(&within(&["list", "--output", "json"])?)?;
        expect(
            list.as_array().is_some_and(|releases| releases.len() == 1) && list[0]["revision"] == "3",
            &format!("the list is {list}"),
        )?;
        waiting(&["uninstall", release])?;
        let list = json(&within(&["list", "--output", "json"])?)?;
        expect(
            list.as_array().is_some_and(Vec::is_empty),
            &format!("after the end the list is {list}"),
        )
    }
}

fn expect(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}

fn json(text: &str) -> Result<serde_json::Value, String> {
    serde_json::from_str(text).map_err(|error| format!("{error} in {text}"))
}

/// Plays the charts, a few at a time, and returns what failed.
fn play(helm: &Helm, charts: &[Chart]) -> Vec<String> {
    let next = Mutex::new(0..charts.len());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = next.lock().ok().and_then(|mut next| next.next());
                    let Some((number, chart)) = number.and_then(|n| Some((n, charts.get(n)?))) else {
                        break;
                    };
                    if let Err(reason) = helm.life(chart, number)
                        && let Ok(mut failures) = failures.lock()
                    {
                        failures.push(format!("{}: {reason}", chart.path.display()));
                    }
                }
            });
        }
    });
    failures.into_inner().unwrap_or_default()
}

fn charts(folder: &Path) -> Vec<Chart> {
    let wanted = std::env::var("CONTRACT_CASES").unwrap_or_default();
    let folder = folder.join("charts");
    if wanted == "all" {
        let mut all: Vec<_> = std::fs::read_dir(&folder)
            .expect("the charts")
            .map(|entry| Chart {
                path: entry.expect("a chart").path(),
                always: "",
                change: "",
            })
            .collect();
        all.sort_by(|one: &Chart, other| one.path.cmp(&other.path));
        return all;
    }
    CHARTS
        .into_iter()
        .filter(|(chart, ..)| chart.contains(&wanted))
        .map(|(chart, always, change)| Chart {
            path: folder.join(chart),
            always,
            change,
        })
        .collect()
}

async fn lives(program: &str) {
    let Some(clients) = found(Clients::locate()) else {
        return;
    };
    let Some(corpus) = corpus::open("helm-charts") else {
        return;
    };
    let stage = ServedStage::start().await;
    let helm = Arc::new(Helm {
        program: clients.program(program),
        kubeconfig: stage.kubeconfig.clone(),
        home: tempfile::tempdir().expect("a home"),
    });
    let failures = tokio::task::spawn_blocking(move || play(&helm, &charts(&corpus)))
        .await
        .expect("the lives end");
    assert!(
        failures.is_empty(),
        "{} releases failed\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn helm_3_keeps_releases_on_stage() {
    lives("helm3").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn helm_4_keeps_releases_on_stage() {
    lives("helm4").await;
}
