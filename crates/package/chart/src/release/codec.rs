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

    /// Writes the record compressed, as chunks of it are kept.
    ///
    /// The chart is compressed for itself, as a member of its own, because the revisions and releases of a chart share
    /// it. Readers take the members as one.
    pub fn compress(&self) -> Vec<u8> {
        let (before, after) = json::around_chart(self);
        let mut compressed = compress(before.as_bytes());
        compressed.extend_from_slice(self.chart.compressed());
        compressed.extend_from_slice(&compress(after.as_bytes()));
        compressed
    }

    /// Reads a record that is compressed; it may also be plain, as those of the first Helm 2 were.
    pub fn decompress(data: &[u8]) -> Result<Self, DecodeError> {
        if !data.starts_with(GZIP_SIGNATURE) {
            return Self::from_bytes(data);
        }
        let mut plain = Vec::new();
        MultiGzDecoder::new(data)
            .take(MAX_RECORD_SIZE + 1)
            .read_to_end(&mut plain)
            .map_err(DecodeError::Compression)?;
        Self::from_bytes(&plain)
    }

    fn from_bytes(json: &[u8]) -> Result<Self, DecodeError> {
        if json.len() as u64 > MAX_RECORD_SIZE {
            return Err(DecodeError::TooLarge);
        }
        Self::from_json(&String::from_utf8_lossy(json))
    }

    /// Writes the record as it stands in a Secret's data, before the API's own base64.
    pub fn encode(&self) -> String {
        STANDARD.encode(self.compress())
    }

    /// Reads the record as it stands in a Secret's data, after the API's own base64.
    pub fn decode(data: &[u8]) -> Result<Self, DecodeError> {
        let data: Vec<u8> = data
            .iter()
            .copied()
            .filter(|byte| !matches!(byte, b'\r' | b'\n'))
            .collect();
        Self::decompress(&STANDARD.decode(data)?)
    }
}

/// Compresses bytes into a member of their own.
pub(super) fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory cannot fail.
    let compressed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    compressed.unwrap_or_default()
}
