//! Which volume fits a claim.

use kinds::quantity::Quantity;
use serde_json::Value;

use super::{class_of, is_for};
use crate::object::Object;
use crate::selectors::LabelSelector;

fn storage(object: &Value) -> Quantity {
    Quantity::read(object["storage"].as_str().unwrap_or_default())
}

/// Returns how large a volume is.
fn capacity(volume: &Value) -> Quantity {
    storage(&volume["spec"]["capacity"])
}

/// Returns how much a claim asks for.
fn request(claim: &Value) -> Quantity {
    storage(&claim["spec"]["resources"]["requests"])
}

fn mode(object: &Value) -> &str {
    object["spec"]["volumeMode"].as_str().unwrap_or("Filesystem")
}

/// Returns why a volume can't be that of a claim which names it, with upstream's texts.
pub(super) fn mismatch(volume: &Value, claim: &Value) -> Option<&'static str> {
    if request(claim).is_more_than(capacity(volume)) {
        Some("requested PV is too small")
    } else if class_of(volume).unwrap_or_default() != class_of(claim).unwrap_or_default() {
        Some("storageClassName does not match")
    } else if mode(volume) != mode(claim) {
        Some("incompatible volumeMode")
    } else if !offers_modes(volume, claim) {
        Some("incompatible accessMode")
    } else {
        None
    }
}

fn offers_modes(volume: &Value, claim: &Value) -> bool {
    let offered = volume["spec"]["accessModes"].as_array();
    let wanted = claim["spec"]["accessModes"].as_array();
    wanted
        .into_iter()
        .flatten()
        .all(|mode| offered.is_some_and(|offered| offered.contains(mode)))
}

/// Returns the volume for a claim: one that is kept for it, or else the smallest that fits.
pub(super) fn best<'a>(claim: &Value, volumes: &'a [Value], only_kept: bool) -> Option<&'a Value> {
    let fits = |volume: &&Value| mismatch(volume, claim).is_none() && !volume.is_being_deleted();
    let is_kept = |volume: &&Value| volume["spec"]["claimRef"].is_object() && is_for(volume, claim);
    if let Some(kept) = volumes.iter().filter(is_kept).find(fits) {
        return Some(kept);
    }
    if only_kept {
        return None;
    }
    let selector = match &claim["spec"]["selector"] {
        Value::Null => LabelSelector::everything(),
        selector => LabelSelector::from_object(selector).ok()?,
    };
    volumes
        .iter()
        .filter(|volume| volume["spec"]["claimRef"].is_null())
        .filter(|volume| volume["status"]["phase"] == "Available")
        .filter(|volume| selector.matches_object(volume))
        .filter(fits)
        .reduce(|best, other| {
            if capacity(best).is_more_than(capacity(other)) {
                other
            } else {
                best
            }
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claim() -> Value {
        json!({
            "metadata": {"name": "c", "namespace": "a", "uid": "cu"},
            "spec": {
                "storageClassName": "x",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        })
    }

    fn volume(name: &str, size: &str) -> Value {
        json!({
            "metadata": {"name": name},
            "spec": {
                "storageClassName": "x",
                "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
                "capacity": {"storage": size},
            },
            "status": {"phase": "Available"},
        })
    }

    #[test]
    fn the_smallest_volume_that_fits_is_taken() {
        let volumes = [
            volume("large", "5Gi"),
            volume("small", "512Mi"),
            volume("right", "1500M"),
        ];
        assert_eq!(best(&claim(), &volumes, false).unwrap().name(), "right");
        assert_eq!(best(&claim(), &volumes[1..2], false), None);
        assert_eq!(best(&claim(), &volumes, true), None);
    }

    #[test]
    fn a_volume_that_is_kept_for_the_claim_comes_first() {
        let mut kept = volume("kept", "9Gi");
        kept["spec"]["claimRef"] = json!({"namespace": "a", "name": "c"});
        let mut other = volume("other", "1Gi");
        other["spec"]["claimRef"] = json!({"namespace": "a", "name": "d"});
        let volumes = [volume("free", "1Gi"), other, kept];
        assert_eq!(best(&claim(), &volumes, false).unwrap().name(), "kept");
        assert_eq!(best(&claim(), &volumes, true).unwrap().name(), "kept");
    }

    #[test]
    fn what_does_not_fit_is_told_apart() {
        let cases = [
            ("capacity", json!({"storage": "1Mi"}), "requested PV is too small"),
            ("storageClassName", json!("y"), "storageClassName does not match"),
            ("volumeMode", json!("Block"), "incompatible volumeMode"),
            ("accessModes", json!(["ReadOnlyMany"]), "incompatible accessMode"),
        ];
        for (field, value, expected) in cases {
            let mut volume = volume("v", "1Gi");
            volume["spec"][field] = value;
            assert_eq!(mismatch(&volume, &claim()), Some(expected));
        }
    }
}
