//! FieldsV1 from a request: any text is read or refused, and what is read is written so that it reads back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use patch::ownership::Set;

fuzz_target!(|text: &str| {
    if let Ok(set) = Set::from_json(text) {
        let again = Set::from_json(&set.to_json()).expect("what was written can be read");
        assert_eq!(set, again);
        assert_eq!(set.is_empty(), set.len() == 0);
        assert!(set.clone().difference(&again).is_empty());
        assert_eq!(set.intersection(&again), set);
    }
});
