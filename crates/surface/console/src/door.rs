//! The door: how a browser is let in with the token, and how it leaves.
//!
//! ```text
//! the printed address, or a form with the token ─► a session: its number in a cookie for the place alone ─► the page
//! ```

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::{LOCATION, SET_COOKIE};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};

use crate::access::read_own_form;
use crate::actions::is_own_place;
use crate::console::Console;
use crate::fault::Fault;
use crate::page::{Page, Section, Theme, Visit, shown};
use crate::parameters::Parameters;
use crate::place::without_place;
use crate::sessions::Visitor;

/// Where the form with the token is sent to.
pub(crate) const ENTER: &str = "/enter";

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
    said: Said,
    /// The page that was asked for.
    to: String,
    /// Whether the address lacks only the place, which the browser may remember.
    is_bare: bool,
}

/// Why a visitor stands before the door.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    Nothing,
    WrongToken,
    LoggedOut,
}

/// Lets in whoever opened the address with the token, and leads on to the page without it.
pub(crate) fn by_address(console: &Console, parts: &Parts, parameters: &Parameters) -> Response {
    let rest = parameters.without("token").to_query();
    let asked = format!("{}{rest}", without_place(parts.uri.path()));
    if !parameters
        .get("token")
        .is_some_and(|shown| console.token.is(shown))
    {
        return door(parts, Said::WrongToken, asked);
    }
    let mut page = Page::new("Welcome", Section::None);
    page.theme = Theme::of(&parts.headers);
    let to = format!("{}{}", console.place.as_str(), own_or_first(&asked));
    shown(&Entry { page, to })
        .and_then(|response| let_in(console, response))
        .unwrap_or_else(axum::response::IntoResponse::into_response)
}

/// Lets in whoever wrote the token into the form, and leads on to the page that was asked for.
pub(crate) async fn by_form(console: &Console, parts: &Parts, body: Body, host: &str) -> Response {
    let form = match read_own_form(parts, body, host).await {
        Ok(form) => form,
        Err(fault) => return fault.into_response(),
    };
    let asked = own_or_first(without_place(form.get("to").unwrap_or_default()));
    if !form
        .filled("token")
        .is_some_and(|shown| console.token.is(token_in(shown)))
    {
        return door(parts, Said::WrongToken, asked.to_owned());
    }
    let to = format!("{}{asked}", console.place.as_str());
    let response = (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response();
    let_in(console, response).unwrap_or_else(axum::response::IntoResponse::into_response)
}

/// Says how to get in.
pub(crate) fn locked(parts: &Parts) -> Response {
    let query = parts.uri.query();
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    let asked = format!("{}{query}", without_place(parts.uri.path()));
    door(parts, Said::Nothing, asked)
}

/// Ends the session of the browser that asks for it.
pub(crate) async fn leave(
    State(console): State<Arc<Console>>,
    Extension(visitor): Extension<Visitor>,
    visit: Visit,
) -> Result<Response, Fault> {
    console.sessions.end(&visitor);
    let mut page = Page::new("Logged out", Section::None);
    page.theme = visit.theme();
    let mut response = shown(&Locked {
        page,
        said: Said::LoggedOut,
        to: "/".to_owned(),
        is_bare: false,
    })?;
    keep_number(&console, &mut response, "", "; Max-Age=0");
    Ok(response)
}

fn door(parts: &Parts, said: Said, asked: String) -> Response {
    let mut page = Page::new("Locked", Section::None);
    page.theme = Theme::of(&parts.headers);
    // A button that was pressed isn't pressed again behind the door, and the door doesn't lead to itself.
    let is_page = parts.method == Method::GET && parts.uri.path() != ENTER;
    let locked = Locked {
        page,
        said,
        is_bare: is_page && said == Said::Nothing && without_place(parts.uri.path()) == parts.uri.path(),
        to: if is_page || said == Said::WrongToken {
            asked
        } else {
            "/".to_owned()
        },
    };
    let mut response = shown(&locked).unwrap_or_else(axum::response::IntoResponse::into_response);
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    response
}

/// Begins a session, and has the browser keep its number.
fn let_in(console: &Console, mut response: Response) -> Result<Response, Fault> {
    let number = console.sessions.begin(console.now()).map_err(|error| {
        Fault::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "Nobody can be let in",
            format!("the operating system has no randomness to give: {error}"),
        )
    })?;
    keep_number(console, &mut response, &number, "");
    Ok(response)
}

/// Has the browser keep the number of its session until it is closed, and show it to nothing but the pages: not to scripts,
/// not to other sites, and not to other ports of this host, which don't know the place.
fn keep_number(console: &Console, response: &mut Response, number: &str, more: &str) {
    let cookie = format!(
        "{}={number}; Path={}; HttpOnly; SameSite=Strict{more}",
        console.hosts.cookie(),
        console.place.as_str(),
    );
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
}

/// The token in what somebody wrote into the form: the token itself, or the whole address.
fn token_in(shown: &str) -> &str {
    shown.rsplit_once("token=").map_or(shown, |(_, token)| token)
}

/// A page of the console's own, or the first one.
fn own_or_first(asked: &str) -> &str {
    if is_own_place(asked) { asked } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_address_will_do_for_the_token() {
        for (shown, token) in [
            ("abc", "abc"),
            ("http://127.0.0.1:5002/?token=abc", "abc"),
            ("token=abc", "abc"),
            ("", ""),
        ] {
            assert_eq!(token_in(shown), token);
        }
    }
}
