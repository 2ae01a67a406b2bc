//! One change as the journal has it, with a checksum of its own.
//!
//! ```text
//! checksum u32 │ revision u64 │ flags u8 │ place of the revision in the JSON u32
//! │ length u32, resource │ length u32, namespace │ length u32, name │ JSON
//! ```
//! Numbers are little-endian; the checksum is the CRC-32 of everything behind it.

use bytes::Bytes;

use crate::store::key::{Key, ResourceKey};
use crate::store::stored::{Stored, Summary};

const DELETED: u8 = 1;
const COMPLETES: u8 = 2;

/// A change that was read back.
#[derive(Debug)]
pub(in crate::store) struct Entry {
    pub(in crate::store) object: Stored,
    pub(in crate::store) deleted: bool,
    /// Whether the changes that go together end here.
    pub(in crate::store) completes: bool,
}

/// Writes a change.
pub(super) fn encode(object: &Stored, deleted: bool, completes: bool) -> Vec<u8> {
    let Key {
        resource,
        namespace,
        name,
    } = &object.key;
    let names = [resource.as_str(), namespace, name];
    let names_length: usize = names.iter().map(|name| 4 + name.len()).sum();
    let mut entry = Vec::with_capacity(4 + 8 + 1 + 4 + names_length + object.bytes.len());
    entry.extend_from_slice(&[0; 4]);
    entry.extend_from_slice(&object.revision.to_le_bytes());
    entry.push(if deleted { DELETED } else { 0 } | if completes { COMPLETES } else { 0 });
    entry.extend_from_slice(&object.revision_at().to_le_bytes());
    for name in names {
        entry.extend_from_slice(&(name.len() as u32).to_le_bytes());
        entry.extend_from_slice(name.as_bytes());
    }
    entry.extend_from_slice(&object.bytes);
    let checksum = crc32fast::hash(entry.get(4..).unwrap_or_default());
    if let Some(place) = entry.first_chunk_mut() {
        *place = checksum.to_le_bytes();
    }
    entry
}

/// Reads a change; says what is wrong with it otherwise.
pub(super) fn decode(bytes: &[u8]) -> Result<Entry, String> {
    let (checksum, content) = bytes.split_first_chunk().ok_or("it is too short")?;
    if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
        return Err("its checksum is wrong".into());
    }
    let mut reader = Reader(content);
    let revision = u64::from_le_bytes(reader.array()?);
    let [flags] = reader.array()?;
    let revision_at = u32::from_le_bytes(reader.array()?);
    let resource = ResourceKey::from_text(reader.text()?);
    let key = Key {
        resource,
        namespace: reader.text()?.into(),
        name: reader.text()?.into(),
    };
    let summary = Summary::read(reader.0).map_err(|error| format!("its JSON can't be read: {error}"))?;
    let object = Stored::assemble(
        key,
        revision,
        Bytes::copy_from_slice(reader.0),
        revision_at,
        summary,
    );
    Ok(Entry {
        object,
        deleted: flags & DELETED != 0,
        completes: flags & COMPLETES != 0,
    })
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (array, rest) = self.0.split_first_chunk().ok_or("it ends too early")?;
        self.0 = rest;
        Ok(*array)
    }

    fn text(&mut self) -> Result<&'a str, String> {
        let length = u32::from_le_bytes(self.array()?) as usize;
        let (text, rest) = self.0.split_at_checked(length).ok_or("it ends too early")?;
        self.0 = rest;
        std::str::from_utf8(text).map_err(|_| "a name in it is not UTF-8".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::encoding::Draft;
    use serde_json::json;

    fn stored() -> Stored {
        let value = json!({"metadata": {"uid": "u", "labels": {"a": "b"}}, "spec": {"x": [1, 2]}});
        let key = Key::new(&ResourceKey::new("apps", "deployments"), "default", "web");
        Stored::finish(key, 42, Draft::encode(&value).unwrap())
    }

    #[test]
    fn an_entry_reads_back_as_it_was_written() {
        let object = stored();
        for (deleted, completes) in [(false, true), (true, true), (false, false)] {
            let entry = decode(&encode(&object, deleted, completes)).unwrap();
            assert_eq!((entry.deleted, entry.completes), (deleted, completes));
            assert_eq!(entry.object.key, object.key);
            assert_eq!(entry.object.bytes, object.bytes);
            assert_eq!(entry.object.revision, 42);
            assert_eq!(entry.object.labels, object.labels);
            assert_eq!(
                entry.object.at_revision(7).value()["metadata"]["resourceVersion"],
                "7"
            );
        }
    }

    #[test]
    fn every_flipped_bit_and_every_missing_byte_is_noticed() {
        let good = encode(&stored(), false, true);
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&bad).is_err(), "bit {bit}");
        }
        for length in 0..good.len() {
            assert!(decode(&good[..length]).is_err(), "length {length}");
        }
    }
}
