//! The ServiceAccount `default` of every namespace.

use serde_json::json;

use super::work::{Affected, Controller, Item, Next, itself};
use crate::api::Api;
use crate::client::{Client, Named};
use crate::object::Object;
use crate::status::Status;
use crate::store::{Event, ResourceKey};

const ACCOUNTS: Named<'static> = ("", "serviceaccounts");

/// The account that pods use when they name none.
const DEFAULT: &str = "default";

/// Makes the account `default` wherever it is missing.
#[derive(Debug)]
pub struct ServiceAccounts;

impl Controller for ServiceAccounts {
    const NAME: &'static str = "service-account-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![
            (ResourceKey::new("", "namespaces"), itself),
            (ResourceKey::new("", "serviceaccounts"), namespace_of_default),
        ]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        if is_alive(client, &item.name)? && client.get_stored(ACCOUNTS, &item.name, DEFAULT)?.is_none() {
            let account = json!({
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": DEFAULT, "namespace": &*item.name},
            });
            client.create(ACCOUNTS, account).await?;
        }
        Ok(Next::Wait)
    }
}

fn namespace_of_default(_: &Api, event: &Event) -> Vec<Item> {
    let key = &event.object.key;
    if &*key.name == DEFAULT {
        vec![Item::new("", &key.namespace)]
    } else {
        Vec::new()
    }
}

/// Returns whether a namespace is there and stays.
pub(super) fn is_alive(client: &Client, namespace: &str) -> Result<bool, Status> {
    let found = client.get(("", "namespaces"), "", namespace)?;
    Ok(found.is_some_and(|found| !found.is_being_deleted() && found["status"]["phase"] != "Terminating"))
}
