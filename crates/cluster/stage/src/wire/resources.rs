//! Requests about objects.

use std::sync::Arc;

use http::{HeaderValue, Response, StatusCode, header};
use serde_json::Value;

use super::negotiation::{self, Accepted, Format, Shape, Use};
use super::representation::{self, Included};
use super::{Asked, Body, add_warnings, bytes_response, full_body, lists, value_response, watch};
use crate::admission::Operation;
use crate::api::patch::PatchType;
use crate::api::{Answered, Api, Outcome, Place, Written};
use crate::decode;
use crate::filter::Filter;
use crate::options::{DeleteOptions, ListOptions, WriteKind, WriteOptions};
use crate::request::{ResourcePath, Verb};
use crate::resource::{Nature, Resource};
use crate::status::Status;

/// Answers a request about objects.
pub async fn answer(
    api: &Arc<Api>,
    asked: Asked,
    verb: Verb,
    path: ResourcePath,
) -> Result<Response<Body>, Status> {
    let served = api.resources.now();
    let Some(resource) = served
        .resource(&path.group, &path.version, &path.resource)
        .cloned()
    else {
        if let Some(response) = crate::aggregation::answer(api, &asked, &path).await {
            return response;
        }
        let built_in = served.group(&path.group).is_some_and(|group| {
            let mut resources = group
                .versions
                .iter()
                .flat_map(|(_, resources)| resources.values());
            resources.any(|resource| resource.row().is_some())
        });
        return if built_in {
            Err(Status::no_such_resource())
        } else {
            Ok(super::paths::page_not_found())
        };
    };
    if resource.custom().is_some() && !has_scope_of(&resource, verb, &path) {
        return Ok(super::paths::page_not_found());
    }
    let place = placed(resource, verb, path)?;
    match &place.resource.nature {
        Nature::BuiltIn(row) => asked.call.warn(row.deprecation),
        Nature::Custom(custom) => asked.call.warn(custom.deprecation.as_deref().unwrap_or_default()),
    }
    let used = Use::Objects {
        binary: place.resource.row().is_some(),
        watchable: matches!(verb, Verb::List | Verb::Watch),
    };
    let accepted = negotiation::accepted(&asked.head.headers, &asked.query, used)?;
    let mut response = match verb {
        Verb::Get => get(api, &asked, &place, &accepted).await?,
        Verb::List => list(api, &asked, &place, &accepted).await?,
        Verb::Watch => watches(api, &asked, &place, accepted).await?,
        Verb::Create => create(api, &asked, &place, &accepted).await?,
        Verb::Update => update(api, &asked, &place, &accepted).await?,
        Verb::Patch => patch(api, &asked, &place, &accepted).await?,
        Verb::Delete => delete(api, &asked, &place, &accepted).await?,
        Verb::DeleteCollection => delete_collection(api, &asked, &place, &accepted).await?,
    };
    add_warnings(&asked.call, response.headers_mut());
    Ok(response)
}

/// Returns whether a path is in a namespace as the custom resource is; only lists and watches go across all of them.
fn has_scope_of(resource: &Resource, verb: Verb, path: &ResourcePath) -> bool {
    let in_namespace = !path.namespace.is_empty();
    resource.namespaced == in_namespace || (resource.namespaced && matches!(verb, Verb::List | Verb::Watch))
}

/// Checks that the path fits the resource, and that the resource has the verb.
fn placed(resource: Arc<Resource>, verb: Verb, path: ResourcePath) -> Result<Place, Status> {
    let ResourcePath {
        mut namespace,
        name,
        subresource,
        ..
    } = path;
    if resource.is("", "namespaces") {
        namespace.clear();
    }
    if !resource.namespaced && !namespace.is_empty() {
        return Err(Status::no_such_resource());
    }
    let allowed = if name.is_empty() {
        !matches!(verb, Verb::Update | Verb::Patch) && resource.serves(verb.name())
    } else if subresource.is_empty() {
        verb != Verb::Create && resource.serves(verb.name())
    } else {
        let below = resource
            .subresource(&subresource)
            .ok_or_else(|| match &resource.nature {
                Nature::BuiltIn(_) => Status::no_such_resource(),
                Nature::Custom(_) => Status::not_found(resource.group_resource(), &name),
            })?;
        below.verbs.contains(&verb.name())
    };
    if !allowed {
        return Err(Status::method_not_allowed());
    }
    if resource.namespaced && namespace.is_empty() && !matches!(verb, Verb::List | Verb::Watch) {
        // Without a namespace there are lists of everything, but no objects.
        return Err(if name.is_empty() {
            Status::method_not_allowed()
        } else {
            Status::no_such_resource()
        });
    }
    if name.contains('/') {
        // To the real server an escaped slash is a slash.
        return Err(Status::no_such_resource());
    }
    let faults = schema::structural::name_rules::path_segment(&name, false);
    if !faults.is_empty() && subresource.is_empty() {
        return Err(Status::bad_request(format!(
            "Name parameter invalid: {}: {}",
            gotemplate::format::quoted(&name),
            faults.join(";")
        )));
    }
    Ok(Place {
        resource,
        namespace,
        name,
        subresource,
    })
}

