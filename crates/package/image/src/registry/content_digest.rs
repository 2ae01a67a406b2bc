//! The digests that the registry verifies: SHA-256, and SHA-512 for clients that choose it.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use aws_lc_rs::digest;
use serde::{Deserialize, Serialize};

/// How much of a file is read at once when its digest is computed.
const READ_BYTES: usize = 1 << 20;

/// A hash function that names content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Algorithm {
    /// What everyone uses.
    #[default]
    Sha256,
    /// What the specification allows beside it.
    Sha512,
}

impl Algorithm {
    /// Every algorithm that content may be named by.
    pub(super) const ALL: [Self; 2] = [Self::Sha256, Self::Sha512];

    /// The name before the colon of a digest.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        }
    }

    fn hexadecimal_digits(self) -> usize {
        match self {
            Self::Sha256 => 64,
            Self::Sha512 => 128,
        }
    }
}

impl FromStr for Algorithm {
    type Err = UnusableDigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == text)
            .ok_or_else(|| UnusableDigest::UnsupportedAlgorithm(text.to_owned()))
    }
}

/// Why a text is not a digest that the registry can verify.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum UnusableDigest {
    /// The text isn't an algorithm, a colon and the right number of hexadecimal digits.
    #[error(
        "{0:?} is not a digest: expected sha256: followed by 64 lower-case hexadecimal digits, or sha512: by 128"
    )]
    Malformed(String),
    /// The algorithm is one that the registry doesn't know.
    #[error("digest algorithm {0:?} is not supported: use sha256 or sha512")]
    UnsupportedAlgorithm(String),
}

/// The digest of a blob or manifest in the registry, such as `sha256:` and 64 digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ContentDigest {
    algorithm: Algorithm,
    hexadecimal: String,
}

impl ContentDigest {
    /// The digest of `bytes`.
    pub(super) fn of(algorithm: Algorithm, bytes: &[u8]) -> Self {
        let mut hasher = ContentHasher::new(algorithm);
        hasher.update(bytes);
        hasher.finish()
    }

    /// The digest of everything that `source` gives, read piece by piece.
    pub(super) fn of_reader(algorithm: Algorithm, mut source: impl Read) -> io::Result<Self> {
        let mut hasher = ContentHasher::new(algorithm);
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let length = match source.read(&mut buffer) {
                Ok(0) => return Ok(hasher.finish()),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            hasher.update(buffer.get(..length).unwrap_or_default());
        }
    }

    /// The hash function.
    pub(super) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The digits after the colon.
    pub(super) fn hexadecimal(&self) -> &str {
        &self.hexadecimal
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.algorithm.name(), self.hexadecimal)
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for ContentDigest {
    type Err = UnusableDigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (algorithm, digits) = text
            .split_once(':')
            .ok_or_else(|| UnusableDigest::Malformed(text.to_owned()))?;
        let algorithm: Algorithm = algorithm.parse()?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
        if digits.len() == algorithm.hexadecimal_digits() && digits.bytes().all(is_digit) {
            Ok(Self {
                algorithm,
                hexadecimal: digits.to_owned(),
            })
        } else {
            Err(UnusableDigest::Malformed(text.to_owned()))
        }
    }
}

impl Serialize for ContentDigest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentDigest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// Computes a digest piece by piece, and knows how many bytes it has seen.
pub(super) struct ContentHasher {
    algorithm: Algorithm,
    context: digest::Context,
    bytes: u64,
}

impl ContentHasher {
    /// Starts with no bytes.
    pub(super) fn new(algorithm: Algorithm) -> Self {
        let function = match algorithm {
            Algorithm::Sha256 => &digest::SHA256,
            Algorithm::Sha512 => &digest::SHA512,
        };
        Self {
            algorithm,
            context: digest::Context::new(function),
            bytes: 0,
        }
    }

    /// Takes the next bytes.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.context.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// The hash function.
    pub(super) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// How many bytes were taken.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the digest of everything taken.
    pub(super) fn finish(self) -> ContentDigest {
        let digits = |byte: &u8| {
            [byte >> 4, byte & 0xf].map(|nibble| char::from_digit(u32::from(nibble), 16).unwrap_or('0'))
        };
        ContentDigest {
            algorithm: self.algorithm,
            hexadecimal: self.context.finish().as_ref().iter().flat_map(digits).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_digests_of_nothing_are_the_known_ones() {
        let known = [
            (
                Algorithm::Sha256,
                "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
            (
                Algorithm::Sha512,
                "sha512:cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
            ),
        ];
        for (algorithm, text) in known {
            assert_eq!(ContentDigest::of(algorithm, b"").to_string(), text);
            assert_eq!(text.parse(), Ok(ContentDigest::of(algorithm, b"")));
        }
    }

    proptest! {
        #[test]
        fn a_digest_reads_as_it_is_written(bytes: Vec<u8>, long: bool) {
            let algorithm = if long { Algorithm::Sha512 } else { Algorithm::Sha256 };
            let digest = ContentDigest::of(algorithm, &bytes);
            prop_assert_eq!(digest.to_string().parse(), Ok(digest.clone()));
            prop_assert_eq!(ContentDigest::of_reader(algorithm, &*bytes).unwrap(), digest);
        }

        #[test]
        fn no_other_text_is_a_digest(text in "(sha256|sha512|md5|)[:;]?[0-9a-fA-Fg./]{0,130}") {
            if let Ok(digest) = text.parse::<ContentDigest>() {
                prop_assert_eq!(digest.to_string(), text);
                prop_assert!([64, 128].contains(&digest.hexadecimal().len()));
            }
        }
    }
}
