//! The definitions in `crds/`: made before a chart is rendered, and never changed or deleted.

use std::sync::Arc;
use std::time::Duration;

use apply::object::text;
use chart::crds::Crd;
use serde_json::Value;

use crate::cluster::{Cluster, Placed};
use crate::documents;
use crate::failure::{Cause, Failure, several};
use crate::waiting::{self, Sight, TIMED_OUT, WaitError, Waited};

/// How long definitions are waited for, as Helm does.
pub const TIMEOUT: Duration = Duration::from_mins(1);

/// Makes the definitions of a chart that don't exist yet, in the order of their files, and waits until the server serves
/// them.
pub async fn install(cluster: &Cluster, definitions: &[Crd], timeout: Duration) -> Result<(), Failure> {
    let mut made = Vec::new();
    for definition in definitions {
        let doing = format!("failed to install CRD {}", definition.name);
        let content = String::from_utf8_lossy(&definition.data);
        let documents =
            documents::read(&content).map_err(|error| Failure::from(error).while_doing(&doing))?;
        let mut errors = Vec::new();
        for document in documents {
            let placed = cluster
                .place(&document.id, Arc::clone(&document.object), "default")
                .await
                .map_err(|error| Failure::of_server(Cause::Build, &error).while_doing(&doing))?;
            match cluster.create(&placed, &placed.body()).await {
                Ok(_) => made.push(placed),
                // Another release brought it; it is never changed.
                Err(error) if error.is_already_there() => {}
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            let mut failure = Failure::new(Cause::Rejected, several(texts.iter().map(String::as_str)));
            for error in &errors {
                failure.note(error);
            }
            return Err(failure.while_doing(&doing));
        }
    }
    for placed in &made {
        established(cluster, placed, timeout).await?;
    }
    Ok(())
}

async fn established(cluster: &Cluster, placed: &Placed, timeout: Duration) -> Result<(), Failure> {
    if placed.id.kind != "CustomResourceDefinition" {
        return Ok(());
    }
    match waiting::until(cluster, placed, timeout, look).await {
        Ok(Waited::Done) => Ok(()),
        Ok(Waited::Failed(cause)) => Err(Failure::new(Cause::Rejected, cause)),
        Err(WaitError::TimedOut) => Err(Failure::new(Cause::Rejected, TIMED_OUT)),
        Err(WaitError::Server(error)) => Err(Failure::of_server(Cause::Rejected, &error)),
    }
}

/// A definition is ready when it is served, and also when its names are taken: then it never will be.
fn look(object: Option<&Value>) -> Sight {
    let conditions = object.and_then(|object| object.pointer("/status/conditions")?.as_array());
    let says = |kind: &str, status: &str| {
        conditions
            .into_iter()
            .flatten()
            .any(|condition| text(condition, "/type") == kind && text(condition, "/status") == status)
    };
    if says("Established", "True") || says("NamesAccepted", "False") {
        Sight::Over(Waited::Done)
    } else {
        Sight::Waiting
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_is_waited_for_until_it_is_served_or_never_will_be() {
        let is_over = |condition: Value| {
            let object = json!({"status": {"conditions": [condition]}});
            matches!(look(Some(&object)), Sight::Over(Waited::Done))
        };
        assert!(is_over(json!({"type": "Established", "status": "True"})));
        assert!(is_over(json!({"type": "NamesAccepted", "status": "False"})));
        assert!(!is_over(json!({"type": "Established", "status": "False"})));
        assert!(matches!(look(Some(&json!({}))), Sight::Waiting));
        assert!(matches!(look(None), Sight::Waiting));
    }
}
