//! What is to be released: the record that was made of a render, and its objects.

use std::collections::BTreeMap;

use chart::release::Release;
use serde_json::Value;

use crate::documents::{self, Document, DocumentError};

/// A rendered release that nothing was done with yet.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(crate) release: Release,
    pub(crate) documents: Vec<Document>,
    pub(crate) labels: BTreeMap<String, String>,
}

impl Prepared {
    /// Takes the record of a render, with manifest, hooks and notes in place, and reads its objects.
    pub fn new(release: Release) -> Result<Self, DocumentError> {
        let documents = documents::read(&release.manifest)?;
        Ok(Self::with_documents(release, documents))
    }

    /// Takes the record of a render and the objects of its manifest, which need not be read again.
    pub fn with_objects(release: Release, objects: Vec<Value>) -> Result<Self, DocumentError> {
        let documents = documents::of_objects(objects)?;
        Ok(Self::with_documents(release, documents))
    }

    /// Takes the record of a render and the documents of its manifest.
    pub fn with_documents(release: Release, documents: Vec<Document>) -> Self {
        Self {
            release,
            documents,
            labels: BTreeMap::new(),
        }
    }

    /// Sets labels of the user on the record's Secret.
    pub fn user_labels(mut self, labels: BTreeMap<String, String>) -> Self {
        self.labels = labels;
        self
    }

    /// The record, as it would be written.
    pub fn release(&self) -> &Release {
        &self.release
    }

    /// The objects of the manifest, in its order.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }
}
