//! baton as `baton deploy` installs it: each component runs as its own ServiceAccount, with its rights and no others.
//!
//! No pod of the test's clusters runs a program. The Deployments are made, their pods are played by the cluster, and what
//! the containers would run is run beside it, with the arguments of the Deployments and the tokens of their accounts.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use deploy::component::Component;
use deploy::settings::Settings;
use serde_json::{Value, json};

use crate::bundles::Contents;
use crate::images::Entry;
use crate::kubernetes::PATIENCE;
use crate::processes::{Controllers, Kind, Server, free_address};
use crate::reference::Reference;
use crate::scenario::{Extension, Scenario};
use crate::terminal::Terminal;
use crate::world::{World, catalog};

type Outcome = Result<(), String>;

/// The image that the Deployments name; nobody pulls it here.
const IMAGE: &str = "registry.test/baton:test";

/// A component that runs beside the cluster.
struct Running {
    component: Component,
    controllers: Controllers,
    metrics: String,
}

/// An installation is made, checked, and works with the rights that it has.
pub(crate) async fn an_installation_works_with_its_own_rights(server: Server) -> Outcome {
    let world = World::prepared_on(server, &[]).await?;
    let terminal = Terminal::of(&world)?;
    let before = terminal.run(&["deploy", "--check"]).await?;
    says(
        &before.stdout,
        "Deployment olmv1-system/catalogd-controller-manager",
    )?;
    if before.code != Some(1) {
        return Err(format!("a cluster without baton lacks nothing: {before:?}"));
    }
    terminal.run(&["deploy", "--image", IMAGE]).await?.successful()?;
    terminal
        .run(&["deploy", "--check", "--image", IMAGE])
        .await?
        .successful()?;
    let again = terminal
        .run(&["deploy", "--dry-run", "--image", IMAGE])
        .await?
        .successful()?;
    let others: Vec<&str> = again
        .lines()
        .skip(1)
        .filter(|line| !line.starts_with("leave "))
        .collect();
    if !others.is_empty() {
        return Err(format!(
            "a second deployment would change something:\n{}",
            others.join("\n")
        ));
    }

    if world.server.kind() == Kind::Kubernetes {
        catalogs_are_labelled(&world).await?;
    }

    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let settings = Settings::default();
    let mut running = Vec::new();
    for component in Component::ALL {
        running.push(start(&world, &settings, component, folder.path()).await?);
    }
    // A second replica waits for the Lease, which takes rights of its own.
    running.push(
        start(
            &world,
            &settings,
            Component::Catalogs,
            &folder.path().join("second"),
        )
        .await?,
    );
    let world = Arc::new(world);
    let told = works(&world).await;
    let words: Vec<String> = running.iter().filter_map(refusals).collect();
    if !words.is_empty() {
        return Err(format!(
            "{}\nrights are missing:\n{}",
            told.err().unwrap_or_default(),
            words.join("\n")
        ));
    }
    let logs = || {
        let last = running
            .iter()
            .map(|running| format!("{:?}: {}", running.component, running.controllers.last_words(20)));
        last.collect::<Vec<_>>().join("\n")
    };
    told.map_err(|reason| format!("{reason}\n{}", logs()))?;
    for running in &running {
        metrics_are_served(&world, &settings, running).await?;
    }
    Ok(())
}

/// A policy labels catalogs with their names, before any controller sees them. The embedded server keeps such policies, and
/// doesn't apply them.
async fn catalogs_are_labelled(world: &World) -> Outcome {
    let catalog = catalog("labelled", "registry.test/catalog:v1");
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = world.kubernetes.apply_with(&catalog, "&dryRun=All").await?;
        if answer.body["metadata"]["labels"]["olm.operatorframework.io/metadata.name"] == "labelled" {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!(
                "a catalog gets no label: {} {}",
                answer.code, answer.body
            ));
        }
        // The server learns of policies by itself.
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Members of a group may ask for what a ConfigMap lists, and for nothing else.
async fn tenants_are_limited(world: &World, terminal: &Terminal) -> Outcome {
    let with_limits = [
        "deploy",
        "--with",
        "tenant-limits",
        "--tenants",
        "team",
        "--no-wait",
    ];
    terminal.run(&with_limits).await?.successful()?;
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "asks"},
        "rules": [{"apiGroups": ["olm.operatorframework.io"], "resources": ["clusterextensions"],
            "verbs": ["get", "create", "patch"]}]});
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "asks"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "asks"},
        "subjects": [{"kind": "Group", "name": "team", "apiGroup": "rbac.authorization.k8s.io"}]});
    for object in [role, binding] {
        world.kubernetes.apply(&object).await?;
    }
    let extension = Extension::new("wanted", "team-a", "allowed").selecting(json!({"team": "a"}));
    let other = Extension::new("wanted", "team-a", "other").selecting(json!({"team": "a"}));
    let refused = |package: &str, allowed: &str| {
        format!(
            "spec.source.catalog.packageName is not among the packages that tenants may install: '{package}' is asked for, and \
             allowed is {allowed}; ask an administrator to add it to data.packages of ConfigMap \
             olmv1-system/clusterextension-tenant-limits"
        )
    };
    answered(world, &extension, &refused("allowed", "nothing")).await?;
    let limits = Reference::namespaced(
        "v1",
        "ConfigMap",
        "olmv1-system",
        "clusterextension-tenant-limits",
    );
    let allowed = json!({"data": {"packages": "some,allowed", "namespaces": "*"}});
    world.kubernetes.merge(&limits, &allowed).await?;
    answered(world, &extension, "").await?;
    answered(world, &other, &refused("other", "'some,allowed'")).await?;
    // A bundle image would go around the list.
    let around = Extension::new("wanted", "team-a", "allowed")
        .selecting(json!({"team": "a"}))
        .annotated("baton-olm.dev/bundle-image", "registry.test/other:v1");
    let words = "metadata.annotations may not have baton-olm.dev/bundle-image for tenants; take it out";
    answered(world, &around, words).await?;
    // What people wrote is still there after a second deployment.
    terminal.run(&with_limits).await?.successful()?;
    answered(world, &extension, "").await
}

