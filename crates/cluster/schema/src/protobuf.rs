//! The binary form in which Go clients send built-in kinds (`application/vnd.kubernetes.protobuf`).
//!
//! An object is four bytes that mark the form, an envelope with its version and kind, and in it the object's own
//! message. [`decode`] gives the JSON value that Go would write for the object, with the fields that Go writes though
//! they are empty (`"status": {}`) and without those that it leaves out; [`encode`] gives the bytes that Go would write.
//!
//! The messages are a table (`data/protobuf-table.zst`) that `cargo run -p xtask -- protobuf-table` takes from
//! Kubernetes' Go types. It names every message that a message refers to, so nothing within a known kind is lost.

mod decoding;
mod encoding;
mod error;
mod instant;
mod table;
#[cfg(test)]
mod tests;
pub(crate) mod wire;

use serde_json::{Map, Value};

pub use error::{EncodeError, ProtobufError};

use decoding::Decoder;
use encoding::Encoder;
use table::{Form, Message, Table};
use wire::{BackwardWriter, DELIMITED, Reader};

/// The content type of an object.
pub const CONTENT_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// The content type of a watch: frames, each of them an event.
pub const WATCH_CONTENT_TYPE: &str = "application/vnd.kubernetes.protobuf;stream=watch";

/// How deep messages may lie in each other.
///
/// The reader calls itself for each level. The deepest objects that people write are CustomResourceDefinitions with two
/// levels for each level of their schema, and those have a few dozen.
pub const MAXIMUM_DEPTH: usize = 200;

/// How many objects one body may become, at all levels together.
///
/// An empty message is two bytes and becomes an object of some hundreds, with the fields that Go writes though they are
/// empty. A body of 3 MiB would take gigabytes; objects that people write have a dozen bytes or more for each part.
pub const MAXIMUM_OBJECTS: usize = 250_000;

/// What every object in this form starts with.
const MAGIC: [u8; 4] = *b"k8s\0";

/// The kinds of discovery that the API server sends without a version.
const UNVERSIONED: [&str; 4] = ["APIGroup", "APIGroupList", "APIResourceList", "APIVersions"];

/// An object that came as protobuf.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The version that the envelope names, such as `apps/v1`.
    pub api_version: String,
    /// The kind that the envelope names.
    pub kind: String,
    /// The object as JSON.
    pub value: Value,
}

/// The kind that an object is taken for if its envelope doesn't say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DefaultKind<'k> {
    /// The version, such as `apps/v1`.
    pub api_version: &'k str,
    /// The kind.
    pub kind: &'k str,
}

/// Returns whether a kind has a protobuf form.
pub fn is_known(api_version: &str, kind: &str) -> bool {
    Table::get().of_kind(api_version, kind).is_some()
}

/// Returns every kind that has a protobuf form, as its version and its name. Kinds that every version has (options of
/// requests, `WatchEvent`) are named for `v1`.
pub fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    Table::get().kinds()
}

/// Returns the version and the kind that an envelope names, either of which may be empty; `None` if there is no
/// envelope. What is in it isn't read, so this tells what a body that can't be read was meant to be.
pub fn kind_of(bytes: &[u8]) -> Option<(String, String)> {
    let envelope = Envelope::read(bytes.strip_prefix(&MAGIC)?).ok()?;
    Some((envelope.api_version, envelope.kind))
}

/// Reads an object, whose envelope must name its kind.
pub fn decode(bytes: &[u8]) -> Result<Decoded, ProtobufError> {
    decode_with(&Decoder::new(Table::get()), bytes, None, 0)
}

/// Reads an object, and takes it for one of `default` as far as its envelope doesn't say.
pub fn decode_or_default(bytes: &[u8], default: DefaultKind<'_>) -> Result<Decoded, ProtobufError> {
    decode_with(&Decoder::new(Table::get()), bytes, Some(default), 0)
}

