//! The documents of paths that lead to groups and versions, and of those that tell about the server.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::components::{self, reference};
use super::{RELEASE, operations, security_schemes};

const VERSION_INFO: &str = "io.k8s.apimachinery.pkg.version.Info";

/// Returns the document of `api`, `apis`, `apis/<group>`, `version`, `openid/v1/jwks` or
/// `.well-known/openid-configuration`; `None` for others. Custom groups have no such document.
pub fn entrance(name: &str) -> Option<Value> {
    let (path, item) = match name {
        "api" => operations::entrance(
            name,
            "getCoreAPIVersions",
            "core",
            "get available API versions",
            "APIVersions",
        ),
        "apis" => operations::entrance(
            name,
            "getAPIVersions",
            "apis",
            "get available API versions",
            "APIGroupList",
        ),
        "version" => plain(
            name,
            "getCodeVersion",
            "version",
            "get the version information for this server",
            ("application/json", reference(VERSION_INFO)),
        ),
        "openid/v1/jwks" => plain(
            name,
            "getServiceAccountIssuerOpenIDKeyset",
            "openid",
            "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)",
            ("application/jwk-set+json", json!({ "type": "string" })),
        ),
        ".well-known/openid-configuration" => plain(
            name,
            "getServiceAccountIssuerOpenIDConfiguration",
            "WellKnown",
            "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
            ("application/json", json!({ "type": "string" })),
        ),
        _ => {
            let group = name.strip_prefix("apis/").filter(|group| !group.contains('/'))?;
            let (prefix, tag) = operations::group_names(group);
            operations::entrance(
                name,
                &format!("get{prefix}APIGroup"),
                &tag,
                "get information of a group",
                "APIGroup",
            )
        }
    };
    let paths = BTreeMap::from([(path, item)]);
    let schemas = components::reached(&paths, BTreeMap::new(), "v1");
    let mut document = json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": RELEASE },
        "paths": paths,
        "components": { "securitySchemes": security_schemes() },
    });
    if !schemas.is_empty() {
        document["components"]["schemas"] = json!(schemas);
    }
    Some(document)
}

fn plain(
    name: &str,
    id: &str,
    tag: &str,
    description: &str,
    (form, schema): (&str, Value),
) -> (String, Value) {
    let operation = json!({
        "tags": [tag],
        "description": description,
        "operationId": id,
        "responses": {
            "200": { "description": "OK", "content": { form: { "schema": schema } } },
            "401": { "description": "Unauthorized" },
        },
    });
    (format!("/{name}/"), json!({ "get": operation }))
}