/// Waits until a tenant who asks for an extension is refused with these words; with none, until he is not.
async fn answered(world: &World, extension: &Extension, words: &str) -> Outcome {
    let tenant = world.kubernetes.played_by("tim", "team");
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = tenant.apply_with(&extension.0, "&dryRun=All").await?;
        let is_let_in = (200..300).contains(&answer.code);
        if is_let_in == words.is_empty() && answer.message().contains(words) {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!("a tenant is told {} {}", answer.code, answer.message()));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Starts what the container of a component would run, as its account.
async fn start(
    world: &World,
    settings: &Settings,
    component: Component,
    folder: &Path,
) -> Result<Running, String> {
    let namespace = settings.namespace_of(component);
    let reference = Reference::namespaced("apps/v1", "Deployment", namespace, component.deployment());
    let deployment = world.kubernetes.read(&reference).await?;
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let arguments = container["args"].as_array().cloned().unwrap_or_default();
    let metrics = free_address()?;
    // What differs between a pod and this machine: addresses and folders.
    let elsewhere = [
        "--listen",
        "--metrics-bind-address",
        "--data-dir",
        "--external-address",
        "--packages-listen",
        "--packages-host",
    ];
    let mut flags: Vec<String> = arguments
        .iter()
        .skip(1)
        .filter_map(Value::as_str)
        .filter(|argument| {
            !elsewhere
                .iter()
                .any(|flag| argument.starts_with(&format!("{flag}=")))
        })
        .map(str::to_owned)
        .collect();
    flags.extend([
        format!("--metrics-bind-address={metrics}"),
        "--log-level=debug".to_owned(),
    ]);
    if component == Component::Subscriptions {
        flags.extend([
            "--packages-listen=127.0.0.1:0".to_owned(),
            "--packages-host=localhost".to_owned(),
        ]);
    }
    let token = world
        .kubernetes
        .token(namespace, component.service_account())
        .await?;
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let kubeconfig = account_kubeconfig(world, &token, &folder.join(component.name()))?;
    let controllers = Controllers::of(&world.server, &[])?.running(kubeconfig, flags);
    controllers.start()?;
    Ok(Running {
        component,
        controllers,
        metrics,
    })
}

/// Writes the administrator's kubeconfig with somebody else's token.
fn account_kubeconfig(world: &World, token: &str, file: &Path) -> Result<PathBuf, String> {
    let text = std::fs::read(world.kubeconfig()).map_err(|error| error.to_string())?;
    let mut config = goyaml::to_value(&text).map_err(|error| error.to_string())?;
    config["users"][0]["user"] = json!({"token": token});
    let text = goyaml::to_string(&config).map_err(|error| error.to_string())?;
    std::fs::write(file, text).map_err(|error| error.to_string())?;
    Ok(file.to_owned())
}

/// Both versions of OLM install, upgrade and remove an operator.
async fn works(world: &Arc<World>) -> Outcome {
    let scenario = |id: &str| Scenario {
        world: Arc::clone(world),
        id: id.to_owned(),
    };
    let entries = [
        Entry::new("1.0.0", "stable", Contents::full()),
        Entry::new("1.0.1", "stable", Contents::full()).replacing("1.0.0"),
    ];
    let told = scenario("deployed");
    told.prepare(&entries).await?;
    told.install(&told.extension().version("1.0.0")).await?;
    told.install(&told.extension().version("1.0.1")).await?;
    told.has_version("1.0.1").await?;
    world.kubernetes.delete(&told.reference()).await?;
    world.kubernetes.until_gone(&told.deployment()).await?;

    let told = scenario("classic");
    told.with_namespace().await?;
    let entries = [Entry::new("1.0.1", "stable", named_as_its_bundle(&told))];
    let image = told.image("test", "v1", &entries).await?;
    subscribed(&told, &image).await
}

/// A bundle whose ClusterServiceVersion is called as the catalog calls the bundle, which OLM v0 insists on.
fn named_as_its_bundle(told: &Scenario) -> Contents {
    let package = told.package();
    let mut files = Contents::full().files(&told.id, &package, "1.0.1");
    for content in files.values_mut() {
        let text = String::from_utf8_lossy(content);
        *content = text
            .replace(&format!("{package}.v1.0.1"), &format!("{package}.1.0.1"))
            .into_bytes();
    }
    Contents::of_files(files)
}

/// A Subscription leads to the newest version.
async fn subscribed(told: &Scenario, image: &str) -> Outcome {
    let namespace = told.namespace();
    let alpha = "operators.coreos.com/v1alpha1";
    let package = told.package();
    for object in [
        json!({"apiVersion": alpha, "kind": "CatalogSource",
            "metadata": {"name": "deployed", "namespace": "olm"},
            "spec": {"sourceType": "grpc", "image": image}}),
        json!({"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
            "metadata": {"name": "all", "namespace": namespace}, "spec": {}}),
        json!({"apiVersion": alpha, "kind": "Subscription",
            "metadata": {"name": package, "namespace": namespace},
            "spec": {"name": package, "channel": "stable", "source": "deployed", "sourceNamespace": "olm"}}),
    ] {
        told.kubernetes().apply(&object).await?;
    }
    let subscription = Reference::namespaced(alpha, "Subscription", &namespace, &package);
    let installed = told
        .kubernetes()
        .until(&subscription, |object| {
            let object = object.ok_or("it isn't there")?;
            let installed = object["status"]["installedCSV"].as_str().unwrap_or_default();
            let is_known = object["status"]["state"] == "AtLatestKnown" && !installed.is_empty();
            is_known
                .then(|| installed.to_owned())
                .ok_or_else(|| format!("its status is {}", object["status"]))
        })
        .await;
    let installed = match installed {
        Ok(installed) => installed,
        Err(reason) => return Err(format!("{reason}\n{}", steps_of(told).await?)),
    };
    let version = Reference::namespaced(alpha, "ClusterServiceVersion", &namespace, &installed);
    told.kubernetes()
        .until(&version, |object| {
            let status = object.map_or(Value::Null, |object| object["status"].clone());
            if status["phase"] == "Succeeded" {
                Ok(())
            } else {
                Err(format!("its status is {status}"))
            }
        })
        .await?;
    told.kubernetes().delete(&subscription).await?;
    told.kubernetes().delete(&version).await?;
    told.kubernetes().until_gone(&told.deployment()).await
}

/// The steps of the plans of a namespace, and what became of each.
async fn steps_of(told: &Scenario) -> Result<String, String> {
    let plans = Reference::namespaced(
        "operators.coreos.com/v1alpha1",
        "InstallPlan",
        &told.namespace(),
        "",
    );
    let (plans, _) = told.kubernetes().list(&plans.collection(), "").await?;
    let steps = plans
        .iter()
        .flat_map(|plan| plan["status"]["plan"].as_array().into_iter().flatten());
    let lines = steps.map(|step| {
        let resource = &step["resource"];
        format!(
            "{} {} {} {}",
            step["status"], resource["kind"], resource["name"], step["resolving"]
        )
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// What a component was refused.
fn refusals(running: &Running) -> Option<String> {
    let text = running.controllers.last_words(usize::MAX);
    let mut lines: Vec<&str> = text
        .lines()
        .filter(|line| {
            line.contains("http.status_code=403") || line.to_ascii_lowercase().contains("forbidden")
        })
        .collect();
    lines.dedup();
    lines.truncate(10);
    (!lines.is_empty()).then(|| format!("{:?}:\n{}", running.component, lines.join("\n")))
}

/// Who has the role reads a component's metrics, knowing it by the authority in its Secret.
async fn metrics_are_served(world: &World, settings: &Settings, running: &Running) -> Outcome {
    let namespace = settings.namespace_of(running.component);
    let reader = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "reader", "namespace": "default"}});
    world.kubernetes.apply(&reader).await?;
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "reads-metrics"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "catalogd-metrics-reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}]});
    world.kubernetes.apply(&binding).await?;
    let token = world.kubernetes.token("default", "reader").await?;
    let secret = Reference::namespaced("v1", "Secret", namespace, running.component.certificate_secret());
    let secret = world.kubernetes.read(&secret).await?;
    let authority = crate::kubernetes::decoded(&secret["data"]["ca.crt"])?;
    let authority = reqwest::Certificate::from_pem(&authority).map_err(|error| error.to_string())?;
    let [host, _] = running.component.hosts(namespace);
    let address = running.metrics.parse().map_err(|error| format!("{error}"))?;
    let client = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([authority])
        .resolve_to_addrs(&host, &[address])
        .build()
        .map_err(|error| error.to_string())?;
    let answer = client
        .get(format!("https://{host}:{}/metrics", address.port()))
        .bearer_auth(token)
        .send()
        .await;
    let answer = answer.map_err(|error| format!("{:?}: {error:?}", running.component))?;
    let code = answer.status();
    let text = answer.text().await.map_err(|error| error.to_string())?;
    if !code.is_success() {
        return Err(format!("metrics of {:?}: {code} {text}", running.component));
    }
    let expected = match running.component {
        Component::Catalogs => [
            "catalogd_http_request_duration_seconds",
            "controller_runtime_reconcile_total",
        ],
        Component::Extensions => [
            "controller_runtime_reconcile_errors_total",
            "controller_runtime_reconcile_time_seconds",
        ],
        Component::Subscriptions => ["csv_count", "olm_resolution_duration_seconds"],
    };
    for name in expected {
        says(&text, &format!("# TYPE {name} "))?;
    }
    Ok(())
}

/// Upstream's programs are refused to be ignored, planned to go, and gone.
pub(crate) async fn upstreams_installation_is_taken_over(server: Server) -> Outcome {
    let world = World::prepared_on(server, &[]).await?;
    let terminal = Terminal::of(&world)?;
    world.namespace("olmv1-system").await?;
    for object in upstream() {
        world.kubernetes.apply(&object).await?;
    }
    let refused = terminal.run(&["deploy", "--image", IMAGE]).await?;
    says(
        &refused.stderr,
        "upstream's OLM is in this cluster (Deployment olmv1-system/catalogd-controller-manager)",
    )?;
    let plan = terminal.run(&["deploy", "--take-over"]).await?;
    says(
        &plan.stdout,
        "stop, delete   Deployment olmv1-system/catalogd-controller-manager",
    )?;
    says(
        &plan.stdout,
        "delete         MutatingWebhookConfiguration catalogd-mutating-webhook-configuration",
    )?;
    says(&plan.stderr, "nothing was changed; do it with --yes")?;
    let reference = Reference::namespaced(
        "apps/v1",
        "Deployment",
        "olmv1-system",
        "catalogd-controller-manager",
    );
    let image = |deployment: &Value| deployment["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    if image(&world.kubernetes.read(&reference).await?) != "upstream.test/catalogd:v1" {
        return Err("a plan changed something".to_owned());
    }
    terminal
        .run(&["deploy", "--take-over", "--yes", "--image", IMAGE])
        .await?
        .successful()?;
    let deployment = world.kubernetes.read(&reference).await?;
    if image(&deployment) != IMAGE
        || deployment["spec"]["template"]["spec"]["containers"][0]["command"] != json!(["/baton"])
    {
        return Err(format!("the Deployment is still upstream's: {deployment}"));
    }
    let webhook = Reference::cluster(
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
        "catalogd-mutating-webhook-configuration",
    );
    if world.kubernetes.get(&webhook).await?.is_some() {
        return Err("the webhook is still there".to_owned());
    }
    let nothing = terminal.run(&["deploy", "--take-over"]).await?;
    says(&nothing.stderr, "there is nothing of upstream's in this cluster")?;
    tenants_are_limited(&world, &terminal).await
}

/// What upstream leaves in a cluster, as far as it matters.
fn upstream() -> [Value; 2] {
    let labels = json!({"control-plane": "catalogd-controller-manager"});
    [
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "catalogd-controller-manager", "namespace": "olmv1-system"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "manager", "image": "upstream.test/catalogd:v1", "command": ["./catalogd"]}]},
        }}}),
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "catalogd-mutating-webhook-configuration"},
        "webhooks": [{
            "name": "inject-metadata-name.olm.operatorframework.io", "admissionReviewVersions": ["v1"],
            "sideEffects": "None", "failurePolicy": "Fail",
            "clientConfig": {"service": {"name": "catalogd-service", "namespace": "olmv1-system", "port": 9443}},
            "rules": [{"apiGroups": ["olm.operatorframework.io"], "apiVersions": ["v1"],
                "operations": ["CREATE", "UPDATE"], "resources": ["clustercatalogs"]}],
        }]}),
    ]
}

fn says(text: &str, words: &str) -> Outcome {
    if text.contains(words) {
        Ok(())
    } else {
        Err(format!("{words:?} is not said in:\n{text}"))
    }
}
