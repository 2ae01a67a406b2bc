//! The bodies of requests, read into objects.

use schema::protobuf::ProtobufError;
use schema::strict::{self, Decoded, Encoding, Target};
use schema::{FieldError, FieldPath};
use serde_json::Value;

use crate::api::{Call, Place};
use crate::object::Object;
use crate::options::FieldValidation;
use crate::resource::{Nature, Resource, api_version, split_api_version};
use crate::status::Status;
use crate::wire::Asked;
use crate::wire::negotiation::object_type;

/// The kind that a body is expected to have.
struct Expected<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
    custom: Option<&'a Resource>,
}

fn expected(place: &Place) -> Expected<'_> {
    let resource = &*place.resource;
    if let Some(below) = place.below().and_then(|name| resource.subresource(name))
        && !below.version.is_empty()
    {
        return Expected {
            group: below.group,
            version: below.version,
            kind: below.kind,
            custom: None,
        };
    }
    let kind = match place.below().and_then(|name| resource.subresource(name)) {
        Some(below) if !below.kind.is_empty() => below.kind,
        _ => &*resource.kind,
    };
    let custom = resource.custom().is_some().then_some(resource);
    Expected {
        group: &resource.group,
        version: &resource.version,
        kind,
        custom,
    }
}

/// Reads the body of a create or an update.
pub fn body(asked: &Asked, place: &Place, validation: FieldValidation) -> Result<Value, Status> {
    let expected = expected(place);
    let decoded = match object_type(&asked.head.headers).as_str() {
        "" | "application/json" => read(&asked.body, Encoding::Json, &expected)?,
        "application/yaml" => read(&asked.body, Encoding::Yaml, &expected)?,
        "application/vnd.kubernetes.protobuf" if expected.custom.is_none() => binary(&asked.body, &expected)?,
        _ => {
            // Also for custom resources, which have no such form.
            let accepted = [
                "application/json",
                "application/yaml",
                "application/vnd.kubernetes.protobuf",
            ];
            return Err(Status::unsupported_media_type(&accepted));
        }
    };
    check_kind(&decoded, &expected)?;
    refuse_or_warn(&asked.call, validation, &decoded, &expected)?;
    let mut value = decoded.value;
    set_type(&mut value, &expected);
    Ok(value)
}

fn read(body: &[u8], encoding: Encoding, expected: &Expected<'_>) -> Result<Decoded, Status> {
    let target = match (
        expected.custom,
        schema::builtin::kind(expected.group, expected.version, expected.kind),
    ) {
        (Some(resource), _) => Target::Custom(resource.schema()),
        (None, Some(definition)) => Target::BuiltIn(definition),
        (None, None) => {
            return Err(Status::internal(format_args!(
                "{} has no definition",
                expected.kind
            )));
        }
    };
    strict::decode(body, encoding, target)
        .map_err(|error| Status::bad_request(error.bad_request(expected.version, expected.kind, body)))
}

fn binary(body: &[u8], expected: &Expected<'_>) -> Result<Decoded, Status> {
    let default_version = api_version(expected.group, expected.version);
    let default = schema::protobuf::DefaultKind {
        api_version: &default_version,
        kind: expected.kind,
    };
    let decoded = schema::protobuf::decode_or_default(body, default)
        .map_err(|error| Status::bad_request(unreadable(&error, body, expected)))?;
    let (group, version) = split_api_version(&decoded.api_version);
    let found = strict::Found {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: decoded.kind.clone(),
    };
    Ok(Decoded {
        value: decoded.value,
        found,
        problems: Vec::new(),
    })
}

/// Returns the real server's words about a binary body that can't be read.
fn unreadable(error: &ProtobufError, body: &[u8], expected: &Expected<'_>) -> String {
    let ProtobufError::UnknownKind { api_version, kind } = error else {
        return strict::unrecognized(expected.kind, &error.to_string(), body);
    };
    let (group, version) = split_api_version(api_version);
    let found = strict::Found {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.clone(),
    };
    let why = format!("{error} in scheme \"pkg/runtime/scheme.go:111\"");
    strict::cannot_be_handled(&found, expected.version, expected.kind, &why)
}

/// Refuses a body of another kind than the path's.
fn check_kind(decoded: &Decoded, expected: &Expected<'_>) -> Result<(), Status> {
    let found = &decoded.found;
    let same_kind = found.kind.is_empty() || found.kind == expected.kind;
    let same_version =
        found.version.is_empty() || (found.group == expected.group && found.version == expected.version);
    if same_kind && same_version {
        return Ok(());
    }
    let kind = if found.kind.is_empty() {
        expected.kind
    } else {
        &found.kind
    };
    let version = if found.version.is_empty() {
        expected.version
    } else {
        &found.version
    };
    if expected.custom.is_some() && same_version {
        let rule = format!("must be {}", expected.kind);
        let error = FieldError::invalid(FieldPath::new("kind"), &kind.into(), rule);
        return Err(Status::invalid(
            expected.group,
            kind,
            decoded.value.name(),
            &[error],
        ));
    }
    let registered = schema::builtin::kind(&found.group, version, kind).is_some();
    if (same_kind && registered) || expected.custom.is_some() {
        let sent = api_version(&found.group, version);
        return Err(Status::bad_request(format!(
            "the API version in the data ({sent}) does not match the expected API version ({})",
            api_version(expected.group, expected.version)
        )));
    }
    let why = if registered {
        let (package, wanted) = (internal_package(expected.group), expected.kind);
        format!("converting ({version}.{kind}) to ({package}.{wanted}): unknown conversion")
    } else {
        let sent = api_version(&found.group, version);
        format!(
            "no kind \"{kind}\" is registered for version \"{sent}\" in scheme \"pkg/runtime/scheme.go:111\""
        )
    };
    Err(Status::bad_request(format!(
        "{kind} in version \"{version}\" cannot be handled as a {}: {why}",
        expected.kind
    )))
}

