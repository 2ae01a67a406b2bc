//! Looks at a cluster and says what it lacks.

use ::deploy::check::{self, Finding, Observation, Sight, Weight};
use ::deploy::installation;
use ::deploy::settings::Settings;
use apply::served::{Kinds, Unfound};
use kube::Client;
use serde_json::Value;

use super::applying::{api, differing, find};
use crate::cluster::{is_forbidden, refused};
use crate::failure::Failure;
use crate::output::{OutputFlag, columns};
use crate::terminal::Terminal;

/// Says what a cluster lacks; fails where it doesn't work without.
pub(super) async fn check(
    client: &Client,
    settings: &Settings,
    output: OutputFlag,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let seen = observe(client, settings).await?;
    let findings = check::decide(settings, &seen);
    output.print(terminal, &findings, |findings| table(findings))?;
    if findings.iter().any(|finding| finding.weight == Weight::Lacks) {
        return Err(Failure::Told);
    }
    terminal.remark("the cluster lacks nothing");
    Ok(())
}

async fn observe(client: &Client, settings: &Settings) -> Result<Observation, Failure> {
    let version = client
        .apiserver_version()
        .await
        .map_err(|error| refused("ask the server for its release", error))?;
    // Some say `36+`.
    let digits: String = version.minor.chars().take_while(char::is_ascii_digit).collect();
    let kinds = Kinds::new(client.clone());
    let mut objects = Vec::new();
    let steps = installation::steps(settings);
    for object in check::wanted(&steps) {
        objects.push((object.clone(), sight(client, &kinds, object).await?));
    }
    Ok(Observation {
        minor: digits.parse().ok(),
        objects,
    })
}

async fn sight(client: &Client, kinds: &Kinds, object: &Value) -> Result<Sight, Failure> {
    let doing = || format!("read {}", installation::called(object));
    let (object, served) = match find(kinds, object).await {
        Ok(found) => found,
        Err(Unfound::Unserved { .. }) => return Ok(Sight::NoKind),
        Err(Unfound::Unanswered(error)) => return Err(refused(&doing(), *error)),
    };
    let object = &object;
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let live = match api(client, &served, object).get_opt(name).await {
        Ok(None) => return Ok(Sight::Missing),
        Ok(Some(live)) => serde_json::to_value(live)?,
        Err(error) if is_forbidden(&error) => return Ok(Sight::Hidden(error.to_string())),
        Err(error) => return Err(refused(&doing(), error)),
    };
    match differing(client, &served, object, &live).await {
        Ok(differing) => Ok(Sight::There { live, differing }),
        Err(error) if is_forbidden(&error) => Ok(Sight::Hidden(error.to_string())),
        Err(error) => Err(refused(
            &format!("compare {}", installation::called(object)),
            error,
        )),
    }
}

fn table(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let mut rows = vec![["", "ABOUT", "PROBLEM", "NEXT"].map(str::to_owned).to_vec()];
    rows.extend(findings.iter().map(|finding| {
        let weight = match finding.weight {
            Weight::Lacks => "lacks",
            Weight::Warns => "warns",
        };
        vec![
            weight.to_owned(),
            finding.about.clone(),
            finding.problem.clone(),
            finding.next.clone(),
        ]
    }));
    columns(&rows)
}
