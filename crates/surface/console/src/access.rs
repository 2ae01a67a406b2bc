//! Who may look, and what every answer carries.
//!
//! The console listens on this machine, where every page of every browser can reach it. So a visitor shows a token, which
//! becomes a cookie; the name under which it was reached must be one of its own, or else a stranger's name could be made to
//! lead here; and what changes something must come from a form of its own.

use std::fmt;
use std::sync::Arc;

use askama::Template;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, HeaderName, ORIGIN, REFERRER_POLICY,
    SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use thiserror::Error;

use crate::console::Console;
use crate::fault::Fault;
use crate::page::{Page, Section, Theme, shown};
use crate::parameters::{LONGEST_QUERY, Parameters};

/// Random bytes of a token: nobody guesses 192 bits.
const TOKEN_BYTES: usize = 24;

/// The longest form: a version and a key, with room to spare.
const LONGEST_FORM: usize = 16 << 10;

/// What the key of forms is made of, beside the token.
const FORM_KEY_PURPOSE: &[u8] = b"forms of the baton console";

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

/// What a visitor must know.
#[derive(Clone)]
pub struct Token(String);

/// A text that is no token.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "a token of the console has 32 or more letters, digits, dashes and underscores; delete the file that keeps it to get a new one"
)]
pub struct NoToken;

impl Token {
    /// Makes a token that nobody can guess.
    ///
    /// # Errors
    ///
    /// If the operating system has no randomness to give.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Takes a token that was kept from an earlier start.
    ///
    /// # Errors
    ///
    /// If it is too short to be one, or has characters that no address may have.
    pub fn from_text(text: &str) -> Result<Self, NoToken> {
        let is_sound = text.len() >= 32
            && text.len() <= 256
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        is_sound.then(|| Self(text.to_owned())).ok_or(NoToken)
    }

    /// Returns the token as it stands in the address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn is(&self, shown: &str) -> bool {
        verify_slices_are_equal(self.0.as_bytes(), shown.as_bytes()).is_ok()
    }

    /// What forms carry to show that they are the console's own.
    pub(crate) fn form_key(&self) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.as_bytes());
        URL_SAFE_NO_PAD.encode(hmac::sign(&key, FORM_KEY_PURPOSE))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(***)")
    }
}

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

    /// Cookies know no ports: two consoles on one machine must not take each other's.
    fn cookie(&self) -> String {
        format!("baton_console_{}", self.port)
    }
}

/// The page that leads on once the cookie is set.
///
/// A redirect would not do: where the address was opened from a page of somebody else, browsers keep the new cookie back
/// for as long as redirects go on.
#[derive(Template)]
#[template(path = "entry.html")]
struct Entry {
    page: Page,
    to: String,
}

#[derive(Template)]
#[template(path = "locked.html")]
struct Locked {
    page: Page,
}

