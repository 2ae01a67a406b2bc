//! Helm 3 and Helm 4 install, upgrade, roll back and uninstall real charts on stage.
//!
//! `CONTRACT_CHARTS=all` takes every chart of the corpus that renders instead of these.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use contract::clients::Clients;
use suite::{Case, Group, Outcome};

use crate::served_stage::ServedStage;

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

/// How many releases are played at the same time: each is a Helm that renders, and then one that waits.
const AT_ONCE: usize = 2;

/// How long a Helm waits for what it made; it is only used up when something is wrong.
const PATIENCE: &str = "10m";

/// A life has four waits, of which the first that fails is the last.
const LIMIT: Duration = Duration::from_mins(12);

/// A chart by the name of its folder, the values it always gets and those that its upgrade changes.
struct Chart {
    name: String,
    always: &'static str,
    change: &'static str,
}

/// A Helm, the charts that it plays, and the cluster that it talks to.
struct Helm {
    program: PathBuf,
    charts: PathBuf,
    home: tempfile::TempDir,
    stage: ServedStage,
}

impl Helm {
    fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let home = self.home.path();
        let output = Command::new(&self.program)
            .args(arguments)
            .env("KUBECONFIG", &self.stage.kubeconfig)
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
    fn life(&self, chart: &Chart, number: usize) -> Outcome {
        let Chart { name, always, change } = chart;
        let release = format!("life-{number}");
        let (release, namespace) = (release.as_str(), format!("life-{number}"));
        let namespace = namespace.as_str();
        let chart = self.charts.join(name).display().to_string();
        let wait = ["--wait", "--timeout", PATIENCE];
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

/// The folder of the corpus that has a folder for each chart.
fn folder() -> Result<PathBuf, String> {
    let corpus = corpus::open("helm-charts").ok_or("the recorded charts are absent")?;
    Ok(corpus.join("charts"))
}

fn charts() -> Vec<Chart> {
    if std::env::var_os("CONTRACT_CHARTS").is_some_and(|charts| charts == "all") {
        return all_charts(&folder().expect("the charts"));
    }
    let chart = |(name, always, change): (&str, _, _)| Chart {
        name: name.to_owned(),
        always,
        change,
    };
    CHARTS.into_iter().map(chart).collect()
}

fn all_charts(folder: &Path) -> Vec<Chart> {
    let entries = std::fs::read_dir(folder).expect("the charts");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("a chart").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let chart = |name| Chart {
        name,
        always: "",
        change: "",
    };
    names.into_iter().map(chart).collect()
}

async fn open(program: &str) -> Result<Helm, String> {
    let clients = Clients::locate().map_err(|error| error.to_string())?;
    Ok(Helm {
        program: clients.program(program),
        charts: folder()?,
        home: tempfile::tempdir().map_err(|error| error.to_string())?,
        stage: ServedStage::start().await,
    })
}

/// The lives of releases with one Helm.
pub(crate) fn lives(program: &'static str) -> Group<impl Send + Sync> {
    let cases = charts().into_iter().enumerate().map(|(number, chart)| {
        Case::blocking(chart.name.clone(), move |helm: &Helm| helm.life(&chart, number))
    });
    Group::shared(format!("{program}-on-stage"), move || open(program))
        .at_once(AT_ONCE)
        .within(LIMIT)
        .cases(cases)
}
