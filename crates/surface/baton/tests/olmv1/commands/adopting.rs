//! `baton adopt`: an operator of OLM v0, made of plain objects, goes on under an extension and doesn't notice; one that
//! watches a single namespace goes on watching that one.

use serde_json::{Value, json};

use super::{Chapter, Outcome};
use crate::bundles::{Contents, definition_name};
use crate::classic_kinds;
use crate::conditions::{Says, holds};
use crate::kubernetes::PATIENCE;
use crate::reference::Reference;

const NAMESPACE: &str = "classic-operators";

/// The one namespace that the operator watches.
const WATCHED: &str = "classic-team";

const SERVICE_VERSION: &str = "classic.v1.0.0";

pub(super) async fn what_was_installed_before(mut chapter: Chapter) -> Outcome {
    let made = installed_by_classic(&chapter).await?;
    chapter.kubernetes().apply(&group(&[NAMESPACE, WATCHED])).await?;
    let running = running(&chapter).await?;
    // It depends on how soon the garbage collector lets go of what the ClusterServiceVersion owned.
    chapter.terminal.passes_over("Retrying: ");
    let terminal = &mut chapter.terminal;
    terminal
        .types_all(&[
            "adopt nothing --namespace classic-operators",
            "adopt classic-subscription",
            "adopt unfinished --namespace classic-operators",
            // What no extension can watch is refused, and so is more than the operator may do now.
            "adopt classic-subscription --namespace classic-operators",
        ])
        .await?;
    chapter.kubernetes().apply(&group(&[])).await?;
    chapter
        .terminal
        .types_all(&["adopt classic-subscription --namespace classic-operators --yes"])
        .await?;
    chapter.kubernetes().apply(&group(&[WATCHED])).await?;
    let plan = chapter
        .terminal
        .types_in_both_forms("adopt classic-subscription --namespace classic-operators")
        .await?;
    if plan["steps"]
        .as_array()
        .is_none_or(|steps| steps.len() < made.len())
    {
        return Err(format!("the plan doesn't have all objects: {plan}"));
    }
    for reference in &made {
        chapter.kubernetes().read(reference).await?;
    }
    chapter
        .is_absent(&Reference::olm("ClusterExtension", "classic"))
        .await?;

    chapter
        .terminal
        .types_all(&[
            "adopt classic-subscription --namespace classic-operators --yes",
            "get extensions classic",
            "status classic",
            "why deployment/test-operator-classic --namespace classic-operators",
        ])
        .await?;
    // Who is left alone goes when the garbage collector has let go of what it owned.
    for (kind, name) in [
        ("subscriptions", "classic-subscription"),
        ("clusterserviceversions", SERVICE_VERSION),
    ] {
        let collection = format!("/apis/operators.coreos.com/v1alpha1/namespaces/{NAMESPACE}/{kind}");
        let query = format!("fieldSelector=metadata.name%3D{name}");
        let is_gone = |left: &[Value]| match left.first() {
            None => Ok(()),
            Some(object) => Err(format!("{kind} {name} is still there: {}", object["metadata"])),
        };
        chapter
            .kubernetes()
            .until_all(&collection, &query, PATIENCE, is_gone)
            .await?;
    }
    chapter
        .terminal
        .types_all(&["adopt classic-subscription --namespace classic-operators --yes"])
        .await?;
    for replaced in made
        .iter()
        .filter(|reference| reference.name.ends_with("-c1a551c"))
    {
        chapter.kubernetes().until_gone(replaced).await?;
    }
    watches_one_namespace(&chapter).await?;
    let after = self::running(&chapter).await?;
    if after != running {
        return Err(format!("it ran as\n{running:#?}\nand runs as\n{after:#?}"));
    }
    chapter.ends("adopting");
    Ok(())
}

/// What the OperatorGroup of the namespace selects; nothing is everything.
fn group(namespaces: &[&str]) -> Value {
    json!({
        "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
        "metadata": {"name": "group", "namespace": NAMESPACE},
        "spec": {"targetNamespaces": namespaces},
    })
}

