//! One version of an object, as it is stored.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::encoding::{Draft, with_revision};
use super::key::Key;

/// One version of an object: its JSON, and what filters and indices need of it without parsing.
#[derive(Debug)]
pub struct Stored {
    /// What it is stored under.
    pub key: Key,
    /// The revision of the write that made this version; the JSON has it as `metadata.resourceVersion`.
    pub revision: u64,
    /// The object as JSON on one line, as Go writes it.
    pub bytes: Bytes,
    /// Its labels.
    pub labels: Labels,
    /// Its uid; empty when it has none.
    pub uid: Arc<str>,
    /// The uids of its owners, in the order of `metadata.ownerReferences`.
    pub owners: Box<[Arc<str>]>,
    /// Its `metadata.generation`; 0 when it has none.
    pub generation: i64,
    /// Whether it has a `metadata.deletionTimestamp`.
    pub deleting: bool,
    revision_at: u32,
    /// A boxed one, because most objects never have it.
    binary: OnceLock<Option<Box<Bytes>>>,
}

impl Stored {
    pub(super) fn finish(key: Key, revision: u64, draft: Draft) -> Self {
        let (bytes, revision_at, summary) = draft.finish(revision);
        Self::assemble(key, revision, bytes, revision_at, summary)
    }

    pub(super) fn assemble(
        key: Key,
        revision: u64,
        bytes: Bytes,
        revision_at: u32,
        summary: Summary,
    ) -> Self {
        let Summary {
            labels,
            uid,
            owners,
            generation,
            deleting,
        } = summary;
        Self {
            key,
            revision,
            bytes,
            labels,
            uid,
            owners,
            generation,
            deleting,
            revision_at,
            binary: OnceLock::new(),
        }
    }

    /// Returns the same object as of another revision: what a deletion shows of it.
    pub fn at_revision(&self, revision: u64) -> Self {
        Self {
            key: self.key.clone(),
            revision,
            bytes: with_revision(&self.bytes, self.revision_at, self.revision, revision),
            labels: self.labels.clone(),
            uid: self.uid.clone(),
            owners: self.owners.clone(),
            generation: self.generation,
            deleting: self.deleting,
            revision_at: self.revision_at,
            binary: OnceLock::new(),
        }
    }

    pub(super) fn revision_at(&self) -> u32 {
        self.revision_at
    }

    /// Returns the object's `apiVersion`; empty where it has none.
    pub fn api_version(&self) -> &str {
        self.typed().map_or("", |(api_version, _)| api_version)
    }

    /// Returns what follows the kind and the version in the JSON: with a `{` before it, the object as a list shows it.
    pub fn after_type(&self) -> &[u8] {
        self.typed()
            .map_or(self.bytes.get(1..).unwrap_or_default(), |(_, rest)| rest)
    }

    fn typed(&self) -> Option<(&str, &[u8])> {
        let rest = self.bytes.strip_prefix(b"{\"kind\":\"")?;
        let rest = &rest[memchr::memchr(b'"', rest)?..];
        let rest = rest.strip_prefix(b"\",\"apiVersion\":\"")?;
        let end = memchr::memchr(b'"', rest)?;
        let api_version = std::str::from_utf8(&rest[..end]).ok()?;
        Some((api_version, rest[end..].strip_prefix(b"\",")?))
    }

    /// Returns the object in another form than JSON, which `encode` writes at first use; `None` if it can't.
    ///
    /// There is one such form: lists of many objects are put together from it.
    pub fn binary(&self, encode: impl FnOnce(&Value) -> Option<Vec<u8>>) -> Option<&Bytes> {
        self.binary
            .get_or_init(|| encode(&self.value()).map(|bytes| Box::new(Bytes::from(bytes))))
            .as_deref()
    }

    /// Parses the JSON.
    pub fn value(&self) -> Value {
        read_deep(&self.bytes).unwrap_or(Value::Null)
    }
}

/// Reads what was stored: serde's reader is the faster one, but gives up at a depth that the API allows.
fn read_deep(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(bytes)
        .or_else(|error| goyaml::json::to_value(bytes, goyaml::ReadOptions::default()).map_err(|_| error))
}

/// What is known of an object without parsing it.
#[derive(Debug, Default)]
pub(super) struct Summary {
    labels: Labels,
    uid: Arc<str>,
    owners: Box<[Arc<str>]>,
    generation: i64,
    deleting: bool,
}

