//! The IP families of a Service, on a cluster that has IPv4 alone.

use std::net::IpAddr;

use schema::{FieldError, FieldPath};
use serde_json::{Value, json};

use super::addresses::texts;
use crate::object::map_of;
use crate::status::Status;

fn text<'a>(service: &'a Value, field: &str) -> &'a str {
    service["spec"][field].as_str().unwrap_or_default()
}

fn families(service: &Value) -> Vec<&str> {
    let families = service["spec"]["ipFamilies"].as_array();
    families.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn is_name(service: &Value) -> bool {
    text(service, "type") == "ExternalName"
}

fn set(service: &mut Value, field: &str, value: Value) {
    map_of(&mut service["spec"]).insert(field.to_owned(), value);
}

/// Makes `clusterIP` and `clusterIPs` say the same where a client that knows only one of them wrote it, and takes over
/// the old addresses where an update names none.
pub(super) fn complete(new: &mut Value, old: Option<&Value>) {
    let Some(old) = old else {
        let address = text(new, "clusterIP");
        if !address.is_empty() && texts(new).is_empty() {
            let addresses = json!([address]);
            set(new, "clusterIPs", addresses);
        }
        return;
    };
    if !is_name(old) && !is_name(new) {
        if text(new, "clusterIP").is_empty() && !text(old, "clusterIP").is_empty() {
            set(new, "clusterIP", old["spec"]["clusterIP"].clone());
        }
        if texts(new).is_empty() && !texts(old).is_empty() {
            set(new, "clusterIPs", old["spec"]["clusterIPs"].clone());
        }
    }
    let (before, after) = (text(old, "clusterIP"), text(new, "clusterIP"));
    if before == after {
        if texts(new).is_empty() && !texts(old).is_empty() {
            set(new, "clusterIPs", old["spec"]["clusterIPs"].clone());
        }
    } else if texts(old) == texts(new) {
        if after.is_empty() {
            map_of(&mut new["spec"]).remove("clusterIPs");
        } else {
            let addresses = json!([after]);
            set(new, "clusterIPs", addresses);
        }
    }
}

/// Returns whether the fields of addresses and families make sense together.
pub(super) fn are_sound(service: &Value) -> bool {
    if is_name(service) {
        return true;
    }
    let (addresses, families) = (texts(service), families(service));
    let first = addresses.first().copied().unwrap_or_default();
    if first != text(service, "clusterIP") {
        return false;
    }
    let known = |family: &&str| matches!(*family, "IPv4" | "IPv6");
    if !families.iter().all(known)
        || families.len() > 2
        || (families.len() == 2 && families[0] == families[1])
    {
        return false;
    }
    let policy = text(service, "ipFamilyPolicy");
    if !matches!(
        policy,
        "" | "SingleStack" | "PreferDualStack" | "RequireDualStack"
    ) {
        return false;
    }
    if first == "None" {
        return addresses.len() == 1;
    }
    let parsed: Vec<Option<&str>> = addresses.iter().map(|address| family_of(address)).collect();
    if parsed.len() > 2 || parsed.contains(&None) || (parsed.len() == 2 && parsed[0] == parsed[1]) {
        return false;
    }
    parsed
        .iter()
        .zip(&families)
        .all(|(parsed, family)| *parsed == Some(*family))
}

fn family_of(address: &str) -> Option<&'static str> {
    match address.parse().ok()? {
        IpAddr::V4(_) => Some("IPv4"),
        IpAddr::V6(_) => Some("IPv6"),
    }
}

