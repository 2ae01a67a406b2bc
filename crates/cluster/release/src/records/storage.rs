//! How a record is stored: in one Secret as Helm does, or in several where one is too small.
//!
//! A record that Helm can read beats one that is complete. So what is too large first leaves out what no command of Helm
//! needs once a release is made: files of the chart, its templates, its schema. `helm list`, `history`, `status` and
//! `get` read the record's own fields, the chart's metadata and its values; `rollback` copies manifest and hooks;
//! `upgrade` brings its own chart.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chart::release::chunks::{
    CHUNK_KEY, CHUNK_SIZE, CHUNK_TYPE, FURTHER_KEY, INDEX_TYPE, MAX_CHUNKS, chunk_name, further_names,
};
use chart::release::{Release, Spare};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

use super::RecordError;

/// The most bytes that a Secret holds.
const MAX_SECRET: usize = 1 << 20;

/// What a record may still grow by: the words on what went wrong with it, and how its hooks went.
const GROWTH: usize = 64 << 10;

/// The most letters of a label.
pub(super) const MAX_LABEL: usize = 63;

/// What is left out, one after the other, until a record fits.
const SPARES: [Spare; 4] = [Spare::Files, Spare::Definitions, Spare::Templates, Spare::Schema];

/// In which form a record is kept. The type of a Secret never changes, so neither does this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One Secret, as Helm has it.
    Helm,
    /// An index and further chunks.
    Chunked { further: Vec<String> },
}

impl Form {
    /// The names of the Secrets besides the first.
    pub(super) fn further(&self) -> &[String] {
        match self {
            Self::Helm => &[],
            Self::Chunked { further } => further,
        }
    }
}

/// What is put into Secrets.
pub(super) enum Stored {
    /// The text for one Secret.
    Whole(String),
    /// The chunks, the first one for the index.
    Chunks(Vec<Vec<u8>>),
}

/// Encodes a new record, so that it may still grow.
pub(super) fn fit(release: &Release) -> Result<Stored, RecordError> {
    match whole(release, MAX_SECRET - GROWTH) {
        Some(data) => Ok(Stored::Whole(data)),
        None => cut(release),
    }
}

/// Encodes a record that is stored already, in the form that it has.
pub(super) fn refit(release: &Release, form: &Form) -> Result<Stored, RecordError> {
    match form {
        Form::Chunked { .. } => cut(release),
        Form::Helm => match whole(release, MAX_SECRET) {
            Some(data) => Ok(Stored::Whole(data)),
            None => Err(too_large(release, release.encode().len())),
        },
    }
}

/// Encodes a record for one Secret, without what has to be left out for that; none if nothing helps.
fn whole(release: &Release, limit: usize) -> Option<String> {
    let data = release.encode();
    if data.len() <= limit {
        return Some(data);
    }
    let mut smaller = release.clone();
    for spare in SPARES {
        smaller.chart = smaller.chart.without(spare);
        let data = smaller.encode();
        if data.len() <= limit {
            return Some(data);
        }
    }
    None
}

/// Encodes a record for several Secrets; nothing is left out.
fn cut(release: &Release) -> Result<Stored, RecordError> {
    let data = release.compress();
    match in_chunks(&data) {
        Some(chunks) => Ok(Stored::Chunks(chunks)),
        None => Err(too_large(release, data.len())),
    }
}

/// Cuts what is compressed into chunks; none if there would be more of them than readers take.
fn in_chunks(data: &[u8]) -> Option<Vec<Vec<u8>>> {
    let is_small_enough = data.len() <= CHUNK_SIZE * MAX_CHUNKS;
    is_small_enough.then(|| data.chunks(CHUNK_SIZE).map(<[u8]>::to_vec).collect())
}

fn too_large(release: &Release, bytes: usize) -> RecordError {
    RecordError::TooLarge {
        name: release.name.clone(),
        version: release.version,
        bytes,
    }
}

/// A Secret as it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SecretBody<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: &'a ObjectMeta,
    #[serde(rename = "type")]
    secret_type: &'static str,
    data: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    immutable: Option<bool>,
}

impl<'a> SecretBody<'a> {
    pub(super) fn new(
        metadata: &'a ObjectMeta,
        secret_type: &'static str,
        key: &'static str,
        data: &[u8],
    ) -> Self {
        Self {
            api_version: "v1",
            kind: "Secret",
            metadata,
            secret_type,
            data: BTreeMap::from([(key, STANDARD.encode(data))]),
            immutable: None,
        }
    }

    /// Makes the Secret by which a chunked record is found.
    pub(super) fn index(metadata: &'a ObjectMeta, first: &[u8], further: &[String]) -> Self {
        let mut index = Self::new(metadata, INDEX_TYPE, CHUNK_KEY, first);
        let names = serde_json::to_vec(further).unwrap_or_default();
        index.data.insert(FURTHER_KEY, STANDARD.encode(names));
        index.immutable = Some(false);
        index
    }

