//! Who may look, and what every answer carries.
//!
//! The console listens on this machine, where every page of every browser can reach it. So a visitor shows a token, which
//! begins a session; the number of the session is in a cookie that browsers keep to the console's [place](crate::place); the
//! name under which it was reached must be one of its own, or else a stranger's name could be made to lead here; and what
//! changes something must come from a form of its own.

use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HOST, HeaderName,
    LOCATION, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use http_body_util::{BodyExt as _, Limited};

use crate::console::Console;
use crate::door;
use crate::fault::Fault;
use crate::page::{Drawn, Theme};
use crate::parameters::{LONGEST_QUERY, Parameters};
use crate::place::Place;
use crate::sessions::Visitor;

/// The longest form: a version and a key, with room to spare.
const LONGEST_FORM: usize = 16 << 10;

/// Scripts and styles come from the console's own files, and from nowhere else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What every answer carries, so that browsers keep others away from it.
const HEADERS: [(HeaderName, &str); 7] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    // With less, browsers would not say where a form comes from.
    (REFERRER_POLICY, "same-origin"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=()",
    ),
];

/// The names under which browsers may reach the console, each with its port.
#[derive(Debug, Clone)]
pub struct Hosts {
    names: Vec<String>,
    port: u16,
}

impl Hosts {
    /// The names of this machine for itself.
    pub fn loopback(port: u16) -> Self {
        let names = ["127.0.0.1", "localhost", "[::1]"];
        Self {
            names: names.map(|name| format!("{name}:{port}")).to_vec(),
            port,
        }
    }

    /// Another name, as browsers write it: with the port, unless it is 80.
    pub fn with(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into().to_lowercase());
        self
    }

    fn include(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        // Browsers leave out the port that is usual.
        self.names
            .iter()
            .any(|known| *known == name || known.strip_suffix(":80") == Some(name.as_str()))
    }

    /// Cookies know no ports: two consoles on one machine must not replace each other's.
    pub(crate) fn cookie(&self) -> String {
        format!("baton_console_{}", self.port)
    }
}

