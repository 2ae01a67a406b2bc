//! What may be in a namespace after an operator was rolled out, however that went: nothing twice, nothing astray, nothing lost.

use serde_json::Value;

use crate::scenario::{Scenario, expect};

/// Checks that a version and nothing else is installed, by so many plans that are all complete, and that every object that was
/// made for an operator was made for this one.
pub(crate) async fn is_tidy(scenario: &Scenario, version: &str, plans: usize) -> Result<(), String> {
    let (kubectl, own) = (scenario.kubectl(), scenario.namespace());
    let name = scenario.version(version).name;
    let named = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let mut installed = Vec::new();
    // The one before may be about to go.
    for _ in 0..100 {
        let found = kubectl
            .list("clusterserviceversions.operators.coreos.com", &own, &[])
            .await?;
        installed = found.iter().map(named).collect();
        if installed == [name.clone()] {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    expect("what is installed", installed, vec![name.clone()])?;
    let all = kubectl
        .list("installplans.operators.coreos.com", &own, &[])
        .await?;
    let mut described: Vec<(i64, &str)> = all
        .iter()
        .map(|plan| {
            let phase = plan["status"]["phase"].as_str().unwrap_or_default();
            (plan["spec"]["generation"].as_i64().unwrap_or_default(), phase)
        })
        .collect();
    described.sort_unstable();
    let expected: Vec<(i64, &str)> = (1..)
        .take(plans)
        .map(|generation| (generation, "Complete"))
        .collect();
    expect("the plans", described, expected)?;
    for kind in [
        "roles",
        "rolebindings",
        "clusterroles",
        "clusterrolebindings",
        "deployments.apps",
    ] {
        let selector = format!("olm.owner.kind=ClusterServiceVersion,olm.owner.namespace={own}");
        let mut astray = Vec::new();
        // The garbage collector takes a moment.
        for _ in 0..100 {
            let owned = kubectl.list(kind, &own, &["-l", &selector]).await?;
            astray = owned
                .iter()
                .filter(|object| object["metadata"]["labels"]["olm.owner"] != name)
                .map(named)
                .collect();
            if astray.is_empty() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
        expect(
            &format!("what is left of others among {kind}"),
            astray,
            Vec::new(),
        )?;
    }
    Ok(())
}
