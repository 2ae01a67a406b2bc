//! A catalog as the template that makes it.

use std::fmt;
use std::io::Read;

use goyaml::ReadOptions;
use goyaml::json::Escape;
use serde::Serialize;
use serde_json::Value;

use super::TemplateType;
use crate::reading::{self, ReadError, decode};

/// A catalog that became a template, ready to be written.
#[derive(Debug, Clone, Serialize)]
pub struct ConvertedTemplate {
    schema: &'static str,
    /// `None` is written as `null`, as opm does for a catalog without objects.
    entries: Option<Vec<Entry>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    substitutions: Option<[(); 0]>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum Entry {
    /// A bundle of which only the image is kept.
    Named {
        schema: &'static str,
        image: String,
    },
    Whole(Value),
}

/// What a catalog can become; there is no way from channels back to a semver template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// A basic template, which names its bundles by their images alone.
    Basic,
    /// A substitutes template, which holds the catalog as it is, and no substitutions yet.
    Substitutes,
}

impl Destination {
    fn kind(self) -> TemplateType {
        match self {
            Self::Basic => TemplateType::Basic,
            Self::Substitutes => TemplateType::Substitutes,
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(out)
    }
}

/// Makes a template of a stream of catalog objects.
///
/// # Errors
///
/// When the stream is no catalog.
pub fn convert(catalog: impl Read, destination: Destination) -> Result<ConvertedTemplate, ReadError> {
    let basic = destination == Destination::Basic;
    let mut entries = Vec::new();
    reading::for_each_in_stream(catalog, |meta| {
        let refused = |message| ReadError::Object {
            path: String::new(),
            message,
        };
        entries.push(if basic && meta.schema == decode::BUNDLE {
            Entry::Named {
                schema: decode::BUNDLE,
                image: decode::bundle(meta.blob).map_err(refused)?.image,
            }
        } else {
            let value = goyaml::json::to_value(meta.blob, ReadOptions::default());
            Entry::Whole(value.map_err(|error| refused(error.to_string()))?)
        });
        Ok::<(), ReadError>(())
    })?;
    Ok(ConvertedTemplate {
        schema: destination.kind().schema(),
        entries: Some(entries).filter(|entries| !entries.is_empty()),
        substitutions: (!basic).then_some([]),
    })
}

impl ConvertedTemplate {
    /// The template as JSON, as opm prints it.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = goyaml::json::to_string_pretty(self, "    ", Escape::Html).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The template as YAML, as opm prints it: with a separator before it and an empty line behind it.
    ///
    /// # Errors
    ///
    /// When the catalog holds characters that YAML can't.
    pub fn to_yaml(&self) -> Result<String, goyaml::Error> {
        Ok(format!("---\n{}\n", goyaml::to_string(self)?))
    }
}
