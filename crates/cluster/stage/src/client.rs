//! The API for code in this process: no socket, no HTTP, the same path of reads and writes.

use std::sync::Arc;

use serde_json::Value;

use crate::api::patch::PatchType;
use crate::api::{Answered, Api, Call, Place};
use crate::caller::Caller;
use crate::filter::Filter;
use crate::object::{Object, map_of};
use crate::options::{DeleteOptions, FieldValidation, ListOptions, WriteOptions};
use crate::selectors::LabelSelector;
use crate::status::Status;
use crate::store::Stored;

/// A client of someone.
#[derive(Debug, Clone)]
pub struct Client {
    api: Arc<Api>,
    caller: Arc<Caller>,
    user_agent: Arc<str>,
}

/// A resource as code names it: group and plural, such as `("apps", "deployments")`.
pub type Named<'a> = (&'a str, &'a str);

impl Client {
    /// Returns a client of someone; the user agent names the manager of the fields it writes.
    pub fn new(api: Arc<Api>, caller: Arc<Caller>, user_agent: &str) -> Self {
        Self {
            api,
            caller,
            user_agent: user_agent.into(),
        }
    }

    /// Returns the API.
    pub fn api(&self) -> &Arc<Api> {
        &self.api
    }

    fn call(&self) -> Call {
        Call::new(self.caller.clone(), &*self.user_agent)
    }

    fn options() -> WriteOptions {
        WriteOptions {
            field_validation: FieldValidation::Ignore,
            ..WriteOptions::default()
        }
    }

