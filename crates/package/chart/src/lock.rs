//! `Chart.lock`: the exact versions that a chart's dependencies had when they were last resolved.

use serde::Serialize;
use serde_json::Value;

use crate::field_decoder::FieldDecoder;
use crate::metadata::{Dependency, decode_dependency_list};
use crate::time::{Location, RFC3339, RFC3339_NANO, Time};

/// How Go writes the time that nobody set.
const ZERO_TIME: &str = "0001-01-01T00:00:00Z";

/// The content of `Chart.lock` or `requirements.lock`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lock {
    /// When the file was written, in RFC 3339.
    pub generated: String,
    /// A hash of the dependencies that were resolved.
    pub digest: String,
    /// The dependencies, each with one version.
    pub dependencies: Option<Vec<Option<Dependency>>>,
}

impl Default for Lock {
    fn default() -> Self {
        Self {
            generated: ZERO_TIME.to_owned(),
            digest: String::new(),
            dependencies: None,
        }
    }
}

impl Lock {
    /// Reads a decoded lock file; `null` is no lock at all. The error is Go's text.
    pub fn decode(value: &Value) -> Result<Option<Self>, String> {
        if value.is_null() {
            return Ok(None);
        }
        let mut lock = Self::default();
        let mut decoder = FieldDecoder::default();
        let names = &["generated", "digest", "dependencies"];
        decoder.structure(
            value,
            "Lock",
            "chart.Lock",
            names,
            |decoder, field, item| match field {
                "generated" => match item {
                    Value::Null => {}
                    Value::String(text) => match normalize_time(text) {
                        Ok(time) => lock.generated = time,
                        Err(message) => decoder.report(message),
                    },
                    _ => decoder.report("Time.UnmarshalJSON: input is not a JSON string".to_owned()),
                },
                "digest" => decoder.string(item, &mut lock.digest),
                _ => decode_dependency_list(decoder, item, &mut lock.dependencies),
            },
        );
        decoder.finish()?;
        Ok(Some(lock))
    }
}

/// Brings an RFC 3339 time into the form that Go writes: no zeros at the end of the fraction, `Z` for UTC.
pub(crate) fn normalize_time(text: &str) -> Result<String, String> {
    let time = Time::parse(RFC3339.as_bytes(), text.as_bytes(), &Location::Utc)?;
    Ok(time.formatted(RFC3339_NANO))
}
