//! Chart archives: `.tgz` files, read with Helm's limits and written reproducibly.

mod content_type;
mod read;
mod write;

use thiserror::Error;

pub use read::{ArchiveError, read, read_file};
pub use write::{PackageError, PackageOptions, file_name, write};

/// The mark with which some Windows programs start UTF-8 files; it is not content.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The largest file that Helm loads.
pub const MAX_FILE_SIZE: u64 = 5 * 1024 * 1024;

/// The most that Helm decompresses out of one archive.
pub const MAX_ARCHIVE_SIZE: u64 = 100 * 1024 * 1024;

/// How many files one chart may have, subcharts included. The largest public charts have fewer than 2 000; an archive of
/// empty files would otherwise exhaust memory by names alone.
const MAX_FILES: usize = 100_000;

/// The most bytes one chart may have, archives inside archives included: Helm's limit counts each archive for itself,
/// so that a few nested ones could fill any memory.
const MAX_TOTAL_SIZE: u64 = 4 * MAX_ARCHIVE_SIZE;

/// What is left to read of a chart before it counts as an attack.
#[derive(Debug)]
pub struct Budget {
    files: usize,
    bytes: u64,
}

/// A chart has more files or bytes than are read.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum OverBudget {
    /// Too many files.
    #[error("chart has more than {MAX_FILES} files")]
    Files,
    /// Too many bytes.
    #[error("chart and its subcharts are larger than {MAX_TOTAL_SIZE} bytes")]
    Bytes,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            files: MAX_FILES,
            bytes: MAX_TOTAL_SIZE,
        }
    }
}

impl Budget {
    pub(crate) fn count_file(&mut self) -> Result<(), OverBudget> {
        self.files = self.files.checked_sub(1).ok_or(OverBudget::Files)?;
        Ok(())
    }

    pub(crate) fn count_bytes(&mut self, bytes: u64) -> Result<(), OverBudget> {
        self.bytes = self.bytes.checked_sub(bytes).ok_or(OverBudget::Bytes)?;
        Ok(())
    }
}
