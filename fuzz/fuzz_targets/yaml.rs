//! Feeds any bytes to the YAML and JSON readers; what is read must survive writing and reading again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    goyaml::from_slice::<IgnoredAny>(bytes).ok();
    goyaml::from_slice_strict::<Value>(bytes).ok();
    goyaml::documents(bytes).take(100).for_each(drop);
    goyaml::json::from_slice::<Value>(bytes).ok();
    if let Ok(value) = goyaml::to_value(bytes) {
        let written = goyaml::to_string(&value).expect("a value that was read can be written");
        let again = goyaml::to_value(written.as_bytes()).expect("what was written can be read");
        assert_eq!(again, value, "{written}");
    }
});
