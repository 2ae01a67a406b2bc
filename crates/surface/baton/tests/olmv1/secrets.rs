//! Objects as they lie in Secrets: JSON, packed where it was too large.

use std::io::Read as _;

use base64::Engine as _;
use serde_json::Value;

/// Reads an object from a Secret.
pub(crate) fn object(secret: &Value, key: &str) -> Result<Value, String> {
    let name = &secret["metadata"]["name"];
    let text = secret["data"][key]
        .as_str()
        .ok_or_else(|| format!("Secret {name} has no key {key}"))?;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(text)
        .map_err(|error| format!("Secret {name}, key {key}: {error}"))?;
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(bytes.as_slice())
            .read_to_end(&mut unpacked)
            .map_err(|error| format!("Secret {name}, key {key}: {error}"))?;
        unpacked
    } else {
        bytes
    };
    serde_json::from_slice(&bytes).map_err(|error| format!("Secret {name}, key {key}: {error}"))
}