/// Decides which families a Service has, or refuses those that the cluster hasn't.
pub(super) fn decide(new: &mut Value, old: Option<&Value>) -> Result<(), Status> {
    if is_name(new) || old.is_some_and(|old| stays_preferring(new, old)) {
        return Ok(());
    }
    let headless = text(new, "clusterIP") == "None";
    let selects = new["spec"]["selector"]
        .as_object()
        .is_some_and(|all| !all.is_empty());
    if text(new, "ipFamilyPolicy").is_empty() {
        let before = old.map(|old| text(old, "ipFamilyPolicy")).unwrap_or_default();
        let policy = match before {
            "" if headless && !selects => "RequireDualStack",
            "" => "SingleStack",
            before => before,
        };
        set(new, "ipFamilyPolicy", policy.into());
    }
    let mut errors = Vec::new();
    check_policy(new, old, &mut errors);
    infer_families(new, &mut errors);
    refuse(new, &errors)?;
    let single = text(new, "ipFamilyPolicy") == "SingleStack";
    if headless && !selects {
        let mut wanted: Vec<String> = families(new).into_iter().map(str::to_owned).collect();
        if wanted.is_empty() {
            wanted.push("IPv4".to_owned());
        }
        if wanted.len() == 1 && !single {
            let other = if wanted[0] == "IPv4" { "IPv6" } else { "IPv4" };
            wanted.push(other.to_owned());
        }
        set(new, "ipFamilies", json!(wanted));
        return Ok(());
    }
    if text(new, "ipFamilyPolicy") == "RequireDualStack" {
        errors.push(FieldError::invalid(
            FieldPath::new("spec").child("ipFamilyPolicy"),
            &new["spec"]["ipFamilyPolicy"],
            "this cluster is not configured for dual-stack services",
        ));
    }
    for (index, family) in families(new).into_iter().enumerate() {
        if family != "IPv4" {
            errors.push(FieldError::invalid(
                FieldPath::new("spec").child("ipFamilies").index(index),
                &family.into(),
                "not configured on this cluster",
            ));
        }
    }
    refuse(new, &errors)?;
    if families(new).is_empty() {
        set(new, "ipFamilies", json!(["IPv4"]));
    }
    Ok(())
}

/// Returns whether an update leaves a Service that prefers two families as it was.
fn stays_preferring(new: &Value, old: &Value) -> bool {
    text(new, "type") == text(old, "type")
        && text(new, "ipFamilyPolicy") == "PreferDualStack"
        && matches!(text(old, "ipFamilyPolicy"), "" | "PreferDualStack")
        && texts(new) == texts(old)
        && families(new) == families(old)
}

fn check_policy(new: &mut Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let field = FieldPath::new("spec").child("ipFamilyPolicy");
    let single = text(new, "ipFamilyPolicy") == "SingleStack";
    if let Some(old) = old {
        let before = [texts(old).len(), families(old).len()];
        let after = [texts(new).len(), families(new).len()];
        let same = [texts(old) == texts(new), families(old) == families(new)];
        for (index, (name, what)) in [("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")]
            .into_iter()
            .enumerate()
        {
            if single {
                if same[index] && after[index] > 1 {
                    let first = new["spec"][name][0].clone();
                    set(new, name, json!([first]));
                }
            } else if after[index] > 0 && after[index] < before[index] {
                errors.push(FieldError::invalid(
                    field.clone(),
                    &new["spec"]["ipFamilyPolicy"],
                    format!("must be 'SingleStack' to release the secondary {what}"),
                ));
            }
        }
    }
    if single {
        for (name, what) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
            if new["spec"][name].as_array().is_some_and(|all| all.len() == 2) {
                errors.push(FieldError::invalid(
                    field.clone(),
                    &new["spec"]["ipFamilyPolicy"],
                    format!(
                        "must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
                    ),
                ));
            }
        }
    }
}

/// Adds the families of the addresses that are asked for.
fn infer_families(new: &mut Value, errors: &mut Vec<FieldError>) {
    let mut known: Vec<String> = families(new).into_iter().map(str::to_owned).collect();
    let before = known.len();
    for (index, address) in texts(new).into_iter().enumerate().skip(before) {
        match family_of(address) {
            None => break,
            Some("IPv4") => known.push("IPv4".to_owned()),
            Some(family) => errors.push(FieldError::invalid(
                FieldPath::new("spec").child("clusterIPs").index(index),
                &new["spec"]["clusterIPs"],
                format!("{family} is not configured on this cluster"),
            )),
        }
    }
    if known.len() > before {
        set(new, "ipFamilies", json!(known));
    }
}

fn refuse(service: &Value, errors: &[FieldError]) -> Result<(), Status> {
    if errors.is_empty() {
        return Ok(());
    }
    let name = service["metadata"]["name"].as_str().unwrap_or_default();
    Err(Status::invalid("", "Service", name, errors))
}