/// Returns the name of the package that holds a group's types, which the real server shows.
pub(crate) fn internal_package(group: &str) -> &str {
    match group.split('.').next() {
        Some("") | None => "core",
        Some("rbac") => "rbac",
        Some(first) => first,
    }
}

fn refuse_or_warn(
    call: &Call,
    validation: FieldValidation,
    decoded: &Decoded,
    expected: &Expected<'_>,
) -> Result<(), Status> {
    match validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => decoded
            .warnings()
            .into_iter()
            .for_each(|warning| call.warn(warning)),
        FieldValidation::Strict => {
            if let Some(error) = decoded.strict_error() {
                let text = strict::cannot_be_handled(&decoded.found, expected.version, expected.kind, &error);
                return Err(Status::bad_request(text));
            }
        }
    }
    Ok(())
}

fn set_type(value: &mut Value, expected: &Expected<'_>) {
    let object = crate::object::map_of(value);
    object.insert(
        "apiVersion".into(),
        api_version(expected.group, expected.version).into(),
    );
    object.insert("kind".into(), expected.kind.into());
}

/// Makes the result of a patch an object of its kind again, and returns what it has that the kind doesn't.
pub fn conform(resource: &Resource, object: &mut Value) -> Result<Vec<String>, Status> {
    let problems = match &resource.nature {
        Nature::BuiltIn(_) => {
            let definition = schema::builtin::kind(&resource.group, &resource.version, &resource.kind)
                .ok_or_else(|| Status::internal(format_args!("{} has no definition", resource.kind)))?;
            let decoded = strict::normalize(definition, object).map_err(|error| {
                Status::bad_request(error.bad_request(&resource.version, &resource.kind, b"{}"))
            })?;
            *object = decoded.value;
            decoded.problems
        }
        Nature::Custom(custom) => schema::structural::prune(&custom.schema, object, true).problems(),
    };
    let object = crate::object::map_of(object);
    object.insert("apiVersion".into(), resource.api_version().into());
    object.insert("kind".into(), (&*resource.kind).into());
    Ok(problems)
}

/// Refuses or warns about what a patch brought that the kind doesn't have.
pub fn report(
    call: &Call,
    validation: FieldValidation,
    mut findings: Vec<String>,
    problems: Vec<String>,
) -> Result<(), Status> {
    findings.extend(problems);
    match validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => findings.into_iter().for_each(|finding| call.warn(finding)),
        FieldValidation::Strict if findings.is_empty() => {}
        FieldValidation::Strict => {
            return Err(Status::bad_request(format!(
                "strict decoding error: {}",
                findings.join(", ")
            )));
        }
    }
    Ok(())
}

/// A configuration that is applied, as it was read.
#[derive(Debug)]
pub struct AppliedBody {
    /// The configuration.
    pub value: Value,
    /// Fields that are there twice.
    pub duplicates: Vec<String>,
}

/// Reads a configuration that is applied: YAML, of which JSON is a part.
pub fn applied(body: &[u8]) -> Result<AppliedBody, Status> {
    let refuse = |error: &dyn std::fmt::Display| {
        Status::bad_request(format!(
            "error decoding YAML: error converting YAML to JSON: {error}"
        ))
    };
    let value = goyaml::to_value(body).map_err(|error| refuse(&error))?;
    let strict = goyaml::ReadOptions {
        strict: true,
        ..goyaml::ReadOptions::default()
    };
    let mut duplicates = Vec::new();
    if let Err(error) = goyaml::to_value_with(body, strict) {
        duplicates.push(error.to_string());
    }
    Ok(AppliedBody { value, duplicates })
}

/// Reads the options in the body of a deletion; `None` where there is no body.
pub fn delete_options(asked: &Asked) -> Result<Option<Value>, Status> {
    if asked.body.is_empty() {
        return Ok(None);
    }
    let expected = Expected {
        group: "meta.k8s.io",
        version: "v1",
        kind: "DeleteOptions",
        custom: None,
    };
    let definition = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
    let refuse = |error: strict::DecodeError| {
        Status::bad_request(error.bad_request("v1", "DeleteOptions", &asked.body))
    };
    let decoded = match object_type(&asked.head.headers).as_str() {
        "" | "application/json" => {
            strict::decode(&asked.body, Encoding::Json, Target::BuiltIn(definition)).map_err(refuse)?
        }
        "application/yaml" => {
            strict::decode(&asked.body, Encoding::Yaml, Target::BuiltIn(definition)).map_err(refuse)?
        }
        "application/vnd.kubernetes.protobuf" => binary(&asked.body, &expected)?,
        _ => {
            let accepted = [
                "application/json",
                "application/yaml",
                "application/vnd.kubernetes.protobuf",
            ];
            return Err(Status::unsupported_media_type(&accepted));
        }
    };
    // DeleteOptions belong to every group; anything else in their place is not known to the decoder of options.
    let found = &decoded.found;
    if !found.kind.is_empty() && found.kind != "DeleteOptions" {
        let sent = api_version(&found.group, &found.version);
        return Err(Status::bad_request(format!(
            "no kind \"{}\" is registered for version \"{sent}\" in scheme \"pkg/runtime/scheme.go:111\"",
            found.kind
        )));
    }
    Ok(Some(decoded.value))
}
