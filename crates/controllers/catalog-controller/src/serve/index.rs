//! The page at the address itself, for people who open it in a browser: which catalogs there are, and what is served of them.

use askama::Template;
use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue, StatusCode};

use super::answer;
use crate::contents::Contents;

/// What may be asked of a catalog without a body.
const READ: [&str; 3] = ["metas?schema=olm.package", "metas?schema=olm.bundle", "all"];

/// A catalog as the page shows it.
struct Row {
    name: String,
    reference: String,
    unpacked: String,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<title>Catalogs</title>
<h1>Catalogs</h1>
{% if rows.is_empty() %}
<p>No catalog is served yet: <code>baton catalog add NAME IMAGE</code> adds one.</p>
{% endif %}
{% for row in rows %}
<h2>{{ row.name }}</h2>
<p><code>{{ row.reference }}</code>, unpacked at {{ row.unpacked }}</p>
<ul>
{% for query in read %}
<li><a href=\"/catalogs/{{ row.name }}/api/v1/{{ query }}\">/catalogs/{{ row.name }}/api/v1/{{ query }}</a></li>
{% endfor %}
<li>POST /catalogs/{{ row.name }}/api/v1/graphql</li>
</ul>
{% endfor %}
</html>
"
)]
struct Index {
    rows: Vec<Row>,
    read: [&'static str; 3],
}

/// Lists what is served at this moment.
pub(super) fn page(contents: &Contents) -> Response {
    let mut names = contents.names();
    names.sort();
    let rows = names.into_iter().filter_map(|name| {
        let served = contents.get(&name)?;
        Some(Row {
            reference: served.reference().to_owned(),
            unpacked: served.unpacked().to_string(),
            name,
        })
    });
    let index = Index {
        rows: rows.collect(),
        read: READ,
    };
    let Ok(page) = index.render() else {
        return answer::status(StatusCode::INTERNAL_SERVER_ERROR);
    };
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
    );
    let mut response = answer::empty(StatusCode::OK, headers);
    *response.body_mut() = Body::from(page);
    response
}
