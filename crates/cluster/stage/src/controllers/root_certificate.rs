//! The ConfigMap `kube-root-ca.crt` of every namespace, by which pods know the API.

use serde_json::{Value, json};

use super::service_accounts::is_alive;
use super::work::{Affected, Controller, Item, Next, itself};
use crate::api::Api;
use crate::client::{Client, Named};
use crate::object::map_of;
use crate::status::Status;
use crate::store::{Event, ResourceKey};

const CONFIG_MAPS: Named<'static> = ("", "configmaps");

/// The ConfigMap's name.
pub const ROOT_CERTIFICATE: &str = "kube-root-ca.crt";

const DESCRIPTION: &str = "kubernetes.io/description";

const DESCRIPTION_TEXT: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal \
    endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions \
    of Kubernetes clusters.";

/// Publishes the certificate of the authority that the API's own certificate is from.
#[derive(Debug)]
pub struct RootCertificate;

impl Controller for RootCertificate {
    const NAME: &'static str = "root-ca-cert-publisher";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![
            (ResourceKey::new("", "namespaces"), itself),
            (ResourceKey::new("", "configmaps"), namespace_of_certificate),
        ]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        if !is_alive(client, &item.name)? {
            return Ok(Next::Wait);
        }
        let certificate = client.api().access.keys.authority.certificate_pem();
        let seen = client.get(CONFIG_MAPS, &item.name, ROOT_CERTIFICATE)?;
        match (decide(seen.as_ref(), &item.name, &certificate), seen) {
            (None, _) => {}
            (Some(wanted), None) => drop(client.create(CONFIG_MAPS, wanted).await?),
            (Some(wanted), Some(_)) => drop(client.update(CONFIG_MAPS, wanted).await?),
        }
        Ok(Next::Wait)
    }
}

/// Returns the ConfigMap as it should be, unless it is.
fn decide(seen: Option<&Value>, namespace: &str, certificate: &str) -> Option<Value> {
    let data = json!({"ca.crt": certificate});
    let Some(seen) = seen else {
        return Some(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": ROOT_CERTIFICATE,
                "namespace": namespace,
                "annotations": {DESCRIPTION: DESCRIPTION_TEXT},
            },
            "data": data,
        }));
    };
    if seen["data"] == data && seen["metadata"]["annotations"][DESCRIPTION] == DESCRIPTION_TEXT {
        return None;
    }
    let mut wanted = seen.clone();
    map_of(&mut wanted).insert("data".into(), data);
    map_of(&mut wanted["metadata"]["annotations"]).insert(DESCRIPTION.into(), DESCRIPTION_TEXT.into());
    Some(wanted)
}

fn namespace_of_certificate(_: &Api, event: &Event) -> Vec<Item> {
    let key = &event.object.key;
    if &*key.name == ROOT_CERTIFICATE {
        vec![Item::new("", &key.namespace)]
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_certificate_is_published_and_put_back() {
        let made = decide(None, "a", "PEM").unwrap();
        assert_eq!(made["data"]["ca.crt"], "PEM");
        assert_eq!(decide(Some(&made), "a", "PEM"), None);
        let mut changed = made.clone();
        changed["data"]["ca.crt"] = "other".into();
        changed["metadata"]["labels"] = json!({"mine": "stays"});
        let back = decide(Some(&changed), "a", "PEM").unwrap();
        assert_eq!(back["data"], made["data"]);
        assert_eq!(back["metadata"]["labels"]["mine"], "stays");
    }
}
