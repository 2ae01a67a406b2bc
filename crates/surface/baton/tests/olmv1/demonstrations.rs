//! Scenarios 61–63: upstream's demonstrations, with packages of the public catalog.

use std::path::Path;

use serde_json::{Value, json};

use crate::bundles::{Contents, Files};
use crate::images::Entry;
use crate::kubernetes::ask;
use crate::reference::Reference;
use crate::scenario::Scenario;

type Outcome = Result<(), String>;

/// The largest package that is taken into the catalog: most are smaller, and a test need not wait for the rest.
const LARGEST_PACKAGE: u64 = 64 << 10;

/// How many packages the catalog has at least.
const FEWEST_PACKAGES: usize = 150;

/// The Deployment and the ServiceAccount of the operator that is demonstrated.
const MARIADB: &str = "mariadb-operator-helm-controller-manager";

/// Takes the small packages of the public catalog.
fn public_catalog(folder: &Path) -> Result<Files, String> {
    let mut files = Files::new();
    for entry in std::fs::read_dir(folder).map_err(|error| error.to_string())? {
        let entry = entry.map_err(|error| error.to_string())?;
        let path = entry.path().join("catalog.json");
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(metadata) = std::fs::metadata(&path) else {
            continue;
        };
        if metadata.len() <= LARGEST_PACKAGE {
            let text = std::fs::read(&path).map_err(|error| error.to_string())?;
            files.insert(format!("configs/{name}/catalog.json"), text);
        }
    }
    Ok(files)
}

/// Asks a catalog for some of its objects.
pub(crate) async fn metas(scenario: &Scenario, catalog: &str, query: &str) -> Result<Vec<Value>, String> {
    let catalog = Reference::olm("ClusterCatalog", catalog);
    let catalog = scenario.kubernetes().read(&catalog).await?;
    let base = catalog["status"]["urls"]["base"]
        .as_str()
        .ok_or("the catalog says nothing of where it is served")?
        .to_owned();
    let url = format!("{base}/api/v1/{query}");
    let (code, text) = ask(&url).await?;
    if code != 200 {
        return Err(format!("GET {url}: {code} {text}"));
    }
    text.lines()
        .map(|line| serde_json::from_str(line).map_err(|error| format!("GET {url}: {error}")))
        .collect()
}

/// 61
pub(crate) async fn the_public_catalog_is_served(scenario: Scenario) -> Outcome {
    let Some(corpus) = corpus::open("catalog-big") else {
        return Ok(());
    };
    let files = public_catalog(&corpus.join("compact"))?;
    let name = scenario.catalog_name("operatorhubio");
    let image = scenario
        .world
        .images
        .push_catalog_files(&name, "latest", &files)
        .await?;
    // This waits for Serving True/Available and Progressing True.
    scenario.world.catalog(&name, &image).await?;
    let packages = metas(&scenario, &name, "metas?schema=olm.package").await?;
    if packages.len() < FEWEST_PACKAGES {
        return Err(format!("there are {} packages", packages.len()));
    }
    for schema in ["olm.channel", "olm.bundle"] {
        let query = format!("metas?schema={schema}&package=wavefront");
        let found = metas(&scenario, &name, &query).await?;
        if found.is_empty() || found.iter().any(|meta| meta["schema"] != schema) {
            return Err(format!("{query} answers {found:?}"));
        }
    }
    let all = metas(&scenario, &name, "all").await?;
    let count = all.iter().filter(|meta| meta["schema"] == "olm.package").count();
    if count == packages.len() {
        Ok(())
    } else {
        Err(format!("all has {count} packages, and metas {}", packages.len()))
    }
}

/// An operator of the same shape as the one that is demonstrated; its own bundle isn't public data.
fn mariadb(scenario: &Scenario) -> Entry {
    let contents =
        Contents::operator().with_install_modes(&["OwnNamespace", "SingleNamespace", "AllNamespaces"]);
    let version = "38.0.1";
    let files = contents.files(&scenario.id, &scenario.package(), version);
    let renamed = files.into_iter().map(|(path, content)| {
        let text = String::from_utf8_lossy(&content)
            .replace(
                &format!("\"test-operator-{}\"", scenario.id),
                &format!("{MARIADB:?}"),
            )
            .replace(&format!("bundle-manager-{}", scenario.id), MARIADB);
        (path, text.into_bytes())
    });
    Entry::new(version, "stable", Contents::of_files(renamed.collect()))
}

async fn watches(scenario: &Scenario, namespace: &str) -> Outcome {
    scenario.prepare(&[mariadb(scenario)]).await?;
    let extension = scenario
        .extension()
        .configured(json!({"watchNamespace": namespace}));
    scenario.install(&extension).await?;
    let deployment = Reference::namespaced("apps/v1", "Deployment", &scenario.namespace(), MARIADB);
    let deployment = scenario.kubernetes().read(&deployment).await?;
    let watched = &deployment["spec"]["template"]["metadata"]["annotations"]["olm.targetNamespaces"];
    if watched == namespace {
        Ok(())
    } else {
        Err(format!("the operator watches {watched}"))
    }
}

/// 62
pub(crate) async fn an_operator_watches_another_namespace(scenario: Scenario) -> Outcome {
    let watched = format!("mariadb-watch-{}", scenario.id);
    scenario.world.namespace(&watched).await?;
    watches(&scenario, &watched).await?;
    let bindings = Reference::namespaced("rbac.authorization.k8s.io/v1", "RoleBinding", &watched, "");
    let (bindings, _) = scenario.kubernetes().list(&bindings.collection(), "").await?;
    let subject = json!({"kind": "ServiceAccount", "name": MARIADB, "namespace": scenario.namespace()});
    let is_named = bindings.iter().any(|binding| {
        let subjects = binding["subjects"].as_array().into_iter().flatten();
        subjects.into_iter().any(|one| {
            one["kind"] == subject["kind"]
                && one["name"] == subject["name"]
                && one["namespace"] == subject["namespace"]
        })
    });
    if is_named {
        Ok(())
    } else {
        Err(format!(
            "no RoleBinding in {watched} names {subject}: {bindings:?}"
        ))
    }
}

/// 63
pub(crate) async fn an_operator_watches_its_own_namespace(scenario: Scenario) -> Outcome {
    let namespace = scenario.namespace();
    watches(&scenario, &namespace).await
}
