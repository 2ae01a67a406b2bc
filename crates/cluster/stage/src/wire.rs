//! The API over HTTP: requests in, answers out, whether or not there is a socket between.
//!
//! - [`negotiation`]: the form of an answer
//! - [`representation`], [`lists`], [`watch`]: objects, lists and changes in that form
//! - [`discovery`], [`documents`]: what is served, for clients that want to know
//! - [`resources`]: requests about objects

pub mod discovery;
pub mod documents;
pub mod lists;
pub mod negotiation;
pub mod paths;
pub mod representation;
pub mod resources;
pub mod watch;

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::access::attributes::Wanted;
use crate::access::{Attributes, Certificate, Credentials};
use crate::api::{Api, Call};
use crate::caller::Caller;
use crate::door::Flow;
use crate::options::Query;
use crate::request::{ResourcePath, Target, Verb};
use crate::selectors::FieldSelector;
use crate::status::Status;
use negotiation::{Accepted, Format};

/// The body of an answer.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The largest body of a request, as on the real server.
pub const LARGEST_BODY: usize = 3 * 1024 * 1024;

/// Marks the answer to a watch, for whoever sends it: nobody waits for its reader.
#[derive(Debug, Clone, Copy)]
pub struct Watched;

/// Who is at the other end.
#[derive(Debug, Clone, Default)]
pub struct Peer {
    /// Who the client's certificate is about.
    pub certificate: Option<Certificate>,
    /// Who calls when the request says nothing; `None` for strangers.
    pub trusted: Option<Arc<Caller>>,
    /// The address that the client used, for discovery.
    pub address: Arc<str>,
}

/// Returns a body that is there at once.
pub fn full_body(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed_unsync()
}

/// Returns a body that comes piece by piece.
pub fn stream_body(frames: impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send + 'static) -> Body {
    StreamBody::new(frames).boxed_unsync()
}

/// A request that was read: everything but its body.
#[derive(Debug)]
pub struct Asked {
    /// Method, path and headers.
    pub head: http::request::Parts,
    /// The query.
    pub query: Query,
    /// The body.
    pub body: Bytes,
    /// Who calls.
    pub call: Call,
    /// Who is at the other end.
    pub peer: Peer,
}

/// Answers a request.
pub async fn handle<B>(api: &Arc<Api>, request: Request<B>, peer: Peer) -> Response<Body>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let (head, body) = request.into_parts();
    let query = Query::read(head.uri.query());
    // A failure is written in the form that the client takes, as far as there is one.
    let accepted = negotiation::accepted(
        &head.headers,
        &query,
        negotiation::Use::Objects {
            binary: true,
            watchable: false,
        },
    );
    let failed_form = accepted.map_or_else(
        |_| Accepted::default(),
        |accepted| Accepted {
            shape: negotiation::Shape::Whole,
            ..accepted
        },
    );
    let mut response = match answer(api, head, query, body, peer).await {
        Ok(response) => response,
        Err(status) => failure(&status, &failed_form),
    };
    let headers = response.headers_mut();
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(
            header::CACHE_CONTROL,
            HeaderValue::from_static("no-cache, private"),
        );
    }
    if let Ok(id) = HeaderValue::from_str(&uuid::Uuid::new_v4().to_string()) {
        headers.insert("audit-id", id);
    }
    response
}

async fn answer<B>(
    api: &Arc<Api>,
    head: http::request::Parts,
    query: Query,
    body: B,
    peer: Peer,
) -> Result<Response<Body>, Status>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let credentials = credentials(&head.headers, &peer);
    // Whoever says who they are isn't trusted to be someone else, even where what they say isn't understood.
    let speaks = head.headers.contains_key(header::AUTHORIZATION);
    let trusted = peer.trusted.as_ref().filter(|_| !speaks);
    let caller = api.access.authenticate(api, &credentials, trusted)?;
    let user_agent = head
        .headers
        .get(header::USER_AGENT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_owned();
    let target = match Target::read(head.uri.path()) {
        Target::Resource(path) => {
            let watches = query.flag("watch").unwrap_or(false);
            let verb = Verb::of(&head.method, &path, watches).ok_or_else(Status::method_not_allowed)?;
            Some((verb, path))
        }
        Target::Other => None,
    };
    let other_path = percent_decode_str(head.uri.path()).decode_utf8_lossy();
    let attributes = match &target {
        Some((verb, path)) => wanted(*verb, path, &query),
        None => Attributes::path(&head.method.as_str().to_lowercase(), &other_path),
    };
    let is_own = trusted.is_some() && credentials.token.is_none() && credentials.impersonation.is_empty();
    let caller = api
        .access
        .impersonate(caller, &credentials.impersonation, &attributes)?;
    api.access.authorize(&caller, &attributes)?;
    let bytes = most_bytes(&body);
    let flow = match &target {
        Some((verb, path)) => Some(Flow::of_objects(&caller, is_own, path, *verb, bytes)),
        None => Flow::of_path(&caller, is_own, &other_path),
    };
    let call = Call::new(caller, user_agent).taking_turns();
    // Let in before the body is read: what waits here has little of this server's memory.
    let entered = flow.map(|flow| api.door.enter(&flow, bytes)).transpose()?;
    let body = read_body(body).await?;
    let api = api.clone();
    let working = async move {
        let asked = Asked {
            head,
            query,
            body,
            call,
            peer,
        };
        match target {
            Some((verb, path)) => resources::answer(&api, asked, verb, path).await,
            None => paths::answer(&api, asked).await,
        }
    };
    match entered {
        Some(entered) => entered.work(working).await?,
        None => working.await,
    }
}

