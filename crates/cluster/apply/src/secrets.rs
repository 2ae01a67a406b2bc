//! Secrets: where the objects of a revision are kept, since a revision itself has no room for them.
//!
//! Names and keys follow from what is kept, so that packing the same objects again gives the same Secrets. They are
//! immutable: what a revision holds can't change behind its back.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

use api::cluster_object_set::{ObjectReference, Phase, PhaseObject};
use api::keys;
use aws_lc_rs::digest::{Context, SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use goyaml::ReadOptions;
use goyaml::json::{Escape, kind_word, to_string, to_value};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use crate::digests::hexadecimal;

/// The most bytes of data in one Secret: base64 and metadata must still fit into etcd's 1.5 MiB.
pub const SECRET_LIMIT: usize = 900 * 1024;

/// The most bytes that a compressed object may become: a small Secret must not fill the memory.
pub const OBJECT_LIMIT: usize = 10 * 1024 * 1024;

/// How many bytes of the digest of what a Secret holds stand in its name.
const BYTES_IN_NAME: usize = 8;

/// For whom Secrets are made, and where.
#[derive(Debug, Clone, Copy)]
pub struct Destination<'a> {
    /// The revision whose objects are kept.
    pub revision: &'a str,
    /// The extension that the revision belongs to.
    pub owner: &'a str,
    /// The namespace of the Secrets.
    pub namespace: &'a str,
}

/// Secrets, and which of them keeps which object.
#[derive(Debug, Clone, Default)]
pub struct Packed {
    /// The Secrets, to be made before the revision.
    pub secrets: Vec<Secret>,
    /// Where each object went, by the index of its phase and its own.
    pub references: BTreeMap<(usize, usize), ObjectReference>,
}

impl Packed {
    /// Returns the phases with a reference in place of each object that was packed.
    pub fn referring(&self, phases: Vec<Phase>) -> Vec<Phase> {
        let mut phases = phases;
        for (phase_index, phase) in phases.iter_mut().enumerate() {
            for (index, entry) in phase.objects.iter_mut().enumerate() {
                if let Some(reference) = self.references.get(&(phase_index, index)) {
                    entry.object = None;
                    entry.reference = Some(reference.clone());
                }
            }
        }
        phases
    }
}

/// An object that can't be kept.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// It can't be written as JSON.
    #[error("serializing object in phase {phase} index {index}: {cause}")]
    Unwritable {
        /// The index of its phase.
        phase: usize,
        /// Its own index.
        index: usize,
        /// Why.
        cause: String,
    },
    /// It is too large for a Secret.
    #[error(
        "object in phase {phase} index {index} exceeds maximum Secret data size ({size} bytes > {SECRET_LIMIT} bytes) even after compression"
    )]
    TooLarge {
        /// The index of its phase.
        phase: usize,
        /// Its own index.
        index: usize,
        /// How many bytes it has.
        size: usize,
    },
}

/// A Secret that is being filled.
#[derive(Default)]
struct Filling {
    data: BTreeMap<String, Vec<u8>>,
    size: usize,
    places: Vec<((usize, usize), String)>,
}

/// Packs the objects of phases into Secrets; entries that refer to one already are left alone.
pub fn pack(phases: &[Phase], destination: Destination<'_>) -> Result<Packed, PackError> {
    let mut packed = Packed::default();
    let mut filling = Filling::default();
    for (phase_index, phase) in phases.iter().enumerate() {
        for (index, entry) in phase.objects.iter().enumerate() {
            let PhaseObject {
                object: Some(object), ..
            } = entry
            else {
                continue;
            };
            let data = written(object, phase_index, index)?;
            let key = URL_SAFE_NO_PAD.encode(digest(&SHA256, &data));
            if !filling.data.contains_key(&key) {
                if filling.size + data.len() > SECRET_LIMIT && !filling.data.is_empty() {
                    std::mem::take(&mut filling).finish(destination, &mut packed);
                }
                filling.size += data.len();
                filling.data.insert(key.clone(), data);
            }
            filling.places.push(((phase_index, index), key));
        }
    }
    filling.finish(destination, &mut packed);
    Ok(packed)
}

fn written(object: &Value, phase: usize, index: usize) -> Result<Vec<u8>, PackError> {
    let unwritable = |cause: String| PackError::Unwritable { phase, index, cause };
    let mut data = to_string(object, Escape::Html)
        .map_err(|error| unwritable(error.to_string()))?
        .into_bytes();
    if data.len() > SECRET_LIMIT {
        data = compressed(&data).map_err(|error| unwritable(error.to_string()))?;
    }
    if data.len() > SECRET_LIMIT {
        return Err(PackError::TooLarge {
            phase,
            index,
            size: data.len(),
        });
    }
    Ok(data)
}

fn compressed(data: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data)?;
    encoder.finish()
}

impl Filling {
    fn finish(self, destination: Destination<'_>, packed: &mut Packed) {
        if self.data.is_empty() {
            return;
        }
        let mut hasher = Context::new(&SHA256);
        for (key, value) in &self.data {
            hasher.update(key.as_bytes());
            hasher.update(value);
        }
        let hash = hasher.finish();
        let name = format!(
            "{}-{}",
            destination.revision,
            hexadecimal(hash.as_ref().get(..BYTES_IN_NAME).unwrap_or_default())
        );
        for (place, key) in self.places {
            packed.references.insert(
                place,
                ObjectReference {
                    name: name.clone(),
                    namespace: destination.namespace.to_owned(),
                    key,
                },
            );
        }
        let labels = [
            (keys::REVISION_NAME, destination.revision),
            (keys::OWNER_NAME, destination.owner),
        ];
        packed.secrets.push(Secret {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(destination.namespace.to_owned()),
                labels: Some(
                    labels
                        .map(|(key, value)| (key.to_owned(), value.to_owned()))
                        .into(),
                ),
                ..ObjectMeta::default()
            },
            immutable: Some(true),
            type_: Some(keys::OBJECT_DATA.to_owned()),
            data: Some(
                self.data
                    .into_iter()
                    .map(|(key, value)| (key, ByteString(value)))
                    .collect(),
            ),
            string_data: None,
        });
    }
}

