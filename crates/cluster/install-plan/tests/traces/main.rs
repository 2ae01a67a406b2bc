//! The traces of the real OLM v0: the Subscriptions, plans and catalogs of each flow, how they got there and where they
//! rest.
//!
//! A cluster in memory does what these rules decide; the half of OLM that they don't decide is pretended. So the order of
//! unrelated writes means nothing here: for each object the sequence of its states is compared, the set of conditions it
//! ever showed, and what it is at rest.

mod catalog;
mod cluster;
mod comparison;
mod files;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use classic::Kind;
use install_plan::settings::Settings;
use resolve::classic::entry::CatalogKey;
use serde_json::{Value, json};

use cluster::Cluster;
use comparison::{Aspect, differences};
use files::{list, objects, records, text, yaml};

/// Where ours differs, and why. `*` stands for every flow.
const DIFFERENT: &[(&str, Aspect, &str)] = &[
    (
        "*",
        Aspect(
            "conditions",
            "Subscription",
            "InstallPlanPending | True | Installing | ",
        ),
        "a plan may be complete before its Subscription is looked at, or not",
    ),
    (
        "*",
        Aspect(
            "conditions",
            "Subscription",
            "exists and is not referenced by a subscription",
        ),
        "while an upgrade is under way, upstream resolves all the same and complains of both versions",
    ),
    (
        "operatorcondition-blocks",
        Aspect("rest", "Subscription", "constraints not satisfiable"),
        "and the complaint stays when the upgrade has finished",
    ),
    (
        "crd-upgrade-unsafe",
        Aspect("states", "Subscription", "AtLatestKnown"),
        "an unsafe definition is found before the new version is created, so the Subscription isn't there yet",
    ),
    (
        "crd-upgrade-unsafe",
        Aspect("rest", "Subscription", "UpgradePending"),
        "the same at rest",
    ),
    (
        "crd-upgrade-unsafe",
        Aspect("rest", "InstallPlan", ".status.plan[0].status"),
        "the same for the step of the new version",
    ),
    (
        "delete-csv",
        Aspect("states", "Subscription", "UpgradePending"),
        "a version that somebody deleted is installed again, since the Subscription asks for it",
    ),
    (
        "delete-csv",
        Aspect("states", "InstallPlan", "Complete"),
        "by a plan of its own",
    ),
    (
        "delete-csv",
        Aspect("conditions", "InstallPlan", "Installed"),
        "which is complete",
    ),
    (
        "delete-csv",
        Aspect("rest", "InstallPlan", "nothing"),
        "and stays",
    ),
    (
        "delete-csv",
        Aspect("rest", "Subscription", "AtLatestKnown"),
        "so the Subscription is where it was",
    ),
    (
        "webhook-csv",
        Aspect("states", "Subscription", "UpgradePending"),
        "the flow ends with a version that is deleted, as delete-csv",
    ),
    (
        "webhook-csv",
        Aspect("states", "InstallPlan", "Complete"),
        "as delete-csv",
    ),
    (
        "webhook-csv",
        Aspect("conditions", "InstallPlan", "Installed"),
        "as delete-csv",
    ),
    (
        "webhook-csv",
        Aspect("rest", "InstallPlan", "nothing"),
        "as delete-csv",
    ),
    (
        "webhook-csv",
        Aspect("rest", "Subscription", "AtLatestKnown"),
        "as delete-csv",
    ),
    (
        "no-operatorgroup",
        Aspect("conditions", "Subscription", "found 0 operatorGroups, expected 1"),
        "what upstream only logs is said where people look",
    ),
    (
        "two-operatorgroups",
        Aspect("conditions", "Subscription", "found 2 operatorGroups, expected 1"),
        "the same for a namespace with several",
    ),
    (
        "scoped-serviceaccount-missing",
        Aspect("states", "InstallPlan", "Complete"),
        "a service account that is created after its OperatorGroup is found, so the plan goes on",
    ),
    (
        "scoped-serviceaccount-missing",
        Aspect("conditions", "InstallPlan", "retrying execution due to error"),
        "until it may do what it is used for",
    ),
    (
        "scoped-serviceaccount-missing",
        Aspect("conditions", "InstallPlan", "Installed | True"),
        "and to its end",
    ),
    (
        "scoped-serviceaccount-missing",
        Aspect("states", "Subscription", "AtLatestKnown"),
        "and so does the Subscription",
    ),
    (
        "scoped-serviceaccount-missing",
        Aspect("rest", "InstallPlan", "attenuatedServiceAccountRef"),
        "the same at rest",
    ),
    (
        "scoped-serviceaccount-missing",
        Aspect("rest", "Subscription", "AtLatestKnown"),
        "the same at rest",
    ),
];

