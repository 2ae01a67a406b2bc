//! Feeds any bytes to the protobuf reader, bare and as the message of any kind; what is read must be the same once it
//! was written and read again, twice.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schema::protobuf::{DefaultKind, decode, decode_or_default, encode, encode_watch_event, kinds};

/// The envelope's mark and the tag of the message in it.
const HEAD: &[u8] = b"k8s\0\x12";

fuzz_target!(|input: (u16, &[u8])| {
    let (which, bytes) = input;
    decode(bytes).ok();
    let Some((api_version, kind)) = kinds().nth(usize::from(which) % kinds().count()) else {
        return;
    };
    let mut enveloped = HEAD.to_vec();
    let mut length = bytes.len();
    while length > 0x7f {
        enveloped.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    enveloped.push(length as u8);
    enveloped.extend_from_slice(bytes);
    let Ok(first) = decode_or_default(&enveloped, DefaultKind { api_version, kind }) else {
        return;
    };
    // Times beyond the year 9999 can be read and shown, and JSON has no way back; an event has no kind in itself.
    let Ok(written) = encode(&first.value) else { return };
    // What JSON can't tell apart (an empty list and none) is settled by the first writing.
    let second = decode(&written).expect("what was written can be read");
    let rewritten = encode(&second.value).expect("what was read back can be written");
    assert_eq!(written, rewritten);
    encode_watch_event("ADDED", &second.value).expect("an object that can be written can be an event");
});