impl Summary {
    pub(super) fn of(metadata: &Map<String, Value>) -> Self {
        let nothing = Value::Null;
        let field = |name| metadata.get(name).unwrap_or(&nothing);
        Self::from_fields(
            field("labels"),
            field("uid"),
            field("ownerReferences"),
            field("generation"),
            field("deletionTimestamp"),
        )
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        // Only these fields are built: managedFields, often the larger half, is skipped over.
        #[derive(Deserialize)]
        struct Object {
            metadata: Metadata,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Metadata {
            #[serde(default)]
            labels: Value,
            #[serde(default)]
            uid: Value,
            #[serde(default)]
            owner_references: Value,
            #[serde(default)]
            generation: Value,
            #[serde(default)]
            deletion_timestamp: Value,
        }
        let Object { metadata } = match serde_json::from_slice(bytes) {
            Ok(object) => object,
            Err(_) => serde_json::from_value(read_deep(bytes)?)?,
        };
        Ok(Self::from_fields(
            &metadata.labels,
            &metadata.uid,
            &metadata.owner_references,
            &metadata.generation,
            &metadata.deletion_timestamp,
        ))
    }

    fn from_fields(
        labels: &Value,
        uid: &Value,
        owners: &Value,
        generation: &Value,
        deletion_timestamp: &Value,
    ) -> Self {
        let owners = owners.as_array().map(Vec::as_slice).unwrap_or_default();
        Self {
            labels: labels.as_object().map(Labels::of).unwrap_or_default(),
            uid: uid.as_str().unwrap_or_default().into(),
            owners: owners
                .iter()
                .filter_map(|owner| owner.get("uid")?.as_str())
                .map(Arc::from)
                .collect(),
            generation: generation.as_i64().unwrap_or_default(),
            deleting: !deletion_timestamp.is_null(),
        }
    }
}

/// The labels of an object, sorted by key.
///
/// All keys and values share one text, because a store holds many small sets of labels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    text: Box<str>,
    /// Where each key and each value ends, in turn.
    ends: Box<[u32]>,
}

impl Labels {
    fn of(labels: &Map<String, Value>) -> Self {
        let mut text = String::new();
        let mut ends = Vec::with_capacity(labels.len() * 2);
        for (key, value) in labels {
            let Some(value) = value.as_str() else { continue };
            for part in [key.as_str(), value] {
                text.push_str(part);
                ends.push(text.len() as u32);
            }
        }
        Self {
            text: text.into(),
            ends: ends.into(),
        }
    }

    /// Returns the value of a label.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.iter()
            .find(|(candidate, _)| *candidate == key)
            .map(|(_, value)| value)
    }

    /// Returns whether there is no label.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns how many labels there are.
    pub fn len(&self) -> usize {
        self.ends.len() / 2
    }

    /// Walks over keys and values, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut start = 0;
        self.ends.chunks_exact(2).filter_map(move |ends| {
            let [key_end, value_end] = ends else { return None };
            let (key_end, value_end) = (*key_end as usize, *value_end as usize);
            let label = (self.text.get(start..key_end)?, self.text.get(key_end..value_end)?);
            start = value_end;
            Some(label)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_summary_of_a_value_and_of_its_json_are_the_same() {
        let value = json!({
            "metadata": {
                "labels": {"app": "web", "": "empty", "tier": "", "odd": 3},
                "uid": "u-1",
                "generation": 4,
                "ownerReferences": [{"uid": "o-1"}, {"name": "without"}, {"uid": "o-2"}],
                "deletionTimestamp": "2026-01-01T00:00:00Z",
                "managedFields": [{"fieldsV1": {}}],
            },
        });
        let of_value = Summary::of(value["metadata"].as_object().unwrap());
        let of_bytes = Summary::read(value.to_string().as_bytes()).unwrap();
        for summary in [of_value, of_bytes] {
            let labels: Vec<_> = summary.labels.iter().collect();
            assert_eq!(labels, [("", "empty"), ("app", "web"), ("tier", "")]);
            assert_eq!(summary.labels.get("tier"), Some(""));
            assert_eq!(summary.labels.get("odd"), None);
            assert_eq!(summary.labels.len(), 3);
            assert_eq!(&*summary.uid, "u-1");
            assert_eq!(
                summary.owners.iter().map(|owner| &**owner).collect::<Vec<_>>(),
                ["o-1", "o-2"]
            );
            assert_eq!(summary.generation, 4);
            assert!(summary.deleting);
        }
    }
}