fn decode_with(
    decoder: &Decoder,
    bytes: &[u8],
    default: Option<DefaultKind<'_>>,
    depth: usize,
) -> Result<Decoded, ProtobufError> {
    if bytes.is_empty() {
        return Err(ProtobufError::EmptyData);
    }
    let body = bytes.strip_prefix(&MAGIC).ok_or(ProtobufError::Prefix)?;
    if body.is_empty() {
        return Err(ProtobufError::EmptyBody);
    }
    let mut envelope = Envelope::read(body)?;
    if let Some(default) = default {
        if envelope.kind.is_empty() {
            default.kind.clone_into(&mut envelope.kind);
        }
        if envelope.api_version.is_empty() {
            default.api_version.clone_into(&mut envelope.api_version);
        }
    }
    let Envelope {
        api_version,
        kind,
        raw,
    } = envelope;
    if kind.is_empty() {
        return Err(ProtobufError::MissingKind { api_version });
    }
    if api_version.is_empty() {
        return Err(ProtobufError::MissingVersion { kind });
    }
    let Some(message) = decoder.of_kind(&api_version, &kind) else {
        return Err(ProtobufError::UnknownKind { api_version, kind });
    };
    let mut object = Map::new();
    decoder.object(message, raw, &mut object, depth)?;
    if message.form == Form::Object {
        object.insert("apiVersion".to_owned(), Value::String(api_version.clone()));
        object.insert("kind".to_owned(), Value::String(kind.clone()));
    }
    Ok(Decoded {
        api_version,
        kind,
        value: Value::Object(object),
    })
}

/// What is around every object.
#[derive(Default)]
struct Envelope<'b> {
    api_version: String,
    kind: String,
    raw: &'b [u8],
}

impl<'b> Envelope<'b> {
    fn read(body: &'b [u8]) -> Result<Self, ProtobufError> {
        let mut envelope = Self::default();
        let mut reader = Reader::new(body);
        while let Some(tag) = reader.tag("Unknown")? {
            match (tag.number, tag.wire) {
                (1, DELIMITED) => envelope.read_type(reader.delimited()?)?,
                (2, DELIMITED) => envelope.raw = reader.delimited()?,
                // How the object is packed and written: no client says so, and the server doesn't look.
                (3 | 4, DELIMITED) => drop(reader.delimited()?),
                (1, wire) => {
                    return Err(ProtobufError::WrongWireType {
                        wire,
                        field: "TypeMeta",
                    });
                }
                (2, wire) => return Err(ProtobufError::WrongWireType { wire, field: "Raw" }),
                (3, wire) => {
                    return Err(ProtobufError::WrongWireType {
                        wire,
                        field: "ContentEncoding",
                    });
                }
                (4, wire) => {
                    return Err(ProtobufError::WrongWireType {
                        wire,
                        field: "ContentType",
                    });
                }
                _ => reader.skip(tag)?,
            }
        }
        Ok(envelope)
    }

    fn read_type(&mut self, bytes: &[u8]) -> Result<(), ProtobufError> {
        let mut reader = Reader::new(bytes);
        while let Some(tag) = reader.tag("TypeMeta")? {
            match (tag.number, tag.wire) {
                (1, DELIMITED) => self.api_version = decoding::text(reader.delimited()?),
                (2, DELIMITED) => self.kind = decoding::text(reader.delimited()?),
                (1, wire) => {
                    return Err(ProtobufError::WrongWireType {
                        wire,
                        field: "APIVersion",
                    });
                }
                (2, wire) => return Err(ProtobufError::WrongWireType { wire, field: "Kind" }),
                _ => reader.skip(tag)?,
            }
        }
        Ok(())
    }
}

/// Writes an object, a list or a Status with its envelope.
///
/// Keys that the kind has no field for are left out.
pub fn encode(value: &Value) -> Result<Vec<u8>, EncodeError> {
    let object = value.as_object().ok_or(EncodeError::NoKind)?;
    let text = |name| object.get(name).and_then(Value::as_str).unwrap_or_default();
    encode_as(text("apiVersion"), text("kind"), object)
}

fn encode_as(api_version: &str, kind: &str, object: &Map<String, Value>) -> Result<Vec<u8>, EncodeError> {
    let message = message_of(api_version, kind)?;
    let mut encoder = Encoder::new(Table::get());
    close_envelope(&mut encoder.out);
    let mark = encoder.out.mark();
    encoder.object(message, object, 0)?;
    let out = &mut encoder.out;
    out.close(2, mark);
    open_envelope(out, api_version, kind);
    Ok(encoder.out.finish())
}

fn message_of(api_version: &str, kind: &str) -> Result<&'static Message, EncodeError> {
    let table = Table::get();
    match (api_version, kind) {
        (_, "") => return Err(EncodeError::NoKind),
        ("", kind) if UNVERSIONED.contains(&kind) => table.of_kind("v1", kind),
        ("", _) => return Err(EncodeError::NoKind),
        (api_version, kind) => table.of_kind(api_version, kind),
    }
    .ok_or_else(|| EncodeError::UnknownKind {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
    })
}