/// Fails where the extension lets the operator do in the cluster what it did in one namespace.
async fn watches_one_namespace(chapter: &Chapter) -> Outcome {
    let kubernetes = chapter.kubernetes();
    let extension = kubernetes
        .read(&Reference::olm("ClusterExtension", "classic"))
        .await?;
    let inline = &extension["spec"]["config"]["inline"];
    if *inline != json!({"watchNamespace": WATCHED}) {
        return Err(format!("the extension is configured with {inline}"));
    }
    let rules = async |kind: &str, namespace: &str| {
        let rbac = "rbac.authorization.k8s.io/v1";
        let all = Reference::namespaced(rbac, kind, namespace, "").collection();
        let (roles, _) = kubernetes.list(&all, "").await?;
        let named = roles.iter().filter(|role| {
            let name = role["metadata"]["name"].as_str().unwrap_or_default();
            name.starts_with(SERVICE_VERSION)
        });
        let resources = named.map(|role| role["rules"][0]["resources"][0].clone());
        Ok::<_, String>(resources.collect::<Vec<_>>())
    };
    for (kind, namespace, expected) in [
        ("ClusterRole", "", json!(["tokenreviews"])),
        ("Role", WATCHED, json!(["configmaps"])),
        ("Role", NAMESPACE, json!([])),
    ] {
        let found = Value::from(rules(kind, namespace).await?);
        if found != expected {
            return Err(format!(
                "{kind}s in {namespace:?} are about {found}, not about {expected}"
            ));
        }
    }
    Ok(())
}

/// Makes what OLM v0 leaves behind when a Subscription installed the package; returns what that is.
async fn installed_by_classic(chapter: &Chapter) -> Result<Vec<Reference>, String> {
    for namespace in [NAMESPACE, WATCHED] {
        chapter.world.namespace(namespace).await?;
    }
    classic_kinds::serve(chapter.kubernetes()).await?;
    let files = Contents::operator().files("classic", "classic", "1.0.0");
    let mut manifests = Vec::new();
    for (path, text) in &files {
        if path.starts_with("manifests/") {
            manifests.push(goyaml::to_value(text).map_err(|error| error.to_string())?);
        }
    }
    let (service_versions, others): (Vec<Value>, Vec<Value>) = manifests
        .into_iter()
        .partition(|object| object["kind"] == "ClusterServiceVersion");
    let mut service_version = service_versions
        .into_iter()
        .next()
        .ok_or("no ClusterServiceVersion")?;
    service_version["metadata"]["namespace"] = NAMESPACE.into();
    service_version["status"] = json!({"phase": "Succeeded"});
    let subscription = |name: &str, status: Value| {
        json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"name": "classic", "channel": "stable", "source": "catalog", "sourceNamespace": "olm"},
            "status": status,
        })
    };
    let done = json!({"state": "AtLatestKnown", "installedCSV": SERVICE_VERSION});
    let mut made = Vec::new();
    make(
        chapter,
        &subscription("unfinished", json!({"state": "UpgradePending"})),
    )
    .await?;
    make(chapter, &subscription("classic-subscription", done)).await?;
    let owner = make(chapter, &service_version).await?;
    let mut copy = service_version.clone();
    copy["metadata"]["namespace"] = WATCHED.into();
    copy["metadata"]["labels"] = json!({"olm.copiedFrom": NAMESPACE});
    let copy = make(chapter, &copy).await?;
    let mut objects = others;
    objects.extend(made_by_classic(&service_version));
    for mut object in objects {
        if object["kind"] != "CustomResourceDefinition" && !is_of_cluster(&object) {
            let is_of_copy = object["metadata"]["namespace"] == WATCHED;
            let owner = if is_of_copy { &copy } else { &owner };
            object["metadata"]["namespace"] = owner["metadata"]["namespace"].clone();
            object["metadata"]["ownerReferences"] = json!([{
                "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
                "name": SERVICE_VERSION, "uid": owner["metadata"]["uid"],
                "blockOwnerDeletion": false, "controller": false,
            }]);
        }
        made.push(Reference::of(&make(chapter, &object).await?));
    }
    Ok(made)
}

fn is_of_cluster(object: &Value) -> bool {
    let kind = object["kind"].as_str().unwrap_or_default();
    kind.starts_with("Cluster")
}