async fn get(
    api: &Arc<Api>,
    asked: &Asked,
    place: &Place,
    accepted: &Accepted,
) -> Result<Response<Body>, Status> {
    match place.below() {
        None | Some("status" | "ephemeralcontainers" | "resize" | "approval") => {}
        Some("scale") => {
            let scale = Answered::Value(api.scale(place).await?);
            return answered(api, asked, place, accepted, StatusCode::OK, scale).await;
        }
        Some("log") => return api.node.logs(api, asked, place).await,
        Some(_) => return connect(api, asked, place).await,
    }
    if place.resource.is("", "componentstatuses") {
        let object = crate::health::component(&place.name).ok_or_else(|| place.not_found())?;
        return value_response(StatusCode::OK, &object, accepted);
    }
    let version = asked.query.get("resourceVersion");
    if !version.is_empty() && version != "0" {
        let revision = crate::api::read::read_version(version)
            .map_err(|why| Status::refusal(StatusCode::INTERNAL_SERVER_ERROR, "", why))?;
        api.refuse_future(revision)?;
    }
    let stored = api.get(place)?;
    answered(
        api,
        asked,
        place,
        accepted,
        StatusCode::OK,
        Answered::Stored(stored),
    )
    .await
}

async fn connect(api: &Arc<Api>, asked: &Asked, place: &Place) -> Result<Response<Body>, Status> {
    let review =
        crate::admission::Review::new(api, &asked.call, place, Operation::Connect, None, None, false);
    api.admission.validate(&review).await?;
    api.node.connect(api, asked, place).await
}

async fn list(
    api: &Arc<Api>,
    asked: &Asked,
    place: &Place,
    accepted: &Accepted,
) -> Result<Response<Body>, Status> {
    let options = ListOptions::read(&asked.query, false)?;
    let filter = Filter::read(&place.resource, &options)?;
    let included = Included::read(asked.query.get("includeObject"))?;
    if place.resource.is("", "componentstatuses") {
        let objects = crate::health::components();
        let bytes = lists::small(&place.resource, objects, api.store.revision(), accepted)?;
        return Ok(bytes_response(
            StatusCode::OK,
            bytes,
            accepted.format.media_type(),
        ));
    }
    let page = api.list(place, &filter, &options)?;
    let body = lists::answer(api, place, page, accepted, included).await?;
    Ok(typed(body, accepted))
}

async fn watches(
    api: &Arc<Api>,
    asked: &Asked,
    place: &Place,
    accepted: Accepted,
) -> Result<Response<Body>, Status> {
    let options = ListOptions::read(&asked.query, true)?;
    let filter = if place.name.is_empty() {
        Filter::read(&place.resource, &options)?
    } else {
        Filter::named(&place.name)
    };
    let format = accepted.format;
    let place = Place {
        name: String::new(),
        ..place.clone()
    };
    let body = watch::answer(api, &place, filter, &options, accepted).await?;
    let mut response = Response::new(body);
    response.extensions_mut().insert(super::Watched);
    let media_type = match format {
        Format::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        _ => "application/json",
    };
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    Ok(response)
}

async fn create(
    api: &Arc<Api>,
    asked: &Asked,
    place: &Place,
    accepted: &Accepted,
) -> Result<Response<Body>, Status> {
    if let Some(below) = place.below()
        && !matches!(below, "binding" | "eviction" | "token")
    {
        return connect(api, asked, place).await;
    }
    let options = WriteOptions::read(&asked.query, WriteKind::Create)?;
    let object = decode::body(asked, place, options.field_validation)?;
    asked.call.pause().await;
    let written = if place.subresource.is_empty() && !is_asked_only(place) {
        api.create(&asked.call, place, object, &options).await?
    } else {
        api.create_below(&asked.call, place, object, &options).await?
    };
    respond(api, asked, place, accepted, written).await
}

/// Returns whether objects of the resource are questions, which are answered and not stored.
fn is_asked_only(place: &Place) -> bool {
    place.resource.verbs == ["create"]
}

async fn update(
    api: &Arc<Api>,
    asked: &Asked,
    place: &Place,
    accepted: &Accepted,
) -> Result<Response<Body>, Status> {
    if place.below() == Some("proxy") {
        return connect(api, asked, place).await;
    }
    let options = WriteOptions::read(&asked.query, WriteKind::Update)?;
    let object = decode::body(asked, place, options.field_validation)?;
    asked.call.pause().await;
    let written = if place.below() == Some("scale") {
        api.update_scale(&asked.call, place, object, &options).await?
    } else {
        api.update(&asked.call, place, object, &options).await?
    };
    respond(api, asked, place, accepted, written).await
}