/// Returns how many bytes a body has at most.
fn most_bytes(body: &impl http_body::Body) -> usize {
    let most = if body.is_end_stream() {
        Some(0)
    } else {
        body.size_hint().upper()
    };
    most.and_then(|bytes| usize::try_from(bytes).ok())
        .map_or(LARGEST_BODY, |bytes| bytes.min(LARGEST_BODY))
}

/// Returns what a request on a resource wants. A list of the one object with a name is a wish for that object.
fn wanted(verb: Verb, path: &ResourcePath, query: &Query) -> Attributes {
    let mut attributes = Attributes::of_request(verb, path);
    if matches!(verb, Verb::List | Verb::Watch)
        && let Wanted::Resource { name, .. } = &mut attributes.object
        && name.is_empty()
        && let Ok(selector) = FieldSelector::parse(query.get("fieldSelector"))
        && let Some(exact) = selector.required_value("metadata.name")
        && !matches!(exact, "." | "..")
        && !exact.contains(['/', '%'])
    {
        exact.clone_into(name);
    }
    attributes
}

/// Returns what a request presents to say who makes it.
fn credentials(headers: &HeaderMap, peer: &Peer) -> Credentials {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let token = text("authorization").and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme
            .eq_ignore_ascii_case("bearer")
            .then(|| token.trim().to_owned())
    });
    let token = token.or_else(|| text("sec-websocket-protocol").and_then(websocket_token));
    let impersonation = headers
        .iter()
        .filter(|(name, _)| name.as_str().starts_with("impersonate-"))
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
        .collect();
    Credentials {
        token,
        certificate: peer.certificate.clone(),
        impersonation,
    }
}

/// Returns the token that browsers put among the protocols of a web socket, because they can't set other headers.
fn websocket_token(protocols: &str) -> Option<String> {
    use base64::Engine as _;
    const PREFIX: &str = "base64url.bearer.authorization.k8s.io.";
    let encoded = protocols
        .split(',')
        .find_map(|protocol| protocol.trim().strip_prefix(PREFIX))?;
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .decode(encoded)
        .ok()?;
    String::from_utf8(bytes).ok()
}

async fn read_body<B>(body: B) -> Result<Bytes, Status>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut body = std::pin::pin!(body);
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.as_mut().frame().await {
        let frame = frame.map_err(|error| Status::bad_request(error.into().to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + rest.len() + data.len() > LARGEST_BODY {
            return Err(Status::too_large(format_args!("limit is {LARGEST_BODY}")));
        }
        if first.is_empty() && rest.is_empty() {
            first = data;
        } else {
            if rest.is_empty() {
                rest.extend_from_slice(&first);
                first = Bytes::new();
            }
            rest.extend_from_slice(&data);
        }
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

/// Returns the answer that something failed.
pub fn failure(status: &Status, form: &Accepted) -> Response<Body> {
    let value = status.to_value();
    let (bytes, format) = match representation::write(&value, form) {
        Ok(bytes) => (bytes, form.format),
        Err(_) => (value.to_string().into(), Format::Json),
    };
    let mut response = Response::new(full_body(bytes));
    *response.status_mut() = status.code;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(format.media_type()),
    );
    if let Some(seconds) = status.details.as_ref().map(|details| details.retry_after_seconds)
        && seconds > 0
    {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// Returns an answer with a value.
pub fn value_response(
    code: StatusCode,
    value: &Value,
    accepted: &Accepted,
) -> Result<Response<Body>, Status> {
    Ok(bytes_response(
        code,
        representation::write(value, accepted)?,
        accepted.format.media_type(),
    ))
}

/// Returns an answer with bytes of a media type.
pub fn bytes_response(code: StatusCode, bytes: Bytes, media_type: &'static str) -> Response<Body> {
    let mut response = Response::new(full_body(bytes));
    *response.status_mut() = code;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// Adds the warnings of a call to its answer.
pub fn add_warnings(call: &Call, headers: &mut HeaderMap) {
    for warning in call.take_warnings() {
        let escaped: String = warning
            .chars()
            .map(|character| if character.is_control() { ' ' } else { character })
            .collect::<String>()
            .replace('\\', "\\\\")
            .replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{escaped}\"").as_bytes()) {
            headers.append(header::WARNING, value);
        }
    }
}
