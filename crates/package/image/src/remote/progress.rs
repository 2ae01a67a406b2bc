//! Telling a person how far things are.

use crate::digest::Digest;

/// Which way a blob goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From a registry.
    Download,
    /// To a registry.
    Upload,
}

/// How a blob got where it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Its bytes went over the network.
    Transferred,
    /// It was there already.
    AlreadyThere,
    /// The registry took it from another repository of its own.
    Mounted,
}

/// Hears of the blobs that are moved; several at a time.
pub trait Progress: Send + Sync {
    /// A blob of this size is about to be moved.
    fn started(&self, direction: Direction, blob: &Digest, size: u64) {
        let _ = (direction, blob, size);
    }

    /// So many bytes of a blob are there by now; after a fresh start it may be fewer than before.
    fn reached(&self, blob: &Digest, position: u64) {
        let _ = (blob, position);
    }

    /// A blob is where it should be.
    fn finished(&self, blob: &Digest, outcome: Outcome) {
        let _ = (blob, outcome);
    }
}

/// Says nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {}
