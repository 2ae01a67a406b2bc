//! What a request asks for, read from its method, path and query.

use std::borrow::Cow;

use http::Method;
use percent_encoding::percent_decode_str;

/// What a request is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Objects of a kind, or something below one of them.
    Resource(ResourcePath),
    /// Anything else, such as `/version` or discovery.
    Other,
}

/// The parts of the path of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourcePath {
    /// The API group; empty for the core.
    pub group: String,
    /// The version.
    pub version: String,
    /// The namespace; empty where the path names none.
    pub namespace: String,
    /// The plural of the resource.
    pub resource: String,
    /// The object's name; empty for all of them.
    pub name: String,
    /// What hangs below the object; empty for the object itself.
    pub subresource: String,
    /// What comes after the subresource, for proxies.
    pub rest: String,
    /// Whether the path begins with the old `watch/` prefix.
    pub watch_prefix: bool,
}

/// Subresources of a namespace itself; every other third part of the path is a resource inside it.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

impl Target {
    /// Reads the path of a request. A path that is no resource's is [`Target::Other`].
    pub fn read(path: &str) -> Self {
        let mut parts: Vec<Cow<'_, str>> = Vec::new();
        for part in path.trim_matches('/').split('/') {
            parts.push(percent_decode_str(part).decode_utf8_lossy());
        }
        let (group, version, rest) = match parts.first().map(Cow::as_ref) {
            Some("api") if parts.len() >= 3 => (String::new(), parts[1].to_string(), &parts[2..]),
            Some("apis") if parts.len() >= 4 => (parts[1].to_string(), parts[2].to_string(), &parts[3..]),
            _ => return Self::Other,
        };
        let mut found = ResourcePath {
            group,
            version,
            ..ResourcePath::default()
        };
        let mut rest = rest;
        if rest.len() > 1 && rest[0] == "watch" {
            found.watch_prefix = true;
            rest = &rest[1..];
        }
        if rest[0] == "namespaces" && rest.len() > 1 {
            found.namespace = rest[1].to_string();
            if rest.len() > 2 && !NAMESPACE_SUBRESOURCES.contains(&rest[2].as_ref()) {
                rest = &rest[2..];
            }
        }
        let mut rest = rest.iter();
        let mut next = || rest.next().map(ToString::to_string).unwrap_or_default();
        found.resource = next();
        found.name = next();
        found.subresource = next();
        found.rest = rest.map(Cow::as_ref).collect::<Vec<_>>().join("/");
        Self::Resource(found)
    }
}

/// What is done, in the word that authorization and admission use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the verb of its name")]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    /// Returns the verb's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }

    /// Returns what a request on a resource does; `None` for a method that no resource has.
    pub fn of(method: &Method, path: &ResourcePath, watch: bool) -> Option<Self> {
        let verb = match *method {
            // Only what is passed on to somebody else may be asked for its head.
            Method::HEAD if !path.subresource.starts_with("proxy") => return None,
            Method::GET if path.watch_prefix => Self::Watch,
            Method::GET if path.name.is_empty() && watch => Self::Watch,
            Method::GET if path.name.is_empty() => Self::List,
            Method::GET | Method::HEAD => Self::Get,
            Method::POST => Self::Create,
            Method::PUT => Self::Update,
            Method::PATCH => Self::Patch,
            Method::DELETE if path.name.is_empty() => Self::DeleteCollection,
            Method::DELETE => Self::Delete,
            _ => return None,
        };
        Some(verb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str) -> ResourcePath {
        match Target::read(path) {
            Target::Resource(found) => found,
            Target::Other => panic!("{path} is a resource's"),
        }
    }

    #[test]
    fn a_path_names_group_version_namespace_resource_name_and_what_hangs_below() {
        let found = path("/apis/apps/v1/namespaces/a/deployments/b/status");
        assert_eq!((found.group.as_str(), found.version.as_str()), ("apps", "v1"));
        assert_eq!(
            (found.namespace.as_str(), found.resource.as_str()),
            ("a", "deployments")
        );
        assert_eq!((found.name.as_str(), found.subresource.as_str()), ("b", "status"));
    }

    #[test]
    fn a_namespace_is_an_object_and_a_place() {
        assert_eq!(path("/api/v1/namespaces/a").name, "a");
        assert_eq!(path("/api/v1/namespaces/a").resource, "namespaces");
        assert_eq!(path("/api/v1/namespaces/a/finalize").subresource, "finalize");
        let inside = path("/api/v1/namespaces/a/pods");
        assert_eq!(
            (
                inside.namespace.as_str(),
                inside.resource.as_str(),
                inside.name.as_str()
            ),
            ("a", "pods", "")
        );
    }

    #[test]
    fn discovery_is_no_resource() {
        for path in [
            "/",
            "/api",
            "/api/v1",
            "/apis",
            "/apis/apps",
            "/apis/apps/v1",
            "/version",
            "",
        ] {
            assert_eq!(Target::read(path), Target::Other, "{path}");
        }
    }

    #[test]
    fn what_follows_a_proxy_is_kept() {
        let found = path("/api/v1/namespaces/a/services/b:80/proxy/x/y%20z");
        assert_eq!(
            (found.name.as_str(), found.subresource.as_str()),
            ("b:80", "proxy")
        );
        assert_eq!(found.rest, "x/y z");
    }
}
