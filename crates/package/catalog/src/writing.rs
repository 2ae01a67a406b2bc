//! Catalogs written as JSON, YAML or a file per package.
//!
//! Objects stand by package, and within a package as packages, channels by name, bundles by name, other objects by
//! schema, deprecations. What lies inside of an object keeps its order.

mod compact;
mod directory;
mod order;

use std::fmt;
use std::io::{self, Write};

use thiserror::Error;

use crate::canonical;
use crate::objects::Catalog;
pub use directory::write_directory;

/// The two notations of a catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON objects, indented by four spaces, behind each other.
    Json,
    /// YAML documents, each behind a separator.
    Yaml,
}

impl Format {
    /// The extension of files in this notation, with its dot.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Json => ".json",
            Self::Yaml => ".yaml",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Json => "json",
            Self::Yaml => "yaml",
        })
    }
}

/// Why a catalog cannot be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// An object has a character that YAML cannot hold; everything before that object has been written. Write JSON,
    /// or take the character out.
    #[error("{0}")]
    Yaml(String),
    /// The output does not take more.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A package's name would lead out of the directory.
    #[error("invalid package name {0}: must be a single local path element")]
    PackageName(String),
    /// A package cannot be written in the asked notation.
    #[error("write to buffer for {path}: {error}")]
    Content {
        /// The file, quoted.
        path: String,
        /// The reason.
        error: Box<WriteError>,
    },
    /// A file cannot be written; no file is left half-written.
    #[error("write file {path}: {error}")]
    File {
        /// The file, quoted.
        path: String,
        /// The reason.
        error: io::Error,
    },
}

/// Writes a catalog as JSON.
pub fn write_json(catalog: &Catalog, output: &mut impl Write) -> Result<(), WriteError> {
    write(catalog, Format::Json, output)
}

/// Writes a catalog as YAML. What comes before an object that cannot be written is written.
pub fn write_yaml(catalog: &Catalog, output: &mut impl Write) -> Result<(), WriteError> {
    write(catalog, Format::Yaml, output)
}

/// Writes a catalog in either notation.
pub fn write(catalog: &Catalog, format: Format, output: &mut impl Write) -> Result<(), WriteError> {
    let (packages, roots) = order::by_package(catalog);
    for package in packages.values() {
        write_package(package, format, output)?;
    }
    for other in roots {
        write_object(&other.blob, format, output)?;
    }
    Ok(())
}

/// Writes one object, given as compact JSON.
pub(crate) fn write_object(json: &[u8], format: Format, output: &mut impl Write) -> Result<(), WriteError> {
    match format {
        Format::Json => {
            let mut text = canonical::indented(json);
            text.push(b'\n');
            output.write_all(&text)?;
        }
        Format::Yaml => {
            // Upstream reads the JSON as YAML, which is why some characters cannot be written.
            let text = goyaml::to_value(json).and_then(|value| goyaml::to_string(&value));
            let text = text.map_err(|error| WriteError::Yaml(error.to_string()))?;
            output.write_all(b"---\n")?;
            output.write_all(text.as_bytes())?;
        }
    }
    Ok(())
}

fn write_package(
    package: &order::PackageObjects<'_>,
    format: Format,
    output: &mut impl Write,
) -> Result<(), WriteError> {
    let mut json = Vec::new();
    let mut put = |json: &mut Vec<u8>| {
        let result = write_object(json, format, output);
        json.clear();
        result
    };
    for object in &package.packages {
        compact::package(object, &mut json);
        put(&mut json)?;
    }
    for object in &package.channels {
        compact::channel(object, &mut json);
        put(&mut json)?;
    }
    for object in &package.bundles {
        compact::bundle(object, &mut json);
        put(&mut json)?;
    }
    for object in &package.others {
        json.extend_from_slice(&object.blob);
        put(&mut json)?;
    }
    for object in &package.deprecations {
        compact::deprecations(object, &mut json);
        put(&mut json)?;
    }
    Ok(())
}
