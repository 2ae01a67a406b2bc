//! The events in the bytes of a watch.

use bytes::{Bytes, BytesMut};

/// Counts events, and keeps the last one, so that a watch that ended can go on from there.
#[derive(Debug)]
pub(crate) struct WatchFrames {
    binary: bool,
    /// The beginning of an event whose rest is yet to come.
    partial: BytesMut,
    last: Bytes,
}

/// How many bytes the length before a binary event has.
const LENGTH: usize = 4;

impl WatchFrames {
    /// Returns the reader of a watch in JSON or in protobuf.
    pub(crate) fn new(binary: bool) -> Self {
        Self {
            binary,
            partial: BytesMut::new(),
            last: Bytes::new(),
        }
    }

    /// Takes the next bytes, and returns how many events end in them.
    pub(crate) fn feed(&mut self, bytes: Bytes) -> usize {
        if self.binary {
            self.feed_binary(bytes)
        } else {
            self.feed_lines(&bytes)
        }
    }

    fn feed_lines(&mut self, bytes: &Bytes) -> usize {
        let Some(end) = memchr::memrchr(b'\n', bytes) else {
            self.partial.extend_from_slice(bytes);
            return 0;
        };
        if let Some(start) = memchr::memrchr(b'\n', &bytes[..end]) {
            self.last = bytes.slice(start + 1..end);
        } else {
            self.partial.extend_from_slice(&bytes[..end]);
            self.last = self.partial.split().freeze();
        }
        self.partial.clear();
        self.partial.extend_from_slice(&bytes[end + 1..]);
        memchr::memchr_iter(b'\n', bytes).count()
    }

    fn feed_binary(&mut self, mut bytes: Bytes) -> usize {
        let mut count = 0;
        if !self.partial.is_empty() {
            while self.partial.len() < LENGTH && !bytes.is_empty() {
                self.partial.extend_from_slice(&bytes.split_to(1));
            }
            let Some(length) = length(&self.partial) else {
                return 0;
            };
            let missing = (LENGTH + length - self.partial.len()).min(bytes.len());
            self.partial.extend_from_slice(&bytes.split_to(missing));
            if self.partial.len() < LENGTH + length {
                return 0;
            }
            self.last = self.partial.split().freeze();
            count = 1;
        }
        while let Some(length) = length(&bytes)
            && bytes.len() >= LENGTH + length
        {
            self.last = bytes.split_to(LENGTH + length);
            count += 1;
        }
        self.partial.extend_from_slice(&bytes);
        count
    }

    /// Returns the version of the object in the last event.
    pub(crate) fn last_version(&self) -> Option<String> {
        if self.binary {
            // The event's object, raw; in its envelope, raw again; its metadata, and there the version.
            let event = self.last.get(LENGTH..)?;
            let object = field(field(event, 2)?, 1)?.strip_prefix(b"k8s\0")?;
            let version = field(field(field(object, 2)?, 1)?, 6)?;
            return String::from_utf8(version.to_vec()).ok();
        }
        let event: serde_json::Value = serde_json::from_slice(&self.last).ok()?;
        Some(
            event["object"]["metadata"]["resourceVersion"]
                .as_str()?
                .to_owned(),
        )
    }

    /// Returns whether the last event says that the watch can't go on.
    pub(crate) fn has_failed(&self) -> bool {
        if self.binary {
            let event = self.last.get(LENGTH..).unwrap_or_default();
            return field(event, 1) == Some(b"ERROR");
        }
        self.last.starts_with(b"{\"type\":\"ERROR\"")
    }
}

fn length(bytes: &[u8]) -> Option<usize> {
    let length = bytes.first_chunk::<LENGTH>()?;
    usize::try_from(u32::from_be_bytes(*length)).ok()
}

/// Returns the bytes of a field of a message whose fields before it are bytes as well.
fn field(mut message: &[u8], number: u64) -> Option<&[u8]> {
    loop {
        let tag = varint(&mut message)?;
        let length = usize::try_from(varint(&mut message)?).ok()?;
        let (content, rest) = message.split_at_checked(length)?;
        if tag >> 3 == number {
            return Some(content);
        }
        message = rest;
    }
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(version: usize) -> serde_json::Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": version.to_string()}})
    }

    #[test]
    fn events_are_counted_wherever_the_bytes_are_cut() {
        let mut lines = Vec::new();
        let mut frames = Vec::new();
        for version in 1..=20 {
            lines.extend(format!("{}\n", json!({"type": "ADDED", "object": object(version)})).into_bytes());
            frames.extend(schema::protobuf::encode_watch_event("ADDED", &object(version)).unwrap());
        }
        for (binary, bytes) in [(false, lines), (true, frames)] {
            for size in [1, 2, 3, 5, 7, 50, 99, 1000, bytes.len()] {
                let mut reading = WatchFrames::new(binary);
                let count: usize = bytes
                    .chunks(size)
                    .map(|chunk| reading.feed(Bytes::copy_from_slice(chunk)))
                    .sum();
                assert_eq!(count, 20, "in pieces of {size}, binary: {binary}");
                assert_eq!(reading.last_version().as_deref(), Some("20"));
                assert!(!reading.has_failed());
            }
        }
    }
}
