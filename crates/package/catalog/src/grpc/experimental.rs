//! `api.ExperimentalRegistry`: objects of schemas that aren't OLM's own.

use std::sync::Arc;

use futures_util::stream;
use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};
use tonic::{Request, Response, Status};

use super::messages::ExperimentalListPackageCustomSchemasRequest;
use super::registry::{Answers, damaged, store_of};
use super::server::experimental_registry_server::ExperimentalRegistry;
use crate::store::{CurrentStore, Query, Store, custom_schema};

/// What a caller must send with `true`, to show that it knows that the call may change.
const ACKNOWLEDGEMENT: &str = "x-acknowledge-experimental";

/// The schemas whose objects this call doesn't return.
const OWN_SCHEMAS: [&str; 4] = ["olm.package", "olm.channel", "olm.bundle", "olm.deprecations"];

/// Answers the calls from the store of the moment.
#[derive(Debug, Clone)]
pub(super) struct ExperimentalService {
    current: Arc<CurrentStore>,
}

impl ExperimentalService {
    pub(super) fn new(current: Arc<CurrentStore>) -> Self {
        Self { current }
    }
}

#[tonic::async_trait]
impl ExperimentalRegistry for ExperimentalService {
    type ExperimentalListPackageCustomSchemasStream = Answers<Struct>;

    async fn experimental_list_package_custom_schemas(
        &self,
        request: Request<ExperimentalListPackageCustomSchemasRequest>,
    ) -> Result<Response<Self::ExperimentalListPackageCustomSchemasStream>, Status> {
        let is_acknowledged = request
            .metadata()
            .get(ACKNOWLEDGEMENT)
            .is_some_and(|value| value.as_encoded_bytes() == b"true");
        if !is_acknowledged {
            return Ok(Response::new(Box::pin(stream::empty())));
        }
        let ExperimentalListPackageCustomSchemasRequest { schema, package_name } = request.into_inner();
        if schema.is_empty() {
            return Err(Status::invalid_argument("schema is required"));
        }
        custom_schema::check(&schema, &package_name)
            .map_err(|error| Status::invalid_argument(format!("invalid custom schema query: {error}")))?;
        if OWN_SCHEMAS.contains(&&*schema) {
            return Ok(Response::new(Box::pin(stream::empty())));
        }
        let store = store_of(&self.current)?;
        let positions = positions(&store, &schema, &package_name);
        let objects = positions
            .into_iter()
            .map(move |position| structure(&store, position));
        Ok(Response::new(Box::pin(stream::iter(objects))))
    }
}

/// The positions of the objects of a schema and of a package, or of no package.
fn positions(store: &Store, schema: &str, package: &str) -> Vec<usize> {
    let query = Query {
        schema,
        package,
        name: "",
    };
    store
        .metas(query)
        .filter(|meta| meta.package() == package)
        .map(|meta| meta.position())
        .collect()
}

/// An object as the message that stands for JSON.
fn structure(store: &Store, position: usize) -> Result<Struct, Status> {
    let meta = store
        .meta(position)
        .ok_or_else(|| Status::internal("the store has lost an object"))?;
    let blob = meta.blob().map_err(|error| damaged(&error))?;
    let object = serde_json::from_slice(blob)
        .map_err(|error| Status::internal(format!("parse meta JSON: {error}")))?;
    Ok(structure_of(object))
}

fn structure_of(object: serde_json::Map<String, serde_json::Value>) -> Struct {
    Struct {
        fields: object
            .into_iter()
            .map(|(key, value)| (key, value_of(value)))
            .collect(),
    }
}

fn value_of(value: serde_json::Value) -> Value {
    let kind = match value {
        serde_json::Value::Null => Kind::NullValue(0),
        serde_json::Value::Bool(flag) => Kind::BoolValue(flag),
        // Canonical JSON has no number that a double can't hold.
        serde_json::Value::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or_default()),
        serde_json::Value::String(text) => Kind::StringValue(text),
        serde_json::Value::Array(values) => Kind::ListValue(ListValue {
            values: values.into_iter().map(value_of).collect(),
        }),
        serde_json::Value::Object(object) => Kind::StructValue(structure_of(object)),
    };
    Value { kind: Some(kind) }
}