/// Where ours differs beside that when failures stay apart, and why.
const APART: &[(&str, Aspect, &str)] = &[(
    "catalog-unreachable",
    Aspect("conditions", "Subscription", "ErrorPreventedResolution"),
    "a catalog that can't be reached doesn't stop a Subscription to another",
)];

/// Flows whose final objects leave something to do, and why.
const RESTLESS: &[(&str, &str)] = &[
    (
        "crd-upgrade-unsafe",
        "ResolutionFailed goes: there is nothing to resolve while both versions exist",
    ),
    (
        "operatorcondition-blocks",
        "ResolutionFailed goes: upstream forgot it",
    ),
    ("delete-csv", "the version is installed again"),
    ("webhook-csv", "the version is installed again"),
];

fn traces() -> Option<Vec<PathBuf>> {
    let folder = corpus::open("olmv0")?.join("olmv0-corpus/traces");
    let mut traces: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the traces")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    traces.sort();
    assert_eq!(traces.len(), 45);
    Some(traces)
}

fn name(trace: &Path) -> &str {
    trace.file_name().and_then(|name| name.to_str()).expect("a name")
}

/// Upstream's behaviour where there is a switch for it.
fn upstreams() -> Settings {
    Settings {
        failures_stay_apart: false,
        ..Settings::default()
    }
}

/// The CatalogSources that a catalog is served for.
fn sources(trace: &Path, catalog: &str) -> Vec<CatalogKey> {
    objects_of_inputs(trace)
        .iter()
        .filter(|object| {
            text(object, "/kind") == "CatalogSource" && text(object, "/metadata/name") == catalog
        })
        .map(|source| CatalogKey::new(text(source, "/metadata/namespace"), catalog))
        .collect()
}

fn objects_of_inputs(trace: &Path) -> Vec<Value> {
    let mut all = Vec::new();
    for step in steps(trace) {
        if let Some(file) = step["file"].as_str() {
            all.extend(yaml(&trace.join("input").join(file)));
        }
    }
    all
}

fn steps(trace: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(trace.join("input/steps.json")).expect("the steps");
    let steps: Value = serde_json::from_str(&text).expect("JSON");
    steps.as_array().expect("a list").clone()
}

fn load_catalog(cluster: &mut Cluster, trace: &Path, step: &Value) {
    let catalog = text(step, "/catalog");
    for key in sources(trace, catalog) {
        let snapshot = catalog::read(&key, &trace.join("input").join(text(step, "/dir")));
        cluster.catalogs.insert(key, snapshot);
    }
}

/// The phase that each ClusterServiceVersion of a trace comes to.
fn phases(trace: &Path) -> BTreeMap<(String, String), String> {
    let mut phases: BTreeMap<(String, String), String> = BTreeMap::new();
    for record in records(&trace.join("trace.jsonl")) {
        let phase = text(&record, "/object/status/phase");
        if text(&record, "/kind") != "ClusterServiceVersion" || matches!(phase, "" | "Replacing" | "Deleting")
        {
            continue;
        }
        let key = (
            text(&record, "/namespace").to_owned(),
            text(&record, "/name").to_owned(),
        );
        let known = phases.entry(key).or_default();
        if known != "Succeeded" {
            phase.clone_into(known);
        }
    }
    phases
}

