//! Heads of documents that were read before: a second render of a chart prints mostly the same documents.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use aws_lc_rs::digest::{SHA256, digest};

use super::Head;

/// How many heads are kept; a chart has hundreds of documents at the most.
const MAX_HEADS: usize = 10_000;

type Digest = [u8; 32];

/// The heads of documents, by the digest of the whole document.
#[derive(Default)]
pub struct Heads {
    by_digest: Mutex<HashMap<Digest, Head>>,
}

impl Heads {
    /// Reads the head of a document, or remembers it. All of the document must be YAML; the error is Go's text.
    pub fn read(&self, document: &[u8]) -> Result<Head, String> {
        let hash = digest(&SHA256, document);
        let Ok(key) = Digest::try_from(hash.as_ref()) else {
            return Head::read(document);
        };
        if let Some(head) = self
            .by_digest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key)
        {
            return Ok(head.clone());
        }
        let head = Head::read(document)?;
        let mut by_digest = self.by_digest.lock().unwrap_or_else(PoisonError::into_inner);
        if by_digest.len() >= MAX_HEADS {
            by_digest.clear();
        }
        by_digest.insert(key, head.clone());
        Ok(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_the_same_the_second_time_and_another_document_has_its_own() {
        let heads = Heads::default();
        let first = heads.read(b"kind: A\nmetadata: {name: a}\n").expect("a document");
        assert_eq!(
            heads.read(b"kind: A\nmetadata: {name: a}\n").expect("a document"),
            first
        );
        assert_eq!(heads.read(b"kind: B\n").expect("a document").kind, "B");
        assert!(heads.read(b"kind: [\n").is_err());
        assert!(heads.read(b"kind: [\n").is_err(), "an error is not forgotten");
    }
}