    /// Returns the place of an object in the preferred version of its resource.
    pub fn place(&self, resource: Named<'_>, namespace: &str, name: &str) -> Result<Place, Status> {
        let served = self.api.resources.now();
        let resource = served
            .preferred(resource.0, resource.1)
            .ok_or_else(Status::no_such_resource)?;
        Ok(Place {
            resource: resource.clone(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            subresource: String::new(),
        })
    }

    /// Returns an object; `None` where there is none.
    pub fn get(&self, resource: Named<'_>, namespace: &str, name: &str) -> Result<Option<Value>, Status> {
        Ok(self
            .get_stored(resource, namespace, name)?
            .map(|stored| stored.value()))
    }

    /// Returns an object as it is stored; `None` where there is none.
    pub fn get_stored(
        &self,
        resource: Named<'_>,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Stored>>, Status> {
        let place = self.place(resource, namespace, name)?;
        Ok(self.api.store.get(&place.key()))
    }

    /// Returns the objects of a namespace (all namespaces for an empty one) as they are stored.
    pub fn list_stored(&self, resource: Named<'_>, namespace: &str) -> Result<Vec<Arc<Stored>>, Status> {
        let place = self.place(resource, namespace, "")?;
        Ok(self
            .api
            .list(&place, &Filter::default(), &ListOptions::default())?
            .items)
    }

    /// Returns the objects of a namespace (all namespaces for an empty one).
    pub fn list(&self, resource: Named<'_>, namespace: &str) -> Result<Vec<Value>, Status> {
        Ok(self
            .list_stored(resource, namespace)?
            .iter()
            .map(|stored| stored.value())
            .collect())
    }

    /// Returns the objects of a namespace whose labels a selector matches, as they are stored.
    pub fn list_selected_stored(
        &self,
        resource: Named<'_>,
        namespace: &str,
        selector: &LabelSelector,
    ) -> Result<Vec<Arc<Stored>>, Status> {
        let place = self.place(resource, namespace, "")?;
        let found = self
            .api
            .indices
            .candidates(&place.resource.storage, namespace, selector);
        let mut stored = match found {
            Some(positions) => positions
                .into_iter()
                .filter_map(|position| self.api.store.get(&position.of(&place.resource.storage)))
                .collect(),
            None => self.list_stored(resource, namespace)?,
        };
        stored.retain(|one| selector.matches(&one.labels));
        Ok(stored)
    }

    /// Returns the objects of a namespace whose labels a selector matches.
    pub fn list_selected(
        &self,
        resource: Named<'_>,
        namespace: &str,
        selector: &LabelSelector,
    ) -> Result<Vec<Value>, Status> {
        let stored = self.list_selected_stored(resource, namespace, selector)?;
        Ok(stored.iter().map(|one| one.value()).collect())
    }

    /// Makes an object.
    pub async fn create(&self, resource: Named<'_>, mut object: Value) -> Result<Value, Status> {
        let mut place = self.place(resource, object.namespace(), object.name())?;
        place.name.clear();
        // As a body that is read: what later writes read again is the same then.
        crate::decode::conform(&place.resource, &mut object)?;
        let written = self
            .api
            .create(&self.call(), &place, object, &Self::options())
            .await?;
        Ok(written.answer.into_value())
    }

    /// Puts an object in place of the old one.
    pub async fn update(&self, resource: Named<'_>, object: Value) -> Result<Value, Status> {
        self.update_below(resource, "", object).await
    }

    /// Puts a status in place of the old one.
    pub async fn update_status(&self, resource: Named<'_>, object: Value) -> Result<Value, Status> {
        self.update_below(resource, "status", object).await
    }

    /// Puts a subresource in place of the old one.
    pub async fn update_below(
        &self,
        resource: Named<'_>,
        below: &str,
        object: Value,
    ) -> Result<Value, Status> {
        let mut place = self.place(resource, object.namespace(), object.name())?;
        below.clone_into(&mut place.subresource);
        let written = self
            .api
            .update(&self.call(), &place, object, &Self::options())
            .await?;
        Ok(written.answer.into_value())
    }

    /// Changes an object, or a subresource of it, with a merge patch.
    pub async fn merge(
        &self,
        resource: Named<'_>,
        namespace: &str,
        name: &str,
        below: &str,
        patch: &Value,
    ) -> Result<Value, Status> {
        let mut place = self.place(resource, namespace, name)?;
        below.clone_into(&mut place.subresource);
        let body = patch.to_string();
        let written = self
            .api
            .patch(
                &self.call(),
                &place,
                PatchType::Merge,
                body.as_bytes(),
                &Self::options(),
            )
            .await?;
        Ok(written.answer.into_value())
    }

    /// Applies a configuration as the manager `manager`, taking the fields of others.
    pub async fn apply(&self, resource: Named<'_>, manager: &str, object: &Value) -> Result<Value, Status> {
        let place = self.place(resource, object.namespace(), object.name())?;
        let options = WriteOptions {
            field_manager: manager.to_owned(),
            force: Some(true),
            ..Self::options()
        };
        let body = object.to_string();
        let written = self
            .api
            .patch(&self.call(), &place, PatchType::Apply, body.as_bytes(), &options)
            .await?;
        Ok(written.answer.into_value())
    }

    /// Gives an object that can be scaled another number of replicas.
    pub async fn rescale(&self, place: &Place, replicas: i64) -> Result<(), Status> {
        self.api
            .modify_scale(&self.call(), place, &Self::options(), |mut scale| {
                map_of(map_of(&mut scale).entry("spec").or_insert(Value::Null))
                    .insert("replicas".into(), replicas.into());
                Ok(scale)
            })
            .await?;
        Ok(())
    }

    /// Deletes an object; whether it was there.
    pub async fn delete(
        &self,
        resource: Named<'_>,
        namespace: &str,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<bool, Status> {
        let place = self.place(resource, namespace, name)?;
        match self.api.delete(&self.call(), &place, options).await {
            Ok(_) => Ok(true),
            Err(status) if status.code == http::StatusCode::NOT_FOUND => Ok(false),
            Err(status) => Err(status),
        }
    }

    /// Makes something below an object, such as an eviction or a token.
    pub async fn create_below(
        &self,
        resource: Named<'_>,
        namespace: &str,
        name: &str,
        below: &str,
        object: Value,
    ) -> Result<Value, Status> {
        let mut place = self.place(resource, namespace, name)?;
        below.clone_into(&mut place.subresource);
        let written = self
            .api
            .create_below(&self.call(), &place, object, &Self::options())
            .await?;
        match written.answer {
            Answered::Stored(stored) => Ok(stored.value()),
            Answered::Value(value) => Ok(value),
        }
    }
}
