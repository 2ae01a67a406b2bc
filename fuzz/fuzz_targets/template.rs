//! Feeds any bytes to the template lexer and parser.
#![no_main]

use bytes::Bytes;
use gotemplate::{Functions, Parsed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &[u8]| {
    Parsed::new("fuzz", Bytes::copy_from_slice(source), &Functions::default()).ok();
});
