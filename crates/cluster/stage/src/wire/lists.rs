//! Lists on the wire: the stored bytes of their objects, one after the other.

use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream;
use http_body::Frame;
use schema::protobuf::{self, EncodedList};
use serde_json::{Map, Value, json};

use super::negotiation::{Accepted, Format, Shape};
use super::representation::{self, Included};
use super::{Body, full_body, stream_body};
use crate::api::read::Page;
use crate::api::{Api, Place};
use crate::resource::Resource;
use crate::status::Status;
use crate::store::Stored;

/// How much of a list is put together at a time: enough to be quick, little enough that many lists at once stay small.
const CHUNK: usize = 128 * 1024;

/// How large an object usually is, so that short lists don't take a whole chunk.
const USUAL_ITEM: usize = 2 * 1024;

/// Answers a list.
pub async fn answer(
    api: &Arc<Api>,
    place: &Place,
    page: Page,
    accepted: &Accepted,
    included: Included,
) -> Result<Body, Status> {
    let resource = &place.resource;
    let metadata = list_metadata(&page);
    let is_plain = accepted.shape == Shape::Whole && !accepted.pretty;
    let as_stored = is_plain
        && page
            .items
            .iter()
            .all(|item| api.is_served_as_stored(resource, item));
    // Built-in kinds are converted one by one while they are written; others may need a webhook that is asked about many.
    if is_plain && accepted.format == Format::Json && (as_stored || resource.row().is_some()) {
        let metadata = whole_metadata(resource, metadata);
        return Ok(streamed_list(resource, &metadata, page.items));
    }
    if as_stored
        && accepted.format == Format::Protobuf
        && let Some(body) = binary_list(resource, &metadata, &page.items)
    {
        return Ok(body);
    }
    let objects = api.all_served(resource, &page.items).await?;
    let value = whole(resource, objects, metadata, accepted, included);
    Ok(full_body(representation::write(&value, accepted)?))
}

/// Returns a list of objects in the shape that was asked for.
pub fn whole(
    resource: &Resource,
    mut objects: Vec<Value>,
    metadata: Value,
    accepted: &Accepted,
    included: Included,
) -> Value {
    match accepted.shape {
        Shape::Table => representation::table(resource, objects, metadata, included, true),
        Shape::Metadata => representation::metadata_list(objects, metadata),
        Shape::Whole | Shape::Discovery(_) => {
            if resource.row().is_some() {
                for object in &mut objects {
                    forget_type(object);
                }
            }
            let metadata = whole_metadata(resource, metadata);
            let parts = [("items", Value::Array(objects))];
            representation::document(&resource.api_version(), &resource.list_kind, metadata, parts)
        }
    }
}

fn list_metadata(page: &Page) -> Value {
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".into(), page.revision.to_string().into());
    if !page.continue_token.is_empty() {
        metadata.insert("continue".into(), page.continue_token.clone().into());
        if let Some(remaining) = page.remaining {
            metadata.insert("remainingItemCount".into(), remaining.into());
        }
    }
    Value::Object(metadata)
}

/// Returns the metadata of a list of whole objects: one of custom resources says that nothing follows, too.
fn whole_metadata(resource: &Resource, mut metadata: Value) -> Value {
    if resource.custom().is_some()
        && let Some(metadata) = metadata.as_object_mut()
    {
        metadata.entry("continue").or_insert_with(|| "".into());
    }
    metadata
}

/// Takes away what items of built-in lists don't repeat, because the list says it.
fn forget_type(object: &mut Value) {
    if let Some(object) = object.as_object_mut() {
        object.remove("apiVersion");
        object.remove("kind");
    }
}

/// Returns a list of objects as they are stored; those of built-in kinds may be stored in another version.
fn streamed_list(resource: &Resource, metadata: &Value, items: Vec<Arc<Stored>>) -> Body {
    let wanted = resource.api_version();
    let head = format!(
        "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{metadata},\"items\":[",
        json!(&*resource.list_kind),
        json!(wanted)
    );
    let row = resource.row();
    let writing = Writing {
        pending: head.into_bytes(),
        items: items.into_iter(),
        append: move |chunk: &mut BytesMut, item: &Arc<Stored>, first: bool| {
            if !first {
                chunk.put_u8(b',');
            }
            match row {
                None => chunk.put_slice(&item.bytes),
                Some(kind) if item.api_version() != wanted => {
                    let from = item.api_version();
                    let mut object = kinds::conversion::convert(kind.kind, from, &wanted, item.value());
                    forget_type(&mut object);
                    chunk.put_slice(object.to_string().as_bytes());
                }
                Some(_) => {
                    chunk.put_u8(b'{');
                    chunk.put_slice(item.after_type());
                }
            }
        },
        tail: b"]}\n".to_vec(),
        first: true,
        ended: false,
    };
    writing.into_body()
}

/// Returns a list in the binary form, from what its objects are in that form; `None` where it has to be written as a
/// whole.
fn binary_list(resource: &Resource, metadata: &Value, items: &[Arc<Stored>]) -> Option<Body> {
    let encode = |value: &Value| protobuf::encode_item(value).ok();
    let written: Vec<Bytes> = items
        .iter()
        .map(|item| item.binary(encode).cloned())
        .collect::<Option<_>>()?;
    let list = EncodedList::new(
        &resource.api_version(),
        &resource.list_kind,
        metadata,
        written.iter().map(Bytes::len),
    )
    .ok()?;
    let writing = Writing {
        pending: list.head.clone(),
        tail: list.tail.clone(),
        items: written.into_iter(),
        append: move |chunk: &mut BytesMut, item: &Bytes, _first: bool| {
            chunk.put_slice(&list.before_item(item.len()));
            chunk.put_slice(item);
        },
        first: true,
        ended: false,
    };
    Some(writing.into_body())
}

/// A list while it is written: never more of it in memory than a chunk.
struct Writing<I, A> {
    pending: Vec<u8>,
    items: std::vec::IntoIter<I>,
    append: A,
    tail: Vec<u8>,
    first: bool,
    ended: bool,
}

impl<I, A> Writing<I, A>
where
    I: Send + 'static,
    A: Fn(&mut BytesMut, &I, bool) + Send + 'static,
{
    fn into_body(self) -> Body {
        stream_body(stream::unfold(self, |mut writing| async move {
            let chunk = writing.next_chunk()?;
            Some((Ok(Frame::data(chunk)), writing))
        }))
    }

    fn next_chunk(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        let expected = self.pending.len() + self.items.len() * USUAL_ITEM + self.tail.len();
        let mut chunk = BytesMut::with_capacity(expected.min(CHUNK + CHUNK / 4));
        chunk.put_slice(&std::mem::take(&mut self.pending));
        while chunk.len() < CHUNK {
            let Some(item) = self.items.next() else {
                chunk.put_slice(&self.tail);
                self.ended = true;
                break;
            };
            (self.append)(&mut chunk, &item, std::mem::take(&mut self.first));
        }
        Some(chunk.freeze())
    }
}

/// Returns a list that is small and made on the spot.
pub fn small(
    resource: &Resource,
    objects: Vec<Value>,
    revision: u64,
    accepted: &Accepted,
) -> Result<Bytes, Status> {
    let metadata = json!({"resourceVersion": revision.to_string()});
    representation::write(
        &whole(resource, objects, metadata, accepted, Included::Metadata),
        accepted,
    )
}
