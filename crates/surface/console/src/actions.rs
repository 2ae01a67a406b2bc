//! What the buttons do: the same changes that commands make.

use std::sync::Arc;

use api::{ClusterExtension, ClusterObjectSet};
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use extension_controller::wishes;
use http::StatusCode;
use http::header::{LOCATION, SET_COOKIE};
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::Value;

use crate::console::Console;
use crate::extensions::named;
use crate::fault::Fault;
use crate::page::{THEME_COOKIE, Theme, Visit, path};
use crate::plans::asked_version;

/// Who changes extensions, as managed fields name it.
pub(crate) const FIELD_MANAGER: &str = "baton-console";

/// How long browsers keep the looks: a year.
const THEME_SECONDS: u32 = 31_536_000;

/// What a page says after something was done; none for words that nobody of the console's wrote.
pub(crate) fn done(word: &str) -> Option<&'static str> {
    Some(match word {
        "approved" => {
            "The version is approved. It is rolled out now, or as soon as nothing else holds it up."
        }
        "paused" => {
            "The extension stays at its version until somebody resumes it. What is installed is still repaired."
        }
        "resumed" => "The extension follows its spec again.",
        "plan-approved" => "The plan is approved. Its steps are taken now.",
        "version-approved" => {
            "The version is approved, with what it needs. The rest of the plan goes on waiting."
        }
        "went-back" => "The extension goes back, and stays there until somebody changes its version.",
        _ => return None,
    })
}

/// Approves a version.
pub(crate) async fn approve(
    State(console): State<Arc<Console>>,
    Path(name): Path<String>,
    visit: Visit,
) -> Result<Response, Fault> {
    let version = asked_version(&visit, "version")?
        .ok_or_else(|| Fault::bad_request("the form names no version to approve"))?;
    change(&console, &name, &wishes::approve(&version)).await?;
    Ok(back_to(&name, "approved"))
}

/// Keeps an extension at its version.
pub(crate) async fn pause(
    State(console): State<Arc<Console>>,
    Path(name): Path<String>,
) -> Result<Response, Fault> {
    change(&console, &name, &wishes::pause(true)).await?;
    Ok(back_to(&name, "paused"))
}

/// Lets an extension go on.
pub(crate) async fn resume(
    State(console): State<Arc<Console>>,
    Path(name): Path<String>,
) -> Result<Response, Fault> {
    change(&console, &name, &wishes::pause(false)).await?;
    Ok(back_to(&name, "resumed"))
}

/// Takes an extension back to a version that it had.
pub(crate) async fn go_back(
    State(console): State<Arc<Console>>,
    Path(name): Path<String>,
    visit: Visit,
) -> Result<Response, Fault> {
    let asked = asked_version(&visit, "to")?
        .ok_or_else(|| Fault::bad_request("the form names no version to go back to"))?;
    console.wait_filled().await;
    let extension = named(&console, &name)?;
    let sets = console.insight.index().revisions_of(&name);
    let revisions: Vec<&ClusterObjectSet> = sets.iter().map(AsRef::as_ref).collect();
    let version = wishes::rollback_target(&extension, &revisions, Some(&asked)).map_err(Fault::conflict)?;
    change(&console, &name, &wishes::pin(&version)).await?;
    Ok(back_to(&name, "went-back"))
}

async fn change(console: &Console, name: &str, change: &Value) -> Result<(), Fault> {
    let extensions: Api<ClusterExtension> = Api::all(console.client.clone());
    let parameters = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    extensions
        .patch(name, &parameters, &Patch::Merge(change))
        .await
        .map(drop)
        .map_err(|error| Fault::refused(&format!("change ClusterExtension {name:?}"), &error))
}

/// Leads back to the page of an extension, which says what was done.
fn back_to(name: &str, done: &str) -> Response {
    led_to(&path(["extensions", name]), done)
}

/// Leads to a page, which says what was done.
pub(crate) fn led_to(page: &str, done: &str) -> Response {
    let place = format!("{page}?done={done}");
    (StatusCode::SEE_OTHER, [(LOCATION, place)]).into_response()
}

/// Keeps the looks that the visitor chose.
pub(crate) async fn theme(visit: Visit) -> Response {
    let theme = Theme::read(visit.parameters.get("theme").unwrap_or_default());
    let cookie = format!(
        "{THEME_COOKIE}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={THEME_SECONDS}",
        theme.word()
    );
    let place = visit
        .parameters
        .get("back")
        .filter(|place| is_own_place(place))
        .unwrap_or("/");
    let place = place.to_owned();
    (StatusCode::SEE_OTHER, [(LOCATION, place), (SET_COOKIE, cookie)]).into_response()
}

/// Whether a place is one of the console's own, whatever browsers make of slashes.
pub(crate) fn is_own_place(place: &str) -> bool {
    let is_plain = place.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    is_plain && place.starts_with('/') && !place.starts_with("//")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_led_to_another_site() {
        for place in ["/", "/extensions/web?page=2"] {
            assert!(is_own_place(place), "{place}");
        }
        for place in [
            "",
            "//evil.example.com",
            "https://evil.example.com",
            "/\\evil",
            "/a\r\nSet-Cookie: a=b",
        ] {
            assert!(!is_own_place(place), "{place:?}");
        }
    }
}