    /// Writes the request.
    pub(super) fn written(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Writes the Secret of a further chunk; it belongs to whom the record belongs to.
pub(super) fn chunk_body(key: &str, chunk: &[u8], index: &ObjectMeta) -> Vec<u8> {
    let mut labels = BTreeMap::from([
        ("owner".to_owned(), "helm".to_owned()),
        ("type".to_owned(), "chunk".to_owned()),
    ]);
    if key.len() <= MAX_LABEL {
        labels.insert("key".to_owned(), key.to_owned());
    }
    let metadata = ObjectMeta {
        name: Some(chunk_name(key, chunk)),
        namespace: index.namespace.clone(),
        labels: Some(labels),
        owner_references: index.owner_references.clone(),
        ..ObjectMeta::default()
    };
    let mut body = SecretBody::new(&metadata, CHUNK_TYPE, CHUNK_KEY, chunk);
    body.immutable = Some(true);
    body.written()
}

/// A Secret as it is read.
#[derive(Deserialize)]
pub(super) struct StoredSecret {
    pub(super) metadata: ObjectMeta,
    #[serde(rename = "type", default)]
    pub(super) kind: String,
    #[serde(default)]
    data: BTreeMap<String, String>,
}

impl StoredSecret {
    pub(super) fn release(&self) -> Result<Vec<u8>, RecordError> {
        self.value("release")
    }

    pub(super) fn chunk(&self) -> Result<Vec<u8>, RecordError> {
        self.value(CHUNK_KEY)
    }

    /// The names of the Secrets that hold the rest.
    pub(super) fn further_chunks(&self) -> Result<Vec<String>, RecordError> {
        let names =
            further_names(&self.value(FURTHER_KEY)?).map_err(|cause| self.unreadable(&cause.to_string()))?;
        if names.len() >= MAX_CHUNKS {
            return Err(self.unreadable(&format!("it has more than {MAX_CHUNKS} chunks")));
        }
        Ok(names)
    }

    fn value(&self, key: &str) -> Result<Vec<u8>, RecordError> {
        let value = self
            .data
            .get(key)
            .ok_or_else(|| self.unreadable(&format!("it has no {key:?}")))?;
        STANDARD
            .decode(value)
            .map_err(|cause| self.unreadable(&format!("{key:?} is no base64: {cause}")))
    }

    fn unreadable(&self, cause: &str) -> RecordError {
        RecordError::Unreadable {
            secret: self.metadata.name.clone().unwrap_or_default(),
            cause: cause.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text that doesn't shrink.
    fn noise(bytes: usize, seed: u64) -> String {
        let mut state = seed | 1;
        let mut letter = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            char::from(
                b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[(state >> 58) as usize],
            )
        };
        (0..bytes).map(|_| letter()).collect()
    }

    fn release(files: usize, templates: usize, manifest: usize) -> Release {
        let json = serde_json::json!({
            "name": "a", "version": 1, "namespace": "n", "manifest": noise(manifest, 1),
            "chart": {"metadata": {"name": "c"}, "values": {"x": 1},
                "templates": [{"name": "templates/t.yaml", "data": noise(templates, 2)}],
                "files": [{"name": "logo.png", "data": noise(files, 3)}, {"name": "crds/a.yaml", "data": "YQ=="}]},
        });
        Release::from_json(&json.to_string()).expect("a release")
    }

    fn kept(release: &Release) -> String {
        match fit(release).expect("it fits") {
            Stored::Chunks(chunks) => format!("{} chunks", chunks.len()),
            Stored::Whole(data) => {
                assert!(data.len() <= MAX_SECRET);
                let stored = Release::decode(data.as_bytes()).expect("a record");
                assert_eq!(stored.manifest, release.manifest);
                let part = |name: &'static str| {
                    stored
                        .chart
                        .part(name)
                        .map(serde_json::value::RawValue::get)
                        .unwrap_or_default()
                };
                let has = |name: &'static str, what: &'static str| part(name).contains(what).then_some(what);
                let kept = [
                    has("files", "logo.png"),
                    has("files", "crds/a.yaml"),
                    has("templates", "t.yaml"),
                    (part("templates").len() > 50).then_some("content of it"),
                    has("values", "x"),
                ];
                kept.into_iter().flatten().collect::<Vec<_>>().join(", ")
            }
        }
    }

    #[test]
    fn what_helm_does_not_need_is_left_out_first() {
        let many = 1 << 20;
        assert_eq!(
            kept(&release(100, 100, 10)),
            "logo.png, crds/a.yaml, t.yaml, content of it, x"
        );
        assert_eq!(
            kept(&release(many, 100, 10)),
            "crds/a.yaml, t.yaml, content of it, x"
        );
        assert_eq!(kept(&release(many, many, 10)), "t.yaml, x");
        assert_eq!(kept(&release(10, 10, 3 * many)), "3 chunks");
    }

    #[test]
    fn chunks_hold_everything() {
        let release = release(1 << 20, 10, 2 << 20);
        let Stored::Chunks(chunks) = fit(&release).expect("it fits") else {
            panic!("too large for one Secret");
        };
        assert!(chunks.iter().all(|chunk| chunk.len() <= CHUNK_SIZE));
        let again = Release::decompress(&chunks.concat()).expect("a record");
        assert_eq!(again.to_json(), release.to_json());
    }

    #[test]
    fn what_is_too_large_says_so() {
        assert_eq!(
            in_chunks(&vec![0; CHUNK_SIZE * MAX_CHUNKS]).map(|chunks| chunks.len()),
            Some(MAX_CHUNKS)
        );
        assert_eq!(in_chunks(&vec![0; CHUNK_SIZE * MAX_CHUNKS + 1]), None);
        let error = too_large(&release(1, 1, 1), 7).to_string();
        assert_eq!(
            error,
            "the record of revision 1 of release \"a\" has 7 bytes compressed, more than can be kept; leave large files out \
             of the chart"
        );
    }
}
