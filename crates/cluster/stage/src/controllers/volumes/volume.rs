//! A volume: available, bound, or released and reclaimed.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{CLAIMS, PROVISIONED_BY, VOLUMES};
use crate::api::Api;
use crate::bootstrap::PROVISIONER;
use crate::client::Client;
use crate::controllers::work::{Affected, Controller, Item, Next, itself};
use crate::events::{Note, Reporter};
use crate::object::{Object, timestamp};
use crate::options::DeleteOptions;
use crate::status::Status;
use crate::store::{Event, ResourceKey};

/// The finalizer that keeps a volume while it is bound.
const PROTECTION: &str = "kubernetes.io/pv-protection";

/// Keeps the phases of volumes, and reclaims those whose claims are gone.
#[derive(Debug)]
pub struct Volumes {
    reporter: Reporter,
}

impl Default for Volumes {
    fn default() -> Self {
        Self {
            reporter: Reporter::controller("persistentvolume-controller"),
        }
    }
}

impl Controller for Volumes {
    const NAME: &'static str = "persistent-volume-binder";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![
            (ResourceKey::new(VOLUMES.0, VOLUMES.1), itself),
            (ResourceKey::new(CLAIMS.0, CLAIMS.1), volume_of_claim),
        ]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let Some(volume) = client.get(VOLUMES, "", &item.name)? else {
            return Ok(Next::Wait);
        };
        let reference = &volume["spec"]["claimRef"];
        let text = |field: &str| reference[field].as_str().unwrap_or_default();
        let claim = if text("name").is_empty() {
            None
        } else {
            client.get(CLAIMS, text("namespace"), text("name"))?
        };
        match decide(&volume, claim.as_ref()) {
            Plan::Nothing => {}
            Plan::Unprotect => {
                let kept: Vec<&str> = volume
                    .finalizers()
                    .into_iter()
                    .filter(|name| *name != PROTECTION)
                    .collect();
                let patch = json!({"metadata": {"finalizers": kept, "uid": volume.uid()}});
                client.merge(VOLUMES, "", volume.name(), "", &patch).await?;
            }
            Plan::Become { phase, message } => {
                if let Some(message) = &message {
                    let note = Note::warning("VolumeFailedDelete", message.clone());
                    self.reporter.tell(client, &volume, &[note]);
                }
                let mut wanted = volume;
                wanted["status"] = json!({
                    "phase": phase, "lastPhaseTransitionTime": timestamp(Timestamp::now()),
                });
                if let Some(message) = message {
                    wanted["status"]["message"] = message.into();
                }
                client.update_status(VOLUMES, wanted).await?;
            }
            Plan::Delete => {
                let options = DeleteOptions {
                    uid: Some(volume.uid().to_owned()),
                    ..DeleteOptions::default()
                };
                client.delete(VOLUMES, "", volume.name(), &options).await?;
            }
        }
        Ok(Next::Wait)
    }
}

/// What is done with a volume.
#[derive(Debug, PartialEq, Eq)]
enum Plan {
    Nothing,
    /// It isn't bound, and may go.
    Unprotect,
    /// Its phase changes.
    Become {
        phase: &'static str,
        message: Option<String>,
    },
    /// It was made for a claim that is gone.
    Delete,
}

