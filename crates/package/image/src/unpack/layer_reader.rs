//! The bytes of a layer: verified, unpacked by what they start with, counted and hashed.

use std::io::{self, BufReader, Chain, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

use super::{Limits, RATIO_FREE_BYTES, UnpackError};
use crate::content::{ContentError, ContentStore, VerifiedBlob};
use crate::digest::{Digest, Hasher};

/// What a stream of zstd may ask for in memory: the most that its own tools accept by default (128 MiB).
const MAX_ZSTD_WINDOW_LOG: u32 = 27;

/// How many bytes are read from disk, and thrown away at the end of a tar, at a time.
const CHUNK_BYTES: usize = 64 << 10;

type Source = Chain<Cursor<Vec<u8>>, VerifiedBlob>;

#[expect(clippy::large_enum_variant, reason = "few live at a time, each for a moment")]
enum Unpacked {
    Plain(BufReader<Source>),
    Gzip(MultiGzDecoder<BufReader<Source>>),
    Zstd(zstd::Decoder<'static, BufReader<Source>>),
}

/// A layer's tar.
pub(super) struct LayerReader<'a> {
    layer: Digest,
    unpacked: Unpacked,
    hasher: Hasher,
    /// How many bytes the layer may still have by its packed size.
    ratio_left: u64,
    /// How many bytes the image's layers may still have.
    bytes_left: u64,
    limits: &'a Limits,
}

/// What a layer has too much of; travels through the tar reader as an [`io::Error`].
#[derive(Debug, thiserror::Error)]
#[error("more than {limit} {what}")]
struct Exceeded {
    what: &'static str,
    limit: u64,
}

impl<'a> LayerReader<'a> {
    pub(super) fn open(
        store: &ContentStore,
        layer: &Digest,
        limits: &'a Limits,
        bytes_left: u64,
    ) -> Result<Self, UnpackError> {
        let mut blob = store.open_verified(layer)?;
        let size = blob.size()?;
        let mut magic = Vec::new();
        let failed = |error| unreadable(*layer, "", error);
        (&mut blob).take(4).read_to_end(&mut magic).map_err(failed)?;
        let kind = magic.clone();
        let source = BufReader::with_capacity(CHUNK_BYTES, Cursor::new(magic).chain(blob));
        let unpacked = match &kind[..] {
            [0x1f, 0x8b, ..] => Unpacked::Gzip(MultiGzDecoder::new(source)),
            // Frames that are to be skipped may come first: 0x184d2a5?.
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
                let mut decoder = zstd::Decoder::with_buffer(source).map_err(failed)?;
                decoder.window_log_max(MAX_ZSTD_WINDOW_LOG).map_err(failed)?;
                Unpacked::Zstd(decoder)
            }
            _ => Unpacked::Plain(source),
        };
        Ok(Self {
            layer: *layer,
            unpacked,
            hasher: Hasher::new(),
            ratio_left: size
                .saturating_mul(limits.compression_ratio)
                .saturating_add(RATIO_FREE_BYTES),
            bytes_left,
            limits,
        })
    }

    /// Reads the layer to its end, verifies its unpacked bytes, and returns how many bytes the next layers may have.
    pub(super) fn finish(mut self, diff_id: &Digest, after: &str) -> Result<u64, UnpackError> {
        let mut rest = vec![0; CHUNK_BYTES];
        loop {
            match self.read(&mut rest) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(self.layer, after, error)),
            }
        }
        let source = match &mut self.unpacked {
            Unpacked::Plain(source) => source,
            Unpacked::Gzip(decoder) => decoder.get_mut(),
            Unpacked::Zstd(decoder) => decoder.get_mut(),
        };
        let verified = source.get_mut().get_mut().1.finish();
        verified.map_err(|error| unreadable(self.layer, after, error))?;
        let found = self.hasher.finish();
        if found == *diff_id {
            return Ok(self.bytes_left);
        }
        Err(UnpackError::WrongDiffId {
            layer: self.layer,
            expected: *diff_id,
            found,
        })
    }
}

impl Read for LayerReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.unpacked {
            Unpacked::Plain(source) => source.read(buffer),
            Unpacked::Gzip(decoder) => decoder.read(buffer),
            Unpacked::Zstd(decoder) => decoder.read(buffer),
        }?;
        self.hasher.update(buffer.get(..read).unwrap_or_default());
        let exceeded = |what, limit| io::Error::other(Exceeded { what, limit });
        self.bytes_left = self
            .bytes_left
            .checked_sub(read as u64)
            .ok_or_else(|| exceeded("bytes, unpacked", self.limits.layer_bytes))?;
        self.ratio_left = self
            .ratio_left
            .checked_sub(read as u64)
            .ok_or_else(|| exceeded("times its own size, unpacked", self.limits.compression_ratio))?;
        Ok(read)
    }
}

/// Finds out what an error from reading a layer means.
pub(super) fn unreadable(layer: Digest, after: &str, error: io::Error) -> UnpackError {
    let error = match error.downcast::<Exceeded>() {
        Ok(Exceeded { what, limit }) => return UnpackError::LayerTooBig { layer, what, limit },
        Err(error) => error,
    };
    match error.downcast::<ContentError>() {
        Ok(damaged) => UnpackError::Content(damaged),
        Err(source) => UnpackError::Unreadable {
            layer,
            after: after.to_owned(),
            source,
        },
    }
}
