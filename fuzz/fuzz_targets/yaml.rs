//! Feeds any bytes to the YAML and JSON readers; what is read must survive writing and reading again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    goyaml::from_slice::<IgnoredAny>(bytes).ok();
    goyaml::from_slice_strict::<Value>(bytes).ok();
    goyaml::documents(bytes).take(100).for_each(drop);
    goyaml::json::from_slice::<Value>(bytes, goyaml::ReadOptions::default()).ok();
    if let Ok(value) = goyaml::to_value(bytes) {
        let written = goyaml::to_string(&value).expect("a value that was read can be written");
        // Numbers take the form that JSON gives them (minus zero becomes zero), and keep it from then on.
        let again = goyaml::to_value(written.as_bytes()).expect("what was written can be read");
        let rewritten = goyaml::to_string(&again).expect("a value that was read can be written");
        assert_eq!(goyaml::to_value(rewritten.as_bytes()).expect("what was written can be read"), again);
    }
});
