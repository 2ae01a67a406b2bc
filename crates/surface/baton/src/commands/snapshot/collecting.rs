//! What goes into the archive, the most important first: where there is no more room, the rest is left out.

use std::collections::BTreeMap;
use std::time::Duration;

use apply::object::text;
use apply::refusal::words;
use chart::release::Release;
use deploy::component::Component;
use doctor::archive::{Archive, Keep as KeptEnd};
use doctor::logs::{self, Log};
use doctor::redaction::{Redactor, Scissors};
use doctor::{Report, Subject, question};
use http::Request;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::Client;
use kube::api::{Api, LogParams};
use serde_json::{Value, json};

use super::Snapshot;
use crate::cluster_picture::{self, Keep, Seen};
use crate::commands::doctor::drawing;
use crate::failure::Failure;
use crate::guarded_metrics;

/// How many logs are read.
const MOST_LOGS: usize = 300;

/// How long a log, a record or a page may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The kinds whose objects are large and seldom what is wrong: they come last.
const BULKY: [&str; 3] = ["ConfigMap", "CustomResourceDefinition", "ClusterServiceVersion"];

impl Snapshot {
    /// Collects everything that there is room for.
    pub(super) async fn collect(&self) -> Result<Archive, Failure> {
        let client = self.access.connect().await?;
        let namespace = self.scope.namespace.as_deref();
        let mut seen = cluster_picture::look(&client, namespace, Keep::Whole).await?;
        // The report of `baton doctor`: what is asked for beyond it must not change it.
        let report = Report::of(&seen.picture);
        let (questions, beyond) = question::for_archive(&seen.picture);
        seen.ask(&client, questions, Keep::Whole).await;
        let releases = self.releases(&client, &seen).await;
        let logs = self.logs(&client, &seen).await;
        let objects = seen.sorted_objects();
        let mut redactor = Redactor::default();
        for object in objects.iter().chain(releases.values()) {
            redactor.learn(object);
        }
        let scissors = redactor.finish();
        let mut archive = Archive::new(self.limits());
        self.tell_of_itself(&client, &scissors, &mut archive).await?;
        add_report(&report, &scissors, &mut archive)?;
        add_objects(&objects, &scissors, &mut archive, |kind| !BULKY.contains(&kind))?;
        add_events(&objects, &scissors, &mut archive)?;
        for (log, read) in logs {
            match read {
                Ok(log_text) => archive.add(&log.path(), &scissors.text(&log_text), KeptEnd::End),
                Err(why) => archive.leave_out(&log.path(), scissors.text(&why)),
            }
        }
        for (path, record) in &releases {
            let shown = goyaml::to_string(&scissors.object(record))?;
            archive.add(path, &shown, KeptEnd::Start);
        }
        add_objects(&objects, &scissors, &mut archive, |kind| BULKY.contains(&kind))?;
        add_metrics(&client, &seen, &scissors, &mut archive).await;
        if let Some(up) = self.access.up().await {
            // Metrics are beside the catalogs.
            let place = up.catalogs.trim_end_matches("/catalogs");
            match direct(&format!("{place}{}", guarded_metrics::PATH)).await {
                Ok(metrics) => archive.add("metrics/up.txt", &scissors.text(&metrics), KeptEnd::Start),
                Err(why) => archive.leave_out("metrics/up.txt", why),
            }
        }
        for unseen in &seen.picture.unseen {
            archive.leave_out(&unseen.question.words(), scissors.text(&unseen.cause));
        }
        for cut in &seen.picture.cut {
            archive.leave_out(&cut.words(), "there are too many");
        }
        for namespace in beyond {
            let what = format!("pods, events and settings of namespace {namespace}");
            archive.leave_out(&what, "there are too many namespaces");
        }
        if !self.with_values && !releases.is_empty() {
            archive.leave_out("values of Helm releases", "--with-values keeps them");
        }
        Ok(archive)
    }

    /// Says what made the archive, of which cluster.
    async fn tell_of_itself(
        &self,
        client: &Client,
        scissors: &Scissors,
        archive: &mut Archive,
    ) -> Result<(), Failure> {
        let flags: Vec<String> = std::env::args().skip(1).collect();
        let itself = json!({
            "baton": env!("CARGO_PKG_VERSION"),
            "arguments": scissors.object(&json!({"args": flags}))["args"],
        });
        archive.add("baton.yaml", &goyaml::to_string(&itself)?, KeptEnd::Start);
        for (path, file) in [
            ("/version", "server/version.json"),
            ("/api", "server/api.json"),
            ("/apis", "server/apis.json"),
        ] {
            match page(client, path).await {
                Ok(page) => archive.add(file, &scissors.text(&page), KeptEnd::Start),
                Err(why) => archive.leave_out(file, why),
            }
        }
        Ok(())
    }

    /// Reads the logs of controllers and operators; which log is missing, and why, is told in its place.
    async fn logs(&self, client: &Client, seen: &Seen) -> Vec<(Log, Result<String, String>)> {
        let mut read = Vec::new();
        for (index, log) in logs::wanted(&seen.picture).into_iter().enumerate() {
            let text = if index < MOST_LOGS {
                self.log(client, &log).await
            } else {
                Err(format!("there are more than {MOST_LOGS} logs"))
            };
            read.push((log, text));
        }
        read
    }

    async fn log(&self, client: &Client, log: &Log) -> Result<String, String> {
        let pods: Api<Pod> = Api::namespaced(client.clone(), &log.namespace);
        let parameters = LogParams {
            container: Some(log.container.clone()),
            previous: log.is_previous,
            tail_lines: Some(i64::from(self.log_lines)),
            timestamps: true,
            ..LogParams::default()
        };
        answered(pods.logs(&log.pod, &parameters)).await
    }

