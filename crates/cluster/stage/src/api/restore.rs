//! An object as another server had it.

use serde_json::Value;

use super::{Api, Place};
use crate::object::Object;
use crate::status::Status;
use crate::store::{Change, Expect, Write, WriteError};

/// How often a write is tried again when a controller makes the same object at the same time.
const MOST_ATTEMPTS: usize = 10;

impl Api {
    /// Stores an object as another server had it, with its identity, its owners and its status; what is there under its
    /// name gives way.
    ///
    /// Nothing is admitted, filled in or checked: what was accepted once is taken as it is, even where it would not be
    /// accepted again.
    ///
    /// # Errors
    ///
    /// If its kind isn't served here, or it can't be stored.
    pub async fn restore(&self, object: Value) -> Result<(), Status> {
        let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let resource = self
            .resources
            .now()
            .of_kind(api_version, kind)
            .cloned()
            .ok_or_else(|| {
                Status::bad_request(format!("no matches for kind {kind:?} in version {api_version:?}"))
            })?;
        let object = self.to_stored_version(&resource, object).await?;
        let place = Place {
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
            subresource: String::new(),
            resource,
        };
        for _ in 0..MOST_ATTEMPTS {
            let expect = match self.store.get(&place.key()) {
                Some(_) => Expect::Present,
                None => Expect::Absent,
            };
            let write = Write {
                key: place.key(),
                expect,
                change: Change::Put(object.clone()),
            };
            match self.store.write(write).await {
                Ok(_) => return Ok(()),
                Err(WriteError::AlreadyExists { .. } | WriteError::NotFound { .. }) => {}
                Err(error) => return Err(Self::write_failure(&place, error)),
            }
        }
        Err(Status::modified(place.resource.group_resource(), &place.name))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{Options, Stage};

    #[tokio::test]
    async fn an_object_comes_with_its_identity_owners_and_status() {
        let options = Options {
            without_controllers: true,
            ..Options::default()
        };
        let stage = Stage::in_memory(options).await.unwrap();
        let mut object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "a", "namespace": "elsewhere", "uid": "one", "resourceVersion": "700", "generation": 4,
                "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "b", "uid": "two"}],
            },
            "status": {"observedGeneration": 4},
        });
        stage.api().restore(object.clone()).await.unwrap();
        object["status"]["observedGeneration"] = 5.into();
        stage.api().restore(object.clone()).await.unwrap();
        let found = stage.client().get(("apps", "deployments"), "elsewhere", "a");
        let mut found = found.unwrap().unwrap();
        assert_ne!(found["metadata"]["resourceVersion"], "700");
        found["metadata"]["resourceVersion"] = "700".into();
        assert_eq!(found, object);
    }

    #[tokio::test]
    async fn an_unknown_kind_is_named() {
        let stage = Stage::in_memory(Options {
            without_controllers: true,
            ..Options::default()
        });
        let stage = stage.await.unwrap();
        let object = json!({"apiVersion": "a.b/v1", "kind": "C", "metadata": {"name": "d"}});
        let refused = stage.api().restore(object).await.unwrap_err();
        assert_eq!(refused.message, "no matches for kind \"C\" in version \"a.b/v1\"");
    }
}
