//! Listing: repositories, tags and referrers, page by page.

use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, LINK};
use serde_json::{Value, json};

use super::Registry;
use super::manifest::{Descriptor, MAX_MANIFEST_BYTES, OCI_INDEX};
use super::names::RepositoryName;
use super::pull::{digest, unknown_repository};
use super::refusal::{ErrorCode, Refusal};
use super::routes::Query;

/// How many names one page has at most; a link leads to the next.
pub const MAX_PAGE_ENTRIES: usize = 10_000;

/// Which part of a sorted list is asked for.
struct Page<'a> {
    entries: usize,
    after: Option<&'a str>,
}

impl<'a> Page<'a> {
    fn asked_by(query: &'a Query) -> Result<Self, Refusal> {
        let entries = match query.first("n") {
            None => MAX_PAGE_ENTRIES,
            Some(text) => text.parse().map_or_else(
                |_| {
                    Err(Refusal::new(
                        StatusCode::BAD_REQUEST,
                        ErrorCode::Unsupported,
                        format_args!("n is {text:?}: expected how many entries are wanted, as a number"),
                        json!({ "n": text }),
                    ))
                },
                |entries: usize| Ok(entries.min(MAX_PAGE_ENTRIES)),
            )?,
        };
        Ok(Self {
            entries,
            after: query.first("last"),
        })
    }

    /// Cuts a sorted list to the page, and says after which entry the next one begins.
    fn cut<'n>(&self, names: &'n [String]) -> (&'n [String], Option<&'n str>) {
        let start = self
            .after
            .map_or(0, |after| names.partition_point(|name| name.as_str() <= after));
        let rest = names.get(start..).unwrap_or_default();
        let page = rest.get(..self.entries).unwrap_or(rest);
        let next = page.last().filter(|_| page.len() < rest.len());
        (page, next.map(String::as_str))
    }
}

fn link_header(path: &str, parameters: &[(&str, &str)]) -> Option<HeaderValue> {
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(parameters)
        .finish();
    HeaderValue::from_str(&format!("<{path}?{query}>; rel=\"next\"")).ok()
}

/// An answer with a JSON body.
pub(super) fn json_response(content_type: &'static str, value: &Value) -> Response {
    let mut response = Response::new(Body::from(value.to_string()));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn page_response(
    path: &str,
    query: &Query,
    names: &[String],
    describe: impl FnOnce(&[String]) -> Value,
) -> Result<Response, Refusal> {
    let page = Page::asked_by(query)?;
    let (shown, next) = page.cut(names);
    let mut response = json_response("application/json", &describe(shown));
    if let Some(last) = next {
        let entries = page.entries.to_string();
        if let Some(link) = link_header(path, &[("last", last), ("n", &entries)]) {
            response.headers_mut().insert(LINK, link);
        }
    }
    Ok(response)
}

/// `GET /v2/_catalog`.
pub(super) async fn catalog(registry: &Registry, query: &Query) -> Result<Response, Refusal> {
    let names = registry
        .blocking(|shared| {
            let repositories = shared.store.repositories()?;
            Ok(repositories.iter().map(ToString::to_string).collect::<Vec<_>>())
        })
        .await?;
    page_response(
        "/v2/_catalog",
        query,
        &names,
        |names| json!({ "repositories": names }),
    )
}

/// `GET /v2/<name>/tags/list`.
pub(super) async fn tags(
    registry: &Registry,
    repository: RepositoryName,
    query: &Query,
) -> Result<Response, Refusal> {
    let name = repository.clone();
    let tags = registry
        .blocking(move |shared| {
            if !shared.store.has_repository(&repository)? {
                return Err(unknown_repository(&repository));
            }
            let tags = shared.store.tags(&repository)?;
            Ok(tags.iter().map(ToString::to_string).collect::<Vec<_>>())
        })
        .await?;
    page_response(
        &format!("/v2/{name}/tags/list"),
        query,
        &tags,
        |tags| json!({ "name": name.as_str(), "tags": tags }),
    )
}

/// `GET /v2/<name>/referrers/<digest>`.
pub(super) async fn referrers(
    registry: &Registry,
    repository: RepositoryName,
    subject: &str,
    query: &Query,
) -> Result<Response, Refusal> {
    let subject = digest(subject)?;
    let path = format!("/v2/{repository}/referrers/{subject}");
    let mut descriptors = registry
        .blocking(move |shared| Ok(shared.store.referrers(&repository, &subject)?))
        .await?;
    let filter = query.first("artifactType").filter(|filter| !filter.is_empty());
    if let Some(filter) = filter {
        descriptors.retain(|descriptor| descriptor.artifact_type.as_deref() == Some(filter));
    }
    if let Some(last) = query.first("last") {
        descriptors.retain(|descriptor| descriptor.digest.to_string().as_str() > last);
    }
    let (shown, next) = first_page(&descriptors);
    let index = json!({ "schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": shown });
    let mut response = json_response(OCI_INDEX, &index);
    if let Some(last) = next {
        let mut parameters = vec![("last", last.as_str())];
        parameters.extend(filter.map(|filter| ("artifactType", filter)));
        if let Some(link) = link_header(&path, &parameters) {
            response.headers_mut().insert(LINK, link);
        }
    }
    if filter.is_some() {
        response.headers_mut().insert(
            HeaderName::from_static("oci-filters-applied"),
            HeaderValue::from_static("artifactType"),
        );
    }
    Ok(response)
}

/// As many descriptors as fit into a manifest, and the digest of the last one if there are more.
fn first_page(descriptors: &[Descriptor]) -> (Vec<Value>, Option<String>) {
    let mut shown = Vec::new();
    // Room for the index around the descriptors.
    let mut bytes = 1024;
    let mut last = None;
    for descriptor in descriptors {
        let value = json!(descriptor);
        bytes += value.to_string().len() + 1;
        if bytes > MAX_MANIFEST_BYTES && !shown.is_empty() {
            return (shown, last);
        }
        last = Some(descriptor.digest.to_string());
        shown.push(value);
    }
    (shown, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_without_gaps() {
        let names: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).into();
        let page = |text: &str| {
            let query = Query::parse(Some(text));
            let page = Page::asked_by(&query).ok().unwrap();
            let (shown, next) = page.cut(&names);
            (shown.concat(), next.map(str::to_owned))
        };
        assert_eq!(page(""), ("abcde".to_owned(), None));
        assert_eq!(page("n=2"), ("ab".to_owned(), Some("b".to_owned())));
        assert_eq!(page("n=2&last=b"), ("cd".to_owned(), Some("d".to_owned())));
        assert_eq!(page("n=2&last=d"), ("e".to_owned(), None));
        assert_eq!(page("n=5"), ("abcde".to_owned(), None));
        assert_eq!(page("n=0"), (String::new(), None));
        assert_eq!(page("last=bb"), ("cde".to_owned(), None));
        assert_eq!(page("last=zz"), (String::new(), None));
    }
}