    /// Reads what records say of releases, and their values where they are wanted.
    async fn releases(&self, client: &Client, seen: &Seen) -> BTreeMap<String, Value> {
        let mut records = BTreeMap::new();
        let secrets = seen.objects.iter().filter(|object| {
            text(object, "/kind") == "Secret" && text(object, "/metadata/labels/owner") == "helm"
        });
        for secret in secrets {
            let subject = Subject::of(secret);
            let mut record = json!({"labels": secret.pointer("/metadata/labels"),
                "ownerReferences": secret.pointer("/metadata/ownerReferences")});
            if self.with_values {
                let values = values(client, &subject).await;
                record["values"] = values.unwrap_or_else(|why| Value::from(format!("can't be read: {why}")));
            }
            records.insert(
                format!("releases/{}/{}.yaml", subject.namespace, subject.name),
                record,
            );
        }
        records
    }
}

/// The values that a record keeps.
async fn values(client: &Client, record: &Subject) -> Result<Value, String> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &record.namespace);
    let secret = answered(secrets.get(&record.name)).await?;
    let secret = serde_json::to_value(secret).map_err(|error| error.to_string())?;
    let release = Release::from_secret(&secret).map_err(|error| error.to_string())?;
    let values = release.config.as_deref().map_or("null", |values| values.get());
    serde_json::from_str(values).map_err(|error| error.to_string())
}

fn add_report(report: &Report, scissors: &Scissors, archive: &mut Archive) -> Result<(), Failure> {
    let drawn = anstream::adapter::strip_str(&drawing::draw(report)).to_string();
    archive.add("report.txt", &scissors.text(&drawn), KeptEnd::Start);
    let report = scissors.object(&serde_json::to_value(report)?);
    archive.add(
        "report.json",
        &format!("{}\n", serde_json::to_string_pretty(&report)?),
        KeptEnd::Start,
    );
    Ok(())
}

/// Adds objects, one file each.
fn add_objects(
    objects: &[Value],
    scissors: &Scissors,
    archive: &mut Archive,
    is_meant: impl Fn(&str) -> bool,
) -> Result<(), Failure> {
    for object in objects {
        let subject = Subject::of(object);
        if subject.kind == "Event" || !is_meant(&subject.kind) {
            continue;
        }
        let place = if subject.namespace.is_empty() {
            "cluster".to_owned()
        } else {
            format!("namespaces/{}", subject.namespace)
        };
        let kind = match subject.group.as_str() {
            "" => subject.kind,
            group => format!("{}.{group}", subject.kind),
        };
        let shown = goyaml::to_string(&scissors.object(object))?;
        archive.add(
            &format!("objects/{place}/{kind}/{}.yaml", subject.name),
            &shown,
            KeptEnd::Start,
        );
    }
    Ok(())
}

/// Adds the events of each namespace, the newest at the end.
fn add_events(objects: &[Value], scissors: &Scissors, archive: &mut Archive) -> Result<(), Failure> {
    let mut events: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for event in objects.iter().filter(|object| text(object, "/kind") == "Event") {
        events
            .entry(text(event, "/metadata/namespace"))
            .or_default()
            .push(event);
    }
    for (namespace, mut events) in events {
        events.sort_by_key(|event| {
            let time = ["/lastTimestamp", "/eventTime", "/metadata/creationTimestamp"]
                .iter()
                .map(|field| text(event, field))
                .find(|time| !time.is_empty());
            (time.unwrap_or_default(), text(event, "/metadata/name"))
        });
        let shown: Vec<Value> = events.into_iter().map(|event| scissors.object(event)).collect();
        archive.add(
            &format!("events/{namespace}.yaml"),
            &goyaml::to_string(&shown)?,
            KeptEnd::End,
        );
    }
    Ok(())
}

/// Adds the metrics of baton's components, through the API server.
async fn add_metrics(client: &Client, seen: &Seen, scissors: &Scissors, archive: &mut Archive) {
    for component in Component::ALL {
        let file = format!("metrics/{}.txt", component.name());
        let Some(namespace) = seen.picture.namespace_of_deployment(component.deployment()) else {
            continue;
        };
        let path = format!(
            "/api/v1/namespaces/{namespace}/services/https:{}:{}/proxy{}",
            component.service(),
            component.metrics_port(),
            guarded_metrics::PATH
        );
        match page(client, &path).await {
            Ok(metrics) => archive.add(&file, &scissors.text(&metrics), KeptEnd::Start),
            Err(why) => archive.leave_out(&file, scissors.text(&why)),
        }
    }
}

/// Reads what the API server has at a path.
async fn page(client: &Client, path: &str) -> Result<String, String> {
    let request = Request::get(path)
        .body(Vec::new())
        .map_err(|error| error.to_string())?;
    answered(client.request_text(request)).await
}

/// Reads what a `baton up` of this machine has at an address.
async fn direct(address: &str) -> Result<String, String> {
    let client = reqwest::Client::builder()
        .timeout(PATIENCE)
        .build()
        .map_err(|error| error.to_string())?;
    let answer = client
        .get(address)
        .send()
        .await
        .and_then(reqwest::Response::error_for_status);
    let answer = answer.map_err(|error| error.to_string())?;
    answer.text().await.map_err(|error| error.to_string())
}

/// Waits for an answer, but not for ever.
async fn answered<T>(asked: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(answer) => answer.map_err(|error| words(&error)),
        Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
    }
}
