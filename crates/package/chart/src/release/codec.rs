//! The text form of a record: JSON, compressed, in base64.

use std::io::{Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use thiserror::Error;

use super::{Release, json};

/// The start of compressed data; records of the first Helm 2 were not compressed.
const GZIP_SIGNATURE: &[u8] = b"\x1f\x8b\x08";

/// The largest record that is read. A Secret has at most 1 MiB, which could be compressed a thousandfold; the largest
/// real records have some 10 MiB.
const MAX_RECORD_SIZE: u64 = 64 * 1024 * 1024;

/// A record that cannot be read.
#[derive(Debug, Error)]
pub enum DecodeError {
    /// It is not base64.
    #[error("release record is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// It is cut off or damaged.
    #[error("release record cannot be decompressed: {0}")]
    Compression(#[source] std::io::Error),
    /// It is larger than any real one.
    #[error("release record is larger than {MAX_RECORD_SIZE} bytes")]
    TooLarge,
    /// It is no JSON, or a field has the wrong type.
    #[error("release record is not understood: {0}")]
    Json(#[from] serde_json::Error),
}

impl Release {
    /// Writes the record as JSON.
    pub fn to_json(&self) -> String {
        json::write(self)
    }

    /// Reads the record from JSON.
    pub fn from_json(text: &str) -> Result<Self, DecodeError> {
        Ok(json::read(text)?)
    }

    /// Writes the record as it stands in a Secret's data, before the API's own base64.
    pub fn encode(&self) -> String {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        // Writing to memory cannot fail.
        let compressed = encoder
            .write_all(self.to_json().as_bytes())
            .and_then(|()| encoder.finish());
        STANDARD.encode(compressed.unwrap_or_default())
    }

    /// Reads the record as it stands in a Secret's data, after the API's own base64.
    pub fn decode(data: &[u8]) -> Result<Self, DecodeError> {
        let data: Vec<u8> = data
            .iter()
            .copied()
            .filter(|byte| !matches!(byte, b'\r' | b'\n'))
            .collect();
        let mut bytes = STANDARD.decode(data)?;
        if bytes.len() > GZIP_SIGNATURE.len() && bytes.starts_with(GZIP_SIGNATURE) {
            let mut plain = Vec::new();
            MultiGzDecoder::new(bytes.as_slice())
                .take(MAX_RECORD_SIZE + 1)
                .read_to_end(&mut plain)
                .map_err(DecodeError::Compression)?;
            bytes = plain;
        }
        if bytes.len() as u64 > MAX_RECORD_SIZE {
            return Err(DecodeError::TooLarge);
        }
        Self::from_json(&String::from_utf8_lossy(&bytes))
    }
}
