//! Reads any text as a label selector and as a field selector, and holds objects against them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::json;
use stage::selectors::{FieldSelector, LabelSelector, SelectableFields};

fuzz_target!(|text: &str| {
    let labels = json!({"app": "web", "tier": "front", "number": "3"});
    let labels = labels.as_object().expect("an object");
    if let Ok(selector) = LabelSelector::parse(text) {
        let printed = selector.to_string();
        let again = LabelSelector::parse(&printed).expect("what is printed reads back");
        assert_eq!(selector.matches(labels), again.matches(labels), "{printed}");
    }
    let pods = SelectableFields::of_kind("", "v1", "Pod");
    let pod = json!({"metadata": {"name": "web"}, "status": {"phase": "Running"}});
    if let Ok(selector) = FieldSelector::parse(text).and_then(|selector| selector.for_kind(&pods)) {
        let again = FieldSelector::parse(&selector.to_string()).expect("what is printed reads back");
        assert_eq!(selector.matches(&pod, &pods), again.matches(&pod, &pods));
    }
});