/// Writes what comes before an object's message.
fn open_envelope(out: &mut BackwardWriter, api_version: &str, kind: &str) {
    let mark = out.mark();
    out.delimited(2, kind.as_bytes());
    out.delimited(1, api_version.as_bytes());
    out.close(1, mark);
    out.bytes(&MAGIC);
}

/// Writes what comes after an object's message.
fn close_envelope(out: &mut BackwardWriter) {
    out.delimited(4, &[]);
    out.delimited(3, &[]);
}

/// Writes an object without its envelope, as an [`EncodedList`] takes it.
pub fn encode_item(value: &Value) -> Result<Vec<u8>, EncodeError> {
    let object = value.as_object().ok_or(EncodeError::NoKind)?;
    let text = |name| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let message = message_of(text("apiVersion"), text("kind"))?;
    let mut encoder = Encoder::new(Table::get());
    encoder.object(message, object, 0)?;
    Ok(encoder.out.finish())
}

/// A list that is put together from objects that were written by [`encode_item`] before: this is what stands before
/// them and after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedList {
    /// What stands before the first object.
    pub head: Vec<u8>,
    /// What stands after the last one.
    pub tail: Vec<u8>,
    items: u32,
}

impl EncodedList {
    /// Returns the list of a kind, such as `PodList`, for objects with these lengths.
    pub fn new(
        api_version: &str,
        kind: &str,
        metadata: &Value,
        lengths: impl IntoIterator<Item = usize>,
    ) -> Result<Self, EncodeError> {
        let message = message_of(api_version, kind)?;
        let items = message
            .fields
            .iter()
            .find(|field| field.name == "items")
            .map(|field| field.number)
            .ok_or_else(|| EncodeError::UnknownKind {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
            })?;
        let mut list = Self {
            head: Vec::new(),
            tail: Vec::new(),
            items,
        };
        let length: usize = lengths
            .into_iter()
            .map(|length| list.before_item(length).len() + length)
            .sum();
        let mut encoder = Encoder::new(Table::get());
        let mut own = Map::new();
        own.insert("metadata".to_owned(), metadata.clone());
        encoder.object(message, &own, 0)?;
        let out = &mut encoder.out;
        out.varint((out.mark() + length) as u64);
        out.tag(2, DELIMITED);
        open_envelope(out, api_version, kind);
        list.head = encoder.out.finish();
        let mut out = BackwardWriter::default();
        close_envelope(&mut out);
        list.tail = out.finish();
        Ok(list)
    }

    /// Returns what stands before an object of this length.
    pub fn before_item(&self, length: usize) -> FieldHead {
        FieldHead::new(self.items, length)
    }
}

/// The number of a field and the length of what follows.
#[derive(Debug, Clone, Copy)]
pub struct FieldHead {
    bytes: [u8; 20],
    length: usize,
}

impl FieldHead {
    fn new(number: u32, length: usize) -> Self {
        let mut head = Self {
            bytes: [0; 20],
            length: 0,
        };
        head.push(u64::from(number) << 3 | u64::from(DELIMITED));
        head.push(length as u64);
        head
    }

    fn push(&mut self, mut value: u64) {
        for byte in self.bytes.iter_mut().skip(self.length) {
            self.length += 1;
            *byte = (value & 0x7f) as u8;
            value >>= 7;
            if value == 0 {
                return;
            }
            *byte |= 0x80;
        }
    }
}

impl std::ops::Deref for FieldHead {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

/// Writes an event of a watch (`ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK`, `ERROR`) as a frame of the stream.
pub fn encode_watch_event(event: &str, object: &Value) -> Result<Vec<u8>, EncodeError> {
    Ok(frame_watch_event(event, &encode(object)?))
}

/// Frames an event whose object was written by [`encode`] before, so that many watchers share one writing.
pub fn frame_watch_event(event: &str, encoded: &[u8]) -> Vec<u8> {
    let mut out = BackwardWriter::default();
    let mark = out.mark();
    out.delimited(1, encoded);
    out.close(2, mark);
    out.delimited(1, event.as_bytes());
    let length = u32::try_from(out.mark()).unwrap_or(u32::MAX);
    out.bytes(&length.to_be_bytes());
    out.finish()
}
