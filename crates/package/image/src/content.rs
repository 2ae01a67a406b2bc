//! The content store: blobs on disk, each under the digest of its bytes.
