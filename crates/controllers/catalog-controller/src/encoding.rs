//! In which form content travels.

use std::io::{self, Write};

use bytes::Bytes;

/// Below how many bytes compressing isn't worth it, as upstream has it.
pub(crate) const WORTH_COMPRESSING: u64 = 1024;

/// How hard zstd tries: what its authors recommend.
const ZSTD_LEVEL: i32 = 3;

/// A way to compress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Gzip,
    Zstd,
}

impl Encoding {
    /// All there are, in the order of their numbers.
    pub(crate) const ALL: [Self; 2] = [Self::Gzip, Self::Zstd];

    /// The name that HTTP has for it.
    pub(crate) fn token(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    /// Picks what a client likes most; zstd of two that it likes alike. `None` leaves the content as it is.
    pub(crate) fn accepted<'a>(headers: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut best: Option<(f32, Self)> = None;
        for part in headers.flat_map(|header| header.split(',')) {
            let mut pieces = part.split(';').map(str::trim);
            let token = pieces.next().unwrap_or_default();
            let Some(encoding) = Self::ALL
                .into_iter()
                .find(|encoding| encoding.token().eq_ignore_ascii_case(token))
            else {
                continue;
            };
            let quality = pieces
                .find_map(|piece| piece.strip_prefix("q=").or_else(|| piece.strip_prefix("Q=")))
                .map_or(Some(1.0), |quality| quality.trim().parse().ok());
            let Some(quality) = quality.filter(|quality: &f32| *quality > 0.0) else {
                continue;
            };
            let is_better = best
                .is_none_or(|(known, other)| quality > known || (quality == known && other == Self::Gzip));
            if is_better {
                best = Some((quality, encoding));
            }
        }
        best.map(|(_, encoding)| encoding)
    }

    /// Writes content compressed.
    pub(crate) fn compress(self, content: &[u8], target: impl Write) -> io::Result<()> {
        self.compress_pieces([content].into_iter(), target)
    }

    /// Compresses pieces in memory.
    pub(crate) fn compressed(self, pieces: &[Bytes]) -> io::Result<Bytes> {
        let mut target = Vec::new();
        self.compress_pieces(pieces.iter().map(Bytes::as_ref), &mut target)?;
        Ok(target.into())
    }

    fn compress_pieces<'a>(
        self,
        pieces: impl Iterator<Item = &'a [u8]>,
        mut target: impl Write,
    ) -> io::Result<()> {
        match self {
            Self::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(&mut target, flate2::Compression::default());
                for piece in pieces {
                    encoder.write_all(piece)?;
                }
                encoder.finish()?;
            }
            Self::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(&mut target, ZSTD_LEVEL)?;
                for piece in pieces {
                    encoder.write_all(piece)?;
                }
                encoder.finish()?;
            }
        }
        target.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_what_it_likes_most() {
        for (header, expected) in [
            ("", None),
            ("identity", None),
            ("br, deflate", None),
            ("gzip", Some(Encoding::Gzip)),
            ("gzip, zstd", Some(Encoding::Zstd)),
            ("zstd, gzip", Some(Encoding::Zstd)),
            ("gzip;q=1.0, zstd;q=0.5", Some(Encoding::Gzip)),
            ("GZIP ; q=0.1", Some(Encoding::Gzip)),
            ("gzip;q=0", None),
            ("gzip;q=x", None),
            ("*", None),
        ] {
            assert_eq!(Encoding::accepted([header].into_iter()), expected, "{header}");
        }
    }
}