fn decide(volume: &Value, claim: Option<&Value>) -> Plan {
    let phase = volume["status"]["phase"].as_str().unwrap_or_default();
    let become_phase = |wanted: &'static str| {
        if phase == wanted {
            Plan::Nothing
        } else {
            Plan::Become {
                phase: wanted,
                message: None,
            }
        }
    };
    let reference = &volume["spec"]["claimRef"];
    let uid = reference["uid"].as_str().unwrap_or_default();
    let is_released = !uid.is_empty() && claim.is_none_or(|claim| claim.uid() != uid);
    if volume.is_being_deleted() && (phase != "Bound" || is_released) {
        return if volume.finalizers().contains(&PROTECTION) {
            Plan::Unprotect
        } else {
            Plan::Nothing
        };
    }
    if uid.is_empty() {
        return become_phase("Available");
    }
    if !is_released {
        // The binding of a claim writes the phase of its volume.
        return Plan::Nothing;
    }
    if !matches!(phase, "Released" | "Failed") {
        return become_phase("Released");
    }
    if volume["spec"]["persistentVolumeReclaimPolicy"] != "Delete" {
        return Plan::Nothing;
    }
    match volume.annotation(PROVISIONED_BY) {
        Some(PROVISIONER) => Plan::Delete,
        // Whoever made it deletes it.
        Some(_) => Plan::Nothing,
        None if phase == "Failed" => Plan::Nothing,
        None => Plan::Become {
            phase: "Failed",
            message: Some(format!(
                "error getting deleter volume plugin for volume {:?}: no deletable volume plugin matched",
                volume.name()
            )),
        },
    }
}

/// Returns the volume of a claim, also of one that is gone.
fn volume_of_claim(_: &Api, event: &Event) -> Vec<Item> {
    let claim = event.object.value();
    let name = claim["spec"]["volumeName"]
        .as_str()
        .filter(|name| !name.is_empty());
    Vec::from_iter(name.map(|name| Item::new("", name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(phase: &str, policy: &str, by: Option<&str>, claimed: bool) -> Value {
        let mut volume = json!({
            "metadata": {"name": "v", "finalizers": [PROTECTION]},
            "spec": {"persistentVolumeReclaimPolicy": policy},
            "status": {"phase": phase},
        });
        if let Some(by) = by {
            volume["metadata"]["annotations"] = json!({PROVISIONED_BY: by});
        }
        if claimed {
            volume["spec"]["claimRef"] = json!({"namespace": "a", "name": "c", "uid": "cu"});
        }
        volume
    }

    fn become_phase(phase: &'static str) -> Plan {
        Plan::Become { phase, message: None }
    }

    #[test]
    fn a_volume_is_available_then_released_when_its_claim_is_gone() {
        let claim = json!({"metadata": {"uid": "cu"}});
        let another = json!({"metadata": {"uid": "du"}});
        assert_eq!(
            decide(&volume("Pending", "Retain", None, false), None),
            become_phase("Available")
        );
        assert_eq!(
            decide(&volume("Available", "Retain", None, false), None),
            Plan::Nothing
        );
        let bound = volume("Bound", "Retain", None, true);
        assert_eq!(decide(&bound, Some(&claim)), Plan::Nothing);
        assert_eq!(decide(&bound, Some(&another)), become_phase("Released"));
        assert_eq!(decide(&bound, None), become_phase("Released"));
    }

    #[test]
    fn a_released_volume_is_reclaimed_by_its_policy() {
        for (policy, by, expected) in [
            ("Retain", Some(PROVISIONER), Plan::Nothing),
            ("Delete", Some(PROVISIONER), Plan::Delete),
            ("Delete", Some("example.com/x"), Plan::Nothing),
        ] {
            assert_eq!(decide(&volume("Released", policy, by, true), None), expected);
        }
        let Plan::Become { phase, message } = decide(&volume("Released", "Delete", None, true), None) else {
            panic!("nobody can delete it");
        };
        assert_eq!(phase, "Failed");
        assert!(
            message
                .unwrap()
                .starts_with("error getting deleter volume plugin")
        );
    }

    #[test]
    fn a_deleted_volume_goes_unless_it_is_bound() {
        let claim = json!({"metadata": {"uid": "cu"}});
        let going = |phase: &str, claimed: bool| {
            let mut volume = volume(phase, "Retain", None, claimed);
            volume["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
            volume
        };
        assert_eq!(decide(&going("Available", false), None), Plan::Unprotect);
        assert_eq!(decide(&going("Bound", true), Some(&claim)), Plan::Nothing);
        assert_eq!(decide(&going("Bound", true), None), Plan::Unprotect);
    }
}
