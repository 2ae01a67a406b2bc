//! Addresses: which request is for what.

use percent_encoding::percent_decode_str;

use super::names::{InvalidName, RepositoryName};

/// What an address names. References are read later, because what a broken one means depends on the method.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// `/v2/`: whether this is a registry.
    Base,
    /// `/v2/_catalog`: all repositories.
    Catalog,
    /// `/v2/<name>/tags/list`.
    Tags(RepositoryName),
    /// `/v2/<name>/referrers/<digest>`.
    Referrers(RepositoryName, String),
    /// `/v2/<name>/manifests/<tag or digest>`.
    Manifest(RepositoryName, String),
    /// `/v2/<name>/blobs/<digest>`.
    Blob(RepositoryName, String),
    /// `/v2/<name>/blobs/uploads/`: where uploads begin.
    Uploads(RepositoryName),
    /// `/v2/<name>/blobs/uploads/<session>`.
    Upload(RepositoryName, String),
}

impl Route {
    /// Reads the path of an address; nothing when it has none of the forms. A name may contain the words that follow
    /// names, so that the path is read from its end.
    pub(super) fn parse(path: &str) -> Result<Option<Self>, InvalidName> {
        let path = percent_decode_str(path).decode_utf8_lossy();
        let rest = match path.strip_prefix("/v2") {
            Some("" | "/") => return Ok(Some(Self::Base)),
            Some("/_catalog") => return Ok(Some(Self::Catalog)),
            Some(rest) => rest.strip_prefix('/'),
            None => None,
        };
        let Some(rest) = rest else {
            return Ok(None);
        };
        if let Some(name) = rest
            .strip_suffix("/blobs/uploads")
            .or_else(|| rest.strip_suffix("/blobs/uploads/"))
        {
            return Ok(Some(Self::Uploads(RepositoryName::parse(name)?)));
        }
        let Some((front, last)) = rest.rsplit_once('/') else {
            return Ok(None);
        };
        if let Some(name) = front.strip_suffix("/blobs/uploads") {
            return Ok(Some(Self::Upload(RepositoryName::parse(name)?, last.to_owned())));
        }
        let Some((name, kind)) = front.rsplit_once('/') else {
            return Ok(None);
        };
        let route: fn(RepositoryName, String) -> Self = match (kind, last) {
            ("tags", "list") => |name, _| Self::Tags(name),
            ("manifests", _) => Self::Manifest,
            ("blobs", _) => Self::Blob,
            ("referrers", _) => Self::Referrers,
            _ => return Ok(None),
        };
        Ok(Some(route(RepositoryName::parse(name)?, last.to_owned())))
    }
}

/// The parameters after the question mark.
#[derive(Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the text after the question mark.
    pub(super) fn parse(text: Option<&str>) -> Self {
        let pairs = form_urlencoded::parse(text.unwrap_or_default().as_bytes());
        Self(pairs.into_owned().collect())
    }

    /// The first value of a parameter.
    pub(super) fn first(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Every value of a parameter.
    pub(super) fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn route(path: &str) -> Option<Route> {
        Route::parse(path).unwrap()
    }

    fn name(text: &str) -> RepositoryName {
        RepositoryName::parse(text).unwrap()
    }

    #[test]
    fn a_path_is_read_from_its_end() {
        assert_eq!(route("/v2"), Some(Route::Base));
        assert_eq!(route("/v2/"), Some(Route::Base));
        assert_eq!(route("/v2/_catalog"), Some(Route::Catalog));
        assert_eq!(route("/v2/a/b/tags/list"), Some(Route::Tags(name("a/b"))));
        assert_eq!(
            route("/v2/tags/list/tags/list"),
            Some(Route::Tags(name("tags/list")))
        );
        assert_eq!(route("/v2/a/blobs/uploads/"), Some(Route::Uploads(name("a"))));
        assert_eq!(route("/v2/a/blobs/uploads"), Some(Route::Uploads(name("a"))));
        assert_eq!(
            route("/v2/a/blobs/uploads/x"),
            Some(Route::Upload(name("a"), "x".to_owned()))
        );
        assert_eq!(
            route("/v2/a/blobs/b/manifests/v1"),
            Some(Route::Manifest(name("a/blobs/b"), "v1".to_owned()))
        );
        assert_eq!(
            route("/v2/a/blobs/sha256%3A00"),
            Some(Route::Blob(name("a"), "sha256:00".to_owned()))
        );
        assert_eq!(
            route("/v2/a/referrers/x"),
            Some(Route::Referrers(name("a"), "x".to_owned()))
        );
        for path in [
            "/",
            "/v1/",
            "/v2x",
            "/v2/a",
            "/v2/a/b",
            "/v2/a/tags/other",
            "/v2/manifests/x",
        ] {
            assert_eq!(route(path), None, "{path}");
        }
        for path in [
            "/v2/../manifests/x",
            "/v2/A/tags/list",
            "/v2/a/%2e%2e/b/blobs/x",
            "/v2//blobs/uploads/",
        ] {
            assert!(Route::parse(path).is_err(), "{path}");
        }
    }

    proptest! {
        #[test]
        fn every_path_is_a_route_or_an_error(path in "/v2/([a-z/%._0-9]|blobs|uploads|manifests|tags|list){0,20}") {
            let _ = Route::parse(&path);
        }
    }
}