async fn make(chapter: &Chapter, object: &Value) -> Result<Value, String> {
    let what = format!("cannot make {}", Reference::of(object));
    let mut made = chapter.kubernetes().create(object).await?.successful(&what)?;
    for field in ["apiVersion", "kind"] {
        made[field] = object[field].clone();
    }
    Ok(made)
}

/// The objects that OLM v0 makes of a ClusterServiceVersion, with the names, labels and additions that it gives them.
fn made_by_classic(service_version: &Value) -> Vec<Value> {
    let labels = json!({
        "olm.owner": SERVICE_VERSION, "olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": NAMESPACE,
        "olm.managed": "true",
    });
    let install = &service_version["spec"]["install"]["spec"];
    let deployment = &install["deployments"][0];
    let mut spec = deployment["spec"].clone();
    spec["revisionHistoryLimit"] = 1.into();
    spec["template"]["metadata"]["annotations"] = json!({
        "olm.operatorGroup": "group", "olm.operatorNamespace": NAMESPACE, "olm.targetNamespaces": WATCHED,
    });
    spec["template"]["spec"]["containers"][0]["env"] =
        json!([{"name": "OPERATOR_CONDITION_NAME", "value": SERVICE_VERSION}]);
    let mut deployment_labels = labels.clone();
    deployment_labels["olm.deployment-spec-hash"] = "3Kq9Xr".into();
    let account = &install["permissions"][0]["serviceAccountName"];
    let subjects = json!([{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}]);
    let rbac = "rbac.authorization.k8s.io/v1";
    let mut made = vec![
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": deployment["name"], "labels": deployment_labels}, "spec": spec}),
    ];
    let mut copied = labels.clone();
    copied["olm.owner.namespace"] = WATCHED.into();
    copied["olm.copiedFrom"] = NAMESPACE.into();
    for (kind, metadata, permissions) in [
        ("Role", json!({"labels": labels}), "permissions"),
        (
            "Role",
            json!({"labels": copied, "namespace": WATCHED}),
            "permissions",
        ),
        ("ClusterRole", json!({"labels": labels}), "clusterPermissions"),
    ] {
        let mut metadata = metadata;
        let name = format!("{SERVICE_VERSION}-c1a551c");
        metadata["name"] = name.as_str().into();
        made.push(json!({"apiVersion": rbac, "kind": kind, "metadata": metadata,
            "rules": install[permissions][0]["rules"]}));
        made.push(
            json!({"apiVersion": rbac, "kind": format!("{kind}Binding"), "metadata": metadata, "subjects": subjects,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}}),
        );
    }
    made
}

/// What runs: which objects they are, and how often somebody changed what they ask for.
async fn running(chapter: &Chapter) -> Result<Vec<(String, Value, Value)>, String> {
    let kubernetes = chapter.kubernetes();
    let deployment = Reference::namespaced("apps/v1", "Deployment", NAMESPACE, "test-operator-classic");
    kubernetes
        .until(&deployment, |deployment| {
            holds(deployment, "Available", "True", "", Says::Anything)
        })
        .await?;
    let definition = Reference::cluster(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &definition_name("classic"),
    );
    let mut found = Vec::new();
    for reference in [
        deployment,
        definition,
        Reference::namespaced("v1", "ConfigMap", NAMESPACE, "httpd-script-classic"),
        Reference::namespaced("v1", "ServiceAccount", NAMESPACE, "bundle-manager-classic"),
    ] {
        let object = kubernetes.read(&reference).await?;
        let metadata = &object["metadata"];
        // A Deployment's annotations count as its generation too, and extensions write some on whatever they look after.
        let changes = if object["kind"] == "Deployment" {
            object["spec"].clone()
        } else {
            metadata["generation"].clone()
        };
        found.push((reference.to_string(), metadata["uid"].clone(), changes));
    }
    for (version, kind) in [("apps/v1", "ReplicaSet"), ("v1", "Pod")] {
        let all = Reference::namespaced(version, kind, NAMESPACE, "").collection();
        for object in kubernetes.list(&all, "").await?.0 {
            let metadata = &object["metadata"];
            let generation = metadata["generation"].clone();
            found.push((kind.to_owned(), metadata["uid"].clone(), generation));
        }
    }
    Ok(found)
}