fn take(cluster: &mut Cluster, trace: &Path, step: &Value) {
    let kind = |value: &Value| Kind::named(text(value, "/kind"));
    match text(step, "/op") {
        "catalog" => load_catalog(cluster, trace, step),
        "create" => {
            for object in yaml(&trace.join("input").join(text(step, "/file"))) {
                if matches!(
                    text(&object, "/kind"),
                    "Role" | "RoleBinding" | "ClusterRoleBinding"
                ) {
                    cluster.permitted = true;
                }
                cluster.put(object);
            }
        }
        "delete" => {
            if let Some(kind) = kind(step) {
                cluster.delete(kind, text(step, "/namespace"), text(step, "/name"));
            }
        }
        "patch" if step["file"].is_string() => {
            for patch in yaml(&trace.join("input").join(text(step, "/file"))) {
                let Some(kind) = kind(&patch["patch"]) else {
                    continue;
                };
                let namespace = text(&patch, "/patch/namespace");
                let named = text(&patch, "/patch/name");
                let waiting = || {
                    let plans = cluster.world.in_namespace(Kind::InstallPlan, namespace);
                    let mut plans = plans.filter(|plan| text(plan, "/status/phase") == "RequiresApproval");
                    plans.next().map(|plan| text(plan, "/metadata/name").to_owned())
                };
                let name = if kind == Kind::InstallPlan {
                    waiting().expect("a plan to approve")
                } else {
                    named.to_owned()
                };
                cluster.patch(kind, namespace, &name, &patch["body"]);
            }
        }
        "patch" => {
            // The one patch that is told in words.
            assert_eq!(
                text(step, "/text"),
                "CR one gets spec.mode=x while the plan is retrying"
            );
            cluster.resources[0]["spec"]["mode"] = json!("x");
        }
        "kubelet-release" => {}
        other => panic!("{other} is no step"),
    }
}

/// Replays the inputs of a trace.
fn replay(trace: &Path, settings: Settings) -> Cluster {
    let mut cluster = Cluster::new(settings);
    cluster.phases = phases(trace);
    for step in steps(trace) {
        take(&mut cluster, trace, &step);
        cluster.settle();
    }
    // Plans that fail are given up after a minute.
    cluster.now = cluster
        .now
        .checked_add(std::time::Duration::from_mins(2))
        .expect("a time");
    cluster.settle();
    cluster
}

/// Replays every trace, and fails where it differs otherwise than listed.
fn compare_all(settings: &Settings, different: &[&(&str, Aspect, &str)]) {
    let Some(traces) = traces() else { return };
    let mut unexpected = Vec::new();
    let mut used = vec![false; different.len()];
    for trace in &traces {
        let cluster = replay(trace, settings.clone());
        let recorded = records(&trace.join("trace.jsonl"));
        let rest = objects(&trace.join("final"));
        for difference in differences(&cluster, &recorded, &rest) {
            let listed = different.iter().position(|(flow, aspect, _)| {
                (*flow == "*" || *flow == name(trace)) && aspect.is(&difference)
            });
            match listed {
                Some(listed) => used[listed] = true,
                None => unexpected.push(format!("{}: {difference}", name(trace))),
            }
        }
    }
    assert!(
        unexpected.is_empty(),
        "{} differences:\n{}",
        unexpected.len(),
        unexpected.join("\n")
    );
    for ((flow, _, reason), used) in different.iter().zip(used) {
        assert!(used, "no difference any more: {flow}: {reason}");
    }
}

#[test]
fn every_flow_takes_upstreams_way() {
    compare_all(&upstreams(), &DIFFERENT.iter().collect::<Vec<_>>());
}

#[test]
fn every_flow_takes_the_same_way_when_failures_stay_apart() {
    let different = DIFFERENT.iter().chain(APART);
    compare_all(&Settings::default(), &different.collect::<Vec<_>>());
}

#[test]
fn nothing_is_left_to_do_at_rest() {
    let Some(traces) = traces() else { return };
    let mut unexpected = Vec::new();
    for trace in &traces {
        let mut cluster = Cluster::new(upstreams());
        cluster.permitted = true;
        cluster.phases = phases(trace);
        for step in steps(trace) {
            if text(&step, "/op") == "catalog" {
                load_catalog(&mut cluster, trace, &step);
            }
        }
        for object in objects(&trace.join("final")) {
            let kind = Kind::named(text(&object, "/kind"));
            assert!(kind.is_some() || list(&object, "/metadata/ownerReferences").is_empty());
            cluster.world.put(object);
        }
        let wanted = cluster.wanted();
        let listed = RESTLESS.iter().find(|(flow, _)| *flow == name(trace));
        match (wanted.is_empty(), listed) {
            (true, None) | (false, Some(_)) => {}
            (true, Some((_, reason))) => unexpected.push(format!("{}: rests now: {reason}", name(trace))),
            (false, None) => unexpected.push(format!("{}: {}", name(trace), wanted.join("; "))),
        }
    }
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
}
