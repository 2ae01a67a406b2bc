//! An object in the version that was asked for, and in the one that is stored.

use std::sync::Arc;

use serde_json::Value;

use super::Api;
use crate::resource::{Nature, Resource};
use crate::status::Status;
use crate::store::Stored;

impl Api {
    /// Returns an object in the version it is stored in.
    pub async fn to_stored_version(&self, resource: &Resource, object: Value) -> Result<Value, Status> {
        self.in_version(resource, object, &resource.storage_api_version)
            .await
    }

    /// Returns a stored object in the version of a resource.
    pub async fn served(&self, resource: &Resource, stored: &Arc<Stored>) -> Result<Value, Status> {
        self.in_version(resource, stored.value(), &resource.api_version())
            .await
    }

    /// Returns whether a stored object can be shown as it is.
    pub fn is_served_as_stored(&self, resource: &Resource, stored: &Stored) -> bool {
        match &resource.nature {
            Nature::BuiltIn(kind) => kind.versions.len() == 1 && kind.plural != "events",
            Nature::Custom(_) => stored.api_version() == resource.api_version(),
        }
    }

    /// Returns an object in another version of its kind.
    pub async fn in_version(
        &self,
        resource: &Resource,
        object: Value,
        wanted: &str,
    ) -> Result<Value, Status> {
        let from = object
            .get("apiVersion")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        if from == wanted {
            return Ok(object);
        }
        match &resource.nature {
            Nature::BuiltIn(kind) => Ok(kinds::conversion::convert(kind.kind, &from, wanted, object)),
            Nature::Custom(custom) => {
                let mut converted = custom.convert(self, wanted, vec![object]).await?;
                converted
                    .pop()
                    .ok_or_else(|| Status::internal("a conversion gave no object"))
            }
        }
    }
}
