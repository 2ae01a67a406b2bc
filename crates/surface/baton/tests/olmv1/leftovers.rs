//! What may be in a cluster after a rollout, however it went: nothing twice, nothing astray, nothing lost.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use crate::reference::Reference;
use crate::scenario::Scenario;

/// How long Kubernetes may take to delete what belongs to a revision that is gone. Its garbage collector looks for new kinds
/// every 30 s; an owner that came and went before that is asked for again and again, twice as late each time.
const COLLECTED_WITHIN: Duration = Duration::from_mins(6);

/// Checks that an extension has exactly these revisions, all but the last archived; that each Secret is referred to and
/// each reference leads to one; and that every object of the last revision is there once, as written, under its control.
pub(crate) async fn is_tidy(scenario: &Scenario, revisions: usize) -> Result<(), String> {
    let name = scenario.name();
    let mut sets = scenario.revisions_of(&name).await?;
    sets.sort_by_key(|set| set["spec"]["revision"].as_i64());
    let described: Vec<String> = sets
        .iter()
        .map(|set| format!("{} {}", set["metadata"]["name"], set["spec"]["lifecycleState"]))
        .collect();
    let expected: Vec<String> = (1..=revisions)
        .map(|number| {
            let state = if number == revisions { "Active" } else { "Archived" };
            format!("\"{name}-{number}\" \"{state}\"")
        })
        .collect();
    if described != expected {
        return Err(format!("the revisions are {described:?}, not {expected:?}"));
    }
    is_whole(scenario, &sets).await
}

/// Checks that each Secret of an extension is referred to by one of its revisions and each reference leads to one, and that
/// every object of the last revision is there once, as written, under its control.
pub(crate) async fn is_whole(scenario: &Scenario, sets: &[Value]) -> Result<(), String> {
    let name = scenario.name();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let referred: BTreeSet<String> = sets
        .iter()
        .flat_map(|set| set["spec"]["phases"].as_array().into_iter().flatten())
        .flat_map(|phase| phase["objects"].as_array().into_iter().flatten())
        .map(|entry| text(&entry["ref"]["name"]))
        .collect();
    let is_referred_to = |secrets: &[Value]| {
        let present: BTreeSet<String> = secrets
            .iter()
            .map(|secret| text(&secret["metadata"]["name"]))
            .collect();
        if referred == present {
            Ok(secrets.to_vec())
        } else {
            // Who is said to own what is astray tells whether nobody gave it away, or nobody collected it.
            let astray = secrets
                .iter()
                .filter(|secret| !referred.contains(&text(&secret["metadata"]["name"])));
            let astray: Vec<String> = astray.map(|secret| secret["metadata"].to_string()).collect();
            Err(format!(
                "referred to are {referred:?}, and there are {present:?}, where nobody refers to {astray:?}"
            ))
        }
    };
    let secrets = scenario
        .until_secrets_of(&name, COLLECTED_WITHIN, is_referred_to)
        .await?;
    for secret in &secrets {
        let owner = &secret["metadata"]["ownerReferences"][0]["uid"];
        if !sets.iter().any(|set| set["metadata"]["uid"] == *owner) {
            return Err(format!(
                "Secret {} is owned by nobody that is there",
                secret["metadata"]["name"]
            ));
        }
    }
    let last = sets
        .iter()
        .max_by_key(|set| set["spec"]["revision"].as_i64())
        .ok_or("there are no revisions")?;
    let objects = scenario
        .objects_of(&Reference::olm(
            "ClusterObjectSet",
            &text(&last["metadata"]["name"]),
        ))
        .await?;
    for object in &objects {
        let reference = Reference::of(object);
        let live = scenario.kubernetes().read(&reference).await?;
        let owners = live["metadata"]["ownerReferences"].as_array();
        let controllers: Vec<&Value> = owners
            .into_iter()
            .flatten()
            .filter(|owner| owner["controller"] == true)
            .collect();
        if controllers.len() != 1
            || controllers
                .iter()
                .any(|owner| owner["uid"] != last["metadata"]["uid"])
        {
            return Err(format!("{reference} is controlled by {controllers:?}"));
        }
        for field in ["data", "rules"] {
            if object[field] != live[field] {
                return Err(format!("{reference} has {field} {}", live[field]));
            }
        }
    }
    Ok(())
}
