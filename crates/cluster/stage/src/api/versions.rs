//! An object in the version that was asked for, and in the one that is stored.

use std::sync::Arc;

use schema::Schema;
use serde_json::Value;

use super::Api;
use crate::custom::CustomKind;
use crate::resource::{Nature, Resource};
use crate::status::Status;
use crate::store::Stored;

/// How many bytes of objects are converted in one call of a webhook: several calls are slower, but never too large.
const CONVERTED_AT_ONCE: usize = 512 * 1024;

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

    /// Returns stored objects in the version of a resource; a webhook that converts them is asked about many at once.
    pub async fn all_served(
        &self,
        resource: &Resource,
        stored: &[Arc<Stored>],
    ) -> Result<Vec<Value>, Status> {
        let mut objects = Vec::with_capacity(stored.len());
        let wanted = resource.api_version();
        let Nature::Custom(custom) = &resource.nature else {
            for one in stored {
                objects.push(self.served(resource, one).await?);
            }
            return Ok(objects);
        };
        let mut rest = stored;
        while let Some(first) = rest.first() {
            // Objects of the wanted version stay as they are; others go in batches of one version.
            let version = first.api_version();
            let mut bytes = 0;
            let mut count = 0;
            for one in rest {
                if one.api_version() != version || (count > 0 && bytes > CONVERTED_AT_ONCE) {
                    break;
                }
                bytes += one.bytes.len();
                count += 1;
            }
            let (batch, others) = rest.split_at(count);
            let values: Vec<Value> = batch.iter().map(|one| one.value()).collect();
            if version == wanted {
                objects.extend(values);
            } else {
                let schema = schema_of(resource, custom, &wanted);
                objects.extend(custom.convert(self, &wanted, schema, values).await?);
            }
            rest = others;
        }
        Ok(objects)
    }

    /// Returns whether a stored object can be shown as it is.
    pub fn is_served_as_stored(&self, resource: &Resource, stored: &Stored) -> bool {
        match &resource.nature {
            // Most kinds have one version; events share their storage with a second group.
            Nature::BuiltIn(kind) if kind.versions.len() == 1 && kind.plural != "events" => true,
            Nature::BuiltIn(_) | Nature::Custom(_) => stored.api_version() == resource.api_version(),
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
                let schema = schema_of(resource, custom, wanted);
                let mut converted = custom.convert(self, wanted, schema, vec![object]).await?;
                converted
                    .pop()
                    .ok_or_else(|| Status::internal("a conversion gave no object"))
            }
        }
    }
}

/// Returns the schema of the version that an object is converted to: the resource's own, or the stored one's.
fn schema_of<'a>(resource: &Resource, custom: &'a CustomKind, wanted: &str) -> &'a Schema {
    if wanted == resource.api_version() {
        &custom.schema
    } else {
        &custom.stored_schema
    }
}
