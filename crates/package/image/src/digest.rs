//! Digests: the names of blobs, computed from their bytes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How much of a file is read at a time.
const FILE_PIECE_BYTES: usize = 1 << 18;

/// The SHA-256 digest of a blob, written `sha256:<64 hex digits>`.
///
/// Registries may know other algorithms; no registry or tool that operators are published with uses one, so a name
/// with another algorithm is refused where it is read instead of being trusted unverified.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// Why a text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDigest {
    /// The text has no `algorithm:` before the digits.
    #[error("{0:?} is not a digest: expected sha256: followed by 64 hexadecimal digits")]
    Malformed(String),
    /// The algorithm is one that isn't verified here.
    #[error("digest algorithm {0:?} is not supported: use sha256")]
    UnsupportedAlgorithm(String),
}

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::new();
        hasher.update(bytes);
        hasher.finish()
    }

    /// The digest of a file's content, read piece by piece.
    pub fn of_file(path: &std::path::Path) -> std::io::Result<Self> {
        let mut file = std::fs::File::open(path)?;
        let mut hasher = Hasher::new();
        let mut piece = vec![0; FILE_PIECE_BYTES];
        loop {
            match std::io::Read::read(&mut file, &mut piece)? {
                0 => return Ok(hasher.finish()),
                read => hasher.update(&piece[..read]),
            }
        }
    }

    /// The 64 lower-case hexadecimal digits, without the algorithm.
    #[must_use]
    pub fn hex(&self) -> String {
        self.0.iter().fold(String::with_capacity(64), |mut text, byte| {
            for nibble in [byte >> 4, byte & 0xf] {
                text.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
            }
            text
        })
    }

    /// The 32 bytes of the hash.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let malformed = || InvalidDigest::Malformed(text.to_owned());
        let (algorithm, digits) = text.split_once(':').ok_or_else(malformed)?;
        if algorithm != "sha256" {
            return Err(InvalidDigest::UnsupportedAlgorithm(algorithm.to_owned()));
        }
        let digits = digits.as_bytes();
        if digits.len() != 64 || digits.iter().any(u8::is_ascii_uppercase) {
            return Err(malformed());
        }
        let nibble = |digit: u8| {
            char::from(digit)
                .to_digit(16)
                .and_then(|value| u8::try_from(value).ok())
        };
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(digits.as_chunks::<2>().0) {
            let (high, low) = nibble(pair[0]).zip(nibble(pair[1])).ok_or_else(malformed)?;
            *byte = high << 4 | low;
        }
        Ok(Self(hash))
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// Computes a digest piece by piece, for bytes that never lie in memory together.
pub struct Hasher(aws_lc_rs::digest::Context);

impl Hasher {
    /// Starts with no bytes.
    #[must_use]
    pub fn new() -> Self {
        Self(aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256))
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest of everything taken.
    #[must_use]
    pub fn finish(self) -> Digest {
        let mut hash = [0; 32];
        hash.copy_from_slice(self.0.finish().as_ref());
        Digest(hash)
    }
}

impl Default for Hasher {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_nothing_is_the_known_one() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").to_string(), empty);
        assert_eq!(empty.parse(), Ok(Digest::of(b"")));
    }

    #[test]
    fn a_digest_that_could_not_be_verified_is_refused() {
        assert_eq!(
            "sha512:00".parse::<Digest>(),
            Err(InvalidDigest::UnsupportedAlgorithm("sha512".to_owned()))
        );
        for text in [
            "",
            "sha256",
            "sha256:",
            "sha256:zz",
            &format!("sha256:{}", "A".repeat(64)),
            &format!("sha256:{}", "g".repeat(64)),
        ] {
            assert_eq!(
                text.parse::<Digest>(),
                Err(InvalidDigest::Malformed(text.to_owned())),
                "{text}"
            );
        }
    }
}
