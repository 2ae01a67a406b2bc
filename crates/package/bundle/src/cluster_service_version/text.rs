//! Versions and releases, which read themselves and end the reading when they can't.

use std::borrow::Cow;

use goyaml::Error;
use goyaml::typed::{GoType, Reader};
use serde_json::Value;
use version::Version;

/// A version as an operator says it: `v1.2` is 1.2.0, and one that says none is 0.0.0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorVersion(pub Version);

impl Default for OperatorVersion {
    fn default() -> Self {
        Self(Version::new(0, 0, 0))
    }
}

impl GoType for OperatorVersion {
    fn go_name() -> Cow<'static, str> {
        Cow::Borrowed("version.OperatorVersion")
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), Error> {
        let text = own_text(value, reader)?;
        self.0 = Version::parse_tolerant(text).map_err(|error| reader.stop(error.to_string()))?;
        Ok(())
    }
}

/// What orders builds of one version: dotted identifiers; empty where an operator says none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperatorRelease(pub String);

impl GoType for OperatorRelease {
    fn go_name() -> Cow<'static, str> {
        Cow::Borrowed("release.OperatorRelease")
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), Error> {
        let text = own_text(value, reader)?;
        for identifier in text.split('.') {
            // A plus sign would start the build metadata of the version that the identifier is tried in.
            let problem = if identifier.contains('+') {
                Some(format!(
                    "Invalid character(s) found in prerelease {}",
                    gotemplate::format::quoted(identifier)
                ))
            } else {
                Version::parse(&format!("0.0.0-{identifier}"))
                    .err()
                    .map(|error| error.to_string())
            };
            if let Some(problem) = problem {
                return Err(reader.stop(problem));
            }
        }
        text.clone_into(&mut self.0);
        Ok(())
    }
}

/// The text of a type that reads itself; null is empty text there.
fn own_text<'v>(value: &'v Value, reader: &Reader) -> Result<&'v str, Error> {
    match value {
        Value::String(text) => Ok(text),
        Value::Null => Ok(""),
        _ => Err(reader.mismatch_of(goyaml::json::kind_word(value), "string")),
    }
}