/// What is wrong with what a Secret holds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The key isn't there.
    #[error("key {key:?} not found in Secret {secret}")]
    NoKey {
        /// The key.
        key: String,
        /// The Secret, as `namespace/name`.
        secret: String,
    },
    /// It looks compressed and isn't.
    #[error("decompressing key {key:?} in Secret {secret}: {cause}")]
    NotCompressed {
        /// The key.
        key: String,
        /// The Secret, as `namespace/name`.
        secret: String,
        /// Why.
        cause: String,
    },
    /// It becomes too large.
    #[error(
        "decompressed data for key {key:?} in Secret {secret} exceeds maximum size ({OBJECT_LIMIT} bytes)"
    )]
    TooLarge {
        /// The key.
        key: String,
        /// The Secret, as `namespace/name`.
        secret: String,
    },
    /// It is not an object.
    #[error("unmarshaling object from key {key:?} in Secret {secret}: {cause}")]
    NotAnObject {
        /// The key.
        key: String,
        /// The Secret, as `namespace/name`.
        secret: String,
        /// Why.
        cause: String,
    },
}

/// Reads the object that a Secret keeps under a key.
pub fn read(secret: &Secret, namespace: &str, name: &str, key: &str) -> Result<Value, ReadError> {
    let (secret_text, key_text) = (format!("{namespace}/{name}"), key.to_owned());
    let Some(ByteString(data)) = secret.data.as_ref().and_then(|data| data.get(key)) else {
        return Err(ReadError::NoKey {
            key: key_text,
            secret: secret_text,
        });
    };
    let decompressed;
    let mut data = data.as_slice();
    if data.starts_with(&[0x1f, 0x8b]) {
        let mut bytes = Vec::new();
        let read = MultiGzDecoder::new(data)
            .take(OBJECT_LIMIT as u64 + 1)
            .read_to_end(&mut bytes);
        if let Err(error) = read {
            return Err(ReadError::NotCompressed {
                key: key_text,
                secret: secret_text,
                cause: error.to_string(),
            });
        }
        if bytes.len() > OBJECT_LIMIT {
            return Err(ReadError::TooLarge {
                key: key_text,
                secret: secret_text,
            });
        }
        decompressed = bytes;
        data = &decompressed;
    }
    let cause = match to_value(data, ReadOptions::default()) {
        Ok(object @ Value::Object(_)) => return Ok(object),
        Ok(other) => format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            kind_word(&other)
        ),
        Err(error) => error.to_string(),
    };
    Err(ReadError::NotAnObject {
        key: key_text,
        secret: secret_text,
        cause,
    })
}

/// Says which of the Secrets could still change; none if all are immutable.
pub fn mutable_ones<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Option<String> {
    let mutable: Vec<String> = secrets
        .into_iter()
        .filter(|secret| secret.immutable != Some(true))
        .map(|secret| {
            format!(
                "{}/{}",
                secret.metadata.namespace.as_deref().unwrap_or_default(),
                secret.metadata.name.as_deref().unwrap_or_default()
            )
        })
        .collect();
    (!mutable.is_empty()).then(|| {
        format!(
            "the following secrets are not immutable (referenced secrets must have immutable set to true): {}",
            mutable.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn holding(data: Vec<u8>) -> Secret {
        Secret {
            data: Some(BTreeMap::from([("key".to_owned(), ByteString(data))])),
            ..Secret::default()
        }
    }

    #[test]
    fn what_expands_too_far_is_refused() {
        let data = compressed(&vec![b' '; OBJECT_LIMIT + 1]).expect("compressed");
        let error = read(&holding(data), "a", "b", "key").expect_err("a bomb");
        assert_eq!(
            error.to_string(),
            "decompressed data for key \"key\" in Secret a/b exceeds maximum size (10485760 bytes)"
        );
    }

    #[test]
    fn only_objects_are_read() {
        let error = read(&holding(b"[1]".to_vec()), "a", "b", "key").expect_err("a list");
        assert_eq!(
            error.to_string(),
            "unmarshaling object from key \"key\" in Secret a/b: json: cannot unmarshal array into Go value of type map[string]interface {}"
        );
        let error = read(&holding(vec![0x1f, 0x8b, 0]), "a", "b", "key").expect_err("broken");
        assert!(
            error
                .to_string()
                .starts_with("decompressing key \"key\" in Secret a/b: "),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn what_is_packed_is_read_back(texts in proptest::collection::vec(".{0,40}", 0..20)) {
            let objects: Vec<Value> = texts.iter().map(|text| json!({"kind": "ConfigMap", "data": {"a": text}})).collect();
            let phases = crate::phases::phases_of(objects);
            let destination = Destination { revision: "a-1", owner: "a", namespace: "system" };
            let packed = pack(&phases, destination).expect("packed");
            for (phase_index, phase) in phases.iter().enumerate() {
                for (index, entry) in phase.objects.iter().enumerate() {
                    let reference = &packed.references[&(phase_index, index)];
                    let secret = packed
                        .secrets
                        .iter()
                        .find(|secret| secret.metadata.name.as_ref() == Some(&reference.name))
                        .expect("the Secret");
                    let object = read(secret, "system", &reference.name, &reference.key).expect("an object");
                    prop_assert_eq!(Some(&object), entry.object.as_ref());
                }
            }
        }
    }
}