async fn patch(
    api: &Arc<Api>,
    asked: &Asked,
    place: &Place,
    accepted: &Accepted,
) -> Result<Response<Body>, Status> {
    if place.below() == Some("proxy") {
        return connect(api, asked, place).await;
    }
    let custom = place.resource.custom().is_some();
    let patch_type = PatchType::of(&negotiation::content_type(&asked.head.headers))
        .filter(|&patch_type| !(custom && patch_type == PatchType::Strategic))
        .ok_or_else(|| unknown_patch(custom))?;
    let kind = if patch_type == PatchType::Apply {
        WriteKind::Apply
    } else {
        WriteKind::Patch
    };
    let options = WriteOptions::read(&asked.query, kind)?;
    let written = if place.below() == Some("scale") {
        api.patch_scale(&asked.call, place, patch_type, &asked.body, &options)
            .await?
    } else {
        api.patch(&asked.call, place, patch_type, &asked.body, &options)
            .await?
    };
    respond(api, asked, place, accepted, written).await
}

/// Returns the failure for a patch of another type than those that are known.
fn unknown_patch(custom: bool) -> Status {
    if custom {
        return Status::unsupported_media_type(&[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/apply-patch+yaml",
        ]);
    }
    // For built-in kinds the real server looks at the type before it looks at the request.
    let mut status = Status::unsupported_media_type(&[]).with_causes(Vec::new());
    "415: Unsupported Media Type".clone_into(&mut status.message);
    status
}

async fn delete(
    api: &Arc<Api>,
    asked: &Asked,
    place: &Place,
    accepted: &Accepted,
) -> Result<Response<Body>, Status> {
    if place.below() == Some("proxy") {
        return connect(api, asked, place).await;
    }
    let body = decode::delete_options(asked)?;
    let options = DeleteOptions::read(body.as_ref(), &asked.query)?;
    let written = api.delete(&asked.call, place, &options).await?;
    respond(api, asked, place, accepted, written).await
}

async fn delete_collection(
    api: &Arc<Api>,
    asked: &Asked,
    place: &Place,
    accepted: &Accepted,
) -> Result<Response<Body>, Status> {
    let list = ListOptions::read(&asked.query, false)?;
    let filter = Filter::read(&place.resource, &list)?;
    let body = decode::delete_options(asked)?;
    let options = DeleteOptions::read(body.as_ref(), &asked.query)?;
    let (revision, objects) = api
        .delete_collection(&asked.call, place, &filter, &list, &options)
        .await?;
    let bytes = lists::small(&place.resource, objects, revision, accepted)?;
    Ok(bytes_response(
        StatusCode::OK,
        bytes,
        accepted.format.media_type(),
    ))
}

async fn respond(
    api: &Arc<Api>,
    asked: &Asked,
    place: &Place,
    accepted: &Accepted,
    written: Written,
) -> Result<Response<Body>, Status> {
    let code = match written.outcome {
        Outcome::Created => StatusCode::CREATED,
        Outcome::Done => StatusCode::OK,
        Outcome::Accepted => StatusCode::ACCEPTED,
    };
    answered(api, asked, place, accepted, code, written.answer).await
}

async fn answered(
    api: &Arc<Api>,
    asked: &Asked,
    place: &Place,
    accepted: &Accepted,
    code: StatusCode,
    answer: Answered,
) -> Result<Response<Body>, Status> {
    let resource = &place.resource;
    let plain = accepted.format == Format::Json && accepted.shape == Shape::Whole && !accepted.pretty;
    let value = match answer {
        Answered::Stored(stored) if plain && api.is_served_as_stored(resource, &stored) => {
            let mut response = typed(full_body(stored.bytes.clone()), accepted);
            *response.status_mut() = code;
            return Ok(response);
        }
        Answered::Stored(stored) => api.served(resource, &stored).await?,
        Answered::Value(value) => value,
    };
    let kind = value.get("kind").and_then(Value::as_str);
    let own = kind == Some(&*resource.kind);
    let value = if place.below() == Some("scale") && kind == Some("Scale") {
        let included = Included::read(asked.query.get("includeObject"))?;
        representation::scale(resource, accepted, value, included)
    } else if own {
        let value = api.in_version(resource, value, &resource.api_version()).await?;
        let included = Included::read(asked.query.get("includeObject"))?;
        representation::object(resource, accepted, value, included)
    } else {
        value
    };
    value_response(code, &value, accepted)
}

fn typed(body: Body, accepted: &Accepted) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(accepted.format.media_type()),
    );
    response
}
