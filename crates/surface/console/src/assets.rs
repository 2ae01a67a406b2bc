//! The files of the pages, from the program itself.

use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

use crate::fault::Fault;

/// For how long browsers keep the files: a new baton on the same address shows its own looks soon.
const KEPT: &str = "private, max-age=300";

/// Answers with a file.
pub(crate) async fn file(Path(name): Path<String>) -> Result<Response, Fault> {
    let (kind, content) = match name.as_str() {
        "console.css" => ("text/css; charset=utf-8", include_str!("../assets/console.css")),
        "console.js" => (
            "text/javascript; charset=utf-8",
            include_str!("../assets/console.js"),
        ),
        "door.js" => (
            "text/javascript; charset=utf-8",
            include_str!("../assets/door.js"),
        ),
        // Of htmx, under the Zero-Clause BSD licence, which is served beside it.
        "htmx.min.js" => (
            "text/javascript; charset=utf-8",
            include_str!("../assets/htmx.min.js"),
        ),
        "htmx.LICENSE" => (
            "text/plain; charset=utf-8",
            include_str!("../assets/htmx.LICENSE"),
        ),
        "baton.svg" => ("image/svg+xml", include_str!("../assets/baton.svg")),
        _ => return Err(Fault::not_found(format!("the console has no file {name:?}"))),
    };
    Ok(([(CONTENT_TYPE, kind), (CACHE_CONTROL, KEPT)], content).into_response())
}
