//! The one document that `/openapi/v2` serves: everything in OpenAPI's older form, Swagger 2.0.
//!
//! It is made from the documents of the newer form. The older one knows no alternatives and no values that may be null,
//! has no defaults here, and tells what many operations take only once.
//!
//! - `definitions`: schemas in the older form
//! - `operations`: paths in the older form
//! - `sharing`: parameters that many operations have
//! - `protobuf`: the document in the binary form that Go's clients ask for

mod definitions;
mod operations;
mod protobuf;
mod sharing;

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub use self::protobuf::encode as to_protobuf;
use super::RELEASE;

/// Returns the document that tells what the documents of all groups and versions tell.
pub fn document<'a>(documents: impl IntoIterator<Item = &'a Value>) -> Value {
    let mut paths: BTreeMap<String, Value> = BTreeMap::new();
    let mut definitions: BTreeMap<String, Value> = BTreeMap::new();
    for document in documents {
        for (path, item) in document["paths"].as_object().into_iter().flatten() {
            paths.insert(path.clone(), operations::path_item(item));
        }
        for (name, schema) in document["components"]["schemas"]
            .as_object()
            .into_iter()
            .flatten()
        {
            if !definitions.contains_key(name) {
                definitions.insert(name.clone(), definitions::definition(name, schema));
            }
        }
    }
    let parameters = sharing::share(&mut paths);
    json!({
        "swagger": "2.0",
        "info": { "title": "Kubernetes", "version": RELEASE },
        "paths": paths,
        "definitions": definitions,
        "parameters": parameters,
        "securityDefinitions": {
            "BearerToken": {
                "description": "Bearer Token authentication",
                "type": "apiKey",
                "name": "authorization",
                "in": "header",
            },
        },
        "security": [{ "BearerToken": [] }],
    })
}

#[cfg(test)]
mod tests;
