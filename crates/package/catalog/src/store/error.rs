//! Why a store can't be written or read.

use std::io;
use std::path::{Path, PathBuf};

/// Why a store can't be written or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system refused; the file isn't to blame.
    #[error("cannot {action} catalog store {}: {cause}", path.display())]
    Io {
        /// What was being done, such as `open`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the file system said.
        cause: io::Error,
    },
    /// The file isn't a store that this program wrote whole; building it again is the remedy.
    #[error("catalog store {} is not usable: {flaw}; delete it and it is built again", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        flaw: Flaw,
    },
    /// The catalog has more of something than a store can number.
    #[error("the catalog has more than {limit} {what}, which is more than a store can hold: split it")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much of it a store can hold.
        limit: u64,
    },
}

impl StoreError {
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io {
            action,
            path: path.to_path_buf(),
            cause,
        }
    }

    /// Whether building the store again is the remedy.
    pub fn calls_for_rebuild(&self) -> bool {
        matches!(self, Self::Unusable { .. })
    }
}

/// What is wrong with a store's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// It doesn't begin as a store does.
    #[error("it is another kind of file")]
    Foreign,
    /// Another version of this program wrote it.
    #[error("it has format {0}, which this version does not read")]
    OtherFormat(u32),
    /// It is shorter or longer than it says.
    #[error("it was not written to its end")]
    Truncated,
    /// It holds another catalog than its name says.
    #[error("it holds another catalog")]
    OtherDigest,
    /// Bytes have changed since it was written.
    #[error("the checksum of its {0} is wrong")]
    Checksum(&'static str),
    /// Its parts contradict each other.
    #[error("its {0} contradicts the rest")]
    Inconsistent(&'static str),
}