/// Lets a request through to its page, or says why not.
pub(crate) async fn guard(State(console): State<Arc<Console>>, request: Request, next: Next) -> Response {
    let theme = Theme::of(request.headers());
    let is_asset = request.uri().path().starts_with("/assets/");
    let form_key = console.token.form_key();
    let mut response = match admit(&console, request).await {
        Ok(request) => next.run(request).await,
        Err(refusal) => *refusal,
    };
    if let Some(fault) = response.extensions_mut().remove::<Fault>() {
        let kept = response.headers().get(ALLOW).cloned();
        response = fault.page(theme, form_key);
        if let Some(allow) = kept {
            response.headers_mut().insert(ALLOW, allow);
        }
    }
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !is_asset {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// Returns the request, with its parameters read, or what is answered in place of the page.
async fn admit(console: &Console, request: Request) -> Result<Request, Box<Response>> {
    let refuse = |fault: Fault| Box::new(fault.into_response());
    let (mut parts, body) = request.into_parts();
    let name = host(&parts).unwrap_or_default();
    if !console.hosts.include(&name) {
        return Err(refuse(Fault::new(
            StatusCode::MISDIRECTED_REQUEST,
            "This is not the console's address",
            format!(
                "the console was reached as {name:?}, which is none of its names; open the address that was printed when it \
                 started"
            ),
        )));
    }
    if parts.uri.query().is_some_and(|query| query.len() > LONGEST_QUERY) {
        return Err(refuse(Fault::new(
            StatusCode::URI_TOO_LONG,
            "The address is too long",
            format!("what follows the question mark has more than {LONGEST_QUERY} bytes"),
        )));
    }
    // What is in the program anyway is nobody's secret, and the page for those without a token needs its looks.
    if parts.uri.path().starts_with("/assets/") {
        return Ok(Request::from_parts(parts, body));
    }
    let parameters = Parameters::of_query(parts.uri.query().unwrap_or_default());
    if let Some(shown) = parameters.get("token").filter(|_| parts.method == Method::GET) {
        return Err(Box::new(if console.token.is(shown) {
            entry(console, &parts, &parameters)
        } else {
            locked(&parts)
        }));
    }
    let cookie_name = console.hosts.cookie();
    let is_known = cookies(&parts.headers)
        .filter(|(name, _)| *name == cookie_name)
        .any(|(_, value)| console.token.is(value));
    if !is_known {
        return Err(Box::new(locked(&parts)));
    }
    if !matches!(parts.method, Method::GET | Method::HEAD | Method::POST) {
        return Err(refuse(Fault::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "The console doesn't do this",
            format!("{} is no method that its pages understand", parts.method),
        )));
    }
    if parts.method == Method::POST {
        let form = own_form(console, &parts, body, &name).await.map_err(refuse)?;
        parts.extensions.insert(form);
        return Ok(Request::from_parts(parts, Body::empty()));
    }
    parts.extensions.insert(parameters);
    Ok(Request::from_parts(parts, body))
}

/// The name under which the console was reached.
fn host(parts: &Parts) -> Option<String> {
    let header = || parts.headers.get(HOST)?.to_str().ok();
    let authority = parts.uri.authority().map(http::uri::Authority::as_str);
    authority.or_else(header).map(str::to_owned)
}

/// Reads a form, if it is one of the console's own.
async fn own_form(console: &Console, parts: &Parts, body: Body, host: &str) -> Result<Parameters, Fault> {
    let foreign = |what: &str| {
        Fault::new(
            StatusCode::FORBIDDEN,
            "This form isn't the console's own",
            format!("{what}; go back to the page, reload it and press the button again"),
        )
    };
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
    let form = Parameters::of_form(&body.to_bytes());
    let key = form.get("key").unwrap_or_default();
    verify_slices_are_equal(key.as_bytes(), console.token.form_key().as_bytes())
        .map_err(|_| foreign("it has no key, or that of an earlier start of baton"))?;
    Ok(form)
}

/// Keeps the token in a cookie, and leads on to the page without it.
fn entry(console: &Console, parts: &Parts, parameters: &Parameters) -> Response {
    let mut page = Page::new("Welcome", Section::None);
    page.theme = Theme::of(&parts.headers);
    let to = format!("{}{}", parts.uri.path(), parameters.without("token").to_query());
    let mut response = shown(&Entry { page, to }).unwrap_or_else(axum::response::IntoResponse::into_response);
    let cookie = format!(
        "{}={}; Path=/; HttpOnly; SameSite=Strict",
        console.hosts.cookie(),
        console.token.as_str()
    );
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

fn locked(parts: &Parts) -> Response {
    let mut page = Page::new("Locked", Section::None);
    page.theme = Theme::of(&parts.headers);
    let rendered = Locked { page }
        .render()
        .unwrap_or_else(|_| "the console is locked".to_owned());
    (StatusCode::UNAUTHORIZED, Html(rendered)).into_response()
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
    fn a_token_is_long_and_never_printed_by_accident() {
        let token = Token::random().expect("randomness");
        assert_eq!(token.as_str().len(), 32);
        assert_eq!(format!("{token:?}"), "Token(***)");
        assert!(Token::from_text(token.as_str()).is_ok());
        for text in ["", "short", "with spaces in it, and long enough to be one"] {
            assert_eq!(Token::from_text(text).err(), Some(NoToken), "{text:?}");
        }
        assert_ne!(token.form_key(), token.as_str());
    }

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