/// Lets a request through to its page, or says why not.
pub(crate) async fn guard(State(console): State<Arc<Console>>, request: Request, next: Next) -> Response {
    let theme = Theme::of(request.headers());
    let is_asset = request.uri().path().starts_with("/assets/");
    let (mut parts, body) = request.into_parts();
    let mut visitor = None;
    let mut response = match reached(&console, &parts) {
        Err(fault) => fault.into_response(),
        // What is in the program anyway is nobody's secret, and the page for those without a token needs its looks.
        Ok(_) if is_asset => next.run(Request::from_parts(parts, body)).await,
        Ok(host) => {
            let parameters = Parameters::of_query(parts.uri.query().unwrap_or_default());
            if parts.method == Method::GET && parameters.get("token").is_some() {
                door::by_address(&console, &parts, &parameters)
            } else if let Some(found) = known(&console, &mut parts) {
                visitor = Some(found.clone());
                match inside(found, parts, parameters, body, &host).await {
                    Ok(request) => next.run(request).await,
                    Err(fault) => fault.into_response(),
                }
            } else if parts.method == Method::POST && parts.uri.path() == door::ENTER {
                door::by_form(&console, &parts, body, &host).await
            } else {
                door::locked(&parts)
            }
        }
    };
    if let Some(fault) = response.extensions_mut().remove::<Fault>() {
        let kept = response.headers().get(ALLOW).cloned();
        let form_key = visitor.as_ref().map(Visitor::form_key).unwrap_or_default();
        response = fault.page(theme, form_key.to_owned());
        if let Some(allow) = kept {
            response.headers_mut().insert(ALLOW, allow);
        }
    }
    let place = visitor.as_ref().map(|_| &console.place);
    if let Some(Drawn(page)) = response.extensions_mut().remove::<Drawn>() {
        let page = match place {
            Some(place) => place.led(&page),
            None => page,
        };
        *response.body_mut() = Body::from(page);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        // Of the empty body that the page had until now.
        headers.remove(CONTENT_LENGTH);
    }
    let headers = response.headers_mut();
    if let Some(place) = place
        && let Some(led) = headers.get(LOCATION).and_then(|page| led_to(place, page))
    {
        headers.insert(LOCATION, led);
    }
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !is_asset {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// Returns the name under which the console was reached, if it is one of its own and the address is no longer than any of
/// its own.
fn reached(console: &Console, parts: &Parts) -> Result<String, Fault> {
    let name = host(parts).unwrap_or_default();
    if !console.hosts.include(&name) {
        return Err(Fault::new(
            StatusCode::MISDIRECTED_REQUEST,
            "This is not the console's address",
            format!(
                "the console was reached as {name:?}, which is none of its names; open the address that was printed when it \
                 started"
            ),
        ));
    }
    if parts.uri.query().is_some_and(|query| query.len() > LONGEST_QUERY) {
        return Err(Fault::new(
            StatusCode::URI_TOO_LONG,
            "The address is too long",
            format!("what follows the question mark has more than {LONGEST_QUERY} bytes"),
        ));
    }
    Ok(name)
}

/// Returns who asks, if that is somebody who was let in, and leaves the place out of the address: pages are drawn, and
/// found, as if they were at the root.
fn known(console: &Console, parts: &mut Parts) -> Option<Visitor> {
    let page = console.place.behind(parts.uri.path())?;
    let cookie_name = console.hosts.cookie();
    let numbers = cookies(&parts.headers)
        .filter(|(name, _)| *name == cookie_name)
        .map(|(_, number)| number);
    let visitor = console.sessions.visitor(numbers, console.now())?;
    let page = match parts.uri.query() {
        Some(query) => PathAndQuery::try_from(format!("{page}?{query}")),
        None => PathAndQuery::try_from(page),
    };
    let mut uri = parts.uri.clone().into_parts();
    uri.path_and_query = Some(page.ok()?);
    parts.uri = Uri::from_parts(uri).ok()?;
    Some(visitor)
}

/// Returns the request of a visitor, with its parameters read, if pages understand it.
async fn inside(
    visitor: Visitor,
    mut parts: Parts,
    parameters: Parameters,
    body: Body,
    host: &str,
) -> Result<Request, Fault> {
    if !matches!(parts.method, Method::GET | Method::HEAD | Method::POST) {
        return Err(Fault::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "The console doesn't do this",
            format!("{} is no method that its pages understand", parts.method),
        ));
    }
    let is_form = parts.method == Method::POST;
    let (parameters, body) = if is_form {
        let form = read_own_form(&parts, body, host).await?;
        let key = form.get("key").unwrap_or_default();
        verify_slices_are_equal(key.as_bytes(), visitor.form_key().as_bytes())
            .map_err(|_| foreign("it has no key, or that of an earlier visit"))?;
        (form, Body::empty())
    } else {
        (parameters, body)
    };
    parts.extensions.insert(parameters);
    parts.extensions.insert(visitor);
    Ok(Request::from_parts(parts, body))
}

/// The name under which the console was reached.
fn host(parts: &Parts) -> Option<String> {
    let header = || parts.headers.get(HOST)?.to_str().ok();
    let authority = parts.uri.authority().map(http::uri::Authority::as_str);
    authority.or_else(header).map(str::to_owned)
}

/// A page of the console's own as a browser finds it; none for what already says where it is.
fn led_to(place: &Place, page: &HeaderValue) -> Option<HeaderValue> {
    let page = page.to_str().ok().filter(|page| page.starts_with('/'))?;
    HeaderValue::from_str(&format!("{}{page}", place.as_str())).ok()
}

fn foreign(what: &str) -> Fault {
    Fault::new(
        StatusCode::FORBIDDEN,
        "This form isn't the console's own",
        format!("{what}; go back to the page, reload it and press the button again"),
    )
}

/// Reads a form, unless a page of another site sent it.
pub(crate) async fn read_own_form(parts: &Parts, body: Body, host: &str) -> Result<Parameters, Fault> {
    // Old browsers don't say where a form comes from; the key in the form does.
    if let Some(origin) = parts.headers.get(ORIGIN) {
        let own = [format!("http://{host}"), format!("https://{host}")];
        if !own.iter().any(|own| origin == own.as_str()) {
            return Err(foreign("it was sent from another site"));
        }
    }
    let body = Limited::new(body, LONGEST_FORM).collect().await.map_err(|_| {
        Fault::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "The form is too long",
            format!("a form of the console has at most {LONGEST_FORM} bytes"),
        )
    })?;
    Ok(Parameters::of_form(&body.to_bytes()))
}

/// The cookies of a request, by name.
pub(crate) fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let lines = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok());
    lines
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_names_lead_to_the_console() {
        let hosts = Hosts::loopback(8443).with("Baton.example.com:8443");
        for name in [
            "127.0.0.1:8443",
            "localhost:8443",
            "LOCALHOST:8443",
            "[::1]:8443",
            "baton.example.com:8443",
        ] {
            assert!(hosts.include(name), "{name}");
        }
        for name in [
            "",
            "localhost",
            "127.0.0.1:80",
            "evil.example.com:8443",
            "localhost:8443.evil.example.com",
        ] {
            assert!(!hosts.include(name), "{name}");
        }
        assert!(Hosts::loopback(80).include("localhost"));
    }
}
