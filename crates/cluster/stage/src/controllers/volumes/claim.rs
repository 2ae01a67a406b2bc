//! A claim: bound to a volume, given a new one, or left waiting.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::look::{Seen, claims_of_pod, claims_of_volume, look, waiting_claims};
use super::matching::{best, mismatch};
use super::{
    BIND_COMPLETED, BOUND_BY_CONTROLLER, CLAIMS, CLASSES, PROVISIONED_BY, VOLUMES, class_of, is_for,
};
use crate::bootstrap::PROVISIONER;
use crate::client::Client;
use crate::controllers::work::{Affected, Controller, Item, Next, itself};
use crate::events::{Note, Reporter};
use crate::object::{Object, map_of, timestamp};
use crate::status::Status;
use crate::store::ResourceKey;

/// The finalizer that keeps a claim while pods use it.
const PROTECTION: &str = "kubernetes.io/pvc-protection";

/// The annotations that name who has to make a claim's volume, the older one last.
const STORAGE_PROVISIONER: [&str; 2] = [
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
];

const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

/// Where the directories of volumes are when nothing else is kept on disk.
const DIRECTORIES: &str = "/var/lib/baton/volumes";

/// Binds claims to volumes.
#[derive(Debug)]
pub struct Claims {
    reporter: Reporter,
}

impl Default for Claims {
    fn default() -> Self {
        Self {
            reporter: Reporter::controller("persistentvolume-controller"),
        }
    }
}

impl Controller for Claims {
    const NAME: &'static str = "persistent-volume-binder";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![
            (ResourceKey::new(CLAIMS.0, CLAIMS.1), itself),
            (ResourceKey::new(VOLUMES.0, VOLUMES.1), claims_of_volume),
            (ResourceKey::new(CLASSES.0, CLASSES.1), waiting_claims),
            (ResourceKey::new("", "pods"), claims_of_pod),
        ]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let Some(claim) = client.get(CLAIMS, &item.namespace, &item.name)? else {
            return Ok(Next::Wait);
        };
        let seen = look(client, claim)?;
        let plan = decide(&seen);
        self.act(client, seen.claim, plan).await?;
        Ok(Next::Wait)
    }
}

/// What is done with a claim.
#[derive(Debug, PartialEq)]
enum Plan {
    Nothing,
    /// Nobody uses it any more, and it goes.
    Release,
    /// Its volume is gone.
    Lose,
    /// It names no class, and there is a default one.
    TakeClass(String),
    /// It is bound to a volume.
    Bind(Box<Value>),
    /// A volume is made for it.
    Provision(Box<Value>),
    /// It waits; whoever makes volumes for its class is named.
    Wait {
        provisioner: Option<String>,
        note: Option<Note>,
    },
}

fn decide(seen: &Seen) -> Plan {
    let claim = &seen.claim;
    if claim.is_being_deleted() {
        return if claim.finalizers().contains(&PROTECTION) && seen.users.is_empty() {
            Plan::Release
        } else {
            Plan::Nothing
        };
    }
    let named = claim["spec"]["volumeName"].as_str().unwrap_or_default();
    let volume = seen.volumes.iter().find(|volume| volume.name() == named);
    if claim.annotation(BIND_COMPLETED).is_some() {
        return match volume {
            Some(volume) if is_for(volume, claim) && is_bound(claim, volume) => Plan::Nothing,
            Some(volume) if is_for(volume, claim) || volume["spec"]["claimRef"].is_null() => {
                Plan::Bind(Box::new(volume.clone()))
            }
            _ if claim["status"]["phase"] == "Lost" => Plan::Nothing,
            _ => Plan::Lose,
        };
    }
    if !named.is_empty() {
        return match volume {
            None => wait(None, None),
            Some(volume) if volume["spec"]["claimRef"].is_null() => match mismatch(volume, claim) {
                Some(why) => {
                    let text = format!("Cannot bind to requested volume {named:?}: {why}");
                    wait(None, Some(Note::warning("VolumeMismatch", text)))
                }
                None => Plan::Bind(Box::new(volume.clone())),
            },
            Some(volume) if is_for(volume, claim) => Plan::Bind(Box::new(volume.clone())),
            Some(volume) => {
                let other = &volume["spec"]["claimRef"];
                let text = format!(
                    "volume {named:?} already bound to a different claim ({}/{})",
                    other["namespace"].as_str().unwrap_or_default(),
                    other["name"].as_str().unwrap_or_default()
                );
                wait(None, Some(Note::warning("FailedBinding", text)))
            }
        };
    }
    decide_unnamed(seen)
}

