//! Templates: short files from which a whole catalog is made.
//!
//! ```text
//! bytes ─ parse ─► Template ─┬─ references ─► the bundles it names, for the caller to fetch in parallel
//!                            └─ render(lookup) ─► Catalog
//! catalog ─ convert ─► a template that makes it
//! ```
//!
//! Three kinds: `olm.semver` ([`semver`]) makes channels and upgrade edges from versions, `olm.template.basic` is a
//! catalog whose bundles are only named, and `olm.template.substitutes` puts rebuilt bundles in the place of others.
//! Rendering is pure: where bundles come from, an image, a directory or a layout, is the caller's business.

pub mod convert;
pub mod package;
pub mod semver;
pub mod slips;

mod entries;
mod release;
mod substitutes;

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use goyaml::go_struct;
use goyaml::typed::decode;
use serde_json::Value;

use crate::first_document::{self, TEMPLATE_SNIFFED_BYTES};
use crate::objects::Catalog;
use crate::rendering::RenderedBundle;
use entries::BasicTemplate;
use semver::SemverTemplate;
use substitutes::SubstitutesTemplate;

/// Finds the bundle that a template names; the error is the whole text of why it can't be had.
pub type Lookup<'l> = dyn Fn(&str) -> Result<RenderedBundle, String> + 'l;

/// Which release of opm a template is rendered like, where releases differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compatibility {
    /// opm 1.65 and later.
    #[default]
    Current,
    /// opm 1.37 to 1.56: channels are linked one by one, the version that is replaced is skipped too, and the package
    /// has neither description nor icon.
    Opm1_51,
}

/// A release of opm that templates can't be rendered like.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown compatibility {}: give \"1.51\" for catalogs as opm 1.37 to 1.56 makes them, or \"latest\"",
    gotemplate::format::quoted(.0)
)]
pub struct UnknownCompatibility(pub String);

impl FromStr for Compatibility {
    type Err = UnknownCompatibility;

    fn from_str(text: &str) -> Result<Self, UnknownCompatibility> {
        match text {
            "latest" | "1.65" => Ok(Self::Current),
            "1.51" | "1.51.0" | "v1.51.0" => Ok(Self::Opm1_51),
            _ => Err(UnknownCompatibility(text.to_owned())),
        }
    }
}

/// A kind of template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateType {
    /// `olm.template.basic`.
    Basic,
    /// `olm.semver`.
    Semver,
    /// `olm.template.substitutes`.
    Substitutes,
}

impl TemplateType {
    /// Every kind, in the order in which opm lists them.
    pub const ALL: [Self; 3] = [Self::Basic, Self::Semver, Self::Substitutes];

    /// What a template of this kind has as its schema.
    #[must_use]
    pub const fn schema(self) -> &'static str {
        match self {
            Self::Basic => "olm.template.basic",
            Self::Semver => "olm.semver",
            Self::Substitutes => "olm.template.substitutes",
        }
    }
}

impl fmt::Display for TemplateType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Basic => "basic",
            Self::Semver => "semver",
            Self::Substitutes => "substitutes",
        })
    }
}

/// A kind of template that there is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown template type: {0}")]
pub struct UnknownType(pub String);

impl FromStr for TemplateType {
    type Err = UnknownType;

    fn from_str(text: &str) -> Result<Self, UnknownType> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.to_string() == text)
            .ok_or_else(|| UnknownType(text.to_owned()))
    }
}

/// Why a template makes no catalog; the texts are opm's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// It can't be told what kind of template this is.
    #[error("auto-detecting template type: {0}")]
    Type(String),
    /// The template, or a bundle that it names, can't be used.
    #[error("rendering template: {0}")]
    Rendering(String),
}

/// A template that was read and is ready to render.
#[derive(Debug, Clone)]
pub struct Template(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Basic(BasicTemplate),
    Semver(SemverTemplate),
    Substitutes(SubstitutesTemplate),
}

#[derive(Default)]
struct Head {
    schema: String,
}
go_struct!(Head, "", { "schema" => schema });

impl Template {
    /// Reads a template; without a kind, its schema tells.
    ///
    /// # Errors
    ///
    /// When its kind can't be told, or it does not fit its kind.
    pub fn parse(bytes: &[u8], kind: Option<TemplateType>) -> Result<Self, TemplateError> {
        let kind = match kind {
            Some(kind) => kind,
            None => detect(bytes).map_err(TemplateError::Type)?,
        };
        match kind {
            TemplateType::Basic => BasicTemplate::parse(bytes).map(Kind::Basic),
            TemplateType::Semver => SemverTemplate::parse(bytes).map(Kind::Semver),
            TemplateType::Substitutes => SubstitutesTemplate::parse(bytes).map(Kind::Substitutes),
        }
        .map(Self)
        .map_err(TemplateError::Rendering)
    }

    /// What kind of template this is.
    #[must_use]
    pub fn kind(&self) -> TemplateType {
        match self.0 {
            Kind::Basic(_) => TemplateType::Basic,
            Kind::Semver(_) => TemplateType::Semver,
            Kind::Substitutes(_) => TemplateType::Substitutes,
        }
    }

    /// The bundles that rendering looks up, each once, in the order of the template.
    #[must_use]
    pub fn references(&self) -> Vec<&str> {
        let named = match &self.0 {
            Kind::Basic(template) => template.references(),
            Kind::Semver(template) => template.references(),
            Kind::Substitutes(template) => template.references(),
        };
        let mut seen = HashSet::new();
        named.into_iter().filter(|name| seen.insert(*name)).collect()
    }

    /// Makes the catalog.
    ///
    /// # Errors
    ///
    /// When a bundle can't be found, or what is found makes no catalog.
    pub fn render(
        &self,
        lookup: &Lookup<'_>,
        compatibility: Compatibility,
    ) -> Result<Catalog, TemplateError> {
        match &self.0 {
            Kind::Basic(template) => template.render(lookup),
            Kind::Semver(template) => template.render(lookup, compatibility),
            Kind::Substitutes(template) => template.render(lookup),
        }
        .map_err(TemplateError::Rendering)
    }
}

/// Tells the kind of a template by its schema.
fn detect(bytes: &[u8]) -> Result<TemplateType, String> {
    const GO_TYPE: &str = r#"struct { Schema string "json:\"schema\"" }"#;
    let document = first_document::read(bytes, TEMPLATE_SNIFFED_BYTES, Ok::<Value, String>)
        .map_err(|error| format!("decoding template input: {error}"))?;
    let head: Result<Head, String> = match &document {
        Value::Object(_) | Value::Null => decode(&document).map_err(|error| error.to_string()),
        other => Err(format!(
            "json: cannot unmarshal {} into Go value of type {GO_TYPE}",
            goyaml::json::kind_word(other)
        )),
    };
    let schema = head
        .map_err(|error| format!("unmarshalling template schema: {error}"))?
        .schema;
    if schema.is_empty() {
        return Err("template input missing required 'schema' field".to_owned());
    }
    TemplateType::ALL
        .into_iter()
        .find(|kind| kind.schema() == schema)
        .ok_or_else(|| format!("unknown template schema: {schema}"))
}
