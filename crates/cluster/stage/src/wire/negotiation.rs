//! What form of an answer a client takes.

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};

use crate::options::Query;
use crate::status::Status;

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// Kubernetes' binary form.
    Protobuf,
}

impl Format {
    /// Returns the media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }
}

/// What of an object is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Shape {
    /// All of it.
    #[default]
    Whole,
    /// The columns of `kubectl get`.
    Table,
    /// Only its metadata.
    Metadata,
    /// Discovery of all groups at once, in a version of its own.
    Discovery(String),
}

/// What a client takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// How the answer is written.
    pub format: Format,
    /// What is shown.
    pub shape: Shape,
    /// Whether people read it: on several lines.
    pub pretty: bool,
}

impl Default for Accepted {
    fn default() -> Self {
        Self {
            format: Format::Json,
            shape: Shape::Whole,
            pretty: false,
        }
    }
}

/// Where an answer is used, which decides what shapes it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Objects of a kind.
    Objects {
        /// Whether the kind has a binary form, as every built-in one has.
        binary: bool,
        /// Whether the path can be watched.
        watchable: bool,
    },
    /// Discovery.
    Discovery,
}

/// What is written, for those who take none of it.
const REPRESENTATIONS: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];

/// What is written of changes, in addition.
const STREAMS: &[&str] = &[
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];

struct Clause {
    media_type: String,
    parameters: Vec<(String, String)>,
    quality: f32,
}

impl Clause {
    fn parameter(&self, name: &str) -> &str {
        self.parameters
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
            .unwrap_or_default()
    }
}

/// Chooses the form of an answer.
pub fn accepted(headers: &HeaderMap, query: &Query, used: Use) -> Result<Accepted, Status> {
    let pretty = wants_pretty(headers, query);
    let texts: Vec<&str> = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .collect();
    let accept = texts.join(",");
    if accept.trim().is_empty() {
        return Ok(Accepted {
            pretty,
            ..Accepted::default()
        });
    }
    let mut clauses: Vec<Clause> = accept.split(',').filter_map(clause).collect();
    clauses.sort_by(|one, other| other.quality.total_cmp(&one.quality));
    let mut binary = None;
    for clause in &clauses {
        let Some(format) = format_of(&clause.media_type) else {
            continue;
        };
        let Some(shape) = shape(clause, used) else {
            continue;
        };
        let chosen = Accepted {
            format,
            shape,
            pretty: pretty && format == Format::Json,
        };
        if format == Format::Protobuf {
            // Whoever takes the binary form nearly always takes JSON too, which is stored and needs no encoding.
            if matches!(used, Use::Objects { binary: true, .. } | Use::Discovery) && binary.is_none() {
                binary = Some(chosen);
            }
            continue;
        }
        if binary
            .as_ref()
            .is_some_and(|binary: &Accepted| binary.shape != chosen.shape && binary.shape != Shape::Whole)
        {
            break;
        }
        return Ok(chosen);
    }
    if let Some(binary) = binary {
        return Ok(binary);
    }
    Err(not_acceptable(used, &clauses))
}

/// Returns the first of the known media types that a client takes, by what it prefers; parameters don't matter.
pub fn first_known<'k>(accept: &str, known: &[&'k str]) -> Option<&'k str> {
    let accept = if accept.trim().is_empty() { "*/*" } else { accept };
    let mut clauses: Vec<Clause> = accept.split(',').filter_map(clause).collect();
    clauses.sort_by(|one, other| other.quality.total_cmp(&one.quality));
    let fits = |wanted: &str, media_type: &str| match wanted.strip_suffix("/*") {
        Some("*") => true,
        Some(group) => media_type.split('/').next() == Some(group),
        None => wanted == media_type,
    };
    clauses.iter().find_map(|clause| {
        known
            .iter()
            .copied()
            .find(|media_type| fits(&clause.media_type, media_type))
    })
}

/// Returns the failure that nothing is written that the client takes. The real server looks twice: paths of built-in
/// kinds have media types, and what answers them looks at the parameters.
fn not_acceptable(used: Use, clauses: &[Clause]) -> Status {
    let custom = matches!(used, Use::Objects { binary: false, .. });
    let known = clauses
        .iter()
        .any(|clause| format_of(&clause.media_type).is_some());
    if custom || known {
        return Status::not_acceptable(REPRESENTATIONS);
    }
    let mut available = REPRESENTATIONS.to_vec();
    if matches!(used, Use::Objects { watchable: true, .. }) {
        available.extend(STREAMS);
    }
    let mut status = Status::not_acceptable(&available);
    status.message = format!(
        "406: Not Acceptable\n\nAvailable representations: {}",
        available.join(", ")
    );
    status.with_causes(Vec::new())
}