fn wait(provisioner: Option<&str>, note: Option<Note>) -> Plan {
    Plan::Wait {
        provisioner: provisioner.map(str::to_owned),
        note,
    }
}

/// Decides about a claim that names no volume.
fn decide_unnamed(seen: &Seen) -> Plan {
    let claim = &seen.claim;
    let class_name = class_of(claim);
    let class = class_name.and_then(|name| seen.classes.iter().find(|class| class.name() == name));
    let delayed = class.is_some_and(|class| class["volumeBindingMode"] == "WaitForFirstConsumer");
    let waits_for_consumer = delayed && seen.users.is_empty();
    if let Some(volume) = best(claim, &seen.volumes, waits_for_consumer) {
        return Plan::Bind(Box::new(volume.clone()));
    }
    let Some(class_name) = class_name else {
        if let Some(class) = default_class(&seen.classes) {
            return Plan::TakeClass(class.name().to_owned());
        }
        return wait(None, Some(no_class()));
    };
    if class_name.is_empty() {
        return wait(None, Some(no_class()));
    }
    let Some(class) = class else {
        let text = format!("storageclass.storage.k8s.io {class_name:?} not found");
        return wait(None, Some(Note::warning("ProvisioningFailed", text)));
    };
    if waits_for_consumer {
        let text = "waiting for first consumer to be created before binding";
        return wait(None, Some(Note::normal("WaitForFirstConsumer", text)));
    }
    let provisioner = class["provisioner"].as_str().unwrap_or_default();
    if provisioner == PROVISIONER {
        return Plan::Provision(Box::new(class.clone()));
    }
    if provisioner == "kubernetes.io/no-provisioner" {
        let text = "no volume plugin matched name: kubernetes.io/no-provisioner";
        return wait(None, Some(Note::warning("ProvisioningFailed", text)));
    }
    let text = format!(
        "Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the system \
         administrator. If volume creation is delayed, please verify that the provisioner is running and correctly \
         registered."
    );
    wait(
        Some(provisioner),
        Some(Note::normal("ExternalProvisioning", text)),
    )
}

fn no_class() -> Note {
    Note::normal(
        "FailedBinding",
        "no persistent volumes available for this claim and no storage class is set",
    )
}

/// Returns the class for claims that name none: the newest of those that say so.
fn default_class(classes: &[Value]) -> Option<&Value> {
    classes
        .iter()
        .filter(|class| class.annotation(DEFAULT_CLASS) == Some("true"))
        .max_by(|one, other| {
            one.metadata_text("creationTimestamp")
                .cmp(other.metadata_text("creationTimestamp"))
                .then_with(|| other.name().cmp(one.name()))
        })
}

fn is_bound(claim: &Value, volume: &Value) -> bool {
    claim["status"]["phase"] == "Bound"
        && claim["status"]["capacity"]["storage"] == volume["spec"]["capacity"]["storage"]
        && volume["status"]["phase"] == "Bound"
}

/// Returns the reference to a claim that its volume has.
fn reference(claim: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": claim.namespace(),
        "name": claim.name(),
        "uid": claim.uid(),
        "resourceVersion": claim.metadata_text("resourceVersion"),
    })
}

/// Returns a new volume for a claim.
fn volume_for(claim: &Value, class: &Value, directories: &str) -> Value {
    let name = format!("pvc-{}", claim.uid());
    let mut volume = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: PROVISIONER}},
        "spec": {
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "accessModes": claim["spec"]["accessModes"],
            "claimRef": reference(claim),
            "persistentVolumeReclaimPolicy": class["reclaimPolicy"].as_str().unwrap_or("Delete"),
            "storageClassName": class.name(),
            "volumeMode": claim["spec"]["volumeMode"].as_str().unwrap_or("Filesystem"),
            "hostPath": {"path": format!("{directories}/{name}"), "type": "DirectoryOrCreate"},
        },
    });
    if let Some(options) = class["mountOptions"].as_array().filter(|all| !all.is_empty()) {
        volume["spec"]["mountOptions"] = options.clone().into();
    }
    volume
}

impl Claims {
    async fn act(&self, client: &Client, claim: Value, plan: Plan) -> Result<(), Status> {
        match plan {
            Plan::Nothing => {}
            Plan::Release => {
                let kept: Vec<&str> = claim
                    .finalizers()
                    .into_iter()
                    .filter(|name| *name != PROTECTION)
                    .collect();
                let patch = json!({"metadata": {"finalizers": kept, "uid": claim.uid()}});
                client
                    .merge(CLAIMS, claim.namespace(), claim.name(), "", &patch)
                    .await?;
            }
            Plan::Lose => {
                let text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
                let note = Note::warning("ClaimLost", text);
                self.reporter.tell(client, &claim, &[note]);
                set_status(client, claim, json!({"phase": "Lost"})).await?;
            }
            Plan::TakeClass(class) => {
                let patch = json!({"spec": {"storageClassName": class}, "metadata": {"uid": claim.uid()}});
                client
                    .merge(CLAIMS, claim.namespace(), claim.name(), "", &patch)
                    .await?;
            }
            Plan::Bind(volume) => bind(client, claim, *volume).await?,
            Plan::Provision(class) => {
                let claim = annotate_provisioner(client, claim, PROVISIONER).await?;
                let directory = client.api().options.data_dir.as_ref();
                let directory = directory.map_or_else(
                    || DIRECTORIES.to_owned(),
                    |directory| directory.join("volumes").display().to_string(),
                );
                let volume = volume_for(&claim, &class, &directory);
                let name = volume.name().to_owned();
                let volume = match client.get(VOLUMES, "", &name)? {
                    Some(present) => present,
                    None => client.create(VOLUMES, volume).await?,
                };
                let text = format!("Successfully provisioned volume {name}");
                let note = Note::normal("ProvisioningSucceeded", text);
                self.reporter.tell(client, &claim, &[note]);
                bind(client, claim, volume).await?;
            }
            Plan::Wait { provisioner, note } => {
                let mut claim = claim;
                if let Some(provisioner) = provisioner {
                    claim = annotate_provisioner(client, claim, &provisioner).await?;
                }
                if let Some(note) = note {
                    self.reporter.tell(client, &claim, &[note]);
                }
                set_status(client, claim, json!({"phase": "Pending"})).await?;
            }
        }
        Ok(())
    }
}

async fn annotate_provisioner(client: &Client, mut claim: Value, provisioner: &str) -> Result<Value, Status> {
    if STORAGE_PROVISIONER
        .iter()
        .all(|name| claim.annotation(name) == Some(provisioner))
    {
        return Ok(claim);
    }
    let annotations = map_of(&mut claim["metadata"]["annotations"]);
    for name in STORAGE_PROVISIONER {
        annotations.insert(name.to_owned(), provisioner.into());
    }
    client.update(CLAIMS, claim).await
}

/// Binds a claim and a volume: first the volume, so that whoever sees a bound claim sees a bound volume.
async fn bind(client: &Client, mut claim: Value, mut volume: Value) -> Result<(), Status> {
    if volume["spec"]["claimRef"]["uid"] != claim.uid() {
        if volume["spec"]["claimRef"].is_null() {
            map_of(&mut volume["metadata"]["annotations"]).insert(BOUND_BY_CONTROLLER.into(), "yes".into());
        }
        volume["spec"]["claimRef"] = reference(&claim);
        volume = client.update(VOLUMES, volume).await?;
    }
    if volume["status"]["phase"] != "Bound" {
        volume["status"] = json!({
            "phase": "Bound",
            "lastPhaseTransitionTime": timestamp(Timestamp::now()),
        });
        volume = client.update_status(VOLUMES, volume).await?;
    }
    let named = claim["spec"]["volumeName"].as_str().unwrap_or_default();
    let by_controller = named.is_empty();
    if by_controller || claim.annotation(BIND_COMPLETED).is_none() {
        claim["spec"]["volumeName"] = volume.name().into();
        let annotations = map_of(&mut claim["metadata"]["annotations"]);
        annotations.insert(BIND_COMPLETED.into(), "yes".into());
        if by_controller {
            annotations.insert(BOUND_BY_CONTROLLER.into(), "yes".into());
        }
        claim = client.update(CLAIMS, claim).await?;
    }
    let status = json!({
        "phase": "Bound",
        "accessModes": volume["spec"]["accessModes"],
        "capacity": {"storage": volume["spec"]["capacity"]["storage"]},
    });
    set_status(client, claim, status).await
}

async fn set_status(client: &Client, mut claim: Value, status: Value) -> Result<(), Status> {
    if claim["status"] == status {
        return Ok(());
    }
    claim["status"] = status;
    client.update_status(CLAIMS, claim).await.map(drop)
}

#[cfg(test)]
mod tests;