fn format_of(media_type: &str) -> Option<Format> {
    match media_type {
        "application/json" | "*/*" | "application/*" => Some(Format::Json),
        "application/yaml" => Some(Format::Yaml),
        "application/vnd.kubernetes.protobuf" => Some(Format::Protobuf),
        _ => None,
    }
}

fn clause(text: &str) -> Option<Clause> {
    let mut parts = text.split(';').map(str::trim);
    let media_type = parts
        .next()
        .filter(|media_type| !media_type.is_empty())?
        .to_ascii_lowercase();
    let mut quality = 1.0;
    let mut parameters = Vec::new();
    for part in parts {
        let Some((key, value)) = part.split_once('=') else {
            continue;
        };
        let (key, value) = (
            key.trim().to_ascii_lowercase(),
            value.trim().trim_matches('"').to_owned(),
        );
        if key == "q" {
            quality = value.parse().unwrap_or(1.0);
        } else {
            parameters.push((key, value));
        }
    }
    Some(Clause {
        media_type,
        parameters,
        quality,
    })
}

/// Returns the shape that a clause asks for; `None` where that isn't served, and the next clause counts.
fn shape(clause: &Clause, used: Use) -> Option<Shape> {
    let (group, version) = (clause.parameter("g"), clause.parameter("v"));
    match (used, clause.parameter("as")) {
        (_, "") => Some(Shape::Whole),
        (Use::Objects { .. }, "Table") if group == "meta.k8s.io" && matches!(version, "v1" | "v1beta1") => {
            Some(Shape::Table)
        }
        (Use::Objects { .. }, "PartialObjectMetadata" | "PartialObjectMetadataList")
            if group == "meta.k8s.io" && matches!(version, "v1" | "v1beta1") =>
        {
            Some(Shape::Metadata)
        }
        (Use::Discovery, "APIGroupDiscoveryList")
            if group == "apidiscovery.k8s.io" && matches!(version, "v2" | "v2beta1") =>
        {
            Some(Shape::Discovery(version.to_owned()))
        }
        _ => None,
    }
}

/// Returns whether the answer goes to a person: asked for, or a browser or a command-line client.
fn wants_pretty(headers: &HeaderMap, query: &Query) -> bool {
    if let Some(pretty) = query.flag("pretty") {
        return pretty;
    }
    let agent = headers
        .get(USER_AGENT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    ["curl", "Wget", "Mozilla/5.0"]
        .iter()
        .any(|person| agent.starts_with(person))
}

/// Returns the media type of a body, without parameters and in lower case; empty where the client names none, and what
/// the client says where that is no media type.
pub fn content_type(headers: &HeaderMap) -> String {
    let text = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let named = text.split(';').next().unwrap_or_default().trim();
    if named.is_empty() { text } else { named }.to_ascii_lowercase()
}

/// Returns the media type of a body that is an object. Here the real server also looks at the parameters: with one that
/// has no name or no value, the type is none.
pub fn object_type(headers: &HeaderMap) -> String {
    let text = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let well_formed = text.split(';').skip(1).all(|parameter| {
        let parts = parameter.trim().split_once('=');
        parameter.trim().is_empty()
            || parts.is_some_and(|(name, value)| !name.is_empty() && !value.is_empty())
    });
    if well_formed {
        content_type(headers)
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const BUILT_IN: Use = Use::Objects {
        binary: true,
        watchable: false,
    };

    fn refusal(accept: &'static str, used: Use) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        match accepted(&headers, &Query::read(None), used) {
            Ok(accepted) => format!("{accepted:?}"),
            Err(status) => status.message,
        }
    }

    #[test]
    fn a_type_that_isnt_written_is_refused_before_its_parameters_are_looked_at() {
        let paths = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, \
                     application/vnd.kubernetes.protobuf";
        let answers = "only the following media types are accepted: application/json, application/yaml, \
                       application/vnd.kubernetes.protobuf";
        let watched = Use::Objects {
            binary: true,
            watchable: true,
        };
        let custom = Use::Objects {
            binary: false,
            watchable: true,
        };
        assert_eq!(refusal("text/html", BUILT_IN), paths);
        assert!(
            refusal("text/html", watched).ends_with(", application/vnd.kubernetes.protobuf;stream=watch")
        );
        assert_eq!(refusal("text/html", custom), answers);
        assert_eq!(
            refusal("application/json;as=Frob;v=v1;g=meta.k8s.io", BUILT_IN),
            answers
        );
    }

    #[test]
    fn a_content_type_without_a_type_is_not_the_same_as_none() {
        let of = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(text));
            content_type(&headers)
        };
        assert_eq!(content_type(&HeaderMap::new()), "");
        assert_eq!(of("Application/JSON; charset=utf-8"), "application/json");
        assert_eq!(of(";;"), ";;");
    }
}
